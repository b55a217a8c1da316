/* ols_cpu.c - benchmark of the cpu engine's filtering, beside overlap-save through FFTW, one plain FFT over the whole signal and
 * scipy's oaconvolve.
 *
 *   ols_cpu [REPEATS]
 *   ols_cpu REPEATS model        what plans promise, beside what is measured
 *   ols_cpu REPEATS transforms   transforms alone, beside FFTW's patient plans
 *
 * Every case is run once per repeat, so that other work on the machine affects all cases alike; medians are printed. "wall" is
 * elapsed time, "cpu" the time of all threads, both in nanoseconds per output sample. */
#include "base/log.h"
#include "cpu/dispatch.h"
#include "cpu/ols/ols.h"
#include "engine/registry.h"
#include "rivals/fftw.h"

#include <fftw3.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MOST_CASES 40
#define MOST_REPEATS 101
#define SAMPLES ((int64_t)1 << 24)

struct time {
    double wall, cpu;
};

struct bench_case {
    const char *name;
    struct lw_op_spec spec;
    int64_t count;              /* outputs on the axis */
    int n_threads;

    struct lw_engine *engine;
    struct lw_op *op;
    struct lw_op_plan plan;
    struct lw_slot *slot;
    struct lw_block block;
    struct time times[MOST_REPEATS];
};

static struct bench_case cases[MOST_CASES];
static int n_cases;

/* ---- time -------------------------------------------------------------------------------------------------------- */
static double seconds_of(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static struct time now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (struct time){lw_now(), seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime)};
}

static struct time since(struct time start, double per)
{
    const struct time end = now();
    return (struct time){1e9 * (end.wall - start.wall) / per, 1e9 * (end.cpu - start.cpu) / per};
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct time median(const struct time *times, int n)
{
    double wall[MOST_REPEATS], cpu[MOST_REPEATS];
    for (int i = 0; i < n; i++) {
        wall[i] = times[i].wall;
        cpu[i] = times[i].cpu;
    }
    qsort(wall, (size_t)n, sizeof *wall, by_size);
    qsort(cpu, (size_t)n, sizeof *cpu, by_size);
    return (struct time){wall[n / 2], cpu[n / 2]};
}

/* ---- the engine -------------------------------------------------------------------------------------------------- */
static void give_up(const struct lw_error *err)
{
    fprintf(stderr, "ols_cpu: %s\n", err->message);
    exit(1);
}

/* Fill the input with noise of any type: no type reads these bytes as infinity or NaN. */
static void fill(void *input, int64_t bytes)
{
    uint64_t state = 1;
    for (int64_t i = 0; i + 8 <= bytes; i += 8) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint64_t word = (state >> 5 & 0x007f7f7f007f7f7fu) | 0x3f0000003f000000u;
        memcpy((char *)input + i, &word, sizeof word);
    }
}

static double *make_taps(int64_t n)
{
    double *const taps = malloc((size_t)n * sizeof *taps);
    if (!taps)
        abort();
    for (int64_t i = 0; i < n; i++)
        taps[i] = (double)(i * 7919 % 1001 - 500) / 500;
    return taps;
}

static double outputs_of(const struct bench_case *b)
{
    return (double)b->count * (double)b->spec.n_channels * b->spec.ols.n_filters;
}

static void open_case(struct bench_case *b)
{
    const struct lw_engine_spec engine_spec = {.n_threads = b->n_threads};
    struct lw_error err;
    double *const taps = make_taps(b->spec.ols.n_taps * b->spec.ols.n_filters * (b->spec.ols.taps_complex ? 2 : 1));
    b->spec.ols.taps = lw_stored_doubles(taps, b->spec.ols.taps_complex);
    if (lw_cpu_engine.create(&engine_spec, &b->engine, &err))
        give_up(&err);
    const struct lw_engine_ops *const ops = b->engine->ops;
    if (ops->op_plan(b->engine, &b->spec, &b->plan, &err) ||
        ops->op_create(b->engine, &b->spec, &b->plan, b->count, b->spec.n_channels, &b->op, &err) ||
        ops->slot_create(b->op, &b->slot, &err))
        give_up(&err);
    free(taps);
    b->block = (struct lw_block){.count = b->count, .n_channels = b->spec.n_channels};
    fill(b->slot->input, (b->plan.halo + b->count) * b->spec.n_channels * (int64_t)lw_type_bytes(b->spec.input));
}

