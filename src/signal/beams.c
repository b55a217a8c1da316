#include "signal/beams.h"

#include "base/integers.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* A pattern of a sub-band, in a table by its hash. Beams come in their order. */
struct entry {
    uint64_t hash;
    int64_t stamp;              /* that of the space when the entry was made; another: no pattern */
    int64_t beam, group;        /* the first beam; the group of the latest */
    int64_t least, most;        /* delays of all beams */
    int64_t group_least, group_most;    /* those of the latest group */
};

/* The sums of sub-bands of a width, each once for all beams, or once for each group. */
struct survey {
    int64_t n_sums, least, most, inner, outer;  /* least, most: delays of channels of a sub-band, less that of the first */
    int64_t all_group_sums, all_group_samples, group_sums, group_samples;
};

/* Work space of a thread's share of a survey. */
struct space {
    struct entry *entries;      /* [n_entries], a power of two */
    int64_t n_entries, stamp;   /* stamp: grows with each sub-band */
    uint64_t factors[LW_BEAMS_MOST_WIDTH];      /* factors of the hash's terms */
    int64_t group, tile;        /* struct lw_beams_costs */
    int64_t *sums, *samples;    /* [groups] sums of a group, and the samples by which their offsets differ */
    struct survey found;
};

/* Return the first channel of [begin, end) with a weight in a beam; `end`: none. */
static int64_t first_of(const struct lw_shifts *shifts, int64_t beam, int64_t begin, int64_t end)
{
    while (begin < end && lw_shifts_weight(shifts, beam, begin) == 0)
        begin++;
    return begin;
}

bool lw_beams_are_plain(const struct lw_shifts *shifts)
{
    for (int64_t d = 0; d < shifts->n && shifts->weights; d++) {
        const int64_t first = first_of(shifts, d, 0, shifts->n_inputs);
        for (int64_t c = first; c < shifts->n_inputs; c++)
            if (lw_shifts_weight(shifts, d, c) != 0 && lw_shifts_weight(shifts, d, c) != lw_shifts_weight(shifts, d, first))
                return false;
    }
    return true;
}

void lw_beams_list(const struct lw_shifts *shifts, double *scales, int32_t *counts, uint8_t *used)
{
    for (int64_t d = 0; d < shifts->n; d++)
        for (int64_t c = 0; c < shifts->n_inputs; c++) {
            const float weight = lw_shifts_weight(shifts, d, c);
            if (weight == 0)
                continue;
            scales[d] = (double)weight;
            counts[d]++;
            used[c] = 1;
        }
}

static int64_t delay_of(const struct lw_shifts *shifts, int64_t beam, int64_t channel)
{
    return shifts->delays[beam * shifts->n_inputs + channel];
}

