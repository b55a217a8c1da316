/* options.h - the options of a command: one table says their names, legal values, defaults and help, and everything that
 * reads or prints options (command line, job file, --help, man page, provenance) uses it. Values are checked when they are
 * set, so that reading them cannot fail. */
#pragma once

#include "base/error.h"
#include "options/parse.h"

#include <stdbool.h>
#include <stdint.h>

enum lw_option_kind {
    LW_OPTION_FLAG,             /* no argument; "yes" or "no" in a job file */
    LW_OPTION_TEXT,
    LW_OPTION_NAMES,            /* files: an argument for each, up to the next option; the value is a text of words
                                   (options/words.h) */
    LW_OPTION_FILE,             /* a text that names a file: ~/ at its beginning is the home folder */
    LW_OPTION_INT,              /* minimum .. maximum; accepts 2^31, 1e6 and 10k/M/G (powers of 1000) */
    LW_OPTION_BYTES,            /* 512M, 4GB, 1.5GiB: powers of 1024; at least `minimum` */
    LW_OPTION_REAL,
    LW_OPTION_DURATION,         /* a real in seconds: 0.1s, 20ms, 2min, 1h, 3d; seconds where no unit stands */
    LW_OPTION_FREQUENCY,        /* a real in Hz: 4kHz, 1.2 MHz; Hz where no unit stands */
    LW_OPTION_STRETCH,          /* samples, as INT, or with a unit behind it a time above 0, as DURATION */
    LW_OPTION_CHOICE,           /* one of `choices`, "full|same|valid" */
    LW_OPTION_RANGE,            /* A:B or A:B:STEP, any part may be left out, or A alone; not negative */
    LW_OPTION_NONE,             /* there is no such option, whatever later tables say */
    LW_OPTION_GONE,             /* there was such an option: job files may still have it, which changes nothing; `help` says what to
                                   do instead */
};

struct lw_option {
    const char *name;           /* without the dashes */
    enum lw_option_kind kind;
    const char *argument;       /* shown in help: "FILE:/dataset"; NULL for flags and choices */
    const char *fallback;       /* default as text; NULL: none, lw_options_given tells */
    const char *choices;
    double minimum, maximum;    /* of numbers, but BYTES: no limits if they are equal */
    const char *help;           /* one sentence or two, wrapped by whoever prints it */
    const char *within;         /* the option in whose value it stands, behind a comma: --cluster 5,filters, --noise rms,every=1h;
                                   NULL: none. In a job file it may also stand by itself under its own name */
    const char *word;           /* its name there: "filters", "every" */
    const char *former;         /* a choice that there was, "nan": job files may still have it, and mean the default */
    bool is_required;           /* a command without it is refused */
    bool is_neutral;            /* the result has the same bits whatever its value */
    bool is_rare;               /* 'lapwing help COMMAND --all' shows it, not the plain help */
};

/* An entry for an option that is no more. */
#define LW_OPTION_GONE_ENTRY(is, instead) {.name = is, .kind = LW_OPTION_GONE, .help = instead}

/* An entry of every table that names an output. */
#define LW_OPTION_OVERWRITE                                                  \
    {.name = "overwrite", .kind = LW_OPTION_FLAG, .is_neutral = true,        \
     .help = "Replace the output if it exists. Otherwise that is an error."}

/* A set of options: tables plus values. */
struct lw_options;

/** The entry of that name in a table, which may be NULL; NULL if there is none. */
const struct lw_option *lw_option_find(const struct lw_option *table, const char *name);

/** Whether it is an option of its own: there, and not within another. */
bool lw_option_is_own(const struct lw_option *option);

/** An option that stands in several tables is that of the first.
 * @param tables  NULL-ended list of tables, each ended by an entry without a name; borrowed for the options' life */
int lw_options_create(const struct lw_option *const *tables, struct lw_options **out, struct lw_error *err);
void lw_options_destroy(struct lw_options *options);        /* NULL is legal */

/** Set one option from text, and those within it that the text has. LW_EUSAGE: no such option (names the nearest one), or a value
 * that is not legal (says what is).
 * @param origin  "--segment" or "job.ini:12: segment", begins the message */
int lw_options_set(struct lw_options *options, const char *name, const char *text, const char *origin, struct lw_error *err);

/** Take back what has been set, a default too. */
void lw_options_clear(struct lw_options *options, const char *name);

/** Parse --name value, --name=value, --names value value, --flag and --flag=no; stops at the first thing that is not an option.
 * What was set before is overridden, with all that is within it; LW_EUSAGE: an option that is given here twice, or is there no
 * more.
 * @param used  set to the arguments consumed */
int lw_options_parse(struct lw_options *options, int argc, char **argv, int *used, struct lw_error *err);

/** The first required option, in table order, that is not given; NULL if there is none. */
const struct lw_option *lw_options_missing(const struct lw_options *options);

/* Reading: `name` must be in the tables (an assertion otherwise). */
bool lw_options_given(const struct lw_options *options, const char *name);      /* set, or has a default */
bool lw_options_flag(const struct lw_options *options, const char *name);
const char *lw_options_text(const struct lw_options *options, const char *name);    /* NULL if not given */
int64_t lw_options_int(const struct lw_options *options, const char *name);     /* INT and BYTES; 0 if not given */
struct lw_stretch lw_options_stretch(const struct lw_options *options, const char *name);   /* STRETCH and INT; 0 if not given */
double lw_options_real(const struct lw_options *options, const char *name);     /* REAL, DURATION, FREQUENCY */
int lw_options_choice(const struct lw_options *options, const char *name);      /* index into the choices; -1 if not given */

/* Parts that were left out are -1. */
struct lw_option_range {
    int64_t begin, end, step;
};
struct lw_option_range lw_options_range(const struct lw_options *options, const char *name);

/** "name = value" lines of every option that is given, in table order: a job file that asks for the same. The section
 * line is not included. A long line is broken after a backslash. Release with lw_free. @param more  lines that follow */
char *lw_options_resolved(const struct lw_options *options, const char *more, struct lw_error *err);

/** Call `visit` for every option in table order, those within others too. */
void lw_options_each(const struct lw_options *options, void (*visit)(const struct lw_option *, const char *value, void *),
                     void *context);
