#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int lw_fail(struct lw_error *err, enum lw_code code, const char *format, ...)
{
    if (!err)
        return code;
    err->code = code;
    err->rank = -1;
    err->host[0] = '\0';

    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    return code;
}

const char *lw_code_text(int code)
{
    switch (code) {
#define X(name, value, text) case name: return text;
        LW_ERROR_CODES(X)
#undef X
    default: return "unknown error";
    }
}
