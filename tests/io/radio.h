/* radio.h - helpers of the tests of radio telescopes' formats: the bytes of a file in memory, boxes that its format reads, and
 * files with damaged headers. */
#pragma once

#include "../check.h"
#include "base/integers.h"
#include "io/format.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ALL_BYTES ((size_t)1 << 20)

/* A file in preparation, of `n` bytes. */
struct made {
    unsigned char bytes[ALL_BYTES];
    size_t n;
};

static inline void put_bytes(struct made *made, const void *bytes, size_t n)
{
    memcpy(made->bytes + made->n, bytes, n);
    made->n += n;
}

static inline void write_made(const char *path, const struct made *made)
{
    FILE *const file = fopen(path, "wb");
    CHECK(file && fwrite(made->bytes, 1, made->n, file) == made->n && fclose(file) == 0, "%s is written", path);
}

/* Random numbers by xorshift, the same on every machine. */
static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Describe a file as io/examine.c does, but in this process. */
static inline int describe_here(const char *file, const char *path, const struct lw_format **format, struct lw_dataset_info *info,
                                struct lw_error *err)
{
    struct stat status = {0};
    stat(file, &status);
    *info = (struct lw_dataset_info){.metadata_axis = -1, .file_bytes = status.st_size};
    snprintf(info->file, sizeof info->file, "%s", file);
    snprintf(info->path, sizeof info->path, "%s", path);
    *err = (struct lw_error){0};
    int rc;
    (void)((rc = lw_formats_find(file, NULL, format, err)) || (rc = (*format)->describe(info, err)) ||
           (rc = lw_sampling_settle(info, err)));
    return rc;
}

static inline void check_refused(const char *file, const char *path, int code, const char *says)
{
    const struct lw_format *format;
    struct lw_dataset_info info;
    struct lw_error err;
    const int rc = describe_here(file, path, &format, &info, &err);
    CHECK(rc == code && strstr(err.message, says),
          "%s:%s: code %d, not %d; the message '%s' lacks '%s'", file, path, rc, code, err.message,
          says);
}

/* Set *sample to the expected sample [time][channel], in the type of the dataset. */
typedef void expect_fn(const void *truth, int64_t time, int64_t channel, void *sample);

/* Read a box with gaps of `gap` samples between its runs in memory, and compare every sample. */
static inline void check_box(const struct lw_format *format, const struct lw_dataset_info *info, void *dataset, struct lw_box box,
                             int64_t gap, expect_fn *expect, const void *truth)
{
    const size_t bytes = lw_type_bytes(info->type);
    const int64_t n_fast = box.count[info->n_dims - 1], n_slow = info->n_dims == 2 ? box.count[0] : 1;
    box.run = gap ? n_fast : n_slow * n_fast;
    box.n_runs = gap ? n_slow : 1;
    box.pitch = gap ? n_fast + gap : box.run;
    const int64_t pitch = gap ? box.pitch : n_fast;
    const size_t size = (size_t)(n_slow * pitch) * bytes + 1;
    char *const got = malloc(size), *const wanted = malloc(size);
    memset(got, 0xa5, size);
    memset(wanted, 0xa5, size);
    for (int64_t t = 0; t < n_slow; t++)
        for (int64_t c = 0; c < n_fast; c++) {
            const int64_t fast = box.first[info->n_dims - 1] + c * box.step[info->n_dims - 1];
            const int64_t slow = info->n_dims == 2 ? box.first[0] + t * box.step[0] : 0;
            expect(truth, info->n_dims == 2 ? slow : fast, info->n_dims == 2 ? fast : 0,
                   wanted + (size_t)(t * pitch + c) * bytes);
        }
    struct lw_error err = {0};
    box.into = got;
    CHECK(format->read(dataset, &box, &err) == LW_OK, "%s", err.message);
    CHECK(memcmp(got, wanted, size) == 0, "%s:%s: box of %ld x %ld from %ld, %ld, by %ld, %ld", info->file, info->path,
          (long)n_slow, (long)n_fast, (long)box.first[0], (long)box.first[1], (long)box.step[0], (long)box.step[1]);
    free(got);
    free(wanted);
}

