#include "kernels/prefill/prefill.h"

#include "kernels/prefill/fold.h"
#include "kernels/prefill/key_home.h"
#include "kernels/prefill/prefill_block.h"
#include "kernels/prefill/prefill_plan.h"
#include "kernels/prefill/prefill_ring.h"

static void check_numbers(struct tl *tl, const struct tl_launch *launch)
{
    if (launch->query_len == 0 || launch->query_len > launch->context)
        tl_fail(tl, "%u query positions at the end of a context of %llu", launch->query_len,
                (unsigned long long)launch->context);
    if (launch->tile == 0 || launch->query_block == 0 || launch->batch == 0 ||
        launch->head_dim == 0 || launch->group_heads == 0)
        tl_fail(tl,
                "tile (%u), query block (%u), batch (%u), head dimension (%u) and heads (%u) "
                "must not be 0",
                launch->tile, launch->query_block, launch->batch, launch->head_dim,
                launch->group_heads);
}

static void check_launch(struct tl *tl, const struct tl_launch *launch, bool rotate)
{
    if (launch->phase != TL_PHASE_PREFILL)
        tl_fail(tl, "this is a prefill kernel: it cannot do decode");
    check_numbers(tl, launch);
    block_check(tl, launch);
    if (!prefill_fits(launch, rotate))
        tl_fail(tl,
                "query blocks of %u positions and KV tiles of %u tokens do not fit into %llu "
                "bytes of scratch",
                launch->query_block, launch->tile, (unsigned long long)launch->scratch_bytes);
}

/* One query block and the keys that lie in its CUBE. */
struct resident {
    const struct tl_launch *launch;
    uint32_t request;
    struct block block;
    struct fold_job job;
    struct fold fold;
};

static void push_tile(struct tl *tl, struct resident *work, uint32_t pe, uint64_t slot)
{
    const struct tl_launch *launch = work->launch;
    struct key_tile tile = key_tile(launch, launch->cube, pe, slot);
    if (!block_sees(&work->block, tile))
        return;
    struct kv home = key_home(tl, launch, pe, work->request, slot, tile.width);
    work->job.k = home.k;
    work->job.v = home.v;
    work->job.masked = block_is_cut(&work->block, tile);
    work->job.k_first = tile.first;
    fold_push(tl, &work->fold, &work->job);
    work->job.first = false;
}

/* All tiles that the block meets on this PE: its own, or those of all PEs, each PE starting with
 * its own share so that they do not crowd one. */
static void push_tiles(struct tl *tl, struct resident *work)
{
    const struct tl_launch *launch = work->launch;
    uint64_t slots = key_slots(launch);
    uint32_t pes = key_pes(launch);
    for (uint64_t slot = 0; slot < slots; slot++)
        for (uint32_t i = 0; i < (launch->pe_sp ? 1 : pes); i++)
            push_tile(tl, work, (launch->pe + i) % pes, slot);
}

static void run_block(struct tl *tl, const struct tl_launch *launch, uint32_t request, uint64_t i)
{
    uint32_t heads = query_heads(launch, launch->cube);
    struct resident work = {.launch = launch, .request = request};
    struct fold_job *job = &work.job;
    work.block = block_at(launch, heads, request, i);
    job->first = true;
    job->q = tl_load(tl, block_q_home(tl, launch, &work.block));
    job->state = kit_state_new(tl, work.block.rows, launch->head_dim, launch->packed);
    job->q_first = work.block.token;
    job->positions = work.block.at.count;
    TL_SCRATCH_SCOPE(tl)
    {
        work.fold = fold_new(tl, launch, work.block.rows, launch->tile);
        push_tiles(tl, &work);
        fold_flush(tl, &work.fold);
    }
    if (job->first)
        kit_state_clear(tl, &job->state);
    block_end(tl, launch, &work.block, &job->state);
}

static void run_resident(struct tl *tl, const struct tl_launch *launch, uint32_t request)
{
    if (query_heads(launch, launch->cube) == 0)
        return;
    for (uint64_t i = 0; i < query_blocks(launch, launch->pe); i++)
        TL_SCRATCH_SCOPE(tl)
        {
            run_block(tl, launch, request, i);
        }
}

static void run(struct tl *tl, const struct tl_launch *launch, bool rotate)
{
    check_launch(tl, launch, rotate);
    for (uint32_t request = 0; request < launch->batch; request++)
        if (prefill_is_ring(launch))
            prefill_ring(tl, launch, request, rotate);
        else
            run_resident(tl, launch, request);
}

void kernel_prefill(struct tl *tl, const struct tl_launch *launch)
{
    run(tl, launch, false);
}

void kernel_prefill_rotate(struct tl *tl, const struct tl_launch *launch)
{
    run(tl, launch, true);
}

void kernel_prefill_one_pe(struct tl *tl, const struct tl_launch *launch)
{
    if (!launch->one_pe || launch->group_cubes != 1)
        tl_fail(tl, "this kernel does everything on PE 0 of a group of one CUBE");
    run(tl, launch, false);
}
