#include "options.h"

#include "memory.h"
#include "parse.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ORIGIN = 80 };

struct value {
    const struct lw_option *option;
    char *text;                 /* as given; NULL: not given */
    int64_t integer;            /* INT, BYTES; FLAG: 0 or 1; CHOICE: index, -1 if not given */
    double real;
    struct lw_option_range range;
};

struct lw_options {
    int n_values;
    struct value *values;       /* in table order */
};

static struct value *find(const struct lw_options *options, const char *name)
{
    for (int i = 0; i < options->n_values; i++)
        if (strcmp(options->values[i].option->name, name) == 0)
            return &options->values[i];
    return NULL;
}

static const struct value *get(const struct lw_options *options, const char *name)
{
    const struct value *const value = find(options, name);
    assert(value && "an option that no table has");
    return value;
}

/* ---- setting: one function a kind, which checks the text and fills the value's fields ---- */

static bool has_limits(const struct lw_option *option)
{
    return option->minimum < option->maximum;
}

/* A limit as people read it: whole numbers without a point. */
static const char *limit_text(double limit, char text[32])
{
    snprintf(text, 32, fabs(limit) < 1e15 && limit == floor(limit) ? "%.0f" : "%g", limit);
    return text;
}

/* Limits beyond any data set are there to keep arithmetic from overflowing; they would only confuse in a message. */
static int fail_limits(const struct lw_option *option, const char *text, const char *origin, struct lw_error *err)
{
    char low[32], high[32];
    limit_text(option->minimum, low);
    if (option->maximum > 1e15)
        return lw_fail(err, LW_EUSAGE, "%s: %s is not allowed; the least is %s", origin, text, low);
    return lw_fail(err, LW_EUSAGE, "%s: %s is not in %s..%s", origin, text, low, limit_text(option->maximum, high));
}

static int set_flag(struct value *value, const char *text, const char *origin, struct lw_error *err)
{
    const int choice = lw_parse_choice("no|yes", text);
    if (choice < 0)
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is neither yes nor no", origin, text);
    value->integer = choice;
    return LW_OK;
}

static int set_text(const char *text, const char *origin, struct lw_error *err)
{
    for (const char *at = text; *at; at++)
        if (iscntrl((unsigned char)*at))
            return lw_fail(err, LW_EUSAGE, "%s: the value holds a control character (code %d)", origin, *at);
    return LW_OK;
}

static int set_int(struct value *value, const char *text, const char *origin, struct lw_error *err)
{
    const struct lw_option *const option = value->option;
    int64_t number;
    switch (lw_parse_int(text, &number)) {
    case LW_PARSE_MALFORMED:
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is not a whole number such as 4096, 2^20, 10k or 16M "
                       "(k, M, G, T: powers of 1000)", origin, text);
    case LW_PARSE_TOO_LARGE:
        return has_limits(option) ? fail_limits(option, text, origin, err)
                                  : lw_fail(err, LW_EUSAGE, "%s: %s does not fit 64 bits", origin, text);
    case LW_PARSE_OK:
        break;
    }
    if (has_limits(option) && ((double)number < option->minimum || (double)number > option->maximum))
        return fail_limits(option, text, origin, err);
    value->integer = number;
    return LW_OK;
}

static int set_bytes(struct value *value, const char *text, const char *origin, struct lw_error *err)
{
    int64_t bytes;
    switch (lw_parse_bytes(text, &bytes)) {
    case LW_PARSE_MALFORMED:
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is not a number of bytes such as 512M, 4G or 1.5GiB "
                       "(K, M, G, T: powers of 1024)", origin, text);
    case LW_PARSE_TOO_LARGE:
        return lw_fail(err, LW_EUSAGE, "%s: %s does not fit 64 bits", origin, text);
    case LW_PARSE_OK:
        break;
    }
    char least[24];
    if ((double)bytes < value->option->minimum)
        return lw_fail(err, LW_EUSAGE, "%s: %s is too little; the least is %s", origin, text,
                       lw_bytes_text((int64_t)value->option->minimum, least));
    value->integer = bytes;
    return LW_OK;
}

