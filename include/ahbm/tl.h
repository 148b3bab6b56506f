/* tl: the API of AHBM kernels.
 *
 * A kernel is a C function that runs once per PE and records commands; the machine executes them in
 * simulated time. It may look at its launch arguments, never at simulated time, and keeps no static
 * data: it runs more than once per PE (a scout looks ahead) and interleaved with other PEs.
 *
 * Tensors are dense row-major matrices [rows, cols]; a vector over rows is [rows, 1]. They lie in
 * the PE's scratch, or, made by tl_ref(), in HBM. A tensor is a value: copy it freely. Functions
 * that compute allocate their result in scratch; those that end in _to write into `out`, whose
 * shape must fit and which may be one of the inputs.
 *
 * Scratch is an arena. Inside TL_SCRATCH_SCOPE(tl) { ... } allocations are temporary: at the
 * closing brace they are recycled and their tensors may no longer be used (do not leave the block
 * by return, break or goto). Outside they last for the whole kernel.
 *
 * A wrong shape or element type, a full scratch, a recycled tensor, a queue that leads nowhere: the
 * recording stops and the run ends with an error that names kernel, PE, command number and source
 * line. None of these functions returns an error.
 *
 * Broadcasting: where two tensors are combined, a size of 1 (rows or cols) stretches. MATH computes
 * in f32 and takes f32 only; tl_full, tl_cast, tl_broadcast and tl_transpose take every type. The
 * operands of a GEMM have one type, its result is f32. An output may be an input (the same tensor),
 * never a part of one; that of a GEMM is neither.
 */
#ifndef AHBM_TL_H
#define AHBM_TL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ahbm/launch.h>

struct tl;

enum tl_dtype { TL_F32, TL_BF16, TL_F16 };

/* Queue pairs: to the neighbouring PE of the CUBE, to the PE of equal index in the neighbouring
 * CUBE, and in the neighbouring SIP. x grows to the east, y to the south. */
enum tl_queue {
    TL_PE_N,
    TL_PE_S,
    TL_PE_E,
    TL_PE_W,
    TL_CUBE_N,
    TL_CUBE_S,
    TL_CUBE_E,
    TL_CUBE_W,
    TL_SIP_N,
    TL_SIP_S,
    TL_SIP_E,
    TL_SIP_W
};

/* PEs of the CUBE, CUBEs of the group, groups of the system, SIPs of the system. */
enum tl_axis { TL_AXIS_PE, TL_AXIS_CUBE, TL_AXIS_GROUP, TL_AXIS_SIP };

/* x grows to the east, y to the south. */
struct tl_position {
    uint32_t x, y;
};

struct tl_tensor {
    uint64_t addr; /* bytes, in scratch, in the HBM share of PE `pe`, or in the CUBE's stack */
    uint32_t rows, cols;
    uint32_t scope; /* the scratch scope it lives in; checked at each use */
    uint16_t pe;
    uint8_t dtype;
    uint8_t space;
};

/* The epilogue of a composite, applied to its output on the way to scratch. */
struct tl_epilogue {
    float scale;                     /* multiplies; 0 means none */
    const struct tl_tensor *add;     /* added after scaling, [M or 1, N or 1]; NULL means none */
    const struct tl_tensor *rescale; /* [M, 1]: out = out * rescale + result; NULL means none */
};

typedef void tl_kernel(struct tl *tl, const struct tl_launch *launch);

/* ---- geometry ---- */
uint32_t tl_program_id(struct tl *tl, enum tl_axis axis);
uint32_t tl_num_programs(struct tl *tl, enum tl_axis axis);
/* Where PE (CUBE, SIP) `index` lies in the grid of its CUBE (group, system), and the reverse. Not
 * for groups. */
struct tl_position tl_position(struct tl *tl, enum tl_axis axis, uint32_t index);
uint32_t tl_index_at(struct tl *tl, enum tl_axis axis, struct tl_position position);
/* The queue pair that leads to the neighbour `peer` on this axis; an error when it is none. */
enum tl_queue tl_queue_to(struct tl *tl, enum tl_axis axis, uint32_t peer);

