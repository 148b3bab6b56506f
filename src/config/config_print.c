/* Writing a configuration as a machine file. */
#include "config/config.h"

#include <string.h>

#include "config/config_internal.h"
#include "config/config_value.h"
#include "support/error.h"

static void print_header(FILE *out)
{
    fputs("# A machine of ahbm-pdes. A key that a machine file leaves out keeps its default.\n"
          "# Numbers are decimal. Units: _ns nanoseconds, _bytes bytes, _gbps 1e9 bytes per\n"
          "# second, _ghz 1e9 cycles per second; ck periods of the memory's clock. Above each\n"
          "# key: what it is; what is allowed, where the default comes from, and how the value\n"
          "# was set.\n",
          out);
}

/* A comment must stay valid UTF-8, whatever the name of a file. */
static void print_label(const char *label, FILE *out)
{
    for (; *label != '\0'; label++)
        fputc(*label < ' ' || *label > '~' ? '?' : *label, out);
}

static void print_state(const struct key_row *row, const struct config_entry *entry, bool places,
                        FILE *out)
{
    bool same = strcmp(entry->text, row->initial) == 0;
    if (!places || entry->label == NULL) {
        fputs(same ? "default" : "changed", out);
    } else {
        fputs("set by ", out);
        print_label(entry->label, out);
        if (entry->line > 0)
            fprintf(out, ":%zu", entry->line);
    }
    if (!same)
        fprintf(out, " (default %s)", row->initial);
}

static void print_text(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void print_row(const struct key_row *row, const struct config_entry *entry, bool places,
                      FILE *out)
{
    size_t group = config_schema_group_length(row);
    const char *indent = group > 0 ? "  " : "", *key = row->key + (group > 0 ? group + 1 : 0);
    char allowed[CONFIG_ALLOWED_BYTES];
    config_value_allowed(row, allowed);
    fprintf(out, "%s# %s\n%s# [%s] %s; ", indent, row->description, indent, allowed, row->origin);
    print_state(row, entry, places, out);
    fprintf(out, "\n%s%s: ", indent, key);
    if (row->type == KEY_TEXT)
        print_text(entry->text, out);
    else
        fputs(entry->text, out);
    fputc('\n', out);
}

static bool opens_group(size_t index)
{
    const struct key_row *row = config_schema_row(index);
    size_t length = config_schema_group_length(row);
    return length > 0 &&
           (index == 0 || strncmp(row->key, config_schema_row(index - 1)->key, length + 1) != 0);
}

static void print_all(const struct config *config, bool places, FILE *out)
{
    print_header(out);
    for (size_t i = 0; i < config_schema_size(); i++) {
        const struct key_row *row = config_schema_row(i);
        if (opens_group(i))
            fprintf(out, "\n%.*s:\n", (int)config_schema_group_length(row), row->key);
        else
            fputs(config_schema_group_length(row) > 0 ? "" : "\n", out);
        print_row(row, &config->entries[i], places, out);
    }
}

void config_print(const struct config *config, FILE *out)
{
    print_all(config, true, out);
}

char *config_text(const struct config *config)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL)
        error_bug("no stream in memory");
    print_all(config, false, out);
    if (fclose(out) != 0)
        error_bug("out of memory while printing the configuration");
    return text;
}
