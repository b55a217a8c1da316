#include "stream/search/mask.h"

#include "base/integers.h"
#include "base/memory.h"
#include "stream/pipeline.h"
#include "stream/plan.h"

/* Marks of the samples in one slot. */
struct marks {
    char *numbers;                      /* owned; marks in the stored type; NULL unless read slot by slot */
    struct lw_window_part part;         /* window part of the marks; its channels are the mask's: those by sample have one */
    int64_t channel;                    /* first channel of the samples, in the view */
};

struct lw_mask {
    struct lw_marks all;                /* owned */
    struct lw_stream_window *window;    /* NULL unless marks are read slot by slot */
    struct lw_view_spec view;           /* view of the input */
    enum lw_boundary boundary;
    int64_t n_samples;                  /* samples of the view */
    struct marks marks[LW_MAX_DEPTH];
    enum lw_layout layout;              /* layout of a slot */
    int64_t sample_bytes;               /* bytes of a sample of the input */
};

static void stop(struct lw_mask *mask)
{
    for (int i = 0; i < LW_MAX_DEPTH; i++) {
        lw_free(mask->marks[i].numbers);
        mask->marks[i].numbers = NULL;
    }
    lw_window_destroy(mask->window);
    mask->window = NULL;
}

int lw_mask_open(struct lw_comm *comm, const struct lw_reader *input, struct lw_job *job, struct lw_mask **out,
                 struct lw_error *err)
{
    if (!job->search.mask && !job->search.good_data)
        return LW_OK;
    struct lw_mask *const mask = *out = lw_alloc(sizeof *mask, "the mask", err);
    const int rc = lw_comm_agree(comm, mask ? LW_OK : LW_ESYSTEM, err);
    if (mask) {
        mask->layout = job->op.layout;
        mask->view = job->view;
        mask->boundary = job->boundary;
        mask->n_samples = job->n_samples;
        mask->sample_bytes = (int64_t)lw_type_bytes(job->op.input);
    }
    return rc ? rc : lw_marks_open(comm, input, job, &mask->all, err);
}

void lw_mask_close(struct lw_mask *mask)
{
    if (!mask)
        return;
    stop(mask);
    lw_marks_close(&mask->all);
    lw_free(mask);
}

const struct lw_marks *lw_mask_marks(const struct lw_mask *mask) { return &mask->all; }

static bool is_read_by_slot(const struct lw_mask *mask) { return mask->all.shape != LW_MARKS_BY_CHANNEL && !mask->all.bits; }

/* ---- memory -------------------------------------------------------------------------------------------------------------- */

static int64_t mask_channels(const struct lw_mask *mask, const struct lw_plan *plan)
{
    return mask->all.shape == LW_MARKS_BY_BOTH ? lw_op_inputs(&plan->spec, plan->rounds.group) : 1;
}

static int64_t numbers_bytes(const struct lw_mask *mask, const struct lw_plan *plan)
{
    return (plan->op.halo + plan->rounds.slice) * mask_channels(mask, plan) * (int64_t)lw_type_bytes(mask->all.type);
}

static struct lw_window_spec window_of(const struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan)
{
    struct lw_window_spec window = lw_plan_window(plan, job, mask->all.reader);
    window.sample_bytes = (int64_t)lw_type_bytes(mask->all.type);
    window.max_channels = mask_channels(mask, plan);
    return window;
}

static struct lw_view_spec planned_view(const struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan)
{
    const struct lw_window_spec window = window_of(mask, job, plan);
    struct lw_view_spec view = job->view;
    if (mask->all.shape == LW_MARKS_BY_SAMPLE) {
        view.axis = 0;
        view.channels = (struct lw_range){0, 1, 1};
    }
    view.max_axis = lw_max64(plan->rounds.slice + plan->op.halo, lw_window_max_read(&window));
    view.max_channels = window.max_channels;
    view.chunks = LW_CHUNKS_WHOLE;
    return view;
}

