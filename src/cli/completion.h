/* completion.h - completion of command lines by shells, made from the tables of commands and options. */
#pragma once

#include <stdio.h>

/** Scripts for a shell to source; they know words, options, and values that are a choice or a file. The one for zsh has a line of
 * help for each option. */
void lw_completion_bash(FILE *file);
void lw_completion_zsh(FILE *file);
