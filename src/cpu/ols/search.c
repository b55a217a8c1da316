/* search.c - search (signal/search.h) in a segment's sums. */
#include "cpu/ols/ols.h"

enum { MAX, MEAN, RMS, N_VALUES };

/* Cells of a channel and filter in a segment. HEAD: end of a block that began before; TAIL: beginning of one that goes on. */
enum { HEAD, TAIL, N_CELLS };

struct lw_cpu_search {
    int crossings, best_value, best_filter, blocks[N_VALUES];       /* numbers of the products; -1: not wanted */
    const double *noise;                /* [stretches][n_channels of the whole data set][n_bank], borrowed; NULL: 1 */
    int64_t first, n, n_bank;           /* filters of the bank that are held */
    double *least_noise;                /* [stretches][n_channels], the smallest noise above 0 */
    struct lw_cpu_cell *cells;          /* [n_filters][n_channels][segments of the block][N_CELLS] */
    struct lw_cpu_table table;          /* crossings of the block */
};

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */
/* Return the number of channels with their own noise: all channels, in each stretch of the axis. */
static int64_t n_noisy(const struct lw_op_spec *spec) { return lw_search_stretches(&spec->ols.search) * spec->n_channels; }

/* Return the noise of a filter of the bank. */
static double bank_noise(const struct lw_cpu_search *search, int64_t row, int64_t filter)
{
    return search->noise ? search->noise[row * search->n_bank + filter] : 1;
}

static int64_t n_cells(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, const struct lw_op_plan *plan,
                       const struct lw_cpu_op_size *size)
{
    const int64_t segments = lw_divide_up(plan->before + size->count + plan->after, shape->hop);
    return lw_search_products(&spec->ols.search) & LW_BLOCKS ? spec->ols.n_filters * size->n_channels * segments * N_CELLS : 0;
}

int64_t lw_cpu_search_bytes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, const struct lw_op_plan *plan,
                            const struct lw_cpu_op_size *size)
{
    if (!lw_search_is_needed(&spec->ols.search))
        return 0;
    return (int64_t)sizeof(struct lw_cpu_search) + n_noisy(spec) * (int64_t)sizeof(double) +
           n_cells(spec, shape, plan, size) * (int64_t)sizeof(struct lw_cpu_cell);
}

int lw_cpu_search_create(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, const struct lw_op_plan *plan,
                         const struct lw_cpu_op_size *size, struct lw_cpu_search **out, struct lw_error *err)
{
    if (!lw_search_is_needed(&spec->ols.search))
        return LW_OK;
    struct lw_cpu_search *const search = *out = lw_alloc(sizeof *search, "a search", err);
    if (!search)
        return LW_ESYSTEM;
    search->least_noise = lw_alloc_array(n_noisy(spec), sizeof *search->least_noise, "the noise of the channels", err);
    search->cells = lw_alloc_array(n_cells(spec, shape, plan, size), sizeof *search->cells, "pieces of blocks", err);
    if (!search->least_noise || !search->cells)
        return LW_ESYSTEM;
    search->crossings = lw_op_find_product(plan, LW_OP_CROSSINGS);
    search->best_value = lw_op_find_product(plan, LW_OP_BEST_VALUE);
    search->best_filter = lw_op_find_product(plan, LW_OP_BEST_FILTER);
    search->blocks[MAX] = lw_op_find_product(plan, LW_OP_BLOCK_MAX);
    search->blocks[MEAN] = lw_op_find_product(plan, LW_OP_BLOCK_MEAN);
    search->blocks[RMS] = lw_op_find_product(plan, LW_OP_BLOCK_RMS);
    return LW_OK;
}

