/* words.h - the texts that people write: several words, such as names of files, in one text, and what stands for something else:
 * ${NAME}, and ~ for the home folder. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* ---- words with blanks between them; a blank or backslash of a word has a backslash before it ---- */

/** Bytes that lw_words_append adds at most, with the final zero. */
size_t lw_words_room(const char *word);

/** Add a word at `end`, the final zero of `text`, behind a blank if there is something before it. @return  the new end */
char *lw_words_append(const char *word, const char *text, char *end);

/** Words as one text, to be released with lw_free; NULL: no memory for `what`. */
char *lw_words_join(int n, char *const *words, const char *what, struct lw_error *err);

/** Take the first word, without its backslashes. @return  where the rest begins; NULL: it is longer than size - 1 */
const char *lw_words_take(const char *text, char *word, size_t size);

/* ---- what stands for something else ---- */

/** The value of a variable, NULL if it is not set. */
typedef const char *lw_variable_fn(const char *name, const void *context);

/** Put the values of variables in place of ${NAME} and ${NAME:-default}; the default, of any signs but }, is for one that is
 * not set or empty. A value is taken as it is. \${, \# and \; become ${, # and ;. LW_EUSAGE: a name that is not set and has no
 * default, something else between the braces, or no room.
 * @param origin  begins the message: "job.ini:12: input" */
int lw_expand_variables(const char *text, lw_variable_fn *variable, const void *context, const char *origin, char *out, size_t size,
                        struct lw_error *err);

/** A copy of the text in `*out`, in which ~ alone or before a slash at the beginning has become `home`; release it with lw_free.
 * LW_EUSAGE: it is needed, and `home` is NULL or empty. */
int lw_expand_home(const char *text, const char *home, const char *origin, char **out, struct lw_error *err);

/** The same for each word of a text, also behind an @ at its beginning. */
int lw_expand_homes(const char *text, const char *home, const char *origin, char **out, struct lw_error *err);
