#include "io/read/state.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/read/convert.h"
#include "options/words.h"

#include <assert.h>
#include <sys/stat.h>

/* Most files open at the same time, and most host bytes for reading them. Three files may be open whatever memory they take: the
 * longest, which stays open, and two more where one ends and the next begins. */
enum { MOST_OPEN = 64, LEAST_OPEN = 3 };
static const int64_t most_open_bytes = (int64_t)256 << 20;

/* ---- open ----------------------------------------------------------------------------------------------------------------- */

static const struct lw_dataset_info *file_of(const struct lw_reader *reader, int64_t part, struct lw_dataset_info *info)
{
    return lw_infos_get(&reader->infos, reader->sequence.parts[part].file, info);
}

static int open_part(struct lw_reader *reader, struct lw_opened *opened, int64_t part, struct lw_error *err)
{
    const struct lw_reader_request *const request = &reader->request;
    struct lw_dataset_info info;
    opened->part = part;
    return lw_view_open(file_of(reader, part, &info), request->least_dims, request->most_dims, reader->pool, &opened->view, err);
}

int lw_reader_describe(struct lw_comm *comm, const struct lw_reader_request *request, struct lw_reader **out, struct lw_error *err)
{
    struct lw_reader *const reader = lw_alloc(sizeof *reader, "the reader", err);
    int rc = lw_comm_agree(comm, reader ? LW_OK : LW_ESYSTEM, err);
    if (rc) {
        lw_free(reader);
        return rc;
    }
    *reader = (struct lw_reader){.comm = comm, .request = *request};
    if ((rc = lw_describe(reader, err)))
        lw_reader_close(reader);
    else
        *out = reader;
    return rc;
}

int lw_reader_open_all(struct lw_comm *comm, const struct lw_reader_request *request, struct lw_reader **out, struct lw_error *err)
{
    struct lw_reader *reader;
    int rc = lw_reader_describe(comm, request, &reader, err);
    if (rc)
        return rc;
    const struct lw_sequence *const sequence = &reader->sequence;
    for (int64_t p = 1; p < sequence->n_parts; p++)
        if (sequence->parts[p].count > sequence->parts[reader->longest].count)
            reader->longest = p;
    reader->opened = lw_alloc_array(MOST_OPEN, sizeof *reader->opened, "the open files", err);
    reader->n_opened = reader->opened ? 1 : 0;
    rc = reader->opened ? open_part(reader, &reader->opened[0], reader->longest, err) : LW_ESYSTEM;
    if ((rc = lw_comm_agree(comm, rc, err)))
        lw_reader_close(reader);
    else
        *out = reader;
    return rc;
}

int lw_reader_open(struct lw_comm *comm, const char *name, struct lw_reader **out, struct lw_error *err)
{
    return lw_reader_open_one(comm, name, LW_MAX_DIMS, LW_SINGLE, out, err);
}

int lw_reader_open_one(struct lw_comm *comm, const char *name, int most_dims, enum lw_precision precision, struct lw_reader **out,
                       struct lw_error *err)
{
    char names[8 * LW_MAX_PATH] = "";
    if (lw_words_room(name) > sizeof names)
        return lw_fail(err, LW_EUSAGE, "the name '%.200s...' is longer than %d characters", name, LW_MAX_PATH - 1);
    lw_words_append(name, names, names);
    const struct lw_reader_request request = {.names = names, .least_dims = 1, .most_dims = most_dims, .join = LW_JOIN_TIME,
                                              .precision = precision};
    return lw_reader_open_all(comm, &request, out, err);
}

void lw_reader_close(struct lw_reader *reader)
{
    if (!reader)
        return;
    for (int o = 0; o < reader->n_opened; o++)
        lw_view_close(reader->opened[o].view);
    lw_sequence_release(&reader->sequence);
    lw_infos_release(&reader->infos);
    lw_free(reader->opened);
    lw_free(reader->scratch);
    lw_free(reader);
}

