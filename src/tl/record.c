#include "tl/state.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "support/memory.h"
#include "tl/batch.h"
#include "tl/coroutine.h"

/* A kernel touches little of its stack; the guard is a mapping of its own. */
enum { STACK_TOUCHED = 8 * 1024, STACK_MAPPINGS = 2 };

struct tl_program {
    struct program base; /* first: a program is cast to it */
    struct tl_program_config config;
    struct tl recorder;
    struct tl scout;
    struct scout_sink *sink; /* of the call of the scout that is under way */
    struct tl_batch batch;
    struct command end;
};

static struct tl_program *from_base(struct program *base)
{
    return (struct tl_program *)base;
}

static void recorder_put(struct tl *tl, const struct command *command)
{
    struct tl_batch *batch = &tl->program->batch;
    tl_batch_put(batch, command);
    if (tl_batch_full(batch))
        coroutine_yield(tl->coroutine);
}

void tl_describe(const struct tl *tl, const char *text, enum error_code code, struct error *err)
{
    error_set(err, code, "kernel %s, CUBE %u PE %u, command %llu (%s:%u): %s", tl->config->name,
              tl->config->cube, tl->config->launch.pe, (unsigned long long)tl->commands + 1,
              tl->file ? tl->file : "at its start", tl->line, text);
}

static void recorder_fail(struct tl *tl, const char *text)
{
    tl_describe(tl, text, ERROR_FAILED, &tl->program->base.error);
    struct command fail = {.op = OP_FAIL, .file = tl->file, .line = tl->line};
    tl_batch_put(&tl->program->batch, &fail);
}

static void scout_put(struct tl *tl, const struct command *command)
{
    struct scout_sink *sink = tl->program->sink;
    if (sink->fold(sink, command) || program_stopped(&tl->program->base))
        coroutine_yield(tl->coroutine);
}

static void scout_fail(struct tl *tl, const char *text)
{
    (void)tl, (void)text; /* the recorder will come to it */
}

static const struct tl_mode recorder_mode = {recorder_put, recorder_fail};
static const struct tl_mode scout_mode = {scout_put, scout_fail};

void tl_run_kernel(void *argument)
{
    struct tl *tl = argument;
    tl->config->kernel(tl, &tl->config->launch);
    if (tl->arena.depth > 0)
        tl_stop(tl, "the kernel ended with %u scratch scopes open", tl->arena.depth);
}

/* Runs the kernel on to where it pauses or ends; its stack lives no longer than it runs. */
static void run(struct tl *tl)
{
    if (tl->coroutine == NULL)
        tl->coroutine = coroutine_new(tl_run_kernel, tl, TL_STACK_BYTES);
    if (coroutine_resume(tl->coroutine))
        return;
    coroutine_free(tl->coroutine);
    tl->coroutine = NULL;
    tl->ended = true;
}

static const struct command *program_next(struct program *base)
{
    struct tl_program *program = from_base(base);
    struct tl_batch *batch = &program->batch;
    if (tl_batch_empty(batch) && !program->recorder.ended) {
        tl_batch_restart(batch);
        run(&program->recorder);
        base->scratch_high_water = program->recorder.arena.high_water;
    }
    return tl_batch_empty(batch) ? &program->end : tl_batch_take(batch);
}

static bool program_scout(struct program *base, struct scout_sink *sink)
{
    struct tl_program *program = from_base(base);
    if (program->scout.ended)
        return false;
    program->sink = sink;
    run(&program->scout);
    program->sink = NULL;
    return true;
}

static void program_destroy(struct program *base)
{
    struct tl_program *program = from_base(base);
    coroutine_free(program->recorder.coroutine);
    coroutine_free(program->scout.coroutine);
    tl_batch_fini(&program->batch);
    memory_free(program);
}

static const struct program_ops program_ops = {program_next, program_scout, program_destroy};

void tl_init(struct tl *tl, const struct tl_program_config *config, const struct tl_mode *mode)
{
    *tl = (struct tl){.mode = mode, .config = config, .call = "kernel"};
    tl->arena.bytes = config->scratch_bytes;
}

struct program *tl_program_new(const struct tl_program_config *config)
{
    assert(config->launch.pes == grid_size(config->geometry->pes));
    assert(config->launch.pe < config->launch.pes);
    struct tl_program *program = memory_new(1, sizeof *program);
    program->base.ops = &program_ops;
    program->base.kernel = config->name;
    program->base.stop = config->stop;
    program->config = *config;
    program->end.op = OP_END;
    tl_batch_init(&program->batch, config->record_ahead);
    tl_init(&program->recorder, &program->config, &recorder_mode);
    tl_init(&program->scout, &program->config, &scout_mode);
    program->recorder.program = program->scout.program = program;
    return &program->base;
}

uint64_t tl_program_memory(uint64_t ahead, uint32_t stacks, uint64_t *reserved, uint64_t *mappings)
{
    *reserved = stacks * (uint64_t)(TL_STACK_BYTES - STACK_TOUCHED);
    *mappings = stacks * (uint64_t)STACK_MAPPINGS;
    return sizeof(struct tl_program) + tl_batch_memory(ahead) +
           stacks * (uint64_t)(coroutine_memory() + STACK_TOUCHED);
}

struct tl *tl_at(struct tl *tl, const char *file, uint32_t line)
{
    tl->file = file;
    tl->line = line;
    return tl;
}

void tl_put(struct tl *tl, struct command *command)
{
    command->file = tl->file;
    command->line = tl->line;
    tl->commands++;
    tl->mode->put(tl, command);
}

static _Noreturn void stop(struct tl *tl, const char *call, const char *format, va_list args)
{
    char what[ERROR_TEXT_BYTES / 2], text[ERROR_TEXT_BYTES];
    vsnprintf(what, sizeof what, format, args);
    snprintf(text, sizeof text, "%s%s%s", call, *call ? ": " : "", what);
    tl->mode->fail(tl, text);
    coroutine_exit(tl->coroutine);
}

_Noreturn void tl_stop(struct tl *tl, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    stop(tl, "", format, args);
}

_Noreturn void tl_reject(struct tl *tl, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    stop(tl, tl->call, format, args);
}

_Noreturn void tl_fail(struct tl *tl, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    stop(tl, "", format, args);
}
