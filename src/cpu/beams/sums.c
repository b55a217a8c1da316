/* sums.c - the stages of beams' sums (signal/beams.h): pieces of sub-bands, then tiles of groups of beams. */
#include "cpu/beams/beams.h"

/* Sums of sub-bands of a chunk have about so many bytes, if a chunk has at least LEAST_CHUNK samples, and OVERLAPS times those by
 * which the offsets of a sum differ. */
#define CHUNK_BYTES (8 << 20)
#define LEAST_CHUNK 16384
#define OVERLAPS 4

/* Rows of stored time converted and turned at a time, and the channels of a piece. A line of memory holds LINE bytes of them. */
#define PANEL_ROWS 64
#define LINE 64

struct lw_cpu_beams_sizes lw_cpu_beams_sizes(const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                                             const struct lw_cpu_op_size *size)
{
    enum { MOST_SHORTS = 1 << 15 };         /* channels of 16 bits whose sum has 32 */
    const struct lw_beams_shape *const shape = &plan->beams;
    const struct lw_shifts *const shifts = spec->ols.beams;
    const int64_t bytes = (int64_t)lw_scalar_bytes(spec->input.scalar);
    struct lw_cpu_beams_sizes s = {
        .kernels = lw_cpu_kernels(spec->precision), .is_plain = lw_beams_are_plain(shifts), .width = spec->input.is_complex ? 2 : 1,
        .length = lw_op_plan_behind_beams(spec, plan).halo + size->count,
        .stages = {LW_CPU_REALS_TO_REALS, LW_CPU_REALS_TO_REALS, LW_CPU_REALS_TO_REALS},
    };
    s.beam_bytes = s.channel_bytes = s.sum_bytes = s.width * (int64_t)s.kernels->real_bytes;
    if (lw_scalar_is_integer(spec->input.scalar) && s.is_plain && bytes <= 2 && shifts->n_inputs <= MOST_SHORTS) {
        const bool is_short = bytes == 1;
        s.is_integer = true;
        s.channel_bytes = bytes;
        s.sum_bytes = 2 * bytes;
        s.stages[0] = is_short ? LW_CPU_BYTES_TO_SHORTS : LW_CPU_SHORTS_TO_WORDS;
        s.stages[1] = is_short ? LW_CPU_SHORTS_TO_SHORTS : LW_CPU_WORDS_TO_WORDS;
        s.stages[2] = is_short ? LW_CPU_SHORTS_TO_REALS : LW_CPU_WORDS_TO_REALS;
    }
    s.n_rows = lw_min64(shape->n_sums, size->n_channels * shape->n_subbands);
    const int64_t near = CHUNK_BYTES / lw_max64(1, s.n_rows * s.sum_bytes) - shape->outer;
    s.chunk = lw_round_up(lw_max64(lw_max64(near, LEAST_CHUNK), OVERLAPS * shape->outer), LW_BEAMS_TILE);
    s.chunk = lw_min64(s.chunk, s.length);
    s.row_bytes = lw_cpu_padded((s.chunk + shape->outer) * s.sum_bytes + LW_CPU_SUM_STEP * s.sum_bytes);
    s.subbands = lw_divide_up(LINE / s.channel_bytes, shape->width);
    s.channels = lw_min64(shifts->n_inputs, s.subbands * shape->width);
    s.pitch = lw_cpu_padded((LW_BEAMS_PIECE + shape->inner + LW_CPU_SUM_STEP) * s.channel_bytes);
    return s;
}

