/* A kernel on one PE of a default machine: 4 x 4 CUBEs of 4 x 2 PEs, a group of 4 x 2 CUBEs. */
#ifndef AHBM_TESTS_TL_FIXTURE_H
#define AHBM_TESTS_TL_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "support/memory.h"
#include "tl/record.h"

enum { FIXTURE_SCRATCH = 1 << 20, FIXTURE_SHARE = 1 << 24 };

static const struct geometry fixture_geometry = {{1, 1}, {4, 4}, {4, 2}, false, false, false};

/* PE 2, at (2, 1) of its CUBE; CUBE 3 of the group, at (2, 0): CUBE 2 of the system. */
static inline struct tl_program_config fixture_config(tl_kernel *kernel, uint32_t record_ahead)
{
    return (struct tl_program_config){
        .name = "fixture",
        .kernel = kernel,
        .launch = {.group_cubes = 8,
                   .cube = 3,
                   .pe = 2,
                   .cube_columns = 4,
                   .cube_rows = 2,
                   .pe_columns = 4,
                   .pe_rows = 2,
                   .pes = 8},
        .geometry = &fixture_geometry,
        .cube = 2,
        .scratch_bytes = FIXTURE_SCRATCH,
        .share_bytes = FIXTURE_SHARE,
        .record_ahead = record_ahead,
    };
}

/* A growing copy of a command stream. */
struct stream {
    struct command *commands;
    size_t count;
};

static inline void stream_add(struct stream *stream, const struct command *command)
{
    if ((stream->count & (stream->count - 1)) == 0)
        stream->commands =
            memory_resize(stream->commands, stream->count ? 2 * stream->count : 1, sizeof *command);
    stream->commands[stream->count++] = *command;
}

static inline bool stream_equal(const struct stream *a, const struct stream *b)
{
    return a->count == b->count &&
           memcmp(a->commands, b->commands, a->count * sizeof *a->commands) == 0;
}

static inline void stream_free(struct stream *stream)
{
    memory_free(stream->commands);
    *stream = (struct stream){0};
}

/* All commands up to END, which is not kept. */
static inline struct stream stream_of(struct program *program)
{
    struct stream stream = {0};
    for (;;) {
        const struct command *command = program->ops->next(program);
        if (command->op == OP_END)
            return stream;
        stream_add(&stream, command);
    }
}

/* Records `kernel` whole. */
static inline struct stream stream_of_kernel(tl_kernel *kernel, uint32_t record_ahead)
{
    struct tl_program_config config = fixture_config(kernel, record_ahead);
    struct program *program = tl_program_new(&config);
    struct stream stream = stream_of(program);
    program->ops->destroy(program);
    return stream;
}

#endif
