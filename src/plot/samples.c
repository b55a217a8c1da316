#include "plot/samples.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/proc.h"
#include "io/bytes/box.h"
#include "io/bytes/decoders.h"
#include "io/bytes/transfer.h"
#include "io/format.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    N_THREADS = 32,
    MOST_OPEN = 16,                     /* files at a time */
    MOST_PIECES = 4096,                 /* handed to the threads at a time */
    PIECE_VALUES = 1 << 16,             /* read by a thread at a time */
    BOUNCE_BYTES = 1 << 18,
    DECODING_BYTES = 64 << 20,          /* of the decoders of a file */
};

/* A file that is open. */
struct file {
    int64_t part;                       /* of the sequence; 0 of one file */
    struct lw_dataset_info info;
    const struct lw_format *format;
    void *dataset;                      /* the format's; NULL: the samples lie flat, and `stored` is all that is needed */
    int fd;                             /* of a flat file; -1: none */
    bool is_located;
    struct lw_stored stored;
    struct lw_decoders *decoders;       /* of chunks, made by the first read of one */
};

/* Samples of one file, or of a gap, and where they go. */
struct piece {
    const struct file *file;            /* NULL: a gap */
    struct lw_samples_box box;          /* of the file's samples */
    int slow, fast;                     /* the dimensions along which it may have more than one; -1: there is none */
    struct lw_stored_chunk chunk;
    double *into;
    int64_t pitch;                      /* values from a place of the slower dimension to the next */
};

struct lw_samples {
    struct lw_samples_source source;
    struct lw_pool *pool;
    struct file files[MOST_OPEN];
    int n_files, oldest;
    struct piece *pieces;
    int n_pieces;
    char *raw;                          /* [N_THREADS x PIECE_VALUES] samples as they are stored */
    char *bounce;                       /* [N_THREADS x BOUNCE_BYTES] */
};

/* As it is stored, alike in all files. */
static int64_t sample_bytes(const struct lw_samples *samples)
{
    const struct lw_samples_source *const source = &samples->source;
    return (int64_t)lw_type_bytes((source->files ? source->files->first : &source->info)->type);
}

/* ---- real numbers -------------------------------------------------------------------------------------------------- */

#define X(name, ctype, text)                                                                \
    static void convert_##name(const void *stored, int64_t count, double *values)           \
    {                                                                                       \
        const ctype *const samples = stored;                                                \
        for (int64_t i = 0; i < count; i++)                                                 \
            values[i] = (double)samples[i];                                                 \
    }
LW_SCALARS(X)
#undef X

static double magnitude(struct lw_type type, const struct lw_packing *packing, const void *stored, int64_t i)
{
    double parts[2] = {lw_type_number(type, stored, 2 * i), lw_type_number(type, stored, 2 * i + 1)};
    lw_packing_undo(packing, type, 1, parts);
    return hypot(parts[0], parts[1]);
}

static void load(struct lw_type type, const void *stored, int64_t count, double *values)
{
    if (type.is_swapped || type.scalar == LW_FLOAT16)
        for (int64_t i = 0; i < count; i++)
            values[i] = lw_type_number(type, stored, i);
    else
        switch (type.scalar) {
#define X(name, ctype, text) case name: convert_##name(stored, count, values); return;
        LW_SCALARS(X)
#undef X
        case LW_FLOAT16: return;
        }
}

static void convert(const struct lw_dataset_info *info, const void *stored, int64_t count, double *values)
{
    for (int64_t i = 0; info->type.is_complex && i < count; i++)
        values[i] = magnitude(info->type, &info->packing, stored, i);
    if (info->type.is_complex)
        return;
    load(info->type, stored, count, values);
    lw_packing_undo(&info->packing, info->type, count, values);
}

/* ---- the two dimensions of a piece ------------------------------------------------------------------------------------- */

static int64_t count_of(const struct piece *piece, int dimension)
{
    return dimension >= 0 ? piece->box.count[dimension] : 1;
}

static int64_t n_rows(const struct piece *piece) { return count_of(piece, piece->slow); }
static int64_t n_values(const struct piece *piece) { return count_of(piece, piece->fast); }

/* Bytes from one sample that is wanted to the next along a dimension, in an array of such lengths. */
static int64_t stride_of(const struct piece *piece, const int64_t *lengths, int dimension)
{
    const struct lw_dataset_info *const info = &piece->file->info;
    int64_t bytes = (int64_t)lw_type_bytes(info->type);
    for (int d = info->n_dims - 1; d > dimension; d--)
        bytes *= lengths[d];
    return dimension < 0 ? 0 : bytes * piece->box.step[dimension];
}

