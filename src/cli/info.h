/* info.h - what `lapwing info` prints: this build and this machine, or what a file holds. */
#ifndef LW_CLI_INFO_H
#define LW_CLI_INFO_H

#include "comm/comm.h"

/** Versions, libraries, engines, cores and memory, on standard output. By rank 0 alone. */
void lw_info_build(const struct lw_comm *comm);

/** The datasets of a file, on standard output of rank 0. Errors as lw_list_file, on every rank. Collective. */
int lw_info_file(struct lw_comm *comm, const char *file, struct lw_error *err);

#endif
