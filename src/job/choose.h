/* choose.h - what jobs have in common: the axis of the input, and the type of the output. */
#pragma once

#include "job/job.h"
#include "signal/convolution.h"

/** The view and window of data of rank 1 or 2 (time and channel): --axis, or what the file says, the piece and the channels, as
 * job/selection.h has them. LW_EDATA, LW_EUSAGE if the axis is contradictory or not known. */
int lw_job_choose_view(const struct lw_options *given, const struct lw_dataset_info *input, struct lw_job *job,
                       struct lw_error *err);

/** --precision, --nan, --output-type with its scale. LW_EUSAGE, LW_ECONFIG if the type cannot be had, or scaled.
 * @param is_complex  whether the result is */
int lw_job_choose_output_type(const struct lw_options *given, bool is_complex, struct lw_op_spec *op, struct lw_error *err);

/** The outputs in the window of the job, of a convolution of all that the input has on its axis (--isolated: of the window alone):
 * view, number of samples and outputs, first_input and look_ahead. Where only peaks are wanted, outputs within their reach of the
 * window are made, too. The job's boundary, reference_tap and search are set. LW_ECONFIG if there
 * are no outputs.
 * @param look_ahead  of output 0 of all */
int lw_job_choose_outputs(const struct lw_options *given, enum lw_mode mode, int64_t n_taps, int64_t look_ahead, struct lw_job *job,
                          struct lw_error *err);

/** Samples on the axis of the data that the window is of, those of files beside included; --isolated: of the window. */
int64_t lw_job_data_length(const struct lw_options *given, const struct lw_job *job);

/** Warn of a filter that is longer than what is read: all of its outputs depend on samples that the boundary makes. */
void lw_job_warn_if_long(const struct lw_job *job, const char *what, int64_t n_taps, int64_t n_samples);

/** The result's attributes about the scale of --output-type, named as the CF conventions name them (section 8.1, "Packed data"): a
 * value is scale_factor times what is stored. Nothing where the option is not given. */
void lw_job_note_scale(struct lw_job *job);

/** lw_job_ops.release of a job that owns nothing but its taps. */
void lw_job_release_taps(struct lw_job *job);
