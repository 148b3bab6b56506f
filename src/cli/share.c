#include "cli/share.h"

#include <string.h>

#include "cli/files.h"
#include "cli/machine.h"
#include "study/requests.h"
#include "support/memory.h"

/* The text of the machine file, in which `sizes` are those of label and text. */
struct machine_text {
    char *label, *text;
    size_t sizes[2];
};

static bool agree(const struct comm *comm, struct error *err)
{
    return comm != NULL ? comm_agree(comm, err) : err->code == ERROR_NONE;
}

static void broadcast_machine(const struct comm *comm, struct machine_text *machine)
{
    comm_broadcast(comm, machine->sizes, sizeof machine->sizes);
    if (comm->rank != 0) {
        machine->label = memory_new(machine->sizes[0], 1);
        machine->text = memory_new(machine->sizes[1] + 1, 1);
    }
    comm_broadcast(comm, machine->label, machine->sizes[0]);
    comm_broadcast(comm, machine->text, machine->sizes[1]);
}

static struct config *share_machine(const struct comm *comm, const struct options *options,
                                    struct error *err)
{
    struct machine_text machine = {NULL, NULL, {0, 0}};
    struct config *config = NULL;
    if ((comm == NULL || comm->rank == 0) && files_check(options, err) &&
        machine_read(options, &machine.label, &machine.text, &machine.sizes[1], err))
        machine.sizes[0] = strlen(machine.label) + 1;
    if (agree(comm, err)) {
        if (comm != NULL)
            broadcast_machine(comm, &machine);
        config = machine_make(options, machine.label, machine.text, machine.sizes[1], err);
        agree(comm, err);
    }
    memory_free(machine.label);
    memory_free(machine.text);
    return config;
}

static bool share_requests(const struct comm *comm, struct options *options, struct error *err)
{
    if (options->requests == NULL)
        return true;
    if (comm == NULL || comm->rank == 0)
        requests_read(options->requests, &options->study, err);
    if (!agree(comm, err))
        return false;
    if (comm != NULL)
        requests_broadcast(comm, &options->study);
    return true;
}

struct config *share_inputs(const struct comm *comm, struct options *options, struct error *err)
{
    struct config *config = share_machine(comm, options, err);
    if (config == NULL || options->action == ACTION_PRINT_CONFIG ||
        (share_requests(comm, options, err) && kernels_load(comm, &options->study, err)))
        return config;
    config_free(config);
    return NULL;
}
