/* The commands of a PE's program: one list each of operations, MATH functions, queue pairs and
 * element types. Enumerations, names and costs all follow from these lists. */
#ifndef AHBM_PROG_OP_H
#define AHBM_PROG_OP_H

#include <stdint.h>

/* X(id, name, engine, blocks): `engine` does the work; a blocking command holds the CPU until it
 * has ended. FAIL carries an error of recording to the simulated time at which the CPU reaches it.
 */
#define PROG_OPS(X)                                                                                \
    X(LOAD, "load", DMA, 0)                                                                        \
    X(STORE, "store", DMA, 0)                                                                      \
    X(COMPOSITE, "composite", GEMM, 0)                                                             \
    X(DOT, "dot", GEMM, 1)                                                                         \
    X(MATH, "math", MATH, 1)                                                                       \
    X(SEND, "send", IPCQ, 0)                                                                       \
    X(RECV, "recv", IPCQ, 1)                                                                       \
    X(RECV_ASYNC, "recv_async", IPCQ, 0)                                                           \
    X(WAIT, "wait", CPU, 0)                                                                        \
    X(FAIL, "fail", CPU, 0)                                                                        \
    X(END, "end", CPU, 0)

/* The operations that take time and leave a record: all before FAIL. */
#define PROG_OPS_RUN OP_FAIL

/* X(id, name): the engines of a PE, in the order of every array over engines. */
#define PROG_ENGINES(X)                                                                            \
    X(CPU, "cpu")                                                                                  \
    X(DMA, "dma")                                                                                  \
    X(GEMM, "gemm")                                                                                \
    X(MATH, "math")                                                                                \
    X(IPCQ, "ipcq")

/* X(id, name): what is counted per PE (docs/output-format.md). One dma_read is one HBM operand of
 * one command, however many sub-tile fetches serve it; one ipcq_copy is one send. */
#define PROG_COUNTS(X)                                                                             \
    X(DMA_READ, "dma_read")                                                                        \
    X(DMA_WRITE, "dma_write")                                                                      \
    X(IPCQ_COPY, "ipcq_copy")                                                                      \
    X(GEMM, "gemm")                                                                                \
    X(MATH, "math")

/* X(id, name, kind): MATH functions. The kind names the cost per vector (machine parameters):
 * element-wise functions read `a` (and `b`, broadcast along rows or columns) and write `out`;
 * reductions turn [rows, cols] into [rows, 1]. */
#define PROG_MATH_FNS(X)                                                                           \
    X(MAX, "max", REDUCE)                                                                          \
    X(SUM, "sum", REDUCE)                                                                          \
    X(MAXIMUM, "maximum", SIMPLE)                                                                  \
    X(EXP, "exp", EXP)                                                                             \
    X(ADD, "add", SIMPLE)                                                                          \
    X(SUB, "sub", SIMPLE)                                                                          \
    X(MUL, "mul", SIMPLE)                                                                          \
    X(DIV, "div", DIV)                                                                             \
    X(SCALE, "scale", SIMPLE)                                                                      \
    X(SOFTMAX, "softmax", SOFTMAX)                                                                 \
    X(BROADCAST, "broadcast", SIMPLE)                                                              \
    X(TRANSPOSE, "transpose", SIMPLE)                                                              \
    X(FULL, "full", SIMPLE)                                                                        \
    X(CAST, "cast", SIMPLE)                                                                        \
    X(CAUSAL_MASK, "causal_mask", SIMPLE)

/* X(id, name): what a composite does to its output on the way out; a set of bits. */
#define PROG_EPILOGUES(X)                                                                          \
    X(SCALE, "scale")                                                                              \
    X(ADD, "add")                                                                                  \
    X(RESCALE, "rescale")                                                                          \
    X(SOFTMAX_MERGE, "softmax_merge")

/* X(id, name, level): the queue pairs of a PE. */
#define PROG_QUEUES(X)                                                                             \
    X(PE_N, "pe.N", PE)                                                                            \
    X(PE_S, "pe.S", PE)                                                                            \
    X(PE_E, "pe.E", PE)                                                                            \
    X(PE_W, "pe.W", PE)                                                                            \
    X(CUBE_N, "cube.N", CUBE)                                                                      \
    X(CUBE_S, "cube.S", CUBE)                                                                      \
    X(CUBE_E, "cube.E", CUBE)                                                                      \
    X(CUBE_W, "cube.W", CUBE)                                                                      \
    X(SIP_N, "sip.N", SIP)                                                                         \
    X(SIP_S, "sip.S", SIP)                                                                         \
    X(SIP_E, "sip.E", SIP)                                                                         \
    X(SIP_W, "sip.W", SIP)

/* X(id, name, bytes) */
#define PROG_DTYPES(X)                                                                             \
    X(F32, "f32", 4)                                                                               \
    X(BF16, "bf16", 2)                                                                             \
    X(F16, "f16", 2)

#define X(id, ...) OP_##id,
enum op { PROG_OPS(X) OP_COUNT };
#undef X
#define X(id, ...) ENGINE_##id,
enum engine_kind { PROG_ENGINES(X) ENGINE_KINDS };
#undef X
#define X(id, ...) COUNT_##id,
enum count_kind { PROG_COUNTS(X) COUNT_KINDS };
#undef X
#define X(id, ...) MATH_##id,
enum math_fn { PROG_MATH_FNS(X) MATH_FNS };
#undef X
#define X(id, ...) EPILOGUE_INDEX_##id,
enum epilogue_index { PROG_EPILOGUES(X) EPILOGUES };
#undef X
#define X(id, ...) EPILOGUE_##id = 1 << EPILOGUE_INDEX_##id,
enum epilogue { EPILOGUE_NONE = 0, PROG_EPILOGUES(X) };
#undef X
#define X(id, ...) QUEUE_##id,
enum queue_id { PROG_QUEUES(X) QUEUES };
#undef X
#define X(id, ...) DTYPE_##id,
enum dtype { PROG_DTYPES(X) DTYPES };
#undef X

enum queue_level { LEVEL_PE, LEVEL_CUBE, LEVEL_SIP, LEVELS };
enum direction { DIR_N, DIR_S, DIR_E, DIR_W, DIRECTIONS };

static inline enum queue_level queue_level(enum queue_id queue)
{
    return (enum queue_level)(queue / DIRECTIONS);
}

static inline enum direction queue_direction(enum queue_id queue)
{
    return (enum direction)(queue % DIRECTIONS);
}

static inline enum direction direction_opposite(enum direction direction)
{
    return (enum direction)(direction ^ 1);
}

static inline enum queue_id queue_at(enum queue_level level, enum direction direction)
{
    return (enum queue_id)((int)level * DIRECTIONS + (int)direction);
}

/* The name of a queue pair at its other end. */
static inline enum queue_id queue_opposite(enum queue_id queue)
{
    return queue_at(queue_level(queue), direction_opposite(queue_direction(queue)));
}

const char *op_name(enum op op);
const char *math_fn_name(enum math_fn fn);
const char *queue_name(enum queue_id queue);
const char *engine_kind_name(enum engine_kind engine);
const char *count_kind_name(enum count_kind kind);
const char *dtype_name(enum dtype dtype);
uint32_t dtype_bytes(enum dtype dtype);
enum engine_kind op_engine(enum op op);
int op_blocks(enum op op);

#endif