static void close_case(struct bench_case *b)
{
    b->engine->ops->slot_destroy(b->op, b->slot);
    b->engine->ops->op_destroy(b->op);
    lw_engine_destroy(b->engine);
}

static struct time run_case(struct bench_case *b)
{
    struct lw_error err;
    const struct time start = now();
    if (b->engine->ops->submit(b->op, b->slot, &b->block, &err) || b->engine->ops->wait(b->op, b->slot, &err))
        give_up(&err);
    return since(start, outputs_of(b));
}

/* ---- overlap-save through FFTW ----------------------------------------------------------------------------------- */

/* FFTW's overlap-save on the samples of a case of one channel of float32, to which it is compared. */
struct fftw_case {
    const struct bench_case *beside;
    double *taps;
    struct fftw_ols *ols;
    float *out;
    char text[FFTW_RIVAL_TEXT];
    struct time times[MOST_REPEATS];
};

static struct fftw_case fftw_cases[2];
static int n_fftw_cases;

static struct time run_fftw(const struct fftw_case *f)
{
    const struct time start = now();
    fftw_ols_run(f->ols, f->out);
    return since(start, outputs_of(f->beside));
}

static void open_way(struct fftw_case *f, int way)
{
    const struct bench_case *const b = f->beside;
    f->ols = fftw_ols_open(b->slot->input, b->count, f->taps, b->spec.ols.n_taps, b->spec.ols.n_filters, way, f->text);
}

/* Print the relative difference of the outputs, where the engine's are those of its last run. */
static void check_fftw(const struct fftw_case *f)
{
    const float *const ours = f->beside->slot->products[0].data;
    double difference = 0, all = 0;
    for (int64_t i = 0; i < f->beside->count * f->beside->spec.ols.n_filters; i++) {
        difference += pow((double)f->out[i] - (double)ours[i], 2);
        all += pow((double)ours[i], 2);
    }
    if (!(difference <= 1e-12 * all)) {
        fprintf(stderr, "ols_cpu: FFTW's outputs differ by %g\n", sqrt(difference / all));
        exit(1);
    }
}

/* Try all ways, two runs each, and keep the fastest open. */
static void open_fftw(struct fftw_case *f, struct bench_case *beside)
{
    const size_t n_outputs = (size_t)(beside->count * beside->spec.ols.n_filters);
    *f = (struct fftw_case){.beside = beside, .taps = make_taps(beside->spec.ols.n_taps * beside->spec.ols.n_filters),
                            .out = malloc(n_outputs * sizeof(float))};
    run_case(beside);
    double best = 1e9;
    int best_way = 0;
    for (int way = 0; open_way(f, way), f->ols; way++) {
        run_fftw(f);
        const struct time time = run_fftw(f);
        check_fftw(f);
        fftw_ols_close(f->ols);
        if (time.cpu < best) {
            best = time.cpu;
            best_way = way;
        }
    }
    open_way(f, best_way);
}

static void close_fftw(struct fftw_case *f)
{
    fftw_ols_close(f->ols);
    free(f->taps);
    free(f->out);
}

/* ---- all of them -------------------------------------------------------------------------------------------------- */

/* Run all cases in turn, `repeats` times, after one round that is not counted. */
static void run_cases(int repeats)
{
    for (int repeat = -1; repeat < repeats; repeat++) {
        const int at = repeat < 0 ? 0 : repeat;
        for (int i = 0; i < n_cases; i++)
            cases[i].times[at] = run_case(&cases[i]);
        for (int i = 0; i < n_fftw_cases; i++)
            fftw_cases[i].times[at] = run_fftw(&fftw_cases[i]);
    }
}

/* ---- a plain FFT over the whole signal --------------------------------------------------------------------------- */

