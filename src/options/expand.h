/* expand.h - what stands for something else in the texts that people write: ${NAME}, and ~ for the home folder. */
#pragma once

#include "base/error.h"

#include <stddef.h>

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

/** The same for each word of a text (options/words.h), also behind an @ at its beginning. */
int lw_expand_homes(const char *text, const char *home, const char *origin, char **out, struct lw_error *err);
