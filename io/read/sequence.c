#include "io/read/sequence.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/sampling.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- whether files fit each other ----------------------------------------------------------------------------------------- */

static int fail_pair(const struct lw_dataset_info *a, const struct lw_dataset_info *b, const char *what, const char *in_a,
                     const char *in_b, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA, "'%.300s' and '%.300s' are not one axis: %s is %.100s in the first and %.100s in the second", a->file,
                   b->file, what, in_a, in_b);
}

static int compare_types(const struct lw_dataset_info *a, const struct lw_dataset_info *b, struct lw_error *err)
{
    char in_a[40], in_b[40];
    if (a->type.scalar == b->type.scalar && a->type.is_complex == b->type.is_complex && a->type.is_swapped == b->type.is_swapped)
        return LW_OK;
    return fail_pair(a, b, "the type", lw_type_text(a->type, in_a), lw_type_text(b->type, in_b), err);
}

static int compare_numbers(const struct lw_dataset_info *a, const struct lw_dataset_info *b, const char *what, int64_t in_a,
                           int64_t in_b, struct lw_error *err)
{
    char text_a[24], text_b[24];
    if (in_a == in_b)
        return LW_OK;
    snprintf(text_a, sizeof text_a, "%" PRId64, in_a);
    snprintf(text_b, sizeof text_b, "%" PRId64, in_b);
    return fail_pair(a, b, what, text_a, text_b, err);
}

/* The rates may differ by less than moves the last sample of a file to another place. */
static int compare_rates(const struct lw_dataset_info *a, const struct lw_dataset_info *b, int64_t length, struct lw_error *err)
{
    const double rate_a = a->axis.sample_rate_hz, rate_b = b->axis.sample_rate_hz;
    char in_a[40], in_b[40];
    if (rate_a <= 0 || rate_b <= 0 || fabs(rate_a / rate_b - 1) * (double)length < 0.5)
        return LW_OK;
    snprintf(in_a, sizeof in_a, "%.12g Hz", rate_a);
    snprintf(in_b, sizeof in_b, "%.12g Hz", rate_b);
    return fail_pair(a, b, "the sampling rate", in_a, in_b, err);
}

/* Of the channels; a hundredth of their spacing does not matter. */
static int compare_coordinates(const struct lw_dataset_info *a, const struct lw_dataset_info *b, int d, struct lw_error *err)
{
    const struct lw_coordinate *const x = &a->coordinates[d], *const y = &b->coordinates[d];
    const double reach = (double)a->dims[d] * fabs(x->step - y->step) + fabs(x->first - y->first);
    char in_a[80], in_b[80];
    if (!x->is_regular || !y->is_regular || reach <= 0.01 * fabs(x->step))
        return LW_OK;
    snprintf(in_a, sizeof in_a, "from %.9g by %.9g %s", x->first, x->step, x->unit);
    snprintf(in_b, sizeof in_b, "from %.9g by %.9g %s", y->first, y->step, y->unit);
    return fail_pair(a, b, x->name[0] ? x->name : "the channels' coordinate", in_a, in_b, err);
}

static int compare(const struct lw_dataset_info *a, const struct lw_dataset_info *b, int axis, struct lw_error *err)
{
    int rc;
    if ((rc = compare_types(a, b, err)) ||
        (rc = compare_numbers(a, b, "the number of dimensions", a->n_dims, b->n_dims, err)) ||
        (rc = compare_numbers(a, b, "the dimension that is time", a->metadata_axis, b->metadata_axis, err)) ||
        (rc = compare_rates(a, b, max64(a->dims[axis], b->dims[axis]), err)))
        return rc;
    for (int d = 0; rc == LW_OK && d < a->n_dims; d++) {
        char what[40];
        snprintf(what, sizeof what, "the length of dimension %d", d);
        if (d != axis && (rc = compare_numbers(a, b, what, a->dims[d], b->dims[d], err)) == LW_OK)
            rc = compare_coordinates(a, b, d, err);
    }
    return rc == LW_OK && strcmp(a->axis.unit, b->axis.unit) != 0 ? fail_pair(a, b, "the unit", a->axis.unit, b->axis.unit, err) : rc;
}

static const char *start_text(const struct lw_dataset_info *info)
{
    static const char *const texts[] = {[LW_TIME_UNKNOWN] = "not known", [LW_TIME_UTC] = "a time in UTC",
                                        [LW_TIME_GPS] = "a time of GPS"};
    return texts[info->axis.scale];
}

