#include "setup/planned.h"

#include "base/log.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

/* Seconds by which each further rank of a node starts its device later: the driver makes their contexts one after the other. */
#define NEXT_DEVICE_SECONDS 0.14

/* Part of a device's start that the launcher's does not hide, beside which it goes on. */
#define SEEN_OF_DEVICE 0.5

/* Seconds in which a rank opens a file; ranks share the files. */
#define FILE_SECONDS 3e-4

double lw_planned_start(const struct lw_setup *setup)
{
    const double device = setup->engine_type->start_seconds;
    const int further = device > 0 ? lw_comm_node_size(setup->comm) - 1 : 0;
    const double files = (double)(lw_reader_info(setup->reader)->n_files - 1) * FILE_SECONDS / lw_comm_size(setup->comm);
    const double launcher = setup->machine ? setup->machine->start : LW_PLAN_START_SECONDS;
    return launcher + SEEN_OF_DEVICE * device + further * NEXT_DEVICE_SECONDS + files;
}

void lw_planned_take(struct lw_planned *planned, const struct lw_setup *setup, struct lw_run_model times)
{
    planned->times = times;
    planned->times.start = lw_planned_start(setup);
    planned->has_device = setup->engine->device_bytes > 0;
}

void lw_plan_row(const char *name, const char *text) { printf("%-16s%s\n", name, text); }

void lw_plan_bytes_row(const char *name, int64_t bytes, const char *note)
{
    char size[24];
    printf("%-16s%s%s\n", name, lw_bytes_text(bytes, size), note);
}

void lw_plan_total_row(const char *name, int64_t bytes, int64_t limit, const char *source)
{
    char note[256], text[24];
    snprintf(note, sizeof note, " a rank, of %s (%s)", lw_bytes_text(limit, text), source);
    lw_plan_bytes_row(name, bytes, note);
}

void lw_plan_base_row(const struct lw_setup *setup, const char *until)
{
    char note[160], files[24], ranks[24];
    const int64_t n_files = lw_reader_info(setup->reader)->n_files;
    const int n_ranks = lw_comm_size(setup->comm);
    const int used = snprintf(note, sizeof note, " resident before the first %s", until);
    if (n_files > 1 || n_ranks > 1)
        snprintf(note + used, sizeof note - (size_t)used, "; of these, %s for %" PRId64 " file%s and about %s for %d rank%s",
                 lw_bytes_text(lw_reader_table_bytes(setup->reader), files), n_files, n_files == 1 ? "" : "s",
                 lw_bytes_text(n_ranks * LW_PEER_BYTES, ranks), n_ranks, n_ranks == 1 ? "" : "s");
    lw_plan_bytes_row("  base", setup->limits.base, note);
}

int lw_plan_refuse(const struct lw_limits *limits, const char *who, int64_t host, int64_t device, const char *remedy,
                   struct lw_error *err)
{
    char bytes[24], limit[24];
    if (device > limits->device)
        return lw_fail(err, LW_ECONFIG,
                       "%s needs %s of GPU memory on each rank, the limit is %s (%s): allow more with "
                       "--gpu-memory, free the GPU, let fewer ranks share it, give --engine cpu, or %s",
                       who, lw_bytes_text(device, bytes), lw_bytes_text(limits->device, limit), limits->device_source, remedy);
    return lw_fail(err, LW_ECONFIG, "%s needs %s of memory on each rank, the limit is %s (%s): allow more with --memory, run "
                   "fewer ranks on a node, or %s", who, lw_bytes_text(host, bytes), lw_bytes_text(limits->host, limit),
                   limits->host_source, remedy);
}

void lw_plan_print_input(const struct lw_setup *setup, int64_t width)
{
    const struct lw_job *const job = &setup->job;
    const struct lw_dataset_info *const input = &job->inputs[0];
    const int64_t n_channels = lw_op_inputs(&job->op, job->op.n_channels);
    char type[40], name[2 * sizeof(struct lw_name)];
    lw_plan_row("job", job->ops->name);
    if (setup->machine)
        lw_plan_row("machine", setup->machine->text);
    printf("%-16s%s, %s, %" PRId64 " %ss x %" PRId64 " %s%s", "input",
           lw_escape(lw_dataset_name(input).text, "", name, sizeof name), lw_type_text(input->type, type), job->n_samples,
           job->ops->sample, n_channels, job->ops->channel, n_channels == 1 ? "" : "s");
    if (width > 1)
        printf(", %" PRId64 " pixels a row\n", width);
    else
        printf(", %s\n", job->op.layout == LW_TIME_FAST ? "time fast" : "time slow");
    for (int i = 1; i < job->n_inputs; i++)
        if (strcmp(job->input_names[i], "map") == 0)
            printf("%-16s%s, %s\n", "map", lw_escape(lw_dataset_name(&job->inputs[i]).text, "", name, sizeof name),
                   lw_type_text(job->inputs[i].type, type));
    lw_plan_row("", job->summary);
    lw_plan_row("engine", setup->engine_text);
    if (setup->engine_times[0])
        lw_plan_row("", setup->engine_times);
    lw_plan_row("algorithm", setup->algorithm);
}

int64_t lw_plan_minutes(double seconds) { return (int64_t)(2 * seconds / 60) + 2; }

void lw_plan_print_slurm(double seconds)
{
    printf("%-16s--time=%" PRId64 " (minutes; twice the estimate)\n", "Slurm", lw_plan_minutes(seconds));
}
