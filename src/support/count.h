/* Whole numbers as users write them. */
#ifndef AHBM_SUPPORT_COUNT_H
#define AHBM_SUPPORT_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* [0-9]+[KMGkmg]? from `text` up to `end`, nothing before, between or behind; K is 1024, M 1024^2,
 * G 1024^3. False when it is anything else or does not fit. */
bool count_parse(const char *text, const char *end, uint64_t *value);

#endif
