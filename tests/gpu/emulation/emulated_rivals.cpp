/* emulated_rivals.cpp - test that the rivals of the GPU benchmarks compute the right results. Every way of every rival runs on
 * small cases and is compared with the sum by definition. The emulation runs their kernels and callbacks; emulated_cufft.c,
 * cufftdx.hpp and nppi_filtering_functions.h replace NVIDIA's libraries. */
#include "tests/bench/cufft_image.cuh"
#include "tests/bench/cufft_ols.cuh"
#include "tests/bench/rivals/stockham_ols.cuh"

#include <cmath>
#include <string>

extern "C" const OlsRival rival_ols_callbacks, rival_ols_cufftdx;
extern "C" const ImageRival rival_conv2d_callbacks, rival_conv2d_cufftdx, rival_conv2d_npp;

static int n_checks, n_failed;

static double noise(uint64_t i, uint64_t seed) { return hash24(i, seed) * (2.0 / 16777216.0) - 1; }

static void verdict(bool good, const std::string &what, double error)
{
    ++n_checks;
    n_failed += !good;
    if (!good)
        printf("WRONG %s: error %.2g\n", what.c_str(), error);
}

/* ---- overlap-save ---------------------------------------------------------------------------------------------------------- */

static double value_of(const std::vector<char> &data, bool is_double, size_t i)
{
    return is_double ? ((const double *)data.data())[i] : ((const float *)data.data())[i];
}

static void set_value(std::vector<char> &data, bool is_double, size_t i, double value)
{
    if (is_double)
        ((double *)data.data())[i] = value;
    else
        ((float *)data.data())[i] = (float)value;
}

struct OlsTrial {
    RivalOls c;
    std::vector<double> taps, truth;
    std::vector<char> x, y;
};

/* Make a trial. The values beyond the signal are noise like the signal, since no output may depend on them. */
static OlsTrial make_trial(const RivalOls &c)
{
    const size_t parts = c.real ? 1 : 2, scalar = c.is_double ? 8 : 4, size = (size_t)(c.count + c.n_taps - 1), beyond = 1 << 17;
    OlsTrial t = {c, std::vector<double>(parts * (size_t)c.n_filters * c.n_taps),
                  std::vector<double>(parts * (size_t)c.n_filters * c.count),
                  std::vector<char>(scalar * parts * (size + beyond)),
                  std::vector<char>(scalar * parts * c.n_filters * (size_t)c.count)};
    for (size_t i = 0; i < t.taps.size(); ++i)
        t.taps[i] = (float)noise(i, 1);
    for (size_t i = 0; i < parts * (size + beyond); ++i)
        set_value(t.x, c.is_double, i, (float)noise(i, 2));
    for (int64_t f = 0; f < c.n_filters; ++f)
        for (int64_t o = 0; o < c.count; ++o)
            for (int64_t m = 0; m < c.n_taps; ++m) {
                const size_t at = parts * (size_t)(o + c.n_taps - 1 - m), tap = parts * (size_t)(f * c.n_taps + m);
                const double xr = value_of(t.x, c.is_double, at), xi = c.real ? 0 : value_of(t.x, c.is_double, at + 1);
                const double hr = t.taps[tap], hi = c.real ? 0 : t.taps[tap + 1];
                const size_t out = parts * (size_t)(f * c.count + o);
                t.truth[out] += hr * xr - hi * xi;
                if (!c.real)
                    t.truth[out + 1] += hr * xi + hi * xr;
            }
    return t;
}

static double error_of(const OlsTrial &t)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < t.truth.size(); ++i) {
        const double d = value_of(t.y, t.c.is_double, i) - t.truth[i];
        difference += d == d ? d * d : 1e30;
        norm += t.truth[i] * t.truth[i];
    }
    return std::sqrt(difference / norm);
}

/* Try every choice of at most `n_steps` steps. Return the number of choices. */
static int try_ols(const OlsRival *rival, OlsTrial &t, int n_steps)
{
    char text[RIVAL_TEXT];
    int n = 0;
    for (int step = 0; step < n_steps; ++step)
        for (int choice = 0; void *const open = rival->open(&t.c, step, choice, t.taps.data(), nullptr, text); ++choice, ++n) {
            std::fill(t.y.begin(), t.y.end(), (char)0xff);
            rival->run(open, t.x.data(), t.y.data(), nullptr);
            rival->close(open);
            const double error = error_of(t);
            verdict(error < (t.c.is_double ? 1e-13 : 1e-6), std::string(rival->name) + ", " + text, error);
        }
    return n;
}

