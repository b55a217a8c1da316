#include "stream/window.h"

#include "base/integers.h"
#include "base/memory.h"

struct lw_stream_window {
    struct lw_window_spec spec;
    char *scratch;              /* source samples of outside samples at one end, in a slot's layout */
    struct lw_window_part part; /* part in progress; begin = end: none */
};

/* Fewer than n_taps consecutive outside positions need at most n_taps source samples, or all samples of a shorter signal. */
int64_t lw_window_max_read(const struct lw_window_spec *spec)
{
    return spec->boundary == LW_BOUNDARY_ZERO || spec->n_taps == 1 ? 0 : lw_min64(spec->n_samples, spec->n_taps);
}

int64_t lw_window_bytes(const struct lw_window_spec *spec)
{
    return lw_window_max_read(spec) * spec->max_channels * spec->sample_bytes + (int64_t)sizeof(struct lw_stream_window);
}

int lw_window_create(const struct lw_window_spec *spec, struct lw_stream_window **out, struct lw_error *err)
{
    struct lw_stream_window *const window = *out = lw_alloc(sizeof *window, "the window", err);
    if (!window)
        return LW_ESYSTEM;
    window->spec = *spec;
    window->scratch = lw_alloc_array(lw_window_max_read(spec) * spec->max_channels, (size_t)spec->sample_bytes,
                                     "boundary samples", err);
    return window->scratch ? LW_OK : LW_ESYSTEM;
}

void lw_window_destroy(struct lw_stream_window *window)
{
    if (!window)
        return;
    lw_free(window->scratch);
    lw_free(window);
}

/* Return the address of a window position of channel c in a part's memory. */
static char *place(const struct lw_stream_window *window, const struct lw_window_part *part, int64_t position, int64_t c)
{
    const int64_t i = part->into_first + position - part->begin;
    const int64_t index = window->spec.layout == LW_TIME_FAST ? c * part->into_axis + i : i * part->n_channels + c;
    return (char *)part->into + index * window->spec.sample_bytes;
}

/* Fill positions [begin, end) of the part from source samples [first, first + count) in scratch; 0 where there is no source. */
static void spread(const struct lw_stream_window *window, const struct lw_window_part *part, int64_t begin, int64_t end,
                   int64_t first, int64_t count)
{
    const struct lw_window_spec *const spec = &window->spec;
    const struct lw_window_part scratch = {.begin = first, .n_channels = part->n_channels, .into = window->scratch,
                                           .into_axis = count};
    const bool slow = spec->layout == LW_TIME_SLOW;
    const int64_t n_copies = slow ? 1 : part->n_channels;
    const size_t bytes = (size_t)(spec->sample_bytes * (slow ? part->n_channels : 1));
    for (int64_t c = 0; c < n_copies; c++)
        for (int64_t i = begin; i < end; i++) {
            const int64_t source = lw_boundary_index(spec->boundary, i, spec->n_samples);
            if (source < 0)
                memset(place(window, part, i, c), 0, bytes);
            else
                memcpy(place(window, part, i, c), place(window, &scratch, source, c), bytes);
        }
}

/* Fill positions [begin, end) of the part, all of them outside the signal on one side; begin >= end: nothing to do. */
static int read_outside(struct lw_stream_window *window, const struct lw_window_part *part, int64_t begin, int64_t end,
                        struct lw_error *err)
{
    if (begin >= end)
        return LW_OK;
    int64_t lowest = window->spec.n_samples, highest = -1;
    for (int64_t i = begin; i < end; i++) {
        const int64_t source = lw_boundary_index(window->spec.boundary, i, window->spec.n_samples);
        if (source >= 0) {
            lowest = lw_min64(lowest, source);
            highest = lw_max64(highest, source);
        }
    }
    const int64_t first = highest < 0 ? 0 : lowest, count = highest < 0 ? 0 : highest - lowest + 1;
    const struct lw_slab slab = {.first = first, .count = count, .channel = part->channel,
                                 .n_channels = part->n_channels, .into = window->scratch, .into_axis = count};
    const int rc = lw_reader_read(window->spec.reader, &slab, err);
    if (rc == LW_OK)
        spread(window, part, begin, end, first, count);
    return rc;
}

void lw_window_take_channels(const struct lw_op_spec *op, const struct lw_block *block, struct lw_window_part *part)
{
    part->channel = lw_op_sums_channels(op) ? 0 : block->channel;
    part->n_channels = lw_op_inputs(op, block->n_channels);
}

int lw_window_begin(struct lw_stream_window *window, const struct lw_window_part *part, struct lw_error *err)
{
    const int64_t begin = lw_max64(part->begin, 0);
    const int64_t end = lw_min64(part->end, window->spec.n_samples);
    const struct lw_slab slab = {
        .first = begin, .count = lw_max64(end - begin, 0), .channel = part->channel, .n_channels = part->n_channels,
        .into = part->into, .into_axis = part->into_axis, .into_first = part->into_first + begin - part->begin,
    };
    const int rc = lw_reader_begin(window->spec.reader, &slab, err);
    if (rc == LW_OK)
        window->part = *part;
    return rc;
}

int lw_window_end(struct lw_stream_window *window, struct lw_error *err)
{
    const struct lw_window_part part = window->part;
    const int64_t n = window->spec.n_samples;
    window->part = (struct lw_window_part){0};
    int rc;
    if ((rc = lw_reader_end(window->spec.reader, err)) ||
        (rc = read_outside(window, &part, part.begin, lw_min64(part.end, 0), err)) ||
        (rc = read_outside(window, &part, lw_max64(part.begin, n), part.end, err)))
        return rc;
    return LW_OK;
}

int lw_window_read(struct lw_stream_window *window, const struct lw_window_part *part, struct lw_error *err)
{
    const int rc = lw_window_begin(window, part, err);
    return rc ? rc : lw_window_end(window, err);
}
