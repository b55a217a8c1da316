/* method.h - the ways to filter a batch of long segments, as a table of operations; private to this folder.
 *
 *     gather    samples of a batch -> the segments' spectra
 *     filter    spectra -> products with a group of filters
 *     scatter   products of one filter -> outputs
 *
 * A method is one file and one line in the list of choose.c. */
#pragma once

#include "base/linkage.h"
#include "gpu/host/fft.h"
#include "gpu/ols/long/long.h"

LW_C_BEGIN

/* The filters of one operation, ready to run. */
struct lw_long_ols {
    struct lw_long_ols_plan plan;
    struct lw_cuda_fft fft;         /* cuFFT: transforms of a batch */
    cudaEvent_t idle;               /* the work space is free again */
    void *segments;                 /* [batch][N] complex */
    char *products;                 /* [group][batch][N] complex */
    void *method_memory;            /* cuFFT's work area, or our own kernels' tables */
    int resident;                   /* cluster: how many clusters the device runs at a time */
    char *spectra;                  /* [n_filters][N] complex, already divided by N */
};

/* What one batch works on. */
struct lw_long_batch {
    const struct lw_long_geometry *geometry;
    const struct lw_cuda_ols_block *block;
    int64_t first;                  /* item */
    int n;                          /* items that exist; cuFFT's batch is filled up with zeros */
    cudaStream_t stream;
};

struct lw_long_method {
    const char *name;               /* in a benchmark's table */
    const char *text;               /* in the description of a plan, after "overlap-save" */
    int most_group;                 /* filters in work at a time, at most */
    double gather_seconds;         /* model: what a point takes more where kernels of their own cut and store the segments */

    /** Whether it has that segment length on a device of this kind. Pure. NULL: it has every length. */
    bool (*exists)(const struct lw_cuda_arch *arch, enum lw_precision precision, int64_t segment);
    /** Seconds that a point of a segment takes, and again for each filter back; measured on one H200. Pure. */
    double (*point_seconds)(enum lw_precision precision, int64_t segment);
    /** Bytes of method_memory. */
    int64_t (*memory_bytes)(const struct lw_long_ols_plan *plan);
    int (*prepare)(struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err);
    /** One filter's spectrum from natural order in double, padded[i], to the order that `filter` reads, divided by N. */
    cudaError_t (*order)(const struct lw_long_ols_plan *plan, const void *padded, void *spectrum, cudaStream_t stream);

    int (*gather)(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err);
    /** Fills ols->products, [n_filters][b->n][N], with filters first_filter .. first_filter + n_filters - 1. */
    int (*filter)(struct lw_long_ols *ols, const struct lw_long_batch *b, int first_filter, int n_filters, struct lw_error *err);
    int (*scatter)(struct lw_long_ols *ols, const struct lw_long_batch *b, void *products, int filter, struct lw_error *err);
    /** All of it in one kernel, for plans that need no gathering, without work space. NULL: there is no such kernel. */
    int (*run)(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err);
};

extern const struct lw_long_method lw_long_cluster, lw_long_split, lw_long_cufft;

/** Bytes of `n` complex numbers of the computing precision. */
int64_t lw_long_complex_bytes(enum lw_precision precision, int64_t n);

char *lw_long_spectrum(const struct lw_long_ols *ols, int64_t filter);

/** Where one filter's outputs begin in the block's output. */
void *lw_long_plane(const struct lw_long_batch *b, int filter);

/** Cut n segments of the batch into ols->segments. */
int lw_long_cut(struct lw_long_ols *ols, const struct lw_long_batch *b, int n, struct lw_error *err);

/** Outputs of a batch from products that are transformed back already. A method's `scatter`. */
int lw_long_scatter(struct lw_long_ols *ols, const struct lw_long_batch *b, void *products, int filter, struct lw_error *err);

LW_C_END