/* Check the whole dataset, and random boxes. */
static inline void check_boxes(const struct lw_format *format, const struct lw_dataset_info *info, expect_fn *expect,
                               const void *truth)
{
    void *dataset = NULL;
    struct lw_error err = {0};
    uint64_t random = 88172645463325252u;
    CHECK(lw_format_open(format, info, &dataset, &err) == LW_OK, "%s", err.message);
    for (int i = 0; dataset && i < 30; i++) {
        struct lw_box box = {0};
        for (int d = 0; d < info->n_dims; d++) {
            box.first[d] = i ? (int64_t)(next_random(&random) % (uint64_t)info->dims[d]) : 0;
            box.step[d] = i % 3 == 2 ? 1 + (int64_t)(next_random(&random) % 5) : 1;
            box.count[d] = i ? 1 + (int64_t)(next_random(&random) %
                                                   (uint64_t)lw_divide_up(info->dims[d] - box.first[d], box.step[d]))
                             : info->dims[d];
        }
        check_box(format, info, dataset, box, i % 2 * 3, expect, truth);
    }
    if (dataset)
        lw_format_close(format, dataset);
}

static inline size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

/* Damage a file once: flip, overwrite, cut or copy bytes of its header. */
static inline void mutate(struct made *made, size_t header_bytes, uint64_t *random)
{
    const size_t at = next_random(random) % header_bytes, other = next_random(random) % header_bytes;
    static const int32_t extremes[] = {0, 1, -1, INT32_MAX, INT32_MIN, 1 << 16, 255, -2};
    const size_t length = 1 + next_random(random) % 16;
    switch (next_random(random) % 5) {
    case 0:
        made->bytes[at] ^= (unsigned char)(1u << next_random(random) % 8);
        break;
    case 1:
        memcpy(made->bytes + at, &extremes[next_random(random) % 8], sizeof *extremes);
        break;
    case 2:
        made->n = next_random(random) % 2 ? min_size(at, made->n) : made->n - min_size(at, made->n);
        break;
    case 3:
        memmove(made->bytes + at, made->bytes + other, length);
        break;
    default:
        for (size_t i = 0; i < length; i++)
            made->bytes[at + i] = (unsigned char)next_random(random);
    }
}

/* Read the first and the last corner of a described dataset. */
static inline void read_corners(const struct lw_format *format, const struct lw_dataset_info *info)
{
    void *dataset;
    struct lw_error err;
    double samples[64];
    if (lw_format_open(format, info, &dataset, &err) != LW_OK)
        return;
    for (int corner = 0; corner < 2; corner++) {
        struct lw_box box = {.run = 1, .n_runs = 1, .into = samples};
        for (int d = 0; d < info->n_dims; d++) {
            box.step[d] = 1;
            box.count[d] = lw_min64(info->dims[d], 4);
            box.first[d] = corner ? info->dims[d] - box.count[d] : 0;
            box.run *= box.count[d];
        }
        box.pitch = box.run;
        format->read(dataset, &box, &err);
    }
    lw_format_close(format, dataset);
}

/* Check that each of `n` damaged files is read or refused.
 * @return number of files that were read */
static inline int check_mutations(const char *path, const struct made *good, size_t header_bytes, int n)
{
    struct made *const made = malloc(sizeof *made);
    uint64_t random = 0x9e3779b97f4a7c15u;
    int n_good = 0;
    for (int i = 0; i < n; i++) {
        const struct lw_format *format;
        struct lw_dataset_info info;
        struct lw_error err;
        *made = *good;
        for (uint64_t m = 1 + next_random(&random) % 3; m > 0; m--)
            mutate(made, header_bytes, &random);
        write_made(path, made);
        const int rc = describe_here(path, "", &format, &info, &err);
        CHECK(rc == LW_OK || ((rc == LW_EDATA || rc == LW_EUSAGE) && err.message[0]), "mutation %d: code %d, '%s'", i, rc,
              err.message);
        if (rc == LW_OK)
            read_corners(format, &info);
        n_good += rc == LW_OK;
    }
    free(made);
    CHECK(n_good > n / 100 && n_good < n, "of %d mutations %d are read", n, n_good);
    return n_good;
}
