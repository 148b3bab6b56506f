/* fidelity_noc NETWORK.yaml ROWS.csv...: the PE mesh of one CUBE driven with the traffic that the
 * rows of CSV files name, and held against what they say was measured.
 *
 * Columns are found by their names; what is absent or empty is not compared:
 *   topology     mesh or torus, _linkN behind it for links of N cycles; without, a torus' links are
 *                twice as long as a mesh's, and those of NETWORK.yaml's topology are as it says
 *   k, num_vcs, buffer_flits, packet (flits)   instead of NETWORK.yaml's
 *   links        nlat_min is the latency of one packet over so many links
 *   traffic      uniform (itself included), neighbor (+1 in both dimensions), xneighbor, transpose
 *   zero_load_latency, sat_offered_3x, accepted_at_offered_1    in cycles; in flits per node and
 * cycle A packet is made at each node and cycle with the probability offered / packet. Its latency
 * is counted from then on, the wait at its source included, and --endpoint cycles are added for
 * what the reference's nodes take. Saturation is the offered load at which the mean latency is
 * three times that at 0.02. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "machine/machine.h"
#include "pdes/core/engine.h"
#include "support/memory.h"

enum { COLUMNS_MAX = 64, LINE_MAX_BYTES = 4096, KINDS = 6, ERRORS_MAX = 4096 };

static struct {
    uint64_t warm_up, measured, endpoint, seed;
    const char *network;
    char **rows;
    int rows_count;
} options = {5000, 20000, 5, 1, NULL, NULL, 0};

/* ---- one run ---- */

enum traffic {
    TRAFFIC_UNIFORM,
    TRAFFIC_NEIGHBOR,
    TRAFFIC_XNEIGHBOR,
    TRAFFIC_TRANSPOSE,
    TRAFFIC_ONE
};

struct run {
    const struct machine_params *params;
    enum traffic traffic;
    uint64_t random, packet_bytes, packet_flits, cycle_ps;
    double probability;      /* of a packet, per node and cycle */
    uint64_t from_ps, to_ps; /* the measured time */
    uint64_t open;           /* measured packets on their way */
    uint64_t packets, latency_ps, flits;
    uint32_t source, destination; /* TRAFFIC_ONE */
};

static struct run run;

