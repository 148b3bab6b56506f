#include "study/effect.h"

#include <stdio.h>
#include <string.h>

#include "study/kernel.h"
#include "study/plan.h"
#include "study/problem.h"
#include "support/text.h"

enum { LIST_BYTES = 400, NAME_BYTES = 80 };

/* Of one kernel in all cases; the context decides nothing of it. */
static uint32_t looked_at(const struct machine_params *params, const struct study_options *one)
{
    uint32_t seen = 0;
    for (uint32_t number = 1; number <= CASES; number++) {
        struct problem problem;
        problem_init(&problem, params, one, number, one->contexts[0]);
        if (problem.kernel->options == NULL)
            return UINT32_MAX;
        if (problem.case_number == 0 || one->cases[number - 1])
            seen |= problem.kernel->options(&problem.launch);
    }
    return seen;
}

static void append(char *list, const char *separator, const char *text)
{
    size_t used = strlen(list);
    snprintf(list + used, LIST_BYTES - used, "%s%s", used > 0 ? separator : "", text);
}

/* "kernel a in case 1, 2; kernel b" */
static void append_kernel(char *list, const struct study_options *one)
{
    struct error ignored = {ERROR_NONE, ""};
    const struct tl_kernel_info *kernel = kernel_resolve(one, &ignored);
    char name[NAME_BYTES], text[NAME_BYTES + 32];
    snprintf(text, sizeof text, "kernel %s", text_escape(kernel->name, name, sizeof name));
    append(list, "; ", text);
    for (int i = 0, shown = 0; kernel->placement == TL_PLACE_BY_CASE && i < CASES; i++)
        if (one->cases[i]) {
            snprintf(text, sizeof text, "%s%d", shown++ ? ", " : " in case ", i + 1);
            append(list, "", text);
        }
}

static bool refuse(const struct study_options *options, uint32_t idle, struct error *err)
{
    char list[LIST_BYTES] = "";
    int first = __builtin_ctz(idle);
    for (uint32_t i = 0; i < plan_kernels(options); i++) {
        struct study_options one = plan_options(options, i);
        append_kernel(list, &one);
    }
    return error_set(err, ERROR_USAGE,
                     "--%s: would change nothing, because nothing that is to run looks at it (%s): "
                     "leave it out",
                     option_row((enum tl_option_number)first)->name, list);
}

bool effect_check(const struct machine_params *params, const struct study_options *options,
                  struct error *err)
{
    uint32_t idle = options->given;
    for (uint32_t i = 0; idle != 0 && i < plan_kernels(options); i++) {
        struct study_options one = plan_options(options, i);
        idle &= ~looked_at(params, &one);
    }
    return idle == 0 || refuse(options, idle, err);
}
