/* test_kernels.c - tests of the convolution kernels through their own interface, against the sum by definition in double: every
 * segment length and the direct path, real and complex signals and taps, both layouts and precisions, every stored type, samples
 * that are not finite, and decimated series. Any cut of a signal at the plan's unit gives the same bits. Narrow outputs are those
 * of single precision, rounded. */
#include "bank.h"
#include "gpu.h"
#include "gpu_memory.h"
#include "narrowed.h"

#include "base/integers.h"
#include "gpu/device/convert.h"
#include "gpu/ols/kernels/kernels.h"

#include <complex.h>
#include <cuda_runtime_api.h>
#include <math.h>

static const size_t scalar_bytes[LW_N_SCALARS] = {1, 1, 2, 2, 4, 4, 8};

static const int segments[] = {256, 512, 1024, 2048, 4096, 8192, 12288, 24576};
enum { N_SEGMENTS = sizeof segments / sizeof *segments };

static struct lw_cuda_arch arch;
static uint64_t random_state = 1;

/* A plan, its bank on the device, and host copies of its inputs as doubles: x [channel][axis], and the taps. */
struct trial {
    struct lw_cuda_ols_plan plan;
    int64_t count;              /* outputs on the axis */
    double complex *x, *taps;
    void *bank;
    unsigned *not_finite;
};

static uint64_t next_random(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 16;
}

static double uniform(void) { return (double)(next_random() % 2000001) * 1e-6 - 1; }

/* Store one real number in the stored type at data[index], and return the number that the stored value represents. */
static double put_real(enum lw_scalar scalar, void *data, int64_t index, double value)
{
    switch (scalar) {
    case LW_INT8:    return ((int8_t *)data)[index] = (int8_t)(127 * value);
    case LW_UINT8:   return ((uint8_t *)data)[index] = (uint8_t)(127 * value + 128);
    case LW_INT16:   return ((int16_t *)data)[index] = (int16_t)(32767 * value);
    case LW_UINT16:  return ((uint16_t *)data)[index] = (uint16_t)(32767 * value + 32768);
    case LW_INT32:   return ((int32_t *)data)[index] = (int32_t)(1e6 * value);
    case LW_FLOAT64: return ((double *)data)[index] = value;
    default:         return ((float *)data)[index] = (float)value;
    }
}

static int64_t row_of(const struct trial *t) { return t->plan.spec.n_taps - 1 + t->count; }

static bool time_slow(const struct trial *t) { return t->plan.spec.layout == LW_TIME_SLOW; }

/* Make a trial. False: there is no such kernel. */
static bool trial_create(struct trial *t, const struct lw_cuda_ols_spec *spec, int64_t count)
{
    *t = (struct trial){.count = count};
    struct lw_error err;
    if (lw_cuda_ols_choose(spec, &arch, &t->plan, &err) || t->plan.path == LW_CUDA_TOO_LONG)
        return false;
    if (t->plan.path == LW_CUDA_SEGMENTS && count == 0)
        t->count = t->plan.unit * 2 + t->plan.hop / 3;
    const int64_t n_taps = spec->n_filters * spec->n_taps, n = row_of(t) * spec->n_channels;
    t->x = calloc((size_t)n, sizeof *t->x);
    t->taps = malloc((size_t)n_taps * sizeof *t->taps);
    for (int64_t i = 0; i < n_taps; i++)
        t->taps[i] = spec->taps_complex ? uniform() + I * uniform() : uniform();

    double *packed = malloc((size_t)n_taps * 2 * sizeof *packed);
    for (int64_t i = 0; i < n_taps; i++) {
        packed[spec->taps_complex ? 2 * i : i] = creal(t->taps[i]);
        if (spec->taps_complex)
            packed[2 * i + 1] = cimag(t->taps[i]);
    }
    t->bank = on_device(t->plan.bank_bytes);
    t->not_finite = on_device(sizeof *t->not_finite);
    cudaMemsetAsync(t->not_finite, 0, sizeof *t->not_finite, NULL);
    const struct lw_ols_resolved path = {.kernel = t->plan};
    CHECK(fill_bank(&path, packed, t->bank, NULL, NULL) == 0, "prepare, N %d", t->plan.segment);
    free(packed);
    return true;
}