int64_t lw_cpu_beams_lay_out(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_beams_sizes *sizes,
                             char *memory, struct lw_cpu_beams_lane *lane)
{
    const struct lw_beams_shape *const shape = &plan->beams;
    const struct lw_shifts *const shifts = spec->ols.beams;
    const bool has_panel = spec->layout == LW_TIME_SLOW && !sizes->is_integer;
    struct lw_arena arena = {.base = memory};
    lane->channels = lw_cpu_take(&arena, sizes->channels * sizes->pitch);
    lane->panel = lw_cpu_take(&arena, has_panel ? PANEL_ROWS * sizes->channels * sizes->channel_bytes : 0);
    lane->touched = lw_cpu_take(&arena, sizes->is_integer ? 0 : LW_BEAMS_PIECE + shape->inner);
    lane->bands = lw_cpu_take(&arena, shape->group_samples * sizes->sum_bytes +
                                          shape->group_sums * lw_cpu_padded(LW_CPU_SUM_STEP * sizes->sum_bytes));
    lane->sums = lw_cpu_take(&arena, shape->group_sums * (int64_t)sizeof *lane->sums);
    lane->places = lw_cpu_take(&arena, LW_BEAMS_GROUP * shape->n_bands * (int64_t)sizeof *lane->places);
    lane->numbers = lw_cpu_take(&arena, shifts->n * (int64_t)sizeof *lane->numbers);
    lane->rows = lw_cpu_take(&arena, shifts->n_inputs * (int64_t)sizeof *lane->rows);
    lane->weights = lw_cpu_take(&arena, shifts->n_inputs * (int64_t)sizeof *lane->weights);
    return arena.used;
}

/* ---- samples of channels --------------------------------------------------------------------------------------------- */

/* A range of samples [begin, begin + count) of channels [channel, channel + n) in a lane. */
struct piece {
    int64_t channel, n, begin, count;
};

static char *channel_at(const struct lw_cpu_beams *b, const struct lw_cpu_beams_lane *lane, int64_t c)
{
    return lane->channels + c * b->sizes.pitch;
}

static void load_integers(const struct lw_cpu_beams *b, const struct lw_cpu_beams_lane *lane, const struct piece *p,
                          const char *stored, int64_t step, int64_t row_bytes)
{
    const bool is_slow = b->spec.layout == LW_TIME_SLOW;
    struct lw_cpu_panel panel = lw_cpu_panel_of(b->spec.input, p->count, is_slow ? p->n : 1);
    panel.stored_stride = step;
    for (int64_t c = 0; c < p->n; c += panel.columns)
        b->sizes.kernels->turn_integers(&panel, stored + c * row_bytes, channel_at(b, lane, c),
                                        b->sizes.pitch / b->sizes.channel_bytes);
}

static void load_reals(const struct lw_cpu_beams *b, const struct lw_cpu_beams_lane *lane, const struct piece *p,
                       const char *stored, int64_t step, int64_t row_bytes)
{
    const struct lw_cpu_kernels *const k = b->sizes.kernels;
    const int64_t width = b->sizes.width, bytes = b->sizes.channel_bytes;
    for (int64_t c = 0; c < p->n && b->spec.layout == LW_TIME_FAST; c++) {
        const struct lw_cpu_panel panel = lw_cpu_panel_of(b->spec.input, 1, p->count);
        k->load(&panel, stored + c * row_bytes, channel_at(b, lane, c));
    }
    for (int64_t row = 0; row < p->count && b->spec.layout == LW_TIME_SLOW; row += PANEL_ROWS) {
        const int64_t rows = lw_min64(PANEL_ROWS, p->count - row);
        struct lw_cpu_panel panel = lw_cpu_panel_of(b->spec.input, rows, p->n);
        panel.stored_stride = step;
        k->load(&panel, stored + row * step, lane->panel);
        k->transpose(lane->panel, p->n * width, rows, p->n, (int)width, lane->channels + row * bytes,
                     b->sizes.pitch / (int64_t)k->real_bytes);
    }
}

/* Load samples of the block's input. */
static void load(const struct lw_cpu_beams *b, const struct lw_cpu_beams_lane *lane, const struct lw_slot *slot,
                 const struct piece *p)
{
    const bool is_slow = b->spec.layout == LW_TIME_SLOW;
    const int64_t bytes = (int64_t)lw_type_bytes(b->spec.input), axis = b->plan.halo + slot->block.count;
    const int64_t step = bytes * (is_slow ? b->spec.ols.beams->n_inputs : 1), row = bytes * (is_slow ? 1 : axis);
    const char *const stored = (const char *)slot->input + p->begin * step + p->channel * row;
    (b->sizes.is_integer ? load_integers : load_reals)(b, lane, p, stored, step, row);
}

