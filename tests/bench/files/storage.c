/* storage.c - benchmark of a folder's storage with 1, 2, 4, 8 and 16 threads: GB/s of reading and writing, and random reads per
 * second.
 *
 *   bench_storage FOLDER [--bytes N] [--seconds S]
 *
 * The program prints medians of three repetitions, taken in turn. A measurement moves N bytes (4 GiB) and ends after S seconds
 * (0.2) at the latest; making and deleting files is not counted. The "disk" rows drop their file from the page cache before they
 * read, and wait until their writes are on the disk. The other rows measure the page cache, or the storage itself if files are in
 * memory. */
#include "storage_rates.h"

#include "base/memory.h"
#include "base/proc.h"
#include "options/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 3, COLUMNS = 5, PAGE_COLUMNS = 7 };     /* 1, 2, 4 ... threads */

static double rates[STORAGE_ROWS][PAGE_COLUMNS][REPETITIONS];

static int columns_of(enum storage_row row)
{
    return row == STORAGE_PAGES ? PAGE_COLUMNS : COLUMNS;
}

static int measure_row(const struct storage_bench *bench, enum storage_row row, int repetition, struct lw_error *err)
{
    int rc = LW_OK;
    for (int c = 0; c < columns_of(row) && rc == LW_OK; c++)
        rc = storage_measure(bench, row, 1 << c, &rates[row][c][repetition], err);
    return rc;
}

static int measure_all(const struct storage_bench *bench, struct lw_error *err)
{
    int rc = LW_OK;
    for (int repetition = 0; repetition < REPETITIONS; repetition++)
        for (int row = 0; row < STORAGE_ROWS && rc == LW_OK; row++)
            if (storage_row_is_there(bench, row))
                rc = measure_row(bench, row, repetition, err);
    return rc;
}

static void print_row(const struct storage_bench *bench, enum storage_row row)
{
    char title[80];
    const char *const note = storage_row_is_cached(bench, row) ? " (cached)" : row == STORAGE_PAGES ? ", 1000/s" : "";
    snprintf(title, sizeof title, "%s%s", storage_row_text(row), note);
    printf("%-30s", title);
    for (int c = 0; c < columns_of(row); c++) {
        const double rate = storage_median(rates[row][c], REPETITIONS);
        printf(" %8.2f", rate / (row == STORAGE_PAGES ? 1e3 : 1e9));
    }
    printf("\n");
}

static void print_table(const struct storage_bench *bench)
{
    char text[24];
    printf("%s: %s, files of %s, %d cores\n%-30s", bench->folder, bench->storage.name, lw_bytes_text(bench->bytes, text),
           lw_proc_cores(), "GB/s, by number of threads");
    for (int c = 0; c < PAGE_COLUMNS; c++)
        printf(" %8d", 1 << c);
    printf("\n");
    for (int row = 0; row < STORAGE_ROWS; row++)
        if (storage_row_is_there(bench, row))
            print_row(bench, row);
}

static bool parse(int argc, char **argv, int64_t *bytes, double *seconds)
{
    bool is_good = argc >= 2 && argc % 2 == 0;
    for (int i = 2; i + 1 < argc && is_good; i += 2)
        is_good = (strcmp(argv[i], "--bytes") == 0 && lw_parse_bytes(argv[i + 1], bytes) == LW_PARSE_OK && *bytes > 0) ||
                  (strcmp(argv[i], "--seconds") == 0 && lw_parse_real(argv[i + 1], seconds) == LW_PARSE_OK && *seconds > 0);
    return is_good;
}

int main(int argc, char **argv)
{
    int64_t bytes = (int64_t)4 << 30;
    double seconds = 0.2;
    struct storage_bench bench;
    struct lw_error err;
    if (!parse(argc, argv, &bytes, &seconds)) {
        fprintf(stderr, "usage: bench_storage FOLDER [--bytes N] [--seconds S]\n");
        return LW_EUSAGE;
    }
    int rc = storage_bench_open(argv[1], bytes, seconds, 1 << (PAGE_COLUMNS - 1), &bench, &err);
    if (rc == LW_OK) {
        if ((rc = measure_all(&bench, &err)) == LW_OK)
            print_table(&bench);
        storage_bench_close(&bench);
    }
    if (rc)
        fprintf(stderr, "bench_storage: %s\n", err.message);
    return rc;
}
