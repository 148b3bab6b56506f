/* Values of options: numbers, words, context lists. */
#ifndef AHBM_CLI_WORDS_H
#define AHBM_CLI_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/error.h"

/* A whole number with an optional suffix K, M, G (1024), or k, m, g. */
bool words_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *value,
                  struct error *err);

/* The index of `text` in `words` (ended by NULL). */
bool words_choice(const char *option, const char *text, const char *const *words, int *index,
                  struct error *err);

/* "8192", "8K,32K,1M" or "8K..1M" (doubling): `*list` is allocated, the caller's. */
bool words_contexts(const char *option, const char *text, uint64_t **list, uint32_t *count,
                    struct error *err);

#endif
