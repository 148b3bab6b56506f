/* The trace: one record per command. */
#ifndef AHBM_MACHINE_TRACE_H
#define AHBM_MACHINE_TRACE_H

#include <stdint.h>

/* X(id, name): why a command started when it did and not earlier. */
#define TRACE_CAUSES(X)                                                                            \
    X(START, "start")     /* nothing held it: the launch */                                        \
    X(PROGRAM, "program") /* the CPU issued the command before it (cause_command) */               \
    X(OPERAND, "operand") /* a command of this PE that it had to wait for ended */                 \
    X(QUEUE, "queue")     /* a command of this PE left the queue that was full */                  \
    X(ENGINE, "engine")   /* the engine was busy with a command of this PE */                      \
    X(MESSAGE, "message") /* the message arrived: a send of another PE */                          \
    X(CREDIT, "credit")   /* a slot became free: a recv of another PE */

#define X(id, name) CAUSE_##id,
enum trace_cause { TRACE_CAUSES(X) CAUSES };
#undef X

struct trace_record {
    uint64_t command;  /* number in the PE's program, from 1 */
    uint64_t issue_ps; /* the CPU began to issue it */
    uint64_t start_ps; /* its engine began */
    uint64_t end_ps;
    uint64_t bytes; /* moved: from or to HBM, or over IPCQ */
    uint64_t cause_command;
    uint32_t cube;
    uint32_t cause_cube;
    uint16_t pe;
    uint16_t cause_pe;
    uint8_t engine; /* enum engine_kind */
    uint8_t op;     /* enum op */
    uint8_t fn;     /* enum math_fn; 0 for other operations */
    uint8_t cause;  /* enum trace_cause */
};

_Static_assert(sizeof(struct trace_record) == 64, "a trace record is one cache line");

/* Where records go. One sink per CUBE; called in the order in which commands end. */
struct trace_sink {
    void (*put)(struct trace_sink *sink, const struct trace_record *record);
};

#endif
