#include "signal/search.h"

#include "base/integers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

unsigned lw_search_products(const struct lw_search *search) { return search->products ? search->products : LW_FILTERED; }

bool lw_search_is_needed(const struct lw_search *search) { return lw_search_products(search) != LW_FILTERED; }

const char *lw_sign_text(enum lw_sign sign)
{
    static const char *const texts[] = {[LW_SIGN_BOTH] = "both", [LW_SIGN_POSITIVE] = "positive", [LW_SIGN_NEGATIVE] = "negative"};
    return texts[sign];
}

/* Return whether `count` outputs are too few for a sigma of their own: less than half a stretch. */
static bool is_short(const struct lw_search *search, int64_t count) { return count < search->stretch - search->stretch / 2; }

void lw_search_part(struct lw_search *search, int64_t length, int64_t before, int64_t n)
{
    const int64_t rest = before % length, into = rest < 0 ? rest + length : rest, first = length - into;
    search->stretch = length;
    search->first_stretch = is_short(search, first) && first < n ? first : -into;
    const int64_t its = n - search->first_stretch, left = its % length;
    search->n_stretches = lw_max64(1, its / length + (left > 0 && !is_short(search, left) ? 1 : 0));
}

void lw_search_stretch_range(const struct lw_search *search, int64_t n, int64_t stretch, int64_t *begin, int64_t *end)
{
    const int64_t first = search->first_stretch + stretch * search->stretch;
    *begin = search->stretch > 0 ? lw_max64(0, first) : 0;
    *end = search->stretch > 0 ? lw_min64(n, first + search->stretch) : n;
    if (lw_search_stretches(search) == 1 && is_short(search, *end - *begin)) {
        *begin = 0;
        *end = n;
    }
}

int64_t lw_search_reach(const struct lw_search *search, int64_t n)
{
    return lw_search_products(search) & LW_PEAKS ? lw_min64(search->cluster, n) : 0;
}

int64_t lw_search_before(const struct lw_search *search, int64_t n, int64_t unit)
{
    return lw_round_up(lw_search_reach(search, n), unit);
}

int64_t lw_search_after(const struct lw_search *search, int64_t n, int64_t unit)
{
    const bool has_blocks = lw_search_products(search) & LW_BLOCKS;
    const int64_t blocks = has_blocks && unit % search->every != 0 ? lw_min64(search->every - 1, n) : 0;
    return lw_round_up(lw_max64(lw_search_reach(search, n), blocks), unit);
}

void lw_search_describe(const struct lw_search *search, const char *near, const char *filter, char *text,
                        size_t size)
{
    const unsigned products = lw_search_products(search);
    char peaks[128] = "", channels[48] = "", best[48] = "", blocks[48] = "";
    const bool has_sign = search->sign != LW_SIGN_BOTH;
    const char *const sign = has_sign ? lw_sign_text(search->sign) : "", *const blank = has_sign ? " " : "";
    const size_t used = strlen(text);
    if (products & LW_PEAKS && (search->cluster > 0 || search->cluster_channels > 0))
        snprintf(peaks, sizeof peaks, ", %s%speaks within +- %" PRId64 " %s%s%s%s", sign, blank, search->cluster, near,
                 search->clusters_filters ? " of all " : "", search->clusters_filters ? filter : "",
                 search->clusters_filters ? "s" : "");
    else if (products & LW_PEAKS)
        snprintf(peaks, sizeof peaks, ", %s%speaks", sign, blank);
    if (products & LW_PEAKS && search->cluster_channels > 0)
        snprintf(channels, sizeof channels, " and +- %" PRId64 " channels", search->cluster_channels);
    if (products & LW_BEST)
        snprintf(best, sizeof best, ", best %s%s%s%s", filter, has_sign ? " by " : "", sign, has_sign ? " outputs" : "");
    if (products & LW_BLOCKS)
        snprintf(blocks, sizeof blocks, ", blocks of %" PRId64, search->every);
    if (used < size)
        snprintf(text + used, size - used, "%s%s%s%s", peaks, channels, best, blocks);
}
