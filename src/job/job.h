/* job.h - what a job is: the interface between the jobs (jobs/NAME.c) and the code that runs them.
 *
 *     options, description of the input  --prepare-->  struct lw_job
 *                                                        view      samples and channels to read     -> io/read
 *                                                        op        what the engine computes         -> engine
 *                                                        products  datasets with their attributes   -> io/write
 *
 * A job has no loop over samples and calls neither MPI nor an engine: streamed runs (src/stream) and sparse runs (src/sparse) carry
 * it out. This folder also holds what jobs share: the chosen part of the input (selection.h), outputs and their type (choose.h),
 * peaks and noise (search.h), dimension scales (coordinates.h), metadata that the user supplies (hints.h). */
#pragma once

#include "comm/comm.h"
#include "engine/engine.h"
#include "io/dataset.h"
#include "io/read/reader.h"
#include "io/write/writer.h"
#include "options/options.h"

#define LW_PRODUCT_ATTRIBUTES 40
#define LW_JOB_INPUTS 3
#define LW_JOB_PRODUCTS (LW_OP_PRODUCTS + 3)

/* A dataset of the result. */
struct lw_product {
    struct lw_writer_dataset dataset;   /* its attributes are in `attributes` */
    const double *values;       /* values that rank 0 writes whole before the rounds: float64, borrowed from the job; else NULL */
    int axis_dim;               /* dimension that is the axis; -1: there is none */
    int channel_dim;            /* dimension of the channels; -1: there is none */
    struct lw_attribute attributes[LW_PRODUCT_ATTRIBUTES];  /* texts: static, or borrowed from descriptions in `inputs` */
    int n_attributes;
};

/* Checksums of a product that is an array: --checksum (stream/sums/sums.h). */
struct lw_job_sums {
    int product_number;
    struct lw_product product;          /* dataset of checksums, uint64; its axis and channels count blocks */
    char path[96];
};

/* Source of the noise in struct lw_search. */
enum lw_noise {
    LW_NOISE_GIVEN,             /* 1 everywhere */
    LW_NOISE_ENERGY,            /* white noise of variance 1, filtered: the root of the sum of squares of the taps */
    LW_NOISE_MEASURED,          /* measured in the data by a pass of its own, so that signals do not raise it
                                   (src/stream/search/noise.h) */
    LW_NOISE_RMS,               /* measured likewise: the median of the root mean squares of pieces */
};

/* What a run needs for a search beyond struct lw_search. */
struct lw_search_request {
    enum lw_noise noise;
    int64_t most_peaks;         /* most peaks that the run may find */
    const char *mask;           /* samples that do not count, as "FILE:/dataset"; borrowed from the options; NULL: none */
    const char *good_data;      /* tests that samples must pass to count (stream/search/mask.h); borrowed from the options; NULL:
                                   none */
    int64_t lead, n_wanted;     /* peaks are reported for outputs lead .. lead + n_wanted - 1, and numbered from `lead`; outputs
                                   around them, near the ends of a window, are only compared with */
    double masked_fraction;     /* greatest fraction of a filter's energy that may meet samples that do not count */
    double first_time, time_step;       /* time of output 0 and from one to the next, in seconds; NaN: the input has no rate */
};

struct lw_made_filters;                 /* jobs/ols_filters.c */

/* Filters that cannot be made before the input's power spectrum is known. src/stream/search/power_spectrum.c measures the spectrum,
 * then lw_job_ops.whiten makes the taps. Their number and length are known before. */
struct lw_whitening {
    int64_t segment;                    /* samples of one segment of the spectrum's estimate (design/welch.h) */
    double rate_hz;
    double low_hz, high_hz;             /* band that the filters pass; nothing passes outside */
    double *filters;                    /* owned; filters before whitening, [op.ols.n_filters x n_taps] of the taps' parts */
    int64_t n_taps;                     /* length of each filter */
    double *spectrum;                   /* owned; measured power spectrum, [segment / 2 + 1], on rank 0 */
    int64_t n_segments;                 /* segments whose median the spectrum is */
};

/* A prepared job; `prepare` fills the fields. */
struct lw_job {
    const struct lw_job_ops *ops;
    struct lw_op_spec op;
    void *request;                      /* owned; what a sparse run needs beyond `op`: struct lw_sfft_request; streamed: NULL */
    struct lw_view_spec view;           /* part of the input to read; the plan sets max_axis and max_channels */
    int64_t window_start, window_count; /* samples that the user chooses (--start and --count, or --from and --to); `view` adds the
                                           samples around them that outputs need */
    int64_t n_samples;                  /* samples on the axis of `view` */
    int64_t n_outputs;                  /* outputs on the axis */
    int64_t first_input;                /* number of the input's sample (images: row) whose time the first output has; negative:
                                           before the input's first sample */
    int64_t look_ahead;                 /* window position of output 0, see signal/convolution.h */
    int64_t reference_tap;              /* tap that meets the input sample whose time an output has, see signal/convolution.h */
    enum lw_boundary boundary;

