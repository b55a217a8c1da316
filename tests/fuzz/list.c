/* list.c - fuzz target of lists of files, as in @LIST. If the first byte is 0, the rest is a command line. Patterns are excluded,
 * as they would search any folder of the machine. */
#include "target.h"

#include "io/names.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lw_names names;
    struct lw_error err = {0};
    char list[64];
    if (size == 0 || memchr(data, '*', size) || memchr(data, '?', size) || memchr(data, '[', size) ||
        (!data[0] && memchr(data, '@', size)))
        return 0;
    snprintf(list, sizeof list, "@%s", fuzz_file(data + 1, size - 1));
    const int rc = lw_names_expand(data[0] ? list : fuzz_text(data + 1, size - 1), &names, &err);
    REQUIRE(rc == LW_OK || err.message[0], "code %d without a message", rc);
    int64_t n = 0;
    for (const char *name = NULL; rc == LW_OK && (name = lw_names_next(&names, name)); n++)
        REQUIRE(name + strlen(name) < names.memory + names.bytes, "name %lld leaves the memory", (long long)n);
    REQUIRE(rc != LW_OK || n == names.n, "%lld names, not %lld", (long long)n, (long long)names.n);
    if (rc == LW_OK)
        lw_names_release(&names);
    return 0;
}
