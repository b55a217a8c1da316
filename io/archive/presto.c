/* presto.c - read time series of PRESTO: float32 numbers in NAME.dat, in this machine's byte order, described by the text NAME.inf.
 * NAME.fft stands for its series, too: it holds the sums X[0], X[n / 2], X[1], X[2], .. of its Fourier transform.
 * Its inverse transform lies in memory while it is open (4 bytes a sample; 12 more while it is made).
 *
 *      Epoch of observation (MJD)             =  58543.330387241345000
 *
 * Neither has a header: their format is recognised by the first line of NAME.inf. PRESTO fills bins (its word for samples) in gaps,
 * and at the end up to a length that is fast to transform. Filled bins are read like all others, as PRESTO does.
 * Source: src/ioinf.c of PRESTO, which writes and reads the text. */
#include "io/archive/flat.h"
#include "io/archive/shared.h"
#include "io/notes/recorder.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"
#include "base/text.h"
#include "design/transform.h"
#include "io/bytes/transfer.h"
#include "options/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_TEXT = 64 << 10, VALUE = 128, EQUALS = 40 };

static const char first_key[] = "Data file name without suffix";

/* ---- the text -------------------------------------------------------------------------------------------------------- */

static bool is_spectrum(const char *file) { return lw_before_ending(file, ".fft") > 0; }

/* Turn "NAME.dat" or "NAME.fft" into "NAME.inf". Returns false if the name has another ending. */
static bool name_text(const char *file, char name[LW_MAX_PATH])
{
    const size_t before = lw_before_ending(file, is_spectrum(file) ? ".fft" : ".dat");
    snprintf(name, LW_MAX_PATH, "%.*s.inf", (int)before, file);
    return before > 0;
}

/* Read NAME.inf of a series NAME.dat. @param text  set to its text, which the caller frees; NULL on failure */
static int read_text(const char *file, char **text, struct lw_error *err)
{
    char name[LW_MAX_PATH], why[96];
    *text = NULL;
    if (!name_text(file, name))
        return lw_fail(err, LW_EDATA, "'%.600s' does not end with .dat or .fft, as series of PRESTO do", file);
    const int fd = lw_file_open(name, why);
    if (fd < 0)
        return lw_fail(err, LW_EIO, "cannot read '%.600s', which describes '%.300s': %s", name, file, why);
    const int64_t bytes = lw_max64(0, lw_min64(lseek(fd, 0, SEEK_END), MOST_TEXT));
    *text = lw_alloc((size_t)bytes + 1, "a text", err);
    const int rc = *text ? lw_bytes_read_file(fd, name, *text, 0, bytes, err) : LW_ESYSTEM;
    close(fd);
    if (rc) {
        lw_free(*text);
        *text = NULL;
    }
    return rc;
}

/* Copy the value after the "=" in column 40, or else after the last "=" of the line. Returns false if the line has no "=". */
static bool take_value(const char *line, size_t length, char value[VALUE])
{
    size_t at = EQUALS;
    if (length <= EQUALS || line[EQUALS] != '=')
        for (at = length; at > 0 && line[at - 1] != '='; at--)
            ;
    else
        at++;
    if (at == 0)
        return false;
    while (at < length && line[at] == ' ')
        at++;
    while (length > at && strchr(" \t\r", line[length - 1]))
        length--;
    snprintf(value, VALUE, "%.*s", (int)lw_min64((int64_t)(length - at), VALUE - 1), line + at);
    return true;
}

/* Find the line that begins with a key, possibly after blanks, and copy the line's value. */
static bool find(const char *text, const char *key, char value[VALUE])
{
    for (const char *line = text; *line; ) {
        const size_t length = strcspn(line, "\n");
        if (strncmp(line + strspn(line, " "), key, strlen(key)) == 0)
            return take_value(line, length, value);
        line += length + (line[length] == '\n');
    }
    return false;
}

static bool find_real(const char *text, const char *key, double *out)
{
    char value[VALUE];
    return find(text, key, value) && lw_parse_real(value, out) == LW_PARSE_OK && isfinite(*out);
}

/* Recognise the format by the first line of NAME.inf. */
static int recognise(const char *file, bool *is_one, struct lw_error *err)
{
    char name[LW_MAX_PATH], start[sizeof first_key + 8] = "";
    (void)err;
    *is_one = name_text(file, name) && lw_archive_read_start(name, start, sizeof start - 1, is_one, NULL) == LW_OK && *is_one &&
              strncmp(start + strspn(start, " "), first_key, strlen(first_key)) == 0;
    return LW_OK;
}

/* ---- the format ------------------------------------------------------------------------------------------------------ */

