/* Made-up results: every value a function of where it belongs (point, CUBE, PE, field), so that any
 * process can make its part, and a reader can tell what must be where. */
#ifndef AHBM_TESTS_RESULTS_CONTENT_H
#define AHBM_TESTS_RESULTS_CONTENT_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/results.h"
#include "support/hash.h"
#include "support/memory.h"

enum content_field {
    CONTENT_GROUP = 1000, /* below: words of a structure */
    CONTENT_CUBE = 2000,
    CONTENT_PE = 3000,
    CONTENT_FOOTPRINT = 4000,
    CONTENT_COUNT = 5000,
    CONTENT_RECORD = 6000,
    CONTENT_POINT = 7000,
    CONTENT_ROOM = 8000
};

/* The values of a point, and what the file is told of them. */
struct content_scalars {
    const char *phase, *kernel;
    uint32_t case_number;
    uint64_t context, latency_ps, digest;
    uint8_t state;
    double error;
};

#define CONTENT_ROW(type, member, units)                                                           \
    {                                                                                              \
#member, units, "made up", RESULTS_##type, offsetof(struct content_scalars, member)        \
    }
static const struct results_scalar content_rows[] = {
    CONTENT_ROW(TEXT, phase, "1"),      CONTENT_ROW(TEXT, kernel, "1"),
    CONTENT_ROW(U32, case_number, "1"), CONTENT_ROW(U64, context, "tokens"),
    CONTENT_ROW(U64, latency_ps, "ps"), CONTENT_ROW(U64, digest, "1"),
    CONTENT_ROW(U8, state, "1"),        CONTENT_ROW(F64, error, "1"),
};

/* What is to be written, and this process's part of it. */
struct content {
    struct results_layout layout;
    uint64_t records; /* of a CUBE's trace: 0 to that many; 0: no trace */
    bool random;      /* records that do not compress */
    bool last_empty;  /* no record in the last point's trace */
    uint64_t *groups;
    struct cube_result *cubes;
    struct pe_result *pe_results;
    struct footprint *footprints;
    struct cube_footprint *rooms;
    struct content_scalars scalars;
    struct spool *spool;
};

static inline uint64_t content_value(uint64_t point, uint64_t cube, uint64_t pe, uint64_t field)
{
    uint64_t state = hash_word(hash_word(HASH_START, point), cube);
    return hash_finish(hash_word(hash_word(state, pe), field));
}

/* Like measured values: up to 2^40. */
static inline uint64_t content_word(uint64_t point, uint64_t cube, uint64_t pe, uint64_t field)
{
    return content_value(point, cube, pe, field) >> 24;
}

static inline void content_share(struct content *content, const struct comm *comm)
{
    uint64_t cubes = content->layout.cubes;
    uint32_t first = (uint32_t)(cubes * comm->rank / comm->size);
    content->layout.first_cube = first;
    content->layout.local_cubes = (uint32_t)(cubes * (comm->rank + 1) / comm->size) - first;
}

/* `directory` is where the trace is spooled. */
static inline void content_begin(struct content *content, const struct comm *comm,
                                 const char *directory)
{
    content_share(content, comm);
    content->layout.scalars = content_rows;
    content->layout.scalars_count = sizeof content_rows / sizeof content_rows[0];
    const struct results_layout *layout = &content->layout;
    size_t pes = (size_t)layout->local_cubes * layout->pes;
    content->groups = memory_new(layout->groups, sizeof *content->groups);
    content->cubes = memory_new(layout->local_cubes, sizeof *content->cubes);
    content->pe_results = memory_new(pes, sizeof *content->pe_results);
    content->footprints = memory_new(pes, sizeof *content->footprints);
    content->rooms = memory_new(layout->local_cubes, sizeof *content->rooms);
    struct error err = {ERROR_NONE, ""};
    if (content->records > 0)
        content->spool = spool_new(directory, layout->local_cubes, &err);
    if (err.code != ERROR_NONE)
        fprintf(stderr, "%s\n", err.text);
}

static inline void content_end(struct content *content)
{
    memory_free(content->groups);
    memory_free(content->cubes);
    memory_free(content->pe_results);
    memory_free(content->footprints);
    memory_free(content->rooms);
    spool_free(content->spool);
}

static inline void content_fill(void *structure, size_t bytes, uint64_t point, uint64_t cube,
                                uint64_t pe, uint64_t field)
{
    uint64_t *words = structure;
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        words[i] = content_word(point, cube, pe, field + i);
}

