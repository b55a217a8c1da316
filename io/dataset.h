/* dataset.h - what a reader finds and a writer makes, without saying how: no HDF5 in here. */
#ifndef LW_IO_DATASET_H
#define LW_IO_DATASET_H

#include "base/type.h"

#include <stdint.h>

#define LW_MAX_DIMS 4
#define LW_MAX_PATH 1024

/* Sampling of the axis. Carried over to the result exactly: the start is kept as text or as a number of its own, as the
 * input has it. */
struct lw_axis_metadata {
    double sample_rate_hz;      /* 0: not known */
    double rate_accuracy;       /* relative, of the numbers that it was found in */
    double start;               /* in start_unit; only if has_start */
    bool has_start;
    char start_unit[64];        /* "second", "GPS second", "s since ..." as found; "" not known */
    char unit[64];              /* of the sample values; "" not known */
    char source[128];           /* where the sampling was found: "attribute Xspacing", "/Acoustic@..." ; "" nowhere */
};

/* How bytes get from and to files, the choices of --io. */
enum lw_io {
    LW_IO_AUTO,                 /* directly where the file system keeps several writers of one file coherent */
    LW_IO_COLLECTIVE,           /* by calls of the formats' libraries, the result's by all ranks together */
    LW_IO_DIRECT,               /* by the threads of a pool, from and to their place in the file */
};

struct lw_dataset_info {
    char file[LW_MAX_PATH];
    char path[LW_MAX_PATH];     /* in the file */
    int n_dims;
    int64_t dims[LW_MAX_DIMS];
    struct lw_type type;
    int64_t file_bytes;
    int64_t modified_ns;        /* modification time of the file, since the epoch */
    int64_t chunk[LW_MAX_DIMS]; /* all 0: contiguous */
    bool is_compressed;
    int metadata_axis;          /* the axis that the file's own metadata calls time, -1: it does not say */
    struct lw_axis_metadata axis;
};

#endif
