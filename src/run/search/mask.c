#include "run/search/mask.h"

#include "base/integers.h"
#include "base/memory.h"
#include "run/pipeline.h"
#include "run/plan.h"

#include <inttypes.h>
#include <string.h>

enum shape { BY_SAMPLE, BY_CHANNEL, BY_BOTH };

/* The marks of a slot's input: numbers of the mask's own type, as its window gives them. */
struct marks {
    char *numbers;
    struct lw_window_part part;         /* with the channels of the mask: one, where it is by sample */
    int64_t channel;                    /* of the slot's first, for a mask by channel */
};

struct lw_mask {
    struct lw_reader *reader;
    enum shape shape;
    struct lw_type type;
    struct lw_window *window;           /* not by channel */
    double *channels;                   /* by channel: [channels of the view] */
    struct marks marks[LW_MAX_DEPTH];
    enum lw_layout layout;              /* of a slot */
    int64_t sample_bytes;               /* of the input */
};

/* What lw_mask_start has made. */
static void stop(struct lw_mask *mask)
{
    for (int i = 0; i < LW_MAX_DEPTH; i++) {
        lw_free(mask->marks[i].numbers);
        mask->marks[i].numbers = NULL;
    }
    lw_window_destroy(mask->window);
    mask->window = NULL;
}

/* ---- which samples it is about ------------------------------------------------------------------------------------------ */

static int find_shape(const struct lw_dataset_info *info, const struct lw_dataset_info *input, int axis, enum shape *shape,
                      struct lw_error *err)
{
    const int64_t n_axis = input->dims[axis], n_channels = input->n_dims == 2 ? input->dims[1 - axis] : 1;
    const bool is_same = info->n_dims == input->n_dims && info->dims[0] == input->dims[0] &&
                         (info->n_dims == 1 || info->dims[1] == input->dims[1]);
    *shape = is_same && input->n_dims == 2 ? BY_BOTH : info->dims[0] == n_axis ? BY_SAMPLE : BY_CHANNEL;
    if (is_same || (info->n_dims == 1 && (info->dims[0] == n_axis || info->dims[0] == n_channels)))
        return LW_OK;
    return lw_fail(err, LW_EDATA, "--mask %.300s:%.100s has %d dimension%s, the first of %" PRId64 ": it must have a number for each of the %"
                   PRId64 " samples, for each of the %" PRId64 " channels, or for both in the order of the input", info->file,
                   info->path, info->n_dims, info->n_dims == 1 ? "" : "s", info->dims[0], n_axis, n_channels);
}

static int check_type(const struct lw_dataset_info *info, struct lw_error *err)
{
    char text[40];
    if (!info->type.is_complex)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "--mask %.300s:%.100s is %s: a mask holds whole or real numbers, 0 where a sample counts", info->file,
                   info->path, lw_type_text(info->type, text));
}

static struct lw_view_spec view_of(const struct lw_mask *mask, const struct lw_job *job)
{
    struct lw_view_spec view = job->view;
    if (mask->shape == BY_SAMPLE) {
        view.axis = 0;
        view.channels = (struct lw_range){0, 1, 1};
    }
    return view;
}

/* The mask by channel is small: all of it, for the channels of the view. */
static int read_channels(struct lw_comm *comm, const char *name, const struct lw_job *job, struct lw_mask *mask, struct lw_error *err)
{
    struct lw_dataset_info info;
    int rc = lw_reader_read_numbers(comm, name, &info, &mask->channels, err);
    for (int64_t c = 0; rc == LW_OK && c < job->op.n_channels; c++)
        mask->channels[c] = mask->channels[job->view.channels.begin + c * job->view.channels.step];
    return rc;
}

int lw_mask_open(struct lw_comm *comm, struct lw_job *job, struct lw_mask **out, struct lw_error *err)
{
    const char *const name = job->search.mask;
    if (!name)
        return LW_OK;
    struct lw_mask *const mask = lw_alloc(sizeof *mask, "the mask", err);
    int rc = lw_comm_agree(comm, mask ? LW_OK : LW_ESYSTEM, err);
    if (rc || (rc = lw_reader_open(comm, name, &mask->reader, err)))
        goto fail;
    const struct lw_dataset_info *const info = lw_reader_info(mask->reader);
    mask->type = info->type;
    mask->layout = job->op.layout;
    mask->sample_bytes = (int64_t)lw_type_bytes(job->op.input);
    if ((rc = check_type(info, err)) || (rc = find_shape(info, &job->inputs[0], job->view.axis, &mask->shape, err)) ||
        (rc = mask->shape == BY_CHANNEL ? read_channels(comm, name, job, mask, err) : LW_OK))
        goto fail;
    job->inputs[job->n_inputs] = *info;
    job->input_names[job->n_inputs++] = "mask";
    *out = mask;
    return LW_OK;
fail:
    lw_mask_close(mask);
    return rc;
}

