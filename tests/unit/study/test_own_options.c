/* Options that a kernel brings itself: values, defaults, and what is refused with what is allowed.
 */
#include <string.h>

#include "../check.h"
#include "study/own_options.h"

static const char *const orders[] = {"turns", "random", NULL};
static const struct tl_own_option rows[] = {
    {.name = "page", .help = "tokens", .least = 16, .most = 4096, .initial = 256},
    {.name = "order", .words = orders},
    {0},
};
static const struct tl_kernel_info kernel = {.name = "mine", .own = rows};
static const struct tl_kernel_info plain = {.name = "plain"};

/* Whether `kernel` takes what is given, into `own`; refused exactly with `message`, NULL: not. */
static bool values(const char **given, uint32_t count, uint64_t *own, const char *message)
{
    struct study_options options = {.own = given, .own_count = count};
    struct error err = {ERROR_NONE, ""};
    bool good = own_values(&kernel, &options, own, &err);
    CU_ASSERT(good == (message == NULL));
    CU_ASSERT(good || (err.code == ERROR_USAGE && strcmp(err.text, message) == 0));
    return good;
}

static void test_values(void)
{
    uint64_t own[TL_OWN_OPTIONS] = {0};
    CU_ASSERT(values(NULL, 0, own, NULL) && own[0] == 256 && own[1] == 0);
    const char *all[] = {"order=random", "page=32", "other=1", "page=2K"};
    CU_ASSERT(values(all, 4, own, NULL) && own[0] == 2048 && own[1] == 1);
}

static void test_refused(void)
{
    uint64_t own[TL_OWN_OPTIONS];
    const char *few[] = {"page=15"}, *word[] = {"order=rand"}, *none[] = {"page="};
    values(few, 1, own, "--kernel-option: page: '15' is not allowed (allowed: 16 to 4096)");
    values(none, 1, own, "--kernel-option: page: '' is not allowed (allowed: 16 to 4096)");
    values(word, 1, own, "--kernel-option: order: 'rand' is not allowed (allowed: turns, random)");
}

/* A name counts when one kernel of the list has it. */
static void test_names(void)
{
    const char *given[] = {"order=turns"}, *unknown[] = {"pag=1"};
    char plain_file[] = "plain.so", mine_file[] = "./mine.so", *names[] = {plain_file, mine_file};
    const struct tl_kernel_info *objects[] = {&plain, &kernel};
    struct study_options options = {
        .kernels = names, .objects = objects, .kernels_count = 2, .own = given, .own_count = 1};
    struct error err = {ERROR_NONE, ""};
    CU_ASSERT(own_names(&options, &err));
    options.own = unknown;
    CU_ASSERT(!own_names(&options, &err) && err.code == ERROR_USAGE);
    CU_ASSERT(strstr(err.text, "'pag'") &&
              strstr(err.text, "kernel plain has none; kernel mine: page = "
                               "16 to 4096 (default 256): tokens, order = turns, "
                               "random (default turns)"));
}

CHECK_MAIN("study/own_options", CHECK_TEST(test_values), CHECK_TEST(test_refused),
           CHECK_TEST(test_names))
