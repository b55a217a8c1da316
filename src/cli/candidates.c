/* candidates.c - prints a table of candidates of lapwing accel as accelsearch of PRESTO lists them, and writes such lists: for each
 * channel a file PREFIX_DM12.30_ACCEL_200 that PRESTO's sifting.py reads.
 *
 *     candidates: a line each     harmonics: a line each, with their powers     the lines of an .inf file that tell T
 *
 * Numbers that lapwing does not measure (phases, coherent sums, raw powers) are nan. Source: src/accel_utils.c and
 * python/presto/sifting.py of PRESTO. */
#include "cli/info.h"

#include "accel/refine.h"
#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/format.h"
#include "io/notes/notes.h"
#include "signal/significance.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum column {
    CHANNEL, DM, HARMONICS, SIGMA, POWER, R, Z, W, FREQUENCY, PERIOD, ACCELERATION, R_ERROR, Z_ERROR, W_ERROR, RELATED, NUMERATOR,
    DENOMINATOR, N_COLUMNS
};
static const char *const names[N_COLUMNS + 1] = {
    "channel", "dm", "harmonics", "sigma", "power", "r", "z", "w", "frequency", "period", "acceleration", "r_error", "z_error",
    "w_error", "related", "numerator", "denominator", NULL,
};

enum { CELL = 48, MOST_SHOWN = 20 };

struct list {
    FILE *out;
    int64_t n;
    double *rows;               /* owned; [n][N_COLUMNS] */
    double seconds, z_max;      /* T; largest drift */
    bool has_w;                 /* the search had jerks */
    bool is_file;               /* the list of one channel, for PRESTO */
};

bool lw_candidates_are(const struct lw_notes *notes) { return lw_notes_have_columns(notes, names); }

static double cell_of(const struct list *list, int64_t row, enum column c) { return list->rows[row * N_COLUMNS + c]; }

/* Write a number with two digits of its error behind it, such as 31.55281(36). Small and large ones have a power of ten. */
static const char *with_error(double value, double error, bool may_scale, char text[CELL])
{
    const int power = may_scale && value != 0 && (fabs(value) < 1e-2 || fabs(value) >= 1e7) ? (int)floor(log10(fabs(value))) : 0;
    const double scale = pow(10, -power), size = error * scale;
    if (!(size > 0 && size < 1e9)) {
        snprintf(text, CELL, "%.9g", value);
        return text;
    }
    const int decimals = (int)lw_max64(0, lw_min64(12, 1 - (int64_t)floor(log10(size))));
    const int used = snprintf(text, CELL, "%.*f(%.0f)", decimals, value * scale, ceil(size * pow(10, decimals)));
    if (power)
        snprintf(text + used, CELL - (size_t)used, "x10^%d", power);
    return text;
}

static void put_line(FILE *out, int n)
{
    for (int i = 0; i < n; i++)
        fputc('-', out);
    fputc('\n', out);
}

static void put_head(const struct list *list)
{
    fprintf(list->out, "Cand  Sigma   Summed    Coherent  Num   Period             Frequency          FFT 'r'             "
            "Freq Deriv        FFT 'z'        %sAccel             %sNotes\n", list->has_w ? "FFT 'w'        " : "",
            list->is_file ? "" : "Channel  DM        ");
    fprintf(list->out, "              Power     Power     Harm  (ms)               (Hz)               (bin)               "
            "(Hz/s)            (bins)         %s(m/s^2)\n", list->has_w ? "(bins)         " : "");
    put_line(list->out, list->has_w ? 165 : 150);
}

