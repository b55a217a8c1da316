/* npy.c - read arrays that numpy.save has written (numpy.lib.format: "NPY format", versions 1 to 3).
 *
 *     \x93NUMPY, version (2 bytes), length of the header (2 bytes; 4 from version 2 on; little endian), header, numbers
 *
 * The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. Dimensions keep NumPy's order,
 * also with fortran_order True. Booleans are read as uint8. */
#include "io/archive/flat.h"
#include "io/archive/shared.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAGIC "\x93NUMPY"
enum { MAGIC_BYTES = 6, MOST_HEADER = 64 << 10 };

static int recognise(const char *file, bool *is_one, struct lw_error *err)
{
    char start[MAGIC_BYTES];
    const int rc = lw_archive_read_start(file, start, sizeof start, is_one, err);
    *is_one = *is_one && memcmp(start, MAGIC, sizeof start) == 0;
    return rc;
}

/* ---- the header -------------------------------------------------------------------------------------------------------- */

static int fail_header(const struct lw_dataset_info *info, const char *what, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA, "'%s': its NumPy header %s", info->file, what);
}

/* Read the dictionary as a text. @param flat  offset is set to the byte after the header */
static int read_header(int fd, const struct lw_dataset_info *info, char text[MOST_HEADER + 1], struct lw_flat *flat,
                       struct lw_error *err)
{
    unsigned char start[12];
    struct lw_error reason;
    if (lw_bytes_read(fd, start, 0, 10, &reason) || (start[6] > 1 && lw_bytes_read(fd, start + 10, 10, 2, &reason)))
        return fail_header(info, "is cut short", err);
    if (start[6] < 1 || start[6] > 3)
        return fail_header(info, "is of a version that is not 1, 2 or 3", err);
    const bool is_long = start[6] > 1;
    const int64_t length = start[8] | start[9] << 8 | (is_long ? (int64_t)start[10] << 16 | (int64_t)start[11] << 24 : 0);
    if (length > MOST_HEADER)
        return fail_header(info, "is longer than 64 KiB", err);
    flat->offset = is_long ? 12 : 10;
    if (lw_bytes_read(fd, text, flat->offset, length, &reason))
        return fail_header(info, "is cut short", err);
    text[length] = '\0';
    flat->offset += length;
    return LW_OK;
}

/* Return the text that follows "'NAME': " in the dictionary; NULL: it lacks the entry. */
static const char *find_entry(const char *header, const char *name)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", name);
    const char *at = strstr(header, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    at += strspn(at, " ");
    if (*at != ':')
        return NULL;
    at++;
    return at + strspn(at, " ");
}

/* Parse a type like '<f4': byte order, kind, bytes. */
static bool parse_type(const char *at, struct lw_values *values)
{
    static const struct {
        const char *text;
        enum lw_number number;
        bool is_complex;
    } types[] = {
        {"b1", LW_NUMBER_UINT8, false}, {"i1", LW_NUMBER_INT8, false}, {"u1", LW_NUMBER_UINT8, false},
        {"i2", LW_NUMBER_INT16, false}, {"u2", LW_NUMBER_UINT16, false}, {"i4", LW_NUMBER_INT32, false},
        {"u4", LW_NUMBER_UINT32, false}, {"i8", LW_NUMBER_INT64, false}, {"u8", LW_NUMBER_UINT64, false},
        {"f2", LW_NUMBER_FLOAT16, false}, {"f4", LW_NUMBER_FLOAT32, false}, {"f8", LW_NUMBER_FLOAT64, false},
        {"c8", LW_NUMBER_FLOAT32, true}, {"c16", LW_NUMBER_FLOAT64, true},
    };
    if (*at != '\'' || !at[1] || !strchr("<>|=", at[1]))
        return false;
    const size_t length = strcspn(at + 2, "'");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (strlen(types[t].text) == length && strncmp(at + 2, types[t].text, length) == 0) {
            *values = (struct lw_values){.number = types[t].number, .is_complex = types[t].is_complex,
                                         .is_swapped = at[1] == (lw_field_is_swapped(true) ? '>' : '<')};
            return true;
        }
    return false;
}

