/* result.h - the result of a run while it is made: its provenance, its file, and the flaws found in its data.
 *
 *     begin (provenance, time of the start) -> create (the file) -> the run writes to `writer` -> finish -> close */
#pragma once

#include "io/archive/fits/sky.h"
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
    struct lw_sky sky;                  /* owned, on rank 0: places on the sky for a table of sources */
    struct lw_attribute *carried;       /* owned, on rank 0: the input's attributes for a FITS image, else NULL */
    struct lw_writer *holder;           /* owned: writer of lw_result_hold's file; NULL: none */
    int64_t n_runs;                     /* number of earlier, interrupted runs of this result, on rank 0 */
    bool has_journal;                   /* the files beside the result (journal, table rows) stay for a later run */
    struct lw_writer *writer;           /* owned: writer of the job's products, in their order, and of their checksums */
    bool has_range, saturates, has_no_nan;      /* the result counts powers out of range, saturated and NaN outputs in attributes */
    bool is_normalized;                         /* so it does windows without a normalized output */
};

/** Check that --output can be created, before any work, and collect the provenance. Errors: those of lw_setup_check_output;
 * LW_ESYSTEM: no memory. `result` may be closed whatever the outcome. Collective. */
int lw_result_begin(struct lw_setup *setup, const char *command_line, struct lw_result *result, struct lw_error *err);

/** Create the file with the products and attributes that the job has by now, see lw_writer_create. Collective.
 * @param file  name of the file; NULL: --output, which a later run may continue */
int lw_result_create(struct lw_result *result, const char *file, struct lw_error *err);

/** Reserve the result's name before its datasets are known: create an incomplete file without datasets that nobody else may write.
 * Collective.
 * @param has_journal  an earlier run has left files beside the result, which stay */
int lw_result_hold(struct lw_result *result, bool has_journal, struct lw_error *err);

/** Remove the file of lw_result_hold, so that lw_result_create may follow. Collective.
 * @param has_journal  files beside the result stay until the result is finished */
void lw_result_release(struct lw_result *result, bool has_journal);

/** Open the incomplete result that an earlier run of the same job has left for --output, see lw_writer_open. Collective. */
int lw_result_open(struct lw_result *result, struct lw_error *err);

/** Check that no input has changed since it was opened (LW_EDATA), then complete the file. Collective.
 * @param flaws  in: flaws of this rank; out: of all ranks */
int lw_result_finish(struct lw_result *result, struct lw_flaws *flaws, struct lw_error *err);

/** Log a warning for each kind of flaw, on rank 0. @param flaws  flaws of all ranks */
void lw_result_warn(const struct lw_result *result, const struct lw_flaws *flaws);

/** Close the result. An unfinished file is deleted, unless it is kept for a later run. Collective. */
void lw_result_close(struct lw_result *result);
