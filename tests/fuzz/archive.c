/* archive.c - fuzz target of one format of io/archive. Input: a line with a path in the file, then the file. It is built once for
 * each format; FORMAT is the name of the format's table. */
#include "target.h"

#include "dataset.h"

#define TABLE_OF(name) lw_format_##name
#define TABLE(name) TABLE_OF(name)

extern const struct lw_format TABLE(FORMAT);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[256];
    if (TABLE(FORMAT).start)
        TABLE(FORMAT).start();
    const uint8_t *const file = fuzz_line(data, &size, path, sizeof path);
    fuzz_dataset(&TABLE(FORMAT), fuzz_file(file, size), path, NULL);
    return 0;
}
