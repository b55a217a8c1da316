#include "options/options.h"

#include "base/memory.h"
#include "options/value.h"
#include "options/words.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ORIGIN = 80 };

struct lw_options {
    int n_values;
    struct lw_option_value *values;       /* [n_values] one for each option, in table order */
};

static struct lw_option_value *find(const struct lw_options *options, const char *name)
{
    for (int i = 0; i < options->n_values; i++)
        if (strcmp(options->values[i].option->name, name) == 0)
            return &options->values[i];
    return NULL;
}

static struct lw_option_value *get(const struct lw_options *options, const char *name)
{
    struct lw_option_value *const value = find(options, name);
    assert(value && "an option that no table has");
    return value;
}

/* ---- setting ---- */

/* Return the word for a value in messages: FILE:/dataset for --filters, full|same|valid for --mode. */
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
        const int distance = lw_option_is_own(options->values[i].option) ? lw_nearness(name, candidate) : -1;
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

static int keep_text(struct lw_option_value *value, const char *text, const char *origin, struct lw_error *err)
{
    const size_t size = strlen(text) + 1;
    char *copy = NULL;
    const bool is_list = value->option->kind == LW_OPTION_NAMES;
    if (is_list || value->option->kind == LW_OPTION_FILE) {
        const int rc = (is_list ? lw_expand_homes : lw_expand_home)(text, getenv("HOME"), origin, &copy, err);
        if (rc != LW_OK)
            return rc;
    } else {
        copy = lw_alloc(size, "an option", err);
        if (!copy)
            return LW_ESYSTEM;
        memcpy(copy, text, size);
    }
    lw_free(value->text);
    value->text = copy;
    return LW_OK;
}

static int set_text(struct lw_option_value *value, const char *text, const char *origin, struct lw_error *err)
{
    if (!*text)
        return lw_fail(err, LW_EUSAGE, "%s: the value is empty; give %s", origin, placeholder(value->option));
    const int rc = lw_option_value_set(value, text, origin, err);
    return rc != LW_OK ? rc : keep_text(value, text, origin, err);
}

static bool is_within(const struct lw_option_value *part, const struct lw_option_value *owner)
{
    return part->option->within && strcmp(part->option->within, owner->option->name) == 0;
}

/* Return the option of this owner that the beginning of `text` sets, by WORD=VALUE or a flag's WORD alone; NULL: none.
 * @param length  set to the length of "WORD=" or "WORD" */
static struct lw_option_value *find_part(const struct lw_options *options, const struct lw_option_value *owner, const char *text,
                                         size_t *length)
{
    for (int i = 0; i < options->n_values; i++) {
        struct lw_option_value *const part = &options->values[i];
        if (!is_within(part, owner))
            continue;
        const size_t word = strlen(part->option->word);
        if (strncmp(text, part->option->word, word) != 0)
            continue;
        const bool is_alone = part->option->kind == LW_OPTION_FLAG && (!text[word] || text[word] == ',');
        *length = word + !is_alone;
        if (is_alone || text[word] == '=')
            return part;
    }
    return NULL;
}

/* Set an option from its owner's value. @param part  the option, or the owner itself for the text before the first part */
static int set_part(struct lw_option_value *part, const struct lw_option_value *owner, const char *text, const char *origin,
                    struct lw_error *err)
{
    char whose[512];
    if (part == owner)
        return set_text(part, text, origin, err);
    snprintf(whose, sizeof whose, "%s, %s", origin, part->option->word);
    return set_text(part, part->option->kind == LW_OPTION_FLAG && !*text ? "yes" : text, whose, err);
}

/* Set an owner and its parts, the options that it owns, from a text such as "5,filters". A comma with no part behind it belongs to
 * the value before the comma. @param text  changed: cut into its parts */
