/* slot.h - the buffers of one slot and the way of a block through the device.
 *
 *     pinned input --H2D--> device input --kernels--> device output --D2H--> pinned output
 *
 * The kernels on the slot's own stream; the copies in each direction on one stream for all slots. If every slot copied on
 * its own, copies of two slots in one direction would share the link, both end late, and leave it idle afterwards.
 *
 * How many rows a table has is known only when the block is done: they are copied then, on the slot's own stream.
 *
 * A slot may be filled as soon as it is created, while its memory is still being pinned; the first submit waits for that, and
 * reports it if it fails. */
#pragma once

#include "gpu/host/op.h"

/** Pinned host bytes and device bytes of one slot. */
struct lw_bytes lw_cuda_slot_bytes(const struct lw_cuda_op_memory *memory);

int lw_cuda_slot_create(struct lw_op *op, struct lw_slot **out, struct lw_error *err);
void lw_cuda_slot_destroy(struct lw_op *op, struct lw_slot *slot);      /* waits for what is in flight; NULL is legal */
int lw_cuda_slot_submit(struct lw_op *op, struct lw_slot *slot, const struct lw_block *block, struct lw_error *err);
int lw_cuda_slot_wait(struct lw_op *op, struct lw_slot *slot, struct lw_error *err);
int lw_cuda_slot_again(struct lw_op *op, struct lw_slot *slot, const struct lw_part *part, struct lw_error *err);
