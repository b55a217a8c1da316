#include "io/read/sequence.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/notes/recorder.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- descriptions of many files ------------------------------------------------------------------------------------------- */

/* A record stores the file's name first, and offsets and lengths with 16 bits. */
static_assert(offsetof(struct lw_dataset_info, file) == 0, "the name comes first");
static_assert(sizeof(struct lw_dataset_info) < UINT16_MAX, "offsets have 16 bits");

enum { NAME = LW_MAX_PATH, ALL = sizeof(struct lw_dataset_info), HEAD = 2 * sizeof(uint16_t) };

static int make_room(struct lw_infos *infos, int64_t bytes, struct lw_error *err)
{
    if (infos->bytes + bytes <= infos->room)
        return LW_OK;
    const int64_t room = lw_max64(infos->bytes + bytes, infos->room + infos->room / 2);
    char *const records = lw_alloc((size_t)room, "the files' metadata", err);
    if (!records)
        return LW_ESYSTEM;
    memcpy(records, infos->records ? infos->records : "", (size_t)infos->bytes);
    lw_free(infos->records);
    infos->records = records;
    infos->room = room;
    return LW_OK;
}

static void put(struct lw_infos *infos, const void *data, size_t bytes)
{
    memcpy(infos->records + infos->bytes, data, bytes);
    infos->bytes += (int64_t)bytes;
}

static void put_number(struct lw_infos *infos, int number) { put(infos, &(uint16_t){(uint16_t)number}, sizeof(uint16_t)); }

