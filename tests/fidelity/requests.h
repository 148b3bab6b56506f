/* Requests under way at a memory, for fidelity_hbm: what the controllers take, when a column has
 * been issued and when data has come. */
#ifndef AHBM_TESTS_REQUESTS_H
#define AHBM_TESTS_REQUESTS_H

#include <string.h>

#include "machine/machine.h"
#include "support/hash.h"
#include "support/memory.h"

enum { TRANSACTIONS = 32 }; /* that DRAMsim3 holds besides its banks' queues */

/* ---- the memory ---- */

struct memory {
    struct hbm_derived derived;
    uint64_t tck; /* how often a requester looks */
    double peak;  /* bytes per ps */
};

static uint64_t draw_state;

static uint64_t draw(void)
{
    return hash_finish(draw_state = hash_word(draw_state, 1));
}

static double draw_uniform(void)
{
    return ((double)(draw() >> 11) + 0.5) / 9007199254740992.0;
}

/* Of a stack all of whose pseudo-channels are one share. */
static struct memory memory_of(struct machine_params params)
{
    struct memory memory;
    params.geometry.pes = (struct grid){1, 1};
    memset(&memory, 0, sizeof memory);
    banks_derive(&params, &memory.derived);
    memory.tck = params.hbm.dram.tck_ps;
    memory.peak = (double)params.hbm.pseudo_channels * (double)params.hbm.dram.width_bits / 8 *
                  (double)params.hbm.dram.data_rate.den / (double)params.hbm.dram.data_rate.num;
    return memory;
}

/* ---- requests under way ---- */

struct request {
    uint64_t asked, end; /* ready to be sent; the data is there */
    uint32_t channel, bank, stream;
    uint32_t tile;
};

struct happening {
    uint64_t time;
    uint32_t request;
    bool data; /* else its column has been issued */
};

struct run_state {
    const struct memory *memory;
    struct dram_channel *channels;
    struct request *requests;
    uint32_t requests_count, requests_room;
    struct happening *heap;
    uint32_t heap_count, heap_room;
    uint32_t (*of_bank)[DRAM_BANKS_MAX]; /* outstanding, of a channel's bank */
    uint32_t *outside;                   /* of a channel: those in no bank's queue */
};

static void state_open(struct run_state *state, const struct memory *memory)
{
    uint32_t channels = memory->derived.channels;
    memset(state, 0, sizeof *state);
    state->memory = memory;
    state->channels = memory_new_aligned(channels, sizeof *state->channels, 64);
    state->of_bank = memory_new(channels, sizeof *state->of_bank);
    state->outside = memory_new(channels, sizeof *state->outside);
    for (uint32_t i = 0; i < channels; i++)
        dram_init(&memory->derived.dram, &state->channels[i], memory->derived.dram.refi);
}

static void state_close(struct run_state *state)
{
    for (uint32_t i = 0; i < state->memory->derived.channels; i++)
        dram_fini(&state->channels[i]);
    memory_free(state->channels);
    memory_free(state->of_bank);
    memory_free(state->outside);
    memory_free(state->requests);
    memory_free(state->heap);
}

static void heap_add(struct run_state *state, struct happening what)
{
    if (state->heap_count == state->heap_room) {
        state->heap_room = state->heap_room == 0 ? 1024 : 2 * state->heap_room;
        state->heap = memory_resize(state->heap, state->heap_room, sizeof *state->heap);
    }
    uint32_t at = state->heap_count++;
    for (; at > 0 && state->heap[(at - 1) / 2].time > what.time; at = (at - 1) / 2)
        state->heap[at] = state->heap[(at - 1) / 2];
    state->heap[at] = what;
}

static struct happening heap_take(struct run_state *state)
{
    struct happening first = state->heap[0], last = state->heap[--state->heap_count];
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < state->heap_count) {
        if (child + 1 < state->heap_count && state->heap[child + 1].time < state->heap[child].time)
            child++;
        if (state->heap[child].time >= last.time)
            break;
        state->heap[at] = state->heap[child];
        at = child;
    }
    state->heap[at] = last;
    return first;
}

static void request_done(void *context, uint32_t number, uint64_t end)
{
    struct run_state *state = context;
    const struct dram *dram = &state->memory->derived.dram;
    state->requests[number].end = end + state->memory->derived.controller_ps;
    heap_add(state, (struct happening){end - dram->burst - dram->cl, number, false});
    heap_add(state, (struct happening){state->requests[number].end, number, true});
}

/* Whether the controller of a channel takes one more. Where banks take turns each has a queue, and
 * a few wait before them; else there is one queue. */
static bool has_room(const struct run_state *state, uint32_t channel)
{
    const struct dram *dram = &state->memory->derived.dram;
    return state->outside[channel] <
           (dram->round_robin ? (uint32_t)TRANSACTIONS : dram->bank_window);
}

static void enter(struct run_state *state, uint32_t channel, uint32_t bank)
{
    const struct dram *dram = &state->memory->derived.dram;
    if (!dram->round_robin || ++state->of_bank[channel][bank] > dram->bank_window)
        state->outside[channel]++;
}

static void leave(struct run_state *state, uint32_t channel, uint32_t bank)
{
    const struct dram *dram = &state->memory->derived.dram;
    if (!dram->round_robin || state->of_bank[channel][bank]-- > dram->bank_window)
        state->outside[channel]--;
}

static uint32_t send_request(struct run_state *state, uint64_t now, uint64_t asked, uint64_t addr,
                             uint32_t stream, uint32_t tile)
{
    if (state->requests_count == state->requests_room) {
        state->requests_room = state->requests_room == 0 ? 1024 : 2 * state->requests_room;
        state->requests =
            memory_resize(state->requests, state->requests_room, sizeof *state->requests);
    }
    struct dram_run run = {.request = state->requests_count};
    uint32_t channel = banks_locate(&state->memory->derived, addr, &run);
    state->requests[state->requests_count++] =
        (struct request){asked, 0, channel, run.bank, stream, tile};
    enter(state, channel, run.bank);
    dram_arrive(&state->memory->derived.dram, &state->channels[channel], now, &run, request_done,
                state);
    return run.request;
}

static uint32_t channel_of(const struct run_state *state, uint64_t addr)
{
    struct dram_run run = {0};
    return banks_locate(&state->memory->derived, addr, &run);
}

/* Takes what has happened by `now`, and calls `came` for the data. */
static void happen(struct run_state *state, uint64_t now,
                   void (*came)(void *context, const struct request *request), void *context)
{
    for (int twice = 0; twice < 2; twice++) {
        for (uint32_t i = 0; i < state->memory->derived.channels && twice == 0; i++)
            dram_advance(&state->memory->derived.dram, &state->channels[i], now, request_done,
                         state);
        while (state->heap_count > 0 && state->heap[0].time <= now) {
            struct happening what = heap_take(state);
            const struct request *request = &state->requests[what.request];
            if (what.data)
                came(context, request);
            else
                leave(state, request->channel, request->bank);
        }
    }
}

#endif
