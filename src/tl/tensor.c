/* Memory: references, loads, stores and the commandless views. */
#include "tl/check.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), "tl.h and op.h differ")
SAME(TL_F32, DTYPE_F32);
SAME(TL_BF16, DTYPE_BF16);
SAME(TL_F16, DTYPE_F16);

static struct tl_tensor reference(struct tl *tl, uint32_t pe, uint64_t addr, uint32_t rows,
                                  uint32_t cols, enum tl_dtype dtype)
{
    struct tl_tensor tensor = {
        .addr = addr,
        .rows = rows,
        .cols = cols,
        .pe = (uint16_t)pe,
        .dtype = (uint8_t)dtype,
        .space = SPACE_HBM,
    };
    tl_check_hbm(tl, "the tensor", &tensor);
    return tensor;
}

struct tl_tensor tl_ref(struct tl *tl, uint32_t pe, uint64_t addr, uint32_t rows, uint32_t cols,
                        enum tl_dtype dtype)
{
    tl->call = "tl_ref";
    if (pe >= tl->config->launch.pes)
        tl_reject(tl, "PE %u is out of range: a CUBE has %u", pe, tl->config->launch.pes);
    return reference(tl, pe, addr, rows, cols, dtype);
}

struct tl_tensor tl_ref_stack(struct tl *tl, uint64_t addr, uint32_t rows, uint32_t cols,
                              enum tl_dtype dtype)
{
    tl->call = "tl_ref_stack";
    return reference(tl, OPERAND_STACK, addr, rows, cols, dtype);
}

static void load(struct tl *tl, const struct tl_tensor *out, const struct tl_tensor *hbm)
{
    struct command command = {.op = OP_LOAD, .a = tl_operand(hbm), .out = tl_operand(out)};
    tl_put(tl, &command);
}

struct tl_tensor tl_load(struct tl *tl, struct tl_tensor hbm)
{
    tl->call = "tl_load";
    tl_check_hbm(tl, "the source", &hbm);
    struct tl_tensor out = tl_allocate(tl, hbm.rows, hbm.cols, hbm.dtype);
    load(tl, &out, &hbm);
    return out;
}

void tl_load_to(struct tl *tl, struct tl_tensor out, struct tl_tensor hbm)
{
    tl->call = "tl_load_to";
    tl_check_hbm(tl, "the source", &hbm);
    tl_check_scratch(tl, "out", &out);
    tl_check_same_type(tl, "out", &out, "the source", &hbm);
    tl_check_size(tl, "out", &out, hbm.rows, hbm.cols);
    load(tl, &out, &hbm);
}

void tl_store(struct tl *tl, struct tl_tensor hbm, struct tl_tensor scratch)
{
    tl->call = "tl_store";
    tl_check_hbm(tl, "the destination", &hbm);
    tl_check_scratch(tl, "the source", &scratch);
    tl_check_same_type(tl, "the destination", &hbm, "the source", &scratch);
    tl_check_size(tl, "the destination", &hbm, scratch.rows, scratch.cols);
    struct command command = {.op = OP_STORE, .a = tl_operand(&scratch), .out = tl_operand(&hbm)};
    tl_put(tl, &command);
}

struct tl_tensor tl_view(struct tl *tl, struct tl_tensor tensor, uint32_t rows, uint32_t cols)
{
    tl->call = "tl_view";
    tl_check_live(tl, "the tensor", &tensor);
    if ((uint64_t)tensor.rows * tensor.cols != (uint64_t)rows * cols)
        tl_reject(tl, "[%u, %u] has %llu elements, but [%u, %u] has %llu", tensor.rows, tensor.cols,
                  (unsigned long long)tensor.rows * tensor.cols, rows, cols,
                  (unsigned long long)rows * cols);
    tensor.rows = rows;
    tensor.cols = cols;
    return tensor;
}

struct tl_tensor tl_rows(struct tl *tl, struct tl_tensor tensor, uint32_t first, uint32_t count)
{
    tl->call = "tl_rows";
    tl_check_live(tl, "the tensor", &tensor);
    if (count == 0 || first > tensor.rows || count > tensor.rows - first)
        tl_reject(tl, "rows %u to %llu of a tensor that has %u", first,
                  (unsigned long long)first + count, tensor.rows);
    tensor.addr += (uint64_t)first * tensor.cols * dtype_bytes((enum dtype)tensor.dtype);
    tensor.rows = count;
    return tensor;
}

struct tl_tensor tl_trans(struct tl *tl, struct tl_tensor tensor)
{
    tl->call = "tl_trans";
    tl_check_live(tl, "the tensor", &tensor);
    uint32_t rows = tensor.rows;
    tensor.rows = tensor.cols;
    tensor.cols = rows;
    return tensor;
}
