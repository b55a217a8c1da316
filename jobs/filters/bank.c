#include "jobs/filters/bank.h"

#include "base/memory.h"
#include "design/taps.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static void release_shape(struct lw_bank *bank)
{
    lw_free(bank->taps);
    lw_free(bank->references);
    lw_free(bank->delays);
    lw_free(bank->figures);
    lw_free(bank->bands);
    bank->taps = bank->references = bank->delays = NULL;
    bank->figures = NULL;
    bank->bands = NULL;
}

int lw_bank_shape(struct lw_bank *bank, int n_filters, double n_taps, bool is_complex, const char *remedy, struct lw_error *err)
{
    if (n_taps > LW_BANK_MOST_TAPS)
        return lw_fail(err, LW_EUSAGE, "a filter would have %.0f taps, but at most %d are possible: give %s", n_taps,
                       LW_BANK_MOST_TAPS, remedy);
    if (n_filters * n_taps > (double)LW_BANK_MOST_VALUES)
        return lw_fail(err, LW_EUSAGE, "%d filters of %.0f taps are %.0f taps in all, but a bank has at most %" PRId64 ": give %s, "
                       "or make several banks", n_filters, n_taps, n_filters * n_taps, LW_BANK_MOST_VALUES, remedy);
    release_shape(bank);
    bank->n_filters = n_filters;
    bank->n_taps = (int64_t)n_taps;
    bank->is_complex = is_complex;
    if (!(bank->taps = lw_alloc_array(n_filters * lw_bank_values(bank), sizeof *bank->taps, "taps", err)) ||
        !(bank->references = lw_alloc_array(n_filters, sizeof *bank->references, "taps", err)) ||
        !(bank->delays = lw_alloc_array(n_filters, sizeof *bank->delays, "taps", err)) ||
        !(bank->figures = lw_alloc_array(n_filters, sizeof *bank->figures, "taps", err)) ||
        !(bank->bands = lw_alloc_array(n_filters, sizeof *bank->bands, "taps", err)))
        return LW_ESYSTEM;
    for (int f = 0; f < n_filters; f++)
        bank->delays[f] = (double)(bank->n_taps - 1) / 2;
    return LW_OK;
}

int lw_bank_shape_kernels(struct lw_bank *bank, const struct lw_options *given, int n_kernels, double reach, struct lw_error *err)
{
    const int64_t wanted = lw_options_int(given, "size");
    if (lw_options_given(given, "size") && wanted % 2 == 0)
        return lw_fail(err, LW_EUSAGE, "--size %" PRId64 " is even: the kernel's middle would lie between two pixels; give %" PRId64
                       " or %" PRId64, wanted, wanted - 1, wanted + 1);
    const double size = lw_options_given(given, "size") ? (double)wanted : 2 * ceil(reach) + 1;
    bank->columns = (int64_t)size;
    return lw_bank_shape(bank, n_kernels, size * size, false, "a smaller --size", err);
}

void lw_bank_release(struct lw_bank *bank)
{
    release_shape(bank);
    if (bank->series.context)
        bank->series.release(bank->series.context);
    lw_reader_close(bank->data.reader);
    lw_free(bank->parameters);
    lw_free(bank->shown);
    for (int i = 0; i < bank->n_notes; i++)
        lw_free((void *)bank->notes[i].reals);
    *bank = (struct lw_bank){0};
}

void lw_bank_note_real(struct lw_bank *bank, const char *name, double value)
{
    assert(bank->n_notes < LW_BANK_NOTES);
    bank->notes[bank->n_notes++] = (struct lw_attribute){.name = name, .kind = LW_ATTRIBUTE_REAL, .real = value};
}

void lw_bank_note_int(struct lw_bank *bank, const char *name, int64_t value)
{
    assert(bank->n_notes < LW_BANK_NOTES);
    bank->notes[bank->n_notes++] = (struct lw_attribute){.name = name, .kind = LW_ATTRIBUTE_INT, .integer = value};
}

double *lw_bank_note_each(struct lw_bank *bank, const char *name, struct lw_error *err)
{
    assert(bank->n_notes < LW_BANK_NOTES);
    double *const values = lw_alloc_array(bank->n_filters, sizeof *values, "attributes", err);
    if (values)
        bank->notes[bank->n_notes++] = (struct lw_attribute){.name = name, .kind = LW_ATTRIBUTE_REALS, .reals = values,
                                                             .n_reals = bank->n_filters};
    return values;
}

