#include "io/archive/spectra.h"

#include "base/integers.h"
#include "io/bytes/transfer.h"

#include <string.h>

/* Of the file, read at a time; and samples picked out of more, at a time. Both are on the stack of an I/O thread. */
enum { RAW_BYTES = 64 << 10, PICKED_BYTES = 64 << 10 };

/* Spectra are read with what lies between the wanted samples of two, where that is little. */
enum { NEAR_BYTES = 4096 };

struct lw_type lw_spectra_type(int bits, bool is_signed, int n_summed)
{
    const bool is_sum = n_summed > 1;
    enum lw_scalar scalar = LW_FLOAT32;
    if (bits < 8 || (bits == 8 && !is_signed))
        scalar = is_sum && bits == 8 ? LW_UINT16 : LW_UINT8;
    else if (bits == 8)
        scalar = is_sum ? LW_INT16 : LW_INT8;
    else if (bits == 16)
        scalar = is_sum ? LW_INT32 : is_signed ? LW_INT16 : LW_UINT16;
    return (struct lw_type){.scalar = scalar};
}

void lw_spectra_prepare(struct lw_spectra *spectra)
{
    const int bits = spectra->bits;
    for (int byte = 0; bits < 8 && byte < 256; byte++)
        for (int i = 0; i < 8 / bits; i++) {
            const int shift = spectra->is_high_first ? 8 - bits * (i + 1) : bits * i;
            spectra->unpacked[byte][i] = (uint8_t)(byte >> shift & ((1 << bits) - 1));
        }
}

/* ---- stored samples -------------------------------------------------------------------------------------------------- */

/* Whole bytes; `per` samples in each is a constant where this is called. */
static inline void unpack_bytes(const uint8_t unpacked[256][8], const uint8_t *raw, int64_t n_bytes, size_t per, uint8_t *out)
{
    for (int64_t b = 0; b < n_bytes; b++)
        memcpy(out + b * (int64_t)per, unpacked[raw[b]], per);
}

/* n samples from number `skip` of the first byte on. */
static void unpack(const struct lw_spectra *spectra, const uint8_t *raw, int64_t skip, int64_t n, uint8_t *out)
{
    const int64_t per = 8 / spectra->bits, head = skip > 0 ? lw_min64(per - skip, n) : 0;
    if (head > 0) {
        memcpy(out, spectra->unpacked[*raw++] + skip, (size_t)head);
        out += head;
    }
    const int64_t n_bytes = (n - head) / per, tail = (n - head) % per;
    if (per == 8)
        unpack_bytes(spectra->unpacked, raw, n_bytes, 8, out);
    else if (per == 4)
        unpack_bytes(spectra->unpacked, raw, n_bytes, 4, out);
    else
        unpack_bytes(spectra->unpacked, raw, n_bytes, 2, out);
    if (tail > 0)
        memcpy(out + n_bytes * per, spectra->unpacked[raw[n_bytes]], (size_t)tail);
}

/* Bytes of the file from `offset` on that hold what a patch wants of one IF: a bit more at either end, where samples share
 * bytes. */
struct raw {
    int64_t first_bit;                  /* of the first byte */
    uint8_t bytes[RAW_BYTES];
};

static int64_t spectrum_samples(const struct lw_spectra *spectra) { return spectra->n_ifs * spectra->n_channels; }

static int read_raw(const struct lw_spectra *spectra, int64_t offset, const struct lw_patch *patch, int64_t n_if, struct raw *raw,
                    struct lw_error *err)
{
    const int64_t per_spectrum = spectrum_samples(spectra);
    const int64_t first = (patch->time * per_spectrum + n_if * spectra->n_channels + patch->channel) * spectra->bits;
    const int64_t end = first + ((patch->n_times - 1) * per_spectrum + patch->n_channels) * spectra->bits;
    raw->first_bit = first % 8;
    return lw_bytes_read(spectra->fd, raw->bytes, offset + first / 8, lw_divide_up(end, 8) - first / 8, err);
}

/* Samples of spectrum t of the patch, as they are stored. @param line  room for them, where they share bytes */
static const void *raw_line(const struct lw_spectra *spectra, const struct lw_patch *patch, const struct raw *raw, int64_t t,
                            uint8_t *line)
{
    const int64_t bit = raw->first_bit + t * spectrum_samples(spectra) * spectra->bits;
    const uint8_t *const at = raw->bytes + bit / 8;
    if (spectra->bits >= 8)
        return at;
    unpack(spectra, at, bit % 8 / spectra->bits, patch->n_channels, line);
    return line;
}

