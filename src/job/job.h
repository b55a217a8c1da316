/* job.h - what the run loop needs to know of a job; jobs/ implements it.
 *
 * A job turns options and the description of its input into an operation for an engine and products for a writer. It
 * contains no loop, no MPI and no engine. */
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

/* Something that a job makes, as a dataset of the result. */
struct lw_product {
    struct lw_writer_dataset dataset;   /* its attributes are those below */
    const double *values;       /* of what is written whole before the rounds, by rank 0: float64, borrowed of the job; else NULL */
    int axis_dim;               /* its dimension that is the axis */
    int channel_dim;            /* that holds the channels, -1: there is none */
    struct lw_attribute attributes[LW_PRODUCT_ATTRIBUTES];  /* texts are borrowed from the input's description in `inputs` or
                                                               static */
    int n_attributes;
};

/* Checksums of one of the arrays: --checksum (stream/sums/sums.h). */
struct lw_job_sums {
    int product_number;
    struct lw_product product;          /* a dataset of words; its axis and channels are those of blocks */
    char path[96];
};

/* Where the noise of struct lw_search comes from. */
enum lw_noise {
    LW_NOISE_GIVEN,             /* 1 */
    LW_NOISE_ENERGY,            /* white noise of variance 1, filtered: the root of the sum of squares of the taps */
    LW_NOISE_MEASURED,          /* in the data, by a pass of its own (src/stream/search/noise.h), so that signals do not raise it */
    LW_NOISE_RMS,               /* likewise, the median of the root mean squares of pieces */
};

/* How a search is run, beside struct lw_search. */
struct lw_search_request {
    enum lw_noise noise;
    int64_t most_peaks;         /* of the whole run */
    const char *mask;           /* "FILE:/dataset" of samples that do not count; borrowed from the options; NULL: none */
    const char *good_data;      /* tests that samples have to pass to count (stream/search/mask.h); borrowed from the options; NULL:
                                   none */
    int64_t lead, n_wanted;     /* peaks are told of outputs lead .. lead + n_wanted - 1, counted from there; the others, near the
                                   ends of a window, are only compared with */
    double masked_fraction;     /* of a filter's energy that may meet samples that do not count */
    double first_time, time_step;       /* of output 0, and from one to the next, in seconds; NaN where the input says no rate */
};

struct lw_made_filters;                 /* jobs/ols_filters.c */

/* Filters that wait for the power spectrum of the input. src/stream/search/power_spectrum.c measures it, then lw_job_ops.whiten
 * makes the taps; their number and length are known before. */
struct lw_whitening {
    int64_t segment;                    /* samples of a segment of design/welch.h */
    double rate_hz;
    double low_hz, high_hz;             /* the filters pass nothing outside */
    double *filters;                    /* owned; the filters to be whitened, [op.ols.n_filters x n_taps] of the taps' parts */
    int64_t n_taps;                     /* of these */
    double *spectrum;                   /* owned; [segment / 2 + 1]; on rank 0 */
    int64_t n_segments;                 /* that it is the median of */
};

/* A prepared job. The fields are filled by `prepare`. */
struct lw_job {
    const struct lw_job_ops *ops;
    struct lw_op_spec op;
    void *request;                      /* owned: what the way of its run must know beyond `op`; of a sparse run a struct
                                           lw_sfft_request, of a streamed one NULL */
    struct lw_view_spec view;           /* of the input; max_axis and max_channels are left to the plan */
    int64_t window_start, window_count; /* --start and --count, or --from and --to; the view has what lies beyond and is needed,
                                           too */
    int64_t n_samples;                  /* on the axis of the view */
    int64_t n_outputs;                  /* on the axis */
    int64_t first_input;                /* the input's sample (of images the row) whose time the first output has; it may be before
                                           the first one that there is */
    int64_t look_ahead;                 /* window position of output 0, see signal/convolution.h */
    int64_t reference_tap;              /* it meets the input sample whose time an output has, see signal/convolution.h */
    enum lw_boundary boundary;

    struct lw_product products[LW_JOB_PRODUCTS];    /* what op_plan lists, in that order; a table has no rows yet */
    int n_products;
    bool has_filter_dim;                /* arrays of all filters have a first dimension for them */
    int n_given;                        /* so many more follow, with values: noise as struct lw_search has it, filters, a
                                           spectrum */
    bool has_sums;              /* the arrays get checksums, whose datasets follow all of these: known once the plan is made */
    struct lw_job_sums sums[LW_OP_PRODUCTS];
    int n_sums;
    struct lw_search_request search;
    bool makes_images;                  /* the result may be a FITS file */
    bool can_leave_range;               /* the engine says whether results are too large or too small for their type */

