#include "io/hdf5/start.h"

#include "io/hdf5/chunk_filters.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* HDF5_USE_FILE_LOCKING overrides what this program asks for, file by file: a lock on what it reads, where the file system has
 * locks, and none on the result, which bears the program's own lock (result_file.h). A second one on it would be refused. The
 * user may still forbid all locks. Before 1.10.7, HDF5 could not be asked file by file. */
static void settle_locks(void)
{
    static const char variable[] = "HDF5_USE_FILE_LOCKING";
#if H5_VERSION_GE(1, 10, 7)
    const char *const value = getenv(variable);
    if (value && strcmp(value, "FALSE") != 0 && strcmp(value, "0") != 0)
        unsetenv(variable);
#else
    setenv(variable, "FALSE", 1);
#endif
}

void lw_hdf5_start(void)
{
    settle_locks();
    H5open();           /* now, as it asks MPI whether it runs, which a child process must not */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    static bool is_started;
    if (!is_started)
        lw_hdf5_filters_start();
    is_started = true;
}
