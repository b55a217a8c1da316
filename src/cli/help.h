/* help.h - the documentation in the program: --help texts and manual pages, made from the same tables. */
#pragma once

#include "cli/commands.h"

#include <stdio.h>

/** Print the help of a command, of a job, of a command with a job ("synth ols") or a kind of filters ("filters bandpass"); all
 * NULL: the overview. @param shows_all  list rarely needed options, too */
void lw_help_print(FILE *file, const struct lw_command *command, const struct lw_job_ops *job, const struct lw_filter_kind *kind,
                   bool shows_all);

/** Print a manual page as roff: lapwing(1), or that of a command or a job, such as lapwing-ols(1), with all options. */
void lw_help_man(FILE *file, const struct lw_command *command, const struct lw_job_ops *job);

/** Print version, licence and how to cite. */
void lw_help_version(FILE *file);

/** Return "lapwing 0.1.0 (commit c7f6500)". Static storage. */
const char *lw_version_text(void);
