/* sfft_published.h - the options of `sfft` that are for the published transform alone (sfft/published/published.h), as parts
 * of the job's table of options. */
#pragma once

#include "options/options.h"
#include "sfft/published/published.h"

#define LW_SFFT_PUBLISHED_CHOICE "|sfft2"       /* of --algorithm, behind the others */

#define LW_SFFT_PUBLISHED_HELP                                                                                                \
    " sfft2 is the published transform with flat windows and voting (Hassanieh et al., SODA 2012), to compare with: slower, " \
    "and it reads a channel whole. The options from --flat-window on are for it alone."

#define LW_SFFT_PUBLISHED_OPTIONS                                                                                             \
    {.name = "flat-window", .kind = LW_OPTION_CHOICE, .choices = "dolph-chebyshev|gaussian", .is_rare = true,                 \
     .help = "What the window's box in frequency is multiplied with in time. Default: dolph-chebyshev, half as long."},       \
    {.name = "buckets", .kind = LW_OPTION_INT, .argument = "B", .minimum = 4, .maximum = 1 << 28,                             \
     .help = "Buckets of a loop. Default: the power of two next to sqrt(n k / log2 n), at least 16 for each line."},          \
    {.name = "location-loops", .kind = LW_OPTION_INT, .argument = "L", .minimum = 1, .maximum = LW_PUBLISHED_LOOPS - 1,       \
     .help = "Loops whose largest buckets vote. Default: 4."},                                                                \
    {.name = "votes", .kind = LW_OPTION_INT, .argument = "V", .minimum = 1, .maximum = LW_PUBLISHED_LOOPS - 1,                \
     .within = "location-loops", .word = "votes",                                                                             \
     .help = "votes that make a frequency a candidate. Default: 3 of 4, else more than half of the loops."},                  \
    {.name = "estimation-loops", .kind = LW_OPTION_INT, .argument = "E", .minimum = 1, .maximum = LW_PUBLISHED_LOOPS - 1,     \
     .within = "location-loops", .word = "estimation-loops",                                                                  \
     .help = "loops more, for the medians that values are estimated by. Default: 10."},                                       \
    {.name = "comb", .kind = LW_OPTION_INT, .argument = "W", .minimum = 0, .maximum = 1 << 28,                                \
     .help = "First fold the spectrum to W residues, a divisor of the number of samples, by every (n/W)-th sample; only "     \
             "frequencies of the strongest residues get votes (sFFT 2.0). Default: 0, no comb."},                             \
    {.name = "comb-loops", .kind = LW_OPTION_INT, .argument = "L", .minimum = 1, .maximum = LW_PUBLISHED_COMBS,               \
     .within = "comb", .word = "loops",                                                                                       \
     .help = "combs; what one of them shows is enough. Default: 2."},                                                         \
    LW_OPTION_GONE_ENTRY("binning", "leave it out, it changed no bit of the result"),                                         \
    LW_OPTION_GONE_ENTRY("fetch", "leave it out, each engine takes its fastest way and no bit differs"),                      \
    LW_OPTION_GONE_ENTRY("cutoff", "leave it out, it changed no bit of the result"),

/** Set request->published where that is the algorithm; LW_EUSAGE where its options are given to another. LW_ESYSTEM. */
int lw_sfft_published_choose(const struct lw_options *given, struct lw_sfft_request *request, struct lw_error *err);
void lw_sfft_published_release(struct lw_sfft_request *request);
