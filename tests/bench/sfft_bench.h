/* sfft_bench.h - what the benchmarks of sparse transforms share: a signal whose lines are known, clocks, and the line of
 * names and values that is printed for each row. */
#pragma once

#include "sfft/published/published.h"

#include <complex.h>

enum { MOST_RUNS = 1000 };

struct bench {
    int64_t n, k;
    int n_runs, n_threads;
    bool has_noise;
    double snr_db;
    double complex *x;
    int64_t *frequency;             /* [k] ascending, some may be alike */
};

struct figures {
    double wall[MOST_RUNS], processor[MOST_RUNS];
    double error;                   /* sum of L1 errors per line */
    int found, fell_back, wrong, retried, runs;
    int64_t samples;
    struct lw_published_profile profile;
};

struct clocks {
    double wall, processor;
};

/** Print the error and end. */
void bench_fail(const struct lw_error *err);

/** K lines of magnitude 1 at random frequencies, and white noise. */
void bench_make_signal(struct bench *bench);
void bench_release(struct bench *bench);

struct clocks bench_now(void);

/** Add what has passed since `start` to this run's times. */
void bench_add_time(struct figures *figures, struct clocks start);

/** Count a run. Lines are found if all are there and the result says so; the error is the sum over all bins of |error|, per
 * line. */
void bench_score(const struct bench *bench, const struct lw_sfft_result *result, int attempts, struct figures *figures);

/** One line: sorts the times. @param has_lines, has_steps  whether there is a result, and a profile */
void bench_print(const struct bench *bench, const char *algorithm, int n_threads, bool has_lines, bool has_steps,
                 struct figures *figures);
