/* trial_data.c - makes the samples, taps and noise of a trial. */
#include "trial.h"

#include "base/integers.h"

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

double trial_clipped(enum lw_scalar scalar, double value)
{
    static const double low[LW_N_RESULT_SCALARS] = {INT8_MIN, 0, INT16_MIN, 0, INT32_MIN, [LW_FLOAT16] = -65504};
    static const double high[LW_N_RESULT_SCALARS] = {INT8_MAX, UINT8_MAX, INT16_MAX, UINT16_MAX, INT32_MAX, [LW_FLOAT16] = 65504};
    return fmin(fmax(value, low[scalar]), high[scalar]);
}

double trial_rounding(enum lw_scalar scalar, double value)
{
    return scalar == LW_FLOAT16 ? fmax(ldexp(fabs(value), -11), ldexp(1, -25)) : 0.5;
}

double trial_kept(enum lw_scalar scalar, double value)
{
    if (scalar == LW_FLOAT64)
        return value;
    if (scalar == LW_FLOAT32)
        return (double)(float)value;
    return trial_clipped(scalar, rint(value));
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

bool trial_is_dominated(const struct trial *trial)
{
    return trial->signal == TRIAL_EDGES || trial->signal == TRIAL_BURST;
}

static double sample_of(const struct trial *t, int64_t i, double noise)
{
    static const double loud = 1000;
    switch (t->signal) {
    case TRIAL_EDGES: return i == 0 || i == t->n_samples - 1 ? loud * noise : noise;
    case TRIAL_BURST: return i * 10 / t->n_samples == 4 ? loud * noise : noise;
    case TRIAL_RAMP: return (double)i / (double)t->n_samples + noise / 100;
    default: return noise;
    }
}

static void make_values(struct trial_data *data, uint64_t *state)
{
    const struct trial *const t = &data->trial;
    const int64_t n = t->n_channels * t->n_samples;
    for (int64_t i = 0; i < n; i++) {
        double parts[2];
        for (int part = 0; part < 2; part++) {
            const double value = sample_of(t, i % t->n_samples, trial_uniform(state));
            parts[part] = trial_kept(t->input.scalar, t->mean + t->spread * value);
        }
        data->values[i] = t->input.is_complex ? CMPLX(parts[0], parts[1]) : parts[0];
    }
}

static double tap_of(const struct trial *t, int64_t m, double random)
{
    switch (t->filter) {
    case TRIAL_BOXCAR: return 1;
    case TRIAL_POSITIVE: return fabs(random);
    case TRIAL_STEP: return 2 * m < t->n_taps ? 1 : -1;
    default: return random;
    }
}

/* Taps are exact in float32, so that rounding them does not count as the engine's error. */
static void make_taps(struct trial_data *data, uint64_t *state)
{
    const struct trial *const t = &data->trial;
    const int64_t parts = t->taps_complex ? 2 : 1, n = t->n_filters * t->n_taps * parts;
    for (int64_t i = 0; i < n; i++) {
        const double tap = tap_of(t, i / parts % t->n_taps, trial_uniform(state));
        data->taps[i] = (double)(float)(tap / sqrt((double)t->n_taps));
    }
}

void trial_store(struct trial_data *data)
{
    const struct trial *const t = &data->trial;
    const size_t bytes = lw_type_bytes(t->input);
    for (int64_t i = 0; i < t->n_channels * t->n_samples; i++) {
        const double parts[2] = {creal(data->values[i]), cimag(data->values[i])};
        for (size_t part = 0; part < bytes / lw_scalar_bytes(t->input.scalar); part++)
            trial_put_scalar(t->input, parts[part],
                             data->stored + (size_t)i * bytes + part * lw_scalar_bytes(t->input.scalar));
    }
}

/* The mean square of the taps is about 1/3, that of the samples spread^2 / 3. */
static void make_noise(struct trial_data *data)
{
    const struct trial *const t = &data->trial;
    uint64_t state = t->seed + 1;
    if (t->n_stretches > 0)
        lw_search_part(&data->trial.search, lw_max64(1, data->n_outputs / t->n_stretches), (int64_t)(t->seed % 1000),
                       data->n_outputs);
    const int64_t rows = lw_search_stretches(&t->search) * t->n_channels;
    data->noise = calloc((size_t)(rows * t->n_filters), sizeof *data->noise);
    if (!data->noise)
        abort();
    for (int64_t c = 0; c < rows; c++)
        for (int64_t f = 0; f < t->n_filters; f++) {
            const double noise = t->spread * (0.4 + 0.2 * trial_uniform(&state));
            data->noise[c * t->n_filters + f] = t->noise == TRIAL_NOISE_ZEROS && c % 2 == 0 && f % 3 == 1 ? 0 : noise;
        }
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
    if (trial->noise != TRIAL_NOISE_ONE)
        make_noise(data);
    data->n_results = lw_post_length(trial->post, data->n_outputs);
    data->trial.output.is_complex = (trial->input.is_complex || trial->taps_complex) && !lw_post_has(trial->post, LW_POST_REAL);
    make_values(data, &state);
    make_taps(data, &state);
    trial_store(data);
}

void trial_free(struct trial_data *data)
{
    free(data->values);
    free(data->taps);
    free(data->stored);
    free(data->noise);
}

double complex trial_sample(const struct trial_data *data, int64_t channel, int64_t position)
{
    const int64_t i = lw_boundary_index(data->trial.boundary, position, data->trial.n_samples);
    return i < 0 ? 0 : data->values[channel * data->trial.n_samples + i];
}

struct lw_op_spec trial_spec(const struct trial_data *data)
{
    const struct trial *const t = &data->trial;
    struct lw_search search = t->search;
    search.noise = data->noise;
    return (struct lw_op_spec){
        .kind = LW_OP_OLS,
        .input = t->input,
        .output = t->output,
        .output_scale = t->output_scale,
        .precision = t->precision,
        .layout = t->layout,
        .nan = t->nan,
        .n_channels = t->n_channels,
        .n_outputs = data->n_outputs,
        .ols = {
            .taps = lw_stored_doubles(data->taps, t->taps_complex),
            .n_filters = t->n_filters,
            .n_taps = t->n_taps,
            .taps_complex = t->taps_complex,
            .segment = t->segment,
            .post = t->post,
            .search = search,
        },
    };
}
