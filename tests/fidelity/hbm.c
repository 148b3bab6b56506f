/* fidelity_hbm MEMORY.yaml ROWS.csv: what other simulators of memory measured, and what this one
 * says.
 *
 * MEMORY.yaml is a machine file, of which group hbm counts, and its name. A row of ROWS.csv belongs
 * to it if the column `config` has that name, alone or followed by nr no refresh   pb, refb refresh
 * bank by bank   cp closed page   qN a queue of N and then _CHANNELS; "d_rfc160_NAME" sets tRFC
 * (refiN: tREFI, none: no refresh), on one channel. If no row has the name, all rows count.
 * CHANNELS are pseudo-channels, or pairs of them if the largest number in the file is half of the
 * memory's.
 *
 * What a row measures is in its column `tag`, and in a file without one the streams of its own
 * columns: stream     n sequential streams, each of `slots` tiles of `tile` bytes in flight; one
 * burst a request random     requests of `gran` bytes at random addresses, as fast as they are
 * taken idle       one request at a time: `tag2` rand, hit (within a row) or conflict (other rows
 * of a bank) load       requests at `load` of the peak, at random times; `pat` seq or rand
 * Reference and model are `eff`, the fraction of the peak bandwidth, or `mean_ns`, the mean
 * latency. Of several rows the requests are the same numbers in every run. Exit status: 0, or 2 and
 * a message. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/config.h"
#include "machine/machine.h"
#include "support/hash.h"
#include "requests.h"
#include "support/memory.h"

enum { COLUMNS_MAX = 32, ROWS_MAX = 4096, CHANNELS_MAX = 64, STREAMS_MAX = 16, LINE_BYTES = 1024 };

static _Noreturn void refuse(const char *format, const char *what)
{
    fprintf(stderr, "fidelity_hbm: error: ");
    fprintf(stderr, format, what);
    fprintf(stderr, "\n");
    exit(2);
}

/* ---- rows ---- */

struct row {
    const struct memory *memory;
    const char *tag, *pattern;
    uint64_t streams, slots, tile, burst, grain;
    uint64_t warm_up, duration; /* the one is part of the other */
    bool kv;
    double load;
};

struct tally {
    uint64_t from; /* what comes before is warm-up */
    uint64_t bytes_each, count;
    double latency; /* ps, in all */
    uint32_t open[STREAMS_MAX];
    uint32_t *left[STREAMS_MAX]; /* requests of a tile that have not come, of the last TILES */
};
enum { TILES = 4096 };

static void count(void *context, const struct request *request)
{
    struct tally *tally = context;
    if (request->end >= tally->from) {
        tally->count++;
        tally->latency += (double)(request->end - request->asked);
    }
    if (tally->left[request->stream] != NULL &&
        --tally->left[request->stream][request->tile % TILES] == 0)
        tally->open[request->stream]--;
}

static double fraction(const struct row *row, const struct tally *tally)
{
    uint64_t counted = row->duration - tally->from;
    return (double)(tally->count * tally->bytes_each) / (double)counted / row->memory->peak;
}

/* What a stream has asked for and could not send, by channel: requests do not wait for those to
 * other channels. */
struct wanted {
    struct {
        uint64_t addr;
        uint32_t tile;
    } * items;
    uint64_t first, end, room; /* a ring, room a power of two */
};

static void want(struct wanted *wanted, uint64_t addr, uint32_t tile)
{
    if (wanted->end - wanted->first == wanted->room) {
        uint64_t room = wanted->room == 0 ? 64 : 2 * wanted->room;
        void *items = memory_new(room, sizeof *wanted->items);
        struct wanted larger = {items, wanted->first, wanted->end, room};
        for (uint64_t i = wanted->first; i < wanted->end; i++)
            larger.items[i & (room - 1)] = wanted->items[i & (wanted->room - 1)];
        memory_free(wanted->items);
        *wanted = larger;
    }
    wanted->items[wanted->end & (wanted->room - 1)].addr = addr;
    wanted->items[wanted->end++ & (wanted->room - 1)].tile = tile;
}