/* Spectra whose bytes, with those between them, fit what is read at a time. */
static int64_t times_at_once(const struct lw_spectra *spectra, const struct lw_patch *patch)
{
    const int64_t stride = spectrum_samples(spectra) * spectra->bits, width = patch->n_channels * spectra->bits;
    const int64_t room = 8 * (RAW_BYTES - 2);
    return (stride - width) / 8 > NEAR_BYTES ? 1 : lw_min64(patch->n_times, (room - width) / stride + 1);
}

/* ---- values ---------------------------------------------------------------------------------------------------------- */

static uint16_t ordered16(uint16_t word, bool is_swapped) { return is_swapped ? __builtin_bswap16(word) : word; }
static uint32_t ordered32(uint32_t word, bool is_swapped) { return is_swapped ? __builtin_bswap32(word) : word; }

static double value16(const uint8_t *at, struct lw_type type)
{
    uint16_t word;
    memcpy(&word, at, sizeof word);
    word = ordered16(word, type.is_swapped);
    return type.scalar == LW_INT16 ? (int16_t)word : word;
}

static double value32(const uint8_t *at, struct lw_type type)
{
    uint32_t word;
    float value;
    memcpy(&word, at, sizeof word);
    word = ordered32(word, type.is_swapped);
    memcpy(&value, &word, sizeof value);
    return value;
}

static void to_values(struct lw_type type, const uint8_t *stored, int64_t n, double *values)
{
    for (int64_t i = 0; type.scalar == LW_UINT8 && i < n; i++)
        values[i] = stored[i];
    for (int64_t i = 0; type.scalar == LW_INT8 && i < n; i++)
        values[i] = (int8_t)stored[i];
    for (int64_t i = 0; (type.scalar == LW_INT16 || type.scalar == LW_UINT16) && i < n; i++)
        values[i] = value16(stored + 2 * i, type);
    for (int64_t i = 0; type.scalar == LW_FLOAT32 && i < n; i++)
        values[i] = value32(stored + 4 * i, type);
}

static void from_values(struct lw_type type, const double *values, int64_t n, void *into)
{
    switch (type.scalar) {
#define X(name, ctype, text)                            \
    case name:                                          \
        for (int64_t i = 0; i < n; i++)                 \
            ((ctype *)into)[i] = (ctype)values[i];      \
        break;
        LW_SCALARS(X)
#undef X
    case LW_FLOAT16:
        break;
    }
}

static void apply(const struct lw_levels *levels, int s, int64_t n, double *values)
{
    const float *const scale = levels->scale[s], *const offset = levels->offset[s], *const weight = levels->weight;
    const double zero = levels->zero;
    for (int64_t i = 0; i < n; i++)
        values[i] = ((values[i] - zero) * (double)scale[i] + (double)offset[i]) * (double)weight[i];
}

/* One spectrum of the patch, from what was read of each IF. */
static void compute_line(const struct lw_spectra *spectra, const struct lw_patch *patch, const struct raw *raw,
                         const struct lw_levels *levels, int64_t t)
{
    const int64_t n = patch->n_channels;
    uint8_t line[LW_PATCH_CHANNELS];
    double values[LW_PATCH_CHANNELS], more[LW_PATCH_CHANNELS];
    for (int s = 0; s < spectra->n_summed; s++) {
        double *const to = s == 0 ? values : more;
        to_values(spectra->stored, raw_line(spectra, patch, &raw[s], t, line), n, to);
        if (levels)
            apply(levels, s, n, to);
        for (int64_t i = 0; s > 0 && i < n; i++)
            values[i] += more[i];
    }
    from_values(spectra->given, values, n, patch->into + t * patch->pitch);
}

static void copy_line(const struct lw_spectra *spectra, const struct lw_patch *patch, const struct raw *raw, int64_t t)
{
    char *const into = patch->into + t * patch->pitch;
    const void *const line = raw_line(spectra, patch, raw, t, (uint8_t *)into);
    if (line != into)
        memcpy(into, line, (size_t)patch->n_channels * lw_type_bytes(spectra->given));
}

static bool are_copied(const struct lw_spectra *spectra, const struct lw_levels *levels)
{
    return spectra->n_summed == 1 && !levels && spectra->given.scalar == spectra->stored.scalar &&
           spectra->given.is_swapped == spectra->stored.is_swapped;
}

