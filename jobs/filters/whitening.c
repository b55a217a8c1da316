#include "jobs/filters/whitening.h"

#include "base/integers.h"
#include "base/memory.h"
#include "design/welch.h"
#include "design/whiten.h"
#include "job/coordinates.h"
#include "jobs/filters/asked.h"

#include <inttypes.h>
#include <stdio.h>

/* Least and most samples of a segment: fewer give too few frequencies, and more are surely a mistake. */
#define LEAST_SEGMENT 16
#define MOST_SEGMENT (1 << 26)

static int parts_of(const struct lw_job *job) { return job->op.ols.taps_complex ? 2 : 1; }

/* Turn --whiten TIME into an even number of samples. */
static int choose_segment(const struct lw_options *given, const struct lw_job *job, int64_t *segment, struct lw_error *err)
{
    const double seconds = lw_options_real(given, "whiten"), rate_hz = job->inputs[0].axis.sample_rate_hz;
    const double samples = 2 * round(seconds * rate_hz / 2);
    if (samples < LEAST_SEGMENT || samples > MOST_SEGMENT)
        return lw_fail(err, LW_ECONFIG, "--whiten %.12g s is %.12g samples at %.12g Hz; a segment must have %d to %d", seconds,
                       samples,
                       rate_hz, LEAST_SEGMENT, MOST_SEGMENT);
    if (samples > (double)job->window_count)
        return lw_fail(err, LW_ECONFIG, "--whiten %.12g s is %.12g samples, but the input has only %" PRId64 ": give fewer seconds",
                       seconds, samples, job->window_count);
    *segment = (int64_t)samples;
    return LW_OK;
}

static int choose_band(const struct lw_options *given, struct lw_whitening *whitening, struct lw_error *err)
{
    const double step = whitening->rate_hz / (double)whitening->segment;
    const char *const text = lw_options_text(given, "whiten-band");
    whitening->high_hz = whitening->rate_hz / 2;
    if (!text)
        return LW_OK;
    const int rc = lw_asked_read_pair("whiten, band", text, &whitening->low_hz, &whitening->high_hz, err);
    if (rc)
        return rc;
    if (whitening->low_hz < 0 || whitening->high_hz > whitening->rate_hz / 2)
        return lw_fail(err, LW_EUSAGE, "--whiten band=%s is not within 0 and %.12g Hz, half of the input's sampling rate", text,
                       whitening->rate_hz / 2);
    if (floor(whitening->high_hz / step) < fmax(1, ceil(whitening->low_hz / step)))
        return lw_fail(err, LW_EUSAGE, "--whiten band=%s holds none of the spectrum's frequencies, which are %.6g Hz apart: give a "
                       "wider band or a longer time", text, step);
    return LW_OK;
}

/* Move the filters to job->whitening. If they are all held, allocate job->taps for the whitened filters. */
static int make_room(struct lw_job *job, struct lw_error *err)
{
    struct lw_whitening *const whitening = job->whitening;
    struct lw_ols_spec *const ols = &job->op.ols;
    const int64_t n_taps = lw_whitened_taps(ols->n_taps, whitening->segment);
    whitening->n_taps = ols->n_taps;
    int64_t values;
    if (__builtin_mul_overflow(n_taps * parts_of(job), (int64_t)ols->n_filters, &values))
        return lw_fail(err, LW_ECONFIG, "--whiten makes %d filters of %" PRId64 " taps, more than any memory holds: give fewer "
                       "seconds", ols->n_filters, n_taps);
    whitening->made = job->taps;
    whitening->stored = ols->taps;
    job->taps = NULL;
    job->reference_tap += (n_taps - ols->n_taps) / 2;
    ols->n_taps = n_taps;
    if ((whitening->stored.data && !(job->taps = lw_alloc_array(values, sizeof *job->taps, "whitened filters", err))) ||
        !(whitening->spectrum = lw_alloc_array(lw_welch_frequencies(whitening->segment), sizeof *whitening->spectrum,
                                               "the power spectrum", err)))
        return LW_ESYSTEM;
    ols->taps = lw_stored_doubles(job->taps, ols->taps_complex);
    return LW_OK;
}

