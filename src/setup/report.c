#include "setup/report.h"

#include "base/memory.h"
#include "base/select.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

int lw_report_open(struct lw_report *report, struct lw_comm *comm, const char *const stages[LW_REPORT_STAGES], struct lw_error *err)
{
    *report = (struct lw_report){.comm = comm, .stages = stages, .started = lw_now()};
    report->all_seconds = lw_alloc_array((int64_t)lw_comm_size(comm) * LW_REPORT_STAGES, sizeof *report->all_seconds,
                                         "the summary", err);
    return report->all_seconds ? LW_OK : LW_ESYSTEM;
}

void lw_report_close(struct lw_report *report)
{
    lw_free(report->all_seconds);
    report->all_seconds = NULL;
}

double lw_report_elapsed(const struct lw_report *report) { return lw_now() - report->started; }

/* Log the times of one stage. @return  the maximum over ranks, in seconds */
static double log_stage(const struct lw_report *report, int stage)
{
    const int size = lw_comm_size(report->comm);
    double column[size];
    for (int rank = 0; rank < size; rank++)
        column[rank] = report->all_seconds[rank * LW_REPORT_STAGES + stage];
    const double most = lw_select(column, size, size - 1);
    lw_log_info("%-8s %8.3f s  %8.3f s  %8.3f s   (minimum, median, maximum over ranks)", report->stages[stage],
                lw_select(column, size, 0), lw_select(column, size, size / 2), most);
    return most;
}

static int find_longest(const struct lw_report *report, const double seconds[LW_REPORT_STAGES])
{
    int longest = 0;
    for (int stage = 1; stage < LW_REPORT_STAGES && report->stages[stage]; stage++)
        longest = seconds[stage] > seconds[longest] ? stage : longest;
    return longest;
}

const char *lw_report_longest(const struct lw_report *report) { return report->stages[find_longest(report, report->seconds)]; }

void lw_report_warning(struct lw_comm *comm, const char *text)
{
    struct lw_error first;
    const int64_t n = lw_comm_sum(comm, text[0] != '\0');
    if (n == 0)
        return;
    lw_comm_agree(comm, text[0] ? lw_fail(&first, LW_ECONFIG, "%s", text) : LW_OK, &first);
    if (lw_comm_rank(comm) != 0)
        return;
    if (lw_comm_size(comm) == 1)
        lw_log_warn("%s", first.message);
    else
        lw_log_warn("%s (%" PRId64 " of %d ranks, first rank %d on %s)", first.message, n, lw_comm_size(comm), first.rank,
                    first.host);
}

void lw_report_stages(struct lw_report *report)
{
    const double elapsed = lw_report_elapsed(report);
    double seconds[LW_REPORT_STAGES] = {0};
    lw_comm_gather(report->comm, report->seconds, LW_REPORT_STAGES, report->all_seconds);
    if (lw_comm_rank(report->comm) != 0)
        return;
    for (int stage = 0; stage < LW_REPORT_STAGES && report->stages[stage]; stage++)
        seconds[stage] = log_stage(report, stage);
    const int longest = find_longest(report, seconds);
    /* A stage limits the run if it is busy for most of the time. Then only a faster stage makes the run faster. */
    static const double most_of_it = 0.7, least_s = 1;
    const double share = seconds[longest] / elapsed;
    if (share >= most_of_it)
        lw_log_info("%s limits this run: busy for %.0f%% of it", report->stages[longest], 100 * share);
    else if (elapsed < least_s)
        lw_log_info("the run was too short to name a limit");
    else
        lw_log_info("no stage limits this run: the longest, %s, was busy for %.0f%% of it; the rest is start, end and waiting",
                    report->stages[longest], 100 * share);
}

const char *lw_traffic_text(const struct lw_traffic *traffic, char text[LW_TRAFFIC_TEXT])
{
    int used = snprintf(text, LW_TRAFFIC_TEXT, "%" PRId64 " agreements, %" PRId64 " collectives of %" PRId64 " bytes in all, "
                        "%" PRId64 " messages of %" PRId64 " bytes in all", traffic->agreements, traffic->collectives,
                        traffic->collective_bytes, traffic->messages, traffic->message_bytes);
    if (traffic->chain > 0)
        snprintf(text + used, (size_t)(LW_TRAFFIC_TEXT - used), "; %" PRId64 " of them one after the other", traffic->chain);
    return text;
}

void lw_report_use(const struct lw_report *report)
{
    static const char *const names[] = {[LW_PHASE_START] = "start", [LW_PHASE_ROUNDS] = "rounds"};
    struct lw_traffic traffic[LW_PHASE_END];
    int64_t sums[LW_PHASE_END][2];
    char text[LW_TRAFFIC_TEXT];
    lw_log_detail("peak memory of a rank: %s", lw_bytes_text(lw_comm_max(report->comm, lw_memory_peak_bytes()), text));
    for (int phase = 0; phase < LW_PHASE_END; phase++) {
        traffic[phase] = *lw_comm_traffic(report->comm, phase);
        sums[phase][0] = traffic[phase].messages;
        sums[phase][1] = traffic[phase].message_bytes;
    }
    lw_comm_sums(report->comm, sums[0], 2 * LW_PHASE_END);
    for (int phase = 0; phase < LW_PHASE_END; phase++) {
        traffic[phase].messages = sums[phase][0];
        traffic[phase].message_bytes = sums[phase][1];
        lw_log_detail("messages of the %s: %s", names[phase], lw_traffic_text(&traffic[phase], text));
    }
}

/* ---- the start --------------------------------------------------------------------------------------------------------- */

static struct {
    double begun, last;
    double seconds[LW_START_STAGES];
    bool is_told;
} timeline;

void lw_timeline_begin(void) { timeline.begun = timeline.last = lw_now(); }

void lw_timeline_end(enum lw_start_stage stage)
{
    const double now = lw_now();
    if (timeline.begun == 0)
        timeline.begun = timeline.last = now;
    timeline.seconds[stage] += now - timeline.last;
    timeline.last = now;
}

void lw_timeline_submitted(void)
{
    static const char *const names[LW_START_STAGES] = {
        [LW_START_MPI] = "MPI", [LW_START_OPENING] = "opening", [LW_START_ENGINE] = "engine", [LW_START_PLANNING] = "planning",
        [LW_START_RESULT] = "result", [LW_START_MEMORY] = "memory", [LW_START_READ] = "first read",
    };
    char text[256] = "";
    if (timeline.is_told)
        return;
    timeline.is_told = true;
    const double now = lw_now();
    for (int stage = 0; stage < LW_START_STAGES; stage++)
        lw_append(text, sizeof text, "%s %.3f, ", names[stage], timeline.seconds[stage]);
    lw_log_detail("first block submitted after %.3f s: %ssubmitting %.3f", now - timeline.begun, text, now - timeline.last);
}
