/* The results of a point, one row each: whoever needs one more adds a row here and nowhere else.
 * The members of struct point_summary, how they come about (summary.c) and what is told of them
 * (summary_rows.h: result file, JSON, table, `--list-results`) are made of these lists.
 *
 *     X(type, member, name, units, combine, of, value, places, table, description)
 *
 * type: U8, U32, U64, F64, TEXT, BOOL or CODE (64 bits shown as hexadecimal digits). combine: how
 * the values of PEs or CUBEs become that of the point: SUM, MAX or MIN; of: GROUP_0 or ALL of them.
 * value: an expression, over what is said at each list. places: IN_FILE, IN_JSON, BOTH or NOWHERE
 * (a step on the way to others). table: NO_COLUMN, or COLUMN(heading, units, width, decimals,
 * divisor). A name of which the file has an array over CUBEs is only IN_JSON. */
#ifndef AHBM_STUDY_SUMMARY_LIST_H
#define AHBM_STUDY_SUMMARY_LIST_H

#include <ahbm/options.h>

/* clang-format off */

/* An option of the kernel: the word. */
#define SUMMARY_OPTION(ID, field, type, option, name, help, description, ...) \
    X(TEXT, field, name, "1", GIVEN, ALL, \
      summary_word(launch, TL_NUMBER_##ID, (uint32_t)options->field), BOTH, NO_COLUMN, description)

/* What was asked for, over `problem`, `launch`, and `options`. */
#define SUMMARY_GIVEN(X) \
    X(TEXT, phase, "phase", "1", GIVEN, ALL, kernel_phase(problem->kernel), BOTH, \
      COLUMN("phase", "", -8, 0, 1), "decode or prefill") \
    X(U32, case_number, "case", "1", GIVEN, ALL, problem->case_number, BOTH, \
      COLUMN("case", "", 4, 0, 1), "placement case 1 to 4; 0: none") \
    X(TEXT, kernel, "kernel", "1", GIVEN, ALL, problem->kernel->name, BOTH, NO_COLUMN, \
      "name or file of the kernel") \
    X(U64, context, "context", "tokens", GIVEN, ALL, launch->context, BOTH, \
      COLUMN("context", "tokens", 9, 0, 1), "context length S") \
    X(U32, batch, "batch", "requests", GIVEN, ALL, launch->batch, BOTH, \
      COLUMN("batch", "", 6, 0, 1), "requests of the launch") \
    X(U32, groups, "groups", "groups", GIVEN, ALL, problem->groups, IN_JSON, NO_COLUMN, \
      "CUBE groups of the kernel") \
    X(U32, query_len, "query_len", "tokens", GIVEN, ALL, launch->query_len, IN_FILE, NO_COLUMN, \
      "query positions per request, T_q") \
    X(U32, cubes_per_group, "cubes_per_group", "CUBEs", GIVEN, ALL, launch->group_cubes, IN_FILE, \
      NO_COLUMN, "CUBEs that own one KV head, C") \
    X(U32, tile, "tile", "tokens", GIVEN, ALL, launch->tile, IN_FILE, NO_COLUMN, \
      "KV tokens per kernel tile") \
    X(U32, query_block, "query_block", "tokens", GIVEN, ALL, launch->query_block, \
      IN_FILE, NO_COLUMN, "query positions that a prefill works on at a time; 0 in decode") \
    X(U32, ring_depth, "ring_depth", "1", GIVEN, ALL, launch->ring_depth, IN_FILE, \
      NO_COLUMN, "buffers for the arriving KV blocks of a prefill; 0 in decode") \
    TL_WORD_OPTIONS(SUMMARY_OPTION) \
    X(TEXT, kernel_options, "kernel_options", "1", GIVEN, ALL, \
      options->own_text != NULL ? options->own_text : "-", BOTH, NO_COLUMN, \
      "what --kernel-option gave: NAME=VALUE,...; - if nothing") \
    X(U64, launch_ps, "launch_ps", "ps", GIVEN, ALL, problem->params->launch.host_ps, BOTH, \
      NO_COLUMN, "host launch latency, not part of latency_ps")

/* Of PEs, over `pe` (struct pe_result) and `footprint`. */
#define SUMMARY_PES(X) \
    X(U64, read_bytes, "read_bytes", "bytes", SUM, GROUP_0, pe->dma.read_bytes, IN_JSON, NO_COLUMN, \
      "read from HBM by the DMAs of group 0") \
    X(U64, sent_bytes, "sent_bytes", "bytes", SUM, GROUP_0, pe->ipcq.sent_bytes, IN_JSON, NO_COLUMN, \
      "sent over IPCQ by group 0") \
    X(U64, gemm_steps, "gemm_steps_total", "1", SUM, ALL, pe->gemm.steps, IN_JSON, NO_COLUMN, \
      "steps of TILE_M x TILE_K x TILE_N of all MAC arrays") \
    X(U64, gemm_steps_0, "gemm_steps_group", "1", SUM, GROUP_0, pe->gemm.steps, NOWHERE, NO_COLUMN, \
      "those of group 0") \
    X(U64, useful_macs, "useful_macs_group", "1", SUM, GROUP_0, pe->sched.useful_macs, NOWHERE, \
      NO_COLUMN, "multiply-accumulates that group 0 asked for") \
    X(U64, useful_macs_max, "useful_macs_max", "1", MAX, GROUP_0, pe->sched.useful_macs, NOWHERE, \
      NO_COLUMN, "those of the PE with the most") \
    X(U64, o_bytes, "o_bytes", "bytes", SUM, GROUP_0, footprint->o_bytes, NOWHERE, NO_COLUMN, \
      "O of group 0") \
    X(U64, o_bytes_max, "o_bytes_max", "bytes", MAX, GROUP_0, footprint->o_bytes, NOWHERE, NO_COLUMN, \
      "O in the PE that holds most of it") \
    X(U64, last_end_ps, "last_end_group_ps", "ps", MAX, GROUP_0, pe->cpu.last_end_ps, NOWHERE, \
      NO_COLUMN, "last end of a command; idle PEs that sweep for nothing may end after the last store")

/* Of CUBEs, over `cube` (struct cube_result), `links` (bytes that left it) and `room` (struct
 * cube_footprint). */
#define SUMMARY_CUBES(X) \
    X(U64, cube_link_bytes, "cube_link_bytes", "bytes", SUM, GROUP_0, links, IN_JSON, NO_COLUMN, \
      "over the links between CUBEs and SIPs, from CUBEs of group 0") \
    X(U64, kv_bytes_per_cube, "kv_bytes_per_cube", "bytes", MAX, ALL, room->kv_bytes, IN_JSON, \
      COLUMN("KV/CUBE", "MiB", 10, 3, 1048576.0), "KV cache of the fullest CUBE, one layer") \
    X(U64, kv_bytes_all_layers, "kv_bytes_per_cube_all_layers", "bytes", MAX, ALL, \
      room->kv_bytes_all_layers, IN_JSON, NO_COLUMN, \
      "KV cache of the fullest CUBE, all layers; 18446744073709551615: that or more") \
    X(BOOL, fits, "fits", "1", MIN, ALL, room->fits, IN_JSON, COLUMN("fits", "", 5, 0, 1), \
      "the KV cache of all layers fits into every CUBE's HBM")

/* Of others, over `s`, the struct point_summary so far, and `problem`. */
#define SUMMARY_DERIVED(X) \
    X(U64, o_gather_bytes, "o_gather_bytes", "bytes", DERIVED, GROUP_0, s->o_bytes - s->o_bytes_max, \
      BOTH, NO_COLUMN, \
      "moved to bring the O of group 0 to the PE that holds most of it (o_bytes_pe)") \
    X(TEXT, busiest_engine, "busiest_engine", "1", DERIVED, GROUP_0, engine_kind_name(s->busiest), \
      IN_JSON, NO_COLUMN, "the engine, of any PE of group 0, that was busy for the longest time") \
    X(F64, busiest_share, "busiest_share", "1", DERIVED, GROUP_0, \
      summary_ratio(s->busy_max_ps[s->busiest], s->last_end_ps), IN_JSON, NO_COLUMN, \
      "the part of the time to the last end of a command for which it was") \
    X(F64, gemm_busy_share, "gemm_busy_share", "1", DERIVED, GROUP_0, \
      summary_ratio(s->busy_max_ps[ENGINE_GEMM], s->last_end_ps), IN_JSON, NO_COLUMN, \
      "the same of the busiest MAC array") \
    X(F64, gemm_useful_share, "gemm_useful_share", "1", DERIVED, GROUP_0, \
      summary_ratio(s->useful_macs, s->gemm_steps_0 * summary_step_macs(problem)), IN_JSON, NO_COLUMN, \
      "useful MACs over those that the busy arrays could have done") \
    X(F64, gemm_imbalance, "gemm_imbalance", "1", DERIVED, GROUP_0, \
      summary_ratio(s->useful_macs_max * summary_group_pes(problem), s->useful_macs), IN_JSON, \
      NO_COLUMN, "useful MACs of the PE with the most over the mean PE's")

/* What the study finds in its own way; the value is that before. */
#define SUMMARY_FOUND(X) \
    X(U64, latency_ps, "latency_ps", "ps", FOUND, ALL, 0, BOTH, \
      COLUMN("latency", "us", 12, 3, 1e6), "kernel latency of the slowest group") \
    X(U64, events, "events", "1", FOUND, ALL, 0, IN_JSON, NO_COLUMN, "events of the simulation") \
    X(U64, rounds, "rounds", "1", FOUND, ALL, 0, IN_JSON, NO_COLUMN, \
      "rounds of the synchronisation; depends on the number of ranks") \
    X(CODE, digest, "digest", "1", FOUND, ALL, 0, BOTH, NO_COLUMN, \
      "digest of all events, over CUBEs in order") \
    X(U8, verify_state, "verify_state", "1", FOUND, ALL, 0, IN_FILE, NO_COLUMN, \
      "the output against attention in float64: 1 within tolerance, 2 not; 0: not verified") \
    X(F64, verify_rms_relative, "verify_rms_relative", "1", FOUND, ALL, -1, IN_FILE, NO_COLUMN, \
      "RMS error of the output over the RMS of the reference; inf: an output is no number; -1: not " \
      "verified; may differ in the last bits between types of processor") \
    X(F64, verify_max_abs, "verify_max_abs", "1", FOUND, ALL, -1, IN_FILE, NO_COLUMN, \
      "largest absolute error of the output; inf: an output is no number; -1: not verified; may " \
      "differ in the last bits between types of processor")

/* In the order of the JSON document. */
#define SUMMARY_ROWS(X) \
    SUMMARY_GIVEN(X) SUMMARY_FOUND(X) SUMMARY_CUBES(X) SUMMARY_PES(X) SUMMARY_DERIVED(X)

/* clang-format on */

#endif
