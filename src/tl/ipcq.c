#include "tl/check.h"

_Static_assert((int)TL_PE_N == (int)QUEUE_PE_N && (int)TL_CUBE_W == (int)QUEUE_CUBE_W &&
                   (int)TL_SIP_W == (int)QUEUE_SIP_W,
               "tl.h and op.h differ");

void tl_send(struct tl *tl, enum tl_queue queue, struct tl_tensor a)
{
    tl->call = "tl_send";
    tl_check_queue(tl, queue);
    tl_check_scratch(tl, "a", &a);
    struct command command = {.op = OP_SEND, .queue = (uint8_t)queue, .a = tl_operand(&a)};
    tl_put(tl, &command);
}

static void receive_to(struct tl *tl, enum op op, enum tl_queue queue, const struct tl_tensor *out)
{
    tl_check_queue(tl, queue);
    tl_check_scratch(tl, "out", out);
    struct command command = {.op = (uint8_t)op, .queue = (uint8_t)queue, .out = tl_operand(out)};
    tl_put(tl, &command);
}

struct tl_tensor tl_recv(struct tl *tl, enum tl_queue queue, uint32_t rows, uint32_t cols,
                         enum tl_dtype dtype)
{
    tl->call = "tl_recv";
    struct tl_tensor out = tl_allocate(tl, rows, cols, dtype);
    receive_to(tl, OP_RECV, queue, &out);
    return out;
}

void tl_recv_to(struct tl *tl, enum tl_queue queue, struct tl_tensor out)
{
    tl->call = "tl_recv_to";
    receive_to(tl, OP_RECV, queue, &out);
}

struct tl_tensor tl_recv_async(struct tl *tl, enum tl_queue queue, uint32_t rows, uint32_t cols,
                               enum tl_dtype dtype)
{
    tl->call = "tl_recv_async";
    struct tl_tensor out = tl_allocate(tl, rows, cols, dtype);
    receive_to(tl, OP_RECV_ASYNC, queue, &out);
    return out;
}

void tl_recv_async_to(struct tl *tl, enum tl_queue queue, struct tl_tensor out)
{
    tl->call = "tl_recv_async_to";
    receive_to(tl, OP_RECV_ASYNC, queue, &out);
}

void tl_wait(struct tl *tl, struct tl_tensor tensor)
{
    tl->call = "tl_wait";
    tl_check_scratch(tl, "the tensor", &tensor);
    struct command command = {.op = OP_WAIT, .out = tl_operand(&tensor)};
    tl_put(tl, &command);
}
