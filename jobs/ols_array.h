/* ols_array.h - what `ols` does with the channels of an array: beams before the filters, stacks behind them, normalized outputs
 * (signal/array.h). */
#pragma once

#include "job/job.h"

/* Entries for the job's table of options. */
#define LW_OLS_ARRAY_OPTIONS                                                                                                    \
    {.name = "stack", .kind = LW_OPTION_CHOICE, .choices = "sum|mean", .alone = "sum",                                          \
     .help = "Add up the channels' outputs of each filter. All that follows sees one channel: /filtered has no channels, and "  \
             "rows of /peaks have channel -1. mean divides by the sum of --weights. Without a word it is the sum."},            \
    {.name = "delays", .kind = LW_OPTION_FILE, .argument = "FILE:/dataset",                                                     \
     .help = "Delays of the channels in a stack, [F x C]. Or give [C] for all filters. The stack at t adds channel c at "       \
             "t + delay. C are the channels of the input or those that --channels chooses."},                                   \
    {.name = "delay-unit", .kind = LW_OPTION_CHOICE, .choices = "samples|s", .fallback = "samples", .is_rare = true,            \
     .help = "Unit of --delays and --beams. Seconds (s) are rounded to the nearest sample, halves to the even one."},           \
    {.name = "weights", .kind = LW_OPTION_FILE, .argument = "FILE:/dataset", .is_rare = true,                                   \
     .help = "Weights of the channels in a stack, shaped as --delays. Weight 0 leaves a channel out, whatever its samples. "    \
             "Default: 1."},                                                                                                    \
    {.name = "normalize", .kind = LW_OPTION_CHOICE, .choices = "energy|demeaned",                                               \
     .help = "Make outputs correlation coefficients. They are between -1 and 1. energy: the sum of the products of template and "\
             "window, divided by the root of the product of their energies. demeaned: the same of both less their means. A "    \
             "template is a filter's taps reversed: give stored templates with --correlate. A window of less than 1e-10 of its "\
             "channel's median energy has 0."},                                                                                 \
    {.name = "beams", .kind = LW_OPTION_FILE, .argument = "FILE:/delays",                                                       \
     .help = "Sum channels before the filters, by delays [D x C]. Beam d at t adds channel c at t + delay; the beams then are " \
             "the channels. 'lapwing filters dispersion' and 'beams' make such delays; their coordinate, such as /dm, goes to the "\
             "result."},                                                                                                        \
    {.name = "beam-weights", .kind = LW_OPTION_FILE, .argument = "FILE:/dataset", .is_rare = true,                              \
     .help = "Weights of the channels in beams, [D x C], or [C] for all. Weight 0 leaves a channel out. Default: 1."}

/** Refuse options of arrays that exclude each other, or need one that is missing. LW_EUSAGE. */
int lw_ols_check_array(const struct lw_options *given, struct lw_error *err);

/** Read delays and weights, and set beams, stacks and normalize of job->op.ols, the channels of the operation, and job->array. The
 * filters must be known. LW_EDATA: shapes do not fit, or a number is not possible. Errors of lw_reader_read_numbers. Collective. */
int lw_ols_choose_array(const struct lw_options *given, struct lw_comm *comm, struct lw_job *job, struct lw_error *err);

/** Return the channels of the input, chosen or not. */
int64_t lw_ols_all_channels(const struct lw_job *job);

/** Note in attributes what was made of the channels. */
void lw_ols_describe_array(const struct lw_options *given, const struct lw_job *job, struct lw_product *product);

/** Append the same to the job's summary. */
void lw_ols_summarize_array(const struct lw_options *given, const struct lw_job *job, char *text, size_t size);

void lw_ols_release_array(struct lw_job *job);
