#include "pdes/transport/meeting.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 4096, YIELDS_CROWDED = 8, YIELDS = 64 };
enum { NAP_NS = 1000 * 1000 }; /* of a sleeper that has something to do meanwhile */

struct line {
    _Alignas(64) struct least values[MEETING_VALUES];
};

/* A counter of arrivals and the number of rounds that are over, on lines of their own. */
struct gate {
    _Alignas(64) _Atomic uint32_t arrived;
    _Alignas(64) _Atomic uint32_t round;
    _Atomic uint32_t sleepers;
    struct line result[2]; /* by the round's parity: a slow reader still has the last one */
};

struct meeting {
    struct gate gate;
    struct line slots[]; /* one per member */
};

size_t meeting_bytes(uint32_t size)
{
    return sizeof(struct meeting) + (size_t)size * sizeof(struct line);
}

void member_init(struct member *member, void *meeting, uint32_t rank, uint32_t size,
                 uint32_t processors)
{
    bool crowded = size > processors;
    *member = (struct member){.meeting = meeting,
                              .rank = rank,
                              .size = size,
                              .spins = crowded ? 0 : SPINS,
                              .yields = crowded ? YIELDS_CROWDED : YIELDS};
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void sleep_on(struct gate *gate, uint32_t round, const struct timespec *longest)
{
    atomic_fetch_add(&gate->sleepers, 1);
    if (atomic_load(&gate->round) == round)
        syscall(SYS_futex, &gate->round, FUTEX_WAIT, round, longest, NULL, 0);
    atomic_fetch_sub(&gate->sleepers, 1);
}

static void let_others_go_on(const struct member *member)
{
    if (member->meanwhile != NULL)
        member->meanwhile();
    sched_yield();
}

static void await(const struct member *member, struct gate *gate, uint32_t round)
{
    static const struct timespec nap = {0, NAP_NS};
    uint32_t waited = 0;
    while (atomic_load_explicit(&gate->round, memory_order_acquire) == round) {
        if (waited < member->spins) {
            relax();
        } else if (waited < member->spins + member->yields) {
            let_others_go_on(member);
        } else {
            sleep_on(gate, round, member->meanwhile != NULL ? &nap : NULL);
            if (member->meanwhile != NULL)
                member->meanwhile();
        }
        waited++;
    }
}

/* The last one to arrive opens the gate. */
static void open_gate(struct gate *gate, uint32_t round)
{
    atomic_store_explicit(&gate->arrived, 0, memory_order_relaxed);
    atomic_store(&gate->round, round + 1);
    if (atomic_load(&gate->sleepers) > 0)
        syscall(SYS_futex, &gate->round, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void collect_minimum(const struct member *member, struct least *result, uint32_t count)
{
    const struct line *slots = member->meeting->slots;
    memcpy(result, slots[0].values, count * sizeof *result);
    for (uint32_t i = 1; i < member->size; i++)
        least_merge(result, slots[i].values, count);
}

void member_minimum(struct member *member, struct least *values, uint32_t count)
{
    struct meeting *meeting = member->meeting;
    struct gate *gate = &meeting->gate;
    uint32_t round = member->round++;
    struct least *result = gate->result[round & 1].values;
    memcpy(meeting->slots[member->rank].values, values, count * sizeof *values);
    if (atomic_fetch_add(&gate->arrived, 1) == member->size - 1) {
        collect_minimum(member, result, count);
        open_gate(gate, round);
    } else {
        await(member, gate, round);
    }
    memcpy(values, result, count * sizeof *values);
}

/* A round of the same gate: between two all have met, so nobody still reads this result. */
void member_publish(struct member *member, struct least *values, uint32_t count)
{
    struct gate *gate = &member->meeting->gate;
    uint32_t round = member->round++;
    struct least *result = gate->result[round & 1].values;
    if (member->rank == 0) {
        memcpy(result, values, count * sizeof *values);
        open_gate(gate, round);
    } else {
        await(member, gate, round);
        memcpy(values, result, count * sizeof *values);
    }
}
