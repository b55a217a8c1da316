/* spectra.h - read spectra as radio telescopes store them. Spectra follow each other in time; each has one or more IFs
 * (polarisations), each IF has channels. Samples have 1 to 32 bits and are stored without gaps.
 *
 *     time 0: IF 0 [channel 0, 1, ..], IF 1 [channel 0, 1, ..], ..; time 1: ..
 *
 * Samples of fewer than 8 bits share bytes, and a spectrum may begin within a byte; these samples are read as uint8. A dataset is
 * one IF or the sum of two IFs, such as the total power of two polarisations. Any thread may read; reads allocate nothing. */
#pragma once

#include "io/format.h"

enum { LW_MAX_SUMMED = 2 };

struct lw_spectra {
    int fd;
    int bits;                           /* bits of a stored sample: 1, 2, 4, 8, 16 or 32 */
    bool is_high_first;                 /* the first sample in a byte has its highest bits; else its lowest */
    struct lw_type stored, given;       /* types of samples: unpacked from the file; as read */
    int64_t n_ifs, n_channels;
    int n_summed;
    int64_t summed[LW_MAX_SUMMED];      /* indices of the n_summed IFs to be summed */
    uint8_t unpacked[256][8];           /* [value of a byte] the samples in it; set by lw_spectra_settle */
};

/* Successive channels of successive spectra, and their place in memory: spectra begin `pitch` bytes apart. */
struct lw_patch {
    int64_t time, n_times;
    int64_t channel, n_channels;        /* LW_PATCH_CHANNELS at most */
    char *into;
    int64_t pitch;
};

enum { LW_PATCH_CHANNELS = 4096 };

/* Levels of a patch, one for each summed IF and channel: a stored x has the value ((x - zero) scale + offset) weight. */
struct lw_levels {
    double zero;
    float scale[LW_MAX_SUMMED][LW_PATCH_CHANNELS], offset[LW_MAX_SUMMED][LW_PATCH_CHANNELS], weight[LW_PATCH_CHANNELS];
};

/** Set `stored`, `given` and `unpacked` from the other members. `given` becomes the narrowest type for all samples, or for all sums
 * of n_summed; samples of 32 bits are float32. @param is_swapped  samples have the other byte order than this machine */
void lw_spectra_settle(struct lw_spectra *spectra, bool is_signed, bool is_swapped);

/** Read a patch. Sums and levels are computed in double precision; each value is rounded once.
 * LW_EIO; the message is only the reason. @param offset  byte of spectrum 0 @param levels  NULL: stored samples are the values */
int lw_spectra_read(const struct lw_spectra *spectra, int64_t offset, const struct lw_patch *patch, const struct lw_levels *levels,
                    struct lw_error *err);

typedef int lw_patch_fn(const void *dataset, const struct lw_patch *patch, struct lw_error *err);

/** Read a box of a dataset [time x channel] patch by patch. A dataset [time] is read as one spectrum with the samples as channels,
 * since both are stored alike. @param sample_bytes  bytes of a sample as read @param dataset  passed on to `read` */
int lw_patches_read(const struct lw_box *box, int n_dims, int64_t sample_bytes, lw_patch_fn *read, const void *dataset,
                    struct lw_error *err);
