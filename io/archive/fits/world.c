#include "io/archive/fits/world.h"

#include "base/log.h"

#include <ctype.h>
#include <stdlib.h>

/* The parts of a keyword: "CD1_2A" or "CD001002A" has the root CD, the numbers 1 and 2, and A, an alternative description. */
struct parts {
    char root[8];
    int n_numbers;
    int numbers[2];
    char letter;                /* 0: none */
};

/* Fates of the input's keywords in the result. */
enum fate {
    MOVED,                      /* kept, with its number adapted if necessary */
    BY_TABLE,                   /* left out: it needs a table */
    BY_PIXELS,                  /* left out: it refers to the input's pixels */
    N_FATES
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

/* Split a keyword. Returns false if it has no number. A root is letters; SIP's roots end with the "_" before the first number. */
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

/* Return `every` of a FITS axis, numbered from 1; 1: the image lacks the axis. */
static double every_of(const struct lw_writer_dataset *dataset, int axis)
{
    return axis >= 1 && axis <= dataset->n_dims ? dataset->map.every[dataset->n_dims - axis] : 1;
}

static bool is_root(const struct parts *parts, const char *root, int n_numbers)
{
    return strcmp(parts->root, root) == 0 && parts->n_numbers == n_numbers;
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

/* ---- keywords that are adapted ------------------------------------------------------------------------------------------ */

/* Return the axis of a keyword for the size of pixels; 0: both axes, by axis 1's `every`; -1: the keyword is no such size. */
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

/* Adapt the number of a keyword. CNPIX: pixel p covers (p - 1 + CNPIX) to (p + CNPIX) pixel sizes on the photographic plate. */
static double move_number(const char *keyword, const struct parts *parts, const struct lw_writer_dataset *dataset, double value)
{
    /* Largest corrections by SIP's polynomials, in pixels. */
    static const char *const polynomials_limits[] = {"A_DMAX", "B_DMAX", "AP_DMAX", "BP_DMAX", NULL};
    const int i = parts->numbers[0], j = parts->numbers[1], size = find_pixel_size(keyword);
    const double every_i = every_of(dataset, i), every_j = every_of(dataset, j);
    const double first_i = i >= 1 && i <= dataset->n_dims ? dataset->map.first[dataset->n_dims - i] : 0;
    if (size >= 0)
        return value * every_of(dataset, size > 0 ? size : 1);
    if (is_root(parts, "CRPIX", 1) || is_root(parts, "LTV", 1))
        return (value - 1 - first_i) / every_i + 1;
    if (is_root(parts, "CNPIX", 1))
        return (value + first_i + 0.5) / every_i - 0.5;
    if (is_root(parts, "CDELT", 1))
        return value * every_i;
    if (is_root(parts, "CD", 2))
        return value * every_j;
    if (is_root(parts, "PC", 2))
        return value * every_j / every_i;
    if (is_root(parts, "LTM", 2))
        return value / every_i;
    if (is_root(parts, "A_", 2) || is_root(parts, "B_", 2) || is_root(parts, "AP_", 2) || is_root(parts, "BP_", 2))
        return value * pow(every_of(dataset, 1), i + j - 1);
    return is_one_of(keyword, polynomials_limits) ? value / every_of(dataset, 1) : value;
}

/* ---- keywords that are left out ----------------------------------------------------------------------------------------- */

static const struct lw_attribute *find_carried(const struct lw_writer_dataset *dataset, const char *name)
{
    for (int a = 0; a < dataset->n_carried; a++)
        if (strcmp(dataset->carried[a].name, name) == 0)
            return &dataset->carried[a];
    return NULL;
}

/* Return whether a keyword belongs to a coordinate from a table: the coordinate's CTYPEi ends with -TAB. */
static bool is_tabular(const struct lw_writer_dataset *dataset, const struct parts *parts)
{
    static const char *const roots[] = {"CTYPE", "CUNIT", "CRVAL", "CDELT", "CNAME", "CRDER", "CSYER", "CD", "PC", "PS", "PV",
                                        NULL};
    char type[24];
    if (!is_one_of(parts->root, roots))
        return false;
    snprintf(type, sizeof type, "CTYPE%d%.1s", parts->numbers[0], parts->letter ? (const char[]){parts->letter, 0} : "");
    const struct lw_attribute *const found = find_carried(dataset, type);
    return found && found->kind == LW_ATTRIBUTE_TEXT && strstr(found->text, "-TAB");
}

static bool is_distortion(const char *keyword, const struct parts *parts)
{
    static const char *const numbered[] = {"CPDIS", "CQDIS", "CPERR", "CQERR", "DP", "DQ", NULL};
    static const char *const words[] = {"D2IMEXT", "AXISCORR", "DVERR", NULL};
    if (is_one_of(keyword, words) || strncmp(keyword, "D2IMDIS", 7) == 0 ||
        strncmp(keyword, "D2IMERR", 7) == 0 || (strncmp(keyword, "D2IM", 4) == 0 && isdigit((unsigned char)keyword[4])))
        return true;
    return parts->n_numbers == 1 && is_one_of(parts->root, numbered);
}

/* Adapt one keyword of the input to the result. @param out  set to the adapted keyword, or to a copy */
static enum fate move(const struct lw_attribute *attribute, const struct lw_writer_dataset *dataset, struct lw_attribute *out)
{
    static const char *const sections[] = {"DATASEC", "TRIMSEC", "BIASSEC", "CCDSEC", "DETSEC", "AMPSEC", "OBJCTX", "OBJCTY", NULL};
    struct parts parts;
    const char *const keyword = attribute->name;
    bool has_same_pixels = true;
    for (int d = 0; d < dataset->n_dims; d++)
        has_same_pixels &= dataset->map.first[d] == 0 && dataset->map.every[d] == 1;
    if (!take_apart(keyword, &parts))
        parts = (struct parts){0};
    *out = *attribute;
    if (is_distortion(keyword, &parts) || is_tabular(dataset, &parts))
        return BY_TABLE;
    const bool is_size_in_words = attribute->kind == LW_ATTRIBUTE_TEXT && find_pixel_size(keyword) >= 0;
    if ((is_one_of(keyword, sections) || is_size_in_words) && !has_same_pixels)
        return BY_PIXELS;
    if (attribute->kind != LW_ATTRIBUTE_INT && attribute->kind != LW_ATTRIBUTE_REAL)
        return MOVED;
    const double before = attribute->kind == LW_ATTRIBUTE_INT ? (double)attribute->integer : attribute->real;
    const double after = move_number(keyword, &parts, dataset, before);
    if (after != before) {
        out->kind = LW_ATTRIBUTE_REAL;
        out->real = after;
    }
    return MOVED;
}

/* ---- keywords that the input leaves to defaults --------------------------------------------------------------------------- */

/* Return whether the input has a keyword: root, axis, letter of the description ("": the main one). @param name  set to it */
static bool has_keyword(const struct lw_writer_dataset *dataset, const char *root, int axis, const char *letter, char name[40])
{
    snprintf(name, 40, "%s%d%s", root, axis, letter);
    return find_carried(dataset, name);
}

static bool has_matrix(const struct lw_writer_dataset *dataset, const char *letter)
{
    for (int a = 0; a < dataset->n_carried; a++) {
        const char *const name = dataset->carried[a].name, *const numbers = name + 2 + strspn(name + 2, "0123456789_");
        if (strncmp(name, "CD", 2) == 0 && numbers > name + 2 && strcmp(numbers, letter) == 0)
            return true;
    }
    return false;
}

static void put_default(struct lw_fits_cards *cards, const struct lw_writer_dataset *dataset, const char *name, int64_t value)
{
    const struct lw_attribute left_out = {.name = name, .kind = LW_ATTRIBUTE_INT, .integer = value};
    struct lw_attribute moved;
    if (move(&left_out, dataset, &moved) == MOVED)
        lw_fits_put_attribute(cards, &moved);
}

/* Add adapted defaults of missing keywords: CRPIX 0, CDELT 1 (section 8.2); for IRAF's physical coordinates LTV 0, LTM 1. */
static void put_defaults(struct lw_fits_cards *cards, const struct lw_writer_dataset *dataset)
{
    for (int axis = 1; axis <= dataset->n_dims; axis++) {
        char name[40], matrix[40];
        for (int l = 0; l <= 26; l++) {
            const char letter[2] = {l > 0 ? (char)('A' + l - 1) : '\0'};
            const bool has_type = has_keyword(dataset, "CTYPE", axis, letter, name);
            const bool has_value = has_keyword(dataset, "CRVAL", axis, letter, name);
            const bool has_pixel = has_keyword(dataset, "CRPIX", axis, letter, name);
            const bool has_step = has_keyword(dataset, "CDELT", axis, letter, name);
            const bool is_described = has_type || has_value || has_pixel || has_step;
            if (is_described && !has_step && !has_matrix(dataset, letter))
                put_default(cards, dataset, name, 1);
            if (is_described && !has_keyword(dataset, "CRPIX", axis, letter, name))
                put_default(cards, dataset, name, 0);
        }
        const bool has_offset = has_keyword(dataset, "LTV", axis, "", name);
        snprintf(matrix, sizeof matrix, "LTM%d_%d", axis, axis);
        const bool has_factor = find_carried(dataset, matrix);
        if (has_offset != has_factor)
            put_default(cards, dataset, has_offset ? matrix : name, has_offset ? 1 : 0);
    }
}

void lw_fits_put_carried(struct lw_fits_cards *cards, const struct lw_writer_dataset *dataset)
{
    static const char *const reasons[N_FATES] = {
        [BY_TABLE] = "they need tables of the input's file: the result's sky coordinates lack them",
        [BY_PIXELS] = "they refer to the input's pixels, and the result has others",
    };
    char names[N_FATES][600] = {""};        /* names for the warning; cut if too long */
    struct lw_attribute moved;
    for (int a = 0; a < dataset->n_carried; a++) {
        const enum fate fate = move(&dataset->carried[a], dataset, &moved);
        const size_t used = strlen(names[fate]);
        if (fate == MOVED)
            lw_fits_put_attribute(cards, &moved);
        else
            snprintf(names[fate] + used, sizeof names[fate] - used, "%s%s", used ? ", " : "", moved.name);
    }
    for (int f = MOVED + 1; f < N_FATES; f++)
        if (names[f][0])
            lw_log_warn("keywords of the input are left out: %s; %s", names[f], reasons[f]);
    if (dataset->n_columns == 0)            /* an array */
        put_defaults(cards, dataset);
}
