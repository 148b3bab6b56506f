/* The model of banks and rows: what a machine file says of its memory, made ready for dram.c, and
 * where an address lies. */
#include <string.h>

#include "machine/machine.h"

/* ---- from the machine file ---- */

static uint64_t resolve(const struct dram_params *params, struct timing timing)
{
    return time_add(timing.ps, (params->tck_ps * timing.milliclocks + 500) / 1000);
}

static uint64_t burst_bytes(const struct dram_params *params)
{
    return params->width_bits * params->burst_length / 8;
}

static bool power_of_two(uint64_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

static uint8_t bits_of(uint64_t number)
{
    return (uint8_t)__builtin_ctzll(number);
}

/* Bank groups alternate at each burst when the group is the mapping's last field. */
static bool groups_alternate(const struct dram_params *params)
{
    return (params->mapping >> (4 * (HBM_FIELDS - 1)) & 15) == HBM_GROUP;
}

/* All banks of a set, those over which consecutive bursts alternate. */
static uint64_t set_bytes(const struct dram_params *params)
{
    return params->page_bytes * (groups_alternate(params) ? params->bank_groups : 1);
}

static void derive_fields(const struct dram_params *params, struct hbm_derived *derived)
{
    for (int i = 0; i < HBM_FIELDS; i++) {
        uint8_t field = params->mapping >> (4 * (HBM_FIELDS - 1 - i)) & 15;
        uint8_t bits = field == HBM_ROW     ? 0
                       : field == HBM_BANK  ? bits_of(params->banks_per_group)
                       : field == HBM_GROUP ? bits_of(params->bank_groups)
                                            : bits_of(set_bytes(params) / params->block_bytes);
        if (field == HBM_GROUP && groups_alternate(params))
            bits = 0; /* inside the block */
        derived->fields[i].field = field;
        derived->fields[i].bits = bits;
    }
    derived->block_bits = bits_of(params->block_bytes);
    derived->burst_bits = bits_of(burst_bytes(params));
    derived->group_bits = bits_of(params->bank_groups);
    derived->bank_bits = bits_of(params->banks_per_group);
    derived->bank_xor = params->bank_xor != 0;
}

void banks_derive(const struct machine_params *params, struct hbm_derived *derived)
{
    const struct dram_params *from = &params->hbm.dram;
    uint64_t burst = rate_duration(from->data_rate, from->burst_length);
    derived->dram = (struct dram){
        .burst = time_max(burst, resolve(from, from->tccd_s)),
        .ccd_l = time_max(burst, resolve(from, from->tccd_l)),
        .cl = resolve(from, from->cl),
        .cwl = resolve(from, from->cwl),
        .rcd_rd = resolve(from, from->trcd_rd),
        .rcd_wr = resolve(from, from->trcd_wr),
        .rp = resolve(from, from->trp),
        .ras = resolve(from, from->tras),
        .rc = resolve(from, from->trc),
        .rrd = resolve(from, from->trrd),
        .faw = resolve(from, from->tfaw),
        .rtp = resolve(from, from->trtp),
        .wr = resolve(from, from->twr),
        .wtr = resolve(from, from->twtr),
        .rtw = resolve(from, from->trtw),
        .refi = resolve(from, from->trefi),
        .rfc = resolve(from, from->trfc),
        .rfc_pb = resolve(from, from->trfc_pb),
        .bus_act = resolve(from, from->bus_act),
        .bus_pre = resolve(from, from->bus_pre),
        .banks = (uint32_t)(from->bank_groups * from->banks_per_group),
        .groups = (uint32_t)from->bank_groups,
        .wide = groups_alternate(from) ? (uint32_t)from->bank_groups : 1,
        .hit_cap = (uint32_t)from->hit_cap,
        .bank_window = (uint32_t)from->bank_queue,
        .refresh = (enum dram_refresh)from->refresh,
        .closed = from->page == HBM_PAGE_CLOSED,
        .round_robin = from->scheduler == HBM_ROUND_ROBIN,
    };
    derived->controller_ps = resolve(from, from->controller);
    derived->burst_bytes = burst_bytes(from);
    derive_fields(from, derived);
}

bool banks_check(const struct machine_params *params, struct key_clash *clash)
{
    const struct dram_params *dram = &params->hbm.dram;
    if (params->hbm.model == HBM_FLAT)
        return true;
    if (!power_of_two(dram->bank_groups) || !power_of_two(dram->banks_per_group) ||
        dram->bank_groups * dram->banks_per_group > DRAM_BANKS_MAX)
        return KEY_CLASH(clash,
                         "bank groups and banks of a group must be powers of two, 64 banks at most",
                         "hbm.bank_groups", "hbm.banks_per_group");
    if (dram->width_bits % 8 != 0 || !power_of_two(burst_bytes(dram)))
        return KEY_CLASH(clash, "width_bits / 8 * burst_length is not a power of two",
                         "hbm.width_bits", "hbm.burst_length");
    if (!power_of_two(dram->page_bytes) || !power_of_two(dram->block_bytes) ||
        dram->block_bytes > set_bytes(dram) || dram->block_bytes < burst_bytes(dram))
        return KEY_CLASH(
            clash,
            "page_bytes and block_bytes must be powers of two, a block at least a burst "
            "and at most a row (of all banks that alternate)",
            "hbm.block_bytes", "hbm.page_bytes", "hbm.width_bits", "hbm.burst_length");
    if (params->hbm.interleave_bytes % burst_bytes(dram) != 0)
        return KEY_CLASH(clash, "interleave_bytes is not a multiple of a burst",
                         "hbm.interleave_bytes", "hbm.width_bits", "hbm.burst_length");
    struct hbm_derived derived;
    banks_derive(params, &derived);
    const struct dram *made = &derived.dram;
    if (made->refresh == DRAM_NO_REFRESH)
        return true;
    uint64_t away = made->refresh == DRAM_PER_BANK ? made->rfc_pb : made->rfc;
    if (time_add(away, made->rp + made->ras + made->rcd_rd + made->cl + made->wr) >= made->refi)
        return KEY_CLASH(clash,
                         "a refresh leaves no time for a row between two of them: trefi is too "
                         "short for trfc (trfc_pb), trp, tras, trcd_rd, cl and twr",
                         "hbm.trefi", "hbm.trfc", "hbm.trfc_pb", "hbm.tras");
    return true;
}

/* ---- addresses ---- */

/* Where byte `local` of a pseudo-channel lies, and how many bytes from there on are of the same row
 * in consecutive bursts. */
static uint64_t locate(const struct hbm_derived *derived, uint64_t local, struct dram_run *run)
{
    uint64_t block = local >> derived->block_bits, part[HBM_FIELDS] = {0};
    uint64_t in_block = local & ((UINT64_C(1) << derived->block_bits) - 1);
    uint64_t room = (UINT64_C(1) << derived->block_bits) - in_block;
    bool lowest = true; /* column, with nothing but the group below it: blocks follow in a row */
    for (int i = 0; i < HBM_FIELDS; i++) {
        uint8_t field = derived->fields[i].field, bits = derived->fields[i].bits;
        part[field] = field == HBM_ROW ? block : block & ((UINT64_C(1) << bits) - 1);
        if (field == HBM_COLUMN && lowest)
            room += ((UINT64_C(1) << bits) - 1 - part[field]) << derived->block_bits;
        lowest = lowest && bits == 0;
        if (field == HBM_ROW) {
            /* what is left belongs to the row unless other fields are above it */
            uint32_t above = 0;
            for (int k = i + 1; k < HBM_FIELDS; k++)
                above += derived->fields[k].bits;
            if (above > 0) {
                part[HBM_ROW] = block & ((UINT64_C(1) << 24) - 1);
                bits = 24;
            }
        }
        block = field == HBM_ROW && bits == 0 ? 0 : block >> bits;
    }
    uint64_t bank = part[HBM_BANK], group = part[HBM_GROUP];
    if (derived->bank_xor)
        bank ^= part[HBM_ROW] & ((UINT64_C(1) << derived->bank_bits) - 1);
    if (derived->dram.wide > 1)
        group = local >> derived->burst_bits & ((UINT64_C(1) << derived->group_bits) - 1);
    else if (derived->bank_xor)
        group ^= part[HBM_ROW] >> derived->bank_bits & ((UINT64_C(1) << derived->group_bits) - 1);
    run->row = part[HBM_ROW];
    run->bank = (uint32_t)(bank << derived->group_bits | group);
    return room;
}

uint32_t banks_arrive(const struct cube *cube, struct hbm *hbm, uint64_t now, uint64_t addr,
                      uint64_t bytes, bool write, uint32_t request, dram_done *done, void *context)
{
    const struct hbm_derived *derived = &cube->hbm;
    uint64_t stripe = cube->params->hbm.interleave_bytes;
    uint64_t number = addr / stripe, offset = addr % stripe;
    uint32_t channels = derived->channels, pieces = 0;
    uint32_t from = (uint32_t)(number % channels);
    uint64_t base = number / channels;
    /* whole rounds over all channels, and a rest from the first on */
    uint64_t span = offset + bytes, rounds = span / (stripe * channels);
    uint64_t rest = span % (stripe * channels);
    for (uint32_t i = 0; i < channels; i++) {
        uint64_t extra = time_min(rest, stripe), skipped = i == 0 ? offset : 0;
        uint64_t left = rounds * stripe + extra - time_min(skipped, rounds * stripe + extra);
        rest -= extra;
        uint32_t channel = from + i < channels ? from + i : from + i - channels;
        uint64_t local = (base + (from + i >= channels)) * stripe + skipped;
        while (left > 0) {
            struct dram_run run = {.request = request, .write = write};
            uint64_t room = locate(derived, local, &run), take = time_min(room, left);
            uint64_t first = local >> derived->burst_bits;
            run.bursts = (uint32_t)(((local + take - 1) >> derived->burst_bits) - first + 1);
            pieces += dram_arrive(&derived->dram, &hbm->dram[channel], now, &run, done, context);
            local += take;
            left -= take;
        }
    }
    return pieces;
}

void banks_advance(const struct cube *cube, struct hbm *hbm, uint64_t now, dram_done *done,
                   void *context)
{
    for (uint32_t i = 0; i < cube->hbm.channels; i++)
        dram_advance(&cube->hbm.dram, &hbm->dram[i], now, done, context);
}

uint64_t banks_next(const struct cube *cube, const struct hbm *hbm)
{
    uint64_t next = TIME_NEVER;
    for (uint32_t i = 0; i < cube->hbm.channels; i++)
        next = time_min(next, dram_next(&cube->hbm.dram, &hbm->dram[i]));
    return next;
}

/* One of the channels has at least its part of the bytes: which is not known. */
uint64_t banks_least(const struct cube *cube, const struct hbm *hbm, uint64_t now, uint64_t bytes)
{
    const struct hbm_derived *derived = &cube->hbm;
    uint64_t bursts = bytes / derived->channels / derived->burst_bytes, least = TIME_NEVER;
    for (uint32_t i = 0; i < derived->channels; i++)
        least = time_min(least, dram_least(&derived->dram, &hbm->dram[i], now, bursts));
    return least;
}
