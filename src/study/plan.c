#include "study/plan.h"

#include <inttypes.h>

#include "study/kernel.h"
#include "study/own_options.h"
#include "study/problem.h"

uint32_t plan_kernels(const struct study_options *options)
{
    return options->kernels_count > 0 ? options->kernels_count : 1;
}

static struct study_options select_kernel(const struct study_options *options, uint32_t kernel)
{
    struct study_options one = *options;
    if (options->kernels_count > 0)
        one.kernel = options->kernels[kernel];
    if (options->kernels_count > 0 && options->objects != NULL)
        one.object = options->objects[kernel];
    one.kernels = NULL;
    one.objects = NULL;
    one.kernels_count = 0;
    return one;
}

/* Whether the kernel of `one` leaves the placement to the cases. */
static bool has_cases(struct study_options one)
{
    struct error ignored = {ERROR_NONE, ""};
    one.cases_given = false;
    const struct tl_kernel_info *kernel = kernel_resolve(&one, &ignored);
    return kernel == NULL || kernel->placement == TL_PLACE_BY_CASE;
}

static bool any_has_cases(const struct study_options *options)
{
    for (uint32_t i = 0; i < plan_kernels(options); i++)
        if (has_cases(select_kernel(options, i)))
            return true;
    return false;
}

struct study_options plan_options(const struct study_options *options, uint32_t kernel)
{
    struct study_options one = select_kernel(options, kernel);
    if (one.cases_given && !has_cases(one) && any_has_cases(options))
        one.cases_given = false;
    return one;
}

bool plan_check(const struct machine_params *params, const struct study_options *options,
                struct error *err)
{
    for (uint32_t i = 0; i < plan_kernels(options); i++) {
        struct study_options one = plan_options(options, i);
        if (problem_check(params, &one, err))
            continue;
        if (plan_kernels(options) > 1)
            error_context(err, "kernel %.200s of the list", one.kernel);
        return false;
    }
    return own_names(options, err);
}

static uint32_t cases_count(const struct study_options *one)
{
    uint32_t count = 0;
    for (int i = 0; i < CASES; i++)
        count += one->cases[i];
    return has_cases(*one) ? count : 1;
}

uint32_t plan_points(const struct study_options *options)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan_kernels(options); i++) {
        struct study_options one = select_kernel(options, i);
        count += cases_count(&one) * options->contexts_count;
    }
    return count;
}

/* The `skip`-th case, from 0, that is asked for. */
static uint32_t case_at(const struct study_options *one, uint32_t skip)
{
    uint32_t index = 0;
    while (!one->cases[index] || skip-- > 0)
        index++;
    return index + 1;
}

struct plan_point plan_point(const struct study_options *options, uint32_t index)
{
    struct study_options one = select_kernel(options, 0);
    for (uint32_t i = 0; index >= cases_count(&one) * one.contexts_count;) {
        index -= cases_count(&one) * one.contexts_count;
        one = select_kernel(options, ++i);
    }
    uint32_t cases = cases_count(&one);
    bool by_case = has_cases(one);
    one.cases_given = one.cases_given && by_case;
    return (struct plan_point){one, by_case ? case_at(&one, index % cases) : 0,
                               one.contexts[index / cases]};
}

bool plan_error(const struct plan_point *at, struct error *err)
{
    error_context(err, "context %" PRIu64, at->context);
    return at->case_number == 0 ? false : error_context(err, "case %u", at->case_number);
}

uint32_t plan_groups(const struct machine_params *params, const struct study_options *options)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < plan_kernels(options); i++) {
        struct study_options one = plan_options(options, i);
        struct problem problem;
        problem_init(&problem, params, &one, 1, one.contexts[0]);
        most = problem.groups > most ? problem.groups : most;
    }
    return most;
}
