/* choose.h - options that several jobs share: the axis of the input, the outputs, and their type. */
#pragma once

#include "job/job.h"
#include "signal/convolution.h"

/** Set the view and the window of data with 1 or 2 dimensions (time and channel): the axis from --axis or the file's metadata, the
 * piece and the channels as in job/selection.h. LW_EDATA, LW_EUSAGE: the axis is contradictory or unknown. */
int lw_job_choose_view(const struct lw_options *given, const struct lw_dataset_info *input, struct lw_job *job,
                       struct lw_error *err);

/** Read --precision, --nan, and --output-type with its scale. LW_EUSAGE, LW_ECONFIG: the type is impossible, or cannot be scaled.
 * @param is_complex  whether the result is complex */
int lw_job_choose_output_type(const struct lw_options *given, bool is_complex, struct lw_op_spec *op, struct lw_error *err);

/** Choose the outputs whose times lie in the job's window. They are outputs of a convolution of the whole axis; with --isolated, of
 * the window alone. Sets view, numbers of samples and outputs, first_input and look_ahead; job's boundary, reference_tap and search
 * must be set. A run for peaks alone also makes the outputs within `cluster` of the window. LW_ECONFIG: there are no outputs.
 * @param look_ahead  window position of output 0 of the whole convolution */
int lw_job_choose_outputs(const struct lw_options *given, enum lw_mode mode, int64_t n_taps, int64_t look_ahead, struct lw_job *job,
                          struct lw_error *err);

/** Return the length of the data's axis in samples: of the input and the files beside it; with --isolated, of the window. */
int64_t lw_job_data_length(const struct lw_options *given, const struct lw_job *job);

/** Warn of a filter that is longer than what is read: every output then depends on samples that the boundary makes. */
void lw_job_warn_if_long(const struct lw_job *job, const char *what, int64_t n_taps, int64_t n_samples);

/** Note the scale of --output-type in attributes of the CF conventions (section 8.1, "Packed data"): a value is scale_factor times
 * the stored number. Does nothing without a scale. */
void lw_job_note_scale(struct lw_job *job);

/** lw_job_ops.release of a job that owns nothing but taps and noise. */
void lw_job_release_taps(struct lw_job *job);
