/* What every transport promises (pdes/transport/transport.h), called directly: over the 16 ranks of
 * the launch in MPI messages, in shared memory, and in both over nodes of several shapes; and which
 * of them a run chooses, also where a node lacks the space.
 *
 * What a rank sends in a round is drawn from the round and the pair, so each receiver knows what it
 * must get. With AHBM_LONG_TESTS in the environment there are three times as many rounds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pdes/transport/choice.h"
#include "pdes/transport/hybrid.h"
#include "pdes/transport/messages.h"
#include "pdes/transport/shared.h"
#include "support/hash.h"
#include "support/memory.h"

enum { RANKS_MAX = 16, ROUNDS = 21, LONGER = 3, VALUES = 5 };

static uint64_t failures, rounds = ROUNDS;

static void check(bool holds, const struct transport *transport, const char *what)
{
    if (!holds && failures++ < 5)
        fprintf(stderr, "%s, rank %u of %u: %s\n", transport->ops->name, transport->rank,
                transport->size, what);
}

/* --- what is sent --- */

static uint64_t draw(uint64_t round, uint32_t from, uint32_t to, uint64_t which, uint64_t below)
{
    uint64_t hash = hash_word(hash_word(HASH_START, round), (uint64_t)from << 32 | to);
    return hash_finish(hash_word(hash, which)) % below;
}

static uint32_t events_of(uint64_t round, uint32_t from, uint32_t to)
{
    static const uint64_t most[] = {1, 4, 4, 60, 400};
    return (uint32_t)draw(round, from, to, 0, most[draw(round, from, to, 1, 5)]);
}

/* Every tenth round, rank 1 alone sends rank 2 more than many boxes hold, and nobody else any. */
static uint32_t payload_of(uint64_t round, uint32_t from, uint32_t to, uint32_t event)
{
    if (round % 10 == 3)
        return from == 1 && to == 2 && event < 2 ? 50001 : 0;
    return draw(round, from, to, 2 + event, 8) == 0
               ? 1 + (uint32_t)draw(round, from, to, 3 + event, 3000)
               : 0;
}

static uint8_t byte_of(uint64_t round, uint32_t from, uint32_t i)
{
    return (uint8_t)(round * 31 + from * 7 + i);
}

static void write_batch(struct batch *batch, uint64_t round, uint32_t from, uint32_t to)
{
    uint32_t count = events_of(round, from, to);
    for (uint32_t i = 0; i < count; i++) {
        struct event *event = batch_add(batch);
        *event = (struct event){.time = round, .dst = to, .src = from, .seq = i};
        uint32_t bytes = payload_of(round, from, to, i);
        event->payload = bytes > 0;
        uint8_t *data = bytes > 0 ? batch_add_payload(batch, bytes) : NULL;
        for (uint32_t k = 0; k < bytes; k++)
            data[k] = byte_of(round, from, k);
    }
}

/* Whether the batch is what was sent in that round, and no more. */
static bool holds_only(const struct batch *batch, uint64_t round, uint32_t from, uint32_t to)
{
    uint64_t at = 0;
    if (batch->count != events_of(round, from, to))
        return false;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct event *got = &batch->events[i];
        uint32_t expected = payload_of(round, from, to, i), bytes = 0;
        if (got->time != round || got->src != from || got->dst != to || got->seq != i ||
            got->payload != (expected > 0))
            return false;
        const uint8_t *data = expected > 0 ? batch_payload(batch, &at, &bytes) : NULL;
        if (bytes != expected)
            return false;
        for (uint32_t k = 0; k < bytes; k++)
            if (data[k] != byte_of(round, from, k))
                return false;
    }
    return at == batch->bytes_count;
}

/* --- who is whose neighbour: all, those in a ring, none but 0 to 3, nobody --- */

enum graph { ALL, RING, FOUR, NOBODY, GRAPHS };

