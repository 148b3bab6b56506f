/* Records a kernel as the program of one PE: the implementation of prog/program.h. */
#ifndef AHBM_TL_RECORD_H
#define AHBM_TL_RECORD_H

#include <ahbm/launch.h>
#include <ahbm/tl.h>

#include "prog/geometry.h"
#include "prog/program.h"

struct tl_program_config {
    const char *name; /* of the kernel, for messages; borrowed */
    tl_kernel *kernel;
    struct tl_launch launch;         /* copied */
    const struct geometry *geometry; /* borrowed */
    uint32_t cube;                   /* number in the system */
    uint64_t scratch_bytes;
    uint64_t share_bytes;              /* of a PE's HBM share */
    const volatile sig_atomic_t *stop; /* borrowed; or NULL (prog/program.h) */
    uint32_t record_ahead; /* commands recorded and not yet taken, at most; at least 1 */
};

/* Never NULL. The caller ends it with program->ops->destroy(program). */
struct program *tl_program_new(const struct tl_program_config *config);

/* Bytes of memory that a program takes when `ahead` commands of it are recorded at a time, with
 * `stacks` of its recorder and its scout (0 to 2) still running. `*reserved` and `*mappings`
 * receive what its stacks take of addresses beyond that, and of memory mappings. */
uint64_t tl_program_memory(uint64_t ahead, uint32_t stacks, uint64_t *reserved, uint64_t *mappings);

#endif
