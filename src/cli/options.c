#include "cli/options.h"

#include <assert.h>
#include <argp.h>
#include <string.h>

#include "cli/options_table.h"
#include "cli/words.h"
#include "study/kernel.h"
#include "support/memory.h"

struct parse {
    struct options *options;
    struct error *err;
    const char *culprit; /* the argument that argp did not take */
};

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

/* A number of at least 1 whose range is known later: what is allowed is told as `allowed`. */
static bool parse_some(const char *option, const char *text, const char *allowed, uint32_t *value,
                       struct error *err)
{
    struct error ignored = {ERROR_NONE, ""};
    return parse_u32(option, text, 1, UINT32_MAX, value, &ignored) ||
           error_set(err, ERROR_USAGE, "--%s: '%.80s' is not allowed (allowed: %s)", option, text,
                     allowed);
}

static bool parse_file(const char *option, const char *text, const char **path, struct error *err)
{
    *path = text;
    return *text != '\0' || error_set(err, ERROR_USAGE, "--%s: the file name is empty", option);
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
        study->phase = ok ? phases[index] : NULL;
        return ok;
    case KEY_CONTEXT:
        return words_contexts("context", text, &study->contexts, &study->contexts_count, err);
    case KEY_BATCH:
        return parse_u32("batch", text, 1, STUDY_BATCH_MAX, &study->batch, err);
    case KEY_QUERY_LEN:
        return parse_some("query-len", text, "1 to the context", &study->query_len, err);
    case KEY_MESSAGE:
        return words_number("message", text, 32, UINT64_C(64) << 20, &study->message, err);
    case KEY_KERNEL:
        return kernel_names(text, study, err);
    default:
        return parse_some("cubes-per-group", text, "1, 4, 8, and all CUBEs of a SIP",
                          &study->cubes_per_group, err);
    }
}

/* An option that has a row in ahbm/options.h. */
static bool set_kernel_option(enum tl_option_number number, const char *text,
                              struct study_options *study, struct error *err)
{
    int index = 0;
    bool ok = true;
    switch (number) {
#define X(ID, field, type, name, ...)                                                              \
    case TL_NUMBER_##ID:                                                                           \
        ok = words_choice(name, text, option_row(number)->words, &index, err);                     \
        study->field = (type)index;                                                                \
        break;
        TL_WORD_OPTIONS(X)
#undef X
#define X(ID, field, name, least, most, ...)                                                       \
    case TL_NUMBER_##ID:                                                                           \
        ok = parse_u32(name, text, least, most, &study->field, err);                               \
        break;
        TL_NUMBER_OPTIONS(X)
#undef X
    default:
        assert(false);
    }
    return ok;
}

static bool set_parallel(int key, const char *text, struct study_options *study, struct error *err)
{
    static const char *const transports[] = {"auto", "mpi", "shared", NULL};
    static const char *const lookaheads[] = {"scout", "link", NULL};
    int index = 0;
    bool ok;
    if (key == KEY_TRANSPORT) {
        ok = words_choice("transport", text, transports, &index, err);
        study->transport = (enum transport_choice)index;
    } else {
        ok = words_choice("lookahead", text, lookaheads, &index, err);
        study->lookahead = (enum lookahead_kind)index;
    }
    return ok;
}

static void append_text(const char ***list, uint32_t *count, const char *text)
{
    *list = memory_resize(*list, *count + 1, sizeof **list);
    (*list)[(*count)++] = text;
}

static bool parse_own(const char *text, struct study_options *study, struct error *err)
{
    if (*text == '=' || strchr(text, '=') == NULL)
        return error_set(err, ERROR_USAGE, "--kernel-option: '%.80s' is not NAME=VALUE", text);
    append_text(&study->own, &study->own_count, text);
    size_t used = study->own_text != NULL ? strlen(study->own_text) : 0, more = strlen(text) + 2;
    study->own_text = memory_resize(study->own_text, used + more, 1);
    snprintf(study->own_text + used, more, "%s%s", used > 0 ? "," : "", text);
    return true;
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
        return parse_file("output", text, &study->output, err);
    case KEY_TRACE:
        ok = words_choice("trace", text, levels, &index, err);
        study->trace = (enum trace_level)(TRACE_NONE + index);
        return ok;
    case KEY_SEED:
        options->seed_given = true;
        return words_number("seed", text, 0, UINT64_MAX, &study->seed, err);
    case KEY_TENSORS:
        study->verify = true;
        return parse_file("tensors", text, &study->tensors, err);
    case KEY_RECORD_AHEAD:
        return parse_u32("record-ahead", text, 1, UINT32_MAX, &study->record_ahead, err);
    case KEY_FORMAT:
        options->format_given = true;
        ok = words_choice("format", text, formats, &index, err);
        options->format = (enum summary_format)index;
        return ok;
    case KEY_CONFIG:
        return parse_file("config", text, &options->config, err);
    case KEY_OWN:
        return parse_own(text, study, err);
    default: /* KEY_SET */
        append_text(&options->assignments, &options->assignments_count, text);
        return true;
    }
}

