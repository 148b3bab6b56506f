/* What the files of the results share: points are collected in rows, written when enough are there;
 * a point's trace goes straight to the file. */
#ifndef AHBM_RESULTS_INTERNAL_H
#define AHBM_RESULTS_INTERNAL_H

#include "results/results.h"
#include "results/results_file.h"
#include "results/results_schema.h"
#include "results/results_team.h"

/* One dataset of /points and what it still has to get. */
struct results_rows {
    struct results_column column;
    int64_t dataset; /* negative: not yet made, as no dataset may be empty */
    uint64_t items;  /* structures of a point that this process has */
    char *values;    /* [batch][items][width] */
};

/* A column of texts, at rank 0. */
struct results_texts {
    struct results_column column;
    char **values; /* [count of the labels] */
    uint64_t bytes;
};

/* What rank 0 writes alone when all else is in the file. */
struct results_labels {
    char *config;
    uint32_t columns;
    struct results_texts *texts; /* [columns] */
    uint64_t count;              /* points */
};

struct results {
    struct results_team team;
    struct results_file file;     /* writers only */
    struct results_layout layout; /* texts are NULL */
    int64_t points_group;
    int64_t trace_group;  /* negative: no trace yet */
    int64_t output_group; /* negative: no output yet */
    int64_t output;       /* the dataset under way; negative: none */
    uint32_t columns;
    struct results_rows *rows; /* [columns] */
    struct results_labels labels;
    char *block; /* the values of all rows, one after the other */
    size_t block_bytes;
    uint32_t batch;   /* points of a chunk, and of a write */
    uint32_t waiting; /* points in the rows */
    uint64_t written; /* points in the file */
};

/* Makes the rows; layout and team are there. */
void results_rows_init(struct results *results);
void results_rows_fini(struct results *results);

/* Copies a point, and writes when the batch is full. Collective over all. */
bool results_rows_add(struct results *results, const struct results_point *point,
                      struct error *err);
/* Writes the points that wait. Collective over all. */
bool results_rows_flush(struct results *results, struct error *err);

/* Of rank 0. */
void results_labels_init(struct results *results, const char *config);
void results_labels_fini(struct results *results);
/* Keeps the texts among a point's scalars. */
void results_labels_add(struct results *results, const void *scalars);
/* What they may take in the file, at most. */
uint64_t results_labels_bytes(const struct results *results);
/* Writes them into the file that this process has open alone; `results` is a struct results. */
bool results_labels_write(int64_t file, const void *results);

/* Writes the trace of point number `point` to its own group. Collective over all. */
bool results_trace_write(struct results *results, uint64_t point, struct spool *spool,
                         struct error *err);

#endif
