/* post() and poll() over MPI: one message each, of a header, the events and their payloads. */
#include <limits.h>
#include <string.h>

#include "pdes/transport_mpi_internal.h"
#include "support/error.h"
#include "support/memory.h"

struct header {
    uint64_t count;
    uint64_t payload_bytes;
    struct note note;
};

/* Forgets the posted messages that have left. */
static void reap(struct transport_mpi *self)
{
    for (uint32_t i = 0; i < self->posted_count;) {
        int done;
        MPI_Test(&self->posted[i].request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            i++;
            continue;
        }
        memory_free(self->posted[i].data);
        self->posted[i] = self->posted[--self->posted_count];
    }
}

static struct posted *new_posted(struct transport_mpi *self, size_t bytes)
{
    if (self->posted_count == self->posted_capacity) {
        self->posted_capacity = self->posted_capacity ? 2 * self->posted_capacity : 16;
        self->posted = memory_resize(self->posted, self->posted_capacity, sizeof *self->posted);
    }
    struct posted *posted = &self->posted[self->posted_count++];
    posted->data = memory_new(bytes, 1);
    return posted;
}

void mpi_post(struct transport *transport, struct mailbox *box)
{
    struct transport_mpi *self = (struct transport_mpi *)transport;
    const struct batch *out = &box->out;
    struct header header = {out->count, out->bytes_count, box->tell};
    size_t events = out->count * sizeof(struct event);
    size_t bytes = sizeof header + events + out->bytes_count;
    if (bytes > INT_MAX)
        error_bug("%zu bytes in one message", bytes);
    struct posted *posted = new_posted(self, bytes);
    uint8_t *at = posted->data;
    memcpy(at, &header, sizeof header);
    if (events > 0)
        memcpy(at + sizeof header, out->events, events);
    if (out->bytes_count > 0)
        memcpy(at + sizeof header + events, out->bytes, out->bytes_count);
    MPI_Isend(at, (int)bytes, MPI_BYTE, (int)box->peer, TAG_POST, self->comm, &posted->request);
    self->base.messages++;
    self->base.bytes += bytes;
    box->posted++;
    batch_clear(&box->out);
    reap(self);
}

static struct mailbox *box_of(struct transport_mpi *self, int peer)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->boxes[i].peer == (uint32_t)peer)
            return &self->boxes[i];
    error_bug("rank %u got a message of rank %d, no neighbour", self->base.rank, peer);
}

static void take(struct transport_mpi *self, struct mailbox *box)
{
    struct header header;
    const uint8_t *at = self->received;
    memcpy(&header, at, sizeof header);
    /* The room is aligned for events, and so is what follows the header. */
    const struct event *events = (const struct event *)(const void *)(at + sizeof header);
    batch_append(&box->in, events, (uint32_t)header.count,
                 at + sizeof header + header.count * sizeof *events, header.payload_bytes);
    mailbox_hear(box, header.note);
}

static bool take_one(struct transport_mpi *self)
{
    MPI_Message message;
    MPI_Status status;
    int found, bytes;
    MPI_Improbe(MPI_ANY_SOURCE, TAG_POST, self->comm, &found, &message, &status);
    if (!found)
        return false;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if ((uint64_t)bytes > self->received_bytes) {
        self->received_bytes = 2 * (uint64_t)bytes;
        self->received = memory_resize(self->received, self->received_bytes, 1);
    }
    MPI_Mrecv(self->received, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    take(self, box_of(self, status.MPI_SOURCE));
    return true;
}

void mpi_poll(struct transport *transport)
{
    struct transport_mpi *self = (struct transport_mpi *)transport;
    while (take_one(self))
        continue;
    reap(self);
}

void mpi_tally_start(struct transport *transport, const uint64_t *values)
{
    struct transport_mpi *self = (struct transport_mpi *)transport;
    memcpy(self->tally_in, values, sizeof self->tally_in);
    MPI_Iallreduce(self->tally_in, self->tally_out, TALLY_WORDS, MPI_UINT64_T, MPI_SUM, self->comm,
                   &self->tally);
}

bool mpi_tally_done(struct transport *transport, uint64_t *sums)
{
    struct transport_mpi *self = (struct transport_mpi *)transport;
    int done;
    MPI_Test(&self->tally, &done, MPI_STATUS_IGNORE);
    if (done)
        memcpy(sums, self->tally_out, sizeof self->tally_out);
    return done;
}

void mpi_post_fini(struct transport_mpi *self)
{
    for (uint32_t i = 0; i < self->posted_count; i++) {
        MPI_Wait(&self->posted[i].request, MPI_STATUS_IGNORE);
        memory_free(self->posted[i].data);
    }
    memory_free(self->posted);
    memory_free(self->received);
}
