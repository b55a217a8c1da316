#include "io/archive/fits/world.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A keyword taken apart: "CD1_2A" is CD, 1, 2 and the letter of an alternative description, and so is "CD001002A". */
struct parts {
    char root[8];
    int n_numbers;
    int numbers[2];
    char letter;                /* 0: none */
};

/* ---- keywords ----------------------------------------------------------------------------------------------------------- */

static bool take_number(const char **at, int *number)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    *number = (int)strtol(*at, &end, 10);
    *at = end;
    return true;
}

/* Roots: letters, of SIP with the "_" before the first number. */
static bool take_apart(const char *keyword, struct parts *out)
{
    const char *at = keyword + strspn(keyword, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    at += *at == '_';
    const size_t length = (size_t)(at - keyword);
    if (length == 0 || length >= sizeof out->root)
        return false;
    *out = (struct parts){0};
    memcpy(out->root, keyword, length);
    const char *const digits = at;
    if (!take_number(&at, &out->numbers[0]))
        return false;
    out->n_numbers = 1;
    if (at - digits == 6) {
        out->numbers[1] = out->numbers[0] % 1000;
        out->numbers[0] /= 1000;
        out->n_numbers = 2;
    } else if (*at == '_') {
        at++;
        if (!take_number(&at, &out->numbers[1]))
            return false;
        out->n_numbers = 2;
    }
    out->letter = *at >= 'A' && *at <= 'Z' ? *at++ : '\0';
    return *at == '\0';
}

/* Of an axis as FITS counts it; an axis that the image has not stays as it is. */
static double every_of(const struct lw_pixel_map *map, int n_dims, int axis)
{
    return axis >= 1 && axis <= n_dims ? map->every[n_dims - axis] : 1;
}

static double first_of(const struct lw_pixel_map *map, int n_dims, int axis)
{
    return axis >= 1 && axis <= n_dims ? map->first[n_dims - axis] : 0;
}

static bool is_root(const struct parts *parts, const char *root, int n_numbers)
{
    return strcmp(parts->root, root) == 0 && parts->n_numbers == n_numbers;
}

static bool is_polynomial(const struct parts *parts)
{
    return is_root(parts, "A_", 2) || is_root(parts, "B_", 2) || is_root(parts, "AP_", 2) || is_root(parts, "BP_", 2);
}

/* ---- what is moved ------------------------------------------------------------------------------------------------------ */

/* Sizes of pixels, or parts of the sky that they span, in whatever unit; of an axis, 0: of both, which are thinned out alike. */
static int find_pixel_size(const char *keyword)
{
    static const struct {
        const char *keyword;
        int axis;
    } sizes[] = {{"XPIXELSZ", 1}, {"YPIXELSZ", 2}, {"XPIXSZ", 1}, {"YPIXSZ", 2}, {"SECPIX", 0}, {"SECPIX1", 1}, {"SECPIX2", 2},
                 {"PIXSCALE", 0}, {"PIXSCAL1", 1}, {"PIXSCAL2", 2}, {"PIXSIZE", 0}, {"PIXSIZE1", 1}, {"PIXSIZE2", 2}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(keyword, sizes[i].keyword) == 0)
            return sizes[i].axis;
    return -1;
}

/* Pixel p of a plate of the Digitized Sky Survey covers (p - 1 + CNPIX) to (p + CNPIX) times its size. */
static double move(const char *keyword, const struct parts *parts, const struct lw_pixel_map *map, int n_dims, double value)
{
    const int i = parts->numbers[0], j = parts->numbers[1], size = find_pixel_size(keyword);
    const double every_i = every_of(map, n_dims, i), every_j = every_of(map, n_dims, j);
    if (size >= 0)
        return value * every_of(map, n_dims, size > 0 ? size : 1);
    if (is_root(parts, "CRPIX", 1) || is_root(parts, "LTV", 1))
        return (value - 1 - first_of(map, n_dims, i)) / every_i + 1;
    if (is_root(parts, "CNPIX", 1))
        return (value + first_of(map, n_dims, i) + 0.5) / every_i - 0.5;
    if (is_root(parts, "CDELT", 1))
        return value * every_i;
    if (is_root(parts, "CD", 2))
        return value * every_j;
    if (is_root(parts, "PC", 2))
        return value * every_j / every_i;
    if (is_root(parts, "LTM", 2))
        return value / every_i;
    return is_polynomial(parts) ? value * pow(every_of(map, n_dims, 1), i + j - 1) : value;
}

/* The largest correction by a polynomial of SIP, in pixels. */
static bool is_polynomials_limit(const char *keyword)
{
    return strcmp(keyword, "A_DMAX") == 0 || strcmp(keyword, "B_DMAX") == 0 || strcmp(keyword, "AP_DMAX") == 0 ||
           strcmp(keyword, "BP_DMAX") == 0;
}

/* ---- what is left out --------------------------------------------------------------------------------------------------- */

static bool is_one_of(const char *root, const char *const *roots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(root, roots[i]) == 0)
            return true;
    return false;
}

