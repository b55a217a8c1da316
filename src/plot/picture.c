#include "plot/picture.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

int lw_picture_kind(const char *name, enum lw_picture *kind, struct lw_error *err)
{
    static const char *const endings[] = {
        [LW_PICTURE_PNG] = ".png", [LW_PICTURE_PDF] = ".pdf", [LW_PICTURE_SVG] = ".svg", [LW_PICTURE_TEXT] = ".gp",
    };
    const char *const dot = strrchr(name, '.');
    for (size_t k = 0; dot && k < sizeof endings / sizeof *endings; k++)
        if (strcasecmp(dot, endings[k]) == 0) {
            *kind = (enum lw_picture)k;
            return LW_OK;
        }
    return lw_fail(err, LW_EUSAGE, "--output: '%s' must end with .png, .pdf, .svg, or .gp for gnuplot's text", name);
}

static int fail_exists(const char *name, struct lw_error *err)
{
    return lw_fail(err, LW_EIO, "'%s' exists already: --overwrite replaces it, --output NAME takes another name", name);
}

/* As a file is made by others: mkstemp's is for its owner alone. */
static void set_mode(int fd)
{
    const mode_t mask = umask(0);
    umask(mask);
    if (fchmod(fd, 0666 & ~mask) != 0)
        return;                 /* it stays as it is */
}

int lw_picture_create(const char *name, bool overwrite, struct lw_picture_file *file, struct lw_error *err)
{
    struct stat status;
    *file = (struct lw_picture_file){.name = name, .overwrite = overwrite, .fd = -1};
    if (lstat(name, &status) == 0 && (!overwrite || !S_ISREG(status.st_mode)))
        return overwrite ? lw_fail(err, LW_EIO, "'%s' is no file: it is not replaced", name) : fail_exists(name, err);
    const size_t size = strlen(name) + sizeof ".XXXXXX";
    if (!(file->part = lw_alloc(size, "a name", err)))
        return LW_ESYSTEM;
    snprintf(file->part, size, "%s.XXXXXX", name);
    file->fd = mkstemp(file->part);
    if (file->fd >= 0) {
        set_mode(file->fd);
        return LW_OK;
    }
    const int reason = errno;
    lw_free(file->part);
    file->part = NULL;
    return lw_fail(err, LW_EIO, "cannot write '%s': %s; --output NAME takes another place", name, strerror(reason));
}

int lw_picture_copy(const struct lw_picture_file *file, FILE *script, struct lw_error *err)
{
    char buffer[1 << 16];
    size_t length;
    bool is_good = fflush(script) == 0 && fseeko(script, 0, SEEK_SET) == 0;
    while (is_good && (length = fread(buffer, 1, sizeof buffer, script)) > 0) {
        for (const char *at = buffer; is_good && length > 0;) {
            const ssize_t put = write(file->fd, at, length);
            is_good = put > 0;
            at += put > 0 ? put : 0;
            length -= put > 0 ? (size_t)put : 0;
        }
    }
    return is_good && !ferror(script) ? LW_OK : lw_fail(err, LW_EIO, "cannot write '%s': %s", file->name, strerror(errno));
}

/* Without --overwrite, what has come under that name meanwhile is left alone. */
static int give_name(const struct lw_picture_file *file, struct lw_error *err)
{
    if (file->overwrite ? rename(file->part, file->name) == 0 : lw_file_rename_new(file->part, file->name) == 0)
        return LW_OK;
    if (!file->overwrite && errno == EEXIST)
        return fail_exists(file->name, err);
    return lw_fail(err, LW_EIO, "cannot write '%s': %s", file->name, strerror(errno));
}

int lw_picture_publish(struct lw_picture_file *file, struct lw_error *err)
{
    struct stat status;
    if (fstat(file->fd, &status) != 0 || status.st_size == 0)
        return lw_fail(err, LW_ESYSTEM, "gnuplot has drawn nothing: does 'gnuplot -e \"set terminal\"' name pngcairo, pdfcairo and "
                       "svg? Package gnuplot-nox has them");
    if (close(file->fd) != 0) {
        file->fd = -1;
        return lw_fail(err, LW_EIO, "cannot write '%s': %s", file->name, strerror(errno));
    }
    file->fd = -1;
    const int rc = give_name(file, err);
    if (rc == LW_OK) {
        lw_free(file->part);
        file->part = NULL;
    }
    return rc;
}

void lw_picture_discard(struct lw_picture_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->part)
        unlink(file->part);
    lw_free(file->part);
    *file = (struct lw_picture_file){.fd = -1};
}
