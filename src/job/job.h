/* job.h - what a job is: the interface between the jobs (jobs/NAME.c) and the code that runs them.
 *
 *     options, description of the input  --prepare-->  struct lw_job
 *                                                        view      samples and channels to read     -> io/read
 *                                                        op        what the engine computes         -> engine
 *                                                        products  datasets with their attributes   -> io/write
 *
 * A job has no loop over samples and calls neither MPI nor an engine: streamed runs (src/stream), sparse runs (src/sparse) and
 * runs over whole channels (src/channels) carry it out. This folder also holds what jobs share: the chosen part of the input
 * (selection.h), outputs and their type (choose.h), peaks and noise (search.h), dimension scales (coordinates.h), metadata that the
 * user supplies (hints.h). */
#pragma once

#include "io/read/whole.h"
#include "io/write/writer.h"
#include "options/options.h"

#define LW_PRODUCT_ATTRIBUTES 40
#define LW_PEAK_COLUMNS 8                           /* columns of /peaks of signals, without a coordinate of beams */
#define LW_JOB_FILTER_FILES 8                       /* most files of filters or kernels */
#define LW_JOB_INPUTS (LW_JOB_FILTER_FILES + 3)
#define LW_JOB_PRODUCTS (LW_OP_PRODUCTS + 3)

/* A dataset of the result. */
struct lw_product {
    struct lw_writer_dataset dataset;   /* the dataset to write; its own list of attributes stays empty */
    const double *values;       /* float64, written by rank 0 before the rounds, borrowed; NULL: the run computes the product, or
                                   it is the filters, of which some at a time are made */
    const struct lw_mesh *mesh; /* NULL, or the product is its map at the rows of the window, written by all before the rounds */
    int axis_dim;               /* dimension of the axis; -1: none */
    int channel_dim;            /* dimension of the channels; -1: none */
    bool has_filters;           /* the first dimension counts filters or kernels */
    struct lw_attribute attributes[LW_PRODUCT_ATTRIBUTES];  /* their texts are static, or borrowed from job->inputs */
    int n_attributes;
};

/* Checksums (--checksum) of a product that is an array, see stream/sums/sums.h. */
struct lw_job_sums {
    int product_number;                 /* index of the array in `products` of the job */
    struct lw_product product;          /* the dataset of checksums, uint64; its axis and channels count blocks of the array */
    char path[96];                      /* path of the dataset: "/checksums/filtered" */
};

/* Source of the noise (sigma) in struct lw_search: --noise. */
enum lw_noise {
    LW_NOISE_GIVEN,             /* 1 for all channels and filters */
    LW_NOISE_ENERGY,            /* sigma of filtered white noise of variance 1: the root of the sum of squares of the taps */
    LW_NOISE_MEASURED,          /* measured in a pass of its own; signals hardly raise it (src/stream/search/noise.h) */
    LW_NOISE_RMS,               /* measured in a pass of its own: the median of the rms values of pieces of the axis */
    LW_NOISE_MESH,              /* images: that of the pixels, measured in a pass of its own in the cells of a mesh */
};

/* Parameters of a search for the run; the engine's are in struct lw_search. */
struct lw_search_request {
    enum lw_noise noise;
    int64_t most_peaks;         /* greatest number of peaks; more end the run */
    const char *mask;           /* mask of samples to leave out, "FILE:/dataset"; borrowed from the options; NULL: none */
    const char *good_data;      /* conditions; other samples are masked (marks.h); borrowed likewise; NULL: none */
    int64_t lead, n_wanted;     /* peaks are reported at outputs lead .. lead + n_wanted - 1 and numbered from `lead`; the outputs
                                   around these, near the ends of a window, only serve as neighbours */
    double saturation;                  /* images: pixels of at least this value are saturated */
    double masked_fraction;     /* greatest fraction of a filter's energy that may meet masked samples */
    double first_time, time_step;       /* seconds: time of output `lead`, step of outputs; NaN: no sampling rate */
};

/* Numbers that a map of weights holds. */
enum lw_map_kind {
    LW_MAP_SIGMA,
    LW_MAP_INVERSE,             /* 1 / sigma^2 */
    LW_MAP_VARIANCE,            /* sigma^2; becomes 1 / sigma^2 when it is read */
    LW_MAP_MASK,                /* not 0: the pixel is bad; becomes weight 0 or 1 when it is read */
};

/* Background and noise of images, measured in a pass before the rounds (src/stream/search/mesh_pass.h). */
struct lw_job_mesh {
    struct lw_mesh background, noise;   /* meshes of the same shape, whose tables are owned */
    int64_t start;                      /* sample of the input that is row 0 of the mesh */
};

struct lw_made_filters;                 /* jobs/ols_filters.c */

