/* help.h - the documentation in the program: --help texts, manual pages and completions of command lines, made from the same
 * tables. */
#pragma once

#include "cli/commands.h"

#include <stdio.h>

/** Print the help of a command, of a job, of a command with a job ("synth ols"), or of a kind of filters ("filters bandpass"). All
 * NULL: print the overview. @param shows_all  also list rarely needed options */
void lw_help_print(FILE *file, const struct lw_command *command, const struct lw_job_ops *job, const struct lw_filter_kind *kind,
                   bool shows_all);

/** Print a manual page as roff, with all options: lapwing(1), or the page of a command or a job, such as lapwing-ols(1). */
void lw_help_man(FILE *file, const struct lw_command *command, const struct lw_job_ops *job);

/** Print the version, the licence and how to cite lapwing. */
void lw_help_version(FILE *file);

/** Return name, version and commit, "lapwing 0.1.0 (commit c7f6500)". Static storage. */
const char *lw_version_text(void);

/** Print a script for a shell to source. It completes words, options, and values of options that are a choice or a file. For zsh it
 * also describes each option. */
void lw_completion_bash(FILE *file);
void lw_completion_zsh(FILE *file);
