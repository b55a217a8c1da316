/* psrfits_table.c - read the headers of PSRFITS files: find the columns of the table SUBINT, and read keywords. */
#include "io/archive/psrfits.h"

#include "base/integers.h"
#include "io/archive/fits/header.h"
#include "io/notes/recorder.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- columns --------------------------------------------------------------------------------------------------------- */

struct column {
    int64_t place, count;       /* first byte in a row (-1: the table lacks the column), and number of elements */
    char type;                  /* the letter in TFORM: 'B' bytes, 'I' int16, 'E' float32, 'D' float64 */
    bool is_scaled;             /* FITS' keywords TSCAL and TZERO scale the column */
};

/* Find a column by its name. Columns after a column of unknown size are not found. */
static struct column find_column(const struct lw_fits_unit *unit, const char *wanted)
{
    struct lw_fits_column column = {0};
    double scale = 1, zero = 0;
    while (lw_fits_next_column(unit, &column)) {
        if (strcmp(column.name, wanted) != 0)
            continue;
        lw_fits_real(unit, lw_fits_numbered("TSCAL", column.number).text, &scale);
        lw_fits_real(unit, lw_fits_numbered("TZERO", column.number).text, &zero);
        return (struct column){column.place, column.count, column.type, scale != 1 || zero != 0};
    }
    return (struct column){.place = -1};
}

/* Return whether a column is absent, or has `count` unscaled numbers in a row. @param types  letters of the allowed types */
static bool may_be(const struct column *column, const char *types, int64_t count)
{
    return column->place < 0 || (strchr(types, column->type) && column->count == count && !column->is_scaled);
}

static int place_data(const struct lw_fits_unit *unit, const char *file, struct lw_psrfits *table, struct lw_error *err)
{
    const struct column column = find_column(unit, "DATA");
    const char wanted = table->bits == 32 ? 'E' : table->bits == 16 ? 'I' : 'B';
    const int64_t element_bits = table->bits > 8 ? table->bits : 8;
    int64_t bits, there;
    table->data = column.place;
    if (column.place < 0)
        return lw_fail(err, LW_EDATA, "'%.600s' is damaged: its table SUBINT has no column DATA", file);
    if (column.type != wanted || column.is_scaled)
        return lw_fail(err, LW_EDATA,
                       "'%.600s': its column DATA does not hold plain %s, as samples of %" PRId64 " bits must be stored",
                       file, table->bits == 32 ? "float32" : table->bits == 16 ? "int16" : "bytes", table->bits);
    if (__builtin_mul_overflow(table->n_pols * table->n_channels, table->n_per_row, &bits) ||
        __builtin_mul_overflow(bits, table->bits, &bits) || __builtin_mul_overflow(column.count, element_bits, &there) ||
        bits != there)
        return lw_fail(err, LW_EDATA,
                       "'%.600s' is damaged: a row of DATA holds %" PRId64 " elements, not the %" PRId64 " spectra (NSBLK) of %"
                       PRId64 " polarisations and %" PRId64 " channels in %" PRId64 " bits", file, column.count,
                       table->n_per_row, table->n_pols, table->n_channels, table->bits);
    return LW_OK;
}

static int place_columns(const struct lw_fits_unit *unit, const char *file, struct lw_psrfits *table, struct lw_error *err)
{
    const int64_t per_pol = table->n_channels, all = table->n_pols * table->n_channels;
    const struct {
        const char *name;
        int64_t count;
        int64_t *place;
    } floats[] = {{"DAT_WTS", per_pol, &table->weights}, {"DAT_SCL", all, &table->scales}, {"DAT_OFFS", all, &table->offsets}};
    const struct column times = find_column(unit, "OFFS_SUB"), frequencies = find_column(unit, "DAT_FREQ");
    const int rc = place_data(unit, file, table, err);
    if (rc)
        return rc;
    if (!may_be(&times, "D", 1))
        return lw_fail(err, LW_EDATA, "'%.600s' is damaged: its column OFFS_SUB does not hold one float64", file);
    if (!may_be(&frequencies, "DE", per_pol))
        return lw_fail(err, LW_EDATA,
                       "'%.600s' is damaged: its column DAT_FREQ does not hold a number for each of %" PRId64 " channels", file,
                       per_pol);
    table->times = times.place;
    table->frequencies = frequencies.place;
    table->has_double_frequencies = frequencies.type == 'D';
    for (size_t f = 0; f < sizeof floats / sizeof *floats; f++) {
        const struct column column = find_column(unit, floats[f].name);
        if (!may_be(&column, "E", floats[f].count))
            return lw_fail(err, LW_EDATA, "'%.600s' is damaged: its column %s does not hold %" PRId64 " float32 in a row", file,
                           floats[f].name, floats[f].count);
        *floats[f].place = column.place;
    }
    return LW_OK;
}

