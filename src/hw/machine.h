/* The state of a CUBE, shared by the files of this layer only. Parts talk through messages; each
 * part's functions touch its own struct, and the PE's table of commands in flight. */
#ifndef AHBM_HW_MACHINE_H
#define AHBM_HW_MACHINE_H

#include "hw/cube.h"
#include "pdes/engine.h"
#include "hw/msg.h"
#include "hw/outlook.h"
#include "hw/server.h"

enum { RANGES = 8, CHANNELS_MAX = 64, SLOTS_START = 8, NO_SLOT = 0xffff };

/* Bytes [first, end) of one memory. */
struct range {
    uint64_t first, end;
    uint32_t memory; /* 0: scratch; 1 + pe: that PE's HBM share */
};

struct cause {
    uint64_t command;
    uint32_t cube;
    uint16_t pe;
    uint8_t kind; /* enum trace_cause */
};

/* A command in flight; what every sub-tile touches comes first. */
struct slot {
    /* transfers and messages: bytes not yet done; composites: the scheduler's plan */
    uint64_t bytes_left;
    uint64_t m_tiles, k_tiles, n_tiles;
    uint64_t fetch_k, fetch_n, fetch_addr; /* next sub-tile */
    uint64_t steps_left, k_left;           /* sub-tiles of the plan; of the current output tile */
    uint64_t n_done;                       /* output tiles */
    uint64_t epilogues_left;
    uint64_t least_end_ps; /* it does not end before; 0: nothing known (forecast.c) */
    uint64_t number;       /* in the program, from 1 */
    struct command command;
    uint32_t place;         /* in pe->in_flight */
    uint64_t last_fragment; /* messages: of this command, counted over its queue from 1 ... */
    uint64_t message;       /* ... and its own number in its queue, from 0 */
    uint64_t issue_ps, start_ps;
    struct cause cause;
    struct range reads[RANGES], writes[RANGES];
    uint32_t n_reads, n_writes;
};

enum cpu_state { CPU_IDLE, CPU_READY, CPU_STALLED, CPU_BLOCKED, CPU_ENDED };

/* The queues that commands enter, each with a limit of its own. */
enum {
    CPU_QUEUE_SCHED,
    CPU_QUEUE_DMA,
    CPU_QUEUE_SENDS, /* + the queue pair */
    CPU_QUEUE_RECVS = CPU_QUEUE_SENDS + QUEUES,
    CPU_QUEUE_NONE = CPU_QUEUE_RECVS + QUEUES, /* no limit: the command holds the CPU */
    CPU_QUEUES
};

struct cpu {
    enum cpu_state state;
    uint16_t draft;         /* slot of the command taken from the program and not yet issued */
    uint16_t blocked_on;    /* slot, in CPU_BLOCKED */
    uint8_t stall;          /* in CPU_STALLED: the trace_cause that will end it */
    struct cause cause;     /* why the next command can be issued now */
    uint64_t commands;      /* taken from the program */
    uint64_t busy_until_ps; /* least end of what has been issued, in CPU time */
    uint64_t serial_ps;     /* serial work issued so far (outlook.h) */
    uint64_t busy_ps;
    /* accepted by the engines and not ended; what bounds the commands in flight */
    uint64_t accepted[CPU_QUEUES];
    uint64_t sent[QUEUES], taken[QUEUES]; /* sends and receives issued so far */
    uint64_t out[QUEUES], in[QUEUES];     /* their fragments */
    uint64_t emitted;                     /* commands issued that make something leave the CUBE */
};

/* A ring of small numbers, its capacity fixed when it is made. */
struct ring {
    uint16_t *items;
    uint32_t capacity, first, count;
};

struct sched {
    struct ring fetch;    /* slots whose operand is still being fetched */
    uint64_t in_pipeline; /* sub-tiles fetched, or being fetched, and not yet multiplied */
};

struct dma_request {
    struct access access;
    uint64_t addr, bytes_left;
    bool first; /* of its operand */
};

/* A sub-tile on its way: it may come in several requests, and those out of order. */
struct dma_fetch {
    uint64_t first, end; /* addresses */
    uint64_t bytes_left;
    uint16_t slot;
};

struct dma {
    struct dma_request *jobs; /* ring */
    uint32_t capacity, first, count;
    struct dma_fetch *fetches; /* room for `pipeline_depth` */
    uint32_t fetches_count;
    uint64_t outstanding;
    uint64_t last_issue_ps; /* requests leave in order */
    struct activity activity;
    uint64_t channel_free_ps[CHANNELS_MAX];
};

struct hbm_share {
    struct server *channels; /* pseudo-channels */
    uint64_t *refresh_at_ps; /* start of each channel's next refresh */
    uint64_t read_bytes, write_bytes;
    uint64_t own_bytes[STREAMS]; /* accepted from the own PE (outlook.h) */
};

struct arrived {
    uint64_t command;
    uint64_t shape; /* rows << 32 | cols */
    uint32_t origin;
    uint32_t bytes;
    uint16_t payload; /* handle, with values */
    uint8_t dtype;
};

/* The packets of one queue that another CUBE has sent and that lie in the LP's queue, in order. */
struct inbound {
    struct inbound_packet {
        uint64_t time;
        uint64_t bytes;
    } * packets; /* ring of `room`, which grows to `slots` */
    uint32_t first, count, room;
    uint64_t came; /* before these */
};

