/* file.h - job files and other texts of options: one [section] with lines "name = value". Pure. */
#pragma once

#include "options/options.h"

struct lw_options_file {
    char *path;                 /* owned */
    char *text;                 /* owned, ends with a null byte */
    int64_t bytes;              /* length of the text without the null byte */
    char *variables;            /* owned: texts "NAME=value" for ${NAME}, each ended by a null byte, the last one empty */
};

enum { LW_SECTION_NAME = 49, LW_SECTION_WHY = 400 };

/** Return whether a section may have this name, which is "" for options before any section. @param why  set to the reason if not */
typedef bool lw_section_fn(const char *name, char why[LW_SECTION_WHY]);

/** Read the section's name. LW_ECONFIG, with file and line, for anything wrong with the text. */
int lw_options_file_section(const struct lw_options_file *file, lw_section_fn *knows, char section[LW_SECTION_NAME],
                            struct lw_error *err);

/** Set the options of the file. LW_ECONFIG, with file and line, for anything wrong with the text or an option. */
int lw_options_file_apply(const struct lw_options_file *file, lw_section_fn *knows, struct lw_options *options,
                          struct lw_error *err);
