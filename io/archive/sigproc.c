/* sigproc.c - read SIGPROC's filterbank (.fil) and time series (.tim) files, as PRESTO and similar programs read and write them.
 *
 *     /if/0, /if/1, ..     one IF (polarisation) each, [time x channel]; [time] if there is one channel
 *     /if/0+1              the sum of two IFs
 *
 * Files do not name the polarisation of an IF, so that a file with several IFs needs a path. Samples are stored without gaps, the
 * first sample in a byte in its low bits. Between HEADER_START and HEADER_END, each keyword is a text after its length, and a value
 * follows whose kind the keyword implies. Source: SIGPROC's user guide, and keywords that users of SIGPROC have added. */
#include "io/archive/shared.h"
#include "io/archive/spectra.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"
#include "io/notes/recorder.h"
#include "options/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* Most headers have some hundred bytes. A list of frequencies adds 20 bytes for each channel. */
#define USUAL_HEADER_BYTES ((int64_t)4 << 10)
#define MOST_HEADER_BYTES ((int64_t)4 << 20)

enum { NAME_ROOM = 81, TEXT_ROOM = 256, LEAST_BYTES = 4 + 12 };

static const char first_name[] = "HEADER_START", last_name[] = "HEADER_END";

enum kind { INTEGER, LONG, REAL, LETTER, TEXT, NOTHING };

struct header {
    bool is_swapped;            /* header and samples have the other byte order than this machine */
    int64_t bytes;              /* size of the header; the samples follow */
    int64_t bits, n_ifs, n_channels;
    int64_t n_spectra;          /* nsamples, which few programs write; 0: unknown */
    int64_t sign;               /* 0: samples are unsigned */
    int64_t barycentric;        /* 1: times are at the barycentre of the solar system */
    double start_mjd;           /* 0: unknown */
    double period_s;
    double first_mhz, step_mhz; /* frequencies of the channels; step 0: unknown */
    double ra, dec;             /* pointing, as hhmmss.s and ddmmss.s; both 0: unknown */
    double dispersion;          /* refdm: dispersion measure for which a time series was corrected */
    int64_t telescope, machine, beam;       /* numbers assigned by SIGPROC; 0: unknown */
    char telescope_name[TEXT_ROOM];
    int64_t n_listed;           /* number of frequencies in a list (fchannel) */
};

/* Keywords and the kinds of their values. Those whose values lapwing needs have a place in struct header. Results keep the keywords
 * with is_carried, which do not define shape, type, time or frequency. */
#define AT(member) offsetof(struct header, member)
static const struct keyword {
    const char *name;
    enum kind kind;
    bool is_carried;
    size_t place;               /* offset in struct header; 0: none */
} keywords[] = {
    {"rawdatafile", TEXT, true, 0}, {"source_name", TEXT, true, 0}, {"telescope", TEXT, true, AT(telescope_name)},
    {"obs_date", TEXT, true, 0}, {"obs_time", TEXT, true, 0}, {"filename", TEXT, false, 0},
    {"telescope_id", INTEGER, true, AT(telescope)}, {"machine_id", INTEGER, true, AT(machine)}, {"data_type", INTEGER, true, 0},
    {"barycentric", INTEGER, true, AT(barycentric)}, {"pulsarcentric", INTEGER, true, 0}, {"ibeam", INTEGER, true, AT(beam)},
    {"nbeams", INTEGER, true, 0}, {"nbins", INTEGER, true, 0}, {"npuls", LONG, true, 0},
    {"src_raj", REAL, true, AT(ra)}, {"src_dej", REAL, true, AT(dec)}, {"az_start", REAL, true, 0}, {"za_start", REAL, true, 0},
    {"refdm", REAL, true, AT(dispersion)}, {"period", REAL, true, 0}, {"accel", REAL, true, 0}, {"flux", REAL, true, 0},
    {"pb", REAL, true, 0}, {"ecc", REAL, true, 0}, {"asini", REAL, true, 0},
    {"hdrlen", INTEGER, false, 0}, {"orig_hdrlen", INTEGER, false, 0}, {"new_hdrlen", INTEGER, false, 0},
    {"sampsize", INTEGER, false, 0}, {"bandwidth", REAL, false, 0}, {"fbottom", REAL, false, 0}, {"ftop", REAL, false, 0},
    {"nbits", INTEGER, false, AT(bits)}, {"nchans", INTEGER, false, AT(n_channels)}, {"nifs", INTEGER, false, AT(n_ifs)},
    {"nsamples", INTEGER, false, AT(n_spectra)}, {"tstart", REAL, false, AT(start_mjd)}, {"tsamp", REAL, false, AT(period_s)},
    {"fch1", REAL, false, AT(first_mhz)}, {"foff", REAL, false, AT(step_mhz)}, {"fchannel", REAL, false, 0},
    {"signed", LETTER, false, AT(sign)},
    {"FREQUENCY_START", NOTHING, false, 0}, {"FREQUENCY_END", NOTHING, false, 0},
};
#undef AT

