#include "study/inputs.h"

#include "tensors/tensors.h"
#include "tensors/tensors_probe.h"
#include "study/plan.h"
#include "study/regions.h"
#include "study/same.h"
#include "support/memory.h"
#include "values/blas.h"
#include "values/generator.h"

struct file_source {
    struct value_source base;
    struct tensors *tensors;
};

/* A file keeps its tensors in the order of enum value_tensor. */
_Static_assert(VALUE_Q == 0 && VALUE_K == 1 && VALUE_V == 2, "tensors.h numbers Q, K, V otherwise");

static bool file_rows(struct value_source *source, enum value_tensor tensor, struct value_row first,
                      uint64_t step, uint64_t count, uint16_t *out, struct error *err)
{
    struct file_source *file = (struct file_source *)source;
    return tensors_read(file->tensors, (uint32_t)tensor, first.request, first.head, first.token,
                        step, count, out, err);
}

static void file_destroy(struct value_source *source)
{
    tensors_close(((struct file_source *)source)->tensors);
    memory_free(source);
}

static struct value_source *file_source_new(struct tensors *tensors, uint32_t dim)
{
    static const struct value_source_ops ops = {file_rows, file_destroy};
    struct file_source *file = memory_new(1, sizeof *file);
    *file = (struct file_source){{&ops, dim}, tensors};
    return &file->base;
}

static bool check_kernel(const struct tensors *tensors, const struct machine_params *params,
                         const struct study_options *options, struct error *err)
{
    for (uint32_t i = 0; i < options->contexts_count; i++) {
        struct problem problem;
        problem_init(&problem, params, options, 1, options->contexts[i]);
        struct tensors_shape shape = {
            .requests = problem_requests(&problem),
            .query_heads = params->model.query_heads,
            .kv_heads = problem_kv_heads(&problem),
            .query_len = problem.launch.query_len,
            .context = problem.launch.context,
            .head_dim = problem.launch.head_dim,
        };
        if (!tensors_check(tensors, &shape, err))
            return false;
    }
    return true;
}

static bool check_shapes(const struct tensors *tensors, const struct machine_params *params,
                         const struct study_options *options, struct error *err)
{
    for (uint32_t i = 0; i < plan_kernels(options); i++) {
        struct study_options one = plan_options(options, i);
        if (!check_kernel(tensors, params, &one, err))
            return false;
    }
    return true;
}

bool inputs_probe(const struct study_options *options, struct error *err)
{
    return options->tensors == NULL || tensors_probe(options->tensors, err);
}

struct value_source *inputs_new(const struct comm *comm, const struct machine_params *params,
                                const struct study_options *options, struct error *err)
{
    uint32_t dim = (uint32_t)params->model.head_dim;
    blas_start(err);
    if (!comm_agree(comm, err))
        return NULL;
    if (options->tensors == NULL)
        return generator_new(options->seed, dim);
    struct input_identity identity = {0, 0};
    struct tensors *tensors = tensors_open(options->tensors, err);
    if (tensors != NULL && !input_identify(options->tensors, &identity, err))
        error_context(err, "--tensors: %.200s", options->tensors);
    bool good = same_file(comm, "tensors", options->tensors, &identity, err);
    if (good)
        check_shapes(tensors, params, options, err);
    good = comm_agree(comm, err);
    for (uint32_t which = 0; good && which < TENSORS_IN_FILE; which++) {
        tensors_check_finite(tensors, which, comm->rank, comm->size, err);
        good = comm_agree(comm, err);
    }
    if (good)
        return file_source_new(tensors, dim);
    if (tensors != NULL)
        tensors_close(tensors);
    return NULL;
}

bool inputs_check(const struct machine_params *params, const struct study_options *options,
                  struct error *err)
{
    if (options->tensors == NULL)
        return true;
    if (!inputs_probe(options, err))
        return false;
    struct tensors *tensors = tensors_open(options->tensors, err);
    if (tensors == NULL)
        return false;
    bool good = check_shapes(tensors, params, options, err);
    for (uint32_t which = 0; good && which < TENSORS_IN_FILE; which++)
        good = tensors_check_finite(tensors, which, 0, 1, err);
    tensors_close(tensors);
    return good;
}
