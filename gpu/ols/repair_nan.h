/* repair_nan.h - treatment of samples that are not finite (flaws), by lw_op_spec.nan.
 *
 *   propagate   filtering kernels count a flaw as zero and raise a flag; after filtering, outputs whose taps touch a flaw (spoilt
 *               outputs) are overwritten with NaN
 *   zero        flaws are overwritten with zero before filtering; a complex sample as a whole */
#pragma once

#include "gpu/device/nan_report.h"
#include "gpu/device/post_args.h"
#include "gpu/ols/find.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

struct lw_repair {
    void *input;                    /* device; samples, laid out as in struct lw_slot, in this machine's byte order */
    void *output;                   /* device; outputs, laid out as in struct lw_slot, float or double by `precision` */
    struct lw_nan_report *report;
    struct lw_type input_type;
    bool output_complex;
    enum lw_precision precision;    /* precision of the outputs; a sample must be finite in it */
    enum lw_layout layout;
    int64_t n_taps;                 /* taps of a filter, M */
    int64_t halo, count;            /* halo samples of the block; its own samples */
    int64_t n_channels;             /* channels that are searched, the first at `input`, and channels of `output` */
    int64_t input_channels;         /* channels of the block */
    int64_t skip, span;             /* output o of a channel depends on the samples skip + o .. skip + o + span of its input */
    int64_t n_outputs;              /* outputs per channel at the full rate, even if fewer are kept */
    int64_t every;                  /* D: `output` has only every D-th output of the axis; 1: all outputs */
    bool is_silent;                 /* report nothing, since another call reports the same samples */
    int64_t n_planes;               /* planes of `output` */
    int32_t *filters;               /* numbers of the best filters, laid out as a plane, -1 where NaN is written; may be NULL */
    struct lw_post_args post;
};

/** Enqueue the search for flaws and the overwriting with NaN of all parts of spoilt outputs. An interpolated output is spoilt if a
 * sample of its stencil is. The kernel ends at once if the report's flag, which it reads on the device, is zero. It sets the
 * report's n_own and lowest_complement. Launches nothing for integer input. */
cudaError_t lw_cuda_repair_nan(const struct lw_repair *repair, cudaStream_t stream);

/** Enqueue the overwriting of spoilt outputs in the rows of a table with NaN. Reports nothing.
 * @param first    axis index of output 0 of the repair
 * @param channel  number of the repair's first channel in the data set */
cudaError_t lw_cuda_spoil_crossings(const struct lw_repair *repair, const struct lw_crossings *table, int64_t first,
                                    int64_t channel, cudaStream_t stream);

/** Enqueue the overwriting of flaws with zero in the input, whatever the flag. Reports them as lw_cuda_repair_nan does, and leaves
 * outputs alone. Launches nothing for integer input. */
cudaError_t lw_cuda_zero_nan(const struct lw_repair *repair, cudaStream_t stream);

LW_C_END
