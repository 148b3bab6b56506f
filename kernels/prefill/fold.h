/* The inner loop of a prefill as a pipeline of jobs. A job folds one KV tile into the running
 * (m, l, O) of one query block: the scores of a job are started before the softmax of the job
 * before it, what lives in HBM is fetched one job ahead and stored one job behind. */
#ifndef AHBM_KERNELS_FOLD_H
#define AHBM_KERNELS_FOLD_H

#include <ahbm/tl.h>

#include <ahbm/kit/state.h>

/* A job ends up to FOLD_STAGES - 1 jobs after it was handed in, and until then its buffers are in
 * use; its K and V only until FOLD_KV_USED further jobs were handed in. Example: the tile of K and
 * V of job 0 may be overwritten once job 2 was handed in, its Q and its state once job 3 was. */
enum { FOLD_STAGES = 4, FOLD_KV_USED = 2 };

struct fold_job {
    struct tl_tensor q;     /* [heads * positions, dim] bf16, in scratch */
    struct tl_tensor k, v;  /* [dim, width], [width, dim] bf16, in scratch or in HBM */
    struct kit_state state; /* in scratch */
    bool first;             /* the state has no values yet */
    bool masked;            /* some key is later than some query: */
    uint64_t q_first;       /*   token of the first position */
    uint32_t positions;     /*   rows of a head */
    uint64_t k_first;       /*   token of the first key */
    bool spilled;           /* Q and the state live in HBM: */
    struct tl_tensor q_home, state_home;
};

struct fold {
    float scale;
    struct tl_tensor scores[2]; /* [rows, width] f32, in turn */
    struct tl_tensor p;         /* [rows, width] bf16 */
    struct fold_job jobs[FOLD_STAGES];
    uint64_t pushed, done; /* jobs handed in, and those of them that have left */
};

/* Bytes of scratch that fold_new() takes, with the temporaries of a job. */
uint64_t fold_bytes(uint64_t rows, uint64_t width);

/* For jobs of up to `rows` x `width` scores. */
struct fold fold_new(struct tl *tl, const struct tl_launch *launch, uint32_t rows, uint32_t width);

/* Hands in a job. A spilled state must not be handed in again before a fold_flush(). */
void fold_push(struct tl *tl, struct fold *fold, const struct fold_job *job);

/* Ends all jobs handed in. */
void fold_flush(struct tl *tl, struct fold *fold);

#endif
