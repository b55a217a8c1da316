/* result_format.c - write results as FITS files.
 *
 *     primary unit      the first dataset, if it is an array; HISTORY with the origin of the result
 *     IMAGE extension   each further array, under the array's name
 *     BINTABLE          each table that grows, at the end of the file
 *
 * Before any sample, all headers are written and the arrays get their room; tables are added at the end. Numbers are big-endian
 * (struct lw_extent). Attributes, and keywords of the input, become cards; those that no card fits go to HISTORY (cards.h). */
#include "io/write/structure.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/archive/shared.h"
#include "io/archive/fits/image.h"
#include "io/archive/fits/world.h"
#include "io/bytes/transfer.h"

#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Bytes planned for a header, generously. */
#define HEADER_ROOM ((int64_t)1 << 20)

static bool is_array(const struct lw_writer_dataset *dataset) { return dataset->n_columns == 0; }

/* ---- types ------------------------------------------------------------------------------------------------------------- */

/* FITS' form of a scalar type; bitpix 0: none. FITS has uint8 and int16; int8 and uint16 are stored as number = value - middle. */
struct stored {
    int bitpix;
    double middle;
};

static struct stored find_stored(struct lw_type type)
{
    static const struct stored stored[LW_N_RESULT_SCALARS] = {
        [LW_INT8] = {8, -128}, [LW_UINT8] = {8, 0}, [LW_INT16] = {16, 0}, [LW_UINT16] = {16, 32768}, [LW_INT32] = {32, 0},
        [LW_FLOAT32] = {-32, 0}, [LW_FLOAT64] = {-64, 0},
    };
    return type.is_complex ? (struct stored){0} : stored[type.scalar];
}

static int check_dataset(const struct lw_writer_dataset *dataset, struct lw_error *err)
{
    char type[40];
    if (!is_array(dataset))
        return dataset->grows ? LW_OK : lw_fail(err, LW_ECONFIG, "%s: FITS cannot hold this table; write HDF5", dataset->path);
    if (find_stored(dataset->type).bitpix == 0)
        return lw_fail(err, LW_ECONFIG,
                       "%s would have type %s, which FITS images lack: choose another --output-type, or write HDF5", dataset->path,
                       lw_type_text(dataset->type, type));
    return LW_OK;
}

/* Return the bytes of an array; INT64_MAX, which no disk has room for, if 64 bits cannot count them. */
static int64_t array_bytes(const struct lw_writer_dataset *dataset)
{
    int64_t bytes = (int64_t)lw_type_bytes(dataset->type);
    for (int d = 0; d < dataset->n_dims; d++)
        if (__builtin_mul_overflow(bytes, dataset->dims[d], &bytes))
            return INT64_MAX;
    return bytes;
}

static int64_t room(const struct lw_writer_spec *spec)
{
    int64_t bytes = HEADER_ROOM;
    for (int d = 0; d < spec->n_datasets; d++) {
        const int64_t data = is_array(&spec->datasets[d]) ? array_bytes(&spec->datasets[d]) : 0;
        if (__builtin_add_overflow(bytes, data, &bytes) || __builtin_add_overflow(bytes, HEADER_ROOM, &bytes))
            return INT64_MAX;
    }
    return bytes;
}

/* ---- headers ----------------------------------------------------------------------------------------------------------- */

/* Put the name of a dataset: "/convolved" becomes CONVOLVED. */
static void put_name(struct lw_fits_cards *cards, const char *path)
{
    char name[64];
    size_t n = 0;
    for (const char *at = path + (*path == '/'); *at && n < sizeof name - 1; at++)
        name[n++] = (char)(*at == '/' ? '_' : toupper((unsigned char)*at));
    name[n] = '\0';
    lw_fits_put_text(cards, "EXTNAME", name);
}

static void put_scale(struct lw_fits_cards *cards, const struct lw_writer_dataset *dataset)
{
    const double middle = find_stored(dataset->type).middle;
    double factor = 1;
    for (int a = 0; a < dataset->n_attributes; a++)
        if (strcmp(dataset->attributes[a].name, "scale_factor") == 0)
            factor = dataset->attributes[a].real;
    if (factor == 1 && middle == 0)
        return;
    lw_fits_put_real(cards, "BSCALE", factor, "value = BZERO + BSCALE x number");
    lw_fits_put_real(cards, "BZERO", factor * middle, NULL);
}

