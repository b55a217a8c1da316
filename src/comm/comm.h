/* comm.h - the ranks of this run: a duplicate of MPI_COMM_WORLD and the few collective steps that the program needs.
 *
 *     comm.h  start and end of MPI; agreement on errors and texts; broadcast, sums, gathers
 *     halo.h  each round: the last samples of a rank's slice go to the next rank, whose filters need them
 *     raw.h   the MPI communicator itself, for the few files that may include mpi.h
 *
 * Every rank calls functions marked Collective in one order, with the same counts. Errors of MPI end all ranks: LW_ESYSTEM. */
#pragma once

#include "base/error.h"
#include "comm/traffic.h"

#include <stdint.h>

struct lw_comm;

/** Call MPI_Init_thread (MPI_THREAD_FUNNELED), with settings that avoid known faults of MPI libraries, and duplicate the world.
 * Collective. Ends the process with LW_ESYSTEM if MPI is unusable. */
struct lw_comm *lw_comm_start(int *argc, char ***argv);

/** Free the duplicate and MPI_Finalize. Collective. */
void lw_comm_stop(struct lw_comm *comm);

/** Make a communicator of this process alone that stands for n equal ranks, of which it is rank 0: for plans of machines that are
 * not here. Its collectives send nothing and return what n equal ranks would get; lw_comm_collect leaves rank 0's values.
 * lw_comm_join_team, lw_comm_share and lw_comm_bring are not for models. LW_ESYSTEM.
 * @param real  gives the names of host and library */
int lw_comm_model(const struct lw_comm *real, int n_ranks, int ranks_per_node, struct lw_comm **out, struct lw_error *err);
void lw_comm_forget(struct lw_comm *model);                 /* NULL is legal */

int lw_comm_rank(const struct lw_comm *comm);
int lw_comm_size(const struct lw_comm *comm);
int lw_comm_node_rank(const struct lw_comm *comm);          /* this rank's number among those of its node */
int lw_comm_node_size(const struct lw_comm *comm);          /* ranks on this node */
int64_t lw_comm_nodes(struct lw_comm *comm);                /* Collective. */
const char *lw_comm_host(const struct lw_comm *comm);
const char *lw_comm_library(const struct lw_comm *comm);    /* "Open MPI 4.1.4" */

/** Check that MPI has joined all processes that a launcher started, according to the launcher's environment variables. LW_ESYSTEM:
 * MPI has joined fewer, so that each group of joined processes would do the whole work.
 * @param rank  set: this rank's number; on LW_ESYSTEM its number in the launcher's variables */
int lw_comm_joined(const struct lw_comm *comm, int *rank, struct lw_error *err);

/** Agree on failure. Every rank passes its own code and gets the code and message of the lowest failing rank (with its rank and
 * host), or LW_OK if no rank failed. A rank that is interrupted while it waits here makes the others leave their work, too
 * (base/leave.h). Collective.
 * @param err  in: this rank's error if code != LW_OK; out: the agreed error */
int lw_comm_agree(struct lw_comm *comm, int code, struct lw_error *err);

/** Check that a text of any length is the same on all ranks. LW_ECONFIG: "`what` differs: rank 0 has ..., ...". Collective. */
int lw_comm_same(struct lw_comm *comm, const char *what, const char *text, struct lw_error *err);

void lw_comm_broadcast(struct lw_comm *comm, void *data, int64_t bytes);        /* rank 0's data, any size, to all. Collective. */
int64_t lw_comm_min(struct lw_comm *comm, int64_t value);                       /* Collective. */
int64_t lw_comm_max(struct lw_comm *comm, int64_t value);                       /* Collective. */
int64_t lw_comm_sum(struct lw_comm *comm, int64_t value);                       /* Collective. */
void lw_comm_sums(struct lw_comm *comm, int64_t *values, int n);                /* several sums by one call. Collective. */
int64_t lw_comm_or(struct lw_comm *comm, int64_t bits);                         /* bitwise or. Collective. */
void lw_comm_barrier(struct lw_comm *comm);                                     /* Collective. */

/** Gather `count` doubles of every rank on rank 0, as [size][count]; `all` may be NULL on other ranks. Collective. */
void lw_comm_gather(struct lw_comm *comm, const double *mine, int count, double *all);

/** Gather `bytes` bytes of every rank on every rank, as [size][bytes]. Collective. */
void lw_comm_gather_all(struct lw_comm *comm, const void *mine, int bytes, void *all);

/** Make a communicator of the ranks that give the same number; they keep their order. It serves only lw_comm_rank, lw_comm_size,
 * lw_comm_gather_all, lw_comm_share and lw_comm_leave_team. LW_ESYSTEM: no memory, on all ranks. Collective. */
int lw_comm_join_team(struct lw_comm *comm, int number, struct lw_comm **out, struct lw_error *err);
void lw_comm_leave_team(struct lw_comm *team);              /* Collective over the team. NULL is legal */

/** Give all ranks what each has: rank i has bytes [edges[i], edges[i + 1]) of `data`. Collective. @param edges  [size + 1] */
void lw_comm_share(struct lw_comm *comm, void *data, const int64_t *edges);

/* Bytes that lw_comm_collect sends at a time. MPI buffers one or two pieces of this size on ranks that pass sums on. */
#define LW_COLLECT_BYTES ((int64_t)8 << 20)

/** Add up `count` doubles of every rank on rank `root`, in place; other ranks' values stay. The sums are exact if in each place at
 * most one rank has a value other than zero. Any count. Collective. */
void lw_comm_collect(struct lw_comm *comm, double *values, int64_t count, int root);

/* Takes a piece of a rank's bytes. @return  LW_OK or an error */
typedef int lw_comm_take_fn(void *context, const void *data, int64_t bytes, struct lw_error *err);

/** Send every rank's bytes, any number of them, to rank 0, which passes them to `take` piece by piece, in the order of the ranks.
 * Ranks without bytes send rank 0 nothing. Collective. Rank 0 returns the first error of `take` after all bytes have come; the
 * other ranks return LW_OK.
 * @param buffer  [buffer_bytes] on rank 0: room for a piece; buffer_bytes is the same on all ranks */
int lw_comm_bring(struct lw_comm *comm, const void *mine, int64_t bytes, void *buffer, int64_t buffer_bytes, lw_comm_take_fn *take,
                  void *context, struct lw_error *err);

/** Merge what the ranks [0, n) have, along a tree: each rank takes what higher ranks have merged, lowest first, and then sends
 * `mine` to a lower rank. Rank 0 sends nothing. Collective over these ranks. @return  the first error of `take`
 * @param mine  [bytes], where `take` merges
 * @param received  [bytes], of another rank, passed to `take` */
int lw_comm_merge(struct lw_comm *comm, int n, const void *mine, void *received, int64_t bytes, lw_comm_take_fn *take,
                  void *context, struct lw_error *err);

/** Begin a phase of the run; it is also told to profilers (MPI_Pcontrol). Not collective. */
void lw_comm_begin_phase(struct lw_comm *comm, enum lw_phase phase);

/** Return what this rank has sent in a phase. Communicators of a team are counted apart. */
const struct lw_traffic *lw_comm_traffic(const struct lw_comm *comm, enum lw_phase phase);

/** Print the error with rank and host on standard error and end all ranks with its code (MPI_Abort). For failures inside a
 * collective file call, of which other ranks learn in no other way. Does not return. */
void lw_comm_abort(const struct lw_comm *comm, const struct lw_error *err) __attribute__((noreturn));
