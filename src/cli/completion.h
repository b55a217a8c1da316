/* completion.h - scripts for the shells bash and zsh that complete command lines, made from the tables of commands and options. */
#pragma once

#include <stdio.h>

/** Print a script for a shell to source. It completes words, options, and values of options that are a choice or a file. For zsh it
 * also describes each option. */
void lw_completion_bash(FILE *file);
void lw_completion_zsh(FILE *file);