static int set_real(struct value *value, const char *text, const char *origin, struct lw_error *err)
{
    const struct lw_option *const option = value->option;
    double number;
    if (lw_parse_real(text, &number) != LW_PARSE_OK)
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is not a finite number such as 0.5 or 1e-3", origin, text);
    if (has_limits(option) && (number < option->minimum || number > option->maximum))
        return fail_limits(option, text, origin, err);
    value->real = number;
    return LW_OK;
}

/* The item of "full|same|valid" nearest to `text`, copied; false if none is near. */
static bool nearest_choice(const char *choices, const char *text, char *found, size_t size)
{
    int best = -1;
    for (const char *at = choices; *at; at += strspn(at, "|")) {
        char item[32];
        const size_t length = strcspn(at, "|");
        snprintf(item, sizeof item, "%.*s", (int)length, at);
        at += length;
        const int distance = lw_nearness(text, item);
        if (distance >= 0 && (best < 0 || distance < best)) {
            best = distance;
            snprintf(found, size, "%s", item);
        }
    }
    return best >= 0;
}

static int set_choice(struct value *value, const char *text, const char *origin, struct lw_error *err)
{
    const char *const choices = value->option->choices;
    const int choice = lw_parse_choice(choices, text);
    if (choice < 0) {
        char near[32];
        const bool has_near = nearest_choice(choices, text, near, sizeof near);
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is none of %s%s%s%s", origin, text, choices,
                       has_near ? "; did you mean " : "", has_near ? near : "", has_near ? "?" : "");
    }
    value->integer = choice;
    return LW_OK;
}

static int set_range(struct value *value, const char *text, const char *origin, struct lw_error *err)
{
    int64_t parts[3];
    switch (lw_parse_range(text, parts)) {
    case LW_PARSE_MALFORMED:
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is not a range A:B or A:B:STEP of whole numbers from 0 on; B is the first "
                       "one left out, and any part may be empty (:100, 5:6, 0::2)", origin, text);
    case LW_PARSE_TOO_LARGE:
        return lw_fail(err, LW_EUSAGE, "%s: a number in %s does not fit 64 bits", origin, text);
    case LW_PARSE_OK:
        break;
    }
    if (parts[2] == 0)
        return lw_fail(err, LW_EUSAGE, "%s: the step in %s must be 1 or more", origin, text);
    if (parts[1] >= 0 && parts[1] <= (parts[0] < 0 ? 0 : parts[0]))
        return lw_fail(err, LW_EUSAGE, "%s: %s selects nothing; in A:B, B must be larger than A", origin, text);
    value->range = (struct lw_option_range){parts[0], parts[1], parts[2]};
    return LW_OK;
}

static int set_value(struct value *value, const char *text, const char *origin, struct lw_error *err)
{
    switch (value->option->kind) {
    case LW_OPTION_FLAG: return set_flag(value, text, origin, err);
    case LW_OPTION_TEXT: return set_text(text, origin, err);
    case LW_OPTION_INT: return set_int(value, text, origin, err);
    case LW_OPTION_BYTES: return set_bytes(value, text, origin, err);
    case LW_OPTION_REAL: return set_real(value, text, origin, err);
    case LW_OPTION_CHOICE: return set_choice(value, text, origin, err);
    case LW_OPTION_RANGE: return set_range(value, text, origin, err);
    }
    assert(!"an option of no known kind");
    return LW_EUSAGE;
}

/* What stands for the value in messages: --filters FILE:/dataset, --mode full|same|valid. */
static const char *placeholder(const struct lw_option *option)
{
    return option->kind == LW_OPTION_CHOICE ? option->choices : option->argument ? option->argument : "VALUE";
}

