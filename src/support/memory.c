#include "support/memory.h"

#include <assert.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HOOKS = 4, RESERVE_BYTES = 2 << 20 };
/* What HDF5 frees and takes again for every chunk that it filters is kept: given back to the system
 * each time it cost a tenth of a run. */
enum { KEEP_BYTES = 16 << 20, MAP_BYTES = 4 << 20 };

static memory_hook *hooks[HOOKS];
static uint32_t hooks_count;
static void *reserve; /* freed for what hooks call: MPI, say */

void memory_start(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
    mallopt(M_MMAP_THRESHOLD, MAP_BYTES);
    reserve = malloc(RESERVE_BYTES);
}

void memory_on_failure(memory_hook *hook)
{
    assert(hooks_count < HOOKS);
    hooks[hooks_count++] = hook;
}

/* A hook that fails in turn is not called again, nor is it told. */
_Noreturn static void fail(size_t count, size_t bytes)
{
    static bool told;
    char line[128];
    int length =
        snprintf(line, sizeof line,
                 "ahbm-pdes: error: out of memory: %zu x %zu bytes cannot be had\n", count, bytes);
    if (!told)
        told = write(STDERR_FILENO, line, (size_t)length) != 0; /* or nobody listens */
    free(reserve);
    reserve = NULL;
    while (hooks_count > 0)
        hooks[--hooks_count]();
    _exit(EXIT_FAILURE);
}

static void *checked(void *block, size_t count, size_t bytes)
{
    if (block == NULL)
        fail(count, bytes);
    return block;
}

void *memory_new(size_t count, size_t bytes)
{
    if (count == 0)
        count = 1;
    return checked(calloc(count, bytes), count, bytes);
}

void *memory_resize(void *old, size_t count, size_t bytes)
{
    if (bytes != 0 && count > SIZE_MAX / bytes)
        return checked(NULL, count, bytes);
    size_t total = count * bytes; /* realloc() of nothing may return NULL */
    return checked(realloc(old, total > 0 ? total : 1), count, bytes);
}

void *memory_new_aligned(size_t count, size_t bytes, size_t alignment)
{
    if (bytes != 0 && count > (SIZE_MAX - alignment) / bytes)
        return checked(NULL, count, bytes);
    size_t total = (count * bytes + alignment - 1) / alignment * alignment;
    void *block = checked(aligned_alloc(alignment, total ? total : alignment), count, bytes);
    memset(block, 0, total);
    return block;
}

char *memory_copy_text(const char *text)
{
    return checked(strdup(text), 1, strlen(text) + 1);
}

void memory_free(void *block)
{
    free(block);
}

void *memory_stack_new(size_t bytes, size_t *usable)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t rounded = (bytes + page - 1) / page * page;
    char *map = mmap(NULL, rounded + page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (map == MAP_FAILED || mprotect(map, page, PROT_NONE) != 0)
        checked(NULL, 1, rounded + page);
    *usable = rounded;
    return map + page;
}

void memory_stack_free(void *base, size_t usable)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap((char *)base - page, usable + page);
}
