/* engine.h - the interface of the engines, which do the computing: cpu (FFTW, OpenMP), cuda (a GPU). engine/registry.h lists them.
 *
 *     type->create -> op_plan (pure) -> op_bytes (pure) -> op_create -> slot_create, `depth` times
 *                                         then, per round:  fill slot->input, submit ... wait, take slot->products
 *
 * An operation ("op") is what a job asks of an engine: filters, types, layout and the largest block. A slot is a set of buffers for
 * one block. submit hands a filled slot to the engine's own threads or streams and returns; wait blocks until the products of that
 * slot are complete. Slots are served in the order of submission. submit and wait allocate nothing. The main thread makes all calls
 * but type->warm_up (engine/warm_up.h). Results depend neither on the size of blocks nor on slots and threads. */
#pragma once

#include "design/stored_taps.h"
#include "signal/beams.h"
#include "signal/convolution.h"
#include "signal/mesh.h"
#include "signal/post.h"
#include "signal/rounds.h"
#include "signal/search.h"

LW_C_BEGIN

/* The treatment of non-finite samples (or samples that the computing precision cannot represent). */
enum lw_nan {
    LW_NAN_PROPAGATE,           /* exactly the outputs whose taps touch such a sample become NaN */
    LW_NAN_ZERO,                /* such a sample counts as zero */
    LW_NAN_ERROR,               /* the slot reports the sample and the run ends */
    LW_NAN_INTERPOLATE,         /* conv2d: outputs are weighted by the taps that do not touch such a sample */
};

/* How the samples of several channels lie in a file and in a slot. */
enum lw_layout {
    LW_TIME_FAST,               /* [channel][axis] */
    LW_TIME_SLOW,               /* [axis][channel] */
};

/* Overlap-save filtering: y[f][c][i] = sum_m taps[f][m] x[c][i + look_ahead - m]; signal/post.h then changes y. The halo of struct
 * lw_op_plan, with its `before` and `after`, tells which samples of x a block holds. With beams (signal/array.h) x are the beams.
 * With stacks y[f] is the sum over channels; delays and weights are numbered as the bank's filters, see lw_ols_part.first. */
struct lw_ols_spec {
    struct lw_stored_taps taps; /* [n_filters x n_taps], borrowed until op_create returns; data NULL: op_fill brings them. With
                                   `own_taps` [n_filters x channels of the input x n_taps] */
    int n_filters;              /* filters that the operation holds */
    int n_bank;                 /* filters of the whole bank, by which the method is chosen; 0: n_filters */
    int64_t n_taps;
    bool taps_complex;
    bool own_taps;              /* each channel of the input has taps of its own */
    enum lw_normalize normalize;
    const struct lw_shifts *beams;      /* [n_channels] sums before the filters; borrowed while the op lives; NULL: none */
    const struct lw_beams_shape *shape; /* their widths, from another plan of this engine; NULL: op_plan chooses them */
    const struct lw_shifts *stacks;     /* [n_bank] sums behind the filters; borrowed likewise; NULL: none */
    int segment;                /* FFT length N wanted; 0: the engine chooses */
    struct lw_post post;        /* checked by lw_post_check; if lw_post_is_needed, lw_op_spec.n_outputs must be known */
    struct lw_search search;    /* if lw_search_is_needed, n_outputs must be known and `post` may only decimate */
};

/* Filters [first, first + n) of a bank, for an operation to hold. If it has room for more, the others count as zero. */
struct lw_ols_part {
    struct lw_stored_taps taps; /* [n x n_taps] */
    const double *noise;        /* noise of the whole bank, as lw_search.noise with n_bank filters; NULL: 1 */
    int first, n;
};

/** Return the filters of the whole bank. */
static inline int lw_ols_bank(const struct lw_ols_spec *ols) { return ols->n_bank > 0 ? ols->n_bank : ols->n_filters; }

enum lw_conv2d_algorithm {
    LW_CONV2D_ALGORITHM_AUTO,
    LW_CONV2D_ALGORITHM_DIRECT, /* sum in the space domain */
    LW_CONV2D_ALGORITHM_TILES,  /* overlap-save on tiles */
    LW_CONV2D_ALGORITHM_FULL,   /* overlap-save on bands as wide as the image */
    LW_CONV2D_ALGORITHM_SEPARABLE, /* a pass along the columns and a pass along the rows; the kernel must be a column times a row */
    LW_CONV2D_ALGORITHM_PADDED, /* one transform of the padded image, or of few bands of it */
};

