/* engine.h - what computes: one interface for all engines (cpu: FFTW and OpenMP; cuda: one GPU). engine/registry.h names them.
 *
 *     type->create -> op_plan (pure) -> op_bytes (pure) -> op_create -> slot_create x depth
 *                                         then, per round:  fill slot->input, submit ... wait, take slot->products
 *
 * An operation ("op") is what a job asks for: filters, types, layout and the largest block. A slot is one buffer set of the
 * pipeline. submit hands a filled slot to the engine's own threads or streams and returns; wait blocks until that slot's output is
 * there. Slots are served in the order of submission. Nothing is allocated by submit and wait. Everything is called by the main
 * thread, but for type->warm_up (engine/warm_up.h). Results do not depend on the block's size, the slots or the threads. */
#pragma once

#include "base/error.h"
#include "base/linkage.h"
#include "base/type.h"
#include "signal/convolution.h"
#include "signal/post.h"
#include "signal/rounds.h"
#include "signal/search.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LW_C_BEGIN

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
    struct lw_search search;    /* more than the series: n_outputs is needed, and `post` at most decimates */
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
 * Rows above and below the image come with the block; pixels left and right of it are made by the engine. With a reach of
 * `before` and `after`, own sample i of a block is x[i + look_ahead_rows + after], the halo kernel_rows - 1 + before + after. */
struct lw_conv2d_spec {
    const double *kernel;       /* [kernel_rows x kernel_columns] (x 2 if complex), row-major; host, borrowed until op_create
                                   returns; already normalized, and conjugated and turned for a correlation */
    int64_t kernel_rows, kernel_columns;
    bool kernel_complex;
    int64_t rows, columns;      /* of an image */
    int64_t output_columns;
    int64_t look_ahead_rows, look_ahead_columns;        /* position of output (0, 0), see signal/convolution.h */
    int every;                  /* D: of y, only rows and columns whose index is a multiple of D are kept; 0 counts as 1 */
    struct lw_search search;    /* of the series (the image) and peaks, the noise of each channel; with peaks n_outputs is needed */
    enum lw_boundary boundary;
    double outside;             /* boundary ZERO: the value of all pixels beyond the four sides */
    enum lw_conv2d_algorithm algorithm;
};

enum lw_op_kind { LW_OP_OLS, LW_OP_CONV2D, LW_OP_SFFT };