static int fail_unknown(const struct lw_options *options, const char *name, const char *origin, struct lw_error *err)
{
    const char *near = NULL;
    int best = -1;
    for (int i = 0; i < options->n_values; i++) {
        const char *const candidate = options->values[i].option->name;
        const int distance = lw_nearness(name, candidate);
        if (distance >= 0 && (best < 0 || distance < best)) {
            best = distance;
            near = candidate;
        }
    }
    if (!near)
        return lw_fail(err, LW_EUSAGE, "%s: no such option", origin);
    const char *const dashes = origin[0] == '-' ? "--" : "";
    return lw_fail(err, LW_EUSAGE, "%s: no such option; did you mean %s%s?", origin, dashes, near);
}

int lw_options_set(struct lw_options *options, const char *name, const char *text, const char *origin,
                   struct lw_error *err)
{
    struct value *const value = find(options, name);
    if (!value)
        return fail_unknown(options, name, origin, err);
    if (!*text)
        return lw_fail(err, LW_EUSAGE, "%s: the value is empty; give %s", origin, placeholder(value->option));

    int rc = set_value(value, text, origin, err);
    if (rc != LW_OK)
        return rc;
    const size_t size = strlen(text) + 1;
    char *const copy = lw_alloc(size, "an option", err);
    if (!copy)
        return LW_ESYSTEM;
    lw_free(value->text);
    value->text = memcpy(copy, text, size);
    return LW_OK;
}

/* ---- lifecycle ---- */

static int count_options(const struct lw_option *const *tables)
{
    int count = 0;
    for (; *tables; tables++)
        for (const struct lw_option *option = *tables; option->name; option++)
            count++;
    return count;
}

static int set_fallbacks(struct lw_options *options, struct lw_error *err)
{
    for (int i = 0; i < options->n_values; i++) {
        const struct lw_option *const option = options->values[i].option;
        if (!option->fallback)
            continue;
        const int rc = lw_options_set(options, option->name, option->fallback, option->name, err);
        assert(rc != LW_EUSAGE && "a default that its own option refuses");
        if (rc != LW_OK)
            return rc;
    }
    return LW_OK;
}

int lw_options_create(const struct lw_option *const *tables, struct lw_options **out, struct lw_error *err)
{
    struct lw_options *const options = lw_alloc(sizeof *options, "options", err);
    if (!options)
        return LW_ESYSTEM;
    options->values = lw_alloc_array(count_options(tables), sizeof *options->values, "options", err);
    if (!options->values) {
        lw_options_destroy(options);
        return LW_ESYSTEM;
    }
    for (; *tables; tables++)
        for (const struct lw_option *option = *tables; option->name; option++)
            options->values[options->n_values++] =
                (struct value){.option = option, .integer = option->kind == LW_OPTION_CHOICE ? -1 : 0,
                               .range = {-1, -1, -1}};

    const int rc = set_fallbacks(options, err);
    if (rc != LW_OK) {
        lw_options_destroy(options);
        return rc;
    }
    *out = options;
    return LW_OK;
}

void lw_options_destroy(struct lw_options *options)
{
    if (!options)
        return;
    for (int i = 0; i < options->n_values; i++)
        lw_free(options->values[i].text);
    lw_free(options->values);
    lw_free(options);
}

/* ---- the command line ---- */

/* The text of the argument at argv[*i]: behind the equals sign, "yes" for a plain flag, or the next argument, which is
 * then consumed. A next one that begins with two dashes is an option whose turn came too early. */
static const char *argument_text(const struct lw_option *option, const char *equals, int argc, char **argv, int *i)
{
    if (equals)
        return equals + 1;
    if (option && option->kind == LW_OPTION_FLAG)
        return "yes";
    if (*i + 1 < argc && strncmp(argv[*i + 1], "--", 2) != 0)
        return argv[++*i];
    return NULL;
}