/* Print a candidate. @param number  its number in the list @param stronger  number of the one that it repeats; 0: none */
static void put_row(const struct list *list, int64_t i, int64_t number, int64_t stronger)
{
    const double t = list->seconds, f = cell_of(list, i, FREQUENCY), r_error = cell_of(list, i, R_ERROR);
    const double z_error = cell_of(list, i, Z_ERROR), slope = 1 / (t * t), to_speed = LW_ACCEL_LIGHT_M_S * slope / f;
    const bool is_one = cell_of(list, i, HARMONICS) == 1;
    char a[CELL], b[CELL], c[CELL], d[CELL], e[CELL];
    snprintf(a, CELL, "%.2f", is_one ? cell_of(list, i, POWER) : NAN);
    fprintf(list->out, "%-4" PRId64 "  %-6.2f  %-8.2f  %-8s  %-4.0f", number, cell_of(list, i, SIGMA), cell_of(list, i, POWER), a,
            cell_of(list, i, HARMONICS));
    fprintf(list->out, "  %-17s  %-17s  %-18s  %-16s  %-13s", with_error(1000 / f, 1000 * r_error / (t * f * f), true, a),
            with_error(f, r_error / t, true, b), with_error(cell_of(list, i, R), r_error, false, c),
            with_error(cell_of(list, i, Z) * slope, z_error * slope, true, d), with_error(cell_of(list, i, Z), z_error, false, e));
    if (list->has_w)
        fprintf(list->out, "  %-13s", with_error(cell_of(list, i, W), cell_of(list, i, W_ERROR), false, a));
    fprintf(list->out, "  %-16s", with_error(cell_of(list, i, ACCELERATION), fabs(z_error * to_speed), true, a));
    if (!list->is_file)
        fprintf(list->out, "  %-7.0f  %-8.3f", cell_of(list, i, CHANNEL), cell_of(list, i, DM));
    if (stronger > 0)
        fprintf(list->out, "  %.0f/%.0f of %" PRId64, cell_of(list, i, NUMERATOR), cell_of(list, i, DENOMINATOR), stronger);
    fputc('\n', list->out);
}

static int open_list(const char *name, const struct lw_notes *notes, int64_t most, struct list *list, struct lw_error *err)
{
    *list = (struct list){.out = stdout, .n = lw_min64(notes->n_rows, most),
                          .seconds = lw_said_real(&notes->dataset, "seconds", NAN),
                          .z_max = lw_said_real(&notes->dataset, "z_max", 0),
                          .has_w = lw_said_real(&notes->dataset, "w_max", 0) > 0};
    const struct lw_rows wanted = {0, list->n, names, N_COLUMNS};
    if (!(list->rows = lw_alloc_array(list->n * N_COLUMNS, sizeof *list->rows, "candidates", err)))
        return LW_ESYSTEM;
    return list->n > 0 ? lw_notes_read_rows(name, &wanted, list->rows, err) : LW_OK;
}

int lw_candidates_print(const char *name, const struct lw_notes *notes, struct lw_error *err)
{
    struct list list;
    const int rc = open_list(name, notes, MOST_SHOWN, &list, err);
    char shown[4 * sizeof(struct lw_name)];
    if (rc == LW_OK) {
        printf("%s: %" PRId64 " row%s%s", lw_escape(name, "", shown, sizeof shown), notes->n_rows, notes->n_rows == 1 ? "" : "s",
               notes->n_rows > list.n ? ", the strongest 20" : "");
        printf("; T = %.9g s\n", list.seconds);
        put_head(&list);
    }
    for (int64_t i = 0; rc == LW_OK && i < list.n; i++)
        put_row(&list, i, i + 1, (int64_t)cell_of(&list, i, RELATED) + 1);
    lw_free(list.rows);
    return rc;
}

/* ---- files for PRESTO -------------------------------------------------------------------------------------------------- */

/* The normalized spectra of a result. */
struct spectra {
    const struct lw_format *format;
    struct lw_dataset_info info;
    void *dataset;
    double first, step;         /* channels of the input */
};

