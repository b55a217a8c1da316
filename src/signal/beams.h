/* beams.h - plan of the sums of beams (signal/array.h), in stages that share what many beams have in common. Pure arithmetic.
 *
 *     channels  --stage 1-->  sums of sub-bands of `width` channels  --stage 2-->  sums of bands of `per_band` sub-bands
 *               --stage 3-->  beams, sums of bands
 *
 * Beams have the same *pattern* in some channels if the weights there are equal, and the delays less that of the first channel with
 * a weight. They share one sum then, each with an offset of its own: the delay of that first channel. Stage 1 makes each sum of a
 * sub-band once for all beams, stage 2 each sum of a band once for LW_BEAMS_GROUP beams that follow each other. The widths are
 * those with the fewest additions, counted for the whole table of delays. Hence delays that do not differ within sub-bands, as
 * plans of dispersion trials make them, cost what a search by sub-bands costs; others are shared as far as they agree.
 *
 * A sum adds its terms in the order of channels, and leaves out channels of weight 0. Widths, and so the order of all additions,
 * follow from delays and weights of all beams, whichever of them are made. */
#pragma once

#include "base/error.h"
#include "signal/array.h"


LW_C_BEGIN

/* Beams that share the sums of bands, and outputs of a tile: of a sum of a band, as many are made, and as its beams' offsets
 * differ. Samples of a piece of stage 1, with as many more of each channel as delays differ in a sub-band. */
#define LW_BEAMS_GROUP 64
#define LW_BEAMS_TILE 1024
#define LW_BEAMS_PIECE 4096

/* Most channels of a band. As many integers of 8 bits have a sum of 16. */
#define LW_BEAMS_MOST_WIDTH 256

/* Sizes of a plan. */
struct lw_beams_shape {
    int64_t width, n_subbands;  /* channels of a sub-band, but the last; sub-bands */
    int64_t per_band, n_bands;  /* sub-bands of a band, but the last; bands. 1: there is no stage 2 */
    int64_t n_sums;             /* distinct sums of sub-bands */
    int64_t inner, outer;       /* samples by which delays differ at most: those of sub-bands' channels, less the first's; offsets
                                   of a sum of a sub-band */
    int64_t group_sums, group_samples;  /* most sums of bands of a group, and samples of these in a tile */
    double additions;           /* sums and stores for a sample of all beams */
};

struct lw_beams {
    const struct lw_shifts *shifts;
    struct lw_beams_shape shape;
    int32_t *sum;               /* [n][n_subbands] number of a beam's sum of a sub-band; -1: none of its channels has a weight */
    int32_t *delay;             /* [n][n_subbands] its offset */
    int32_t *first;             /* [n][n_bands] the first beam with the same pattern in a band; NULL: there is no stage 2 */
    int32_t *beam;              /* [n_sums] a beam with the sum; the sums of a sub-band follow each other */
    int32_t *begin;             /* [n_subbands + 1] numbers of the sums of a sub-band */
};

/* Costs in additions of sums to a beam. */
struct lw_beams_costs {
    double load, add, store;    /* a loaded sample; an addition of stage 1; a stored output */
    double sum, back;           /* a sum of a sub-band that goes to memory, and that comes back for each group */
    double far;                         /* an addition of samples that have left the near caches */
    int64_t near_samples;               /* samples of sums that stay in these */
    int64_t group, tile;                /* beams that fetch sums of sub-bands together; outputs of a tile */
    bool has_bands;                     /* the engine makes stage 2 */
    int64_t looks;                      /* channels that the choice of a width looks at, about, if there is no stage 2 */
};

/** Choose the widths with the fewest additions, lw_beams_choose with the costs of the CPU engine. LW_ESYSTEM. */
int lw_beams_choose(const struct lw_shifts *shifts, struct lw_beams_shape *out, struct lw_error *err);
int lw_beams_choose_by(const struct lw_shifts *shifts, const struct lw_beams_costs *costs, int n_threads,
                       struct lw_beams_shape *out, struct lw_error *err);

/** Number the sums. LW_ESYSTEM. @param shifts  borrowed for the life of the plan */
int lw_beams_create(const struct lw_shifts *shifts, const struct lw_beams_shape *shape, int n_threads, struct lw_beams **out,
                    struct lw_error *err);
void lw_beams_destroy(struct lw_beams *beams);              /* accepts NULL */

/** Return the bytes that lw_beams_create keeps. */
int64_t lw_beams_bytes(const struct lw_shifts *shifts, const struct lw_beams_shape *shape);

/** Return whether the channels' weights are all equal in each beam, or 0. Sums of integers are exact then. */
bool lw_beams_are_plain(const struct lw_shifts *shifts);

/** List the beams' weights.
 * @param scales  [n] set to the last weight of a beam
 * @param counts  [n] set to the channels of a beam that have a weight
 * @param used    [n_inputs] marked if a channel has a weight in some beam; 0 before */
void lw_beams_list(const struct lw_shifts *shifts, double *scales, int32_t *counts, uint8_t *used);

LW_C_END