/* A keyword with its value. */
struct item {
    const struct keyword *keyword;
    int64_t integer;
    double real;
    char text[TEXT_ROOM];
};

/* The first n bytes of a file, and the parser's position `at`. */
struct bytes {
    const char *file;           /* file name, for messages */
    unsigned char *all;
    int64_t n, at;
    bool is_big;
};

/* ---- keywords -------------------------------------------------------------------------------------------------------- */

/* Take the next n bytes. Returns NULL if fewer are left. */
static const unsigned char *take(struct bytes *bytes, int64_t n, struct lw_error *err)
{
    if (n <= bytes->n - bytes->at) {
        bytes->at += n;
        return bytes->all + bytes->at - n;
    }
    if (bytes->n == MOST_HEADER_BYTES)
        lw_fail(err, LW_EDATA, "'%.600s' is damaged: its SIGPROC header has no end within %" PRId64 " bytes", bytes->file,
                bytes->n);
    else
        lw_fail(err, LW_EDATA, "'%.600s' is damaged: it ends at byte %" PRId64 ", within its SIGPROC header", bytes->file,
                bytes->n);
    return NULL;
}

/* Take a length and a text. @param what  name for messages @param room  size of `text`, with its final zero */
static int take_text(struct bytes *bytes, const char *what, char *text, int room, struct lw_error *err)
{
    const int64_t begin = bytes->at;
    const unsigned char *at = take(bytes, 4, err);
    if (!at)
        return LW_EDATA;
    const int64_t length = lw_field_signed(at, 4, bytes->is_big);
    if (length < 0 || length >= room)
        return lw_fail(err, LW_EDATA, "'%.600s' is damaged: at byte %" PRId64 " of its SIGPROC header %s has a length of %" PRId64
                       ", not 0 to %d", bytes->file, begin, what, length, room - 1);
    if (!(at = take(bytes, length, err)))
        return LW_EDATA;
    memcpy(text, at, (size_t)length);
    text[length] = '\0';
    return LW_OK;
}

static int take_value(struct bytes *bytes, struct item *item, struct lw_error *err)
{
    static const int sizes[] = {[INTEGER] = 4, [LONG] = 8, [REAL] = 8, [LETTER] = 1, [NOTHING] = 0};
    const enum kind kind = item->keyword->kind;
    if (kind == TEXT)
        return take_text(bytes, item->keyword->name, item->text, sizeof item->text, err);
    const unsigned char *const at = take(bytes, sizes[kind], err);
    if (!at)
        return LW_EDATA;
    if (kind == REAL)
        item->real = lw_field_float64(at, bytes->is_big);
    else if (kind != NOTHING)
        item->integer = lw_field_signed(at, sizes[kind], bytes->is_big);
    return LW_OK;
}

/* Take the next keyword and its value. item->keyword is NULL at HEADER_END. LW_EDATA: damaged, or an unknown keyword. */
static int next_item(struct bytes *bytes, struct item *item, struct lw_error *err)
{
    char name[NAME_ROOM];
    const int64_t at = bytes->at;
    *item = (struct item){0};
    const int rc = take_text(bytes, "a keyword", name, sizeof name, err);
    if (rc || strcmp(name, last_name) == 0)
        return rc;
    for (size_t k = 0; k < sizeof keywords / sizeof *keywords && !item->keyword; k++)
        if (strcmp(keywords[k].name, name) == 0)
            item->keyword = &keywords[k];
    if (item->keyword)
        return take_value(bytes, item, err);
    return lw_fail(err, LW_EDATA,
                   "'%.600s' has the keyword '%s' at byte %" PRId64 " of its SIGPROC header; it is unknown, and so is "
                   "the length of its value", bytes->file, name, at);
}

