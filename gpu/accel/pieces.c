#include "gpu/accel/pieces.h"

#include "base/integers.h"

#include <math.h>

#define MORE_POINTS 8               /* the kernel of sums reads fewer halves beyond a cell's last */

struct lw_accel_segments lw_accel_segments_of(int half_width)
{
    static const double costs[] = {1, 1.2, 1.39, 1.97};         /* a point of a transform on an H100 */
    struct lw_accel_segments best = {0};
    double least = INFINITY;
    for (int i = 0; i < 4; i++) {
        const int n = 1024 << i, discard = (int)lw_round_up(half_width, 32), hop = n - 2 * discard;
        if (hop > 0 && costs[i] * n / hop < least) {
            least = costs[i] * n / hop;
            best = (struct lw_accel_segments){.radix = 1 << i, .n = n, .discard = discard, .hop = hop};
        }
    }
    return best;
}

void lw_accel_piece_make(const struct lw_accel_plan *plan, const struct lw_accel_segments *segments, int64_t begin, int64_t end,
                         struct lw_accel_piece *piece)
{
    const int H = 1 << (plan->spec.n_stages - 1);
    const int64_t points = (int64_t)LW_ACCEL_STEPS * segments->hop;
    *piece = (struct lw_accel_piece){.begin = begin / LW_ACCEL_CELL * LW_ACCEL_CELL, .end = lw_round_up(end, LW_ACCEL_CELL)};
    struct lw_accel_interval *last = NULL;
    for (int k = 1; k <= H; k++) {
        const int64_t first = lw_accel_sub_r(piece->begin, k, H) / points;
        const int64_t behind = (lw_accel_sub_r(piece->end - 1, k, H) + MORE_POINTS) / points + 1;
        if (!last || first > last->first + last->n) {
            last = &piece->intervals[piece->n_intervals++];
            *last = (struct lw_accel_interval){.first = first, .column = piece->columns};
        }
        const int64_t n = lw_max64(last->n, behind - last->first);
        piece->columns += (n - last->n) * points;
        last->n = n;
        last->reach_z = lw_accel_sub_z(plan->n_z / 2, k, H);
        last->reach_w = lw_accel_sub_z(plan->n_w / 2, k, H);
        piece->shift[k - 1] = last->first * points - last->column;
    }
}

void lw_accel_piece_fit(const struct lw_accel_plan *plan, const struct lw_accel_segments *segments, int64_t begin, int64_t end,
                        int64_t columns, struct lw_accel_piece *piece)
{
    int64_t fits = begin / LW_ACCEL_CELL + 1, most = lw_divide_up(end, LW_ACCEL_CELL);
    while (fits < most) {
        const int64_t middle = fits + (most - fits + 1) / 2;
        lw_accel_piece_make(plan, segments, begin, middle * LW_ACCEL_CELL, piece);
        if (piece->columns <= columns)
            fits = middle;
        else
            most = middle - 1;
    }
    lw_accel_piece_make(plan, segments, begin, fits * LW_ACCEL_CELL, piece);
}
