/* Some CUBEs with hand-written programs, run by the engine in this process: what a test of a
 * machine part needs. The parameters are round numbers that a test changes before rig_start(). */
#ifndef AHBM_TESTS_HW_RIG_H
#define AHBM_TESTS_HW_RIG_H

#include <stdlib.h>
#include <string.h>

#include "machine/cube.h"
#include "machine/message.h"
#include "pdes/core/engine.h"
#include "support/hash.h"
#include "support/memory.h"

/* A program from an array of commands. */
struct script {
    struct program base; /* first */
    struct command *commands;
    size_t count, next, scouted;
    bool scout_ended;
    struct command end;
};

static inline const struct command *script_next(struct program *program)
{
    struct script *script = (struct script *)program;
    return script->next < script->count ? &script->commands[script->next++] : &script->end;
}

static inline bool script_scout(struct program *program, struct scout_sink *sink)
{
    struct script *script = (struct script *)program;
    if (script->scout_ended)
        return false;
    while (script->scouted < script->count)
        if (sink->fold(sink, &script->commands[script->scouted++]))
            return true;
    script->scout_ended = true;
    return true;
}

static inline void script_destroy(struct program *program)
{
    struct script *script = (struct script *)program;
    memory_free(script->commands);
    memory_free(script);
}

static inline struct script *script_new(void)
{
    static const struct program_ops ops = {script_next, script_scout, script_destroy};
    struct script *script = memory_new(1, sizeof *script);
    script->base.ops = &ops;
    script->base.kernel = "script";
    script->end.op = OP_END;
    return script;
}

/* What the study counts with flows_add(); unknown for a program that is no script. */
static inline uint64_t rig_emissions(const struct program *program)
{
    const struct script *script = (const struct script *)program;
    uint64_t emissions = 0;
    if (program->ops->destroy != script_destroy)
        return UINT64_MAX;
    for (size_t i = 0; i < script->count; i++)
        emissions += command_emits(&script->commands[i]);
    return emissions;
}

/* Where a CUBE's trace goes. */
struct rig_trace {
    struct trace_sink sink; /* first */
    struct trace_record *records;
    size_t count;
};

static inline void rig_trace_put(struct trace_sink *sink, const struct trace_record *record)
{
    struct rig_trace *trace = (struct rig_trace *)sink;
    if ((trace->count & (trace->count - 1)) == 0)
        trace->records =
            memory_resize(trace->records, trace->count ? 2 * trace->count : 1, sizeof *record);
    trace->records[trace->count++] = *record;
}

struct rig {
    struct machine_params params;
    uint32_t cubes_count, pes;
    struct transport *transport;
    struct engine *engine;
    struct cube **cubes;
    struct rig_trace *traces;
    struct program **programs; /* [cube][pe]; NULL: none */
    bool started;              /* the programs belong to the CUBEs */
    enum engine_result result;
    struct error error;
};

/* A small memory with timings in round numbers: a burst of 32 bytes takes 32 ps. */
static inline struct dram_params rig_dram(void)
{
    return (struct dram_params){
        .tck_ps = 8,
        .data_rate = {4, 1},
        .width_bits = 32,
        .burst_length = 8,
        .bank_groups = 4,
        .banks_per_group = 4,
        .page_bytes = 1024,
        .cl = {100, 0},
        .cwl = {50, 0},
        .trcd_rd = {110, 0},
        .trcd_wr = {90, 0},
        .trp = {120, 0},
        .tras = {300, 0},
        .trc = {420, 0},
        .trrd_s = {40, 0},
        .trrd_l = {50, 0},
        .tfaw = {200, 0},
        .tccd_s = {0, 4000},
        .tccd_l = {0, 8000},
        .trtp = {45, 0},
        .twr = {130, 0},
        .twtr_s = {30, 0},
        .twtr_l = {70, 0},
        .trtw = {10, 0},
        .trefi = {20000, 0},
        .trfc = {2600, 0},
        .trfc_pb = {1300, 0},
        .bus_act = {0, 2000},
        .bus_pre = {0, 1000},
        .controller = {60, 0},
        .refresh = 0,
        .mapping = HBM_ROW | HBM_BANK << 4 | HBM_COLUMN << 8 | HBM_GROUP << 12,
        .block_bytes = 256,
        .bank_queue = 32,
        .hit_cap = 4,
    };
}