/* The least noise is that of the whole bank, so that a filter's strength does not depend on the filters held with it. */
void lw_cpu_search_fill(const struct lw_cpu_ols *ols, const struct lw_ols_part *part)
{
    struct lw_cpu_search *const search = ols->search;
    if (!search)
        return;
    search->noise = part->noise;
    search->first = part->first;
    search->n = part->n;
    search->n_bank = lw_ols_bank(&ols->spec.ols);
    for (int64_t row = 0; row < n_noisy(&ols->spec); row++) {
        search->least_noise[row] = INFINITY;
        for (int64_t f = 0; f < search->n_bank; f++)
            if (bank_noise(search, row, f) > 0)
                search->least_noise[row] = fmin(search->least_noise[row], bank_noise(search, row, f));
    }
}

void lw_cpu_search_destroy(struct lw_cpu_search *search)
{
    if (!search)
        return;
    lw_free(search->least_noise);
    lw_free(search->cells);
    lw_free(search);
}

/* ---- crossings ----------------------------------------------------------------------------------------------------- */

/* Outputs of a channel from number `first` of the axis on; the channel is numbered in the whole data set. */
struct series {
    const struct lw_cpu_ols *ols;
    int64_t first, channel;
};

/* Return those of a segment, in channel c of the tile. */
static struct series series_of(const struct lw_cpu_segment *s, int c)
{
    return (struct series){s->ols, s->slot->block.first + s->first, s->slot->block.channel + s->channel + c};
}

/* Return the row of the noise of output `begin` of a series. @param end  set to the end of the row's outputs, at most `most` */
static int64_t noise_row(const struct series *series, int64_t begin, int64_t most, int64_t *end)
{
    const struct lw_search *const search = &series->ols->spec.ols.search;
    *end = lw_min64(most, lw_search_stretch_end(search, series->first + begin) - series->first);
    return lw_search_stretch(search, series->first + begin) * series->ols->spec.n_channels + series->channel;
}

/* Return a segment's outputs among which crossings are sought, without noise. */
static struct lw_cpu_outputs outputs_of(const struct lw_cpu_segment *s, int filter, int c, const void *y)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int64_t channel = s->slot->block.channel + s->channel + c, first = s->slot->block.first + s->first;
    return (struct lw_cpu_outputs){
        .kernels = ols->shape.kernels, .y = y, .width = ols->shape.series_width,
        .begin = lw_max64(0, s->work->crossings_begin - first), .end = lw_min64(s->n_outputs, s->work->crossings_end - first),
        .first = {.index = first, .channel = (int32_t)channel, .filter = filter}, .threshold = ols->spec.ols.search.threshold,
        .sign = ols->spec.ols.search.sign,
    };
}

/* Set the noise that outputs from `begin` on share, 0 for places without a filter, and the end of these outputs. */
static void set_noise(const struct lw_cpu_segment *s, int c, int64_t begin, int64_t most, struct lw_cpu_outputs *outputs)
{
    const struct series series = series_of(s, c);
    const struct lw_cpu_search *const search = s->ols->search;
    const int64_t row = noise_row(&series, begin, most, &outputs->end), filter = outputs->first.filter;
    outputs->noise = filter < search->n ? bank_noise(search, row, search->first + filter) : 0;
}

static void find_crossings(const struct lw_cpu_segment *s, int filter, int c, const void *y)
{
    struct lw_cpu_outputs outputs = outputs_of(s, filter, c, y);
    const int64_t end = outputs.end;
    for (; outputs.begin < end; outputs.begin = outputs.end) {
        set_noise(s, c, outputs.begin, end, &outputs);
        lw_cpu_crossings_find(&outputs, &s->lane->found, &s->ols->search->table);
    }
}

/* Return the least noise of the outputs that is not 0; infinity if there is none. */
static double least_noise_of(const struct lw_cpu_segment *s, int c, const struct lw_cpu_outputs *all)
{
    struct lw_cpu_outputs outputs = *all;
    double least = INFINITY;
    for (int64_t begin = all->begin; begin < all->end; begin = outputs.end) {
        set_noise(s, c, begin, all->end, &outputs);
        least = outputs.noise > 0 ? fmin(least, outputs.noise) : least;
    }
    return least;
}

