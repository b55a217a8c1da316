/* fold.c - draws a candidate of an acceleration search: the series is folded, that is, its samples are averaged by their phase.
 *
 *     profile      the mean of all samples, over two turns
 *     time         the same for each part of the observation
 *     power        the sum over harmonics around the candidate, from the parts' Fourier coefficients at its harmonics
 *
 * The phase at u = t / T is r u + z (u^2 - u) / 2 + w (u^3 / 6 - u^2 / 4 + u / 12) (accel/accel.h). */
#include "plot/kinds.h"

#include "accel/accel.h"
#include "base/integers.h"
#include "base/memory.h"

#include <complex.h>
#include <inttypes.h>
#include <math.h>

/* Bins of a turn, parts of the observation, parts that one row of the picture sums up, and points of the map on each axis. */
enum { BINS = 64, PARTS = 512, ROWS = 64, MAP = 61, MOST_HARMONICS = 16, BLOCK = 1 << 20 };

enum { CHANNEL, HARMONICS, SIGMA, R, Z, W, N_COLUMNS };
static const char *const columns[N_COLUMNS] = {"channel", "harmonics", "sigma", "r", "z", "w"};

struct fold {
    struct lw_plot *plot;
    double row[N_COLUMNS];
    int64_t first, n, n_fft;            /* first sample of the input; samples of the series, and of the transform */
    double (*sums)[BINS];               /* owned; [PARTS][BINS] sums of samples, then means less those of their part */
    int64_t (*counts)[BINS];            /* owned */
};

/* Add samples [begin, begin + count) of the series. */
static void add(struct fold *f, const double *samples, int64_t begin, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const int64_t sample = begin + i, part = sample * PARTS / f->n;
        const double phase = lw_accel_turns(f->row[R], f->row[Z], f->row[W], (double)sample / (double)f->n_fft);
        const int bin = (int)((phase - floor(phase)) * BINS) % BINS;
        if (isfinite(samples[i])) {
            f->sums[part][bin] += samples[i];
            f->counts[part][bin]++;
        }
    }
}

/* Sum samples by part and phase, then make means, less the mean of the part. A bin without samples has mean 0. */
static int fold_series(struct fold *f, struct lw_error *err)
{
    struct lw_plot_subject *const input = &f->plot->input;
    const int64_t channel = (int64_t)f->row[CHANNEL];
    LW_FREED double *const block = lw_alloc_array(BLOCK, sizeof *block, "samples", err);
    int rc = block ? LW_OK : LW_ESYSTEM;
    if (rc == LW_OK && (f->first + f->n > input->n_x || channel >= input->n_y))
        return lw_fail(err, LW_EDATA, "%.400s does not hold the series that %.400s names", input->name, f->plot->subject.name);
    for (int64_t begin = 0; begin < f->n && rc == LW_OK; begin += BLOCK) {
        const int64_t count = lw_min64(BLOCK, f->n - begin);
        const struct lw_sample_box box = lw_subject_box(input, f->first + begin, count, channel, 1, 1, 0);
        if ((rc = lw_boxes_read(input->samples, &box, 1, block, err)) == LW_OK)
            add(f, block, begin, count);
    }
    for (int p = 0; p < PARTS; p++) {
        double sum = 0;
        int64_t n = 0;
        for (int b = 0; b < BINS; b++) {
            sum += f->sums[p][b];
            n += f->counts[p][b];
        }
        for (int b = 0; b < BINS; b++)
            f->sums[p][b] -= n > 0 ? sum / (double)n * (double)f->counts[p][b] : 0;
    }
    return rc;
}

/* Return the mean of parts [begin, end) in a bin. */
static double mean_of(const struct fold *f, int begin, int end, int bin)
{
    double sum = 0;
    int64_t n = 0;
    for (int p = begin; p < end; p++) {
        sum += f->sums[p][bin];
        n += f->counts[p][bin];
    }
    return n > 0 ? sum / (double)n : NAN;
}

/* ---- the map of powers ------------------------------------------------------------------------------------------------ */

/* Add the power of one harmonic to the map; `reach` is the map's largest distance in r. z reaches four times as far. */
static void add_harmonic(const struct fold *f, int harmonic, double reach, double map[MAP][MAP])
{
    double complex parts[PARTS];
    double u[PARTS];
    for (int p = 0; p < PARTS; p++) {
        parts[p] = 0;
        u[p] = (p + 0.5) / PARTS * (double)f->n / (double)f->n_fft;
        for (int b = 0; b < BINS; b++)
            parts[p] += f->sums[p][b] * cexp(-2 * M_PI * I * harmonic * (b + 0.5) / BINS);
    }
    for (int i = 0; i < MAP; i++) {
        for (int k = 0; k < MAP; k++) {
            const double r = reach * (2.0 * k / (MAP - 1) - 1), z = 4 * reach * (2.0 * i / (MAP - 1) - 1);
            double complex sum = 0;
            for (int p = 0; p < PARTS; p++)
                sum += parts[p] * cexp(-2 * M_PI * I * harmonic * (r * u[p] + z * (u[p] * u[p] - u[p]) / 2));
            map[i][k] += creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
        }
    }
}

/* Write the map as a data block, its middle set to 1. @return  number of the block */
static int write_map(struct fold *f, double reach)
{
    double map[MAP][MAP] = {0};
    for (int h = 1; h <= (int)f->row[HARMONICS]; h++)
        add_harmonic(f, h, reach, map);
    const double middle = map[MAP / 2][MAP / 2];
    const int number = lw_script_data(&f->plot->script);
    for (int i = 0; i < MAP; i++) {
        for (int k = 0; k < MAP; k++)
            fprintf(f->plot->script.file, "%.5g ", middle > 0 ? map[i][k] / middle : 0);
        fputc('\n', f->plot->script.file);
    }
    lw_script_data_end(&f->plot->script);
    return number;
}

