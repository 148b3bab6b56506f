#include "study/options.h"

#define X(ID, field, type, name, result, help, description, ...)                                   \
    [TL_NUMBER_##ID] = {name, help, {__VA_ARGS__}},
#define Y(ID, field, name, least, most, initial, help) [TL_NUMBER_##ID] = {name, help, {NULL}},
static const struct option_row rows[TL_OPTION_NUMBERS] = {
    [TL_NUMBER_CONTEXT] = {"context", NULL, {NULL}},
    [TL_NUMBER_REQUESTS] = {"requests", NULL, {NULL}},
    [TL_NUMBER_BATCH] = {"batch", NULL, {NULL}},
    [TL_NUMBER_QUERY_LEN] = {"query-len", NULL, {NULL}},
    [TL_NUMBER_MESSAGE] = {"message", NULL, {NULL}},
    TL_WORD_OPTIONS(X) TL_NUMBER_OPTIONS(Y)};
#undef X
#undef Y

const struct option_row *option_row(enum tl_option_number number)
{
    return &rows[number];
}