static int check_numbers(const char *file, const struct lw_psrfits *table, struct lw_error *err)
{
    const struct {
        const char *name;
        int64_t value, most;
    } numbers[] = {{"NPOL", table->n_pols, 4}, {"NCHAN", table->n_channels, INT32_MAX}, {"NSBLK", table->n_per_row, INT32_MAX},
                   {"the number of rows of SUBINT", table->n_rows, INT32_MAX}};
    const int64_t bits = table->bits;
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        if (numbers[n].value < 1 || numbers[n].value > numbers[n].most)
            return lw_fail(err, LW_EDATA, "'%.600s' is damaged: %s is %" PRId64 " or missing, not 1 to %" PRId64, file,
                           numbers[n].name, numbers[n].value, numbers[n].most);
    if (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16 && bits != 32)
        return lw_fail(err, LW_EDATA, "'%.600s' has samples of %" PRId64 " bits (NBITS), not 1, 2, 4, 8, 16 or 32", file, bits);
    if (!(table->period_s > 0))
        return lw_fail(err, LW_EDATA, "'%.600s' is damaged: TBIN is %g s or missing", file, table->period_s);
    return LW_OK;
}

/* ---- the headers ----------------------------------------------------------------------------------------------------- */

static int read_primary(const struct lw_fits_unit *unit, const char *file, struct lw_psrfits *table, struct lw_error *err)
{
    static const char *const fields[][2] = {
        {"telescope", "TELESCOP"}, {"front end", "FRONTEND"}, {"back end", "BACKEND"}, {"beam", "IBEAM"}};
    char mode[16] = "", text[LW_FITS_CARD], ra[LW_FITS_CARD] = "", dec[LW_FITS_CARD] = "";
    int64_t number;
    lw_fits_text(unit, "OBS_MODE", mode, sizeof mode);
    if (strncmp(mode, "SEARCH", 6) != 0 && strcmp(mode, "SRCH") != 0)
        return lw_fail(err, LW_EDATA, "'%.600s' is PSRFITS in mode '%s' (OBS_MODE): only search mode is supported", file, mode);
    lw_fits_int(unit, "STT_IMJD", &table->start_day);
    lw_fits_int(unit, "STT_SMJD", &table->start_second);
    lw_fits_real(unit, "STT_OFFS", &table->start_offset_s);
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        if (lw_fits_text(unit, fields[f][1], text, sizeof text))
            lw_recorder_add(&table->recorder, fields[f][0], text);
        if (lw_fits_int(unit, fields[f][1], &number))
            lw_recorder_add_number(&table->recorder, fields[f][0], (double)number);
    }
    lw_fits_text(unit, "RA", ra, sizeof ra);
    lw_fits_text(unit, "DEC", dec, sizeof dec);
    lw_recorder_point(&table->recorder, 15 * lw_recorder_angle(ra), lw_recorder_angle(dec));
    return LW_OK;
}

/* Read the keywords of SUBINT. Numbers stay 0 if their keyword is absent or "*" (unknown). */
static void read_keywords(const struct lw_fits_unit *unit, struct lw_psrfits *table)
{
    char scale[16] = "";
    int64_t sign = 0;
    table->first_row = unit->data_offset;
    table->row_bytes = unit->axes[0];
    table->n_rows = unit->axes[1];
    lw_fits_int(unit, "NBITS", &table->bits);
    lw_fits_int(unit, "NPOL", &table->n_pols);
    lw_fits_int(unit, "NCHAN", &table->n_channels);
    lw_fits_int(unit, "NSBLK", &table->n_per_row);
    lw_fits_int(unit, "NSTOT", &table->n_spectra);
    lw_fits_int(unit, "NSUBOFFS", &table->n_rows_before);
    lw_fits_int(unit, "SIGNINT", &sign);
    table->is_signed = sign == 1 || table->bits == 16;
    lw_fits_real(unit, "ZERO_OFF", &table->zero);
    lw_fits_real(unit, "TBIN", &table->period_s);
    lw_fits_real(unit, "CHAN_BW", &table->channel_mhz);
    lw_fits_text(unit, "POL_TYPE", table->pol_type, sizeof table->pol_type);
    lw_fits_text(unit, "SCALE", scale, sizeof scale);
    snprintf(table->unit, sizeof table->unit, "%s", strcmp(scale, "Jansky") == 0 ? "Jy" : "");
}

