/* The options of the command line by which a kernel can be made to work otherwise, a row each. From
 * a row follow the option with its help and its errors, the field of struct tl_launch, the bit by
 * which a kernel says that it looks at it (ahbm/kernel.h), and a text of the result file. */
#ifndef AHBM_OPTIONS_H
#define AHBM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */

/* ROW(ID, field, type, "option", "name in the result file", "help", "what the result file says of it",
 *   words: the first is the default; the field has the place of the word) */
#define TL_WORD_OPTIONS(ROW) \
    ROW(REDUCE_PE, reduce_pe, enum tl_reduce, "reduce-pe", "reduce_pe", \
      "Reduction over the PEs of a CUBE", "shape of the reduction over the PEs of a CUBE", \
      "chain", "tree", "centre") \
    ROW(REDUCE_CUBE, reduce_cube, enum tl_reduce, "reduce-cube", "reduce_cube", \
      "Reduction over the CUBEs of a group", "shape of the reduction over the CUBEs of a group", \
      "chain", "tree", "centre") \
    ROW(MLO, packed, bool, "mlo", "mlo", \
      "(m, l, O) travel as three copies or as one, in the kernels with reductions but not the " \
      "collectives", "how (m, l, O) travels: separate copies or one packed", \
      "separate", "packed") \
    ROW(GEMM, gemm, enum tl_gemm, "gemm", "gemm", \
      "GEMMs as composites of the scheduler or as blocking dots", \
      "GEMMs as composite or as blocking dot", \
      "composite", "dot") \
    ROW(FORM, form, enum tl_form, "form", "form", \
      "Form of the sweep; auto is one-shot up to one tile per PE and tiled above", \
      "form of the kernel", \
      "auto", "one-shot", "tiled", "softmax_merge") \
    ROW(TP_IDLE, tp_redundant, bool, "tp-idle", "tp_idle", \
      "Decode, cases 1 and 2: PEs without a request are idle, or sweep for nothing", \
      "what PEs without a query do", \
      "off", "redundant") \
    ROW(KV_LAYOUT, kv_stack, bool, "kv-layout", "kv_layout", \
      "K and V lie in the working PE's share of HBM, or striped over the shares of its CUBE's stack", \
      "where K and V lie: in the PE's share of HBM, or striped over the CUBE's stack", \
      "share", "stack") \
    ROW(SHARDS, shards, enum tl_shards, "shards", "shards", \
      "Prefill, cases 1 and 2: how query positions are dealt to the PEs", \
      "how a prefill deals query positions to PEs; - in decode", \
      "contiguous", "striped", "zigzag")

/* ROW(ID, field, "option", least, most, default (0: the kernel chooses), "help") */
#define TL_NUMBER_OPTIONS(ROW) \
    ROW(TILE, tile, "tile", 1, 65536, 0, \
      "KV tokens per tile (default 1024 in decode; in prefill 128 or fewer, so that the work of a " \
      "PE fits into its scratch)") \
    ROW(RING_DEPTH, ring_depth, "ring-depth", 2, 64, 2, \
      "Prefill, cases 1 and 4: buffers for arriving KV blocks, 2 to 64, as far as scratch and " \
      "ipcq.queue_commands allow (default 2)")

/* The fields, for a struct that has them all. */
#define TL_WORD_FIELD(ID, field, type, ...) type field;
#define TL_NUMBER_FIELD(ID, field, ...) uint32_t field;
#define TL_OPTION_FIELDS TL_WORD_OPTIONS(TL_WORD_FIELD) TL_NUMBER_OPTIONS(TL_NUMBER_FIELD)

/* clang-format on */

/* The options that have rows, behind those of the problem, which each kernel may look at too. */
enum tl_option_number {
    TL_NUMBER_CONTEXT,
    TL_NUMBER_REQUESTS, /* lengths of their own: launch->contexts */
    TL_NUMBER_BATCH,
    TL_NUMBER_QUERY_LEN,
    TL_NUMBER_MESSAGE,
#define X(ID, ...) TL_NUMBER_##ID,
    TL_WORD_OPTIONS(X) TL_NUMBER_OPTIONS(X)
#undef X
        TL_OPTION_NUMBERS
};

/* Their bits. */
enum tl_option {
    TL_OPTION_CONTEXT = 1 << TL_NUMBER_CONTEXT,
    TL_OPTION_REQUESTS = 1 << TL_NUMBER_REQUESTS,
    TL_OPTION_BATCH = 1 << TL_NUMBER_BATCH,
    TL_OPTION_QUERY_LEN = 1 << TL_NUMBER_QUERY_LEN,
    TL_OPTION_MESSAGE = 1 << TL_NUMBER_MESSAGE,
#define X(ID, ...) TL_OPTION_##ID = 1 << TL_NUMBER_##ID,
    TL_WORD_OPTIONS(X) TL_NUMBER_OPTIONS(X)
#undef X
};

/* An option that only one kernel has: a row of its tl_kernel_info.own (ahbm/kernel.h). Given by
 * --kernel-option NAME=VALUE; the value of row i is launch->own[i]. */
struct tl_own_option {
    const char *name;              /* without '=' */
    const char *help;              /* one line, or NULL */
    const char *const *words;      /* ended by NULL: the value is the place of one of them, and the
                                      first is the default. NULL: a number */
    uint64_t least, most, initial; /* of a number */
};

enum { TL_OWN_OPTIONS = 16 }; /* most rows of a kernel */

_Static_assert(TL_OPTION_NUMBERS <= 32, "a mask holds all options");

#endif