/* ---- the beginning of a file ------------------------------------------------------------------------------------------ */

/* Return whether the bytes begin with HEADER_START, and find the byte order by the length before it. */
static bool begins(struct bytes *bytes)
{
    const size_t length = sizeof first_name - 1;
    if (bytes->n < LEAST_BYTES)
        return false;
    bytes->is_big = lw_field_unsigned(bytes->all, 4, true) == length;
    bytes->at = LEAST_BYTES;
    return (bytes->is_big || lw_field_unsigned(bytes->all, 4, false) == length) && memcmp(bytes->all + 4, first_name, length) == 0;
}

static int recognise(const char *file, bool *is_one, struct lw_error *err)
{
    unsigned char all[LEAST_BYTES];
    struct bytes bytes = {.file = file, .all = all, .n = LEAST_BYTES};
    const int rc = lw_archive_read_start(file, all, sizeof all, is_one, err);
    *is_one = *is_one && begins(&bytes);
    return rc;
}

/* Read the first n bytes of a file, in place of those read before. */
static int read_beginning(int fd, struct bytes *bytes, int64_t n, struct lw_error *err)
{
    lw_free(bytes->all);
    bytes->n = n;
    bytes->all = lw_alloc((size_t)n, "a SIGPROC header", err);
    if (!bytes->all)
        return LW_ESYSTEM;
    return lw_bytes_read_file(fd, bytes->file, bytes->all, 0, n, err);
}

/* Read the beginning of a file, as far as its header may reach. @param bytes  after success the caller frees `all` */
static int open_header(const char *file, struct bytes *bytes, struct lw_error *err)
{
    int fd, rc = lw_file_open_input(file, &fd, err);
    if (rc)
        return rc;
    const int64_t size = lw_max64(0, lseek(fd, 0, SEEK_END));
    *bytes = (struct bytes){.file = file};
    rc = read_beginning(fd, bytes, lw_min64(size, USUAL_HEADER_BYTES), err);
    if (rc == LW_OK && bytes->n < size && !memmem(bytes->all, (size_t)bytes->n, last_name, sizeof last_name - 1))
        rc = read_beginning(fd, bytes, lw_min64(size, MOST_HEADER_BYTES), err);
    close(fd);
    if (rc == LW_OK && !begins(bytes))
        rc = lw_fail(err, LW_EDATA, "'%.600s' does not begin with HEADER_START, as SIGPROC's files do", file);
    if (rc)
        lw_free(bytes->all);
    return rc;
}

/* ---- values of the header --------------------------------------------------------------------------------------------- */

/* Store an item in the header. A list of frequencies is kept as first frequency and step; the step is NAN if it varies. */
static void note(const struct item *item, struct header *header)
{
    void *const place = (char *)header + item->keyword->place;
    const double mhz = item->real;
    if (strcmp(item->keyword->name, "fchannel") == 0) {
        const int64_t i = header->n_listed++;
        if (i == 0)
            header->first_mhz = mhz;
        else if (i == 1)
            header->step_mhz = mhz - header->first_mhz;
        else if (!(fabs(mhz - header->first_mhz - (double)i * header->step_mhz) <= 0.01 * fabs(header->step_mhz)))
            header->step_mhz = NAN;
        return;
    }
    if (item->keyword->place == 0)
        return;
    if (item->keyword->kind == TEXT)
        memcpy(place, item->text, sizeof item->text);
    else if (item->keyword->kind == REAL)
        memcpy(place, &item->real, sizeof item->real);
    else
        memcpy(place, &item->integer, sizeof item->integer);
}

