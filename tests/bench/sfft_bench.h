/* sfft_bench.h - functions of the benchmarks of sparse transforms: a signal whose lines are known, clocks, and the printed line
 * of names and values for each row. */
#pragma once

#include "sfft/published/published.h"

#include <complex.h>
#include <stdio.h>

enum { MOST_RUNS = 1000 };

struct bench {
    int64_t n, k;
    int n_runs, n_threads;
    bool is_real;                   /* x has n reals; each line has a mirror image, which does not count among the k */
    bool has_noise;
    double snr_db;
    double complex *x;
    int64_t *frequency;             /* [k], ascending; some may be equal */
};

struct figures {
    double wall[MOST_RUNS], processor[MOST_RUNS];
    double error;                   /* sum of L1 errors per line */
    int found, fell_back, wrong, retried, runs;
    int64_t samples;
    const char *lines;              /* how they compare with another algorithm's, or NULL */
    struct lw_published_profile profile;
};

struct clocks {
    double wall, processor;
};

/** Print the error and end the program. */
void bench_fail(const struct lw_error *err);

/** Make the signal: K lines of magnitude 1 at random frequencies, and white noise. */
void bench_make_signal(struct bench *bench);
void bench_release(struct bench *bench);

struct clocks bench_now(void);

/** Add the time since `start` to this run's times. */
void bench_add_time(struct figures *figures, struct clocks start);

/** Count a run. Its lines are found if all are there and the result reports so; the error is the sum over all bins of |error|,
 * per line. */
void bench_score(const struct bench *bench, const struct lw_sfft_result *result, int attempts, struct figures *figures);

/** Write the names of the columns of a CSV, and a row; sorts the times. Transforms of all samples are not scored: they have neither
 * k nor noise nor lines. Times are in ms. */
void bench_write_names(FILE *csv);
void bench_write(FILE *csv, const struct bench *bench, const char *algorithm, int n_threads, struct figures *figures);

/** Return the number of cores that the process may use. */
int bench_cores(void);

/** Print one line; sorts the times. @param has_lines, has_steps whether there is a result, and a profile */
void bench_print(const struct bench *bench, const char *algorithm, int n_threads, bool has_lines, bool has_steps,
                 struct figures *figures);