/* To a row behind the other, from an array of such lengths, whose first sample has the coordinates `origin`.
 * @param offset  of the first sample */
static struct lw_bytes_box bytes_of(const struct piece *piece, const int64_t *lengths, const int64_t *origin, int64_t *offset)
{
    const int64_t bytes = (int64_t)lw_type_bytes(piece->file->info.type);
    *offset = 0;
    for (int d = 0; d < piece->file->info.n_dims; d++)
        *offset += (piece->box.first[d] - origin[d]) * (stride_of(piece, lengths, d) / piece->box.step[d]);
    return (struct lw_bytes_box){
        .count = {1, n_rows(piece), n_values(piece)}, .element_bytes = bytes, .to = {0, n_values(piece) * bytes, bytes},
        .from = {0, stride_of(piece, lengths, piece->slow), stride_of(piece, lengths, piece->fast)},
    };
}

/* ---- what a thread does ---------------------------------------------------------------------------------------------- */

static const int64_t no_origin[LW_MAX_DIMS] = {0};

/* The samples of a piece that is no chunk have room in `raw`, one row behind the other. */
static void put_rows(const struct piece *piece, const char *raw)
{
    const struct lw_type type = piece->file->info.type;
    const int64_t n = n_values(piece);
    for (int64_t row = 0; row < n_rows(piece); row++)
        convert(&piece->file->info, raw + row * n * (int64_t)lw_type_bytes(type), n, piece->into + row * piece->pitch);
}

static int read_flat(const struct piece *piece, char *raw, char *bounce, struct lw_error *err)
{
    const struct lw_stored *const stored = &piece->file->stored;
    int64_t offset;
    const struct lw_bytes_box box = bytes_of(piece, piece->file->info.dims, no_origin, &offset);
    const int rc = lw_bytes_read_box(&box, stored->fd, stored->offset + offset, raw, bounce, BOUNCE_BYTES, err);
    if (rc == LW_OK)
        put_rows(piece, raw);
    return rc;
}

static int read_by_format(const struct piece *piece, char *raw, struct lw_error *err)
{
    const int64_t n = n_rows(piece) * n_values(piece);
    struct lw_box box = {.into = raw, .n_runs = 1, .run = n, .pitch = n};
    memcpy(box.first, piece->box.first, sizeof box.first);
    memcpy(box.count, piece->box.count, sizeof box.count);
    memcpy(box.step, piece->box.step, sizeof box.step);
    const int rc = piece->file->format->read(piece->file->dataset, &box, err);
    if (rc == LW_OK)
        put_rows(piece, raw);
    return rc;
}

/* Rows of a decoded chunk, or of the one sample that stands for a chunk that was never written: rows may be longer than `raw`. */
static void put_chunk(const struct piece *piece, const char *samples, char *raw)
{
    const struct lw_dataset_info *const info = &piece->file->info;
    const int64_t n = n_values(piece);
    int64_t origin[LW_MAX_DIMS], offset;
    for (int d = 0; d < info->n_dims; d++)
        origin[d] = piece->box.first[d] / info->chunk[d] * info->chunk[d];
    struct lw_bytes_box box = bytes_of(piece, info->chunk, origin, &offset);
    const int64_t to_next_row = box.from[1];
    box.count[1] = 1;
    if (!samples)
        memset(box.from, 0, sizeof box.from);
    for (int64_t row = 0; row < n_rows(piece); row++)
        for (int64_t first = 0; first < n; first += PIECE_VALUES) {
            box.count[2] = min64(PIECE_VALUES, n - first);
            const int64_t at = offset + row * to_next_row + first * box.from[2];
            lw_bytes_copy_box(&box, samples ? samples + at : piece->file->stored.fill, raw);
            convert(info, raw, box.count[2], piece->into + row * piece->pitch + first);
        }
}

static int decode_chunk(const struct piece *piece, char *raw, struct lw_error *err)
{
    const struct file *const file = piece->file;
    const char *samples;
    int rc;
    if (piece->chunk.bytes > lw_decoder_room(&file->stored.filters))
        return lw_fail(err, LW_EDATA, "a chunk of %" PRId64 " bytes claims to be stored in %" PRId64, file->stored.filters.chunk_bytes,
                       piece->chunk.bytes);
    struct lw_decoder *const decoder = lw_decoders_take(file->decoders);
    if ((rc = lw_bytes_read(file->stored.fd, lw_decoder_stored(decoder), piece->chunk.offset, piece->chunk.bytes, err)) == LW_OK &&
        (rc = lw_decoder_decode(decoder, piece->chunk.bytes, piece->chunk.skipped, &samples, err)) == LW_OK)
        put_chunk(piece, samples, raw);
    lw_decoders_give(file->decoders, decoder);
    return rc;
}

