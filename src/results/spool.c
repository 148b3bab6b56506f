/* Each CUBE's records are a chain of blocks in one unlinked file: a block tells where the next one
 * will be, for its place is taken when the block is begun. So memory is one block per CUBE however
 * long the trace, and a forward reader needs no index. The last block of a chain never leaves
 * memory. */
#include "results/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/memory.h"

enum { BLOCK_RECORDS = 255 };

struct block {
    uint64_t next; /* where the chain goes on */
    uint64_t spare[7];
    struct trace_record records[BLOCK_RECORDS];
};

struct chain {
    struct trace_sink sink; /* first: the sink is the chain */
    struct spool *spool;
    uint64_t count;        /* records */
    uint64_t last;         /* place in the file of the block in memory */
    uint64_t first;        /* of the chain's first block */
    uint64_t cursor;       /* block number that the reader is at, and */
    uint64_t cursor_place; /* where that is */
    struct block *block;   /* the last one */
};

struct spool {
    char *directory; /* for messages */
    int fd;
    int fault;    /* errno of the first failed write */
    uint64_t end; /* of the file: where the next block goes */
    uint32_t cubes;
    struct chain *chains;
    struct block *read;  /* the block read last, and */
    uint64_t read_place; /* where it was; UINT64_MAX: none */
};

static int open_unlinked(const char *directory)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    size_t bytes = strlen(directory) + sizeof "/.ahbm-pdes-XXXXXX";
    char *path = memory_new(bytes, 1);
    snprintf(path, bytes, "%s/.ahbm-pdes-XXXXXX", directory);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    memory_free(path);
    return fd;
}

static bool write_whole(int fd, const void *data, size_t bytes, uint64_t place)
{
    const char *next = data;
    while (bytes > 0) {
        ssize_t done = pwrite(fd, next, bytes, (off_t)place);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        next += done;
        place += (uint64_t)done;
        bytes -= (size_t)done;
    }
    return true;
}

/* errno is 0 when the file is shorter than it must be. */
static bool read_whole(int fd, void *data, size_t bytes, uint64_t place)
{
    char *next = data;
    while (bytes > 0) {
        errno = 0;
        ssize_t done = pread(fd, next, bytes, (off_t)place);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        next += done;
        place += (uint64_t)done;
        bytes -= (size_t)done;
    }
    return true;
}

static uint64_t take_place(struct spool *spool)
{
    uint64_t place = spool->end;
    spool->end += sizeof(struct block);
    return place;
}

/* After a failure nothing more is written: spool_finish() tells. */
static void write_block(struct chain *chain)
{
    struct spool *spool = chain->spool;
    chain->block->next = take_place(spool);
    if (spool->fault == 0 &&
        !write_whole(spool->fd, chain->block, sizeof *chain->block, chain->last))
        spool->fault = errno != 0 ? errno : EIO;
    chain->last = chain->block->next;
}

static void put(struct trace_sink *sink, const struct trace_record *record)
{
    struct chain *chain = (struct chain *)sink;
    uint64_t at = chain->count % BLOCK_RECORDS;
    if (at == 0 && chain->count > 0)
        write_block(chain);
    chain->block->records[at] = *record;
    chain->count++;
}

static void begin_chain(struct spool *spool, struct chain *chain)
{
    chain->count = 0;
    chain->first = chain->last = take_place(spool);
    chain->cursor = 0;
    chain->cursor_place = chain->first;
}

static void begin(struct spool *spool)
{
    spool->end = 0;
    spool->fault = 0;
    spool->read_place = UINT64_MAX;
    for (uint32_t i = 0; i < spool->cubes; i++)
        begin_chain(spool, &spool->chains[i]);
}

struct spool *spool_new(const char *directory, uint32_t cubes, struct error *err)
{
    int fd = open_unlinked(directory);
    if (fd < 0) {
        error_set(err, ERROR_FAILED, "cannot write to %s: %s", directory, strerror(errno));
        return NULL;
    }
    struct spool *spool = memory_new(1, sizeof *spool);
    spool->fd = fd;
    spool->directory = memory_copy_text(directory);
    spool->cubes = cubes;
    spool->chains = memory_new(cubes, sizeof *spool->chains);
    spool->read = memory_new(1, sizeof *spool->read);
    for (uint32_t i = 0; i < cubes; i++) {
        spool->chains[i].sink.put = put;
        spool->chains[i].spool = spool;
        spool->chains[i].block = memory_new(1, sizeof *spool->chains[i].block);
    }
    begin(spool);
    return spool;
}

uint64_t spool_memory(uint32_t cubes)
{
    return cubes * (uint64_t)(sizeof(struct chain) + sizeof(struct block));
}

void spool_free(struct spool *spool)
{
    if (spool == NULL)
        return;
    close(spool->fd);
    for (uint32_t i = 0; i < spool->cubes; i++)
        memory_free(spool->chains[i].block);
    memory_free(spool->chains);
    memory_free(spool->read);
    memory_free(spool->directory);
    memory_free(spool);
}

struct trace_sink *spool_sink(struct spool *spool, uint32_t index)
{
    return &spool->chains[index].sink;
}

bool spool_finish(struct spool *spool, struct error *err)
{
    return spool->fault == 0 ||
           error_set(err, ERROR_FAILED, "cannot write the trace to a temporary file in %s: %s",
                     spool->directory, strerror(spool->fault));
}

uint64_t spool_count(const struct spool *spool, uint32_t index)
{
    return spool->chains[index].count;
}

/* The block at `place`, from memory where it is. */
static const struct block *block_at(struct chain *chain, uint64_t place, struct error *err)
{
    struct spool *spool = chain->spool;
    if (place == chain->last)
        return chain->block;
    if (place == spool->read_place)
        return spool->read;
    spool->read_place = UINT64_MAX;
    if (!read_whole(spool->fd, spool->read, sizeof *spool->read, place)) {
        error_set(err, ERROR_FAILED, "cannot read the trace from a temporary file in %s: %s",
                  spool->directory, errno != 0 ? strerror(errno) : "it is too short");
        return NULL;
    }
    spool->read_place = place;
    return spool->read;
}

/* Moves the reader to block `number`; NULL on failure. */
static const struct block *seek_block(struct chain *chain, uint64_t number, struct error *err)
{
    if (number < chain->cursor) {
        chain->cursor = 0;
        chain->cursor_place = chain->first;
    }
    const struct block *block = block_at(chain, chain->cursor_place, err);
    while (block != NULL && chain->cursor < number) {
        chain->cursor_place = block->next;
        chain->cursor++;
        block = block_at(chain, chain->cursor_place, err);
    }
    return block;
}

bool spool_read(struct spool *spool, uint32_t index, uint64_t first, uint64_t count,
                struct trace_record *records, struct error *err)
{
    struct chain *chain = &spool->chains[index];
    while (count > 0) {
        const struct block *block = seek_block(chain, first / BLOCK_RECORDS, err);
        if (block == NULL)
            return false;
        uint64_t at = first % BLOCK_RECORDS;
        uint64_t take = BLOCK_RECORDS - at < count ? BLOCK_RECORDS - at : count;
        memcpy(records, block->records + at, take * sizeof *records);
        records += take;
        first += take;
        count -= take;
    }
    return true;
}

void spool_reset(struct spool *spool)
{
    if (ftruncate(spool->fd, 0) != 0) {
        /* The old blocks stay until they are written over; nothing depends on it. */
    }
    begin(spool);
}