/* ---- memory ---- */
/* Uninitialised scratch. */
struct tl_tensor tl_empty(struct tl *tl, uint32_t rows, uint32_t cols, enum tl_dtype dtype);
/* Scratch filled with `value` (a MATH command). */
struct tl_tensor tl_full(struct tl *tl, uint32_t rows, uint32_t cols, enum tl_dtype dtype,
                         float value);
/* An HBM tensor in the share of PE `pe` of this CUBE; no command. */
struct tl_tensor tl_ref(struct tl *tl, uint32_t pe, uint64_t addr, uint32_t rows, uint32_t cols,
                        enum tl_dtype dtype);
/* An HBM tensor striped over the shares of all PEs of this CUBE: byte `addr` of the stack lies in
 * share (addr / U) mod P, at addr / (U * P) * U + addr mod U there, with U = launch->stripe_bytes
 * and P = launch->pes. No command. */
struct tl_tensor tl_ref_stack(struct tl *tl, uint64_t addr, uint32_t rows, uint32_t cols,
                              enum tl_dtype dtype);
/* Lazy: returns at once, the CPU waits at the first use. */
struct tl_tensor tl_load(struct tl *tl, struct tl_tensor hbm);
void tl_load_to(struct tl *tl, struct tl_tensor out, struct tl_tensor hbm);
/* Scratch to HBM; returns at once. */
void tl_store(struct tl *tl, struct tl_tensor hbm, struct tl_tensor scratch);
/* The same bytes under another shape; no command. */
struct tl_tensor tl_view(struct tl *tl, struct tl_tensor tensor, uint32_t rows, uint32_t cols);
/* Rows [first, first + count) of a tensor; no command. */
struct tl_tensor tl_rows(struct tl *tl, struct tl_tensor tensor, uint32_t first, uint32_t count);
/* Swaps rows and cols in name only: the bytes stay. Only right for symmetric data or vectors. */
struct tl_tensor tl_trans(struct tl *tl, struct tl_tensor tensor);

/* ---- GEMM: out[M,N] = a[M,K] . b[K,N], f32 ---- */
/* Non-blocking; the scheduler tiles it and streams `b` when that lies in HBM. `a` is in scratch. */
struct tl_tensor tl_composite(struct tl *tl, struct tl_tensor a, struct tl_tensor b,
                              struct tl_epilogue epilogue);
void tl_composite_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a, struct tl_tensor b,
                     struct tl_epilogue epilogue);
/* The stateful composite: S = scale * a . b stays inside, P = exp(S - m_new) goes to `p` [M,N], and
 * the running `m`, `l` and the correction `corr` = exp(m - m_new), all [M,1] f32, are updated:
 * m = m_new = max(m, rowmax S), l = l * corr + rowsum P. Non-blocking. */
void tl_softmax_merge(struct tl *tl, struct tl_tensor p, struct tl_tensor m, struct tl_tensor l,
                      struct tl_tensor corr, struct tl_tensor a, struct tl_tensor b, float scale);
/* Blocking; both operands in scratch. */
struct tl_tensor tl_dot(struct tl *tl, struct tl_tensor a, struct tl_tensor b);
void tl_dot_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a, struct tl_tensor b);