static int read_piece(const struct piece *piece, char *raw, char *bounce, struct lw_error *err)
{
    const struct file *const file = piece->file;
    if (!file->is_located)
        return read_by_format(piece, raw, err);
    if (!file->stored.is_chunked)
        return read_flat(piece, raw, bounce, err);
    if (piece->chunk.bytes > 0)
        return decode_chunk(piece, raw, err);
    put_chunk(piece, NULL, raw);
    return LW_OK;
}

static void fill_gap(const struct piece *piece)
{
    for (int64_t row = 0; row < n_rows(piece); row++)
        for (int64_t i = 0; i < n_values(piece); i++)
            piece->into[row * piece->pitch + i] = NAN;
}

static int fail_piece(const struct piece *piece, int code, const struct lw_error *reason, struct lw_error *err)
{
    return lw_fail(err, code, "cannot read %.600s: %.400s", lw_dataset_name(&piece->file->info).text, reason->message);
}

static int do_piece(void *context, int64_t number, int thread, struct lw_error *err)
{
    struct lw_samples *const samples = context;
    const struct piece *const piece = &samples->pieces[number];
    struct lw_error reason = {0};
    if (!piece->file) {
        fill_gap(piece);
        return LW_OK;
    }
    const int rc = read_piece(piece, samples->raw + thread * PIECE_VALUES * sample_bytes(samples),
                              samples->bounce + (int64_t)thread * BOUNCE_BYTES, &reason);
    return rc ? fail_piece(piece, rc, &reason, err) : LW_OK;
}

/* Some libraries are not to be called by several threads. */
static bool needs_main_thread(const struct piece *piece)
{
    return piece->file && !piece->file->is_located && !piece->file->format->reads_in_threads;
}

static int run_pieces(struct lw_samples *samples, struct lw_error *err)
{
    int rc = LW_OK;
    if (samples->n_pieces > 0 && needs_main_thread(&samples->pieces[0])) {
        for (int i = 0; i < samples->n_pieces && rc == LW_OK; i++)
            rc = do_piece(samples, i, 0, err);
    } else if (samples->n_pieces > 0) {
        struct lw_batch batch = {.lane = LW_LANE_READ, .n_pieces = samples->n_pieces, .work = do_piece, .context = samples};
        lw_pool_start(samples->pool, &batch);
        rc = lw_pool_wait(samples->pool, &batch, err);
    }
    samples->n_pieces = 0;
    return rc;
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static void close_file(struct file *file)
{
    lw_decoders_destroy(file->decoders);
    if (file->dataset)
        file->format->close(file->dataset);
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct file){.part = -1, .fd = -1};
}

/* A library takes a hundred times as long to open a file as the system does. */
static int open_flat(struct file *file, struct lw_error *err)
{
    char why[96];
    file->fd = lw_file_open(file->info.file, why);
    if (file->fd < 0)
        return lw_fail(err, LW_EIO, "cannot read '%s': %s", file->info.file, why);
    file->is_located = true;
    file->stored = (struct lw_stored){.fd = file->fd, .offset = file->info.flat_offset};
    return LW_OK;
}

static int open_dataset(struct file *file, struct lw_error *err)
{
    int rc;
    if ((rc = lw_formats_find(file->info.file, &file->info.hints, &file->format, err)) ||
        (rc = file->format->open(&file->info, &file->dataset, err)))
        return rc;
    file->is_located = file->format->locate && file->format->locate(file->dataset, &file->stored);
    if (!file->is_located || !file->stored.is_chunked)
        return LW_OK;
    const int64_t room = DECODING_BYTES / max64(1, lw_decoder_bytes(&file->stored.filters));
    return lw_decoders_create(&file->stored.filters, (int)max64(1, min64(2 * lw_proc_cores(), room)), &file->decoders, err);
}

