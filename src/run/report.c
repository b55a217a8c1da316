#include "run/report.h"

#include "base/memory.h"

#include <stdlib.h>

int lw_report_open(struct lw_report *report, struct lw_comm *comm, const char *const stages[LW_REPORT_STAGES],
                   struct lw_error *err)
{
    *report = (struct lw_report){.comm = comm, .started = lw_now()};
    for (int stage = 0; stage < LW_REPORT_STAGES; stage++)
        report->stages[stage] = stages[stage];
    report->all_seconds = lw_alloc_array((int64_t)lw_comm_size(comm) * LW_REPORT_STAGES, sizeof *report->all_seconds,
                                         "the summary", err);
    return report->all_seconds ? LW_OK : LW_ESYSTEM;
}

void lw_report_close(struct lw_report *report)
{
    lw_free(report->all_seconds);
    report->all_seconds = NULL;
}

double lw_report_elapsed(const struct lw_report *report)
{
    return lw_now() - report->started;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void log_stage(const struct lw_report *report, int stage)
{
    const int size = lw_comm_size(report->comm);
    double column[size];
    for (int rank = 0; rank < size; rank++)
        column[rank] = report->all_seconds[rank * LW_REPORT_STAGES + stage];
    qsort(column, (size_t)size, sizeof *column, compare);
    lw_log_info("%-8s %8.3f s  %8.3f s  %8.3f s   (minimum, median, maximum over ranks)", report->stages[stage], column[0],
                column[size / 2], column[size - 1]);
}

void lw_report_stages(struct lw_report *report)
{
    lw_comm_gather(report->comm, report->seconds, LW_REPORT_STAGES, report->all_seconds);
    for (int stage = 0; stage < LW_REPORT_STAGES && report->stages[stage] && lw_comm_rank(report->comm) == 0; stage++)
        log_stage(report, stage);
}

void lw_report_memory(const struct lw_report *report)
{
    char resident[24];
    const int64_t peak = lw_comm_max(report->comm, lw_memory_peak_bytes());
    lw_log_detail("peak memory of a rank: %s", lw_bytes_text(peak, resident));
}
