/* vote.h - from the largest buckets of a loop back to the frequencies that fall into them. */
#pragma once

#include "sfft/published/published.h"

/* Residues of frequencies modulo `size`; only frequencies with one of these are voted for. */
struct lw_published_comb {
    int64_t size;                   /* 0: no comb, all are */
    int64_t *approved;              /* [count], ascending */
    int64_t count;
    int64_t *permuted;              /* [count] work: what a loop's permutation makes of them, ascending */
};

struct lw_published_ballot {
    int64_t n_frequencies;          /* voted for are 0 .. n_frequencies - 1: n, or n/2 + 1 of a real signal */
    uint8_t *votes;                 /* [n_frequencies] so far */
    int needed;
    int64_t *elected;               /* [capacity] frequencies that have got as many as needed, in the order of loops */
    int64_t n_elected, capacity;    /* n_elected may be larger: what is beyond the capacity is lost */
    int64_t *counts;                /* [most places] work */
    int n_threads;
};

/** Give the frequencies in buckets places[0 .. n_places-1], ascending, of a loop a vote each. Within a loop no frequency is
 * met twice, so threads need no atomics. */
void lw_published_vote(struct lw_published_ballot *ballot, const struct lw_sfft_stage *loop,
                       const struct lw_published_comb *comb, const int64_t *places, int64_t n_places);
