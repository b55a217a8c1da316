#include "io/format.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The formats that there are, in the order in which they are tried. A further one is a further line here. */
#define FORMATS(X)          \
    X(lw_format_hdf5)

#define X(format) extern const struct lw_format format;
FORMATS(X)
#undef X

static const struct lw_format *const formats[] = {
#define X(format) &format,
    FORMATS(X)
#undef X
    NULL,
};

void lw_formats_start(void)
{
    for (int f = 0; formats[f]; f++)
        if (formats[f]->start)
            formats[f]->start();
}

/* Ask the system before any library, whose messages for these are of no use. */
static int check_readable(const char *file, struct lw_error *err)
{
    char why[96];
    const int fd = lw_file_open(file, why);
    if (fd < 0)
        return lw_fail(err, LW_EIO, "cannot read '%s': %s", file, why);
    close(fd);
    return LW_OK;
}

static int fail_unknown(const char *file, struct lw_error *err)
{
    char known[256] = "";
    for (int f = 0; formats[f]; f++) {
        const char *const between = f == 0 ? "" : formats[f + 1] ? ", " : " or ";
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", between, formats[f]->file_text);
    }
    return lw_fail(err, LW_EDATA, "'%s' is not %s", file, known);
}

int lw_formats_find(const char *file, const struct lw_format **out, struct lw_error *err)
{
    int rc = check_readable(file, err);
    for (int f = 0; rc == LW_OK && formats[f]; f++) {
        bool is_one = false;
        rc = formats[f]->recognise(file, &is_one, err);
        if (rc == LW_OK && is_one) {
            *out = formats[f];
            return LW_OK;
        }
    }
    return rc ? rc : fail_unknown(file, err);
}

int64_t lw_format_chunk_bytes(const struct lw_dataset_info *info)
{
    int64_t bytes = (int64_t)lw_type_bytes(info->type);
    for (int d = 0; d < info->n_dims; d++)
        bytes *= info->chunk[d];
    return bytes;
}
