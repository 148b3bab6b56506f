#include "study/regions.h"

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
    value_engine_map(mapper->engine, mapper->pe, &region);
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
