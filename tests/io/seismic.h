/* seismic.h - helpers of the tests of SEG-Y and miniSEED: a file made of bytes in memory, all operations of a format on it, and
 * damage. */
#pragma once

#include "../check.h"
#include "base/memory.h"
#include "io/format.h"
#include "io/read/box.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TEST_BYTES = 64 << 10 };

struct test_file {
    unsigned char bytes[MOST_TEST_BYTES];
    int64_t n;
};

static inline void put(unsigned char *at, int64_t value, int bytes, bool is_big)
{
    for (int b = 0; b < bytes; b++)
        at[is_big ? bytes - 1 - b : b] = (unsigned char)((uint64_t)value >> 8 * b);
}

static inline void write_test_file(const char *path, const struct test_file *file)
{
    FILE *const out = fopen(path, "wb");
    CHECK(out && fwrite(file->bytes, 1, (size_t)file->n, out) == (size_t)file->n, "%s is written", path);
    fclose(out);
}

static inline struct lw_dataset_info named(const char *file, const char *path)
{
    struct lw_dataset_info info = {.metadata_axis = -1};
    snprintf(info.file, sizeof info.file, "%s", file);
    snprintf(info.path, sizeof info.path, "%s", path);
    return info;
}

static inline int64_t count_samples(const struct lw_dataset_info *info)
{
    int64_t n = 1;
    for (int d = 0; d < info->n_dims; d++)
        n *= info->dims[d];
    return n;
}

static inline void pass_row(const struct lw_listing *row, void *context)
{
    *(int *)context += row->path != NULL;
}

static inline void pass_attribute(const struct lw_attribute *attribute, void *context)
{
    *(int *)context += attribute->name != NULL;
}

/* Read all samples in one box. The caller frees them. NULL: an error. */
static inline void *read_all(const struct lw_format *format, const struct lw_dataset_info *info, int *rc, struct lw_error *err)
{
    void *dataset = NULL;
    const int64_t n = count_samples(info);
    char *const samples = calloc((size_t)n, lw_type_bytes(info->type));
    struct lw_box box = {.step = {1, 1, 1, 1}, .run = n, .pitch = n, .n_runs = 1, .into = samples};
    memcpy(box.count, info->dims, sizeof box.count);
    if ((*rc = lw_format_open(format, info, &dataset, err)) == LW_OK) {
        *rc = format->read(dataset, &box, err);
        lw_format_close(format, dataset);
    }
    if (*rc == LW_OK)
        return samples;
    free(samples);
    return NULL;
}

/* Read a box [channel x time] with steps into rows that are longer than its runs, and compare with the samples of the whole. */
static inline void check_box(const struct lw_format *format, const struct lw_dataset_info *info, const char *whole,
                             const int64_t first[2], const int64_t step[2], const int64_t count[2])
{
    const size_t bytes = lw_type_bytes(info->type);
    const int64_t pitch = count[1] + 3;
    char *const samples = malloc((size_t)(count[0] * pitch) * bytes);
    struct lw_box box = {.first = {first[0], first[1]}, .step = {step[0], step[1]}, .count = {count[0], count[1]}, .run = count[1],
                         .pitch = pitch, .n_runs = count[0], .into = samples};
    void *dataset = NULL;
    struct lw_error err = {0};
    bool is_same = true;
    memset(samples, 0x55, (size_t)(count[0] * pitch) * bytes);
    CHECK(lw_format_open(format, info, &dataset, &err) == LW_OK && format->read(dataset, &box, &err) == LW_OK, "%s", err.message);
    for (int64_t c = 0; c < count[0]; c++) {
        const char *const row = samples + (size_t)(c * pitch) * bytes;
        for (int64_t t = 0; t < count[1]; t++) {
            const int64_t at = (first[0] + c * step[0]) * info->dims[1] + first[1] + t * step[1];
            is_same = is_same && memcmp(row + (size_t)t * bytes, whole + (size_t)at * bytes, bytes) == 0;
        }
        for (size_t b = (size_t)count[1] * bytes; b < (size_t)pitch * bytes; b++)
            is_same = is_same && row[b] == 0x55;
    }
    CHECK(is_same, "%s: box from [%" PRId64 ", %" PRId64 "] on by [%" PRId64 ", %" PRId64 "]", info->file, first[0], first[1],
          step[0], step[1]);
    if (dataset)
        lw_format_close(format, dataset);
    free(samples);
}

static inline void check_boxes(const struct lw_format *format, const struct lw_dataset_info *info, const char *whole)
{
    const int64_t channels = info->dims[0], n = info->dims[1];
    check_box(format, info, whole, (int64_t[]){0, 0}, (int64_t[]){1, 1}, (int64_t[]){channels, n});
    check_box(format, info, whole, (int64_t[]){1, n / 3}, (int64_t[]){1, 1}, (int64_t[]){channels - 1, n / 2});
    check_box(format, info, whole, (int64_t[]){0, 1}, (int64_t[]){2, 1}, (int64_t[]){(channels + 1) / 2, n - 1});
    check_box(format, info, whole, (int64_t[]){channels - 1, 2}, (int64_t[]){1, 7}, (int64_t[]){1, (n - 2 + 6) / 7});
    check_box(format, info, whole, (int64_t[]){0, n - 1}, (int64_t[]){1, 1}, (int64_t[]){channels, 1});
}