bool lw_cpu_segment_is_only_searched(const struct lw_cpu_segment *s, int filter, int c)
{
    const struct lw_cpu_ols *const ols = s->ols;
    return ols->fft && ols->fft->strip > 0 && s->work->products == LW_PEAKS && !ols->shape.narrows &&
           !lw_cpu_row(s, c)->is_blanked && ols->spec.ols.normalize == LW_NORMALIZE_NONE &&
           ols->filters.exponents[lw_cpu_taps_row(s, filter, c)] + lw_cpu_row(s, c)->exponent == 0;
}

void lw_cpu_segment_search_strips(const struct lw_cpu_segment *s, int filter, int c)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_fft *const fft = ols->fft;
    const struct lw_cpu_outputs all = outputs_of(s, filter, c, NULL);
    const double least = least_noise_of(s, c, &all) * all.threshold;
    const int64_t per_point = all.width == 1 ? 2 : 1, run = fft->strip * per_point, row = fft->columns * per_point;
    for (int64_t strip = 0; isfinite(least) && strip < fft->columns / fft->strip; strip++) {
        struct lw_cpu_outputs outputs = all;
        outputs.y = ols->shape.kernels->fft_strip(fft, s->lane->work, strip);
        int64_t i = -1;
        while ((i = ols->shape.kernels->next_crossing(outputs.y, i + 1, fft->rows * run, all.width, least)) < fft->rows * run) {
            const int64_t output = i / run * row + strip * run + i % run - (ols->shape.n_taps - 1);
            if (output < all.begin || output >= all.end)
                continue;
            set_noise(s, c, output, all.end, &outputs);
            if (outputs.noise > 0)
                lw_cpu_crossings_add(&outputs, i, output, &s->lane->found, &ols->search->table);
        }
    }
}

/* ---- the best filter ----------------------------------------------------------------------------------------------- */
static bool keeps_best(const struct lw_cpu_segment *s)
{
    return s->work->products & LW_BEST && lw_cpu_segment_is_own(s);
}

/* Return the best outputs of channel c of the tile. */
static struct lw_cpu_best best_of(const struct lw_cpu_segment *s, int c)
{
    const struct lw_cpu_ols_strides *const strides = &s->ols->strides;
    char *const at = s->lane->best + (s->row + c) * (strides->best_values + strides->best_strengths + strides->best_filters);
    char *const strengths = at + strides->best_values, *const filters = strengths + strides->best_strengths;
    return (struct lw_cpu_best){at, (double *)(void *)strengths, (int32_t *)(void *)filters};
}

/* Let `count` outputs y of one filter, from output `begin` of the series on, compete with its best ones.
 * @param filter  number in the bank */
static void compete(const struct series *series, const struct lw_cpu_best *best, int64_t begin, int64_t count, int32_t filter,
                    const void *y)
{
    const struct lw_cpu_ols *const ols = series->ols;
    const int width = ols->shape.series_width;
    const size_t bytes = (size_t)width * ols->shape.kernels->real_bytes;
    const char *const from = y;
    for (int64_t at = begin, end; at < begin + count; at = end) {
        const int64_t row = noise_row(series, at, begin + count, &end);
        const double noise = bank_noise(ols->search, row, filter);
        const struct lw_cpu_best its = {(char *)best->values + (size_t)at * bytes, best->strengths + at, best->filters + at};
        if (noise > 0)
            ols->shape.kernels->keep_best(from + (size_t)(at - begin) * bytes, end - at, width, ols->spec.ols.search.sign,
                                          ols->search->least_noise[row] / noise, filter, &its);
    }
}

static void keep_best(const struct lw_cpu_segment *s, int filter, int c, const void *y)
{
    const struct series series = series_of(s, c);
    const struct lw_cpu_best best = best_of(s, c);
    if (filter < s->ols->search->n)
        compete(&series, &best, 0, s->n_outputs, (int32_t)(s->ols->search->first + filter), y);
}

