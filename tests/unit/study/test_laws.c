/* What must hold for the decode cases whatever the machine's numbers: counts and bytes in closed
 * form, lower bounds, monotony, equalities, and independence of recording ahead. */
#include "../check.h"
#include "decode.h"

enum { BF16 = 2, F32 = 4, HEADS = 8, DIM = 128 };

static const uint64_t contexts[] = {1, 7, 64, 1000, 8192, 20000};
enum { CONTEXTS = sizeof contexts / sizeof *contexts };

/* ---- counts and bytes of group 0 ---- */

struct wanted {
    uint64_t copies, reads, read_bytes, sent_bytes;
};

static uint64_t tiles_of(uint64_t tokens, uint64_t tile)
{
    return (tokens + tile - 1) / tile;
}

/* Merges of one request: each state but the root's travels once at its level. */
static uint64_t merges(uint32_t case_number, uint64_t cubes)
{
    switch (case_number) {
    case 1:
        return cubes - 1;
    case 2:
        return 0;
    case 3:
        return 7;
    default:
        return 8 * cubes - 1;
    }
}

static struct wanted wanted_of(uint32_t case_number, uint64_t context,
                               const struct study_options *options)
{
    uint64_t cubes = options->cubes_per_group, batch = options->batch;
    uint64_t ranks = case_number == 1   ? cubes
                     : case_number == 2 ? 1
                     : case_number == 3 ? 8
                                        : 8 * cubes;
    struct wanted wanted = {0, 0, 0, 0};
    /* Token i of a request lies on rank (start + i) mod ranks: which ranks have one more differs
     * between requests, how many does not. */
    uint64_t more = context % ranks, each = context / ranks;
    wanted.reads = batch * (ranks + 2 * (more * tiles_of(each + 1, options->tile) +
                                         (ranks - more) * tiles_of(each, options->tile)));
    wanted.read_bytes = batch * (ranks * HEADS * DIM * BF16 + 2 * context * DIM * BF16);
    wanted.copies = batch * merges(case_number, cubes) * (options->packed ? 1 : 3);
    wanted.sent_bytes = batch * merges(case_number, cubes) * HEADS * (DIM + 2) * F32;
    return wanted;
}

static void check_counts(const struct study_options *options, uint32_t case_number,
                         uint64_t context)
{
    struct machine_params params = decode_machine(NULL);
    struct decode decode;
    decode_run(&decode, &params, options, case_number, context);
    struct wanted wanted = wanted_of(case_number, context, options);
    EQUAL(decode.group0.cpu.counts[COUNT_IPCQ_COPY], wanted.copies);
    EQUAL(decode.group0.cpu.counts[COUNT_DMA_READ], wanted.reads);
    EQUAL(decode.group0.cpu.counts[COUNT_DMA_WRITE], options->batch);
    EQUAL(decode.group0.dma.read_bytes, wanted.read_bytes);
    EQUAL(decode.group0.ipcq.sent_bytes, wanted.sent_bytes);
    EQUAL(decode.group0.ipcq.received_bytes, wanted.sent_bytes);
    EQUAL(decode.group0.dma.write_bytes, options->batch * HEADS * DIM * BF16);
    EQUAL(decode.group0.sched.useful_macs, options->batch * 2 * context * HEADS * DIM);
    /* All groups do the same. */
    EQUAL(decode.total.cpu.counts[COUNT_IPCQ_COPY], wanted.copies * decode.problem.groups);
    EQUAL(decode.total.dma.read_bytes, wanted.read_bytes * decode.problem.groups);
    EQUAL(decode.total.sched.useful_macs, decode.group0.sched.useful_macs * decode.problem.groups);
    decode_fini(&decode);
}

static void test_counts(void)
{
    static const uint32_t cubes[] = {1, 4, 8};
    for (uint32_t number = 1; number <= 4; number++)
        for (int i = 0; i < CONTEXTS; i++)
            for (int c = 0; c < 3; c++)
                for (int packed = 0; packed <= 1; packed++) {
                    struct study_options options = decode_options();
                    options.cubes_per_group = cubes[c];
                    options.packed = packed;
                    options.batch = packed ? 3 : 1;
                    options.tile = i % 2 ? 1024 : 96;
                    check_counts(&options, number, contexts[i]);
                }
}