static int open_file(struct lw_samples *samples, int64_t part, struct file *file, struct lw_error *err)
{
    const struct lw_samples_source *const source = &samples->source;
    *file = (struct file){.part = part, .fd = -1};
    file->info = source->info;
    if (source->files)
        lw_infos_get(source->files, source->sequence->parts[part].file, &file->info);
    const int rc = file->info.is_flat ? open_flat(file, err) : open_dataset(file, err);
    if (rc)
        close_file(file);
    return rc;
}

/* The file of a part; what waits to be read is read before one is closed. */
static int find_file(struct lw_samples *samples, int64_t part, struct file **out, struct lw_error *err)
{
    int rc = LW_OK;
    for (int f = 0; f < samples->n_files; f++)
        if (samples->files[f].part == part) {
            *out = &samples->files[f];
            return LW_OK;
        }
    if (samples->n_files < MOST_OPEN) {
        *out = &samples->files[samples->n_files++];
    } else {
        rc = run_pieces(samples, err);
        *out = &samples->files[samples->oldest];
        samples->oldest = (samples->oldest + 1) % MOST_OPEN;
        close_file(*out);
    }
    return rc ? rc : open_file(samples, part, *out, err);
}

int lw_samples_open(const struct lw_samples_source *source, struct lw_samples **out, struct lw_error *err)
{
    struct lw_samples *const samples = lw_alloc(sizeof *samples, "samples", err);
    struct file *first;
    int rc;
    if (!samples)
        return LW_ESYSTEM;
    *samples = (struct lw_samples){.source = *source};
    samples->pieces = lw_alloc_array(MOST_PIECES, sizeof *samples->pieces, "samples", err);
    samples->raw = lw_alloc((size_t)(N_THREADS * PIECE_VALUES * sample_bytes(samples)), "samples", err);
    samples->bounce = lw_alloc((size_t)N_THREADS * BOUNCE_BYTES, "samples", err);
    rc = samples->pieces && samples->raw && samples->bounce ? lw_pool_create(N_THREADS, &samples->pool, err) : LW_ESYSTEM;
    if (rc == LW_OK)
        rc = find_file(samples, 0, &first, err);
    if (rc)
        lw_samples_close(samples);
    else
        *out = samples;
    return rc;
}

void lw_samples_close(struct lw_samples *samples)
{
    if (!samples)
        return;
    lw_pool_destroy(samples->pool);
    for (int f = 0; f < samples->n_files; f++)
        close_file(&samples->files[f]);
    lw_free(samples->pieces);
    lw_free(samples->raw);
    lw_free(samples->bounce);
    lw_free(samples);
}

/* ---- boxes into pieces -------------------------------------------------------------------------------------------------- */

static int add_piece(struct lw_samples *samples, const struct piece *piece, struct lw_error *err)
{
    const bool is_other = samples->n_pieces > 0 && needs_main_thread(piece) != needs_main_thread(&samples->pieces[0]);
    const int rc = is_other || samples->n_pieces == MOST_PIECES ? run_pieces(samples, err) : LW_OK;
    samples->pieces[samples->n_pieces++] = *piece;
    return rc;
}

/* Of a piece, those from `first` along a dimension on. */
static struct piece cut(const struct piece *whole, int dimension, int64_t first, int64_t count)
{
    struct piece piece = *whole;
    if (dimension < 0)
        return piece;
    piece.box.first[dimension] += first * whole->box.step[dimension];
    piece.box.count[dimension] = count;
    piece.into += first * (dimension == whole->slow ? whole->pitch : 1);
    return piece;
}

/* Those before coordinate `end`, of the ones from `first` along a dimension on. */
static int64_t count_before(const struct piece *piece, int dimension, int64_t first, int64_t end)
{
    const int64_t step = piece->box.step[dimension], at = piece->box.first[dimension] + first * step;
    return min64(divide_up(end - at, step), piece->box.count[dimension] - first);
}

/* Pieces that have room in `raw`. */
static int add_rows(struct lw_samples *samples, const struct piece *whole, struct lw_error *err)
{
    const int64_t most_values = min64(n_values(whole), PIECE_VALUES), most_rows = min64(n_rows(whole), PIECE_VALUES / most_values);
    int rc = LW_OK;
    for (int64_t r = 0; r < n_rows(whole) && rc == LW_OK; r += most_rows) {
        const struct piece rows = cut(whole, whole->slow, r, min64(most_rows, n_rows(whole) - r));
        for (int64_t v = 0; v < n_values(whole) && rc == LW_OK; v += most_values) {
            const struct piece piece = cut(&rows, whole->fast, v, min64(most_values, n_values(whole) - v));
            rc = add_piece(samples, &piece, err);
        }
    }
    return rc;
}

