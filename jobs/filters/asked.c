#include "jobs/filters/asked.h"

#include "base/memory.h"
#include "jobs/filters/band.h"

#include <stdio.h>

int lw_asked_find(const struct lw_options *given, const char **name, struct lw_error *err)
{
    static const char *const ways[] = {"filters", "bandpass", "lowpass", "highpass", "boxcar"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!lw_options_given(given, ways[i]))
            continue;
        if (found)
            return lw_fail(err, LW_EUSAGE, "--%s and --%s exclude each other: give one of --filters, --bandpass, --lowpass, "
                           "--highpass and --boxcar", found, ways[i]);
        found = ways[i];
    }
    if (!found)
        return lw_fail(err, LW_EUSAGE, "--filters is missing: give --filters FILE:/dataset, or make filters with --bandpass "
                       "LOW:HIGH, --lowpass HZ, --highpass HZ or --boxcar WIDTH,...");
    *name = found;
    static const char *const companions[] = {"taps", "transition", "attenuation"};
    const bool is_boxcar = strcmp(found, "boxcar") == 0, is_band = strcmp(found, "filters") != 0 && !is_boxcar;
    static const char *const words[] = {"baseline", "norm"};
    for (size_t i = 0; !is_boxcar && i < sizeof words / sizeof *words; i++)
        if (lw_options_given(given, words[i]))
            return lw_fail(err, LW_EUSAGE, "%s= goes with widths of --boxcar, not with --%s", words[i], found);
    for (size_t i = 0; !is_band && i < sizeof companions / sizeof *companions; i++)
        if (lw_options_given(given, companions[i]))
            return lw_fail(err, LW_EUSAGE, "--%s goes with --bandpass, --lowpass and --highpass, not with --%s", companions[i],
                           found);
    return LW_OK;
}

static bool is_frequency(const char *text, double *hz) { return lw_parse_frequency(text, hz) == LW_PARSE_OK; }

int lw_asked_read_pair(const char *option, const char *text, double *low_hz, double *high_hz, struct lw_error *err)
{
    char low[48];
    const char *const colon = strchr(text, ':');
    snprintf(low, sizeof low, "%.*s", colon ? (int)(colon - text) : 0, text);
    if (!colon || !is_frequency(low, low_hz) || !is_frequency(colon + 1, high_hz))
        return lw_fail(err, LW_EUSAGE, "--%s: '%s' is no band LOW:HIGH, such as 1:20 or 1.2kHz:1.5kHz", option, text);
    if (*low_hz >= *high_hz)
        return lw_fail(err, LW_EUSAGE, "--%s %s: the lower edge is not below the upper one", option, text);
    return LW_OK;
}

static int read_band(const char *option, const char *text, int length, double rate_hz, struct lw_band *band, struct lw_error *err)
{
    char item[48];
    *band = (struct lw_band){
        .has_low = strcmp(option, "lowpass") != 0, .has_high = strcmp(option, "highpass") != 0, .high_hz = rate_hz / 2,
    };
    snprintf(item, sizeof item, "%.*s", length, text);
    int rc;
    if ((size_t)length >= sizeof item)
        return lw_fail(err, LW_EUSAGE, "--%s: '%s...' is too long to be a frequency or a band", option, item);
    if (band->has_low && band->has_high) {
        if ((rc = lw_asked_read_pair(option, item, &band->low_hz, &band->high_hz, err)))
            return rc;
    } else if (!is_frequency(item, band->has_low ? &band->low_hz : &band->high_hz))
        return lw_fail(err, LW_EUSAGE, "--%s: '%s' is no frequency such as 50 or 1.2kHz", option, item);
    snprintf(band->low_text, sizeof band->low_text, "--%s %s", option, item);
    snprintf(band->high_text, sizeof band->high_text, "--%s %s", option, item);
    const double edges[2] = {band->low_hz, band->high_hz};
    for (int i = 0; i < 2; i++) {
        if (edges[i] < 0)
            return lw_fail(err, LW_EUSAGE, "--%s %s: %.12g Hz is below 0", option, item, edges[i]);
        if (edges[i] > rate_hz / 2)
            return lw_fail(err, LW_EUSAGE, "--%s %s: %.12g Hz is beyond %.12g Hz, half of the input's sampling rate: the input has "
                           "no such frequency", option, item, edges[i], rate_hz / 2);
    }
    return LW_OK;
}

