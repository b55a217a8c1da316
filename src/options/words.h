/* words.h - lists of words, such as names of files, in one text; expansion of ${NAME}, and of ~ to the home folder. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* ---- words separated by blanks; a backslash stands before a blank or backslash that belongs to a word ---- */

/** Return the most bytes that lw_words_append adds for a word, the final zero included. */
size_t lw_words_room(const char *word);

/** Append a word to `text`, behind a blank unless it is the first. @param end  the final zero of `text` @return  the new end */
char *lw_words_append(const char *word, const char *text, char *end);

/** Join words to one text, to be released with lw_free; NULL: no memory for `what`. */
char *lw_words_join(int n, char *const *words, const char *what, struct lw_error *err);

/** Copy the first word without its backslashes. @return  the beginning of the second word; NULL: the first does not fit `size` */
const char *lw_words_take(const char *text, char *word, size_t size);

/* ---- expansion ---- */

/** Return the value of a variable; NULL if it is not set. */
typedef const char *lw_variable_fn(const char *name, const void *context);

/** Replace ${NAME} and ${NAME:-default} by the values of variables. The default, any text without }, is for a variable that is not
 * set or empty. Values are not expanded again. \${, \# and \; become ${, # and ;. LW_EUSAGE: a variable is not set and has no
 * default, the braces hold something else, or the text does not fit `out`.
 * @param origin  begins the message: "job.ini:12: input"
 * @param out     [size] */
int lw_expand_variables(const char *text, lw_variable_fn *variable, const void *context, const char *origin, char *out, size_t size,
                        struct lw_error *err);

/** Copy the text to `*out`, with `home` in place of a leading ~ that stands alone or before a slash; release it with lw_free.
 * LW_EUSAGE: there is such a ~, and `home` is NULL or empty. */
int lw_expand_home(const char *text, const char *home, const char *origin, char **out, struct lw_error *err);

/** Replace the ~ in the same way in each word of a text; it may also stand behind the @ of a list of files. */
int lw_expand_homes(const char *text, const char *home, const char *origin, char **out, struct lw_error *err);