static int check(const char *file, const struct header *header, struct lw_error *err)
{
    const int64_t bits = header->bits;
    if (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16 && bits != 32)
        return lw_fail(err, LW_EDATA, "'%.600s' has samples of %" PRId64 " bits (nbits), not 1, 2, 4, 8, 16 or 32", file, bits);
    if (header->n_ifs < 1 || header->n_ifs > 1024)
        return lw_fail(err, LW_EDATA, "'%.600s' has %" PRId64 " IFs (nifs), not 1 to 1024", file, header->n_ifs);
    if (header->n_channels < 1)
        return lw_fail(err, LW_EDATA, "'%.600s' has %" PRId64 " channels (nchans), not 1 or more", file, header->n_channels);
    if (!(header->period_s > 0) || !isfinite(header->period_s))
        return lw_fail(err, LW_EDATA, "'%.600s' has %g seconds between spectra (tsamp): this must be more than 0", file,
                       header->period_s);
    return LW_OK;
}

/* Read the header. LW_EDATA: the header has no end, an unknown keyword, or impossible values. */
static int read_header(const char *file, struct header *out, struct lw_error *err)
{
    struct bytes bytes;
    struct item item;
    int rc = open_header(file, &bytes, err);
    *out = (struct header){.n_ifs = 1};
    if (rc)
        return rc;
    while ((rc = next_item(&bytes, &item, err)) == LW_OK && item.keyword)
        note(&item, out);
    lw_free(bytes.all);
    out->bytes = bytes.at;
    out->is_swapped = lw_field_is_swapped(bytes.is_big);
    return rc ? rc : check(file, out, err);
}

/* Visit the keywords that do not define shape, type, time or frequency, in the header's order. */
static void visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context)
{
    struct bytes bytes;
    struct item item;
    if (open_header(info->file, &bytes, NULL))
        return;
    while (next_item(&bytes, &item, NULL) == LW_OK && item.keyword) {
        struct lw_attribute attribute = {
            .name = item.keyword->name, .kind = LW_ATTRIBUTE_INT, .text = item.text, .integer = item.integer, .real = item.real};
        if (item.keyword->kind == TEXT)
            attribute.kind = LW_ATTRIBUTE_TEXT;
        else if (item.keyword->kind == REAL)
            attribute.kind = LW_ATTRIBUTE_REAL;
        if (item.keyword->is_carried)
            visit(&attribute, context);
    }
    lw_free(bytes.all);
}

/* ---- which IF -------------------------------------------------------------------------------------------------------- */

