#include "prog/op.h"

#define X(id, name, ...) name,
static const char *const op_names[] = {PROG_OPS(X)};
static const char *const math_names[] = {PROG_MATH_FNS(X)};
static const char *const queue_names[] = {PROG_QUEUES(X)};
static const char *const engine_names[] = {PROG_ENGINES(X)};
static const char *const count_names[] = {PROG_COUNTS(X)};
static const char *const dtype_names[] = {PROG_DTYPES(X)};
#undef X
#define X(id, name, bytes) bytes,
static const uint8_t dtype_sizes[] = {PROG_DTYPES(X)};
#undef X
#define X(id, name, engine, blocks) ENGINE_##engine,
static const uint8_t op_engines[] = {PROG_OPS(X)};
#undef X
#define X(id, name, engine, blocks) blocks,
static const uint8_t op_blocking[] = {PROG_OPS(X)};
#undef X

const char *op_name(enum op op)
{
    return op_names[op];
}

const char *math_fn_name(enum math_fn fn)
{
    return math_names[fn];
}

const char *queue_name(enum queue_id queue)
{
    return queue_names[queue];
}

const char *engine_kind_name(enum engine_kind engine)
{
    return engine_names[engine];
}

const char *count_kind_name(enum count_kind kind)
{
    return count_names[kind];
}

const char *dtype_name(enum dtype dtype)
{
    return dtype_names[dtype];
}

uint32_t dtype_bytes(enum dtype dtype)
{
    return dtype_sizes[dtype];
}

enum engine_kind op_engine(enum op op)
{
    return (enum engine_kind)op_engines[op];
}

int op_blocks(enum op op)
{
    return op_blocking[op];
}