static bool neighbours(enum graph graph, uint32_t a, uint32_t b, uint32_t size)
{
    if (a == b)
        return false;
    switch (graph) {
    case ALL:
        return true;
    case RING:
        return (a + 1) % size == b || (b + 1) % size == a;
    case FOUR:
        return a < 4 && b < 4;
    default:
        return false;
    }
}

static uint32_t connect_all(struct transport *transport, enum graph graph, struct mailbox *boxes)
{
    uint32_t count = 0;
    memset(boxes, 0, RANKS_MAX * sizeof *boxes);
    for (uint32_t peer = 0; peer < transport->size; peer++)
        if (neighbours(graph, transport->rank, peer, transport->size)) {
            boxes[count++].peer = peer;
        }
    transport->ops->connect(transport, boxes, count);
    return count;
}

static void drop_all(struct mailbox *boxes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        batch_fini(&boxes[i].out);
        batch_fini(&boxes[i].in);
    }
}

/* --- rounds --- */

static uint64_t value_of(uint64_t round, uint32_t rank, uint32_t index)
{
    return draw(round, rank, index, 77, 40); /* ties are frequent */
}

static void least_of_all(struct least *values, uint64_t round, uint32_t size)
{
    for (uint32_t i = 0; i < VALUES; i++) {
        values[i] = LEAST_NONE;
        for (uint32_t rank = 0; rank < size; rank++)
            least_add(&values[i], value_of(round, rank, i));
    }
}

static void own_values(struct least *values, uint64_t round, uint32_t rank)
{
    for (uint32_t i = 0; i < VALUES; i++)
        values[i] = (struct least){value_of(round, rank, i), UINT64_MAX};
}

static void test_minimum(struct transport *transport, uint64_t round)
{
    struct least values[VALUES], expected[VALUES];
    own_values(values, round, transport->rank);
    transport->ops->minimum(transport, values, VALUES);
    least_of_all(expected, round, transport->size);
    check(memcmp(values, expected, sizeof values) == 0, transport, "a minimum");
}

/* With values in some rounds, without any in others, as the two kinds of models do. */
static void one_round(struct transport *transport, struct mailbox *boxes, uint32_t count,
                      uint64_t round)
{
    struct least values[VALUES], expected[VALUES];
    uint32_t with = round % 3 == 0 ? 0 : VALUES;
    own_values(values, round, transport->rank);
    for (uint32_t i = 0; i < count; i++)
        write_batch(&boxes[i].out, round, transport->rank, boxes[i].peer);
    transport->ops->exchange(transport, values, with);
    for (uint32_t i = 0; i < count; i++) {
        check(holds_only(&boxes[i].in, round, boxes[i].peer, transport->rank), transport,
              "what an exchange brings");
        check(boxes[i].out.count == 0 && boxes[i].out.bytes_count == 0, transport,
              "what an exchange leaves");
    }
    least_of_all(expected, round, transport->size);
    check(with == 0 || memcmp(values, expected, sizeof values) == 0, transport,
          "the values of an exchange");
    if (with == 0)
        test_minimum(transport, round + 1000);
}

static void test_rounds(struct transport *transport, enum graph graph)
{
    struct mailbox boxes[RANKS_MAX];
    uint32_t count = connect_all(transport, graph, boxes);
    for (uint64_t round = 1; round <= rounds; round++)
        one_round(transport, boxes, count, round);
    drop_all(boxes, count);
}

static void test_broadcast(struct transport *transport)
{
    for (uint32_t root = 0; root < transport->size; root++) {
        uint64_t word = transport->rank == root ? 17 + root : 0;
        transport->ops->broadcast(transport, &word, sizeof word, root);
        check(word == 17 + root, transport, "a broadcast");
    }
}

/* --- all of it, of each --- */

static void test_transport(struct transport *transport)
{
    for (int graph = 0; graph < GRAPHS; graph++) {
        test_rounds(transport, (enum graph)graph);
    }
    test_broadcast(transport);
    for (uint64_t round = 0; round < rounds; round++)
        test_minimum(transport, round);
    transport->ops->destroy(transport);
}

