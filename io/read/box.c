#include "io/read/box.h"

#include "base/integers.h"
#include "base/memory.h"
#include "base/proc.h"
#include "io/read/convert.h"
#include "io/read/state.h"

#include <inttypes.h>

enum {
    N_THREADS = 32,
    MOST_OPEN = 16,                     /* files open at a time */
    LEAST_READS = 64, MOST_READS = 1024,        /* reads under way at a time, for few boxes and for many */
    MOST_VALUES = 4 << 20,              /* values in all reads under way; a single box may have more */
    PIECE_BYTES = 1 << 18,              /* bytes that a thread reads at a time */
    DECODING_BYTES = 64 << 20,          /* bytes for the decoders of a file */
};

/* An open file. */
struct file {
    int64_t number;                     /* index of the file in the reader */
    struct lw_source *source;
    struct lw_cells cells;
};

/* One file's share of a box, while it is read. */
struct read {
    struct lw_cells_read cells;
    int64_t first_cell;                 /* number of its first cell among the cells of all reads */
    struct lw_packing packing;
    struct lw_conversion conversion;
};

struct lw_boxes {
    struct lw_dataset_info info;
    const struct lw_reader *files;
    struct lw_type type;                /* type as stored, the same in all files */
    bool keeps_parts;
    struct lw_pool *pool;               /* NULL: the format reads */
    struct file open[MOST_OPEN];
    int n_open, oldest;
    struct read *reads;                 /* [most_reads] */
    int n_reads, most_reads;
    int64_t n_cells;                    /* cells of all reads */
    char *raw;                          /* stored samples of the reads under way */
    int64_t room, used;                 /* size of `raw`; bytes of it in use */
};

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static void close_file(struct file *file)
{
    lw_cells_release(&file->cells);
    lw_source_close(file->source);
    *file = (struct file){.number = -1};
}

static int open_file(const struct lw_boxes *boxes, int64_t number, struct file *file, struct lw_error *err)
{
    struct lw_dataset_info its;
    const struct lw_dataset_info *info = &boxes->info;
    if (boxes->files)
        info = lw_infos_get(&boxes->files->infos, number, &its);
    int decoders = 0, rc = lw_source_open(info, 1, LW_MAX_DIMS, boxes->pool, &file->source, err);
    if (rc)
        return rc;
    const struct lw_source *const source = file->source;
    file->number = number;
    file->cells = (struct lw_cells){.source = source, .most_bytes = PIECE_BYTES, .bounce_bytes = PIECE_BYTES, .axis = -1};
    if (lw_source_decodes(source)) {
        const int64_t room = DECODING_BYTES / lw_max64(1, lw_decoder_bytes(&source->stored.filters));
        decoders = (int)lw_max64(1, lw_min64(2 * lw_proc_cores(), room));
    }
    if ((rc = lw_cells_create(&file->cells, decoders, err)))
        close_file(file);
    return rc;
}

/* ---- reads under way ---------------------------------------------------------------------------------------------------- */

/* Read one cell. The cells of all reads are numbered, one read behind the other. */
static int do_cell(void *context, int64_t piece, int thread, struct lw_error *err)
{
    struct lw_boxes *const boxes = context;
    int low = 0, high = boxes->n_reads;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        *(boxes->reads[middle].first_cell <= piece ? &low : &high) = middle;
    }
    struct read *const read = &boxes->reads[low];
    return lw_cells_do(&read->cells, piece - read->first_cell, thread, err);
}

static int do_conversion(void *context, int64_t piece, int thread, struct lw_error *err)
{
    struct lw_boxes *const boxes = context;
    (void)thread;
    (void)err;
    lw_conversion_begin(&boxes->reads[piece].conversion, NULL);
    return LW_OK;
}

/* Many reads form one batch, which wakes the threads only once. Few reads may be long, so all threads share each of them. */
static void convert(struct lw_boxes *boxes)
{
    enum { FEW = 8 };
    struct lw_batch batch = {.lane = LW_LANE_READ, .n_pieces = boxes->n_reads, .work = do_conversion, .context = boxes};
    if (boxes->pool && boxes->n_reads > FEW) {
        lw_pool_start(boxes->pool, &batch);
        lw_pool_wait(boxes->pool, &batch, NULL);
        return;
    }
    for (int r = 0; r < boxes->n_reads; r++) {
        lw_conversion_begin(&boxes->reads[r].conversion, boxes->pool);
        lw_conversion_end(&boxes->reads[r].conversion, boxes->pool);
    }
}