static int make_bands(const struct lw_options *given, const char *option, struct lw_bank *bank, struct lw_error *err)
{
    const char *at = lw_options_text(given, option);
    LW_FREED struct lw_band *bands = NULL;
    struct lw_band_length length;
    int count, rc;
    bank->norm = "gain";
    if ((rc = lw_bank_count_items(option, at, &count, err)))
        return rc;
    if (!(bands = lw_alloc_array(count, sizeof *bands, "bands", err)))
        return LW_ESYSTEM;
    for (int f = 0; rc == LW_OK && f < count; f++) {
        const int n = (int)strcspn(at, ",");
        rc = read_band(option, at, n, bank->rate_hz, &bands[f], err);
        at += n + 1;
    }
    rc = rc ? rc : lw_band_read_length(given, bands, count, &length, err);
    if (rc == LW_OK && length.n_taps == 0 && length.transition_hz == 0)
        length.transition_hz = lw_band_widest_transition(bank->rate_hz, bands, count) / 4;
    return rc ? rc : lw_band_design(bands, count, &length, bank, err);
}

static int make_boxcars(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    const char *at = lw_options_text(given, "boxcar");
    int64_t baseline;
    int count, rc;
    bank->norm = lw_options_choice(given, "norm") == 0 ? "gain" : "energy";
    if ((rc = lw_bank_count_items("boxcar", at, &count, err)))
        return rc;
    if (!(bank->parameters = lw_alloc_array(count, sizeof *bank->parameters, "widths", err)))
        return LW_ESYSTEM;
    for (int f = 0; f < count; f++) {
        char item[48];
        const int length = (int)strcspn(at, ",");
        snprintf(item, sizeof item, "%.*s", length, at);
        if ((rc = lw_boxcar_read_width("boxcar", item, bank->rate_hz, &bank->parameters[f], err)))
            return rc;
        at += length + 1;
    }
    if ((rc = lw_boxcar_read_baseline(given, bank->rate_hz, &baseline, err)))
        return rc;
    return lw_boxcar_design(count, baseline, bank, err);
}

/* Return whether a list of widths has a time: only times need the rate of the input. */
static bool has_times(const char *text)
{
    struct lw_stretch stretch;
    for (bool is_end = false; !is_end;) {
        char item[48];
        const int length = (int)strcspn(text, ",");
        snprintf(item, sizeof item, "%.*s", length, text);
        if (lw_parse_stretch(item, &stretch) == LW_PARSE_OK && stretch.is_time)
            return true;
        is_end = !text[length];
        text += length + 1;
    }
    return false;
}

/* Make, scale, measure and report the bank. Rank 0 only. */
static int make(const struct lw_options *given, const char *name, struct lw_bank *bank, struct lw_error *err)
{
    int k = 0, rc;
    while (strcmp(lw_filter_kinds[k]->name, name) != 0)
        k++;
    bank->kind = lw_filter_kinds[k];
    if ((rc = strcmp(name, "boxcar") == 0 ? make_boxcars(given, bank, err) : make_bands(given, name, bank, err)) ||
        (rc = lw_bank_scale(bank, err)) || (rc = lw_bank_measure(bank, err)))
        return rc;
    if (lw_options_flag(given, "correlate"))
        lw_bank_reverse(bank);
    lw_bank_report(bank, false);
    return LW_OK;
}

int lw_asked_design(const struct lw_options *given, const char *name, struct lw_comm *comm, const struct lw_dataset_info *input,
                    struct lw_bank *bank, struct lw_error *err)
{
    const bool is_first = lw_comm_rank(comm) == 0;
    *bank = (struct lw_bank){.rate_hz = input->axis.sample_rate_hz};
    const char *const baseline = lw_options_text(given, "baseline");
    const bool is_free = strcmp(name, "boxcar") == 0 && !has_times(lw_options_text(given, name)) &&
                         !(baseline && has_times(baseline));
    int rc = LW_OK;
    if (!is_free && input->axis.sample_rate_hz <= 0)
        rc = lw_fail(err, LW_EUSAGE, "--%s needs the sampling rate of %.600s, which the file does not have: give --sample-rate",
                     name, lw_dataset_name(input).text);
    if ((rc = lw_comm_agree(comm, rc == LW_OK && is_first ? make(given, name, bank, err) : rc, err)))
        return rc;
    int64_t shape[2] = {bank->n_filters, bank->n_taps};
    lw_comm_broadcast(comm, shape, sizeof shape);
    rc = is_first ? LW_OK : lw_bank_shape(bank, (int)shape[0], (double)shape[1], false, "fewer filters", err);
    if ((rc = lw_comm_agree(comm, rc, err)))
        return rc;
    lw_comm_broadcast(comm, bank->taps, bank->n_filters * lw_bank_values(bank) * (int64_t)sizeof *bank->taps);   /* same bits */
    return LW_OK;
}