/* ---- damage ------------------------------------------------------------------------------------------------------------ */

static inline uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int64_t below(uint64_t *state, int64_t n)
{
    return (int64_t)(next_random(state) % (uint64_t)n);
}

/* A random place. Three in four lie near the beginning of a unit of `period` bytes, counted from `first`, where headers are. */
static inline int64_t any_place(uint64_t *state, const struct test_file *file, int64_t first, int64_t period, int64_t header)
{
    if (below(state, 4) == 0 || file->n <= first)
        return below(state, file->n);
    const int64_t n = (file->n - first + period - 1) / period;
    const int64_t at = first + below(state, n) * period + below(state, header);
    return at < file->n ? at : file->n - 1;
}

/* Damage a file: flip bits, put extreme or random bytes, copy a piece to another place, or cut the file off. */
static inline void damage(uint64_t *state, struct test_file *file, int64_t first, int64_t period, int64_t header)
{
    static const unsigned char extremes[] = {0, 0xff, 0x7f, 0x80, 1};
    for (int64_t times = 1 + below(state, 3); times > 0; times--) {
        const int64_t at = any_place(state, file, first, period, header), from = any_place(state, file, first, period, header);
        const int64_t room = file->n - (at > from ? at : from), length = 1 + below(state, room < 16 ? room : 16);
        switch (below(state, 6)) {
        case 0:
        case 1: file->bytes[at] ^= (unsigned char)(1 << below(state, 8)); break;
        case 2: file->bytes[at] = extremes[below(state, sizeof extremes)]; break;
        case 3:
            for (int64_t i = 0; i < length; i++)
                file->bytes[at + i] = (unsigned char)next_random(state);
            break;
        case 4: memmove(file->bytes + at, file->bytes + from, (size_t)length); break;
        case 5:
            if (below(state, 4) == 0)
                file->n = 1 + below(state, file->n);
            break;
        }
    }
}

/* Do everything with a file: it is read, or refused with the reason. @return whether it was read */
static inline bool use_damaged(const struct lw_format *format, const char *path, const char *dataset, int64_t file_bytes,
                               int64_t run)
{
    enum { MOST_SAMPLES_PER_BYTE = 2 };
    struct lw_error err = {0};
    struct lw_dataset_info info = named(path, dataset);
    bool is_one;
    int n = 0;
    CHECK(format->recognise(path, &is_one, &err) == LW_OK, "run %" PRId64 ": %s", run, err.message);
    int rc = format->list(path, pass_row, &n, &err);
    CHECK(rc == LW_OK || rc == LW_EDATA, "run %" PRId64 ": listing gives %d", run, rc);
    err.message[0] = '\0';
    if ((rc = format->describe(&info, &err)) == LW_OK) {
        CHECK(lw_sampling_settle(&info, &err) == LW_OK, "run %" PRId64 ": %s", run, err.message);
        CHECK(count_samples(&info) <= MOST_SAMPLES_PER_BYTE * file_bytes, "run %" PRId64 ": %" PRId64 " samples", run,
              count_samples(&info));
        free(read_all(format, &info, &rc, &err));
        format->visit_attributes(&info, pass_attribute, &n);
        double *const numbers = calloc((size_t)count_samples(&info), sizeof *numbers);
        CHECK(lw_format_read_numbers(format, &info, numbers, NULL) == rc,
              "run %" PRId64 ": reading numbers and reading samples give different codes", run);
        free(numbers);
    }
    CHECK(rc == LW_OK || (rc == LW_EDATA && err.message[0]), "run %" PRId64 ": code %d, '%s'", run, rc, err.message);
    return rc == LW_OK;
}

/* Damage and use a file `n_runs` times; some of the files must be read, and some refused. */
static inline void check_damage(const struct lw_format *format, const struct test_file *good, const char *dataset, int64_t first,
                                int64_t period, int64_t header, int64_t n_runs)
{
    static struct test_file bad;
    int64_t n_read = 0;
    for (int64_t run = 0; run < n_runs; run++) {
        uint64_t state = (uint64_t)run;
        bad = *good;
        damage(&state, &bad, first, period, header);
        write_test_file("damaged", &bad);
        n_read += use_damaged(format, "damaged", dataset, bad.n, run);
    }
    printf("%s: %" PRId64 " damaged files, of which %" PRId64 " were read\n", format->name, n_runs, n_read);
    CHECK(n_read > 0 && n_read < n_runs, "%" PRId64 " of %" PRId64 " were read", n_read, n_runs);
}

/* Change to a new temporary folder; the program ends if there cannot be one. */
static inline void enter_folder(char folder[256])
{
    const char *const parent = getenv("TMPDIR");
    snprintf(folder, 256, "%s/lapwing-seismic-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder) || chdir(folder) != 0)
        exit(1);
}

static inline void leave_folder(const char *folder)
{
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(chdir("/") == 0 && system(command) == 0, "%s", command);
}
