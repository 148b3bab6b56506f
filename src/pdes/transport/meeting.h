/* Where the processes of a node meet in shared memory: a barrier that merges values.
 *
 * Whoever waits spins while there is a processor for every process, yields when there is not, and
 * sleeps (futex) when it takes long. */
#ifndef AHBM_PDES_MEETING_H
#define AHBM_PDES_MEETING_H

#include <stdbool.h>
#include <stddef.h>

#include "pdes/transport/transport.h"

enum { MEETING_VALUES = ROUND_VALUES + 1 };

struct meeting; /* in shared memory, aligned to 64 bytes, zero at first */

/* A process's side of it. */
struct member {
    struct meeting *meeting;
    uint32_t rank, size;
    uint32_t round;
    uint32_t spins, yields;  /* before the next kind of waiting */
    void (*meanwhile)(void); /* called now and then by whoever waits; NULL: nothing to do */
};

size_t meeting_bytes(uint32_t size);

/* `processors`: that the processes of the meeting may use together. */
void member_init(struct member *member, void *meeting, uint32_t rank, uint32_t size,
                 uint32_t processors);

/* Merges the values of all members, in place. What a member wrote before, all see after. */
void member_minimum(struct member *member, struct least *values, uint32_t count);

/* Gives all members the values of member 0. Between two of these all meet. */
void member_publish(struct member *member, struct least *values, uint32_t count);

#endif
