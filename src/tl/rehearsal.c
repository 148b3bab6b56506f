#include "tl/rehearsal.h"

#include <assert.h>

#include "support/memory.h"
#include "tl/coroutine.h"
#include "tl/state.h"

struct tl_rehearsal {
    struct tl tl; /* first: a run is cast to it */
    uint64_t most;
    struct error *err;
    struct coroutine *coroutine; /* NULL before the first */
};

static void count(struct tl *tl, const struct command *command)
{
    (void)command;
    if (tl->commands == ((struct tl_rehearsal *)tl)->most)
        coroutine_exit(tl->coroutine);
}

static void fail(struct tl *tl, const char *text)
{
    tl_describe(tl, text, ERROR_USAGE, ((struct tl_rehearsal *)tl)->err);
}

static const struct tl_mode rehearsal_mode = {count, fail};

struct tl_rehearsal *tl_rehearsal_new(void)
{
    return memory_new(1, sizeof(struct tl_rehearsal));
}

void tl_rehearsal_free(struct tl_rehearsal *rehearsal)
{
    coroutine_free(rehearsal->coroutine);
    memory_free(rehearsal);
}

bool tl_rehearse(struct tl_rehearsal *rehearsal, const struct tl_program_config *config,
                 uint64_t most, struct error *err)
{
    assert(most >= 1 && err->code == ERROR_NONE);
    tl_init(&rehearsal->tl, config, &rehearsal_mode);
    rehearsal->most = most;
    rehearsal->err = err;
    if (rehearsal->coroutine == NULL)
        rehearsal->coroutine = coroutine_new(tl_run_kernel, &rehearsal->tl, TL_STACK_BYTES);
    else
        coroutine_restart(rehearsal->coroutine, tl_run_kernel, &rehearsal->tl);
    rehearsal->tl.coroutine = rehearsal->coroutine;
    coroutine_resume(rehearsal->coroutine);
    return err->code == ERROR_NONE;
}
