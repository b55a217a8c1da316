/* trial_data.c - samples and taps of a trial. */
#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t trial_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;              /* splitmix64 */
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double trial_uniform(uint64_t *state) { return ldexp((double)(trial_random(state) >> 12), -51) - 1; }

/* What a scalar type keeps of a number: rounded and saturated. */
double trial_kept(enum lw_scalar scalar, double value)
{
    static const double low[] = {INT8_MIN, 0, INT16_MIN, 0, INT32_MIN};
    static const double high[] = {INT8_MAX, UINT8_MAX, INT16_MAX, UINT16_MAX, INT32_MAX};
    if (scalar == LW_FLOAT64)
        return value;
    if (scalar == LW_FLOAT32)
        return (double)(float)value;
    return fmin(fmax(rint(value), low[scalar]), high[scalar]);
}

void trial_put_scalar(struct lw_type type, double value, char *to)
{
    const size_t bytes = lw_scalar_bytes(type.scalar);
    char raw[8];
    switch (type.scalar) {
#define X(name, ctype, text)                    \
    case name: {                                \
        const ctype number = (ctype)value;      \
        memcpy(raw, &number, sizeof number);    \
        break;                                  \
    }
        LW_SCALARS(X)
#undef X
    default: abort();
    }
    for (size_t i = 0; i < bytes; i++)
        to[i] = raw[type.is_swapped ? bytes - 1 - i : i];
}

static void make_values(struct trial_data *data, uint64_t *state)
{
    const struct trial *const t = &data->trial;
    const int64_t n = t->n_channels * t->n_samples;
    for (int64_t i = 0; i < n; i++) {
        const double re = trial_kept(t->input.scalar, t->mean + t->spread * trial_uniform(state));
        const double im = trial_kept(t->input.scalar, t->mean + t->spread * trial_uniform(state));
        data->values[i] = t->input.is_complex ? CMPLX(re, im) : re;
    }
}

/* Taps that float32 holds exactly, so that their own rounding is not counted as the engine's error; of random sign,
 * so that the sum over a filter stays near its norm even where the signal has a large mean. */
static void make_taps(struct trial_data *data, uint64_t *state)
{
    const struct trial *const t = &data->trial;
    const int64_t n = t->n_filters * t->n_taps * (t->taps_complex ? 2 : 1);
    for (int64_t i = 0; i < n; i++)
        data->taps[i] = (double)(float)(trial_uniform(state) / sqrt((double)t->n_taps));
}

void trial_store(struct trial_data *data)
{
    const struct trial *const t = &data->trial;
    const size_t bytes = lw_type_bytes(t->input);
    double sum = 0;
    int64_t n_finite = 0;
    for (int64_t i = 0; i < t->n_channels * t->n_samples; i++) {
        const double parts[2] = {creal(data->values[i]), cimag(data->values[i])};
        for (size_t part = 0; part < bytes / lw_scalar_bytes(t->input.scalar); part++)
            trial_put_scalar(t->input, parts[part],
                             data->stored + (size_t)i * bytes + part * lw_scalar_bytes(t->input.scalar));
        if (isfinite(parts[0]) && isfinite(parts[1]) && fabs(parts[0]) < 1e100) {
            sum += parts[0] * parts[0] + parts[1] * parts[1];
            n_finite++;
        }
    }
    data->rms = n_finite > 0 ? sqrt(sum / (double)n_finite) : 0;
}

void trial_make(const struct trial *trial, struct trial_data *data)
{
    uint64_t state = trial->seed;
    const int64_t n = trial->n_channels * trial->n_samples;
    *data = (struct trial_data){
        .trial = *trial,
        .n_outputs = lw_mode_length(trial->mode, trial->n_samples, trial->n_taps),
        .look_ahead = lw_mode_look_ahead(trial->mode, trial->n_taps),
        .lead = lw_mode_look_ahead(trial->mode, trial->n_taps) + lw_post_reach(trial->post).after,
        .values = calloc((size_t)n, sizeof(double complex)),
        .taps = calloc((size_t)(trial->n_filters * trial->n_taps), 2 * sizeof(double)),
        .stored = calloc((size_t)n, lw_type_bytes(trial->input)),
    };
    if (!data->values || !data->taps || !data->stored)
        abort();
    data->n_results = lw_post_length(trial->post, data->n_outputs);
    data->trial.output.is_complex = (trial->input.is_complex || trial->taps_complex) && !lw_post_is_real(trial->post);
    make_values(data, &state);
    make_taps(data, &state);
    trial_store(data);
}

void trial_free(struct trial_data *data)
{
    free(data->values);
    free(data->taps);
    free(data->stored);
}

double complex trial_sample(const struct trial_data *data, int64_t channel, int64_t position)
{
    const int64_t i = lw_boundary_index(data->trial.boundary, position, data->trial.n_samples);
    return i < 0 ? 0 : data->values[channel * data->trial.n_samples + i];
}

struct lw_op_spec trial_spec(const struct trial_data *data)
{
    const struct trial *const t = &data->trial;
    return (struct lw_op_spec){
        .kind = LW_OP_OLS,
        .input = t->input,
        .output = t->output,
        .precision = t->precision,
        .layout = t->layout,
        .nan = t->nan,
        .n_channels = t->n_channels,
        .n_outputs = data->n_outputs,
        .ols = {
            .taps = data->taps,
            .n_filters = t->n_filters,
            .n_taps = t->n_taps,
            .taps_complex = t->taps_complex,
            .segment = t->segment,
            .post = t->post,
        },
    };
}