static uint64_t base_of(const struct row *row, uint64_t stream)
{
    if (strcmp(row->pattern, "rand") == 0)
        return draw() % (UINT64_C(1) << 32) / row->tile * row->tile;
    return (stream << 28) + (strcmp(row->pattern, "stag") == 0 ? stream * row->tile : 0);
}

/* Each stream reads tile after tile, of K and V in turn with `kv`; of the requests for a channel
 * `burst` of one stream follow one another. */
static double run_streams(const struct row *row)
{
    const struct hbm_derived *derived = &row->memory->derived;
    struct run_state state;
    struct tally tally = {.from = row->warm_up, .bytes_each = derived->burst_bytes};
    struct wanted(*wanted)[CHANNELS_MAX] = memory_new(STREAMS_MAX, sizeof *wanted);
    uint64_t base[STREAMS_MAX][2], next[STREAMS_MAX] = {0};
    uint64_t turn[CHANNELS_MAX] = {0}, left[CHANNELS_MAX];
    state_open(&state, row->memory);
    for (uint64_t i = 0; i < row->streams; i++) {
        base[i][0] = base_of(row, i);
        base[i][1] =
            strcmp(row->pattern, "rand") == 0 ? base_of(row, i) : base[i][0] + (UINT64_C(1) << 33);
        tally.left[i] = memory_new(TILES, sizeof *tally.left[i]);
    }
    for (uint32_t i = 0; i < derived->channels; i++)
        left[i] = row->burst;
    for (uint64_t now = 0; now < row->duration; now += row->memory->tck) {
        happen(&state, now, count, &tally);
        for (uint64_t i = 0; i < row->streams; i++)
            for (; tally.open[i] < row->slots; tally.open[i]++, next[i]++) {
                uint64_t at = row->kv ? base[i][next[i] & 1] + next[i] / 2 * row->tile
                                      : base[i][0] + next[i] * row->tile;
                tally.left[i][next[i] % TILES] = (uint32_t)(row->tile / derived->burst_bytes);
                for (uint64_t k = 0; k < row->tile; k += derived->burst_bytes)
                    want(&wanted[i][channel_of(&state, at + k)], at + k, (uint32_t)next[i]);
            }
        for (uint32_t channel = 0; channel < derived->channels; channel++)
            for (uint64_t tries = 0; tries < row->streams && has_room(&state, channel);) {
                struct wanted *from = &wanted[turn[channel]][channel];
                if (from->first < from->end) {
                    uint64_t at = from->first++ & (from->room - 1);
                    send_request(&state, now, now, from->items[at].addr, (uint32_t)turn[channel],
                                 from->items[at].tile);
                    tries = 0;
                    if (--left[channel] > 0)
                        continue;
                } else {
                    tries++;
                }
                turn[channel] = (turn[channel] + 1) % row->streams;
                left[channel] = row->burst;
            }
    }
    for (uint64_t i = 0; i < row->streams; i++) {
        memory_free(tally.left[i]);
        for (uint32_t k = 0; k < derived->channels; k++)
            memory_free(wanted[i][k].items);
    }
    memory_free(wanted);
    state_close(&state);
    return fraction(row, &tally);
}

/* So many bytes are asked for and not yet sent; requests do not wait for those to other channels.
 */
static double run_random(const struct row *row)
{
    const struct hbm_derived *derived = &row->memory->derived;
    struct run_state state;
    struct tally tally = {.from = row->warm_up, .bytes_each = derived->burst_bytes};
    struct wanted *wanted = memory_new(derived->channels, sizeof *wanted);
    uint64_t unsent = 0;
    state_open(&state, row->memory);
    for (uint64_t now = 0; now < row->duration; now += row->memory->tck) {
        happen(&state, now, count, &tally);
        for (bool sent = true; sent;) {
            for (; unsent < row->slots * row->tile; unsent += row->grain) {
                uint64_t addr = draw() % (UINT64_C(1) << 33) / row->grain * row->grain;
                for (uint64_t k = 0; k < row->grain; k += derived->burst_bytes)
                    want(&wanted[channel_of(&state, addr + k)], addr + k, 0);
            }
            sent = false;
            for (uint32_t channel = 0; channel < derived->channels; channel++)
                for (struct wanted *from = &wanted[channel];
                     from->first < from->end && has_room(&state, channel); sent = true) {
                    send_request(&state, now, now,
                                 from->items[from->first++ & (from->room - 1)].addr, 0, 0);
                    unsent -= derived->burst_bytes;
                }
        }
    }
    for (uint32_t i = 0; i < derived->channels; i++)
        memory_free(wanted[i].items);
    memory_free(wanted);
    state_close(&state);
    return fraction(row, &tally);
}

