/* psrfits.c - read PSRFITS files in search mode: spectra [time x channel] of one polarisation, or the sum of two.
 *
 *     /AA, /BB, /CR, /CI, /I, ..       a polarisation by its name in POL_TYPE, or by its number (/0) if POL_TYPE lacks names
 *     /AA+BB                           the sum of two polarisations; without a path the total power: I, AA+BB or the only one
 *
 * Samples are integers if no row scales, shifts or weights its channels and no row is missing by OFFS_SUB (NaN), else float32. */
#include "io/archive/psrfits.h"
#include "io/archive/shared.h"
#include "io/archive/spectra.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/bytes/transfer.h"
#include "io/notes/recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { NAME = 24 };           /* room for a polarisation's name */

/* A file open for reading samples. */
struct opened {
    struct lw_dataset_info info;
    struct lw_psrfits table;
    struct lw_spectra spectra;
    int64_t *slots;             /* [n_rows] index of each row, counting missing rows; NULL: no row is missing */
};

/* Recognise the format by the keyword FITSTYPE in the first block of the file. */
static int recognise(const char *file, bool *is_one, struct lw_error *err)
{
    enum { CARD = 80, CARDS = 36 };
    char cards[CARD * CARDS];
    bool is_there;
    const int rc = lw_archive_read_start(file, cards, sizeof cards, &is_there, err);
    *is_one = false;
    if (is_there && memcmp(cards, "SIMPLE  =", 9) == 0)
        for (int c = 1; c < CARDS; c++)
            *is_one |= memcmp(cards + c * CARD, "FITSTYPE= 'PSRFITS", 18) == 0;
    return rc;
}

/* ---- which polarisations ---------------------------------------------------------------------------------------------- */

/* Find the name of a polarisation in POL_TYPE. Unless POL_TYPE has a name for each, names are numbers, from 0 on. */
static void name_pol(const struct lw_psrfits *table, int64_t pol, char name[NAME])
{
    const char *const type = table->pol_type;
    const int64_t length = (int64_t)strlen(type), n = table->n_pols;
    const int letters = n == 1 ? (int)length : length == 2 * n ? 2 : length == n ? 1 : 0;
    if (letters == 0 || strpbrk(type, "/*"))
        snprintf(name, NAME, "%" PRId64, pol);
    else
        snprintf(name, NAME, "%.*s", letters, type + pol * letters);
}

/* Return the index of the polarisation with a name; -1: no polarisation has it. */
static int64_t find_pol(const struct lw_psrfits *table, const char *text, size_t length)
{
    char name[NAME];
    for (int64_t p = 0; p < table->n_pols; p++) {
        name_pol(table, p, name);
        if (strlen(name) == length && strncmp(name, text, length) == 0)
            return p;
    }
    return -1;
}

/* Parse a path. The whole name is tried before its parts, since a name in POL_TYPE may contain a plus. */
static bool parse_path(const char *path, const struct lw_psrfits *table, struct lw_spectra *out)
{
    const char *const name = path + 1;
    if (path[0] != '/')
        return false;
    out->n_summed = 1;
    out->summed[0] = find_pol(table, name, strlen(name));
    const char *const plus = strchr(name, '+');
    if (out->summed[0] >= 0 || !plus)
        return out->summed[0] >= 0;
    out->n_summed = 2;
    out->summed[0] = find_pol(table, name, (size_t)(plus - name));
    out->summed[1] = find_pol(table, plus + 1, strlen(plus + 1));
    return out->summed[0] >= 0 && out->summed[1] >= 0 && out->summed[0] != out->summed[1];
}

/* Find the path of the total power. Returns false if the names do not show which polarisations form it. */
static bool find_power(const struct lw_psrfits *table, char *path, size_t size)
{
    char name[NAME];
    name_pol(table, 0, name);
    if (table->n_pols == 1 || strcmp(name, "I") == 0)
        snprintf(path, size, "/%s", name);
    else if (find_pol(table, "AA", 2) >= 0 && find_pol(table, "BB", 2) >= 0)
        snprintf(path, size, "/AA+BB");
    else
        return false;
    return true;
}