/* Walk on to the table SUBINT. */
static int find_table(struct lw_fits_walk *walk, struct lw_error *err)
{
    char name[24], kind[24];
    int rc = LW_OK;
    while (rc == LW_OK && walk->unit) {
        if (lw_fits_text(walk->unit, "EXTNAME", name, sizeof name) && strcmp(name, "SUBINT") == 0 &&
            lw_fits_text(walk->unit, "XTENSION", kind, sizeof kind) && strcmp(kind, "BINTABLE") == 0 && walk->unit->n_axes == 2)
            return LW_OK;
        rc = lw_fits_next(walk, err);
    }
    return rc ? rc : lw_fail(err, LW_EDATA, "'%.600s' is damaged: it has no table SUBINT", walk->file);
}

static int read_table(const struct lw_fits_unit *unit, const char *file, int64_t file_bytes, struct lw_psrfits *table,
                      struct lw_error *err)
{
    int rc;
    read_keywords(unit, table);
    if ((rc = check_numbers(file, table, err)) || (rc = place_columns(unit, file, table, err)))
        return rc;
    const int64_t there = table->row_bytes > 0 ? lw_max64(0, (file_bytes - table->first_row) / table->row_bytes) : 0;
    if (there < table->n_rows)
        return lw_fail(err, LW_EDATA,
                       "'%.600s' is cut off: by its header it holds %" PRId64 " rows of %" PRId64 " bytes, and only %" PRId64
                       " are there", file, table->n_rows, table->row_bytes, there);
    /* NSTOT is the number of valid spectra. Programs that cut files into pieces leave the whole file's number, which is ignored. */
    const int64_t most = table->n_rows * table->n_per_row;
    if (table->n_spectra <= most - table->n_per_row || table->n_spectra > most)
        table->n_spectra = most;
    return LW_OK;
}

int lw_psrfits_read(const char *file, int64_t file_bytes, struct lw_psrfits *out, struct lw_error *err)
{
    struct lw_fits_walk walk;
    int rc;
    *out = (struct lw_psrfits){0};
    (void)((rc = lw_fits_begin(file, &walk, err)) || (rc = read_primary(walk.unit, file, out, err)) ||
           (rc = find_table(&walk, err)) || (rc = read_table(walk.unit, file, file_bytes, out, err)));
    lw_fits_end(&walk);
    return rc;
}

void lw_psrfits_visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context)
{
    static const char *const texts[] = {"TELESCOP", "OBSERVER", "PROJID", "FRONTEND", "BACKEND", "SRC_NAME", "COORD_MD", "RA",
                                        "DEC", "FD_POLN", "TRK_MODE", "DATE-OBS"};
    static const char *const reals[] = {"IBEAM", "OBSFREQ", "OBSBW", "OBSNCHAN", "CHAN_DM", "EQUINOX", "BMAJ", "BMIN", "BPA",
                                        "ANT_X", "ANT_Y", "ANT_Z"};
    struct lw_fits_walk walk;
    const bool is_open = lw_fits_begin(info->file, &walk, NULL) == LW_OK;
    for (size_t t = 0; is_open && t < sizeof texts / sizeof *texts; t++) {
        char text[LW_FITS_CARD] = "";
        const struct lw_attribute attribute = {.name = texts[t], .kind = LW_ATTRIBUTE_TEXT, .text = text};
        lw_fits_text(walk.unit, texts[t], text, sizeof text);
        if (text[0] && strcmp(text, "*") != 0)      /* "*": unknown */
            visit(&attribute, context);
    }
    for (size_t r = 0; is_open && r < sizeof reals / sizeof *reals; r++) {
        struct lw_attribute attribute = {.name = reals[r], .kind = LW_ATTRIBUTE_REAL};
        if (lw_fits_real(walk.unit, reals[r], &attribute.real) && !isnan(attribute.real))
            visit(&attribute, context);
    }
    lw_fits_end(&walk);
}
