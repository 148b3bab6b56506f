/* A function that can stop in the middle and go on later, on a stack of its own. */
#ifndef AHBM_TL_COROUTINE_H
#define AHBM_TL_COROUTINE_H

#include <stdbool.h>
#include <stddef.h>

struct coroutine;
typedef void coroutine_body(void *argument);

/* A coroutine that will run body(argument) on a stack of `stack_bytes` above a guard page. */
/* Bytes of memory that one takes, its stack apart. */
size_t coroutine_memory(void);

struct coroutine *coroutine_new(coroutine_body *body, void *argument, size_t stack_bytes);

/* Runs it until it yields, exits or returns; false once it has ended. Not to be called from within
 * itself, nor after its end. */
bool coroutine_resume(struct coroutine *coroutine);

/* An ended one begins anew, as if new, on its stack. */
void coroutine_restart(struct coroutine *coroutine, coroutine_body *body, void *argument);

/* Called inside: back to the resumer, until resumed again. */
void coroutine_yield(struct coroutine *coroutine);

/* Called inside: ends it without unwinding its stack. */
_Noreturn void coroutine_exit(struct coroutine *coroutine);

/* Frees it and its stack, ended or not. NULL is allowed. */
void coroutine_free(struct coroutine *coroutine);

#endif
