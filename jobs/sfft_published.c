#include "jobs/sfft_published.h"

#include "base/memory.h"

#include <assert.h>

static const struct lw_option its_own[] = {
    LW_SFFT_PUBLISHED_OPTIONS
    {0},
};

/* Index into the choices is the value of the enumeration. */
static_assert(LW_PUBLISHED_DOLPH_CHEBYSHEV == 0 && LW_PUBLISHED_GAUSSIAN == 1, "order of --flat-window");
static_assert(LW_PUBLISHED_PARTITION == 0 && LW_PUBLISHED_SERIAL == 1, "order of --binning");
static_assert(LW_PUBLISHED_GATHER == 0 && LW_PUBLISHED_DIRECT == 1, "order of --fetch");
static_assert(LW_PUBLISHED_SELECT == 0 && LW_PUBLISHED_SORT == 1, "order of --cutoff");

/* A choice that is not given is the first. */
static int chosen(const struct lw_options *given, const char *name)
{
    return lw_options_given(given, name) ? lw_options_choice(given, name) : 0;
}

static int refuse_options(const struct lw_options *given, struct lw_error *err)
{
    for (const struct lw_option *option = its_own; option->name; option++)
        if (lw_options_given(given, option->name))
            return lw_fail(err, LW_EUSAGE, "--%s is for --algorithm sfft2 only: give that, or leave it out", option->name);
    return LW_OK;
}

int lw_sfft_published_choose(const struct lw_options *given, struct lw_sfft_request *request, struct lw_error *err)
{
    if (request->algorithm != LW_SFFT_PUBLISHED)
        return refuse_options(given, err);
    struct lw_published_choice *const choice = lw_alloc(sizeof *choice, "what is asked for", err);
    if (!choice)
        return LW_ESYSTEM;
    *choice = (struct lw_published_choice){
        .window = (enum lw_published_window)chosen(given, "flat-window"), .n_buckets = lw_options_int(given, "buckets"),
        .location_loops = (int)lw_options_int(given, "location-loops"), .votes = (int)lw_options_int(given, "votes"),
        .estimation_loops = (int)lw_options_int(given, "estimation-loops"), .comb = lw_options_int(given, "comb"),
        .comb_loops = (int)lw_options_int(given, "comb-loops"),
        .ways = {(enum lw_published_binning)chosen(given, "binning"), (enum lw_published_fetch)chosen(given, "fetch"),
                 (enum lw_published_cutoff)chosen(given, "cutoff")},
    };
    request->published = choice;
    return LW_OK;
}

void lw_sfft_published_release(struct lw_sfft_request *request)
{
    lw_free((void *)request->published);
    request->published = NULL;
}
