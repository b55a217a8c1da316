#include "io/archive/sigproc_header.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"
#include "base/type.h"
#include "io/archive/shared.h"
#include "io/bytes/transfer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Some hundred bytes are usual. A table of frequencies takes 20 for each channel. */
#define USUAL_HEADER_BYTES ((int64_t)4 << 10)
#define MOST_HEADER_BYTES ((int64_t)4 << 20)

enum { NAME_ROOM = 81, TEXT_ROOM = 256, LEAST_BYTES = 4 + 12 };

static const char first_name[] = "HEADER_START", last_name[] = "HEADER_END";

enum kind { INTEGER, LONG, REAL, LETTER, TEXT, NOTHING };

/* Keywords and the kinds of their values. What is carried says more than shape, type, time and frequency. */
static const struct keyword {
    const char *name;
    enum kind kind;
    bool is_carried;
} keywords[] = {
    {"rawdatafile", TEXT, true}, {"source_name", TEXT, true}, {"telescope", TEXT, true}, {"obs_date", TEXT, true},
    {"obs_time", TEXT, true}, {"filename", TEXT, false},
    {"telescope_id", INTEGER, true}, {"machine_id", INTEGER, true}, {"data_type", INTEGER, true},
    {"barycentric", INTEGER, true}, {"pulsarcentric", INTEGER, true}, {"ibeam", INTEGER, true}, {"nbeams", INTEGER, true},
    {"nbins", INTEGER, true}, {"npuls", LONG, true},
    {"src_raj", REAL, true}, {"src_dej", REAL, true}, {"az_start", REAL, true}, {"za_start", REAL, true},
    {"refdm", REAL, true}, {"period", REAL, true}, {"accel", REAL, true}, {"flux", REAL, true}, {"pb", REAL, true},
    {"ecc", REAL, true}, {"asini", REAL, true},
    {"hdrlen", INTEGER, false}, {"orig_hdrlen", INTEGER, false}, {"new_hdrlen", INTEGER, false}, {"sampsize", INTEGER, false},
    {"bandwidth", REAL, false}, {"fbottom", REAL, false}, {"ftop", REAL, false},
    {"nbits", INTEGER, false}, {"nchans", INTEGER, false}, {"nifs", INTEGER, false}, {"nsamples", INTEGER, false},
    {"tstart", REAL, false}, {"tsamp", REAL, false}, {"fch1", REAL, false}, {"foff", REAL, false}, {"fchannel", REAL, false},
    {"signed", LETTER, false},
    {"FREQUENCY_START", NOTHING, false}, {"FREQUENCY_END", NOTHING, false},
};

/* One keyword with its value. */
struct item {
    const struct keyword *keyword;
    int64_t integer;
    double real;
    char text[TEXT_ROOM];
};

/* The beginning of a file, and how far it is read. */
struct bytes {
    const char *file;           /* for messages */
    unsigned char *all;
    int64_t n, at;
    bool is_swapped;
};

/* ---- values ---------------------------------------------------------------------------------------------------------- */

static int fail_end(const struct bytes *bytes, struct lw_error *err)
{
    if (bytes->n == MOST_HEADER_BYTES)
        return lw_fail(err, LW_EDATA, "'%.600s' is damaged: its SIGPROC header has no end within %" PRId64 " bytes", bytes->file,
                       bytes->n);
    return lw_fail(err, LW_EDATA, "'%.600s' is damaged: it ends at byte %" PRId64 ", within its SIGPROC header", bytes->file,
                   bytes->n);
}

static int take(struct bytes *bytes, void *value, size_t size, struct lw_error *err)
{
    if (bytes->n - bytes->at < (int64_t)size)
        return fail_end(bytes, err);
    lw_copy_ordered(value, bytes->all + bytes->at, size, bytes->is_swapped);
    bytes->at += (int64_t)size;
    return LW_OK;
}

/* A counted text; `room` includes its end. */
static int take_text(struct bytes *bytes, const char *what, char *text, int room, struct lw_error *err)
{
    int32_t length = 0;
    const int64_t at = bytes->at;
    const int rc = take(bytes, &length, sizeof length, err);
    if (rc)
        return rc;
    if (length < 0 || length >= room)
        return lw_fail(err, LW_EDATA, "'%.600s' is damaged: at byte %" PRId64 " of its SIGPROC header %s has a length of %" PRId32
                       ", not 0 to %d", bytes->file, at, what, length, room - 1);
    if (bytes->n - bytes->at < length)
        return fail_end(bytes, err);
    memcpy(text, bytes->all + bytes->at, (size_t)length);
    text[length] = '\0';
    bytes->at += length;
    return LW_OK;
}