/* Nodes of these many ranks in a row, and one more of what is left. */
static const int shapes[][RANKS_MAX] = {
    {8}, {1}, {15}, {1, 2, 3, 1, 5}, {4, 4, 4}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};

static MPI_Comm nodes_in_a_row(const int *sizes, int rank)
{
    MPI_Comm here;
    int node = 0, left = rank;
    while (node < RANKS_MAX && sizes[node] > 0 && left >= sizes[node])
        left -= sizes[node++];
    MPI_Comm_split(MPI_COMM_WORLD, node, rank, &here);
    return here;
}

static void test_hybrid(MPI_Comm here)
{
    struct error why = {ERROR_NONE, ""};
    struct transport *transport = transport_hybrid_new(MPI_COMM_WORLD, here, &why);
    MPI_Comm_free(&here);
    if (transport == NULL) {
        fprintf(stderr, "no shared memory: %s\n", why.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    test_transport(transport);
}

static void test_hybrids(int rank)
{
    MPI_Comm here;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        test_hybrid(nodes_in_a_row(shapes[i], rank));
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3, rank, &here); /* dealt */
    test_hybrid(here);
}

/* --- the choice --- */

/* `ranks_per_node`: NULL, as it is. `why`: part of what is said; "": nothing. */
static void test_choice(enum transport_choice choice, const char *ranks_per_node, const char *name,
                        const char *expected)
{
    struct error why = {ERROR_FAILED, "from before"};
    if (ranks_per_node != NULL)
        setenv("AHBM_RANKS_PER_NODE", ranks_per_node, 1);
    struct transport *transport = transport_open(MPI_COMM_WORLD, choice, &why);
    unsetenv("AHBM_RANKS_PER_NODE");
    if (transport->size > 1) {
        check(strcmp(transport->ops->name, name) == 0, transport, name);
        check(strstr(why.text, expected) != NULL && (*expected != '\0') == (why.text[0] != '\0'),
              transport, why.text);
    }
    test_rounds(transport, RING);
    transport->ops->destroy(transport);
}

static void test_choices(void)
{
    test_choice(TRANSPORT_AUTO, NULL, "shared", "");
    test_choice(TRANSPORT_MPI, NULL, "mpi", "");
    test_choice(TRANSPORT_AUTO, "5", "shared+mpi", "");
    test_choice(TRANSPORT_SHARED, "5", "shared+mpi", "");
    test_choice(TRANSPORT_MPI, "5", "mpi", "");
    test_choice(TRANSPORT_AUTO, "100", "shared", "");
    test_choice(TRANSPORT_AUTO, "1", "mpi", "every process is on a node of its own");
}

/* The first process of one node finds no space where its memory would lie: all use MPI, and all
 * know why. */
static void test_lack(int rank, int short_rank, const char *ranks_per_node, const char *expected)
{
    static const char variable[] = "OMPI_MCA_osc_sm_backing_directory";
    if (rank == short_rank)
        setenv(variable, "/proc", 1); /* has no free blocks */
    test_choice(TRANSPORT_AUTO, ranks_per_node, "mpi", expected);
    unsetenv(variable);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct error why = {ERROR_NONE, ""};
    if (getenv("AHBM_LONG_TESTS") != NULL) {
        rounds *= LONGER;
    }
    test_transport(transport_mpi_new(MPI_COMM_WORLD));
    test_transport(transport_shared_new(MPI_COMM_WORLD, NULL, &why));
    test_hybrids(rank);
    test_choices();
    test_lack(rank, 0, NULL, "/proc has 0 MiB free");
    test_lack(rank, 0, "6", ": /proc has 0 MiB free");
    test_lack(rank, (size - 1) / 6 * 6, "6", "on node "); /* the last one */
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%llu failures\n", (unsigned long long)failures);
    MPI_Finalize();
    return failures > 0;
}