/* ---- the picture ------------------------------------------------------------------------------------------------------ */

static int write_profile(struct fold *f)
{
    const int number = lw_script_data(&f->plot->script);
    for (int b = 0; b < 2 * BINS; b++)
        fprintf(f->plot->script.file, "%.6g %.6g\n", (b + 0.5) / BINS, mean_of(f, 0, PARTS, b % BINS));
    lw_script_data_end(&f->plot->script);
    return number;
}

static int write_rows(struct fold *f, struct lw_colours *colours)
{
    double values[ROWS * BINS];
    const int number = lw_script_data(&f->plot->script);
    for (int row = 0; row < ROWS; row++) {
        for (int b = 0; b < 2 * BINS; b++) {
            const double value = mean_of(f, row * (PARTS / ROWS), (row + 1) * (PARTS / ROWS), b % BINS);
            values[row * BINS + b % BINS] = value;
            fprintf(f->plot->script.file, isfinite(value) ? "%.5g " : "NaN ", value);
        }
        fputc('\n', f->plot->script.file);
    }
    lw_script_data_end(&f->plot->script);
    *colours = lw_colours_choose(values, ROWS * BINS, false);
    lw_plot_limit(f->plot, colours);
    return number;
}

static void draw(struct fold *f)
{
    enum { PROFILE, TIME, POWER, N_PANELS };
    struct lw_script *const script = &f->plot->script;
    const double rate = f->plot->input.info.axis.sample_rate_hz, length = (double)f->n / (rate > 0 ? rate : 1);
    const double reach = 6 / sqrt(f->row[HARMONICS]), step = 2 * reach / (MAP - 1);
    const char *unit = "samples";
    const double factor = rate > 0 ? lw_label_time_unit(length, &unit) : 1;
    char title[200], time[64];
    struct lw_colours colours, whole = {0, 1, false};
    snprintf(title, sizeof title, "channel %.0f, sigma %.4g, %.0f harmonics: r %.2f, z %.2f, w %.1f", f->row[CHANNEL],
             f->row[SIGMA], f->row[HARMONICS], f->row[R], f->row[Z], f->row[W]);
    snprintf(time, sizeof time, "time (%s)", unit);
    const struct lw_panels panels = {.count = N_PANELS, .left = 110, .right = 120, .gap = 60, .has_titles = true};
    const struct lw_panel profile = {.number = PROFILE, .title = title, .x_label = "phase (turns)", .y_label = "mean", .x_high = 2};
    const struct lw_panel rows = {.number = TIME, .x_label = "phase (turns)", .y_label = time, .x_high = 2,
                                  .y_high = length * factor};
    const struct lw_panel power = {.number = POWER, .x_label = "r, less the candidate's (bins)",
                                   .y_label = "z, less the candidate's (bins)", .x_low = -reach, .x_high = reach,
                                   .y_low = -4 * reach, .y_high = 4 * reach};
    lw_plot_frame(f->plot, 800, 1100);
    lw_script_begin(script);
    const int of_profile = write_profile(f), of_rows = write_rows(f, &colours), of_map = write_map(f, reach);
    lw_script_panels(script, &panels);
    lw_script_panel(script, &panels, &profile);
    fprintf(script->file, "plot $data%d using 1:2 with steps linestyle 1\n", of_profile);
    lw_script_colours(script, &panels, TIME, &colours, "mean", false);
    lw_script_panel(script, &panels, &rows);
    fprintf(script->file, "plot $data%d matrix using (($1+0.5)/%d):(($2+0.5)*%.9g):3 with image\n", of_rows, BINS,
            length * factor / ROWS);
    lw_script_colours(script, &panels, POWER, &whole, "power", false);
    lw_script_panel(script, &panels, &power);
    fprintf(script->file, "plot $data%d matrix using (%.9g+%.9g*$1):(%.9g+%.9g*$2):3 with image\n", of_map, -reach, step,
            -4 * reach, 4 * step);
    lw_script_end(script);
}

int lw_plot_fold(struct lw_plot *plot, struct lw_error *err)
{
    const struct lw_said *const notes = &plot->subject.notes->dataset;
    const struct lw_rows wanted = {lw_options_int(plot->given, "row"), 1, columns, N_COLUMNS};
    struct fold f = {
        .plot = plot, .first = (int64_t)lw_said_real(notes, "first_input_sample", 0),
        .n = (int64_t)lw_said_real(notes, "samples", 0), .n_fft = (int64_t)lw_said_real(notes, "transform_samples", 0),
    };
    if (wanted.first >= plot->subject.notes->n_rows)
        return lw_fail(err, LW_ECONFIG, "--row %" PRId64 ": %.500s has %" PRId64 " rows, from 0 on", wanted.first,
                       plot->subject.name, plot->subject.notes->n_rows);
    int rc = lw_notes_read_rows(plot->subject.name, &wanted, f.row, err);
    if (rc == LW_OK && (f.n < 1 || f.n_fft < f.n || !(f.row[HARMONICS] >= 1 && f.row[HARMONICS] <= MOST_HARMONICS)))
        rc = lw_fail(err, LW_EDATA, "%.500s is no table of candidates of lapwing accel", plot->subject.name);
    if (rc)
        return rc;
    f.sums = lw_alloc_array(PARTS, sizeof *f.sums, "the picture", err);
    f.counts = lw_alloc_array(PARTS, sizeof *f.counts, "the picture", err);
    rc = f.sums && f.counts ? fold_series(&f, err) : LW_ESYSTEM;
    if (rc == LW_OK)
        draw(&f);
    lw_free(f.sums);
    lw_free(f.counts);
    return rc;
}
