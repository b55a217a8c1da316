/* overlap.c - check that samples which several files have are equal. Two files are compared at a time, block by block. */
#include "io/read/state.h"

#include "base/integers.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

#define BLOCK_BYTES ((int64_t)1 << 20)

/* Samples of the axis that two files have. */
struct pair {
    int axis;
    struct lw_source *earlier, *later;
    int64_t in_earlier, in_later;       /* number of the first common sample in each file */
    int64_t at, count;                  /* common samples [at, at + count), on the axis */
    struct lw_instant instant;          /* time of the first common sample */
    int64_t block;                      /* samples in a block */
    char *samples[2];
};

/* A difference of two blocks: sample along the axis and element, both counted in the block, and the two values. */
struct difference {
    int64_t sample, element;
    double values[2];
};

static int read_block(const struct pair *pair, const struct lw_source *source, int64_t first, int64_t count, void *into,
                      struct lw_error *err)
{
    struct lw_target target = {.step = {1, 1, 1, 1}, .count = {1, 1, 1, 1}, .into = into};
    struct lw_error reason;
    int64_t pitch = (int64_t)lw_type_bytes(source->info.type);
    for (int d = source->info.n_dims - 1; d >= 0; d--) {
        const int to = source->described_dim[d];
        target.first[to] = d == pair->axis ? first : 0;
        target.count[to] = d == pair->axis ? count : source->info.dims[d];
        target.pitch[to] = pitch;
        pitch *= target.count[to];
    }
    const int rc = lw_source_read(source, &target, &reason);
    return rc ? lw_source_fail(source, first, first + count, &reason, err) : LW_OK;
}

/* Return number i of a block, unpacked; complex samples have two numbers each. */
static double value_of(const struct lw_source *source, const char *samples, int64_t i)
{
    const struct lw_type type = source->info.type;
    const int parts = type.is_complex ? 2 : 1;
    double sample[2] = {0};
    for (int p = 0; p < parts; p++)
        sample[p] = lw_type_number(type, samples, i / parts * parts + p);
    lw_packing_undo(&source->info.packing, type, 1, sample);
    return sample[i % parts];
}

/* Return the largest difference that is no error. Files that are packed differently have rounded the same sample differently. */
static double tolerance_of(const struct pair *pair)
{
    const struct lw_packing *const a = &pair->earlier->info.packing, *const b = &pair->later->info.packing;
    const double step_a = a->is_on ? a->scale : 1, step_b = b->is_on ? b->scale : 1;
    const bool is_same = a->is_on == b->is_on && (!a->is_on || (a->scale == b->scale && a->offset == b->offset &&
                                                                 a->has_other_sign == b->has_other_sign));
    return is_same ? 0 : 0.5 * (fabs(step_a) + fabs(step_b)) * (1 + 1e-6);
}

/* Find the difference that comes first along the axis, whichever dimension that is. @return  false: there is none */
static bool find_difference(const struct pair *pair, int64_t count, int64_t n, struct difference *out)
{
    const struct lw_dataset_info *const info = &pair->earlier->info;
    const struct lw_type type = info->type;
    const int parts = type.is_complex ? 2 : 1;
    const double tolerance = tolerance_of(pair);
    const int64_t inner = lw_product64(info->dims + pair->axis + 1, info->n_dims - pair->axis - 1);
    bool found = false;
    if (tolerance == 0 && memcmp(pair->samples[0], pair->samples[1], (size_t)n * lw_type_bytes(type)) == 0)
        return false;
    for (int64_t i = 0; i < n * parts; i++) {
        const double a = value_of(pair->earlier, pair->samples[0], i), b = value_of(pair->later, pair->samples[1], i);
        const int64_t sample = i / parts / inner % count;
        if (a == b || fabs(a - b) <= tolerance || (isnan(a) && isnan(b)) || (found && sample >= out->sample))
            continue;
        *out = (struct difference){sample, i / parts, {a, b}};
        found = true;
    }
    return found;
}

static int fail_difference(const struct pair *pair, int64_t first, int64_t count, const struct difference *difference,
                           struct lw_error *err)
{
    const struct lw_dataset_info *const earlier = &pair->earlier->info, *const later = &pair->later->info;
    char time[LW_INSTANT_TEXT], channel[40] = "";
    struct lw_axis_metadata axis = later->axis;
    if (earlier->n_dims == 2)
        snprintf(channel, sizeof channel, " of channel %" PRId64,
                 pair->axis == 0 ? difference->element % earlier->dims[1] : difference->element / count);
    axis.instant = pair->instant;
    lw_sampling_time_text(&axis, first + difference->sample, time);
    return lw_fail(err, LW_EDATA,
                   "'%.250s' and '%.250s' share %" PRId64 " samples in time but differ, first in sample %" PRId64
                   "%s (%s): %.9g in the first, %.9g in the second; choose with --overlap first or last",
                   earlier->file, later->file, pair->count, pair->at + first + difference->sample, channel, time,
                   difference->values[0], difference->values[1]);
}

