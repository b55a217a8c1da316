/* gunzip.h - bytes that were put through gzip (RFC 1952). One thread uses one at a time. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct lw_gunzip;

int lw_gunzip_create(struct lw_gunzip **out, struct lw_error *err);
void lw_gunzip_destroy(struct lw_gunzip *gunzip);       /* NULL is legal */

enum lw_gunzip_result { LW_GUNZIP_DONE, LW_GUNZIP_FULL, LW_GUNZIP_DAMAGED };

/** Undo the first member, or the only one. LW_GUNZIP_FULL: more than `room` bytes come out. What was made until it failed may stay
 * in `to`.
 * @param taken, made  set to the bytes of the member and those that come out, where it is done */
enum lw_gunzip_result lw_gunzip_member(struct lw_gunzip *gunzip, const void *from, size_t bytes, void *to, size_t room,
                                       size_t *taken, size_t *made);