static void put_attributes(struct lw_fits_cards *cards, const struct lw_writer_dataset *dataset)
{
    lw_fits_put_carried(cards, dataset);
    for (int a = 0; a < dataset->n_attributes; a++) {
        const struct lw_attribute *const attribute = &dataset->attributes[a];
        if (strcmp(attribute->name, "unit") == 0)
            lw_fits_put_text(cards, "BUNIT", attribute->text);
        else if (strcmp(attribute->name, "scale_factor") != 0 && strcmp(attribute->name, "add_offset") != 0)
            lw_fits_put_attribute(cards, attribute);
    }
}

/* Put a unit's first cards: kind, type and shape. @param dataset  array in the unit; NULL: the unit has no data */
static void put_shape(struct lw_fits_cards *cards, const struct lw_writer_dataset *dataset, bool is_primary)
{
    const int n_dims = dataset ? dataset->n_dims : 0;
    if (is_primary)
        lw_fits_put_logical(cards, "SIMPLE", true, "FITS Standard 4.0");
    else
        lw_fits_put_text(cards, "XTENSION", "IMAGE");
    lw_fits_put_int(cards, "BITPIX", dataset ? find_stored(dataset->type).bitpix : 8, NULL);
    lw_fits_put_int(cards, "NAXIS", n_dims, NULL);
    for (int d = n_dims - 1; d >= 0; d--)
        lw_fits_put_int(cards, lw_fits_numbered("NAXIS", n_dims - d).text, dataset->dims[d], dataset->dim_names[d]);
    if (is_primary) {
        lw_fits_put_logical(cards, "EXTEND", true, NULL);
        lw_fits_put_logical(cards, LW_FITS_COMPLETE, false, "whether lapwing has written all of this file");
    } else {
        lw_fits_put_int(cards, "PCOUNT", 0, NULL);
        lw_fits_put_int(cards, "GCOUNT", 1, NULL);
    }
}

static int make_array_header(const struct lw_writer_dataset *dataset, const struct lw_writer_spec *spec, bool is_primary,
                             struct lw_fits_cards *cards, struct lw_error *err)
{
    char date[LW_INSTANT_TEXT];
    const int rc = lw_fits_cards_begin(cards, err);
    if (rc)
        return rc;
    put_shape(cards, dataset, is_primary);
    if (dataset) {
        put_scale(cards, dataset);
        put_name(cards, dataset->path);
    }
    lw_fits_put_text(cards, "DATE", lw_instant_text((struct lw_instant){.seconds = time(NULL)}, date));
    if (dataset)
        put_attributes(cards, dataset);
    for (int a = 0; is_primary && a < spec->n_attributes; a++)
        lw_fits_put_attribute(cards, &spec->attributes[a]);
    return lw_fits_cards_finish(cards, err);
}

/* ---- create, check --------------------------------------------------------------------------------------------------- */

/* The units of arrays, and of the primary unit, with their places in the file. */
struct layout {
    struct lw_fits_cards *headers;      /* headers of the units, [n_headers] */
    int64_t *offsets;                   /* first byte of each header */
    int n_headers;
    int64_t end;                        /* bytes of the file without tables */
};

static struct lw_extent make_extent(const struct lw_writer_dataset *dataset, int64_t offset)
{
    const int number_bytes = (int)lw_scalar_bytes(dataset->type.scalar);
    struct lw_extent extent = {
        .offset = offset, .element_bytes = number_bytes, .n_dims = dataset->n_dims, .number_bytes = number_bytes,
        .is_swapped = number_bytes > 1 && lw_field_is_swapped(true),
        .is_about_middle = find_stored(dataset->type).middle != 0,
    };
    memcpy(extent.dims, dataset->dims, sizeof extent.dims);
    return extent;
}

