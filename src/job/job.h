/* job.h - what the run loop needs to know of a job; jobs/ implements it.
 *
 * A job turns options and the description of its input into an operation for an engine and a result for a writer. It
 * contains no loop, no MPI and no engine. */
#ifndef LW_JOB_JOB_H
#define LW_JOB_JOB_H

#include "comm/comm.h"
#include "engine/engine.h"
#include "io/dataset.h"
#include "io/reader.h"
#include "io/writer.h"
#include "options/options.h"
#include "sfft/published/published.h"

#define LW_JOB_ATTRIBUTES 40
#define LW_JOB_INPUTS 2

/* A prepared job. The fields are filled by `prepare`; `output` and `grid` follow from them and the engine's plan. */
struct lw_job {
    const struct lw_job_ops *ops;
    struct lw_op_spec op;
    struct lw_sfft_request sfft;        /* where op.kind is LW_OP_SFFT; nothing is streamed then, and no output planned */
    struct lw_published_choice sfft2;   /* where sfft.algorithm is LW_SFFT_PUBLISHED */
    struct lw_view_spec view;           /* of the input; max_axis and max_channels are left to the plan */
    int64_t n_samples;                  /* on the axis, after --start/--count */
    int64_t n_outputs;                  /* on the axis */
    int64_t look_ahead;                 /* window position of output 0, see signal/convolution.h */
    enum lw_boundary boundary;

    struct lw_writer_dataset result;    /* path, dims, labels and type of the one streamed dataset */
    struct lw_attribute attributes[LW_JOB_ATTRIBUTES];      /* of that dataset; texts are borrowed from the input's
                                                               description in `inputs` or static */
    int n_attributes;
    int axis_dim;                       /* dimension of the result that is the axis */
    int channel_dim;                    /* that holds the channels, -1: there is none */
    bool has_planes;                    /* dimension 0 counts filters */

    struct lw_dataset_info inputs[LW_JOB_INPUTS];       /* for the provenance: the signal, then the filters */
    const char *input_names[LW_JOB_INPUTS];             /* "input", "filters"; static storage */
    int n_inputs;
    double *taps;                       /* owned; op.ols.taps or op.conv2d.kernel points to it */
    char unit[96];                      /* of the result, where it is not the input's */
    char summary[256];                  /* one line: "filter 2 x 8192 taps (real), mode same, boundary zero" */
};

struct lw_job_ops {
    const char *name;                   /* "ols" */
    const char *title;                  /* one line for the list of commands */
    const char *description;            /* a paragraph for --help and the man page */
    const char *remedy;                 /* what makes its smallest round smaller: "fewer --channels"; NULL: it has no rounds */
    const char *sample, *channel;       /* what it calls a sample of the axis and a channel: "sample", "channel" */
    const struct lw_option *options;    /* beyond the common ones of src/cli/commands.h */
    const struct lw_option *synth_options;
    const char *example;                /* command lines for --help */
    bool is_sampled;                    /* takes few samples, of its own choice: src/run/sparse/sparse.c runs it, not src/run/loop.c */

    /** Check the options against the input, read filters, decide shapes. Collective (it reads small datasets).
     * @param input  borrowed during the call */
    int (*prepare)(const struct lw_options *options, struct lw_comm *comm, const struct lw_dataset_info *input,
                   struct lw_job *job, struct lw_error *err);
    void (*release)(struct lw_job *job);

    /** Make a synthetic survey with input and filters for this job, written in parallel. Collective. */
    int (*synth)(const struct lw_options *options, struct lw_comm *comm, struct lw_error *err);
};

/** Add an attribute to the job's result. `name` and `text` are borrowed for the job's life. */
void lw_job_note_text(struct lw_job *job, const char *name, const char *text);
void lw_job_note_int(struct lw_job *job, const char *name, int64_t value);
void lw_job_note_real(struct lw_job *job, const char *name, double value);

/** Where a block lies in the result: first[] and count[] of its n_dims dimensions. */
void lw_job_place(const struct lw_job *job, const struct lw_block *block, int64_t first[LW_MAX_DIMS],
                  int64_t count[LW_MAX_DIMS]);

/** Refuse an output that is one of the inputs, or whose temporary file would be: writing would destroy it. LW_EUSAGE. */
int lw_job_check_output(const struct lw_job *job, const char *output, struct lw_error *err);

/** After the last read: refuse inputs whose size or modification time is no longer what it was when they were opened, since
 * what was read may be of either state. LW_EDATA. By one process. */
int lw_job_check_inputs(const struct lw_job *job, struct lw_error *err);

extern const struct lw_job_ops lw_job_ols, lw_job_conv2d, lw_job_sfft;

/** The jobs, NULL-ended. */
extern const struct lw_job_ops *const lw_jobs[];

#endif
