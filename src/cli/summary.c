#include "cli/summary.h"

#include <inttypes.h>

#define MIB (1024.0 * 1024.0)

static void print_header(FILE *out)
{
    fprintf(out, "%-8s %4s %9s %6s %12s %10s %5s %12s %12s %-16s %-18s\n", "phase", "case",
            "context", "batch", "latency", "KV/CUBE", "fits", "IPCQ copies", "DMA reads",
            "busiest engine", "MAC array");
    fprintf(out, "%-8s %4s %9s %6s %12s %10s %5s %12s %12s %-16s %-18s\n", "", "", "tokens", "",
            "us", "MiB", "", "group/all", "group/all", "of the run", "busy / useful");
}

static void print_pair(FILE *out, uint64_t group, uint64_t all)
{
    char text[48];
    snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64, group, all);
    fprintf(out, " %12s", text);
}

static void print_point(const struct point_summary *point, FILE *out)
{
    char busiest[48], array[48];
    snprintf(busiest, sizeof busiest, "%s %.1f %%", engine_kind_name(point->busiest),
             100.0 * point->busiest_share);
    snprintf(array, sizeof array, "%.1f %% / %.1f %%", 100.0 * point->gemm_busy_share,
             100.0 * point->gemm_useful_share);
    fprintf(out, "%-8s %4u %9" PRIu64 " %6u %12.3f %10.3f %5s", point->phase, point->case_number,
            point->context, point->batch, 1e-6 * (double)point->latency_ps,
            (double)point->kv_bytes_per_cube / MIB, point->fits ? "yes" : "no");
    print_pair(out, point->commands[COUNT_IPCQ_COPY], point->commands_total[COUNT_IPCQ_COPY]);
    print_pair(out, point->commands[COUNT_DMA_READ], point->commands_total[COUNT_DMA_READ]);
    fprintf(out, " %-16s %-18s\n", busiest, array);
}

static void print_verification(const struct study_report *report, FILE *out)
{
    fprintf(out, "\n%-8s %4s %9s %6s  %-12s %12s %12s\n", "phase", "case", "context", "batch",
            "verification", "relative RMS", "largest");
    for (uint32_t i = 0; i < report->count; i++) {
        const struct point_summary *point = &report->points[i];
        fprintf(out, "%-8s %4u %9" PRIu64 " %6u  %-12s %12.3e %12.3e\n", point->phase,
                point->case_number, point->context, point->batch,
                point->verify_passed ? "passed" : "FAILED", point->verify_rms_relative,
                point->verify_max_abs);
    }
}

static void print_stats(const struct study_report *report, FILE *out)
{
    const struct study_run_facts *run = &report->run;
    uint64_t steps = 0;
    for (uint32_t i = 0; i < report->count; i++)
        steps += report->points[i].gemm_steps;
    double busy = run->model_s_max + run->sync_s_max;
    fprintf(out,
            "stats: %.3f M events/s and %.3f M GEMM steps/s in %.3f s of model and "
            "synchronisation (%.1f %% synchronisation)\n",
            busy > 0 ? 1e-6 * (double)run->events / busy : 0.0,
            busy > 0 ? 1e-6 * (double)steps / busy : 0.0, busy,
            busy > 0 ? 100.0 * run->sync_s_max / busy : 0.0);
    fprintf(out,
            "stats: %.1f events per round; %" PRIu64 " messages of %" PRIu64
            " bytes in all; output %.3f s; largest process %.1f MiB\n",
            run->rounds ? (double)run->events / (double)run->rounds : 0.0, run->messages,
            run->message_bytes, run->output_s, (double)run->peak_rss_bytes / MIB);
}

void summary_print_table(const struct study_report *report, uint32_t ranks, bool stats, FILE *out)
{
    const struct study_run_facts *run = &report->run;
    print_header(out);
    for (uint32_t i = 0; i < report->count; i++)
        print_point(&report->points[i], out);
    if (report->count > 0 && report->points[0].verified)
        print_verification(report, out);
    fprintf(out, "%" PRIu64 " events, %" PRIu64 " rounds, %.3f s wall on %u rank%s\n", run->events,
            run->rounds, run->wall_s, ranks, ranks == 1 ? "" : "s");
    if (stats)
        print_stats(report, out);
}
