#include "signal/beams.h"

#include "base/integers.h"
#include "base/memory.h"

#include <string.h>

/* Cost of a loaded sample, of a sum of a sub-band that goes to memory, and comes back for each group, and of storing an output, in
 * additions. An addition of samples that have left the near caches costs FAR_COST. */
#define LOAD_COST 4
#define SUM_COST 4
#define BACK_COST 4
#define STORE_COST 4
#define FAR_COST 4

/* Samples of sums of 16 bits that stay in the near caches. */
#define NEAR_SAMPLES (256 << 10)

/* A pattern of a sub-band, in a table by its hash. Beams come in their order. */
struct entry {
    uint64_t hash;              /* 0: no pattern */
    int64_t beam, group;        /* the first beam; the group of the latest */
    int64_t least, most;        /* delays of all beams */
    int64_t group_least, group_most;    /* those of the latest group */
};

/* Work space of a survey. */
struct space {
    struct entry *entries;      /* [n_entries], a power of two */
    int64_t n_entries;
    int64_t *sums, *samples;    /* [groups] sums of a group, and the samples by which their offsets differ */
};

/* The sums of sub-bands of a width, each once for all beams, or once for each group. */
struct survey {
    int64_t n_sums, inner, outer;
    int64_t all_group_sums, all_group_samples, group_sums, group_samples;
};

int64_t lw_beams_first(const struct lw_shifts *shifts, int64_t beam, int64_t begin, int64_t end)
{
    while (begin < end && lw_shifts_weight(shifts, beam, begin) == 0)
        begin++;
    return begin;
}

static int64_t delay_of(const struct lw_shifts *shifts, int64_t beam, int64_t channel)
{
    return shifts->delays[beam * shifts->n_inputs + channel];
}

static uint64_t hash_of(const struct lw_shifts *shifts, int64_t beam, int64_t first, int64_t end)
{
    uint64_t hash = (uint64_t)first;
    for (int64_t c = first; c < end; c++) {
        const float weight = lw_shifts_weight(shifts, beam, c);
        uint32_t bits;
        memcpy(&bits, &weight, sizeof bits);
        const uint64_t term = weight == 0 ? 0 : (uint64_t)(delay_of(shifts, beam, c) - delay_of(shifts, beam, first)) << 32 ^ bits;
        hash = (hash ^ term ^ hash >> 29) * 0x9e3779b97f4a7c15u;
    }
    return hash | 1;
}

