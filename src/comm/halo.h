/* halo.h - boundary samples from the slice before this one.
 *
 *     | halo: last samples of the slice before | own slice |        stored type and layout, host
 *
 * Rank p gets its halo from rank p - 1 in the same round; rank 0 from the carry, the tail of the last slice of the round
 * before, which the rank that had it keeps here. In the first round on the axis the caller writes rank 0's carry (the
 * prologue: boundary samples and look-ahead) itself. With the channels split every rank has a carry of its own and nothing
 * is sent. A slice that has another behind it in its round is at least one halo long (lw_rounds guarantees it). */
#pragma once

#include "comm/comm.h"
#include "engine/engine.h"
#include "signal/rounds.h"

struct lw_halo;

struct lw_halo_spec {
    const struct lw_rounds *rounds;     /* borrowed for the halo's life */
    enum lw_layout layout;
    int64_t sample_bytes;               /* of one sample of one channel (conv2d: of one row of pixels) */
};

/** Host bytes that lw_halo_create allocates. */
int64_t lw_halo_bytes(const struct lw_halo_spec *spec);

/** The carry and the message buffers. @param comm borrowed */
int lw_halo_create(struct lw_comm *comm, const struct lw_halo_spec *spec, struct lw_halo **out, struct lw_error *err);
void lw_halo_destroy(struct lw_halo *halo);                 /* NULL is legal */

/** Where to write the carry before the first round on the axis, on ranks that lw_halo_needs_prologue names:
 * [n_channels][halo] or [halo][n_channels] by layout, the channels of this rank's block. */
void *lw_halo_carry(struct lw_halo *halo);
bool lw_halo_needs_prologue(const struct lw_halo *halo, int64_t round);

/** Post one round's exchange and return. Own samples may be read and nothing written until lw_halo_end.
 * Collective over the ranks with work in this or the last round; others return at once.
 * @param samples  the slot's input: halo + own samples of this rank's block, own samples filled; borrowed until end */
void lw_halo_begin(struct lw_halo *halo, int64_t round, void *samples);

/** Complete it: the halo part of `samples` is filled, and the carry is kept where the next round will need it. */
void lw_halo_end(struct lw_halo *halo);
