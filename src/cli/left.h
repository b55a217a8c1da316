/* left.h - what runs that were ended early have left, in words on standard output. */
#pragma once

#include "base/error.h"

/** How far the result has come whose temporary file this is, by its journal; where it is none, nothing. */
void lw_left_print(const char *part);

/** All that lies in a folder and that nobody goes on with: how far it has come, and by which command. LW_EIO. */
int lw_left_print_folder(const char *folder, struct lw_error *err);
