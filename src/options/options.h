/* options.h - the options of a command. Tables give their names, legal values, defaults and help. Everything that reads or prints
 * options uses these tables: command line, job file, --help, man page, the job stored in a result.
 *
 * A value passes through this folder as follows:
 *
 *     command line --> options.c --\                              /--> lw_options_int, ... (jobs read it)
 *     job file ------> file.c -----+--> value.c (parse.c): check -+--> lw_options_resolved (text of a job file)
 *
 * words.c handles lists of file names, ${NAME} and ~. A value is checked when it is set, so that reading it cannot fail. */
#pragma once

#include "base/error.h"
#include "options/parse.h"

enum lw_option_kind {
    LW_OPTION_FLAG,             /* no argument; "yes" or "no" in a job file */
    LW_OPTION_TEXT,
    LW_OPTION_NAMES,            /* names of files, all arguments up to the next option; the value is a text of options/words.h */
    LW_OPTION_FILE,             /* name of a file; ~/ at its beginning is the home folder */
    LW_OPTION_INT,              /* minimum .. maximum; accepts 2^31, 1e6 and 10k/M/G (powers of 1000) */
    LW_OPTION_BYTES,            /* 512M, 4GB, 1.5GiB: powers of 1024; at least `minimum` */
    LW_OPTION_REAL,
    LW_OPTION_DURATION,         /* a real in seconds: 0.1s, 20ms, 2min, 1h, 3d; seconds without a unit */
    LW_OPTION_FREQUENCY,        /* a real in Hz: 4kHz, 1.2 MHz; Hz without a unit */
    LW_OPTION_RATE,             /* a real in bytes per second: 200GB/s, 1.5 GiB/s; powers of 1000 without the i */
    LW_OPTION_STRETCH,          /* number of samples as for INT or, with a unit, a time above 0 as for DURATION */
    LW_OPTION_CHOICE,           /* one of the words in `choices`, such as "full|same|valid" */
    LW_OPTION_RANGE,            /* A:B or A:B:STEP, with parts that may be left out, or A alone; no negative numbers */
    LW_OPTION_NONE,             /* no option: later tables' option of this name does not exist */
    LW_OPTION_GONE,             /* a former option, which job files may still have, without effect; `help` gives the replacement */
};

/* Headings under which help shows options, in its order. */
#define LW_OPTION_GROUPS(X)                                                                                                       \
    X(OWN, "") /* the heading of the command's own options */                                                                     \
    X(PRODUCTS, "Products and search") X(INPUT, "Input") X(PART, "Part of the input") X(OUTPUT, "Output")                         \
    X(INTERRUPTION, "Interruption") X(RESOURCES, "Resources") X(GPU, "GPU") X(MESSAGES, "Messages")

enum lw_option_group {
    LW_GROUP_SAME,              /* the group of the entry above; a table begins with OWN */
#define X(name, heading) LW_GROUP_##name,
    LW_OPTION_GROUPS(X)
#undef X
    LW_N_GROUPS
};

struct lw_option {
    const char *name;           /* the name without the dashes */
    enum lw_option_group group;
    enum lw_option_kind kind;
    const char *argument;       /* placeholder of the value in help: "FILE:/dataset"; NULL for flags and choices */
    const char *fallback;       /* default as text; NULL: none, and lw_options_given is false until the option is set */
    const char *choices;
    double minimum, maximum;    /* limits of numbers (BYTES: only the minimum); equal limits: none */
    const char *help;           /* its first sentence alone tells what the option is for; the printer wraps it */
    const char *within;         /* the owner: the option whose value holds this option behind a comma, as in --cluster 5,filters or
                                   --noise rms,every=1h; NULL: none. A job file may also have a line for this option */
    const char *word;           /* its name in the owner's value: "filters", "every" */
    const char *alone;          /* value of the option without an argument on the command line; NULL: it needs one */
    const char *former;         /* a former choice, "nan", that job files may still have; it means the default */
    bool is_required;           /* a command without it is refused */
    bool is_neutral;            /* the bits of the result do not depend on its value */
    bool is_rare;               /* shown by 'lapwing help COMMAND --all', not by the plain help */
};

