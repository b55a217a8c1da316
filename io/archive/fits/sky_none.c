#include "io/archive/fits/sky.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

int lw_sky_open(const struct lw_said *header, struct lw_sky *sky, struct lw_error *err)
{
    *sky = (struct lw_sky){0};
    return LW_OK;
}

void lw_sky_close(struct lw_sky *sky) {}

int lw_sky_turn(struct lw_sky *sky, struct lw_error *err) { return LW_OK; }

void lw_sky_find(const struct lw_sky *sky, bool is_back, int n, const struct lw_sky_point *from, struct lw_sky_point *to)
{
}

const char *lw_sky_library(void) { return "none: built without WCSLIB"; }
