/* halo.h - the exchange of halos: samples of the slice before that a rank's filters need.
 *
 *     | halo: last samples of the slice before | own slice |        stored type and layout, host
 *
 * Rank p > 0 gets its halo from rank p - 1 in the same round. Rank 0 gets it from the carry: the tail of the last slice of the
 * round before, kept by the rank that had this slice. In the first round on the axis the caller fills rank 0's carry itself with
 * the prologue: boundary samples and look-ahead. With the channels or the filters split every rank has its own carry and sends
 * nothing. A slice with another slice behind it in its round is at least a halo long (signal/rounds.h guarantees it). */
#pragma once

#include "comm/comm.h"
#include "engine/engine.h"

struct lw_halo;

struct lw_halo_spec {
    const struct lw_rounds *rounds;     /* borrowed for the halo's life */
    enum lw_layout layout;
    int64_t sample_bytes;               /* bytes of a sample of one channel (conv2d: of a row of pixels) */
    int64_t n_inputs;                   /* channels of every block's input; 0: those of the block */
};

/** Return the bytes of the halo of a slice, and the host bytes that lw_halo_create allocates. */
int64_t lw_halo_round_bytes(const struct lw_halo_spec *spec);
int64_t lw_halo_bytes(const struct lw_halo_spec *spec);

/** Add the messages of a round, and one to the chain if there are any: ranks send what they have read, and wait for no other. */
void lw_halo_traffic(const struct lw_halo_spec *spec, int64_t round, struct lw_traffic *traffic);

/** Allocate the carry and the message buffers. @param comm  borrowed for the halo's life */
int lw_halo_create(struct lw_comm *comm, const struct lw_halo_spec *spec, struct lw_halo **out, struct lw_error *err);
void lw_halo_destroy(struct lw_halo *halo);                 /* NULL is legal */

/** Return the carry, [channels of this rank's input][halo] or [halo][channels] by layout. The caller fills it before each round
 * for which lw_halo_needs_prologue is true on this rank: rounds that are the first on the axis. */
void *lw_halo_carry(struct lw_halo *halo);
bool lw_halo_needs_prologue(const struct lw_halo *halo, int64_t round);

/** Start the exchange of a round and return. Until lw_halo_end own samples may be read, and nothing may be written. Collective over
 * the ranks with work in this round or the round before; others return at once.
 * @param samples  the slot's input, halo and own samples of this rank's block; own samples filled; borrowed until lw_halo_end */
void lw_halo_begin(struct lw_halo *halo, int64_t round, void *samples);

/** Complete the exchange: fill the halo part of `samples`, and keep the carry on the rank that had the last slice. */
void lw_halo_end(struct lw_halo *halo);
