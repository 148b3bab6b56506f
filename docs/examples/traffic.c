/* Traffic in the PE mesh: every PE stores messages to the shares of others, at a rate. A kernel of
 * its own (docs/machine.md, Network). Build and run:
 *
 *     cc -shared -fPIC -O2 -I include docs/examples/traffic.c -o traffic.so
 *     ahbm-pdes --kernel ./traffic.so --set network.switching=cut_through
 *         --kernel-option pattern=transpose --kernel-option bytes=4096 --kernel-option idle=100
 *
 * Between two stores a PE idles for `idle` cycles of its MATH engine, and math.startup_ns: that
 * sets the offered rate, until its DMA engine has as many stores under way as it takes. The
 * accepted rate of a PE is messages * bytes / latency_ps. points/pe_link_bytes and pe_link_busy_ps
 * say what each link carried, points/op_time_ps how long stores took.
 */
#include <ahbm/kernel.h>

#include <stdio.h>

enum {
    LANES = 128,
    F32_BYTES = 4,
    PLACES = 16,
    PATTERN_UNIFORM = 0,
    PATTERN_NEIGHBOUR,
    PATTERN_TRANSPOSE
};

enum { OWN_PATTERN, OWN_BYTES, OWN_MESSAGES, OWN_IDLE };
static const char *const patterns[] = {"uniform", "neighbour", "transpose", "hot-spot", NULL};
static const struct tl_own_option own[] = {
    [OWN_PATTERN] = {.name = "pattern", .help = "who stores to whom", .words = patterns},
    [OWN_BYTES] = {.name = "bytes",
                   .help = "bytes of a message, in steps of 4",
                   .least = 4,
                   .most = 65536,
                   .initial = 1024},
    [OWN_MESSAGES] = {.name = "messages",
                      .help = "messages of a PE",
                      .least = 1,
                      .most = 1000000,
                      .initial = 1000},
    [OWN_IDLE] = {.name = "idle",
                  .help = "cycles of the MATH engine between two messages; 0: none",
                  .least = 0,
                  .most = 1000,
                  .initial = 0},
    {0},
};

/* The PE to whose share message `number` goes. */
static uint32_t target(struct tl *tl, const struct tl_launch *launch, uint64_t number)
{
    uint32_t columns = launch->pe_columns, rows = launch->pe_rows;
    struct tl_position at = tl_position(tl, TL_AXIS_PE, launch->pe);
    switch (launch->own[OWN_PATTERN]) {
    case PATTERN_UNIFORM: {
        uint64_t x = ((uint64_t)launch->pe << 32 | number) * UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
        return (uint32_t)((x >> 40) % launch->pes);
    }
    case PATTERN_NEIGHBOUR: /* one to the east and south, round the grid */
        return tl_index_at(tl, TL_AXIS_PE,
                           (struct tl_position){(at.x + 1) % columns, (at.y + 1) % rows});
    case PATTERN_TRANSPOSE: /* x and y change places, as far as the grid is square */
        return tl_index_at(tl, TL_AXIS_PE, (struct tl_position){at.y % columns, at.x % rows});
    default: /* hot spot */
        return 0;
    }
}

static void choose(struct tl_launch *launch)
{
    launch->phase = TL_PHASE_DECODE;
    launch->query_len = launch->query_len > 0 ? launch->query_len : 1;
    launch->tile = launch->tile > 0 ? launch->tile : 1;
    launch->ring_depth = launch->query_block = 0;
    launch->q_base = launch->k_base = launch->v_base = launch->o_base = 0;
    launch->q_stride = launch->o_stride = launch->kv_stride = 0;
}

static bool check(const struct tl_launch *launch, char *why, size_t size)
{
    snprintf(why, size, "--kernel-option: bytes: a multiple of 4 is expected");
    return launch->own[OWN_BYTES] % F32_BYTES == 0;
}

/* Places for each sender: stores to one place wait for each other. */
static void layout(const struct tl_launch *launch, struct tl_visitor *visitor)
{
    struct tl_region region = {.tensor = TL_DATA,
                               .bytes = launch->pes * PLACES * (uint64_t)launch->own[OWN_BYTES]};
    visitor->visit(visitor, &region);
}

static void traffic(struct tl *tl, const struct tl_launch *launch)
{
    uint32_t count = (uint32_t)(launch->own[OWN_BYTES] / F32_BYTES);
    uint32_t idle = (uint32_t)launch->own[OWN_IDLE] * LANES;
    struct tl_tensor message = tl_full(tl, 1, count, TL_F32, 1);
    struct tl_tensor clock = tl_full(tl, 1, idle > 0 ? idle : 1, TL_F32, 0);
    for (uint64_t i = 0; i < (uint64_t)launch->own[OWN_MESSAGES]; i++) {
        uint64_t place = (uint64_t)launch->pe * PLACES + i % PLACES;
        tl_store(tl,
                 tl_ref(tl, target(tl, launch, i), place * (uint64_t)launch->own[OWN_BYTES], 1,
                        count, TL_F32),
                 message);
        if (idle > 0)
            tl_full_to(tl, clock, 0);
    }
}

const struct tl_kernel_info ahbm_kernel = {
    .abi = TL_KERNEL_ABI,
    .name = "traffic",
    .summary = "stores to the shares of other PEs in a pattern, at a rate",
    .run = traffic,
    .phase = TL_PHASE_DECODE,
    .placement = TL_PLACE_FIXED | TL_PLACE_PE_SP,
    .group_cubes = 1,
    .choose = choose,
    .check = check,
    .layout = layout,
    .own = own,
};
