/* test_damaged_arrays.c - tests of damaged FITS files, also compressed ones, and of damaged NumPy arrays. Whatever bytes are
 * flipped, cut or moved, the file is refused with code 65, or read within its bounds.
 *
 *   test_damaged_arrays [RUNS [SEED]] */
#include "../check.h"
#include "base/memory.h"
#include "io/format.h"
#include "io/read/box.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 16384 };

struct content {
    unsigned char bytes[MOST_BYTES];
    int n;
};

static uint64_t state = 1;

static int draw(int n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)((state >> 20) % (uint64_t)n);
}

/* ---- good files -------------------------------------------------------------------------------------------------------- */

static void add_bytes(struct content *to, const void *from, int n)
{
    memcpy(to->bytes + to->n, from, (size_t)n);
    to->n += n;
}

static void fill_block(struct content *to, int fill)
{
    while (to->n % 2880 != 0)
        to->bytes[to->n++] = (unsigned char)fill;
}

static void add_header(struct content *to, const char *const *cards)
{
    for (; *cards; cards++) {
        char card[81];
        snprintf(card, sizeof card, "%-80s", *cards);
        add_bytes(to, card, 80);
    }
    fill_block(to, ' ');
}

static void add_samples(struct content *to, int n)
{
    for (int i = 0; i < n; i++)
        to->bytes[to->n++] = (unsigned char)draw(256);
    fill_block(to, 0);
}

static void make_fits(struct content *to)
{
    static const char *const primary[] = {"SIMPLE  =                    T",
                                          "BITPIX  =                   16",
                                          "NAXIS   =                    2",
                                          "NAXIS1  =                   20",
                                          "NAXIS2  =                   13",
                                          "BSCALE  =              2.5D-01",
                                          "BZERO   =                 -3.0",
                                          "BLANK   =                   -1",
                                          "OBJECT  = 'It''s &'",
                                          "CONTINUE  'M51'",
                                          "BUNIT   = 'Jy/beam'",
                                          "CTYPE1  = 'FREQ'",
                                          "CRVAL1  =               1.4E9",
                                          "CDELT1  =               1.0E6",
                                          "CTYPE2  = 'TIME'",
                                          "CDELT2  =                 0.5",
                                          "HIERARCH ESO DET NAME = 'x'",
                                          "EXTEND  =                    T",
                                          "END",
                                          NULL};
    static const char *const extension[] = {"XTENSION= 'IMAGE'",
                                            "BITPIX  =                  -32",
                                            "NAXIS   =                    3",
                                            "NAXIS1  =                    5",
                                            "NAXIS2  =                    7",
                                            "NAXIS3  =                    3",
                                            "PCOUNT  =                    0",
                                            "GCOUNT  =                    1",
                                            "EXTNAME = 'SCI'",
                                            "EXTVER  =                    2",
                                            "INHERIT =                    T",
                                            "END",
                                            NULL};
    to->n = 0;
    add_header(to, primary);
    add_samples(to, 20 * 13 * 2);
    add_header(to, extension);
    add_samples(to, 5 * 7 * 3 * 4);
}

/* Two tiles of 30 int16 pixels in Rice's code, in blocks of zeros, of equal pixels and of unpacked pixels. Any bytes decode
 * somehow. */
static void make_tiles(struct content *to)
{
    static const char *const primary[] = {"SIMPLE  =                    T", "BITPIX  =                    8",
                                          "NAXIS   =                    0", "END", NULL};
    static const char *const table[] = {"XTENSION= 'BINTABLE'",
                                        "BITPIX  =                    8",
                                        "NAXIS   =                    2",
                                        "NAXIS1  =                   24",
                                        "NAXIS2  =                    2",
                                        "PCOUNT  =                  900",
                                        "GCOUNT  =                    1",
                                        "TFIELDS =                    3",
                                        "TTYPE1  = 'COMPRESSED_DATA'",
                                        "TFORM1  = '1PB(400)'",
                                        "TTYPE2  = 'ZSCALE'",
                                        "TFORM2  = '1D'",
                                        "TTYPE3  = 'ZZERO'",
                                        "TFORM3  = '1D'",
                                        "ZIMAGE  =                    T",
                                        "ZBITPIX =                  -32",
                                        "ZNAXIS  =                    2",
                                        "ZNAXIS1 =                   10",
                                        "ZNAXIS2 =                    5",
                                        "ZTILE1  =                   10",
                                        "ZTILE2  =                    3",
                                        "ZCMPTYPE= 'RICE_1'",
                                        "ZNAME1  = 'BYTEPIX'",
                                        "ZVAL1   =                    2",
                                        "ZNAME2  = 'BLOCKSIZE'",
                                        "ZVAL2   =                   16",
                                        "ZQUANTIZ= 'SUBTRACTIVE_DITHER_1'",
                                        "ZDITHER0=                    3",
                                        "END",
                                        NULL};
    static const unsigned char rows[2][24] = {{0, 0, 1, 144, 0, 0, 0, 0, 63, 240}, {0, 0, 1, 144, 0, 0, 1, 200, 63, 240}};
    to->n = 0;
    add_header(to, primary);
    add_header(to, table);
    add_bytes(to, rows, sizeof rows);
    for (int i = 0; i < 900; i++)
        to->bytes[to->n++] = (unsigned char)(draw(256) | 0x88);
    fill_block(to, 0);
}

static void make_npy(struct content *to)
{
    static const char header[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '>u4', 'fortran_order': True, 'shape': (9, 11, 2), }";
    to->n = 0;
    add_bytes(to, header, (int)sizeof header - 1);
    while (to->n < 127)
        to->bytes[to->n++] = ' ';
    to->bytes[to->n++] = '\n';
    for (int i = 0; i < 9 * 11 * 2 * 4; i++)
        to->bytes[to->n++] = (unsigned char)draw(256);
}

