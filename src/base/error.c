#include "base/error.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int lw_fail(struct lw_error *err, enum lw_code code, const char *format, ...)
{
    if (!err)
        return code;
    err->code = code;
    err->rank = -1;
    err->host[0] = '\0';
    err->list[0] = '\0';

    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    return code;
}

/* The line is escaped, since a newline in a file name would end it early. */
bool lw_error_add(struct lw_error *err, const char *format, ...)
{
    if (!err)
        return true;
    char line[512], shown[sizeof line];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    lw_escape(line, "", shown, sizeof shown);

    const size_t used = strlen(err->list), length = strlen(shown);
    if (used + length + 1 >= sizeof err->list)
        return false;
    snprintf(err->list + used, sizeof err->list - used, "%s\n", shown);
    return true;
}
