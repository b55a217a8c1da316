/* method.h - table of operations of a method that filters batches of long segments; private to this folder.
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
    cudaEvent_t idle;               /* recorded when the work space is free again */
    void *segments;                 /* [batch][N] complex */
    char *products;                 /* [group][batch][N] complex */
    void *method_memory;            /* work area of cuFFT, or tables of our own kernels */
    int resident;                   /* cluster: clusters that the device runs at a time */
    char *spectra;                  /* [n_filters][N] complex, already divided by N */
};

/* A batch of items (steps.h) in work. */
struct lw_long_batch {
    const struct lw_long_geometry *geometry;
    const struct lw_cuda_ols_block *block;
    int64_t first;                  /* number of the first item */
    int n;                          /* items that exist; cuFFT's batch is filled up with zeros */
    cudaStream_t stream;
};

struct lw_long_method {
    const char *name;               /* name in tables of benchmarks */
    const char *text;               /* text in the description of a plan, after "overlap-save" */
    int most_group;                 /* most filters in work at a time */
    double gather_seconds;         /* model: extra seconds per point if separate kernels cut and store the segments */

    /** Return whether the method has that segment length on a device of this kind. Pure. NULL: it has every length. */
    bool (*exists)(const struct lw_cuda_arch *arch, enum lw_precision precision, int64_t segment);
    /** Return the seconds per point of a segment, forward, and again for each filter back; measured on one H200. Pure. */
    double (*point_seconds)(enum lw_precision precision, int64_t segment);
    /** Return the bytes of method_memory. */
    int64_t (*memory_bytes)(const struct lw_long_ols_plan *plan);
    int (*prepare)(struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err);
    /** Reorder one filter's spectrum, padded[i] in natural order and double, to the order that `filter` reads, divided by N. */
    cudaError_t (*order)(const struct lw_long_ols_plan *plan, const void *padded, void *spectrum, cudaStream_t stream);

    int (*gather)(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err);
    /** Fill ols->products, [n_filters][b->n][N], with filters first_filter .. first_filter + n_filters - 1. */
    int (*filter)(struct lw_long_ols *ols, const struct lw_long_batch *b, int first_filter, int n_filters, struct lw_error *err);
    int (*scatter)(struct lw_long_ols *ols, const struct lw_long_batch *b, void *products, int filter, struct lw_error *err);
    /** Do all steps in one kernel without work space, for plans that need no gathering. NULL: there is no such kernel. */
    int (*run)(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err);
};

extern const struct lw_long_method lw_long_cluster, lw_long_split, lw_long_cufft;

/** Return the bytes of `n` complex numbers of the computing precision. */
int64_t lw_long_complex_bytes(enum lw_precision precision, int64_t n);

char *lw_long_spectrum(const struct lw_long_ols *ols, int64_t filter);

/** Return where one filter's outputs begin in the block's output. */
void *lw_long_plane(const struct lw_long_batch *b, int filter);

/** Cut n segments of the batch into ols->segments. */
int lw_long_cut(struct lw_long_ols *ols, const struct lw_long_batch *b, int n, struct lw_error *err);

/** Store a batch's outputs from products that are already transformed back. Serves as a method's `scatter`. */
int lw_long_scatter(struct lw_long_ols *ols, const struct lw_long_batch *b, void *products, int filter, struct lw_error *err);

LW_C_END
