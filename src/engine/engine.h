/* engine.h - what computes: one interface, two engines (cpu: FFTW and OpenMP; cuda: one GPU).
 *
 *     lw_engine_create -> op_plan (pure) -> op_bytes (pure) -> op_create -> slot_create x depth
 *                                         then, per round:  fill slot->input, submit ... wait, take slot->output
 *
 * An operation ("op") is what a job asks for: filters, types, layout and the largest block. A slot is one buffer set of
 * the pipeline. submit hands a filled slot to the engine's own threads or streams and returns; wait blocks until that
 * slot's output is there. Slots are served in the order of submission. Nothing is allocated by submit and wait.
 * Everything is called by the main thread. Results do not depend on the block's size, the slots or the threads. */
#ifndef LW_ENGINE_ENGINE_H
#define LW_ENGINE_ENGINE_H

#include "base/error.h"
#include "base/type.h"
#include "signal/convolution.h"
#include "signal/post.h"
#include "signal/rounds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum lw_engine_kind { LW_ENGINE_AUTO, LW_ENGINE_CPU, LW_ENGINE_CUDA };

/* What is done with a sample that is not finite (or not representable in the computing precision). */
enum lw_nan {
    LW_NAN_PROPAGATE,           /* exactly the outputs whose taps touch it become NaN */
    LW_NAN_ZERO,                /* it counts as zero */
    LW_NAN_ERROR,               /* the slot reports it and the run ends */
    LW_NAN_INTERPOLATE,         /* conv2d: outputs are weighted by the taps that do not touch it */
};

/* How the samples of several channels lie in a file and in a slot. */
enum lw_layout {
    LW_TIME_FAST,               /* [channel][axis] */
    LW_TIME_SLOW,               /* [axis][channel] */
};

/* Overlap-save filtering: y[f][c][i] = sum_m taps[f][m] x[c][i + look_ahead - m], and what signal/post.h makes of y. With a reach
 * of `before` and `after`, own sample i of a block is x[i + look_ahead + after], and the halo n_taps - 1 + before + after. */
struct lw_ols_spec {
    const double *taps;         /* [n_filters x n_taps], or [n_filters x n_taps x 2] if complex; host, borrowed until
                                   op_create returns; already conjugated and reversed for a correlation */
    int n_filters;
    int64_t n_taps;
    bool taps_complex;
    int segment;                /* FFT length N wanted; 0: the engine chooses */
    struct lw_post post;        /* any but none, or a rate: lw_op_spec.n_outputs is needed, and signal/post.h has checked it */
};

enum lw_conv2d_algorithm {
    LW_CONV2D_ALGORITHM_AUTO,
    LW_CONV2D_ALGORITHM_DIRECT, /* sum in the space domain */
    LW_CONV2D_ALGORITHM_TILES,  /* overlap-save on tiles */
    LW_CONV2D_ALGORITHM_FULL,   /* the same on bands as wide as the image */
    LW_CONV2D_ALGORITHM_SEPARABLE, /* a pass along the columns and one along the rows, for a kernel that allows it */
};

/* 2-D convolution of images; the axis is that of the rows, a sample of it a row of `columns` pixels, a channel an image:
 * y[c][i][j] = sum_m sum_n kernel[m][n] x[c][i + look_ahead_rows - m][j + look_ahead_columns - n]. The layout is time fast.
 * Rows above and below the image come with the block; pixels left and right of it are made by the engine. */
struct lw_conv2d_spec {
    const double *kernel;       /* [kernel_rows x kernel_columns] (x 2 if complex), row-major; host, borrowed until op_create
                                   returns; already normalized, and conjugated and turned for a correlation */
    int64_t kernel_rows, kernel_columns;
    bool kernel_complex;
    int64_t rows, columns;      /* of an image */
    int64_t output_columns;
    int64_t look_ahead_rows, look_ahead_columns;        /* position of output (0, 0), see signal/convolution.h */
    enum lw_boundary boundary;
    double outside;             /* boundary ZERO: the value of all pixels beyond the four sides */
    enum lw_conv2d_algorithm algorithm;
};

enum lw_op_kind { LW_OP_OLS, LW_OP_CONV2D, LW_OP_SFFT };

struct lw_op_spec {
    enum lw_op_kind kind;
    struct lw_type input;       /* as stored */
    struct lw_type output;      /* integer outputs are rounded to nearest even and saturated, NaN becomes 0 */
    enum lw_precision precision;
    enum lw_layout layout;
    enum lw_nan nan;
    int64_t n_channels;         /* of the whole data set */
    int64_t n_outputs;          /* on the whole axis (of y, before interpolation), so that no segment is much longer than
                                   that; 0: not known */
    union {
        struct lw_ols_spec ols;
        struct lw_conv2d_spec conv2d;
    };
};

/** Values that one sample of the axis holds, of input and of output: 1, or the pixels of a row, or the outputs that are
 * interpolated from a sample on. */
int64_t lw_op_input_width(const struct lw_op_spec *spec);
int64_t lw_op_output_width(const struct lw_op_spec *spec);

/** Outputs on the axis that a block's output holds: its count, but where the series is interpolated. */
int64_t lw_op_outputs(const struct lw_op_spec *spec, const struct lw_block *block);

/* What the engine will do about a spec; it depends on spec and architecture only, never on ranks, threads or memory. */
struct lw_op_plan {
    int64_t halo;               /* axis samples that a slot needs before its own: n_taps - 1 and the reach of signal/post.h */
    int64_t unit;               /* see struct lw_grid */
    int64_t channel_unit;
    int64_t n_planes;           /* outputs per input sample: n_filters */
    int segment;                /* FFT length N; 0: no FFT */
    double seconds_per_output;  /* model: one thread or the device, per output sample of one plane */
    char text[160];             /* for plan and log: "overlap-save, N = 4096, hop 3840, adjacent segments paired" */
};