int lw_spectra_read(const struct lw_spectra *spectra, int64_t offset, const struct lw_patch *patch, const struct lw_levels *levels,
                    struct lw_error *err)
{
    struct raw raw[LW_MAX_SUMMED];
    struct lw_patch part = *patch;
    for (int64_t rest = patch->n_times; rest > 0; rest -= part.n_times) {
        part.n_times = rest;
        part.n_times = times_at_once(spectra, &part);
        int rc = LW_OK;
        for (int s = 0; rc == LW_OK && s < spectra->n_summed; s++)
            rc = read_raw(spectra, offset, &part, spectra->summed[s], &raw[s], err);
        if (rc)
            return rc;
        for (int64_t t = 0; t < part.n_times; t++)
            if (are_copied(spectra, levels))
                copy_line(spectra, &part, raw, t);
            else
                compute_line(spectra, &part, raw, levels, t);
        part.time += part.n_times;
        part.into += part.n_times * part.pitch;
    }
    return LW_OK;
}

/* ---- boxes ----------------------------------------------------------------------------------------------------------- */

/* A box of spectra: [time x channel] also where the dataset is one long spectrum. */
struct region {
    int64_t time, time_step, n_times;
    int64_t channel, channel_step, n_channels;
    int64_t pitch;                      /* in memory, bytes from one spectrum to the next */
    int64_t sample_bytes;
    char *into;
    lw_patch_fn *read;
    const void *dataset;
};

/* Of channels [c, c + n) of the region, times [t, t + n_times). */
static struct lw_patch patch_at(const struct region *region, int64_t t, int64_t n_times, int64_t c, int64_t n)
{
    return (struct lw_patch){
        .time = region->time + t * region->time_step, .n_times = n_times, .channel = region->channel + c * region->channel_step,
        .n_channels = (n - 1) * region->channel_step + 1, .into = region->into + t * region->pitch + c * region->sample_bytes,
        .pitch = region->pitch,
    };
}

/* Read the channels between as well, and take every step-th: n of each spectrum. */
static int read_picked(const struct region *region, struct lw_patch patch, int64_t n, struct lw_error *err)
{
    char samples[PICKED_BYTES];
    const int64_t bytes = region->sample_bytes, pitch = patch.pitch;
    char *const into = patch.into;
    patch.into = samples;
    patch.pitch = patch.n_channels * bytes;
    const int rc = region->read(region->dataset, &patch, err);
    for (int64_t t = 0; rc == LW_OK && t < patch.n_times; t++)
        for (int64_t i = 0; i < n; i++)
            memcpy(into + t * pitch + i * bytes, samples + t * patch.pitch + i * region->channel_step * bytes, (size_t)bytes);
    return rc;
}

static int64_t times_of_region(const struct region *region, int64_t n)
{
    if (region->time_step > 1)
        return 1;
    const int64_t picked = ((n - 1) * region->channel_step + 1) * region->sample_bytes;
    return region->channel_step > 1 ? lw_min64(region->n_times, PICKED_BYTES / picked) : region->n_times;
}

static int read_channels(const struct region *region, int64_t c, int64_t n, struct lw_error *err)
{
    const int64_t at_once = times_of_region(region, n);
    int rc = LW_OK;
    for (int64_t t = 0; rc == LW_OK && t < region->n_times; t += at_once) {
        const struct lw_patch patch = patch_at(region, t, lw_min64(at_once, region->n_times - t), c, n);
        rc = region->channel_step > 1 ? read_picked(region, patch, n, err) : region->read(region->dataset, &patch, err);
    }
    return rc;
}

static int read_region(const struct region *region, struct lw_error *err)
{
    const int64_t at_once = (LW_PATCH_CHANNELS - 1) / region->channel_step + 1;
    int rc = LW_OK;
    for (int64_t c = 0; rc == LW_OK && c < region->n_channels; c += at_once)
        rc = read_channels(region, c, lw_min64(at_once, region->n_channels - c), err);
    return rc;
}

/* A run holds whole spectra, one or all. */
int lw_patches_read(const struct lw_box *box, int n_dims, int64_t sample_bytes, lw_patch_fn *read, const void *dataset,
                    struct lw_error *err)
{
    struct region region = {.time_step = 1, .n_times = 1, .sample_bytes = sample_bytes, .into = box->into, .read = read,
                            .dataset = dataset};
    const int channel = n_dims - 1;
    region.channel = box->first[channel];
    region.channel_step = box->step[channel];
    region.n_channels = box->count[channel];
    if (n_dims == 2) {
        region.time = box->first[0];
        region.time_step = box->step[0];
        region.n_times = box->count[0];
    }
    region.pitch = (box->n_runs > 1 ? box->pitch : region.n_channels) * sample_bytes;
    return read_region(&region, err);
}