/* Set samples of a channel that are not finite to zero. @return  what was found */
static struct lw_cpu_repair clear(const struct lw_cpu_beams *b, const struct lw_cpu_beams_lane *lane, int64_t c, int64_t count)
{
    struct lw_cpu_repair found = {.width = (int)b->sizes.width, .n_taps = 1, .n_samples = count, .n_outputs = count,
                                  .touched = lane->touched};
    void *const x = channel_at(b, lane, c);
    if (isinf(b->sizes.kernels->largest(x, count * b->sizes.width)))
        b->sizes.kernels->repair(&found, x);
    return found;
}

static bool has_flaws(const struct lw_cpu_beams *b) { return !lw_scalar_is_integer(b->spec.input.scalar); }

static int64_t n_bands_of_pieces(const struct lw_cpu_beams *b) { return lw_divide_up(b->plan.beams.n_subbands, b->sizes.subbands); }

/* Return the channels of a task; the last task has as many as the others. */
static struct piece channels_of(const struct lw_cpu_beams *b, int64_t task)
{
    const int64_t channel = task % n_bands_of_pieces(b) * b->sizes.subbands * b->plan.beams.width;
    return (struct piece){.channel = lw_min64(channel, b->spec.ols.beams->n_inputs - b->sizes.channels), .n = b->sizes.channels};
}

static void count_piece(const void *state, void *memory, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_beams *const b = state;
    struct lw_cpu_beams_lane *const lane = memory;
    struct piece p = channels_of(b, task);
    const int64_t first = task / n_bands_of_pieces(b) * LW_BEAMS_PIECE;
    p.begin = b->plan.halo + first;
    p.count = lw_min64(LW_BEAMS_PIECE, slot->block.count - first);
    load(b, lane, slot, &p);
    for (int64_t c = 0; c < p.n; c++) {
        const struct lw_cpu_repair found = b->used[p.channel + c] ? clear(b, lane, c, p.count) : (struct lw_cpu_repair){0};
        lw_cpu_tally_add(&lane->base.not_finite, (struct lw_cpu_tally){found.n_own, first + found.first_own, p.channel + c, 0});
    }
}

/* Blocks of other beams have the same samples; the one with the first beam counts them. */
void lw_cpu_beams_count(struct lw_cpu_beams *b, const struct lw_slot *slot)
{
    const bool counts = has_flaws(b) && slot->block.channel == 0;
    const int64_t n_pieces = counts ? lw_divide_up(slot->block.count, LW_BEAMS_PIECE) : 0;
    lw_cpu_lanes_run(&b->lanes, count_piece, b, slot, n_pieces * n_bands_of_pieces(b), 1);
}

/* ---- stage 1 --------------------------------------------------------------------------------------------------------- */

/* Return the sample of a sum of a sub-band that beams with the offset 0 have at sample `at` of the chunk. */
static const char *sum_at(const struct lw_cpu_beams *b, int64_t sum, int64_t at)
{
    return b->sums + b->row[sum] * b->sizes.row_bytes + (at - b->least[sum]) * b->sizes.sum_bytes;
}

