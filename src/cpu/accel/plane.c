#include "accel/templates.h"
#include "cpu/accel/accel.h"
#include "cpu/dispatch.h"

#include "base/leave.h"

#include <math.h>
#include <omp.h>
#include <string.h>

void lw_cpu_harmonic(int harmonic, int *k, int *H)
{
    for (*H = 1; *H <= harmonic; *H *= 2)
        ;
    *k = harmonic == 0 ? 1 : 2 * (harmonic - *H / 2) + 1;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------- */
static int64_t levels_of(const struct lw_cpu_strip *strip)
{
    return (2 * (int64_t)strip->dw + 1) * (2 * strip->dz + 1) * (strip->end - strip->begin);
}

struct lw_cpu_piece lw_cpu_piece_of(const struct lw_accel_plan *plan, int64_t begin, int64_t end)
{
    struct lw_cpu_piece piece = {.begin = begin, .end = end};
    const int H = lw_cpu_harmonics(plan);
    int strip_of[LW_CPU_MOST_HARMONICS + 1];
    for (int k = 1; k <= H; k++) {
        const struct lw_cpu_strip next = {
            .begin = lw_accel_sub_r(begin, k, H) / 2 * 2, .end = lw_round_up(lw_accel_sub_r(end - 1, k, H) + 1, 2),
            .dz = lw_accel_sub_z(plan->n_z / 2, k, H), .dw = lw_accel_sub_z(plan->n_w / 2, k, H),
        };
        struct lw_cpu_strip *const last = piece.n_strips > 0 ? &piece.strips[piece.n_strips - 1] : NULL;
        if (last && next.begin <= last->end) {
            *last = (struct lw_cpu_strip){.begin = last->begin, .end = next.end, .dz = next.dz, .dw = next.dw};
        } else {
            piece.strips[piece.n_strips++] = next;
        }
        strip_of[k] = piece.n_strips - 1;
    }
    for (int i = 0; i < piece.n_strips; i++) {
        piece.strips[i].first = piece.n_levels;
        piece.n_levels += levels_of(&piece.strips[i]);
    }
    for (int i = 0; i < H; i++) {
        int k, of;
        lw_cpu_harmonic(i, &k, &of);
        piece.strip_of[i] = strip_of[k * (H / of)];
    }
    return piece;
}

/* The strips of k / H have points k / H, and up to 4 more; where they join, the joint one has all z and w at most. */
int64_t lw_cpu_piece_levels(const struct lw_accel_plan *plan, int64_t points)
{
    const int H = lw_cpu_harmonics(plan);
    return (int64_t)plan->n_z * plan->n_w * (points * (H + 1) / 2 + 4 * H);
}

/* Find the longest piece from `begin` that fits the plane: in cells, by halving. If it can, it ends where a segment does: the next
 * piece would have to make a cut one again. */
static struct lw_cpu_piece longest_piece(const struct lw_accel_search *search, int64_t begin)
{
    int64_t fits = begin / LW_ACCEL_CELL + 1, beyond = lw_divide_up(search->end, LW_ACCEL_CELL) + 1;
    while (beyond - fits > 1) {
        const int64_t middle = fits + (beyond - fits) / 2, end = lw_min64(middle * LW_ACCEL_CELL, search->end);
        if (lw_cpu_piece_of(search->plan, begin, end).n_levels <= search->n_levels)
            fits = middle;
        else
            beyond = middle;
    }
    const int64_t points = LW_ACCEL_STEPS * search->hop, most = lw_min64(fits * LW_ACCEL_CELL, search->end);
    const int64_t whole = most < search->end ? most / points * points : most;
    return lw_cpu_piece_of(search->plan, begin, whole > begin ? whole : most);
}

/* ---- powers ------------------------------------------------------------------------------------------------------- */
int lw_cpu_accel_template(const struct lw_accel_search *search, struct lw_cpu_accel_lane *lane, int64_t row, float *taps,
                          struct lw_error *err)
{
    const int64_t n = search->n, half = search->plan->half_width;
    const int64_t middle = (int64_t)search->plan->n_w / 2 * search->plan->n_z + search->plan->n_z / 2, n_z = search->plan->n_z;
    const int rc = lw_accel_template(search->plan, (int)((middle + row) % n_z), (int)((middle + row) / n_z), taps, err);
    if (rc)
        return rc;
    float *const circle = (float *)lane->levels, scale = 1 / (float)n;
    for (int64_t part = 0; part < 2; part++) {
        memset(circle, 0, (size_t)n * 2 * sizeof *circle);
        for (int64_t m = -half; m + part <= half; m++)
            for (int i = 0; i < 2; i++)
                circle[2 * lw_mod(m, n) + i] = taps[2 * (2 * (m + half) + part) + i] * scale;
        search->kernels->drift_forward(search->drift, circle, search->templates + (2 * row + part) * 2 * n, lane->work);
    }
    return LW_OK;
}

/* Transform the bins of a segment; there are none beyond the spectrum. */
static void transform(const struct lw_accel_search *search, struct lw_cpu_accel_lane *lane, int64_t segment, float *out)
{
    const int64_t n = search->n, at = segment * search->hop - search->plan->half_width;
    const int64_t first = lw_max64(at, 0), end = lw_min64(at + n, search->plan->n_bins);
    float *const bins = (float *)lane->levels;
    memset(bins, 0, (size_t)n * 2 * sizeof *bins);
    if (first < end)
        memcpy(bins + 2 * (first - at), search->spectrum + 2 * first, (size_t)(end - first) * 2 * sizeof *bins);
    search->kernels->drift_forward(search->drift, bins, out, lane->work);
}

static uint16_t *row_at(const struct lw_accel_search *search, const struct lw_cpu_strip *strip, int dz, int dw)
{
    const int64_t row = (int64_t)(dw + strip->dw) * (2 * strip->dz + 1) + dz + strip->dz;
    return search->plane + strip->first + row * (strip->end - strip->begin);
}

/* The segments [begin, end) of a strip, and the z and w of which some harmonic of the piece needs powers there. */
struct batch {
    const struct lw_cpu_strip *strip;
    int64_t begin, end;
    int dz, dw;
};

static struct batch batch_of(const struct lw_accel_search *search, const struct lw_cpu_piece *piece,
                             const struct lw_cpu_strip *strip, int64_t segment)
{
    const int H = lw_cpu_harmonics(search->plan);
    const int64_t points = LW_ACCEL_STEPS * search->hop, last = lw_divide_up(strip->end, points);
    struct batch batch = {strip, segment, lw_min64(segment + search->batch, last), 0, 0};
    const int64_t from = lw_max64(segment * points, strip->begin), to = lw_min64(batch.end * points, strip->end);
    for (int k = 1; k <= H; k++)
        if (lw_accel_sub_r(piece->begin, k, H) < to && lw_accel_sub_r(piece->end - 1, k, H) >= from) {
            batch.dz = lw_accel_sub_z(search->plan->n_z / 2, k, H);
            batch.dw = lw_accel_sub_z(search->plan->n_w / 2, k, H);
        }
    return batch;
}

/* Make the powers of two rows of the plane, whose templates are mirror images: A(q; -z, -w) = conj(A(-q; z, w)). Rows count from
 * the middle of the batch's. */
static void fill(const struct lw_accel_search *search, struct lw_cpu_accel_lane *lane, const struct batch *batch, int64_t row)
{
    const int64_t width = 2 * batch->dz + 1, points = LW_ACCEL_STEPS * search->hop;
    const int dw = (int)((row + batch->dz) / width), dz = (int)(row - dw * width);
    const float *const template = search->templates + ((int64_t)dw * search->plan->n_z + dz) * 4 * search->n;
    for (int64_t s = batch->begin; s < batch->end; s++) {
        const int64_t first = lw_max64(s * points, batch->strip->begin), end = lw_min64((s + 1) * points, batch->strip->end);
        const float *const segment = search->segments + (s - batch->begin) * 2 * search->n;
        for (int sign = 1; sign >= (row ? -1 : 1); sign -= 2) {
            search->kernels->drift_powers(search->drift, template, segment, sign < 0, lane->levels, lane->work);
            memcpy(row_at(search, batch->strip, sign * dz, sign * dw) + first - batch->strip->begin,
                   lane->levels + LW_ACCEL_STEPS * search->plan->half_width + first - s * points,
                   (size_t)(end - first) * sizeof *search->plane);
        }
    }
}

static struct lw_cpu_accel_lane *own_lane(const struct lw_accel_search *search)
{
    return lw_cpu_lane_at(&search->lanes, omp_get_thread_num());
}

static void fill_batch(struct lw_accel_search *search, const struct batch *batch)
{
    const int64_t n_rows = ((2 * (int64_t)batch->dw + 1) * (2 * batch->dz + 1) + 1) / 2;
#pragma omp parallel num_threads(search->lanes.n)
    {
#pragma omp for schedule(dynamic, 1)
        for (int64_t s = batch->begin; s < batch->end; s++)
            transform(search, own_lane(search), s, search->segments + (s - batch->begin) * 2 * search->n);
#pragma omp for schedule(dynamic, 1)
        for (int64_t row = 0; row < n_rows; row++)
            if (!lw_leave_is_asked())
                fill(search, own_lane(search), batch, row);
    }
}

/* ---- sums and hits ------------------------------------------------------------------------------------------------ */

/* Rows of the plane with the harmonics of indices z and w, from the point `from` of the highest harmonic, a multiple of a cell. */
struct rows {
    const uint16_t *row[LW_CPU_MOST_HARMONICS];
};

static struct rows rows_of(const struct lw_accel_search *search, const struct lw_cpu_piece *piece, int64_t from, int z, int w)
{
    struct rows rows;
    for (int i = 0; i < lw_cpu_harmonics(search->plan); i++) {
        int k, H;
        lw_cpu_harmonic(i, &k, &H);
        const struct lw_cpu_strip *const strip = &piece->strips[piece->strip_of[i]];
        rows.row[i] = row_at(search, strip, search->sub_z[i * search->plan->n_z + z], search->sub_w[i * search->plan->n_w + w]) +
                      from / H * k - strip->begin;
    }
    return rows;
}

static float power_of(uint16_t level)
{
    const uint32_t bits = (uint32_t)level << LW_CPU_LEVEL_SHIFT;
    float power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* Return the sum of a stage at a point of a cell, added in the order of add_harmonics. */
static float sum_at(const struct rows *rows, int point, int stage)
{
    float sum = 0;
    for (int i = 0; i < 1 << stage; i++) {
        int k, H;
        lw_cpu_harmonic(i, &k, &H);
        sum += power_of(rows->row[i][lw_accel_sub_r(point, k, H)]);
    }
    return sum;
}

/* Find the largest sum of a stage among the points [begin, end) of a cell. `largest`: the sum, if it is known; else 0 */
static struct lw_accel_hit largest_of(const struct lw_accel_search *search, const struct lw_cpu_piece *piece, int64_t cell,
                                      int stage, float largest)
{
    const int64_t from = cell * LW_ACCEL_CELL;
    const int begin = (int)lw_max64(search->begin - from, 0), end = (int)lw_min64(search->end - from, LW_ACCEL_CELL);
    struct lw_accel_hit hit = {.stage = stage};
    for (int w = 0; w < search->plan->n_w; w++)
        for (int z = 0; z < search->plan->n_z; z++) {
            const struct rows rows = rows_of(search, piece, from, z, w);
            float sums[LW_ACCEL_MOST_STAGES * LW_CPU_HARMONICS_LANES] __attribute__((aligned(LW_ALIGNMENT))) = {0}, found = 0;
            if (largest > 0)
                search->kernels->add_harmonics(rows.row, stage + 1, 1, sums);
            for (int i = 0; i < LW_CPU_HARMONICS_LANES; i++)
                found = fmaxf(found, sums[stage * LW_CPU_HARMONICS_LANES + i]);
            for (int point = begin; point < end && found >= largest; point++) {
                const float sum = sum_at(&rows, point, stage);
                if (sum > hit.sum)
                    hit = (struct lw_accel_hit){.r = from + point, .z = (int16_t)z, .w = (int16_t)w, .stage = stage, .sum = sum};
            }
            if (largest > 0 && hit.sum == largest)
                return hit;
        }
    return hit;
}

static void put(struct lw_accel_hits *hits, struct lw_accel_hit hit)
{
    hit.sum = ldexpf(hit.sum, LW_CPU_LEVEL_EXPONENT);
#pragma omp critical(lw_cpu_accel_hits)
    {
        if (hits->n < hits->most)
            hits->hits[hits->n] = hit;
        hits->n++;
    }
}

/* Search the cells [first, end), at most LW_CPU_SPAN_CELLS. Cells that the range cuts are searched point by point. */
static void search_cells(const struct lw_accel_search *search, struct lw_cpu_accel_lane *lane, const struct lw_cpu_piece *piece,
                         int64_t first, int64_t end, struct lw_accel_hits *hits)
{
    const struct lw_accel_plan *const plan = search->plan;
    const int n_stages = plan->spec.n_stages;
    const int64_t whole = lw_divide_up(search->begin, LW_ACCEL_CELL), whole_end = search->end / LW_ACCEL_CELL;
    const int64_t from = lw_max64(first, whole), n = lw_max64(lw_min64(end, whole_end) - from, 0);
    memset(lane->largest, 0, (size_t)(n_stages * n * LW_CPU_HARMONICS_LANES) * sizeof *lane->largest);
    for (int w = 0; w < plan->n_w && n > 0; w++)
        for (int z = 0; z < plan->n_z; z++)
            search->kernels->add_harmonics(rows_of(search, piece, from * LW_ACCEL_CELL, z, w).row, n_stages, n, lane->largest);
    for (int stage = 0; stage < n_stages; stage++) {
        const float least = ldexpf(plan->least[stage], -LW_CPU_LEVEL_EXPONENT);
        for (int64_t cell = first; cell < end; cell++) {
            const bool is_whole = from <= cell && cell < from + n;
            float largest = 0;
            for (int i = 0; is_whole && i < LW_CPU_HARMONICS_LANES; i++)
                largest = fmaxf(largest, lane->largest[(stage * n + cell - from) * LW_CPU_HARMONICS_LANES + i]);
            if (is_whole && largest < least)
                continue;
            const struct lw_accel_hit hit = largest_of(search, piece, cell, stage, largest);
            if (hit.sum >= least)
                put(hits, hit);
        }
    }
}

static void search_span(struct lw_accel_search *search, const struct lw_cpu_piece *piece, int64_t first, int64_t end,
                        struct lw_accel_hits *hits)
{
#pragma omp parallel for num_threads(search->lanes.n) schedule(dynamic, 1)
    for (int64_t cell = first; cell < end; cell += LW_CPU_SPAN_CELLS)
        if (!lw_leave_is_asked())
            search_cells(search, own_lane(search), piece, cell, lw_min64(cell + LW_CPU_SPAN_CELLS, end), hits);
}

/* Strips are made from the lowest on. Cells are searched as soon as their powers are complete, while the caches hold them. */
static void search_piece(struct lw_accel_search *search, const struct lw_cpu_piece *piece, struct lw_accel_hits *hits)
{
    const int64_t points = LW_ACCEL_STEPS * search->hop;
    int64_t done = piece->begin / LW_ACCEL_CELL;
    for (int i = 0; i < piece->n_strips; i++)
        for (int64_t s = piece->strips[i].begin / points; s * points < piece->strips[i].end; s += search->batch) {
            const struct batch batch = batch_of(search, piece, &piece->strips[i], s);
            fill_batch(search, &batch);
            const int64_t made = batch.end * points;
            const int64_t complete = i < piece->n_strips - 1  ? done
                                     : made < piece->end ? lw_max64(made / LW_ACCEL_CELL, done)
                                                              : lw_divide_up(piece->end, LW_ACCEL_CELL);
            search_span(search, piece, done, complete, hits);
            done = complete;
        }
}

int lw_cpu_accel_find(struct lw_accel_search *search, struct lw_accel_hits *hits, struct lw_error *err)
{
    hits->n = 0;
    for (int64_t at = search->begin; at < search->end && !lw_leave_is_asked(); ) {
        const struct lw_cpu_piece piece = longest_piece(search, at);
        search_piece(search, &piece, hits);
        at = piece.end;
    }
    return lw_leave_check(err);
}
