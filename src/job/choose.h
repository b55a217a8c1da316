/* choose.h - options that several jobs share: the axis of the input, the outputs, and their type. */
#pragma once

#include "job/job.h"

/** Choose the time axis of data with 1 or 2 dimensions: by --axis, or the metadata. LW_EDATA, LW_EUSAGE: the axis is contradictory
 * or unknown. @param job  name for messages */
int lw_job_choose_axis(const struct lw_options *given, const char *job, const struct lw_dataset_info *input, int *axis,
                       struct lw_error *err);

/** Set view, window, op.layout and op.n_channels of data with 1 or 2 dimensions (time, channel): the axis by --axis or the
 * metadata, piece and channels as in job/selection.h. LW_EDATA, LW_EUSAGE: the axis is contradictory or unknown. */
int lw_job_choose_view(const struct lw_options *given, const struct lw_dataset_info *input, struct lw_job *job,
                       struct lw_error *err);

/** Read --precision, --nan, and --output-type with its scale. LW_EUSAGE, LW_ECONFIG: the type is impossible, or cannot be scaled.
 * @param is_complex  whether the result is complex */
int lw_job_choose_output_type(const struct lw_options *given, bool is_complex, struct lw_op_spec *op, struct lw_error *err);

/** Choose the outputs whose times lie in the window, from a convolution of the whole axis (--isolated: of the window). Sets view,
 * n_samples, n_outputs, first_input and look_ahead; the job's boundary, reference_tap and search must be set. A run for peaks alone
 * also computes the outputs within `cluster` of the window. LW_ECONFIG: no outputs.
 * @param look_ahead  look_ahead of the whole convolution (signal/convolution.h) */
int lw_job_choose_outputs(const struct lw_options *given, enum lw_mode mode, int64_t n_taps, int64_t look_ahead, struct lw_job *job,
                          struct lw_error *err);

/** Return the number of samples on the axis of the input and the files beside it; with --isolated, of the window. */
int64_t lw_job_data_length(const struct lw_options *given, const struct lw_job *job);

/** Warn if filters have more taps than samples are read: every output then depends on samples that the boundary makes.
 * @param what  subject of the warning with its verb, such as "the filters are" */
void lw_job_warn_if_long(const struct lw_job *job, const char *what, int64_t n_taps, int64_t n_samples);

/** Note the scale of --output-type on the first product, in attributes of the CF conventions (section 8.1, "Packed data"): a value
 * is scale_factor times the stored number. Does nothing without a scale. */
void lw_job_note_scale(struct lw_job *job);

/** Release taps, noise and mesh: lw_job_ops.release of a job that owns nothing else. */
void lw_job_release_taps(struct lw_job *job);
