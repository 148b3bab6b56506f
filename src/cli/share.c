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

static bool agree(const struct group *group, struct error *err)
{
    return group != NULL ? group_agree(group, err) : err->code == ERROR_NONE;
}

static void broadcast_machine(const struct group *group, struct machine_text *machine)
{
    group_broadcast(group, machine->sizes, sizeof machine->sizes);
    if (group->rank != 0) {
        machine->label = memory_new(machine->sizes[0], 1);
        machine->text = memory_new(machine->sizes[1] + 1, 1);
    }
    group_broadcast(group, machine->label, machine->sizes[0]);
    group_broadcast(group, machine->text, machine->sizes[1]);
}

static struct config *share_machine(const struct group *group, const struct options *options,
                                    struct error *err)
{
    struct machine_text machine = {NULL, NULL, {0, 0}};
    struct config *config = NULL;
    if ((group == NULL || group->rank == 0) && files_check(options, err) &&
        machine_read(options, &machine.label, &machine.text, &machine.sizes[1], err))
        machine.sizes[0] = strlen(machine.label) + 1;
    if (agree(group, err)) {
        if (group != NULL)
            broadcast_machine(group, &machine);
        config = machine_make(options, machine.label, machine.text, machine.sizes[1], err);
        agree(group, err);
    }
    memory_free(machine.label);
    memory_free(machine.text);
    return config;
}

static bool share_requests(const struct group *group, struct options *options, struct error *err)
{
    if (options->requests == NULL)
        return true;
    if (group == NULL || group->rank == 0)
        requests_read(options->requests, &options->study, err);
    if (!agree(group, err))
        return false;
    if (group != NULL)
        requests_broadcast(group, &options->study);
    return true;
}

struct config *share_inputs(const struct group *group, struct options *options, struct error *err)
{
    struct config *config = share_machine(group, options, err);
    if (config == NULL || options->action == ACTION_PRINT_CONFIG ||
        (share_requests(group, options, err) && kernels_load(group, &options->study, err)))
        return config;
    config_free(config);
    return NULL;
}