/* Random times: the number that a period brings has Poisson's distribution. */
static double run_load(const struct row *row)
{
    const struct hbm_derived *derived = &row->memory->derived;
    struct run_state state;
    struct tally tally = {.bytes_each = derived->burst_bytes};
    struct wanted waiting = {0}, times = {0};
    uint64_t next = 0;
    double each = exp(-row->load * row->memory->peak * (double)row->memory->tck /
                      (double)derived->burst_bytes);
    state_open(&state, row->memory);
    for (uint64_t now = 0; now < row->duration; now += row->memory->tck) {
        happen(&state, now, count, &tally);
        for (double chance = draw_uniform(); chance > each; chance *= draw_uniform()) {
            bool sequential = strcmp(row->pattern, "seq") == 0;
            uint64_t addr = sequential ? next : draw() % (UINT64_C(1) << 33);
            next += derived->burst_bytes;
            want(&waiting, addr / derived->burst_bytes * derived->burst_bytes, 0);
            want(&times, now, 0);
        }
        while (waiting.first < waiting.end) {
            uint64_t addr = waiting.items[waiting.first & (waiting.room - 1)].addr;
            if (!has_room(&state, channel_of(&state, addr)))
                break;
            waiting.first++;
            send_request(&state, now, times.items[times.first++ & (times.room - 1)].addr, addr, 0,
                         0);
        }
    }
    memory_free(waiting.items);
    memory_free(times.items);
    state_close(&state);
    return tally.count > 0 ? tally.latency / (double)tally.count / 1000 : 0;
}

/* The next request is sent when the one before has come, at once or after a pause. */
static double run_idle(const struct row *row)
{
    enum { REQUESTS = 10000 };
    const struct hbm_derived *derived = &row->memory->derived;
    struct run_state state;
    struct tally tally = {.bytes_each = derived->burst_bytes};
    uint64_t now = 0, pause = row->duration / REQUESTS, row_bytes = 1;
    state_open(&state, row->memory);
    /* the distance of two rows of a bank */
    struct dram_run first = {0}, other = {0};
    banks_locate(derived, 0, &first);
    do
        row_bytes *= 2;
    while (banks_locate(derived, row_bytes, &other) != 0 || other.bank != first.bank ||
           other.row == first.row);
    for (uint64_t i = 0; i < REQUESTS; i++) {
        uint64_t addr = strcmp(row->pattern, "rand") == 0  ? draw() % (UINT64_C(1) << 33)
                        : strcmp(row->pattern, "hit") == 0 ? i % 16 * derived->burst_bytes
                                                           : i % 1024 * row_bytes;
        uint32_t number = send_request(&state, now, now,
                                       addr / derived->burst_bytes * derived->burst_bytes, 0, 0);
        while (state.requests[number].end == 0)
            happen(&state,
                   dram_next(&derived->dram, &state.channels[state.requests[number].channel]),
                   count, &tally);
        uint64_t end = state.requests[number].end;
        happen(&state, end, count, &tally);
        uint64_t spent = end - now;
        now = end + (pause > 2 * spent ? draw() % (2 * (pause - spent)) : 0);
        now = (now + row->memory->tck - 1) / row->memory->tck * row->memory->tck;
    }
    state_close(&state);
    return tally.latency / (double)tally.count / 1000;
}

/* ---- the file of rows ---- */

struct table {
    char *header[COLUMNS_MAX];
    uint32_t columns;
    char *cells[ROWS_MAX][COLUMNS_MAX];
    uint32_t rows;
};

