/* bank.h - the spectra of long filters, made in double. C. */
#pragma once

#include "base/linkage.h"
#include "gpu/ols/long/long.h"

LW_C_BEGIN

/** Device bytes that are needed only while the bank is made. */
int64_t lw_long_bank_setup_bytes(const struct lw_long_ols_plan *plan);

/** Transform the filters, in lw_long_bank_setup_bytes of `memory`, and leave their spectra in ols->spectra. Waits for `stream`. */
int lw_long_bank_make(struct lw_long_ols *ols, const double *taps, void *memory, cudaStream_t stream, struct lw_error *err);

LW_C_END
