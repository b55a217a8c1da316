/* result.h - the result of a run on its way: where it comes from, its file, and what was found wrong with its data.
 *
 *     begin (provenance, the time of the start) -> create (the file) -> the writer is written to -> finish -> close */
#pragma once

#include "io/notes/said.h"
#include "io/write/writer.h"
#include "setup/flaws.h"
#include "setup/setup.h"

#define LW_RESULT_ATTRIBUTES 48

struct lw_result {
    struct lw_setup *setup;             /* borrowed */
    struct lw_attribute attributes[LW_RESULT_ATTRIBUTES];   /* where it comes from: those of its root group */
    int n_attributes;
    char *texts;                        /* owned: storage of the attributes' texts */
    char *configuration;                /* owned: the resolved options as a job file */
    struct lw_said *said;               /* owned, on rank 0: what the input says of itself; NULL: not collected */
    struct lw_attribute *carried;       /* owned, the same for a FITS image; NULL: the result is none */
    struct lw_writer *holder;           /* of a file without datasets that holds the result's place; NULL: there is none */
    int64_t n_runs;                     /* that have worked at it before this one, on rank 0 */
    bool has_journal;                   /* what lies beside the result is of use to a later run */
    struct lw_writer *writer;           /* its datasets are the job's products, in their order */
    bool has_range, saturates, has_no_nan;      /* what beside `n_not_finite` the result says of its flaws */
};

/** Refuse an output that cannot be made, before any work; collect the provenance. LW_EUSAGE, LW_EIO, LW_ESYSTEM. `result` may
 * be closed whatever the outcome. Collective. */
int lw_result_begin(struct lw_setup *setup, const char *command_line, struct lw_result *result, struct lw_error *err);

/** Create the file with the job's products and attributes as they are now: see lw_writer_create. Collective.
 * @param file  its name; NULL: --output */
int lw_result_create(struct lw_result *result, const char *file, struct lw_error *err);

/** Hold its place before its datasets are known: a file that can be opened and is incomplete, which nobody else writes. Collective.
 * @param has_journal  what an earlier run has left beside it stays */
int lw_result_hold(struct lw_result *result, bool has_journal, struct lw_error *err);

/** Now it will be created; create may follow. Collective. @param has_journal  what lies beside it stays until it is finished */
void lw_result_release(struct lw_result *result, bool has_journal);

/** Or go on with the one that an earlier run of the same job has left of --output: see lw_writer_open. Collective. */
int lw_result_open(struct lw_result *result, struct lw_error *err);

/** Check that the inputs are still those that were opened, then complete the file. Collective.
 * @param flaws  this rank's; returned: those of all ranks */
int lw_result_finish(struct lw_result *result, struct lw_flaws *flaws, struct lw_error *err);

/** Warn of flaws, on rank 0. @param flaws  of all ranks */
void lw_result_warn(const struct lw_result *result, const struct lw_flaws *flaws);

/** Unless finished, the file is deleted. Collective. */
void lw_result_close(struct lw_result *result);
