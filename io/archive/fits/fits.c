/* fits.c - read images and cubes of FITS files (FITS Standard 4.0).
 *
 * A path names a unit (HDU): FILE:/2 by its number, where 0 is the primary unit; FILE:/SCI or FILE:/SCI,2 by EXTNAME and EXTVER.
 * The default is the first image. BSCALE, BZERO and BLANK are applied; io/archive/values.h tells the types of samples. */
#include "base/text.h"
#include "io/archive/fits/cards.h"
#include "io/archive/fits/image.h"
#include "io/notes/notes.h"
#include "io/notes/recorder.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* An image open for reading samples, flat or tiled. */
struct opened {
    struct lw_flat_opened flat;
    struct lw_fits_tiles *tiles;        /* NULL: the image is flat */
};

/* Open a file, and find the image that a path names. LW_EDATA: also a result that is not complete. */
static int find_unit(const char *file, const char *path, struct lw_fits_walk *walk, struct lw_fits_image *image,
                     struct lw_error *err)
{
    bool is_complete = true;
    int rc = lw_fits_begin(file, walk, err);
    if (rc)
        return rc;
    lw_fits_logical(walk->unit, LW_FITS_COMPLETE, &is_complete);
    if (!is_complete)
        return lw_fail(err, LW_EDATA, "'%s' is incomplete: the run of lapwing that was making it was interrupted", file);
    rc = lw_fits_seek(walk, path, err);
    return rc ? rc : lw_fits_find_image(walk, image, err);
}

/* Open a dataset's file and find its image. With hints.as_stored, BSCALE, BZERO and BLANK are ignored. */
static int find_dataset(const struct lw_dataset_info *info, struct lw_fits_walk *walk, struct lw_fits_image *image,
                        struct lw_error *err)
{
    struct lw_values *const values = &image->flat.values;
    const int rc = find_unit(info->file, info->path, walk, image, err);
    if (rc == LW_OK && info->hints.as_stored)
        values->is_about_middle = values->is_scaled = values->has_blank = false;
    return rc;
}

/* Find the coordinate of an axis (sections 8.2 to 8.4). It is regular if it has an increment (CDELT) and no projection (after a "-"
 * in CTYPE). The CTYPE "FREQ" becomes the name "frequency", "UTC" becomes "time", "RA---TAN" becomes "ra". */
static void find_coordinate(const struct lw_fits_unit *unit, int axis, struct lw_coordinate *out)
{
    char type[72], *to = out->name;
    double reference = 1, value = 0, increment;
    if (!lw_fits_text(unit, lw_fits_numbered("CTYPE", axis).text, type, sizeof type))
        return;
    for (const char *at = type; *at && *at != '-' && to < out->name + sizeof out->name - 1; at++)
        *to++ = (char)tolower((unsigned char)*at);
    *to = '\0';
    if (strcmp(out->name, "freq") == 0)
        snprintf(out->name, sizeof out->name, "frequency");
    else if (strcmp(out->name, "utc") == 0)
        snprintf(out->name, sizeof out->name, "time");
    lw_fits_text(unit, lw_fits_numbered("CUNIT", axis).text, out->unit, sizeof out->unit);
    lw_fits_real(unit, lw_fits_numbered("CRPIX", axis).text, &reference);
    lw_fits_real(unit, lw_fits_numbered("CRVAL", axis).text, &value);
    out->is_regular = !strchr(type, '-') && lw_fits_real(unit, lw_fits_numbered("CDELT", axis).text, &increment) && increment != 0;
    if (out->is_regular) {
        out->step = increment;
        out->first = value + (1 - reference) * increment;
    }
}

