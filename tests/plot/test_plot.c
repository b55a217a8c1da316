/* test_plot.c - tests of the parts of a picture: cells, blocks that represent more samples than are read, colours, units, and
 * texts for gnuplot. */
#include "plot/picture.h"
#include "plot/raster.h"
#include "plot/script.h"
#include "plot/subject.h"

#include "../check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- cells ---- */

/* Every sample falls into one cell, cells are in order, and their lengths differ by one at most. */
static void test_columns(void)
{
    struct lw_cell cells[64];
    double values[200];
    for (int i = 0; i < 200; i++)
        values[i] = i;
    for (int length = 1; length <= 200; length++)
        for (int n = 1; n <= length && n <= 64; n += 3) {
            const struct lw_raster raster = {1, n, length, cells};
            lw_raster_clear(&raster);
            for (int first = 0; first < length; first += 7)     /* the columns come in pieces */
                lw_raster_add(&raster, 0, first, length - first < 7 ? length - first : 7, values + first, 1);
            int64_t next = 0;
            for (int c = 0; c < n; c++) {
                const int64_t count = lw_raster_begin(&raster, c + 1) - lw_raster_begin(&raster, c);
                CHECK(cells[c].count == count && count >= length / n && count <= length / n + 1, "%d of %d: cell %d has %lld", n,
                      length, c, (long long)cells[c].count);
                CHECK(cells[c].least == (double)next && cells[c].largest == (double)(next + count - 1),
                      "%d of %d: cell %d is %g..%g", n, length, c, cells[c].least, cells[c].largest);
                next += count;
            }
        }
    const struct lw_raster raster = {1, 8192, INT64_MAX, NULL};
    CHECK(lw_raster_begin(&raster, 8192) == INT64_MAX && lw_raster_begin(&raster, 8191) < INT64_MAX,
          "an axis of 2^63 - 1 samples must need 8192 columns");
}

static void test_values(void)
{
    struct lw_cell cell;
    const struct lw_raster raster = {1, 1, 5, &cell};
    const double values[] = {1, 9, NAN, 9, -3, 9, INFINITY, 9, 2, 9};
    lw_raster_clear(&raster);
    CHECK(isnan(lw_cell_value(&cell, LW_SHOW_MEAN)), "an empty cell must be NaN");
    lw_raster_add(&raster, 0, 0, 5, values, 2);
    CHECK(cell.count == 3 && cell.least == -3 && cell.largest == 2, "%g..%g", cell.least, cell.largest);
    CHECK(lw_cell_value(&cell, LW_SHOW_MEAN) == 0 && lw_cell_value(&cell, LW_SHOW_EXTREME) == -3,
          "the mean or the extreme value of a cell is wrong");
    CHECK(fabs(lw_cell_value(&cell, LW_SHOW_RMS) - sqrt(14.0 / 3)) < 1e-15, "the rms value of a cell is wrong");
}

/* ---- blocks ---- */

/* A plot of all samples: blocks hold each sample once, and cut no unit except at the two ends. */
static void test_whole(void)
{
    for (int64_t length = 1; length < 3000; length += 37)
        for (int64_t unit = 1; unit < 40; unit += 6)
            for (int64_t offset = 0; offset < 50; offset += 11) {
                const struct lw_thinning t = lw_thinning_whole(length, offset, unit, 100);
                int64_t next = 0, first, count;
                for (int64_t b = 0; b < t.n_blocks; b++) {
                    lw_thinning_block(&t, b, &first, &count);
                    CHECK(count <= 0 || (first == next && (first == 0 || (first + offset) % unit == 0)), "block at %lld, not %lld",
                          (long long)first, (long long)next);
                    CHECK(count <= 100, "a block of %lld", (long long)count);
                    next = count > 0 ? first + count : next;
                }
                CHECK(t.is_whole && next == length, "%lld of %lld", (long long)next, (long long)length);
            }
}

