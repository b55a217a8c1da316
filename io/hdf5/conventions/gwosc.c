/* gwosc.c - strain of gravitational-wave detectors from the Gravitational Wave Open Science Center: /strain/Strain with the
 * attributes Xstart, Xspacing and Xunits (which axis.c reads from any dataset), /meta and /quality. */
#include "io/hdf5/conventions/conventions.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the data --------------------------------------------------------------------------------------------------------- */

static int describe(struct lw_subject *subject)
{
    double start;
    if (!lw_subject_real(subject, "./@Xstart", &start) && lw_subject_real(subject, "meta/GPSstart", &start) &&
        lw_instant_from_seconds(start, &subject->info->axis.instant))
        subject->info->axis.scale = LW_TIME_GPS;
    lw_subject_unit(subject, "strain");
    return LW_OK;
}

const struct lw_convention lw_convention_gwosc = {
    .name = "GWOSC",
    .mark = {"meta/GPSstart", "strain/Strain"},
    .pattern = "strain/Strain",
    .other = "",
    .recorder = {{"detector", "meta/Detector"}},
    .describe = describe,
};

/* ---- quality of the data ---------------------------------------------------------------------------------------------- */

enum { MOST_BITS = 32, NAME = 48 };

/* Paths of the datasets of bit masks, and of the datasets with the names of their bits. */
static const struct {
    const char *path, *names;
} series[LW_MOST_QUALITIES] = {
    {"/quality/simple/DQmask", "/quality/simple/DQShortnames"},
    {"/quality/injections/Injmask", "/quality/injections/InjShortnames"},
};

static void add_bits(int s, uint64_t bits, struct lw_qualities *out)
{
    int q = 0;
    while (q < out->n && strcmp(out->of[q].path, series[s].path) != 0)
        q++;
    if (q == out->n)
        snprintf(out->of[out->n++].path, sizeof out->of[0].path, "%s", series[s].path);
    out->of[q].bits |= bits;
}

static int add_test(hid_t file, const char *file_name, const char *test, struct lw_qualities *out, struct lw_error *err)
{
    struct lw_error broken = {0};
    char known[600] = "", name[NAME];
    for (int s = 0; s < LW_MOST_QUALITIES; s++)
        for (int bit = 0; bit < MOST_BITS && lw_place_item(file, series[s].names, bit, name, sizeof name, &broken); bit++) {
            if (strcmp(name, test) == 0) {
                add_bits(s, UINT64_C(1) << bit, out);
                return LW_OK;
            }
            lw_append(known, sizeof known, "%s%s", known[0] ? ", " : "", name);
        }
    return lw_fail(err, LW_EUSAGE, "--mask good-data: '%.200s' has no test '%.60s': give one of %s, or a number whose "
                   "bits choose tests", file_name, test, known);
}

int lw_gwosc_find_quality(hid_t file, const char *name, const char *tests, struct lw_qualities *out, struct lw_error *err)
{
    char test[64], *end;
    const unsigned long long bits = strtoull(tests, &end, 0);
    *out = (struct lw_qualities){0};
    if (!lw_place_exists(file, "", series[0].path))
        return lw_fail(err, LW_EDATA,
                       "--mask good-data: '%.300s' has no %s, which files of GWOSC have; --mask takes marks from another file",
                       name, series[0].path);
    if (end != tests && !*end && tests[0] != '-' && bits > 0 && bits <= UINT32_MAX) {
        add_bits(0, bits, out);
        return LW_OK;
    }
    for (const char *at = tests; ; at++) {
        const size_t length = strcspn(at, ",");
        snprintf(test, sizeof test, "%.*s", (int)(length < sizeof test ? length : sizeof test - 1), at);
        const int rc = add_test(file, name, test, out, err);
        at += length;
        if (rc || !*at)
            return rc;
    }
}
