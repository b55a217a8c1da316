/* test_beams.c - the plan of the sums of beams: beams share what they have in common, and nothing else. */
#include "../check.h"
#include "signal/beams.h"

#include <stdlib.h>
#include <string.h>

enum { BEAMS = 150, CHANNELS = 96 };

static int32_t delays[BEAMS * CHANNELS];
static float weights[BEAMS * CHANNELS];

/* Check that each beam's sum of a sub-band has its delays and weights, and that beams with the same pattern in a band are found. */
static void check(const struct lw_beams *b)
{
    const struct lw_shifts *const s = b->shifts;
    const struct lw_beams_shape *const shape = &b->shape;
    int64_t n_wrong = 0;
    for (int64_t d = 0; d < s->n; d++)
        for (int64_t c = 0; c < s->n_inputs; c++) {
            const int64_t at = d * shape->n_subbands + c / shape->width, sum = b->sum[at];
            const float weight = lw_shifts_weight(s, d, c);
            if (sum < 0) {
                n_wrong += weight != 0;
                continue;
            }
            const int64_t beam = b->beam[sum], offset = b->delay[at] - b->delay[beam * shape->n_subbands + c / shape->width];
            n_wrong += lw_shifts_weight(s, beam, c) != weight || sum < b->begin[c / shape->width] ||
                       sum >= b->begin[c / shape->width + 1] ||
                       (weight != 0 && s->delays[beam * s->n_inputs + c] + offset != s->delays[d * s->n_inputs + c]);
            if (!b->first || b->first[d * shape->n_bands + c / shape->width / shape->per_band] < 0)
                continue;
            const int64_t first = b->first[d * shape->n_bands + c / shape->width / shape->per_band];
            n_wrong += first > d || b->sum[first * shape->n_subbands + c / shape->width] != sum;
        }
    CHECK(n_wrong == 0, "%lld channels of beams are summed wrongly", (long long)n_wrong);
}

/* Plan the beams, with the chosen widths or others. @return  the channels in all the sums of sub-bands that were chosen */
static int64_t plan(bool has_weights, int width)
{
    struct lw_shifts shifts = {.n = BEAMS, .n_inputs = CHANNELS, .delays = delays, .weights = has_weights ? weights : NULL};
    struct lw_beams_shape shape;
    struct lw_beams *beams = NULL;
    struct lw_error err;
    lw_shifts_span(&shifts);
    CHECK(lw_beams_choose(&shifts, &shape, &err) == LW_OK && shape.width * shape.n_subbands >= CHANNELS, "%s", err.message);
    static const struct lw_beams_costs costs = {.load = 40, .add = 3, .sum = 12, .back = 4, .store = 40, .far = 1,
                                                .near_samples = INT64_MAX, .group = 4, .tile = 512, .looks = CHANNELS / 3};
    struct lw_beams_shape by_one, by_many;      /* threads change no choice, also where they are more than sub-bands */
    for (int n = 2; n < 40; n += 9)
        CHECK(lw_beams_choose_by(&shifts, &costs, 1, &by_one, &err) == LW_OK &&
                  lw_beams_choose_by(&shifts, &costs, n, &by_many, &err) == LW_OK && memcmp(&by_one, &by_many, sizeof by_one) == 0,
              "%d threads", n);
    const int64_t n_sums = shape.n_sums, n_added = n_sums * shape.width;
    if (width > 0) {            /* any widths must do */
        shape = (struct lw_beams_shape){.width = width, .n_subbands = (CHANNELS + width - 1) / width, .per_band = 3,
                                        .n_sums = BEAMS * CHANNELS};
        shape.n_bands = (shape.n_subbands + 2) / 3;
    }
    CHECK(lw_beams_create(&shifts, &shape, 3, &beams, &err) == LW_OK, "%s", err.message);
    check(beams);
    CHECK(beams->begin[shape.n_subbands] <= shape.n_sums && (width > 0 || beams->begin[shape.n_subbands] == n_sums), "%d sums",
          beams->begin[shape.n_subbands]);
    lw_beams_destroy(beams);
    return n_added;
}

int main(void)
{
    for (int kind = 0; kind < 3; kind++) {
        for (int i = 0; i < BEAMS * CHANNELS; i++) {
            const int d = i / CHANNELS, c = i % CHANNELS;
            delays[i] = kind == 0 ? d * (c / 12) * 5 - 7 * (c % 12) : kind == 1 ? d * c / 30 - 40 : (i * 7919) % 1000 - 500;
            weights[i] = (float)((d / 50 + c) % 4);
        }
        const int64_t n_added = plan(false, 0);
        CHECK(kind > 0 || n_added == CHANNELS, "delays by 8 sub-bands: %lld channels are added", (long long)n_added);
        CHECK(kind != 1 || n_added < BEAMS * CHANNELS / 8, "neighbours share little: %lld channels are added", (long long)n_added);
        plan(true, 0);
        plan(false, 5);
        plan(true, 7);
    }
    return check_result("beams");
}
