/* completion.h - scripts with which shells complete command lines, made from the tables of commands and options. */
#pragma once

#include <stdio.h>

/** Print a script for a shell to source. It completes words, options, and values that are a choice or a file. The script for zsh
 * has a line of help for each option. */
void lw_completion_bash(FILE *file);
void lw_completion_zsh(FILE *file);