static int add_unit(struct layout *layout, const struct lw_writer_dataset *dataset, const struct lw_writer_spec *spec,
                    struct lw_extent *extent, struct lw_error *err)
{
    const int h = layout->n_headers++;
    const int rc = make_array_header(dataset, spec, h == 0, &layout->headers[h], err);
    layout->offsets[h] = layout->end;
    layout->end += (int64_t)layout->headers[h].bytes;
    if (rc || !dataset)
        return rc;
    *extent = make_extent(dataset, layout->end);
    layout->end += lw_round_up(array_bytes(dataset), LW_FITS_BLOCK);
    return LW_OK;
}

/* Make the headers, and lay out the arrays' units. The primary unit has no data if the first dataset is a table. */
static int plan_layout(const struct lw_writer_spec *spec, struct lw_extent *extents, struct layout *layout, struct lw_error *err)
{
    int rc = LW_OK;
    *layout = (struct layout){.headers = lw_alloc_array(spec->n_datasets + 1, sizeof *layout->headers, "FITS headers", err),
                              .offsets = lw_alloc_array(spec->n_datasets + 1, sizeof *layout->offsets, "FITS headers", err)};
    if (!layout->headers || !layout->offsets)
        return LW_ESYSTEM;
    if (!is_array(&spec->datasets[0]))
        rc = add_unit(layout, NULL, spec, NULL, err);
    for (int d = 0; d < spec->n_datasets && rc == LW_OK; d++)
        if ((rc = check_dataset(&spec->datasets[d], err)) == LW_OK && is_array(&spec->datasets[d]))
            rc = add_unit(layout, &spec->datasets[d], spec, &extents[d], err);
    return rc;
}

static int fail_write(const struct lw_result_file *result, const char *why, struct lw_error *err)
{
    return lw_fail(err, LW_EIO, "cannot write '%.600s': %.200s", result->part, why);
}

static int write_bytes(const struct lw_result_file *result, const void *bytes, int64_t offset, int64_t n, struct lw_error *err)
{
    struct lw_error reason;
    return lw_bytes_write(result->fd, bytes, offset, n, &reason) == LW_OK ? LW_OK : fail_write(result, reason.message, err);
}

static int set_length(const struct lw_result_file *result, int64_t bytes, struct lw_error *err)
{
    const int rc = lw_result_file_reserve(result, bytes, err);
    if (rc)
        return rc;
    return ftruncate(result->fd, bytes) == 0 ? LW_OK : fail_write(result, strerror(errno), err);
}

static int create(const struct lw_result_file *result, const struct lw_writer_spec *spec, struct lw_extent *extents, bool *is_stuck,
                  struct lw_error *err)
{
    struct layout layout;
    int rc;
    *is_stuck = false;
    if ((rc = plan_layout(spec, extents, &layout, err)) == LW_OK)
        rc = set_length(result, layout.end, err);
    for (int h = 0; h < layout.n_headers; h++) {
        struct lw_fits_cards *const header = &layout.headers[h];
        if (rc == LW_OK)
            rc = write_bytes(result, header->text, layout.offsets[h], (int64_t)header->bytes, err);
        lw_fits_cards_release(header);
    }
    lw_free(layout.headers);
    lw_free(layout.offsets);
    return rc;
}

static bool is_same(const struct lw_fits_unit *unit, const struct lw_writer_dataset *dataset)
{
    bool is_same = unit->bitpix == find_stored(dataset->type).bitpix && unit->n_axes == dataset->n_dims;
    for (int d = 0; d < dataset->n_dims && is_same; d++)
        is_same = unit->axes[dataset->n_dims - 1 - d] == dataset->dims[d];
    return is_same;
}

