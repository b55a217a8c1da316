#include "io/archive/fits/coordinates.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A keyword taken apart: "CD1_2A" is CD, 1, 2 and the letter of an alternative description. */
struct parts {
    char root[8];
    int n_numbers;
    int numbers[2];
};

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
    if (!take_number(&at, &out->numbers[0]))
        return false;
    out->n_numbers = 1;
    if (*at == '_') {
        at++;
        if (!take_number(&at, &out->numbers[1]))
            return false;
        out->n_numbers = 2;
    }
    at += *at >= 'A' && *at <= 'Z';
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

static double move(const struct parts *parts, const struct lw_pixel_map *map, int n_dims, double value)
{
    const int i = parts->numbers[0], j = parts->numbers[1];
    const double every_i = every_of(map, n_dims, i), every_j = every_of(map, n_dims, j);
    if (is_root(parts, "CRPIX", 1) || is_root(parts, "LTV", 1))
        return (value - 1 - first_of(map, n_dims, i)) / every_i + 1;
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

struct lw_attribute lw_fits_move(const struct lw_attribute *attribute, const struct lw_pixel_map *map, int n_dims)
{
    struct lw_attribute moved = *attribute;
    struct parts parts;
    if ((attribute->kind != LW_ATTRIBUTE_INT && attribute->kind != LW_ATTRIBUTE_REAL) || !take_apart(attribute->name, &parts))
        return moved;
    const double before = attribute->kind == LW_ATTRIBUTE_INT ? (double)attribute->integer : attribute->real;
    const double after = move(&parts, map, n_dims, before);
    if (after != before) {
        moved.kind = LW_ATTRIBUTE_REAL;
        moved.real = after;
    }
    return moved;
}