    struct lw_dataset_info inputs[LW_JOB_INPUTS];       /* for the provenance: the signal, the filters, a mask */
    const char *input_names[LW_JOB_INPUTS];             /* "input", "filters", "mask"; static storage */
    int n_inputs;
    double *taps;                       /* owned; op.ols.taps or op.conv2d.kernel points to it */
    double *noise;                      /* owned, as struct lw_search has it; op.ols.search.noise points to it; NULL: none */
    struct lw_made_filters *made;       /* owned; what is known of filters that the job made itself; NULL: it read them */
    struct lw_whitening *whitening;     /* owned; what the taps wait for; NULL: they are as they were read or made */
    char defaults[64]; /* "name = value" lines: defaults that follow from the input, for the result's configuration */
    char unit[96];                      /* of the result, where it is not the input's */
    char psd_unit[96];                  /* of the power spectrum */
    char summary[256];                  /* one line: "filter 2 x 8192 taps (real), mode same, boundary zero" */
};

/* The order in which a run takes its samples. */
enum lw_way {
    LW_WAY_STREAMED,            /* all of them, block by block through slots (src/stream) */
    LW_WAY_SPARSE,              /* few, of the job's own choice (src/sparse) */
};

struct lw_job_ops {
    const char *name;                   /* "ols" */
    enum lw_way way;
    const char *title;                  /* one line for the list of commands */
    const char *description;            /* a paragraph for --help and the man page */
    const char *remedy;                 /* what makes its smallest round smaller: "fewer --channels"; NULL: it has no rounds */
    const char *sample, *channel;       /* what it calls a sample of the axis and a channel: "sample", "channel" */
    const char *value;                  /* and a value of a sample that holds several: "column"; NULL: it holds one */
    const char *taps;                   /* its option that names the file of its filters, "kernel"; NULL: it has none */
    const struct lw_option *options;    /* beyond the common ones of src/cli/commands.h */
    const struct lw_option *synth_options;
    const char *example;                /* command lines for --help */
    int least_dims, most_dims;          /* that its input may have; of more, those of length 1 are left out */
    int join;                           /* along what several files are joined, see struct lw_reader_request */
    bool needs_all;                     /* it can do nothing with samples that are not numbers */
    bool is_isolated;                   /* it takes the samples that are chosen, and none beyond them */

    /** Check the options against the input, read filters, decide shapes. Collective (it reads small datasets).
     * @param input  borrowed during the call */
    int (*prepare)(const struct lw_options *options, struct lw_comm *comm, const struct lw_dataset_info *input,
                   struct lw_job *job, struct lw_error *err);
    void (*release)(struct lw_job *job);

    /** Make the taps of job->whitening, whose spectrum has been measured. By rank 0. NULL: the job whitens nothing. */
    int (*whiten)(struct lw_job *job, int n_threads, struct lw_error *err);

    /** Make a synthetic survey with input and filters for this job, written in parallel. Collective. */
    int (*synth)(const struct lw_options *options, struct lw_comm *comm, struct lw_error *err);
};

/** Add an attribute to a product; `name` and `text` are borrowed for the job's life. */
void lw_product_note_text(struct lw_product *product, const char *name, const char *text);
void lw_product_note_int(struct lw_product *product, const char *name, int64_t value);
void lw_product_note_real(struct lw_product *product, const char *name, double value);

/** Its values' unit, by the name that this program reads and by that of the CF conventions. */
void lw_product_note_unit(struct lw_product *product, const char *unit);

/** The same for a job's first product. */
void lw_job_note_text(struct lw_job *job, const char *name, const char *text);
void lw_job_note_int(struct lw_job *job, const char *name, int64_t value);
void lw_job_note_real(struct lw_job *job, const char *name, double value);

/** Refuse an output that is one of the inputs, or whose temporary file would be: writing would destroy it. LW_EUSAGE. */
int lw_job_check_output(const struct lw_job *job, const char *output, struct lw_error *err);

/** After the last read: refuse inputs of one file (lw_reader_check_unchanged sees to the others) whose size or modification time
 * is no longer what it was when they were opened, since what was read may be of either state. LW_EDATA. By one process. */
int lw_job_check_inputs(const struct lw_job *job, struct lw_error *err);
