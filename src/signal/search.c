#include "signal/search.h"

#include "base/integers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

unsigned lw_search_products(const struct lw_search *search) { return search->products ? search->products : LW_FILTERED; }

bool lw_search_is_needed(const struct lw_search *search) { return lw_search_products(search) != LW_FILTERED; }

int64_t lw_search_reach(const struct lw_search *search, int64_t n)
{
    return lw_search_products(search) & LW_PEAKS ? min64(search->cluster, n) : 0;
}

int64_t lw_search_before(const struct lw_search *search, int64_t n, int64_t unit)
{
    return round_up(lw_search_reach(search, n), unit);
}

int64_t lw_search_after(const struct lw_search *search, int64_t n, int64_t unit)
{
    const bool has_blocks = lw_search_products(search) & LW_BLOCKS;
    const int64_t blocks = has_blocks && unit % search->every != 0 ? min64(search->every - 1, n) : 0;
    return round_up(max64(lw_search_reach(search, n), blocks), unit);
}

void lw_search_describe(const struct lw_search *search, const char *near, char *text, size_t size)
{
    const unsigned products = lw_search_products(search);
    char peaks[80] = "", blocks[48] = "";
    const size_t used = strlen(text);
    if (products & LW_PEAKS && search->cluster > 0)
        snprintf(peaks, sizeof peaks, ", peaks within +- %" PRId64 " %s%s", search->cluster, near,
                 search->clusters_filters ? " of all filters" : "");
    else if (products & LW_PEAKS)
        snprintf(peaks, sizeof peaks, ", peaks");
    if (products & LW_BLOCKS)
        snprintf(blocks, sizeof blocks, ", blocks of %" PRId64, search->every);
    if (used < size)
        snprintf(text + used, size - used, "%s%s%s", peaks, products & LW_BEST ? ", best filter" : "", blocks);
}