struct lw_op_spec {
    enum lw_op_kind kind;
    struct lw_type input;       /* as stored */
    struct lw_type output;      /* rounded to nearest even; integers and halves saturate, and NaN becomes 0 in integers */
    double output_scale;        /* outputs that saturate hold y / output_scale; 0 counts as 1 */
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

/* What a product is. */
enum lw_op_product_kind {
    LW_OP_SERIES,               /* the job's filtered signal or image, and what signal/post.h makes of it */
    LW_OP_CROSSINGS,            /* a table of struct lw_crossing, in any order; this and those below: see signal/search.h */
    LW_OP_BEST_VALUE,           /* of the computing precision, complex where y is */
    LW_OP_BEST_FILTER,          /* int32 */
    LW_OP_BLOCK_MAX,            /* of the computing precision, real */
    LW_OP_BLOCK_MEAN,           /* complex where y is */
    LW_OP_BLOCK_RMS,            /* real */
};

/* One of the things that an operation delivers for each block: an array of the block's shape, one that is longer or shorter
 * along the axis, or the rows of a table, as many as the block gives. */
struct lw_op_product {
    enum lw_op_product_kind kind;
    struct lw_type type;        /* of an array's values */
    int64_t n_planes;           /* arrays side by side: n_filters; 0: a table */
    int64_t width;              /* values of one output: the pixels of a row, else 1 */
    int rate;                   /* outputs for each sample of the axis, one for its last: more than 1 where interpolated */
    int64_t every;              /* outputs of every so many samples of the axis only, from the first on; 1: of all */
    int64_t row_bytes;          /* of a table */
    int64_t sample_rows;        /* of a table: at most so many rows for each sample of the axis */
    int64_t beyond;             /* of a table: samples beyond a block's own that give rows, too */
    int64_t least_rows;         /* of a table: there is room for so many, if a block can have them */
};

/* Products of one operation. */
#define LW_OP_PRODUCTS 8

/* What the engine will do about a spec; it depends on spec and architecture only, never on ranks, threads or memory. */
struct lw_op_plan {
    int64_t halo;               /* axis samples that a slot needs before its own: n_taps - 1, the reach of signal/post.h, and
                                   `before` and `after` */
    int64_t before, after;      /* outputs computed beyond a block's own, see lw_search_before: own sample i of a block is
                                   x[i + look_ahead + reach.after + after] */
    int64_t unit;               /* see struct lw_grid */
    int64_t channel_unit;
    int64_t input_width;        /* values that one sample of the axis holds: the pixels of a row, else 1 */
    int64_t n_outputs;          /* on the whole axis, before interpolation; 0: not known */
    struct lw_op_product products[LW_OP_PRODUCTS];
    int n_products;
    int64_t n_values;           /* computed for each sample of the axis of a channel: by all filters, of all pixels of a row */
    int segment;                /* FFT length N; 0: no FFT */
    double seconds_per_output;  /* model: one thread or the device, for each of these values */
    char text[160];             /* for plan and log: "overlap-save, N = 4096, hop 3840, adjacent segments paired" */
};

/** Set the products of an overlap-save operation: the series first, if it is wanted, then those of signal/search.h in the order
 * of their kinds; the number of values; and `before` and `after`, for the plan's unit, which grow its halo. */
void lw_op_ols_products(const struct lw_op_spec *spec, struct lw_op_plan *plan);

/** The same for a 2-D convolution: the convolved image, if it is wanted, then the table of its peaks' crossings. */
void lw_op_conv2d_products(const struct lw_op_spec *spec, struct lw_op_plan *plan);

/** Whether the kernel of images is the product of a column and a row, but for what rounding leaves (signal/separable.h).
 * @param is_product  set; NULL: LW_ECONFIG if it is not */
int lw_op_conv2d_separable(const struct lw_op_spec *spec, bool *is_product, struct lw_error *err);

/** What is sought, and the filters that it is sought with: one for images. */
const struct lw_search *lw_op_search(const struct lw_op_spec *spec);
int lw_op_filters(const struct lw_op_spec *spec);

/** Their taps along the axis: rows, for images; values of an output on the axis: the pixels of a row, else 1; and whether it is
 * such pixels. */
int64_t lw_op_taps(const struct lw_op_spec *spec);
int64_t lw_op_width(const struct lw_op_spec *spec);
bool lw_op_has_pixels(const struct lw_op_spec *spec);

/** Whether y is complex, before anything is made of it. */
bool lw_op_is_complex(const struct lw_op_spec *spec);

/** D, at least 1. */
int lw_conv2d_every(const struct lw_conv2d_spec *conv2d);

/** The number of the product of that kind; -1: the operation has none. */
int lw_op_find_product(const struct lw_op_plan *plan, enum lw_op_product_kind kind);

/** Rows that a slot has room for of a table, for blocks of at most so many samples and channels: one for every 1024 that are
 * possible, and the least. Beyond them a block is done again in parts. */
int64_t lw_op_most_rows(const struct lw_op_plan *plan, int product, int64_t count, int64_t n_channels);

/** Outputs on the axis that a block has of an array, which begin at lw_op_first_output of the array's axis. */
int64_t lw_op_outputs(const struct lw_op_plan *plan, int product, const struct lw_block *block);
int64_t lw_op_first_output(const struct lw_op_plan *plan, int product, const struct lw_block *block);

/** What y is multiplied with before it is rounded: 1 / output_scale; 1 for outputs that do not saturate. */
double lw_op_output_factor(const struct lw_op_spec *spec);

/** Whether squares are made when they are stored, of amplitudes: as float64 they hold what single precision would lose; and what is
 * then made of the samples before. */
bool lw_op_squares(const struct lw_op_spec *spec);
enum lw_post_kind lw_op_made(const struct lw_op_spec *spec);

/** The smallest and the largest power that is not lost: in float32 and float64 what they hold with all digits. What halves cannot
 * hold rounds to 0 or counts as saturated, so that for them it is what the computing precision holds. 0 and infinity for integers,
 * where an infinite power counts as saturated, too. */
void lw_op_power_range(const struct lw_op_spec *spec, double *least, double *most);

/** Bytes of a slot's input, and of one product, for a block of count samples and n_channels that may lie anywhere. */
int64_t lw_op_input_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels);
int64_t lw_op_product_bytes(const struct lw_op_plan *plan, int product, int64_t count, int64_t n_channels);