/* Source of the weights w of an image's pixels, the inverse of their variance sigma^2. */
enum lw_weights {
    LW_WEIGHTS_NONE,            /* all pixels weigh the same; y is the convolution */
    LW_WEIGHTS_MESH,            /* w = 1 / sigma^2 with sigma from the mesh */
    LW_WEIGHTS_SIGMA,           /* w = 1 / sigma^2; a map of the image's size holds sigma */
    LW_WEIGHTS_INVERSE,         /* a map of the image's size holds w */
};

/* 2-D convolution of images with each of n_kernels kernels k:
 *
 *     y[k][c][i][j] = sum_m sum_n kernel[k][m][n] x[c][i + look_ahead_rows - m][j + look_ahead_columns - n]
 *
 * x is the pixel, less the background of the mesh if there is one. With weights y is a matched filter's signal-to-noise ratio
 * (K. Barbary, JOSS 1(6), 58 (2016)):
 *
 *     y = A / sqrt(B),   A = conv(w x, kernel),   B = conv(w, kernel^2)
 *
 * A pixel has weight 0 if it is not finite, if its weight is not finite, or not above 0, and if it lies beyond the sides. y is NaN
 * if all pixels that the kernel covers have weight 0. A / B is the flux of a source with the kernel's shape, 1 / sqrt(B) its error;
 * pixels, weights, and kernels are real. In single precision y is exact to 1e-4, or to 1e-5 of the sum of |kernel| w |x| / sqrt(B)
 * if that is more.
 *
 * The axis counts rows: a sample of the axis is a row of `columns` pixels, a channel is an image, and the layout is time fast. A
 * block holds the boundary's rows above and below the image; the engine makes the boundary's pixels left and right of it. struct
 * lw_op_plan tells which rows a block holds; its formulas have kernel_rows for n_taps and look_ahead_rows for look_ahead. */
struct lw_conv2d_spec {
    const double *kernel;       /* [n_kernels][kernel_rows x kernel_columns] (x 2 if complex), row-major; host, borrowed until
                                   op_create returns; already normalized, and for a correlation already conjugated and flipped */
    int n_kernels;              /* kernels, at least 1 */
    int64_t kernel_rows, kernel_columns;
    bool kernel_complex;
    int64_t rows, columns;      /* size of an image */
    int64_t output_columns;
    int64_t look_ahead_rows, look_ahead_columns;        /* see signal/convolution.h, for each direction */
    int every;                  /* D: only rows and columns of y whose index is a multiple of D are kept; 0 counts as 1 */
    struct lw_search search;    /* series (the images), peaks and best, one noise per image and kernel; peaks: n_outputs must be
                                   known */
    const struct lw_mesh *background;   /* borrowed until op_create returns; NULL: none */
    enum lw_weights weights;
    const struct lw_mesh *sigma;        /* noise, used with LW_WEIGHTS_MESH; borrowed likewise */
    struct lw_type map;         /* stored type of the map of weights, if there is one (lw_op_has_map) */
    enum lw_boundary boundary;
    double outside;             /* value of all pixels beyond the four sides, with boundary ZERO */
    enum lw_conv2d_algorithm algorithm;
    enum lw_padding padding;    /* PADDED: how sides are rounded up */
    int64_t band;               /* PADDED: most output rows of one transform; 0: the engine chooses */
};

enum lw_op_kind { LW_OP_OLS, LW_OP_CONV2D, LW_OP_SFFT, LW_OP_ACCEL };

struct lw_op_spec {
    enum lw_op_kind kind;
    struct lw_type input;       /* the stored type */
    struct lw_type output;      /* outputs are rounded to nearest even; integers and halves saturate; integers hold 0 for NaN */
    double output_scale;        /* integers and halves hold y / output_scale; 0 counts as 1 */
    enum lw_precision precision;
    enum lw_layout layout;
    enum lw_nan nan;
    int64_t n_channels;         /* channels of the whole data set; with beams, the beams; with stacks 1 */
    int64_t n_outputs;          /* outputs y on the whole axis, before interpolation; 0: not known. No segment is much longer */
    int64_t pieces;             /* > 0: the series stays on the device, and lw_engine_ops.count counts it there; most pieces of a
                                   block, of one channel and filter. Only for engines with that function */
    union {
        struct lw_ols_spec ols;
        struct lw_conv2d_spec conv2d;
    };
};

