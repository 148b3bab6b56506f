#include "study/regions.h"

#include <inttypes.h>

#include "kernels/registry.h"

static uint32_t kv_heads(const struct problem *problem)
{
    return (uint32_t)problem->params->model.kv_heads;
}

/* Query heads of a group that the launch counts as requests, each with K and V of its own. */
static uint32_t heads_apart(const struct problem *problem)
{
    uint32_t heads = (uint32_t)problem->params->model.query_heads / kv_heads(problem);
    return problem->kernel->heads_apart ? heads : 1;
}

static uint32_t batch(const struct problem *problem)
{
    return problem->launch.batch / heads_apart(problem);
}

uint32_t problem_request(const struct problem *problem, uint32_t group, uint32_t request)
{
    return group / kv_heads(problem) * batch(problem) + request / heads_apart(problem);
}

uint32_t problem_kv_head(const struct problem *problem, uint32_t group, uint32_t request)
{
    uint32_t apart = heads_apart(problem);
    return group % kv_heads(problem) * apart + request % apart;
}

uint32_t problem_kv_heads(const struct problem *problem)
{
    return kv_heads(problem) * heads_apart(problem);
}

uint32_t problem_requests(const struct problem *problem)
{
    return problem_batches(problem) * batch(problem);
}

uint32_t problem_find(const struct problem *problem, uint32_t request, uint32_t kv_head,
                      uint32_t *within)
{
    uint32_t apart = heads_apart(problem);
    *within = request % batch(problem) * apart + kv_head % apart;
    return request / batch(problem) * kv_heads(problem) + kv_head / apart;
}

uint32_t problem_batches(const struct problem *problem)
{
    return (problem->groups + kv_heads(problem) - 1) / kv_heads(problem);
}

/* Looks at what the layout of one PE shows, up to the first fault. */
struct inspector {
    struct tl_visitor visitor;
    const struct tl_launch *launch;
    const char *fault; /* NULL: none */
    struct tl_region region;
    uint32_t count; /* regions before it */
};

/* first + (count - 1) * step, UINT64_MAX when that is too large; `count` is not 0. */
static uint64_t last_of(uint64_t first, uint64_t count, uint64_t step)
{
    uint64_t last;
    if (__builtin_mul_overflow(count - 1, step, &last) ||
        __builtin_add_overflow(first, last, &last))
        return UINT64_MAX;
    return last;
}

static const char *fault_of(const struct tl_launch *launch, const struct tl_region *region)
{
    uint64_t row_bytes = (uint64_t)launch->head_dim * VALUE_BYTES, end;
    bool keys = region->tensor == TL_TENSOR_K || region->tensor == TL_TENSOR_V;
    if (region->stack && (!keys || !launch->kv_stack))
        return "only K and V with --kv-layout stack are striped";
    if (region->tensor == TL_DATA)
        return NULL;
    if (!keys && region->tensor != TL_TENSOR_Q && region->tensor != TL_TENSOR_O)
        return "no such tensor";
    if (region->request >= launch->batch)
        return "no such request";
    if (region->rows == 0 || region->rows_per_head == 0)
        return "no rows";
    if (last_of(region->head, (region->rows - 1) / region->rows_per_head + 1, region->head_step) >=
        (keys ? 1 : launch->group_heads))
        return "no such head";
    uint64_t tokens = region->rows < region->rows_per_head ? region->rows : region->rows_per_head;
    if (last_of(region->token, tokens, region->token_step) >=
        (keys ? tl_context(launch, region->request) : launch->query_len))
        return "no such token";
    if (__builtin_mul_overflow(region->rows + region->block, row_bytes, &end) ||
        __builtin_add_overflow(end, region->addr, &end) || region->addr % VALUE_BYTES != 0)
        return "no such address";
    return NULL;
}

static void inspect(struct tl_visitor *visitor, const struct tl_region *region)
{
    struct inspector *inspector = (struct inspector *)visitor;
    if (inspector->fault != NULL)
        return;
    inspector->fault = fault_of(inspector->launch, region);
    inspector->region = *region;
    inspector->count += inspector->fault == NULL;
}

bool problem_check_layout(const struct problem *problem, uint32_t group, uint32_t within,
                          uint32_t pe, struct error *err)
{
    struct tl_launch launch = problem_launch(problem, group, within, pe);
    struct inspector inspector = {.visitor = {inspect}, .launch = &launch};
    kernel_layout(problem->kernel, &launch, &inspector.visitor);
    const struct tl_region *region = &inspector.region;
    if (inspector.fault == NULL)
        return true;
    return error_set(err, ERROR_USAGE,
                     "kernel %s, layout of PE %u of CUBE %u of a group: region %u: %s: tensor %d, "
                     "request %u, address %" PRIu64 ", head %u, token %" PRIu64 ", %" PRIu64
                     " rows (ahbm/kernel.h)",
                     problem->kernel->name, pe, within, inspector.count, inspector.fault,
                     (int)region->tensor, region->request, region->addr, region->head,
                     region->token, region->rows);
}

/* Maps what the layout of one PE shows. */
struct mapper {
    struct tl_visitor visitor;
    const struct problem *problem;
    uint32_t group, pe;
    struct value_engine *engine;
};

static void map(struct tl_visitor *visitor, const struct tl_region *part)
{
    static const enum value_tensor tensors[] = {[TL_TENSOR_Q] = VALUE_Q,
                                                [TL_TENSOR_K] = VALUE_K,
                                                [TL_TENSOR_V] = VALUE_V,
                                                [TL_TENSOR_O] = VALUE_O};
    const struct mapper *mapper = (const struct mapper *)visitor;
    const struct problem *problem = mapper->problem;
    bool keys = part->tensor == TL_TENSOR_K || part->tensor == TL_TENSOR_V;
    if (part->tensor == TL_DATA)
        return;
    uint32_t kv_head = problem_kv_head(problem, mapper->group, part->request);
    struct value_region region = {
        .addr = part->addr,
        .tensor = tensors[part->tensor],
        .layout = part->block > 0 ? LAYOUT_TRANSPOSED : LAYOUT_ROWS,
        .block = part->block,
        .request = problem_request(problem, mapper->group, part->request),
        .head = keys ? kv_head : kv_head * problem->launch.group_heads + part->head,
        .head_step = part->head_step,
        .rows = part->rows,
        .rows_per_head = part->rows_per_head,
        .token = part->token,
        .token_step = part->token_step,
    };
    value_engine_map(mapper->engine, part->stack ? OPERAND_STACK : mapper->pe, &region);
}

void problem_map(const struct problem *problem, uint32_t group, uint32_t within,
                 struct value_engine *engine)
{
    for (uint32_t pe = 0; pe < problem->launch.pes; pe++) {
        struct mapper mapper = {{map}, problem, group, pe, engine};
        struct tl_launch launch = problem_launch(problem, group, within, pe);
        kernel_layout(problem->kernel, &launch, &mapper.visitor);
    }
}