/* A plot of some samples: blocks are in order, do not overlap, hold whole units, and lie one in each part of the axis. */
static void test_spread(void)
{
    for (int64_t unit = 1; unit < 3000; unit = unit * 3 + 1) {
        const int64_t length = 10000019, offset = 12345, n = 700;
        const struct lw_thinning t = lw_thinning_spread(length, offset, unit, n, 2 * unit + unit / 2);
        int64_t last = 0, first, count;
        CHECK(!t.is_whole && t.n_blocks == n && t.block == 2 * unit, "%lld blocks of %lld", (long long)t.n_blocks,
              (long long)t.block);
        for (int64_t b = 0; b < t.n_blocks; b++) {
            lw_thinning_block(&t, b, &first, &count);
            CHECK(first >= last && first + count <= length && count > 0, "block %lld at %lld", (long long)b, (long long)first);
            CHECK(first == 0 || (first + offset) % unit == 0, "block %lld cuts a unit", (long long)b);
            CHECK(llabs(first - length / n * b) <= length / n, "block %lld at %lld", (long long)b, (long long)first);
            last = first + count;
        }
    }
    CHECK(lw_thinning_spread(1000, 0, 1, 100, 10).is_whole && !lw_thinning_spread(1001, 0, 1, 100, 10).is_whole,
          "all samples must be read only if the limit allows it");
}

/* ---- colours ---- */

static void test_colours(void)
{
    double values[1000];
    for (int i = 0; i < 1000; i++)
        values[i] = (i * 7919) % 1000 - 499.5;
    values[0] = NAN;
    struct lw_colours c = lw_colours_choose(values, 1000, false);
    CHECK(c.is_signed && c.low == -c.high && c.high > 480 && c.high < 495, "signed: %g..%g", c.low, c.high);
    for (int i = 0; i < 1000; i++)
        values[i] = (i * 7919) % 1000;
    values[7] = 1e9;
    c = lw_colours_choose(values, 1000, false);
    CHECK(!c.is_signed && c.low >= 8 && c.low <= 11 && c.high >= 987 && c.high <= 991, "one sign: %g..%g", c.low, c.high);
    values[0] = -5;
    c = lw_colours_choose(values, 1000, true);
    CHECK(c.low > 0, "logarithmic: %g..%g", c.low, c.high);
    double same[] = {3, 3, 3}, none[] = {NAN, INFINITY};
    c = lw_colours_choose(same, 3, false);
    CHECK(c.low == 3 && c.high > 3, "all alike: %g..%g", c.low, c.high);
    c = lw_colours_choose(none, 2, false);
    CHECK(c.low < c.high, "colour limits of no values: %g..%g", c.low, c.high);
}

/* ---- labels ---- */