static int add_chunk(struct lw_samples *samples, struct piece *piece, struct lw_error *err)
{
    const struct file *const file = piece->file;
    struct lw_error reason = {0};
    int64_t first[LW_MAX_DIMS] = {0};
    for (int d = 0; d < file->info.n_dims; d++)
        first[d] = piece->box.first[d] / file->info.chunk[d] * file->info.chunk[d];
    const int rc = file->format->library->find_chunk(file->dataset, first, &piece->chunk, &reason);
    return rc ? fail_piece(piece, rc, &reason, err) : add_piece(samples, piece, err);
}

static int64_t chunk_end(const struct piece *piece, int dimension, int64_t first)
{
    const int64_t chunk = dimension >= 0 ? piece->file->info.chunk[dimension] : 1;
    return dimension < 0 ? 0 : (piece->box.first[dimension] + first * piece->box.step[dimension]) / chunk * chunk + chunk;
}

/* Along a dimension, those from `first` on that are of the same chunk. */
static int64_t count_in_chunk(const struct piece *piece, int dimension, int64_t first)
{
    return dimension < 0 ? 1 : count_before(piece, dimension, first, chunk_end(piece, dimension, first));
}

static int add_chunks(struct lw_samples *samples, const struct piece *whole, struct lw_error *err)
{
    int64_t n;
    int rc = LW_OK;
    for (int64_t r = 0; r < n_rows(whole) && rc == LW_OK; r += n) {
        n = count_in_chunk(whole, whole->slow, r);
        const struct piece rows = cut(whole, whole->slow, r, n);
        int64_t count;
        for (int64_t v = 0; v < n_values(whole) && rc == LW_OK; v += count) {
            count = count_in_chunk(whole, whole->fast, v);
            struct piece piece = cut(&rows, whole->fast, v, count);
            rc = add_chunk(samples, &piece, err);
        }
    }
    return rc;
}

static int add_of_file(struct lw_samples *samples, int64_t part, struct piece *piece, struct lw_error *err)
{
    struct file *file;
    const int rc = find_file(samples, part, &file, err);
    if (rc)
        return rc;
    piece->file = file;
    return (file->is_located && file->stored.is_chunked ? add_chunks : add_rows)(samples, piece, err);
}

/* Of many files, what lies in one part of the sequence, or in the gap before it. @param count  set to how many */
static int add_of_part(struct lw_samples *samples, const struct piece *whole, int64_t first, int64_t *count, struct lw_error *err)
{
    const struct lw_sequence *const sequence = samples->source.sequence;
    const int d = samples->source.joined;
    const int64_t at = whole->box.first[d] + first * whole->box.step[d], number = lw_sequence_find(sequence, at);
    const struct lw_file_part *const part = &sequence->parts[number];
    const bool is_gap = at < part->first;
    *count = count_before(whole, d, first, is_gap ? part->first : part->first + part->count);
    struct piece piece = cut(whole, d, first, *count);
    if (is_gap)
        return add_piece(samples, &piece, err);
    piece.box.first[d] += part->skip - part->first;
    return add_of_file(samples, number, &piece, err);
}

static int add_box(struct lw_samples *samples, const struct lw_samples_box *box, double *values, struct lw_error *err)
{
    struct piece whole = {.box = *box, .slow = -1, .fast = -1, .into = values};
    for (int d = 0; d < samples->source.info.n_dims; d++)
        if (box->count[d] > 1) {
            whole.slow = whole.fast;
            whole.fast = d;
        }
    whole.pitch = n_values(&whole);
    if (!samples->source.files)
        return add_of_file(samples, 0, &whole, err);
    int64_t count;
    int rc = LW_OK;
    for (int64_t first = 0; first < box->count[samples->source.joined] && rc == LW_OK; first += count)
        rc = add_of_part(samples, &whole, first, &count, err);
    return rc;
}

int lw_samples_read(struct lw_samples *samples, const struct lw_samples_box *boxes, int n_boxes, double *values,
                    struct lw_error *err)
{
    int rc = LW_OK;
    for (int b = 0; b < n_boxes && rc == LW_OK; b++) {
        int64_t n = 1;
        for (int d = 0; d < samples->source.info.n_dims; d++)
            n *= boxes[b].count[d];
        rc = add_box(samples, &boxes[b], values, err);
        values += n;
    }
    if (rc == LW_OK)
        rc = run_pieces(samples, err);
    samples->n_pieces = 0;
    return rc;
}
