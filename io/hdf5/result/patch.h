/* patch.h - the first array of a result once more, as what DASCore (https://dascore.org) calls a patch and reads without being told
 * anything: /waveforms/NAME of its format DASDAE, version 1, with a hard link to the array and with its coordinates.
 *
 * An array of the root group gets one whose samples have dates and whose channels lie in metres or have numbers, if the values of
 * both are written out. Times are whole nanoseconds there. A unit of the data that DASCore would refuse is left out; what the input
 * says of gauge length and category is there. */
#pragma once

#include "io/write/writer.h"

#include <hdf5.h>

/** Of the first such array of the spec, which is in the file; nothing if there is none. LW_EIO, LW_ESYSTEM. */
int lw_patch_create(hid_t file, const struct lw_writer_spec *spec, struct lw_error *err);

/** Bytes on disk, generously. */
int64_t lw_patch_room(const struct lw_writer_spec *spec);