/* Check real and complex signals in both precisions. */
static void check_ols(int64_t count, int64_t n_taps, int n_filters)
{
    for (const bool real : {false, true})
        for (const bool is_double : {false, true}) {
            OlsTrial t = make_trial({real, is_double, count, n_taps, n_filters});
            for (const OlsRival *rival : {&cufft_ols, &cufft_whole, &rival_ols_callbacks})
                verdict(try_ols(rival, t, 2) > 0, std::string(rival->name) + " has no way", 0);
            if (!is_double)
                verdict(try_ols(&rival_ols_cufftdx, t, 1) > 0, "cuFFTDx has no way", 0);
            for (const OlsRival *rival : {&stockham_complex, &stockham_halves, &stockham_pairs})
                verdict(try_ols(rival, t, 2) > 0 || is_double || real == (rival == &stockham_complex),
                        std::string(rival->name) + " has no way", 0);
        }
}

/* ---- images ---------------------------------------------------------------------------------------------------------------- */

struct ImageTrial {
    RivalImage c;
    std::vector<double> taps, truth;
    std::vector<float> x, y;
};

static double pixel_of(const ImageTrial &t, int64_t row, int64_t column)
{
    const bool inside = row >= 0 && row < t.c.rows && column >= 0 && column < t.c.columns;
    return inside ? t.x[(size_t)(row * t.c.columns + column)] : 0;
}

static ImageTrial make_image(int64_t rows, int64_t columns, int kernel_rows, int kernel_columns)
{
    const RivalImage c = {rows, columns, kernel_rows, kernel_columns, (kernel_rows - 1) / 2, (kernel_columns - 1) / 2};
    const size_t size = (size_t)(rows * columns);
    ImageTrial t = {c, std::vector<double>((size_t)kernel_rows * kernel_columns), std::vector<double>(size),
                    std::vector<float>(size), std::vector<float>(size)};
    for (size_t i = 0; i < t.taps.size(); ++i)
        t.taps[i] = (float)noise(i, 3);
    for (size_t i = 0; i < size; ++i)
        t.x[i] = (float)noise(i, 4);
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
            for (int i = 0; i < kernel_rows * kernel_columns; ++i) {
                const int64_t y = row + c.ahead_rows - i / kernel_columns, x = column + c.ahead_columns - i % kernel_columns;
                t.truth[(size_t)(row * columns + column)] += t.taps[(size_t)i] * pixel_of(t, y, x);
            }
    return t;
}

static double error_of(const ImageTrial &t)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < t.truth.size(); ++i) {
        const double d = t.y[i] - t.truth[i];
        difference += d == d ? d * d : 1e30;
        norm += t.truth[i] * t.truth[i];
    }
    return std::sqrt(difference / norm);
}

/* Try every `stride`-th choice of each step. */
static void try_image(const ImageRival *rival, ImageTrial &t, int stride)
{
    char text[RIVAL_TEXT];
    int n = 0;
    for (int step = 0, choice = -1; choice != 0; ++step) {
        choice = 0;
        for (void *open; (open = rival->open(&t.c, step, choice, t.taps.data(), nullptr, text)) != nullptr; choice += stride, ++n) {
            std::fill(t.y.begin(), t.y.end(), NAN);
            rival->run(open, t.x.data(), t.y.data(), nullptr);
            rival->close(open);
            const double error = error_of(t);
            verdict(error < 1e-6, std::string(rival->name) + ", " + text, error);
        }
    }
    verdict(n > 0, std::string(rival->name) + " has no way", 0);
}

static void check_images()
{
    for (const auto &kernel : {std::pair<int, int>{7, 6}, {15, 15}, {20, 33}}) {
        ImageTrial t = make_image(61, 70, kernel.first, kernel.second);
        try_image(&cufft_whole_image, t, 1);
        for (const ImageRival *rival : {&cufft_tiles, &rival_conv2d_callbacks})
            try_image(rival, t, 5);
    }
    for (const int kernel : {7, 15, 31, 40, 63}) {
        ImageTrial t = make_image(101, 230, kernel, kernel);
        try_image(&rival_conv2d_cufftdx, t, 11);
    }
    for (const auto &kernel : {std::pair<int, int>{1, 1}, {7, 6}, {15, 15}, {31, 32}}) {
        ImageTrial t = make_image(101, 230, kernel.first, kernel.second);
        try_image(&rival_conv2d_npp, t, 1);
    }
}

int main()
{
    check_ols(4001, 65, 3);
    check_ols(3000, 30, 1);
    check_ols(3002, 257, 2);
    check_images();
    printf("%d checks, %d failed\n", n_checks, n_failed);
    return n_failed > 0;
}