/* ---- damage ------------------------------------------------------------------------------------------------------------ */

/* Draw a byte. Characters that occur in headers are likelier, since they reach more code than other bytes. */
static unsigned char draw_byte(void)
{
    static const char likely[] = "0123456789-+.ED' =()TF,/&<>";
    return (unsigned char)(draw(3) ? likely[draw((int)sizeof likely - 1)] : draw(256));
}

static void damage(struct content *content)
{
    const int most = content->n < 9000 ? content->n : 9000;
    for (int change = 1 + draw(4); change > 0; change--) {
        const int at = draw(most), length = 1 + draw(80);
        switch (draw(6)) {
        case 0:
            content->n = draw(8) ? content->n : draw(content->n + 1);
            break;
        case 1:
            memmove(content->bytes + draw(most - 80), content->bytes + draw(most - 80), (size_t)length);
            break;
        case 2:
            memmove(content->bytes + draw(most / 80) * 80, content->bytes + draw(most / 80) * 80, 80);
            break;
        default:
            for (int i = at; i < at + 1 + draw(4) && i < most; i++)
                content->bytes[i] = draw_byte();
        }
    }
}

static void write_file(const char *path, const struct content *content)
{
    FILE *const file = fopen(path, "w");
    CHECK(file && fwrite(content->bytes, 1, (size_t)content->n, file) == (size_t)content->n, "%s is written", path);
    if (file)
        fclose(file);
}

/* ---- use of the damaged files ---- */

static void count_attribute(const struct lw_attribute *attribute, void *context)
{
    *(size_t *)context += strlen(attribute->name) + (attribute->kind == LW_ATTRIBUTE_TEXT ? strlen(attribute->text) : 0);
}

static void pass_over(const struct lw_listing *dataset, void *context)
{
    *(size_t *)context += strlen(dataset->shape);
}

/* Read all elements, then every other one of each dimension. */
static void read_all(const struct lw_format *format, void *dataset, const struct lw_dataset_info *info, int step)
{
    struct lw_box box = {.n_runs = 1, .run = 1};
    struct lw_error err;
    for (int d = 0; d < info->n_dims; d++) {
        box.step[d] = step;
        box.count[d] = (info->dims[d] - 1) / step + 1;
        box.run *= box.count[d];
    }
    box.pitch = box.run;
    box.into = lw_alloc_array(box.run, lw_type_bytes(info->type), "samples", &err);
    CHECK(box.into, "%s", err.message);
    const int rc = format->read(dataset, &box, &err);
    CHECK(rc == LW_OK || (rc == LW_EDATA && strncmp(err.message, "tile ", 5) == 0),
          "a described dataset cannot be read: %s", err.message);
    lw_free(box.into);
}

static void read_numbers(const struct lw_format *format, const struct lw_dataset_info *info)
{
    struct lw_error err;
    int64_t count = info->type.is_complex ? 2 : 1;
    for (int d = 0; d < info->n_dims; d++)
        count *= info->dims[d];
    double *const values = lw_alloc_array(count, sizeof *values, "numbers", &err);
    const int rc = values ? lw_format_read_numbers(format, info, values, &err) : LW_ESYSTEM;
    CHECK(rc == LW_OK || (rc == LW_EDATA && strncmp(err.message, "tile ", 5) == 0), "numbers are read: %s", err.message);
    lw_free(values);
}

/* @return whether the file could be read */
static bool try_file(const char *path, const char *unit, int64_t bytes)
{
    const struct lw_format *format;
    struct lw_dataset_info info = {.metadata_axis = -1, .file_bytes = bytes};
    struct lw_error err = {0};
    void *dataset;
    size_t found = 0;
    snprintf(info.file, sizeof info.file, "%s", path);
    snprintf(info.path, sizeof info.path, "%s", unit);
    int rc = lw_formats_find(path, NULL, &format, &err);
    if (rc == LW_OK) {
        format->list(path, pass_over, &found, &err);
        rc = format->describe(&info, &err);
    }
    CHECK(rc == LW_OK || rc == LW_EDATA, "code %d: %s", rc, err.message);
    if (rc)
        return false;
    CHECK(lw_format_open(format, &info, &dataset, &err) == LW_OK, "a described dataset cannot be opened: %s", err.message);
    read_all(format, dataset, &info, 1);
    read_all(format, dataset, &info, 2);
    lw_format_close(format, dataset);
    read_numbers(format, &info);
    if (format->visit_attributes)
        format->visit_attributes(&info, count_attribute, &found);
    return true;
}

static void check_kind(const char *name, void (*make)(struct content *), const char *unit, int runs)
{
    static struct content good, bad;
    int n_read = 0;
    make(&good);
    write_file(name, &good);
    CHECK(try_file(name, unit, good.n), "the good %s is read", name);
    for (int run = 0; run < runs; run++) {
        bad = good;
        damage(&bad);
        write_file(name, &bad);
        n_read += try_file(name, unit, bad.n);
    }
    CHECK(n_read > runs / 20 && n_read < runs - runs / 20, "%s: %d of %d damaged files are read", name, n_read, runs);
    printf("%s: %d of %d damaged files were read, the others refused\n", name, n_read, runs);
}

int main(int argc, char **argv)
{
    const int runs = argc > 1 ? atoi(argv[1]) : 400;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    char folder[] = "/tmp/lapwing-damaged-XXXXXX", command[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    check_kind("image.fits", make_fits, "", runs);
    check_kind("extension.fits", make_fits, "/SCI,2", runs);
    check_kind("tiles.fits", make_tiles, "", runs);
    check_kind("array.npy", make_npy, "", runs);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_result("damaged arrays");
}