/* Filter by a real transform of the padded signal, a product and an inverse transform: one thread, filter transformed before. */
static struct time run_plain_fft(int64_t n_taps, int repeats)
{
    const int n = (int)(SAMPLES + SAMPLES / 8);         /* 9 x 2^21: a fast length that leaves room for the taps */
    float *const x = fftwf_alloc_real((size_t)n);
    fftwf_complex *const z = fftwf_alloc_complex((size_t)n / 2 + 1), *const h = fftwf_alloc_complex((size_t)n / 2 + 1);
    fftwf_plan forward = fftwf_plan_dft_r2c_1d(n, x, z, FFTW_ESTIMATE);
    fftwf_plan inverse = fftwf_plan_dft_c2r_1d(n, z, x, FFTW_ESTIMATE);
    struct time times[MOST_REPEATS];
    memset(x, 0, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n_taps; i++)
        x[i] = 1e-7F;
    fftwf_execute_dft_r2c(forward, x, h);
    for (int repeat = 0; repeat < repeats; repeat++) {
        memset(x, 0, (size_t)n * sizeof *x);
        for (int64_t i = 0; i < SAMPLES; i++)
            x[i] = (float)(i % 1001);
        const struct time start = now();
        fftwf_execute(forward);
        for (int64_t k = 0; k <= n / 2; k++) {
            const float re = z[k][0] * h[k][0] - z[k][1] * h[k][1], im = z[k][0] * h[k][1] + z[k][1] * h[k][0];
            z[k][0] = re;
            z[k][1] = im;
        }
        fftwf_execute(inverse);
        times[repeat] = since(start, (double)SAMPLES);
    }
    fftwf_destroy_plan(forward);
    fftwf_destroy_plan(inverse);
    fftwf_free(x);
    fftwf_free(z);
    fftwf_free(h);
    return median(times, repeats);
}

/* ---- scipy ------------------------------------------------------------------------------------------------------- */
static bool run_scipy(int64_t n_taps, int repeats, struct time *time)
{
    char command[512];
    snprintf(command, sizeof command, "OMP_NUM_THREADS=1 /usr/bin/python3 '%s' %" PRId64 " %" PRId64 " %d 2>/dev/null",
             LW_BENCH_SCIPY, SAMPLES, n_taps, repeats);
    FILE *const pipe = popen(command, "r");
    const bool has_times = pipe && fscanf(pipe, "%lf %lf", &time->wall, &time->cpu) == 2;
    if (pipe)
        pclose(pipe);
    return has_times;
}

/* ---- the cases --------------------------------------------------------------------------------------------------- */
static struct bench_case *add_case(const char *name, int64_t n_taps, int n_filters, int n_threads)
{
    struct bench_case *const b = &cases[n_cases++];
    *b = (struct bench_case){
        .name = name,
        .spec = {
            .kind = LW_OP_OLS,
            .input = {.scalar = LW_FLOAT32},
            .output = {.scalar = LW_FLOAT32},
            .n_channels = 1,
            .ols = {.n_filters = n_filters, .n_taps = n_taps},
        },
        .count = SAMPLES / (n_filters > 1 ? 4 : 1),
        .n_threads = n_threads,
    };
    return b;
}

static void print_case(const struct bench_case *b, int repeats)
{
    const struct time t = median(b->times, repeats);
    printf("%-44s %5" PRId64 " %3d %2d   %7.3f %7.3f   %s\n", b->name, b->spec.ols.n_taps, b->spec.ols.n_filters,
           b->n_threads, t.wall, t.cpu, b->plan.text);
}