static int find_keyword(const struct bytes *bytes, const char *name, int64_t at, const struct keyword **out, struct lw_error *err)
{
    for (size_t k = 0; k < sizeof keywords / sizeof *keywords; k++)
        if (strcmp(keywords[k].name, name) == 0) {
            *out = &keywords[k];
            return LW_OK;
        }
    return lw_fail(err, LW_EDATA,
                   "'%.600s' has the keyword '%s' at byte %" PRId64 " of its SIGPROC header, which nobody knows: how "
                   "long its value is cannot be told", bytes->file, name, at);
}

static int take_value(struct bytes *bytes, struct item *item, struct lw_error *err)
{
    signed char letter = 0;
    int32_t integer = 0;
    int rc = LW_OK;
    switch (item->keyword->kind) {
    case INTEGER:
        rc = take(bytes, &integer, sizeof integer, err);
        item->integer = integer;
        return rc;
    case LONG:
        return take(bytes, &item->integer, sizeof item->integer, err);
    case REAL:
        return take(bytes, &item->real, sizeof item->real, err);
    case LETTER:
        rc = take(bytes, &letter, sizeof letter, err);
        item->integer = letter;
        return rc;
    case TEXT:
        return take_text(bytes, item->keyword->name, item->text, sizeof item->text, err);
    case NOTHING:
        break;
    }
    return rc;
}

/* ---- all of them ----------------------------------------------------------------------------------------------------- */

typedef void item_fn(const struct item *item, void *context);

/* From behind HEADER_START to behind HEADER_END. */
static int walk(struct bytes *bytes, item_fn *visit, void *context, struct lw_error *err)
{
    for (;;) {
        char name[NAME_ROOM];
        struct item item = {0};
        const int64_t at = bytes->at;
        int rc = take_text(bytes, "a keyword", name, sizeof name, err);
        if (rc || strcmp(name, last_name) == 0)
            return rc;
        if ((rc = find_keyword(bytes, name, at, &item.keyword, err)) || (rc = take_value(bytes, &item, err)))
            return rc;
        visit(&item, context);
    }
}

/* The count before the first keyword tells the byte order. */
static bool begins(struct bytes *bytes)
{
    const uint32_t length = sizeof first_name - 1;
    uint32_t found;
    if (bytes->n < LEAST_BYTES)
        return false;
    memcpy(&found, bytes->all, sizeof found);
    bytes->is_swapped = found == __builtin_bswap32(length);
    bytes->at = LEAST_BYTES;
    return (found == length || bytes->is_swapped) && memcmp(bytes->all + 4, first_name, length) == 0;
}

int lw_sigproc_recognise(const char *file, bool *is_one, struct lw_error *err)
{
    unsigned char all[LEAST_BYTES];
    struct bytes bytes = {.file = file, .all = all, .n = LEAST_BYTES};
    const int rc = lw_archive_read_start(file, all, sizeof all, is_one, err);
    *is_one = *is_one && begins(&bytes);
    return rc;
}

/* So many bytes from the beginning of a file. */
static int read_beginning(int fd, struct bytes *bytes, int64_t n, struct lw_error *err)
{
    lw_free(bytes->all);
    bytes->n = n;
    bytes->all = lw_alloc((size_t)n, "a SIGPROC header", err);
    if (!bytes->all)
        return LW_ESYSTEM;
    return lw_bytes_read_file(fd, bytes->file, bytes->all, 0, n, err);
}

static bool has_end(const struct bytes *bytes)
{
    return memmem(bytes->all, (size_t)bytes->n, last_name, sizeof last_name - 1) != NULL;
}

/* The beginning of a file as far as its header may reach. */
static int read_header(const char *file, struct bytes *bytes, struct lw_error *err)
{
    int fd, rc = lw_file_open_input(file, &fd, err);
    if (rc)
        return rc;
    const int64_t size = lw_max64(0, lseek(fd, 0, SEEK_END));
    *bytes = (struct bytes){.file = file};
    rc = read_beginning(fd, bytes, lw_min64(size, USUAL_HEADER_BYTES), err);
    if (rc == LW_OK && bytes->n < size && !has_end(bytes))
        rc = read_beginning(fd, bytes, lw_min64(size, MOST_HEADER_BYTES), err);
    close(fd);
    if (rc)
        lw_free(bytes->all);
    return rc;
}

static int walk_file(const char *file, struct bytes *bytes, item_fn *visit, void *context, struct lw_error *err)
{
    int rc = read_header(file, bytes, err);
    if (rc)
        return rc;
    rc = begins(bytes) ? walk(bytes, visit, context, err)
                       : lw_fail(err, LW_EDATA, "'%.600s' does not begin with HEADER_START, as SIGPROC's files do", file);
    lw_free(bytes->all);
    bytes->all = NULL;
    return rc;
}

