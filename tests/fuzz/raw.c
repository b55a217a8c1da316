/* raw.c - fuzz target of raw files and the options that describe them. Input: lines with the values of --raw, --start-time,
 * --sample-rate and --channel-spacing, then the file. */
#include "target.h"

#include "dataset.h"
#include "options/parse.h"

extern const struct lw_format lw_format_raw;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lw_hints hints = {.format = "raw"};
    char rate[64], spacing[64];
    data = fuzz_line(data, &size, hints.raw, sizeof hints.raw);
    data = fuzz_line(data, &size, hints.start_time, sizeof hints.start_time);
    data = fuzz_line(data, &size, rate, sizeof rate);
    data = fuzz_line(data, &size, spacing, sizeof spacing);
    if (lw_parse_frequency(rate, &hints.sample_rate_hz) != LW_PARSE_OK || hints.sample_rate_hz < 0)
        hints.sample_rate_hz = 0;
    if (lw_parse_real(spacing, &hints.channel_spacing) != LW_PARSE_OK || hints.channel_spacing < 0)
        hints.channel_spacing = 0;
    fuzz_dataset(&lw_format_raw, fuzz_file(data, size), "", &hints);
    return 0;
}
