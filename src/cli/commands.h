/* commands.h - tables of the program's commands, and of the options that they share. */
#pragma once

#include "jobs/filters/kinds.h"
#include "jobs/jobs.h"
#include "options/options.h"

#include <stdbool.h>

enum lw_action {
    LW_ACTION_RUN,              /* lapwing JOB */
    LW_ACTION_PLAN,
    LW_ACTION_SYNTH,
    LW_ACTION_FILTERS,          /* lapwing filters KIND */
    LW_ACTION_RUN_FILE,         /* lapwing run JOB.ini: the job is known once the file has been read */
    LW_ACTION_INFO,
    LW_ACTION_PLOT,
    LW_ACTION_VERIFY,           /* lapwing verify RESULT */
    LW_ACTION_HELP,
    LW_ACTION_VERSION,
};

/* Sorts of words that begin a command line. */
enum { LW_WORD_JOB = 1, LW_WORD_COMMAND = 2, LW_WORD_KIND = 4, LW_WORD_LIST = 240 };

/* A command that is no job. */
struct lw_command {
    const char *name;
    enum lw_action action;
    const char *operands;       /* "JOB [options]" */
    const char *title;          /* one line */
    const char *description;    /* a paragraph */
    const char *example;        /* command lines */
    unsigned words;             /* sorts of words that may follow it, LW_WORD_JOB | ...; 0: none */
    bool takes_files;
};

/** The commands; the last entry has no name. */
extern const struct lw_command lw_commands[];

/** Options that all jobs have beside their own, plan beside these, info, and all commands but info. Last entries have no name. */
extern const struct lw_option lw_common_options[];
extern const struct lw_option lw_plan_options[];
extern const struct lw_option lw_info_options[];
extern const struct lw_option lw_message_options[];

/* A table of options with its heading, "Options of " and "ols". */
struct lw_section {
    const char *heading, *name;
    const struct lw_option *table;
};

enum { LW_COMMAND_SECTIONS = 8 };

/** List the sections of options that a command takes. An option in several sections is the first section's.
 * @return  their number
 * @param job, kind  NULL: none; synth then has the options of all jobs, and filters those of every kind */
int lw_command_sections(enum lw_action action, const struct lw_job_ops *job, const struct lw_filter_kind *kind,
                        struct lw_section sections[LW_COMMAND_SECTIONS]);

/** Whether a section before number `number` has an option of that name, too. */
bool lw_section_replaces(const struct lw_section *sections, int number, const char *name);

/** Create these options, with their defaults. */
int lw_command_options(enum lw_action action, const struct lw_job_ops *job, const struct lw_filter_kind *kind,
                       struct lw_options **out, struct lw_error *err);

struct lw_word {
    const char *name, *title;
    const struct lw_job_ops *job;           /* one of the three is not NULL */
    const struct lw_command *command;
    const struct lw_filter_kind *kind;
};

/** Return word `number` of these sorts; past the last, a word without a name. */
struct lw_word lw_word_at(unsigned sorts, int number);

/** Return the word of that name; a word without a name: there is none. */
struct lw_word lw_word_find(unsigned sorts, const char *name);

/** Return the word's name that is nearest to what was typed; NULL: none is near. */
const char *lw_word_nearest(unsigned sorts, const char *name);

/** Write "ols, conv2d, sfft". @return  `text` */
const char *lw_word_list(unsigned sorts, const char *separator, char text[LW_WORD_LIST]);
