/* sfft_published.h - the options of `sfft` that are for the published transform alone (sfft/published/published.h), as parts
 * of the job's table of options. */
#ifndef LW_JOBS_SFFT_PUBLISHED_H
#define LW_JOBS_SFFT_PUBLISHED_H

#include "options/options.h"
#include "sfft/published/published.h"

#define LW_SFFT_PUBLISHED_CHOICE "|sfft2"       /* of --algorithm, behind the others */

#define LW_SFFT_PUBLISHED_HELP                                                                                                \
    " sfft2 is the published transform with flat windows and voting (Hassanieh et al., SODA 2012), to compare with: slower, " \
    "and it reads a channel whole. The options from --flat-window on are for it alone."

#define LW_SFFT_PUBLISHED_OPTIONS                                                                                             \
    {.name = "flat-window", .kind = LW_OPTION_CHOICE, .choices = "dolph-chebyshev|gaussian",                                  \
     .help = "What the window's box in frequency is multiplied with in time. Default: dolph-chebyshev, half as long."},       \
    {.name = "buckets", .kind = LW_OPTION_INT, .argument = "B", .minimum = 4, .maximum = 1 << 28,                             \
     .help = "Buckets of a loop. Default: the power of two next to sqrt(n k / log2 n), at least 16 for each line."},          \
    {.name = "location-loops", .kind = LW_OPTION_INT, .argument = "L", .minimum = 1, .maximum = LW_PUBLISHED_LOOPS - 1,       \
     .help = "Loops whose largest buckets vote. Default: 4."},                                                                \
    {.name = "votes", .kind = LW_OPTION_INT, .argument = "V", .minimum = 1, .maximum = LW_PUBLISHED_LOOPS - 1,                \
     .help = "Votes that make a frequency a candidate. Default: 3 of 4, else more than half of the loops."},                  \
    {.name = "estimation-loops", .kind = LW_OPTION_INT, .argument = "L", .minimum = 1, .maximum = LW_PUBLISHED_LOOPS - 1,     \
     .help = "Loops more, for the medians that values are estimated by. Default: 10."},                                       \
    {.name = "comb", .kind = LW_OPTION_INT, .argument = "W", .minimum = 0, .maximum = 1 << 28,                                \
     .help = "First fold the spectrum to W residues, a divisor of the number of samples, by every (n/W)-th sample; only "     \
             "frequencies of the strongest residues get votes (sFFT 2.0). Default: 0, no comb."},                             \
    {.name = "comb-loops", .kind = LW_OPTION_INT, .argument = "L", .minimum = 1, .maximum = LW_PUBLISHED_COMBS,               \
     .help = "Combs; what one of them shows is enough. Default: 2."},                                                         \
    {.name = "binning", .kind = LW_OPTION_CHOICE, .choices = "partition|serial",                                              \
     .help = "partition: threads divide the buckets of a loop, and each sample's index is computed by itself. serial: a "     \
             "thread takes a loop, each index from the one before it; cpu engine only. The same bits. Default: partition."},  \
    {.name = "fetch", .kind = LW_OPTION_CHOICE, .choices = "gather|direct",                                                   \
     .help = "gather: bring a piece's samples, asked for ahead, into the order of the window, then fold. direct: fold each as " \
             "it comes. The same bits. Default: gather."},                                                                    \
    {.name = "cutoff", .kind = LW_OPTION_CHOICE, .choices = "select|sort",                                                    \
     .help = "How the largest buckets are found: by k-selection or by sorting all. The same buckets. Default: select."},

/** Set request->published where that is the algorithm; LW_EUSAGE where its options are given to another. LW_ESYSTEM. */
int lw_sfft_published_choose(const struct lw_options *given, struct lw_sfft_request *request, struct lw_error *err);
void lw_sfft_published_release(struct lw_sfft_request *request);

#endif