/* ---- MATH, blocking ---- */
struct tl_tensor tl_max(struct tl *tl, struct tl_tensor a); /* over cols: [rows, 1] */
struct tl_tensor tl_sum(struct tl *tl, struct tl_tensor a); /* over cols: [rows, 1] */
struct tl_tensor tl_maximum(struct tl *tl, struct tl_tensor a, struct tl_tensor b);
struct tl_tensor tl_exp(struct tl *tl, struct tl_tensor a);
struct tl_tensor tl_add(struct tl *tl, struct tl_tensor a, struct tl_tensor b);
struct tl_tensor tl_sub(struct tl *tl, struct tl_tensor a, struct tl_tensor b);
struct tl_tensor tl_mul(struct tl *tl, struct tl_tensor a, struct tl_tensor b);
struct tl_tensor tl_div(struct tl *tl, struct tl_tensor a, struct tl_tensor b);
struct tl_tensor tl_scale(struct tl *tl, struct tl_tensor a, float factor);
struct tl_tensor tl_softmax(struct tl *tl, struct tl_tensor a); /* over cols */
struct tl_tensor tl_broadcast(struct tl *tl, struct tl_tensor a, uint32_t rows, uint32_t cols);
struct tl_tensor tl_transpose(struct tl *tl, struct tl_tensor a); /* moves the data */
struct tl_tensor tl_cast(struct tl *tl, struct tl_tensor a, enum tl_dtype dtype);
/* [rows, cols] of 0 where key <= query and the lowest finite f32 elsewhere, with query = q_start +
 * row % q_len and key = k_start + col * k_stride (q_len folds several heads into the rows). */
struct tl_tensor tl_causal_mask(struct tl *tl, uint32_t rows, uint32_t cols, uint64_t q_start,
                                uint32_t q_len, uint64_t k_start, uint64_t k_stride);
void tl_max_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a);
void tl_sum_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a);
void tl_maximum_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a, struct tl_tensor b);
void tl_exp_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a);
void tl_add_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a, struct tl_tensor b);
void tl_sub_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a, struct tl_tensor b);
void tl_mul_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a, struct tl_tensor b);
void tl_div_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a, struct tl_tensor b);
void tl_scale_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a, float factor);
void tl_cast_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a);
void tl_full_to(struct tl *tl, struct tl_tensor out, float value);

/* ---- IPCQ ---- */
/* Non-blocking; `a` must not be overwritten before the copy ends, and the CPU sees to that. */
void tl_send(struct tl *tl, enum tl_queue queue, struct tl_tensor a);
/* Blocks until the message is in scratch. The sender's tensor must have this shape and type. */
struct tl_tensor tl_recv(struct tl *tl, enum tl_queue queue, uint32_t rows, uint32_t cols,
                         enum tl_dtype dtype);
void tl_recv_to(struct tl *tl, enum tl_queue queue, struct tl_tensor out);
/* Returns at once; the message is there after tl_wait(), or at the first use. */
struct tl_tensor tl_recv_async(struct tl *tl, enum tl_queue queue, uint32_t rows, uint32_t cols,
                               enum tl_dtype dtype);
void tl_recv_async_to(struct tl *tl, enum tl_queue queue, struct tl_tensor out);
/* Waits until whatever still reads or writes `tensor` has ended. */
void tl_wait(struct tl *tl, struct tl_tensor tensor);

/* ---- scratch scopes, errors ---- */
uint32_t tl_scratch_begin(struct tl *tl);
bool tl_scratch_end(struct tl *tl, uint32_t scope); /* always false: ends the loop below */
#define TL_SCRATCH_SCOPE(tl) TL_SCOPE_AT_(tl, __LINE__)
#define TL_SCOPE_AT_(tl, line) TL_SCOPE_(tl, TL_PASTE_(tl_scope_, line), TL_PASTE_(tl_once_, line))
#define TL_SCOPE_(tl, scope, once)                                                                 \
    for (uint32_t scope = tl_scratch_begin(tl), once = 1; once; once = tl_scratch_end(tl, scope))
#define TL_PASTE_(a, b) a##b

/* Ends the recording with an error of the kernel's own (printf format). Does not return. */
_Noreturn void tl_fail(struct tl *tl, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Every call above notes where it stands, for messages. */
struct tl *tl_at(struct tl *tl, const char *file, uint32_t line);
#ifndef TL_IMPLEMENTATION
#include <ahbm/tl_here.h>
#endif

#endif
