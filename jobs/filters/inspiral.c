/* inspiral.c - matched filters for the gravitational wave of two masses that spiral in, in quadrature, made one by one. */
#include "base/log.h"
#include "base/memory.h"
#include "jobs/filters/bank.h"
#include "jobs/filters/masses.h"

#include <inttypes.h>

static const struct lw_option options[] = {
    LW_OPTION_RATE,
    LW_MASSES_OPTIONS,
    {.name = "from", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 1e-9, .maximum = 1e18, .is_required = true,
     .help = "Frequency of the wave at which the filters begin. The lower it is, the longer they are."},
    {.name = "to", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 1e-9, .maximum = 1e18,
     .help = "Frequency at which the filters end. Default: that of the last stable orbit, 4397 Hz divided by the total mass. The "
             "formula has no merger; heavy black holes are found better with a frequency somewhat beyond it."},
    {.name = "taps", .kind = LW_OPTION_INT, .argument = "M", .minimum = 3, .maximum = LW_BANK_MOST_TAPS,
     .help = "Length of the filters. Default: that of the longest wave, and before and behind it as much as 99.9% of each wave's "
             "energy needs."},
    {0},
};

/* The facts that all filters of a bank share. */
struct series {
    struct lw_binary *binaries;         /* owned; [n_filters] */
    struct lw_inspiral_shape shape;
    struct lw_transform *backward;      /* owned */
    double to_hz;                       /* 0: that of the last stable orbit */
};

enum { MASS_1, MASS_2, SPIN_1, SPIN_2, CHIRP_MASS, TO, DURATION, KEPT, COLUMNS };

static const struct lw_column columns[COLUMNS] = {
    {"mass_1", LW_COLUMN_REAL}, {"mass_2", LW_COLUMN_REAL}, {"spin_1", LW_COLUMN_REAL}, {"spin_2", LW_COLUMN_REAL},
    {"chirp_mass", LW_COLUMN_REAL}, {"to_hz", LW_COLUMN_REAL}, {"duration_s", LW_COLUMN_REAL}, {"energy_kept", LW_COLUMN_REAL},
};

static double last_frequency(const struct series *series, const struct lw_inspiral *wave)
{
    return series->to_hz > 0 ? series->to_hz : fmin(lw_inspiral_frequency(wave, LW_INSPIRAL_LAST), series->shape.rate_hz / 2);
}

static int make(const void *context, int f, double *work, double *row, struct lw_error *err)
{
    const struct series *const series = context;
    const struct lw_binary *const binary = &series->binaries[f];
    struct lw_inspiral wave;
    (void)err;
    lw_inspiral_set(binary, &wave);
    row[MASS_1] = binary->mass_1;
    row[MASS_2] = binary->mass_2;
    row[SPIN_1] = binary->spin_1;
    row[SPIN_2] = binary->spin_2;
    row[CHIRP_MASS] = lw_inspiral_chirp_mass(binary);
    row[TO] = last_frequency(series, &wave);
    row[DURATION] = lw_inspiral_time_left(&wave, series->shape.from_hz);
    row[KEPT] = lw_inspiral_filter(&wave, &series->shape, row[TO], work);
    return LW_OK;
}

static void release(void *context)
{
    struct series *const series = context;
    lw_free(series->binaries);
    lw_transform_destroy(series->backward);
    lw_free(series);
}

static void report(const struct lw_bank *bank, const double *rows)
{
    const struct lw_inspiral_shape *const shape = &((const struct series *)bank->series.context)->shape;
    double longest = 0, least_kept = 1;
    for (int f = 0; f < bank->n_filters; f++) {
        longest = fmax(longest, rows[f * COLUMNS + DURATION]);
        least_kept = fmin(least_kept, rows[f * COLUMNS + KEPT]);
    }
    lw_log_info("%d filters: inspirals from %.6g Hz on, the longest in %.4g s; %" PRId64 " complex taps (%.4g s) hold at least "
                "%.4g%% of each wave's energy; the merger is at tap %" PRId64 " (%.4g s)", bank->n_filters, shape->from_hz, longest,
                bank->n_taps, (double)bank->n_taps / bank->rate_hz, 100 * least_kept, shape->reference,
                (double)shape->reference / bank->rate_hz);
}

/* ---- the length ------------------------------------------------------------------------------------------------------ */

static int check_band(const struct series *series, const struct lw_inspiral *wave, int f, struct lw_error *err)
{
    const double to_hz = last_frequency(series, wave), most_hz = lw_inspiral_frequency(wave, 1);
    const struct lw_binary *const binary = &series->binaries[f];
    if (to_hz <= series->shape.from_hz)
        return lw_fail(err, LW_EUSAGE, "--from %.12g Hz is not below %.6g Hz, %s: filter %d, masses %.6g and %.6g, would be empty",
                       series->shape.from_hz, to_hz,
                       series->to_hz > 0 ? "--to" : "the frequency of the last stable orbit (give --to to go beyond it)", f,
                       binary->mass_1, binary->mass_2);
    if (to_hz >= most_hz)
        return lw_fail(err, LW_EUSAGE, "--to %.12g Hz is beyond %.6g Hz, where masses of %.6g and %.6g would reach the speed of "
                       "light: give a lower --to", to_hz, most_hz, binary->mass_1, binary->mass_2);
    return LW_OK;
}