static void trial_destroy(struct trial *t)
{
    cudaFree(t->bank);
    cudaFree(t->not_finite);
    free(t->x);
    free(t->taps);
}

/* Make random samples on the host in the stored type and layout. `n_spoilt` of them are not finite; these are zero in t->x. */
static char *make_input(struct trial *t, int n_spoilt)
{
    const struct lw_cuda_ols_spec *const s = &t->plan.spec;
    const int64_t row = row_of(t), width = s->input_complex ? 2 : 1;
    char *const data = malloc((size_t)(row * s->n_channels * width) * scalar_bytes[s->input]);
    for (int64_t c = 0; c < s->n_channels; c++)
        for (int64_t i = 0; i < row; i++) {
            const int64_t at = (time_slow(t) ? i * s->n_channels + c : c * row + i) * width;
            t->x[c * row + i] = put_real(s->input, data, at, uniform());
            if (s->input_complex)
                t->x[c * row + i] += I * put_real(s->input, data, at + 1, uniform());
        }
    for (int k = 0; k < n_spoilt; k++) {
        const int64_t c = (int64_t)(next_random() % (uint64_t)s->n_channels), i = (int64_t)(next_random() % (uint64_t)row);
        put_real(s->input, data, (time_slow(t) ? i * s->n_channels + c : c * row + i) * width, k % 2 ? NAN : -INFINITY);
        t->x[c * row + i] = s->input_complex ? I * cimag(t->x[c * row + i]) : 0;
    }
    return data;
}

static size_t output_bytes(const struct trial *t)
{
    return t->plan.spec.precision == LW_SINGLE ? (t->plan.output_complex ? 8 : 4) : (t->plan.output_complex ? 16 : 8);
}

/* Decimation factor: one in so many outputs is stored. */
static int every_of(const struct trial *t) { return t->plan.fold > 0 ? lw_post_every(t->plan.spec.post) : 1; }

/* Number of stored outputs among the outputs [first, first + count). */
static int64_t n_stored(const struct trial *t, int64_t first, int64_t count)
{
    return lw_divide_up(first + count, every_of(t)) - lw_divide_up(first, every_of(t));
}

/* Compute the stored ones of the outputs [first, first + count) into `out` on the host, packed like a block's. `out` is poisoned
 * first. narrow: the outputs' type, if it is narrow, else zero. */
static void convolve(struct trial *t, const char *data, int64_t first, int64_t count, struct lw_narrowing narrow, char *out)
{
    const struct lw_cuda_ols_spec *const s = &t->plan.spec;
    const size_t sample = scalar_bytes[s->input] * (s->input_complex ? 2 : 1);
    const int64_t part = s->n_taps - 1 + count, row = row_of(t), channels = s->n_channels;
    const size_t in_bytes = (size_t)(part * channels) * sample;
    const size_t narrow_bytes = (size_t)narrow.bytes * (t->plan.output_complex ? 2 : 1);
    const size_t each = narrow_bytes ? narrow_bytes : output_bytes(t);
    const size_t bytes = (size_t)(n_stored(t, first, count) * channels * s->n_filters) * each;
    char *const block = malloc(in_bytes);
    if (time_slow(t))
        memcpy(block, data + (size_t)(first * channels) * sample, in_bytes);
    else
        for (int64_t c = 0; c < channels; c++)
            memcpy(block + (size_t)(c * part) * sample, data + (size_t)(c * row + first) * sample, (size_t)part * sample);
    void *const x = on_device(in_bytes), *const y = on_device(bytes);
    copy(x, block, in_bytes, cudaMemcpyHostToDevice);
    cudaMemsetAsync(y, 0xff, bytes, NULL);
    const struct lw_post_args post = {.first = first, .n = t->count};
    const struct lw_cuda_ols_block b = {
        .input = x, .output = y, .bank = t->bank, .not_finite = t->not_finite, .count = count, .n_channels = channels,
        .post = t->plan.fold > 0 ? &post : NULL, .narrow = narrow,
    };
    CHECK(lw_cuda_ols_launch(&t->plan, &b, NULL) == 0, "launch, N %d", t->plan.segment);
    copy(out, y, bytes, cudaMemcpyDeviceToHost);
    cudaFree(x);
    cudaFree(y);
    free(block);
}

