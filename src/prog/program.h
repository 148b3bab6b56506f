/* The program that a PE runs, seen by the machine as a stream. `tl` implements it. */
#ifndef AHBM_PROG_PROGRAM_H
#define AHBM_PROG_PROGRAM_H

#include <signal.h>
#include <stddef.h>

#include "prog/command.h"
#include "support/error.h"

/* Receives the commands of the scout, which runs ahead of the simulation and stores none. */
struct scout_sink {
    /* Returns true when the scout should pause after this command. */
    bool (*fold)(struct scout_sink *sink, const struct command *command);
};

struct program;

struct program_ops {
    /* The next command in program order, valid until the next call; END for ever at the end. A FAIL
     * command means that recording failed: program->error says how. */
    const struct command *(*next)(struct program *program);
    /* Runs the scout until the sink asks it to pause or the program ends; false when it had already
     * ended (a failed recording ends it). */
    bool (*scout)(struct program *program, struct scout_sink *sink);
    void (*destroy)(struct program *program);
};

struct program {
    const struct program_ops *ops;
    const char *kernel; /* its name, for messages */
    struct error error;
    uint64_t scratch_high_water;       /* bytes */
    const volatile sig_atomic_t *stop; /* non-zero: the run is about to end; or NULL */
};

/* A scout that is told to stop pauses after every command and finds nothing more. */
static inline bool program_stopped(const struct program *program)
{
    return program->stop != NULL && *program->stop;
}

#endif