/* The kinds of products. All but the series are defined in signal/search.h. */
enum lw_op_product_kind {
    LW_OP_SERIES,               /* the filtered signal or image, as changed by signal/post.h */
    LW_OP_CROSSINGS,            /* table of struct lw_crossing, in any order */
    LW_OP_BEST_VALUE,           /* array in the computing precision, complex if y is */
    LW_OP_BEST_FILTER,          /* array of int32 */
    LW_OP_BLOCK_MAX,            /* array in the computing precision, real */
    LW_OP_BLOCK_MEAN,           /* the same, complex if y is */
    LW_OP_BLOCK_RMS,            /* the same, real */
};

/* A product that an operation delivers for each block. It is an array with a place for each output of the block, or a table whose
 * number of rows depends on the samples. */
struct lw_op_product {
    enum lw_op_product_kind kind;
    struct lw_type type;        /* array: type of its values */
    int64_t n_planes;           /* array: planes, one per filter; 0: the product is a table */
    int64_t width;              /* array: values of one output, the pixels of a row for images, else 1 */
    int rate;                   /* array: outputs per sample of the axis, but 1 for the last sample; > 1: interpolated */
    int64_t every;              /* array: only samples of the axis that are multiples of it have outputs; 1: all */
    int64_t row_bytes;          /* table: bytes of a row */
    int64_t sample_rows;        /* table: most rows per sample of the axis */
    int64_t beyond;             /* table: samples beyond a block's own that also give rows */
    int64_t least_rows;         /* table: least room in rows; less only if no block can have as many rows */
    int64_t one_in;             /* table: room for one in so many of the possible rows, if that is more */
};

/* Most products of an operation. */
#define LW_OP_PRODUCTS 8

/* Decisions of an engine for a spec. They depend on spec and architecture only, never on ranks, threads or memory. */
struct lw_op_plan {
    int64_t halo;               /* axis samples that a slot needs before its own: n_taps - 1 + reach.before + reach.after + before +
                                   after; reach is lw_op_reach_of, 0 for images */
    int64_t before, after;      /* outputs computed beyond a block's own, see lw_search_before. The block's own samples are x[i +
                                   look_ahead + reach.after + after], with i the numbers of its outputs */
    int64_t unit;               /* outputs between two legal cuts, see struct lw_grid */
    int64_t channel_unit;       /* channels between two legal cuts */
    int64_t input_width;        /* values of one sample of the axis: the pixels of a row for images, else 1 */
    int64_t parts;              /* parts of a unit of outputs, one for each thread; 0: threads share the filters */
    int64_t n_outputs;          /* outputs on the whole axis, before interpolation; 0: not known */
    struct lw_op_product products[LW_OP_PRODUCTS];
    int n_products;
    int64_t n_values;           /* computed values per sample of the axis and channel: all filters, all pixels of a row */
    int segment;                /* FFT length N; 0: no FFT */
    struct lw_beams_shape beams;        /* sums of beams, where the engine shares them */
    double seconds_per_output;  /* modelled time of one computed value on one thread or the device */
    double seconds_to_prepare;  /* modelled time to prepare all filters on one thread or the device */
    char text[160];             /* description for plan and log: "overlap-save, N = 4096, hop 3840, adjacent segments paired" */
};

/** Return the steps to transform all filters, segment * log2 segment each: a measure of the time to prepare them. */
double lw_op_prepare_steps(const struct lw_op_spec *spec, int64_t segment);

/** Set the plan's products for an overlap-save operation: the series first, if it is wanted, then the products of signal/search.h
 * in the order of their kinds. Also set n_values, before and after; the latter two depend on plan->unit and increase plan->halo. */
void lw_op_ols_products(const struct lw_op_spec *spec, struct lw_op_plan *plan);

/** Set the same fields for a 2-D convolution: the convolved image first, if it is wanted, then the table of crossings. */
void lw_op_conv2d_products(const struct lw_op_spec *spec, struct lw_op_plan *plan);

/** Find whether all kernels of images are products of a column and a row, apart from rounding (signal/separable.h).
 * @param is_product  set; NULL: LW_ECONFIG if a kernel is no product */
int lw_op_conv2d_separable(const struct lw_op_spec *spec, bool *is_product, struct lw_error *err);

