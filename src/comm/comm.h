/* comm.h - the ranks of this run: a duplicate of MPI_COMM_WORLD and the few collective steps the program needs.
 *
 * mpi.h stays behind this header (comm/raw.h gives the raw communicator to the files that may use it). All functions
 * marked Collective are called by every rank, in the same order, with the same counts. An error of MPI itself ends all ranks
 * with LW_ESYSTEM. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct lw_comm;

/** MPI_Init_thread (MPI_THREAD_FUNNELED) with the settings the known traps ask for, then duplicate the world.
 * Collective. Ends the process with LW_ESYSTEM if MPI is unusable. */
struct lw_comm *lw_comm_start(int *argc, char ***argv);

/** Free the duplicate and MPI_Finalize. Collective. */
void lw_comm_stop(struct lw_comm *comm);

int lw_comm_rank(const struct lw_comm *comm);
int lw_comm_size(const struct lw_comm *comm);
int lw_comm_node_rank(const struct lw_comm *comm);          /* this rank's number among those of its node */
int lw_comm_node_size(const struct lw_comm *comm);          /* ranks on this node */
const char *lw_comm_host(const struct lw_comm *comm);
const char *lw_comm_library(const struct lw_comm *comm);    /* "Open MPI 4.1.4" */

/** Whether MPI has joined all the processes that a launcher started, as far as its variables tell. LW_ESYSTEM: fewer. Each group
 * of ranks would do all of the work then. @param rank  this rank's number; where they are fewer, the launcher's number for it */
int lw_comm_joined(const struct lw_comm *comm, int *rank, struct lw_error *err);

/** Agree on failure: every rank passes its own code and gets the lowest failing rank's code and message (with its rank
 * and host filled in), or LW_OK if no rank failed. A rank that is to leave what it does (base/leave.h) tells those that it waits
 * for, which leave it, too. Collective.
 * @param err  in: this rank's error if code != LW_OK; out: the agreed error */
int lw_comm_agree(struct lw_comm *comm, int code, struct lw_error *err);

/** Refuse if `text`, of any length, is not the same on all ranks: LW_ECONFIG, "`what` differs: rank 0 has ..., rank 3 has ...".
 * Collective. */
int lw_comm_same(struct lw_comm *comm, const char *what, const char *text, struct lw_error *err);

void lw_comm_broadcast(struct lw_comm *comm, void *data, int64_t bytes);        /* from rank 0, any size. Collective. */
int64_t lw_comm_min(struct lw_comm *comm, int64_t value);                       /* Collective. */
int64_t lw_comm_max(struct lw_comm *comm, int64_t value);                       /* Collective. */
int64_t lw_comm_sum(struct lw_comm *comm, int64_t value);                       /* Collective. */
int64_t lw_comm_or(struct lw_comm *comm, int64_t bits);                         /* those that any rank has. Collective. */
void lw_comm_barrier(struct lw_comm *comm);                                     /* Collective. */

/** Everybody's `count` doubles on rank 0, as [size][count]; `all` may be NULL elsewhere. Collective. */
void lw_comm_gather(struct lw_comm *comm, const double *mine, int count, double *all);

/** Everybody's `bytes` on every rank, as [size][bytes]. Collective. */
void lw_comm_gather_all(struct lw_comm *comm, const void *mine, int bytes, void *all);

/* lw_comm_collect sends so much at a time: MPI keeps one or two such parts on ranks that pass sums on. */
#define LW_COLLECT_BYTES ((int64_t)8 << 20)

/** Add up everybody's `count` doubles on rank `root`, in place there; the others' are unchanged. Exact where no two ranks
 * have a value other than zero in one place. Any count. Collective. */
void lw_comm_collect(struct lw_comm *comm, double *values, int64_t count, int root);

/* Takes a piece of what a rank has brought. @return  LW_OK or an error */
typedef int lw_comm_take_fn(void *context, const void *data, int64_t bytes, struct lw_error *err);

/** Bring everybody's bytes, any number of them, to rank 0, which hands them to `take` in the order of the ranks, piece by piece.
 * Collective; what `take` returns first that is not LW_OK is returned by rank 0 alone, when all has come.
 * @param buffer  on rank 0: a piece's, of `buffer_bytes` */
int lw_comm_bring(struct lw_comm *comm, const void *mine, int64_t bytes, void *buffer, int64_t buffer_bytes, lw_comm_take_fn *take,
                  void *context, struct lw_error *err);

/** Print the error with rank and host on standard error and end all ranks with its code (MPI_Abort). For failures inside
 * a collective file call, where the other ranks cannot be told in any other way. Does not return. */
void lw_comm_abort(const struct lw_comm *comm, const struct lw_error *err) __attribute__((noreturn));
