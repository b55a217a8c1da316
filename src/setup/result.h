/* result.h - the result of a run while it is made: its provenance, its file, and the flaws found in its data.
 *
 *     begin (provenance, time of the start) -> create (the file) -> the run writes to `writer` -> finish -> close */
#pragma once

#include "io/notes/said.h"
#include "io/write/writer.h"
#include "setup/flaws.h"
#include "setup/setup.h"

#define LW_RESULT_ATTRIBUTES 48

struct lw_result {
    struct lw_setup *setup;             /* borrowed */
    struct lw_attribute attributes[LW_RESULT_ATTRIBUTES];   /* attributes of the root group: the provenance */
    int n_attributes;
    char *texts;                        /* owned: storage of the attributes' texts */
    char *configuration;                /* owned: the resolved options as a job file */
    struct lw_said *said;               /* owned, on rank 0: attributes of the input's file; NULL: not collected */
    struct lw_attribute *carried;       /* owned: `said` as attributes of a FITS image; NULL: it is none */
    struct lw_writer *holder;           /* writer of a file without datasets that holds the result's place; NULL: none */
    int64_t n_runs;                     /* earlier runs that have worked at this result, on rank 0 */
    bool has_journal;                   /* files beside the result are of use to a later run */
    struct lw_writer *writer;           /* its datasets are the job's products, in their order */
    bool has_range, saturates, has_no_nan;      /* attributes on flaws that the result has beside `n_not_finite` */
};

/** Refuse an output that cannot be made, before any work, and collect the provenance. LW_EUSAGE, LW_EIO, LW_ESYSTEM. `result` may
 * be closed whatever the outcome. Collective. */
int lw_result_begin(struct lw_setup *setup, const char *command_line, struct lw_result *result, struct lw_error *err);

/** Create the file with the job's products and attributes as they are now, see lw_writer_create. Collective.
 * @param file  name of the file; NULL: --output */
int lw_result_create(struct lw_result *result, const char *file, struct lw_error *err);

/** Hold the result's place before its datasets are known, by an incomplete file that can be opened and that nobody else may write.
 * Collective.
 * @param has_journal  files that an earlier run has left beside the result stay */
int lw_result_hold(struct lw_result *result, bool has_journal, struct lw_error *err);

/** Give up the held place, so that lw_result_create may follow. Collective.
 * @param has_journal  files beside the result stay until it is finished */
void lw_result_release(struct lw_result *result, bool has_journal);

/** Open the incomplete result that an earlier run of the same job has left for --output, see lw_writer_open. Collective. */
int lw_result_open(struct lw_result *result, struct lw_error *err);

/** Check that the inputs have not changed since they were opened, then complete the file. Collective.
 * @param flaws  in: flaws of this rank; out: of all ranks */
int lw_result_finish(struct lw_result *result, struct lw_flaws *flaws, struct lw_error *err);

/** Warn of flaws, on rank 0. @param flaws  flaws of all ranks */
void lw_result_warn(const struct lw_result *result, const struct lw_flaws *flaws);

/** Close the result. An unfinished file is deleted, unless it is kept for a later run. Collective. */
void lw_result_close(struct lw_result *result);
