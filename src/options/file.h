/* file.h - a text of options, such as a job file: one [section], and in it lines "name = value" (see lw_commands). Pure. */
#pragma once

#include "options/options.h"

struct lw_options_file {
    char *path;                 /* owned */
    char *text;                 /* owned, ends with a null byte */
    int64_t bytes;              /* without that */
    char *variables; /* owned: "NAME=value" of each one that ${NAME} may stand for, each with a null byte behind it, in the
                                   end an empty one */
};

enum { LW_SECTION_NAME = 49, LW_SECTION_WHY = 400 };

/** Whether a section may have this name, which is empty where options come before any; if not, why. */
typedef bool lw_section_fn(const char *name, char why[LW_SECTION_WHY]);

/** The section's name. LW_ECONFIG, with file and line, for whatever is wrong with the text. */
int lw_options_file_section(const struct lw_options_file *file, lw_section_fn *knows, char section[LW_SECTION_NAME],
                            struct lw_error *err);

/** Set the options. LW_ECONFIG, with file and line, for whatever is wrong with one of them. */
int lw_options_file_apply(const struct lw_options_file *file, lw_section_fn *knows, struct lw_options *options,
                          struct lw_error *err);
