/* The rows of O fall into units: up to BLOCK_ROWS rows of one (group, request). Units are worked
 * off in batches: the processes share the (unit, chunk of context) pairs of a batch, process 0 gets
 * the chunks' states and the rows of O, combines and compares. So memory is bounded, and every sum
 * runs in an order that does not depend on the number of processes. */
#include "study/verify.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "study/regions.h"
#include "support/bf16.h"
#include "support/hash.h"
#include "support/memory.h"
#include "values/measure.h"
#include "values/reference.h"

enum { BLOCK_ELEMENTS = 8192, BLOCK_ROWS = 64, UNWRITTEN = 0xff };
#define BATCH_BYTES (UINT64_C(32) << 20)

struct verification {
    const struct point *point;
    const struct comm *comm;
    struct reference_problem reference;
    struct results *output;
    struct error *err;
    uint32_t dim, block_rows;
    uint64_t rows;          /* of a (group, request) */
    uint64_t blocks, units; /* of a (group, request), and all */
    uint64_t chunks, state; /* of a unit; doubles of a chunk's state */
    uint64_t first, count;  /* the batch: units */
    /* process 0 */
    double *states;  /* [count][chunks][state] */
    uint16_t *o;     /* [count][block_rows][dim] */
    uint8_t *stored; /* [count][block_rows]: how often, up to 2 */
    float *slab;     /* O of a (group, request): [rows][dim] */
    struct measure measure;
    uint64_t missing, repeated, digest;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most_chunks(const struct tl_launch *launch)
{
    uint64_t most = 1;
    for (uint32_t request = 0; request < launch->batch; request++) {
        uint64_t chunks = reference_chunks(tl_context(launch, request));
        most = chunks > most ? chunks : most;
    }
    return most;
}

/* How the work is cut. */
static void cut(struct verification *verify, const struct problem *problem)
{
    const struct tl_launch *launch = &problem->launch;
    verify->dim = launch->head_dim;
    verify->rows = (uint64_t)launch->group_heads * launch->query_len;
    verify->chunks = most_chunks(launch);
    verify->block_rows = BLOCK_ELEMENTS / verify->dim;
    verify->block_rows =
        (uint32_t)least(verify->block_rows > 0 ? verify->block_rows : 1, BLOCK_ROWS);
    verify->block_rows = (uint32_t)least(verify->block_rows, verify->rows);
    verify->blocks = (verify->rows + verify->block_rows - 1) / verify->block_rows;
    verify->units = (uint64_t)problem->groups * launch->batch * verify->blocks;
    verify->state = reference_state_size(verify->block_rows, verify->dim);
}

static void init(struct verification *verify, const struct point *point, struct results *output,
                 struct error *err)
{
    const struct tl_launch *launch = &point->problem->launch;
    *verify = (struct verification){
        .point = point,
        .comm = point->comm,
        .output = output,
        .err = err,
        .digest = HASH_START,
    };
    cut(verify, point->problem);
    verify->reference = (struct reference_problem){point->source, launch->context,
                                                   launch->query_len, launch->group_heads};
}

static uint64_t batch_units(const struct verification *verify)
{
    uint64_t bytes = verify->chunks * verify->state * sizeof(double);
    assert(bytes > 0);
    return bytes < BATCH_BYTES ? BATCH_BYTES / bytes : 1;
}

static void init_root(struct verification *verify)
{
    uint64_t units = least(batch_units(verify), verify->units);
    verify->states = memory_new(units * verify->chunks * verify->state, sizeof *verify->states);
    verify->o = memory_new(units * verify->block_rows, verify->dim * sizeof *verify->o);
    verify->stored = memory_new(units, verify->block_rows);
    verify->slab = memory_new(verify->rows, verify->dim * sizeof *verify->slab);
}

static void fini_root(struct verification *verify)
{
    memory_free(verify->states);
    memory_free(verify->o);
    memory_free(verify->stored);
    memory_free(verify->slab);
}

static struct reference_block block_of(const struct verification *verify, uint64_t unit)
{
    const struct problem *problem = verify->point->problem;
    uint64_t pair = unit / verify->blocks, first = unit % verify->blocks * verify->block_rows;
    uint32_t group = (uint32_t)(pair / problem->launch.batch);
    uint32_t request = (uint32_t)(pair % problem->launch.batch);
    return (struct reference_block){problem_request(problem, group, request),
                                    problem_kv_head(problem, group, request), first,
                                    (uint32_t)least(verify->block_rows, verify->rows - first)};
}

/* ---- the reference's states ---- */

/* The chunk of a request that may be shorter than the point's context: what lies beyond it saw
 * nothing. */
static void compute_chunk(struct verification *verify, const struct reference_block *block,
                          uint64_t chunk, double *state)
{
    struct reference_problem problem = verify->reference;
    uint32_t within;
    problem_find(verify->point->problem, block->request, block->kv_head, &within);
    problem.context = tl_context(&verify->point->problem->launch, within);
    if (chunk < reference_chunks(problem.context)) {
        reference_chunk(&problem, block, chunk, state, verify->err);
        return;
    }
    for (uint32_t row = 0; row < block->count; row++)
        state[row] = -INFINITY; /* m: a merge skips it */
}

static void compute_states(struct verification *verify, uint64_t first, uint64_t end,
                           double *states)
{
    const volatile sig_atomic_t *stop = verify->point->stop;
    for (uint64_t job = first; job < end && verify->err->code == ERROR_NONE; job++) {
        if (stop != NULL && *stop) {
            error_set(verify->err, ERROR_FAILED, "stopped by a signal");
            return;
        }
        struct reference_block block = block_of(verify, verify->first + job / verify->chunks);
        compute_chunk(verify, &block, job % verify->chunks, states + (job - first) * verify->state);
    }
}

static bool share_states(struct verification *verify)
{
    uint64_t jobs = verify->count * verify->chunks;
    uint64_t first = jobs * verify->comm->rank / verify->comm->size;
    uint64_t end = jobs * (verify->comm->rank + UINT64_C(1)) / verify->comm->size;
    size_t bytes = (end - first) * verify->state * sizeof(double);
    double *mine = memory_new(1, bytes);
    compute_states(verify, first, end, mine);
    bool good = comm_agree(verify->comm, verify->err);
    if (good)
        comm_gather(verify->comm, mine, bytes, verify->states);
    memory_free(mine);
    return good;
}

/* ---- the rows of O ---- */

/* Rows found by this process: records of a row's place in the batch and its elements. */
struct found {
    char *records;
    size_t bytes, room;
};

static size_t record_bytes(const struct verification *verify)
{
    return sizeof(uint64_t) + verify->dim * sizeof(uint16_t);
}

static char *new_record(struct found *found, size_t bytes)
{
    if (found->bytes + bytes > found->room) {
        found->room = 2 * found->room + bytes;
        found->records = memory_resize(found->records, found->room, 1);
    }
    found->bytes += bytes;
    return found->records + found->bytes - bytes;
}

/* The unit of a row of O, and its row there. */
static uint64_t unit_of_row(const struct verification *verify, const struct value_row *row,
                            uint64_t *within)
{
    const struct problem *problem = verify->point->problem;
    const struct tl_launch *launch = &problem->launch;
    uint32_t request, group = problem_find(problem, (uint32_t)row->request,
                                           row->head / launch->group_heads, &request);
    uint64_t pair = (uint64_t)group * launch->batch + request;
    uint64_t index = row->head % launch->group_heads * (uint64_t)launch->query_len + row->token;
    *within = index % verify->block_rows;
    return pair * verify->blocks + index / verify->block_rows;
}

static void find_rows(const struct verification *verify, const struct value_share *share,
                      const struct value_region *region, struct found *found)
{
    uint16_t *elements = memory_new(verify->dim, sizeof *elements);
    for (uint64_t i = 0; i < region->rows; i++) {
        struct value_row row = region_row(region, i);
        uint64_t within, unit = unit_of_row(verify, &row, &within);
        if (unit < verify->first || unit >= verify->first + verify->count ||
            !value_share_output(share, region, i, elements))
            continue;
        uint64_t place = (unit - verify->first) * verify->block_rows + within;
        char *record = new_record(found, record_bytes(verify));
        memcpy(record, &place, sizeof place);
        memcpy(record + sizeof place, elements, verify->dim * sizeof *elements);
    }
    memory_free(elements);
}

static void find_all(const struct verification *verify, struct found *found)
{
    const struct point *point = verify->point;
    for (uint32_t i = 0; i < point->count; i++) {
        if (point->values[i] == NULL)
            continue;
        for (uint32_t pe = 0; pe < point->problem->launch.pes; pe++) {
            const struct value_share *share = value_engine_share(point->values[i], pe);
            for (uint32_t k = 0; k < share->outputs_count; k++)
                find_rows(verify, share, &share->outputs[k], found);
        }
    }
}

static void place_rows(struct verification *verify, const char *records, uint64_t count)
{
    assert(verify->o != NULL && verify->stored != NULL); /* process 0 */
    memset(verify->o, UNWRITTEN,
           verify->count * verify->block_rows * verify->dim * sizeof *verify->o);
    memset(verify->stored, 0, verify->count * verify->block_rows);
    for (uint64_t i = 0; i < count; i++, records += record_bytes(verify)) {
        uint64_t place;
        memcpy(&place, records, sizeof place);
        memcpy(verify->o + place * verify->dim, records + sizeof place,
               verify->dim * sizeof *verify->o);
        if (verify->stored[place] < 2)
            verify->stored[place]++;
    }
}

static void gather_rows(struct verification *verify)
{
    struct found found = {NULL, 0, 0};
    find_all(verify, &found);
    uint64_t bytes = comm_sum(verify->comm, found.bytes);
    char *all = memory_new(verify->comm->rank == 0 ? bytes : 0, 1);
    comm_gather(verify->comm, found.records, found.bytes, all);
    if (verify->comm->rank == 0)
        place_rows(verify, all, bytes / record_bytes(verify));
    memory_free(all);
    memory_free(found.records);
}

/* ---- the comparison, on process 0 ---- */

static void digest_row(struct verification *verify, const uint16_t *row)
{
    for (uint32_t i = 0; i < verify->dim; i++)
        verify->digest = hash_word(verify->digest, row[i]);
}

static void judge(struct verification *verify, uint64_t index)
{
    struct reference_block block = block_of(verify, verify->first + index);
    double *state = verify->states + index * verify->chunks * verify->state;
    for (uint64_t chunk = 1; chunk < verify->chunks; chunk++)
        reference_merge(state, state + chunk * verify->state, block.count, verify->dim);
    const double *exact = reference_output(state, block.count, verify->dim);
    for (uint32_t row = 0; row < block.count; row++) {
        uint64_t place = index * verify->block_rows + row;
        const uint16_t *o = verify->o + place * verify->dim;
        float *out = verify->slab + (block.first + row) * verify->dim;
        for (uint32_t i = 0; i < verify->dim; i++)
            out[i] = f32_of_bf16(o[i]);
        digest_row(verify, o);
        measure_add(&verify->measure, out, exact + (uint64_t)row * verify->dim, verify->dim);
        verify->missing += verify->stored[place] == 0;
        verify->repeated += verify->stored[place] > 1;
    }
}

/* The slab of a (group, request) whose last unit was judged. Collective. */
static bool write_slab(struct verification *verify, uint64_t unit)
{
    const struct tl_launch *launch = &verify->point->problem->launch;
    struct reference_block block = block_of(verify, unit);
    uint64_t start[4] = {block.request, (uint64_t)block.kv_head * launch->group_heads, 0, 0};
    uint64_t count[4] = {1, launch->group_heads, launch->query_len, verify->dim};
    return results_output_put(verify->output, start, count, verify->slab, verify->err);
}

static bool run_batch(struct verification *verify)
{
    if (!share_states(verify))
        return false;
    gather_rows(verify);
    for (uint64_t i = 0; i < verify->count; i++) {
        if (verify->comm->rank == 0)
            judge(verify, i);
        bool last = (verify->first + i + 1) % verify->blocks == 0;
        if (last && verify->output != NULL && !write_slab(verify, verify->first + i))
            return false;
    }
    return true;
}

static bool run_batches(struct verification *verify)
{
    uint64_t step = batch_units(verify);
    for (verify->first = 0; verify->first < verify->units; verify->first += verify->count) {
        verify->count = least(step, verify->units - verify->first);
        if (!run_batch(verify))
            return false;
    }
    return true;
}

/* ---- the whole ---- */

uint64_t verify_memory(const struct problem *problem, uint32_t ranks)
{
    struct verification verify = {.comm = NULL};
    cut(&verify, problem);
    uint64_t units = least(batch_units(&verify), verify.units);
    uint64_t states = units * verify.chunks * verify.state * sizeof(double);
    uint64_t rows = units * verify.block_rows;
    return states + states / ranks + 4 * rows * record_bytes(&verify) +
           verify.rows * verify.dim * sizeof(float) +
           reference_memory(problem->launch.context, verify.block_rows, verify.dim);
}

static bool check_engines(const struct verification *verify)
{
    for (uint32_t i = 0; i < verify->point->count; i++)
        if (verify->point->values[i] != NULL)
            value_engine_check(verify->point->values[i], verify->err);
    return comm_agree(verify->comm, verify->err);
}

static bool open_output(const struct verification *verify)
{
    const struct problem *problem = verify->point->problem;
    const struct tl_launch *launch = &problem->launch;
    uint64_t kv_heads = problem_kv_heads(problem), groups = problem->params->model.kv_heads;
    uint64_t heads = least(problem->groups, groups) * (kv_heads / groups);
    uint64_t dims[4] = {problem_requests(problem), heads * launch->group_heads, launch->query_len,
                        launch->head_dim};
    return verify->output == NULL || results_output_open(verify->output, dims, verify->err);
}

static void conclude(struct verification *verify, struct verify_result *result)
{
    *result = (struct verify_result){
        .rms_relative = measure_rms_relative(&verify->measure),
        .max_abs = measure_max_abs(&verify->measure),
        .missing = verify->missing,
        .repeated = verify->repeated,
        .digest = hash_finish(verify->digest),
    };
    result->passed =
        measure_passes(&verify->measure) && verify->missing == 0 && verify->repeated == 0;
    comm_broadcast(verify->comm, result, sizeof *result);
}

bool verify_point(const struct point *point, struct results *output, struct verify_result *result,
                  struct error *err)
{
    struct verification verify;
    init(&verify, point, output, err);
    if (!check_engines(&verify) || !open_output(&verify))
        return false;
    if (point->comm->rank == 0)
        init_root(&verify);
    bool good = run_batches(&verify);
    if (output != NULL)
        results_output_close(output);
    if (good)
        conclude(&verify, result);
    if (point->comm->rank == 0)
        fini_root(&verify);
    return good;
}
