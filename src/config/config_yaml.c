/* From YAML to assignments, through libyaml: a first pass over its events refuses what a machine
 * file may not contain, a second walks the loaded document, whose nodes know their lines. */
#include "config/config_internal.h"

#include <string.h>
#include <yaml.h>

#include "support/memory.h"

enum { DEEPEST = 16 }; /* nesting that is worth a message about its key */

struct source {
    const char *label;
    const char *text;
    size_t bytes;
    struct error *err;
};

static struct config_place place_at(const struct source *source, yaml_mark_t mark)
{
    return (struct config_place){source->label, mark.line + 1};
}

static void parser_open(yaml_parser_t *parser, const struct source *source)
{
    if (!yaml_parser_initialize(parser))
        error_bug("libyaml is out of memory");
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(parser, (const unsigned char *)source->text, source->bytes);
}

/* A reader's fault has an offset instead of a mark. */
static size_t fault_line(const yaml_parser_t *parser, const struct source *source)
{
    if (parser->error != YAML_READER_ERROR)
        return parser->problem_mark.line + 1;
    size_t line = 1;
    for (size_t i = 0; i < parser->problem_offset && i < source->bytes; i++)
        line += source->text[i] == '\n';
    return line;
}

static bool fail_parser(const yaml_parser_t *parser, const struct source *source)
{
    struct config_place place = {source->label, fault_line(parser, source)};
    if (parser->error == YAML_MEMORY_ERROR)
        error_bug("libyaml is out of memory");
    return config_fail(source->err, place, NULL, "not valid YAML: %s", parser->problem);
}

/* ---- first pass: events ---- */

struct scan {
    const struct source *source;
    unsigned documents, depth;
};

static bool refuse(const struct scan *scan, const yaml_event_t *event, const char *what,
                   const yaml_char_t *name)
{
    char quoted[CONFIG_QUOTE_BYTES];
    return config_fail(scan->source->err, place_at(scan->source, event->start_mark), NULL,
                       "%s %s is not allowed in a machine file", what,
                       config_quote((const char *)name, quoted));
}

static bool check_node(const struct scan *scan, const yaml_event_t *event,
                       const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor != NULL)
        return refuse(scan, event, "the anchor", anchor);
    if (tag != NULL)
        return refuse(scan, event, "the tag", tag);
    if (scan->depth > DEEPEST)
        return config_fail(scan->source->err, place_at(scan->source, event->start_mark), NULL,
                           "nested too deeply: a file has groups, and groups have keys");
    return true;
}

static bool check_document(struct scan *scan, const yaml_event_t *event)
{
    if (++scan->documents == 1)
        return true;
    return config_fail(scan->source->err, place_at(scan->source, event->start_mark), NULL,
                       "a second document starts here; a machine file has one");
}

