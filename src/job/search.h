/* search.h - what jobs with a search share: options for signal/search.h, the noise, and the datasets of noise and peaks. */
#pragma once

#include "job/job.h"
#include "signal/peaks.h"

/* Entries for a job's table of options, with words for their help: what, an output; near, the unit of its neighbours; each, the
 * unit with a sigma of its own; products, the products that need sigma; signs, the default of --sign; more, further choices of
 * --noise, as "|word"; noises, their help. */
#define LW_SEARCH_OPTIONS(what, near, each, products, signs, more, noises)                                                      \
    {.name = "threshold", .kind = LW_OPTION_REAL, .argument = "T", .minimum = 1e-300, .maximum = 1e300,                         \
     .help = "Least signal-to-noise ratio of a peak. The ratio is |y| / sigma; see --noise and --cluster. It goes with "           \
             "--products peaks."},                                                                                                 \
    {.name = "noise", .kind = LW_OPTION_CHOICE, .choices = "given|energy|measured|rms" more,                                    \
     .help = "Where the noise (sigma) comes from. It goes with --products " products ". given: sigma is 1, so that --threshold "   \
             "is a value of |y|. energy: sigma of white noise of variance 1, the root of the sum of squares of the taps. "         \
             "measured: from the data, by " each ", in a pass of its own. Signals hardly raise it: it is the median of |y|, "      \
             "then what lies below 2 sigma. rms: in a pass of its own, too, the median over one in 16 pieces of the root mean "    \
             "square of |y|, which signals raise. For complex " what "s sigma^2 is the power of real and imaginary part "          \
             "together. " noises "Default: measured."},                                                                         \
    {.name = "sign", .kind = LW_OPTION_CHOICE, .choices = "both|positive|negative",                                             \
     .help = "Whether " what "s above 0, below 0 or both count. The others are no peaks, and suppress none. Complex " what "s "    \
             "have no sign. It goes with --products " products ". Default: " signs "."},                                           \
    {.name = "cluster", .kind = LW_OPTION_INT, .argument = "W", .fallback = "0", .maximum = (double)LW_SEARCH_MOST_CLUSTER,     \
     .help = "Keep the strongest peak within +- W. Of " what "s above the threshold within +- W " near ", only the strongest "     \
             "is a peak."},                                                                                                        \
    {.name = "max-peaks", .kind = LW_OPTION_INT, .argument = "N", .fallback = "10000000", .minimum = 1, .maximum = 1e15,        \
     .within = "threshold", .word = "max-peaks",                                                                                \
     .help = "more than N peaks end the run with an error. It names the threshold that would have kept N."}

/* A word of --products or --blocks, and the bit of struct lw_search that it sets. */
struct lw_search_word {
    const char *word;
    unsigned product;
};

/** Read --products, --threshold, --cluster, --noise and --max-peaks. LW_EUSAGE.
 * @param words   words that the job knows; the last entry has no word
 * @param search  set, except for `noise`; job->search is set, too */
int lw_search_choose(const struct lw_options *given, const struct lw_search_word *words, struct lw_job *job,
                     struct lw_search *search, struct lw_error *err);

/** Read --sign or choose its default, which is noted for the result's configuration. LW_EUSAGE.
 * @param is_complex   whether outputs are complex
 * @param is_positive  whether signals can only raise the outputs: the default is positive */
int lw_search_choose_sign(const struct lw_options *given, bool is_complex, bool is_positive, struct lw_job *job,
                          struct lw_search *search, struct lw_error *err);

/** Read --blocks. LW_EUSAGE. */
int lw_search_choose_blocks(const struct lw_options *given, struct lw_search *search, struct lw_error *err);

/** Allocate job->noise unless sigma is 1 everywhere. LW_NOISE_ENERGY is computed here, measured noise later. LW_ESYSTEM;
 * errors of lw_job_take_filters. Collective. */
int lw_search_make_noise(struct lw_job *job, struct lw_comm *comm, struct lw_search *search, struct lw_error *err);

/** Declare the dataset /noise, behind all other products, if there is job->noise. */
void lw_search_shape_noise(struct lw_job *job);

/* Rows of the table /peaks as stored in the file: a peak of a filtered signal, a source in a convolved image. */
struct lw_peak_row {
    int64_t channel, filter, index;
    double time, re, im, snr;
    int64_t cluster_size;
    double trial;               /* coordinate of the beam; absent unless beams have one (lw_search_row_bytes) */
};
struct lw_source_row {
    int64_t image, kernel, row, column;
    double re, im, snr;
    int64_t cluster_size;
    double x, y;                /* place in the input, as FITS counts: the centre of its first pixel is 1, 1 */
    double flux, flux_error;
    double peak;                /* the pixel under the middle of the kernel, less the background */
    int64_t flags;              /* LW_SOURCE_*, signal/source.h */
    double ra, dec;             /* degrees; NaN: not known */
};

/** Declare the table /peaks. */
void lw_search_shape_peaks(const struct lw_job *job, struct lw_product *product);

/** Return whether peaks are chosen after the last block, as neighbours may have other filters or channels. Until then the table has
 * the crossings (lw_peaks_gather): where filters are compared, the strongest one among those that were in memory together. */
bool lw_search_waits(const struct lw_job *job);

/** Return the crossing of such a row. */
struct lw_crossing lw_search_row_crossing(const struct lw_job *job, const struct lw_peak_row *row);

/** Return the bytes of a row of /peaks. */
int64_t lw_search_row_bytes(const struct lw_job *job);

/** Return row i of a table of peaks of a signal. */
const struct lw_peak_row *lw_search_row(const struct lw_job *job, const void *rows, int64_t i);

/** Convert peaks to rows of /peaks. What is measured at sources (stream/search/sources.h) becomes NaN, with the flag NO_CENTRE.
 * @param rows  [n] struct lw_peak_row, or struct lw_source_row for images */
void lw_search_fill_rows(const struct lw_job *job, const struct lw_peak *peaks, int64_t n, void *rows);

double lw_search_row_snr(const struct lw_job *job, const void *rows, int64_t i);

/** Note in attributes how peaks were searched: threshold, noise, cluster, sign. */
void lw_search_describe_peaks(const struct lw_job *job, const struct lw_search *search, struct lw_product *product);
