/* value.h - the value of an option: its text, checked, and the number that it stands for. */
#pragma once

#include "options/options.h"

struct lw_option_value {
    const struct lw_option *option;
    bool is_typed;              /* given on the command line, where a second time is an error */
    char *text;                 /* the value as given, owned by lw_options; NULL: not given */
    int64_t integer;            /* INT, BYTES; STRETCH in samples; FLAG: 0 or 1; CHOICE: index, -1 if not given */
    double real;                /* REAL, DURATION, FREQUENCY, RATE; STRETCH in seconds, 0 if it is in samples */
    struct lw_option_range range;
};

/** Check the text and, if it is legal, set the number that it stands for; otherwise change nothing. value->text stays as it is.
 * @param origin  beginning of the message, see lw_options_set */
int lw_option_value_set(struct lw_option_value *value, const char *text, const char *origin, struct lw_error *err);
