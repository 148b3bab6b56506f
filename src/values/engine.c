#include "values/engine.h"

#include <string.h>

#include "support/memory.h"
#include "values/blas.h"
#include "values/compute.h"
#include "values/number.h"

enum { ALIGNMENT = 64 };

/* Buffers that are used again by each command. */
enum buffer { BUFFER_A, BUFFER_B, BUFFER_PRODUCT, BUFFER_OUT, BUFFER_BYTES, BUFFERS };

struct workspace {
    void *data;
    size_t bytes;
};

struct pe_values {
    struct value_scratch scratch;
    struct value_share share;
};

struct engine {
    struct value_engine base;
    uint32_t pes;
    struct pe_values *pe;     /* [pes] */
    struct value_share stack; /* what is striped over the shares, by its addresses */
    struct workspace buffers[BUFFERS];
    struct error error;
};

static void *buffer(struct engine *engine, enum buffer which, size_t bytes)
{
    struct workspace *workspace = &engine->buffers[which];
    if (bytes > workspace->bytes) {
        memory_free(workspace->data);
        workspace->data = memory_new_aligned(bytes, 1, ALIGNMENT);
        workspace->bytes = bytes;
    }
    return workspace->data;
}

/* The share of a PE, or the stack. */
static struct value_share *share_of(struct engine *engine, uint32_t pe)
{
    return pe == OPERAND_STACK ? &engine->stack : &engine->pe[pe].share;
}

static char *scratch_at(struct engine *engine, uint32_t pe, const struct operand *operand)
{
    return value_scratch_at(&engine->pe[pe].scratch, operand->addr, operand_bytes(operand));
}

/* Growing moves the scratch: all operands are touched before any is pointed at. */
static void touch(struct engine *engine, uint32_t pe, const struct command *command)
{
    const struct operand *const operands[] = {
        &command->a,        &command->b,        &command->c,       &command->out,
        &command->state[0], &command->state[1], &command->state[2]};
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++)
        if (operands[i]->space == SPACE_SCRATCH)
            scratch_at(engine, pe, operands[i]);
}

/* The bytes of an operand: where they lie in scratch, or read from HBM. */
static const char *bytes_of(struct engine *engine, uint32_t pe, const struct operand *operand)
{
    if (operand->space == SPACE_SCRATCH)
        return scratch_at(engine, pe, operand);
    uint64_t bytes = operand_bytes(operand);
    char *data = buffer(engine, BUFFER_BYTES, bytes);
    value_share_read(share_of(engine, operand->pe), operand->addr, bytes, data, &engine->error);
    return data;
}

static bool lies_as_f32(const struct operand *operand)
{
    return operand->space == SPACE_SCRATCH && operand->dtype == DTYPE_F32;
}

/* An operand as f32: in place, or converted into `which`. */
static struct matrix input(struct engine *engine, uint32_t pe, const struct operand *operand,
                           enum buffer which)
{
    struct matrix matrix = {NULL, operand->rows, operand->cols};
    if (operand->space == SPACE_NONE)
        return matrix;
    if (lies_as_f32(operand)) {
        matrix.data = (float *)(void *)scratch_at(engine, pe, operand);
        return matrix;
    }
    size_t elements = operand_elements(operand);
    const char *bytes = bytes_of(engine, pe, operand);
    matrix.data = buffer(engine, which, elements * sizeof *matrix.data);
    number_unpack((enum dtype)operand->dtype, bytes, matrix.data, elements);
    return matrix;
}

/* Where the f32 result goes: in place, or a buffer that finish() converts. */
static struct matrix output(struct engine *engine, uint32_t pe, const struct operand *operand)
{
    size_t bytes = operand_elements(operand) * sizeof(float);
    struct matrix matrix = {NULL, operand->rows, operand->cols};
    matrix.data = lies_as_f32(operand) ? (float *)(void *)scratch_at(engine, pe, operand)
                                       : buffer(engine, BUFFER_OUT, bytes);
    return matrix;
}

static void finish(struct engine *engine, uint32_t pe, const struct operand *operand,
                   const struct matrix *matrix)
{
    if (!lies_as_f32(operand))
        number_pack((enum dtype)operand->dtype, matrix->data, scratch_at(engine, pe, operand),
                    operand_elements(operand));
}

static void run_load(struct engine *engine, uint32_t pe, const struct command *command)
{
    uint64_t bytes = operand_bytes(&command->a);
    const char *from = bytes_of(engine, pe, &command->a);
    memcpy(scratch_at(engine, pe, &command->out), from, bytes);
}

static void run_store(struct engine *engine, uint32_t pe, const struct command *command)
{
    value_share_write(share_of(engine, command->out.pe), command->out.addr,
                      operand_bytes(&command->a), scratch_at(engine, pe, &command->a),
                      &engine->error);
}