static bool is_flag(int key)
{
    return key == KEY_SHORT_HELP || key == KEY_SHORT_VERSION ||
           (key >= KEY_VERIFY && key <= KEY_PRINT_CONFIG);
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
    case KEY_LIST_RESULTS:
        options->action = ACTION_LIST_RESULTS;
        break;
    case KEY_PRINT_CONFIG:
        options->action = ACTION_PRINT_CONFIG;
        break;
    case KEY_SHORT_HELP:
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
        ok = error_set(parse->err, ERROR_USAGE,
                       "'%.80s' is not expected: there are only options (see --help)", text);
    else if (is_flag(key))
        set_flag(key, options);
    else if (key >= KEY_KERNEL_OPTION && key < KEY_KERNEL_OPTION + TL_OPTION_NUMBERS)
        ok = set_kernel_option((enum tl_option_number)(key - KEY_KERNEL_OPTION), text,
                               &options->study, parse->err);
    else if (key < KEY_CASE || key > KEY_PRINT_CONFIG)
        return ARGP_ERR_UNKNOWN;
    else if (key == KEY_REQUESTS)
        ok = parse_file("requests", text, &options->requests, parse->err);
    else if (key < KEY_REQUESTS || key == KEY_CUBES)
        ok = set_problem(key, text, &options->study, parse->err);
    else if (key >= KEY_TRANSPORT && key <= KEY_LOOKAHEAD)
        ok = set_parallel(key, text, &options->study, parse->err);
    else
        ok = set_output(key, text, options, parse->err);
    options->context_given |= key == KEY_CONTEXT;
    options->study.given |= options_table_bit(key);
    return ok ? 0 : EINVAL;
}

static struct argp make_parser(void)
{
    return (struct argp){
        .options = options_table(),
        .parser = parse_option,
        .doc = "Simulates grouped-query attention on an AHBM chip and writes one HDF5 file.\v"
               "An option that would change nothing in the whole run is an error.\n"
               "Run one rank per CUBE, or fewer: mpirun -np 16 ahbm-pdes --case 4\n"
               "Exit status: 0 done, 1 the run failed, 2 bad usage or configuration, 141 nobody "
               "read what it was to print.",
    };
}

static void set_defaults(struct options *options)
{
    *options = (struct options){0};
    options->study = (struct study_options){
        .cases = {true, true, true, true},
#define X(ID, field, name, least, most, initial, ...) .field = initial,
        TL_NUMBER_OPTIONS(X)
#undef X
            .record_ahead = STUDY_DEFAULT_RECORD_AHEAD,
        .seed = 1,
        .output = STUDY_DEFAULT_OUTPUT,
    };
    options->study.contexts = memory_new(1, sizeof *options->study.contexts);
    options->study.contexts[0] = STUDY_DEFAULT_CONTEXT;
    options->study.contexts_count = 1;
}

/* Options that contradict each other, in whatever order. */
static bool check_together(const struct options *options, struct error *err)
{
    const char *other = options->study.batch > 0 ? "batch" : "context";
    if (options->requests == NULL || (options->study.batch == 0 && !options->context_given))
        return true;
    return error_set(err, ERROR_USAGE,
                     "--%s: --requests has the lengths of all requests: leave one of the two out",
                     other);
}

/* Whether what was given has something to act on; the kernels' part is effect_check()'s. */
static bool check_given(const struct options *options, struct error *err)
{
    const struct study_options *study = &options->study;
    if (options->action != ACTION_RUN && options->action != ACTION_DRY_RUN)
        return true;
    if (options->seed_given && study->tensors != NULL)
        return error_set(
            err, ERROR_USAGE,
            "--seed: would change nothing: --tensors brings Q, K and V: leave one out");
    if (options->seed_given && !study->verify)
        return error_set(err, ERROR_USAGE,
                         "--seed: would change nothing: without --verify or --write-output no Q, K "
                         "and V are generated");
    if (options->quiet && (options->stats || options->format_given))
        return error_set(
            err, ERROR_USAGE,
            "--%s: would change nothing: --quiet leaves out the summary: leave one out",
            options->stats ? "stats" : "format");
    return true;
}

bool options_parse(struct options *options, int argc, char **argv, struct error *err)
{
    struct parse parse = {options, err, ""};
    struct argp parser = make_parser();
    set_defaults(options);
    unsigned flags = ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP;
    if (argp_parse(&parser, argc, argv, flags, NULL, &parse) == 0 && err->code == ERROR_NONE)
        return check_together(options, err) && check_given(options, err);
    return error_set(err, ERROR_USAGE,
                     "option '%.80s' is unknown, ambiguous or lacks its value (see --help)",
                     parse.culprit);
}

void options_fini(struct options *options)
{
    memory_free(options->study.contexts);
    kernel_names_free(&options->study);
    memory_free(options->study.request_contexts);
    memory_free(options->study.own);
    memory_free(options->study.own_text);
    memory_free(options->assignments);
}

void options_print_help(FILE *out)
{
    char name[] = "ahbm-pdes";
    struct argp parser = make_parser();
    argp_help(&parser, out, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK, name);
}
