/* repair_nan.h - what becomes of samples that are not finite.
 *
 *   propagate   the loaders count them as zero and raise a flag; afterwards the outputs whose taps touch them are overwritten
 *   zero        they are overwritten before (a complex sample as a whole) */
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
    void *input;                    /* device, as in struct lw_slot, in this machine's byte order */
    void *output;                   /* device, likewise, float or double by `precision` */
    struct lw_nan_report *report;
    struct lw_type input_type;
    bool output_complex;
    enum lw_precision precision;    /* of the outputs; decides what is finite */
    enum lw_layout layout;
    int64_t n_taps;                 /* M */
    int64_t halo, count;            /* samples before the block's own, and these */
    int64_t n_channels;             /* that are looked at, from `input` on; of the output */
    int64_t input_channels;         /* of the block */
    int64_t skip, span;             /* output o of a channel is touched by the samples skip + o .. skip + o + span of its input */
    int64_t n_outputs;              /* of a channel, at rate 1, also where not all are kept */
    int64_t every;                  /* of these the output holds those at multiples of so many on the axis; 1: all */
    bool is_silent;                 /* nothing is reported: another call looks at the same samples */
    int64_t n_planes;
    int32_t *filters;               /* NULL, or an array like the first plane that becomes -1 where that becomes NaN */
    struct lw_post_args post;
};

/** Enqueue the search and repair. The kernel reads the flag on the device and ends at once where it is zero. Outputs that
 * such a sample touches become NaN in every part, interpolated ones where it is in their stencil. Fills the report's n_own and
 * lowest_complement. Launches nothing for integer input. */
cudaError_t lw_cuda_repair_nan(const struct lw_repair *repair, cudaStream_t stream);

/** Enqueue the marking of a table's rows: those whose outputs such a sample touches become NaN, too.
 * @param first    on the axis: output 0
 * @param channel  of the data set: the first that is looked at */
cudaError_t lw_cuda_spoil_crossings(const struct lw_repair *repair, const struct lw_crossings *table, int64_t first,
                                    int64_t channel, cudaStream_t stream);

/** Enqueue the search for samples that are not finite in the input; they become zero and are reported likewise. Output and
 * planes are not looked at. Launches nothing for integer input. */
cudaError_t lw_cuda_zero_nan(const struct lw_repair *repair, cudaStream_t stream);

LW_C_END