static struct lw_source *longest(const struct lw_reader *reader) { return reader->opened[0].view->source; }

void lw_reader_use(struct lw_reader *reader, struct lw_pool *pool)
{
    reader->pool = pool;
    lw_source_use(longest(reader), pool);
}

/* ---- descriptions --------------------------------------------------------------------------------------------------------- */

int64_t lw_reader_table_bytes(const struct lw_reader *reader)
{
    const struct lw_sequence *const sequence = &reader->sequence;
    return (int64_t)sizeof *reader->infos.first + reader->infos.bytes + reader->n_files * (int64_t)sizeof *reader->infos.begin +
           sequence->n_parts * (int64_t)sizeof *sequence->parts + sequence->n_gaps * (int64_t)sizeof *sequence->gaps;
}

const struct lw_dataset_info *lw_reader_info(const struct lw_reader *reader) { return &reader->info; }

int64_t lw_reader_gaps(const struct lw_reader *reader, const struct lw_gap **gaps)
{
    *gaps = reader->sequence.gaps;
    return reader->sequence.n_gaps;
}

void lw_reader_file(const struct lw_reader *reader, int64_t number, struct lw_dataset_info *info)
{
    lw_infos_get(&reader->infos, number, info);
}

bool lw_reader_has_file(const struct lw_reader *reader, const char *file)
{
    struct stat wanted, there;
    if (stat(file, &wanted) != 0)
        return false;
    for (int64_t f = 0; f < reader->n_files; f++)
        if (stat(lw_infos_file(&reader->infos, f), &there) == 0 && there.st_dev == wanted.st_dev && there.st_ino == wanted.st_ino)
            return true;
    return false;
}

/* ---- the view of a part --------------------------------------------------------------------------------------------------- */

/* Return whether the input is one file without gaps. Its view may take any dimension as the axis. */
static bool is_single(const struct lw_reader *reader) { return reader->n_files == 1 && reader->sequence.n_parts == 1; }

/* Return how many samples of the view a part has; 0 or less: none. @param begin  set to the first of them, on the axis */
static int64_t shown(const struct lw_reader *reader, const struct lw_view_spec *view, int64_t part, int64_t *begin)
{
    const struct lw_file_part *const its = &reader->sequence.parts[part];
    if (is_single(reader)) {
        *begin = view->start;
        return view->count;
    }
    *begin = lw_max64(its->first, view->start);
    return lw_min64(its->first + its->count, view->start + view->count) - *begin;
}

static bool has_gaps(const struct lw_reader *reader, int64_t part)
{
    struct lw_dataset_info info;
    return file_of(reader, part, &info)->n_stretches > 1;
}

/* Return the view of a part's file. A file with gaps has one view of all its samples, which its parts share. The file of a part
 * outside the reader's view shows one sample, because a view cannot be empty. */
static struct lw_view_spec view_of(const struct lw_reader *reader, const struct lw_view_spec *view, int64_t part)
{
    const struct lw_file_part *const its = &reader->sequence.parts[part];
    struct lw_view_spec own = *view;
    struct lw_dataset_info info;
    int64_t begin;
    if (is_single(reader))
        return own;
    own.count = shown(reader, view, part, &begin);
    if (own.count < 1) {
        own.count = 1;
        begin = its->first;
    }
    own.start = its->skip + begin - its->first;
    if (file_of(reader, part, &info)->n_stretches > 1) {
        own.start = 0;
        own.count = info.dims[info.metadata_axis];
    }
    own.max_axis = lw_min64(view->max_axis, own.count);
    return own;
}

/* Return a view of the files shown as a view of the axis of all files, which may begin with files beside them. */
static struct lw_view_spec on_axis(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    struct lw_view_spec own = *view;
    own.start += reader->lead;
    return own;
}

