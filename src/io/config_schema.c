#include "io/config_schema.h"

#include <string.h>

#include "hw/params.h"

#define AT(field) offsetof(struct hw_params, field), sizeof(((struct hw_params *)0)->field)
#define NOWHERE 0, 0

/* key, type, field, min, max, default, description, origin */
static const struct config_row rows[] = {
    {"name", CONFIG_TEXT, NOWHERE, "1", "63", "ahbm-sip",
     "the machine's name, in results and titles", "seed: AHBM SIP"},

    {"topology.sips_x", CONFIG_COUNT, AT(geometry.sips.columns), "1", "256", "1",
     "columns of SIPs in the system", "seed: one SIP"},
    {"topology.sips_y", CONFIG_COUNT, AT(geometry.sips.rows), "1", "256", "1",
     "rows of SIPs in the system", "seed: one SIP"},
    {"topology.cubes_x", CONFIG_COUNT, AT(geometry.cubes.columns), "1", "256", "4",
     "columns of CUBEs in a SIP", "seed: 4 x 4 CUBEs"},
    {"topology.cubes_y", CONFIG_COUNT, AT(geometry.cubes.rows), "1", "256", "4",
     "rows of CUBEs in a SIP", "seed: 4 x 4 CUBEs"},
    {"topology.pes_x", CONFIG_COUNT, AT(geometry.pes.columns), "1", "120", "4",
     "columns of PEs in a CUBE", "seed: 8 PEs in a CUBE"},
    {"topology.pes_y", CONFIG_COUNT, AT(geometry.pes.rows), "1", "120", "2",
     "rows of PEs in a CUBE", "seed: 8 PEs in a CUBE"},
    {"topology.cube_network", CONFIG_CHOICE, AT(geometry.cube_torus), "mesh", "torus", "mesh",
     "network of the CUBEs in a SIP; a torus adds wrap links",
     "assumption: no default kernel needs a wrap link"},

    {"model.query_heads", CONFIG_COUNT, AT(model.query_heads), "1", "65536", "64",
     "query heads of the attention layer", "seed: Llama-3-70B"},
    {"model.kv_heads", CONFIG_COUNT, AT(model.kv_heads), "1", "65536", "8",
     "key/value heads of the attention layer; divides query_heads", "seed: Llama-3-70B"},
    {"model.head_dim", CONFIG_COUNT, AT(model.head_dim), "1", "8192", "128", "elements of one head",
     "seed: Llama-3-70B"},
    {"model.layers", CONFIG_COUNT, AT(model.layers), "1", "100000", "80",
     "layers of the model, for the memory of all of them", "seed: Llama-3-70B"},

    {"cpu.issue_composite_ns", CONFIG_NS, AT(cpu.issue_ps[OP_COMPOSITE]), "0", "1000000", "40",
     "CPU time to issue a composite command, in ns", "seed: ADR-0064, about 40 ns"},
    {"cpu.issue_dot_ns", CONFIG_NS, AT(cpu.issue_ps[OP_DOT]), "0", "1000000", "4",
     "CPU time to issue a blocking dot, in ns",
     "assumption: ADR-0064 has primitives far below a composite"},
    {"cpu.issue_load_ns", CONFIG_NS, AT(cpu.issue_ps[OP_LOAD]), "0", "1000000", "4",
     "CPU time to issue a load, in ns", "assumption: as issue_dot_ns"},
    {"cpu.issue_store_ns", CONFIG_NS, AT(cpu.issue_ps[OP_STORE]), "0", "1000000", "4",
     "CPU time to issue a store, in ns", "assumption: as issue_dot_ns"},
    {"cpu.issue_math_ns", CONFIG_NS, AT(cpu.issue_ps[OP_MATH]), "0", "1000000", "2",
     "CPU time to issue a MATH command, in ns", "assumption: half of issue_dot_ns"},
    {"cpu.issue_send_ns", CONFIG_NS, AT(cpu.issue_ps[OP_SEND]), "0", "1000000", "4",
     "CPU time to issue a send, in ns", "assumption: as issue_dot_ns"},
    {"cpu.issue_recv_ns", CONFIG_NS, AT(cpu.issue_ps[OP_RECV]), "0", "1000000", "4",
     "CPU time to issue a recv or a recv_async, in ns", "assumption: as issue_dot_ns"},
    {"cpu.issue_wait_ns", CONFIG_NS, AT(cpu.issue_ps[OP_WAIT]), "0", "1000000", "1",
     "CPU time to issue a wait, in ns", "assumption: one test of a flag"},

    {"scheduler.tile_m", CONFIG_COUNT, AT(sched.tile_m), "1", "65536", "32",
     "rows of a GEMM step, in elements", "seed: TILE_M x TILE_K x TILE_N = 32 x 64 x 32"},
    {"scheduler.tile_k", CONFIG_COUNT, AT(sched.tile_k), "1", "65536", "64",
     "depth of a GEMM step, in elements", "seed: TILE_M x TILE_K x TILE_N = 32 x 64 x 32"},
    {"scheduler.tile_n", CONFIG_COUNT, AT(sched.tile_n), "1", "65536", "32",
     "columns of a GEMM step, in elements", "seed: TILE_M x TILE_K x TILE_N = 32 x 64 x 32"},
    {"scheduler.pipeline_depth", CONFIG_COUNT, AT(sched.pipeline_depth), "1", "1024", "8",
     "sub-tiles fetched and not yet multiplied", "assumption: covers the latency of the stack"},
    {"scheduler.queue_commands", CONFIG_COUNT, AT(sched.queue_commands), "1", "1024", "4",
     "composites accepted and not ended; at the next one the CPU stalls",
     "assumption: a short queue"},

    {"dma.setup_ns", CONFIG_NS, AT(dma.setup_ps), "0", "1000000", "20",
     "set-up per operand of a command, in ns", "assumption: one descriptor"},
    {"dma.request_ns", CONFIG_NS, AT(dma.request_ps), "0", "1000000", "2",
     "time between two requests of a channel, in ns", "assumption: two cycles at 1 GHz"},
    {"dma.channels", CONFIG_COUNT, AT(dma.channels), "1", "64", "2",
     "channels that issue requests side by side", "assumption: one each for reading and writing"},
    {"dma.queue_depth", CONFIG_COUNT, AT(dma.queue_depth), "1", "1024", "16",
     "requests outstanding", "assumption: covers the latency of the stack"},
    {"dma.request_bytes", CONFIG_COUNT, AT(dma.request_bytes), "64", "1048576", "4096",
     "the largest request, in bytes", "assumption: one sub-tile of 64 x 32 bf16"},
    {"dma.queue_commands", CONFIG_COUNT, AT(dma.queue_commands), "1", "1024", "8",
     "loads and stores accepted and not ended; at the next one the CPU stalls",
     "assumption: a short queue"},

    {"hbm.capacity_bytes", CONFIG_COUNT, AT(hbm.capacity_bytes), "1048576", "17592186044416",
     "25769803776", "capacity of a CUBE's stack, in bytes", "public fact: 24 GiB HBM3 stack"},
    {"hbm.bandwidth_gbps", CONFIG_GBPS, AT(hbm.rate), "1", "100000", "1200",
     "bandwidth of a CUBE's whole stack, in 1e9 bytes/s",
     "public fact: HBM3E stack, 1.15-1.2 TB/s"},
    {"hbm.pseudo_channels", CONFIG_COUNT, AT(hbm.pseudo_channels), "1", "4096", "32",
     "pseudo-channels of a stack, an equal share local to each PE",
     "public fact: HBM3, 16 channels of 2 pseudo-channels"},
    {"hbm.interleave_bytes", CONFIG_COUNT, AT(hbm.interleave_bytes), "32", "1048576", "256",
     "consecutive bytes of one pseudo-channel, in bytes", "assumption: four bursts of 64 bytes"},
    {"hbm.latency_ns", CONFIG_NS, AT(hbm.latency_ps), "0", "1000000", "40",
     "end of a burst to data at the DMA, in ns",
     "assumption: idle read of a closed row (32 ns in DRAMsim3 and Ramulator) and a hop"},
    {"hbm.refresh_interval_ns", CONFIG_NS, AT(hbm.refresh_interval_ps), "100", "1000000000", "3900",
     "time between two refreshes, in ns", "public fact: tREFI of HBM3"},
    {"hbm.refresh_busy_ns", CONFIG_NS, AT(hbm.refresh_busy_ps), "0", "1000000", "307",
     "time a refresh takes, in ns; 0 for no refresh; below refresh_interval_ns",
     "fitted: tRFC 260 + 47 ns, to DRAMsim3's HBM2 stream at 0.921 of peak"},

    {"gemm.clock_ghz", CONFIG_GHZ, AT(gemm.clock), "0.01", "100", "1",
     "clock of the MAC array, in 1e9 cycles/s", "assumption: a logic die's usual clock"},
    {"gemm.macs_per_cycle", CONFIG_COUNT, AT(gemm.macs_per_cycle), "1", "16777216", "4096",
     "multiply-accumulates in a cycle", "assumption: a GEMM step takes 16 ns"},
    {"gemm.fill_cycles", CONFIG_COUNT, AT(gemm.fill_cycles), "0", "1000000", "16",
     "cycles to fill the array when it has run empty", "assumption: one GEMM step"},

    {"math.clock_ghz", CONFIG_GHZ, AT(math.clock), "0.01", "100", "1",
     "clock of the vector unit, in 1e9 cycles/s", "assumption: as gemm.clock_ghz"},
    {"math.lanes", CONFIG_COUNT, AT(math.lanes), "1", "16777216", "128", "elements of a vector",
     "assumption: one head dimension in a vector"},
    {"math.startup_ns", CONFIG_NS, AT(math.startup_ps), "0", "1000000", "30",
     "start-up of a MATH command, in ns", "assumption: pipeline fill and descriptor"},
    {"math.simple_cycles", CONFIG_COUNT, AT(math.simple_cycles), "0", "1000000", "1",
     "cycles of a vector for add, sub, mul, maximum and moves", "assumption: fully pipelined"},
    {"math.exp_cycles", CONFIG_COUNT, AT(math.exp_cycles), "0", "1000000", "4",
     "cycles of a vector for exp", "assumption: range reduction and a polynomial in four passes"},
    {"math.div_cycles", CONFIG_COUNT, AT(math.div_cycles), "0", "1000000", "4",
     "cycles of a vector for div", "assumption: iterative at a quarter of the rate"},
    {"math.reduce_tail_cycles", CONFIG_COUNT, AT(math.reduce_tail_cycles), "0", "1000000", "7",
     "cycles to fold the lanes of a reduction's last vector", "assumption: log2 of 128 lanes"},

    {"scratch.capacity_bytes", CONFIG_COUNT, AT(scratch.bytes), "4096", "4294967296", "1048576",
     "scratch memory (TCM) of a PE, in bytes", "seed: 1 MiB"},
    {"scratch.bandwidth_gbps", CONFIG_GBPS, AT(scratch.rate), "1", "1000000", "512",
     "bandwidth of a port of the scratch memory, in 1e9 bytes/s",
     "assumption: 128 f32 lanes at 1 GHz"},

    {"ipcq.slots", CONFIG_COUNT, AT(ipcq.slots), "1", "65536", "4", "slots of a queue pair",
     "assumption: (m, l, O) and one more"},
    {"ipcq.slot_bytes", CONFIG_COUNT, AT(ipcq.slot_bytes), "64", "1073741824", "8192",
     "size of a slot, in bytes", "assumption: holds O of 8 heads x 128 f32 twice"},
    {"ipcq.queue_commands", CONFIG_COUNT, AT(ipcq.queue_commands), "1", "1024", "8",
     "sends (and receives) of a queue pair accepted and not ended", "assumption: twice the slots"},
    {"ipcq.credit_bytes", CONFIG_COUNT, AT(ipcq.credit_bytes), "1", "4096", "16",
     "size of a credit message, in bytes", "assumption: one header"},
    {"ipcq.copy_pe_ns", CONFIG_NS, AT(ipcq.copy_ps[LEVEL_PE]), "0", "1000000", "639.7",
     "cost of a copy inside a CUBE, in ns", "fitted: decode case 3 at S = 8192 takes 20.2 us"},
    {"ipcq.copy_cube_ns", CONFIG_NS, AT(ipcq.copy_ps[LEVEL_CUBE]), "0", "1000000", "652.1",
     "cost of a copy between CUBEs, in ns",
     "fitted: decode case 4 at S = 8192 takes 14 us more than case 3"},
    {"ipcq.copy_sip_ns", CONFIG_NS, AT(ipcq.copy_ps[LEVEL_SIP]), "0", "1000000", "1000",
     "cost of a copy between SIPs, in ns", "assumption: above copy_cube_ns"},

    {"pe_link.bandwidth_gbps", CONFIG_GBPS, AT(link[LEVEL_PE].rate), "0.1", "1000000", "128",
     "bandwidth of a link of the PE mesh, in 1e9 bytes/s",
     "assumption: 128 bytes a cycle at 1 GHz"},
    {"pe_link.latency_ns", CONFIG_NS, AT(link[LEVEL_PE].latency_ps), "0.001", "1000000", "4",
     "latency of a hop of the PE mesh, in ns", "public fact: AMD AIE routers, 4 cycles a hop"},
    {"cube_link.bandwidth_gbps", CONFIG_GBPS, AT(link[LEVEL_CUBE].rate), "0.1", "1000000", "256",
     "bandwidth of a link between CUBEs, in 1e9 bytes/s", "assumption: one UCIe module"},
    {"cube_link.latency_ns", CONFIG_NS, AT(link[LEVEL_CUBE].latency_ps), "0.001", "1000000", "10",
     "latency of a hop between CUBEs, in ns",
     "public fact: UCIe below 2 ns, and 9-12 cycles of adapters"},
    {"sip_link.bandwidth_gbps", CONFIG_GBPS, AT(link[LEVEL_SIP].rate), "0.1", "1000000", "64",
     "bandwidth of a link between SIPs, in 1e9 bytes/s", "assumption: one PCIe 5.0 x16 port"},
    {"sip_link.latency_ns", CONFIG_NS, AT(link[LEVEL_SIP].latency_ps), "0.001", "1000000", "300",
     "latency of a hop between SIPs, in ns", "assumption: two IO dies and a cable"},

    {"launch.host_latency_ns", CONFIG_NS, AT(launch.host_ps), "0", "1000000000", "2000",
     "host launch latency, reported apart from the kernel's, in ns",
     "assumption: a runtime's launch"},
};

size_t config_schema_size(void)
{
    return sizeof rows / sizeof rows[0];
}

const struct config_row *config_schema_row(size_t index)
{
    return &rows[index];
}

bool config_schema_find(const char *key, size_t *index)
{
    for (size_t i = 0; i < config_schema_size(); i++) {
        if (strcmp(rows[i].key, key) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

size_t config_schema_group_length(const struct config_row *row)
{
    const char *dot = strchr(row->key, '.');
    return dot == NULL ? 0 : (size_t)(dot - row->key);
}

bool config_schema_find_group(const char *name, size_t *index)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < config_schema_size(); i++) {
        if (length > 0 && config_schema_group_length(&rows[i]) == length &&
            strncmp(rows[i].key, name, length) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}