static int find_length(const char *text, const struct lw_dataset_info *info, int64_t *n, struct lw_error *err)
{
    double told = 0;
    const int64_t there = info->file_bytes / (int64_t)sizeof(float);
    if (!find_real(text, "Number of bins in the time series", &told) || !(told >= 1 && told < 1e15))
        return lw_fail(err, LW_EDATA,
                       "the .inf file of '%.600s' lacks the number of bins (Number of bins in the time series)",
                       info->file);
    *n = (int64_t)told;
    if (*n <= there)
        return LW_OK;
    return lw_fail(err, LW_EDATA,
                   "'%.600s' is cut short: its .inf file gives %" PRId64 " bins, and %" PRId64 " are there", info->file,
                   *n, there);
}

/* Parse an epoch, a modified Julian day. Day and fraction are parsed apart: a float64 has too few digits for both. */
static bool parse_epoch(const char *value, struct lw_instant *out)
{
    __extension__ typedef __int128 wide;
    char *end;
    const long day = strtol(value, &end, 10);
    wide fraction = 0;
    int digits = 0;
    for (end += *end == '.'; *end >= '0' && *end <= '9' && digits < 18; end++, digits++)
        fraction = 10 * fraction + (*end - '0');
    for (; digits < 18; digits++)
        fraction *= 10;
    if (day <= 0 || !lw_instant_from_mjd((double)day, out))
        return false;
    out->seconds += (int64_t)(fraction * 86400 / LW_ATTOSECONDS);
    out->attoseconds = (int64_t)(fraction * 86400 % LW_ATTOSECONDS);
    return true;
}

static void find_start(const char *text, struct lw_axis_metadata *axis)
{
    char value[VALUE];
    double barycentred = 0;
    if (!find(text, "Epoch of observation", value))
        return;
    find_real(text, "Barycentered?", &barycentred);
    if (barycentred == 0 && parse_epoch(value, &axis->instant))
        axis->scale = LW_TIME_UTC;
    else if (barycentred != 0 && lw_parse_real(value, &axis->start) == LW_PARSE_OK) {
        axis->has_start = true;
        snprintf(axis->start_unit, sizeof axis->start_unit, "barycentric MJD");
    }
}

static double find_angle(const char *text, const char *key)
{
    char value[VALUE];
    return find(text, key, value) ? lw_recorder_angle(value) : NAN;
}

static struct lw_flat flat_of(const struct lw_dataset_info *info)
{
    return (struct lw_flat){.values = {.number = LW_NUMBER_FLOAT32}, .n_dims = 1, .dims = {info->dims[0]}};
}

/* ---- samples --------------------------------------------------------------------------------------------------------- */

/* Write the series of n packed sums in their place. */
static int invert(int64_t n, float *numbers, struct lw_error *err)
{
    LW_FREED double *const data = lw_alloc_array(lw_transform_doubles(LW_TRANSFORM_TO_REAL, n), sizeof *data, "a spectrum", err);
    struct lw_transform *transform = NULL;
    const int rc = data ? lw_transform_create(LW_TRANSFORM_TO_REAL, n, &transform, err) : LW_ESYSTEM;
    if (rc == LW_OK) {
        for (int64_t i = 2; i < n; i++)
            data[i] = numbers[i];
        data[0] = numbers[0];
        data[n] = numbers[1];
        lw_transform_run(transform, data);
        for (int64_t i = 0; i < n; i++)
            numbers[i] = (float)(data[i] / (double)n);
    }
    lw_transform_destroy(transform);
    return rc;
}

/* Open the series of a spectrum, in memory. @param fd  set; the caller closes it even after an error */
static int open_inverse(const struct lw_dataset_info *info, int *fd, struct lw_error *err)
{
    const int64_t n = info->dims[0], bytes = n * (int64_t)sizeof(float);
    LW_FREED float *const numbers = lw_alloc((size_t)bytes, "a spectrum", err);
    int file = -1, rc = numbers ? lw_file_open_input(info->file, &file, err) : LW_ESYSTEM;
    if (rc == LW_OK && (rc = lw_bytes_read_file(file, info->file, numbers, 0, bytes, err)) == LW_OK &&
        (rc = invert(n, numbers, err)) == LW_OK) {
        *fd = memfd_create("lapwing-presto", MFD_CLOEXEC);
        rc = *fd < 0 ? lw_fail(err, LW_ESYSTEM, "no memory for the series of '%.600s'", info->file)
                     : lw_bytes_write(*fd, numbers, 0, bytes, err);
    }
    if (file >= 0)
        close(file);
    return rc;
}

