#include "cli/options.h"

#include <argp.h>
#include <string.h>

#include "cli/words.h"
#include "support/memory.h"

enum key {
    KEY_CASE = 256,
    KEY_PHASE,
    KEY_CONTEXT,
    KEY_KERNEL,
    KEY_BATCH,
    KEY_QUERY_LEN,
    KEY_MESSAGE,
    KEY_REQUESTS,
    KEY_CONFIG,
    KEY_SET,
    KEY_CUBES,
    KEY_REDUCE_PE,
    KEY_REDUCE_CUBE,
    KEY_MLO,
    KEY_GEMM,
    KEY_FORM,
    KEY_TILE,
    KEY_TP_IDLE,
    KEY_SHARDS,
    KEY_RING_DEPTH,
    KEY_SEED,
    KEY_TENSORS,
    KEY_OUTPUT,
    KEY_TRACE,
    KEY_SYNC,
    KEY_TRANSPORT,
    KEY_LOOKAHEAD,
    KEY_RECORD_AHEAD,
    KEY_FORMAT,
    KEY_VERIFY,
    KEY_WRITE_OUTPUT,
    KEY_STATS,
    KEY_PROGRESS,
    KEY_QUIET,
    KEY_DRY_RUN,
    KEY_LIST_KERNELS,
    KEY_PRINT_CONFIG,
    KEY_HELP,
    KEY_VERSION
};