static int set_parts(struct lw_options *options, struct lw_option_value *owner, char *text, const char *origin,
                     struct lw_error *err)
{
    struct lw_option_value *part = owner;
    const char *value = text;
    int rc = LW_OK;
    for (char *at = text, *next; rc == LW_OK && at; at = next) {
        size_t length;
        struct lw_option_value *const found = find_part(options, owner, at, &length);
        char *const comma = strchr(at, ',');
        next = comma ? comma + 1 : NULL;
        if (!found)
            continue;
        if (at > text) {
            at[-1] = '\0';
            rc = set_part(part, owner, value, origin, err);
        }
        part = found;
        value = at + length;
    }
    return rc ? rc : set_part(part, owner, value, origin, err);
}

int lw_options_set(struct lw_options *options, const char *name, const char *text, const char *origin, struct lw_error *err)
{
    struct lw_option_value *const value = find(options, name);
    if (!value)
        return fail_unknown(options, name, origin, err);
    if (value->option->kind == LW_OPTION_GONE)
        return LW_OK;
    if (value->option->former && strcmp(text, value->option->former) == 0)
        text = value->option->fallback;
    if (!*text)
        return set_text(value, text, origin, err);
    LW_FREED char *const copy = lw_alloc(strlen(text) + 1, "an option", err);
    if (!copy)
        return LW_ESYSTEM;
    return set_parts(options, value, strcpy(copy, text), origin, err);
}

static void clear(struct lw_option_value *value)
{
    lw_free(value->text);
    *value = (struct lw_option_value){.option = value->option, .is_typed = value->is_typed,
                                      .integer = value->option->kind == LW_OPTION_CHOICE ? -1 : 0, .range = {-1, -1, -1}};
}

void lw_options_clear(struct lw_options *options, const char *name) { clear(get(options, name)); }

/* ---- lifecycle ---- */

const struct lw_option *lw_option_find(const struct lw_option *table, const char *name)
{
    for (const struct lw_option *option = table; option && option->name; option++)
        if (strcmp(option->name, name) == 0)
            return option;
    return NULL;
}

bool lw_option_is_own(const struct lw_option *option)
{
    return option->kind != LW_OPTION_NONE && option->kind != LW_OPTION_GONE && !option->within;
}

/* Return whether a table before tables[t] also has the option. */
static bool is_replaced(const struct lw_option *const *tables, int t, const char *name)
{
    for (int before = 0; before < t; before++)
        if (lw_option_find(tables[before], name))
            return true;
    return false;
}

/* Set options to their defaults. @param owner  only the options with this owner; NULL: all options */
static int set_fallbacks(struct lw_options *options, const struct lw_option_value *owner, struct lw_error *err)
{
    int rc = LW_OK;
    for (int i = 0; rc == LW_OK && i < options->n_values; i++) {
        struct lw_option_value *const value = &options->values[i];
        if (owner && !is_within(value, owner))
            continue;
        clear(value);
        if (value->option->fallback)
            rc = set_text(value, value->option->fallback, value->option->name, err);
        assert(rc != LW_EUSAGE && "a default that its own option refuses");
    }
    return rc;
}