static double draw(void)
{
    uint64_t z = (run.random += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static uint32_t destination_of(uint32_t pe)
{
    struct grid grid = run.params->geometry.pes;
    struct position at = grid_position(grid, pe), to = at;
    switch (run.traffic) {
    case TRAFFIC_UNIFORM:
        return (uint32_t)(draw() * grid_size(grid));
    case TRAFFIC_NEIGHBOR:
        to.y = (at.y + 1) % grid.rows;
        to.x = (at.x + 1) % grid.columns;
        break;
    case TRAFFIC_XNEIGHBOR:
        to.x = (at.x + 1) % grid.columns;
        break;
    case TRAFFIC_TRANSPOSE:
        to = (struct position){at.y, at.x};
        break;
    default:
        return run.destination;
    }
    return grid_index(grid, to);
}

/* The cycles until a node's next packet. */
static uint64_t pause_cycles(void)
{
    uint64_t cycles = 1;
    while (draw() >= run.probability)
        cycles++;
    return cycles;
}

static bool is_measured(uint64_t time)
{
    return time >= run.from_ps && time < run.to_ps;
}

/* A node makes a packet and plans its next one. */
static void make_packet(struct lp *lp, const struct event *event)
{
    uint32_t pe = unit_pe(event->dst);
    network_send(lp, event->dst, lp->now,
                 (struct packet){.destination = unit_of(0, destination_of(pe), UNIT_DMA),
                                 .bytes = (uint32_t)run.packet_bytes,
                                 .kind = PACKET_REPLY,
                                 .of.memory = {.addr = lp->now}});
    run.open += is_measured(lp->now);
    if (run.traffic != TRAFFIC_ONE && (lp->now < run.to_ps || run.open > 0))
        dma_job_send(lp, event->dst, event->dst, lp->now + pause_cycles() * run.cycle_ps,
                     (struct dma_job){.bytes = 0});
}

static void take_packet(struct lp *lp, const struct event *event)
{
    uint64_t made = dma_data_body(event)->addr;
    if (is_measured(lp->now))
        run.flits += run.packet_flits;
    if (!is_measured(made))
        return;
    run.open--;
    run.packets++;
    run.latency_ps += lp->now - made;
}

static void simulate(void)
{
    struct lp_model model = *cube_model();
    lp_handler *handlers[MESSAGES];
    memcpy(handlers, model.handlers, sizeof handlers);
    handlers[MSG_DMA_JOB] = make_packet;
    handlers[MSG_DMA_DATA] = take_packet;
    model.handlers = handlers;
    struct transport *transport = transport_local_new();
    struct engine_config config = {
        .lps = 1, .unit_bits = MACHINE_UNIT_BITS, .model = &model, .transport = transport};
    struct engine *engine = engine_new(&config);
    struct lp *lp = engine_lp(engine, 0);
    struct trace_sink none = {0};
    struct cube *cube = cube_new(run.params, lp, &none);
    struct error error = {0};
    for (uint32_t pe = 0; pe < grid_size(run.params->geometry.pes); pe++) {
        uint32_t unit = unit_of(0, pe, UNIT_DMA);
        if (run.traffic != TRAFFIC_ONE || pe == run.source)
            dma_job_send(lp, unit, unit,
                         run.traffic == TRAFFIC_ONE ? run.cycle_ps : pause_cycles() * run.cycle_ps,
                         (struct dma_job){.bytes = 0});
    }
    if (engine_run(engine, &error) != ENGINE_DONE) {
        fprintf(stderr, "fidelity_noc: error: %s\n", error.text);
        exit(1);
    }
    cube_free(cube);
    engine_free(engine);
    transport->ops->destroy(transport);
}

static double mean_latency(void)
{
    return run.packets == 0 ? 0
                            : (double)run.latency_ps / (double)run.packets / (double)run.cycle_ps +
                                  (double)options.endpoint;
}

/* Long packets are few. */
static uint64_t measured_cycles(void)
{
    return options.measured + 1000 * run.packet_flits;
}

/* At `offered` flits per node and cycle. Returns the mean latency in cycles. */
static double load(double offered)
{
    run.random = options.seed;
    run.probability = offered / (double)run.packet_flits;
    run.from_ps = options.warm_up * run.cycle_ps;
    run.to_ps = run.from_ps + measured_cycles() * run.cycle_ps;
    run.open = run.packets = run.latency_ps = run.flits = 0;
    simulate();
    return mean_latency();
}

/* ---- what rows ask for ---- */

static double zero_load(void)
{
    return load(0.02);
}

static double saturation(void)
{
    enum { STEPS = 9 };
    double limit = 3 * zero_load(), low = 0.02, high = 1;
    for (int i = 0; i < STEPS; i++) {
        double middle = (low + high) / 2;
        if (load(middle) < limit)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

static double accepted(void)
{
    load(1);
    return (double)run.flits / (double)measured_cycles() /
           (double)grid_size(run.params->geometry.pes);
}

static uint32_t ring_links(uint32_t from, uint32_t to, uint32_t size, bool torus)
{
    uint32_t plain = from < to ? to - from : from - to;
    return torus && size - plain < plain ? size - plain : plain;
}

/* One packet alone over `links`; the least and most over all pairs must be one. False: no two nodes
 * are so far apart. */
static bool one_packet(uint32_t links, double *latency)
{
    const struct geometry *geometry = &run.params->geometry;
    uint32_t nodes = grid_size(geometry->pes);
    double least = 0, most = 0;
    run.traffic = TRAFFIC_ONE;
    for (uint32_t pair = 0; pair < nodes * nodes; pair++) {
        struct position a = grid_position(geometry->pes, pair / nodes);
        struct position b = grid_position(geometry->pes, pair % nodes);
        if (ring_links(a.x, b.x, geometry->pes.columns, geometry->pe_torus) +
                ring_links(a.y, b.y, geometry->pes.rows, geometry->pe_torus) !=
            links)
            continue;
        run.source = pair / nodes;
        run.destination = pair % nodes;
        run.from_ps = 0;
        run.to_ps = TIME_LAST;
        run.open = run.packets = run.latency_ps = 0;
        simulate();
        double now = mean_latency();
        most = now > most ? now : most;
        least = least == 0 || now < least ? now : least;
    }
    if (least != most)
        fprintf(stderr, "fidelity_noc: pairs %u links apart differ\n", links);
    *latency = most;
    return most > 0;
}

/* ---- rows ---- */

struct table {
    char header[LINE_MAX_BYTES], line[LINE_MAX_BYTES];
    char *names[COLUMNS_MAX], *values[COLUMNS_MAX];
    int columns;
};

static int split(char *line, char **fields)
{
    int count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *field; count < COLUMNS_MAX && (field = strsep(&line, ",")) != NULL;)
        fields[count++] = field;
    return count;
}

/* The row's value in a column; "": there is none. */
static const char *value_of(const struct table *table, const char *name)
{
    for (int i = 0; i < table->columns; i++)
        if (strcmp(table->names[i], name) == 0 && table->values[i] != NULL)
            return table->values[i];
    return "";
}

static uint64_t number_or(const struct table *table, const char *name, uint64_t otherwise)
{
    const char *text = value_of(table, name);
    return *text == '\0' ? otherwise : strtoull(text, NULL, 10);
}

struct kind {
    const char *name;
    double errors[ERRORS_MAX];
    int count;
};

static struct kind kinds[KINDS] = {{.name = "zero_load"},          {.name = "zero_load_mean"},
                                   {.name = "saturation_uniform"}, {.name = "saturation_neighbor"},
                                   {.name = "accepted"},           {.name = "saturation_other"}};

/* A reference ">=x" is met by all that is not less. */
static void compare(const struct table *table, struct kind *kind, const char *reference,
                    double model)
{
    bool least = strncmp(reference, ">=", 2) == 0;
    double wanted = strtod(reference + (least ? 2 : 0), NULL);
    double error = least && model >= wanted ? 0 : 100 * (model / wanted - 1);
    printf("%s,%s,%s,%s,%s,%s,%s,%.5g,%.3f\n", value_of(table, "topology"), kind->name,
           value_of(table, "num_vcs"), value_of(table, "traffic"), value_of(table, "packet"),
           value_of(table, "links"), reference, model, error);
    fflush(stdout);
    if (kind->count < ERRORS_MAX)
        kind->errors[kind->count++] = error < 0 ? -error : error;
}

/* What the row says instead of the machine file. */
static struct machine_params params_of(const struct table *table, const struct machine_params *file)
{
    struct machine_params params = *file;
    const char *topology = value_of(table, "topology");
    const char *link = strstr(topology, "_link");
    uint64_t k = number_or(table, "k", 0), cycle_ps = run.cycle_ps;
    if (*topology != '\0')
        params.geometry.pe_torus = strncmp(topology, "torus", 5) == 0;
    if (params.geometry.pe_torus && !file->geometry.pe_torus)
        params.link[LEVEL_PE].latency_ps *= 2;
    if (!params.geometry.pe_torus && file->geometry.pe_torus)
        params.link[LEVEL_PE].latency_ps /= 2;
    if (link != NULL)
        params.link[LEVEL_PE].latency_ps = strtoull(link + 5, NULL, 10) * cycle_ps;
    if (k > 0)
        params.geometry.pes = (struct grid){(uint32_t)k, (uint32_t)k};
    params.network.virtual_channels = number_or(table, "num_vcs", params.network.virtual_channels);
    params.network.buffer_flits = number_or(table, "buffer_flits", params.network.buffer_flits);
    return params;
}

static bool choose_traffic(const char *name)
{
    static const char *const names[] = {"uniform", "neighbor", "xneighbor", "transpose"};
    for (int i = 0; i < TRAFFIC_ONE; i++)
        if (strcmp(name, names[i]) == 0) {
            run.traffic = (enum traffic)i;
            return true;
        }
    return false;
}

static void fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "fidelity_noc: error: %s:%d: %s\n", file, line, what);
    exit(2);
}

static void run_row(const struct table *table, const char *file, int line)
{
    const char *wanted;
    double latency;
    if (grid_size(run.params->geometry.pes) > MACHINE_PES_MAX ||
        run.params->network.virtual_channels < 1u + run.params->geometry.pe_torus ||
        run.params->network.virtual_channels > NETWORK_VCS_MAX)
        fail(file, line, "k is above 10, or num_vcs is not 1 (torus: 2) to 16");
    if (*(wanted = value_of(table, "nlat_min")) != '\0') {
        if (!one_packet((uint32_t)number_or(table, "links", 0), &latency))
            fail(file, line, "no two nodes are so many links apart");
        compare(table, &kinds[0], wanted, latency);
    }
    if (*value_of(table, "traffic") == '\0')
        return;
    if (!choose_traffic(value_of(table, "traffic")))
        fail(file, line, "traffic is not uniform, neighbor, xneighbor or transpose");
    if (*(wanted = value_of(table, "zero_load_latency")) != '\0')
        compare(table, &kinds[1], wanted, zero_load());
    if (*(wanted = value_of(table, "sat_offered_3x")) != '\0')
        compare(table,
                &kinds[run.traffic == TRAFFIC_UNIFORM     ? 2
                       : run.traffic == TRAFFIC_TRANSPOSE ? 5
                                                          : 3],
                wanted, saturation());
    if (*(wanted = value_of(table, "accepted_at_offered_1")) != '\0')
        compare(table, &kinds[4], wanted, accepted());
}

static void run_file(const char *name, const struct machine_params *machine)
{
    static struct table table;
    FILE *file = fopen(name, "r");
    if (file == NULL || fgets(table.header, sizeof table.header, file) == NULL)
        fail(name, 1, "cannot be read");
    table.columns = split(table.header, table.names);
    for (int line = 2; fgets(table.line, sizeof table.line, file) != NULL; line++) {
        memset(table.values, 0, sizeof table.values);
        if (split(table.line, table.values) < 2)
            continue;
        run = (struct run){.cycle_ps = rate_duration(machine->link[LEVEL_PE].rate,
                                                     machine->network.width_bytes[LEVEL_PE])};
        struct machine_params params = params_of(&table, machine);
        run.params = &params;
        run.packet_flits = number_or(&table, "packet", 1);
        run.packet_bytes = run.packet_flits * machine->network.width_bytes[LEVEL_PE];
        run_row(&table, name, line);
    }
    fclose(file);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_kinds(void)
{
    printf("\nkind,rows,median_percent,worst_percent\n");
    for (struct kind *kind = kinds; kind < kinds + KINDS; kind++) {
        if (kind->count == 0)
            continue;
        qsort(kind->errors, (size_t)kind->count, sizeof *kind->errors, ascending);
        printf("%s,%d,%.3f,%.3f\n", kind->name, kind->count,
               (kind->errors[kind->count / 2] + kind->errors[(kind->count - 1) / 2]) / 2,
               kind->errors[kind->count - 1]);
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    switch (key) {
    case 'w':
        options.warm_up = strtoull(text, NULL, 10);
        return 0;
    case 'm':
        options.measured = strtoull(text, NULL, 10);
        return 0;
    case 'e':
        options.endpoint = strtoull(text, NULL, 10);
        return 0;
    case 's':
        options.seed = strtoull(text, NULL, 10);
        return 0;
    case ARGP_KEY_ARGS:
        if (state->argc - state->next < 2)
            argp_usage(state);
        options.network = state->argv[state->next];
        options.rows = state->argv + state->next + 1;
        options.rows_count = state->argc - state->next - 1;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_usage(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"warm-up", 'w', "CYCLES", 0, "Not measured at first (5000)", 0},
        {"measure", 'm', "CYCLES", 0, "Measured then (20000), and 1000 for each flit of a packet",
         0},
        {"endpoint", 'e', "CYCLES", 0, "Added to each latency (5: BookSim's nodes)", 0},
        {"seed", 's', "N", 0, "Of the traffic (1)", 0},
        {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .args_doc = "NETWORK.yaml ROWS.csv...",
                                     .doc = "Holds the PE mesh against measured networks."};
    struct error error = {0};
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    struct config *config = config_new();
    if (!config_load(config, options.network, &error) || !config_finish(config, &error)) {
        fprintf(stderr, "fidelity_noc: error: %s\n", error.text);
        return 2;
    }
    const struct machine_params *machine = config_params(config);
    if (!machine->network.cut_through) {
        fprintf(stderr, "fidelity_noc: error: %s: network.switching is not cut_through\n",
                options.network);
        return 2;
    }
    printf("config,tag,num_vcs,traffic,packet,links,reference,model,error_percent\n");
    for (int i = 0; i < options.rows_count; i++)
        run_file(options.rows[i], machine);
    print_kinds();
    config_free(config);
    return 0;
}
