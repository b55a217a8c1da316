/* summary.c - the attributes and log lines that describe the filters of a bank. */
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "jobs/filters/bank.h"

#include <inttypes.h>
#include <stdio.h>

/* The figures of a filter and the names of their attributes. */
static const struct {
    const char *name;
    size_t offset;
    bool is_frequency;
} figures[LW_BANK_FIGURES] = {
    {"gain", offsetof(struct lw_filter_figures, gain), false},
    {"energy", offsetof(struct lw_filter_figures, energy), false},
    {"ripple_db", offsetof(struct lw_filter_figures, ripple_db), false},
    {"attenuation_db", offsetof(struct lw_filter_figures, attenuation_db), false},
    {"low_edge_hz", offsetof(struct lw_filter_figures, edge_low), true},
    {"high_edge_hz", offsetof(struct lw_filter_figures, edge_high), true},
};

static void add_text(struct lw_bank_attributes *notes, const char *name, const char *text)
{
    notes->list[notes->count++] = (struct lw_attribute){.name = name, .kind = LW_ATTRIBUTE_TEXT, .text = text};
}

/* Add a number for each filter: an array, or a plain number if there is one filter. */
static void add_numbers(struct lw_bank_attributes *notes, const char *name, const double *numbers, int count)
{
    notes->list[notes->count++] = count == 1
        ? (struct lw_attribute){.name = name, .kind = LW_ATTRIBUTE_REAL, .real = numbers[0]}
        : (struct lw_attribute){.name = name, .kind = LW_ATTRIBUTE_REALS, .reals = numbers, .n_reals = count};
}

int lw_bank_describe(struct lw_bank *bank, struct lw_bank_attributes *notes, struct lw_error *err)
{
    *notes = (struct lw_bank_attributes){0};
    const int64_t count = bank->series.make ? 0 : (int64_t)LW_BANK_FIGURES * bank->n_filters;
    if (!(bank->shown = lw_alloc_array(count, sizeof *bank->shown, "attributes", err)))
        return LW_ESYSTEM;
    if (bank->rate_hz > 0)
        add_numbers(notes, "sample_rate_hz", &bank->rate_hz, 1);
    add_text(notes, "kind", bank->kind->name);
    add_text(notes, "design", bank->design);
    if (bank->norm)
        add_text(notes, "norm", bank->norm);
    for (int i = 0; i < bank->n_notes; i++)
        if (bank->notes[i].kind == LW_ATTRIBUTE_REALS)
            add_numbers(notes, bank->notes[i].name, bank->notes[i].reals, bank->notes[i].n_reals);
        else
            notes->list[notes->count++] = bank->notes[i];
    if (bank->kind->parameter_name)
        add_numbers(notes, bank->kind->parameter_name, bank->parameters, bank->n_filters);
    if (bank->series.make)
        return LW_OK;
    if (bank->columns == 0)
        add_numbers(notes, "group_delay_samples", bank->delays, bank->n_filters);
    /* A figure is left out if it is NaN for all filters, or a frequency in Hz and the rate is not known. */
    for (int i = 0; i < LW_BANK_FIGURES; i++) {
        bool has_any = false;
        double *const numbers = bank->shown + (ptrdiff_t)i * bank->n_filters;
        for (int f = 0; f < bank->n_filters; f++) {
            memcpy(&numbers[f], (const char *)&bank->figures[f] + figures[i].offset, sizeof *numbers);
            numbers[f] *= figures[i].is_frequency ? bank->rate_hz : 1;
            has_any = has_any || !isnan(numbers[f]);
        }
        if (has_any && (!figures[i].is_frequency || bank->rate_hz > 0))
            add_numbers(notes, figures[i].name, numbers, bank->n_filters);
    }
    return LW_OK;
}

enum { MOST_SAID = 64 };

/* Return a frequency as the log shows it: in Hz, or in cycles per sample if the rate is not known. */
static double shown(const struct lw_bank *bank, double frequency)
{
    return bank->rate_hz > 0 ? frequency * bank->rate_hz : frequency;
}

static const char *unit(const struct lw_bank *bank) { return bank->rate_hz > 0 ? "Hz" : "cycles per sample"; }

static void report_filter(const struct lw_bank *bank, int f)
{
    const struct lw_filter_figures *const figure = &bank->figures[f];
    char line[400], parameter[80] = "";
    if (bank->kind->parameter_text)
        snprintf(parameter, sizeof parameter, bank->kind->parameter_text, bank->parameters[f]);
    if (bank->columns > 0) {
        lw_log_info("kernel %d: %s%s%s, %" PRId64 " x %" PRId64 " elements, sum %.6g, energy %.6g", f, bank->kind->name,
                    parameter[0] ? " " : "", parameter, bank->n_taps / bank->columns, bank->columns, figure->gain, figure->energy);
        return;
    }
    snprintf(line, sizeof line, "filter %d: %s%s%s, %" PRId64 " %s taps, gain %.6g at %.6g %s, energy %.6g", f, bank->kind->name,
             parameter[0] ? " " : "", parameter, bank->n_taps, bank->is_complex ? "complex" : "real", figure->gain,
             shown(bank, bank->references[f]), unit(bank), figure->energy);
    if (bank->has_bands && isnan(figure->ripple_db))
        lw_append(line, sizeof line, ", no flat pass band");
    else if (bank->has_bands)
        lw_append(line, sizeof line, ", ripple %.2g dB", figure->ripple_db);
    if (bank->has_bands && isnan(figure->attenuation_db))
        lw_append(line, sizeof line, ", no stop band");
    else if (bank->has_bands)
        lw_append(line, sizeof line, ", attenuation %.1f dB", figure->attenuation_db);
    lw_append(line, sizeof line, ", within 3 dB from %.6g to %.6g %s, delay %.12g samples", shown(bank, figure->edge_low),
              shown(bank, figure->edge_high), unit(bank), bank->delays[f]);
    if (bank->rate_hz > 0)
        lw_append(line, sizeof line, " (%.6g s)", bank->delays[f] / bank->rate_hz);
    lw_log_info("%s", line);
}

void lw_bank_report(const struct lw_bank *bank, bool is_single)
{
    for (int f = 0; f < bank->n_filters && f < MOST_SAID; f++)
        report_filter(bank, f);
    if (bank->n_filters > MOST_SAID)
        lw_log_info("and %d more: the attributes of the dataset describe them all", bank->n_filters - MOST_SAID);
    double reached = INFINITY;
    const double wanted = bank->attenuation_wanted_db;
    for (int f = 0; f < bank->n_filters; f++)
        reached = fmin(reached, bank->figures[f].attenuation_db);
    if (bank->has_bands && reached < wanted - 0.5)
        lw_log_warn("the attenuation is %.1f dB, %.1f dB less than --attenuation: %s", reached, wanted - reached,
                    is_single ? "float32 limits it; give --type float64" : "give more --taps or a wider --transition");
}