static double complex output_at(const struct trial *t, const char *out, int64_t count, int64_t f, int64_t c, int64_t o)
{
    const int64_t channels = t->plan.spec.n_channels;
    const int64_t at = f * channels * count + (time_slow(t) ? o * channels + c : c * count + o);
    if (t->plan.spec.precision == LW_SINGLE) {
        const float *const y = (const float *)out;
        return t->plan.output_complex ? y[2 * at] + I * y[2 * at + 1] : y[at];
    }
    const double *const y = (const double *)out;
    return t->plan.output_complex ? y[2 * at] + I * y[2 * at + 1] : y[at];
}

static double complex sum_at(const struct trial *t, int64_t f, int64_t c, int64_t o)
{
    const int64_t n_taps = t->plan.spec.n_taps;
    const double complex *const h = t->taps + f * n_taps, *const x = t->x + c * row_of(t) + o;
    double complex sum = 0;
    for (int64_t m = 0; m < n_taps; m++)
        sum += h[m] * x[n_taps - 1 - m];
    return sum;
}

/* Check the relative L2 error at up to 600 outputs, and that every output was written. */
static void check_outputs(const struct trial *t, const char *out)
{
    const struct lw_cuda_ols_spec *const s = &t->plan.spec;
    const int64_t count = n_stored(t, 0, t->count);
    double error = 0, norm = 0;
    for (int i = 0; i < 600; i++) {
        const int64_t f = (int64_t)(next_random() % (uint64_t)s->n_filters), c = (int64_t)(next_random() % (uint64_t)s->n_channels);
        const int64_t near = i % 20 < count ? i % 20 : 0;
        const int64_t o = i < 20 ? count - 1 - near : i < 40 ? near : (int64_t)(next_random() % (uint64_t)count);
        const double complex expected = sum_at(t, f, c, o * every_of(t)), difference = output_at(t, out, count, f, c, o) - expected;
        error += creal(difference * conj(difference));
        norm += creal(expected * conj(expected));
    }
    int64_t n_unwritten = 0;
    for (int64_t f = 0; f < s->n_filters; f++)
        for (int64_t c = 0; c < s->n_channels; c++)
            for (int64_t o = 0; o < count; o++)
                n_unwritten += isnan(creal(output_at(t, out, count, f, c, o)));
    const double limit = s->precision == LW_SINGLE ? 1e-6 : 5e-15;      /* several times the error that rounding causes */
    CHECK(sqrt(error / norm) < limit && n_unwritten == 0,
          "N %d discard %d, fold %d, D %d, M %d, stored %d, %s signal, %s taps, layout %d, %d channels, %d filters: error %.2e, "
          "%d unwritten", t->plan.segment, t->plan.discard, t->plan.fold, every_of(t), (int)s->n_taps, s->input,
          s->input_complex ? "complex" : "real", s->taps_complex ? "complex" : "real", s->layout, (int)s->n_channels,
          s->n_filters, sqrt(error / norm), (int)n_unwritten);
}

/* Filter the signal to a narrow type, and compare numbers and losses with the outputs in single precision, `out`. The largest third
 * of the outputs is lost, or without a factor whatever is beyond the type. */
static void check_narrow(struct trial *t, const char *data, const char *out)
{
    static const enum lw_scalar scalars[] = {LW_INT8, LW_UINT8, LW_INT16, LW_UINT16, LW_FLOAT16};
    const enum lw_scalar scalar = t->plan.output_complex ? LW_FLOAT16 : scalars[next_random() % 5];
    const int64_t n_values = n_stored(t, 0, t->count) * t->plan.spec.n_channels * t->plan.spec.n_filters;
    const int64_t n = n_values * (t->plan.output_complex ? 2 : 1);
    const float *const numbers = (const float *)out;
    const double most = scalar == LW_FLOAT16 ? 65504 : (double)((1 << 8 * lw_scalar_bytes(scalar)) - 1) / 2;
    const double factor = next_random() % 2 ? 1 : most / fabs((double)numbers[next_random() % (uint64_t)n]);
    struct lw_nan_report *const report = on_device(sizeof *report), got;
    void *const stored = malloc((size_t)n * lw_scalar_bytes(scalar));
    cudaMemsetAsync(report, 0, sizeof *report, NULL);
    convolve(t, data, 0, t->count, lw_narrowing_to(scalar, factor, report), stored);
    copy(&got, report, sizeof got, cudaMemcpyDeviceToHost);
    struct lw_loss loss = {0, 0};
    int64_t n_wrong = 0;
    for (int64_t i = 0; i < n; i++)
        n_wrong += lw_type_number((struct lw_type){.scalar = scalar}, stored, i) != narrowed(scalar, numbers[i] * factor, &loss);
    CHECK(n_wrong == 0 && (int64_t)got.n_saturated == loss.n_saturated && (int64_t)got.n_nan == loss.n_nan,
          "N %d \"%s\", layout %d, D %d, type %d, factor %g: %d of %d numbers are wrong; %d saturated, expected %d; %d NaN",
          t->plan.segment, t->plan.design, t->plan.spec.layout, every_of(t), scalar, factor, (int)n_wrong, (int)n,
          (int)got.n_saturated, (int)loss.n_saturated, (int)got.n_nan);
    cudaFree(report);
    free(stored);
}

