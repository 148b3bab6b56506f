/* A group of CUBEs that runs a kernel without time: every PE executes its commands in program
 * order, messages wait in unbounded queues. With `values` it computes, slowly and plainly. */
#ifndef AHBM_TESTS_KERNELS_GROUP_H
#define AHBM_TESTS_KERNELS_GROUP_H

#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "execute.h"
#include "support/memory.h"
#include "tl/record.h"

enum { GROUP_SCRATCH = 1 << 20, GROUP_AWAITED = 256 };

struct message {
    struct message *next;
    struct operand shape;
    uint8_t bytes[];
};

struct group_queue {
    struct message *first, **last;
};

struct group_pe {
    struct program *program;
    const struct command *current;         /* the next to execute */
    struct command awaited[GROUP_AWAITED]; /* recv_async without their messages, in order */
    uint32_t awaited_count;
    struct pe_memory memory;
    struct group_queue queues[QUEUES];
    uint64_t counts[OP_COUNT];
    uint64_t math[MATH_FNS];
    uint64_t hbm_reads; /* operands */
    uint64_t merges;    /* messages whose shape is that of O, or packed */
    bool failed;
};

struct group {
    struct geometry geometry;
    struct tl_launch launch; /* of PE 0 of CUBE 0 */
    struct grid grid;        /* of the group */
    bool values;
    uint64_t share_bytes;
    struct group_pe *pes; /* [cube * launch.pes + pe] */
    struct error error;   /* the first of a recording */
    bool stuck;           /* a receive without its send */
    uint64_t left;        /* messages that nobody took */
};

static inline struct group_pe *group_pe(const struct group *group, uint32_t cube, uint32_t pe)
{
    return &group->pes[cube * group->launch.pes + pe];
}

static inline uint32_t group_size(const struct group *group)
{
    return group->launch.group_cubes * group->launch.pes;
}

/* The number in the system of CUBE `cube` of a group that lies in the north-western corner. */
static inline uint32_t group_system_cube(const struct group *group, uint32_t cube)
{
    struct position at = grid_position(group->grid, cube);
    return at.y * group->geometry.cubes.columns + at.x;
}

static inline void group_start_pe(struct group *group, tl_kernel *kernel, uint32_t cube,
                                  uint32_t pe)
{
    struct group_pe *self = group_pe(group, cube, pe);
    struct tl_program_config config = {
        .name = "test",
        .kernel = kernel,
        .launch = group->launch,
        .geometry = &group->geometry,
        .cube = group_system_cube(group, cube),
        .scratch_bytes = GROUP_SCRATCH,
        .share_bytes = group->share_bytes,
        .record_ahead = 16,
    };
    config.launch.cube = cube;
    config.launch.pe = pe;
    self->program = tl_program_new(&config);
    for (int i = 0; i < QUEUES; i++)
        self->queues[i].last = &self->queues[i].first;
    if (group->values) {
        self->memory.scratch = memory_new(GROUP_SCRATCH, 1);
        self->memory.share = memory_new(group->share_bytes, 1);
    }
}

/* A group on a machine whose grids are the launch's. */
static inline struct group *group_new(const struct tl_launch *launch, tl_kernel *kernel,
                                      uint64_t share_bytes, bool values)
{
    struct group *group = memory_new(1, sizeof *group);
    group->launch = *launch;
    group->values = values;
    group->share_bytes = share_bytes;
    group->grid = (struct grid){launch->cube_columns, launch->cube_rows};
    group->geometry =
        (struct geometry){{1, 1}, {4, 4}, {launch->pe_columns, launch->pe_rows}, false, false, false};
    group->pes = memory_new(group_size(group), sizeof *group->pes);
    for (uint32_t cube = 0; cube < launch->group_cubes; cube++)
        for (uint32_t pe = 0; pe < launch->pes; pe++)
            group_start_pe(group, kernel, cube, pe);
    return group;
}

