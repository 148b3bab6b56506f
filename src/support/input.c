#include "support/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/clock.h"
#include "support/hash.h"
#include "support/memory.h"

enum { FIRST_ROOM = 1 << 16, BLOCK_BYTES = 1 << 16 };

static bool fail(struct error *err, const char *what, int fault)
{
    return error_set(err, ERROR_USAGE, "%s: %s", what, strerror(fault));
}

/* What the file is, when that is nothing to read. */
static const char *wrong_kind(mode_t mode, bool pipes)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return NULL;
    case S_IFIFO:
        return pipes ? NULL : "is a pipe; a file is expected";
    case S_IFDIR:
        return "is a directory; a file is expected";
    case S_IFSOCK:
        return "is a socket; a file is expected";
    default:
        return "is a device; a file is expected";
    }
}

/* mpirun starts the ranks without the files that the shell opened for it: <(...) is such a one. */
static bool fail_open(struct error *err, const char *path, int fault)
{
    bool handed = strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/self/fd/", 14) == 0;
    if (handed && fault == ENOENT)
        return error_set(err, ERROR_USAGE,
                         "cannot be opened: the launcher does not hand on open files, such as "
                         "those of <(...): use a file, or /dev/stdin");
    return fail(err, "cannot be opened", fault);
}

/* An open file of a kind that is read, or -1. The kind is looked at before opening, which a device
 * might notice, and after, because names change hands. */
static int open_input(const char *path, bool pipes, struct stat *status, struct error *err)
{
    const char *wrong = stat(path, status) == 0 ? wrong_kind(status->st_mode, pipes) : NULL;
    int file = -1;
    if (wrong == NULL) {
        file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (file < 0 || fstat(file, status) != 0)
            fail_open(err, path, errno);
        else
            wrong = wrong_kind(status->st_mode, pipes);
    }
    if (wrong != NULL)
        error_set(err, ERROR_USAGE, "%s", wrong);
    if (err->code == ERROR_NONE)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

/* ---- whole, and small ---- */

struct reading {
    int file;
    bool pipe;
    double start;
    char *text;
    size_t bytes, room, most;
};

/* Waits until there is something to read, or the end. */
static bool wait_for_more(const struct reading *reading, bool written, struct error *err)
{
    double limit = written ? INPUT_WAIT_S : INPUT_WAIT_WRITER_S;
    double left = reading->start + limit - clock_wall();
    struct pollfd one = {.fd = reading->file, .events = POLLIN};
    int ready = left > 0 ? poll(&one, 1, (int)(1000 * left) + 1) : 0;
    if (ready > 0 || (ready < 0 && errno == EINTR))
        return true;
    if (!written)
        return error_set(err, ERROR_USAGE, "is a pipe that nobody writes to");
    return error_set(err, ERROR_USAGE, "is not written and closed within %d s: write a file first",
                     INPUT_WAIT_S);
}

/* Nothing was there: the end, unless it is a pipe that nobody has opened for writing yet. */
static bool read_nothing(const struct reading *reading, bool *ended, struct error *err)
{
    struct pollfd one = {.fd = reading->file, .events = POLLIN};
    *ended = true;
    if (!reading->pipe || reading->bytes > 0)
        return true;
    int ready = poll(&one, 1, 0);
    *ended = ready > 0 && !(one.revents & POLLIN);
    return ready > 0 || wait_for_more(reading, false, err);
}

static bool read_piece(struct reading *reading, bool *ended, struct error *err)
{
    ssize_t got =
        read(reading->file, reading->text + reading->bytes, reading->room - reading->bytes);
    if (got == 0)
        return read_nothing(reading, ended, err);
    if (got > 0)
        reading->bytes += (size_t)got;
    if (got > 0 || errno == EINTR)
        return true;
    return errno == EAGAIN ? wait_for_more(reading, true, err) : fail(err, "cannot be read", errno);
}

/* One byte above the most is asked for, by which a file that is too large is known. */
static bool read_all(struct reading *reading, struct error *err)
{
    bool ended = false, good = true;
    while (good && !ended && reading->bytes <= reading->most) {
        if (reading->bytes == reading->room) {
            reading->room = reading->room > 0 ? 2 * reading->room : FIRST_ROOM;
            reading->text = memory_resize(reading->text, reading->room + 1, 1);
        }
        good = read_piece(reading, &ended, err);
    }
    if (good && reading->bytes > reading->most)
        good = error_set(err, ERROR_USAGE, "is larger than %zu bytes", reading->most);
    return good;
}

bool input_read(const char *path, size_t most, char **text, size_t *bytes, struct error *err)
{
    struct stat status;
    int file = open_input(path, true, &status, err);
    if (file < 0)
        return false;
    struct reading reading = {
        .file = file, .pipe = S_ISFIFO(status.st_mode), .start = clock_wall(), .most = most};
    bool good = read_all(&reading, err);
    close(file);
    if (!good) {
        memory_free(reading.text);
        return false;
    }
    reading.text[reading.bytes] = '\0';
    *text = reading.text;
    *bytes = reading.bytes;
    return true;
}

/* ---- its identity ---- */

static uint64_t hash_block(uint64_t state, const char *block, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, block + at, bytes - at < sizeof word ? bytes - at : sizeof word);
        state = hash_word(state, word);
    }
    return state;
}

/* Block i of `count` blocks of a file: one after another, or evenly over a file of more. */
static uint64_t block_start(uint64_t bytes, uint64_t i, uint64_t count)
{
    if (bytes <= count * BLOCK_BYTES)
        return i * BLOCK_BYTES;
    uint64_t last = bytes - BLOCK_BYTES; /* i * last / (count - 1), without overflow */
    return last / (count - 1) * i + last % (count - 1) * i / (count - 1);
}

static bool hash_file(int file, struct input_identity *identity, struct error *err)
{
    const uint64_t most = INPUT_WHOLE_BYTES / BLOCK_BYTES;
    uint64_t needed = (identity->bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    uint64_t count = needed < most ? needed : most, state = HASH_START;
    char *block = memory_new(BLOCK_BYTES, 1);
    for (uint64_t i = 0; i < count && err->code == ERROR_NONE; i++) {
        ssize_t got;
        do
            got = pread(file, block, BLOCK_BYTES, (off_t)block_start(identity->bytes, i, count));
        while (got < 0 && errno == EINTR);
        if (got < 0)
            fail(err, "cannot be read", errno);
        else
            state = hash_block(state, block, (size_t)got);
    }
    memory_free(block);
    identity->digest = hash_finish(state);
    return err->code == ERROR_NONE;
}

bool input_identify(const char *path, struct input_identity *identity, struct error *err)
{
    struct stat status;
    int file = open_input(path, false, &status, err);
    if (file < 0)
        return false;
    if (status.st_size == 0)
        error_set(err, ERROR_USAGE, "is empty");
    else if (identity != NULL) {
        identity->bytes = (uint64_t)status.st_size;
        hash_file(file, identity, err);
    }
    close(file);
    return err->code == ERROR_NONE;
}