static int finish(struct lw_boxes *boxes, struct lw_error *err)
{
    struct lw_batch batch = {.lane = LW_LANE_READ, .work = do_cell, .context = boxes, .n_pieces = boxes->n_cells};
    int rc = LW_OK;
    if (batch.n_pieces > 0) {
        lw_pool_start(boxes->pool, &batch);
        rc = lw_pool_wait(boxes->pool, &batch, err);
    }
    for (int r = 0; r < boxes->n_reads; r++)
        lw_cells_end(&boxes->reads[r].cells, NULL);
    if (rc == LW_OK)
        convert(boxes);
    boxes->n_reads = 0;
    boxes->n_cells = boxes->used = 0;
    return rc;
}

/* Find a file among the open ones, or open it. If another file must be closed for it, the reads under way are finished first. */
static int find_file(struct lw_boxes *boxes, int64_t number, struct file **out, struct lw_error *err)
{
    int rc = LW_OK;
    for (int f = 0; f < boxes->n_open; f++)
        if (boxes->open[f].number == number) {
            *out = &boxes->open[f];
            return LW_OK;
        }
    if (boxes->n_open < MOST_OPEN) {
        *out = &boxes->open[boxes->n_open++];
        (*out)->number = -1;
    } else {
        rc = finish(boxes, err);
        *out = &boxes->open[boxes->oldest];
        boxes->oldest = (boxes->oldest + 1) % MOST_OPEN;
        close_file(*out);
    }
    return rc ? rc : open_file(boxes, number, *out, err);
}

int lw_boxes_open(const struct lw_boxes_spec *spec, struct lw_boxes **out, struct lw_error *err)
{
    struct lw_boxes *const boxes = lw_alloc(sizeof *boxes, "samples", err);
    struct file *first;
    if (!boxes)
        return LW_ESYSTEM;
    *boxes = (struct lw_boxes){.info = *spec->info, .files = spec->files, .keeps_parts = spec->keeps_parts,
                               .type = spec->files ? spec->files->infos.first->type : spec->info->type};
    int rc = spec->is_pooled ? lw_pool_create(N_THREADS, &boxes->pool, err) : LW_OK;
    if (rc == LW_OK)
        rc = find_file(boxes, boxes->files ? boxes->files->sequence.parts[0].file : 0, &first, err);
    if (rc)
        lw_boxes_close(boxes);
    else
        *out = boxes;
    return rc;
}

void lw_boxes_close(struct lw_boxes *boxes)
{
    if (!boxes)
        return;
    for (int f = 0; f < boxes->n_open; f++)
        close_file(&boxes->open[f]);
    lw_pool_destroy(boxes->pool);
    lw_free(boxes->reads);
    lw_free(boxes->raw);
    lw_free(boxes);
}

/* ---- boxes into reads ---------------------------------------------------------------------------------------------------- */

static int64_t count_values(const struct lw_sample_box *box) { return lw_product64(box->count, LW_MAX_DIMS); }

/* Grow the memory for stored samples to at least `bytes`. Growth drops its contents, so no read may be under way then. */
static int reserve(struct lw_boxes *boxes, int64_t bytes, struct lw_error *err)
{
    if (bytes <= boxes->room)
        return LW_OK;
    lw_free(boxes->raw);
    boxes->raw = lw_alloc((size_t)bytes, "samples", err);
    boxes->room = boxes->raw ? bytes : 0;
    return boxes->raw ? LW_OK : LW_ESYSTEM;
}

/* Return how many numbers each sample becomes. */
static int64_t numbers(const struct lw_boxes *boxes) { return boxes->type.is_complex && boxes->keeps_parts ? 2 : 1; }

/* Find the bytes from one sample of a row-major box to the next, in each dimension. */
static void find_pitch(const struct lw_sample_box *box, int64_t bytes, int64_t pitch[LW_MAX_DIMS])
{
    for (int d = LW_MAX_DIMS - 1; d >= 0; d--) {
        pitch[d] = bytes;
        bytes *= box->count[d];
    }
}

/* Add a box of one file to the reads under way, which are finished first if there is no room.
 * @param into, pitch  place of the box's values, and bytes from one value to the next in each dimension
 * @param d  dimension along which the box may be cut from a larger one; faster dimensions are contiguous in `into` */