static inline void group_free(struct group *group)
{
    for (uint32_t i = 0; i < group_size(group); i++) {
        struct group_pe *pe = &group->pes[i];
        pe->program->ops->destroy(pe->program);
        memory_free(pe->memory.scratch);
        memory_free(pe->memory.share);
        for (int queue = 0; queue < QUEUES; queue++)
            for (struct message *next, *m = pe->queues[queue].first; m != NULL; m = next) {
                next = m->next;
                memory_free(m);
            }
    }
    memory_free(group->pes);
    memory_free(group);
}

/* The PE at the other end of `queue`; NULL outside the group. */
static inline struct group_pe *group_peer(struct group *group, uint32_t cube, uint32_t pe,
                                          enum queue_id queue)
{
    enum direction direction = queue_direction(queue);
    uint32_t peer;
    if (queue_level(queue) == LEVEL_PE)
        return pe_neighbour(&group->geometry, pe, direction, &peer) ? group_pe(group, cube, peer)
                                                                    : NULL;
    struct position at = grid_position(group->grid, cube);
    if (queue_level(queue) != LEVEL_CUBE || !grid_step(group->grid, &at, direction, false))
        return NULL;
    return group_pe(group, grid_index(group->grid, at), pe);
}

static inline void group_send(struct group *group, uint32_t cube, uint32_t pe,
                              const struct command *command)
{
    enum queue_id queue = (enum queue_id)command->queue;
    struct group_pe *peer = group_peer(group, cube, pe, queue);
    CU_ASSERT_PTR_NOT_NULL_FATAL(peer);
    uint64_t bytes = operand_bytes(&command->a);
    struct message *message = memory_new(1, sizeof *message + bytes);
    message->shape = command->a;
    if (group->values)
        memcpy(message->bytes, group_pe(group, cube, pe)->memory.scratch + command->a.addr, bytes);
    struct group_queue *end =
        &peer->queues[queue_at(queue_level(queue), direction_opposite(queue_direction(queue)))];
    *end->last = message;
    end->last = &message->next;
}

/* False when nothing is there. */
static inline bool group_receive(struct group *group, struct group_pe *self,
                                 const struct command *command)
{
    struct group_queue *queue = &self->queues[command->queue];
    struct message *message = queue->first;
    if (message == NULL)
        return false;
    queue->first = message->next;
    if (queue->first == NULL)
        queue->last = &queue->first;
    CU_ASSERT_EQUAL(message->shape.rows, command->out.rows);
    CU_ASSERT_EQUAL(message->shape.cols, command->out.cols);
    CU_ASSERT_EQUAL(message->shape.dtype, command->out.dtype);
    if (group->values)
        memcpy(self->memory.scratch + command->out.addr, message->bytes,
               operand_bytes(&command->out));
    memory_free(message);
    self->merges += command->out.cols > 1;
    return true;
}

static inline void group_count(struct group_pe *self, const struct command *command)
{
    self->counts[command->op]++;
    if (command->op == OP_MATH)
        self->math[command->fn]++;
    self->hbm_reads += (command->a.space == SPACE_HBM) + (command->b.space == SPACE_HBM);
}

static inline struct pe_memory *group_share_owner(struct group *group, uint32_t cube,
                                                  const struct command *command)
{
    const struct operand *hbm = command->a.space == SPACE_HBM     ? &command->a
                                : command->b.space == SPACE_HBM   ? &command->b
                                : command->out.space == SPACE_HBM ? &command->out
                                                                  : NULL;
    return hbm ? &group_pe(group, cube, hbm->pe)->memory : NULL;
}

/* Where a byte of a CUBE's stack lies, counted apart from prog/stripe.h: one share after the other.
 */
static inline uint8_t *group_stack_byte(struct group *group, uint32_t cube, uint64_t addr)
{
    uint64_t unit = group->launch.stripe_bytes, pes = group->launch.pes;
    uint64_t round = addr / (unit * pes), rest = addr - round * unit * pes;
    uint32_t share = 0;
    for (; rest >= unit; rest -= unit)
        share++;
    return group_pe(group, cube, share)->memory.share + round * unit + rest;
}