/* Set the IFs to be summed from a path like "/if/3" or "/if/0+1". Returns false if the path is none of these. */
static bool parse_path(const char *path, const struct header *header, struct lw_spectra *out)
{
    static const char prefix[] = "/if/";
    char text[64];
    if (strncmp(path, prefix, sizeof prefix - 1) != 0 || strlen(path) >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%s", path + sizeof prefix - 1);
    char *const plus = strchr(text, '+');
    out->n_summed = plus ? 2 : 1;
    if (plus)
        *plus = '\0';
    for (int s = 0; s < out->n_summed; s++)
        if (lw_parse_int(s == 0 ? text : plus + 1, &out->summed[s]) != LW_PARSE_OK || out->summed[s] < 0 ||
            out->summed[s] >= header->n_ifs)
            return false;
    return out->n_summed == 1 || out->summed[0] != out->summed[1];
}

static int choose_ifs(struct lw_dataset_info *info, const struct header *header, struct lw_spectra *out, struct lw_error *err)
{
    char paths[96];
    if (header->n_ifs == 1)
        snprintf(paths, sizeof paths, "/if/0");
    else
        snprintf(paths, sizeof paths, "/if/0 to /if/%" PRId64 ", and sums of two, such as /if/0+1", header->n_ifs - 1);
    if (!info->path[0] && header->n_ifs > 1)
        return lw_fail(err, LW_EUSAGE,
                       "'%.400s' has %" PRId64 " IFs (polarisations) without names: choose one, as "
                       "in '%.128s:/if/0', or the sum of two; it has %s", info->file, header->n_ifs, info->file, paths);
    if (!info->path[0])
        snprintf(info->path, sizeof info->path, "/if/0");
    if (!parse_path(info->path, header, out))
        return lw_fail(err, LW_EDATA, "'%.400s' has no '%.200s'; it has %s", info->file, info->path, paths);
    return LW_OK;
}

/* ---- describe, list -------------------------------------------------------------------------------------------------- */

/* Count the whole spectra of the file; bytes after the last whole one are ignored. */
static int count_spectra(const struct lw_dataset_info *info, const struct header *header, int64_t *out, struct lw_error *err)
{
    int64_t spectrum_bits, bits;
    if (__builtin_mul_overflow(header->n_channels, header->n_ifs * header->bits, &spectrum_bits) ||
        __builtin_mul_overflow(info->file_bytes - header->bytes, (int64_t)8, &bits))
        return lw_fail(err, LW_EDATA, "'%.600s' is damaged: its spectra have more bits than can be counted", info->file);
    *out = bits / spectrum_bits;
    if (*out < 1)
        return lw_fail(err, LW_EDATA, "'%.600s' holds no whole spectrum: behind its header there are %" PRId64 " bytes", info->file,
                       info->file_bytes - header->bytes);
    if (*out < header->n_spectra)
        return lw_fail(err, LW_EDATA,
                       "'%.600s' is cut off: by its header it holds %" PRId64 " spectra (nsamples), and only %" PRId64
                       " are there", info->file, header->n_spectra, *out);
    return LW_OK;
}

static void describe_time(const struct header *header, struct lw_axis_metadata *axis)
{
    const bool is_barycentric = header->barycentric == 1;
    axis->sample_rate_hz = 1 / header->period_s;
    lw_period_from_seconds(header->period_s, &axis->period);
    snprintf(axis->source, sizeof axis->source, "tsamp of the header");
    if (!(header->start_mjd > 0))
        return;
    if (!is_barycentric && lw_instant_from_mjd(header->start_mjd, &axis->instant)) {
        axis->scale = LW_TIME_UTC;
        return;
    }
    axis->has_start = true;
    axis->start = header->start_mjd;
    snprintf(axis->start_unit, sizeof axis->start_unit, "%sMJD", is_barycentric ? "barycentric " : "");
}

/* Convert a number hhmmss.s to hours, or ddmmss.s to degrees. */
static double from_sexagesimal(double value)
{
    const double size = fabs(value), whole = floor(size / 1e4), minutes = floor(size / 100 - whole * 100);
    return copysign(whole + minutes / 60 + (size - whole * 1e4 - minutes * 100) / 3600, value);
}

static void describe_recorder(const struct header *header, struct lw_dataset_info *info)
{
    struct lw_recorder *const recorder = &info->recorder;
    char telescope[32];
    const struct {
        const char *what;
        double value;
    } numbers[] = {{"telescope", (double)header->telescope}, {"back end", (double)header->machine}, {"beam", (double)header->beam},
                   {"dispersion measure", header->dispersion}};
    snprintf(telescope, sizeof telescope, "%.31s", header->telescope_name);
    lw_recorder_add(recorder, "telescope", telescope);
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        if (numbers[n].value != 0)
            lw_recorder_add_number(recorder, numbers[n].what, numbers[n].value);
    if (header->n_ifs > 1)
        lw_recorder_add(recorder, "polarisation", info->path);
    lw_recorder_point(recorder, 15 * from_sexagesimal(header->ra), from_sexagesimal(header->dec));
}

/* Read the header and set shape, type and path in `info`. @param spectra  set, with fd -1 */
static int examine(struct lw_dataset_info *info, struct header *header, struct lw_spectra *spectra, struct lw_error *err)
{
    int64_t n_spectra = 0;
    int rc;
    *spectra = (struct lw_spectra){.fd = -1};
    if ((rc = read_header(info->file, header, err)) || (rc = choose_ifs(info, header, spectra, err)) ||
        (rc = count_spectra(info, header, &n_spectra, err)))
        return rc;
    spectra->bits = (int)header->bits;
    spectra->n_ifs = header->n_ifs;
    spectra->n_channels = header->n_channels;
    lw_spectra_settle(spectra, header->sign != 0, header->is_swapped);
    info->type = spectra->given;
    info->n_dims = header->n_channels == 1 && header->n_ifs == 1 ? 1 : 2;
    info->dims[0] = n_spectra;
    if (info->n_dims == 2)
        info->dims[1] = header->n_channels;
    return LW_OK;
}

static int describe(struct lw_dataset_info *info, struct lw_error *err)
{
    struct header header;
    struct lw_spectra spectra;
    const int rc = examine(info, &header, &spectra, err);
    if (rc)
        return rc;
    info->metadata_axis = 0;
    describe_time(&header, &info->axis);
    describe_recorder(&header, info);
    lw_archive_name(info, 0, "time");
    if (info->n_dims == 1)
        return LW_OK;
    const bool lacks_some = header.n_listed > 0 && header.n_listed != header.n_channels;
    const bool is_regular = isfinite(header.first_mhz) && isfinite(header.step_mhz) && header.step_mhz != 0 && !lacks_some;
    info->coordinates[1] = (struct lw_coordinate){.name = "frequency", .unit = "MHz", .is_regular = is_regular,
                                                  .first = is_regular ? header.first_mhz : 0,
                                                  .step = is_regular ? header.step_mhz : 0};
    return LW_OK;
}

static int list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err)
{
    struct lw_dataset_info all;
    struct header header;
    char storage[64];
    int rc;
    if ((rc = lw_archive_info(file, &all, err)) || (rc = read_header(file, &header, err)))
        return rc;
    const int64_t n_paths = header.n_ifs > 1 ? header.n_ifs + 1 : 1;
    for (int64_t i = 0; i < n_paths; i++) {
        const bool is_sum = i == header.n_ifs;
        struct lw_dataset_info info = all;
        if (is_sum)
            snprintf(info.path, sizeof info.path, "/if/0+1");
        else
            snprintf(info.path, sizeof info.path, "/if/%" PRId64, i);
        if ((rc = describe(&info, err)))
            return rc;
        snprintf(storage, sizeof storage, "%s%" PRId64 " bit%s", is_sum ? "the sum of two IFs, " : "", header.bits,
                 header.bits > 1 ? "s" : "");
        lw_archive_list(&info, storage, info.dims[0] * header.n_channels / 8 * header.bits, visit, context);
    }
    return LW_OK;
}