/* Filter the whole signal at once and check the outputs; then filter it in pieces of one unit and expect the same bits. */
static void run_trial(const struct lw_cuda_ols_spec *spec, int64_t count, int n_spoilt, bool in_pieces)
{
    struct trial t;
    if (!trial_create(&t, spec, count))
        return;
    char *const data = make_input(&t, n_spoilt);
    const int64_t planes = spec->n_filters * spec->n_channels;
    char *const out = malloc((size_t)(t.count * planes) * output_bytes(&t));
    convolve(&t, data, 0, t.count, (struct lw_narrowing){0}, out);
    check_outputs(&t, out);
    if (spec->precision == LW_SINGLE)
        check_narrow(&t, data, out);
    unsigned flag;
    copy(&flag, t.not_finite, sizeof flag, cudaMemcpyDeviceToHost);
    CHECK((flag != 0) == (n_spoilt > 0), "N %d: flag %u with %d samples not finite", t.plan.segment, flag, n_spoilt);

    const int64_t piece = t.plan.unit > 1 ? t.plan.unit : 701;
    char *const part = malloc((size_t)(piece * planes) * output_bytes(&t));
    int64_t n_different = 0;
    for (int64_t first = 0; in_pieces && first < t.count; first += piece) {
        const int64_t n = first + piece < t.count ? piece : t.count - first, n_part = n_stored(&t, first, n);
        const int64_t n_all = n_stored(&t, 0, t.count), begin = n_stored(&t, 0, first);
        convolve(&t, data, first, n, (struct lw_narrowing){0}, part);
        for (int64_t f = 0; f < spec->n_filters; f++)
            for (int64_t c = 0; c < spec->n_channels; c++)
                for (int64_t o = 0; o < n_part; o++)
                    n_different += output_at(&t, part, n_part, f, c, o) != output_at(&t, out, n_all, f, c, begin + o);
    }
    CHECK(n_different == 0, "N %d, layout %d: %d outputs differ in pieces", t.plan.segment, spec->layout, (int)n_different);
    free(part);
    free(out);
    free(data);
    trial_destroy(&t);
}

/* Try every kernel: both kinds of signal, odd and even numbers of channels, one filter and several. Only trials whose number is a
 * multiple of `step` are made. */
static void test_kernels(int step)
{
    static const int64_t taps[] = {1, 7, 16, 65, 100, 257, 700, 2500};
    const int n_lengths = N_SEGMENTS + 1, n_each = 8 * n_lengths;       /* one length is left to the plan's choice */
    for (int i = 0; i < n_each * 3 * 2 * 2; i += step) {
        const int length = i / 8 % n_lengths, segment = length > 0 ? segments[length - 1] : 0, kind = i / n_each % 3;
        const bool slow = i / (3 * n_each) % 2;
        const struct lw_cuda_ols_spec spec = {
            .precision = i / (6 * n_each) ? LW_DOUBLE : LW_SINGLE,
            .layout = slow ? LW_TIME_SLOW : LW_TIME_FAST,
            .input = LW_FLOAT32,
            .input_complex = kind == 1,
            .taps_complex = kind > 0,
            .n_channels = slow ? 5 : i % 2 ? 3 : 1,
            .n_filters = i % 3 ? 2 : 1,
            .n_taps = taps[i % 8],
            .segment = segment,
        };
        run_trial(&spec, segment ? 0 : 1500, i % 5 ? 0 : 3, i % 4 == 0);
    }
}

