/* repair_nan.h - treatment of samples that are not finite, by lw_op_spec.nan.
 *
 *   propagate   the kernels' loaders count such a sample as zero and raise a flag; after filtering, the outputs whose taps touch
 *               it are overwritten with NaN
 *   zero        it is overwritten with zero before filtering (a complex sample as a whole) */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"
#include "gpu/device/nan_report.h"
#include "gpu/device/post_args.h"
#include "gpu/ols/find.h"

#include <cuda_runtime_api.h>
#include <stdint.h>

LW_C_BEGIN

struct lw_repair {
    void *input;                    /* device; samples as in struct lw_slot, in this machine's byte order */
    void *output;                   /* device; outputs as in struct lw_slot, float or double by `precision` */
    struct lw_nan_report *report;
    struct lw_type input_type;
    bool output_complex;
    enum lw_precision precision;    /* precision of the outputs; also decides which samples are finite */
    enum lw_layout layout;
    int64_t n_taps;                 /* taps of a filter, M */
    int64_t halo, count;            /* samples before the block's own; the block's own samples */
    int64_t n_channels;             /* channels to look at, from `input` on; channels of `output` */
    int64_t input_channels;         /* channels of the block */
    int64_t skip, span;             /* output o of a channel depends on the samples skip + o .. skip + o + span of its input */
    int64_t n_outputs;              /* outputs of a channel at the full rate, also where not all of them are kept */
    int64_t every;                  /* only every `every`-th output of the axis is in `output`; 1: all are */
    bool is_silent;                 /* report nothing, since another call looks at the same samples */
    int64_t n_planes;
    int32_t *filters;               /* NULL, or numbers of the best filters, laid out as the first plane: -1 where NaN is written */
    struct lw_post_args post;
};

/** Enqueue the search for samples that are not finite, and the overwriting of the outputs they spoil. The kernel reads the flag on
 * the device and ends at once where it is zero. A spoilt output becomes NaN in every part; an interpolated one is spoilt if such a
 * sample is in its stencil. Fills the report's n_own and lowest_complement. Launches nothing for integer input. */
cudaError_t lw_cuda_repair_nan(const struct lw_repair *repair, cudaStream_t stream);

/** Enqueue the same for a table of crossings: a row whose output depends on a sample that is not finite becomes NaN.
 * @param first    index on the axis of output 0
 * @param channel  number in the data set of the first channel looked at */
cudaError_t lw_cuda_spoil_crossings(const struct lw_repair *repair, const struct lw_crossings *table, int64_t first,
                                    int64_t channel, cudaStream_t stream);

/** Enqueue the overwriting with zero of input samples that are not finite. They are reported as above. Outputs and planes are not
 * touched. Launches nothing for integer input. */
cudaError_t lw_cuda_zero_nan(const struct lw_repair *repair, cudaStream_t stream);

LW_C_END