/* Cells between commas; quotes hold commas together. */
static uint32_t split(char *line, char **cells)
{
    uint32_t count_cells = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; count_cells < COLUMNS_MAX;) {
        char *end = at;
        bool quoted = false;
        for (; *end != '\0' && (quoted || *end != ','); end++)
            quoted ^= *end == '"';
        cells[count_cells++] = memory_copy_text(at);
        cells[count_cells - 1][end - at] = '\0';
        if (*end == '\0')
            break;
        at = end + 1;
    }
    return count_cells;
}

static struct table *read_table(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[LINE_BYTES];
    struct table *table = memory_new(1, sizeof *table);
    if (file == NULL)
        refuse("cannot read %s", path);
    while (fgets(line, sizeof line, file) != NULL && table->rows < ROWS_MAX) {
        if (line[0] == '#' || line[strspn(line, " \r\n")] == '\0')
            continue;
        if (table->columns == 0)
            table->columns = split(line, table->header);
        else if (split(line, table->cells[table->rows]) == table->columns)
            table->rows++;
        else
            refuse("%s: a row has not as many cells as the header", path);
    }
    fclose(file);
    bool named = false;
    for (uint32_t i = 0; i < table->columns; i++)
        named |= strcmp(table->header[i], "config") == 0;
    if (!named)
        refuse("%s: there is no column config", path);
    if (table->rows == 0)
        refuse("%s: there are no rows", path);
    return table;
}

/* "" where there is no such column. */
static const char *cell(const struct table *table, uint32_t row, const char *name)
{
    for (uint32_t i = 0; i < table->columns; i++)
        if (strcmp(table->header[i], name) == 0)
            return table->cells[row][i];
    return "";
}

static uint64_t number(const struct table *table, uint32_t row, const char *name,
                       uint64_t otherwise)
{
    const char *text = cell(table, row, name);
    return text[0] == '\0' ? otherwise : strtoull(text, NULL, 10);
}

/* ---- what a row's config says ---- */

/* What follows the memory's name; NULL: another memory. */
static const char *after_name(const char *config, const char *name)
{
    size_t length = strlen(name);
    if (strncmp(config, "d_", 2) == 0) {
        const char *last = strrchr(config, '_');
        return strcmp(last + 1, name) == 0 ? config : NULL;
    }
    if (strncmp(config, name, length) != 0)
        return NULL;
    static const char *const suffixes[] = {"nr", "pb", "refb", "cpnr", "cp", "q", "_", ""};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t more = strlen(suffixes[i]);
        const char *rest = config + length + more;
        if (strncmp(config + length, suffixes[i], more) == 0 &&
            (suffixes[i][0] == '_'   ? *rest >= '0' && *rest <= '9'
             : suffixes[i][0] == 'q' ? *rest >= '0' && *rest <= '9'
                                     : *rest == '_' || *rest == '\0'))
            return config + length;
    }
    return NULL;
}

static uint64_t channels_in(const char *config)
{
    const char *last = strrchr(config, '_');
    return last != NULL && last[1] >= '0' && last[1] <= '9' ? strtoull(last + 1, NULL, 10) : 0;
}

/* The machine of a row; `pairs`: a channel is so many pseudo-channels. */
static struct memory row_memory(struct machine_params params, const char *config, const char *name,
                                uint64_t pairs)
{
    struct dram_params *dram = &params.hbm.dram;
    const char *rest = after_name(config, name);
    if (rest == NULL)
        rest = "";
    uint64_t channels = channels_in(config);
    if (channels > 0)
        params.hbm.pseudo_channels = channels * pairs;
    if (strncmp(config, "d_", 2) == 0) {
        params.hbm.pseudo_channels = pairs;
        if (strstr(config, "none") != NULL)
            dram->refresh = DRAM_NO_REFRESH;
        else if (strncmp(config, "d_rfc", 5) == 0)
            dram->trfc = (struct timing){strtoull(config + 5, NULL, 10) * 1000, 0};
        else if (strncmp(config, "d_refi", 6) == 0)
            dram->trefi = (struct timing){strtoull(config + 6, NULL, 10) * 1000, 0};
        rest = "";
    }
    if (strncmp(rest, "cp", 2) == 0) {
        dram->page = HBM_PAGE_CLOSED;
        rest += 2;
    }
    if (strncmp(rest, "nr", 2) == 0)
        dram->refresh = DRAM_NO_REFRESH;
    else if (strncmp(rest, "pb", 2) == 0 || strncmp(rest, "refb", 4) == 0)
        dram->refresh = DRAM_PER_BANK;
    else if (rest[0] == 'q')
        dram->bank_queue = time_max(1, strtoull(rest + 1, NULL, 10) / pairs);
    if (params.hbm.pseudo_channels > CHANNELS_MAX)
        refuse("%s: more than 64 pseudo-channels", config);
    return memory_of(params);
}

