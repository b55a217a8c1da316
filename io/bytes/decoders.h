/* decoders.h - some decoders, shared by more threads than there are of them. */
#pragma once

#include "io/bytes/decode.h"

struct lw_decoders;

int lw_decoders_create(const struct lw_filters *filters, int n, struct lw_decoders **out, struct lw_error *err);
void lw_decoders_destroy(struct lw_decoders *decoders);     /* all have been given back; NULL is legal */

/** Host bytes that create allocates. */
int64_t lw_decoders_bytes(const struct lw_filters *filters, int n);

/** One that nobody else uses, until it is given back. Waits where there is none. */
struct lw_decoder *lw_decoders_take(struct lw_decoders *decoders);
void lw_decoders_give(struct lw_decoders *decoders, struct lw_decoder *decoder);