/* The study's own numbers, as the report gives them. */
static void test_counts_of_the_report(void)
{
    static const uint64_t copies[] = {21, 0, 21, 189}, reads[] = {24, 17, 24, 192};
    struct study_options options = decode_options();
    for (uint32_t number = 1; number <= 4; number++) {
        struct wanted wanted = wanted_of(number, 8192, &options);
        EQUAL(wanted.copies, copies[number - 1]);
        EQUAL(wanted.reads, reads[number - 1]);
    }
}

/* The bytes on the links between CUBEs: every state and every credit that crosses one. */
static void test_link_bytes(void)
{
    struct study_options options = decode_options();
    struct machine_params params = decode_machine(NULL);
    for (uint32_t number = 1; number <= 4; number++) {
        struct decode decode;
        decode_run(&decode, &params, &options, number, 8192);
        uint64_t on_links = 0, crossings = number == 1 || number == 4 ? 7 : 0;
        for (uint32_t cube = 0; cube < 16; cube++)
            for (int link = 0; link < 2 * DIRECTIONS; link++)
                on_links += rig_cube(&decode.rig, cube).links.bytes[link];
        uint64_t state = HEADS * (DIM + 2) * F32, credits = 3 * params.ipcq.credit_bytes;
        EQUAL(on_links, decode.problem.groups * crossings * (state + credits));
        decode_fini(&decode);
    }
}

/* The GEMM engine's steps: 32 x 64 x 32 each, for M = 8 one row of tiles. */
static void test_gemm_steps(void)
{
    struct study_options options = decode_options();
    struct machine_params params = decode_machine(NULL);
    for (uint32_t number = 1; number <= 4; number++) {
        struct decode decode;
        decode_run(&decode, &params, &options, number, 8192);
        EQUAL(decode.group0.gemm.steps, 2 * (8192 / 32) * (DIM / 64));
        decode_fini(&decode);
    }
}

/* ---- lower bounds and monotony ---- */

/* No PE reads faster than its share, no state is merged without its copies. */
static void test_lower_bounds(void)
{
    struct machine_params params = decode_machine(NULL);
    struct rate share = rate_divide(params.hbm.rate, 8);
    for (uint32_t number = 1; number <= 4; number++)
        for (int i = 0; i < CONTEXTS; i++) {
            struct study_options options = decode_options();
            struct decode decode;
            decode_run(&decode, &params, &options, number, contexts[i]);
            uint64_t most = 0;
            for (uint32_t cube = 0; cube < 16; cube++)
                for (uint32_t pe = 0; pe < 8; pe++)
                    most = time_max(most, rig_pe(&decode.rig, cube, pe).dma.read_bytes);
            uint64_t read = rate_duration(share, most);
            uint64_t inner = number >= 3 ? 7 * 3 * params.ipcq.copy_ps[LEVEL_PE] : 0;
            uint64_t outer =
                number == 1 || number == 4 ? 7 * 3 * params.ipcq.copy_ps[LEVEL_CUBE] : 0;
            /* Copies of m, l and O of one state follow each other, those of a chain, too. */
            CU_ASSERT_TRUE(decode.latency_ps >= read + inner + outer);
            CU_ASSERT_TRUE(decode.latency_ps < 4 * (read + inner + outer) + 20000000);
            decode_fini(&decode);
        }
}

/* Making one part faster never makes a case slower: nothing contends here but a PE with itself. */
static void test_faster_parts(void)
{
    static const char *const faster[] = {
        "hbm.bandwidth_gbps=2400",
        "hbm.latency_ns=0",
        "hbm.refresh_busy_ns=0",
        "cube_link.bandwidth_gbps=1024",
        "pe_link.bandwidth_gbps=1024",
        "cube_link.latency_ns=0.001",
        "pe_link.latency_ns=0.001",
        "pe_router.latency_ns=0",
        "cpu.issue_composite_ns=0",
        "cpu.issue_math_ns=0",
        "cpu.issue_load_ns=0",
        "cpu.issue_send_ns=0",
        "cpu.issue_recv_ns=0",
        "math.startup_ns=0",
        "math.lanes=256",
        "gemm.macs_per_cycle=8192",
        "gemm.fill_cycles=0",
        "dma.setup_ns=0",
        "dma.request_ns=0",
        "ipcq.copy_pe_ns=0",
        "ipcq.copy_cube_ns=0",
        "scratch.bandwidth_gbps=1024",
    };
    static const uint64_t some[] = {1000, 8192, 20000};
    struct machine_params plain = decode_machine(NULL);
    struct study_options options = decode_options();
    uint64_t before[4][3];
    for (uint32_t number = 1; number <= 4; number++)
        for (int c = 0; c < 3; c++)
            before[number - 1][c] = decode_latency(&plain, &options, number, some[c]);
    for (size_t i = 0; i < sizeof faster / sizeof *faster; i++) {
        struct machine_params params = decode_machine(faster[i]);
        for (uint32_t number = 1; number <= 4; number++)
            for (int c = 0; c < 3; c++) {
                uint64_t after = decode_latency(&params, &options, number, some[c]);
                if (after > before[number - 1][c])
                    fprintf(stderr, "\n  %s: case %u at %llu: %llu ps, was %llu\n", faster[i],
                            number, (unsigned long long)some[c], (unsigned long long)after,
                            (unsigned long long)before[number - 1][c]);
                CU_ASSERT_TRUE(after <= before[number - 1][c]);
            }
    }
}