int lw_options_create(const struct lw_option *const *tables, struct lw_options **out, struct lw_error *err)
{
    struct lw_options *const options = lw_alloc(sizeof *options, "options", err);
    if (!options)
        return LW_ESYSTEM;
    int most = 0;
    for (int t = 0; tables[t]; t++)
        for (const struct lw_option *option = tables[t]; option->name; option++)
            most++;
    options->values = lw_alloc_array(most, sizeof *options->values, "options", err);
    int rc = options->values ? LW_OK : LW_ESYSTEM;
    for (int t = 0; rc == LW_OK && tables[t]; t++)
        for (const struct lw_option *option = tables[t]; option->name; option++)
            if (option->kind != LW_OPTION_NONE && !is_replaced(tables, t, option->name))
                options->values[options->n_values++].option = option;
    rc = rc ? rc : set_fallbacks(options, NULL, err);
    if (rc)
        lw_options_destroy(options);
    else
        *out = options;
    return rc;
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

static bool is_option(const char *argument) { return strncmp(argument, "--", 2) == 0; }

/* Return the value of the option argv[*i]: the text behind its equals sign, "yes" for a flag without this sign, or the next
 * argument, which is then consumed. If no argument follows, or an option does, it is the option's `alone`; NULL: missing. */
static const char *argument_text(const struct lw_option *option, const char *equals, int argc, char **argv, int *i)
{
    if (equals)
        return equals + 1;
    if (option && option->kind == LW_OPTION_FLAG)
        return "yes";
    if (*i + 1 < argc && !is_option(argv[*i + 1]))
        return argv[++*i];
    return option ? option->alone : NULL;
}

/* Parse a NAMES option. Its value is the text behind the equals sign, or all arguments from argv[*i + 1] to the next option. */
static int parse_names(struct lw_options *options, const struct lw_option *option, const char *equals, const char *origin, int argc,
                       char **argv, int *i, struct lw_error *err)
{
    char *const single[] = {(char *)(uintptr_t)(equals ? equals + 1 : NULL)};
    int n = equals ? 1 : 0;
    while (!equals && *i + 1 + n < argc && !is_option(argv[*i + 1 + n]))
        n++;
    LW_FREED char *const text = lw_words_join(n, equals ? single : argv + *i + 1, "an option", err);
    if (!text)
        return LW_ESYSTEM;
    *i += equals ? 0 : n;
    const int rc = text[0] || equals ? lw_options_set(options, option->name, text, origin, err)
                                     : lw_fail(err, LW_EUSAGE, "%s: the value is missing; give %s %s", origin, origin,
                                               placeholder(option));
    return rc;
}

/* Fail for a former option, or for an option that is now given in its owner's value. */
static int fail_gone(const struct lw_option *option, const char *origin, struct lw_error *err)
{
    if (!option->within)
        return lw_fail(err, LW_EUSAGE, "%s is no longer an option: %s", origin, option->help);
    const bool is_flag = option->kind == LW_OPTION_FLAG;
    return lw_fail(err, LW_EUSAGE, "%s is now part of another option: give it as --%s ...,%s%s%s", origin, option->within,
                   option->word, is_flag ? "" : "=", is_flag ? "" : placeholder(option));
}

static int parse_one(struct lw_options *options, int argc, char **argv, int *i, struct lw_error *err)
{
    const char *const name = argv[*i] + 2, *const equals = strchr(name, '=');
    char origin[MAX_ORIGIN];
    snprintf(origin, sizeof origin, "--%.*s", (int)(equals ? equals - name : (long)strlen(name)), name);

    struct lw_option_value *const value = find(options, origin + 2);
    if (!value)
        return fail_unknown(options, origin + 2, origin, err);
    if (!lw_option_is_own(value->option))
        return fail_gone(value->option, origin, err);
    if (value->is_typed)
        return lw_fail(err, LW_EUSAGE, "%s is given twice: give it once", origin);
    value->is_typed = true;
    if (value->option->kind == LW_OPTION_NAMES)
        return parse_names(options, value->option, equals, origin, argc, argv, i, err);
    const char *const text = argument_text(value->option, equals, argc, argv, i);
    if (!text)
        return lw_fail(err, LW_EUSAGE, "%s: the value is missing; give %s %s", origin, origin, placeholder(value->option));
    if (value->option->former && strcmp(text, value->option->former) == 0)
        return lw_fail(err, LW_EUSAGE, "%s %s is no longer a choice: leave it out, %s is the same", origin, text,
                       value->option->fallback);
    const int rc = set_fallbacks(options, value, err);      /* a typed value also replaces the parts that a job file has set */
    return rc ? rc : lw_options_set(options, origin + 2, text, origin, err);
}

int lw_options_parse(struct lw_options *options, int argc, char **argv, int *used, struct lw_error *err)
{
    int rc = LW_OK, i = 0;
    while (rc == LW_OK && i < argc && is_option(argv[i]) && argv[i][2]) {
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

bool lw_options_given(const struct lw_options *options, const char *name) { return get(options, name)->text; }
bool lw_options_flag(const struct lw_options *options, const char *name) { return get(options, name)->integer; }
const char *lw_options_text(const struct lw_options *options, const char *name) { return get(options, name)->text; }
int64_t lw_options_int(const struct lw_options *options, const char *name) { return get(options, name)->integer; }
double lw_options_real(const struct lw_options *options, const char *name) { return get(options, name)->real; }
int lw_options_choice(const struct lw_options *options, const char *name) { return (int)get(options, name)->integer; }
struct lw_option_range lw_options_range(const struct lw_options *options, const char *name) { return get(options, name)->range; }

struct lw_stretch lw_options_stretch(const struct lw_options *options, const char *name)
{
    const struct lw_option_value *const value = get(options, name);
    const bool is_time = value->real > 0;
    return (struct lw_stretch){.is_time = is_time, .samples = is_time ? 0 : value->integer, .seconds = value->real};
}

void lw_options_each(const struct lw_options *options, void (*visit)(const struct lw_option *, const char *value, void *),
                     void *context)
{
    for (int i = 0; i < options->n_values; i++)
        if (options->values[i].option->kind != LW_OPTION_GONE)
            visit(options->values[i].option, options->values[i].text, context);
}

/* ---- the resolved configuration ---- */

/* A line of a job file has at most 196 bytes, so that long values are continued behind a backslash. Blanks beside a break would be
 * lost: breaks come where there are no blanks. */
enum { LINE_LENGTH = 120 };

static bool may_break(const char *value, size_t at)
{
    return !isspace((unsigned char)value[at - 1]) && !isspace((unsigned char)value[at]) &&
           !strchr("\\;", value[at - 1]) && !strchr("#;", value[at]);
}

/* Return whether value[at] needs a backslash before it; without it a job file would begin a variable or a comment here. */
static bool needs_escape(const char *value, size_t at)
{
    if (value[at] == '$')
        return value[at + 1] == '{';
    return strchr("#;", value[at]) && (at == 0 || strchr(" \t\\", value[at - 1]));
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
        if (needs_escape(value, i))
            fputc('\\', file);
        fputc(value[i], file);
    }
    fputc('\n', file);
}

/* Return the value of an owner with its parts, "5,filters". Parts with default values are left out if the owner has no value.
 * Release it with lw_free, which is free(); NULL: no memory. */
static char *whole_text(const struct lw_options *options, const struct lw_option_value *owner)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const file = open_memstream(&text, &size);
    if (!file)
        return NULL;
    bool is_empty = !owner->text;
    fputs(is_empty ? "" : owner->text, file);
    for (int i = 0; i < options->n_values; i++) {
        const struct lw_option_value *const part = &options->values[i];
        const struct lw_option *const option = part->option;
        const bool is_flag = option->kind == LW_OPTION_FLAG;
        if (!is_within(part, owner) || !part->text || (is_flag && !part->integer) ||
            (!owner->text && option->fallback && strcmp(part->text, option->fallback) == 0))
            continue;
        fprintf(file, "%s%s%s%s", is_empty ? "" : ",", option->word, is_flag ? "" : "=", is_flag ? "" : part->text);
        is_empty = false;
    }
    return fclose(file) == 0 ? text : NULL;
}

char *lw_options_resolved(const struct lw_options *options, const char *more, struct lw_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const file = open_memstream(&text, &size);
    bool is_whole = file != NULL;
    for (int i = 0; is_whole && i < options->n_values; i++)
        if (!options->values[i].option->within) {
            LW_FREED char *const whole = whole_text(options, &options->values[i]);
            is_whole = whole != NULL;
            if (is_whole && *whole)
                print_line(file, options->values[i].option->name, whole);
        }
    if (file) {
        fputs(more, file);
        is_whole = !ferror(file) && is_whole;
        is_whole = fclose(file) == 0 && is_whole;
    }
    if (is_whole)
        return text;        /* lw_free releases it: lw_free is free(), and open_memstream allocates with malloc */
    lw_free(text);
    lw_fail(err, LW_ESYSTEM, "no memory for the resolved configuration");
    return NULL;
}