static inline uint64_t content_count(const struct content *content, uint64_t point, uint64_t cube)
{
    if (content->last_empty && point == content->layout.points - 1)
        return 0;
    return content_value(point, cube, 0, CONTENT_COUNT) % (content->records + 1);
}

static inline struct trace_record content_record(const struct content *content, uint64_t point,
                                                 uint64_t cube, uint64_t number)
{
    uint64_t value = content_value(point, cube, number, CONTENT_RECORD);
    struct trace_record record = {.command = number,
                                  .issue_ps = number * 40000,
                                  .start_ps = number * 40000 + value % 1000,
                                  .end_ps = number * 50000,
                                  .bytes = 4096,
                                  .cube = (uint32_t)cube,
                                  .cause_cube = (uint32_t)cube,
                                  .pe = (uint16_t)(value % content->layout.pes),
                                  .engine = (uint8_t)(value % ENGINE_KINDS)};
    if (content->random)
        for (size_t i = 0; i < 4; i++)
            (&record.issue_ps)[i] = content_value(point, cube, number, CONTENT_RECORD + 1 + i);
    return record;
}

static inline void content_trace(struct content *content, uint64_t point)
{
    spool_reset(content->spool);
    for (uint32_t i = 0; i < content->layout.local_cubes; i++) {
        uint64_t cube = content->layout.first_cube + i;
        struct trace_sink *sink = spool_sink(content->spool, i);
        uint64_t count = content_count(content, point, cube);
        for (uint64_t n = 0; n < count; n++) {
            struct trace_record record = content_record(content, point, cube, n);
            sink->put(sink, &record);
        }
    }
}

static inline void content_arrays(struct content *content, uint64_t point)
{
    const struct results_layout *layout = &content->layout;
    content_fill(content->groups, layout->groups * sizeof(uint64_t), point, 0, 0, CONTENT_GROUP);
    for (uint32_t i = 0; i < layout->local_cubes; i++) {
        uint64_t cube = layout->first_cube + i;
        content_fill(&content->cubes[i], sizeof content->cubes[i], point, cube, 0, CONTENT_CUBE);
        for (uint32_t pe = 0; pe < layout->pes; pe++) {
            size_t at = (size_t)i * layout->pes + pe;
            content_fill(&content->pe_results[at], sizeof(struct pe_result), point, cube, pe,
                         CONTENT_PE);
            content_fill(&content->footprints[at], sizeof(struct footprint), point, cube, pe,
                         CONTENT_FOOTPRINT);
        }
        content->rooms[i] =
            (struct cube_footprint){content_word(point, cube, 0, CONTENT_ROOM),
                                    content_word(point, cube, 0, CONTENT_ROOM + 1), cube % 2};
    }
}

static inline struct results_point content_point(struct content *content, uint64_t point)
{
    content_arrays(content, point);
    if (content->spool != NULL)
        content_trace(content, point);
    content->scalars =
        (struct content_scalars){.phase = point % 2 ? "prefill" : "decode",
                                 .kernel = "decode_long",
                                 .case_number = 1 + (uint32_t)point % 4,
                                 .context = UINT64_C(8192) << (point % 8),
                                 .latency_ps = content_word(point, 0, 0, CONTENT_POINT),
                                 .digest = content_value(point, 0, 0, CONTENT_POINT),
                                 .state = point % 3,
                                 .error = -1};
    return (struct results_point){.scalars = &content->scalars,
                                  .group_latency_ps = content->groups,
                                  .cubes = content->cubes,
                                  .pe_results = content->pe_results,
                                  .footprints = content->footprints,
                                  .cube_footprints = content->rooms,
                                  .trace = content->spool};
}

/* Opens, adds `points` of the announced ones, closes. */
static inline bool content_write(struct content *content, const struct comm *comm, const char *path,
                                 uint32_t points, struct error *err)
{
    struct results *results = results_open(comm, path, &content->layout, err);
    if (results == NULL)
        return false;
    for (uint32_t i = 0; i < points; i++) {
        struct results_point point = content_point(content, i);
        if (!results_add(results, &point, err)) {
            results_abandon(results);
            return false;
        }
    }
    struct results_run run = {
        .ranks = comm->size, .transport = "mpi", .wall_s = 1.5, .events = comm->size};
    return results_close(results, &run, err);
}

#endif
