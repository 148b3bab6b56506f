/* The one place that allocates. Memory that runs out is told in one line and ends the process with
 * status 1: no caller could go on, and there is nothing left to agree on an error with. Runs that
 * are too large for the machine are refused before (study/estimate.h). */
#ifndef AHBM_SUPPORT_MEMORY_H
#define AHBM_SUPPORT_MEMORY_H

#include <stddef.h>

/* To be called first of all: libraries' threads share one heap, for one of their own each would
 * reserve 64 MiB of addresses, of which there may be few (ulimit -v). */
void memory_start(void);

/* What is to be done before the process ends for want of memory, last registered first: remove a
 * temporary file, stop the other ranks. There is little memory for it; if it returns, the next one
 * follows. */
typedef void memory_hook(void);
void memory_on_failure(memory_hook *hook);

/* Zeroed memory for `count` items of `bytes` each, freed by memory_free(). */
void *memory_new(size_t count, size_t bytes);

/* Grows (or shrinks) `old` to `count` items of `bytes`; new bytes are not initialised. */
void *memory_resize(void *old, size_t count, size_t bytes);

/* As memory_new(), aligned to `alignment` (a power of two). */
void *memory_new_aligned(size_t count, size_t bytes, size_t alignment);

char *memory_copy_text(const char *text);

void memory_free(void *block);

/* A stack of at least `bytes` with an inaccessible guard page below it, so that an overflow
 * faults instead of corrupting its neighbour. `*usable` receives the size above the guard. */
void *memory_stack_new(size_t bytes, size_t *usable);
void memory_stack_free(void *base, size_t usable);

#endif
