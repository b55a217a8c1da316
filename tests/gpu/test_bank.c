/* test_bank.c - tests of the filters' way to the device (gpu/ols/filler.h) against the transform by definition: every stored type,
 * in both orders of bytes and of taps; lengths that the engine transforms itself, and others; several batches, the last not full.
 * Neither batches nor stages change a bit, and a second run replaces the filters of the first. */
#include "bank.h"
#include "gpu.h"
#include "gpu_memory.h"

#include "base/integers.h"
#include "gpu/host/pinned.h"
#include "gpu/ols/long/method.h"

#include <complex.h>
#include <math.h>

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 16;
}

/* Store a random number of type `scalar`, without regard to the order of bytes. Floating-point numbers are in [-1, 1). */
static void put_random(enum lw_scalar scalar, void *data, int64_t i)
{
    const double value = (double)(next_random() % 2000001) * 1e-6 - 1;
    switch (scalar) {
    case LW_FLOAT32: ((float *)data)[i] = (float)value; break;
    case LW_FLOAT64: ((double *)data)[i] = value; break;
    case LW_FLOAT16: ((uint16_t *)data)[i] = lw_half_of_double(value); break;
    default:
        for (size_t b = 0; b < lw_scalar_bytes(scalar); b++)
            ((unsigned char *)data)[(size_t)i * lw_scalar_bytes(scalar) + b] = (unsigned char)next_random();
    }
}

/* Make the stored taps of a bank; the caller frees `data`. */
static struct lw_stored_taps make_taps(struct lw_type type, bool is_reversed, int64_t n)
{
    const int64_t numbers = n * (type.is_complex ? 2 : 1);
    const size_t bytes = lw_scalar_bytes(type.scalar);
    unsigned char *const data = malloc((size_t)numbers * bytes), number[8];
    for (int64_t i = 0; i < numbers; i++) {
        put_random(type.scalar, number, 0);
        lw_copy_ordered(data + (size_t)i * bytes, number, bytes, type.is_swapped);
    }
    return (struct lw_stored_taps){.data = data, .type = type, .is_reversed = is_reversed};
}

/* A bank on the long path's cuFFT method in double, whose spectra are in natural order, divided by N. */
struct trial {
    struct lw_ols_spec ols;
    struct lw_ols_resolved path;
    struct lw_long_ols *long_ols;
    void *memory;
    struct lw_filler_target target;
};

static void begin(struct trial *t, struct lw_stored_taps taps, int n_filters, int64_t n_taps, int64_t segment)
{
    const struct lw_cuda_arch chip = {.major = 9, .shared_bytes = 232448};
    const struct lw_cuda_ols_spec spec = {
        .precision = LW_DOUBLE, .input = LW_FLOAT64, .input_complex = true, .taps_complex = taps.type.is_complex, .n_channels = 1,
        .n_outputs = 1000, .n_filters = n_filters, .n_taps = n_taps, .segment = (int)segment,
    };
    struct lw_error err = {0};
    *t = (struct trial){
        .ols = {.taps = taps, .n_filters = n_filters, .n_taps = n_taps, .taps_complex = taps.type.is_complex}, .path.is_long = true,
    };
    CHECK(lw_long_ols_choose(&spec, &chip, spec.n_outputs, &t->path.long_plan, &err) == LW_OK &&
          t->path.long_plan.method == &lw_long_cufft, "%lld points: %s", (long long)segment, err.message);
    t->memory = on_device((size_t)lw_long_ols_bytes(&t->path.long_plan));
    CHECK(lw_long_ols_create(&t->path.long_plan, t->memory, NULL, &t->long_ols, &err) == LW_OK, "%s", err.message);
    t->target.long_ols = t->long_ols;
}

/* Fill the bank, and return the spectra in host memory. */
static double complex *fill(struct trial *t, int batch, struct lw_pool *threads)
{
    const size_t bytes = (size_t)(t->ols.n_filters * t->path.long_plan.segment) * sizeof(double complex);
    double complex *const spectra = malloc(bytes);
    cudaMemsetAsync(lw_long_spectrum(t->long_ols, 0), 0xff, bytes, NULL);
    CHECK(refill_bank(&t->path, &t->ols, batch, &t->target, threads, NULL) == LW_OK, "filling the bank");
    copy(spectra, lw_long_spectrum(t->long_ols, 0), bytes, cudaMemcpyDeviceToHost);
    return spectra;
}

static void end(struct trial *t)
{
    lw_long_ols_destroy(t->long_ols);
    cudaFree(t->memory);
}

/* Return the relative rms error of one filter's spectrum. */
static double error_of(const struct trial *t, const double complex *spectrum, int64_t filter)
{
    const int64_t n_taps = t->ols.n_taps, n = t->path.long_plan.segment;
    const int parts = t->ols.taps_complex ? 2 : 1;
    double *const h = malloc((size_t)(n_taps * parts) * sizeof *h);
    long double error = 0, energy = 0;
    lw_stored_filter(&t->ols.taps, n_taps, filter, h);
    for (int64_t i = 0; i < n_taps * parts; i++)
        energy += (long double)h[i] * h[i];
    for (int64_t k = 0; k < n; k++) {
        long double complex sum = 0;
        for (int64_t m = 0; m < n_taps; m++) {
            const long double angle = -2 * acosl(-1) * (long double)(k * m % n) / (long double)n;
            sum += (h[parts * m] + (parts == 2 ? I * (long double)h[2 * m + 1] : 0)) * (cosl(angle) + I * sinl(angle));
        }
        const long double complex difference = sum - (long double)n * (long double complex)spectrum[k];
        error += creall(difference * conjl(difference));
    }
    free(h);
    return (double)sqrtl(error / energy / (long double)n);
}