static void run_math(struct engine *engine, uint32_t pe, const struct command *command)
{
    struct matrix a = input(engine, pe, &command->a, BUFFER_A);
    struct matrix b = input(engine, pe, &command->b, BUFFER_B);
    struct matrix out = output(engine, pe, &command->out);
    compute_math(command, &a, &b, &out);
    finish(engine, pe, &command->out, &out);
}

static void run_gemm(struct engine *engine, uint32_t pe, const struct command *command)
{
    struct matrix a = input(engine, pe, &command->a, BUFFER_A);
    struct matrix b = input(engine, pe, &command->b, BUFFER_B);
    struct matrix out = output(engine, pe, &command->out);
    struct matrix product = {NULL, out.rows, out.cols};
    if (!blas_start(&engine->error))
        return;
    product.data =
        buffer(engine, BUFFER_PRODUCT, (size_t)out.rows * out.cols * sizeof *product.data);
    blas_gemm(a.rows, b.cols, a.cols, a.data, b.data, product.data);
    struct matrix c = input(engine, pe, &command->c, BUFFER_A); /* f32: in place, as the state */
    struct matrix state[3];
    for (int i = 0; i < 3; i++)
        state[i] = input(engine, pe, &command->state[i], BUFFER_A);
    compute_epilogue(command, &product, &c, state, &out);
    finish(engine, pe, &command->out, &out);
}

static void complete(struct value_engine *base, uint32_t pe, const struct command *command)
{
    struct engine *engine = (struct engine *)base;
    touch(engine, pe, command);
    switch (command->op) {
    case OP_LOAD:
        run_load(engine, pe, command);
        break;
    case OP_STORE:
        run_store(engine, pe, command);
        break;
    case OP_COMPOSITE:
    case OP_DOT:
        run_gemm(engine, pe, command);
        break;
    case OP_MATH:
        run_math(engine, pe, command);
        break;
    default:
        break;
    }
}

static void take(struct value_engine *base, uint32_t pe, uint64_t addr, void *data, uint32_t bytes)
{
    struct engine *engine = (struct engine *)base;
    memcpy(data, value_scratch_at(&engine->pe[pe].scratch, addr, bytes), bytes);
}

static void put(struct value_engine *base, uint32_t pe, uint64_t addr, const void *data,
                uint32_t bytes)
{
    struct engine *engine = (struct engine *)base;
    memcpy(value_scratch_at(&engine->pe[pe].scratch, addr, bytes), data, bytes);
}

struct value_engine *value_engine_new(const struct value_config *config)
{
    static const struct value_ops ops = {complete, take, put};
    struct engine *engine = memory_new(1, sizeof *engine);
    engine->base.ops = &ops;
    engine->pes = config->pes;
    engine->pe = memory_new(config->pes, sizeof *engine->pe);
    for (uint32_t pe = 0; pe < config->pes; pe++) {
        engine->pe[pe].scratch.limit = config->scratch_bytes;
        engine->pe[pe].share.source = config->source;
    }
    engine->stack.source = config->source;
    return &engine->base;
}

uint64_t value_engine_memory(uint64_t scratch, uint64_t written)
{
    return sizeof(struct pe_values) + value_scratch_memory(scratch) + value_share_memory(written);
}

uint64_t value_engine_buffers(const struct command *command)
{
    const struct operand *const operands[] = {&command->a, &command->b, &command->out};
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++)
        if (operands[i]->space != SPACE_NONE)
            bytes += operand_elements(operands[i]) * sizeof(float);
    return bytes;
}

void value_engine_free(struct value_engine *base)
{
    struct engine *engine = (struct engine *)base;
    if (engine == NULL)
        return;
    for (uint32_t pe = 0; pe < engine->pes; pe++) {
        value_scratch_fini(&engine->pe[pe].scratch);
        value_share_fini(&engine->pe[pe].share);
    }
    value_share_fini(&engine->stack);
    for (int i = 0; i < BUFFERS; i++)
        memory_free(engine->buffers[i].data);
    memory_free(engine->pe);
    memory_free(engine);
}

void value_engine_map(struct value_engine *base, uint32_t pe, const struct value_region *region)
{
    value_share_map(share_of((struct engine *)base, pe), region);
}

bool value_engine_check(const struct value_engine *base, struct error *err)
{
    const struct engine *engine = (const struct engine *)base;
    return engine->error.code == ERROR_NONE ||
           error_set(err, engine->error.code, "%s", engine->error.text);
}

const struct value_share *value_engine_share(const struct value_engine *base, uint32_t pe)
{
    return &((const struct engine *)base)->pe[pe].share;
}
