/* test_formats.c - tests of how the content of a file determines its format, and of names that consist of a file and a path. */
#include "../check.h"
#include "io/format.h"
#include "io/names.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- formats ------------------------------------------------------------------------------------------------------- */

/* @param user_block bytes before HDF5's own, 0 or a power of two from 512 on */
static void write_hdf5(const char *path, hsize_t user_block)
{
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(creation, user_block);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, creation, H5P_DEFAULT);
    CHECK(file >= 0, "%s is made", path);
    H5Fclose(file);
    H5Pclose(creation);
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
    FILE *const file = fopen(path, "w");
    fwrite(bytes, 1, n, file);
    fclose(file);
}

static void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

static void check_known(const char *path, const char *name)
{
    const struct lw_format *format = NULL;
    struct lw_error err = {0};
    CHECK(lw_formats_find(path, NULL, &format, &err) == LW_OK && format && strcmp(format->name, name) == 0, "%s is not %s: %s",
          path, name, err.message);
}

/* @param says beginning of the message; the names of all formats may follow */
static void check_unknown(const char *path, int code, const char *says)
{
    const struct lw_format *format = NULL;
    struct lw_error err = {0};
    char message[400];
    const int rc = lw_formats_find(path, NULL, &format, &err);
    snprintf(message, sizeof message, says, path);
    CHECK(rc == code && strncmp(err.message, message, strlen(message)) == 0 && !format, "%s: code %d, '%s'", path, rc, err.message);
}

static void check_formats(void)
{
    write_hdf5("a.h5", 0);
    write_hdf5("no-name-for-hdf5.txt", 0);
    write_hdf5("behind.h5", 1024);
    check_known("a.h5", "HDF5");
    check_known("no-name-for-hdf5.txt", "HDF5");
    check_known("behind.h5", "HDF5");
    write_text("short.fil", "\x0c");
    write_bytes("a.fil", "\x0c\0\0\0HEADER_START", 16);
    check_known("a.fil", "SIGPROC");
    check_unknown("short.fil", LW_EDATA, "'%s' is not an HDF5 file");

    write_text("no-name-for-fits", "SIMPLE  =                    T");
    write_text("no-name-for-npy", "\x93NUMPY\x01");
    check_known("no-name-for-fits", "FITS");
    check_known("no-name-for-npy", "NumPy");

    write_text("text.h5", "HDF5 is what this file is not");
    write_text("empty.h5", "");
    CHECK(mkdir("folder.h5", 0777) == 0, "the folder cannot be made");
    check_unknown("text.h5", LW_EDATA, "'%s' is not an HDF5 file, ");
    check_unknown("empty.h5", LW_EDATA, "'%s' is not an HDF5 file, ");
    check_unknown("missing.h5", LW_EIO, "cannot read '%s': No such file or directory");
    check_unknown("folder.h5", LW_EIO, "cannot read '%s': it is a folder, not a file");
    check_unknown("/dev/null", LW_EIO, "cannot read '%s': it is a device or pipe, not a file");
}

/* ---- names --------------------------------------------------------------------------------------------------------- */

static void check_name(const char *name, const char *file, const char *path)
{
    struct lw_object object;
    CHECK(lw_object_parse(name, &object, NULL) == LW_OK && strcmp(object.file, file) == 0 && strcmp(object.path, path) == 0 &&
          object.name == name, "%s", name);
}

static void check_names(void)
{
    static char longest[2 * LW_MAX_PATH];
    struct lw_object object;
    struct lw_error err;
    check_name("a.h5", "a.h5", "");
    check_name("a.h5:", "a.h5:", "");
    check_name("a.h5:/", "a.h5", "/");
    check_name("a:b.h5:/c/d:e", "a:b.h5", "/c/d:e");
    check_name("a:/b.h5:/c", "a:/b.h5", "/c");
    CHECK(lw_object_parse(":/c", &object, &err) == LW_EUSAGE && strstr(err.message, "names no file"), "%s", err.message);
    memset(longest, 'x', LW_MAX_PATH - 1);
    check_name(longest, longest, "");
    longest[LW_MAX_PATH - 1] = 'x';
    CHECK(lw_object_parse(longest, &object, &err) == LW_EUSAGE && strstr(err.message, "longer than 1023"), "%s", err.message);
}

int main(void)
{
    char folder[] = "/tmp/lapwing-formats-XXXXXX", command[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    check_formats();
    check_names();
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_result("formats");
}
