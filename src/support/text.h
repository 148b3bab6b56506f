/* Text of others, made fit for a terminal and for one line. */
#ifndef AHBM_SUPPORT_TEXT_H
#define AHBM_SUPPORT_TEXT_H

#include <stddef.h>

/* Room for what text_escape() makes of `length` bytes, whatever they are. */
#define TEXT_ESCAPED_BYTES(length) (4 * (length) + 1)

/* Copies `text` into out[bytes] and returns `out`, which is UTF-8 and of one line: what would move
 * a cursor, end a line, turn the direction of writing or is no UTF-8 becomes \n, \r, \t or \xNN for
 * each byte. What does not fit is left out and ends in "...". `bytes` is at least 4. */
char *text_escape(const char *text, char *out, size_t bytes);

#endif