/* Sums over the channels of an array (signal/array.h), to which op.ols.beams or op.ols.stacks points. */
struct lw_job_array {
    struct lw_shifts shifts;
    int32_t *delays;            /* owned */
    float *weights;             /* owned; NULL: all 1 */
    double *trials;             /* owned; coordinate of each beam, such as its dispersion measure; NULL: beams are numbered */
    struct lw_column columns[LW_PEAK_COLUMNS + 1];      /* those of /peaks, with the coordinate behind them */
    char trial[32], unit[32];   /* name of the coordinate, and of the beams' dimension, "dm" or "beam"; its unit */
};

/* Filters whose taps depend on the input's power spectrum. src/stream/search/power_spectrum.c measures the spectrum, then
 * lw_job_ops.whiten makes the taps. The filters' number and length are known before. */
struct lw_whitening {
    int64_t segment;                    /* samples of a segment in the estimate of the spectrum (design/welch.h) */
    double rate_hz;
    double low_hz, high_hz;             /* pass band of the whitened filters */
    struct lw_stored_taps stored;       /* taps before; without data, lw_job_take_filters reads and whitens some at a time */
    double *made;                       /* owned; `stored` if the job made them, else NULL */
    int64_t n_taps;                     /* taps of each filter */
    int64_t first, n, most;             /* whitened filters in job->taps, and room for them */
    int n_threads;                      /* threads that whiten */
    double *spectrum;                   /* owned; measured power spectrum, [segment / 2 + 1], the same on every rank */
    int64_t n_segments;                 /* number of segments, whose median the spectrum is */
};

/* A prepared job. lw_job_ops.prepare sets the fields. */
struct lw_job {
    const struct lw_job_ops *ops;
    struct lw_op_spec op;
    void *request;                      /* owned; struct lw_sfft_request or lw_accel_request; NULL: the run is streamed */
    struct lw_view_spec view;           /* part of the input to read; the plan sets max_axis and max_channels */
    int64_t window_start, window_count; /* the window: samples that the user chose (--start and --count, or --from and --to); `view`
                                           also has the samples around it that outputs need */
    int64_t n_samples;                  /* samples on the axis of `view` */
    int64_t n_outputs;                  /* outputs on the axis, for each filter and channel */
    int64_t first_input;                /* index of the input's sample (images: row) at the time of output search.lead; negative:
                                           before the input's first sample */
    int64_t look_ahead;                 /* look_ahead in signal/convolution.h, for `view`'s samples, + lw_post_reach's `after` */
    int64_t reference_tap;              /* index of the reference tap, which sets the times of outputs, see signal/convolution.h */
    enum lw_boundary boundary;

    struct lw_product products[LW_JOB_PRODUCTS];    /* the operation's (struct lw_op_plan), then the given ones */
    int n_products;
    bool has_filter_dim;                /* arrays have a first dimension, which counts filters or kernels */
    int n_given;                        /* number of given products, which have `values`, or a mesh: noise, filters, a power
                                           spectrum, a background */
    bool has_sums;              /* arrays get datasets of checksums, which follow all products; the plan sets `sums` */
    struct lw_job_sums sums[LW_OP_PRODUCTS];
    int n_sums;
    struct lw_search_request search;
    const char *map;                    /* images: files of the map of weights, or "auto" (weights.h); borrowed; NULL: none */
    enum lw_map_kind map_kind;
    bool makes_images;                  /* the result may be a FITS file */
    bool can_leave_range;               /* the engine reports results that are too large or too small for their type */

    struct lw_dataset_info inputs[LW_JOB_INPUTS];       /* the signal, the filters, a mask or map, for the provenance */
    const char *input_names[LW_JOB_INPUTS];             /* "input", "filters", "kernel_2", "mask", "map"; static storage */
    int n_inputs;
    struct lw_whole bank;               /* owned; filters of a file. If all are held, op.ols.taps points there; else it has no data,
                                           and lw_job_take_filters reads some filters at a time */
    double *taps;                       /* owned; taps that the job made, or a kernel */
    struct lw_job_mesh *mesh;           /* owned; NULL: none */
    double *noise;                      /* owned; sigma, to which lw_search.noise points and which has its shape; NULL: none */
    struct lw_made_filters *made;       /* owned; description of filters that the job made itself; NULL: it read them */
    struct lw_whitening *whitening;     /* owned; NULL: the taps are final */
    struct lw_job_array *array;         /* owned; NULL: no sums over channels */
    char defaults[64]; /* option defaults that follow from the input, as "name = value" lines of the result's configuration */
    char unit[96];                      /* unit of the result's values if it is not the input's */
    char psd_unit[96];                  /* unit of the power spectrum */
    char summary[256];                  /* one line: "filter 2 x 8192 taps (real), mode same, boundary zero" */
};

/* Which samples a run takes, and in which order. */
enum lw_way {
    LW_WAY_STREAMED,            /* all samples, in order, through slots (src/stream) */
    LW_WAY_SPARSE,              /* few samples, of the job's own choice (src/sparse) */
    LW_WAY_CHANNELS,            /* all samples of a channel at a time (src/channels) */
};