int lw_whitening_choose(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    int64_t segment = 0;
    int rc;
    if (!lw_options_given(given, "whiten") && lw_options_given(given, "whiten-band"))
        return lw_fail(err, LW_EUSAGE, "--whiten band= needs the length of the segments before it, as in --whiten 4s,band=15:1700");
    if (!lw_options_given(given, "whiten"))
        return LW_OK;
    const struct lw_dataset_info *const input = &job->inputs[0];
    char text[40];
    if (job->op.input.is_complex)
        return lw_fail(err, LW_ECONFIG, "--whiten takes real samples; %.600s has %s", lw_dataset_name(input).text,
                       lw_type_text(job->op.input, text));
    if (job->op.n_channels > 1)
        return lw_fail(err, LW_ECONFIG, "--whiten takes a single channel, not %" PRId64 ": choose one with --channels C",
                       job->op.n_channels);
    if (input->axis.sample_rate_hz <= 0)
        return lw_fail(err, LW_EUSAGE, "--whiten needs the sampling rate of %.600s, which the file does not have: give "
                       "--sample-rate", lw_dataset_name(input).text);
    if ((rc = choose_segment(given, job, &segment, err)))
        return rc;
    if (!(job->whitening = lw_alloc(sizeof *job->whitening, "whitening", err)))
        return LW_ESYSTEM;
    *job->whitening = (struct lw_whitening){.segment = segment, .rate_hz = input->axis.sample_rate_hz};
    rc = choose_band(given, job->whitening, err);
    return rc ? rc : make_room(job, err);
}

void lw_whitening_release(struct lw_job *job)
{
    if (job->whitening) {
        lw_free(job->whitening->made);
        lw_free(job->whitening->spectrum);
    }
    lw_free(job->whitening);
    job->whitening = NULL;
}

void lw_whitening_describe_taps(const struct lw_job *job, struct lw_product *product)
{
    lw_product_note_real(product, "sample_rate_hz", job->whitening->rate_hz);
    lw_product_note_text(product, "kind", "whitened");
    lw_product_note_text(product, "design", "the filters asked for, convolved with the transform of the inverse of /psd, which a "
                         "Hann window truncates, and scaled so that noise of that spectrum gets a standard deviation of 1");
    lw_product_note_int(product, "taps_before", job->whitening->n_taps);
    lw_product_note_real(product, "whitened_from_hz", job->whitening->low_hz);
    lw_product_note_real(product, "whitened_to_hz", job->whitening->high_hz);
}

void lw_whitening_shape_spectrum(struct lw_job *job)
{
    const struct lw_whitening *const whitening = job->whitening;
    const char *const unit = job->inputs[0].axis.unit;
    const double step_hz = whitening->rate_hz / (double)whitening->segment;
    struct lw_product *const product = &job->products[job->n_products + job->n_given++];
    product->values = whitening->spectrum;
    product->dataset = (struct lw_writer_dataset){
        .path = "/psd", .type = {.scalar = LW_FLOAT64}, .n_dims = 1, .dims = {lw_welch_frequencies(whitening->segment)},
        .dim_names = {"frequency"},
    };
    const struct lw_writer_scale scale = {.step = 1, .distance = step_hz, .units = "Hz", .long_name = "frequency"};
    lw_coordinates_place(product, 0, scale);
    lw_product_note_text(product, "method", "Welch: median over segments that overlap by half, divided by its bias; Hann window; "
                         "one-sided");
    lw_product_note_real(product, "first_frequency_hz", 0);
    lw_product_note_real(product, "frequency_step_hz", step_hz);
    lw_product_note_int(product, "segment_samples", whitening->segment);
    if (unit[0]) {
        snprintf(job->psd_unit, sizeof job->psd_unit, "(%s)^2/Hz", unit);
        lw_product_note_unit(product, job->psd_unit);
    }
}

int lw_whitening_make(struct lw_job *job, const struct lw_stored_taps *stored, int64_t first, int64_t n, struct lw_error *err)
{
    const struct lw_whitening *const whitening = job->whitening;
    const struct lw_whiten_spec spec = {
        .filters = *stored, .first = first, .n_filters = (int)n, .n_taps = whitening->n_taps, .parts = parts_of(job),
        .spectrum = whitening->spectrum, .n = whitening->segment, .rate_hz = whitening->rate_hz, .low_hz = whitening->low_hz,
        .high_hz = whitening->high_hz, .n_threads = (int)lw_max64(1, whitening->n_threads),
    };
    return lw_whiten(&spec, job->taps, err);
}