struct lw_bytes {
    int64_t host;               /* pageable, per rank */
    int64_t pinned;
    int64_t device;
};

/* Values of an integer output that it could not hold. */
struct lw_loss {
    int64_t n_saturated;        /* rounded, they were beyond the type's range */
    int64_t n_nan;              /* became 0 */
};

/* One buffer set. The engine allocates and frees input and output.
 *
 *   input   block of halo + count samples in the stored type:
 *           LW_TIME_FAST  [n_channels][halo + count]         LW_TIME_SLOW  [halo + count][n_channels]
 *   output  LW_TIME_FAST  [n_planes][n_channels][count]      LW_TIME_SLOW  [n_planes][count][n_channels]
 *
 * with count (of the output: lw_op_outputs) and n_channels those of the block submitted: both are packed tightly. Samples
 * beyond the block that a last, partial segment would need count as zero and change no output of the block. */
struct lw_slot {
    void *input;
    void *output;
    struct lw_block block;      /* set by submit */

    /* set by wait: own (not halo) samples of the block that were not finite, and the lowest of them, as
     * channel of the block and own axis sample of the block; count 0: none */
    int64_t n_not_finite;
    int64_t not_finite_channel, not_finite_sample;
    int64_t not_finite_column;  /* conv2d: the first such pixel of that row */
    bool is_out_of_range;       /* set by wait: some power is too large or too small for float32 or float64, as stored */
    struct lw_loss loss;        /* set by wait: of the block's outputs */
    double busy_seconds;        /* the engine's time from start to end of this slot's work */
};

struct lw_engine;
struct lw_op;
struct lw_sparse_ops;
struct lw_dense_ops;
struct lw_published_ops;

struct lw_engine_ops {
    const char *name;           /* "cpu", "cuda" */

    /** What the engine runs on, one line: "16 threads, AVX2" or "NVIDIA H200, GPU-...". */
    void (*describe)(const struct lw_engine *engine, char *text, size_t size);

    /** The instruction set or GPU architecture on which results depend bit by bit: ranks compare it. */
    void (*architecture)(const struct lw_engine *engine, char *text, size_t size);

    /** Resolve a spec. LW_ECONFIG if it asks for what the engine cannot do (a segment shorter than the filter). */
    int (*op_plan)(const struct lw_engine *engine, const struct lw_op_spec *spec, struct lw_op_plan *plan,
                   struct lw_error *err);

    /** Bytes of op_create plus `depth` slots for blocks of at most `count` x `n_channels`. Exact within a page each. */
    struct lw_bytes (*op_bytes)(const struct lw_engine *engine, const struct lw_op_spec *spec,
                                const struct lw_op_plan *plan, int64_t count, int64_t n_channels, int depth);

    /** Transform the filters, plan the FFTs, allocate all work space. */
    int (*op_create)(struct lw_engine *engine, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                     int64_t count, int64_t n_channels, struct lw_op **out, struct lw_error *err);
    void (*op_destroy)(struct lw_op *op);                   /* NULL is legal; after its slots */

    int (*slot_create)(struct lw_op *op, struct lw_slot **out, struct lw_error *err);
    void (*slot_destroy)(struct lw_op *op, struct lw_slot *slot);

    int (*submit)(struct lw_op *op, struct lw_slot *slot, const struct lw_block *block, struct lw_error *err);
    int (*wait)(struct lw_op *op, struct lw_slot *slot, struct lw_error *err);

    /* The sparse transform is no stream of blocks: each method has a table of its own. */
    const struct lw_sparse_ops *sparse;         /* engine/sparse.h */
    const struct lw_dense_ops *dense;           /* engine/sparse.h */
    const struct lw_published_ops *published;   /* engine/published.h */

    void (*destroy)(struct lw_engine *engine);
};

#define LW_DEVICE_ID 48

/* First member of every engine. */
struct lw_engine {
    const struct lw_engine_ops *ops;
    int depth;                  /* slots that keep it busy while files are read and written */
    int n_workers;              /* threads, or 1 for a device: divides lw_op_plan.seconds_per_output */
    int64_t device_bytes;       /* device memory that this rank may use; 0: the engine has none */
    char device_id[LW_DEVICE_ID];       /* of the device, the same on every rank that drives it: "GPU-..."; "": none */
    int device_ranks;           /* how many do, this one included; 0 until lw_devices_settle has counted them */
};

struct lw_engine_spec {
    enum lw_engine_kind kind;
    int n_threads;              /* cpu: 0 = the cores this process may run on (sched_getaffinity) */
    int node_rank;              /* this rank's number on its node, and how many there are: cuda chooses the device */
    int node_ranks;
    bool share_device;          /* cuda: several ranks may use one GPU */
};

/** Create the engine asked for; AUTO is settled before (lw_setup_open), since all ranks must take the same. */
int lw_engine_create(const struct lw_engine_spec *spec, struct lw_engine **out, struct lw_error *err);
void lw_engine_destroy(struct lw_engine *engine);           /* NULL is legal */

/* The implementations; src/engine/engine.c chooses. Without CUDA, gpu/host/none.c stands in for the cuda engine. */
int lw_cpu_engine_create(const struct lw_engine_spec *spec, struct lw_engine **out, struct lw_error *err);
int lw_cuda_engine_create(const struct lw_engine_spec *spec, struct lw_engine **out, struct lw_error *err);

/** Whether lw_cuda_engine_create would find a device for this rank, and why not. Never fails; creates no context.
 * @param why  one line: the devices, or what is missing */
bool lw_cuda_engine_usable(const struct lw_engine_spec *spec, char why[160]);

#ifdef __cplusplus
}
#endif

#endif