static int add(struct lw_boxes *boxes, int64_t number, const struct lw_sample_box *box, int d, char *into, const int64_t *pitch,
               struct lw_error *err)
{
    const int64_t sample = (int64_t)lw_type_bytes(boxes->type), bytes = count_values(box) * sample;
    struct file *file;
    int rc = find_file(boxes, number, &file, err);
    if (rc == LW_OK && (boxes->n_reads == boxes->most_reads || boxes->used + bytes > boxes->room))
        rc = finish(boxes, err);
    if (rc || (rc = reserve(boxes, boxes->used + bytes, err)))
        return rc;
    struct read *const read = &boxes->reads[boxes->n_reads];
    const struct lw_source *const source = file->source;
    *read = (struct read){.packing = source->info.packing, .first_cell = boxes->n_cells};
    struct lw_target *const target = &read->cells.targets[read->cells.n_targets++];
    memcpy(target->first, box->first, sizeof target->first);
    memcpy(target->count, box->count, sizeof target->count);
    memcpy(target->step, box->step, sizeof target->step);
    find_pitch(box, sample, target->pitch);
    target->into = boxes->raw + boxes->used;
    const int64_t length = target->pitch[d] / sample * box->count[d];
    read->conversion = (struct lw_conversion){
        .type = source->info.type, .packing = &read->packing, .to = LW_FLOAT64, .makes_magnitudes = !boxes->keeps_parts,
        .n_rows = count_values(box) / length, .length = length,
        .stored = target->into, .stored_pitch = length * sample, .into = into, .into_pitch = d > 0 ? pitch[d - 1] : 0,
    };
    boxes->used += bytes;
    if ((rc = lw_cells_plan(&file->cells, &read->cells, err)))
        lw_cells_end(&read->cells, NULL);
    boxes->n_reads += rc == LW_OK;
    boxes->n_cells += rc == LW_OK ? read->cells.batch.n_pieces : 0;
    return rc;
}

/* Add each part's share of a box. The caller has set values in gaps to NaN. */
static int add_joined(struct lw_boxes *boxes, const struct lw_sample_box *box, char *values, const int64_t *pitch,
                      struct lw_error *err)
{
    const struct lw_sequence *const sequence = &boxes->files->sequence;
    const int d = boxes->files->axis;
    int rc = LW_OK;
    struct lw_sample_box own = *box;
    for (int64_t done = 0; done < box->count[d] && rc == LW_OK; done += own.count[d]) {
        const int64_t at = box->first[d] + done * box->step[d];
        const struct lw_file_part *const part = &sequence->parts[lw_sequence_find(sequence, at)];
        const bool is_gap = at < part->first;
        const int64_t end = is_gap ? part->first : part->first + part->count;
        own.count[d] = lw_min64(box->count[d] - done, lw_divide_up(end - at, box->step[d]));
        own.first[d] = at - part->first + part->skip;
        if (!is_gap)
            rc = add(boxes, part->file, &own, d, values + done * pitch[d], pitch, err);
    }
    return rc;
}

int lw_boxes_read(struct lw_boxes *boxes, const struct lw_sample_box *wanted, int n, double *values, struct lw_error *err)
{
    const int most = (int)lw_max64(LEAST_READS, lw_min64(n, MOST_READS));
    int64_t all = 0;
    for (int b = 0; b < n; b++)
        all += count_values(&wanted[b]);
    if (most > boxes->most_reads) {
        lw_free(boxes->reads);
        boxes->reads = lw_alloc_array(most, sizeof *boxes->reads, "samples", err);
        boxes->most_reads = boxes->reads ? most : 0;
    }
    int rc = boxes->reads ? reserve(boxes, lw_min64(all, MOST_VALUES) * (int64_t)lw_type_bytes(boxes->type), err) : LW_ESYSTEM;
    const bool has_gaps = boxes->files && boxes->files->sequence.n_gaps > 0;
    for (int b = 0; b < n && rc == LW_OK; b++) {
        const int64_t n_values = count_values(&wanted[b]) * numbers(boxes);
        int64_t pitch[LW_MAX_DIMS];
        for (int64_t i = 0; has_gaps && i < n_values; i++)
            values[i] = NAN;
        find_pitch(&wanted[b], numbers(boxes) * (int64_t)sizeof *values, pitch);
        rc = boxes->files ? add_joined(boxes, &wanted[b], (char *)values, pitch, err)
                          : add(boxes, 0, &wanted[b], 0, (char *)values, pitch, err);
        values += n_values;
    }
    const int code = finish(boxes, rc ? NULL : err);
    return rc ? rc : code;
}

/* ---- all of a small dataset, on one process --------------------------------------------------------------------------- */

/* Read all samples as boxes, each of some rows of the first dimension. */
static int read_boxes(const struct lw_dataset_info *info, double *values, struct lw_error *err)
{
    enum { BLOCK_VALUES = 1 << 17 };
    const struct lw_boxes_spec spec = {.info = info, .keeps_parts = true};
    struct lw_sample_box box = {.count = {1, 1, 1, 1}, .step = {1, 1, 1, 1}};
    struct lw_boxes *boxes = NULL;
    const int64_t row = lw_product64(info->dims + 1, info->n_dims - 1);
    memcpy(box.count, info->dims, (size_t)info->n_dims * sizeof *info->dims);
    int rc = lw_boxes_open(&spec, &boxes, err);
    for (; rc == LW_OK && box.first[0] < info->dims[0]; box.first[0] += box.count[0]) {
        box.count[0] = lw_min64(lw_max64(1, BLOCK_VALUES / row), info->dims[0] - box.first[0]);
        rc = lw_boxes_read(boxes, &box, 1, values + box.first[0] * row * (info->type.is_complex ? 2 : 1), err);
    }
    lw_boxes_close(boxes);
    return rc;
}