/* ---- output ---- */

struct errors {
    char kind[32];
    double percent[ROWS_MAX];
    uint32_t count;
};

static int by_size(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

static void note_error(struct errors *kinds, uint32_t *kinds_count, const char *kind,
                       double percent)
{
    uint32_t at = 0;
    while (at < *kinds_count && strcmp(kinds[at].kind, kind) != 0)
        at++;
    if (at == *kinds_count) {
        snprintf(kinds[at].kind, sizeof kinds[at].kind, "%s", kind);
        kinds[at].count = 0;
        (*kinds_count)++;
    }
    kinds[at].percent[kinds[at].count++] = fabs(percent);
}

static void compare(const struct table *table, uint32_t at, const struct memory *memory,
                    struct errors *kinds, uint32_t *kinds_count)
{
    const char *tag = cell(table, at, "tag"), *reference = cell(table, at, "eff");
    struct row row = {
        .memory = memory,
        .tag = tag[0] != '\0' ? tag : "streams",
        .pattern = cell(table, at, "pat"),
        .streams = number(table, at, "n", 1),
        .slots = number(table, at, "slots", 2),
        .tile = number(table, at, "tile", 16384),
        .burst = number(table, at, "burst", 1),
        .grain = number(table, at, "gran", memory->derived.burst_bytes),
        .kv = number(table, at, "kv", 0) != 0,
        .load = strtod(cell(table, at, "load"), NULL),
        .warm_up = 2 * memory->derived.dram.refi,
    };
    uint64_t ticks = number(table, at, "ticks", 40000);
    row.duration = row.warm_up + memory->tck * time_min(ticks, 100000);
    double model;
    draw_state = 1;
    if (strcmp(row.tag, "idle") == 0) {
        row.pattern = cell(table, at, "tag2");
        row.duration = memory->tck * ticks;
        reference = cell(table, at, "mean_ns");
        model = run_idle(&row);
    } else if (strcmp(row.tag, "load") == 0) {
        row.duration = memory->tck * 40000;
        reference = cell(table, at, "mean_ns");
        model = run_load(&row);
    } else if (strcmp(row.tag, "random") == 0) {
        row.grain = time_max(row.grain, memory->derived.burst_bytes);
        model = run_random(&row);
    } else if (row.streams > STREAMS_MAX || row.streams == 0) {
        refuse("%s: 1 to 16 streams are allowed", cell(table, at, "n"));
    } else {
        if (reference[0] == '\0')
            reference = cell(table, at, "eff_mean");
        /* where the bases fall is chance: a mean over several draws */
        uint32_t draws = strcmp(row.pattern, "rand") == 0 ? 8 : 1;
        model = 0;
        for (uint32_t i = 0; i < draws; i++)
            model += run_streams(&row) / draws;
    }
    if (reference[0] == '\0')
        return;
    double wanted = strtod(reference, NULL), percent = 100 * (model / wanted - 1);
    printf("%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%.4f,%.2f\n", cell(table, at, "config"), row.tag,
           row.pattern, cell(table, at, "n"), cell(table, at, "kv"), cell(table, at, "slots"),
           cell(table, at, "burst"), cell(table, at, "gran"), cell(table, at, "load"), reference,
           model, percent);
    note_error(kinds, kinds_count, row.tag, percent);
}

/* ---- speed ---- */

static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* The ends of the last few requests, for a requester that has so many under way. */
struct lately {
    uint64_t end[256];
    uint32_t at;
};

static void note_lately(void *context, uint32_t number, uint64_t end)
{
    struct lately *lately = context;
    (void)number;
    lately->end[lately->at++ % 256] = end;
}

/* Requests of 64 bytes per second of processor time, in millions: of a stream of tiles, whose rows
 * go in as runs; and of bursts at random addresses, each when one of the 256 before it has come. */
static void speed(const struct memory *memory)
{
    enum { TILE = 16384, TILES_EACH = 20000, REQUESTS = 4000000 };
    const struct hbm_derived *derived = &memory->derived;
    struct run_state state;
    struct hbm hbm = {.dram_channels = derived->channels};
    struct machine_params params = {.hbm.interleave_bytes = derived->stripe.number};
    struct cube cube = {.params = &params, .hbm = *derived};
    state_open(&state, memory);
    hbm.dram = state.channels;
    state.requests = memory_new(1, sizeof *state.requests);
    double start = cpu_seconds();
    uint64_t now = 0;
    for (uint64_t i = 0; i < TILES_EACH; i++) {
        banks_arrive(&cube, &hbm, now, i * TILE, TILE, false, 0, request_done, &state);
        state.heap_count = 0;
        now = time_max(now,
                       state.channels[0].bus_free - time_min(state.channels[0].bus_free, 200000));
    }
    double streaming = cpu_seconds() - start;
    state_close(&state);
    struct lately lately = {{0}, 0};
    state_open(&state, memory);
    now = 0;
    start = cpu_seconds();
    for (uint32_t i = 0; i < REQUESTS; i++) {
        struct dram_run run = {.request = i};
        uint32_t channel = banks_locate(derived, draw() % (UINT64_C(1) << 33), &run);
        now = time_max(now, lately.end[lately.at % 256]);
        dram_arrive(&derived->dram, &state.channels[channel], now, &run, note_lately, &lately);
    }
    double random = cpu_seconds() - start;
    state_close(&state);
    printf("streaming,%.1f\nrandom,%.1f\n", (double)TILES_EACH * TILE / 64 / streaming / 1e6,
           (double)REQUESTS / random / 1e6);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct config *config = config_new();
    bool only_speed = argc == 3 && strcmp(argv[2], "--speed") == 0;
    if (argc != 3)
        refuse("usage: fidelity_hbm MEMORY.yaml ROWS.csv%s", "");
    if (!config_load(config, argv[1], &err) || !config_set(config, "hbm.model=banks", &err) ||
        !config_finish(config, &err))
        refuse("%s", err.text);
    const struct machine_params *params = config_params(config);
    const char *name = config_name(config);
    if (only_speed) {
        struct memory memory = row_memory(*params, name, name, 1);
        speed(&memory);
        config_free(config);
        return 0;
    }
    struct table *table = read_table(argv[2]);
    struct errors *kinds = memory_new(16, sizeof *kinds);
    uint32_t kinds_count = 0, named = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < table->rows; i++) {
        const char *text = cell(table, i, "config");
        if (after_name(text, name) != NULL) {
            named++;
            most = time_max(most, channels_in(text));
        }
    }
    uint64_t pairs = most > 0 && 2 * most == params->hbm.pseudo_channels ? 2 : 1;
    printf("config,tag,pattern,n,kv,slots,burst,gran,load,reference,model,error_percent\n");
    for (uint32_t i = 0; i < table->rows; i++) {
        const char *text = cell(table, i, "config");
        if (named > 0 && after_name(text, name) == NULL)
            continue;
        struct memory memory = row_memory(*params, text, name, pairs);
        compare(table, i, &memory, kinds, &kinds_count);
    }
    for (uint32_t i = 0; i < kinds_count; i++) {
        qsort(kinds[i].percent, kinds[i].count, sizeof *kinds[i].percent, by_size);
        printf("# %s: %u rows, median %.1f %%, worst %.1f %%\n", kinds[i].kind, kinds[i].count,
               kinds[i].percent[kinds[i].count / 2], kinds[i].percent[kinds[i].count - 1]);
    }
    config_free(config);
    return 0;
}