static void find_metadata(const struct lw_fits_unit *unit, struct lw_dataset_info *info)
{
    static const char *const fields[][2] = {{"telescope", "TELESCOP"}, {"instrument", "INSTRUME"}, {"filter", "FILTER"}};
    char text[LW_FITS_CARD];
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        if (lw_fits_text(unit, fields[f][1], text, sizeof text))
            lw_recorder_add(&info->recorder, fields[f][0], text);
    lw_fits_text(unit, "BUNIT", info->axis.unit, sizeof info->axis.unit);
    for (int d = 0; d < info->n_dims; d++) {
        struct lw_coordinate *const time = &info->coordinates[d];
        find_coordinate(unit, info->n_dims - d, time);
        if (strcmp(time->name, "time") != 0 || info->metadata_axis >= 0)
            continue;
        const double seconds = time->unit[0] ? lw_sampling_unit_seconds(time->unit) : 1;
        info->metadata_axis = d;
        if (time->is_regular && lw_period_from_seconds(time->step * seconds, &info->axis.period))
            snprintf(info->axis.source, sizeof info->axis.source, "keyword CDELT%d", info->n_dims - d);
    }
}

static int describe(struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_fits_walk walk;
    struct lw_fits_image image;
    int rc = find_dataset(info, &walk, &image, err);
    if (rc == LW_OK) {
        lw_fits_path(walk.unit, info->path, sizeof info->path);
        rc = lw_flat_describe(&image.flat, image.is_tiled, info, err);
    }
    if (rc == LW_OK)
        find_metadata(walk.unit, info);
    info->opened_bytes = walk.is_unpacked ? walk.file_bytes : 0;
    lw_fits_end(&walk);
    return rc;
}

/* ---- list -------------------------------------------------------------------------------------------------------------- */

static void list_table(const struct lw_fits_unit *unit, const char *path, lw_list_fn *visit, void *context)
{
    struct lw_listing row = {.path = path, .stored_bytes = unit->data_bytes};
    int64_t columns = 0;
    char kind[16] = "no extension";
    lw_fits_text(unit, "XTENSION", kind, sizeof kind);
    lw_fits_int(unit, "TFIELDS", &columns);
    if (unit->n_axes == 2)
        snprintf(row.shape, sizeof row.shape, "[%" PRId64 "]", unit->axes[1]);
    else
        snprintf(row.shape, sizeof row.shape, "no data");
    snprintf(row.type, sizeof row.type, "table of %" PRId64 " columns", columns);
    snprintf(row.storage, sizeof row.storage, "%s", kind);
    visit(&row, context);
}

/* List a unit. A primary unit without data gets no line. */
static int list_unit(const struct lw_fits_walk *walk, lw_list_fn *visit, void *context, struct lw_error *err)
{
    struct lw_fits_image image;
    const struct lw_fits_tiling *const tiling = &image.tiling;
    char path[128], tiles[160] = "tiles [";
    lw_fits_path(walk->unit, path, sizeof path);
    if (!lw_fits_has_image(walk->unit)) {
        if (walk->unit->number > 0)
            list_table(walk->unit, path, visit, context);
        return LW_OK;
    }
    const int rc = lw_fits_find_image(walk, &image, err);
    if (rc)
        return rc;
    for (int a = tiling->n_axes - 1; image.is_tiled && a >= 0; a--)
        lw_append(tiles, sizeof tiles, "%" PRId64 "%s", tiling->tile[a], a > 0 ? " x " : "], ");
    lw_append(tiles, sizeof tiles, "%s", tiling->code_text);
    lw_flat_list(&image.flat, path, image.is_tiled ? tiles : NULL, walk->unit->data_bytes, visit, context);
    return LW_OK;
}

static int list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err)
{
    struct lw_fits_walk walk;
    int rc = lw_fits_begin(file, &walk, err);
    while (rc == LW_OK && walk.unit)
        (void)((rc = list_unit(&walk, visit, context, err)) || (rc = lw_fits_next(&walk, err)));
    lw_fits_end(&walk);
    return rc;
}

/* ---- samples ----------------------------------------------------------------------------------------------------------- */