int lw_format_read_numbers(const struct lw_format *format, const struct lw_dataset_info *info, double *values, struct lw_error *err)
{
    if (!format->read_numbers)
        return read_boxes(info, values, err);
    const int rc = format->read_numbers(info, values, err);
    if (rc == LW_OK)
        lw_packing_undo(&info->packing, info->type, lw_product64(info->dims, info->n_dims), values);
    return rc;
}

/* ---- all of a small dataset, broadcast to every rank ----------------------------------------------------------------------- */

/* Return the number of doubles in all elements; -1: too many for 64 bits. */
static int64_t count_doubles(const struct lw_dataset_info *info)
{
    int64_t count = info->type.is_complex ? 2 : 1;
    for (int d = 0; d < info->n_dims; d++)
        if (__builtin_mul_overflow(count, info->dims[d], &count))
            return -1;
    return count;
}

/* @param described  set to the description with all dimensions, `info` to the one without those that are dropped */
static int examine(const char *name, int most_dims, struct lw_dataset_info *described, struct lw_dataset_info *info,
                   struct lw_error *err)
{
    const int rc = lw_examine_dataset(name, NULL, LW_USE_NUMBERS, described, err);
    if (rc)
        return rc;
    *info = *described;
    lw_source_squeeze(info, 1, most_dims, NULL);
    if (info->n_dims > most_dims || info->n_dims < 1)
        return lw_fail(err, LW_EDATA, "%s has %d dimensions: it must have 1%s%.0d", lw_dataset_name(info).text, info->n_dims,
                       most_dims > 2 ? " to " : most_dims == 2 ? " or " : "", most_dims > 1 ? most_dims : 0);
    if (count_doubles(info) < 0)
        return lw_fail(err, LW_EDATA, "%s has %" PRId64 " x %" PRId64 "%s elements: more than any memory holds",
                       lw_dataset_name(info).text, info->dims[0], info->dims[1], info->n_dims > 2 ? " x .." : "");
    return LW_OK;
}

int lw_numbers_read(const char *name, int most_dims, struct lw_dataset_info *info, double **values, struct lw_error *err)
{
    const struct lw_format *format;
    struct lw_dataset_info described;
    int rc = examine(name, most_dims, &described, info, err);
    if (rc)
        return rc;
    const int64_t count = count_doubles(info);
    if (!(*values = lw_alloc_array(count, sizeof **values, lw_dataset_name(info).text, err)))
        return LW_ESYSTEM;
    (void)((rc = lw_formats_find(info->file, NULL, &format, err)) ||
           (rc = lw_format_read_numbers(format, &described, *values, err)));
    return rc;
}

int lw_reader_read_numbers(struct lw_comm *comm, const char *name, int most_dims, struct lw_dataset_info *info, double **values,
                           struct lw_error *err)
{
    const bool reads = lw_comm_rank(comm) == 0;
    struct lw_dataset_info found = {0};
    double *all = NULL;
    int rc = lw_comm_agree(comm, reads ? lw_numbers_read(name, most_dims, &found, &all, err) : LW_OK, err);
    if (rc)
        goto fail;
    lw_comm_broadcast(comm, &found, sizeof found);
    const int64_t count = count_doubles(&found);
    if (!reads)
        all = lw_alloc_array(count, sizeof *all, lw_dataset_name(&found).text, err);
    if ((rc = lw_comm_agree(comm, all ? LW_OK : LW_ESYSTEM, err)))
        goto fail;
    lw_comm_broadcast(comm, all, count * (int64_t)sizeof *all);
    *info = found;
    *values = all;
    return LW_OK;
fail:
    lw_free(all);
    return rc;
}

int lw_reader_examine_numbers(struct lw_comm *comm, const char *name, int most_dims, struct lw_dataset_info *info,
                              struct lw_error *err)
{
    struct lw_dataset_info described;
    const bool examines = lw_comm_rank(comm) == 0;
    const int rc = lw_comm_agree(comm, examines ? examine(name, most_dims, &described, info, err) : LW_OK, err);
    if (rc == LW_OK)
        lw_comm_broadcast(comm, info, sizeof *info);
    return rc;
}
