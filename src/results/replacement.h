/* A file that gets its name when it is complete (docs/adr/0016-temporary-file.md).
 *
 * Until then it is a temporary file in the same folder, PATH.tmp, made new, locked, and removed
 * when the process ends in any way but SIGKILL; what a killed process left is removed by the next
 * one to the same path. Nothing else is ever opened for writing, replaced or removed: whatever has
 * the temporary name and was not left by a run stays, and is an error.
 *
 * Several processes may write to one: the first begins it, the others join. */
#ifndef AHBM_RESULTS_REPLACEMENT_H
#define AHBM_RESULTS_REPLACEMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/error.h"

/* By which those that join know the file; written at its start, and written over by the owner. */
struct replacement_token {
    uint64_t words[4];
};

struct replacement {
    char *path;      /* that the file will have, links followed */
    char *temporary; /* its name until then, within the folder */
    int folder;      /* that both are in; -1: none */
    int fd;          /* on the temporary file; -1: none */
    bool owner;      /* this process began it, and has not published it yet */
    mode_t mode;     /* that the file gets if there is none of its name */
    char *open_name;
};

/* Each False with `err` (ERROR_FAILED, "cannot write PATH: ..."), and replacement_end() must be
 * called in any case. At most one per process may be begun at a time. */
bool replacement_begin(struct replacement *file, const char *path, struct replacement_token *token,
                       struct error *err);
bool replacement_join(struct replacement *file, const char *path,
                      const struct replacement_token *token, struct error *err);

/* The name to open it by in this process: leads to the very file, whatever happens to names. */
const char *replacement_open_name(const struct replacement *file);

/* Gives it the access rights of the file that it replaces (or new ones), brings it to the disk and
 * renames. When this returns true the file is there, whole. Of the owner. */
bool replacement_publish(struct replacement *file, struct error *err);

/* Removes the temporary file if this process began and did not publish it; frees. */
void replacement_end(struct replacement *file);

/* Removes this process's temporary file, if there is one, now: the process is about to end. Safe in
 * a signal handler; exit() and the signals that end a process do it by themselves. */
void replacement_forsake(void);

/* The folder of what `path` leads to, freed by memory_free(). */
char *replacement_folder(const char *path);

#endif
