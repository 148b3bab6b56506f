#include "cli/summary.h"

#include <inttypes.h>
#include <string.h>

#include "study/summary_rows.h"
#include "support/text.h"

#define MIB (1024.0 * 1024.0)

/* The busiest CUBE keeps its rank busy for all but a tenth of the time. */
#define ALL_BUT 0.9
enum { FEW_EVENTS = 50 };

struct name {
    char text[KERNEL_NAME_SHOWN + 1];
};

static struct name name_of(const char *kernel)
{
    struct name name = {""};
    text_escape(kernel, name.text, sizeof name.text);
    return name;
}

/* Width of the column of kernels: none when all points have the same. */
static int kernel_width(const struct study_report *report)
{
    size_t longest = 0;
    bool several = false;
    for (uint32_t i = 0; i < report->count; i++) {
        size_t length = strlen(name_of(report->points[i].kernel).text);
        longest = length > longest ? length : longest;
        several = several || strcmp(report->points[i].kernel, report->points[0].kernel) != 0;
    }
    return several ? (int)longest : 0;
}

static void print_kernel(const char *kernel, int width, FILE *out)
{
    if (width > 0)
        fprintf(out, "%-*s ", width, name_of(kernel).text);
}

/* The columns that rows declare; those from `busiest engine` on stand to the right of the rest. */
static void print_headings(bool units, FILE *out)
{
    for (int i = 0; i < SUMMARY_ROWS_COUNT; i++) {
        const struct summary_table *table = &summary_row((enum summary_row_number)i)->table;
        if (table->width != 0)
            fprintf(out, "%*s ", table->width, units ? table->units : table->heading);
    }
}

static void print_header(int width, FILE *out)
{
    print_kernel("kernel", width, out);
    print_headings(false, out);
    fprintf(out, "%12s %12s %-16s %-18s\n", "IPCQ copies", "DMA reads", "busiest engine",
            "MAC array");
    print_kernel("", width, out);
    print_headings(true, out);
    fprintf(out, "%12s %12s %-16s %-18s\n", "group/all", "group/all", "of the run",
            "busy / useful");
}

static void print_value(const struct summary_row *row, const struct point_summary *point, FILE *out)
{
    const struct summary_table *table = &row->table;
    const void *value = summary_value(row, point);
    if (row->type == SUMMARY_TEXT)
        fprintf(out, "%*s ", table->width, *(const char *const *)value);
    else if (row->type == SUMMARY_BOOL)
        fprintf(out, "%*s ", table->width, summary_integer(row, value) ? "yes" : "no");
    else if (row->type == SUMMARY_F64)
        fprintf(out, "%*.*f ", table->width, table->decimals,
                *(const double *)value / table->divisor);
    else if (table->decimals == 0)
        fprintf(out, "%*" PRIu64 " ", table->width, summary_integer(row, value));
    else
        fprintf(out, "%*.*f ", table->width, table->decimals,
                (double)summary_integer(row, value) / table->divisor);
}

static void print_values(const struct point_summary *point, FILE *out)
{
    for (int i = 0; i < SUMMARY_ROWS_COUNT; i++) {
        const struct summary_row *row = summary_row((enum summary_row_number)i);
        if (row->table.width != 0)
            print_value(row, point, out);
    }
}

static void print_pair(FILE *out, uint64_t group, uint64_t all)
{
    char text[48];
    snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64, group, all);
    fprintf(out, "%12s ", text);
}

static void print_point(const struct point_summary *point, int width, FILE *out)
{
    char busiest[48], array[48];
    snprintf(busiest, sizeof busiest, "%s %.1f %%", engine_kind_name(point->busiest),
             100.0 * point->busiest_share);
    snprintf(array, sizeof array, "%.1f %% / %.1f %%", 100.0 * point->gemm_busy_share,
             100.0 * point->gemm_useful_share);
    print_kernel(point->kernel, width, out);
    print_values(point, out);
    print_pair(out, point->commands[COUNT_IPCQ_COPY], point->commands_total[COUNT_IPCQ_COPY]);
    print_pair(out, point->commands[COUNT_DMA_READ], point->commands_total[COUNT_DMA_READ]);
    fprintf(out, "%-16s %-18s\n", busiest, array);
}

static void print_verification(const struct study_report *report, int width, FILE *out)
{
    fputc('\n', out);
    print_kernel("kernel", width, out);
    fprintf(out, "%-8s %4s %9s %6s  %-12s %12s %12s\n", "phase", "case", "context", "batch",
            "verification", "relative RMS", "largest");
    for (uint32_t i = 0; i < report->count; i++) {
        const struct point_summary *point = &report->points[i];
        print_kernel(point->kernel, width, out);
        fprintf(out, "%-8s %4u %9" PRIu64 " %6u  %-12s %12.3e %12.3e\n", point->phase,
                point->case_number, point->context, point->batch,
                point->verify_passed ? "passed" : "FAILED", point->verify_rms_relative,
                point->verify_max_abs);
    }
}