static bool check_event(struct scan *scan, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return check_document(scan, event);
    case YAML_ALIAS_EVENT:
        return refuse(scan, event, "the alias", event->data.alias.anchor);
    case YAML_SCALAR_EVENT:
        return check_node(scan, event, event->data.scalar.anchor, event->data.scalar.tag);
    case YAML_SEQUENCE_START_EVENT:
        scan->depth++;
        return check_node(scan, event, event->data.sequence_start.anchor,
                          event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        scan->depth++;
        return check_node(scan, event, event->data.mapping_start.anchor,
                          event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        scan->depth--;
        return true;
    default:
        return true;
    }
}

static bool scan_events(const struct source *source)
{
    struct scan scan = {.source = source};
    yaml_parser_t parser;
    parser_open(&parser, source);
    bool fine = true, ended = false;
    while (fine && !ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            fine = fail_parser(&parser, source);
            break;
        }
        fine = check_event(&scan, &event);
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return fine;
}

/* ---- second pass: the document ---- */

struct walk {
    const struct source *source;
    struct config *config;
    yaml_document_t *document;
    size_t *key_lines;   /* per schema row: where this file has set it; 0: not yet */
    size_t *group_lines; /* the same of the group that starts at that row */
};

static const char *shape(const yaml_node_t *node)
{
    return node->type == YAML_MAPPING_NODE    ? "a mapping"
           : node->type == YAML_SEQUENCE_NODE ? "a sequence"
                                              : "a value";
}

/* The text of a scalar, or NULL after a failure that names `key` (which may be NULL). */
static const char *scalar_text(const struct walk *walk, const yaml_node_t *node, const char *key)
{
    struct config_place place = place_at(walk->source, node->start_mark);
    if (node->type != YAML_SCALAR_NODE) {
        config_fail(walk->source->err, place, key, "%s is expected, not %s",
                    key == NULL ? "a key" : "a value", shape(node));
        return NULL;
    }
    const char *text = (const char *)node->data.scalar.value;
    if (strlen(text) == node->data.scalar.length)
        return text;
    config_fail(walk->source->err, place, key, "a NUL character is not allowed");
    return NULL;
}

/* Notes that `key` stands on `line`; fails when it stood before. */
static bool note_line(const struct walk *walk, size_t *noted, const yaml_node_t *at,
                      const char *key)
{
    struct config_place place = place_at(walk->source, at->start_mark);
    if (*noted != 0)
        return config_fail(walk->source->err, place, key, "given twice, first on line %zu", *noted);
    *noted = place.line;
    return true;
}

static bool walk_key(const struct walk *walk, const char *key, const yaml_node_t *at,
                     const yaml_node_t *value)
{
    size_t index;
    if (!config_schema_find(key, &index))
        return config_fail_key(walk->source->err, place_at(walk->source, at->start_mark), key);
    if (!note_line(walk, &walk->key_lines[index], at, key))
        return false;
    const char *text = scalar_text(walk, value, key);
    return text != NULL &&
           config_assign(walk->config, index, text, place_at(walk->source, value->start_mark),
                         walk->source->err);
}

typedef bool walk_pair(const struct walk *walk, const char *group, const char *name,
                       const yaml_node_t *at, const yaml_node_t *value);

static bool walk_mapping(const struct walk *walk, const char *group, const yaml_node_t *mapping,
                         walk_pair *each)
{
    const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
    for (; pair < mapping->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(walk->document, pair->key);
        const char *name = scalar_text(walk, key, NULL);
        if (name == NULL ||
            !each(walk, group, name, key, yaml_document_get_node(walk->document, pair->value)))
            return false;
    }
    return true;
}

static bool pair_in_group(const struct walk *walk, const char *group, const char *name,
                          const yaml_node_t *at, const yaml_node_t *value)
{
    size_t bytes = strlen(group) + strlen(name) + 2;
    char *key = memory_new(bytes, 1);
    snprintf(key, bytes, "%s.%s", group, name);
    bool fine = walk_key(walk, key, at, value);
    memory_free(key);
    return fine;
}

static bool pair_in_root(const struct walk *walk, const char *group, const char *name,
                         const yaml_node_t *at, const yaml_node_t *value)
{
    (void)group;
    size_t first;
    if (strchr(name, '.') != NULL && config_schema_find(name, &first))
        return config_fail(walk->source->err, place_at(walk->source, at->start_mark), name,
                           "in a file this is written as a group with the key under it");
    if (value->type != YAML_MAPPING_NODE || !config_schema_find_group(name, &first))
        return walk_key(walk, name, at, value);
    return note_line(walk, &walk->group_lines[first], at, name) &&
           walk_mapping(walk, name, value, pair_in_group);
}

static bool walk_root(const struct walk *walk)
{
    const yaml_node_t *root = yaml_document_get_root_node(walk->document);
    if (root == NULL)
        return config_fail(walk->source->err, (struct config_place){walk->source->label, 0}, NULL,
                           "the file is empty; a machine file has groups of keys");
    if (root->type != YAML_MAPPING_NODE)
        return config_fail(walk->source->err, place_at(walk->source, root->start_mark), NULL,
                           "a mapping (groups of keys) is expected, not %s", shape(root));
    return walk_mapping(walk, NULL, root, pair_in_root);
}

static bool walk_document(const struct source *source, struct config *config,
                          yaml_document_t *document)
{
    size_t rows = config_schema_size();
    struct walk walk = {source, config, document, memory_new(rows, sizeof(size_t)),
                        memory_new(rows, sizeof(size_t))};
    bool fine = walk_root(&walk);
    memory_free(walk.key_lines);
    memory_free(walk.group_lines);
    return fine;
}

static bool load_document(const struct source *source, struct config *config)
{
    yaml_parser_t parser;
    yaml_document_t document;
    parser_open(&parser, source);
    bool fine = yaml_parser_load(&parser, &document);
    if (fine) {
        fine = walk_document(source, config, &document);
        yaml_document_delete(&document);
    } else {
        fail_parser(&parser, source);
    }
    yaml_parser_delete(&parser);
    return fine;
}

bool config_load_text(struct config *config, const char *label, const char *text, size_t bytes,
                      struct error *err)
{
    char shown[CONFIG_LABEL_BYTES];
    struct source source = {config_label(label, shown), text, bytes, err};
    if (bytes > CONFIG_FILE_BYTES)
        return config_fail(err, (struct config_place){shown, 0}, NULL,
                           "the machine file is larger than %d bytes", CONFIG_FILE_BYTES);
    return scan_events(&source) && load_document(&source, config);
}