/* The bands of the algorithm PADDED: one transform each. */
struct lw_bands {
    int64_t rows, columns;      /* size of a transform */
    int64_t hop_rows, n;        /* output rows of a band; bands of an image */
    bool is_large;              /* a transform has more than most_reals numbers */
};

/** Cut an image into as few bands as possible, each with at most `band` output rows. If `band` is 0, a band has at most most_reals
 * numbers, unless its output rows would be fewer than the kernel's. The sizes are multiples of row_unit and column_unit. The bands
 * are the same for all ranks, rounds and memory. */
struct lw_bands lw_op_conv2d_bands(const struct lw_op_spec *spec, int64_t row_unit, int64_t column_unit, int64_t most_reals);

/** Return the search of either kind of operation, and its number of filters (images: kernels). */
const struct lw_search *lw_op_search(const struct lw_op_spec *spec);
int lw_op_filters(const struct lw_op_spec *spec);

/** Return the taps along the axis (images: the kernel's rows), the values of one output on the axis (images: the pixels of a row,
 * else 1), and whether these values are pixels. */
int64_t lw_op_taps(const struct lw_op_spec *spec);
int64_t lw_op_width(const struct lw_op_spec *spec);
bool lw_op_has_pixels(const struct lw_op_spec *spec);

/* Samples before and after an output's own that what is made of the series y and the delays of sums need. */
struct lw_op_reach {
    int64_t before, after;
};

struct lw_op_reach lw_op_reach_of(const struct lw_op_spec *spec);

/** Return the sums over channels, beams or stacks; NULL: none. */
const struct lw_shifts *lw_op_sums(const struct lw_op_spec *spec);

/** Return the taps that an overlap-save operation has of a filter, of all channels if these have taps of their own. */
int64_t lw_op_filter_values(const struct lw_op_spec *spec);

/** Return the channels of the input that blocks of n_channels channels need: all of the array for its sums, else as many. */
int64_t lw_op_inputs(const struct lw_op_spec *spec, int64_t n_channels);

/** Return whether each block needs all channels of the input; they begin with channel 0 then. */
bool lw_op_sums_channels(const struct lw_op_spec *spec);

/** Return whether an overlap-save operation does more with channels than filter each alone with the same filters: sums, filters of
 * their own, normalized outputs. */
bool lw_op_is_array(const struct lw_op_spec *spec);

/** Refuse such an operation: LW_ECONFIG. @param engine  name of the engine that cannot do it */
int lw_op_refuse_array(const struct lw_op_spec *spec, const char *engine, struct lw_error *err);

/** Return the operation behind beams, which takes them for its channels: in the computing precision, with time fast. An engine sums
 * the beams of a block, and lets this operation filter them. */
struct lw_op_spec lw_op_behind_beams(const struct lw_op_spec *spec);
struct lw_op_plan lw_op_plan_behind_beams(const struct lw_op_spec *spec, const struct lw_op_plan *plan);

/** Return the layout of arrays of products: beams and stacks are made with time fast. */
enum lw_layout lw_op_output_layout(const struct lw_op_spec *spec);

/** Return whether y is complex, before signal/post.h changes it. */
bool lw_op_is_complex(const struct lw_op_spec *spec);

/** Return whether the pixels of images have weights, and whether slots hold a map of them. */
bool lw_op_is_weighted(const struct lw_op_spec *spec);
bool lw_op_has_map(const struct lw_op_spec *spec);

/** Return D (`every`), at least 1. */
int lw_conv2d_every(const struct lw_conv2d_spec *conv2d);

/** Return the index of the product of a kind; -1: the operation has none. */
int lw_op_find_product(const struct lw_op_plan *plan, enum lw_op_product_kind kind);

/** Return the rows that a slot's table has room for, with blocks of at most `count` samples and n_channels: one in `one_in` of the
 * possible rows, and at least least_rows. A block with more rows is done again in parts (lw_engine_ops.again). */
int64_t lw_op_most_rows(const struct lw_op_plan *plan, int product, int64_t count, int64_t n_channels);

/** Return the outputs of a block along an array's axis, and the first of them. */
int64_t lw_op_outputs(const struct lw_op_plan *plan, int product, const struct lw_block *block);
int64_t lw_op_first_output(const struct lw_op_plan *plan, int product, const struct lw_block *block);