/* Some memory with banks: every timing, order and policy in turn. */
static inline void rig_random_dram(struct hbm_params *hbm, uint64_t *seed)
{
    struct dram_params *dram = &hbm->dram;
    struct timing *timings[] = {
        &dram->cl,  &dram->cwl,    &dram->trcd_rd, &dram->trcd_wr, &dram->trp,    &dram->tras,
        &dram->trc, &dram->trrd_s, &dram->trrd_l,  &dram->tfaw,    &dram->tccd_l, &dram->trtp,
        &dram->twr, &dram->twtr_s, &dram->twtr_l,  &dram->trtw,    &dram->bus_act};
    static const uint32_t orders[] = {0x2310, 0x2130, 0x1230, 0x3210, 0x0123};
    *seed = hash_finish(hash_word(*seed, 7));
    hbm->model = HBM_BANKS;
    hbm->interleave_bytes = UINT64_C(32) << (*seed & 3);
    for (size_t i = 0; i < sizeof timings / sizeof *timings; i++) {
        *seed = hash_finish(hash_word(*seed, i));
        *timings[i] = (struct timing){*seed % 500, 0};
    }
    dram->refresh = *seed >> 8 & 3;
    dram->page = *seed >> 10 & 1;
    dram->scheduler = (*seed >> 11 & 3) == 0;
    dram->mapping = orders[(*seed >> 13) % 5];
    dram->block_bytes = UINT64_C(32) << (*seed >> 20 & 3);
    dram->bank_xor = *seed >> 22 & 1;
    dram->bank_queue = 1 + (*seed >> 23 & 31);
    dram->hit_cap = *seed >> 28 & 7;
}

/* 1 ps a byte or cycle wherever a test has no other wish; no refresh, no issue cost. */
static inline struct machine_params rig_params(uint32_t cube_columns, uint32_t cube_rows)
{
    struct machine_params p = {
        .geometry = {{1, 1}, {cube_columns, cube_rows}, {4, 2}, false, false, false},
        .model = {64, 8, 128, 80},
        .sched = {32, 64, 32, 8, 4},
        .dma = {0, 0, 1, 64, 4096, 8},
        .hbm = {.capacity_bytes = 1 << 30,
                .pseudo_channels = 32,
                .interleave_bytes = 256,
                .rate = {1, 8},
                .refresh_interval_ps = 1000000,
                .dram = rig_dram()},
        .gemm = {{1, 1}, 65536, 0},
        .math = {{1, 1}, 128, 0, 1, 4, 5, 7},
        .scratch = {1 << 20, {1, 1}},
        .ipcq = {4, 8192, 8, 16, {0, 0, 0}},
        .link = {{{1, 1}, 100}, {{1, 1}, 1000}, {{1, 1}, 10000}},
        .launch = {0},
    };
    return p;
}

static inline void rig_init(struct rig *rig, const struct machine_params *params)
{
    memset(rig, 0, sizeof *rig);
    rig->params = *params;
    rig->cubes_count = geometry_cubes(&params->geometry);
    rig->pes = grid_size(params->geometry.pes);
    rig->programs = memory_new((size_t)rig->cubes_count * rig->pes, sizeof(struct program *));
}

static inline void rig_connect(struct rig *rig)
{
    const struct geometry *geometry = &rig->params.geometry;
    uint32_t other;
    for (uint32_t cube = 0; cube < rig->cubes_count; cube++)
        for (int d = 0; d < DIRECTIONS; d++) {
            if (cube_neighbour(geometry, cube, (enum direction)d, &other) && other != cube)
                engine_connect(rig->engine, cube, other);
            if (cube % grid_size(geometry->cubes) == 0 &&
                sip_neighbour(geometry, cube, (enum direction)d, &other))
                engine_connect(rig->engine, cube, other);
        }
}

/* Makes the machine; before rig_run(), which calls it unless the test did. */
static inline void rig_start(struct rig *rig)
{
    rig->transport = transport_local_new();
    struct engine_config config = {.lps = rig->cubes_count,
                                   .unit_bits = MACHINE_UNIT_BITS,
                                   .model = cube_model(),
                                   .transport = rig->transport};
    rig->engine = engine_new(&config);
    rig_connect(rig);
    rig->cubes = memory_new(rig->cubes_count, sizeof(struct cube *));
    rig->traces = memory_new(rig->cubes_count, sizeof *rig->traces);
    for (uint32_t i = 0; i < rig->cubes_count; i++) {
        rig->traces[i].sink.put = rig_trace_put;
        rig->cubes[i] = cube_new(&rig->params, engine_lp(rig->engine, i), &rig->traces[i].sink);
        for (uint32_t pe = 0; pe < rig->pes; pe++)
            if (rig->programs[i * rig->pes + pe] != NULL)
                cube_run_program(rig->cubes[i], pe, rig->programs[i * rig->pes + pe],
                                 rig_emissions(rig->programs[i * rig->pes + pe]));
    }
    rig->started = true;
}

