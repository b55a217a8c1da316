/* gnuplot.h - the program that draws, started without a shell: it reads the text on its standard input and writes the picture to
 * its standard output, both files that are open already. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

/** Whether gnuplot can be started. LW_ESYSTEM: it is not installed; names the package. */
int lw_gnuplot_check(struct lw_error *err);

/** Draw. LW_ESYSTEM: gnuplot fails; gives its reason.
 * @param script  written to so far; read from its beginning @param picture  descriptor of an empty file */
int lw_gnuplot_draw(FILE *script, int picture, struct lw_error *err);