/* The two files compared last stay open, because a file with gaps can have many overlaps with another. */
struct cache {
    int64_t files[2];
    struct lw_source *sources[2];       /* NULL: no file is open */
};

static int open_file(const struct lw_reader *reader, struct cache *cache, int which, int64_t file, struct lw_error *err)
{
    struct lw_dataset_info info;
    if (cache->sources[which] && cache->files[which] == file)
        return LW_OK;
    lw_source_close(cache->sources[which]);
    cache->sources[which] = NULL;
    cache->files[which] = file;
    return lw_source_open(lw_infos_get(&reader->infos, file, &info), reader->request.least_dims, reader->request.most_dims, NULL,
                          &cache->sources[which], err);
}

static int compare_pair(struct pair *pair, struct lw_error *err)
{
    const struct lw_dataset_info *const info = &pair->earlier->info;
    int64_t row = 1;            /* elements that belong to one sample of the axis */
    for (int d = 0; d < info->n_dims; d++)
        row *= d == pair->axis ? 1 : info->dims[d];
    const int64_t bytes = row * (int64_t)lw_type_bytes(info->type);
    struct difference difference = {0};
    int rc = LW_OK;
    pair->block = lw_max64(1, lw_min64(pair->count, BLOCK_BYTES / lw_max64(1, bytes)));
    for (int s = 0; rc == LW_OK && s < 2; s++)
        rc = (pair->samples[s] = lw_alloc((size_t)(pair->block * bytes), "samples that files share", err)) ? LW_OK : LW_ESYSTEM;
    for (int64_t at = 0; rc == LW_OK && at < pair->count; at += pair->block) {
        const int64_t count = lw_min64(pair->block, pair->count - at);
        if ((rc = read_block(pair, pair->earlier, pair->in_earlier + at, count, pair->samples[0], err)) == LW_OK &&
            (rc = read_block(pair, pair->later, pair->in_later + at, count, pair->samples[1], err)) == LW_OK &&
            find_difference(pair, count, count * row, &difference))
            rc = fail_difference(pair, at, count, &difference, err);
    }
    lw_free(pair->samples[0]);
    lw_free(pair->samples[1]);
    return rc;
}

/* Compare an overlap, whose samples may lie in several earlier files. */
static int compare_overlap(const struct lw_reader *reader, const struct lw_overlap *overlap, struct cache *cache,
                           struct lw_error *err)
{
    const struct lw_sequence *const sequence = &reader->sequence;
    const int64_t end = overlap->first + overlap->count;
    struct lw_dataset_info info;
    int rc = LW_OK;
    lw_infos_get(&reader->infos, overlap->file, &info);
    for (int64_t p = lw_sequence_find(sequence, overlap->first);
         rc == LW_OK && p < sequence->n_parts && sequence->parts[p].first < end; p++) {
        const struct lw_file_part *const part = &sequence->parts[p];
        const int64_t first = lw_max64(part->first, overlap->first);
        if ((rc = open_file(reader, cache, 0, part->file, err)) || (rc = open_file(reader, cache, 1, overlap->file, err)))
            return rc;
        struct pair pair = {.axis = reader->axis, .earlier = cache->sources[0], .later = cache->sources[1],
                            .in_earlier = part->skip + first - part->first, .in_later = overlap->skip + first - overlap->first,
                            .at = first, .count = lw_min64(end, part->first + part->count) - first,
                            .instant = lw_instant_of_sample(overlap->instant, info.axis.period, first - overlap->first)};
        rc = compare_pair(&pair, err);
    }
    return rc;
}

int lw_overlaps_compare(const struct lw_reader *reader, struct lw_error *err)
{
    struct cache cache = {0};
    int rc = LW_OK;
    for (int64_t o = lw_comm_rank(reader->comm); rc == LW_OK && o < reader->sequence.n_overlaps; o += lw_comm_size(reader->comm))
        rc = compare_overlap(reader, &reader->sequence.overlaps[o], &cache, err);
    lw_source_close(cache.sources[0]);
    lw_source_close(cache.sources[1]);
    return rc;
}
