/* inspiral.c - matched filters for the gravitational wave of two masses that spiral in, to leading order, in quadrature. */
#include "base/integers.h"
#include "base/memory.h"
#include "design/taps.h"
#include "jobs/filters/bank.h"
#include "signal/convolution.h"

#include <math.h>

/* G M / c^3 of the Sun: the nominal G M = 1.3271244e20 m^3/s^2 (IAU 2015 resolution B3), divided by c^3. */
#define SUN_SECONDS (1.3271244e20 / (299792458.0 * 299792458.0 * 299792458.0))

#define LEAST_MASS 1e-3
#define MOST_MASS 1e6

static const struct lw_option options[] = {
    LW_OPTION_RATE,
    {.name = "mass-1", .kind = LW_OPTION_TEXT, .argument = "M,M,...", .is_required = true,
     .help = "Masses of the first bodies, one for each filter. They are in solar masses as the detector sees them: (1 + z) times "
             "those at redshift z."},
    {.name = "mass-2", .kind = LW_OPTION_TEXT, .argument = "M,M,...", .is_required = true,
     .help = "Masses of the second bodies, as many."},
    {.name = "from", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 1e-9, .maximum = 1e18, .is_required = true,
     .help = "Frequency of the wave at which the filters begin. The lower it is, the longer they are."},
    {.name = "to", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 1e-9, .maximum = 1e18,
     .help = "Frequency at which the filters end. Default: that of the innermost stable circular orbit, 4397 Hz divided by the "
             "total mass. Leading order has no merger; heavy black holes are found better with a frequency somewhat beyond it."},
    LW_OPTION_NORM("energy"),
    {0},
};

/* The orbit of one filter; times in samples. */
struct orbit {
    double mass_1, mass_2;              /* solar masses */
    double chirp_mass;                  /* G m / c^3, with the chirp mass m */
    double to_hz;                       /* last frequency of the wave */
    double begin, end;                  /* time left until the masses meet, at the first and the last frequency */
};

static int read_masses(const struct lw_options *given, double *masses[2], int *count, struct lw_error *err)
{
    static const char *const names[2] = {"mass-1", "mass-2"};
    int counts[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        const struct lw_bank_list list = {names[i], "solar masses", LEAST_MASS, MOST_MASS, false, NULL};
        const int rc = lw_bank_read_list(given, &list, &masses[i], &counts[i], err);
        if (rc)
            return rc;
    }
    *count = counts[0];
    if (counts[0] != counts[1])
        return lw_fail(err, LW_EUSAGE, "--mass-1 has %d numbers and --mass-2 has %d: give a pair of masses for each filter",
                       counts[0], counts[1]);
    return LW_OK;
}

static int make_orbit(const struct lw_options *given, double rate_hz, double from_hz, double to_hz, struct orbit *orbit,
                      struct lw_error *err)
{
    const double total = orbit->mass_1 + orbit->mass_2, sun = SUN_SECONDS * rate_hz;
    const double last_hz = lw_inspiral_last_frequency(total * SUN_SECONDS);
    const bool has_to = lw_options_given(given, "to");
    orbit->chirp_mass = pow(orbit->mass_1 * orbit->mass_2, 0.6) / pow(total, 0.2) * sun;
    orbit->to_hz = has_to ? to_hz : fmin(last_hz, rate_hz / 2);
    if (orbit->to_hz <= from_hz)
        return lw_fail(err, LW_EUSAGE, "--from %.12g Hz is not below %.6g Hz, %s: the filter for masses of %.6g and %.6g would be "
                       "empty", from_hz, orbit->to_hz,
                       has_to ? "--to" : "the frequency of the innermost stable circular orbit (give --to to go beyond it)",
                       orbit->mass_1, orbit->mass_2);
    orbit->begin = lw_inspiral_time_left(orbit->chirp_mass, from_hz / rate_hz);
    orbit->end = lw_inspiral_time_left(orbit->chirp_mass, orbit->to_hz / rate_hz);
    if (floor(orbit->begin) < fmax(1, ceil(orbit->end)) + 1)
        return lw_fail(err, LW_EUSAGE, "masses of %.6g and %.6g pass from %.6g to %.6g Hz within less than two samples: give a "
                       "higher --rate, a lower --from or smaller masses", orbit->mass_1, orbit->mass_2, from_hz, orbit->to_hz);
    return LW_OK;
}