static inline enum engine_result rig_run(struct rig *rig)
{
    if (!rig->started)
        rig_start(rig);
    rig->result = engine_run(rig->engine, &rig->error);
    return rig->result;
}

static inline void rig_fini(struct rig *rig)
{
    for (uint32_t i = 0; i < rig->cubes_count && rig->started; i++) {
        cube_free(rig->cubes[i]);
        memory_free(rig->traces[i].records);
    }
    for (uint32_t i = 0; i < rig->cubes_count * rig->pes && !rig->started; i++)
        if (rig->programs[i] != NULL)
            rig->programs[i]->ops->destroy(rig->programs[i]);
    if (rig->started) {
        engine_free(rig->engine);
        rig->transport->ops->destroy(rig->transport);
    }
    memory_free(rig->cubes);
    memory_free(rig->traces);
    memory_free(rig->programs);
}

/* ---- programs ---- */

/* Appends a command to the program of a PE; returns its number, from 1. */
static inline uint64_t rig_add(struct rig *rig, uint32_t cube, uint32_t pe, struct command command)
{
    struct program **program = &rig->programs[cube * rig->pes + pe];
    if (*program == NULL)
        *program = &script_new()->base;
    struct script *script = (struct script *)*program;
    if ((script->count & (script->count - 1)) == 0)
        script->commands =
            memory_resize(script->commands, script->count ? 2 * script->count : 1, sizeof command);
    command.file = "script.c";
    command.line = (uint32_t)script->count + 1;
    script->commands[script->count++] = command;
    return script->count;
}

static inline struct operand scratch_at(uint64_t addr, uint32_t rows, uint32_t cols,
                                        enum dtype dtype)
{
    return (struct operand){
        .addr = addr, .rows = rows, .cols = cols, .space = SPACE_SCRATCH, .dtype = (uint8_t)dtype};
}

static inline struct operand hbm_at(uint32_t pe, uint64_t addr, uint32_t rows, uint32_t cols,
                                    enum dtype dtype)
{
    return (struct operand){.addr = addr,
                            .rows = rows,
                            .cols = cols,
                            .pe = (uint16_t)pe,
                            .space = SPACE_HBM,
                            .dtype = (uint8_t)dtype};
}

/* `bytes` (a multiple of 4) as a row of f32. */
static inline struct operand bytes_at(uint64_t addr, uint64_t bytes)
{
    return scratch_at(addr, 1, (uint32_t)(bytes / 4), DTYPE_F32);
}

static inline struct operand share_bytes_at(uint32_t pe, uint64_t addr, uint64_t bytes)
{
    return hbm_at(pe, addr, 1, (uint32_t)(bytes / 4), DTYPE_F32);
}

static inline struct command make_load(uint32_t pe, uint64_t from, uint64_t to, uint64_t bytes)
{
    return (struct command){
        .op = OP_LOAD, .a = share_bytes_at(pe, from, bytes), .out = bytes_at(to, bytes)};
}

static inline struct command make_store(uint32_t pe, uint64_t to, uint64_t from, uint64_t bytes)
{
    return (struct command){
        .op = OP_STORE, .a = bytes_at(from, bytes), .out = share_bytes_at(pe, to, bytes)};
}

static inline struct command make_math(enum math_fn fn, struct operand out, struct operand a)
{
    return (struct command){.op = OP_MATH, .fn = (uint8_t)fn, .a = a, .out = out};
}

/* out [m, n] f32 at 0x80000, a [m, k] bf16 at 0xc0000, b as given. */
static inline struct command make_gemm(enum op op, uint32_t m, struct operand b, uint8_t epilogue)
{
    return (struct command){.op = (uint8_t)op,
                            .epilogue = epilogue,
                            .a = scratch_at(0xc0000, m, b.rows, DTYPE_BF16),
                            .b = b,
                            .out = scratch_at(0x80000, m, b.cols, DTYPE_F32)};
}

static inline struct command make_send(enum queue_id queue, uint64_t addr, uint64_t bytes)
{
    return (struct command){.op = OP_SEND, .queue = (uint8_t)queue, .a = bytes_at(addr, bytes)};
}