/* ---- samples --------------------------------------------------------------------------------------------------------- */

/* A file open for reading samples. */
struct opened {
    struct lw_dataset_info info;
    struct header header;
    struct lw_spectra spectra;
};

static void close_file(void *dataset)
{
    const struct opened *const opened = dataset;
    if (opened->spectra.fd >= 0)
        close(opened->spectra.fd);
}

static int open_described(void *dataset, const struct lw_dataset_info *info, struct lw_error *err)
{
    struct opened *const opened = dataset;
    opened->info = *info;
    int rc;
    if ((rc = examine(&opened->info, &opened->header, &opened->spectra, err)) ||
        (rc = lw_archive_check_same(&opened->info, info, err)))
        return rc;
    return lw_file_open_input(info->file, &opened->spectra.fd, err);
}

static int read_patch(const void *dataset, const struct lw_patch *patch, struct lw_error *err)
{
    const struct opened *const opened = dataset;
    return lw_spectra_read(&opened->spectra, opened->header.bytes, patch, NULL, err);
}

static int read_box(void *dataset, const struct lw_box *box, struct lw_error *err)
{
    const struct opened *const opened = dataset;
    return lw_patches_read(box, opened->info.n_dims, (int64_t)lw_type_bytes(opened->info.type), read_patch, opened, err);
}

/* Samples can be located, for callers to read themselves, if the file has one IF and samples of whole bytes. */
static bool locate(void *dataset, struct lw_stored *out)
{
    const struct opened *const opened = dataset;
    *out = (struct lw_stored){.fd = opened->spectra.fd, .offset = opened->header.bytes};
    return opened->spectra.bits >= 8 && opened->spectra.n_ifs == 1;
}

const struct lw_format lw_format_sigproc = {
    .name = "SIGPROC", .file_text = "a SIGPROC filterbank file",
    .recognise = recognise, .list = list, .describe = describe,
    .open = open_described, .open_bytes = sizeof(struct opened), .read = read_box, .reads_in_threads = true,
    .close = close_file,
    .locate = locate, .visit_attributes = visit_attributes,
};