    struct lw_product products[LW_JOB_PRODUCTS];    /* op_plan's products, in its order; a table has no rows yet */
    int n_products;
    bool has_filter_dim;                /* arrays have a first dimension for the filters */
    int n_given;                        /* products with `values` that follow the first n_products: noise as struct lw_search has
                                           it, filters, a power spectrum */
    bool has_sums;              /* arrays get checksums, whose datasets follow all products; `sums` is set once the plan is made */
    struct lw_job_sums sums[LW_OP_PRODUCTS];
    int n_sums;
    struct lw_search_request search;
    bool makes_images;                  /* the result may be a FITS file */
    bool can_leave_range;               /* the engine reports results that are too large or too small for their type */

    struct lw_dataset_info inputs[LW_JOB_INPUTS];       /* the signal, the filters and a mask, for the provenance */
    const char *input_names[LW_JOB_INPUTS];             /* "input", "filters", "mask"; static storage */
    int n_inputs;
    double *taps;                       /* owned; op.ols.taps or op.conv2d.kernel points to it */
    double *noise;                      /* owned; sized as struct lw_search has it; op.ols.search.noise points to it; NULL: none */
    struct lw_made_filters *made;       /* owned; description of filters that the job made itself; NULL: it read them */
    struct lw_whitening *whitening;     /* owned; filters that wait for the spectrum; NULL: the taps are final */
    char defaults[64]; /* defaults that follow from the input, as "name = value" lines for the result's configuration */
    char unit[96];                      /* unit of the result where it is not the input's */
    char psd_unit[96];                  /* unit of the power spectrum */
    char summary[256];                  /* one line: "filter 2 x 8192 taps (real), mode same, boundary zero" */
};

/* Order in which a run takes its samples. */
enum lw_way {
    LW_WAY_STREAMED,            /* all samples, in order, through slots (src/stream) */
    LW_WAY_SPARSE,              /* few samples, of the job's own choice (src/sparse) */
};

struct lw_job_ops {
    const char *name;                   /* "ols" */
    enum lw_way way;
    const char *title;                  /* one line for the list of commands */
    const char *description;            /* a paragraph for --help and the man page */
    const char *paper;                  /* the paper that has the method, as one cites it */
    const char *remedy;                 /* what makes the job's smallest round smaller: "fewer --channels"; NULL: no rounds */
    const char *sample, *channel;       /* names for a sample of the axis and a channel: "sample", "channel" */
    const char *value;                  /* name for a value of a sample that holds several: "column"; NULL: a sample holds one */
    const char *taps;                   /* name of the option for the file of filters: "kernel"; NULL: the job has none */
    const struct lw_option *options;    /* options beyond the common ones of src/cli/commands.h */
    const struct lw_option *synth_options;
    const char *example;                /* command lines for --help */
    int least_dims, most_dims;          /* dimensions that the input may have; with more, those of length 1 are left out */
    int join;                           /* dimension along which several files are joined, see struct lw_reader_request */
    bool needs_all;                     /* the job cannot use samples that are not numbers; gaps are an error */
    bool is_isolated;                   /* the job reads the chosen samples and none beyond them */

    /** Check the options against the input, read filters, decide shapes. Collective (reads small datasets).
     * @param input  borrowed during the call */
    int (*prepare)(const struct lw_options *options, struct lw_comm *comm, const struct lw_dataset_info *input,
                   struct lw_job *job, struct lw_error *err);
    void (*release)(struct lw_job *job);

    /** Make the taps of job->whitening, whose spectrum has been measured. Rank 0 only. NULL: the job does not whiten. */
    int (*whiten)(struct lw_job *job, int n_threads, struct lw_error *err);

    /** Make a synthetic survey for this job: input and filters, written in parallel. Collective. */
    int (*synth)(const struct lw_options *options, struct lw_comm *comm, struct lw_error *err);
};

/** Add an attribute to a product; `name` and `text` are borrowed for the job's life. */
void lw_product_note_text(struct lw_product *product, const char *name, const char *text);
void lw_product_note_int(struct lw_product *product, const char *name, int64_t value);
void lw_product_note_real(struct lw_product *product, const char *name, double value);

/** Add the unit of a product's values, as `unit`, which this program reads, and as `units` of the CF conventions. */
void lw_product_note_unit(struct lw_product *product, const char *unit);

/** Add an attribute to a job's first product. */
void lw_job_note_text(struct lw_job *job, const char *name, const char *text);
void lw_job_note_int(struct lw_job *job, const char *name, int64_t value);
void lw_job_note_real(struct lw_job *job, const char *name, double value);

/** Refuse an output that is one of the inputs, or whose temporary file is: writing would destroy the input. LW_EUSAGE. */
int lw_job_check_output(const struct lw_job *job, const char *output, struct lw_error *err);

/** Check after the last read that no input's size or modification time has changed since it was opened: what was read could mix
 * both states. LW_EDATA. Inputs of several files are left to lw_reader_check_unchanged. Not collective: one process calls it. */
int lw_job_check_inputs(const struct lw_job *job, struct lw_error *err);
