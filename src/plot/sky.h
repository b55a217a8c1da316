/* sky.h - where the pixels of an image lie on the sky, by WCSLIB. sky_none.c takes the place of sky.c in a build without it. */
#pragma once

#include "io/notes/said.h"

struct wcsprm;

struct lw_sky {
    struct wcsprm *wcs;         /* owned; NULL: the image has no coordinates of the sky */
    bool is_in_hours;           /* its longitude is a right ascension */
    char text[64];              /* "RA and DEC (FK5)" */
};

enum { LW_SKY_MOST = 1200 };

/* Column and row, from 0, or longitude and latitude in degrees. */
struct lw_sky_point {
    double at[2];
};

/** Take the coordinates from an image's keywords. To be closed whatever the outcome, and where it is all zeros.
 * LW_EDATA: there are some, but they make no sense, or need tables. LW_ESYSTEM: no memory. */
int lw_sky_open(const struct lw_said *header, struct lw_sky *sky, struct lw_error *err);
void lw_sky_close(struct lw_sky *sky);

/** From pixels to the sky or back, LW_SKY_MOST points at most. NaN: there is no such place. */
void lw_sky_find(const struct lw_sky *sky, bool is_back, int n, const struct lw_sky_point *from, struct lw_sky_point *to);

/** "WCSLIB 7.12". */
const char *lw_sky_library(void);
