#include "cpu/sfft/solver.h"

#include "base/integers.h"

#include <fftw3.h>
#include <inttypes.h>

/* Sorting takes a copy of the lines; FFTW has freed its memory by then. */
static struct lw_bytes bytes(const struct lw_engine *engine, const struct lw_sfft_spec *spec)
{
    (void)engine;
    const int64_t fftw = lw_sfft_fftw_bytes(spec->n, spec->is_real);
    const int64_t sorting = spec->sparsity * (int64_t)sizeof(struct lw_sfft_line);
    return (struct lw_bytes){.host = lw_sfft_dense_samples_bytes(spec->n, spec->is_real) + lw_max64(fftw, sorting)};
}

static int transform_in_place(const struct lw_sfft_spec *spec, double *samples, struct lw_error *err)
{
    const fftw_iodim64 dims = {.n = spec->n, .is = 1, .os = 1};
    fftw_complex *const spectrum = (fftw_complex *)samples;
    const fftw_plan plan =
        spec->is_real ? fftw_plan_guru64_dft_r2c(1, &dims, 0, NULL, samples, spectrum, FFTW_ESTIMATE)
                      : fftw_plan_guru64_dft(1, &dims, 0, NULL, spectrum, spectrum, FFTW_FORWARD, FFTW_ESTIMATE);
    if (!plan)
        return lw_fail(err, LW_ESYSTEM, "FFTW cannot plan a transform of %" PRId64 " samples", spec->n);
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    return LW_OK;
}

static double energy(const struct lw_sfft_line *line) { return line->re * line->re + line->im * line->im; }

/* Return whether a is weaker than b; of equal lines, the one of the higher frequency is the weaker. */
static bool is_weaker(const struct lw_sfft_line *a, const struct lw_sfft_line *b)
{
    const double x = energy(a), y = energy(b);
    return x < y || (x == y && a->frequency > b->frequency);
}

/* Replace lines[0], the weakest of a heap, by `line`, and let it sink. */
static void sink(struct lw_sfft_line *lines, int64_t count, struct lw_sfft_line line)
{
    int64_t at = 0;
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && is_weaker(&lines[child + 1], &lines[child]))
            child++;
        if (!is_weaker(&lines[child], &line))
            break;
        lines[at] = lines[child];
        at = child;
    }
    lines[at] = line;
}

static int64_t keep_largest(const struct lw_sfft_spec *spec, const double *spectrum, struct lw_sfft_line *lines)
{
    const int64_t n_frequencies = lw_sfft_n_frequencies(spec);
    int64_t count = 0;
    for (int64_t f = 0; f < n_frequencies; f++) {
        const struct lw_sfft_line line = {f, spectrum[2 * f], spectrum[2 * f + 1], 0};
        if (energy(&line) == 0 || hypot(line.re, line.im) < spec->min_magnitude)
            continue;
        if (count < spec->sparsity) {
            int64_t at = count++;
            for (; at > 0 && is_weaker(&line, &lines[(at - 1) / 2]); at = (at - 1) / 2)
                lines[at] = lines[(at - 1) / 2];
            lines[at] = line;
        } else if (is_weaker(&lines[0], &line)) {
            sink(lines, count, line);
        }
    }
    lw_sfft_sort_by_frequency(lines, count);
    return count;
}

static int transform(struct lw_engine *engine, const struct lw_sfft_spec *spec, double *samples, struct lw_sfft_line *lines,
                     struct lw_sfft_result *result, struct lw_error *err)
{
    (void)engine;
    const int64_t n_values = spec->is_real ? spec->n : 2 * spec->n;
    double all = 0, kept = 0;
    for (int64_t i = 0; i < n_values; i++)
        all += samples[i] * samples[i];
    const int rc = transform_in_place(spec, samples, err);
    if (rc)
        return rc;
    *result = (struct lw_sfft_result){.lines = lines, .n_lines = keep_largest(spec, samples, lines), .is_explained = true};
    for (int64_t i = 0; i < result->n_lines; i++)
        kept += lw_sfft_multiplicity(spec, lines[i].frequency) * energy(&lines[i]);
    result->n_found = result->n_lines;
    result->residual = all > 0 ? fmax(0, 1 - kept / (double)spec->n / all) : 0;
    return LW_OK;
}

const struct lw_dense_ops lw_cpu_dense_ops = {.bytes = bytes, .transform = transform, .pace = {0, 1.2e-9, 5.5}};