/* Set the polarisations to be summed, by info->path. An empty path is set to the path of the total power. */
static int choose(struct lw_dataset_info *info, const struct lw_psrfits *table, struct lw_spectra *out, struct lw_error *err)
{
    char paths[160] = "", name[NAME];
    for (int64_t p = 0; p < table->n_pols; p++) {
        name_pol(table, p, name);
        lw_append(paths, sizeof paths, "%s/%s", p ? ", " : "", name);
    }
    if (table->n_pols > 1)
        lw_append(paths, sizeof paths, ", and sums of two, joined by +");
    if (!info->path[0] && !find_power(table, info->path, sizeof info->path))
        return lw_fail(err, LW_EUSAGE,
                       "'%.400s' does not name which of its %" PRId64 " polarisations are the total power (POL_TYPE '%s'): "
                       "choose one, as in '%.128s:/0'; it has %s", info->file, table->n_pols, table->pol_type, info->file, paths);
    if (!parse_path(info->path, table, out))
        return lw_fail(err, LW_EDATA, "'%.400s' has no '%.200s'; it has %s", info->file, info->path, paths);
    return LW_OK;
}

/* ---- rows ------------------------------------------------------------------------------------------------------------ */

/* Read the headers, choose polarisations, open the file. @param opened  the caller closes it, also after an error */
static int open_headers(struct opened *opened, const struct lw_dataset_info *info, struct lw_error *err)
{
    int rc;
    *opened = (struct opened){.info = *info, .spectra = {.fd = -1}};
    (void)((rc = lw_psrfits_read(info->file, info->file_bytes, &opened->table, err)) ||
           (rc = choose(&opened->info, &opened->table, &opened->spectra, err)) ||
           (rc = lw_file_open_input(info->file, &opened->spectra.fd, err)));
    return rc;
}

static void close_file(void *dataset)
{
    struct opened *const opened = dataset;
    if (opened->spectra.fd >= 0)
        close(opened->spectra.fd);
    lw_free(opened->slots);
}

static int64_t row_byte(const struct lw_psrfits *table, int64_t row) { return table->first_row + row * table->row_bytes; }

/* Read `count` float32 numbers from byte `offset` of the file, and put them into this machine's byte order. */
static int read_floats(int fd, int64_t offset, int64_t count, float *values, struct lw_error *err)
{
    const int rc = lw_bytes_read(fd, values, offset, count * (int64_t)sizeof *values, err);
    for (int64_t i = 0; rc == LW_OK && i < count; i++)
        values[i] = lw_field_float32((const unsigned char *)&values[i], true);
    return rc;
}

/* Check whether all numbers of a column in one row equal `wanted`. @param are_so  set to false if not */
static int check_floats(int fd, int64_t offset, int64_t count, float wanted, bool *are_so, struct lw_error *err)
{
    float values[LW_PATCH_CHANNELS];
    int rc = LW_OK;
    for (int64_t i = 0; rc == LW_OK && *are_so && i < count; i += LW_PATCH_CHANNELS) {
        const int64_t n = lw_min64(LW_PATCH_CHANNELS, count - i);
        rc = read_floats(fd, offset + i * (int64_t)sizeof *values, n, values, err);
        for (int64_t v = 0; rc == LW_OK && v < n; v++)
            *are_so &= values[v] == wanted;
    }
    return rc;
}

/* Find whether stored samples are the values: neither ZERO_OFF nor a scale, offset or weight of any row changes them. */
static int find_plain(const struct opened *opened, bool *is_plain, struct lw_error *err)
{
    const struct lw_psrfits *const table = &opened->table;
    const int64_t all = table->n_pols * table->n_channels;
    const struct {
        int64_t place, count;
        float neutral;
    } columns[] = {{table->scales, all, 1}, {table->offsets, all, 0}, {table->weights, table->n_channels, 1}};
    struct lw_error reason;
    int rc = LW_OK;
    *is_plain = table->zero == 0;
    for (int64_t r = 0; rc == LW_OK && *is_plain && r < table->n_rows; r++)
        for (int c = 0; rc == LW_OK && c < 3; c++)
            if (columns[c].place >= 0)
                rc = check_floats(opened->spectra.fd, row_byte(table, r) + columns[c].place, columns[c].count, columns[c].neutral,
                                  is_plain, &reason);
    return rc ? lw_fail(err, LW_EIO, "cannot read '%.600s': %.300s", opened->info.file, reason.message) : LW_OK;
}

/* Read the time of the middle of a row (OFFS_SUB), in seconds; 0: the table lacks this column. */
static int read_time(const struct opened *opened, int64_t row, double *seconds, struct lw_error *err)
{
    const struct lw_psrfits *const table = &opened->table;
    unsigned char bytes[8];
    *seconds = 0;
    if (table->times < 0)
        return LW_OK;
    const int rc = lw_bytes_read_file(opened->spectra.fd, opened->info.file, bytes, row_byte(table, row) + table->times,
                                      sizeof bytes, err);
    if (rc == LW_OK)
        *seconds = lw_field_float64(bytes, true);
    return rc;
}