static int find_type(const struct lw_dataset_info *info, const char *header, struct lw_flat *flat, struct lw_error *err)
{
    const char *const at = find_entry(header, "descr");
    if (!at)
        return fail_header(info, "has no type ('descr')", err);
    if (parse_type(at, &flat->values))
        return LW_OK;
    return lw_fail(err, LW_EDATA,
                   "'%s' holds elements of NumPy's type %.*s: they must be numbers of 1 to 8 bytes or complex ones of 8 "
                   "or 16 bytes; save it with .astype(...)",
                   info->file, (int)lw_min64(40, (int64_t)strcspn(at, "}")), at);
}

/* Parse a shape like (3, 4) or (5,). A single number has the shape (). */
static bool parse_shape(const char *at, struct lw_flat *flat)
{
    if (*at++ != '(')
        return false;
    while (*(at += strspn(at, " ")) != ')') {
        char *end;
        if (!isdigit((unsigned char)*at) || flat->n_dims == LW_MAX_DIMS)
            return false;
        flat->dims[flat->n_dims++] = strtoll(at, &end, 10);
        at = end + strspn(end, " L");
        if (*at == ',')
            at++;
        else if (*at != ')')
            return false;
    }
    return true;
}

static int find_shape(const struct lw_dataset_info *info, const char *header, struct lw_flat *flat, struct lw_error *err)
{
    const char *const shape = find_entry(header, "shape"), *const order = find_entry(header, "fortran_order");
    if (!order || (strncmp(order, "True", 4) != 0 && strncmp(order, "False", 5) != 0))
        return fail_header(info, "has no 'fortran_order' that is True or False", err);
    if (!shape || !parse_shape(shape, flat))
        return fail_header(info, "has no 'shape' of up to 4 dimensions", err);
    if (flat->n_dims == 0)
        return lw_fail(err, LW_EDATA, "'%s' holds a single value, not an array", info->file);
    int n_long = 0;
    for (int d = 0; d < flat->n_dims; d++)
        n_long += flat->dims[d] > 1;
    flat->is_column_major = *order == 'T' && n_long > 1;
    return LW_OK;
}

static int parse(const struct lw_dataset_info *info, struct lw_flat *flat, struct lw_error *err)
{
    int fd, rc;
    *flat = (struct lw_flat){0};
    if (info->path[0])
        return lw_fail(err, LW_EDATA, "'%s' holds one array, without a name: leave out ':%s'", info->file, info->path);
    if ((rc = lw_file_open_input(info->file, &fd, err)))
        return rc;
    LW_FREED char *const header = lw_alloc(MOST_HEADER + 1, "a header", err);
    if (!header)
        rc = LW_ESYSTEM;
    else
        (void)((rc = read_header(fd, info, header, flat, err)) || (rc = find_type(info, header, flat, err)) ||
               (rc = find_shape(info, header, flat, err)));
    close(fd);
    return rc;
}

static int describe(struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_flat flat;
    const int rc = parse(info, &flat, err);
    return rc ? rc : lw_flat_describe(&flat, false, info, err);
}

LW_FLAT_OPERATIONS(parse)

static int list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err)
{
    struct lw_dataset_info info;
    struct lw_flat flat;
    int rc;
    if ((rc = lw_archive_info(file, &info, err)) || (rc = parse(&info, &flat, err)))
        return rc;
    lw_flat_list(&flat, "", NULL, 0, visit, context);
    return LW_OK;
}

const struct lw_format lw_format_npy = {
    .name = "NumPy", .file_text = "a NumPy file",
    .recognise = recognise, .list = list, .describe = describe,
    .open = open_flat, .open_bytes = sizeof(struct lw_flat_opened), .read = lw_flat_read, .reads_in_threads = true,
    .close = lw_flat_close,
    .locate = lw_flat_locate, .read_numbers = read_flat_numbers,
};
