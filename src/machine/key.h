/* What a machine file may say about a part: the part keeps a table of these rows, and the reader of
 * machine files, `--print-config` and docs/machine.md follow from it. */
#ifndef AHBM_MACHINE_KEY_H
#define AHBM_MACHINE_KEY_H

#include <stdbool.h>
#include <stddef.h>

/* How the text of a value is read, and as what it is stored in struct machine_params. */
enum key_type {
    KEY_TEXT,   /* printable characters; not stored there */
    KEY_CHOICE, /* `min` is stored as false, `max` as true */
    KEY_COUNT,  /* a whole number, in uint32_t or uint64_t */
    KEY_NS,     /* nanoseconds, in uint64_t picoseconds */
    KEY_GBPS,   /* 1e9 bytes per second, in struct rate */
    KEY_GHZ,    /* 1e9 cycles per second, in struct rate */
    KEY_ENUM,   /* one of the words of `min`, "a|b|c"; its place among them in uint32_t */
    KEY_TIMING, /* "14 ns" or "14 ck", clock periods, in struct timing */
    KEY_ORDER,  /* the words of `min` in any order; their places, 4 bits each, in uint32_t, the
                   first word's in the lowest */
};

struct key_row {
    const char *key; /* "group.key", or "key" outside the groups; a group's rows stand together */
    enum key_type type;
    size_t offset, size; /* of the field in struct machine_params (KEY_AT); 0 for KEY_TEXT */
    const char *min, *max;
    const char *initial;     /* the default */
    const char *description; /* one line, unit included */
    const char *origin;      /* "seed: ", "public fact: ", "assumption: " or "fitted: ", and what */
};

#define KEY_AT(field)                                                                              \
    offsetof(struct machine_params, field), sizeof(((struct machine_params *)0)->field)
#define KEY_NOWHERE 0, 0

/* Values that do not go together: why, and the keys that may be to blame (ended by NULL). */
enum { KEY_CLASH_KEYS = 5 };
struct key_clash {
    const char *message;
    const char *keys[KEY_CLASH_KEYS];
};

/* Notes a clash and says false, for the `check` of a part. */
#define KEY_CLASH(clash, text, ...) (*(clash) = (struct key_clash){text, {__VA_ARGS__}}, false)

#endif
