/* What the two files of the MPI transport share. */
#ifndef AHBM_PDES_TRANSPORT_MPI_INTERNAL_H
#define AHBM_PDES_TRANSPORT_MPI_INTERNAL_H

#include "pdes/transport_mpi.h"

/* Message tags: the round's parity keeps a fast neighbour's next round apart from this one. */
enum tag { TAG_ROUND = 0x100, TAG_REST = 0x200, TAG_PAYLOAD = 0x300, TAG_POST = 0x400 };

struct buffer;

/* A message of post() that may still be on its way. */
struct posted {
    MPI_Request request;
    void *data;
};

struct transport_mpi {
    struct transport base;
    MPI_Comm comm;
    MPI_Datatype pair; /* struct least */
    MPI_Op merge;
    struct mailbox *boxes;
    uint32_t count;
    bool all_neighbours; /* of each other: the minimum travels in the headers */
    struct buffer *outgoing;
    struct buffer *incoming;
    MPI_Request *requests; /* 4 per neighbour */
    uint64_t round;
    struct posted *posted;
    uint32_t posted_count, posted_capacity;
    void *received; /* room for one message of post() */
    uint64_t received_bytes;
    MPI_Request tally;
    uint64_t tally_in[TALLY_WORDS], tally_out[TALLY_WORDS];
};

void mpi_post(struct transport *transport, struct mailbox *box);
void mpi_poll(struct transport *transport);
void mpi_tally_start(struct transport *transport, const uint64_t *values);
bool mpi_tally_done(struct transport *transport, uint64_t *sums);
/* Waits for what was posted. */
void mpi_post_fini(struct transport_mpi *self);

#endif