static int check_arrays(const struct lw_result_file *result, const struct lw_writer_spec *spec, struct lw_fits_walk *walk,
                        struct lw_extent *extents, struct lw_error *err)
{
    bool is_complete = true;
    int rc = LW_OK;
    if (!lw_fits_logical(walk->unit, LW_FITS_COMPLETE, &is_complete))
        return lw_fail(err, LW_EDATA, "cannot go on with '%s': it is no result of lapwing", result->part);
    if (is_complete)
        return lw_fail(err, LW_EDATA, "cannot go on with '%s': it is complete; rename it", result->part);
    if (!is_array(&spec->datasets[0]))
        rc = lw_fits_next(walk, err);
    for (int d = 0; d < spec->n_datasets && rc == LW_OK; d++) {
        const struct lw_writer_dataset *const dataset = &spec->datasets[d];
        if (!is_array(dataset))
            continue;
        if (!walk->unit || !is_same(walk->unit, dataset))
            return lw_fail(err, LW_EDATA, "cannot go on with '%s': its image %s has another shape or type than in this run",
                           result->part, dataset->path);
        extents[d] = make_extent(dataset, walk->unit->data_offset);
        rc = lw_fits_next(walk, err);
    }
    return rc;
}

static int check(const struct lw_result_file *result, const struct lw_writer_spec *spec, struct lw_extent *extents,
                 struct lw_error *err)
{
    struct lw_fits_walk walk;
    int rc = lw_fits_begin(result->part, &walk, err);
    const int64_t bytes = walk.file_bytes;
    rc = rc ? rc : check_arrays(result, spec, &walk, extents, err);
    lw_fits_end(&walk);
    return rc ? rc : lw_result_file_reserve(result, bytes, err);
}

/* ---- complete ---------------------------------------------------------------------------------------------------------- */

/* Put the unit and the meaning (a word of the IVOA's Unified Content Descriptors) of a column, if its name is known here. */
static void put_column(struct lw_fits_cards *cards, const struct lw_writer_dataset *dataset, int c)
{
    static const char same[] = "";      /* the unit of the image */
    static const struct {
        const char *name, *unit, *meaning;
    } known[] = {
        {"x", "pixel", "pos.cartesian.x"}, {"y", "pixel", "pos.cartesian.y"}, {"snr", NULL, "stat.snr"},
        {"flags", NULL, "meta.code"}, {"flux", same, "phot.flux"}, {"flux_error", same, "stat.error;phot.flux"},
        {"peak", same, "phot.flux;stat.max"}, {"ra", "deg", "pos.eq.ra;meta.main"},
        {"dec", "deg", "pos.eq.dec;meta.main"},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        if (strcmp(dataset->columns[c].name, known[k].name) != 0)
            continue;
        const char *unit = known[k].unit == same ? NULL : known[k].unit;
        for (int a = 0; a < dataset->n_attributes && known[k].unit == same; a++)
            if (strcmp(dataset->attributes[a].name, "unit") == 0)
                unit = dataset->attributes[a].text;
        if (unit)
            lw_fits_put_text(cards, lw_fits_numbered("TUNIT", c + 1).text, unit);
        lw_fits_put_text(cards, lw_fits_numbered("TUCD", c + 1).text, known[k].meaning);
    }
}

static int make_table_header(const struct lw_growing *table, struct lw_fits_cards *cards, struct lw_error *err)
{
    const struct lw_writer_dataset *const dataset = &table->dataset;
    const int rc = lw_fits_cards_begin(cards, err);
    if (rc)
        return rc;
    lw_fits_put_text(cards, "XTENSION", "BINTABLE");
    lw_fits_put_int(cards, "BITPIX", 8, NULL);
    lw_fits_put_int(cards, "NAXIS", 2, NULL);
    lw_fits_put_int(cards, "NAXIS1", dataset->n_columns * 8, "bytes of a row");
    lw_fits_put_int(cards, "NAXIS2", lw_spool_rows(table->spool), "rows");
    lw_fits_put_int(cards, "PCOUNT", 0, NULL);
    lw_fits_put_int(cards, "GCOUNT", 1, NULL);
    lw_fits_put_int(cards, "TFIELDS", dataset->n_columns, NULL);
    for (int c = 0; c < dataset->n_columns; c++) {
        lw_fits_put_text(cards, lw_fits_numbered("TTYPE", c + 1).text, dataset->columns[c].name);
        lw_fits_put_text(cards, lw_fits_numbered("TFORM", c + 1).text, dataset->columns[c].kind == LW_COLUMN_INT ? "1K" : "1D");
        put_column(cards, dataset, c);
    }
    put_name(cards, dataset->path);
    put_attributes(cards, dataset);
    return lw_fits_cards_finish(cards, err);
}