/* Make [begin, end) of a sum of a sub-band, on the chunk's axis. */
static void add_channels(const struct lw_cpu_beams *b, struct lw_cpu_beams_lane *lane, const struct piece *p, int64_t subband,
                         int64_t sum, int64_t begin, int64_t end)
{
    const struct lw_shifts *const shifts = b->spec.ols.beams;
    const int64_t first = subband * b->plan.beams.width, beam = b->shared->beam[sum];
    const int64_t last = lw_min64(first + b->plan.beams.width, shifts->n_inputs);
    const int32_t *const delays = shifts->delays + beam * shifts->n_inputs;
    const int64_t from = b->begin + shifts->before + begin - b->shared->delay[beam * b->plan.beams.n_subbands + subband] - p->begin;
    struct lw_cpu_rows rows = {.rows = lane->rows, .weights = b->sizes.is_plain ? NULL : lane->weights, .scale = 1};
    for (int64_t c = first; c < last; c++) {
        if (lw_shifts_weight(shifts, beam, c) == 0)
            continue;
        lane->weights[rows.n] = lw_shifts_weight(shifts, beam, c);
        lane->rows[rows.n++] = channel_at(b, lane, c - p->channel) + (from + delays[c]) * b->sizes.channel_bytes;
    }
    b->sizes.kernels->add_rows(b->sizes.stages[0], &rows, (end - begin) * b->sizes.width, (char *)sum_at(b, sum, begin));
}

/* Find the samples on the chunk's axis that the sums of a piece's sub-bands need, and where their channels' samples are. */
static void range_of(const struct lw_cpu_beams *b, int64_t begin_subband, int64_t end_subband, int64_t *least, int64_t *most,
                     int64_t *before, int64_t *after)
{
    const struct lw_shifts *const shifts = b->spec.ols.beams;
    *least = *before = INT64_MAX;
    *most = *after = INT64_MIN;
    for (int64_t s = begin_subband; s < end_subband; s++)
        for (int32_t sum = b->shared->begin[s]; sum < b->shared->begin[s + 1]; sum++) {
            const int64_t beam = b->shared->beam[sum], last = lw_min64((s + 1) * b->plan.beams.width, shifts->n_inputs);
            if (b->least[sum] > b->most[sum])
                continue;
            *least = lw_min64(*least, b->least[sum]);
            *most = lw_max64(*most, b->most[sum]);
            for (int64_t c = s * b->plan.beams.width; c < last; c++) {
                const int64_t offset = b->shared->delay[beam * b->plan.beams.n_subbands + s];
                const int64_t delay = shifts->delays[beam * shifts->n_inputs + c] - offset;
                if (lw_shifts_weight(shifts, beam, c) == 0)
                    continue;
                *before = lw_min64(*before, delay);
                *after = lw_max64(*after, delay);
            }
        }
}

static void sum_piece(const void *state, void *memory, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_beams *const b = state;
    struct lw_cpu_beams_lane *const lane = memory;
    const int64_t first = task % n_bands_of_pieces(b) * b->sizes.subbands;
    const int64_t end = lw_min64(first + b->sizes.subbands, b->plan.beams.n_subbands);
    struct piece p = channels_of(b, task);
    int64_t least, most, before, after;
    range_of(b, first, end, &least, &most, &before, &after);
    const int64_t from = least + task / n_bands_of_pieces(b) * LW_BEAMS_PIECE;
    if (least > most || from >= most + b->count)
        return;
    const int64_t to = lw_min64(from + LW_BEAMS_PIECE, most + b->count), own = b->begin + b->spec.ols.beams->before;
    p.begin = lw_max64(0, own + from + before);
    p.count = lw_min64(own + to + after, b->plan.halo + slot->block.count) - p.begin;
    load(b, lane, slot, &p);
    for (int64_t c = 0; c < p.n && has_flaws(b) && b->spec.nan == LW_NAN_ZERO; c++)
        clear(b, lane, c, p.count);
    for (int64_t s = first; s < end; s++)
        for (int32_t sum = b->shared->begin[s]; sum < b->shared->begin[s + 1]; sum++) {
            const int64_t begin = lw_max64(from, b->least[sum]), stop = lw_min64(to, b->most[sum] + b->count);
            if (b->least[sum] <= b->most[sum] && begin < stop)
                add_channels(b, lane, &p, s, sum, begin, stop);
        }
}

/* ---- stages 2 and 3 -------------------------------------------------------------------------------------------------- */

/* A tile of a group of beams: samples [at, at + count) of the chunk. */
struct tile {
    int64_t beam, end, at, count;
};

