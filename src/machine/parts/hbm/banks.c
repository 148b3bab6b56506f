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

enum { ROW_BITS = 18 }; /* of a row that is not the most significant field */

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
    uint8_t shift = 0;
    for (int i = HBM_FIELDS - 1; i >= 0; i--) { /* the least significant first */
        uint8_t field = params->mapping >> (4 * i) & 15, bits = 0;
        if (field == HBM_BANK)
            bits = bits_of(params->banks_per_group);
        else if (field == HBM_COLUMN)
            bits = bits_of(set_bytes(params) / params->block_bytes);
        else if (field == HBM_GROUP)
            bits = groups_alternate(params) ? 0 : bits_of(params->bank_groups);
        else
            bits = i == 0 ? 63 : ROW_BITS; /* all that is left, unless others are above it */
        derived->fields[field].shift = shift;
        derived->fields[field].mask = (UINT64_C(1) << bits) - 1;
        if (field == HBM_COLUMN)
            derived->column_low = shift == 0;
        shift = (uint8_t)time_min(shift + bits, 63);
    }
    derived->block_bits = bits_of(params->block_bytes);
    derived->burst_bits = bits_of(burst_bytes(params));
    derived->group_bits = bits_of(params->bank_groups);
    derived->bank_bits = bits_of(params->banks_per_group);
    derived->bank_xor = params->bank_xor != 0;
    derived->xor_shift = (uint8_t)time_min(
        derived->fields[HBM_BANK].shift + derived->bank_bits + params->bank_xor_shift, 63);
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
        .rrd_s = resolve(from, from->trrd_s),
        .rrd_l = resolve(from, from->trrd_l),
        .faw = resolve(from, from->tfaw),
        .rtp = resolve(from, from->trtp),
        .wr = resolve(from, from->twr),
        .wtr_s = resolve(from, from->twtr_s),
        .wtr_l = resolve(from, from->twtr_l),
        .rtw = resolve(from, from->trtw),
        .refi = resolve(from, from->trefi),
        .rfc = resolve(from, from->trfc),
        .rfc_pb = resolve(from, from->trfc_pb),
        .bus_act = resolve(from, from->bus_act),
        .bus_pre = resolve(from, from->bus_pre),
        .banks = (uint32_t)(from->bank_groups * from->banks_per_group),
        .groups = (uint32_t)from->bank_groups,
        .wide = groups_alternate(from) ? (uint32_t)from->bank_groups : 1,
        .wide_bits = groups_alternate(from) ? bits_of(from->bank_groups) : 0,
        .hit_cap = (uint32_t)from->hit_cap,
        .bank_window = (uint32_t)from->bank_queue,
        .refresh = (enum dram_refresh)from->refresh,
        .closed = from->page == HBM_PAGE_CLOSED,
        .round_robin = from->scheduler == HBM_ROUND_ROBIN,
    };
    derived->channels = (uint32_t)(params->hbm.pseudo_channels / grid_size(params->geometry.pes));
    derived->stripe = divider_of(params->hbm.interleave_bytes);
    derived->spread = divider_of(derived->channels);
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
    uint64_t block = local >> derived->block_bits, size = UINT64_C(1) << derived->block_bits;
    uint64_t part[HBM_FIELDS];
    for (int i = 0; i < HBM_FIELDS; i++)
        part[i] = block >> derived->fields[i].shift & derived->fields[i].mask;
    uint64_t room = size - (local & (size - 1)), xor = 0;
    if (derived->bank_xor)
        xor = block >> derived->xor_shift;
    if (derived->column_low)
        room += (derived->fields[HBM_COLUMN].mask - part[HBM_COLUMN]) << derived->block_bits;
    uint64_t group = part[HBM_GROUP] ^ xor >> derived->bank_bits;
    if (derived->dram.wide > 1)
        group = local >> derived->burst_bits;
    uint64_t bank = (part[HBM_BANK] ^ xor) & ((UINT64_C(1) << derived->bank_bits) - 1);
    run->row = part[HBM_ROW];
    run->bank = (uint32_t)(bank << derived->group_bits |
                           (group & ((UINT64_C(1) << derived->group_bits) - 1)));
    return room;
}

