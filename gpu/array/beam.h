/* beam.h - kernels that sum the channels of a block to beams, in the two stages of signal/beams.h without bands. C header.
 *
 *     input -> channels [n_inputs][...] -> sums of sub-bands [n_sums][...] of a chunk of the axis -> beams [n][...]
 *
 * All of these have time fast. Samples are counted in numbers: a complex sample is two. Bytes of equal weights have sums of 16
 * bits; two numbers of a beam, LW_BEAM_WORDS apart, lie in one word of 32 bits, so that one addition serves both, and delays need
 * no alignment. Words are added up as integers of 32 bits before they overflow. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"
#include "gpu/device/nan_report.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/* Beams of a group, which a block of threads makes; words of a beam in a tile; bytes of shared memory for sums; numbers to a
 * multiple of which sums are aligned; most sub-bands whose sums are in shared memory together. */
#define LW_BEAM_GROUP 32
#define LW_BEAM_WORDS 256
#define LW_BEAM_BYTES (92 << 10)
#define LW_BEAM_ALIGNED 4
#define LW_BEAM_SUBBANDS 64

/* Numbers of channels, sums and words. */
enum lw_beam_kind {
    LW_BEAM_BYTES_KIND,         /* 8 bits; signed ones are stored more by 128 */
    LW_BEAM_INTEGERS,           /* 32 bits, of samples of 16 bits */
    LW_BEAM_FLOATS, LW_BEAM_DOUBLES,
};

/* A sum of a sub-band: number j of its row is that of the beams with delay `least` at number j of the chunk. */
struct lw_beam_sum {
    int32_t least, most;        /* least and largest offset; least is rounded down to a multiple of LW_BEAM_ALIGNED */
    int32_t first, last;        /* first and last beam with the sum */
    int32_t offset;             /* that of the first beam */
};

/* Words of a sum that some beams of a group need for the first tile: from number `from` of its row to place `at` of shared
 * memory. */
struct lw_beam_load {
    int32_t sum, from, count, at;
};

/* Bytes of a number of a channel and of a sum, and of a word; numbers of a beam in a tile. */
struct lw_beam_sizes {
    int64_t channel, sum, word, tile;
};

/* Tables in device memory. */
struct lw_beam_tables {
    int32_t *delays;                    /* [n][n_inputs] as in struct lw_shifts */
    float *weights;                     /* the same; NULL: 1 */
    struct lw_beam_sum *sums;           /* [n_sums] */
    int32_t *begin;                     /* [n_subbands + 1] first sum of a sub-band */
    double *scales;                     /* [n] factor of integer sums */
    int32_t *counts;                    /* [n] channels with a weight */
    uint8_t *used;                      /* [n_inputs] whether a channel has a weight in some beam */
    uint16_t *places;                   /* [groups][n_subbands][LW_BEAM_GROUP] place of a beam's sum in shared memory; 0: zeros */
    int32_t *ends;                      /* [groups][n_subbands] end of the sub-bands that are in shared memory together */
    int32_t *first_load;                /* [groups][n_subbands + 1] */
    struct lw_beam_load *loads;         /* [first_load at the end] */
};

/* The array, and the work memory of a slot. */
struct lw_beam_array {
    struct lw_beam_tables tables;
    enum lw_beam_kind kind;
    struct lw_beam_sizes sizes;
    enum lw_precision precision;
    int n_inputs, n_beams, n_subbands, width, n_sums, parts;    /* parts: numbers of a sample */
    int32_t more;                       /* what stored bytes are more than their samples */
    int narrow;                         /* sub-bands whose sums of 16 bits have a sum of 16 bits */
    int before, after;                  /* numbers before and after its own that a beam needs */
    int64_t channel_pitch, sum_pitch;   /* numbers from row to row; sums are rounded to LW_BEAM_ALIGNED numbers, so that they read
                                           as many before and behind a channel, which count for no beam */
    int64_t chunk;                      /* numbers of a chunk */
    void *channels, *sums, *beams;
};

/* A block of input. */
struct lw_beam_input {
    const void *samples;                /* stored samples, laid out as in struct lw_slot */
    struct lw_type type;
    bool is_slow, zeroes;               /* samples that are not finite count as zero */
    int64_t n_samples;
    int64_t own, n_own;                 /* the block's own samples, those that are not finite are counted; n_own 0: none */
    struct lw_nan_report *report;
};

struct lw_beam_sizes lw_beam_sizes_of(enum lw_beam_kind kind);

/** Enqueue the conversion of a block's input to channels. */
cudaError_t lw_beam_load_channels(const struct lw_beam_array *array, const struct lw_beam_input *input, cudaStream_t stream);

/** Enqueue the sums of beams beam .. beam + n - 1, `length` numbers of each. */
cudaError_t lw_beam_make(const struct lw_beam_array *array, int beam, int n, int64_t length, cudaStream_t stream);

LW_C_END