/* Let n outputs y of several filters compete. Filters, n of them, are `stride` places apart; -1: not a number. */
static void compete_all(const struct series *series, const struct lw_cpu_best *best, int64_t n, const int32_t *filters,
                        int64_t stride, const void *y)
{
    const size_t bytes = (size_t)series->ols->shape.series_width * series->ols->shape.kernels->real_bytes;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        const int32_t its = filters[begin * stride];
        for (end = begin + 1; end < n && filters[end * stride] == its; end++)
            ;
        if (its >= 0)
            compete(series, best, begin, end - begin, its, (const char *)y + (size_t)begin * bytes);
    }
}

/* The segment's places in a product of one plane. */
struct row {
    char *first;
    int64_t stride;             /* places from output to output */
    size_t bytes;
};

static struct row row_of(const struct lw_cpu_segment *s, int product, int c)
{
    const struct lw_block *const block = &s->slot->block;
    const bool is_fast = s->ols->layout == LW_TIME_FAST;
    const int64_t channel = s->channel + c;
    const int64_t at = is_fast ? channel * block->count + s->first : s->first * block->n_channels + channel;
    const size_t bytes = lw_type_bytes(s->ols->plan.products[product].type);
    return (struct row){(char *)s->slot->products[product].data + (size_t)at * bytes, is_fast ? 1 : block->n_channels, bytes};
}

/* Copy the segment's values of a channel to their places. */
static void put_row(const struct lw_cpu_segment *s, int product, int c, const void *values)
{
    const struct row row = row_of(s, product, c);
    lw_cpu_pick(row.first, row.stride, values, 1, s->n_outputs, row.bytes);
}

/* Begin with the best outputs of the filters before, which the slot holds. */
static void recall_best(const struct lw_cpu_segment *s, int c)
{
    const struct row values = row_of(s, s->ols->search->best_value, c), filters = row_of(s, s->ols->search->best_filter, c);
    char *const earlier = s->lane->y;           /* no outputs are there yet */
    lw_cpu_pick(earlier, 1, values.first, values.stride, s->n_outputs, values.bytes);
    const struct series series = series_of(s, c);
    const struct lw_cpu_best best = best_of(s, c);
    compete_all(&series, &best, s->n_outputs, (const int32_t *)(const void *)filters.first, filters.stride, earlier);
}

/* The places of a run are outputs of one channel; where time is slow, adjacent places are of different channels. */
void lw_cpu_search_join(void *state, struct lw_slot *slot, int64_t first, int64_t n, const void *values, const int32_t *filters)
{
    enum { RUN = 256 };
    const struct lw_cpu_ols *const ols = state;
    const struct lw_block *const block = &slot->block;
    const bool is_fast = ols->layout == LW_TIME_FAST || block->n_channels == 1;
    const size_t bytes = lw_type_bytes(ols->plan.products[ols->search->best_value].type);
    for (int64_t at = first, count; at < first + n; at += count) {
        const int64_t output = is_fast ? at % block->count : at / block->n_channels;
        const int64_t channel = is_fast ? at / block->count : at % block->n_channels;
        count = is_fast ? lw_min64(lw_min64(RUN, first + n - at), block->count - output) : 1;
        const struct series series = {ols, block->first + output, block->channel + channel};
        char own[RUN * 2 * sizeof(double)];
        int32_t own_filters[RUN];
        double strengths[RUN];
        const struct lw_cpu_best best = {(char *)slot->products[ols->search->best_value].data + (size_t)at * bytes, strengths,
                                         (int32_t *)slot->products[ols->search->best_filter].data + at};
        memcpy(own, best.values, (size_t)count * bytes);
        memcpy(own_filters, best.filters, (size_t)count * sizeof *own_filters);
        for (int64_t i = 0; i < count; i++)
            strengths[i] = -INFINITY;
        compete_all(&series, &best, count, own_filters, 1, own);
        compete_all(&series, &best, count, filters + (at - first), 1, (const char *)values + (size_t)(at - first) * bytes);
    }
}

/* ---- blocks -------------------------------------------------------------------------------------------------------- */