/** Return the factor of y before rounding: 1 / output_scale, or 1 for outputs that do not saturate. */
double lw_op_output_factor(const struct lw_op_spec *spec);

/** Return whether the engine delivers amplitudes, to be squared when they are stored: for powers in float64 that are computed in
 * single precision, whose range is too small for squares. lw_op_made: the operation that the engine applies. */
bool lw_op_squares(const struct lw_op_spec *spec);
enum lw_post_kind lw_op_made(const struct lw_op_spec *spec);

/** Find the smallest and the largest power that the output type keeps. For float32 and float64 this is the range that they hold
 * with all digits. For halves it is the range of the computing precision, as powers beyond their own range count as 0 or saturated.
 * For integers it is 0 to infinity: they count an infinite power as saturated, too. */
void lw_op_power_range(const struct lw_op_spec *spec, double *least, double *most);

/** Return the bytes of a slot's input, and of one product, that are enough for any block of `count` samples and n_channels. */
int64_t lw_op_input_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels);
int64_t lw_op_map_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels);
int64_t lw_op_product_bytes(const struct lw_op_plan *plan, int product, int64_t count, int64_t n_channels);

/* Bytes of a slot's buffers, enough for blocks of at most a given number of samples and channels. */
struct lw_slot_bytes {
    int64_t input, map, products[LW_OP_PRODUCTS];
};

struct lw_slot_bytes lw_op_slot_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count,
                                      int64_t n_channels);

struct lw_bytes {
    int64_t host;               /* pageable, per rank */
    int64_t pinned;
    int64_t device;
};

/* Values that were lost because an output of integers or halves cannot hold them. */
struct lw_loss {
    int64_t n_saturated;        /* number of values beyond the type's range after rounding; infinities count for integers only */
    int64_t n_nan;              /* number of NaN that became 0 in integers */
};

struct lw_slot_product {
    void *data;
    int64_t most_rows;          /* table: room in rows, set by slot_create with lw_slot_set_rows */
    int64_t n_rows;             /* table: rows of the block, set by wait; if > most_rows, `data` is incomplete and does not count */
};

/* A part of a block, in outputs, channels and filters. */
struct lw_part {
    int64_t first, count;               /* the block's own outputs on the axis, cut at grid units */
    int64_t channel, n_channels;        /* numbers in the whole data set, cut at channel units */
    int filter, n_filters;
};

/* A set of buffers for one block. The engine allocates and frees input and products.
 *
 *   input   block of halo + count samples of n = lw_op_inputs channels in the stored type:
 *           LW_TIME_FAST  [n][halo + count]                  LW_TIME_SLOW  [halo + count][n]
 *   array   by lw_op_output_layout:
 *           LW_TIME_FAST  [n_planes][n_channels][count]      LW_TIME_SLOW  [n_planes][count][n_channels]
 *
 * n_channels and count are those of the submitted block; the count of an array is lw_op_outputs. Nothing is padded. The last
 * segment of a block may need samples beyond it: they count as zero and change no output of the block. */
struct lw_slot {
    void *input;
    void *map;                  /* images: weights of the input's pixels, laid out as these; NULL: the operation has no map */
    struct lw_slot_product products[LW_OP_PRODUCTS];
    struct lw_block block;      /* the block that was submitted last */
    bool goes_on;               /* set before submit: the best values and filters are those of earlier filters, and the filters that
                                   the operation holds compete with them */

    /* set by wait: number of non-finite own samples of the block (not of its halo); channel and own sample of the lowest */
    int64_t n_not_finite;
    int64_t not_finite_channel, not_finite_sample;
    int64_t not_finite_column;  /* conv2d: the first non-finite pixel of this row */
    int64_t n_quiet;            /* set by wait: own windows of channels whose normalized outputs are 0 (signal/array.h) */
    bool is_out_of_range;       /* set by wait: some power is too large or too small for the stored float32 or float64 */
    struct lw_loss loss;        /* set by wait: losses in the block's outputs */
    double busy_seconds;        /* set by wait: from start to end of this slot's work, less any time shared with the slot before */
};

/** Set most_rows of a slot's tables to the rows that `bytes` have room for. */
void lw_slot_set_rows(const struct lw_op_plan *plan, const struct lw_slot_bytes *bytes, struct lw_slot *slot);