/* More tokens never take less time. */
static void test_longer_contexts(void)
{
    struct machine_params params = decode_machine(NULL);
    struct study_options options = decode_options();
    for (uint32_t number = 1; number <= 4; number++) {
        uint64_t before = 0;
        for (uint64_t context = 1024; context <= 65536; context *= 2) {
            uint64_t latency = decode_latency(&params, &options, number, context);
            CU_ASSERT_TRUE(latency > before || number == 4);
            CU_ASSERT_TRUE(latency >= before);
            before = latency;
        }
    }
}

/* ---- equalities ---- */

static void test_one_cube(void)
{
    struct machine_params params = decode_machine(NULL);
    for (int i = 0; i < CONTEXTS; i++) {
        struct study_options options = decode_options();
        options.cubes_per_group = 1;
        options.batch = 1 + (uint32_t)i % 3;
        EQUAL(decode_latency(&params, &options, 1, contexts[i]),
              decode_latency(&params, &options, 2, contexts[i]));
        EQUAL(decode_latency(&params, &options, 3, contexts[i]),
              decode_latency(&params, &options, 4, contexts[i]));
    }
}

/* Groups share no link, so the number of groups changes nothing. */
static void test_groups_do_not_meet(void)
{
    struct machine_params wide = decode_machine(NULL), narrow = wide;
    narrow.geometry.cubes.rows = 2;
    for (uint32_t number = 1; number <= 4; number++) {
        struct study_options options = decode_options();
        EQUAL(decode_latency(&wide, &options, number, 8192),
              decode_latency(&narrow, &options, number, 8192));
    }
}

static uint64_t digest_of(const struct study_options *options, uint32_t number, uint64_t context)
{
    struct machine_params params = decode_machine(NULL);
    struct decode decode;
    decode_run(&decode, &params, options, number, context);
    uint64_t digest = rig_digest(&decode.rig);
    decode_fini(&decode);
    return digest;
}

static void test_record_ahead(void)
{
    static const uint32_t bounds[] = {1, 2, 7, 256, UINT32_MAX};
    for (uint32_t number = 1; number <= 4; number++)
        for (int i = 0; i < CONTEXTS; i++) {
            struct study_options options = decode_options();
            options.batch = 1 + (uint32_t)i % 2;
            uint64_t wanted = digest_of(&options, number, contexts[i]);
            for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
                options.record_ahead = bounds[b];
                CU_ASSERT_EQUAL(digest_of(&options, number, contexts[i]), wanted);
            }
        }
}

/* Long lookahead: rounds follow the emissions, not the context. */
static void test_rounds(void)
{
    struct machine_params params = decode_machine(NULL);
    struct study_options options = decode_options();
    for (uint32_t number = 1; number <= 4; number++)
        for (uint64_t context = 8192; context <= 1 << 19; context *= 8) {
            struct decode decode;
            decode_run(&decode, &params, &options, number, context);
            uint64_t emissions = number == 1 || number == 4 ? 2 * 7 * 3 : 0; /* of a group */
            CU_ASSERT_TRUE(decode.stats.rounds < 4 * emissions + 8);
            CU_ASSERT_TRUE(decode.stats.events > 100 * decode.stats.rounds);
            decode_fini(&decode);
        }
}

CHECK_MAIN("study/laws", CHECK_TEST(test_counts), CHECK_TEST(test_counts_of_the_report),
           CHECK_TEST(test_link_bytes), CHECK_TEST(test_gemm_steps), CHECK_TEST(test_lower_bounds),
           CHECK_TEST(test_faster_parts), CHECK_TEST(test_longer_contexts),
           CHECK_TEST(test_one_cube), CHECK_TEST(test_groups_do_not_meet),
           CHECK_TEST(test_record_ahead), CHECK_TEST(test_rounds))
