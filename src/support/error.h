/* Errors with an outside cause: a code, handed up, with a text in the user's words.
 *
 * Policy: a fault of our own is an assert(); everything that the world can do wrong (a file, a
 * kernel, a machine description, a full disk) fills a `struct error` owned by the caller, and each
 * level that knows more puts its context in front. It is printed once, by `cli`.
 */
#ifndef AHBM_SUPPORT_ERROR_H
#define AHBM_SUPPORT_ERROR_H

#include <stdbool.h>

/* The values are the program's exit statuses. */
enum error_code { ERROR_NONE = 0, ERROR_FAILED = 1, ERROR_USAGE = 2 };

enum { ERROR_TEXT_BYTES = 1024 };

struct error {
    enum error_code code;
    char text[ERROR_TEXT_BYTES]; /* one line, no trailing newline */
};

/* Records an error unless one is already recorded (the first cause counts). Always returns false,
 * so that `return error_set(err, ...)` reads as "failed". `err` may not be NULL. */
bool error_set(struct error *err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts context in front of a recorded error: "<context>: <text>". Always returns false. */
bool error_context(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void error_clear(struct error *err);

/* A fault of our own that must not go on in any build: prints `text` once and aborts. */
_Noreturn void error_bug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