static const struct argp_option table[] = {
    {0, 0, 0, 0, "What to simulate:", 1},
    {"case", KEY_CASE, "1|2|3|4|all", 0,
     "Placement of the KV cache: 1 split over CUBEs, one PE each; 2 replicated, one PE; 3 "
     "replicated, split over the PEs of a CUBE; 4 split over CUBEs and PEs. A list like 3,4 is "
     "allowed (default all)",
     0},
    {"phase", KEY_PHASE, "decode|prefill", 0,
     "Phase of inference (default: the kernel's, or decode)", 0},
    {"context", KEY_CONTEXT, "LIST", 0,
     "Context lengths in tokens: 8192, or 8K,32K,1M, or 8K..1M (doubling); default 8192", 0},
    {"batch", KEY_BATCH, "B", 0, "Requests per group (default: the kernel's, mostly 1)", 0},
    {"requests", KEY_REQUESTS, "FILE", 0,
     "Decode: a file with one context length per line, one line per request; stands for --batch "
     "and "
     "--context",
     0},
    {"query-len", KEY_QUERY_LEN, "T", 0,
     "Query positions per request, the last ones of the context (default: 1 in decode, the whole "
     "context in prefill)",
     0},
    {"message", KEY_MESSAGE, "BYTES", 0,
     "Collective kernels: sum a vector of so many bytes per PE, 32 to 64M, instead of reducing the "
     "(m, "
     "l, O) of the context",
     0},
    {"kernel", KEY_KERNEL, "NAME|FILE.so", 0,
     "Kernel to run: a shipped one (see --list-kernels) or a shared object of your own (default: "
     "the "
     "phase's)",
     0},
    {0, 0, 0, 0, "The machine:", 2},
    {"config", KEY_CONFIG, "FILE", 0,
     "Machine file, or the name of one that was installed (default ahbm-sip)", 0},
    {"set", KEY_SET, "KEY=VALUE", 0, "Change one key of the machine; may be repeated", 0},
    {0, 0, 0, 0, "How the kernel works:", 3},
    {"cubes-per-group", KEY_CUBES, "8|4|1", 0,
     "CUBEs that share one KV head; the number of CUBEs of a SIP is allowed too (default 8)", 0},
    {"reduce-pe", KEY_REDUCE_PE, "SHAPE", 0,
     "Reduction over the PEs of a CUBE: chain, tree or centre (default chain)", 0},
    {"reduce-cube", KEY_REDUCE_CUBE, "SHAPE", 0,
     "Reduction over the CUBEs of a group: chain, tree or centre (default chain)", 0},
    {"mlo", KEY_MLO, "separate|packed", 0,
     "(m, l, O) travel as three copies or as one (default separate)", 0},
    {"gemm", KEY_GEMM, "composite|dot", 0,
     "GEMMs as composites of the scheduler or as blocking dots (default composite)", 0},
    {"form", KEY_FORM, "FORM", 0,
     "auto, one-shot, tiled or softmax_merge; auto is one-shot up to one tile per PE and tiled "
     "above "
     "(default auto)",
     0},
    {"tile", KEY_TILE, "T", 0,
     "KV tokens per tile (default 1024 in decode; in prefill 128 or fewer, so that the work of a "
     "PE "
     "fits into its scratch)",
     0},
    {"tp-idle", KEY_TP_IDLE, "off|redundant", 0,
     "PEs without a request are idle, or sweep for nothing (default off)", 0},
    {"shards", KEY_SHARDS, "contiguous|striped|zigzag", 0,
     "Prefill, cases 1 and 2: how query positions are dealt to the PEs (default contiguous)", 0},
    {"ring-depth", KEY_RING_DEPTH, "N", 0,
     "Prefill, cases 1 and 4: buffers for arriving KV blocks, 2 to 64 (default 2)", 0},
    {0, 0, 0, 0, "Values:", 4},
    {"verify", KEY_VERIFY, 0, 0,
     "Compute on real data and compare the output with exact attention in float64; a wrong one "
     "ends "
     "the program with status 1. Times and counts stay the same",
     0},
    {"seed", KEY_SEED, "N", 0, "Seed of the generated Q, K and V (default 1)", 0},
    {"tensors", KEY_TENSORS, "FILE.h5", 0,
     "Q [requests, query heads, positions, dim], K and V [requests, KV heads, context, dim] of "
     "this "
     "file instead of generated ones; implies --verify",
     0},
    {"write-output", KEY_WRITE_OUTPUT, 0, 0,
     "Write the output O into the result file, below /output; implies --verify", 0},
    {0, 0, 0, 0, "Output:", 5},
    {"output", KEY_OUTPUT, "FILE.h5", 0, "Result file (default ahbm-pdes.h5)", 0},
    {"trace", KEY_TRACE, "LEVEL", 0,
     "none, summary (totals per PE and operation) or commands (one record each); default commands "
     "up "
     "to 64K tokens and summary above",
     0},
    {"format", KEY_FORMAT, "table|json", 0,
     "Form of the summary on standard output (default table)", 0},
    {"stats", KEY_STATS, 0, 0, "Also tell how fast the simulation ran", 0},
    {"progress", KEY_PROGRESS, 0, 0, "Name each point on standard error as it starts", 0},
    {"quiet", KEY_QUIET, 0, 0, "No summary", 0},
    {"sync", KEY_SYNC, "window|null", 0,
     "How the ranks keep in step; changes no result (default window)", 0},
    {"transport", KEY_TRANSPORT, "auto|mpi|shared", 0,
     "How the ranks exchange events: shared memory when they are on one node, MPI otherwise; "
     "changes no result (default auto)",
     0},
    {"lookahead", KEY_LOOKAHEAD, "scout|link", 0,
     "What promises are made of: the scout's knowledge of the programs, or one link's latency, to "
     "compare the rounds; changes no result (default scout)",
     0},
    {"record-ahead", KEY_RECORD_AHEAD, "N", 0,
     "Commands recorded ahead of the simulated CPU; changes no result (default 64)", 0},
    {0, 0, 0, 0, "Without simulating:", 6},
    {"dry-run", KEY_DRY_RUN, 0, 0, "Check options and machine, list the points, and stop", 0},
    {"list-kernels", KEY_LIST_KERNELS, 0, 0, "List the kernels, one per line, and stop", 0},
    {"print-config", KEY_PRINT_CONFIG, 0, 0, "Print the machine as a machine file, and stop", 0},
    {"help", KEY_HELP, 0, 0, "Print this help, and stop", 0},
    {"version", KEY_VERSION, 0, 0, "Print the version, and stop", 0},
    {0, 0, 0, 0, 0, 0},
};

struct parse {
    struct options *options;
    struct error *err;
    const char *culprit; /* the argument that argp did not take */
};

static const char *const reduce_words[] = {"chain", "tree", "centre", NULL};

static bool parse_cases(const char *text, struct study_options *study, struct error *err)
{
    bool all = strcmp(text, "all") == 0;
    for (int i = 0; i < CASES; i++)
        study->cases[i] = all;
    for (const char *at = text; !all; at += 2) {
        if (*at < '1' || *at > '0' + CASES || (at[1] != ',' && at[1] != '\0'))
            return error_set(err, ERROR_USAGE,
                             "--case: '%.80s' is not allowed (allowed: 1, 2, 3, 4, a list of them, "
                             "or all)",
                             text);
        study->cases[*at - '1'] = true;
        all = at[1] == '\0';
    }
    return true;
}

static bool parse_u32(const char *option, const char *text, uint32_t min, uint32_t max,
                      uint32_t *value, struct error *err)
{
    uint64_t wide = 0;
    bool ok = words_number(option, text, min, max, &wide, err);
    *value = (uint32_t)wide;
    return ok;
}

