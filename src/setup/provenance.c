#include "setup/provenance.h"

#include "base/memory.h"
#include "io/hdf5/result/release.h"
#include "version.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TEXTS_BYTES = 16384 };

/* Attributes under collection and the free part of their text storage. */
struct collector {
    struct lw_provenance *provenance;
    char *free;
    size_t room;
};

static struct lw_attribute *add(struct collector *c, const char *name, enum lw_attribute_kind kind)
{
    assert(c->provenance->n_attributes < LW_PROVENANCE_ATTRIBUTES);
    struct lw_attribute *const attribute = &c->provenance->attributes[c->provenance->n_attributes++];
    *attribute = (struct lw_attribute){.name = name, .kind = kind};
    return attribute;
}

static void add_text(struct collector *c, const char *name, const char *text)
{
    add(c, name, LW_ATTRIBUTE_TEXT)->text = text;
}

static void add_int(struct collector *c, const char *name, int64_t value)
{
    add(c, name, LW_ATTRIBUTE_INT)->integer = value;
}

/* Keep the text just printed to the free room, `length` long before any cut; returns it. */
static const char *keep(struct collector *c, int length)
{
    const char *const text = c->free;
    const size_t used = (size_t)length + 1 < c->room ? (size_t)length + 1 : c->room - 1;
    c->free += used;
    c->room -= used;
    return text;
}

__attribute__((format(printf, 3, 4)))
static void add_format(struct collector *c, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(c->free, c->room, format, arguments);
    va_end(arguments);
    add_text(c, name, keep(c, length));
}

/* ISO 8601, UTC */
static const char *time_text(time_t when, char text[32])
{
    struct tm parts;
    gmtime_r(&when, &parts);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

/* A name made of two parts, stored with the texts. */
static const char *join(struct collector *c, const char *first, const char *second)
{
    const int length = snprintf(c->free, c->room, "%s%s", first, second);
    return keep(c, length);
}

static void add_inputs(struct collector *c, const struct lw_job *job)
{
    for (int i = 0; i < job->n_inputs; i++) {
        const struct lw_dataset_info *const info = &job->inputs[i];
        const char *const name = job->input_names[i];
        char modified[32], packing[LW_PACKING_TEXT];
        add_format(c, name, "%s", lw_dataset_name(info).text);
        add_int(c, join(c, name, "_file_bytes"), info->file_bytes);
        add_format(c, join(c, name, "_modified_utc"), "%s", time_text((time_t)(info->modified_ns / 1000000000), modified));
        if (info->packing.is_on)
            add_format(c, join(c, name, "_packing"), "%s", lw_packing_text(&info->packing, packing));
    }
}

static void add_slurm(struct collector *c)
{
    static const char *const variables[][2] = {
        {"slurm_job_id", "SLURM_JOB_ID"}, {"slurm_job_name", "SLURM_JOB_NAME"}, {"slurm_nodes", "SLURM_JOB_NODELIST"},
        {"slurm_array_task_id", "SLURM_ARRAY_TASK_ID"},
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *const value = getenv(variables[i][1]);
        if (value)
            add_format(c, variables[i][0], "%.200s", value);
    }
}

static void add_machine(struct collector *c, const struct lw_setup *setup)
{
    const struct lw_comm *const comm = setup->comm;
    add_text(c, "mpi", lw_comm_library(comm));
    add_text(c, "hdf5", lw_hdf5_text());
    add_int(c, "ranks", lw_comm_size(comm));
    add_text(c, "host", lw_comm_host(comm));
    add_text(c, "engine", setup->engine->ops->name);
    add_text(c, "engine_runs_on", setup->engine_text);
    add_text(c, "algorithm", setup->algorithm);
    add_slurm(c);
}

static void make_late(struct collector *c)
{
    c->provenance->attributes[c->provenance->n_attributes - 1].is_late = true;
}

static void add_times(struct collector *c)
{
    char now[32];
    add_format(c, "start_time_utc", "%s", time_text(time(NULL), now));
    add_format(c, "end_time_utc", "%s", time_text(0, now));
    make_late(c);
    add_int(c, "runs", 1);
    make_late(c);
    add_int(c, "samples_not_finite", 0);
    make_late(c);
    add_text(c, "written", "unfinished");
    make_late(c);
}

int lw_provenance_collect(const struct lw_setup *setup, const char *command_line, struct lw_provenance *provenance,
                          struct lw_error *err)
{
    *provenance = (struct lw_provenance){0};
    if (!(provenance->texts = lw_alloc(TEXTS_BYTES, "the provenance", err)) ||
        !(provenance->configuration = lw_options_resolved(setup->options, setup->job.defaults, err)))
        return LW_ESYSTEM;
    struct collector c = {provenance, provenance->texts, TEXTS_BYTES};
    add_text(&c, "program", "lapwing");
    add_text(&c, "version", LW_VERSION);
    add_text(&c, "commit", LW_COMMIT);
    add_text(&c, "command_line", command_line);
    add_text(&c, "job", setup->job.ops->name);
    add_text(&c, "configuration", provenance->configuration);
    add_inputs(&c, &setup->job);
    add_machine(&c, setup);
    add_times(&c);
    return LW_OK;
}

void lw_provenance_release(struct lw_provenance *provenance)
{
    lw_free(provenance->texts);
    lw_free(provenance->configuration);
}

void lw_provenance_end(int64_t samples_not_finite, int64_t n_runs, const char *written, char time_now[32],
                       struct lw_attribute attributes[LW_PROVENANCE_END])
{
    attributes[0] = (struct lw_attribute){.name = "end_time_utc", .kind = LW_ATTRIBUTE_TEXT,
                                          .text = time_text(time(NULL), time_now)};
    attributes[1] = (struct lw_attribute){.name = "samples_not_finite", .kind = LW_ATTRIBUTE_INT,
                                          .integer = samples_not_finite};
    attributes[2] = (struct lw_attribute){.name = "runs", .kind = LW_ATTRIBUTE_INT, .integer = n_runs};
    attributes[3] = (struct lw_attribute){.name = "written", .kind = LW_ATTRIBUTE_TEXT, .text = written};
}