/* Executes a command with a striped operand on a copy of that. */
static inline void group_execute_striped(struct group *group, uint32_t cube, struct pe_memory *own,
                                         const struct command *command)
{
    struct command copied = *command;
    struct operand *striped = copied.op == OP_LOAD ? &copied.a : &copied.b;
    uint64_t bytes = operand_bytes(striped);
    struct pe_memory copy = {NULL, memory_new(bytes, 1)};
    CU_ASSERT_EQUAL(striped->pe, OPERAND_STACK);
    for (uint64_t i = 0; i < bytes; i++)
        copy.share[i] = *group_stack_byte(group, cube, striped->addr + i);
    striped->addr = 0;
    execute(own, &copy, &copied);
    memory_free(copy.share);
}

static inline bool group_is_striped(const struct command *command)
{
    return (command->a.space == SPACE_HBM && command->a.pe == OPERAND_STACK) ||
           (command->b.space == SPACE_HBM && command->b.pe == OPERAND_STACK);
}

/* Gives the waiting recv_async what has arrived; true when one was served. */
static inline bool group_serve(struct group *group, struct group_pe *self)
{
    bool served = false;
    for (uint32_t i = 0; i < self->awaited_count;) {
        if (!group_receive(group, self, &self->awaited[i])) {
            i++;
            continue;
        }
        served = true;
        self->awaited_count--;
        memmove(&self->awaited[i], &self->awaited[i + 1],
                (self->awaited_count - i) * sizeof *self->awaited);
    }
    return served;
}

static inline bool group_touches(const struct command *command, const struct operand *place)
{
    bool touches = operands_overlap(&command->a, place) || operands_overlap(&command->b, place) ||
                   operands_overlap(&command->c, place) || operands_overlap(&command->out, place);
    for (int i = 0; i < 3; i++)
        touches |= operands_overlap(&command->state[i], place);
    return touches;
}

/* Whether the command needs what has not arrived, or must stay behind it in a queue. */
static inline bool group_waits(const struct group_pe *self, const struct command *command)
{
    bool receives = command->op == OP_RECV || command->op == OP_RECV_ASYNC;
    for (uint32_t i = 0; i < self->awaited_count; i++)
        if (group_touches(command, &self->awaited[i].out) ||
            (command->op == OP_RECV && command->queue == self->awaited[i].queue))
            return true;
    return receives && self->awaited_count == GROUP_AWAITED;
}

/* Executes one command; false when the PE cannot go on. */
static inline bool group_step(struct group *group, uint32_t cube, uint32_t pe)
{
    struct group_pe *self = group_pe(group, cube, pe);
    group_serve(group, self);
    if (self->current == NULL)
        self->current = self->program->ops->next(self->program);
    const struct command *command = self->current;
    if (command->op == OP_END || self->failed)
        return false;
    if (command->op == OP_FAIL) {
        self->failed = true;
        error_set(&group->error, ERROR_FAILED, "%s", self->program->error.text);
        return false;
    }
    if (group_waits(self, command) ||
        (command->op == OP_RECV && !group_receive(group, self, command)))
        return false;
    if (command->op == OP_SEND)
        group_send(group, cube, pe, command);
    else if (command->op == OP_RECV_ASYNC)
        self->awaited[self->awaited_count++] = *command;
    else if (command->op != OP_RECV && group->values && group_is_striped(command))
        group_execute_striped(group, cube, &self->memory, command);
    else if (command->op != OP_RECV && group->values)
        execute(&self->memory, group_share_owner(group, cube, command), command);
    group_count(self, command);
    self->current = NULL;
    return true;
}

static inline void group_run(struct group *group)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < group_size(group); i++)
            while (group_step(group, i / group->launch.pes, i % group->launch.pes))
                moved = true;
    }
    for (uint32_t i = 0; i < group_size(group); i++) {
        group->stuck |= group->pes[i].current->op != OP_END || group->pes[i].awaited_count > 0;
        for (int queue = 0; queue < QUEUES; queue++)
            for (struct message *m = group->pes[i].queues[queue].first; m; m = m->next)
                group->left++;
    }
}

static inline uint64_t group_total(const struct group *group, enum op op)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < group_size(group); i++)
        total += group->pes[i].counts[op];
    return total;
}

static inline uint64_t group_reads(const struct group *group)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < group_size(group); i++)
        total += group->pes[i].hbm_reads;
    return total;
}

#endif
