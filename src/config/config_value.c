#include "config/config_value.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Decimals of a rate; so its ratio stays far below 64 bits however it is divided. */
enum { RATE_DECIMALS = 9 };

static unsigned __int128 scaled(struct decimal value, unsigned scale)
{
    unsigned __int128 result = value.digits;
    for (; scale > 0; scale--)
        result *= 10;
    return result;
}

/* Scales are at most 18 and digits below 2^64, so the products fit. */
static bool decimal_less(struct decimal a, struct decimal b)
{
    return scaled(a, b.scale) < scaled(b, a.scale);
}

static bool in_range(const struct key_row *row, struct decimal number)
{
    struct decimal min, max;
    if (!decimal_parse(row->min, &min) || !decimal_parse(row->max, &max))
        error_bug("%s: the range in the schema is not decimal", row->key);
    return !decimal_less(number, min) && !decimal_less(max, number);
}

static const char *parse_decimal(const char *text, struct decimal *number)
{
    if (decimal_parse(text, number) && !(text[0] == '0' && isdigit((unsigned char)text[1])))
        return NULL;
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits;
    if (digits > 0 && rest[0] == '.' && rest[1] != '\0')
        rest += 1 + strspn(rest + 1, "0123456789");
    if (digits == 0 || *rest != '\0')
        return "is not a number";
    return text[0] == '0' && digits > 1 ? "has leading zeros" : "has too many digits";
}

/* What keeps a number from being a value of its type, its range apart. */
static const char *inexact(enum key_type type, struct decimal number)
{
    if (type == KEY_COUNT)
        return number.scale > 0 ? "is not a whole number" : NULL;
    if (type == KEY_NS)
        return number.scale > 3 ? "is finer than a picosecond" : NULL;
    if (type == KEY_TIMING)
        return number.scale > 3 ? "has more than 3 decimals" : NULL;
    return number.scale > RATE_DECIMALS ? "has more than 9 decimals" : NULL;
}

static void print_decimal(struct decimal number, char *out)
{
    char digits[32];
    int scale = (int)number.scale;
    int length =
        snprintf(digits, sizeof digits, "%0*llu", scale + 1, (unsigned long long)number.digits);
    snprintf(out, CONFIG_VALUE_BYTES, "%.*s%s%s", length - scale, digits, scale > 0 ? "." : "",
             digits + length - scale);
}

static const char *parse_number(const struct key_row *row, const char *text,
                                struct config_value *value)
{
    struct decimal number;
    const char *problem = parse_decimal(text, &number);
    if (problem == NULL)
        problem = inexact(row->type, number);
    if (problem != NULL)
        return problem;
    if (!in_range(row, number))
        return "is out of range";
    print_decimal(number, value->text);
    if (row->type == KEY_GBPS)
        value->rate = rate_from_gbps(number);
    else if (row->type == KEY_GHZ)
        value->rate = rate_from_ghz(number);
    else if (row->type == KEY_COUNT)
        value->count = number.digits;
    else if (!decimal_to_ps(number, &value->count))
        error_bug("%s: the range in the schema overflows", row->key);
    return NULL;
}

/* A number and its unit, blanks between or not; of 0 the unit may be left out. */
static const char *parse_timing(const struct key_row *row, const char *text,
                                struct config_value *value)
{
    char digits[CONFIG_VALUE_BYTES];
    size_t length = strcspn(text, " nc");
    if (length == 0 || length >= sizeof digits)
        return "is not a time in ns or ck";
    snprintf(digits, sizeof digits, "%.*s", (int)length, text);
    const char *unit = text + length + strspn(text + length, " ");
    bool clocks = strcmp(unit, "ck") == 0;
    struct decimal number;
    const char *problem = parse_decimal(digits, &number);
    if (problem == NULL)
        problem = inexact(KEY_TIMING, number);
    if (problem != NULL)
        return problem;
    if (!clocks && strcmp(unit, "ns") != 0 && !(unit[0] == '\0' && number.digits == 0))
        return "has no unit, ns or ck";
    if (!in_range(row, number))
        return "is out of range";
    uint64_t thousandths;
    if (!decimal_to_ps(number, &thousandths))
        error_bug("%s: the range in the schema overflows", row->key);
    value->timing = clocks ? (struct timing){0, thousandths} : (struct timing){thousandths, 0};
    print_decimal(number, digits);
    snprintf(value->text, CONFIG_VALUE_BYTES, "%.32s %s", digits, clocks ? "ck" : "ns");
    return NULL;
}

/* Which of the words of `list`, "a|b|c", the first `length` characters of `text` are; -1: none. */
static int word_of(const char *list, const char *text, size_t length)
{
    for (int at = 0;; at++) {
        size_t word = strcspn(list, "|");
        if (word == length && strncmp(list, text, length) == 0)
            return at;
        if (list[word] == '\0')
            return -1;
        list += word + 1;
    }
}

