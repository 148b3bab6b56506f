#include "study/deadlock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory.h"

enum { SHOWN_MAX = 4 };

static int compare_units(const void *a, const void *b)
{
    const struct pe_wait *x = a, *y = b;
    return (x->unit > y->unit) - (x->unit < y->unit);
}

/* The waits are in the order of units: CUBE by CUBE, PE by PE. */
static const struct pe_wait *find(const struct pe_wait *waits, uint32_t count, uint32_t unit)
{
    struct pe_wait key = {.unit = unit};
    return bsearch(&key, waits, count, sizeof *waits, compare_units);
}

/* Where following the waits from `start` leads after `steps`; NULL when it leaves the unfinished.
 */
static const struct pe_wait *follow(const struct pe_wait *waits, uint32_t count,
                                    const struct pe_wait *start, uint32_t steps)
{
    while (steps-- > 0 && start != NULL)
        start = find(waits, count, start->waits_for);
    return start;
}

static void append(char *text, size_t room, const char *separator, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, room - used, "%s%s", separator, more);
}

static bool report(const struct pe_wait *waits, uint32_t count, const char *kernel,
                   struct error *err)
{
    /* After as many steps as there are waits one is on the cycle, if there is one. */
    const struct pe_wait *on_cycle = follow(waits, count, &waits[0], count);
    const struct pe_wait *first = on_cycle ? on_cycle : &waits[0], *wait = first;
    char chain[ERROR_TEXT_BYTES] = "";
    uint32_t shown = 0;
    do {
        append(chain, sizeof chain, shown ? "; " : "", wait->text);
        wait = find(waits, count, wait->waits_for);
        shown++;
    } while (wait != NULL && wait != first && shown < SHOWN_MAX);
    if (wait == first)
        append(chain, sizeof chain, "; ", "which closes the cycle");
    else if (wait == NULL)
        append(chain, sizeof chain, ", ", "for a PE that has ended");
    return error_set(err, ERROR_FAILED,
                     "deadlock in kernel %s: nothing is left to happen and %u PEs are not at the "
                     "end of their programs: %.800s",
                     kernel, count, chain);
}

static bool check_leftovers(struct cube *const *cubes, uint32_t count, struct error *err)
{
    for (uint32_t i = 0; i < count; i++)
        if (cube_leftover(cubes[i], err))
            return false;
    return true;
}

static uint32_t collect(struct cube *const *cubes, uint32_t count, uint32_t pes,
                        struct pe_wait *waits)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += cube_unfinished(cubes[i], waits + found, pes);
    return found;
}

bool deadlock_check(const struct comm *comm, const char *kernel, struct cube *const *cubes,
                    uint32_t count, uint32_t pes, struct error *err)
{
    struct pe_wait *mine = memory_new((size_t)count * pes, sizeof *mine);
    uint32_t found = collect(cubes, count, pes, mine);
    uint64_t total = comm_sum(comm, found);
    if (total > 0) {
        struct pe_wait *all = memory_new(comm->rank == 0 ? total : 1, sizeof *all);
        comm_gather(comm, mine, found * sizeof *mine, all);
        if (comm->rank == 0)
            report(all, (uint32_t)total, kernel, err);
        memory_free(all);
    } else {
        check_leftovers(cubes, count, err);
    }
    memory_free(mine);
    return comm_agree(comm, err);
}