/* Values of a block that are counted in the bins of signal/spread.h, in pieces: rectangles of outputs on the axis and, for images,
 * of their columns. A block has n_rows x n_columns pieces for each filter and channel. Those at its ends may be smaller. */
struct lw_counting {
    int64_t tall, wide;                 /* outputs and columns of a piece */
    int64_t n_rows, n_columns;
    int64_t begin, end;                 /* outputs of the block that count; others do not */
    const unsigned char *skip;          /* marks of values that do not count, [channels][skip_pitch], each channel's as [outputs]
                                           [columns]; NULL: all count */
    int64_t skip_pitch;                 /* 0: all channels have the same marks */
};

/* The finite values of a bin. */
struct lw_bin_count {
    uint32_t bin, n;
};

/* Place in lw_counts.bins and number of the bins of a piece that are not empty, in any order. */
struct lw_counted_piece {
    uint32_t first, n;
};

#define LW_COUNTED_ELSEWHERE UINT32_MAX     /* `first` of a piece that other counts have */

struct lw_counts {
    const struct lw_counted_piece *pieces;      /* [n_filters][n_channels][n_rows][n_columns] */
    const struct lw_bin_count *bins;
};

typedef int lw_counts_fn(void *context, const struct lw_counts *counts, struct lw_error *err);

struct lw_engine;
struct lw_gpu;                  /* engine/gpus.h */
struct lw_op;
struct lw_sparse_ops;
struct lw_dense_ops;
struct lw_published_ops;
struct lw_accel_ops;

/* Modelled seconds of a channel in a sparse run, on one thread or the device: `channel` for any, and `unit` for each unit of work,
 * which is a sample of the first attempt, or of a dense transform n log2 n. Threads gain at most a factor `most_gain`. */
struct lw_sparse_pace {
    double channel, unit, most_gain;
};

#define LW_MOST_JOINED (1 << 16)

struct lw_engine_ops {
    const char *name;           /* "cpu", "cuda" */

    /** Describe in a line what the engine runs on: "16 threads, AVX2" or "NVIDIA H200, GPU-...". */
    void (*describe)(const struct lw_engine *engine, char *text, size_t size);

    /** Name the instruction set or GPU architecture. The bits of results depend on it, so that ranks compare it. */
    void (*architecture)(const struct lw_engine *engine, char *text, size_t size);