/* Find each row's index, counting missing rows, from the times of the rows' middles (OFFS_SUB). If a program left these 0, no row
 * is missing. LW_EDATA: two rows are not a whole number of rows apart, or have more than a day between them.
 * @param slots  [n_rows] set to the indices; may be NULL
 * @param n      set to the number of rows, including missing ones */
static int find_slots(const struct opened *opened, int64_t *slots, int64_t *n, struct lw_error *err)
{
    const struct lw_psrfits *const table = &opened->table;
    const double duration = (double)table->n_per_row * table->period_s;
    double before = 0, now;
    bool is_timed = true;
    int64_t slot = 0, spectra;
    for (int64_t r = 0; r < table->n_rows; r++, before = now) {
        const int rc = read_time(opened, r, &now, err);
        if (rc)
            return rc;
        is_timed = is_timed && now != 0;
        const double rows = (now - before) / duration, whole = nearbyint(rows);
        if (r > 0 && is_timed && !(fabs(rows - whole) < 0.1 && whole >= 1 && whole < 1e9 && (whole - 1) * duration <= 86400))
            return lw_fail(err, LW_EDATA,
                           "'%.600s' is damaged: by OFFS_SUB its row %" PRId64 " begins %g rows after the row before it: this must "
                           "be a whole number, and at most a day", opened->info.file, r, rows);
        slot += r == 0 ? 0 : is_timed ? (int64_t)whole : 1;
        if (slots)
            slots[r] = slot;
    }
    *n = slot + 1;
    if (__builtin_mul_overflow(*n, table->n_per_row, &spectra))
        return lw_fail(err, LW_EDATA, "'%.600s' is damaged: by OFFS_SUB it has more spectra than can be counted",
                       opened->info.file);
    return LW_OK;
}

/* ---- describe, list -------------------------------------------------------------------------------------------------- */

/* Describe the time axis. The first row begins half a row before its middle, or, without that, NSUBOFFS rows after the start. */
static int describe_time(struct opened *opened, struct lw_error *err)
{
    const struct lw_psrfits *const table = &opened->table;
    struct lw_axis_metadata *const axis = &opened->info.axis;
    struct lw_instant start, offset;
    double middle;
    const int rc = read_time(opened, 0, &middle, err);
    axis->sample_rate_hz = 1 / table->period_s;
    snprintf(axis->source, sizeof axis->source, "TBIN of SUBINT");
    if (rc || !lw_period_from_seconds(table->period_s, &axis->period) || table->start_day <= 0 || table->start_day > 1000000 ||
        table->start_second < 0 || table->start_second > 200000 || !lw_instant_from_mjd((double)table->start_day, &start) ||
        !(fabs(table->start_offset_s) < 1e6) || !lw_instant_from_seconds(table->start_offset_s, &offset))
        return rc;
    const double samples = middle / table->period_s - (double)table->n_per_row / 2, whole = nearbyint(samples);
    const int64_t before = middle == 0 ? lw_max64(0, lw_min64(table->n_rows_before, INT32_MAX)) * table->n_per_row
                           : whole > 0 && whole < 1e15 ? (int64_t)whole : 0;
    start.seconds += table->start_second + offset.seconds;
    start.attoseconds += offset.attoseconds;
    start.seconds += start.attoseconds / LW_ATTOSECONDS;
    start.attoseconds %= LW_ATTOSECONDS;
    axis->instant = lw_instant_of_sample(start, axis->period, before);
    axis->scale = LW_TIME_UTC;
    return LW_OK;
}

static int read_frequency(const struct opened *opened, int64_t channel, double *mhz, struct lw_error *err)
{
    const struct lw_psrfits *const table = &opened->table;
    unsigned char bytes[8];
    const int64_t size = table->has_double_frequencies ? 8 : 4;
    const int rc = lw_bytes_read_file(opened->spectra.fd, opened->info.file, bytes,
                                      row_byte(table, 0) + table->frequencies + channel * size, size, err);
    if (rc == LW_OK)
        *mhz = table->has_double_frequencies ? lw_field_float64(bytes, true) : (double)lw_field_float32(bytes, true);
    return rc;
}

