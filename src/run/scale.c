/* scale.c - the plan of a run on a machine that is not here, and a table of its times on 1, 2, 4, ... of the machine's nodes. Each
 * row is a plan of its own: with fewer nodes, a rank has more of the data and other rounds. */
#include "run/run.h"

#include "base/log.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

/* Least efficiency at which nodes are worth their hours. */
#define GOOD_EFFICIENCY 0.8

struct scaling {
    struct lw_comm *comm;
    const struct lw_job_ops *ops;
    const struct lw_options *options;
    struct lw_reader *reader;       /* reader of the input, which the first plan opens */
    double first;                   /* node-seconds of the fewest nodes that are enough; 0: none are yet */
    int64_t most_good;              /* most nodes with GOOD_EFFICIENCY; 0: none */
};

/* Plan without printing or logging anything. */
static int plan_quietly(struct scaling *scaling, const struct lw_machine *machine, struct lw_planned *planned,
                        struct lw_error *err)
{
    *planned = (struct lw_planned){.machine = machine, .reader = &scaling->reader};
    lw_log_hush(true);
    const int rc = lw_run_plan(scaling->comm, scaling->ops, scaling->options, planned, err);
    lw_log_hush(false);
    return rc;
}

static int print_row(struct scaling *scaling, const struct lw_machine *whole, int64_t nodes, struct lw_error *err)
{
    struct lw_machine machine = *whole;
    struct lw_planned planned;
    char host[24];
    machine.nodes = nodes;
    const int rc = plan_quietly(scaling, &machine, &planned, err);
    if (rc == LW_ECONFIG)
        printf("  %7" PRId64 "  does not fit: more nodes give each rank less\n", nodes);
    if (rc)
        return rc == LW_ECONFIG ? LW_OK : rc;
    const double seconds = lw_run_model_seconds(&planned.times), all = seconds * (double)nodes;
    scaling->first = scaling->first > 0 ? scaling->first : all;
    const double efficiency = scaling->first / all;
    if (efficiency >= GOOD_EFFICIENCY)
        scaling->most_good = nodes;
    printf("  %7" PRId64 " %11.4g %10.0f%% %12.4g  %-10s %-8s %s\n", nodes, seconds, 100 * efficiency, all / 3600,
           lw_run_model_limit(&planned.times), planned.has_device ? "GPUs" : "CPUs", lw_bytes_text(planned.host_bytes, host));
    return LW_OK;
}

static int print_table(struct scaling *scaling, const struct lw_machine *machine, struct lw_error *err)
{
    int rc = LW_OK;
    printf("\n  %7s %11s %11s %12s  %-10s %-8s %s\n", "nodes", "seconds", "efficiency", "node-hours", "limited by", "compute",
           "memory a rank");
    for (int64_t nodes = 1; rc == LW_OK && nodes < machine->nodes; nodes *= 2)
        rc = print_row(scaling, machine, nodes, err);
    rc = rc ? rc : print_row(scaling, machine, machine->nodes, err);
    if (rc == LW_OK && scaling->most_good > 0)
        printf("\n%-16sup to %" PRId64 " with at least %.0f%% efficiency\n", "nodes", scaling->most_good, 100 * GOOD_EFFICIENCY);
    return rc;
}

/* Print the rate of files below which GPUs do not pay: reading and writing then take as long as the CPUs compute. */
static int print_least_rate(struct scaling *scaling, const struct lw_machine *machine, struct lw_error *err)
{
    struct lw_machine cpus = *machine;
    struct lw_planned planned;
    cpus.only_cpu = true;
    const int rc = plan_quietly(scaling, &cpus, &planned, err);
    if (rc == LW_OK)
        printf("%-16spay where files are read and written at more than %.3g GB/s: below, CPUs compute as fast as files come\n",
               "GPUs", (double)(planned.read_bytes + planned.written_bytes) / planned.times.compute / 1e9);
    return rc == LW_ECONFIG ? LW_OK : rc;
}

static void print_submit(const struct lw_machine *machine, const struct lw_planned *planned, const char *jobfile)
{
    printf("%-16ssbatch --nodes=%" PRId64 " --%s-per-node=%" PRId64 " --time=%" PRId64 " slurm/lapwing%s.sh %s\n", "submit",
           machine->nodes, planned->has_device ? "gpus" : "ntasks", machine->ranks_per_node,
           lw_plan_minutes(lw_run_model_seconds(&planned->times)), planned->has_device ? "-gpu" : "",
           jobfile ? jobfile : "JOB.ini");
}

int lw_plan_machine(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                    const struct lw_machine *machine, const char *jobfile, struct lw_error *err)
{
    struct scaling scaling = {.comm = comm, .ops = ops, .options = options};
    struct lw_planned planned = {.prints = true, .machine = machine, .reader = &scaling.reader};
    lw_machine_imagine(machine);
    int rc = lw_run_plan(comm, ops, options, &planned, err);
    if (rc == LW_OK)
        print_submit(machine, &planned, jobfile);
    rc = rc ? rc : print_table(&scaling, machine, err);
    rc = rc || !machine->gpu ? rc : print_least_rate(&scaling, machine, err);
    lw_machine_imagine(NULL);
    lw_reader_close(scaling.reader);
    return rc;
}