/* Table entry of a former option. */
#define LW_OPTION_GONE_ENTRY(is, instead) {.name = is, .kind = LW_OPTION_GONE, .help = instead}

/* Table entry for commands that write an output. */
#define LW_OPTION_OVERWRITE                                                  \
    {.name = "overwrite", .kind = LW_OPTION_FLAG, .is_neutral = true,        \
     .help = "Replace the output if it exists. Otherwise that is an error."}

/* A set of options: tables plus values. */
struct lw_options;

/** Return the entry of a name in a table; NULL if there is none, or if `table` is NULL. */
const struct lw_option *lw_option_find(const struct lw_option *table, const char *name);

/** Return whether the command line has --NAME: the option is neither NONE nor GONE, and has no owner. */
bool lw_option_is_own(const struct lw_option *option);

/** Create the options of some tables with their defaults. If several tables have an option, the first table counts.
 * @param tables  NULL-ended list of tables, each ended by an entry without a name; borrowed for the options' life */
int lw_options_create(const struct lw_option *const *tables, struct lw_options **out, struct lw_error *err);
void lw_options_destroy(struct lw_options *options);        /* NULL is legal */

/** Set an option, and the options that it owns and the text names, from text. LW_EUSAGE: there is no such option (the message has
 * the nearest name), or the value is illegal (the message has the legal ones).
 * @param origin  "--segment" or "job.ini:12: segment"; begins the message */
int lw_options_set(struct lw_options *options, const char *name, const char *text, const char *origin, struct lw_error *err);

/** Leave an option without a value, even without its default. */
void lw_options_clear(struct lw_options *options, const char *name);

/** Parse --name value, --name=value, --names value value, --flag and --flag=no up to the first argument that is not an option. A
 * value replaces the earlier value of the option and of all options that it owns. LW_EUSAGE: an option is given twice here,
 * is GONE or has an owner, or an error of lw_options_set.
 * @param used  set to the number of arguments consumed */
int lw_options_parse(struct lw_options *options, int argc, char **argv, int *used, struct lw_error *err);

/** Return the first required option, in table order, that is not given; NULL: all are given. */
const struct lw_option *lw_options_missing(const struct lw_options *options);

/* Functions that read a value. `name` must be in the tables (asserted). */
bool lw_options_given(const struct lw_options *options, const char *name);      /* whether the option is set or has a default */
bool lw_options_flag(const struct lw_options *options, const char *name);
const char *lw_options_text(const struct lw_options *options, const char *name);    /* NULL if not given */
int64_t lw_options_int(const struct lw_options *options, const char *name);     /* INT and BYTES; 0 if not given */
struct lw_stretch lw_options_stretch(const struct lw_options *options, const char *name);   /* STRETCH and INT; 0 if not given */
double lw_options_real(const struct lw_options *options, const char *name);     /* REAL, DURATION, FREQUENCY, RATE */
int lw_options_choice(const struct lw_options *options, const char *name);      /* index into the choices; -1 if not given */

/* The value of a RANGE. A part that was left out is -1. */
struct lw_option_range {
    int64_t begin, end, step;
};
struct lw_option_range lw_options_range(const struct lw_options *options, const char *name);

/** Return a line "name = value" for every option that is given, in table order: a job file for the same job, without its section
 * line. Long lines are continued behind a backslash. Release with lw_free; NULL: no memory.
 * @param more  lines to append */
char *lw_options_resolved(const struct lw_options *options, const char *more, struct lw_error *err);

/** Call `visit` for every option but GONE ones, in table order, options with an owner included. */
void lw_options_each(const struct lw_options *options, void (*visit)(const struct lw_option *, const char *value, void *),
                     void *context);
