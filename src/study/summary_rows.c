#include "study/summary_rows.h"

#include "study/study.h"

/* The words of the list. */
#define COMBINE_GIVEN SUMMARY_GIVEN_BEFORE
#define COMBINE_SUM SUMMARY_SUM
#define COMBINE_MAX SUMMARY_MAX
#define COMBINE_MIN SUMMARY_MIN
#define COMBINE_DERIVED SUMMARY_DERIVED_FROM_OTHERS
#define COMBINE_FOUND SUMMARY_FOUND_BY_STUDY
#define NO_COLUMN                                                                                  \
    {                                                                                              \
        NULL, NULL, 0, 0, 1                                                                        \
    }
#define COLUMN(heading, units, width, decimals, divisor)                                           \
    {                                                                                              \
        heading, units, width, decimals, divisor                                                   \
    }

#define X(type, member, name, units, combine, of, value, places, table, description)               \
    [ROW_##member] = {SUMMARY_##type,                                                              \
                      name,                                                                        \
                      units,                                                                       \
                      description,                                                                 \
                      COMBINE_##combine,                                                           \
                      SUMMARY_##of,                                                                \
                      SUMMARY_##places,                                                            \
                      table,                                                                       \
                      offsetof(struct point_summary, member)},
static const struct summary_row rows[] = {SUMMARY_ROWS(X)};
#undef X

const struct summary_row *summary_row(enum summary_row_number number)
{
    return &rows[number];
}

const void *summary_value(const struct summary_row *row, const struct point_summary *summary)
{
    return (const char *)summary + row->offset;
}

uint64_t summary_integer(const struct summary_row *row, const void *value)
{
    switch (row->type) {
    case SUMMARY_U8:
        return *(const uint8_t *)value;
    case SUMMARY_BOOL:
        return *(const bool *)value;
    case SUMMARY_U32:
        return *(const uint32_t *)value;
    default:
        return *(const uint64_t *)value;
    }
}

uint64_t summary_start(enum summary_combine combine)
{
    return combine == SUMMARY_MIN ? UINT64_MAX : 0;
}

uint64_t summary_combined(enum summary_combine combine, uint64_t a, uint64_t b)
{
    switch (combine) {
    case SUMMARY_SUM:
        return a + b;
    case SUMMARY_MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

uint32_t summary_scalars(struct results_scalar scalars[SUMMARY_ROWS_COUNT])
{
    static const enum results_type types[] = {
        [SUMMARY_U8] = RESULTS_U8,   [SUMMARY_U32] = RESULTS_U32,   [SUMMARY_U64] = RESULTS_U64,
        [SUMMARY_F64] = RESULTS_F64, [SUMMARY_TEXT] = RESULTS_TEXT, [SUMMARY_BOOL] = RESULTS_U8,
        [SUMMARY_CODE] = RESULTS_U64};
    uint32_t count = 0;
    for (int i = 0; i < SUMMARY_ROWS_COUNT; i++) {
        const struct summary_row *row = &rows[i];
        if (row->places & SUMMARY_IN_FILE)
            scalars[count++] = (struct results_scalar){row->name, row->units, row->description,
                                                       types[row->type], row->offset};
    }
    return count;
}

static void list_row(const struct summary_row *row, FILE *out)
{
    static const char *const types[] = {"u8", "u32", "u64", "f64", "text", "bool", "code"};
    static const char *const rules[] = {"given", "sum", "max", "min", "derived", "found"};
    static const char *const places[] = {"-", "file", "json", "file, json"};
    fprintf(out, "| `%s` | %s | point | %s | %s%s | %s%s | %s |\n", row->name, types[row->type],
            row->units, rules[row->combine], row->of == SUMMARY_GROUP_0 ? ", group 0" : "",
            places[row->places], row->table.width != 0 ? ", table" : "", row->description);
}

void summary_list(FILE *out)
{
    fprintf(out, "| name | type | axes | units | combined | where | meaning |\n"
                 "|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < SUMMARY_ROWS_COUNT; i++)
        if (rows[i].places != SUMMARY_NOWHERE)
            list_row(&rows[i], out);
    results_list(out);
}