/* Return the offset of a beam in a band: that of its first sub-band with a sum; -1 in *subband: none. */
static int64_t offset_of(const struct lw_cpu_beams *b, int64_t beam, int64_t band)
{
    const struct lw_beams_shape *const shape = &b->plan.beams;
    int64_t at = beam * shape->n_subbands + band * shape->per_band;
    while (b->shared->sum[at] < 0)
        at++;
    return b->shared->delay[at];
}

/* Make a sum of a band from those of its sub-bands, into memory. */
static void add_subbands(const struct lw_cpu_beams *b, struct lw_cpu_beams_lane *lane, const struct tile *t, int64_t band,
                         const struct lw_cpu_band_sum *sum, char *memory)
{
    const struct lw_beams_shape *const shape = &b->plan.beams;
    const int64_t first = band * shape->per_band, end = lw_min64(first + shape->per_band, shape->n_subbands);
    const int64_t offset = offset_of(b, sum->beam, band), n = t->count + sum->most - sum->least;
    struct lw_cpu_rows rows = {.rows = lane->rows, .scale = 1};
    for (int64_t s = first; s < end; s++) {
        const int64_t at = sum->beam * shape->n_subbands + s;
        if (b->shared->sum[at] >= 0)
            lane->rows[rows.n++] = sum_at(b, b->shared->sum[at], t->at + sum->least + b->shared->delay[at] - offset);
    }
    b->sizes.kernels->add_rows(b->sizes.stages[1], &rows, n * b->sizes.width, memory);
}

/* Make the sums of a band of a group, and set the places of its beams. @param n  sums so far @return  sums now */
static int64_t add_band(const struct lw_cpu_beams *b, struct lw_cpu_beams_lane *lane, const struct tile *t, int64_t band, int64_t n,
                        char **memory)
{
    const int64_t n_bands = b->plan.beams.n_bands, begin = n;
    for (int64_t d = t->beam; d < t->end; d++) {
        const int32_t first = b->shared->first[d * n_bands + band];
        int32_t *const place = &lane->places[(d - t->beam) * n_bands + band];
        *place = -1;
        if (first < 0)
            continue;
        const int64_t offset = offset_of(b, d, band);
        if (lane->numbers[first] < 0) {
            lane->numbers[first] = (int32_t)n;
            lane->sums[n++] = (struct lw_cpu_band_sum){.least = offset, .most = offset, .beam = d};
        }
        *place = lane->numbers[first];
        lane->sums[*place].least = lw_min64(lane->sums[*place].least, offset);
        lane->sums[*place].most = lw_max64(lane->sums[*place].most, offset);
    }
    for (int64_t i = begin; i < n; i++) {
        struct lw_cpu_band_sum *const sum = &lane->sums[i];
        lane->numbers[b->shared->first[sum->beam * n_bands + band]] = -1;
        add_subbands(b, lane, t, band, sum, *memory);
        sum->samples = *memory;
        *memory += lw_cpu_padded((t->count + sum->most - sum->least) * b->sizes.sum_bytes);
    }
    return n;
}

/* Make a tile of a beam from the sums of bands, or if there is no stage 2 of sub-bands. */
static void add_beam(const struct lw_cpu_beams *b, struct lw_cpu_beams_lane *lane, const struct lw_slot *slot, const struct tile *t,
                     int64_t beam)
{
    const struct lw_beams_shape *const shape = &b->plan.beams;
    const int64_t length = b->inner_halo + slot->block.count;
    struct lw_cpu_rows rows = {
        .rows = lane->rows, .bias = b->biases[beam], .scale = b->scales[beam],
        .narrow = lw_max64(1, LW_BEAMS_MOST_WIDTH / (shape->width * shape->per_band)),
    };
    for (int64_t i = 0; i < shape->n_bands; i++) {
        const int64_t at = beam * shape->n_subbands + i, place = lane->places[(beam - t->beam) * shape->n_bands + i];
        if (shape->per_band == 1 && b->shared->sum[at] >= 0)
            lane->rows[rows.n++] = sum_at(b, b->shared->sum[at], t->at + b->shared->delay[at]);
        else if (shape->per_band > 1 && place >= 0)
            lane->rows[rows.n++] = lane->sums[place].samples +
                                   (offset_of(b, beam, i) - lane->sums[place].least) * b->sizes.sum_bytes;
    }
    char *const to = b->beams + ((beam - slot->block.channel) * length + b->begin + t->at) * b->sizes.beam_bytes;
    b->sizes.kernels->add_rows(b->sizes.stages[2], &rows, t->count * b->sizes.width, to);
}

