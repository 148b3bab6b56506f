#include "tl/check.h"

static void check_operands(struct tl *tl, const struct tl_tensor *a, const struct tl_tensor *b)
{
    tl_check_scratch(tl, "a", a);
    tl_check_live(tl, "b", b);
    tl_check_same_type(tl, "a", a, "b", b);
    if (a->cols != b->rows)
        tl_reject(tl, "a is [%u, %u] and b [%u, %u]: %u columns meet %u rows", a->rows, a->cols,
                  b->rows, b->cols, a->cols, b->rows);
}

/* `out` as the place of a . b. */
static void check_out(struct tl *tl, const struct tl_tensor *out, const struct tl_tensor *a,
                      const struct tl_tensor *b)
{
    tl_check_f32(tl, "out", out);
    tl_check_size(tl, "out", out, a->rows, b->cols);
    tl_check_apart(tl, "out", out, "a", a);
    tl_check_apart(tl, "out", out, "b", b);
}

/* A vector over the rows that a stateful epilogue reads or writes beside `out`. */
static void check_state(struct tl *tl, const char *name, const struct tl_tensor *state,
                        const struct tl_tensor *out)
{
    tl_check_f32(tl, name, state);
    tl_check_size(tl, name, state, out->rows, 1);
    tl_check_apart(tl, name, state, "the output", out);
}

static void add_scale(struct command *command, float scale)
{
    if (scale == 0)
        return;
    command->epilogue |= EPILOGUE_SCALE;
    command->scalar = scale;
}

static void add_epilogue(struct tl *tl, struct command *command, const struct tl_tensor *out,
                         const struct tl_epilogue *epilogue)
{
    add_scale(command, epilogue->scale);
    if (epilogue->add != NULL) {
        tl_check_f32(tl, "add", epilogue->add);
        tl_check_stretches(tl, "add", epilogue->add, out->rows, out->cols);
        tl_check_apart(tl, "add", epilogue->add, "out", out);
        command->epilogue |= EPILOGUE_ADD;
        command->c = tl_operand(epilogue->add);
    }
    if (epilogue->rescale != NULL) {
        check_state(tl, "rescale", epilogue->rescale, out);
        command->epilogue |= EPILOGUE_RESCALE;
        command->state[0] = tl_operand(epilogue->rescale);
    }
}

static void composite(struct tl *tl, const struct tl_tensor *out, const struct tl_tensor *a,
                      const struct tl_tensor *b, const struct tl_epilogue *epilogue)
{
    struct command command = {
        .op = OP_COMPOSITE, .a = tl_operand(a), .b = tl_operand(b), .out = tl_operand(out)};
    add_epilogue(tl, &command, out, epilogue);
    tl_put(tl, &command);
}

struct tl_tensor tl_composite(struct tl *tl, struct tl_tensor a, struct tl_tensor b,
                              struct tl_epilogue epilogue)
{
    tl->call = "tl_composite";
    check_operands(tl, &a, &b);
    if (epilogue.rescale != NULL)
        tl_reject(tl, "rescale needs an output that has values: use tl_composite_to");
    struct tl_tensor out = tl_allocate(tl, a.rows, b.cols, DTYPE_F32);
    composite(tl, &out, &a, &b, &epilogue);
    return out;
}

void tl_composite_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a, struct tl_tensor b,
                     struct tl_epilogue epilogue)
{
    tl->call = "tl_composite_to";
    check_operands(tl, &a, &b);
    check_out(tl, &out, &a, &b);
    composite(tl, &out, &a, &b, &epilogue);
}

/* The output P and the running state of a softmax merge; none may overlap another. */
static void check_merge(struct tl *tl, const struct tl_tensor *p, const struct tl_tensor *m,
                        const struct tl_tensor *l, const struct tl_tensor *corr)
{
    check_state(tl, "m", m, p);
    check_state(tl, "l", l, p);
    check_state(tl, "corr", corr, p);
    tl_check_apart(tl, "m", m, "l", l);
    tl_check_apart(tl, "m", m, "corr", corr);
    tl_check_apart(tl, "l", l, "corr", corr);
}

void tl_softmax_merge(struct tl *tl, struct tl_tensor p, struct tl_tensor m, struct tl_tensor l,
                      struct tl_tensor corr, struct tl_tensor a, struct tl_tensor b, float scale)
{
    tl->call = "tl_softmax_merge";
    check_operands(tl, &a, &b);
    tl_check_scratch(tl, "p", &p);
    tl_check_size(tl, "p", &p, a.rows, b.cols);
    tl_check_apart(tl, "p", &p, "a", &a);
    tl_check_apart(tl, "p", &p, "b", &b);
    check_merge(tl, &p, &m, &l, &corr);
    struct command command = {
        .op = OP_COMPOSITE,
        .epilogue = EPILOGUE_SOFTMAX_MERGE,
        .a = tl_operand(&a),
        .b = tl_operand(&b),
        .out = tl_operand(&p),
        .state = {tl_operand(&m), tl_operand(&l), tl_operand(&corr)},
    };
    add_scale(&command, scale);
    tl_put(tl, &command);
}

static void dot(struct tl *tl, const struct tl_tensor *out, const struct tl_tensor *a,
                const struct tl_tensor *b)
{
    struct command command = {
        .op = OP_DOT, .a = tl_operand(a), .b = tl_operand(b), .out = tl_operand(out)};
    tl_put(tl, &command);
}

struct tl_tensor tl_dot(struct tl *tl, struct tl_tensor a, struct tl_tensor b)
{
    tl->call = "tl_dot";
    check_operands(tl, &a, &b);
    tl_check_scratch(tl, "b", &b);
    struct tl_tensor out = tl_allocate(tl, a.rows, b.cols, DTYPE_F32);
    dot(tl, &out, &a, &b);
    return out;
}

void tl_dot_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a, struct tl_tensor b)
{
    tl->call = "tl_dot_to";
    check_operands(tl, &a, &b);
    tl_check_scratch(tl, "b", &b);
    check_out(tl, &out, &a, &b);
    dot(tl, &out, &a, &b);
}