static bool set_problem(int key, const char *text, struct study_options *study, struct error *err)
{
    static const char *const phases[] = {"decode", "prefill", NULL};
    int index = 0;
    bool ok = true;
    switch (key) {
    case KEY_CASE:
        study->cases_given = true;
        return parse_cases(text, study, err);
    case KEY_PHASE:
        ok = words_choice("phase", text, phases, &index, err);
        study->phase = (enum tl_phase)index;
        study->phase_given = true;
        return ok;
    case KEY_CONTEXT:
        return words_contexts("context", text, &study->contexts, &study->contexts_count, err);
    case KEY_BATCH:
        return parse_u32("batch", text, 1, 65536, &study->batch, err);
    case KEY_QUERY_LEN:
        return parse_u32("query-len", text, 1, UINT32_MAX, &study->query_len, err);
    case KEY_MESSAGE:
        return words_number("message", text, 32, UINT64_C(64) << 20, &study->message, err);
    case KEY_REQUESTS:
        return words_requests("requests", text, &study->request_contexts, &study->batch, err);
    case KEY_KERNEL:
        study->kernel = text;
        return true;
    default:
        return parse_u32("cubes-per-group", text, 1, 65536, &study->cubes_per_group, err);
    }
}

static bool set_form(int key, const char *text, struct study_options *study, struct error *err)
{
    static const char *const mlo[] = {"separate", "packed", NULL};
    static const char *const gemm[] = {"composite", "dot", NULL};
    static const char *const form[] = {"auto", "one-shot", "tiled", "softmax_merge", NULL};
    static const char *const idle[] = {"off", "redundant", NULL};
    static const char *const shards[] = {"contiguous", "striped", "zigzag", NULL};
    int index = 0;
    bool ok = true;
    switch (key) {
    case KEY_REDUCE_PE:
        ok = words_choice("reduce-pe", text, reduce_words, &index, err);
        study->reduce_pe = (enum tl_reduce)index;
        break;
    case KEY_REDUCE_CUBE:
        ok = words_choice("reduce-cube", text, reduce_words, &index, err);
        study->reduce_cube = (enum tl_reduce)index;
        break;
    case KEY_MLO:
        ok = words_choice("mlo", text, mlo, &index, err);
        study->packed = index == 1;
        break;
    case KEY_GEMM:
        ok = words_choice("gemm", text, gemm, &index, err);
        study->gemm = (enum tl_gemm)index;
        break;
    case KEY_FORM:
        ok = words_choice("form", text, form, &index, err);
        study->form = (enum tl_form)index;
        break;
    case KEY_TP_IDLE:
        ok = words_choice("tp-idle", text, idle, &index, err);
        study->tp_redundant = index == 1;
        break;
    case KEY_SHARDS:
        ok = words_choice("shards", text, shards, &index, err);
        study->shards = (enum tl_shards)index;
        break;
    case KEY_RING_DEPTH:
        return parse_u32("ring-depth", text, 2, 64, &study->ring_depth, err);
    default:
        ok = parse_u32("tile", text, 1, 65536, &study->tile, err);
    }
    return ok;
}

static bool set_parallel(int key, const char *text, struct study_options *study, struct error *err)
{
    static const char *const syncs[] = {"window", "null", NULL};
    static const char *const transports[] = {"auto", "mpi", "shared", NULL};
    static const char *const lookaheads[] = {"scout", "link", NULL};
    int index = 0;
    bool ok;
    if (key == KEY_SYNC) {
        ok = words_choice("sync", text, syncs, &index, err);
        study->sync = (enum sync_kind)index;
    } else if (key == KEY_TRANSPORT) {
        ok = words_choice("transport", text, transports, &index, err);
        study->transport = (enum transport_choice)index;
    } else {
        ok = words_choice("lookahead", text, lookaheads, &index, err);
        study->short_sighted = index == 1;
    }
    return ok;
}

static bool set_output(int key, const char *text, struct options *options, struct error *err)
{
    static const char *const levels[] = {"none", "summary", "commands", NULL};
    static const char *const formats[] = {"table", "json", NULL};
    struct study_options *study = &options->study;
    int index = 0;
    bool ok = true;
    switch (key) {
    case KEY_OUTPUT:
        study->output = text;
        return *text != '\0' || error_set(err, ERROR_USAGE, "--output: the file name is empty");
    case KEY_TRACE:
        ok = words_choice("trace", text, levels, &index, err);
        study->trace = (enum trace_level)(TRACE_NONE + index);
        return ok;
    case KEY_SEED:
        return words_number("seed", text, 0, UINT64_MAX, &study->seed, err);
    case KEY_TENSORS:
        study->tensors = text;
        study->verify = true;
        return true;
    case KEY_RECORD_AHEAD:
        return parse_u32("record-ahead", text, 1, UINT32_MAX, &study->record_ahead, err);
    case KEY_FORMAT:
        ok = words_choice("format", text, formats, &index, err);
        options->format = (enum summary_format)index;
        return ok;
    case KEY_CONFIG:
        options->config = text;
        return true;
    default: /* KEY_SET */
        options->assignments = memory_resize(options->assignments, options->assignments_count + 1,
                                             sizeof *options->assignments);
        options->assignments[options->assignments_count++] = text;
        return true;
    }
}