    /** Plan a spec. LW_ECONFIG: the engine cannot do it (a segment shorter than the filter). */
    int (*op_plan)(const struct lw_engine *engine, const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

    /** Return the bytes of op_create and of `depth` slots for blocks of at most `count` x `n_channels`, each exact to a page. */
    struct lw_bytes (*op_bytes)(const struct lw_engine *engine, const struct lw_op_spec *spec,
                                const struct lw_op_plan *plan, int64_t count, int64_t n_channels, int depth);

    /** Transform the filters, plan the FFTs, allocate all work space. */
    int (*op_create)(struct lw_engine *engine, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                     int64_t count, int64_t n_channels, struct lw_op **out, struct lw_error *err);
    /** Replace the filters of an overlap-save operation. No block may be under way. Crossings number the filters from 0, the best
     * filter has its number in the bank. LW_ESYSTEM. @param part  borrowed during the call; its noise until the next call */
    int (*op_fill)(struct lw_op *op, const struct lw_ols_part *part, struct lw_error *err);
    void (*op_destroy)(struct lw_op *op);                   /* NULL is legal; slots must be destroyed before */

    /** Allocate a slot. All memory is reserved at return, but an engine may still be preparing it for its device. The slot's first
     * submit then waits for that, and may fail with LW_ESYSTEM. */
    int (*slot_create)(struct lw_op *op, struct lw_slot **out, struct lw_error *err);
    void (*slot_destroy)(struct lw_op *op, struct lw_slot *slot);

    /** Begin a block; wait for its products. wait and again return LW_ESTOPPED if the run is interrupted before (base/leave.h). */
    int (*submit)(struct lw_op *op, struct lw_slot *slot, const struct lw_block *block, struct lw_error *err);
    int (*wait)(struct lw_op *op, struct lw_slot *slot, struct lw_error *err);

    /** Make the table of crossings again for a part of the slot's last block, which has been waited for: crossings among the part's
     * outputs and among `cluster` outputs before and after them. All other products stay. Blocks until the table is complete. */
    int (*again)(struct lw_op *op, struct lw_slot *slot, const struct lw_part *part, struct lw_error *err);

    /** Let best outputs of other filters compete with a slot's, whose block has been waited for; at equal strength the slot's stay.
     * LW_ESYSTEM.
     * @param first, n  places in the slot's arrays of the best values and filters, at most LW_MOST_JOINED of them
     * @param values, filters  [n] as in these arrays */
    int (*join_best)(struct lw_op *op, struct lw_slot *slot, int64_t first, int64_t n, const void *values, const int32_t *filters,
                     struct lw_error *err);

    /** Count the values of a slot's series, whose block has been waited for, where lw_op_spec.pieces has the series stay on the
     * device. LW_ESYSTEM, or the code of `take`. NULL: an engine without a device.
     * @param take  called with the counts of all pieces, perhaps in several parts; they are valid during the call */
    int (*count)(struct lw_op *op, struct lw_slot *slot, const struct lw_counting *what, lw_counts_fn *take, void *context,
                 struct lw_error *err);

    /* The sparse transform takes no blocks; each of its methods has a table of functions. */
    const struct lw_sparse_ops *sparse;         /* engine/sparse.h */
    const struct lw_dense_ops *dense;           /* engine/sparse.h */
    const struct lw_published_ops *published;   /* engine/published/solver.h */
    const struct lw_accel_ops *accel;           /* engine/accel.h; NULL: the engine has no such search */
};

#define LW_DEVICE_ID 48

/* First member of every engine. An engine is a single allocation of lw_alloc. */
struct lw_engine {
    const struct lw_engine_ops *ops;
    int depth;                  /* slots that keep the engine busy while files are read and written */
    int n_workers;              /* threads, or 1 for a device: divides lw_op_plan.seconds_per_output */
    int64_t device_bytes;       /* device memory that this rank may use; 0: the engine has no device */
    double link_rate;           /* modelled bytes per second to the device, and from it at the same time; 0: no device */
    double slowness;            /* seconds of the device for one second of the models; 0 counts as 1 */
    char device_id[LW_DEVICE_ID];       /* name of the device, the same on every rank that uses it: "GPU-..."; "": no device */
    char device_cores[96];      /* file that lists the cores nearest to the device, for lw_proc_stay_on; "": no such file */
    int device_ranks;           /* ranks that use this device, this one included; 0 until lw_devices_settle has counted them */
    char warning[256];          /* warning about this rank's resources; the warnings of all ranks become one message; "": none */
};

/** Return the modelled seconds that computing takes for one second of the models: 1, or engine->slowness. */
double lw_engine_slowness(const struct lw_engine *engine);

void lw_engine_destroy(struct lw_engine *engine);           /* NULL is legal */

/** Return the threads for work beside the engine: its own, or with a device all cores of this rank. */
int lw_engine_host_threads(const struct lw_engine *engine);

struct lw_engine_spec {
    int n_threads;              /* cpu: 0 = the cores this process may run on (sched_getaffinity) */
    int node_rank;              /* this rank's number on its node; cuda chooses the device by it */
    int node_ranks;             /* ranks on this node */
    bool share_device;          /* cuda: several ranks may use one GPU */
    bool only_plans;            /* the engine shall only plan operations: no context on a device is created */
    const struct lw_gpu *gpu;   /* cuda, only_plans: plan for this GPU, which need not be here; NULL: for the device that is here */
};

#define LW_ENGINE_TEXT 256

/* A kind of engine; `create` makes an engine of this kind. */
struct lw_engine_type {
    const char *name;           /* the choice of --engine */
    double start_seconds;       /* modelled time in which `create` starts a driver and a context; 0: it starts none */

    /** Return whether this rank has all that `create` needs. Never fails; creates no context on a device.
     * @param text  set to one line: what the engine would run on, or what is missing */
    bool (*is_usable)(const struct lw_engine_spec *spec, char text[LW_ENGINE_TEXT]);

    /** Start the driver and the device's context, which takes long, so that create finds them ready. create also reports what fails
     * here. This is the only function that another thread may call. NULL: nothing takes long. */
    void (*warm_up)(const struct lw_engine_spec *spec);

    /** Make an engine. LW_ECONFIG, LW_ESYSTEM: this rank cannot have it. */
    int (*create)(const struct lw_engine_spec *spec, struct lw_engine **out, struct lw_error *err);
};

LW_C_END