struct ipcq_queue {
    struct ring sends, recvs;
    struct inbound data, credit_packets;
    struct arrived *arrived; /* ring of `room`, which grows to `slots` */
    uint32_t arrived_first, arrived_count, arrived_room;
    uint32_t peer; /* IPCQ unit at the other end; NO_PEER */
    uint32_t link; /* to another CUBE: the first one on the way */
    uint32_t credits;
    uint64_t copy_end_ps;  /* of the copy in progress; 0: none */
    uint64_t drain_end_ps; /* of the drain in progress; 0: none */
    uint64_t fragment;     /* bytes of the copy in progress */
    uint64_t received;     /* receives that have ended */
    struct cause credit;   /* the last credit's */
};

#define NO_PEER UINT32_MAX

struct ipcq {
    struct ipcq_queue queue[QUEUES];
    struct activity activity;
};

struct link {
    struct server server;
    uint64_t bytes, packets, wait_max_ps;
};

/* What every sub-tile touches comes first. */
struct pe {
    struct slot *slots; /* the table of commands in flight */
    struct sched sched;
    struct server gemm, math;
    uint64_t gemm_last, math_last; /* number of the last command they served */
    uint64_t scratch_cycles;       /* accepted of plans that need nothing from HBM */
    struct hbm_share hbm;
    struct dma dma;
    struct pe_result result;
    struct cpu cpu;
    uint32_t slots_count, free_count, in_flight_count;
    uint16_t *free_slots; /* stack */
    uint16_t *in_flight;  /* issued and not ended, in no order */
    struct program *program;
    uint64_t emissions; /* commands of the program that make something leave the CUBE */
    struct outlook outlook;
    struct ipcq ipcq;
    struct link links[DIRECTIONS];
};

/* A packet that lies in the LP's queue and will be passed on to another CUBE. */
struct passing {
    uint64_t time;
    uint32_t src, seq;
};

struct cube {
    const struct hw_params *params;
    struct lp *lp;
    struct trace_sink *trace;
    struct value_engine *values; /* NULL: only times */
    uint32_t id;
    uint32_t pes;
    bool short_sighted; /* cube_forgo_lookahead() */
    struct pe *pe;
    struct link links[2 * DIRECTIONS];
    struct passing *passing;
    uint32_t passing_count, passing_capacity;
    /* derived from the parameters */
    uint32_t share_channels;
    struct rate channel_rate; /* ps per byte of one pseudo-channel */
    struct cost cost;         /* outlook.h */
};

static inline struct cube *cube_of(struct lp *lp)
{
    return lp->state;
}

static inline struct pe *pe_of(struct lp *lp, const struct event *event)
{
    return &cube_of(lp)->pe[unit_pe(event->dst)];
}

/* From part `from` of the event's PE to part `to` of the same PE. */
static inline struct event *send_part(struct lp *lp, const struct event *event, enum part to,
                                      enum message message, uint64_t time)
{
    uint32_t pe = unit_pe(event->dst);
    return lp_send(lp, event->dst, unit_of(lp->id, pe, to), (uint16_t)message, time);
}

/* A larger ring with the items of the old one, which is freed, from its beginning on. Queues have
 * room for what has come at one time: a machine with many slots costs no more than one with few. */
void *grown_ring(void *items, size_t bytes, uint32_t first, uint32_t *room, uint64_t most);

void ring_init(struct ring *ring, uint32_t capacity);
void ring_fini(struct ring *ring);
void ring_push(struct ring *ring, uint16_t item);
uint16_t ring_pop(struct ring *ring);
uint16_t ring_head(const struct ring *ring);

/* scoreboard.c */
void slot_note_ranges(struct slot *slot);
/* Whether a command must wait for `other`, which is in flight and writes what it touches, or reads
 * what it writes (so WAIT, whose only operand is `out`, waits for all that touches that). */
bool slot_conflict(const struct slot *slot, const struct slot *other);
/* Whether it must wait for any command in flight. */
bool scoreboard_conflict(const struct pe *pe, const struct slot *slot);

/* cpu.c: the queue that the command enters. */
uint32_t cpu_queue(const struct command *command);

/* Notes that a slot's engine begins at `start`, and why: the cause of its issue, or `busy_with`
 * when the engine was busy with that command of the same PE at `now`. */
void slot_start(struct slot *slot, uint64_t now, uint64_t start, uint64_t busy_with);

/* math.c: cycles of a MATH command, without its start-up. */
uint64_t math_cycles(const struct hw_params *params, const struct command *command);

/* hbm.c: least time at which the PE's share could have served `bytes` more, none of them accepted
 * before `from`. */
uint64_t hbm_earliest(const struct cube *cube, const struct pe *pe, uint64_t from, uint64_t bytes);

/* noc.c */
struct event *packet_send(struct lp *lp, uint32_t from, uint32_t destination, enum packet_kind kind,
                          uint32_t queue, uint64_t bytes, uint64_t time);

/* inbound.c: packets from other CUBEs that lie in the LP's queue. */
void cube_announce(struct lp *lp, const struct event *event);
void inbound_remove(struct cube *cube, const struct event *event);
/* When packet `number` of its queue, counted from 1, comes: 0: it has come; TIME_NEVER: it has not
 * been sent yet. */
uint64_t inbound_time(const struct inbound *inbound, uint64_t number);

/* promise.c */
uint64_t cube_promise(struct lp *lp, uint64_t next_event);
uint64_t cube_reaction(const struct lp *lp, uint32_t to);

/* late.c: simulated time has run out. */
void cube_late(struct lp *lp, uint32_t src);

#define X(id, handler) lp_handler handler;
HW_MESSAGES(X)
#undef X

#endif