/* Describe the frequencies by DAT_FREQ of the first row. Their step is CHAN_BW if the two agree except for rounding. */
static int describe_frequency(struct opened *opened, struct lw_error *err)
{
    const struct lw_psrfits *const table = &opened->table;
    struct lw_coordinate *const frequency = &opened->info.coordinates[1];
    const int64_t last = table->n_channels - 1;
    double first = NAN, end = NAN, mhz = NAN;
    *frequency = (struct lw_coordinate){.name = "frequency", .unit = "MHz"};
    if (table->frequencies < 0)
        return LW_OK;
    int rc;
    if ((rc = read_frequency(opened, 0, &first, err)) || (rc = read_frequency(opened, last, &end, err)))
        return rc;
    double step = last > 0 ? (end - first) / (double)last : table->channel_mhz;
    if (fabs(step - table->channel_mhz) <= 1e-3 * fabs(step))
        step = table->channel_mhz;
    bool is_regular = isfinite(first) && isfinite(step) && step != 0;
    for (int64_t c = 1; rc == LW_OK && is_regular && c < last; c++) {
        rc = read_frequency(opened, c, &mhz, err);
        is_regular = fabs(mhz - first - (double)c * step) <= 0.05 * fabs(step);
    }
    frequency->is_regular = is_regular;
    frequency->first = is_regular ? first : 0;
    frequency->step = is_regular ? step : 0;
    return rc;
}

/* Set the types of samples. @param is_plain  samples are the values, and no row is missing; if false, values are float32 */
static void settle_types(const struct lw_psrfits *table, bool is_plain, struct lw_spectra *out)
{
    out->bits = (int)table->bits;
    out->is_high_first = true;
    out->n_ifs = table->n_pols;
    out->n_channels = table->n_channels;
    lw_spectra_settle(out, table->is_signed, true);
    if (!is_plain)
        out->given = (struct lw_type){.scalar = LW_FLOAT32};
}

/* Fill `info` from the headers and the rows. */
static int examine_rows(struct opened *opened, struct lw_error *err)
{
    const struct lw_psrfits *const table = &opened->table;
    struct lw_dataset_info *const info = &opened->info;
    int64_t n_slots = 0;
    bool is_plain = true;
    int rc;
    if ((rc = find_slots(opened, NULL, &n_slots, err)) || (rc = find_plain(opened, &is_plain, err)) ||
        (rc = describe_time(opened, err)) || (rc = describe_frequency(opened, err)))
        return rc;
    settle_types(table, is_plain && n_slots == table->n_rows, &opened->spectra);
    info->type = opened->spectra.given;
    info->n_dims = 2;
    info->dims[0] = (n_slots - table->n_rows) * table->n_per_row + table->n_spectra;
    info->dims[1] = table->n_channels;
    info->metadata_axis = 0;
    snprintf(info->axis.unit, sizeof info->axis.unit, "%s", table->unit);
    info->recorder = table->recorder;
    if (table->n_pols > 1)
        lw_recorder_add(&info->recorder, "polarisation", info->path + 1);
    lw_archive_name(info, 0, "time");
    return LW_OK;
}

static int describe(struct lw_dataset_info *info, struct lw_error *err)
{
    struct opened opened;
    int rc = open_headers(&opened, info, err);
    if (rc == LW_OK && (rc = examine_rows(&opened, err)) == LW_OK)
        *info = opened.info;
    close_file(&opened);
    return rc;
}

static int list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err)
{
    struct lw_dataset_info all;
    struct lw_psrfits table;
    char storage[96], name[NAME], power[LW_MAX_PATH] = "";
    int rc;
    if ((rc = lw_archive_info(file, &all, err)) || (rc = lw_psrfits_read(file, all.file_bytes, &table, err)))
        return rc;
    snprintf(storage, sizeof storage, "%" PRId64 " bit%s, %" PRId64 " rows", table.bits, table.bits > 1 ? "s" : "", table.n_rows);
    const bool has_sum = table.n_pols > 1 && find_power(&table, power, sizeof power) && strchr(power, '+');
    for (int64_t p = 0; p < table.n_pols + has_sum; p++) {
        struct lw_dataset_info info = all;
        if (p < table.n_pols)
            name_pol(&table, p, name);
        snprintf(info.path, sizeof info.path, "/%s", p < table.n_pols ? name : power + 1);
        if ((rc = describe(&info, err)))
            return rc;
        /* The stored size does not include missing rows. */
        lw_archive_list(&info, storage, table.n_rows * (table.n_per_row * table.n_channels * table.bits / 8), visit, context);
    }
    return LW_OK;
}

/* ---- samples --------------------------------------------------------------------------------------------------------- */

