#include "io/archive/fits/sky.h"

#include "base/memory.h"
#include "io/archive/fits/cards.h"

#include <wcs.h>
#include <wcsfix.h>
#include <wcshdr.h>
#include <wcsmath.h>

static int fail(int status, struct lw_error *err)
{
    return lw_fail(err, status == WCSERR_MEMORY ? LW_ESYSTEM : LW_EDATA, "WCSLIB reports '%s'", wcs_errmsg[status]);
}

/* Write the keywords as FITS cards. WCSAXES is left out: WCSLIB would allocate as many axes as it names. */
static int write_header(const struct lw_said *header, struct lw_fits_cards *cards, struct lw_error *err)
{
    const int rc = lw_fits_cards_begin(cards, err);
    if (rc)
        return rc;
    lw_fits_put_int(cards, "NAXIS", 2, NULL);
    for (int a = 0; a < header->n; a++) {
        const struct lw_attribute attribute = lw_said_get(header, a);
        if (strncmp(attribute.name, "WCSAXES", 7) != 0)
            lw_fits_put_attribute(cards, &attribute);
    }
    return lw_fits_cards_finish(cards, err);
}

static void name_coordinates(const struct wcsprm *wcs, struct lw_sky *sky)
{
    sky->is_in_hours = strcmp(wcs->lngtyp, "RA") == 0;
    sky->equinox = undefined(wcs->equinox) ? (double)NAN : wcs->equinox;
    snprintf(sky->frame, sizeof sky->frame, "%.20s", wcs->radesys);
    snprintf(sky->text, sizeof sky->text, wcs->radesys[0] ? "%.8s and %.8s (%.20s)" : "%.8s and %.8s", wcs->lngtyp, wcs->lattyp,
             wcs->radesys);
}

/* Keep only the first two axes, those of the image, if both are celestial. */
static int take_celestial(struct wcsprm *all, struct lw_sky *sky, struct lw_error *err)
{
    int axes[100] = {WCSSUB_CELESTIAL}, n_axes = 1, fixed[NWCSFIX], status;     /* keywords have room for 99 axes */
    wcsfix(0, NULL, all, fixed);
    if ((status = wcsset(all)) != 0)
        return fail(status, err);
    if (all->lng < 0 || all->lat < 0 || all->lng > 1 || all->lat > 1)
        return LW_OK;
    if (!(sky->wcs = lw_alloc(sizeof *sky->wcs, "coordinates of the sky", err)))
        return LW_ESYSTEM;
    sky->wcs->flag = -1;
    if ((status = wcssub(1, all, &n_axes, axes, sky->wcs)) != 0 || (status = wcsset(sky->wcs)) != 0)
        return fail(status, err);
    name_coordinates(all, sky);
    return LW_OK;
}

/* If the axes have several sets of coordinates, the one without a letter (the primary) is taken. */
int lw_sky_open(const struct lw_said *header, struct lw_sky *sky, struct lw_error *err)
{
    struct lw_fits_cards cards;
    struct wcsprm *all = NULL;
    int n_rejected, n = 0, rc = write_header(header, &cards, err);
    *sky = (struct lw_sky){0};
    if (rc == LW_OK && wcspih(cards.text, (int)cards.n, WCSHDR_all, 0, &n_rejected, &n, &all) != 0)
        rc = fail(WCSERR_MEMORY, err);
    for (int i = 0; i < n && rc == LW_OK; i++)
        if (all[i].alt[0] == ' ')
            rc = take_celestial(&all[i], sky, err);
    wcsvfree(&n, &all);
    lw_fits_cards_release(&cards);
    return rc;
}

void lw_sky_close(struct lw_sky *sky)
{
    if (sky->wcs)
        wcsfree(sky->wcs);
    lw_free(sky->wcs);
    sky->wcs = NULL;
}

int lw_sky_turn(struct lw_sky *sky, struct lw_error *err)
{
    /* The north galactic pole of 1958 in FK5, J2000, and the galactic longitude of the celestial pole (J.-C. Liu, Z. Zhu, H. Zhang,
     * A&A 526, A16 (2011)). */
    static const double pole[2] = {192.8594812065348, 27.12825118085622}, longitude = 122.9319185680026;
    if (!sky->wcs || sky->is_in_hours)
        return LW_OK;
    const bool is_galactic = strcmp(sky->wcs->lngtyp, "GLON") == 0;
    const int status = is_galactic ? wcsccs(sky->wcs, pole[0], pole[1], longitude, "RA", "DEC", "FK5", 2000, "") : 0;
    if (status != 0)
        return fail(status, err);
    if (is_galactic)
        name_coordinates(sky->wcs, sky);
    else
        lw_sky_close(sky);
    return LW_OK;
}

/* If the longitude is the second axis, the two coordinates are swapped. */
void lw_sky_find(const struct lw_sky *sky, bool is_back, int n, const struct lw_sky_point *from, struct lw_sky_point *to)
{
    double in[2 * LW_SKY_MOST], out[2 * LW_SKY_MOST], plane[2 * LW_SKY_MOST], phi[LW_SKY_MOST], theta[LW_SKY_MOST];
    int is_bad[LW_SKY_MOST] = {0};
    const int swap = sky->wcs->lng;
    for (int i = 0; i < 2 * n; i++)
        in[i] = is_back ? from[i / 2].at[(i + swap) % 2] : from[i / 2].at[i % 2] + 1;
    const int status = is_back ? wcss2p(sky->wcs, n, 2, in, phi, theta, plane, out, is_bad)
                               : wcsp2s(sky->wcs, n, 2, in, plane, phi, theta, out, is_bad);
    const bool is_usable = status == 0 || status == (is_back ? WCSERR_BAD_WORLD : WCSERR_BAD_PIX);
    for (int i = 0; i < 2 * n; i++)
        to[i / 2].at[i % 2] = !is_usable || is_bad[i / 2] ? (double)NAN : is_back ? out[i] - 1 : out[i / 2 * 2 + (i + swap) % 2];
}

const char *lw_sky_library(void)
{
    static char text[40];
    snprintf(text, sizeof text, "WCSLIB %.20s", wcslib_version(NULL));
    return text;
}