/* Try every stored type, with rows of samples aligned and not, wider and narrower than a block reads at once. */
static void test_stored_types(int step)
{
    for (int i = 0; i < LW_N_SCALARS * 4 * 2 * 2; i += step) {
        static const int64_t channels[] = {1, 16, 18, 33};
        const struct lw_cuda_ols_spec spec = {
            .layout = i % 2 ? LW_TIME_SLOW : LW_TIME_FAST,
            .input = (enum lw_scalar)(i / 16),
            .n_channels = channels[i / 4 % 4],
            .n_filters = 1 + i / 2 % 2,
            .n_taps = 65,
            .segment = 1024,
        };
        run_trial(&spec, 1100, 0, false);
    }
}

/* Try every kernel of every length, also those that the cost model would not choose, with so many segments that each block gets
 * several. */
static void test_each_kernel(int step)
{
    static const int taps[] = {257, 190, 250};      /* 257 taps drop 256 outputs and need every row of a segment */
    for (int i = 0; i < N_SEGMENTS * 2 * 2 * 6; i += step) {
        const int length = i % N_SEGMENTS, kind = i / N_SEGMENTS;
        struct lw_cuda_ols_spec spec = {
            .input = kind % 2 ? LW_FLOAT32 : kind / 4 % 2 ? LW_INT8 : LW_UINT16,
            .layout = kind / 2 % 2 ? LW_TIME_SLOW : LW_TIME_FAST,
            .n_channels = kind / 2 % 2 ? 48 + kind / 4 % 3 * 8 : 1,
            .n_filters = 1 + kind % 2 * 2,
            .n_taps = length == 0 ? 190 : taps[(i + kind) % 3],     /* a segment of 256 points keeps at least a quarter */
            .segment = segments[length],
        };
        for (; spec.nth_best < 6; spec.nth_best++)
            run_trial(&spec, kind / 2 % 2 ? 9 * spec.segment / 2 : 0, 0, spec.nth_best == 0);
    }
}

/* Try the kernel for channels abreast: stored values of one to four bytes, real and complex; partial rows at the last channels; a
 * first segment that begins before the samples; samples that are not finite; 1024 and 2048 points; one filter and several. There
 * are so many segments that blocks get several, or share one. */
static void test_abreast(int step)
{
    static const enum lw_scalar stored[] = {LW_FLOAT32, LW_UINT8, LW_FLOAT32, LW_INT16, LW_INT32};
    static const int64_t taps[] = {257, 190, 1025, 1100}, channels[] = {64, 48, 32};
    for (int i = 0; i < 5 * 4 * 2; i += step) {
        const bool is_float = stored[i % 5] == LW_FLOAT32;
        struct lw_cuda_ols_spec spec = {
            .layout = LW_TIME_SLOW,
            .input = stored[i % 5],
            .input_complex = i % 5 == 2,
            .n_channels = channels[i % 3],
            .n_filters = i / 20 ? 3 : 1,
            .n_taps = taps[i / 5 % 4],
            .segment = i / 5 % 4 > 1 ? 2048 : i % 2 ? 2048 : 1024,
        };
        struct lw_cuda_ols_plan plan;
        struct lw_error err;
        for (; lw_cuda_ols_choose(&spec, &arch, &plan, &err) == LW_OK; spec.nth_best++)
            if (strcmp(plan.design, "channels abreast") == 0)
                run_trial(&spec, 5 * plan.hop / 2, is_float && i % 3 ? 3 : 0, spec.nth_best == i % 3);
    }
}

/* Try every decimating kernel, with so many units that each block gets several, gathers, and has some left over. Some of 40
 * channels fill the rows that a block reads at once. */