static void compare_one(int64_t n_taps, int repeats)
{
    n_cases = 0;
    struct bench_case *const one = add_case("one channel, float32", n_taps, 1, 1);
    struct bench_case *const two = add_case("one channel, float32", n_taps, 1, 2);
    struct bench_case *const bank = add_case("one channel, float32", n_taps, 8, 1);
    for (int i = 0; i < n_cases; i++)
        open_case(&cases[i]);
    open_fftw(&fftw_cases[0], one);
    open_fftw(&fftw_cases[1], bank);
    n_fftw_cases = 2;
    run_cases(repeats);
    for (int i = 0; i < n_cases; i++)
        print_case(&cases[i], repeats);
    for (int i = 0; i < n_fftw_cases; i++) {
        const struct fftw_case *const f = &fftw_cases[i];
        const struct time time = median(f->times, repeats);
        printf("%-44s %5" PRId64 " %3d  1   %7.3f %7.3f   %s\n", "overlap-save through FFTW", n_taps, f->beside->spec.ols.n_filters,
               time.wall, time.cpu, f->text);
        close_fftw(&fftw_cases[i]);
    }
    for (int i = 0; i < n_cases; i++)
        close_case(&cases[i]);
    struct time scipy = {0};
    const struct time plain = run_plain_fft(n_taps, repeats), mine = median(one->times, repeats);
    const bool has_scipy = run_scipy(n_taps, repeats, &scipy);
    printf("%-44s %5" PRId64 "   1  1   %7.3f %7.3f\n", "one plain FFT of the whole signal (FFTW)", n_taps, plain.wall,
           plain.cpu);
    if (has_scipy)
        printf("%-44s %5" PRId64 "   1  1   %7.3f %7.3f\n", "scipy.signal.oaconvolve", n_taps, scipy.wall, scipy.cpu);
    printf("  rates: to overlap-save through FFTW %.2f, 8 filters %.2f; to plain FFT %.2f",
           median(fftw_cases[0].times, repeats).cpu / mine.cpu,
           median(fftw_cases[1].times, repeats).cpu / median(bank->times, repeats).cpu, plain.cpu / mine.cpu);
    n_fftw_cases = 0;
    if (has_scipy)
        printf(", to scipy %.2f", scipy.cpu / mine.cpu);
    printf(", two threads to one %.2f, 8 filters to one %.2f\n\n", mine.wall / median(two->times, repeats).wall,
           mine.cpu / median(bank->times, repeats).cpu);
}

static void compare_layouts(int64_t n_taps, int repeats)
{
    n_cases = 0;
    add_case("one channel, float32", n_taps, 1, 1);
    struct bench_case *const slow = add_case("832 channels, uint8, time slow", n_taps, 1, 1);
    slow->spec.input.scalar = LW_UINT8;
    slow->spec.layout = LW_TIME_SLOW;
    slow->spec.n_channels = 832;
    slow->count = 32768;
    struct bench_case *const fast = add_case("3840 channels, int16, time fast", n_taps, 1, 1);
    fast->spec.input.scalar = LW_INT16;
    fast->spec.n_channels = 3840 / 8;
    fast->count = 65536;
    for (int i = 0; i < n_cases; i++)
        open_case(&cases[i]);
    run_cases(repeats);
    const struct time one = median(cases[0].times, repeats);
    for (int i = 0; i < n_cases; i++)
        print_case(&cases[i], repeats);
    printf("  rates to one channel: time slow %.2f, time fast %.2f\n\n", one.cpu / median(slow->times, repeats).cpu,
           one.cpu / median(fast->times, repeats).cpu);
    for (int i = 0; i < n_cases; i++)
        close_case(&cases[i]);
}

/* Compare a stored bank with the products made of it. No output crosses the threshold: candidates are rare. */
static void compare_products(bool is_complex, int repeats)
{
    static const struct {
        const char *name;
        unsigned products;
    } all[] = {{"bank, stored", LW_FILTERED}, {"peaks", LW_PEAKS}, {"best filter", LW_BEST}, {"blocks of 1000", LW_BLOCKS}};
    n_cases = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct bench_case *const b = add_case(all[i].name, 257, 64, 1);
        b->count = b->spec.n_outputs = SAMPLES / 32;
        b->spec.input.is_complex = b->spec.output.is_complex = is_complex;
        b->spec.ols.search = (struct lw_search){
            .products = all[i].products, .threshold = 1e9, .every = 1000,
            .values = LW_BLOCK_MAX | LW_BLOCK_MEAN | LW_BLOCK_RMS,
        };
        open_case(b);
    }
    run_cases(repeats);
    const struct time stored = median(cases[0].times, repeats);
    for (int i = 0; i < n_cases; i++)
        print_case(&cases[i], repeats);
    printf("  rates to the bank that is stored, %s samples: peaks %.2f, best filter %.2f, blocks %.2f\n\n",
           is_complex ? "complex" : "real", stored.cpu / median(cases[1].times, repeats).cpu,
           stored.cpu / median(cases[2].times, repeats).cpu, stored.cpu / median(cases[3].times, repeats).cpu);
    for (int i = 0; i < n_cases; i++)
        close_case(&cases[i]);
}

