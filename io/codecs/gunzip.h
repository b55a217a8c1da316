/* gunzip.h - bytes that were put through gzip (RFC 1952). One thread uses one at a time. */
#ifndef LW_IO_CODECS_GUNZIP_H
#define LW_IO_CODECS_GUNZIP_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct lw_gunzip;

int lw_gunzip_create(struct lw_gunzip **out, struct lw_error *err);
void lw_gunzip_destroy(struct lw_gunzip *gunzip);       /* NULL is legal */

/** False: damaged, or more than `room` bytes come out. @param n  set to how many do */
bool lw_gunzip_decode(struct lw_gunzip *gunzip, const void *from, size_t bytes, void *to, size_t room, size_t *n);

#endif
