/* chunk_filters.h - the filters that HDF5's chunks may have been put through: which of them the program decodes, what they are
 * called, and what is to be done where nobody decodes one. */
#pragma once

#include "base/error.h"
#include "io/bytes/decode.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

/** Let HDF5 decode with the program's own decoders wherever it reads; they check every length, which plugins do not. */
void lw_hdf5_filters_start(void);

/** The filters of a dataset, without chunk_bytes, if the program itself decodes all of them.
 * @param creation  the dataset's property list */
bool lw_hdf5_filters_take(hid_t creation, struct lw_filters *out);

/** LW_EDATA: there is a filter that neither the program nor HDF5 decodes; the message says where to get it. */
int lw_hdf5_filters_check(hid_t creation, const char *file_name, const char *path, struct lw_error *err);

/** All of them, for example "shuffle + deflate", "bitshuffle + LZ4", "" if there is none. Returns `text`. */
const char *lw_hdf5_filters_text(hid_t creation, char *text, size_t size);
