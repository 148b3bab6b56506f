#include "cli/options_table.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "study/options.h"

enum { HELP_BYTES = 400 };

static struct argp_option table[] = {
    /* the words of options are added to it once */
    {0, 0, 0, 0, "What to simulate:", 1},
    {"case", KEY_CASE, "1|2|3|4|all", 0,
     "Placement of the KV cache: 1 split over CUBEs, one PE each; 2 replicated, one PE; 3 "
     "replicated, split over the PEs of a CUBE; 4 split over CUBEs and PEs. A list like 3,4 is "
     "allowed (default all)",
     0},
    {"phase", KEY_PHASE, "decode|prefill", 0,
     "Phase of inference (default: the kernel's, or decode)", 0},
    {"context", KEY_CONTEXT, "LIST", 0,
     "Context lengths in tokens: 8192, or 8K,32K,1M, or 8K..1M (doubling, while "
     "at most the upper end); k, m, g do as well; default 8192",
     0},
    {"batch", KEY_BATCH, "B", 0, "Requests per group (default: the kernel's, mostly 1)", 0},
    {"requests", KEY_REQUESTS, "FILE", 0,
     "Decode: a file with the context length of each request, one per line (# begins a comment); "
     "stands for --batch and --context",
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
     "the phase's). A list like decode,./mine.so runs each in turn; panels stands for the four "
     "panels",
     0},
    {0, 0, 0, 0, "The machine:", 2},
    {"config", KEY_CONFIG, "FILE", 0,
     "Machine file, or the name of one that was installed (default ahbm-sip)", 0},
    {"set", KEY_SET, "KEY=VALUE", 0, "Change one key of the machine; may be repeated", 0},
    {0, 0, 0, 0, "How the kernel works:", 3},
    {"cubes-per-group", KEY_CUBES, "8|4|1", 0,
     "CUBEs that share one KV head; the number of CUBEs of a SIP is allowed too (default 8)", 0},
#define X(ID, field, type, name, ...) {name, KEY_KERNEL_OPTION + TL_NUMBER_##ID, "WORD", 0, "", 0},
    TL_WORD_OPTIONS(X)
#undef X
#define X(ID, field, name, least, most, initial, help)                                             \
    {name, KEY_KERNEL_OPTION + TL_NUMBER_##ID, "N", 0, help, 0},
        TL_NUMBER_OPTIONS(X)
#undef X
            {"kernel-option", KEY_OWN, "NAME=VALUE", 0,
             "An option that only the kernel has, a shared object of your own; may be repeated", 0},
    {0, 0, 0, 0, "Values:", 4},
    {"verify", KEY_VERIFY, 0, 0,
     "Compute on real data and compare the output with exact attention in float64; a wrong one "
     "ends "
     "the program with status 1. Times and counts stay the same",
     0},
    {"seed", KEY_SEED, "N", 0, "Seed of the Q, K and V that --verify generates (default 1)", 0},
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
    {"transport", KEY_TRANSPORT, "auto|mpi|shared", 0,
     "How the ranks exchange events: shared memory inside a node and MPI between nodes, or MPI "
     "alone "
     "(also where a node lacks the memory; --stats tells); changes no result (default auto)",
     0},
    {"lookahead", KEY_LOOKAHEAD, "scout|link", 0,
     "What promises are made of: the scout's knowledge of the programs, or one link's latency, to "
     "compare the rounds; changes no result (default scout)",
     0},
    {"record-ahead", KEY_RECORD_AHEAD, "N", 0,
     "Commands recorded ahead of the simulated CPU; changes no result (default 64)", 0},
    {0, 0, 0, 0, "Without simulating:", 6},
    {"dry-run", KEY_DRY_RUN, 0, 0, "Check options, machine and kernels, list the points, and stop",
     0},
    {"list-kernels", KEY_LIST_KERNELS, 0, 0, "List the kernels, one per line, and stop", 0},
    {"list-results", KEY_LIST_RESULTS, 0, 0, "List what is measured of a point, and stop", 0},
    {"print-config", KEY_PRINT_CONFIG, 0, 0, "Print the machine as a machine file, and stop", 0},
    {"help", KEY_SHORT_HELP, 0, 0, "Print this help, and stop", 0},
    {"version", KEY_SHORT_VERSION, 0, 0, "Print the version, and stop", 0},
    {0, 0, 0, 0, 0, 0},
};

/* "what it does: one, two or three (default one)" */
static void describe(const struct option_row *row, char *text, size_t size)
{
    snprintf(text, size, "%s: ", row->help);
    for (size_t i = 0; row->words[i] != NULL; i++) {
        bool last = row->words[i + 1] == NULL;
        const char *before = i == 0 ? "" : last ? " or " : ", ";
        snprintf(text + strlen(text), size - strlen(text), "%s%s", before, row->words[i]);
    }
    snprintf(text + strlen(text), size - strlen(text), " (default %s)", row->words[0]);
}

const struct argp_option *options_table(void)
{
    static char texts[TL_OPTION_NUMBERS][HELP_BYTES];
    for (struct argp_option *entry = table; entry->name != NULL || entry->doc != NULL; entry++) {
        int number = entry->key - KEY_KERNEL_OPTION;
        if (number < 0 || option_row((enum tl_option_number)number)->words[0] == NULL)
            continue;
        describe(option_row((enum tl_option_number)number), texts[number], HELP_BYTES);
        entry->doc = texts[number];
    }
    return table;
}

uint32_t options_table_bit(int key)
{
    if (key >= KEY_KERNEL_OPTION)
        return UINT32_C(1) << (key - KEY_KERNEL_OPTION);
    switch (key) {
    case KEY_CONTEXT:
        return TL_OPTION_CONTEXT;
    case KEY_REQUESTS:
        return TL_OPTION_REQUESTS;
    case KEY_BATCH:
        return TL_OPTION_BATCH;
    case KEY_QUERY_LEN:
        return TL_OPTION_QUERY_LEN;
    case KEY_MESSAGE:
        return TL_OPTION_MESSAGE;
    default:
        return 0;
    }
}