static bool is_same(const struct lw_shifts *shifts, int64_t a, int64_t b, int64_t begin, int64_t end)
{
    const int64_t first = lw_beams_first(shifts, a, begin, end);
    const int64_t offset = delay_of(shifts, a, first) - delay_of(shifts, b, first);
    for (int64_t c = begin; c < end; c++) {
        const float weight = lw_shifts_weight(shifts, a, c);
        if (weight != lw_shifts_weight(shifts, b, c) ||
            (weight != 0 && delay_of(shifts, a, c) - delay_of(shifts, b, c) != offset))
            return false;
    }
    return true;
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

/* Find a beam's pattern in channels [begin, end), of which `first` is the first with a weight. A new entry has hash 0. */
static struct entry *find(const struct lw_shifts *shifts, const struct space *space, int64_t beam, int64_t begin, int64_t first,
                          int64_t end, uint64_t *hash)
{
    *hash = hash_of(shifts, beam, first, end);
    int64_t at = (int64_t)(*hash >> 20) & (space->n_entries - 1);
    while (space->entries[at].hash != 0 &&
           (space->entries[at].hash != *hash || !is_same(shifts, beam, space->entries[at].beam, begin, end)))
        at = (at + 1) & (space->n_entries - 1);
    return &space->entries[at];
}

/* Count a beam that has the pattern of an entry with an offset. */
static void count(struct entry *e, int64_t group, int64_t delay, const struct space *space, struct survey *survey)
{
    e->least = lw_min64(e->least, delay);
    e->most = lw_max64(e->most, delay);
    survey->outer = lw_max64(survey->outer, e->most - e->least);
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

/* Survey the patterns of all beams in sub-bands of a width.
 * @param first_beams  [n][sub-bands] set to the first beam with the same pattern, -1: no channel has a weight; NULL: not wanted */
static struct survey survey_of(const struct lw_shifts *shifts, int64_t width, const struct space *space, int32_t *first_beams)
{
    const int64_t n_subbands = lw_divide_up(shifts->n_inputs, width), n_groups = lw_divide_up(shifts->n, LW_BEAMS_GROUP);
    struct survey survey = {0};
    int64_t least = 0, most = 0;
    memset(space->sums, 0, (size_t)n_groups * sizeof *space->sums);
    memset(space->samples, 0, (size_t)n_groups * sizeof *space->samples);
    for (int64_t s = 0; s < n_subbands; s++) {
        const int64_t begin = s * width, end = lw_min64(begin + width, shifts->n_inputs);
        memset(space->entries, 0, (size_t)space->n_entries * sizeof *space->entries);
        for (int64_t d = 0; d < shifts->n; d++) {
            const int64_t first = lw_beams_first(shifts, d, begin, end);
            uint64_t hash;
            if (first_beams)
                first_beams[d * n_subbands + s] = -1;
            if (first == end)
                continue;
            struct entry *const e = find(shifts, space, d, begin, first, end, &hash);
            const int64_t delay = delay_of(shifts, d, first);
            if (e->hash == 0) {
                *e = (struct entry){hash, d, -1, delay, delay, delay, delay};
                survey.n_sums++;
                extend(shifts, d, first, end, &least, &most);
            }
            count(e, d / LW_BEAMS_GROUP, delay, space, &survey);
            if (first_beams)
                first_beams[d * n_subbands + s] = (int32_t)e->beam;
        }
    }
    survey.inner = most - least;
    for (int64_t g = 0; g < n_groups; g++) {
        const int64_t samples = space->sums[g] * LW_BEAMS_TILE + space->samples[g];
        survey.all_group_sums += space->sums[g];
        survey.all_group_samples += samples;
        survey.group_sums = lw_max64(survey.group_sums, space->sums[g]);
        survey.group_samples = lw_max64(survey.group_samples, samples);
    }
    return survey;
}

static int open_space(const struct lw_shifts *shifts, struct space *space, struct lw_error *err)
{
    const int64_t n_groups = lw_divide_up(shifts->n, LW_BEAMS_GROUP);
    for (space->n_entries = 64; space->n_entries < 2 * shifts->n;)
        space->n_entries *= 2;
    space->entries = lw_alloc_array(space->n_entries, sizeof *space->entries, "patterns of beams", err);
    space->sums = lw_alloc_array(2 * n_groups, sizeof *space->sums, "patterns of beams", err);
    if (!space->entries || !space->sums)
        return LW_ESYSTEM;
    space->samples = space->sums + n_groups;
    return LW_OK;
}

static void close_space(struct space *space)
{
    lw_free(space->entries);
    lw_free(space->sums);
}

static const int widths[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, LW_BEAMS_MOST_WIDTH};
enum { N_WIDTHS = sizeof widths / sizeof *widths };

/* Return the cost of an addition from among some samples. */
static double distance(double samples) { return samples <= NEAR_SAMPLES ? 1 : FAR_COST; }

/* Return the shape with two widths, which are equal without stage 2. */
static struct lw_beams_shape shape_of(const struct lw_shifts *shifts, int width, int wide, const struct survey *narrow,
                                      const struct survey *bands)
{
    struct lw_beams_shape shape = {
        .width = width, .n_subbands = lw_divide_up(shifts->n_inputs, width), .per_band = wide / width,
        .n_bands = lw_divide_up(shifts->n_inputs, wide), .n_sums = narrow->n_sums, .inner = narrow->inner, .outer = narrow->outer,
    };
    const double n = (double)shifts->n, all = (double)narrow->group_samples;
    const double overlap = 1 + (double)narrow->inner / LW_BEAMS_PIECE;
    shape.additions = LOAD_COST * overlap * (double)shifts->n_inputs + (double)narrow->n_sums * (width + SUM_COST) +
                      BACK_COST * (double)narrow->all_group_samples / LW_BEAMS_TILE + STORE_COST * n;
    if (shape.per_band == 1) {
        shape.additions += n * (double)shape.n_bands * distance(all);
        return shape;
    }
    shape.group_sums = bands->group_sums;
    shape.group_samples = bands->group_samples;
    const double added = (double)shape.per_band * distance(all / (double)shape.n_bands);
    shape.additions += (double)bands->all_group_samples / LW_BEAMS_TILE * (added + 1) +
                       n * (double)shape.n_bands * distance((double)bands->group_samples);
    return shape;
}

int lw_beams_choose(const struct lw_shifts *shifts, struct lw_beams_shape *out, struct lw_error *err)
{
    struct space space = {0};
    struct survey surveys[N_WIDTHS];
    const int rc = open_space(shifts, &space, err);
    for (int i = 0; rc == LW_OK && i < N_WIDTHS; i++)
        surveys[i] = survey_of(shifts, widths[i], &space, NULL);
    close_space(&space);
    if (rc)
        return rc;
    *out = shape_of(shifts, 1, 1, &surveys[0], &surveys[0]);
    for (int i = 0; i < N_WIDTHS; i++)
        for (int j = i; j < N_WIDTHS; j++) {
            const struct lw_beams_shape shape = shape_of(shifts, widths[i], widths[j], &surveys[i], &surveys[j]);
            if (widths[j] % widths[i] == 0 && shape.additions < out->additions)
                *out = shape;
        }
    return LW_OK;
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
            beams->delay[at] = (int32_t)delay_of(shifts, d, lw_beams_first(shifts, d, begin, end));
            if (first == d)
                beams->beam[n] = (int32_t)d;
            beams->sum[at] = first == d ? n++ : beams->sum[first * shape->n_subbands + s];
        }
    }
    beams->begin[shape->n_subbands] = n;
}

int lw_beams_create(const struct lw_shifts *shifts, const struct lw_beams_shape *shape, struct lw_beams **out,
                    struct lw_error *err)
{
    static const char what[] = "the sums of beams";
    struct space space = {0};
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
    const int rc = is_whole ? open_space(shifts, &space, err) : LW_ESYSTEM;
    if (rc == LW_OK) {
        survey_of(shifts, shape->width, &space, beams->sum);
        if (beams->first)
            survey_of(shifts, shape->width * shape->per_band, &space, beams->first);
        number(beams);
    }
    close_space(&space);
    return rc;
}