/* Whether the coordinate that a keyword describes is looked up in a table: its CTYPEi ends with -TAB. */
static bool is_tabular(const struct lw_attribute *all, int n, const struct parts *parts)
{
    static const char *const roots[] = {"CTYPE", "CUNIT", "CRVAL", "CDELT", "CNAME", "CRDER", "CSYER", "CD", "PC", "PS", "PV"};
    char type[24];
    if (!is_one_of(parts->root, roots, sizeof roots / sizeof *roots))
        return false;
    snprintf(type, sizeof type, "CTYPE%d%.1s", parts->numbers[0], parts->letter ? (const char[]){parts->letter, 0} : "");
    for (int a = 0; a < n; a++)
        if (strcmp(all[a].name, type) == 0)
            return all[a].kind == LW_ATTRIBUTE_TEXT && strstr(all[a].text, "-TAB");
    return false;
}

static bool is_distortion(const char *keyword, const struct parts *parts)
{
    static const char *const numbered[] = {"CPDIS", "CQDIS", "CPERR", "CQERR", "DP", "DQ"};
    static const char *const words[] = {"D2IMEXT", "AXISCORR", "DVERR"};
    if (is_one_of(keyword, words, sizeof words / sizeof *words) || strncmp(keyword, "D2IMDIS", 7) == 0 ||
        strncmp(keyword, "D2IMERR", 7) == 0 || (strncmp(keyword, "D2IM", 4) == 0 && isdigit((unsigned char)keyword[4])))
        return true;
    return parts->n_numbers == 1 && is_one_of(parts->root, numbered, sizeof numbered / sizeof *numbered);
}

static bool is_section(const char *keyword)
{
    static const char *const words[] = {"DATASEC", "TRIMSEC", "BIASSEC", "CCDSEC", "DETSEC", "AMPSEC", "OBJCTX", "OBJCTY"};
    return is_one_of(keyword, words, sizeof words / sizeof *words);
}

static bool is_identity(const struct lw_pixel_map *map, int n_dims)
{
    bool is_same = true;
    for (int d = 0; d < n_dims; d++)
        is_same &= map->first[d] == 0 && map->every[d] == 1;
    return is_same;
}

enum lw_fits_fate lw_fits_move(const struct lw_attribute *attribute, const struct lw_attribute *all, int n,
                               const struct lw_pixel_map *map, int n_dims, struct lw_attribute *out)
{
    struct parts parts;
    const char *const keyword = attribute->name;
    if (!take_apart(keyword, &parts))
        parts = (struct parts){0};
    *out = *attribute;
    if (is_distortion(keyword, &parts) || is_tabular(all, n, &parts))
        return LW_FITS_BY_TABLE;
    const bool is_size_in_words = attribute->kind == LW_ATTRIBUTE_TEXT && find_pixel_size(keyword) >= 0;
    if ((is_section(keyword) || is_size_in_words) && !is_identity(map, n_dims))
        return LW_FITS_BY_PIXELS;
    if (attribute->kind != LW_ATTRIBUTE_INT && attribute->kind != LW_ATTRIBUTE_REAL)
        return LW_FITS_MOVED;
    const double before = attribute->kind == LW_ATTRIBUTE_INT ? (double)attribute->integer : attribute->real;
    const double after =
        is_polynomials_limit(keyword) ? before / every_of(map, n_dims, 1) : move(keyword, &parts, map, n_dims, before);
    if (after != before) {
        out->kind = LW_ATTRIBUTE_REAL;
        out->real = after;
    }
    return LW_FITS_MOVED;
}
