/* kinds.h - `lapwing filters KIND`: banks of filters made from what is given on the command line, for `ols --filters`. */
#pragma once

#include "comm/comm.h"
#include "options/options.h"

struct lw_bank;

/* A kind of filter. */
struct lw_filter_kind {
    const char *name;                   /* "bandpass" */
    const char *title;                  /* one line for the list of kinds */
    const char *description;            /* a paragraph for --help and the man page */
    const char *example;                /* command lines for --help */
    const struct lw_option *options;    /* beyond lw_bank_options */

    /** Check the options and fill the bank: its shape, its taps, whose scale is left to the caller, and how it was made. LW_EUSAGE
     * for options that make no sense together. By one process. */
    int (*design)(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err);
};

/** The kinds, NULL-ended. A further one is a further line in command.c. */
extern const struct lw_filter_kind *const lw_filter_kinds[];
extern const struct lw_filter_kind lw_filter_bandpass, lw_filter_lowpass, lw_filter_highpass, lw_filter_boxcar,
    lw_filter_gaussian, lw_filter_ricker, lw_filter_chirp, lw_filter_inspiral;

/** The options that every kind has: where the bank goes. */
extern const struct lw_option lw_bank_options[];

/** Make the bank, write it to --output as /taps and say what it does. Rank 0 works, all return the same code. Collective.
 * @param command_line  as typed, for the provenance */
int lw_filters_run(struct lw_comm *comm, const struct lw_filter_kind *kind, const struct lw_options *given,
                   const char *command_line, struct lw_error *err);