int lw_reader_check(const struct lw_reader *reader, const struct lw_view_spec *view, struct lw_error *err)
{
    struct lw_dataset_info all = reader->info;
    struct lw_view_spec own = *view;
    if (!is_single(reader) && view->axis != reader->axis)
        return lw_fail(err, LW_ECONFIG, "%s is joined along its dimension %d: dimension %d cannot be the axis",
                       lw_dataset_name(&reader->info).text, reader->axis, view->axis);
    own.start += all.before;
    all.dims[reader->axis] += all.before + all.after;
    return lw_view_check(&all, &own, err);
}

/* Return the bytes of the buffer for stored samples that await conversion. */
static int64_t scratch_bytes(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    const int64_t sample = lw_view_sample_bytes(longest(reader), view);
    return reader->converts ? view->max_axis * view->max_channels * sample : 0;
}

static int64_t source_bytes(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    const struct lw_view_spec own = view_of(reader, view, reader->longest);
    return lw_view_bytes(longest(reader), &own);
}

static int count_open(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    const int64_t room = most_open_bytes / lw_max64(1, source_bytes(reader, view));
    return (int)lw_min64(reader->sequence.n_parts, lw_max64(LEAST_OPEN, lw_min64(MOST_OPEN, room)));
}

int64_t lw_reader_bytes(const struct lw_reader *reader, const struct lw_view_spec *shown_view)
{
    const struct lw_view_spec view = on_axis(reader, shown_view);
    return count_open(reader, &view) * source_bytes(reader, &view) + scratch_bytes(reader, &view);
}

int64_t lw_reader_chunk_width(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    const struct lw_view_spec all = on_axis(reader, view), own = view_of(reader, &all, reader->longest);
    return lw_view_chunk_width(longest(reader), &own);
}

/* The estimate takes every part to be like the longest. */
struct lw_chunk_cost lw_reader_chunk_cost(const struct lw_reader *reader, const struct lw_view_spec *view,
                                          const struct lw_reads *reads)
{
    const struct lw_view_spec all = on_axis(reader, view), own = view_of(reader, &all, reader->longest);
    struct lw_chunk_cost cost = lw_view_chunk_cost(longest(reader), &own, reads);
    cost.seconds *= (double)view->count / (double)own.count;
    return cost;
}

bool lw_reader_locate(const struct lw_reader *reader, struct lw_reader_place *place)
{
    return is_single(reader) && lw_view_locate(reader->opened[0].view, place);
}

int lw_reader_select(struct lw_reader *reader, const struct lw_view_spec *view, struct lw_error *err)
{
    int rc = lw_reader_check(reader, view, err);
    if (rc)
        return rc;
    assert(view->max_axis > 0 && view->max_channels > 0);
    for (int o = 1; o < reader->n_opened; o++)
        lw_view_close(reader->opened[o].view);
    reader->n_opened = 1;
    reader->view = on_axis(reader, view);
    reader->most_opened = count_open(reader, &reader->view);
    lw_free(reader->scratch);
    reader->scratch = NULL;
    const int64_t bytes = scratch_bytes(reader, view);
    if (bytes > 0 && !(reader->scratch = lw_alloc((size_t)bytes, "samples as they are stored", err)))
        return LW_ESYSTEM;
    const struct lw_view_spec own = view_of(reader, &reader->view, reader->longest);
    return lw_view_select(reader->opened[0].view, &own, err);
}

/* ---- the open files ------------------------------------------------------------------------------------------------------- */

static int wait_for(struct lw_opened *opened, struct lw_error *err)
{
    const int rc = opened->is_busy ? lw_view_end(opened->view, err) : LW_OK;
    opened->is_busy = false;
    return rc;
}

/* Find a place for one more file: an empty place, or the place of the least recently used file, once its read has ended. */
static int make_place(struct lw_reader *reader, struct lw_opened **out, struct lw_error *err)
{
    struct lw_opened *oldest = &reader->opened[1];
    if (reader->n_opened < reader->most_opened) {
        *out = &reader->opened[reader->n_opened];
        **out = (struct lw_opened){0};
        return LW_OK;
    }
    for (int o = 2; o < reader->n_opened; o++)
        if (reader->opened[o].used < oldest->used)
            oldest = &reader->opened[o];
    *out = oldest;
    return wait_for(oldest, err);
}

