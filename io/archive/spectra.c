#include "io/archive/spectra.h"

#include "base/integers.h"
#include "io/archive/shared.h"
#include "io/bytes/transfer.h"

/* Sizes of buffers on an I/O thread's stack: bytes of the file read at a time; samples of which every step-th is picked. */
enum { RAW_BYTES = 64 << 10, PICKED_BYTES = 64 << 10 };

/* Largest gap between the wanted samples of two spectra that is read with them in one read. */
enum { NEAR_BYTES = 4096 };

static struct lw_type type_of(int bits, bool is_signed, int n_summed)
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

void lw_spectra_settle(struct lw_spectra *spectra, bool is_signed, bool is_swapped)
{
    const int bits = spectra->bits;
    spectra->stored = type_of(bits, is_signed, 1);
    spectra->stored.is_swapped = is_swapped && bits > 8;
    spectra->given = spectra->n_summed > 1 ? type_of(bits, is_signed, spectra->n_summed) : spectra->stored;
    for (int byte = 0; bits < 8 && byte < 256; byte++)
        for (int i = 0; i < 8 / bits; i++) {
            const int shift = spectra->is_high_first ? 8 - bits * (i + 1) : bits * i;
            spectra->unpacked[byte][i] = (uint8_t)(byte >> shift & ((1 << bits) - 1));
        }
}

/* ---- stored samples -------------------------------------------------------------------------------------------------- */

/* Unpack whole bytes. @param per  samples in a byte: a constant in each call, so that memcpy is inlined */
static inline void unpack_bytes(const uint8_t unpacked[256][8], const uint8_t *raw, int64_t n_bytes, size_t per, uint8_t *out)
{
    for (int64_t b = 0; b < n_bytes; b++)
        memcpy(out + b * (int64_t)per, unpacked[raw[b]], per);
}

/* Unpack n samples, beginning with sample `skip` of the first byte. */
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

/* Bytes of the file that hold one IF of a patch. The first and the last byte may also hold samples outside the patch. */
struct raw {
    int64_t first_bit;                  /* first wanted bit in the first byte */
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

/* Return the stored samples of spectrum t of the patch. @param line  room for them, used if they must be unpacked */
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

/* ---- values ---------------------------------------------------------------------------------------------------------- */

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

/* Compute one spectrum of the patch from the raw bytes of each IF. */
static void compute_line(const struct lw_spectra *spectra, const struct lw_patch *patch, const struct raw *raw,
                         const struct lw_levels *levels, int64_t t)
{
    const int64_t n = patch->n_channels;
    const double zero = levels ? levels->zero : 0;
    uint8_t line[LW_PATCH_CHANNELS];
    double values[LW_PATCH_CHANNELS], more[LW_PATCH_CHANNELS];
    for (int s = 0; s < spectra->n_summed; s++) {
        double *const to = s == 0 ? values : more;
        lw_type_numbers(spectra->stored, raw_line(spectra, patch, &raw[s], t, line), n, to);
        for (int64_t i = 0; levels && i < n; i++)
            to[i] = ((to[i] - zero) * (double)levels->scale[s][i] + (double)levels->offset[s][i]) * (double)levels->weight[i];
        for (int64_t i = 0; s > 0 && i < n; i++)
            values[i] += more[i];
    }
    from_values(spectra->given, values, n, patch->into + t * patch->pitch);
}

int lw_spectra_read(const struct lw_spectra *spectra, int64_t offset, const struct lw_patch *patch, const struct lw_levels *levels,
                    struct lw_error *err)
{
    const struct lw_type stored = spectra->stored, given = spectra->given;
    const bool are_copied =
        spectra->n_summed == 1 && !levels && given.scalar == stored.scalar && given.is_swapped == stored.is_swapped;
    struct raw raw[LW_MAX_SUMMED];
    struct lw_patch part = *patch;
    /* Spectra are read together as far as they and the bytes between them fit the buffer, but one by one if these are many. */
    const int64_t stride = spectrum_samples(spectra) * spectra->bits, width = patch->n_channels * spectra->bits;
    const int64_t at_once = (stride - width) / 8 > NEAR_BYTES ? 1 : (8 * (RAW_BYTES - 2) - width) / stride + 1;
    for (int64_t rest = patch->n_times; rest > 0; rest -= part.n_times) {
        part.n_times = lw_min64(rest, at_once);
        int rc = LW_OK;
        for (int s = 0; rc == LW_OK && s < spectra->n_summed; s++)
            rc = read_raw(spectra, offset, &part, spectra->summed[s], &raw[s], err);
        if (rc)
            return rc;
        for (int64_t t = 0; t < part.n_times; t++) {
            char *const into = part.into + t * part.pitch;
            const void *const line = are_copied ? raw_line(spectra, &part, raw, t, (uint8_t *)into) : into;
            if (!are_copied)
                compute_line(spectra, &part, raw, levels, t);
            else if (line != into)
                memcpy(into, line, (size_t)part.n_channels * lw_type_bytes(given));
        }
        part.time += part.n_times;
        part.into += part.n_times * part.pitch;
    }
    return LW_OK;
}

/* Read every step-th channel of a patch: all channels are read to a buffer, and the wanted ones copied. */
static int read_picked(lw_patch_fn *read, const void *dataset, struct lw_patch patch, int64_t step, int64_t bytes,
                       struct lw_error *err)
{
    char samples[PICKED_BYTES];
    const struct lw_patch all = {.time = patch.time, .n_times = patch.n_times, .channel = patch.channel,
                                 .n_channels = patch.n_channels, .into = samples, .pitch = patch.n_channels * bytes};
    const int rc = read(dataset, &all, err);
    for (int64_t t = 0; rc == LW_OK && t < patch.n_times; t++)
        for (int64_t i = 0; i * step < patch.n_channels; i++)
            memcpy(patch.into + t * patch.pitch + i * bytes, samples + t * all.pitch + i * step * bytes, (size_t)bytes);
    return rc;
}

int lw_patches_read(const struct lw_box *box, int n_dims, int64_t sample_bytes, lw_patch_fn *read, const void *dataset,
                    struct lw_error *err)
{
    const struct lw_box_rows rows = lw_archive_rows(box, n_dims);
    const int64_t step = rows.step, most = (LW_PATCH_CHANNELS - 1) / step + 1, pitch = rows.pitch * sample_bytes;
    int rc = LW_OK;
    for (int64_t c = 0; rc == LW_OK && c < rows.count; c += most) {
        const int64_t width = (lw_min64(most, rows.count - c) - 1) * step + 1;
        const int64_t at_once = rows.row_step > 1 ? 1 : step > 1 ? PICKED_BYTES / (width * sample_bytes) : rows.n;
        for (int64_t t = 0; rc == LW_OK && t < rows.n; t += at_once) {
            const struct lw_patch patch = {
                .time = rows.row + t * rows.row_step, .n_times = lw_min64(at_once, rows.n - t), .channel = rows.first + c * step,
                .n_channels = width, .into = (char *)box->into + t * pitch + c * sample_bytes, .pitch = pitch};
            rc = step > 1 ? read_picked(read, dataset, patch, step, sample_bytes, err) : read(dataset, &patch, err);
        }
    }
    return rc;
}
