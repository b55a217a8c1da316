#include "options/words.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- several words in one text ---- */

static bool is_special(char letter) { return letter == ' ' || letter == '\\'; }

size_t lw_words_room(const char *word)
{
    size_t room = strlen(word) + 2;
    for (; *word; word++)
        room += is_special(*word);
    return room;
}

char *lw_words_append(const char *word, const char *text, char *end)
{
    if (end > text)
        *end++ = ' ';
    for (; *word; word++) {
        if (is_special(*word))
            *end++ = '\\';
        *end++ = *word;
    }
    *end = '\0';
    return end;
}

char *lw_words_join(int n, char *const *words, const char *what, struct lw_error *err)
{
    size_t room = 1;
    for (int i = 0; i < n; i++)
        room += lw_words_room(words[i]);
    char *const text = lw_alloc(room, what, err), *end = text;
    for (int i = 0; text && i < n; i++)
        end = lw_words_append(words[i], text, end);
    return text;
}

const char *lw_words_take(const char *text, char *word, size_t size)
{
    const char *at = text + strspn(text, " ");
    size_t n = 0;
    while (*at && *at != ' ') {
        if (*at == '\\' && is_special(at[1]))
            at++;
        if (n + 1 == size)
            return NULL;
        word[n++] = *at++;
    }
    word[n] = '\0';
    return at + strspn(at, " ");
}

/* ---- expansion ---- */

enum { MAX_NAME = 200 };

struct expansion {
    lw_variable_fn *variable;
    const void *context;
    const char *origin;
    char *out;
    size_t size, used;
    struct lw_error *err;
};

static int append(struct expansion *expansion, const char *text, size_t length)
{
    if (length >= expansion->size - expansion->used)
        return lw_fail(expansion->err, LW_EUSAGE, "%s: the value with its variables expanded is longer than %zu characters",
                       expansion->origin, expansion->size - 1);
    memcpy(expansion->out + expansion->used, text, length);
    expansion->used += length;
    expansion->out[expansion->used] = '\0';
    return LW_OK;
}

/* Append the expansion of ${...}, whose braces enclose the text [inside, end). */
static int expand_one(struct expansion *expansion, const char *inside, const char *end)
{
    static const char letters[] = "_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const size_t length = *inside >= '0' && *inside <= '9' ? 0 : strspn(inside, letters);
    const char *const behind = inside + length;
    const bool has_default = strncmp(behind, ":-", 2) == 0;
    char name[MAX_NAME];
    if (length == 0 || length >= sizeof name || (behind != end && !has_default))
        return lw_fail(expansion->err, LW_EUSAGE, "%s: '${%.*s}' is neither ${NAME} nor ${NAME:-default}; if it is part of the "
                       "value, write \\${", expansion->origin, (int)(end - inside < MAX_NAME ? end - inside : MAX_NAME), inside);
    memcpy(name, inside, length);
    name[length] = '\0';

    const char *const value = expansion->variable(name, expansion->context);
    if (has_default && (!value || !*value))
        return append(expansion, behind + 2, (size_t)(end - behind) - 2);
    if (!value)
        return lw_fail(expansion->err, LW_EUSAGE, "%s: the variable %s is not set: set it (mpirun passes it on to other nodes with "
                       "-x %s), or write ${%s:-default}", expansion->origin, name, name, name);
    return append(expansion, value, strlen(value));
}

int lw_expand_variables(const char *text, lw_variable_fn *variable, const void *context, const char *origin, char *out, size_t size,
                        struct lw_error *err)
{
    struct expansion expansion = {variable, context, origin, out, size, 0, err};
    out[0] = '\0';
    for (const char *at = text; *at;) {
        const bool is_sign = at[0] == '\\' && (at[1] == '#' || at[1] == ';');
        const size_t escaped = is_sign ? 1 : strncmp(at, "\\${", 3) == 0 ? 2 : 0;  /* number of bytes that a backslash escapes */
        int rc;
        if (escaped == 0 && strncmp(at, "${", 2) == 0) {
            const char *const end = strchr(at, '}');
            if (!end)
                return lw_fail(err, LW_EUSAGE, "%s: a ${ has no }; if it is part of the value, write \\${", origin);
            rc = expand_one(&expansion, at + 2, end);
            at = end + 1;
        } else {
            at += escaped > 0;
            rc = append(&expansion, at, escaped > 0 ? escaped : 1);
            at += escaped > 0 ? escaped : 1;
        }
        if (rc != LW_OK)
            return rc;
    }
    return LW_OK;
}

int lw_expand_home(const char *text, const char *home, const char *origin, char **out, struct lw_error *err)
{
    const bool is_needed = text[0] == '~' && (text[1] == '/' || text[1] == '\0');
    if (is_needed && (!home || !*home))
        return lw_fail(err, LW_EUSAGE, "%s: %s begins with ~ for the home folder, but the variable HOME is not set", origin, text);
    const size_t size = strlen(text) + (is_needed ? strlen(home) : 0) + 1;
    char *const copy = lw_alloc(size, "an option", err);
    if (!copy)
        return LW_ESYSTEM;
    snprintf(copy, size, "%s%s", is_needed ? home : "", text + is_needed);
    *out = copy;
    return LW_OK;
}

int lw_expand_homes(const char *text, const char *home, const char *origin, char **out, struct lw_error *err)
{
    const size_t length = strlen(text) + 2, home_length = home ? strlen(home) : 0;
    size_t n_homes = 0;
    for (const char *at = text; *at; at++)
        n_homes += *at == '~';
    LW_FREED char *const word = lw_alloc(length, "an option", err);
    LW_FREED char *const longer = lw_alloc(length + home_length, "an option", err);
    char *const all = lw_alloc(2 * (length + n_homes * home_length), "an option", err), *end = all;
    int rc = word && longer && all ? LW_OK : LW_ESYSTEM;
    for (const char *at = text; rc == LW_OK && *at;) {
        at = lw_words_take(at, word, length);
        const bool is_list = word[0] == '@';        /* the word is @FILE, a file that lists inputs */
        LW_FREED char *expanded = NULL;
        if ((rc = lw_expand_home(word + is_list, home, origin, &expanded, err)))
            break;
        sprintf(longer, "%s%s", is_list ? "@" : "", expanded);
        end = lw_words_append(longer, all, end);
    }
    if (rc == LW_OK)
        *out = all;
    else
        lw_free(all);
    return rc;
}