/* ---- the cost model ------------------------------------------------------------------------------------------------ */

/* Outputs that a case of the model makes, all filters together, and the least number of segments. */
#define MODEL_OUTPUTS ((int64_t)1 << 24)
#define MODEL_SEGMENTS 2

/* Print the time of a case, and what its plan promised. @param segment  0: its own choice */
static void check_model(int64_t n_taps, int n_filters, bool is_complex, unsigned products, int segment, int repeats)
{
    n_cases = 0;
    struct bench_case *const b = add_case(is_complex ? "complex" : "real", n_taps, n_filters, 1);
    b->spec.input.is_complex = b->spec.output.is_complex = b->spec.ols.taps_complex = is_complex;
    b->spec.ols.segment = segment;
    b->spec.ols.search = (struct lw_search){.products = products, .threshold = 1e9};
    b->spec.n_outputs = MODEL_OUTPUTS;
    struct lw_op_plan plan;
    struct lw_error err;
    if (lw_cpu_ols_plan(&b->spec, &plan, &err))
        give_up(&err);
    const int64_t hop = plan.segment > 0 ? plan.segment - n_taps + 1 : 4096, each = MODEL_OUTPUTS / n_filters;
    b->count = b->spec.n_outputs = hop * (each / hop > MODEL_SEGMENTS ? each / hop : MODEL_SEGMENTS);
    open_case(b);
    run_cases(repeats);
    const double time = median(b->times, repeats).cpu, promised = 1e9 * b->plan.seconds_per_output;
    printf("%s,%s,%" PRId64 ",%d,%d,%.3f,%.3f,%.2f\n", b->name, products & LW_FILTERED ? "stored" : "peaks", n_taps, n_filters,
           b->plan.segment, time, promised, promised / time);
    fflush(stdout);
    close_case(b);
}

/* Most bytes of spectra; cases with more are left out. */
#define MODEL_SPECTRA ((int64_t)3 << 30)

static void check_models(int repeats)
{
    static const int filters[] = {1, 8, 100, 1000};
    printf("samples,products,taps,filters,segment,ns_per_output,planned_ns,planned_to_measured\n");
    for (int64_t n_taps = 256; n_taps <= 1 << 19; n_taps *= n_taps < 1 << 16 ? 4 : 2)
        for (int i = 0; i < 4; i++)
            for (int kind = 0; kind < 4; kind++)
                if (n_taps * 4 * 16 * filters[i] <= MODEL_SPECTRA)
                    check_model(n_taps, filters[i], kind & 1, kind & 2 ? LW_FILTERED : LW_PEAKS, 0, repeats);
}

/* ---- transforms ---------------------------------------------------------------------------------------------------- */

/* Seconds that FFTW may take to plan a transform. */
#define PLANNING_SECONDS 20

struct transform {
    const struct lw_cpu_kernels *kernels;
    struct lw_cpu_fft *fft;
    void *x, *spectrum, *filter, *work;
    fftwf_plan single;
    fftw_plan twice;
};

static struct time run_forward(const struct transform *t)
{
    const struct time start = now();
    t->kernels->fft_forward(t->fft, t->x, t->spectrum, t->work);
    return since(start, (double)t->fft->n);
}

static struct time run_inverse(const struct transform *t)
{
    const struct time start = now();
    t->kernels->fft_multiply(t->fft, t->filter, t->spectrum, NULL, t->work);
    t->kernels->fft_inverse(t->fft, t->work, t->x);
    return since(start, (double)t->fft->n);
}

