/* grant.c - fuzz target of the parser of squeue's answer: how long a job may last. */
#include "target.h"

#include "resume/grant.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *const text = fuzz_text(data, size);
    const double seconds = lw_grant_parse(text);
    REQUIRE(isfinite(seconds) && seconds >= 0, "%s: %g s", text, seconds);
    return 0;
}