static void test_units(void)
{
    static const struct {
        double span;
        const char *unit;
        double factor;
    } all[] = {{1e-9, "ns", 1e9}, {0.2, "ms", 1e3}, {1, "s", 1}, {299, "s", 1}, {301, "min", 1 / 60.0}, {4 * 3600, "h", 1 / 3600.0},
               {1e6, "d", 1 / 86400.0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *unit;
        const double factor = lw_label_time_unit(all[i].span, &unit);
        CHECK(strcmp(unit, all[i].unit) == 0 && fabs(factor / all[i].factor - 1) < 1e-12, "%g s are shown in %s", all[i].span,
              unit);
    }
}

static void test_sizes(void)
{
    int width = 0, height = 0;
    struct lw_error err;
    CHECK(lw_picture_parse_size("1200x601", &width, &height, &err) == LW_OK && width == 1200 && height == 601, "%d x %d", width,
          height);
    static const char *const bad[] = {"", "x", "1200", "1200x", "x600", "1200x600x", "1200 x 600 ", "10x600", "1200x9000",
                                      "-300x600", "99999999999999999999x600"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(lw_picture_parse_size(bad[i], &width, &height, &err) == LW_EUSAGE, "size '%s' is taken", bad[i]);
}

/* ---- texts ---- */

static void check_text(const char *text, const char *wanted, int width)
{
    char *written = NULL;
    size_t size = 0;
    FILE *const file = open_memstream(&written, &size);
    const struct lw_script script = {.file = file};
    if (width > 0)
        lw_script_line(&script, text, width);
    else
        lw_script_text(&script, text);
    fclose(file);
    CHECK(strcmp(written, wanted) == 0, "%s is written as %s, not %s", text, written, wanted);
    free(written);
}

static void test_texts(void)
{
    check_text("plain: a-b (m/s)", "\"plain: a-b (m/s)\"", 0);
    check_text("it's `ls` \"$x\" @y {z}^2", "\"it\\047s \\140ls\\140 \\042\\044x\\042 \\100y \\173z\\175\\1362\"", 0);
    check_text("a\nb\x01", "\"a\\134x0ab\\134x01\"", 0);
    check_text("a\\nb", "\"a\\134nb\"", 0);
    check_text("bad \xff utf-8", "\"bad \\134xff utf-8\"", 0);
    check_text("0123456789abcdefghijklmnopqrstuvwxyz", "\"0123456789abc\xe2\x80\xa6tuvwxyz\"", 100);
    /* the text is cut between letters, not within a letter of two bytes */
    check_text("\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6",
               "\"\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xe2\x80\xa6\xc3\xb6\xc3\xb6\xc3\xb6\"", 100);
}

/* ---- the file ---- */

static const char *comes_meanwhile; /* name of a file that another program makes before this test's file gets its name; NULL:
                                     * none */

static void make_file(const char *name, const char *content)
{
    FILE *const file = fopen(name, "w");
    if (!file || fputs(content, file) < 0 || fclose(file) != 0)
        abort();
}

static int refuse(int reason)
{
    if (comes_meanwhile)
        make_file(comes_meanwhile, "another's");
    errno = reason;
    return -1;
}

/* This link() replaces the C library's: it acts as a file system without links and without renames that refuse to replace. */
int link(const char *from, const char *to)
{
    (void)from, (void)to;
    return refuse(EPERM);
}
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    (void)from_folder, (void)from, (void)to_folder, (void)to, (void)flags;
    return refuse(EINVAL);
}

static void check_content(const char *name, const char *wanted)
{
    char found[32] = "";
    FILE *const file = fopen(name, "r");
    if (file && !fgets(found, sizeof found, file))
        found[0] = '\0';
    if (file)
        fclose(file);
    CHECK(strcmp(found, wanted) == 0, "%s holds '%s', not '%s'", name, found, wanted);
}

/* No file is replaced unless --overwrite is given, even if another program has only just made it. */
static void test_file(void)
{
    char folder[] = "/tmp/lapwing-plot-XXXXXX", name[64];
    if (!mkdtemp(folder))
        abort();
    snprintf(name, sizeof name, "%s/picture.png", folder);
    for (int meets = 0; meets < 2; meets++) {
        struct lw_picture_file file;
        struct lw_error err = {0};
        CHECK(lw_picture_create(name, false, &file, &err) == LW_OK && write(file.fd, "ours", 4) == 4, "%s", err.message);
        comes_meanwhile = meets ? name : NULL;
        const int rc = lw_picture_publish(&file, &err);
        CHECK(rc == (meets ? LW_EIO : LW_OK), "code %d: %s", rc, err.message);
        CHECK(!meets || strstr(err.message, "exists already"), "message: %s", err.message);
        lw_picture_discard(&file);
        check_content(name, meets ? "another's" : "ours");
        unlink(name);
    }
    CHECK(rmdir(folder) == 0, "a temporary file is left in %s", folder);
}

int main(void)
{
    test_file();
    test_columns();
    test_values();
    test_whole();
    test_spread();
    test_colours();
    test_units();
    test_sizes();
    test_texts();
    return check_result("plot");
}