/* Block j of a channel and filter's outputs, in a slot's block. */
struct place {
    int filter;
    int64_t channel, j;
};

static void put_block(const struct lw_cpu_ols *ols, const struct lw_slot *slot, const struct place *place,
                      const struct lw_cpu_cell *cell)
{
    const struct lw_block *const block = &slot->block;
    const bool is_fast = ols->layout == LW_TIME_FAST;
    const int64_t every = ols->spec.ols.search.every, begin = place->j * every;
    const double n = (double)lw_min64(every, ols->spec.n_outputs - begin);
    const double largest = isnan(cell->squares) ? NAN : ldexp(sqrt(cell->largest), cell->exponent);
    const double rms = ldexp(sqrt(cell->squares / n), cell->exponent), mean[2] = {cell->re / n, cell->im / n};
    const double *const values[N_VALUES] = {&largest, mean, &rms};
    for (int v = 0; v < N_VALUES; v++) {
        const int product = ols->search->blocks[v];
        if (product < 0)
            continue;
        const struct lw_type type = ols->plan.products[product].type;
        const int64_t n_blocks = lw_op_outputs(&ols->plan, product, block);
        const int64_t j = place->j - lw_op_first_output(&ols->plan, product, block);
        const int64_t in_plane = is_fast ? place->channel * n_blocks + j : j * block->n_channels + place->channel;
        const int64_t at = place->filter * n_blocks * block->n_channels + in_plane;
        ols->shape.kernels->round_reals(values[v], (char *)slot->products[product].data + (size_t)at * lw_type_bytes(type),
                                        type.is_complex ? 2 : 1);
    }
}

/* Return a cell. @param begin  the segment's first output on the axis */
static struct lw_cpu_cell *cell_at(const struct lw_cpu_work *work, const struct lw_slot *slot, const struct place *place,
                                   int64_t begin, int which)
{
    const int64_t hop = work->ols->shape.hop, n_segments = lw_divide_up(work->end - work->begin, hop);
    const int64_t row = place->filter * slot->block.n_channels + place->channel;
    return &work->ols->search->cells[(row * n_segments + (begin - work->begin) / hop) * N_CELLS + which];
}

/* Squares of float32 numbers neither overflow nor underflow in double. Doubles are divided by a power of two where theirs might. */
static int exponent_of(const struct lw_cpu_ols *ols, const void *y, int64_t n)
{
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    if (ols->spec.precision == LW_SINGLE)
        return 0;
    const double largest = k->largest(y, n * ols->shape.series_width);
    const bool is_safe = largest > ldexp(1, -k->safe_exponent) && largest < ldexp(1, k->safe_exponent);
    return is_safe || largest == 0 || isinf(largest) ? 0 : ilogb(largest);
}

/* Measure those pieces of blocks in a segment that begin in the slot's block. */
static void measure(const struct lw_cpu_segment *s, int filter, int c, const void *y)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_block *const block = &s->slot->block;
    const int width = ols->shape.series_width;
    const int64_t every = ols->spec.ols.search.every, begin = block->first + s->first, end = begin + s->n_outputs;
    struct place place = {.filter = filter, .channel = s->channel + c,
                          .j = lw_max64(begin / every, lw_divide_up(block->first, every))};
    for (; place.j * every < lw_min64(end, block->first + block->count); place.j++) {
        const int64_t first = place.j * every, last = lw_min64(first + every, ols->spec.n_outputs);
        const int64_t from = lw_max64(first, begin), n = lw_min64(last, end) - from;
        const void *const piece = (const char *)y + (size_t)((from - begin) * width) * ols->shape.kernels->real_bytes;
        struct lw_cpu_cell cell = {.exponent = exponent_of(ols, piece, n)};
        ols->shape.kernels->measure(piece, n, width, &cell);
        if (first >= begin && last <= end)
            put_block(ols, s->slot, &place, &cell);
        else
            *cell_at(s->work, s->slot, &place, begin, first < begin ? HEAD : TAIL) = cell;
    }
}

