#include "tl/check.h"

#include <stdio.h>

#define MOST_ELEMENTS (UINT64_C(1) << 48)

struct text {
    char text[96];
};

static struct text describe(const struct tl_tensor *tensor)
{
    struct text out;
    snprintf(out.text, sizeof out.text, "[%u, %u] %s", tensor->rows, tensor->cols,
             tensor->dtype < DTYPES ? dtype_name((enum dtype)tensor->dtype) : "of no type");
    return out;
}

static uint64_t bytes_of(const struct tl_tensor *tensor)
{
    struct operand operand = tl_operand(tensor);
    return operand_bytes(&operand);
}

void tl_check_shape(struct tl *tl, const char *name, uint32_t rows, uint32_t cols, unsigned dtype)
{
    if (dtype >= DTYPES)
        tl_reject(tl, "%s has no known element type (%u)", name, dtype);
    if (rows == 0 || cols == 0)
        tl_reject(tl, "%s has no elements: [%u, %u]", name, rows, cols);
    if ((uint64_t)rows * cols > MOST_ELEMENTS)
        tl_reject(tl, "%s has too many elements: [%u, %u]", name, rows, cols);
}

static void check_scratch_place(struct tl *tl, const char *name, const struct tl_tensor *tensor)
{
    uint64_t used = tl->arena.used, bytes = bytes_of(tensor);
    if (!tl_arena_is_live(&tl->arena, tensor->scope))
        tl_reject(tl, "%s, %s at %llu, was recycled at the end of its scratch scope %u", name,
                  describe(tensor).text, (unsigned long long)tensor->addr, tensor->scope);
    if (tensor->addr > used || bytes > used - tensor->addr)
        tl_reject(tl, "%s, %s at %llu, ends beyond the %llu bytes of scratch in use", name,
                  describe(tensor).text, (unsigned long long)tensor->addr,
                  (unsigned long long)used);
}

static void check_hbm_place(struct tl *tl, const char *name, const struct tl_tensor *tensor)
{
    uint64_t room = tl->config->share_bytes, bytes = bytes_of(tensor);
    uint32_t pes = tl->config->launch.pes;
    bool stack = tensor->pe == OPERAND_STACK;
    if (!stack && tensor->pe >= pes)
        tl_reject(tl, "%s lies with PE %u, but a CUBE has %u", name, tensor->pe, pes);
    if (stack && __builtin_mul_overflow(room, pes, &room))
        room = UINT64_MAX;
    if (tensor->addr > room || bytes > room - tensor->addr)
        tl_reject(tl, "%s, %s at %llu, ends beyond the HBM %s of %llu bytes", name,
                  describe(tensor).text, (unsigned long long)tensor->addr,
                  stack ? "stack" : "share", (unsigned long long)room);
}

void tl_check_live(struct tl *tl, const char *name, const struct tl_tensor *tensor)
{
    if (tensor->space != SPACE_SCRATCH && tensor->space != SPACE_HBM)
        tl_reject(tl, "%s is not a tensor that tl made", name);
    tl_check_shape(tl, name, tensor->rows, tensor->cols, tensor->dtype);
    if (tensor->space == SPACE_HBM)
        check_hbm_place(tl, name, tensor);
    else
        check_scratch_place(tl, name, tensor);
}

void tl_check_scratch(struct tl *tl, const char *name, const struct tl_tensor *tensor)
{
    tl_check_live(tl, name, tensor);
    if (tensor->space != SPACE_SCRATCH)
        tl_reject(tl, "%s must be in scratch, but is in HBM", name);
}

void tl_check_hbm(struct tl *tl, const char *name, const struct tl_tensor *tensor)
{
    tl_check_live(tl, name, tensor);
    if (tensor->space != SPACE_HBM)
        tl_reject(tl, "%s must be in HBM, but is in scratch", name);
}

void tl_check_f32(struct tl *tl, const char *name, const struct tl_tensor *tensor)
{
    tl_check_scratch(tl, name, tensor);
    if (tensor->dtype != DTYPE_F32)
        tl_reject(tl, "%s must be f32, but is %s", name, describe(tensor).text);
}

void tl_check_size(struct tl *tl, const char *name, const struct tl_tensor *tensor, uint32_t rows,
                   uint32_t cols)
{
    if (tensor->rows != rows || tensor->cols != cols)
        tl_reject(tl, "%s must be [%u, %u], but is %s", name, rows, cols, describe(tensor).text);
}

void tl_check_stretches(struct tl *tl, const char *name, const struct tl_tensor *tensor,
                        uint32_t rows, uint32_t cols)
{
    bool fits =
        (tensor->rows == rows || tensor->rows == 1) && (tensor->cols == cols || tensor->cols == 1);
    if (!fits)
        tl_reject(tl, "%s, %s, does not stretch to [%u, %u]", name, describe(tensor).text, rows,
                  cols);
}

void tl_check_same_type(struct tl *tl, const char *name, const struct tl_tensor *tensor,
                        const char *other_name, const struct tl_tensor *other)
{
    if (tensor->dtype != other->dtype)
        tl_reject(tl, "%s is %s, but %s is %s", name, describe(tensor).text, other_name,
                  describe(other).text);
}

static bool overlap(const struct tl_tensor *a, const struct tl_tensor *b)
{
    struct operand left = tl_operand(a), right = tl_operand(b);
    return operands_overlap(&left, &right);
}

void tl_check_apart(struct tl *tl, const char *name, const struct tl_tensor *tensor,
                    const char *other_name, const struct tl_tensor *other)
{
    if (overlap(tensor, other))
        tl_reject(tl, "%s, %s at %llu, overlaps %s, %s at %llu", name, describe(tensor).text,
                  (unsigned long long)tensor->addr, other_name, describe(other).text,
                  (unsigned long long)other->addr);
}

void tl_check_alias(struct tl *tl, const char *name, const struct tl_tensor *tensor,
                    const char *other_name, const struct tl_tensor *other)
{
    bool same = tensor->addr == other->addr && tensor->rows == other->rows &&
                tensor->cols == other->cols && tensor->dtype == other->dtype;
    if (!same)
        tl_check_apart(tl, name, tensor, other_name, other);
}

void tl_check_queue(struct tl *tl, enum tl_queue queue)
{
    static const char *const places[] = {"PE", "CUBE", "SIP"};
    if ((unsigned)queue >= QUEUES)
        tl_reject(tl, "there is no queue %d", (int)queue);
    enum queue_id id = (enum queue_id)queue;
    struct peer peer;
    const struct tl_program_config *config = tl->config;
    if (!queue_peer(config->geometry, config->cube, config->launch.pe, id, &peer))
        tl_reject(tl, "queue %s leads nowhere: there is no neighbouring %s", queue_name(id),
                  places[queue_level(id)]);
}
