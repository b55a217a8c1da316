#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void lw_append(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

size_t lw_before_ending(const char *name, const char *ending)
{
    const size_t length = strlen(name), its = strlen(ending);
    return length > its && strcmp(name + length - its, ending) == 0 ? length - its : 0;
}

const char *lw_append_dims(char *text, size_t size, const int64_t *dims, int n_dims)
{
    for (int d = 0; d < n_dims; d++)
        lw_append(text, size, "%s%" PRId64, d ? " x " : "", dims[d]);
    return text;
}