static int open_spectra(const char *table, struct spectra *spectra, struct lw_error *err)
{
    char name[sizeof(struct lw_name)];
    const char *const end = strrchr(table, ':');
    snprintf(name, sizeof name, "%.*s:/spectrum_normalised", end ? (int)(end - table) : (int)strlen(table), table);
    struct lw_error its;
    LW_FREED struct lw_notes *const notes = lw_alloc(sizeof *notes, "notes", err);
    if (!notes)
        return LW_ESYSTEM;
    if (lw_notes_read(name, NULL, notes, &its) || lw_examine_dataset(name, NULL, LW_USE_SAMPLES, &spectra->info, &its))
        return lw_fail(err, LW_EUSAGE, "lists for PRESTO have the power of each harmonic, from the spectra of the run: search "
                       "again with --keep-spectrum (%.700s)", its.message);
    spectra->first = lw_said_real(&notes->dataset, "first_channel", 0);
    spectra->step = lw_said_real(&notes->dataset, "channel_step", 1);
    const int rc = lw_formats_find(spectra->info.file, NULL, &spectra->format, err);
    return rc ? rc : lw_format_open(spectra->format, &spectra->info, &spectra->dataset, err);
}

/* Compute the power of a harmonic of row i. It is 0 beyond the end of the spectrum. */
static int find_power(const struct list *list, int64_t i, int harmonic, const struct spectra *spectra, double *power,
                      struct lw_error *err)
{
    enum { HALF = 1 << 11 };
    const double r = harmonic * cell_of(list, i, R), z = harmonic * cell_of(list, i, Z), w = harmonic * cell_of(list, i, W);
    const int64_t n_bins = spectra->info.dims[1], half = lw_max64(HALF, (int64_t)(fabs(z) + fabs(w) / 4 + 64));
    const int64_t first = lw_max64(0, lw_min64(n_bins, (int64_t)r - half));
    const int64_t end = lw_min64(n_bins, (int64_t)r + half);
    const double channel = (cell_of(list, i, CHANNEL) - spectra->first) / spectra->step;
    LW_FREED float *const bins = lw_alloc_array(lw_max64(0, 2 * (end - first)), sizeof *bins, "bins", err);
    *power = 0;
    if (!bins)
        return LW_ESYSTEM;
    if (end <= first)
        return LW_OK;
    const struct lw_box box = {.first = {(int64_t)channel, first}, .step = {1, 1}, .count = {1, end - first}, .run = end - first,
                               .pitch = end - first, .n_runs = 1, .into = bins};
    const int rc = spectra->format->read(spectra->dataset, &box, err);
    return rc ? rc : lw_accel_power(bins, end - first, (int)half, r - (double)first, z, w, power, err);
}

static void put_harmonics_head(const struct list *list)
{
    fputs("\n\n                     Power /       Raw       FFT 'r'          Pred 'r'       FFT 'z'       Pred 'z'   Phase     "
          "Centroid  Purity\nCand   Harm  Sigma   Loc Pow       Power     (bin)            (bin)          (bins)        (bins)     "
          "(rad)     (0-1)     <p> = 1\n", list->out);
    put_line(list->out, 140);
}

static int put_harmonics(const struct list *list, int64_t i, int64_t number, const struct spectra *spectra, struct lw_error *err)
{
    char power_text[CELL], r_text[CELL], z_text[CELL];
    const int n = (int)cell_of(list, i, HARMONICS);
    for (int h = 1; h <= n; h++) {
        double power;
        const double r = h * cell_of(list, i, R), z = h * cell_of(list, i, Z);
        const int rc = find_power(list, i, h, spectra, &power, err);
        if (rc)
            return rc;
        if (h == 1)
            fprintf(list->out, " %-4" PRId64 "  ", number);
        else
            fprintf(list->out, "%-7s", "");
        fprintf(list->out, "%-4d  %-6.2f  %-12s  nan       %-15s  %-13.2f  %-12s  %-9.2f  nan       nan       nan\n", h,
                lw_sum_sigma(1, power, 0, 1), with_error(power, sqrt(2 * power), false, power_text),
                with_error(r, h * cell_of(list, i, R_ERROR), false, r_text), r,
                with_error(z, h * cell_of(list, i, Z_ERROR), false, z_text), z);
    }
    return LW_OK;
}

