/* completion.h - completion of command lines by bash, made from the tables of commands and options. */
#ifndef LW_CLI_COMPLETION_H
#define LW_CLI_COMPLETION_H

#include <stdio.h>

/** Print a script for bash to source. It knows the words that may follow lapwing, the options behind these, and the values of
 * options that are a choice or a file. */
void lw_completion_print(FILE *file);

#endif