static int fill(const struct orbit *orbits, int count, double from_hz, struct lw_bank *bank, struct lw_error *err)
{
    double longest = 0;
    for (int f = 0; f < count; f++)
        longest = fmax(longest, orbits[f].begin);
    const int rc = lw_bank_shape(bank, count, 2 * floor(longest) + 1, true, "a higher --from or larger masses", err);
    if (rc)
        return rc;
    for (int f = 0; f < count; f++) {
        lw_taps_inspiral(orbits[f].chirp_mass, orbits[f].begin, orbits[f].end, bank->n_taps, lw_bank_filter(bank, f));
        bank->references[f] = (from_hz + orbits[f].to_hz) / 2 / bank->rate_hz;
    }
    return LW_OK;
}

static int describe(const struct orbit *orbits, int count, double from_hz, struct lw_bank *bank, struct lw_error *err)
{
    bank->design =
        "conj(s), reversed, of s = tau^(-1/4) exp(-2 i (tau / (5 G m / c^3))^(5/8)), chirp mass m, tau before the middle";
    bank->parameter_name = "chirp_mass_solar";
    bank->parameter_text = "chirp mass %.6g";
    lw_bank_note_int(bank, "reference_tap", lw_middle_tap(bank->n_taps));
    lw_bank_note_real(bank, "from_hz", from_hz);
    double *const mass_1 = lw_bank_note_each(bank, "mass_1_solar", err);
    double *const mass_2 = lw_bank_note_each(bank, "mass_2_solar", err);
    double *const to = lw_bank_note_each(bank, "to_hz", err);
    if (!mass_1 || !mass_2 || !to || !(bank->parameters = lw_alloc_array(count, sizeof *bank->parameters, "masses", err)))
        return LW_ESYSTEM;
    for (int f = 0; f < count; f++) {
        mass_1[f] = orbits[f].mass_1;
        mass_2[f] = orbits[f].mass_2;
        to[f] = orbits[f].to_hz;
        bank->parameters[f] = orbits[f].chirp_mass / (SUN_SECONDS * bank->rate_hz);
    }
    return LW_OK;
}

static int design(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    double *masses[2] = {NULL, NULL}, from_hz = 0, to_hz = 0;
    struct orbit *orbits = NULL;
    int count = 0;
    int rc = read_masses(given, masses, &count, err);
    if (rc == LW_OK && !(orbits = lw_alloc_array(count, sizeof *orbits, "masses", err)))
        rc = LW_ESYSTEM;
    for (int f = 0; rc == LW_OK && f < count; f++)
        orbits[f] = (struct orbit){.mass_1 = masses[0][f], .mass_2 = masses[1][f]};
    rc = rc ? rc : lw_bank_read_frequency(bank, given, "from", &from_hz, err);
    if (rc == LW_OK && lw_options_given(given, "to"))
        rc = lw_bank_read_frequency(bank, given, "to", &to_hz, err);
    for (int f = 0; rc == LW_OK && f < count; f++)
        rc = make_orbit(given, bank->rate_hz, from_hz, to_hz, &orbits[f], err);
    rc = rc ? rc : fill(orbits, count, from_hz, bank, err);
    rc = rc ? rc : describe(orbits, count, from_hz, bank, err);
    lw_free(orbits);
    lw_free(masses[0]);
    lw_free(masses[1]);
    return rc;
}

const struct lw_filter_kind lw_filter_inspiral = {
    .name = "inspiral", .title = "matched filters of two inspiralling masses",
    .description = "Complex taps: the wave to leading order (Newtonian orbits, quadrupole radiation) with both phases, conjugated "
                   "and reversed in time. Convolving is then matched filtering. The instant at which the masses would meet is in "
                   "the middle of the taps. The attribute reference_tap marks it, so that a peak in /peaks has the time of the "
                   "merger. The second half of the taps holds the wave, the first half zeros. In detector noise use ols --whiten.",
    .example = "lapwing filters inspiral --rate 4096 --mass-1 40 --mass-2 40 \\\n"
               "    --from 25 --to 400 --output bank.h5\n"
               "lapwing ols --input strain.h5:/strain/Strain --filters bank.h5:/taps \\\n"
               "    --whiten 4,band=15:1700 --products peaks --threshold 8 --cluster 512 \\\n"
               "    --output peaks.h5",
    .options = options, .design = design,
};
