/* What a machine file says of its memory, as it was read; banks.c makes a struct dram of it. */
#ifndef AHBM_MACHINE_DRAM_PARAMS_H
#define AHBM_MACHINE_DRAM_PARAMS_H

#include <stdint.h>

#include "support/units.h"

enum hbm_model { HBM_FLAT, HBM_BANKS };
enum hbm_page { HBM_PAGE_OPEN, HBM_PAGE_CLOSED };
enum hbm_scheduler { HBM_FR_FCFS, HBM_ROUND_ROBIN };

/* What an address is made of, above the bytes of a block: the order of hbm.mapping. */
enum hbm_field { HBM_ROW, HBM_BANK, HBM_GROUP, HBM_COLUMN, HBM_FIELDS };

struct dram_params {
    uint64_t tck_ps;       /* period of the command clock */
    struct rate data_rate; /* ps per transfer of a pin */
    uint64_t width_bits;   /* of a pseudo-channel */
    uint64_t burst_length; /* transfers */
    uint64_t bank_groups, banks_per_group;
    uint64_t page_bytes; /* a bank's row */
    struct timing cl, cwl, trcd_rd, trcd_wr, trp, tras, trc, trrd_s, trrd_l, tfaw, tccd_s, tccd_l,
        trtp, twr, twtr_s, twtr_l, trtw, trefi, trfc, trfc_pb;
    struct timing bus_act, bus_pre; /* on the bus for row commands */
    struct timing controller;       /* arrival to command, and data to requester, together */
    uint32_t refresh;               /* enum dram_refresh */
    uint32_t page;                  /* enum hbm_page */
    uint32_t scheduler;             /* enum hbm_scheduler */
    uint32_t mapping;               /* enum hbm_field, 4 bits each, the most significant first */
    uint64_t block_bytes;           /* consecutive bytes of a pseudo-channel below the mapping */
    uint32_t bank_xor;              /* 0 or 1 */
    uint32_t bank_xor_shift;
    uint64_t bank_queue, hit_cap; /* bursts */
};

#endif
