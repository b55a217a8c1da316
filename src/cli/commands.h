/* commands.h - the commands of the program and the options that they share, as tables. */
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

/* The words that a command line begins with. */
enum { LW_WORD_JOB = 1, LW_WORD_COMMAND = 2, LW_WORD_KIND = 4, LW_WORD_LIST = 240 };

/* A command that is not itself a job. */
struct lw_command {
    const char *name;
    enum lw_action action;
    const char *operands;       /* "JOB [options]" */
    const char *title;          /* one line */
    const char *description;    /* a paragraph */
    const char *example;        /* command lines */
    unsigned words;             /* sorts of words that may stand behind it, LW_WORD_JOB | ...; 0: none */
    bool takes_files;
};

/** The commands, ended by one without a name. */
extern const struct lw_command lw_commands[];

/** The options that every job has beside its own, those that a plan has beside these, those of info, and those that every other
 * command has. Each ends with an entry without a name. */
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

/** The options that a command takes; an option that stands in several sections is that of the first. @return  how many sections
 * @param job, kind  NULL: none; of synth and filters those of all jobs, or of every kind */
int lw_command_sections(enum lw_action action, const struct lw_job_ops *job, const struct lw_filter_kind *kind,
                        struct lw_section sections[LW_COMMAND_SECTIONS]);

/** Whether a section before number `number` has an option of that name, too. */
bool lw_section_replaces(const struct lw_section *sections, int number, const char *name);

/** These options, with their defaults. */
int lw_command_options(enum lw_action action, const struct lw_job_ops *job, const struct lw_filter_kind *kind,
                       struct lw_options **out, struct lw_error *err);

struct lw_word {
    const char *name, *title;
    const struct lw_job_ops *job;           /* one of these is not NULL */
    const struct lw_command *command;
    const struct lw_filter_kind *kind;
};

/** Word `number` of these sorts; behind the last one without a name. */
struct lw_word lw_word_at(unsigned sorts, int number);

/** The word of that name; without a name if there is none. */
struct lw_word lw_word_find(unsigned sorts, const char *name);

/** The word whose name is near to what was typed; NULL if none is. */
const char *lw_word_nearest(unsigned sorts, const char *name);

/** "ols, conv2d, sfft". Returns `text`. */
const char *lw_word_list(unsigned sorts, const char *separator, char text[LW_WORD_LIST]);
