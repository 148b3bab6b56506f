#include "tl/check.h"

struct operand tl_operand(const struct tl_tensor *tensor)
{
    return (struct operand){
        .addr = tensor->addr,
        .rows = tensor->rows,
        .cols = tensor->cols,
        .pe = tensor->pe,
        .space = tensor->space,
        .dtype = tensor->dtype,
    };
}

struct tl_tensor tl_allocate(struct tl *tl, uint32_t rows, uint32_t cols, unsigned dtype)
{
    tl_check_shape(tl, "the result", rows, cols, dtype);
    struct tl_tensor tensor = {
        .rows = rows,
        .cols = cols,
        .scope = tl_arena_scope(&tl->arena),
        .dtype = (uint8_t)dtype,
        .space = SPACE_SCRATCH,
    };
    struct operand operand = tl_operand(&tensor);
    uint64_t bytes = operand_bytes(&operand);
    if (!tl_arena_take(&tl->arena, bytes, &tensor.addr))
        tl_stop(tl, "scratch is full: %llu bytes wanted, %llu in all, %llu in use",
                (unsigned long long)bytes, (unsigned long long)tl->arena.bytes,
                (unsigned long long)tl->arena.used);
    return tensor;
}

struct tl_tensor tl_empty(struct tl *tl, uint32_t rows, uint32_t cols, enum tl_dtype dtype)
{
    tl->call = "tl_empty";
    return tl_allocate(tl, rows, cols, dtype);
}

uint32_t tl_scratch_begin(struct tl *tl)
{
    tl->call = "tl_scratch_begin";
    if (!tl_arena_begin(&tl->arena))
        tl_reject(tl, "too many scratch scopes: %u are open, at most %d may be", tl->arena.depth,
                  TL_SCOPE_DEPTH);
    return tl_arena_scope(&tl->arena);
}

bool tl_scratch_end(struct tl *tl, uint32_t scope)
{
    tl->call = "tl_scratch_end";
    if (!tl_arena_end(&tl->arena, scope))
        tl_reject(tl, "scratch scope %u ends, but the innermost open one is %u (0: none)", scope,
                  tl_arena_scope(&tl->arena));
    return false;
}