static int number_at(const char *at)
{
    uint16_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

/* Return the offset of the first byte from `from` on that differs, or ALL. */
static int next_difference(const char *a, const char *b, int from)
{
    while (from < ALL && a[from] == b[from])
        from++;
    return from;
}

int lw_infos_begin(struct lw_infos *infos, const struct lw_dataset_info *first, struct lw_error *err)
{
    *infos = (struct lw_infos){.first = lw_alloc(sizeof *first, "the files' metadata", err)};
    if (!infos->first)
        return LW_ESYSTEM;
    *infos->first = *first;
    return LW_OK;
}

int lw_infos_add(struct lw_infos *infos, const struct lw_dataset_info *info, struct lw_error *err)
{
    const char *const a = (const char *)infos->first, *const b = (const char *)info;
    const int rc = make_room(infos, 2 * ALL + 2 * HEAD, err);      /* enough: heads are no longer than the equal bytes left out */
    if (rc)
        return rc;
    put(infos, info->file, strlen(info->file) + 1);
    const int64_t count = infos->bytes;
    int n = 0;
    put_number(infos, 0);
    for (int from = next_difference(a, b, NAME); from < ALL; n++) {
        int end = from;         /* up to HEAD equal bytes are included, because a further head would take as much */
        for (int next = from; next < ALL && next - end <= HEAD; next = next_difference(a, b, end))
            end = next + 1;
        put_number(infos, from);
        put_number(infos, end - from);
        put(infos, b + from, (size_t)(end - from));
        from = next_difference(a, b, end);
    }
    memcpy(infos->records + count, &(uint16_t){(uint16_t)n}, sizeof(uint16_t));
    return LW_OK;
}

int lw_infos_append(struct lw_infos *infos, const void *records, int64_t bytes, struct lw_error *err)
{
    const int rc = make_room(infos, bytes, err);
    if (rc == LW_OK && records)
        memcpy(infos->records + infos->bytes, records, (size_t)bytes);
    infos->bytes += rc ? 0 : bytes;
    return rc;
}

/* Copy the differences of a record into a description, or only skip them (NULL). @param at  behind the name @return  next record */
static const char *walk(const char *at, char *into)
{
    const int n = number_at(at);
    at += sizeof(uint16_t);
    for (int p = 0; p < n; p++) {
        const int from = number_at(at), length = number_at(at + sizeof(uint16_t));
        if (into)
            memcpy(into + from, at + HEAD, (size_t)length);
        at += HEAD + length;
    }
    return at;
}

int lw_infos_index(struct lw_infos *infos, int64_t n, int64_t n_sources, struct lw_error *err)
{
    const char *at = infos->records;
    if (!(infos->begin = lw_alloc_array(n, sizeof *infos->begin, "the files' metadata", err)))
        return LW_ESYSTEM;
    for (int64_t source = 0; source < n_sources; source++)
        for (int64_t f = source; f < n; f += n_sources) {
            infos->begin[f] = at - infos->records;
            at = walk(at + strlen(at) + 1, NULL);
        }
    infos->n = n;
    assert(at == infos->records + infos->bytes);
    return LW_OK;
}

const char *lw_infos_file(const struct lw_infos *infos, int64_t number) { return infos->records + infos->begin[number]; }

const struct lw_dataset_info *lw_infos_get(const struct lw_infos *infos, int64_t number, struct lw_dataset_info *info)
{
    const char *const name = lw_infos_file(infos, number);
    *info = *infos->first;
    strcpy(info->file, name);
    walk(name + strlen(name) + 1, (char *)info);
    return info;
}

void lw_infos_release(struct lw_infos *infos)
{
    lw_free(infos->first);
    lw_free(infos->records);
    lw_free(infos->begin);
    *infos = (struct lw_infos){0};
}

/* ---- whether files fit each other ----------------------------------------------------------------------------------------- */

/* Most fields of a recorder that are compared; no format has as many. */
enum { MOST_FIELDS = 16 };

static int fail_pair(const struct lw_dataset_info *a, const struct lw_dataset_info *b, const char *what, const char *in_a,
                     const char *in_b, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA, "'%.300s' and '%.300s' are not one axis: %s is %.100s in the first and %.100s in the second",
                   a->file, b->file, what, in_a, in_b);
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

/* Compare the coordinates of the channels, which may differ by up to a hundredth of their spacing. */
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

/* Compare two descriptions. Rates may differ as long as this moves the last sample of a file by less than half a sample. */
static int compare(const struct lw_dataset_info *a, const struct lw_dataset_info *b, int axis, struct lw_error *err)
{
    const double rate_a = a->axis.sample_rate_hz, rate_b = b->axis.sample_rate_hz;
    const double length = (double)lw_max64(a->dims[axis], b->dims[axis]);
    char in_a[40], in_b[40];
    int rc;
    if (a->type.scalar != b->type.scalar || a->type.is_complex != b->type.is_complex || a->type.is_swapped != b->type.is_swapped)
        return fail_pair(a, b, "the type", lw_type_text(a->type, in_a), lw_type_text(b->type, in_b), err);
    if ((rc = compare_numbers(a, b, "the number of dimensions", a->n_dims, b->n_dims, err)) ||
        (rc = compare_numbers(a, b, "the dimension that is time", a->metadata_axis, b->metadata_axis, err)))
        return rc;
    if (rate_a > 0 && rate_b > 0 && fabs(rate_a / rate_b - 1) * length >= 0.5) {
        snprintf(in_a, sizeof in_a, "%.12g Hz", rate_a);
        snprintf(in_b, sizeof in_b, "%.12g Hz", rate_b);
        return fail_pair(a, b, "the sampling rate", in_a, in_b, err);
    }
    for (int d = 0; rc == LW_OK && d < a->n_dims; d++) {
        char what[40];
        snprintf(what, sizeof what, "the length of dimension %d", d);
        if (d != axis && (rc = compare_numbers(a, b, what, a->dims[d], b->dims[d], err)) == LW_OK)
            rc = compare_coordinates(a, b, d, err);
    }
    if (rc == LW_OK && strcmp(a->axis.unit, b->axis.unit) != 0)
        return fail_pair(a, b, "the unit", a->axis.unit, b->axis.unit, err);
    return rc;
}

/* The recorder's fields that files have named so far, and for each field the first file that names it. */
struct known {
    const struct lw_infos *infos;
    int n;
    struct {
        char what[LW_RECORDER_VALUE];
        int64_t from;
    } fields[MOST_FIELDS];
    int64_t pointing;           /* number of the first file with a pointing; -1: none */
};

static int compare_pointing(struct known *known, const struct lw_dataset_info *info, int64_t f, struct lw_error *err)
{
    char in_a[80], in_b[80];
    struct lw_dataset_info room;
    const struct lw_dataset_info *const first = known->pointing < 0 ? NULL : lw_infos_get(known->infos, known->pointing, &room);
    if (!first) {
        known->pointing = info->recorder.has_pointing ? f : -1;
        return LW_OK;
    }
    const struct lw_instant x = first->axis.instant, y = info->axis.instant;
    const bool is_timed = first->axis.scale != LW_TIME_UNKNOWN && first->axis.scale == info->axis.scale;
    const double seconds = (double)(y.seconds - x.seconds) + (double)(y.attoseconds - x.attoseconds) * 1e-18;
    if (lw_recorder_is_pointing(&first->recorder, &info->recorder, is_timed ? seconds : NAN))
        return LW_OK;
    snprintf(in_a, sizeof in_a, "%.5f %+.5f degrees", first->recorder.ra_deg, first->recorder.dec_deg);
    snprintf(in_b, sizeof in_b, "%.5f %+.5f degrees", info->recorder.ra_deg, info->recorder.dec_deg);
    return fail_pair(first, info, "the pointing", in_a, in_b, err);
}

/* Compare the recorder of file f with the fields known so far. A field that a file lacks may have any value. */
static int compare_recorder(struct known *known, int64_t f, struct lw_error *err)
{
    struct lw_dataset_info info, first;
    char what[LW_RECORDER_VALUE], value[LW_RECORDER_VALUE], other[LW_RECORDER_VALUE], text[LW_RECORDER_VALUE + 8];
    for (const char *at = lw_infos_get(known->infos, f, &info)->recorder.text; lw_recorder_next(&at, what, value); ) {
        int k = 0;
        while (k < known->n && strcmp(known->fields[k].what, what) != 0)
            k++;
        if (k == known->n && k < MOST_FIELDS) {
            memcpy(known->fields[k].what, what, sizeof what);
            known->fields[known->n++].from = f;
        }
        if (k == MOST_FIELDS ||
            !lw_recorder_find(&lw_infos_get(known->infos, known->fields[k].from, &first)->recorder, what, other) ||
            strcmp(value, other) == 0)
            continue;
        snprintf(text, sizeof text, "the %s", what);
        return fail_pair(&first, &info, text, other, value, err);
    }
    return compare_pointing(known, &info, f, err);
}

/* Compare every file with the first. @param has_times  set to whether all files have start times, which give their places */
static int compare_all(const struct lw_infos *infos, int axis, bool *has_times, struct lw_error *err)
{
    static const char *const starts[] = {[LW_TIME_UNKNOWN] = "not known", [LW_TIME_UTC] = "a time in UTC",
                                         [LW_TIME_GPS] = "a time of GPS"};
    const struct lw_dataset_info *const first = infos->first;
    struct lw_dataset_info info;
    struct known known = {.infos = infos, .pointing = -1};
    *has_times = first->axis.scale != LW_TIME_UNKNOWN && first->axis.period.numerator > 0;
    int rc = compare_recorder(&known, 0, err);
    for (int64_t f = 1; f < infos->n; f++) {
        if (rc || (rc = compare_recorder(&known, f, err)) || (rc = compare(first, lw_infos_get(infos, f, &info), axis, err)))
            return rc;
        if (info.axis.scale != first->axis.scale)
            return fail_pair(first, &info, "the start", starts[first->axis.scale], starts[info.axis.scale], err);
        if (info.axis.period.numerator == 0)
            *has_times = false;
    }
    return LW_OK;
}

/* ---- the order ----------------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b, void *infos)
{
    const struct lw_piece *const x = a, *const y = b;
    const int order = strverscmp(lw_infos_file(infos, x->file), lw_infos_file(infos, y->file));
    const int numbers = (x->file > y->file) - (x->file < y->file);
    return order ? order : numbers ? numbers : (x->stretch > y->stretch) - (x->stretch < y->stretch);
}

static int by_start(const void *a, const void *b, void *infos)
{
    const int order = lw_instant_compare(((const struct lw_piece *)a)->instant, ((const struct lw_piece *)b)->instant);
    return order ? order : by_name(a, b, infos);
}

/* ---- places ---------------------------------------------------------------------------------------------------------------- */

/* Put a part over the last parts, whose samples at its place are dropped. An old part that surrounds the new one is split. */
static void put_over(struct lw_sequence *sequence, const struct lw_file_part *part)
{
    const int64_t end = part->first + part->count, i = lw_sequence_find(sequence, part->first);
    struct lw_file_part *const parts = sequence->parts;
    struct lw_file_part put[3];
    int n = 0;
    int64_t j = i;
    while (j < sequence->n_parts && parts[j].first + parts[j].count <= end)
        j++;
    if (i < sequence->n_parts && parts[i].first < part->first) {
        put[n] = parts[i];
        put[n++].count = part->first - parts[i].first;
    }
    put[n++] = *part;
    if (j < sequence->n_parts && parts[j].first < end) {
        const int64_t cut = end - parts[j].first;
        put[n] = parts[j];
        put[n].first += cut;
        put[n].skip += cut;
        put[n++].count -= cut;
        j++;
    }
    memmove(parts + i + n, parts + j, (size_t)(sequence->n_parts - j) * sizeof *parts);
    memcpy(parts + i, put, (size_t)n * sizeof *put);
    sequence->n_parts += i + n - j;
}

/* Append a piece to the axis as a part, with the gap before it or the overlap. *end is the time at the end of the axis. */
static int place(struct lw_sequence *sequence, const struct lw_join *join, const struct lw_piece *piece, bool has_times,
                 struct lw_instant *end, struct lw_error *err)
{
    struct lw_dataset_info room;
    const struct lw_dataset_info *const info = lw_infos_get(join->infos, piece->file, &room);
    char text[LW_INSTANT_TEXT];
    const int64_t n = piece->count, length = sequence->length;
    const int64_t missing =
        has_times && sequence->n_parts > 0 ? lw_instant_to_sample(*end, info->axis.period, piece->instant, NULL) : 0;
    if (missing > INT64_MAX / 4 - length - n)
        return lw_fail(err, LW_EDATA, "the files are more samples apart than 64 bits count: '%.600s' starts at %s", info->file,
                       lw_sampling_time_text(&info->axis, 0, text));
    const struct lw_file_part part = {piece->file, piece->stretch, length + missing, piece->first, n, piece->instant};
    if (missing < 0)
        sequence->overlaps[sequence->n_overlaps++] =
            (struct lw_overlap){piece->file, piece->first, part.first, lw_min64(n, -missing), piece->instant};
    if (missing > 0)
        sequence->gaps[sequence->n_gaps++] = (struct lw_gap){length, missing};
    if (missing < 0 && join->last_stands) {
        put_over(sequence, &part);
    } else if (missing > -n) {
        const int64_t skip = lw_max64(0, -missing);
        sequence->parts[sequence->n_parts++] =
            (struct lw_file_part){piece->file, piece->stretch, part.first + skip, piece->first + skip, n - skip, piece->instant};
    }
    sequence->n_left_out += missing <= -n && !join->last_stands;
    if (missing <= -n)
        return LW_OK;
    sequence->length = part.first + n;
    if (has_times)
        *end = lw_instant_of_sample(piece->instant, info->axis.period, n);
    return LW_OK;
}

int lw_sequence_join(const struct lw_join *join, struct lw_sequence *out, struct lw_error *err)
{
    const int64_t n = join->n_pieces;
    bool has_times;
    struct lw_instant end = {0, 0};
    *out = (struct lw_sequence){0};
    int rc = compare_all(join->infos, join->axis, &has_times, err);
    if (rc)
        return rc;
    LW_FREED struct lw_piece *const order = lw_alloc_array(n, sizeof *order, "the order of files", err);
    out->parts = lw_alloc_array(2 * n, sizeof *out->parts, "the order of files", err);
    out->gaps = lw_alloc_array(n, sizeof *out->gaps, "the gaps between files", err);
    out->overlaps = lw_alloc_array(n, sizeof *out->overlaps, "the overlaps of files", err);
    rc = order && out->parts && out->gaps && out->overlaps ? LW_OK : LW_ESYSTEM;
    if (rc == LW_OK) {
        memcpy(order, join->pieces, (size_t)n * sizeof *order);
        qsort_r(order, (size_t)n, sizeof *order, has_times ? by_start : by_name, (void *)(uintptr_t)join->infos);
    }
    for (int64_t p = 0; rc == LW_OK && p < n; p++)
        rc = place(out, join, &order[p], has_times, &end, err);
    if (rc)
        lw_sequence_release(out);
    return rc;
}

void lw_sequence_release(struct lw_sequence *sequence)
{
    lw_free(sequence->parts);
    lw_free(sequence->gaps);
    lw_free(sequence->overlaps);
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