/* Buffers of a slot for blocks of at most so many samples and channels. */
struct lw_slot_bytes {
    int64_t input, products[LW_OP_PRODUCTS];
};

struct lw_slot_bytes lw_op_slot_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count,
                                      int64_t n_channels);

struct lw_bytes {
    int64_t host;               /* pageable, per rank */
    int64_t pinned;
    int64_t device;
};

/* Values of an output of integers or halves that it could not hold. */
struct lw_loss {
    int64_t n_saturated;        /* rounded, they were beyond the type's range; infinities count for integers only */
    int64_t n_nan;              /* of integers: became 0 */
};

/* One of the products of a block. */
struct lw_slot_product {
    void *data;
    int64_t most_rows;          /* of a table: set by slot_create, see lw_slot_set_rows */
    int64_t n_rows;             /* likewise, set by wait; more than most_rows: it was too small, and what it holds does not count */
};

/* A part of a block's outputs of all filters. */
struct lw_part {
    int64_t first, count;               /* own outputs on the axis, cut at grid units */
    int64_t channel, n_channels;        /* of the whole data set, cut at channel units */
    int filter, n_filters;
};

/* One buffer set. The engine allocates and frees input and products.
 *
 *   input   block of halo + count samples in the stored type:
 *           LW_TIME_FAST  [n_channels][halo + count]         LW_TIME_SLOW  [halo + count][n_channels]
 *   array   LW_TIME_FAST  [n_planes][n_channels][count]      LW_TIME_SLOW  [n_planes][count][n_channels]
 *
 * with count (of an array: lw_op_outputs) and n_channels those of the block submitted: all are packed tightly. Samples
 * beyond the block that a last, partial segment would need count as zero and change no output of the block. */
struct lw_slot {
    void *input;
    struct lw_slot_product products[LW_OP_PRODUCTS];
    struct lw_block block;      /* set by submit */

    /* set by wait: own (not halo) samples of the block that were not finite, and the lowest of them, as
     * channel of the block and own axis sample of the block; count 0: none */
    int64_t n_not_finite;
    int64_t not_finite_channel, not_finite_sample;
    int64_t not_finite_column;  /* conv2d: the first such pixel of that row */
    bool is_out_of_range;       /* set by wait: some power is too large or too small for float32 or float64, as stored */
    struct lw_loss loss;        /* set by wait: of the block's outputs */
    double busy_seconds;        /* the engine's time from start to end of this slot's work, without that of the slot before */
};