/* @param has_times  set to whether start times say where files belong */
static int compare_all(const struct lw_dataset_info *infos, int64_t n, int axis, bool *has_times, struct lw_error *err)
{
    *has_times = infos[0].axis.scale != LW_TIME_UNKNOWN && infos[0].axis.period.numerator > 0;
    for (int64_t f = 1; f < n; f++) {
        const int rc = compare(&infos[0], &infos[f], axis, err);
        if (rc)
            return rc;
        if (infos[f].axis.scale != infos[0].axis.scale)
            return fail_pair(&infos[0], &infos[f], "the start", start_text(&infos[0]), start_text(&infos[f]), err);
        if (infos[f].axis.period.numerator == 0)
            *has_times = false;
    }
    return LW_OK;
}

/* ---- the order ----------------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b, void *infos)
{
    const struct lw_dataset_info *const all = infos;
    const struct lw_file_part *const x = a, *const y = b;
    const int order = strverscmp(all[x->file].file, all[y->file].file);
    return order ? order : (x->file > y->file) - (x->file < y->file);
}

static int by_start(const void *a, const void *b, void *infos)
{
    const struct lw_dataset_info *const all = infos;
    const struct lw_file_part *const x = a, *const y = b;
    const int order = lw_instant_compare(all[x->file].axis.instant, all[y->file].axis.instant);
    return order ? order : by_name(a, b, infos);
}

/* ---- places ---------------------------------------------------------------------------------------------------------------- */

static int fail_length(const struct lw_dataset_info *info, struct lw_error *err)
{
    char text[LW_INSTANT_TEXT];
    return lw_fail(err, LW_EDATA, "the files are more samples apart than 64 bits count: '%.600s' starts at %s", info->file,
                   lw_sampling_time_text(&info->axis, 0, text));
}

/* Samples between the end of what there is and a file's start. */
static int64_t missing_before(const struct lw_dataset_info *info, struct lw_instant end)
{
    return lw_instant_to_sample(end, info->axis.period, info->axis.instant, NULL);
}

/* Place a file behind the others, whose last sample ends at *end. */
static int place(struct lw_sequence *sequence, const struct lw_dataset_info *info, int axis, bool has_times, struct lw_file_part part,
                 struct lw_instant *end, struct lw_error *err)
{
    const int64_t n = info->dims[axis];
    const int64_t missing = has_times && sequence->n_parts > 0 ? missing_before(info, *end) : 0;
    if (missing > INT64_MAX / 4 - sequence->length - n)
        return fail_length(info, err);
    sequence->n_overlapping += missing < 0;
    if (missing <= -n) {
        sequence->n_left_out++;
        return LW_OK;
    }
    part.skip = max64(0, -missing);
    part.count = n - part.skip;
    if (missing > 0)
        sequence->gaps[sequence->n_gaps++] = (struct lw_gap){sequence->length, missing};
    part.first = sequence->length + max64(0, missing);
    sequence->length = part.first + part.count;
    sequence->parts[sequence->n_parts++] = part;
    if (has_times)
        *end = lw_instant_of_sample(info->axis.instant, info->axis.period, n);
    return LW_OK;
}

int lw_sequence_join(const struct lw_dataset_info *infos, int64_t n, int axis, struct lw_sequence *out, struct lw_error *err)
{
    bool has_times;
    struct lw_instant end = {0, 0};
    *out = (struct lw_sequence){0};
    int rc = compare_all(infos, n, axis, &has_times, err);
    if (rc)
        return rc;
    struct lw_file_part *const order = lw_alloc_array(n, sizeof *order, "the order of files", err);
    out->parts = lw_alloc_array(n, sizeof *out->parts, "the order of files", err);
    out->gaps = lw_alloc_array(n, sizeof *out->gaps, "the gaps between files", err);
    rc = order && out->parts && out->gaps ? LW_OK : LW_ESYSTEM;
    for (int64_t f = 0; rc == LW_OK && f < n; f++)
        order[f].file = f;
    if (rc == LW_OK)
        qsort_r(order, (size_t)n, sizeof *order, has_times ? by_start : by_name, (void *)(uintptr_t)infos);
    for (int64_t f = 0; rc == LW_OK && f < n; f++)
        rc = place(out, &infos[order[f].file], axis, has_times, order[f], &end, err);
    lw_free(order);
    if (rc)
        lw_sequence_release(out);
    return rc;
}

void lw_sequence_release(struct lw_sequence *sequence)
{
    lw_free(sequence->parts);
    lw_free(sequence->gaps);
    *sequence = (struct lw_sequence){0};
}

int64_t lw_sequence_find(const struct lw_sequence *sequence, int64_t sample)
{
    int64_t low = 0, high = sequence->n_parts;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (sequence->parts[middle].first + sequence->parts[middle].count > sample)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