static int parse_one(struct lw_options *options, int argc, char **argv, int *i, struct lw_error *err)
{
    const char *const name = argv[*i] + 2, *const equals = strchr(name, '=');
    char origin[MAX_ORIGIN];
    snprintf(origin, sizeof origin, "--%.*s", (int)(equals ? equals - name : (long)strlen(name)), name);

    const struct value *const value = find(options, origin + 2);
    if (!value)
        return fail_unknown(options, origin + 2, origin, err);
    const char *const text = argument_text(value->option, equals, argc, argv, i);
    if (!text)
        return lw_fail(err, LW_EUSAGE, "%s: the value is missing; give %s %s", origin, origin, placeholder(value->option));
    return lw_options_set(options, origin + 2, text, origin, err);
}

int lw_options_parse(struct lw_options *options, int argc, char **argv, int *used, struct lw_error *err)
{
    int rc = LW_OK, i = 0;
    while (rc == LW_OK && i < argc && strncmp(argv[i], "--", 2) == 0 && argv[i][2]) {
        rc = parse_one(options, argc, argv, &i, err);
        i++;
    }
    *used = i;
    return rc;
}

/* ---- reading ---- */

const struct lw_option *lw_options_missing(const struct lw_options *options)
{
    for (int i = 0; i < options->n_values; i++)
        if (options->values[i].option->is_required && !options->values[i].text)
            return options->values[i].option;
    return NULL;
}

bool lw_options_given(const struct lw_options *options, const char *name)
{
    return get(options, name)->text != NULL;
}

bool lw_options_flag(const struct lw_options *options, const char *name)
{
    return get(options, name)->integer != 0;
}

const char *lw_options_text(const struct lw_options *options, const char *name)
{
    return get(options, name)->text;
}

int64_t lw_options_int(const struct lw_options *options, const char *name)
{
    return get(options, name)->integer;
}

double lw_options_real(const struct lw_options *options, const char *name)
{
    return get(options, name)->real;
}

int lw_options_choice(const struct lw_options *options, const char *name)
{
    return (int)get(options, name)->integer;
}

struct lw_option_range lw_options_range(const struct lw_options *options, const char *name)
{
    return get(options, name)->range;
}

void lw_options_each(const struct lw_options *options, void (*visit)(const struct lw_option *, const char *value, void *),
                     void *context)
{
    for (int i = 0; i < options->n_values; i++)
        visit(options->values[i].option, options->values[i].text, context);
}

/* ---- the resolved configuration ---- */

/* A job file's line holds fewer than 200 bytes, so long values go on in further lines behind a backslash. A blank at a
 * break would be lost, so the break moves on to where there is none. */
enum { LINE_LENGTH = 120 };

static bool may_break(const char *value, size_t at)
{
    return !isspace((unsigned char)value[at - 1]) && !isspace((unsigned char)value[at]) &&
           !strchr("\\;", value[at - 1]) && !strchr("#;", value[at]);
}

static void print_line(FILE *file, const char *name, const char *value)
{
    fprintf(file, "%s = ", name);
    size_t column = strlen(name) + 3;
    for (size_t i = 0; value[i]; i++, column++) {
        if (column >= LINE_LENGTH && may_break(value, i)) {
            fputs("\\\n    ", file);
            column = 4;
        }
        fputc(value[i], file);
    }
    fputc('\n', file);
}

char *lw_options_resolved(const struct lw_options *options, struct lw_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const file = open_memstream(&text, &size);
    if (!file) {
        lw_fail(err, LW_ESYSTEM, "no memory for the resolved configuration");
        return NULL;
    }
    for (int i = 0; i < options->n_values; i++)
        if (options->values[i].text)
            print_line(file, options->values[i].option->name, options->values[i].text);
    const bool is_whole = !ferror(file);
    if (fclose(file) != 0 || !is_whole) {
        lw_free(text);
        lw_fail(err, LW_ESYSTEM, "no memory for the resolved configuration");
        return NULL;
    }
    return text;        /* lw_free is free, and open_memstream allocates with malloc */
}