static void set_flag(int key, struct options *options)
{
    switch (key) {
    case KEY_WRITE_OUTPUT:
        options->study.write_output = true;
        options->study.verify = true;
        break;
    case KEY_VERIFY:
        options->study.verify = true;
        break;
    case KEY_STATS:
        options->stats = true;
        break;
    case KEY_PROGRESS:
        options->progress = true;
        break;
    case KEY_QUIET:
        options->quiet = true;
        break;
    case KEY_DRY_RUN:
        options->action = ACTION_DRY_RUN;
        break;
    case KEY_LIST_KERNELS:
        options->action = ACTION_LIST_KERNELS;
        break;
    case KEY_PRINT_CONFIG:
        options->action = ACTION_PRINT_CONFIG;
        break;
    case KEY_HELP:
        options->action = ACTION_HELP;
        break;
    default:
        options->action = ACTION_VERSION;
    }
}

/* The argument that argp stopped at: it is past it, except within a cluster like -xy. */
static const char *find_culprit(const struct argp_state *state)
{
    const char *last = state->next > 0 ? state->argv[state->next - 1] : "";
    return *last == '-' || state->next >= state->argc ? last : state->argv[state->next];
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct parse *parse = state->input;
    struct options *options = parse->options;
    bool ok = true;
    if (key == ARGP_KEY_ERROR)
        parse->culprit = find_culprit(state);
    if (key == ARGP_KEY_ARG)
        ok = error_set(parse->err, ERROR_USAGE, "'%.80s' is not an option (see --help)", text);
    else if (key < KEY_CASE || key > KEY_VERSION)
        return ARGP_ERR_UNKNOWN;
    else if (key <= KEY_REQUESTS || key == KEY_CUBES)
        ok = set_problem(key, text, &options->study, parse->err);
    else if (key >= KEY_REDUCE_PE && key <= KEY_RING_DEPTH)
        ok = set_form(key, text, &options->study, parse->err);
    else if (key >= KEY_SYNC && key <= KEY_LOOKAHEAD)
        ok = set_parallel(key, text, &options->study, parse->err);
    else if (key >= KEY_VERIFY)
        set_flag(key, options);
    else
        ok = set_output(key, text, options, parse->err);
    return ok ? 0 : EINVAL;
}

static const struct argp parser = {
    table,
    parse_option,
    0,
    "Simulates grouped-query attention on an AHBM chip and writes one HDF5 file.\v"
    "Run one rank per CUBE, or fewer: mpirun -np 16 ahbm-pdes --case 4\n"
    "Exit status: 0 done, 1 the run failed, 2 bad usage or configuration.",
    0,
    0,
    0};

static void set_defaults(struct options *options)
{
    *options = (struct options){0};
    options->study = (struct study_options){
        .cases = {true, true, true, true},
        .ring_depth = STUDY_DEFAULT_RING_DEPTH,
        .record_ahead = STUDY_DEFAULT_RECORD_AHEAD,
        .seed = 1,
        .output = STUDY_DEFAULT_OUTPUT,
    };
    options->study.contexts = memory_new(1, sizeof *options->study.contexts);
    options->study.contexts[0] = STUDY_DEFAULT_CONTEXT;
    options->study.contexts_count = 1;
}

/* With a length for each request the longest is the point's. */
static void complete(struct study_options *study)
{
    if (study->request_contexts == NULL)
        return;
    study->contexts_count = 1;
    study->contexts[0] = 0;
    for (uint32_t r = 0; r < study->batch; r++)
        if (study->request_contexts[r] > study->contexts[0])
            study->contexts[0] = study->request_contexts[r];
}

bool options_parse(struct options *options, int argc, char **argv, struct error *err)
{
    struct parse parse = {options, err, ""};
    set_defaults(options);
    unsigned flags = ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP;
    if (argp_parse(&parser, argc, argv, flags, NULL, &parse) == 0 && err->code == ERROR_NONE) {
        complete(&options->study);
        return true;
    }
    return error_set(err, ERROR_USAGE,
                     "option '%.80s' is unknown, ambiguous or lacks its value (see --help)",
                     parse.culprit);
}

void options_fini(struct options *options)
{
    memory_free(options->study.contexts);
    memory_free(options->study.request_contexts);
    memory_free(options->assignments);
}

void options_print_help(FILE *out)
{
    char name[] = "ahbm-pdes";
    argp_help(&parser, out, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK, name);
}
