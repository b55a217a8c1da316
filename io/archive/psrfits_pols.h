/* psrfits_pols.h - polarisations of a PSRFITS file by their names: paths such as /AA, /CR, /I and /AA+BB. */
#pragma once

#include "io/archive/psrfits.h"
#include "io/archive/spectra.h"

enum { LW_PSRFITS_NAME = 24 };

/** As POL_TYPE has it, or its number where that does not tell. */
void lw_psrfits_name(const struct lw_psrfits *table, int64_t pol, char name[LW_PSRFITS_NAME]);

/** The path of the total power. False: names do not tell which polarisations it is in. */
bool lw_psrfits_find_power(const struct lw_psrfits *table, char *path, size_t size);

/** Set which polarisations are summed, from info->path, and that to the path of the total power where none is given. LW_EUSAGE:
 * it must be given. LW_EDATA: there is no such polarisation. */
int lw_psrfits_choose(struct lw_dataset_info *info, const struct lw_psrfits *table, struct lw_spectra *out, struct lw_error *err);
