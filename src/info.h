/* info.h - what `lapwing info` prints: this build and this machine, or what a file holds. */
#ifndef LW_INFO_H
#define LW_INFO_H

#include "comm.h"

/** Versions, libraries, engines, cores and memory, on standard output of rank 0. Collective. */
int lw_info_build(struct lw_comm *comm, struct lw_error *err);

/** The datasets of a file, on standard output of rank 0. Errors as lw_list_file. Collective. */
int lw_info_file(struct lw_comm *comm, const char *path, struct lw_error *err);

#endif
