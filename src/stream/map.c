#include "stream/map.h"

#include "base/integers.h"
#include "base/memory.h"
#include "job/weights.h"

struct lw_map {
    const struct lw_job *job;
    struct lw_stream_window *window;
    bool is_shared;             /* one image's map serves all */
    struct lw_window_part part; /* part of the image in progress, with its halo */
};

static bool is_shared(const struct lw_reader *reader)
{
    const struct lw_dataset_info *const info = lw_reader_info(reader);
    return info->n_dims == 2 || info->dims[0] == 1;
}

static int64_t row_bytes(const struct lw_job *job)
{
    return job->op.conv2d.columns * (int64_t)lw_type_bytes(job->op.conv2d.map);
}

static struct lw_window_spec window_of(struct lw_reader *reader, const struct lw_job *job, const struct lw_plan *plan, bool shared)
{
    return (struct lw_window_spec){
        .reader = reader, .boundary = LW_BOUNDARY_ZERO, .layout = LW_TIME_FAST, .sample_bytes = row_bytes(job),
        .n_samples = job->n_samples, .n_taps = plan->op.halo + 1, .max_channels = shared ? 1 : plan->rounds.group,
    };
}

bool lw_map_show(const struct lw_reader *reader, struct lw_view_spec *view)
{
    view->axis = lw_reader_info(reader)->n_dims - 2;
    view->chunks = LW_CHUNKS_WHOLE;
    if (is_shared(reader)) {
        view->channels = (struct lw_range){0, 1, 1};
        view->max_channels = 1;
    }
    return is_shared(reader);
}

static struct lw_view_spec view_of(const struct lw_reader *reader, const struct lw_job *job, const struct lw_plan *plan)
{
    struct lw_view_spec view = lw_plan_view(plan, job);
    view.max_axis = plan->rounds.slice + plan->op.halo;
    lw_map_show(reader, &view);
    return view;
}

int64_t lw_map_input_bytes(const struct lw_reader *reader, const struct lw_job *job)
{
    if (!lw_op_has_map(&job->op))
        return 0;
    return job->n_samples * (reader && is_shared(reader) ? 1 : job->op.n_channels) * row_bytes(job);
}

int64_t lw_map_bytes(const struct lw_reader *reader, const struct lw_job *job, const struct lw_plan *plan)
{
    if (!reader)
        return 0;
    const struct lw_window_spec window = window_of(NULL, job, plan, is_shared(reader));
    const struct lw_view_spec view = view_of(reader, job, plan);
    return (int64_t)sizeof(struct lw_map) + lw_window_bytes(&window) + lw_reader_bytes(reader, &view);
}

int lw_map_create(struct lw_reader *reader, const struct lw_job *job, const struct lw_plan *plan, struct lw_map **out,
                  struct lw_error *err)
{
    if (!reader)
        return LW_OK;
    const struct lw_window_spec window = window_of(reader, job, plan, is_shared(reader));
    const struct lw_view_spec view = view_of(reader, job, plan);
    struct lw_map *const map = *out = lw_alloc(sizeof *map, "the map of weights", err);
    if (!map)
        return LW_ESYSTEM;
    map->job = job;
    map->is_shared = is_shared(reader);
    const int rc = lw_reader_select(reader, &view, err);
    return rc ? rc : lw_window_create(&window, &map->window, err);
}

void lw_map_destroy(struct lw_map *map)
{
    if (!map)
        return;
    if (map->window)
        lw_window_end(map->window, NULL);
    lw_window_destroy(map->window);
    lw_free(map);
}

int lw_map_begin(struct lw_map *map, const struct lw_window_part *part, void *into, struct lw_error *err)
{
    if (!map)
        return LW_OK;
    map->part = *part;
    map->part.into = into;
    if (part->end > part->begin)
        map->part.begin -= part->into_first;
    map->part.into_first = 0;
    struct lw_window_part its = map->part;
    if (map->is_shared) {
        its.channel = 0;
        its.n_channels = part->n_channels > 0;
    }
    return lw_window_begin(map->window, &its, err);
}

int lw_map_end(struct lw_map *map, struct lw_error *err)
{
    if (!map)
        return LW_OK;
    const struct lw_window_part *const part = &map->part;
    const int64_t first = lw_max64(0, -part->begin), end = lw_min64(part->end, map->job->n_samples) - part->begin;
    const int64_t row = row_bytes(map->job), image = part->into_axis * row;
    const int rc = lw_window_end(map->window, err);
    for (int64_t c = 0; rc == LW_OK && part->end > part->begin && c < part->n_channels; c++) {
        char *const its = (char *)part->into + c * image;
        if (c > 0 && map->is_shared)
            memcpy(its, part->into, (size_t)image);
        else        /* the rows beyond the image stay 0 */
            lw_weights_convert(map->job, its + first * row, lw_max64(0, end - first) * map->job->op.conv2d.columns);
    }
    return rc;
}
