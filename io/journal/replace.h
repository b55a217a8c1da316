/* replace.h - a small file that is replaced as a whole: what was there before, or what comes after it, and never a part of either.
 * By one process. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct lw_replace_part {
    const void *bytes;
    int64_t n_bytes;
};

/** Write the parts, one behind the other, to FILE.new, and give it the file's name, durably. Links are not followed. LW_EIO, naming
 * the file: what was there stays. */
int lw_replace(const char *file, const struct lw_replace_part *parts, int n_parts, struct lw_error *err);

/** Make names in a file's folder durable. @return  false: errno says why not */
bool lw_replace_sync_folder(const char *file);

/** FNV-1a: tells a damaged file from a whole one. */
#define LW_CHECKSUM_START UINT64_C(0xcbf29ce484222325)
uint64_t lw_replace_checksum(uint64_t start, const void *bytes, int64_t n_bytes);
