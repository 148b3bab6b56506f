#include "kernels/decode/decode_pipelined.h"

#include "kernels/decode/attention.h"
#include "kernels/decode/decode_request.h"
#include <ahbm/kit/placement.h>

/* What a request under way has; two are under way. */
struct lane {
    struct tl_tensor q;
    struct kit_tile_pair pair;
    struct tl_tensor state;
};

/* The first request from `request` on that this PE works on, or the batch's end. */
static uint32_t mine(const struct tl_launch *launch, uint32_t request)
{
    while (request < launch->batch &&
           !kit_placement_pe_works(launch, launch->cube, launch->pe, request))
        request++;
    return request;
}

/* As large as the longest request needs. */
static struct lane new_lane(struct tl *tl, const struct tl_launch *launch)
{
    uint32_t rows = decode_rows(launch), dim = launch->head_dim,
             ranks = kit_placement_ranks(launch);
    struct lane lane = {.q = tl_empty(tl, rows, dim, TL_BF16),
                        .state = tl_empty(tl, rows, dim + 2, TL_F32)};
    struct kit_tile_source longest = {
        .launch = launch, .q = lane.q, .tokens = (launch->context + ranks - 1) / ranks};
    lane.pair = kit_tile_pair_new(tl, &longest);
    return lane;
}

static void start(struct tl *tl, const struct tl_launch *launch, struct lane *lane,
                  uint32_t request)
{
    lane->pair.source = decode_open(tl, launch, request, launch->pe);
    tl_load_to(tl, lane->q, lane->pair.source.q);
    lane->pair.source.q = lane->q;
    attention_start(tl, &lane->pair);
}

static void run(struct tl *tl, const struct tl_launch *launch, struct lane lanes[2])
{
    uint32_t request = mine(launch, 0), next;
    if (request < launch->batch)
        start(tl, launch, &lanes[0], request);
    for (uint32_t i = 0; request < launch->batch; request = next, i++) {
        struct lane *lane = &lanes[i % 2];
        next = mine(launch, request + 1);
        TL_SCRATCH_SCOPE(tl)
        {
            struct kit_state state =
                kit_state_at(tl, lane->state, lane->q.rows, launch->head_dim, launch->packed);
            attention_finish(tl, &lane->pair, &state);
            if (next < launch->batch)
                start(tl, launch, &lanes[(i + 1) % 2], next);
            if (decode_reduce(tl, launch, &state))
                decode_store(tl, launch, request, &state);
        }
    }
}

void kernel_decode_pipelined(struct tl *tl, const struct tl_launch *launch)
{
    decode_check(tl, launch);
    decode_check_reduction(tl, launch);
    if (launch->form == TL_FORM_SOFTMAX_MERGE)
        tl_fail(tl, "requests overlap in the one-shot and the tiled form only");
    struct lane lanes[2] = {new_lane(tl, launch), new_lane(tl, launch)};
    run(tl, launch, lanes);
}
