/* The one place that allocates. Memory that runs out is reported once and ends the process: no
 * caller could go on, and a rank that stops alone is noticed by the launcher. */
#ifndef AHBM_SUPPORT_MEMORY_H
#define AHBM_SUPPORT_MEMORY_H

#include <stddef.h>

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