/** Set the most_rows of a slot's tables, whose memory has so many bytes. */
void lw_slot_set_rows(const struct lw_op_plan *plan, const struct lw_slot_bytes *bytes, struct lw_slot *slot);

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
    int (*op_plan)(const struct lw_engine *engine, const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

    /** Bytes of op_create plus `depth` slots for blocks of at most `count` x `n_channels`. Exact within a page each. */
    struct lw_bytes (*op_bytes)(const struct lw_engine *engine, const struct lw_op_spec *spec,
                                const struct lw_op_plan *plan, int64_t count, int64_t n_channels, int depth);

    /** Transform the filters, plan the FFTs, allocate all work space. */
    int (*op_create)(struct lw_engine *engine, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                     int64_t count, int64_t n_channels, struct lw_op **out, struct lw_error *err);
    void (*op_destroy)(struct lw_op *op);                   /* NULL is legal; after its slots */

    /** Everything is reserved at return, but an engine may go on to make input and products ready for its device; then the
     * slot's first submit waits, and may fail with LW_ESYSTEM. */
    int (*slot_create)(struct lw_op *op, struct lw_slot **out, struct lw_error *err);
    void (*slot_destroy)(struct lw_op *op, struct lw_slot *slot);

    /** wait: LW_ESTOPPED where the block was left, see base/leave.h; again likewise. */
    int (*submit)(struct lw_op *op, struct lw_slot *slot, const struct lw_block *block, struct lw_error *err);
    int (*wait)(struct lw_op *op, struct lw_slot *slot, struct lw_error *err);

    /** Make the rows of the table again, for a part of the block that the slot was last submitted with and waited for: crossings of
     * the part's own outputs and of those up to `cluster` before and after them. All other products stand. Blocks until it is
     * done. */
    int (*again)(struct lw_op *op, struct lw_slot *slot, const struct lw_part *part, struct lw_error *err);

    /* The sparse transform is no stream of blocks: each method has a table of its own. */
    const struct lw_sparse_ops *sparse;         /* engine/sparse.h */
    const struct lw_dense_ops *dense;           /* engine/sparse.h */
    const struct lw_published_ops *published;   /* engine/published/solver.h */
};

#define LW_DEVICE_ID 48

/* First member of every engine, which is one piece of memory of lw_alloc's. */
struct lw_engine {
    const struct lw_engine_ops *ops;
    int depth;                  /* slots that keep it busy while files are read and written */
    int n_workers;              /* threads, or 1 for a device: divides lw_op_plan.seconds_per_output */
    int64_t device_bytes;       /* device memory that this rank may use; 0: the engine has none */
    char device_id[LW_DEVICE_ID];       /* of the device, the same on every rank that drives it: "GPU-..."; "": none */
    char device_cores[96];      /* file that lists the cores beside the device, for lw_proc_stay_on; "": none */
    int device_ranks;           /* how many do, this one included; 0 until lw_devices_settle has counted them */
    char warning[256];          /* of what the engine is given on this rank, for one message of all ranks; "": none */
};

void lw_engine_destroy(struct lw_engine *engine);           /* NULL is legal */

struct lw_engine_spec {
    int n_threads;              /* cpu: 0 = the cores this process may run on (sched_getaffinity) */
    int node_rank;              /* this rank's number on its node, and how many there are: cuda chooses the device */
    int node_ranks;
    bool share_device;          /* cuda: several ranks may use one GPU */
};

#define LW_ENGINE_TEXT 256

/* An engine that there is, created or not. */
struct lw_engine_type {
    const char *name;           /* the choice of --engine */

    /** Whether `create` would find what this rank needs. Never fails; creates no context on a device.
     * @param text  one line: what the engine would run on, or what is missing */
    bool (*is_usable)(const struct lw_engine_spec *spec, char text[LW_ENGINE_TEXT]);

    /** Start what takes long, the driver and the device's context: create finds it done, and reports what has failed. The one
     * function that another thread may call. NULL: nothing takes long. */
    void (*warm_up)(const struct lw_engine_spec *spec);

    /** LW_ECONFIG, LW_ESYSTEM: it cannot be had here. */
    int (*create)(const struct lw_engine_spec *spec, struct lw_engine **out, struct lw_error *err);
};

LW_C_END