/* Find the image of a described dataset. @param fd  set to the open file, which the caller closes; -1 on failure */
static int find_again(const struct lw_dataset_info *info, struct lw_fits_image *image, int *fd, struct lw_error *err)
{
    struct lw_fits_walk walk;
    int rc = find_dataset(info, &walk, image, err);
    *fd = -1;
    if (rc == LW_OK && (rc = lw_flat_check_same(&image->flat, info, err)) == LW_OK) {
        *fd = walk.fd;
        walk.fd = -1;
    }
    lw_fits_end(&walk);
    return rc;
}

static void close_image(void *dataset)
{
    struct opened *const opened = dataset;
    lw_flat_close(&opened->flat);
    lw_fits_tiles_close(opened->tiles);
}

static int open_image(void *dataset, const struct lw_dataset_info *info, struct lw_error *err)
{
    struct opened *const opened = dataset;
    struct lw_fits_image image;
    const int rc = find_again(info, &image, &opened->flat.fd, err);
    if (rc)
        return rc;
    opened->flat.flat = image.flat;
    if (!image.is_tiled)
        return LW_OK;
    const int fd = opened->flat.fd;
    opened->flat.fd = -1;
    return lw_fits_tiles_open(fd, &image, &opened->tiles, err);
}

static int read_box(void *dataset, const struct lw_box *box, struct lw_error *err)
{
    struct opened *const opened = dataset;
    return opened->tiles ? lw_fits_tiles_read(opened->tiles, box, err) : lw_flat_read(&opened->flat, box, err);
}

static bool locate(void *dataset, struct lw_stored *out)
{
    struct opened *const opened = dataset;
    return !opened->tiles && lw_flat_locate(&opened->flat, out);
}

static int read_numbers(const struct lw_dataset_info *info, double *values, struct lw_error *err)
{
    struct lw_fits_image image;
    struct lw_fits_tiles *tiles;
    int fd, rc = find_again(info, &image, &fd, err);
    if (rc)
        return rc;
    if (!image.is_tiled)
        return lw_flat_read_numbers(&image.flat, info, fd, values, err);
    image.flat.values.as_float64 = true;
    if ((rc = lw_fits_tiles_open(fd, &image, &tiles, err)))
        return rc;
    const struct lw_box box = lw_flat_whole(&image.flat, values);
    rc = lw_fits_tiles_read(tiles, &box, err);
    lw_fits_tiles_close(tiles);
    return rc;
}

/* ---- attributes -------------------------------------------------------------------------------------------------------- */

