/* spectra.h - spectra as radio telescopes store them: one after the other in time, each made of one or more IFs
 * (polarisations), an IF of channels, in samples of 1 to 32 bits without anything between them.
 *
 *     time 0: IF 0 [channel 0, 1, ..], IF 1 [channel 0, 1, ..], ..; time 1: ..
 *
 * Samples of fewer than 8 bits share bytes; a spectrum may begin within one. They are given as uint8. One IF is given, or the
 * sum of two: of two polarisations this is the total power. Any thread may read; nothing is allocated. */
#pragma once

#include "io/format.h"

#include <stdbool.h>
#include <stdint.h>

enum { LW_MAX_SUMMED = 2 };

struct lw_spectra {
    int fd;
    int bits;                           /* of a stored sample: 1, 2, 4, 8, 16 or 32 */
    bool is_high_first;                 /* of samples that share a byte, the first has the highest bits */
    struct lw_type stored, given;       /* types of samples: unpacked, and as they are read */
    int64_t n_ifs, n_channels;
    int n_summed;
    int64_t summed[LW_MAX_SUMMED];      /* IFs */
    uint8_t unpacked[256][8];           /* samples of each byte, from lw_spectra_settle */
};

/* Samples of consecutive spectra, and where they go: those of a spectrum side by side, spectra `pitch` bytes apart. */
struct lw_patch {
    int64_t time, n_times;
    int64_t channel, n_channels;        /* at most LW_PATCH_CHANNELS */
    char *into;
    int64_t pitch;
};

enum { LW_PATCH_CHANNELS = 4096 };

/* A stored x stands for ((x - zero) scale + offset) weight, with one of each for the channels of a patch. */
struct lw_levels {
    double zero;
    float scale[LW_MAX_SUMMED][LW_PATCH_CHANNELS], offset[LW_MAX_SUMMED][LW_PATCH_CHANNELS], weight[LW_PATCH_CHANNELS];
};

/** Fill the types and `unpacked` of a struct that is filled otherwise: what is given is the narrowest type that holds stored
 * samples, or the sum of so many; of 32 bits float32. @param is_swapped  bytes of samples that have several */
void lw_spectra_settle(struct lw_spectra *spectra, bool is_signed, bool is_swapped);

/** Read spectra that begin at byte `offset` of the file. Numbers are computed in double precision and rounded once. LW_EIO; the
 * message is the reason alone. @param levels  NULL: stored samples are the values */
int lw_spectra_read(const struct lw_spectra *spectra, int64_t offset, const struct lw_patch *patch, const struct lw_levels *levels,
                    struct lw_error *err);

typedef int lw_patch_fn(const void *dataset, const struct lw_patch *patch, struct lw_error *err);

/** Read a box of a dataset [time x channel], or [time] of one channel, by patches. A dataset of one dimension is read as one
 * spectrum with as many channels as it has samples, which lie alike. @param sample_bytes  of a sample as it is given */
int lw_patches_read(const struct lw_box *box, int n_dims, int64_t sample_bytes, lw_patch_fn *read, const void *dataset,
                    struct lw_error *err);
