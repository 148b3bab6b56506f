#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "results/replacement_internal.h"
#include "support/memory.h"

static const int endings[] = {SIGHUP,  SIGINT,  SIGTERM, SIGQUIT, SIGXCPU,
                              SIGABRT, SIGSEGV, SIGBUS,  SIGFPE,  SIGILL};
enum { ENDINGS = sizeof endings / sizeof endings[0] };

static const struct replacement *volatile guarded;
static struct sigaction before[ENDINGS]; /* the handlers that ours stands in front of */

void replacement_forsake(void)
{
    const struct replacement *file = guarded;
    guarded = NULL;
    if (file != NULL && replacement_has(file, file->temporary))
        unlinkat(file->folder, file->temporary, 0);
}

static void go_on(const struct sigaction *next, int number, siginfo_t *info, void *context)
{
    if ((next->sa_flags & SA_SIGINFO) != 0) {
        next->sa_sigaction(number, info, context);
    } else if (next->sa_handler == SIG_DFL) {
        sigaction(number, next, NULL);
        raise(number); /* comes when this handler has returned */
    } else {
        next->sa_handler(number);
    }
}

static void on_ending(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    replacement_forsake();
    errno = saved;
    for (int i = 0; i < ENDINGS; i++)
        if (endings[i] == number)
            go_on(&before[i], number, info, context);
}

/* HDF5 has places where it ends the process in silence, for want of memory. */
static void on_exit_of_others(int status, void *context)
{
    (void)context;
    bool at_work = guarded != NULL;
    replacement_forsake();
    if (!at_work || status == ERROR_FAILED || status == ERROR_USAGE)
        return;
    fputs("ahbm-pdes: error: a library ended the process while it wrote the output (for want of "
          "memory?)\n",
          stderr);
    fflush(stderr);
    _exit(ERROR_FAILED);
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_ending;
}

static void stand_in_front(int i)
{
    struct sigaction now, ours;
    if (sigaction(endings[i], NULL, &now) != 0 || is_ours(&now))
        return;
    if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN)
        return;
    before[i] = ours = now;
    ours.sa_flags = (now.sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO | SA_ONSTACK;
    ours.sa_sigaction = on_ending;
    sigaction(endings[i], &ours, NULL);
}

static void step_back(int i)
{
    struct sigaction now;
    if (sigaction(endings[i], NULL, &now) == 0 && is_ours(&now))
        sigaction(endings[i], &before[i], NULL);
}

void replacement_guard(const struct replacement *file)
{
    static bool at_exit;
    if (!at_exit) {
        at_exit = on_exit(on_exit_of_others, NULL) == 0;
        memory_on_failure(replacement_forsake); /* it ends by _exit() */
    }
    guarded = file;
    for (int i = 0; i < ENDINGS; i++)
        stand_in_front(i);
}

void replacement_unguard(void)
{
    guarded = NULL;
    for (int i = 0; i < ENDINGS; i++)
        step_back(i);
}