/* Return whether a keyword describes the file's structure, or would be wrong in results. */
static bool is_structural(const char *keyword)
{
    static const char *const words[] = {
        "SIMPLE", "BITPIX", "NAXIS", "EXTEND", "PCOUNT", "GCOUNT", "GROUPS", "XTENSION", "EXTNAME", "EXTVER", "EXTLEVEL", "INHERIT",
        "BSCALE", "BZERO", "BLANK", "BUNIT", "DATAMIN", "DATAMAX", "CHECKSUM", "DATASUM", "DATE", "LONGSTRN", "TFIELDS", "THEAP",
        "IRAF-MAX", "IRAF-MIN", "IRAF-TLM", "ORIGIN", "COMMENT", "HISTORY", "CONTINUE", LW_FITS_COMPLETE, "",
        "ZIMAGE", "ZTABLE", "ZCMPTYPE", "ZBITPIX", "ZNAXIS", "ZSIMPLE", "ZEXTEND", "ZBLOCKED", "ZTENSION", "ZPCOUNT", "ZGCOUNT",
        "ZHECKSUM", "ZDATASUM", "ZQUANTIZ", "ZDITHER0", "ZBLANK", "ZMASKCMP",
    };
    static const char *const numbered[] = {"NAXIS", "TTYPE", "TFORM", "TUNIT", "ZNAXIS", "ZTILE", "ZNAME", "ZVAL"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (strcmp(keyword, words[w]) == 0)
            return true;
    for (size_t w = 0; w < sizeof numbered / sizeof *numbered; w++) {
        const size_t length = strlen(numbered[w]), digits = strspn(keyword + strnlen(keyword, length), "0123456789");
        if (strncmp(keyword, numbered[w], length) == 0 && digits > 0 && !keyword[length + digits])
            return true;
    }
    return false;
}

/* Join a card's text, if it ends with &, with the texts of the CONTINUE cards after it. @return  index of the card after these */
static int64_t join_text(const struct lw_fits_unit *unit, int64_t index, const struct lw_fits_card *card, char *text, size_t size)
{
    struct lw_fits_card next;
    snprintf(text, size, "%s", card->text);
    for (index++; index < unit->n_cards; index++) {
        const size_t length = strlen(text);
        const char *const start = unit->cards + index * LW_FITS_CARD;
        if (length == 0 || text[length - 1] != '&' || memcmp(start, "CONTINUE  '", 11) != 0 || length + LW_FITS_CARD > size)
            break;
        lw_fits_card(unit, index, &next);
        snprintf(text + length - 1, size - length + 1, "%s", next.text);
    }
    return index;
}

static void visit_unit(const struct lw_fits_unit *unit, lw_attribute_fn *visit, void *context)
{
    char text[4096];
    struct lw_fits_card card;
    for (int64_t c = 0, next; c < unit->n_cards; c = next) {
        next = c + 1;
        lw_fits_card(unit, c, &card);
        if (card.kind == LW_FITS_NOTHING || is_structural(card.keyword))
            continue;
        struct lw_attribute attribute = {
            .name = card.keyword, .kind = LW_ATTRIBUTE_INT, .integer = card.integer, .real = card.real};
        if (card.kind == LW_FITS_TEXT) {
            next = join_text(unit, c, &card, text, sizeof text);
            attribute.kind = LW_ATTRIBUTE_TEXT;
            attribute.text = text;
        } else if (card.kind == LW_FITS_REAL) {
            attribute.kind = LW_ATTRIBUTE_REAL;
        } else if (card.kind == LW_FITS_LOGICAL) {
            attribute.integer = card.logical;
        }
        visit(&attribute, context);
    }
}

/* Visit the keywords of the image's unit, and those of the primary unit if INHERIT is true. */
static void visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context)
{
    struct lw_fits_walk walk;
    struct lw_fits_image image;
    bool inherits = false;
    if (find_unit(info->file, info->path, &walk, &image, NULL) == LW_OK) {
        visit_unit(walk.unit, visit, context);
        lw_fits_logical(walk.unit, "INHERIT", &inherits);
    }
    lw_fits_end(&walk);
    if (inherits && image.unit > 0 && lw_fits_begin(info->file, &walk, NULL) == LW_OK)
        visit_unit(walk.unit, visit, context);
    if (inherits && image.unit > 0)
        lw_fits_end(&walk);
}

/* ---- origin of a result of lapwing, which result_format.c has written to HISTORY ------------------------------------------ */

/* A walk through the lines of HISTORY. Lines that cards.h has cut are joined. */
struct history {
    const struct lw_fits_unit *unit;
    int64_t card;                       /* index of the next card */
    char line[4096];                    /* longer lines are cut */
};

static bool next_line(struct history *history)
{
    enum { ROOM = LW_FITS_CARD - 8 };
    size_t used = 0;
    bool goes_on = false;
    for (; history->card < history->unit->n_cards; history->card++) {
        const char *const card = history->unit->cards + history->card * LW_FITS_CARD;
        if (memcmp(card, "HISTORY ", 8) != 0 && goes_on)
            break;
        if (memcmp(card, "HISTORY ", 8) != 0)
            continue;
        size_t length = ROOM;
        while (length > 0 && card[8 + length - 1] == ' ')
            length--;
        goes_on = length == ROOM && card[LW_FITS_CARD - 1] == '\\';
        const size_t room = sizeof history->line - 1 - used, taken = length - goes_on < room ? length - goes_on : room;
        memcpy(history->line + used, card + 8, taken);
        used += taken;
        if (!goes_on) {
            history->card++;
            break;
        }
    }
    history->line[used] = '\0';
    return used > 0;
}