/* Choose the number of taps and the reference tap, such that all waves fit with their ringing, or as --taps says. */
static int choose_length(const struct lw_options *given, struct series *series, struct lw_bank *bank, struct lw_error *err)
{
    struct lw_inspiral_shape *const shape = &series->shape;
    double begin = 0, end = 0, lead = 0, tail = 0;      /* samples before the merger and behind it: of waves; with their ringing */
    for (int f = 0; f < bank->n_filters; f++) {
        struct lw_inspiral wave;
        lw_inspiral_set(&series->binaries[f], &wave);
        const int rc = check_band(series, &wave, f, err);
        if (rc)
            return rc;
        const struct lw_inspiral_extent extent = lw_inspiral_measure(&wave, shape->from_hz, last_frequency(series, &wave));
        begin = fmax(begin, ceil(bank->rate_hz * extent.begin));
        end = fmax(end, ceil(bank->rate_hz * -extent.end));
        lead = fmax(lead, ceil(bank->rate_hz * (extent.begin + extent.before)));
        tail = fmax(tail, ceil(bank->rate_hz * (extent.behind - extent.end)));
    }
    const double wanted = (double)lw_options_int(given, "taps"), n_taps = wanted > 0 ? wanted : lead + tail + 1;
    if (n_taps > LW_BANK_MOST_TAPS)
        return lw_fail(err, LW_EUSAGE, "a filter would have %.0f taps, but at most %d are possible: give a higher --from, larger "
                       "masses or --taps", n_taps, LW_BANK_MOST_TAPS);
    if (n_taps < begin + end + 1)
        return lw_fail(err, LW_EUSAGE, "--taps %.0f are fewer than the longest wave needs, %.0f: give more, or a higher --from",
                       n_taps, begin + end + 1);
    bank->n_taps = (int64_t)n_taps;
    shape->n_taps = bank->n_taps;
    shape->reference = (int64_t)(end + (n_taps - 1 - begin - end) * fmax(tail - end, 0) / fmax(lead - begin + tail - end, 1));
    shape->points = lw_inspiral_points(bank->n_taps);
    return LW_OK;
}

static int plan(const struct lw_options *given, struct lw_comm *comm, struct lw_bank *bank, struct lw_error *err)
{
    struct series *const series = lw_alloc(sizeof *series, "templates", err);
    int rc;
    if ((rc = lw_comm_agree(comm, series ? LW_OK : LW_ESYSTEM, err)))
        return rc;
    bank->series = (struct lw_bank_series){series, columns, COLUMNS, 0, make, report, release};
    bank->norm = "energy";
    bank->is_complex = true;
    series->shape.rate_hz = bank->rate_hz;
    if ((rc = lw_masses_read(given, comm, &series->binaries, &bank->n_filters, err)) ||
        (rc = lw_bank_read_frequency(bank, given, "from", &series->shape.from_hz, err)) ||
        (lw_options_given(given, "to") && (rc = lw_bank_read_frequency(bank, given, "to", &series->to_hz, err))) ||
        (rc = choose_length(given, series, bank, err)) ||
        (rc = lw_transform_create(LW_TRANSFORM_BACKWARD, series->shape.points, &series->backward, err)))
        return rc;
    series->shape.backward = series->backward;
    bank->series.work_doubles = lw_transform_doubles(LW_TRANSFORM_BACKWARD, series->shape.points);
    double *const chirp_masses = bank->n_filters > LW_BANK_MOST_FILTERS ? NULL : lw_bank_note_each(bank, "chirp_mass_solar", err);
    for (int f = 0; chirp_masses && f < bank->n_filters; f++)
        chirp_masses[f] = lw_inspiral_chirp_mass(&series->binaries[f]);
    bank->design = "conj(s[reference_tap - m]) of the wave s, TaylorF2 to 3.5 post-Newtonian orders; /templates has its masses";
    lw_bank_note_int(bank, "reference_tap", series->shape.reference);
    lw_bank_note_real(bank, "from_hz", series->shape.from_hz);
    return LW_OK;
}

const struct lw_filter_kind lw_filter_inspiral = {
    .name = "inspiral", .title = "matched filters of two inspiralling masses",
    .description = "Complex taps: the wave of TaylorF2, as in LALSimulation and PyCBC (3.5 post-Newtonian orders, spins along the "
                   "orbit's axis). Both phases are conjugated and reversed in time, so that convolving is matched filtering. The "
                   "attribute reference_tap marks the merger, so that a peak in /peaks has its time. The energy of each filter is "
                   "1. In detector noise use ols --whiten. The table /templates has a row for each filter: masses, spins, chirp "
                   "mass, last frequency, duration, and the part of the wave's energy that the taps hold. Each rank makes a few "
                   "filters at a time, so that a bank may be larger than memory.",
    .example = "lapwing filters inspiral --rate 4096 --bank masses.h5:/table --from 20 \\\n"
               "    --type float32 --output bank.h5\n"
               "lapwing ols --input strain.h5:/strain/Strain --filters bank.h5:/taps \\\n"
               "    --whiten 4,band=15:1700 --products peaks --threshold 8 \\\n"
               "    --cluster 512,filters --output peaks.h5",
    .options = options, .plan = plan,
};
