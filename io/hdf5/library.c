#include "io/hdf5/library.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* This program chooses for each file whether HDF5 locks it. HDF5_USE_FILE_LOCKING would overrule the choice, so it is unset, unless
 * it forbids all locks. Input files are locked where the file system has locks. HDF5 must not lock the result, which bears the
 * program's own lock (result_file.h). HDF5 before 1.10.7 gives no choice, so it locks no file. */
void lw_hdf5_start(void)
{
    static const char variable[] = "HDF5_USE_FILE_LOCKING";
    static bool is_started;
#if H5_VERSION_GE(1, 10, 7)
    const char *const value = getenv(variable);
    if (value && strcmp(value, "FALSE") != 0 && strcmp(value, "0") != 0)
        unsetenv(variable);
#else
    setenv(variable, "FALSE", 1);
#endif
    H5open();           /* early: HDF5 asks here whether MPI runs, which a child process must not do */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (!is_started)
        lw_hdf5_filters_start();
    is_started = true;
}

void lw_hdf5_close(hid_t id)
{
    if (id >= 0)
        H5Idec_ref(id);
}

/* ---- datasets -------------------------------------------------------------------------------------------------------- */

int lw_hdf5_shape(hid_t dataset, hsize_t dims[H5S_MAX_RANK])
{
    LW_CLOSED const hid_t space = H5Dget_space(dataset);
    return H5Sget_simple_extent_dims(space, dims, NULL);
}

hsize_t lw_hdf5_length(hid_t dataset)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    return lw_hdf5_shape(dataset, dims) == 1 ? dims[0] : 0;
}

bool lw_hdf5_is_all_there(hid_t dataset)
{
    LW_CLOSED const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    hsize_t needed = H5Tget_size(type);
    return count >= 0 && !__builtin_mul_overflow(needed, (hsize_t)count, &needed) && H5Dget_storage_size(dataset) >= needed;
}

bool lw_hdf5_read_list(hid_t dataset, hid_t type, hsize_t first, hsize_t stride, hsize_t count, void *into)
{
    hsize_t dims[H5S_MAX_RANK], starts[H5S_MAX_RANK], strides[H5S_MAX_RANK], counts[H5S_MAX_RANK];
    const int n_dims = lw_hdf5_shape(dataset, dims);
    for (int d = 0; d < n_dims; d++) {
        const bool is_its = n_dims == 1 || dims[d] != 1;
        starts[d] = is_its ? first : 0;
        strides[d] = is_its ? stride : 1;
        counts[d] = is_its ? count : 1;
    }
    LW_CLOSED const hid_t stored = H5Dget_space(dataset), memory = H5Screate_simple(1, &count, NULL);
    return H5Sselect_hyperslab(stored, H5S_SELECT_SET, starts, strides, counts, NULL) >= 0 &&
           H5Dread(dataset, type, memory, stored, H5P_DEFAULT, into) >= 0;
}

/* ---- failures -------------------------------------------------------------------------------------------------------- */

struct reason {
    char *text;
    size_t size;
    bool filter_failed;
    int system_error;
};

/* Keep the innermost entry of the error stack, which comes first and names the cause; the others name the calls around it. An errno
 * from a seek or read at an impossible address is no failure of the system. */
static herr_t take_innermost(unsigned position, const H5E_error2_t *entry, void *context)
{
    static const char key[] = "errno = ";
    const char *const found = entry->desc ? strstr(entry->desc, key) : NULL;
    const int number = found ? atoi(found + strlen(key)) : 0;
    struct reason *reason = context;
    if (position == 0 && entry->desc)
        snprintf(reason->text, reason->size, "%s", entry->desc);
    reason->filter_failed |= entry->maj_num == H5E_PLINE;
    if (reason->system_error == 0 && number != EINVAL && number != EOVERFLOW && number != EFBIG)
        reason->system_error = number;
    return 0;
}

static struct reason walk_stack(char *text, size_t size)
{
    struct reason reason = {.text = text, .size = size};
    text[0] = '\0';
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &reason);
    text[strcspn(text, "\r\n")] = '\0';
    return reason;
}

const char *lw_hdf5_reason(char *text, size_t size)
{
    return walk_stack(text, size).text;
}

int lw_hdf5_errno(void)
{
    char text[256];
    return walk_stack(text, sizeof text).system_error;
}

/* Decide whether the system or the data are at fault; where HDF5 gives no hint, return the caller's code. */
static enum lw_code judge(const struct reason *reason, enum lw_code code)
{
    if (reason->system_error != 0 && code == LW_EDATA)
        return LW_EIO;
    return reason->system_error == 0 && reason->filter_failed && code == LW_EIO ? LW_EDATA : code;
}

int lw_hdf5_fail_plainly(struct lw_error *err, enum lw_code code)
{
    char cause[256];
    const struct reason reason = walk_stack(cause, sizeof cause);
    return lw_fail(err, judge(&reason, code), "%s", cause);
}

int lw_hdf5_fail(struct lw_error *err, enum lw_code code, const char *format, ...)
{
    char cause[256], message[700];
    const struct reason reason = walk_stack(cause, sizeof cause);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return lw_fail(err, judge(&reason, code), "%s%s%s", message, cause[0] ? ": " : "", cause);
}