static void add_cell(struct lw_cpu_cell *sum, const struct lw_cpu_cell *more)
{
    const int exponent = sum->exponent > more->exponent ? sum->exponent : more->exponent;
    const int from_sum = 2 * (sum->exponent - exponent), from_more = 2 * (more->exponent - exponent);
    sum->largest = fmax(ldexp(sum->largest, from_sum), ldexp(more->largest, from_more));
    sum->squares = ldexp(sum->squares, from_sum) + ldexp(more->squares, from_more);
    sum->re += more->re;
    sum->im += more->im;
    sum->exponent = exponent;
}

/* Add up the cells of a filter and channel. Only the last block that begins in a segment can go on after it. */
static void combine(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_work *const work = state;
    const struct lw_cpu_ols *const ols = work->ols;
    const struct lw_block *const block = &slot->block;
    const int64_t every = ols->spec.ols.search.every, hop = ols->shape.hop, block_end = block->first + block->count;
    struct place place = {(int)(task / block->n_channels), task % block->n_channels, 0};
    (void)lane;
    for (int64_t begin = block->first; begin < block_end; begin += hop) {
        const int64_t end = lw_min64(begin + hop, ols->spec.n_outputs);
        place.j = (end - 1) / every;
        const int64_t first = place.j * every, last = lw_min64(first + every, ols->spec.n_outputs);
        if (first < begin || last <= end)
            continue;
        struct lw_cpu_cell sum = *cell_at(work, slot, &place, begin, TAIL);
        for (int64_t next = begin + hop; next < last; next += hop)
            add_cell(&sum, cell_at(work, slot, &place, next, HEAD));
        put_block(ols, slot, &place, &sum);
    }
}

/* ---- segments and blocks ------------------------------------------------------------------------------------------- */
void lw_cpu_search_begin(const struct lw_cpu_ols *ols, struct lw_slot *slot)
{
    if (ols->search->crossings >= 0)
        lw_cpu_table_begin(&ols->search->table, &slot->products[ols->search->crossings]);
}

void lw_cpu_segment_search_begin(const struct lw_cpu_segment *s)
{
    for (int c = 0; keeps_best(s) && c < s->n_channels; c++) {
        const struct lw_cpu_best best = best_of(s, c);
        s->ols->shape.kernels->fill(best.values, s->n_outputs * s->ols->shape.series_width, NAN);
        for (int64_t i = 0; i < s->n_outputs; i++) {
            best.strengths[i] = -INFINITY;
            best.filters[i] = -1;
        }
        if (s->slot->goes_on)
            recall_best(s, c);
    }
}

void lw_cpu_segment_search(const struct lw_cpu_segment *s, int filter, int c, const void *y)
{
    if (s->work->products & LW_PEAKS)
        find_crossings(s, filter, c, y);
    if (keeps_best(s))
        keep_best(s, filter, c, y);
    if (s->work->products & LW_BLOCKS)
        measure(s, filter, c, y);
}

void lw_cpu_segment_search_end(const struct lw_cpu_segment *s)
{
    if (s->work->products & LW_PEAKS)
        lw_cpu_crossings_flush(&s->lane->found, &s->ols->search->table);
    for (int c = 0; keeps_best(s) && c < s->n_channels; c++) {
        const struct lw_cpu_best best = best_of(s, c);
        put_row(s, s->ols->search->best_value, c, best.values);
        put_row(s, s->ols->search->best_filter, c, best.filters);
    }
}

void lw_cpu_search_end(const struct lw_cpu_work *work, const struct lw_slot *slot)
{
    const struct lw_cpu_ols *const ols = work->ols;
    if (work->products & LW_BLOCKS && ols->shape.hop % ols->spec.ols.search.every != 0)
        lw_cpu_lanes_continue(&ols->lanes, combine, work, slot, work->n_filters * work->n_channels, 1);
    if (ols->search->crossings >= 0)
        lw_cpu_table_end(&ols->search->table);
}