/* Return whether a row is no harmonic, and in its channel no duplicate. accelsearch leaves such rows out, too. */
static bool is_own(const struct list *list, int64_t i)
{
    const int64_t related = (int64_t)cell_of(list, i, RELATED);
    return related < 0 || (cell_of(list, i, NUMERATOR) == cell_of(list, i, DENOMINATOR) &&
                           cell_of(list, related, CHANNEL) != cell_of(list, i, CHANNEL));
}

/* Write the list of the channel of row `first`, which is its first row.
 * @param numbers  [n] work: numbers of rows in the list, -1 for those left out */
static int write_channel(struct list *list, const struct lw_notes *notes, const char *prefix, int64_t first, int64_t *numbers,
                         const struct spectra *spectra, struct lw_error *err)
{
    const double channel = cell_of(list, first, CHANNEL), dm = cell_of(list, first, DM);
    char name[LW_MAX_PATH], place[40] = "";
    int64_t n = 0;
    int rc = LW_OK;
    if (isnan(dm) && spectra->info.dims[0] > 1)
        snprintf(place, sizeof place, "_channel%.0f", channel);
    snprintf(name, sizeof name, "%s%s_DM%.2f_ACCEL_%.0f", prefix, place, isnan(dm) ? 0 : dm, list->z_max);
    if (!(list->out = fopen(name, "wx")))
        return lw_fail(err, LW_EIO, "cannot make '%.900s': %s", name, strerror(errno));
    put_head(list);
    for (int64_t i = first; i < list->n; i++)
        if (cell_of(list, i, CHANNEL) == channel) {
            numbers[i] = is_own(list, i) ? ++n : -1;
            if (numbers[i] > 0)
                put_row(list, i, n, 0);
        }
    put_harmonics_head(list);
    for (int64_t i = first; i < list->n && rc == LW_OK; i++)
        if (cell_of(list, i, CHANNEL) == channel && numbers[i] > 0)
            rc = put_harmonics(list, i, numbers[i], spectra, err);
    fprintf(list->out, "\n\n %-38s =  %s\n %-38s =  %.0f\n %-38s =  %.15g\n %-38s =  %.12g\n", "Data file name without suffix",
            prefix, "Number of bins in the time series", lw_said_real(&notes->dataset, "transform_samples", 0),
            "Width of each time series bin (sec)", 1 / lw_said_real(&notes->dataset, "sample_rate_hz", 1),
            "Dispersion measure (cm-3 pc)", isnan(dm) ? 0 : dm);
    const bool has_failed = ferror(list->out);
    if ((fclose(list->out) || has_failed) && rc == LW_OK)
        rc = lw_fail(err, LW_EIO, "cannot write '%.900s': %s", name, strerror(errno));
    if (rc == LW_OK)
        printf("%s: %" PRId64 " candidate%s\n", name, n, n == 1 ? "" : "s");
    return rc;
}

int lw_candidates_write(const char *name, const char *prefix, struct lw_error *err)
{
    struct list list = {0};
    struct spectra spectra = {0};
    LW_FREED struct lw_notes *const notes = lw_alloc(sizeof *notes, "notes", err);
    int rc = notes ? lw_notes_read(name, NULL, notes, err) : LW_ESYSTEM;
    if (rc == LW_OK && !lw_candidates_are(notes))
        rc = lw_fail(err, LW_EUSAGE, "--write-accel takes a table of candidates of lapwing accel, as in 'lapwing info "
                     "RESULT.h5:/candidates --write-accel PREFIX'; %.600s is none", name);
    if (rc == LW_OK && (rc = open_list(name, notes, notes->n_rows, &list, err)) == LW_OK)
        rc = open_spectra(name, &spectra, err);
    list.is_file = true;
    LW_FREED int64_t *const numbers = lw_alloc_array(list.n, sizeof *numbers, "numbers", err);
    for (int64_t i = 0; rc == LW_OK && i < list.n; i++)
        if (!numbers)
            rc = LW_ESYSTEM;
        else if (numbers[i] == 0)
            rc = write_channel(&list, notes, prefix, i, numbers, &spectra, err);
    if (spectra.dataset)
        lw_format_close(spectra.format, spectra.dataset);
    lw_free(list.rows);
    return rc;
}
