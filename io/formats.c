#include "io/format.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <ctype.h>
#include <unistd.h>

#ifdef LAPWING_HAVE_MSEED
#define MSEED(X) X(lw_format_mseed)
#else
#define MSEED(X)
#endif

/* All formats, in the order in which they are tried. A new format is added here. */
#define FORMATS(X)       \
    X(lw_format_hdf5)    \
    X(lw_format_sigproc) \
    X(lw_format_psrfits) \
    X(lw_format_fits)    \
    X(lw_format_npy)     \
    X(lw_format_presto)  \
    MSEED(X)             \
    X(lw_format_segy)    \
    X(lw_format_raw)

#define X(format) extern const struct lw_format format;
FORMATS(X)
#undef X

static const struct lw_format *const formats[] = {
#define X(format) &format,
    FORMATS(X)
#undef X
    NULL,
};

const struct lw_format *const *lw_formats_all(void) { return formats; }

void lw_formats_start(void)
{
    for (int f = 0; formats[f]; f++)
        if (formats[f]->start)
            formats[f]->start();
}

static int fail_unknown(const char *file, struct lw_error *err)
{
    char known[512] = "";
    int last = 0;
    for (int f = 0; formats[f]; f++)
        last = formats[f]->recognise ? f : last;
    for (int f = 0; f <= last; f++)
        if (formats[f]->recognise)
            lw_append(known, sizeof known, "%s%s", f == 0 ? "" : f < last ? ", " : " or ", formats[f]->file_text);
    return lw_fail(err, LW_EDATA, "'%.300s' is not %s", file, known);
}

/* Return whether a user's word names a format. Case and hyphens (SEG-Y) are ignored. */
static bool is_called(const struct lw_format *format, const char *name)
{
    const char *own = format->name;
    for (;; own++, name++) {
        own += *own == '-';
        name += *name == '-';
        if (tolower((unsigned char)*own) != tolower((unsigned char)*name))
            return false;
        if (!*own)
            return true;
    }
}

static int find_named(const char *name, const struct lw_format **out, struct lw_error *err)
{
    char known[256] = "";
    for (int f = 0; formats[f]; f++) {
        if (is_called(formats[f], name)) {
            *out = formats[f];
            return LW_OK;
        }
        lw_append(known, sizeof known, "%s%s", f == 0 ? "" : ", ", formats[f]->name);
    }
    return lw_fail(err, LW_EUSAGE, "--format %s is unknown: give one of %s", name, known);
}

/* The file is opened here before any library opens it, because the libraries' messages about unreadable files are useless. */
int lw_formats_find(const char *file, const struct lw_hints *hints, const struct lw_format **out, struct lw_error *err)
{
    int fd, rc = lw_file_open_input(file, &fd, err);
    if (rc)
        return rc;
    close(fd);
    if (hints && hints->format[0])
        return find_named(hints->format, out, err);
    for (int f = 0; rc == LW_OK && formats[f]; f++) {
        bool is_one = false;
        if (!formats[f]->recognise)
            continue;
        rc = formats[f]->recognise(file, &is_one, err);
        if (rc == LW_OK && is_one) {
            *out = formats[f];
            return LW_OK;
        }
    }
    return rc ? rc : fail_unknown(file, err);
}

int lw_format_open(const struct lw_format *format, const struct lw_dataset_info *info, void **dataset, struct lw_error *err)
{
    void *const opened = lw_alloc(format->open_bytes, "the reader", err);
    const int rc = opened ? format->open(opened, info, err) : LW_ESYSTEM;
    if (rc)
        lw_format_close(format, opened);
    else
        *dataset = opened;
    return rc;
}

void lw_format_close(const struct lw_format *format, void *dataset)
{
    if (dataset)
        format->close(dataset);
    lw_free(dataset);
}
