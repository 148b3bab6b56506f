#include "support/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PIECE_BYTES = 5 }; /* "\xNN" and its end, or one character */

/* Characters beyond ASCII that are invisible or act: C1, marks of direction, other line ends. */
static bool acts(uint32_t character)
{
    return (character >= 0x80 && character <= 0x9f) || character == 0x200e || character == 0x200f ||
           (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069) || character == 0xfeff;
}

/* Bytes of the UTF-8 character at `at`, 0 when it is none. */
static size_t decode(const unsigned char *at, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *at < 0x80       ? 1
                    : *at >> 5 == 6  ? 2
                    : *at >> 4 == 14 ? 3
                    : *at >> 3 == 30 ? 4
                                     : 0;
    *character = length < 2 ? *at : *at & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (at[i] >> 6 != 2) /* a text's end, too */
            return 0;
        *character = *character << 6 | (at[i] & 0x3fu);
    }
    bool valid = *character >= least[length] && *character <= 0x10ffff && *character >> 11 != 27;
    return valid ? length : 0;
}

/* Writes what stands for the character or the byte at `at`; returns how much that was. */
static size_t next_piece(const char *at, char piece[PIECE_BYTES])
{
    static const char named[] = "\nn\rr\tt";
    const unsigned char *bytes = (const unsigned char *)at;
    uint32_t character;
    size_t length = decode(bytes, &character);
    if (length > 0 && character >= ' ' && character != 0x7f && !acts(character)) {
        memcpy(piece, at, length);
        piece[length] = '\0';
        return length;
    }
    for (size_t i = 0; named[i] != '\0'; i += 2)
        if (named[i] == *at) {
            snprintf(piece, PIECE_BYTES, "\\%c", named[i + 1]);
            return 1;
        }
    snprintf(piece, PIECE_BYTES, "\\x%02x", *bytes);
    return 1;
}

char *text_escape(const char *text, char *out, size_t bytes)
{
    char piece[PIECE_BYTES];
    size_t used = 0, room = 0; /* up to where "..." has room, too */
    while (*text != '\0') {
        text += next_piece(text, piece);
        size_t length = strlen(piece);
        if (used + length >= bytes) {
            memcpy(out + room, "...", 4);
            return out;
        }
        memcpy(out + used, piece, length);
        used += length;
        if (used + 4 <= bytes)
            room = used;
    }
    out[used] = '\0';
    return out;
}
