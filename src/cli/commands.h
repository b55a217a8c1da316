/* commands.h - the commands of the program and the options that they share, as tables. */
#ifndef LW_CLI_COMMANDS_H
#define LW_CLI_COMMANDS_H

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

/* A command that is not itself a job. */
struct lw_command {
    const char *name;
    enum lw_action action;
    const char *operands;       /* "JOB [options]" */
    const char *title;          /* one line */
    const char *description;    /* a paragraph */
    const char *example;        /* command lines */
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

/** The command or kind of filters of that name; NULL if there is none. */
const struct lw_command *lw_command_find(const char *name);
const struct lw_filter_kind *lw_filter_kind_find(const char *name);

/** The command or job whose name is near to what was typed; NULL if none is. The same for kinds of filters. */
const char *lw_command_nearest(const char *name);
const char *lw_filter_kind_nearest(const char *name);

/** "ols, conv2d, sfft". Returns `text`. */
const char *lw_job_names(char text[120]);
const char *lw_filter_kind_names(char text[120]);       /* "bandpass, lowpass, ..." */

#endif
