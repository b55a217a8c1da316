/* sky.h - where the pixels of an image lie on the sky, by WCSLIB. A build without WCSLIB has sky_none.c in place of sky.c. */
#pragma once

#include "io/notes/said.h"

struct wcsprm;

struct lw_sky {
    struct wcsprm *wcs;         /* owned; NULL: no coordinates of the sky */
    bool is_in_hours;           /* the longitude is a right ascension */
    char text[64];              /* names of the coordinates: "RA and DEC (FK5)" */
    char frame[24];             /* keyword RADESYS, or its default by the standard: "FK5"; "": none */
    double equinox;             /* equinox of the frame; NaN: none */
};

enum { LW_SKY_MOST = 1200 };

/* A point: column and row of a pixel, counted from 0, or longitude and latitude in degrees. */
struct lw_sky_point {
    double at[2];
};

/** Read the coordinates of the sky from an image's keywords. Close `sky` whatever the outcome; one of all zeros may be closed, too.
 * LW_EDATA: the coordinates make no sense, or need tables. LW_ESYSTEM: no memory. */
int lw_sky_open(const struct lw_said *header, struct lw_sky *sky, struct lw_error *err);
void lw_sky_close(struct lw_sky *sky);

/** Turn galactic coordinates to right ascension and declination (FK5, J2000). Close others than these two kinds. LW_EDATA. */
int lw_sky_turn(struct lw_sky *sky, struct lw_error *err);

/** Convert at most LW_SKY_MOST pixels to places on the sky, or places to pixels. A point without counterpart becomes NaN. */
void lw_sky_find(const struct lw_sky *sky, bool is_back, int n, const struct lw_sky_point *from, struct lw_sky_point *to);

/** Return the name of the library, "WCSLIB 7.12". */
const char *lw_sky_library(void);
