#include "stream/plan_text.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

static void print_rounds(const struct lw_setup *setup, const struct lw_plan *plan)
{
    const struct lw_rounds *const rounds = &plan->rounds;
    const int workers = lw_rounds_workers(rounds, 0);
    const struct lw_job_ops *const words = setup->job.ops;
    const bool shares_axis = rounds->split == LW_SPLIT_AXIS;
    printf("%-16s%d, sharing the %s%s%s\n", "ranks", rounds->n_ranks, shares_axis ? "axis" : words->channel,
           shares_axis ? "" : "s", workers < rounds->n_ranks ? "" : ", all with work");
    if (workers < rounds->n_ranks)
        printf("%-16sonly %d of them have work: there are too few %ss for more\n", "", workers, words->sample);
    printf("%-16s%" PRId64 "%s%s%s\n", "rounds", rounds->n_rounds, rounds->n_groups > 1 ? ", in groups of " : "",
           rounds->n_groups > 1 ? words->channel : "", rounds->n_groups > 1 ? "s" : "");
    printf("%-16s%" PRId64 " outputs x %" PRId64 " %ss per rank and round, cut at multiples of %" PRId64 "\n", "slice",
           rounds->slice, rounds->group, words->channel, rounds->grid.unit);
    printf("%-16s%" PRId64 " %ss\n", "halo", rounds->grid.halo, words->sample);
    printf("%-16s%d\n", "slots", plan->depth);
}

static void print_bytes(const struct lw_plan *plan)
{
    const struct lw_plan_bytes *const b = &plan->bytes;
    char note[256], limit[24];
    snprintf(note, sizeof note, " a rank, of %s (%s)", lw_bytes_text(plan->limits.host, limit), plan->limits.host_source);
    lw_plan_bytes_row("host memory", lw_plan_host_bytes(plan), note);
    lw_plan_bytes_row("  base", plan->limits.base, " resident before the first round");
    lw_plan_bytes_row("  files", b->files, "");
    lw_plan_bytes_row("  halo", b->halo, "");
    lw_plan_bytes_row("  engine", b->engine, "");
    lw_plan_bytes_row("  pinned", b->pinned, "");
    if (plan->limits.device > 0)
        snprintf(note, sizeof note, " a rank, of %s (%s)", lw_bytes_text(plan->limits.device, limit),
                 plan->limits.device_source);
    lw_plan_bytes_row("device memory", b->device, plan->limits.device > 0 ? note : "");
}

static void print_chunks(const struct lw_setup *setup, const struct lw_plan *plan)
{
    const struct lw_chunk_cost *const cost = &plan->chunk_cost;
    if (cost->times == 0)
        return;
    const bool is_compressed = setup->job.inputs[0].is_compressed;
    printf("%-16seach %s %.3g times on average: %.3g s %s\n", "chunks", is_compressed ? "decoded" : "read", cost->times,
           cost->seconds, is_compressed ? "at an assumed 100 MB/s a rank" : "more than once, at an assumed 1 GB/s");
}

void lw_plan_print(const struct lw_setup *setup, const struct lw_plan *plan)
{
    lw_plan_print_input(setup, plan->op.input_width);
    print_rounds(setup, plan);
    print_bytes(plan);
    lw_plan_bytes_row("reads", plan->input_bytes, "");
    lw_plan_bytes_row("writes", plan->output_bytes, "");
    const double files = plan->file_seconds + plan->piece_seconds;
    print_chunks(setup, plan);
    printf("%-16sabout %.3g s: computing %.3g s, files %.3g s at an assumed 1 GB/s", "time",
           lw_plan_seconds(plan) + LW_PLAN_START_SECONDS, plan->compute_seconds, files);
    if (plan->chunk_cost.seconds > 0)
        printf(", chunks %.3g s", plan->chunk_cost.seconds);
    printf(", overlapping");
    if (plan->round_seconds >= 0.5)
        printf("; %" PRId64 " rounds %.3g s at an assumed 0.1 ms: more memory makes fewer", plan->rounds.n_rounds,
               plan->round_seconds);
    printf("\n");
}

void lw_plan_print_measured(const struct lw_plan *plan, const struct lw_measure *measure, const char *longest)
{
    printf("%-16sabout %.3g s: start %.3g s, rounds %.3g s (of %" PRId64 ", %" PRId64 " were tried), until all is on the disk "
           "%.3g s; %s is busy longest\n", "measured", measure->seconds, measure->start_seconds, measure->rounds_seconds,
           plan->rounds.n_rounds, measure->n_rounds, measure->disk_seconds, longest);
}