static void test_thinning(int step)
{
    static const int every[] = {2, 4, 8, 24, 7, 6, 1000}, pieces[] = {200, 140, 60, 20};
    for (int i = 0; i < 4 * 7 * 3 * 2 * 2; i += step) {
        const int kind = i / 28 % 3;
        const bool slow = i / 84 % 2, integers = slow ? kind == 0 : kind != 1 && i % 2;
        struct lw_cuda_ols_spec spec = {
            .precision = i / 168 ? LW_DOUBLE : LW_SINGLE,
            .layout = slow ? LW_TIME_SLOW : LW_TIME_FAST,
            .input = integers ? LW_INT16 : LW_FLOAT32,
            .input_complex = kind == 1,
            .taps_complex = kind == 1 && i % 2,
            .n_channels = slow ? (i % 3 ? 40 : 5) : i % 3 ? 5 : 1,
            .n_filters = kind == 2 ? 3 : 1,
            .n_taps = 190,
            .post.every = every[i / 4 % 7],
            .segment = 1024 << i % 4,
        };
        struct lw_cuda_ols_plan plan;
        struct lw_error err;
        for (; lw_cuda_ols_choose(&spec, &arch, &plan, &err) == LW_OK; spec.nth_best++)
            if (plan.fold > 0)
                run_trial(&spec, (pieces[i % 4] / spec.n_channels / spec.n_filters + 1) * plan.unit + 29,
                          i % 10 == 0 && !integers ? 2 : 0, slow || (spec.nth_best == 0 && i % 2));
    }
}

/* Numbers next to those where a narrow type's rounding or range changes, by a filter of one tap that is 1, and by conversion. */
static void test_edges(void)
{
    static const double edges[] = {
        0, 0.5, 1.5, 127, 127.5, 128, 128.5, 255, 255.5, 256, 32767, 32767.5, 32768, 32768.5, 65503.5, 65504, 65519, 65520, 65535,
        65535.5, 65536, 0x1p-25, 0x1.8p-24, 0x1p-14, 1025.5, 2049, 8388607, 4e9, 1e38,
    };
    static const enum lw_scalar scalars[] = {LW_INT8, LW_UINT8, LW_INT16, LW_UINT16, LW_FLOAT16};
    enum { N_EDGES = sizeof edges / sizeof *edges, N = 8 * N_EDGES };
    static float numbers[N];
    static char stored[2][2 * N];
    for (int i = 0; i < N_EDGES; i++)
        for (int k = 0; k < 4; k++) {
            const float edge = (float)edges[i], near = k == 0 ? edge : k == 1 ? nextafterf(edge, 0) : nextafterf(edge, INFINITY);
            numbers[8 * i + 2 * k] = k == 3 ? edge / 3 : near;
            numbers[8 * i + 2 * k + 1] = -numbers[8 * i + 2 * k];
        }
    for (int i = 0; i < 5 * 3 * 2; i++) {
        const enum lw_scalar scalar = scalars[i % 5];
        const double factor = i / 5 % 3 == 0 ? 1 : i / 5 % 3 == 1 ? 3 : 1e-3;
        const struct lw_cuda_ols_spec spec = {
            .layout = i < 15 ? LW_TIME_FAST : LW_TIME_SLOW, .input = LW_FLOAT32, .n_channels = 4, .n_filters = 1, .n_taps = 1,
        };
        const float one = 1;
        struct lw_loss loss = {0, 0};
        struct lw_nan_report *const report = on_device(sizeof *report), got[2];
        struct trial t;
        CHECK(trial_create(&t, &spec, N / 4) && t.plan.path == LW_CUDA_DIRECT, "one tap is summed directly");
        copy(t.bank, &one, sizeof one, cudaMemcpyHostToDevice);         /* the bank of a direct kernel is its taps */
        cudaMemsetAsync(report, 0, sizeof *report, NULL);
        convolve(&t, (const char *)numbers, 0, t.count, lw_narrowing_to(scalar, factor, report), stored[0]);
        copy(&got[0], report, sizeof *got, cudaMemcpyDeviceToHost);
        void *const from = on_device(sizeof numbers), *const to = on_device(sizeof stored[1]);
        copy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice);
        cudaMemsetAsync(report, 0, sizeof *report, NULL);
        CHECK(lw_cuda_convert(from, LW_SINGLE, to, scalar, N, factor, report, NULL) == cudaSuccess, "type %d is converted", scalar);
        copy(stored[1], to, sizeof stored[1], cudaMemcpyDeviceToHost);
        copy(&got[1], report, sizeof *got, cudaMemcpyDeviceToHost);
        for (int k = 0; k < N; k++) {
            const double expected = narrowed(scalar, numbers[k] * factor, &loss);
            const struct lw_type type = {.scalar = scalar};
            const double kernel = lw_type_number(type, stored[0], k), converted = lw_type_number(type, stored[1], k);
            CHECK(kernel == expected && converted == expected, "type %d: %.9g x %g is %g, by conversion %g; expected %g", scalar,
                  numbers[k], factor, kernel, converted, expected);
        }
        for (int k = 0; k < 2; k++)
            CHECK((int64_t)got[k].n_saturated == loss.n_saturated && got[k].n_nan == 0,
                  "type %d x %g, %s: %d saturated, expected %d", scalar, factor, k ? "conversion" : "kernel",
                  (int)got[k].n_saturated, (int)loss.n_saturated);
        cudaFree(from);
        cudaFree(to);
        cudaFree(report);
        trial_destroy(&t);
    }
}

