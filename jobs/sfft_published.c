#include "jobs/sfft_published.h"

#include "base/memory.h"

#include <assert.h>

static const struct lw_option its_own[] = {
    LW_SFFT_PUBLISHED_OPTIONS
    {0},
};

/* The index of a choice is the value of the enumeration. */
static_assert(LW_PUBLISHED_DOLPH_CHEBYSHEV == 0 && LW_PUBLISHED_GAUSSIAN == 1, "order of --flat-window");

static int refuse_options(const struct lw_options *given, struct lw_error *err)
{
    for (const struct lw_option *option = its_own; option->name; option++)
        if (option->kind != LW_OPTION_GONE && lw_options_given(given, option->name))
            return lw_fail(err, LW_EUSAGE, "--%s goes with --algorithm sfft2 only: give both, or leave it out", option->name);
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
        .window = lw_options_choice(given, "flat-window") == 1 ? LW_PUBLISHED_GAUSSIAN : LW_PUBLISHED_DOLPH_CHEBYSHEV,
        .n_buckets = lw_options_int(given, "buckets"), .location_loops = (int)lw_options_int(given, "location-loops"),
        .votes = (int)lw_options_int(given, "votes"), .estimation_loops = (int)lw_options_int(given, "estimation-loops"),
        .comb = lw_options_int(given, "comb"), .comb_loops = (int)lw_options_int(given, "comb-loops"),
    };
    request->published = choice;
    return LW_OK;
}