int64_t lw_mask_bytes(const struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan)
{
    if (!mask || mask->all.shape == LW_MARKS_BY_CHANNEL)
        return 0;
    if (mask->all.bits)
        return mask->all.rows * mask->all.pitch;
    const struct lw_window_spec window = window_of(mask, job, plan);
    const struct lw_view_spec view = planned_view(mask, job, plan);
    return lw_window_bytes(&window) + lw_reader_bytes(mask->all.reader, &view) + plan->depth * numbers_bytes(mask, plan);
}

int lw_mask_start(struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan, struct lw_error *err)
{
    stop(mask);
    if (!is_read_by_slot(mask))
        return LW_OK;
    const struct lw_window_spec window = window_of(mask, job, plan);
    const struct lw_view_spec view = planned_view(mask, job, plan);
    for (int i = 0; i < plan->depth; i++)
        if (!(mask->marks[i].numbers = lw_alloc((size_t)numbers_bytes(mask, plan), "the mask of a slot", err)))
            return LW_ESYSTEM;
    const int rc = lw_reader_select(mask->all.reader, &view, err);
    return rc ? rc : lw_window_create(&window, &mask->window, err);
}

/* ---- a slot ---------------------------------------------------------------------------------------------------------------- */

/* Return a sample's bit. A boundary sample has the bit of its source sample, or 0 without one. */
static bool is_bit_set(const struct lw_mask *mask, const struct marks *marks, int64_t c, int64_t i)
{
    const int64_t channel = mask->view.channels.begin + (marks->channel + c) * mask->view.channels.step;
    const int64_t inside = lw_boundary_index(mask->boundary, marks->part.begin + i, mask->n_samples);
    return inside >= 0 && lw_marks_bit(&mask->all, mask->view.axis, channel, mask->view.start + inside);
}

bool lw_mask_is_set(const struct lw_mask *mask, int number, int64_t c, int64_t i)
{
    const struct marks *const marks = &mask->marks[number];
    if (mask->all.shape == LW_MARKS_BY_CHANNEL)
        return mask->all.channels[marks->channel + c] != 0;
    if (mask->all.bits)
        return is_bit_set(mask, marks, c, i);
    const struct lw_window_part *const part = &marks->part;
    const int64_t of_channel = mask->all.shape == LW_MARKS_BY_SAMPLE ? 0 : c;
    const int64_t at = mask->layout == LW_TIME_FAST ? of_channel * part->into_axis + i : i * part->n_channels + of_channel;
    if (lw_type_bytes(mask->all.type) == 1)
        return marks->numbers[at] != 0;
    return lw_type_number(mask->all.type, marks->numbers, at) != 0;
}

bool lw_mask_is_by_channel(const struct lw_mask *mask) { return mask->all.shape == LW_MARKS_BY_CHANNEL; }

int lw_mask_apply(struct lw_mask *mask, int number, const struct lw_window_part *part, struct lw_error *err)
{
    struct marks *const marks = &mask->marks[number];
    marks->channel = part->channel;
    marks->part = *part;
    marks->part.into = marks->numbers;
    if (mask->all.shape == LW_MARKS_BY_SAMPLE) {
        marks->part.channel = 0;
        marks->part.n_channels = 1;
    }
    const int rc = !is_read_by_slot(mask) || part->end <= part->begin ? LW_OK : lw_window_read(mask->window, &marks->part, err);
    const bool is_fast = mask->layout == LW_TIME_FAST;
    for (int64_t c = 0; rc == LW_OK && c < part->n_channels; c++)
        for (int64_t i = 0; i < part->into_axis; i++) {
            const int64_t at = is_fast ? c * part->into_axis + i : i * part->n_channels + c;
            if (lw_mask_is_set(mask, number, c, i))
                memset((char *)part->into + at * mask->sample_bytes, 0, (size_t)mask->sample_bytes);
        }
    return rc;
}
