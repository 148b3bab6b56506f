/* The rows of summary_list.h as a table. */
#ifndef AHBM_STUDY_SUMMARY_ROWS_H
#define AHBM_STUDY_SUMMARY_ROWS_H

#include <stddef.h>
#include <stdio.h>

#include "results/results.h"
#include "study/summary_list.h"

enum summary_type {
    SUMMARY_U8,
    SUMMARY_U32,
    SUMMARY_U64,
    SUMMARY_F64,
    SUMMARY_TEXT,
    SUMMARY_BOOL,
    SUMMARY_CODE
};
enum summary_combine {
    SUMMARY_GIVEN_BEFORE,
    SUMMARY_SUM,
    SUMMARY_MAX,
    SUMMARY_MIN,
    SUMMARY_DERIVED_FROM_OTHERS,
    SUMMARY_FOUND_BY_STUDY
};
enum summary_of { SUMMARY_ALL, SUMMARY_GROUP_0 };
enum summary_places { SUMMARY_NOWHERE, SUMMARY_IN_FILE, SUMMARY_IN_JSON, SUMMARY_BOTH };

/* A column of the printed table; width 0: none, negative: to the left. */
struct summary_table {
    const char *heading, *units;
    int width, decimals;
    double divisor;
};

struct summary_row {
    enum summary_type type;
    const char *name, *units, *description;
    enum summary_combine combine;
    enum summary_of of;
    enum summary_places places;
    struct summary_table table;
    size_t offset; /* in struct point_summary */
};

#define X(type, member, ...) ROW_##member,
enum summary_row_number { SUMMARY_ROWS(X) SUMMARY_ROWS_COUNT };
#undef X

const struct summary_row *summary_row(enum summary_row_number number);

/* How the values of parts become one: what there is before the first, and with one more. */
uint64_t summary_start(enum summary_combine combine);
uint64_t summary_combined(enum summary_combine combine, uint64_t a, uint64_t b);

struct point_summary;

/* Where the row's value is, and what it is when it is an integer or a BOOL. */
const void *summary_value(const struct summary_row *row, const struct point_summary *summary);
uint64_t summary_integer(const struct summary_row *row, const void *value);

/* One line per row: type, units, how it is combined, where it appears, what it is; then those of
 * the result file that have an axis besides the point, by CUBE or PE. */
void summary_list(FILE *out);

/* The rows that stand in the result file; returns how many, at most SUMMARY_ROWS_COUNT. */
uint32_t summary_scalars(struct results_scalar scalars[SUMMARY_ROWS_COUNT]);

#endif