/* Take a line of HISTORY. The line "configuration =" is followed by the lines of the configuration, indented. */
static void take_line(const char *line, bool *is_configuration, FILE *configuration, struct lw_listing_origin *origin)
{
    const struct {
        const char *name;
        char *text;
        size_t size;
    } fields[] = {{"version = ", origin->version, sizeof origin->version}, {"job = ", origin->job, sizeof origin->job},
                  {"end_time_utc = ", origin->end, sizeof origin->end}};
    const bool is_indented = strncmp(line, LW_FITS_INDENT, strlen(LW_FITS_INDENT)) == 0;
    *is_configuration = strcmp(line, "configuration =") == 0 || (*is_configuration && is_indented);
    if (*is_configuration && is_indented)
        fprintf(configuration, "%s\n", line + strlen(LW_FITS_INDENT));
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        if (strncmp(line, fields[f].name, strlen(fields[f].name)) == 0)
            snprintf(fields[f].text, fields[f].size, "%.*s", (int)fields[f].size - 1, line + strlen(fields[f].name));
}

static bool find_origin(const char *file, struct lw_listing_origin *origin)
{
    struct lw_fits_walk walk;
    bool is_complete = true, is_configuration = false, is_ours = false;
    size_t bytes = 0;
    FILE *const configuration = open_memstream(&origin->configuration, &bytes);     /* lw_free will free it */
    if (!configuration)
        return false;
    if (lw_fits_begin(file, &walk, NULL) == LW_OK) {
        struct history history = {.unit = walk.unit};
        is_ours = lw_fits_logical(walk.unit, LW_FITS_COMPLETE, &is_complete);
        while (is_ours && next_line(&history))
            take_line(history.line, &is_configuration, configuration, origin);
    }
    lw_fits_end(&walk);
    origin->is_incomplete = !is_complete;
    return fclose(configuration) == 0 && is_ours && origin->job[0] && bytes > 0;
}

static int read_notes(const struct lw_object *object, struct lw_notes *notes, struct lw_error *err)
{
    struct lw_fits_walk walk;
    bool is_complete;
    char *end;
    const int rc = lw_fits_begin(object->file, &walk, err);
    if (rc == LW_OK && lw_fits_logical(walk.unit, LW_FITS_COMPLETE, &is_complete)) {
        struct history history = {.unit = walk.unit};
        while (next_line(&history)) {
            char *const equals = strstr(history.line, " = "), *const value = equals ? equals + 3 : NULL;
            if (!equals || history.line[0] == ' ')          /* indented: a line of the configuration */
                continue;
            *equals = '\0';
            struct lw_attribute attribute = {
                .name = history.line, .kind = LW_ATTRIBUTE_TEXT, .text = value, .real = strtod(value, &end)};
            if (end > value && !*end)
                attribute.kind = LW_ATTRIBUTE_REAL;
            lw_said_add(&attribute, &notes->file);
        }
    }
    lw_fits_end(&walk);
    return rc;
}

const struct lw_format lw_format_fits = {
    .name = "FITS", .file_text = "a FITS file",
    .recognise = lw_fits_begins, .list = list,
    .find_origin = find_origin,
    .describe = describe,
    .open = open_image, .open_bytes = sizeof(struct opened), .read = read_box, .reads_in_threads = true,
    .close = close_image,
    .locate = locate, .visit_attributes = visit_attributes, .read_numbers = read_numbers, .read_notes = read_notes,
};
