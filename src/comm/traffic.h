/* traffic.h - what ranks send each other: counted as it is sent (lw_comm_traffic), and modelled for a plan.
 *
 *     agreement    lw_comm_agree without a failure: each rank sends lw_traffic_steps messages of 4 bytes, one after the other
 *     collective   call of MPI by all ranks of a communicator, which takes lw_traffic_steps messages one after the other
 *     message      from one rank to another: a halo, a carry, best outputs, rows of a table
 *
 * A chain is a sequence of messages each of which waits for the one before. Calls that HDF5 makes for --io collective, and calls
 * among the ranks of a node or of a team, are left out. */
#pragma once

#include <stdint.h>

struct lw_traffic {
    int64_t agreements;                     /* number of each rank's agreements */
    int64_t collectives, collective_bytes;  /* number of each rank's calls, and the bytes that it gives to them */
    int64_t messages, message_bytes;        /* model: sent by all ranks together; counted: sent by this rank */
    int64_t chain;                          /* model: messages of the longest chain; counted: 0 */
};

/* Parts of a run: until the first round, all rounds (of a sparse run: its search), after the last round. */
enum lw_phase { LW_PHASE_START, LW_PHASE_ROUNDS, LW_PHASE_END, LW_PHASES };

/** Return the messages one after the other by which n ranks all learn of each other: log2(n), rounded up. */
static inline int lw_traffic_steps(int n_ranks)
{
    int steps = 0;
    while ((int64_t)1 << steps < n_ranks)
        steps++;
    return steps;
}

/** Add agreements, and collectives of `bytes` in all, which n ranks make one after the other. */
static inline void lw_traffic_add(struct lw_traffic *traffic, int n_ranks, int64_t agreements, int64_t collectives, int64_t bytes)
{
    traffic->agreements += agreements;
    traffic->collectives += collectives;
    traffic->collective_bytes += bytes;
    traffic->chain += (agreements + collectives) * lw_traffic_steps(n_ranks);
}
