#include "io/hdf5/result/release.h"

#include <hdf5.h>
#include <stdio.h>

const char *lw_hdf5_text(void)
{
    static char text[64];
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(text, sizeof text, "HDF5 %u.%u.%u, parallel", major, minor, release);
    return text;
}
