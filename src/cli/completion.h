/* completion.h - completion of command lines by shells, made from the tables of commands and options. */
#pragma once

#include "options/options.h"

#include <stdio.h>

/** Scripts for a shell to source; they know words, options, and values that are a choice or a file. */
void lw_completion_bash(FILE *file);
void lw_completion_zsh(FILE *file);

/* The shells that there is one for. */
#define LW_COMPLETION_SHELLS "bash zsh"

/* ---- what the scripts are made of: functions of a shell that bash and zsh understand ---- */

/** Print the function _lapwing_words, which says the words that may follow lapwing, or one of its commands. */
void lw_completion_words(FILE *file);

/* The options that may stand behind some words: "ols", "plan ols", "filters chirp". */
struct lw_completion_visitor {
    FILE *file;
    void (*begin)(FILE *file, const char *words);
    void (*visit)(const struct lw_option *option, FILE *file);
    void (*end)(FILE *file);
};

/** Call `begin` and `end` for all such words, and `visit` in between for the options behind them. */
void lw_completion_each(const struct lw_completion_visitor *visitor);

/** Print a choice's legal values, "full same valid". */
void lw_completion_choices(FILE *file, const char *choices);