static int open_view(struct lw_reader *reader, struct lw_opened *opened, int64_t part, struct lw_error *err)
{
    const struct lw_view_spec own = view_of(reader, &reader->view, part);
    struct lw_opened fresh = {0};
    int rc;
    if ((rc = open_part(reader, &fresh, part, err)) || (rc = lw_view_select(fresh.view, &own, err))) {
        lw_view_close(fresh.view);
        return rc;
    }
    lw_view_close(opened->view);
    *opened = fresh;
    return LW_OK;
}

static int find_opened(struct lw_reader *reader, int64_t part, struct lw_opened **out, struct lw_error *err)
{
    int rc = LW_OK;
    *out = NULL;
    for (int o = 0; o < reader->n_opened; o++)
        if (reader->opened[o].part == part ||
            (has_gaps(reader, part) && reader->sequence.parts[reader->opened[o].part].file == reader->sequence.parts[part].file))
            *out = &reader->opened[o];
    if (!*out && (rc = make_place(reader, out, err)) == LW_OK && (rc = open_view(reader, *out, part, err)) == LW_OK)
        reader->n_opened = (int)lw_max64(reader->n_opened, *out - reader->opened + 1);
    if (rc == LW_OK)
        (*out)->used = ++reader->clock;
    return rc;
}

/* ---- read ----------------------------------------------------------------------------------------------------------------- */

/* Find the samples [*begin, *end) of the axis that the slab takes from part p. @return  false: the part is behind the slab */
static bool is_in_slab(const struct lw_reader *reader, int64_t p, int64_t *begin, int64_t *end)
{
    const struct lw_file_part *const part = &reader->sequence.parts[p];
    *begin = reader->view.start + reader->slab.first;
    *end = *begin + reader->slab.count;
    if (is_single(reader))
        return p == 0;
    if (p >= reader->sequence.n_parts || part->first >= *end)
        return false;
    *begin = lw_max64(*begin, part->first);
    *end = lw_min64(*end, part->first + part->count);
    return true;
}

static int64_t first_in_slab(const struct lw_reader *reader)
{
    return is_single(reader) ? 0 : lw_sequence_find(&reader->sequence, reader->view.start + reader->slab.first);
}

/* Begin to read samples [begin, end) of the axis, all in one part, into the slab or the scratch buffer. */
static int begin_part(struct lw_reader *reader, int64_t part, int64_t begin, int64_t end, struct lw_error *err)
{
    struct lw_opened *opened;
    int64_t first;
    int rc;
    if ((rc = find_opened(reader, part, &opened, err)) || (rc = wait_for(opened, err)))
        return rc;
    shown(reader, &reader->view, part, &first);
    const int64_t before = begin - (reader->view.start + reader->slab.first);
    struct lw_slab own = reader->slab;
    own.first = begin - first +
                (has_gaps(reader, part) ? reader->sequence.parts[part].skip + first - reader->sequence.parts[part].first : 0);
    own.count = end - begin;
    own.into_first += before;
    if (reader->scratch) {
        own.into = reader->scratch;
        own.into_axis = reader->slab.count;
        own.into_first = before;
    }
    opened->is_busy = true;
    return lw_view_begin(opened->view, &own, err);
}

int lw_reader_begin(struct lw_reader *reader, const struct lw_slab *slab, struct lw_error *err)
{
    assert(slab->count <= reader->view.max_axis && slab->n_channels <= reader->view.max_channels);
    assert(slab->count == 0 || slab->first + slab->count <= reader->view.count);
    reader->slab = *slab;
    int rc = LW_OK;
    if (slab->count > 0 && slab->n_channels > 0)
        for (int64_t p = first_in_slab(reader), begin, end; rc == LW_OK && is_in_slab(reader, p, &begin, &end); p++)
            rc = begin_part(reader, p, begin, end, err);
    return rc;
}