void lw_mask_close(struct lw_mask *mask)
{
    if (!mask)
        return;
    stop(mask);
    lw_reader_close(mask->reader);
    lw_free(mask->channels);
    lw_free(mask);
}

/* ---- memory -------------------------------------------------------------------------------------------------------------- */

static int64_t mask_channels(const struct lw_mask *mask, int64_t n_channels) { return mask->shape == BY_BOTH ? n_channels : 1; }

static int64_t numbers_bytes(const struct lw_mask *mask, const struct lw_plan *plan)
{
    return (plan->op.halo + plan->rounds.slice) * mask_channels(mask, plan->rounds.group) * (int64_t)lw_type_bytes(mask->type);
}

static struct lw_window_spec window_of(const struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan)
{
    struct lw_window_spec window = lw_plan_window(plan, job, mask->reader);
    window.sample_bytes = (int64_t)lw_type_bytes(mask->type);
    window.max_channels = mask_channels(mask, plan->rounds.group);
    return window;
}

static struct lw_view_spec planned_view(const struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan)
{
    const struct lw_window_spec window = window_of(mask, job, plan);
    struct lw_view_spec view = view_of(mask, job);
    view.max_axis = max64(plan->rounds.slice + plan->op.halo, lw_window_max_read(&window));
    view.max_channels = window.max_channels;
    view.chunks = LW_CHUNKS_WHOLE;
    return view;
}

int64_t lw_mask_bytes(const struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan)
{
    if (!mask || mask->shape == BY_CHANNEL)
        return 0;
    const struct lw_window_spec window = window_of(mask, job, plan);
    const struct lw_view_spec view = planned_view(mask, job, plan);
    return lw_window_bytes(&window) + lw_reader_bytes(mask->reader, &view) + plan->depth * numbers_bytes(mask, plan);
}

int lw_mask_start(struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan, struct lw_error *err)
{
    stop(mask);
    if (mask->shape == BY_CHANNEL)
        return LW_OK;
    const struct lw_window_spec window = window_of(mask, job, plan);
    const struct lw_view_spec view = planned_view(mask, job, plan);
    for (int i = 0; i < plan->depth; i++)
        if (!(mask->marks[i].numbers = lw_alloc((size_t)numbers_bytes(mask, plan), "the mask of a slot", err)))
            return LW_ESYSTEM;
    const int rc = lw_reader_select(mask->reader, &view, err);
    return rc ? rc : lw_window_create(&window, &mask->window, err);
}

/* ---- a slot ---------------------------------------------------------------------------------------------------------------- */

static bool is_set(const struct lw_mask *mask, const struct marks *marks, int64_t c, int64_t i)
{
    if (mask->shape == BY_CHANNEL)
        return mask->channels[marks->channel + c] != 0;
    const struct lw_window_part *const part = &marks->part;
    const int64_t of_channel = mask->shape == BY_SAMPLE ? 0 : c;
    const int64_t at = mask->layout == LW_TIME_FAST ? of_channel * part->into_axis + i : i * part->n_channels + of_channel;
    if (lw_type_bytes(mask->type) == 1)
        return marks->numbers[at] != 0;
    return lw_type_number(mask->type, marks->numbers, at) != 0;
}

bool lw_mask_is_set(const struct lw_mask *mask, int number, int64_t c, int64_t i)
{
    return is_set(mask, &mask->marks[number], c, i);
}

static void clear_samples(const struct lw_mask *mask, const struct marks *marks, const struct lw_window_part *slot)
{
    const bool is_fast = mask->layout == LW_TIME_FAST;
    for (int64_t c = 0; c < slot->n_channels; c++) {
        for (int64_t i = 0; i < slot->into_axis; i++) {
            const int64_t at = is_fast ? c * slot->into_axis + i : i * slot->n_channels + c;
            if (is_set(mask, marks, c, i))
                memset((char *)slot->into + at * mask->sample_bytes, 0, (size_t)mask->sample_bytes);
        }
    }
}

int lw_mask_apply(struct lw_mask *mask, int number, const struct lw_window_part *part, struct lw_error *err)
{
    struct marks *const marks = &mask->marks[number];
    marks->channel = part->channel;
    marks->part = *part;
    marks->part.into = marks->numbers;
    if (mask->shape == BY_SAMPLE) {
        marks->part.channel = 0;
        marks->part.n_channels = 1;
    }
    const int rc = mask->shape == BY_CHANNEL || part->end <= part->begin ? LW_OK : lw_window_read(mask->window, &marks->part, err);
    if (rc == LW_OK)
        clear_samples(mask, marks, part);
    return rc;
}