static void print_times(const char *what, const struct spread *spread, FILE *out)
{
    fprintf(out, "stats: %s %.3f / %.3f / %.3f s per rank (least / mean / most)\n", what,
            spread->least, spread->mean, spread->most);
}

/* Whether more ranks could help, and if not, why. */
static void print_outlook(const struct study_run_facts *run, const struct summary_ranks *ranks,
                          FILE *out)
{
    double share = run->events ? (double)run->busiest_events / (double)run->events : 1;
    double per_round = (double)run->events / (double)(run->rounds ? run->rounds : 1) / ranks->ranks;
    if (ranks->here > ranks->processors)
        fprintf(out, "stats: more ranks cannot help: %u ranks share %u processor%s\n", ranks->here,
                ranks->processors, ranks->processors == 1 ? "" : "s");
    else if (share * ranks->ranks > ALL_BUT)
        fprintf(out,
                "stats: more ranks cannot help: one CUBE has %.1f %% of the events, and a CUBE is "
                "not divided\n",
                100 * share);
    else if (ranks->ranks == ranks->cubes)
        fprintf(out, "stats: more ranks cannot help: each has one CUBE\n");
    else if (per_round < FEW_EVENTS)
        fprintf(out,
                "stats: more ranks cannot help: a round has %.0f events per rank, less work than "
                "its synchronisation\n",
                per_round);
    else
        fprintf(out, "stats: more ranks can help: up to %.0f have CUBEs with work\n",
                share * ranks->cubes < 1 ? (double)ranks->cubes : 1 / share);
}

/* Of the time of the processors that the ranks can use, the part that went into the model; the rest
 * is synchronisation. */
static double processors_share(const struct study_run_facts *run, const struct summary_ranks *ranks)
{
    double busy = run->model_s.mean + run->sync_s.mean, processors = ranks->here;
    if (ranks->here > ranks->processors)
        processors = ranks->processors;
    if (busy <= 0)
        return 1;
    double share = run->model_processor_s.mean * ranks->here / (processors * busy);
    return share < 1 ? share : 1;
}

static void print_stats(const struct study_report *report, const struct summary_ranks *ranks,
                        FILE *out)
{
    const struct study_run_facts *run = &report->run;
    uint64_t steps = 0;
    for (uint32_t i = 0; i < report->count; i++)
        steps += report->points[i].gemm_steps;
    double busy = run->model_s.mean + run->sync_s.mean;
    double worked = processors_share(run, ranks);
    fprintf(out,
            "stats: %.3f M events/s and %.3f M GEMM steps/s in %.3f s of model and "
            "synchronisation (%.1f %% synchronisation)\n",
            busy > 0 ? 1e-6 * (double)run->events / busy : 0.0,
            busy > 0 ? 1e-6 * (double)steps / busy : 0.0, busy, 100.0 * (1 - worked));
    if (ranks->here > ranks->processors)
        fprintf(
            out,
            "stats: %u ranks share %u processor%s: %.3f s of processor time went into the model; "
            "the times of a rank below count its waiting for a processor\n",
            ranks->here, ranks->processors, ranks->processors == 1 ? "" : "s",
            run->model_processor_s.mean * ranks->ranks);
    fprintf(out, "stats: window synchronisation over %s%s%s\n", run->transport,
            run->transport_note[0] != '\0' ? ", not shared memory: " : "", run->transport_note);
    fprintf(out,
            "stats: %.1f events per round; %" PRIu64 " messages of %" PRIu64
            " bytes in all; largest process %.1f MiB\n",
            run->rounds ? (double)run->events / (double)run->rounds : 0.0, run->messages,
            run->message_bytes, (double)run->peak_rss_bytes / MIB);
    print_times("model", &run->model_s, out);
    print_times("synchronisation", &run->sync_s, out);
    print_times("output", &run->output_s, out);
    fprintf(out, "stats: the busiest CUBE has %.1f %% of the events\n",
            run->events ? 100.0 * (double)run->busiest_events / (double)run->events : 0.0);
    print_outlook(run, ranks, out);
}

void summary_print_table(const struct study_report *report, const struct summary_ranks *ranks,
                         bool stats, FILE *out)
{
    const struct study_run_facts *run = &report->run;
    int width = kernel_width(report);
    print_header(width, out);
    for (uint32_t i = 0; i < report->count; i++)
        print_point(&report->points[i], width, out);
    if (report->count > 0 && report->points[0].verified)
        print_verification(report, width, out);
    fprintf(out, "%" PRIu64 " events, %" PRIu64 " rounds, %.3f s wall on %u rank%s\n", run->events,
            run->rounds, run->wall_s, ranks->ranks, ranks->ranks == 1 ? "" : "s");
    if (stats)
        print_stats(report, ranks, out);
}
