/* Two CUBEs that wait for each other, far apart in simulated time, on 16 ranks of which 14 have
 * nothing to do: with every transport the run ends at once, and both are found
 * waiting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/cube.h"
#include "machine/lookahead/flows.h"
#include "machine/message.h"
#include "config/config.h"
#include "pdes/core/engine.h"
#include "pdes/transport/comm.h"
#include "pdes/transport/choice.h"
#include "support/memory.h"

enum { COMMANDS = 2000, ROUNDS_MAX = 4 };

/* Work for a long time, then a receive from a CUBE that does the same. */
struct script {
    struct program base; /* first: a program is cast to it */
    struct command work, wait, end;
    uint32_t recorded, scouted;
};

static const struct command *command_at(const struct script *script, uint32_t index)
{
    return index < COMMANDS ? &script->work : index == COMMANDS ? &script->wait : &script->end;
}

static const struct command *next(struct program *program)
{
    struct script *script = (struct script *)program;
    return command_at(script, script->recorded++);
}

static bool scout(struct program *program, struct scout_sink *sink)
{
    struct script *script = (struct script *)program;
    if (script->scouted > COMMANDS)
        return false;
    while (script->scouted <= COMMANDS)
        if (sink->fold(sink, command_at(script, script->scouted++)))
            break;
    return true;
}

static void destroy(struct program *program)
{
    memory_free(program);
}

static struct program *new_script(enum queue_id queue)
{
    static const struct program_ops ops = {next, scout, destroy};
    struct script *script = memory_new(1, sizeof *script);
    struct operand tile = {.addr = 0, .rows = 64, .cols = 64, .space = SPACE_SCRATCH};
    script->base.ops = &ops;
    script->base.kernel = "deadlock";
    script->work = (struct command){.op = OP_MATH, .fn = MATH_EXP, .a = tile, .out = tile};
    script->wait =
        (struct command){.op = OP_RECV, .queue = (uint8_t)queue, .out = tile, .file = "here"};
    script->end.op = OP_END;
    return &script->base;
}

static void load(struct engine *engine, const struct machine_params *params, struct cube **cubes)
{
    for (uint32_t i = 0; i < geometry_cubes(&params->geometry); i++) {
        struct lp *lp = engine_lp(engine, i);
        cubes[i] = lp ? cube_new(params, lp, NULL) : NULL;
        if (lp != NULL && i < 2)
            cube_run_program(cubes[i], 0, new_script(i == 0 ? QUEUE_CUBE_E : QUEUE_CUBE_W),
                             UINT64_MAX);
    }
    engine_connect(engine, 0, 1);
}

static bool run(const struct comm *comm, const struct machine_params *params,
                struct transport *transport)
{
    uint32_t count = geometry_cubes(&params->geometry), waiting = 0;
    struct engine_config config = {.lps = count,
                                   .unit_bits = MACHINE_UNIT_BITS,
                                   .model = cube_model(),
                                   .transport = transport,
                                   .queue = QUEUE_DEFAULT};
    struct engine *engine = engine_new(&config);
    struct cube **cubes = memory_new(count, sizeof(struct cube *));
    struct error err = {ERROR_NONE, ""};
    struct engine_stats stats;
    struct pe_wait wait;
    load(engine, params, cubes);
    enum engine_result result = engine_run(engine, &err);
    engine_get_stats(engine, &stats);
    for (uint32_t i = 0; i < count; i++) {
        waiting += cubes[i] ? cube_unfinished(cubes[i], &wait, 1) : 0;
        cube_free(cubes[i]);
    }
    uint64_t all = comm_sum(comm, waiting), sent = comm_sum(comm, stats.messages);
    if (comm->rank == 0)
        printf("%s: result %d, %llu waiting, %llu rounds, %llu messages\n", transport->ops->name,
               (int)result, (unsigned long long)all, (unsigned long long)stats.rounds,
               (unsigned long long)sent);
    memory_free(cubes);
    engine_free(engine);
    return result == ENGINE_DONE && all == 2 && stats.rounds <= ROUNDS_MAX;
}

int main(int argc, char **argv)
{
    static const enum transport_choice choices[] = {TRANSPORT_MPI, TRANSPORT_SHARED,
                                                    TRANSPORT_AUTO};
    static const char *const ranks_per_node[] = {"16", "16", "5"};
    struct error err = {ERROR_NONE, ""};
    struct config *config = config_new();
    bool ok = config_finish(config, &err);
    MPI_Init(&argc, &argv);
    struct comm comm = comm_of(MPI_COMM_WORLD);
    for (int t = 0; t < 3 && ok; t++) {
        setenv("AHBM_RANKS_PER_NODE", ranks_per_node[t], 1);
        struct transport *transport = transport_open(MPI_COMM_WORLD, choices[t], &err);
        ok = run(&comm, config_params(config), transport) && ok;
        transport->ops->destroy(transport);
    }
    config_free(config);
    MPI_Finalize();
    return !ok;
}
