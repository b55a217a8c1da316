/* method.h - the interface of a method, which filters batches of long segments; private to this folder.
 *
 *     gather    samples of a batch -> segments or their spectra
 *     filter    spectra -> products with a group of filters, or these transformed back
 *     scatter   products of one filter -> outputs
 *
 * A method is one file, and one line in the list of choose.c. */
#pragma once

#include "gpu/host/fft.h"
#include "gpu/ols/long/long.h"

LW_C_BEGIN

/* The filters of one operation, ready to run. */
struct lw_long_ols {
    struct lw_long_ols_plan plan;
    struct lw_cuda_fft fft;         /* cuFFT: the transforms of a batch */
    cudaEvent_t idle;               /* recorded after each block: the work space, the next two arrays, is free again */
    void *segments;                 /* device, [batch][N] complex: segments, then their spectra */
    char *products;                 /* device, [group][batch][N] complex */
    void *method_memory;            /* device: work area of cuFFT, or tables of our own kernels */
    int resident;                   /* cluster: clusters that the device runs at a time */
    char *spectra;                  /* device, [n_filters][N] complex: the filters' spectra, divided by N */
};

/* A batch of items (steps.h) that goes through the steps. */
struct lw_long_batch {
    const struct lw_long_geometry *geometry;
    const struct lw_cuda_ols_block *block;
    int64_t first;                  /* number of the first item in the block */
    int n;                          /* number of items; cuFFT fills up its batch with zeros */
    cudaStream_t stream;
};

struct lw_long_method {
    const char *name;               /* name in tables of benchmarks */
    const char *text;               /* text in the description of a plan, after "overlap-save" */
    int most_group;                 /* most filters of a group */
    double gather_seconds;          /* model: extra seconds per point of a segment if the plan needs_gather */

    /** Return whether the method has kernels for a segment length on this architecture. Pure. NULL: it takes every length. */
    bool (*exists)(const struct lw_cuda_arch *arch, enum lw_precision precision, int64_t segment);
    /** Return the seconds per point of a segment forward, which are also those back per filter; measured on one H200. Pure. */
    double (*point_seconds)(enum lw_precision precision, int64_t segment);
    /** Return the bytes of method_memory. */
    int64_t (*memory_bytes)(const struct lw_long_ols_plan *plan);
    int (*prepare)(struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err);
    /** Divide the spectra of n filters by N. bins: in natural order, double; spectra: in the order and precision `filter` reads. */
    cudaError_t (*order)(const struct lw_long_ols_plan *plan, const void *bins, int n, void *spectra, cudaStream_t stream);

    int (*gather)(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err);
    /** Fill ols->products, [n_filters][b->n][N], for filters first_filter .. first_filter + n_filters - 1. */
    int (*filter)(struct lw_long_ols *ols, const struct lw_long_batch *b, int first_filter, int n_filters, struct lw_error *err);
    int (*scatter)(struct lw_long_ols *ols, const struct lw_long_batch *b, void *products, int filter, struct lw_error *err);
    /** Do all steps in one kernel without work space, if the plan needs no gathering. NULL: there is no kernel that does. */
    int (*run)(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err);
};

extern const struct lw_long_method lw_long_cluster, lw_long_split, lw_long_cufft;

char *lw_long_spectrum(const struct lw_long_ols *ols, int64_t filter);

/** Return the place of a filter's first output in the block's output. */
void *lw_long_plane(const struct lw_long_batch *b, int filter);

/** Cut the block's segments b->first .. b->first + n - 1 into ols->segments; segments that do not exist become zero. */
int lw_long_cut(struct lw_long_ols *ols, const struct lw_long_batch *b, int n, struct lw_error *err);

/** Store the outputs of one filter from products that have been transformed back: a `scatter` for methods. */
int lw_long_scatter(struct lw_long_ols *ols, const struct lw_long_batch *b, void *products, int filter, struct lw_error *err);

LW_C_END
