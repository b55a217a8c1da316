/* kinds.h - the kinds of filters that `lapwing filters KIND` makes for `ols --filters` and `conv2d --kernel`.
 *
 *     options --> band.c, pulse.c, chirp.c: taps --> bank.c: scale, figures --> command.c: file; asked.c: job
 *     options --> kernel.c; image --> psf.c: kernels of images --> bank.c --> command.c: file
 *     options, table --> masses.c: masses --> inspiral.c: a series of filters --> command.c: file
 *     options, data --> delays.c: a series of delays, cut.c: of templates --> command.c: file */
#pragma once

#include "comm/comm.h"
#include "options/options.h"

struct lw_bank;

/* A kind of filter. */
struct lw_filter_kind {
    const char *name;                   /* "bandpass" */
    const char *title;                  /* description in a line, for the list of kinds */
    const char *description;            /* description in a paragraph, for --help and the man page */
    const char *example;                /* example command lines, for --help */
    const struct lw_option *options;    /* options of this kind; every kind also has lw_bank_options */
    const char *parameter_name;         /* attribute of the number in which filters differ, "width_samples"; NULL: they have none */
    const char *parameter_text;         /* its format for messages, "width %.6g samples" */

    /** Check the options and fill the bank: its shape, its taps without their final scale, and how it was made. LW_EUSAGE: the
     * options together make no filter. Not collective. */
    int (*design)(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err);

    /** Plan a series instead of `design`: check the options, set shape and bank->series. Each rank may fail by itself, but only
     * outside of collective calls. Collective. */
    int (*plan)(const struct lw_options *given, struct lw_comm *comm, struct lw_bank *bank, struct lw_error *err);
};

/** The kinds, NULL-ended (command.c). */
extern const struct lw_filter_kind *const lw_filter_kinds[];
extern const struct lw_filter_kind lw_filter_bandpass, lw_filter_lowpass, lw_filter_highpass, lw_filter_boxcar,
    lw_filter_gaussian, lw_filter_ricker, lw_filter_chirp, lw_filter_inspiral, lw_filter_gaussian_2d, lw_filter_mexican_hat,
    lw_filter_psf, lw_filter_dispersion, lw_filter_beams, lw_filter_cut;

/** The options that every kind has: those of the output. */
extern const struct lw_option lw_bank_options[];

/** Make a bank, a series on all ranks and others on rank 0, write it to --output as /taps and log its figures. All ranks return the
 * same code. Collective.
 * @param command_line  as typed; stored in the file */
int lw_filters_run(struct lw_comm *comm, const struct lw_filter_kind *kind, const struct lw_options *given,
                   const char *command_line, struct lw_error *err);
