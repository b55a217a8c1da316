#include "io/archive/psrfits_pols.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void lw_psrfits_name(const struct lw_psrfits *table, int64_t pol, char name[LW_PSRFITS_NAME])
{
    const char *const type = table->pol_type;
    const int64_t length = (int64_t)strlen(type), n = table->n_pols;
    const int letters = n == 1 ? (int)length : length == 2 * n ? 2 : length == n ? 1 : 0;
    if (letters == 0 || strpbrk(type, "/*"))
        snprintf(name, LW_PSRFITS_NAME, "%" PRId64, pol);
    else
        snprintf(name, LW_PSRFITS_NAME, "%.*s", letters, type + pol * letters);
}

/* Polarisation of that name, -1: none. */
static int64_t find_pol(const struct lw_psrfits *table, const char *text, size_t length)
{
    char name[LW_PSRFITS_NAME];
    for (int64_t p = 0; p < table->n_pols; p++) {
        lw_psrfits_name(table, p, name);
        if (strlen(name) == length && strncmp(name, text, length) == 0)
            return p;
    }
    return -1;
}

/* A name of POL_TYPE may have a plus itself: AA+BB of a file with one. */
static bool parse_path(const char *path, const struct lw_psrfits *table, struct lw_spectra *out)
{
    const char *const name = path + 1;
    if (path[0] != '/')
        return false;
    out->n_summed = 1;
    out->summed[0] = find_pol(table, name, strlen(name));
    const char *const plus = strchr(name, '+');
    if (out->summed[0] >= 0 || !plus)
        return out->summed[0] >= 0;
    out->n_summed = 2;
    out->summed[0] = find_pol(table, name, (size_t)(plus - name));
    out->summed[1] = find_pol(table, plus + 1, strlen(plus + 1));
    return out->summed[0] >= 0 && out->summed[1] >= 0 && out->summed[0] != out->summed[1];
}

bool lw_psrfits_find_power(const struct lw_psrfits *table, char *path, size_t size)
{
    char name[LW_PSRFITS_NAME];
    lw_psrfits_name(table, 0, name);
    if (table->n_pols == 1 || strcmp(name, "I") == 0)
        snprintf(path, size, "/%s", name);
    else if (find_pol(table, "AA", 2) >= 0 && find_pol(table, "BB", 2) >= 0)
        snprintf(path, size, "/AA+BB");
    else
        return false;
    return true;
}

static void write_paths(const struct lw_psrfits *table, char *text, size_t size)
{
    char name[LW_PSRFITS_NAME];
    size_t used = 0;
    for (int64_t p = 0; p < table->n_pols; p++) {
        lw_psrfits_name(table, p, name);
        used += (size_t)snprintf(text + used, size - used, "%s/%s", p ? ", " : "", name);
    }
    if (table->n_pols > 1)
        snprintf(text + used, size - used, ", and sums of two, joined by +");
}

int lw_psrfits_choose(struct lw_dataset_info *info, const struct lw_psrfits *table, struct lw_spectra *out, struct lw_error *err)
{
    char paths[160];
    write_paths(table, paths, sizeof paths);
    if (!info->path[0] && !lw_psrfits_find_power(table, info->path, sizeof info->path))
        return lw_fail(err, LW_EUSAGE,
                       "'%.400s' does not say which of its %" PRId64 " polarisations are the total power (POL_TYPE '%s'): "
                       "name one, as in '%.128s:/0'; it has %s", info->file, table->n_pols, table->pol_type, info->file, paths);
    if (!parse_path(info->path, table, out))
        return lw_fail(err, LW_EDATA, "'%.400s' has no '%.200s'; it has %s", info->file, info->path, paths);
    return LW_OK;
}
