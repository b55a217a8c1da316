/* fletcher.h - Fletcher's checksum, as HDF5 puts it behind the bytes that it is of. */
#ifndef LW_IO_CODECS_FLETCHER_H
#define LW_IO_CODECS_FLETCHER_H

#include <stdint.h>

/** @return  the bytes in front of the checksum; -1: it is not theirs, or there is none */
int64_t lw_fletcher_check(const char *from, int64_t bytes);

#endif