static inline struct command make_recv(enum op op, enum queue_id queue, uint64_t addr,
                                       uint64_t bytes)
{
    return (struct command){
        .op = (uint8_t)op, .queue = (uint8_t)queue, .out = bytes_at(addr, bytes)};
}

static inline struct command make_wait(struct operand out)
{
    return (struct command){.op = OP_WAIT, .out = out};
}

/* ---- what happened ---- */

/* The record of a PE's command; dies when there is none. */
static inline const struct trace_record *rig_record(const struct rig *rig, uint32_t cube,
                                                    uint32_t pe, uint64_t command)
{
    for (size_t i = 0; i < rig->traces[cube].count; i++) {
        const struct trace_record *record = &rig->traces[cube].records[i];
        if (record->pe == pe && record->command == command)
            return record;
    }
    fprintf(stderr, "command %llu of CUBE %u PE %u did not end\n", (unsigned long long)command,
            cube, pe);
    abort();
}

static inline uint64_t rig_end(const struct rig *rig, uint32_t cube, uint32_t pe, uint64_t command)
{
    return rig_record(rig, cube, pe, command)->end_ps;
}

static inline uint64_t rig_issue(const struct rig *rig, uint32_t cube, uint32_t pe,
                                 uint64_t command)
{
    return rig_record(rig, cube, pe, command)->issue_ps;
}

static inline struct pe_result rig_pe(const struct rig *rig, uint32_t cube, uint32_t pe)
{
    struct pe_result result;
    cube_pe_result(rig->cubes[cube], pe, &result);
    return result;
}

static inline struct cube_result rig_cube(const struct rig *rig, uint32_t cube)
{
    struct cube_result result;
    cube_result(rig->cubes[cube], &result);
    return result;
}

/* When the last command of any PE ended. */
static inline uint64_t rig_elapsed(const struct rig *rig)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < rig->cubes_count; i++)
        for (uint32_t pe = 0; pe < rig->pes; pe++)
            last = time_max(last, rig_pe(rig, i, pe).cpu.last_end_ps);
    return last;
}

/* Folds what the run did: every event of every CUBE, and all that was measured. */
static inline uint64_t rig_digest(const struct rig *rig)
{
    uint64_t digest = HASH_START;
    for (uint32_t i = 0; i < rig->cubes_count; i++) {
        struct cube_result cube = rig_cube(rig, i);
        for (size_t w = 0; w < sizeof cube / sizeof(uint64_t); w++)
            digest = hash_word(digest, ((const uint64_t *)&cube)[w]);
        for (uint32_t pe = 0; pe < rig->pes; pe++) {
            struct pe_result result = rig_pe(rig, i, pe);
            for (size_t w = 0; w < sizeof result / sizeof(uint64_t); w++)
                digest = hash_word(digest, ((const uint64_t *)&result)[w]);
        }
    }
    return hash_finish(digest);
}

/* Whether the run ended with every program at its end and every message taken. */
static inline bool rig_clean(struct rig *rig)
{
    struct pe_wait wait;
    for (uint32_t i = 0; i < rig->cubes_count; i++) {
        if (cube_unfinished(rig->cubes[i], &wait, 1) > 0) {
            error_set(&rig->error, ERROR_FAILED, "%s", wait.text);
            return false;
        }
        if (cube_leftover(rig->cubes[i], &rig->error))
            return false;
    }
    return rig->result == ENGINE_DONE;
}

/* ceil(items * num / den), by the test's own arithmetic. */
static inline uint64_t ceil_rate(struct rate rate, uint64_t items)
{
    uint64_t total = items * rate.num;
    return total / rate.den + (total % rate.den != 0);
}

#define RUN_CLEAN(rig)                                                                             \
    do {                                                                                           \
        rig_run(rig);                                                                              \
        bool clean_ = rig_clean(rig);                                                              \
        if (!clean_)                                                                               \
            fprintf(stderr, "\n  %s\n", (rig)->error.text);                                        \
        CU_ASSERT_FATAL(clean_);                                                                   \
    } while (0)

/* CU_ASSERT_EQUAL that says the numbers. */
#define EQUAL(got, wanted)                                                                         \
    do {                                                                                           \
        unsigned long long got_ = (unsigned long long)(got),                                       \
                           wanted_ = (unsigned long long)(wanted);                                 \
        if (got_ != wanted_)                                                                       \
            fprintf(stderr, "\n  %s:%d: %s is %llu, not %llu\n", __FILE__, __LINE__, #got, got_,   \
                    wanted_);                                                                      \
        CU_ASSERT_EQUAL(got_, wanted_);                                                            \
    } while (0)

#endif
