/* An event: 64 bytes, no pointers, so that one that crosses ranks is the same bytes.
 *
 * Total order: (time, dst, src, seq). All four are identities of the model, none of them knows
 * ranks, so the order in which an LP dispatches does not depend on the partition. `seq` counts the
 * events of one source unit modulo 2^32; two pending events of one source and one time are never
 * 2^31 apart, so the wrapped difference orders them.
 */
#ifndef AHBM_PDES_EVENT_H
#define AHBM_PDES_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum { EVENT_ARGS = 5 };

struct event {
    uint64_t time;            /* picoseconds */
    uint32_t dst;             /* unit that handles it; the unit's upper bits name its LP */
    uint32_t src;             /* unit that sent it */
    uint32_t seq;             /* count of this source's events */
    uint16_t kind;            /* index into the model's handler table */
    uint16_t payload;         /* handle of the bytes it carries, 0: none (lp.h) */
    uint64_t arg[EVENT_ARGS]; /* the model's */
};

_Static_assert(sizeof(struct event) == 64, "an event is one cache line");

#endif