/* Write the rows, sorted, as big-endian numbers of 8 bytes. */
static int write_rows(const struct lw_result_file *result, struct lw_growing *table, int64_t offset, struct lw_error *err)
{
    enum { BLOCK = 4096 };
    uint64_t numbers[BLOCK];
    const void *rows;
    int64_t n;
    int rc = lw_spool_sort(table->spool, err);
    while (rc == LW_OK && (rc = lw_spool_next(table->spool, &rows, &n, err)) == LW_OK && n > 0) {
        const uint64_t *const from = rows;
        const int64_t n_numbers = n * table->dataset.n_columns;
        for (int64_t at = 0, count; at < n_numbers && rc == LW_OK; at += count, offset += count * 8) {
            count = lw_min64(BLOCK, n_numbers - at);
            for (int64_t i = 0; i < count; i++)
                lw_copy_ordered(&numbers[i], &from[at + i], sizeof *numbers, lw_field_is_swapped(true));
            rc = write_bytes(result, numbers, offset, count * 8, err);
        }
    }
    return rc;
}

/* Append a table to the file. */
static int add_table(const struct lw_result_file *result, struct lw_growing *table, struct lw_error *err)
{
    struct lw_fits_cards cards;
    struct stat status;
    if (fstat(result->fd, &status) != 0)
        return fail_write(result, strerror(errno), err);
    int rc = make_table_header(table, &cards, err);
    const int64_t header = (int64_t)cards.bytes, begin = status.st_size + header;
    const int64_t bytes = lw_spool_rows(table->spool) * table->dataset.n_columns * 8;
    (void)(rc || (rc = set_length(result, begin + lw_round_up(bytes, LW_FITS_BLOCK), err)) ||
           (rc = write_bytes(result, cards.text, status.st_size, header, err)) || (rc = write_rows(result, table, begin, err)));
    lw_fits_cards_release(&cards);
    return rc;
}

static int overwrite_card(const struct lw_result_file *result, const struct lw_fits_unit *unit, const char *start,
                          const char card[81], struct lw_error *err)
{
    for (int64_t c = 0; c < unit->n_cards; c++)
        if (memcmp(unit->cards + c * LW_FITS_CARD, start, strlen(start)) == 0)
            return write_bytes(result, card, unit->header_offset + c * LW_FITS_CARD, LW_FITS_CARD, err);
    return lw_fail(err, LW_EIO, "'%s' has lost its card %s while it was written", result->part, start);
}

static int mark_complete(const struct lw_result_file *result, const struct lw_structure_end *end, struct lw_error *err)
{
    struct lw_fits_walk walk;
    char start[80], card[81];
    int rc = lw_fits_begin(result->part, &walk, err);
    for (int a = 0; a < end->n_attributes && rc == LW_OK; a++) {
        snprintf(start, sizeof start, "HISTORY %.40s = ", end->attributes[a].name);
        lw_fits_history_card(&end->attributes[a], card);
        rc = overwrite_card(result, walk.unit, start, card, err);
    }
    snprintf(card, sizeof card, "%-8s= %20s / %-47s", LW_FITS_COMPLETE, "T", "whether lapwing has written all of this file");
    if (rc == LW_OK)
        rc = overwrite_card(result, walk.unit, LW_FITS_COMPLETE "=", card, err);
    lw_fits_end(&walk);
    return rc;
}

static int complete(const struct lw_result_file *result, const struct lw_structure_end *end, bool *is_stuck, struct lw_error *err)
{
    int rc = LW_OK;
    *is_stuck = false;
    for (int t = 0; t < end->n_tables && rc == LW_OK; t++)
        if (end->tables[t])
            rc = add_table(result, end->tables[t], err);
    return rc ? rc : mark_complete(result, end, err);
}

const struct lw_structure lw_structure_fits = {.room = room, .create = create, .check = check, .complete = complete};
