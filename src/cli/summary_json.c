#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "cli/summary.h"
#include "study/summary_rows.h"
#include "support/text.h"

enum { NAME_BYTES = 1024 };

static json_t *counts_json(const uint64_t *counts)
{
    json_t *object = json_object();
    for (int i = 0; i < COUNT_KINDS; i++)
        json_object_set_new(object, count_kind_name((enum count_kind)i),
                            json_integer((json_int_t)counts[i]));
    return object;
}

/* JSON has no infinity: null. */
static json_t *number_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *verify_json(const struct point_summary *point)
{
    char digest[17];
    snprintf(digest, sizeof digest, "%016" PRIx64, point->output_digest);
    return json_pack("{s:b, s:o, s:o, s:I, s:I, s:s}", "passed", (int)point->verify_passed,
                     "rms_relative", number_json(point->verify_rms_relative), "max_abs",
                     number_json(point->verify_max_abs), "missing_rows",
                     (json_int_t)point->output_missing, "repeated_rows",
                     (json_int_t)point->output_repeated, "output_digest", digest);
}

static json_t *text_json(const char *value)
{
    char text[TEXT_ESCAPED_BYTES(NAME_BYTES)]; /* a string of JSON is UTF-8 */
    return json_string(text_escape(value, text, sizeof text));
}

static json_t *code_json(uint64_t value)
{
    char digits[17];
    snprintf(digits, sizeof digits, "%016" PRIx64, value);
    return json_string(digits);
}

static json_t *value_json(const struct summary_row *row, const void *value)
{
    switch (row->type) {
    case SUMMARY_TEXT:
        return text_json(*(const char *const *)value);
    case SUMMARY_F64:
        return number_json(*(const double *)value);
    case SUMMARY_BOOL:
        return json_boolean(*(const bool *)value);
    case SUMMARY_CODE:
        return code_json(*(const uint64_t *)value);
    default:
        return json_integer((json_int_t)summary_integer(row, value));
    }
}

static json_t *point_json(const struct point_summary *point)
{
    json_t *object = json_object();
    for (int i = 0; i < SUMMARY_ROWS_COUNT; i++) {
        const struct summary_row *row = summary_row((enum summary_row_number)i);
        if (row->places & SUMMARY_IN_JSON)
            json_object_set_new(object, row->name, value_json(row, summary_value(row, point)));
    }
    json_object_set_new(object, "commands", counts_json(point->commands));
    json_object_set_new(object, "commands_total", counts_json(point->commands_total));
    if (point->verified)
        json_object_set_new(object, "verify", verify_json(point));
    return object;
}

static json_t *spread_json(const struct spread *spread)
{
    return json_pack("{s:f, s:f, s:f}", "least", spread->least, "mean", spread->mean, "most",
                     spread->most);
}

static json_t *run_json(const struct study_run_facts *run, uint32_t ranks)
{
    json_t *object = json_pack(
        "{s:I, s:s, s:f, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:I}", "ranks", (json_int_t)ranks,
        "transport", run->transport, "wall_s", run->wall_s, "events", (json_int_t)run->events,
        "rounds", (json_int_t)run->rounds, "messages", (json_int_t)run->messages, "message_bytes",
        (json_int_t)run->message_bytes, "peak_rss_bytes", (json_int_t)run->peak_rss_bytes,
        "model_s", run->model_s.most, "sync_s", run->sync_s.most, "output_s", run->output_s.most,
        "busiest_cube_events", (json_int_t)run->busiest_events);
    json_object_set_new(object, "critical_events", json_integer((json_int_t)run->critical_events));
    json_object_set_new(object, "model_processor_s",
                        json_real(run->model_processor_s.mean * ranks));
    json_object_set_new(object, "verify_s", json_real(run->verify_s));
    json_object_set_new(object, "model_s_per_rank", spread_json(&run->model_s));
    json_object_set_new(object, "sync_s_per_rank", spread_json(&run->sync_s));
    json_object_set_new(object, "output_s_per_rank", spread_json(&run->output_s));
    return object;
}

void summary_print_json(const struct study_report *report, uint32_t ranks, FILE *out)
{
    json_t *points = json_array();
    for (uint32_t i = 0; i < report->count; i++)
        json_array_append_new(points, point_json(&report->points[i]));
    json_t *document = json_pack("{s:s, s:o, s:o}", "version", AHBM_VERSION, "points", points,
                                 "run", run_json(&report->run, ranks));
    json_dumpf(document, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(document);
}