/* Open a described dataset. Its type shows whether rows are scaled or missing, its length whether rows are missing. */
static int open_described(void *dataset, const struct lw_dataset_info *info, struct lw_error *err)
{
    struct opened *const opened = dataset;
    const struct lw_psrfits *const table = &opened->table;
    int64_t n;
    const int rc = open_headers(opened, info, err);
    if (rc)
        return rc;
    settle_types(table, info->type.scalar != LW_FLOAT32 || info->type.is_swapped, &opened->spectra);
    if (opened->spectra.given.scalar != info->type.scalar || info->dims[1] != table->n_channels || info->dims[0] < table->n_spectra)
        return lw_archive_fail_changed(info->file, err);
    if (info->dims[0] == table->n_spectra)
        return LW_OK;
    if (!(opened->slots = lw_alloc_array(table->n_rows, sizeof *opened->slots, "the places of subintegrations", err)))
        return LW_ESYSTEM;
    return find_slots(opened, opened->slots, &n, err);
}

/* Read n numbers of a column in one row. @param place  column's first byte in a row; -1: the numbers are `neutral` */
static int read_column(const struct opened *opened, int64_t row, int64_t place, float neutral, int64_t channel, int64_t n,
                       float *values, struct lw_error *err)
{
    if (place >= 0)
        return read_floats(opened->spectra.fd, row_byte(&opened->table, row) + place + channel * (int64_t)sizeof *values, n,
                           values, err);
    for (int64_t i = 0; i < n; i++)
        values[i] = neutral;
    return LW_OK;
}

/* Read a row's scales, offsets and weights for the channels of a patch. */
static int read_levels(const struct opened *opened, int64_t row, const struct lw_patch *patch, struct lw_levels *out,
                       struct lw_error *err)
{
    const struct lw_psrfits *const table = &opened->table;
    const int64_t n = patch->n_channels, channel = patch->channel;
    out->zero = table->zero;
    int rc = read_column(opened, row, table->weights, 1, channel, n, out->weight, err);
    for (int s = 0; rc == LW_OK && s < opened->spectra.n_summed; s++) {
        const int64_t at = opened->spectra.summed[s] * table->n_channels + channel;
        (void)((rc = read_column(opened, row, table->scales, 1, at, n, out->scale[s], err)) ||
               (rc = read_column(opened, row, table->offsets, 0, at, n, out->offset[s], err)));
    }
    return rc;
}

static int read_patch(const void *dataset, const struct lw_patch *patch, struct lw_error *err)
{
    const struct opened *const opened = dataset;
    const int64_t per_row = opened->table.n_per_row, end = patch->time + patch->n_times;
    const struct lw_spectra *const spectra = &opened->spectra;
    const bool are_plain = spectra->given.scalar != LW_FLOAT32 || spectra->given.is_swapped;
    struct lw_patch part = *patch;
    struct lw_levels levels;
    int rc = LW_OK;
    for (int64_t t = patch->time; rc == LW_OK && t < end; t += part.n_times) {
        const int64_t slot = t / per_row, *const slots = opened->slots;
        const int64_t row = slots ? lw_archive_find_last(slots, sizeof *slots, opened->table.n_rows, slot) : slot;
        part.time = t % per_row;
        part.n_times = lw_min64(per_row - part.time, end - t);
        part.into = patch->into + (t - patch->time) * patch->pitch;
        const bool is_missing = slots && slots[row] != slot;
        for (int64_t i = 0; is_missing && i < part.n_times; i++)
            for (int64_t c = 0; c < part.n_channels; c++)
                ((float *)(part.into + i * part.pitch))[c] = NAN;
        if (!is_missing && (are_plain || (rc = read_levels(opened, row, &part, &levels, err)) == LW_OK))
            rc = lw_spectra_read(spectra, row_byte(&opened->table, row) + opened->table.data, &part,
                                 are_plain ? NULL : &levels, err);
    }
    return rc;
}

static int read_box(void *dataset, const struct lw_box *box, struct lw_error *err)
{
    const struct opened *const opened = dataset;
    return lw_patches_read(box, opened->info.n_dims, (int64_t)lw_type_bytes(opened->info.type), read_patch, opened, err);
}

const struct lw_format lw_format_psrfits = {
    .name = "PSRFITS", .file_text = "a PSRFITS file",
    .recognise = recognise, .list = list, .describe = describe,
    .open = open_described, .open_bytes = sizeof(struct opened), .read = read_box, .reads_in_threads = true,
    .close = close_file,
    .visit_attributes = lw_psrfits_visit_attributes,
};
