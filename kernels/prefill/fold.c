#include "kernels/prefill/fold.h"

#include <ahbm/kit/tile.h>

uint64_t fold_bytes(uint64_t rows, uint64_t width)
{
    return rows * width * (2 * 4 + 2 + 4) + rows * 16; /* S twice, P, a mask; vectors */
}

struct fold fold_new(struct tl *tl, const struct tl_launch *launch, uint32_t rows, uint32_t width)
{
    struct fold fold = {.scale = kit_tile_scale(launch)};
    for (int i = 0; i < 2; i++)
        fold.scores[i] = tl_empty(tl, rows, width, TL_F32);
    fold.p = tl_empty(tl, rows, width, TL_BF16);
    return fold;
}

static const struct fold_job *job_at(const struct fold *fold, uint64_t n)
{
    return n >= fold->done && n < fold->pushed ? &fold->jobs[n % FOLD_STAGES] : NULL;
}

static struct tl_tensor scores_of(struct tl *tl, const struct fold *fold, uint64_t n)
{
    const struct fold_job *job = &fold->jobs[n % FOLD_STAGES];
    return kit_tile_part(tl, fold->scores[n % 2], job->q.rows, job->k.cols);
}

/* ---- the stages of a job ---- */

static void fetch(struct tl *tl, const struct fold_job *job)
{
    if (!job->spilled)
        return;
    tl_load_to(tl, job->q, job->q_home);
    if (!job->first)
        tl_load_to(tl, job->state.whole, job->state_home);
}

static void start(struct tl *tl, const struct fold *fold, const struct fold_job *job, uint64_t n)
{
    tl_composite_to(tl, scores_of(tl, fold, n), job->q, job->k,
                    (struct tl_epilogue){.scale = fold->scale});
}

static void mask(struct tl *tl, const struct fold_job *job, struct tl_tensor scores)
{
    struct tl_tensor future =
        tl_causal_mask(tl, scores.rows, scores.cols, job->q_first, job->positions, job->k_first, 1);
    tl_add_to(tl, scores, scores, future);
}

/* P = exp(S - m) in bf16; S keeps it in f32. */
static struct tl_tensor probabilities(struct tl *tl, const struct fold *fold,
                                      struct tl_tensor scores, struct tl_tensor m)
{
    struct tl_tensor p = kit_tile_part(tl, fold->p, scores.rows, scores.cols);
    tl_sub_to(tl, scores, scores, m);
    tl_exp_to(tl, scores, scores);
    tl_cast_to(tl, p, scores);
    return p;
}

static void finish_first(struct tl *tl, const struct fold *fold, const struct fold_job *job,
                         struct tl_tensor scores)
{
    const struct kit_state *state = &job->state;
    tl_max_to(tl, state->m, scores);
    struct tl_tensor p = probabilities(tl, fold, scores, state->m);
    tl_composite_to(tl, state->o, p, job->v, (struct tl_epilogue){0});
    tl_sum_to(tl, state->l, scores);
}

static void finish_next(struct tl *tl, const struct fold *fold, const struct fold_job *job,
                        struct tl_tensor scores)
{
    const struct kit_state *state = &job->state;
    struct tl_tensor m_new = tl_max(tl, scores);
    tl_maximum_to(tl, m_new, m_new, state->m);
    struct tl_tensor p = probabilities(tl, fold, scores, m_new);
    struct tl_tensor corr = tl_sub(tl, state->m, m_new);
    tl_exp_to(tl, corr, corr);
    tl_composite_to(tl, state->o, p, job->v, (struct tl_epilogue){.rescale = &corr});
    tl_mul_to(tl, state->l, state->l, corr);
    tl_add_to(tl, state->l, state->l, tl_sum(tl, scores));
    tl_maximum_to(tl, state->m, state->m, m_new);
}

static void finish(struct tl *tl, const struct fold *fold, const struct fold_job *job, uint64_t n)
{
    struct tl_tensor scores = scores_of(tl, fold, n);
    TL_SCRATCH_SCOPE(tl)
    {
        if (job->masked)
            mask(tl, job, scores);
        if (job->first)
            finish_first(tl, fold, job, scores);
        else
            finish_next(tl, fold, job, scores);
    }
}

/* One stage of each job under way; job `n`, which may not exist, is the newest. */
static void advance(struct tl *tl, struct fold *fold, uint64_t n)
{
    const struct fold_job *job = job_at(fold, n);
    if (job != NULL)
        fetch(tl, job);
    job = n >= 1 ? job_at(fold, n - 1) : NULL;
    if (job != NULL)
        start(tl, fold, job, n - 1);
    job = n >= 2 ? job_at(fold, n - 2) : NULL;
    if (job != NULL)
        finish(tl, fold, job, n - 2);
    job = n >= 3 ? job_at(fold, n - 3) : NULL;
    if (job == NULL)
        return;
    if (job->spilled)
        tl_store(tl, job->state_home, job->state.whole);
    fold->done = n - 2;
}

void fold_push(struct tl *tl, struct fold *fold, const struct fold_job *job)
{
    fold->jobs[fold->pushed % FOLD_STAGES] = *job;
    fold->pushed++;
    advance(tl, fold, fold->pushed - 1);
}

void fold_flush(struct tl *tl, struct fold *fold)
{
    uint64_t newest = fold->pushed;
    for (uint64_t n = newest; n < newest + FOLD_STAGES - 1; n++)
        advance(tl, fold, n);
    fold->done = fold->pushed;
}