/* The bytes [local, local + left) of one pseudo-channel. */
static uint32_t arrive_at(const struct hbm_derived *derived, struct dram_channel *channel,
                          uint64_t now, uint64_t local, uint64_t left, struct dram_run run,
                          dram_done *done, void *context)
{
    uint32_t pieces = 0;
    while (left > 0) {
        uint64_t room = locate(derived, local, &run), take = time_min(room, left);
        uint64_t first = local >> derived->burst_bits;
        run.bursts = (uint32_t)(((local + take - 1) >> derived->burst_bits) - first + 1);
        pieces += dram_arrive(&derived->dram, channel, now, &run, done, context);
        local += take;
        left -= take;
    }
    return pieces;
}

static void waits_too(void *context, uint32_t request)
{
    struct hbm *hbm = context;
    hbm->requests[request].pieces++;
}

void banks_part(const struct cube *cube, struct hbm *hbm)
{
    for (; hbm->dram_channels < cube->hbm.channels; hbm->dram_channels++)
        dram_copy(&hbm->dram[hbm->dram_channels], &hbm->dram[0], waits_too, hbm);
}

uint32_t banks_locate(const struct hbm_derived *derived, uint64_t addr, struct dram_run *run)
{
    uint64_t offset, channel;
    uint64_t base = divide(divide(addr, derived->stripe, &offset), derived->spread, &channel);
    locate(derived, base * derived->stripe.number + offset, run);
    run->bursts = 1;
    return (uint32_t)channel;
}

uint32_t banks_arrive(const struct cube *cube, struct hbm *hbm, uint64_t now, uint64_t addr,
                      uint64_t bytes, bool write, uint32_t request, dram_done *done, void *context)
{
    const struct hbm_derived *derived = &cube->hbm;
    struct dram_run run = {.request = request, .write = write};
    uint64_t stripe = derived->stripe.number, offset, from, rest, in_stripe;
    uint64_t base = divide(divide(addr, derived->stripe, &offset), derived->spread, &from);
    /* whole rounds over all channels, and a rest from the first on */
    uint64_t rounds =
        divide(divide(offset + bytes, derived->stripe, &in_stripe), derived->spread, &rest);
    rest = rest * stripe + in_stripe;
    uint32_t channels = derived->channels, pieces = 0;
    if (hbm->dram_channels < channels) {
        if (from == 0 && offset == 0 && rest == 0)
            return arrive_at(derived, &hbm->dram[0], now, base * stripe, rounds * stripe, run, done,
                             context);
        banks_part(cube, hbm);
    }
    for (uint32_t i = 0; i < channels; i++) {
        uint64_t extra = time_min(rest, stripe), skipped = i == 0 ? offset : 0;
        uint64_t bytes_here = rounds * stripe + extra;
        rest -= extra;
        if (bytes_here <= skipped)
            continue;
        bool wrapped = from + i >= channels;
        pieces += arrive_at(derived, &hbm->dram[from + i - (wrapped ? channels : 0)], now,
                            (base + wrapped) * stripe + skipped, bytes_here - skipped, run, done,
                            context);
    }
    return pieces;
}

void banks_advance(const struct cube *cube, struct hbm *hbm, uint64_t now, dram_done *done,
                   void *context)
{
    for (uint32_t i = 0; i < hbm->dram_channels; i++)
        dram_advance(&cube->hbm.dram, &hbm->dram[i], now, done, context);
}

uint64_t banks_next(const struct cube *cube, const struct hbm *hbm)
{
    uint64_t next = TIME_NEVER;
    for (uint32_t i = 0; i < hbm->dram_channels; i++)
        next = time_min(next, dram_next(&cube->hbm.dram, &hbm->dram[i]));
    return next;
}

/* One of the channels has at least its part of the bytes: which is not known. */
uint64_t banks_least(const struct cube *cube, const struct hbm *hbm, uint64_t now, uint64_t bytes)
{
    const struct hbm_derived *derived = &cube->hbm;
    uint64_t bursts = bytes / derived->channels / derived->burst_bytes, least = TIME_NEVER;
    for (uint32_t i = 0; i < hbm->dram_channels; i++)
        least = time_min(least, dram_least(&derived->dram, &hbm->dram[i], now, bursts));
    return least;
}