/* ---- what is taken from it -------------------------------------------------------------------------------------------- */

/* Frequencies one by one are a first one and a step, if they are regular. */
static void note_frequency(struct lw_sigproc_header *header, double mhz)
{
    const int64_t i = header->n_listed++;
    if (i == 0)
        header->first_mhz = mhz;
    else if (i == 1)
        header->step_mhz = mhz - header->first_mhz;
    else if (!(fabs(mhz - header->first_mhz - (double)i * header->step_mhz) <= 0.01 * fabs(header->step_mhz)))
        header->step_mhz = NAN;
}

static void note(const struct item *item, void *context)
{
    struct lw_sigproc_header *const header = context;
    const struct {
        const char *name;
        int64_t *integer;
        double *real;
    } places[] = {
        {"nbits", &header->bits, NULL}, {"nifs", &header->n_ifs, NULL}, {"nchans", &header->n_channels, NULL},
        {"nsamples", &header->n_spectra, NULL}, {"tstart", NULL, &header->start_mjd}, {"tsamp", NULL, &header->period_s},
        {"fch1", NULL, &header->first_mhz}, {"foff", NULL, &header->step_mhz},
        {"src_raj", NULL, &header->ra}, {"src_dej", NULL, &header->dec}, {"refdm", NULL, &header->dispersion},
        {"telescope_id", &header->telescope, NULL}, {"machine_id", &header->machine, NULL}, {"ibeam", &header->beam, NULL},
    };
    const char *const name = item->keyword->name;
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        if (strcmp(places[p].name, name) != 0)
            continue;
        if (places[p].integer)
            *places[p].integer = item->integer;
        else
            *places[p].real = item->real;
    }
    if (strcmp(name, "signed") == 0)
        header->is_signed = item->integer != 0;
    else if (strcmp(name, "barycentric") == 0)
        header->is_barycentric = item->integer == 1;
    else if (strcmp(name, "telescope") == 0)
        snprintf(header->telescope_name, sizeof header->telescope_name, "%.31s", item->text);
    else if (strcmp(name, "fchannel") == 0)
        note_frequency(header, item->real);
}

static int check(const char *file, const struct lw_sigproc_header *header, struct lw_error *err)
{
    const int64_t bits = header->bits;
    if (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16 && bits != 32)
        return lw_fail(err, LW_EDATA, "'%.600s' has samples of %" PRId64 " bits (nbits), not 1, 2, 4, 8, 16 or 32", file, bits);
    if (header->n_ifs < 1 || header->n_ifs > 1024)
        return lw_fail(err, LW_EDATA, "'%.600s' has %" PRId64 " IFs (nifs), not 1 to 1024", file, header->n_ifs);
    if (header->n_channels < 1)
        return lw_fail(err, LW_EDATA, "'%.600s' has %" PRId64 " channels (nchans), not 1 or more", file, header->n_channels);
    if (!(header->period_s > 0) || !isfinite(header->period_s))
        return lw_fail(err, LW_EDATA, "'%.600s' has %g seconds from one spectrum to the next (tsamp), not more than 0", file,
                       header->period_s);
    return LW_OK;
}

int lw_sigproc_header_read(const char *file, struct lw_sigproc_header *out, struct lw_error *err)
{
    struct lw_sigproc_header header = {.n_ifs = 1};
    struct bytes bytes;
    int rc;
    if ((rc = walk_file(file, &bytes, note, &header, err)) || (rc = check(file, &header, err)))
        return rc;
    header.bytes = bytes.at;
    header.is_swapped = bytes.is_swapped;
    *out = header;
    return LW_OK;
}

/* ---- what is carried over --------------------------------------------------------------------------------------------- */

struct visitor {
    lw_attribute_fn *visit;
    void *context;
};

static void carry(const struct item *item, void *context)
{
    const struct visitor *const visitor = context;
    struct lw_attribute attribute = {.name = item->keyword->name, .text = item->text, .integer = item->integer, .real = item->real};
    if (!item->keyword->is_carried)
        return;
    attribute.kind = item->keyword->kind == TEXT   ? LW_ATTRIBUTE_TEXT
                     : item->keyword->kind == REAL ? LW_ATTRIBUTE_REAL
                                                   : LW_ATTRIBUTE_INT;
    visitor->visit(&attribute, visitor->context);
}

void lw_sigproc_header_visit(const char *file, lw_attribute_fn *visit, void *context)
{
    struct bytes bytes;
    struct visitor visitor = {visit, context};
    struct lw_error none;
    walk_file(file, &bytes, carry, &visitor, &none);
}