static uint64_t hash_of(const struct lw_shifts *shifts, const struct space *space, int64_t beam, int64_t first, int64_t end)
{
    const int32_t *const delays = shifts->delays + beam * shifts->n_inputs;
    const float *const weights = shifts->weights ? shifts->weights + beam * shifts->n_inputs : NULL;
    uint64_t hash = 0;
    for (int64_t c = first; c < end; c++) {
        uint64_t term = (uint64_t)((int64_t)delays[c] - delays[first]);
        if (weights) {
            uint32_t bits;
            memcpy(&bits, &weights[c], sizeof bits);
            term = weights[c] == 0 ? 0 : term << 32 ^ bits;
        }
        hash += term * space->factors[c % LW_BEAMS_MOST_WIDTH];
    }
    return (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
}

static bool is_same(const struct lw_shifts *shifts, int64_t a, int64_t b, int64_t begin, int64_t end)
{
    const int64_t first = first_of(shifts, a, begin, end);
    const int64_t offset = delay_of(shifts, a, first) - delay_of(shifts, b, first);
    int64_t unlike = 0;
    for (int64_t c = begin; c < end && !shifts->weights; c++)
        unlike |= delay_of(shifts, a, c) - delay_of(shifts, b, c) - offset;
    for (int64_t c = begin; c < end && shifts->weights; c++) {
        const float weight = lw_shifts_weight(shifts, a, c);
        if (weight != lw_shifts_weight(shifts, b, c) ||
            (weight != 0 && delay_of(shifts, a, c) - delay_of(shifts, b, c) != offset))
            return false;
    }
    return unlike == 0;
}

/* Extend [*least, *most] to the delays of channels with a weight, less that of the first. */
static void extend(const struct lw_shifts *shifts, int64_t beam, int64_t first, int64_t end, int64_t *least, int64_t *most)
{
    for (int64_t c = first; c < end; c++) {
        const int64_t delay = delay_of(shifts, beam, c) - delay_of(shifts, beam, first);
        if (lw_shifts_weight(shifts, beam, c) == 0)
            continue;
        *least = lw_min64(*least, delay);
        *most = lw_max64(*most, delay);
    }
}

/* Find a beam's pattern in channels [begin, end), of which `first` is the first with a weight. A new entry has another stamp. */
static struct entry *find(const struct lw_shifts *shifts, const struct space *space, int64_t beam, int64_t begin, int64_t first,
                          int64_t end, uint64_t *hash)
{
    *hash = hash_of(shifts, space, beam, first, end);
    int64_t at = (int64_t)(*hash >> 20) & (space->n_entries - 1);
    while (space->entries[at].stamp == space->stamp &&
           (space->entries[at].hash != *hash || !is_same(shifts, beam, space->entries[at].beam, begin, end)))
        at = (at + 1) & (space->n_entries - 1);
    return &space->entries[at];
}

/* Count a beam that has the pattern of an entry with an offset. */
static void count(struct entry *e, int64_t group, int64_t delay, struct space *space)
{
    e->least = lw_min64(e->least, delay);
    e->most = lw_max64(e->most, delay);
    space->found.outer = lw_max64(space->found.outer, e->most - e->least);
    if (e->group != group) {
        e->group = group;
        e->group_least = e->group_most = delay;
        space->sums[group]++;
    }
    const int64_t before = e->group_most - e->group_least;
    e->group_least = lw_min64(e->group_least, delay);
    e->group_most = lw_max64(e->group_most, delay);
    space->samples[group] += e->group_most - e->group_least - before;
}

/* Survey the patterns of all beams in sub-bands s, s + step, ... below `end`. @param first_beams  as below */
static void survey_share(const struct lw_shifts *shifts, int64_t width, int64_t s, int64_t end, int64_t step, struct space *space,
                         int32_t *first_beams)
{
    const int64_t n_subbands = lw_divide_up(shifts->n_inputs, width), n_groups = lw_divide_up(shifts->n, space->group);
    space->found = (struct survey){0};
    memset(space->sums, 0, (size_t)(2 * n_groups) * sizeof *space->sums);
    for (; s < end; s += step) {
        const int64_t begin = s * width, last = lw_min64(begin + width, shifts->n_inputs);
        space->stamp++;
        for (int64_t d = 0; d < shifts->n; d++) {
            const int64_t first = first_of(shifts, d, begin, last);
            uint64_t hash;
            if (first_beams)
                first_beams[d * n_subbands + s] = -1;
            if (first == last)
                continue;
            struct entry *const e = find(shifts, space, d, begin, first, last, &hash);
            const int64_t delay = delay_of(shifts, d, first);
            if (e->stamp != space->stamp) {
                *e = (struct entry){hash, space->stamp, d, -1, delay, delay, delay, delay};
                space->found.n_sums++;
                extend(shifts, d, first, last, &space->found.least, &space->found.most);
            }
            count(e, d / space->group, delay, space);
            if (first_beams)
                first_beams[d * n_subbands + s] = (int32_t)e->beam;
        }
    }
}

/* Survey the patterns of all beams in sub-bands of a width.
 * @param step         survey one in so many sub-bands, and multiply their sums
 * @param spaces       [n_threads]
 * @param first_beams  [n][sub-bands] set to the first beam with the same pattern, -1: no channel has a weight; NULL: not wanted */
static struct survey survey_of(const struct lw_shifts *shifts, int64_t width, int64_t step, struct space *spaces, int n_threads,
                               int32_t *first_beams)
{
    const int64_t n_subbands = lw_divide_up(shifts->n_inputs, width), n_groups = lw_divide_up(shifts->n, spaces->group);
    const int64_t first = step / 2, n = lw_divide_up(n_subbands - first, step);
    struct survey survey = {0};
#pragma omp parallel for num_threads(n_threads) schedule(static, 1)
    for (int t = 0; t < n_threads; t++)
        survey_share(shifts, width, first + n * t / n_threads * step, lw_min64(first + n * (t + 1) / n_threads * step, n_subbands),
                     step, &spaces[t], first_beams);
    for (int t = 0; t < n_threads; t++) {
        survey.least = lw_min64(survey.least, spaces[t].found.least);
        survey.most = lw_max64(survey.most, spaces[t].found.most);
        survey.outer = lw_max64(survey.outer, spaces[t].found.outer);
        survey.n_sums += step * spaces[t].found.n_sums;
        for (int64_t g = 0; g < 2 * n_groups && t > 0; g++)
            spaces->sums[g] += spaces[t].sums[g];
    }
    survey.inner = survey.most - survey.least;
    for (int64_t g = 0; g < n_groups; g++) {
        const int64_t samples = step * (spaces->sums[g] * spaces->tile + spaces->samples[g]);
        survey.all_group_sums += step * spaces->sums[g];
        survey.all_group_samples += samples;
        survey.group_sums = lw_max64(survey.group_sums, spaces->sums[g]);
        survey.group_samples = lw_max64(survey.group_samples, samples);
    }
    return survey;
}

/* Open work space for each thread. Close it even after an error. */
static int open_spaces(const struct lw_shifts *shifts, int64_t group, int64_t tile, int n_threads, struct space **out,
                       struct lw_error *err)
{
    static const char what[] = "patterns of beams";
    const int64_t n_groups = lw_divide_up(shifts->n, group);
    struct space *const spaces = *out = lw_alloc_array(n_threads, sizeof *spaces, what, err), all = {.n_entries = 64};
    while (all.n_entries < 2 * shifts->n)
        all.n_entries *= 2;
    if (!spaces || !(spaces->entries = all.entries = lw_alloc_array(n_threads * all.n_entries, sizeof *all.entries, what, err)) ||
        !(spaces->sums = all.sums = lw_alloc_array(2 * n_threads * n_groups, sizeof *all.sums, what, err)))
        return LW_ESYSTEM;
    for (int t = 0; t < n_threads; t++) {
        struct space *const space = &spaces[t];
        *space = (struct space){
            .entries = all.entries + t * all.n_entries, .n_entries = all.n_entries, .group = group, .tile = tile,
            .sums = all.sums + 2 * t * n_groups, .samples = all.sums + (2 * t + 1) * n_groups,
        };
        for (int i = 0; i < LW_BEAMS_MOST_WIDTH; i++)
            space->factors[i] = (i > 0 ? space->factors[i - 1] : 0) * 6364136223846793005u + 1442695040888963407u;
    }
    return LW_OK;
}

static void close_spaces(struct space *spaces)
{
    if (spaces) {
        lw_free(spaces->entries);
        lw_free(spaces->sums);
    }
    lw_free(spaces);
}

static const int widths[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, LW_BEAMS_MOST_WIDTH};
enum { N_WIDTHS = sizeof widths / sizeof *widths };

/* Return the cost of an addition from among some samples. */
static double distance(const struct lw_beams_costs *costs, double samples)
{
    return samples <= (double)costs->near_samples ? 1 : costs->far;
}

/* Return the shape with two widths, which are equal without stage 2. */
static struct lw_beams_shape shape_of(const struct lw_shifts *shifts, const struct lw_beams_costs *costs, int width, int wide,
                                      const struct survey *narrow, const struct survey *bands)
{
    struct lw_beams_shape shape = {
        .width = width, .n_subbands = lw_divide_up(shifts->n_inputs, width), .per_band = wide / width,
        .n_bands = lw_divide_up(shifts->n_inputs, wide), .n_sums = narrow->n_sums, .inner = narrow->inner, .outer = narrow->outer,
    };
    const double n = (double)shifts->n, all = (double)narrow->group_samples;
    const double overlap = 1 + (double)narrow->inner / LW_BEAMS_PIECE;
    shape.additions = costs->load * overlap * (double)shifts->n_inputs +
                      (double)narrow->n_sums * (costs->add * width + costs->sum) +
                      costs->back * (double)narrow->all_group_samples / (double)costs->tile + costs->store * n;
    if (shape.per_band == 1) {
        shape.additions += n * (double)shape.n_bands * distance(costs, all);
        return shape;
    }
    shape.group_sums = bands->group_sums;
    shape.group_samples = bands->group_samples;
    const double added = (double)shape.per_band * distance(costs, all / (double)shape.n_bands);
    shape.additions += (double)bands->all_group_samples / (double)costs->tile * (added + 1) +
                       n * (double)shape.n_bands * distance(costs, (double)bands->group_samples);
    return shape;
}

int lw_beams_choose_by(const struct lw_shifts *shifts, const struct lw_beams_costs *costs, int n_threads,
                       struct lw_beams_shape *out, struct lw_error *err)
{
    struct space *spaces;
    struct survey surveys[N_WIDTHS];
    const int rc = open_spaces(shifts, costs->group, costs->tile, n_threads, &spaces, err);
    out->additions = INFINITY;
    for (int i = 0; rc == LW_OK && i < N_WIDTHS; i++) {
        const int64_t most = lw_divide_up(shifts->n_inputs, widths[i]), some = shifts->n_inputs / lw_max64(1, costs->looks);
        const int64_t step = costs->has_bands ? 1 : lw_max64(1, lw_min64(most, some));
        surveys[i] = survey_of(shifts, widths[i], step, spaces, n_threads, NULL);
        for (int j = costs->has_bands ? 0 : i; j <= i; j++) {
            const struct lw_beams_shape shape = shape_of(shifts, costs, widths[j], widths[i], &surveys[j], &surveys[i]);
            if (widths[i] % widths[j] == 0 && shape.additions < out->additions)
                *out = shape;
        }
    }
    if (rc == LW_OK && !costs->has_bands) {
        const struct survey whole = survey_of(shifts, out->width, 1, spaces, n_threads, NULL);
        *out = shape_of(shifts, costs, (int)out->width, (int)out->width, &whole, &whole);
    }
    close_spaces(spaces);
    return rc;
}

int lw_beams_choose(const struct lw_shifts *shifts, struct lw_beams_shape *out, struct lw_error *err)
{
    static const struct lw_beams_costs costs = {
        .load = 4, .add = 1, .sum = 4, .back = 4, .store = 4, .far = 4, .near_samples = 256 << 10, .group = LW_BEAMS_GROUP,
        .tile = LW_BEAMS_TILE, .has_bands = true,
    };
    return lw_beams_choose_by(shifts, &costs, 1, out, err);
}

/* ---- numbers of the sums --------------------------------------------------------------------------------------------- */

int64_t lw_beams_bytes(const struct lw_shifts *shifts, const struct lw_beams_shape *shape)
{
    const int64_t places = shifts->n * (2 * shape->n_subbands + (shape->per_band > 1 ? shape->n_bands : 0));
    return (int64_t)sizeof(struct lw_beams) + (places + shape->n_sums + shape->n_subbands + 1) * (int64_t)sizeof(int32_t);
}

void lw_beams_destroy(struct lw_beams *beams)
{
    if (!beams)
        return;
    lw_free(beams->sum);
    lw_free(beams->delay);
    lw_free(beams->first);
    lw_free(beams->beam);
    lw_free(beams->begin);
    lw_free(beams);
}

/* Number the sums, of which `sum` holds the first beam. */
static void number(struct lw_beams *beams)
{
    const struct lw_beams_shape *const shape = &beams->shape;
    const struct lw_shifts *const shifts = beams->shifts;
    int32_t n = 0;
    for (int64_t s = 0; s < shape->n_subbands; s++) {
        const int64_t begin = s * shape->width, end = lw_min64(begin + shape->width, shifts->n_inputs);
        beams->begin[s] = n;
        for (int64_t d = 0; d < shifts->n; d++) {
            const int64_t at = d * shape->n_subbands + s, first = beams->sum[at];
            if (first < 0)
                continue;
            beams->delay[at] = (int32_t)delay_of(shifts, d, first_of(shifts, d, begin, end));
            if (first == d)
                beams->beam[n] = (int32_t)d;
            beams->sum[at] = first == d ? n++ : beams->sum[first * shape->n_subbands + s];
        }
    }
    beams->begin[shape->n_subbands] = n;
}

int lw_beams_create(const struct lw_shifts *shifts, const struct lw_beams_shape *shape, int n_threads, struct lw_beams **out,
                    struct lw_error *err)
{
    static const char what[] = "the sums of beams";
    struct space *spaces = NULL;
    struct lw_beams *const beams = *out = lw_alloc(sizeof *beams, what, err);
    if (!beams)
        return LW_ESYSTEM;
    *beams = (struct lw_beams){
        .shifts = shifts, .shape = *shape,
        .sum = lw_alloc_array(shifts->n * shape->n_subbands, sizeof *beams->sum, what, err),
        .delay = lw_alloc_array(shifts->n * shape->n_subbands, sizeof *beams->delay, what, err),
        .first = shape->per_band > 1 ? lw_alloc_array(shifts->n * shape->n_bands, sizeof *beams->first, what, err) : NULL,
        .beam = lw_alloc_array(shape->n_sums, sizeof *beams->beam, what, err),
        .begin = lw_alloc_array(shape->n_subbands + 1, sizeof *beams->begin, what, err),
    };
    const bool is_whole = beams->sum && beams->delay && (beams->first || shape->per_band == 1) && beams->beam && beams->begin;
    const int rc = is_whole ? open_spaces(shifts, LW_BEAMS_GROUP, LW_BEAMS_TILE, n_threads, &spaces, err) : LW_ESYSTEM;
    if (rc == LW_OK) {
        survey_of(shifts, shape->width, 1, spaces, n_threads, beams->sum);
        if (beams->first)
            survey_of(shifts, shape->width * shape->per_band, 1, spaces, n_threads, beams->first);
        number(beams);
    }
    close_spaces(spaces);
    return rc;
}
