/* commands.h - tables of the program's commands, of the options that commands share, and of the words that begin a command line. */
#pragma once

#include "jobs/filters/kinds.h"
#include "jobs/jobs.h"

enum lw_action {
    LW_ACTION_RUN,              /* lapwing JOB */
    LW_ACTION_PLAN,
    LW_ACTION_SYNTH,
    LW_ACTION_FILTERS,          /* lapwing filters KIND */
    LW_ACTION_RUN_FILE,         /* lapwing run JOB.ini: the file names the job */
    LW_ACTION_INFO,
    LW_ACTION_PLOT,
    LW_ACTION_VERIFY,           /* lapwing verify RESULT */
    LW_ACTION_HELP,
    LW_ACTION_VERSION,
};

/* Sorts of words that begin a command line, as bits; LW_WORD_LIST is the size of a text that lists the words of a sort. */
enum { LW_WORD_JOB = 1, LW_WORD_COMMAND = 2, LW_WORD_KIND = 4, LW_WORD_LIST = 240 };

/* A command of the program beside the jobs. */
struct lw_command {
    const char *name;
    enum lw_action action;
    const char *operands;       /* "JOB [options]" */
    const char *title;          /* one line */
    const char *description;    /* a paragraph for help */
    const char *example;        /* command lines for help */
    unsigned words;             /* sorts of words that may follow, LW_WORD_JOB | ...; 0: none */
    bool takes_files;
};

/** Table of the commands; the last entry has no name. */
extern const struct lw_command lw_commands[];

/** Tables of options: of all jobs; of plan; of info; of messages, for all commands but info. The last entries have no name. */
extern const struct lw_option lw_common_options[];
extern const struct lw_option lw_plan_options[];
extern const struct lw_option lw_info_options[];
extern const struct lw_option lw_message_options[];

/* A table of options, with its heading in two parts, such as "Options of " and "ols". */
struct lw_section {
    const char *heading, *name;
    const struct lw_option *table;
};

enum { LW_COMMAND_SECTIONS = 8 };

/** List the sections of a command: its tables of options. If several have the same option, that of the first section counts.
 * @return  the number of sections
 * @param job, kind  NULL: none; then synth has the options of all jobs, and filters those of every kind */
int lw_command_sections(enum lw_action action, const struct lw_job_ops *job, const struct lw_filter_kind *kind,
                        struct lw_section sections[LW_COMMAND_SECTIONS]);

/** Return whether a section before number `number` has an option of the same name. */
bool lw_section_replaces(const struct lw_section *sections, int number, const char *name);

/** Create the options of these sections, with their defaults. LW_ESYSTEM. */
int lw_command_options(enum lw_action action, const struct lw_job_ops *job, const struct lw_filter_kind *kind,
                       struct lw_options **out, struct lw_error *err);

struct lw_word {
    const char *name, *title;
    const struct lw_job_ops *job;           /* not NULL for a job; else the command or the kind is */
    const struct lw_command *command;
    const struct lw_filter_kind *kind;
};

/** Return word `number`, from 0, of the given sorts; past the last, a word without a name. */
struct lw_word lw_word_at(unsigned sorts, int number);

/** Return the word of a name among the given sorts; a word without a name: there is none. */
struct lw_word lw_word_find(unsigned sorts, const char *name);

/** Return the word nearest to a mistyped name; NULL: none is near. */
const char *lw_word_nearest(unsigned sorts, const char *name);

/** Write the words of the given sorts, with a separator: "ols, conv2d, sfft". @return  `text` */
const char *lw_word_list(unsigned sorts, const char *separator, char text[LW_WORD_LIST]);