/* The decimation factor D decides whether and how often a spectrum is folded: folding is chosen where it costs less. */
static void test_folds(void)
{
    static const struct { int every, segment, fold; } cases[] = {
        {1, 2048, 0}, {2, 2048, 2}, {4, 2048, 4}, {8, 2048, 8}, {24, 2048, 8}, {6, 4096, 2}, {7, 2048, 1}, {8, 512, 0}, {8, 0, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct lw_cuda_arch chip = {.major = 9, .shared_bytes = 232448};
        const struct lw_cuda_ols_spec spec = {
            .input = LW_INT16, .n_channels = 2, .n_filters = 1, .n_taps = 513 - (cases[i].segment == 512 ? 200 : 0),
            .post.every = cases[i].every, .segment = cases[i].segment,
        };
        struct lw_cuda_ols_plan plan;
        struct lw_error err;
        CHECK(lw_cuda_ols_choose(&spec, &chip, &plan, &err) == LW_OK && plan.fold == cases[i].fold, "D = %d, N = %d: fold %d",
              cases[i].every, plan.segment, plan.fold);
    }
}

/* Channels side by side: the kernel for them decimates short integers, unless a derived series is computed. */
static void test_thinned_channels(void)
{
    static const struct {
        int every;
        enum lw_scalar input;
        enum lw_post_kind kind;
        int n_filters, fold;
        const char *design;
    } cases[] = {
        {1, LW_INT16, LW_POST_NONE, 1, 0, "channels abreast"}, {5, LW_INT16, LW_POST_NONE, 1, 1, "channels abreast"},
        {8, LW_UINT8, LW_POST_NONE, 1, 1, "channels abreast"}, {8, LW_INT16, LW_POST_POWER, 1, 1, "one filter"},
        {8, LW_FLOAT32, LW_POST_NONE, 1, 1, "one filter"},     {8, LW_INT16, LW_POST_NONE, 8, 1, ""},
        {1, LW_FLOAT32, LW_POST_NONE, 1, 0, "channels abreast"}, {1, LW_INT16, LW_POST_NONE, 8, 0, "channels abreast"},
        {1, LW_FLOAT64, LW_POST_NONE, 1, 0, "one filter"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct lw_cuda_arch chip = {.major = 9, .shared_bytes = 232448};
        const struct lw_cuda_ols_spec spec = {
            .input = cases[i].input, .layout = LW_TIME_SLOW, .n_channels = 3840, .n_filters = cases[i].n_filters, .n_taps = 513,
            .post = {cases[i].kind, 1, cases[i].every},
        };
        struct lw_cuda_ols_plan plan;
        struct lw_error err;
        CHECK(lw_cuda_ols_choose(&spec, &chip, &plan, &err) == LW_OK && plan.fold == cases[i].fold &&
              strcmp(plan.design, cases[i].design) == 0, "case %d: N = %d, fold %d, \"%s\"", (int)i, plan.segment, plan.fold,
              plan.design);
    }
}

static void test_choice(void)
{
    struct lw_cuda_ols_spec spec = {.input = LW_FLOAT32, .n_channels = 1, .n_filters = 1, .n_taps = 4000, .segment = 1024};
    struct lw_cuda_ols_plan plan;
    struct lw_error err;
    CHECK(lw_cuda_ols_choose(&spec, &arch, &plan, &err) == LW_ECONFIG, "4000 taps in segments of 1024 are not refused");
    spec.segment = 3000;
    CHECK(lw_cuda_ols_choose(&spec, &arch, &plan, &err) == LW_ECONFIG, "a segment of 3000 is not refused");
    spec.n_taps = 1 << 20;
    CHECK(lw_cuda_ols_choose(&spec, &arch, &plan, &err) == LW_OK && plan.path == LW_CUDA_TOO_LONG,
          "2^20 taps must take the long path");
}

/* A short series leaves most of the device idle; more threads then work on a segment. */
static void test_short_series(void)
{
    static const struct { int64_t n_outputs, n_taps; int n_filters; bool is_complex; const char *design; } cases[] = {
        {1 << 18, 257, 8, false, "16 points a thread"}, {1 << 20, 257, 1, false, "16 points a thread"},
        {1 << 18, 1025, 8, false, "16 points a thread"}, {1 << 21, 257, 1, true, "16 points a thread"},
        {1 << 18, 257, 8, true, ""}, {1 << 21, 257, 8, false, ""}, {1 << 26, 257, 8, false, ""}, {0, 257, 8, false, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct lw_cuda_arch chip = {.major = 9, .shared_bytes = 232448};
        const struct lw_cuda_ols_spec spec = {
            .input = LW_FLOAT32, .input_complex = cases[i].is_complex, .n_channels = 1, .n_outputs = cases[i].n_outputs,
            .n_filters = cases[i].n_filters, .n_taps = cases[i].n_taps,
        };
        struct lw_cuda_ols_plan plan;
        struct lw_error err;
        CHECK(lw_cuda_ols_choose(&spec, &chip, &plan, &err) == LW_OK && strcmp(plan.design, cases[i].design) == 0,
              "case %d: N = %d, \"%s\"", (int)i, plan.segment, plan.design);
    }
}

/* Segments of 12288 and 24576 points are chosen for long filters, if they fit a multiprocessor and the series is not short. */
static void test_longest(void)
{
    static const struct { int64_t n_outputs; int shared_bytes, n_filters, n_taps, segment; const char *design; } cases[] = {
        {0, 232448, 8, 2049, 12288, "decoupled"}, {1 << 26, 232448, 1, 4097, 12288, "decoupled"}, {0, 232448, 8, 1025, 4096, ""},
        {1 << 18, 232448, 8, 2049, 8192, ""}, {0, 101376, 8, 4097, 8192, ""}, {0, 232448, 8, 8193, 24576, "decoupled"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct lw_cuda_arch chip = {.major = 9, .shared_bytes = cases[i].shared_bytes};
        const struct lw_cuda_ols_spec spec = {
            .input = LW_FLOAT32, .n_channels = 1, .n_outputs = cases[i].n_outputs, .n_filters = cases[i].n_filters,
            .n_taps = cases[i].n_taps,
        };
        struct lw_cuda_ols_plan plan;
        struct lw_error err;
        CHECK(lw_cuda_ols_choose(&spec, &chip, &plan, &err) == LW_OK && plan.segment == cases[i].segment &&
              strcmp(plan.design, cases[i].design) == 0, "%d bytes, %d filters of %d taps: %d \"%s\"", cases[i].shared_bytes,
              cases[i].n_filters, cases[i].n_taps, plan.segment, plan.design);
    }
}

/* test_gpu_kernels [STEP]: run only every STEP-th trial, for compute-sanitizer. A STEP prime to 2 and 3 leaves out no kind of
 * trial. */
int main(int argc, char **argv)
{
    const int step = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 1;
    const int missing = gpu_missing("gpu_kernels");
    if (missing)
        return missing;
    cudaDeviceGetAttribute(&arch.major, cudaDevAttrComputeCapabilityMajor, 0);
    cudaDeviceGetAttribute(&arch.minor, cudaDevAttrComputeCapabilityMinor, 0);
    cudaDeviceGetAttribute(&arch.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    test_kernels(step);
    test_stored_types(step);
    test_each_kernel(step);
    test_abreast(step);
    test_thinning(step);
    test_edges();
    test_folds();
    test_thinned_channels();
    test_choice();
    test_short_series();
    test_longest();
    return check_result("gpu_kernels");
}