static struct time run_strips(const struct transform *t)
{
    const struct time start = now();
    t->kernels->fft_multiply(t->fft, t->filter, t->spectrum, NULL, t->work);
    for (int64_t strip = 0; t->fft->strip > 0 && strip < t->fft->columns / t->fft->strip; strip++)
        t->kernels->fft_strip(t->fft, t->work, strip);
    return since(start, (double)t->fft->n);
}

static struct time run_rival(const struct transform *t)
{
    const struct time start = now();
    if (t->single)
        fftwf_execute(t->single);
    else
        fftw_execute(t->twice);
    return since(start, (double)t->fft->n);
}

static void *numbers(int64_t n, size_t bytes)
{
    struct lw_error err;
    void *const memory = lw_alloc_array(2 * n, bytes, "complex numbers", &err);
    if (!memory)
        give_up(&err);
    fill(memory, 2 * n * (int64_t)bytes);
    return memory;
}

static void compare_transform(bool is_double, int64_t n, int repeats)
{
    static struct time (*const runs[])(const struct transform *) = {run_forward, run_inverse, run_strips, run_rival};
    struct lw_error err;
    struct transform t = {.kernels = lw_cpu_kernels(is_double ? LW_DOUBLE : LW_SINGLE)};
    const size_t bytes = t.kernels->real_bytes;
    t.x = numbers(n, bytes);
    t.spectrum = numbers(n, bytes);
    t.filter = numbers(n, bytes);
    t.work = numbers(t.kernels->fft_shape(n).work, bytes);
    if (t.kernels->fft_create(n, t.x, t.spectrum, &t.fft, &err))
        give_up(&err);
    if (is_double)
        t.twice = fftw_plan_dft_1d((int)n, t.x, t.spectrum, FFTW_BACKWARD, FFTW_PATIENT);
    else
        t.single = fftwf_plan_dft_1d((int)n, t.x, t.spectrum, FFTW_BACKWARD, FFTW_PATIENT);
    struct time times[4][MOST_REPEATS];
    fill(t.x, 2 * n * (int64_t)bytes);          /* planning overwrote it */
    for (int repeat = -1; repeat < repeats; repeat++)
        for (int run = 0; run < 4; run++)
            times[run][repeat < 0 ? 0 : repeat] = runs[run](&t);
    printf("%s,%" PRId64, is_double ? "double" : "single", n);
    for (int run = 0; run < 4; run++)
        printf(",%.3f", median(times[run], repeats).wall);
    printf("\n");
    fflush(stdout);
    t.kernels->fft_destroy(t.fft);
    if (is_double)
        fftw_destroy_plan(t.twice);
    else
        fftwf_destroy_plan(t.single);
    void *const all[] = {t.x, t.spectrum, t.filter, t.work};
    for (int i = 0; i < 4; i++)
        lw_free(all[i]);
}

static void compare_transforms(int repeats)
{
    fftw_set_timelimit(PLANNING_SECONDS);
    fftwf_set_timelimit(PLANNING_SECONDS);
    printf("precision,points,forward_ns,product_inverse_ns,product_strips_ns,fftw_ns\n");
    for (int is_double = 0; is_double < 2; is_double++)
        for (int64_t n = 1 << 13; n <= 1 << 21; n *= 2)
            compare_transform(is_double, n, repeats);
}

int main(int argc, char **argv)
{
    const int wanted = argc > 1 ? atoi(argv[1]) : 9;
    const int repeats = wanted < 1 ? 1 : wanted > MOST_REPEATS ? MOST_REPEATS : wanted;
    if (argc > 2) {
        if (strcmp(argv[2], "model") == 0)
            check_models(repeats);
        else
            compare_transforms(repeats);
        return 0;
    }
    static const int64_t taps[] = {9, 33, 65, 257, 1025, 4097, 8193};
    printf("%-44s %5s %3s %2s   %7s %7s   ns per output\n", "case", "taps", "F", "th", "wall", "cpu");
    for (size_t i = 0; i < sizeof taps / sizeof *taps; i++)
        compare_one(taps[i], repeats);
    compare_layouts(65, repeats);
    compare_layouts(257, repeats);
    compare_products(false, repeats);
    compare_products(true, repeats);
    return 0;
}