static const char *parse_enum(const struct key_row *row, const char *text,
                              struct config_value *value)
{
    int word = word_of(row->min, text, strlen(text));
    if (word < 0)
        return "is not a choice";
    value->count = (uint64_t)word;
    strcpy(value->text, text);
    return NULL;
}

static const char *parse_order(const struct key_row *row, const char *text,
                               struct config_value *value)
{
    uint32_t seen = 0, words = 1;
    char *out = value->text;
    for (const char *at = row->min; *at != '\0'; at++)
        words += *at == '|';
    for (uint32_t i = 0; i < words; i++) {
        text += strspn(text, " ");
        size_t length = strcspn(text, " ");
        int word = word_of(row->min, text, length);
        if (word < 0 || (seen >> word & 1) != 0)
            return "is not these words in some order";
        seen |= 1u << word;
        value->count |= (uint64_t)word << (4 * i);
        out += sprintf(out, "%s%.*s", i > 0 ? " " : "", (int)length, text);
        text += length;
    }
    return text[strspn(text, " ")] == '\0' ? NULL : "is not these words in some order";
}

static const char *parse_choice(const struct key_row *row, const char *text,
                                struct config_value *value)
{
    value->count = strcmp(text, row->max) == 0;
    if (value->count == 0 && strcmp(text, row->min) != 0)
        return "is not a choice";
    strcpy(value->text, text);
    return NULL;
}

static const char *parse_text(const struct key_row *row, const char *text,
                              struct config_value *value)
{
    size_t length = strlen(text);
    if (length == 0)
        return "is empty";
    if (length > strtoul(row->max, NULL, 10))
        return "is too long";
    for (const char *at = text; *at != '\0'; at++) {
        if (*at < ' ' || *at > '~')
            return "has a character that is not allowed";
    }
    strcpy(value->text, text);
    return NULL;
}

const char *config_value_parse(const struct key_row *row, const char *text,
                               struct config_value *value)
{
    *value = (struct config_value){.rate = {0, 1}};
    switch (row->type) {
    case KEY_TEXT:
        return parse_text(row, text, value);
    case KEY_CHOICE:
        return parse_choice(row, text, value);
    case KEY_ENUM:
        return parse_enum(row, text, value);
    case KEY_ORDER:
        return parse_order(row, text, value);
    case KEY_TIMING:
        return parse_timing(row, text, value);
    default:
        return parse_number(row, text, value);
    }
}

static void store_count(const struct key_row *row, uint64_t count, char *field)
{
    uint32_t narrow = (uint32_t)count;
    bool flag = count != 0;
    if (row->type == KEY_CHOICE)
        memcpy(field, &flag, sizeof flag);
    else if (row->size == sizeof narrow)
        memcpy(field, &narrow, sizeof narrow);
    else
        memcpy(field, &count, sizeof count);
}

void config_value_store(const struct key_row *row, const struct config_value *value,
                        struct machine_params *params)
{
    char *field = (char *)params + row->offset;
    if (row->type == KEY_GBPS || row->type == KEY_GHZ)
        memcpy(field, &value->rate, sizeof value->rate);
    else if (row->type == KEY_TIMING)
        memcpy(field, &value->timing, sizeof value->timing);
    else if (row->type != KEY_TEXT)
        store_count(row, value->count, field);
}

/* "a|b|c" as "a, b or c", or with `between` in its place. */
static void print_words(const char *list, const char *last, char out[CONFIG_ALLOWED_BYTES])
{
    size_t at = 0;
    while (*list != '\0' && at + 1 < CONFIG_ALLOWED_BYTES) {
        size_t word = strcspn(list, "|");
        bool more = list[word] != '\0', final = more && strchr(list + word + 1, '|') == NULL;
        at += (size_t)snprintf(out + at, CONFIG_ALLOWED_BYTES - at, "%.*s%s", (int)word, list,
                               !more   ? ""
                               : final ? last
                                       : ", ");
        list += word + more;
    }
}

void config_value_allowed(const struct key_row *row, char out[CONFIG_ALLOWED_BYTES])
{
    const char *between = row->type == KEY_CHOICE ? "or" : "to";
    const char *what = row->type == KEY_TEXT     ? " printable ASCII characters"
                       : row->type == KEY_TIMING ? " ns or ck"
                                                 : "";
    if (row->type == KEY_ENUM)
        print_words(row->min, " or ", out);
    else if (row->type == KEY_ORDER)
        print_words(row->min, ", ", out);
    else
        snprintf(out, CONFIG_ALLOWED_BYTES, "%s %s %s%s", row->min, between, row->max, what);
    if (row->type == KEY_ORDER)
        strncat(out, " in any order", CONFIG_ALLOWED_BYTES - strlen(out) - 1);
}
