/* sfft_published.h - the options of `sfft` that only concern the published transform (sfft/published/published.h). */
#pragma once

#include "options/options.h"
#include "sfft/published/published.h"

#define LW_SFFT_PUBLISHED_CHOICE "|sfft2"       /* the published transform, last choice of --algorithm */

#define LW_SFFT_PUBLISHED_HELP                                                                                                     \
    " sfft2 is the published transform with flat windows and voting (Hassanieh et al., SODA 2012), to compare with. It is "        \
    "slower, and reads whole channels. Only it takes the options from --flat-window on."

#define LW_SFFT_PUBLISHED_OPTIONS                                                                                             \
    {.name = "flat-window", .kind = LW_OPTION_CHOICE, .choices = "dolph-chebyshev|gaussian", .is_rare = true,                 \
     .help = "Window that shortens the flat filter in time. Default: dolph-chebyshev, which is half as long as gaussian."},        \
    {.name = "buckets", .kind = LW_OPTION_INT, .argument = "B", .minimum = 4, .maximum = 1 << 28,                             \
     .help = "Buckets of a loop, as many as lines or more. Default: the power of two next to sqrt(n k / log2 n), at least 16 "     \
             "for each line. Below 4 for each line, chance elects most of the frequencies, and more loops estimate."},             \
    {.name = "location-loops", .kind = LW_OPTION_INT, .argument = "L", .minimum = 1, .maximum = LW_PUBLISHED_LOOPS - 1,       \
     .help = "Loops whose largest buckets vote. Default: 4."},                                                                     \
    {.name = "votes", .kind = LW_OPTION_INT, .argument = "V", .minimum = 1, .maximum = LW_PUBLISHED_LOOPS - 1,                \
     .within = "location-loops", .word = "votes",                                                                             \
     .help = "votes that a frequency needs. Default: 3 of 4, else more than half of the loops."},                                  \
    {.name = "estimation-loops", .kind = LW_OPTION_INT, .argument = "E", .minimum = 1, .maximum = LW_PUBLISHED_LOOPS - 1,     \
     .within = "location-loops", .word = "estimation-loops",                                                                  \
     .help = "further loops, for the medians that estimate the values. Default: 10, or more if lines share few buckets."},         \
    {.name = "comb", .kind = LW_OPTION_INT, .argument = "W", .minimum = 0, .maximum = 1 << 28,                                \
     .help = "Fold the spectrum to W residues first (sFFT 2.0). W divides the number of samples, and every (n/W)-th sample is "    \
             "read. Only frequencies of the strongest residues get votes. Default: 0, no comb."},                                  \
    {.name = "comb-loops", .kind = LW_OPTION_INT, .argument = "L", .minimum = 1, .maximum = LW_PUBLISHED_COMBS,               \
     .within = "comb", .word = "loops",                                                                                       \
     .help = "number of combs; a residue that is strong in one of them is enough. Default: 2."},                                   \
    LW_OPTION_GONE_ENTRY("binning", "leave it out, it changed no bit of the result"),                                         \
    LW_OPTION_GONE_ENTRY("fetch", "leave it out, each engine takes its fastest way and no bit differs"),                      \
    LW_OPTION_GONE_ENTRY("cutoff", "leave it out, it changed no bit of the result"),

/** Set request->published, to be released with lw_free, if --algorithm is sfft2. LW_EUSAGE: another algorithm has options of sfft2.
 * LW_ESYSTEM: no memory. */
int lw_sfft_published_choose(const struct lw_options *given, struct lw_sfft_request *request, struct lw_error *err);