/* Return the number of contiguous rows in a slab: one for each channel where time is fast, else a single one. */
static int64_t count_rows(const struct lw_reader *reader)
{
    return lw_view_is_time_slow(longest(reader), &reader->view) ? 1 : reader->slab.n_channels;
}

/* Return the number of values that each sample of the axis has in one row. */
static int64_t values_of_sample(const struct lw_reader *reader)
{
    return lw_view_row_length(longest(reader), &reader->view) * reader->slab.n_channels / count_rows(reader);
}

/* Convert samples [first, first + count) of the slab, all of one part, from the scratch buffer. */
static void convert_part(const struct lw_reader *reader, int64_t part, int64_t first, int64_t count)
{
    const struct lw_slab *const slab = &reader->slab;
    const struct lw_type stored = longest(reader)->info.type, shown = reader->info.type;
    const int64_t values = values_of_sample(reader);
    const int64_t from_bytes = values * (int64_t)lw_type_bytes(stored), to_bytes = values * (int64_t)lw_type_bytes(shown);
    struct lw_dataset_info file;
    struct lw_conversion conversion = {
        .type = stored, .packing = &file_of(reader, part, &file)->packing, .to = shown.scalar,
        .n_rows = count_rows(reader), .length = count * values,
        .stored = reader->scratch + first * from_bytes, .stored_pitch = slab->count * from_bytes,
        .into = (char *)slab->into + (slab->into_first + first) * to_bytes, .into_pitch = slab->into_axis * to_bytes,
    };
    lw_conversion_begin(&conversion, reader->pool);
    lw_conversion_end(&conversion, reader->pool);
}

/* Fill samples [first, first + count) of the slab, which lie in a gap, with zeros or NaN. */
static void fill(const struct lw_reader *reader, int64_t first, int64_t count)
{
    const struct lw_slab *const slab = &reader->slab;
    const int64_t n_rows = count_rows(reader), values = values_of_sample(reader);
    const int64_t bytes = values * (int64_t)lw_type_bytes(reader->info.type);
    for (int64_t r = 0; r < n_rows; r++) {
        char *const to = (char *)slab->into + (r * slab->into_axis + slab->into_first + first) * bytes;
        if (reader->request.gaps == LW_GAPS_ZERO)
            memset(to, 0, (size_t)(count * bytes));
        else
            lw_convert_fill_nan(reader->info.type, count * values, to);
    }
}

/* Convert the slab's samples from the scratch buffer, part by part because each file may be packed differently; fill the gaps. */
static void complete(const struct lw_reader *reader)
{
    const int64_t start = reader->view.start + reader->slab.first, stop = start + reader->slab.count;
    if (reader->scratch)
        for (int64_t p = first_in_slab(reader), begin, end; is_in_slab(reader, p, &begin, &end); p++)
            convert_part(reader, p, begin - start, end - begin);
    for (int64_t g = 0; g < reader->sequence.n_gaps; g++) {
        const struct lw_gap *const gap = &reader->sequence.gaps[g];
        const int64_t first = lw_max64(start, gap->first), last = lw_min64(stop, gap->first + gap->count);
        if (first < last)
            fill(reader, first - start, last - first);
    }
}

int lw_reader_end(struct lw_reader *reader, struct lw_error *err)
{
    int rc = LW_OK;
    for (int o = 0; o < reader->n_opened; o++) {
        const int code = wait_for(&reader->opened[o], rc ? NULL : err);
        rc = rc ? rc : code;
    }
    if (rc == LW_OK && reader->slab.count > 0 && reader->slab.n_channels > 0)
        complete(reader);
    reader->slab.count = 0;
    return rc;
}

int lw_reader_read(struct lw_reader *reader, const struct lw_slab *slab, struct lw_error *err)
{
    const int rc = lw_reader_begin(reader, slab, err);
    const int code = lw_reader_end(reader, rc ? NULL : err);
    return rc ? rc : code;
}
