/* bank.h - the spectra of long filters, made in double. C. */
#ifndef LW_GPU_OLS_LONG_BANK_H
#define LW_GPU_OLS_LONG_BANK_H

#include "gpu/ols/long/long.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Device bytes that are needed only while the bank is made. */
int64_t lw_long_bank_setup_bytes(const struct lw_long_ols_plan *plan);

/** Transform the filters, in lw_long_bank_setup_bytes of `memory`, and leave their spectra in ols->spectra. Waits for `stream`. */
int lw_long_bank_make(struct lw_long_ols *ols, const double *taps, void *memory, cudaStream_t stream, struct lw_error *err);

#ifdef __cplusplus
}
#endif

#endif