static void check(const struct trial *t, const double complex *spectra, const char *what)
{
    const int64_t n = t->path.long_plan.segment;
    const double bound = 1e-16 * log2(2.0 * (double)n);
    for (int f = 0; f < t->ols.n_filters; f++) {
        const double error = error_of(t, spectra + f * n, f);
        CHECK(error <= bound, "%s, %lld points, filter %d: error %.3g, bound %.3g", what, (long long)n, f, error, bound);
    }
}

/* Every stored type: seven filters in batches of three. */
static void test_types(void)
{
    for (int i = 0; i < (LW_FLOAT16 + 1) * 2 * 2 * 2; i++) {
        const struct lw_type type = {.scalar = (enum lw_scalar)(i / 8), .is_complex = i & 1, .is_swapped = i & 2};
        const struct lw_stored_taps taps = make_taps(type, i & 4, 7 * 19);
        char text[40];
        struct trial t;
        begin(&t, taps, 7, 19, 48);
        double complex *const spectra = fill(&t, 3, NULL);
        check(&t, spectra, lw_type_text(type, text));
        free(spectra);
        end(&t);
        free((void *)taps.data);
    }
}

/* Every kind of length, filters as long as a segment among them. */
static void test_lengths(void)
{
    static const int64_t lengths[] = {2, 3, 4, 5, 8, 9, 12, 16, 27, 32, 100, 128, 512, 1000, 4096, 12288, 24576};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const int64_t n_taps = lw_min64(lengths[i], 33);
        const struct lw_stored_taps taps = make_taps((struct lw_type){.scalar = LW_FLOAT64, .is_complex = true}, false, 3 * n_taps);
        struct trial t;
        begin(&t, taps, 3, n_taps, lengths[i]);
        double complex *const spectra = fill(&t, 2, NULL);
        check(&t, spectra, "complex float64");
        free(spectra);
        end(&t);
        free((void *)taps.data);
    }
}

/* A bank that goes through stages, in batches of several pieces, then with other taps. */
static void test_stages(void)
{
    enum { N_FILTERS = 200, N_TAPS = 4000, N = 4096 };
    const struct lw_type type = {.scalar = LW_FLOAT64, .is_complex = true};
    const struct lw_stored_taps taps = make_taps(type, true, N_FILTERS * N_TAPS);
    const struct lw_stored_taps others = make_taps(type, false, N_FILTERS * N_TAPS);
    const size_t bytes = (size_t)N_FILTERS * N * sizeof(double complex);
    struct lw_error err = {0};
    struct lw_pool *threads = NULL;
    struct trial t;
    CHECK(lw_pinned_threads(&threads, &err) == LW_OK, "%s", err.message);
    begin(&t, taps, N_FILTERS, N_TAPS, N);
    CHECK(lw_filler_pinned_bytes(&t.ols) > 0, "the bank is too small for stages");
    double complex *const plain = fill(&t, 0, NULL), *const staged = fill(&t, 75, threads), *const single = fill(&t, 1, threads);
    CHECK(memcmp(plain, staged, bytes) == 0 && memcmp(plain, single, bytes) == 0, "batches or stages change the filters");
    const double error = error_of(&t, staged + (N_FILTERS - 1) * N, N_FILTERS - 1);
    CHECK(error <= 1.3e-15, "last filter: error %.3g", error);

    struct lw_filler *filler = NULL;
    void *const setup = on_device((size_t)lw_filler_bytes(&t.path, &t.ols, 75));
    double complex *const again = malloc(bytes);
    CHECK(lw_filler_create(&t.path, &t.ols, 75, setup, 0, threads, &filler, &err) == LW_OK, "%s", err.message);
    CHECK(lw_filler_run(filler, &others, N_FILTERS, &t.target, NULL, &err) == LW_OK, "%s", err.message);
    CHECK(lw_filler_run(filler, &taps, N_FILTERS - 30, &t.target, NULL, &err) == LW_OK, "%s", err.message);
    copy(again, lw_long_spectrum(t.long_ols, 0), bytes, cudaMemcpyDeviceToHost);
    CHECK(memcmp(plain, again, (N_FILTERS - 30) * N * sizeof *again) == 0, "a second run leaves filters of the first");
    int64_t n_left = 0;
    for (int64_t i = (N_FILTERS - 30) * N; i < (int64_t)N_FILTERS * N; i++)
        n_left += again[i] != 0;
    CHECK(n_left == 0, "%lld bins of filters that are not given are not 0", (long long)n_left);
    lw_filler_destroy(filler);
    cudaFree(setup);
    end(&t);
    lw_pool_destroy(threads);
    free(plain);
    free(staged);
    free(single);
    free(again);
    free((void *)taps.data);
    free((void *)others.data);
}

int main(void)
{
    const int missing = gpu_missing("bank");
    if (missing)
        return missing;
    lw_engine_destroy(gpu_engine());
    test_types();
    test_lengths();
    test_stages();
    return check_result("bank");
}