struct lw_job_ops {
    const char *name;                   /* "ols" */
    enum lw_way way;
    const char *title;                  /* one line for the list of commands */
    const char *description;            /* a paragraph for --help and the man page */
    const char *paper;                  /* reference of the method's paper */
    const char *remedy;                 /* remedy if the smallest round is too large: "fewer --channels"; NULL: no rounds */
    const char *sample, *channel, *filter;      /* words for a sample of the axis, a channel, a filter: "row", "image", "kernel" */
    const char *value;                  /* word for a value of a sample with several, "column"; NULL: a sample has one */
    const char *taps;                   /* name of the option for the file of filters: "kernel"; NULL: the job has none */
    const struct lw_option *options;    /* options beyond the common ones of src/cli/commands.h */
    const struct lw_option *synth_options;
    const char *example;                /* command lines for --help */
    int least_dims, most_dims;          /* fewest and most dimensions of the input; if it has more, those of length 1 are dropped */
    int join;                           /* dimension along which several files are joined, see struct lw_reader_request */
    bool needs_all;                     /* the job needs every sample, so that gaps are an error */
    bool is_isolated;                   /* the job reads no samples beside the chosen ones */

    /** Check the options against the input, read filters, set the shapes of all products. Collective.
     * @param pool   threads that read the filters; NULL: the format's library reads
     * @param input  borrowed during the call */
    int (*prepare)(const struct lw_options *options, struct lw_comm *comm, struct lw_pool *pool,
                   const struct lw_dataset_info *input, struct lw_job *job, struct lw_error *err);
    void (*release)(struct lw_job *job);

    /** Whiten filters [first, first + n) by the measured spectrum, into the front of job->taps. NULL: the job does not whiten.
     * @param stored  the first of them, as they are before */
    int (*whiten)(struct lw_job *job, const struct lw_stored_taps *stored, int64_t first, int64_t n, struct lw_error *err);

    /** Warn of what whitened filters do to the result. Rank 0 only, once all can be whitened; NULL with `whiten`. */
    int (*whitened)(struct lw_job *job, struct lw_error *err);

    /** Make a synthetic survey for this job: input and filters, written in parallel. Collective. */
    int (*synth)(const struct lw_options *options, struct lw_comm *comm, struct lw_error *err);
};

/** Hold all filters of the bank of an overlap-save job, and set op.ols.taps.data; whitened filters are yet to be made. LW_ESYSTEM,
 * LW_EIO, LW_EDATA: a filter cannot be read, or is not finite. Collective. */
int lw_job_hold_filters(struct lw_job *job, struct lw_comm *comm, struct lw_error *err);

/** Have filters [first, first + n) of an overlap-save job in memory, until the next call. LW_ESYSTEM, LW_EIO, LW_EDATA: a filter
 * cannot be read, or is not finite. Not collective. @param taps  set to the first of them */
int lw_job_take_filters(struct lw_job *job, int64_t first, int64_t n, struct lw_stored_taps *taps, struct lw_error *err);

/** Return the taps of a filter that is in memory: all are held, or lw_job_take_filters had it last. */
struct lw_stored_taps lw_job_filter(const struct lw_job *job, int64_t filter);

/** Return the bytes of n filters that lw_job_take_filters has in memory; whitened filters are there as they were before, too. */
int64_t lw_job_filter_bytes(const struct lw_job *job, int64_t n);

/** Add an attribute to a product; `name` and `text` must outlive the job. */
void lw_product_note_text(struct lw_product *product, const char *name, const char *text);
void lw_product_note_int(struct lw_product *product, const char *name, int64_t value);
void lw_product_note_real(struct lw_product *product, const char *name, double value);

/** Add n numbers, or a plain number if n is 1. @param values  [n], must outlive the job */
void lw_product_note_reals(struct lw_product *product, const char *name, const double *values, int n);

/** Add the unit of a product's values, as `unit`, which this program reads, and as `units` of the CF conventions. */
void lw_product_note_unit(struct lw_product *product, const char *unit);

/** Add an attribute to a job's first product. */
void lw_job_note_text(struct lw_job *job, const char *name, const char *text);
void lw_job_note_int(struct lw_job *job, const char *name, int64_t value);
void lw_job_note_real(struct lw_job *job, const char *name, double value);

/** Refuse an output if it or its temporary file is one of the inputs: writing would destroy that input. LW_EUSAGE. */
int lw_job_check_output(const struct lw_job *job, const char *output, struct lw_error *err);

/** Check after the last read that no input's size or modification time has changed since it was opened (LW_EDATA): samples could
 * mix both states. Inputs of several files are left to lw_reader_check_unchanged. Not collective: one process calls it. */
int lw_job_check_inputs(const struct lw_job *job, struct lw_error *err);
