/* The machine's parameters, in simulated units: times in picoseconds, rates as exact ratios.
 * `io/config` fills them from a machine file; its schema gives each one's key, range, default and
 * origin. */
#ifndef AHBM_HW_PARAMS_H
#define AHBM_HW_PARAMS_H

#include <stdint.h>

#include "prog/geometry.h"
#include "prog/op.h"
#include "support/units.h"

/* A link or port: FIFO occupancy of bytes * rate, then latency. */
struct link_params {
    struct rate rate; /* ps per byte */
    uint64_t latency_ps;
};

struct hw_params {
    struct geometry geometry;
    struct {
        uint64_t query_heads;
        uint64_t kv_heads;
        uint64_t head_dim;
        uint64_t layers;
    } model;
    struct {
        uint64_t issue_ps[OP_COUNT];
    } cpu;
    struct {
        uint64_t tile_m, tile_k, tile_n; /* elements */
        uint64_t pipeline_depth;         /* sub-tiles fetched and not yet multiplied */
        uint64_t queue_commands;         /* composites accepted and not ended */
    } sched;
    struct {
        uint64_t setup_ps;       /* per operand of a command */
        uint64_t request_ps;     /* between two requests of a channel */
        uint64_t channels;       /* that issue requests side by side */
        uint64_t queue_depth;    /* requests outstanding */
        uint64_t request_bytes;  /* the largest request */
        uint64_t queue_commands; /* loads and stores accepted and not ended */
    } dma;
    struct {
        uint64_t capacity_bytes; /* of a CUBE's stack */
        struct rate rate;        /* ps per byte of the whole stack */
        uint64_t pseudo_channels;
        uint64_t interleave_bytes; /* consecutive bytes of one pseudo-channel */
        uint64_t latency_ps;       /* end of the burst to data at the DMA */
        uint64_t refresh_interval_ps;
        uint64_t refresh_busy_ps; /* per interval; 0: no refresh */
    } hbm;
    struct {
        struct rate clock; /* ps per cycle */
        uint64_t macs_per_cycle;
        uint64_t fill_cycles; /* when the array has run empty */
    } gemm;
    struct {
        struct rate clock;
        uint64_t lanes;
        uint64_t startup_ps;                            /* per command */
        uint64_t simple_cycles, exp_cycles, div_cycles; /* per vector of `lanes` elements */
        uint64_t reduce_tail_cycles;                    /* to fold the lanes of the last vector */
    } math;
    struct {
        uint64_t bytes;
        struct rate rate; /* ps per byte of a port */
    } scratch;
    struct {
        uint64_t slots; /* per queue pair */
        uint64_t slot_bytes;
        uint64_t queue_commands;  /* sends (receives) accepted per queue pair and not ended */
        uint64_t credit_bytes;    /* of a credit message */
        uint64_t copy_ps[LEVELS]; /* per copy; inside a CUBE, between CUBEs, between SIPs */
    } ipcq;
    struct link_params link[LEVELS]; /* PE mesh, CUBE mesh, IO dies */
    struct {
        uint64_t host_ps;
    } launch;
};

#endif
