/* What stands behind `struct tl`: one run of a kernel, by the recorder or by the scout. Included
 * first by the files that implement tl.h. */
#ifndef AHBM_TL_STATE_H
#define AHBM_TL_STATE_H

#define TL_IMPLEMENTATION
#include <ahbm/tl.h>

#include "prog/command.h"
#include "support/error.h"
#include "tl/arena.h"
#include "tl/record.h"

struct coroutine;

/* What a run does with a command and with an error's text; the recorder keeps both, the scout folds
 * the one and drops the other. `put` may leave the coroutine for a while. */
struct tl_mode {
    void (*put)(struct tl *tl, const struct command *command);
    void (*fail)(struct tl *tl, const char *text);
};

struct tl {
    const struct tl_mode *mode;
    struct tl_program *program; /* NULL in a rehearsal */
    const struct tl_program_config *config;
    struct coroutine *coroutine; /* NULL before the first command and after the last */
    bool ended;
    struct tl_arena arena;
    uint64_t commands; /* recorded */
    const char *file;  /* where the kernel stands; NULL before its first call */
    const char *call;  /* which function of tl.h it is in */
    uint32_t line;
};

enum { TL_STACK_BYTES = 64 * 1024 };

/* A run that has not begun; `config` is borrowed. */
void tl_init(struct tl *tl, const struct tl_program_config *config, const struct tl_mode *mode);

/* The body of its coroutine. */
void tl_run_kernel(void *tl);

/* Puts who and where in front of an error's text. */
void tl_describe(const struct tl *tl, const char *text, enum error_code code, struct error *err);

/* Completes `command` with its place in the source and hands it on. */
void tl_put(struct tl *tl, struct command *command);

/* Ends the recording with an error; tl_reject() puts the name of the call in front. */
_Noreturn void tl_stop(struct tl *tl, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void tl_reject(struct tl *tl, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A new tensor in scratch, of a checked shape. */
struct tl_tensor tl_allocate(struct tl *tl, uint32_t rows, uint32_t cols, unsigned dtype);

/* A tensor as an operand of a command. */
struct operand tl_operand(const struct tl_tensor *tensor);

#endif