static int64_t n_tiles(const struct lw_cpu_beams *b) { return lw_divide_up(b->count, LW_BEAMS_TILE); }

static void sum_tile(const void *state, void *memory, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_beams *const b = state;
    struct lw_cpu_beams_lane *const lane = memory;
    const struct lw_block *const block = &slot->block;
    const int64_t group = block->channel / LW_BEAMS_GROUP + task / n_tiles(b), at = task % n_tiles(b) * LW_BEAMS_TILE;
    const struct tile t = {
        .beam = lw_max64(block->channel, group * LW_BEAMS_GROUP), .at = at, .count = lw_min64(LW_BEAMS_TILE, b->count - at),
        .end = lw_min64(block->channel + block->n_channels, (group + 1) * LW_BEAMS_GROUP),
    };
    char *bands = lane->bands;
    int64_t n_sums = 0;
    for (int64_t i = 0; i < b->plan.beams.n_bands && b->plan.beams.per_band > 1; i++)
        n_sums = add_band(b, lane, &t, i, n_sums, &bands);
    for (int64_t d = t.beam; d < t.end; d++)
        add_beam(b, lane, slot, &t, d);
}

/* ---- a block --------------------------------------------------------------------------------------------------------- */

/* Find the sums that the block's beams need, with which offsets. */
static void find_sums(struct lw_cpu_beams *b, const struct lw_block *block)
{
    const struct lw_beams_shape *const shape = &b->plan.beams;
    const int64_t begin = block->channel * shape->n_subbands, end = begin + block->n_channels * shape->n_subbands;
    int32_t n = 0;
    for (int64_t i = 0; i < shape->n_sums; i++) {
        b->least[i] = INT32_MAX;
        b->most[i] = INT32_MIN;
    }
    for (int64_t at = begin; at < end; at++) {
        const int32_t sum = b->shared->sum[at], delay = b->shared->delay[at];
        if (sum < 0)
            continue;
        b->least[sum] = delay < b->least[sum] ? delay : b->least[sum];
        b->most[sum] = delay > b->most[sum] ? delay : b->most[sum];
    }
    for (int64_t i = 0; i < shape->n_sums; i++)
        b->row[i] = b->least[i] <= b->most[i] ? n++ : -1;
}

void lw_cpu_beams_form(struct lw_cpu_beams *b, const struct lw_slot *slot)
{
    const struct lw_block *const block = &slot->block;
    const struct lw_shifts *const shifts = b->spec.ols.beams;
    const int64_t length = b->inner_halo + block->count, last = (block->channel + block->n_channels - 1) / LW_BEAMS_GROUP;
    const int64_t n_groups = last - block->channel / LW_BEAMS_GROUP + 1;
    find_sums(b, block);
    for (b->begin = 0; b->begin < length; b->begin += b->count) {
        b->count = lw_min64(b->sizes.chunk, length - b->begin);
        const int64_t n_pieces = lw_divide_up(b->count + shifts->before + shifts->after, LW_BEAMS_PIECE);
        lw_cpu_lanes_continue(&b->lanes, sum_piece, b, slot, n_pieces * n_bands_of_pieces(b), 1);
        lw_cpu_lanes_continue(&b->lanes, sum_tile, b, slot, n_tiles(b) * n_groups, 1);
    }
    b->formed = slot;
}
