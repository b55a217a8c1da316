/* fletcher.h - Fletcher's checksum, as HDF5 puts it behind the bytes that it is of. */
#pragma once

#include <stdint.h>

/** @return  the bytes in front of the checksum; -1: it is not theirs, or there is none */
int64_t lw_fletcher_check(const char *from, int64_t bytes);
