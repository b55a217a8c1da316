/* bank.h - the filters as the method wants them: transformed once, in double precision. Called by cpu/ols/ols.c. */
#pragma once

#include "cpu/ols/choose.h"

/* Owned by whoever created them. */
struct lw_cpu_filters {
    void *data;                 /* DIRECT: [n_filters x n_terms] reals; else spectra, prescaled by 1 / points, in
                                   the transform's order: COMPLEX [n_filters x points] complex, PACKED [n_filters][A, B]
                                   [points] complex */
    int64_t *offsets;           /* DIRECT: [n_terms] */
    int64_t n_terms;
    int64_t stride;             /* reals from one filter to the next */
    int *exponents;             /* [n_filters]: outputs are still to be multiplied by 2^exponent */
    double *ends;               /* where a derivative is folded in: [n_filters x (n_taps - 1)], the filters for the
                                   axis' two ends; else NULL */
};

int64_t lw_cpu_filters_bytes(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols);
int lw_cpu_filters_create(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols,
                          struct lw_cpu_filters *out, struct lw_error *err);
void lw_cpu_filters_release(struct lw_cpu_filters *filters);