static int open_series(void *dataset, const struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_flat_opened *const opened = dataset;
    *opened = (struct lw_flat_opened){.flat = flat_of(info), .fd = -1};
    const int rc = is_spectrum(info->file) ? open_inverse(info, &opened->fd, err) : LW_OK;
    return rc ? rc : lw_flat_open(opened, info, err);
}

static int read_numbers(const struct lw_dataset_info *info, double *values, struct lw_error *err)
{
    struct lw_flat_opened opened;
    const int rc = open_series(&opened, info, err);
    if (rc == LW_OK)        /* closes the file */
        return lw_flat_read_numbers(&opened.flat, info, opened.fd, values, err);
    lw_flat_close(&opened);
    return rc;
}

static int describe_text(const char *text, struct lw_dataset_info *info, struct lw_error *err)
{
    static const char *const fields[][2] = {{"telescope", "Telescope used"}, {"instrument", "Instrument used"},
                                            {"dispersion measure", "Dispersion measure"}};
    double seconds;
    char value[VALUE];
    int rc = find_length(text, info, &info->dims[0], err);
    if (rc)
        return rc;
    if (is_spectrum(info->file) && info->dims[0] % 2)
        return lw_fail(err, LW_EDATA, "the .inf file of '%.600s' gives %" PRId64 " bins: a spectrum of PRESTO has an even number",
                       info->file, info->dims[0]);
    if (!find_real(text, "Width of each time series bin", &seconds) || !lw_period_from_seconds(seconds, &info->axis.period))
        return lw_fail(err, LW_EDATA, "the .inf file of '%.600s' lacks the length of a bin (Width of each time series bin)",
                       info->file);
    const struct lw_flat flat = flat_of(info);
    if ((rc = lw_flat_describe(&flat, false, info, err)))
        return rc;
    snprintf(info->axis.source, sizeof info->axis.source, ".inf file");
    find_start(text, &info->axis);
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        if (find(text, fields[f][1], value))
            lw_recorder_add(&info->recorder, fields[f][0], value);
    lw_recorder_point(&info->recorder, 15 * find_angle(text, "J2000 Right Ascension"), find_angle(text, "J2000 Declination"));
    info->metadata_axis = 0;
    lw_archive_name(info, 0, "time");
    return LW_OK;
}

static int describe(struct lw_dataset_info *info, struct lw_error *err)
{
    LW_FREED char *text = NULL;
    int rc;
    if ((rc = lw_archive_take_no_path(info, "a time series of PRESTO", err)) || (rc = read_text(info->file, &text, err)))
        return rc;
    return describe_text(text, info, err);
}

static int list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err)
{
    struct lw_dataset_info info;
    int rc;
    if ((rc = lw_archive_info(file, &info, err)) || (rc = describe(&info, err)))
        return rc;
    lw_archive_list(&info, is_spectrum(file) ? "Fourier transform" : "contiguous", info.dims[0] * (int64_t)sizeof(float), visit,
                    context);
    return LW_OK;
}

/* Visit the attributes, under the names of SIGPROC's keywords where SIGPROC has the same. */
static void visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context)
{
    static const struct {
        const char *name, *key;
        bool is_real;
    } fields[] = {
        {"telescope", "Telescope used", false},          {"instrument", "Instrument used", false},
        {"source_name", "Object being observed", false}, {"observer", "Data observed by", false},
        {"RA", "J2000 Right Ascension", false},          {"DEC", "J2000 Declination", false},
        {"refdm", "Dispersion measure", true},           {"low_channel_mhz", "Central freq of low channel", true},
        {"bandwidth_mhz", "Total bandwidth", true},
    };
    char value[VALUE], *text;
    read_text(info->file, &text, NULL);
    for (size_t f = 0; text && f < sizeof fields / sizeof *fields; f++) {
        struct lw_attribute attribute = {
            .name = fields[f].name, .kind = fields[f].is_real ? LW_ATTRIBUTE_REAL : LW_ATTRIBUTE_TEXT, .text = value};
        if (find(text, fields[f].key, value) && (!fields[f].is_real || find_real(text, fields[f].key, &attribute.real)))
            visit(&attribute, context);
    }
    lw_free(text);
}

const struct lw_format lw_format_presto = {
    .name = "PRESTO", .file_text = "a PRESTO time series",
    .recognise = recognise, .list = list, .describe = describe,
    .open = open_series, .open_bytes = sizeof(struct lw_flat_opened), .read = lw_flat_read, .reads_in_threads = true,
    .close = lw_flat_close,
    .locate = lw_flat_locate, .visit_attributes = visit_attributes, .read_numbers = read_numbers,
};