int lw_bank_measure(struct lw_bank *bank, struct lw_error *err)
{
    for (int f = 0; f < bank->n_filters && bank->columns > 0; f++)      /* no response is measured in two dimensions */
        bank->figures[f] = (struct lw_filter_figures){
            lw_response_at(lw_bank_filter(bank, f), bank->n_taps, 1, 0), lw_taps_energy(lw_bank_filter(bank, f), bank->n_taps),
            NAN, NAN, NAN, NAN};
    if (bank->columns > 0)
        return LW_OK;
    const int64_t n = lw_response_work(lw_response_points(bank->n_taps));
    LW_FREED double *const work = lw_alloc_array(n, sizeof *work, "a response", err);
    if (!work)
        return LW_ESYSTEM;
    for (int f = 0; f < bank->n_filters; f++)
        lw_response_measure(lw_bank_filter(bank, f), bank->n_taps, lw_bank_parts(bank), bank->references[f],
                            bank->has_bands ? &bank->bands[f] : NULL, work, &bank->figures[f]);
    return LW_OK;
}

void lw_bank_reverse(const struct lw_bank *bank)
{
    for (int f = 0; f < bank->n_filters; f++) {
        lw_taps_reverse(bank->taps + f * lw_bank_values(bank), bank->n_taps, lw_bank_parts(bank));
        bank->delays[f] = (double)(bank->n_taps - 1) - bank->delays[f];
    }
}

int lw_bank_scale(const struct lw_bank *bank, struct lw_error *err)
{
    for (int f = 0; f < bank->n_filters; f++) {
        double *const taps = lw_bank_filter(bank, f);
        const double size = strcmp(bank->norm, "energy") == 0
            ? sqrt(lw_taps_energy(taps, lw_bank_values(bank)))
            : lw_response_at(taps, bank->n_taps, lw_bank_parts(bank), bank->references[f]);
        if (!isfinite(1 / size))
            return lw_fail(err, LW_EUSAGE, "filter %d passes nothing at %.6g Hz, where its gain should be 1: give more --taps or "
                           "--norm energy", f, bank->references[f] * bank->rate_hz);
        lw_taps_scale(1 / size, taps, lw_bank_values(bank));
    }
    return LW_OK;
}

int lw_bank_read_frequency(const struct lw_bank *bank, const struct lw_options *given, const char *name, double *hz,
                           struct lw_error *err)
{
    *hz = lw_options_real(given, name);
    if (*hz > bank->rate_hz / 2)
        return lw_fail(err, LW_EUSAGE, "--%s %.12g Hz is beyond %.12g Hz, half of --rate %.12g: signals of that rate have no such "
                       "frequency; correct one of the two options", name, *hz, bank->rate_hz / 2, bank->rate_hz);
    return LW_OK;
}

static int parse_item(const struct lw_bank_list *list, const char *item, const char *text, double *number, struct lw_error *err)
{
    int64_t whole = 0;
    enum lw_parse (*const parse)(const char *, double *) = list->parse ? list->parse : lw_parse_real;
    const enum lw_parse outcome = list->is_whole ? lw_parse_int(item, &whole) : parse(item, number);
    if (list->is_whole)
        *number = (double)whole;
    if (!item[0])
        return lw_fail(err, LW_EUSAGE, "--%s: an item of '%s' is empty; give numbers separated by single commas",
                       list->option, text);
    if (outcome == LW_PARSE_MALFORMED)
        return lw_fail(err, LW_EUSAGE, "--%s: '%s' is not a %s", list->option, item,
                       list->is_whole                      ? "whole number such as 16"
                       : list->parse == lw_parse_duration  ? "time such as 0.5, 20ms or 2min (a number alone: seconds)"
                       : list->parse == lw_parse_frequency ? "frequency such as 500 or 4kHz (a number alone: Hz)"
                                                           : "finite number such as 0.5");
    if (outcome != LW_PARSE_OK || *number < list->least || *number > list->most)
        return lw_fail(err, LW_EUSAGE, "--%s: %s is not in %.12g..%.12g %s", list->option, item, list->least, list->most,
                       list->unit);
    return LW_OK;
}

int lw_bank_count_items(const char *option, const char *text, int *count, struct lw_error *err)
{
    *count = 1;
    for (; *text; text++)
        *count += *text == ',';
    if (*count > LW_BANK_MOST_FILTERS)
        return lw_fail(err, LW_EUSAGE, "--%s: %d numbers are too many, a bank has at most %d filters; make several banks", option,
                       *count,
                       LW_BANK_MOST_FILTERS);
    return LW_OK;
}

int lw_bank_read_list(const struct lw_options *given, const struct lw_bank_list *list, double **numbers, int *count,
                      struct lw_error *err)
{
    const char *const text = lw_options_text(given, list->option);
    int n_items, rc;
    if ((rc = lw_bank_count_items(list->option, text, &n_items, err)))
        return rc;
    double *const found = lw_alloc_array(n_items, sizeof *found, "a list", err);
    if (!found)
        return LW_ESYSTEM;
    const char *at = text;
    for (int i = 0; i < n_items; i++) {
        char item[64];
        const int length = (int)strcspn(at, ",");
        snprintf(item, sizeof item, "%.*s", length, at);
        if ((rc = parse_item(list, item, text, &found[i], err))) {
            lw_free(found);
            return rc;
        }
        at += length + 1;
    }
    *numbers = found;
    *count = n_items;
    return LW_OK;
}
