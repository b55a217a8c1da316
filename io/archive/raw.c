/* raw.c - read numbers without a header, described by --format raw=TYPE,CHANNELS,ORDER,OFFSET.
 *
 *     TYPE      int8 .. uint64, float16, float32, float64; then "be" or "le" where the byte order is not this machine's;
 *               "complex-" before it for pairs (re, im)
 *     CHANNELS  number of channels; 1 if left out
 *     ORDER     time-slow: all channels of a time, then the next time; time-fast: all times of a channel, then the next channel
 *     OFFSET    bytes before the first number; 0 if left out
 *
 * Bytes at the end of the file that are fewer than one number of each channel are not read. */
#include "io/archive/flat.h"
#include "io/archive/shared.h"

#include "options/parse.h"

#include <inttypes.h>
#include <stdio.h>

#define EXAMPLE "give --format raw=TYPE,CHANNELS,ORDER,OFFSET, such as int16be,64,time-slow,512"

struct description {
    struct lw_values values;
    int64_t channels, offset;
    bool is_time_fast;
};

static bool parse_type(const char *text, struct lw_values *values)
{
    static const char complex_text[] = "complex-";
    char name[32];
    *values = (struct lw_values){.is_complex = strncmp(text, complex_text, strlen(complex_text)) == 0};
    snprintf(name, sizeof name, "%s", values->is_complex ? text + strlen(complex_text) : text);
    const size_t length = strlen(name);
    if (length > 2 && (strcmp(name + length - 2, "be") == 0 || strcmp(name + length - 2, "le") == 0)) {
        values->is_swapped = lw_field_is_swapped(name[length - 2] == 'b');
        name[length - 2] = '\0';
    }
    return lw_number_parse(name, &values->number);
}

/* Parse TYPE,CHANNELS,ORDER,OFFSET. All but TYPE may be left out or empty. */
static bool parse_parts(const char *raw, struct description *out)
{
    char text[64], *rest = text;
    snprintf(text, sizeof text, "%s", raw);
    *out = (struct description){.channels = 1};
    const char *const type = strsep(&rest, ","), *const channels = strsep(&rest, ","), *const order = strsep(&rest, ",");
    const char *const offset = strsep(&rest, ",");
    if (rest || !parse_type(type, &out->values))
        return false;
    if (channels && *channels && (lw_parse_int(channels, &out->channels) != LW_PARSE_OK || out->channels < 1))
        return false;
    if (order && *order && strcmp(order, "time-fast") != 0 && strcmp(order, "time-slow") != 0)
        return false;
    out->is_time_fast = order && strcmp(order, "time-fast") == 0;
    return !offset || !*offset || (lw_parse_int(offset, &out->offset) == LW_PARSE_OK && out->offset >= 0);
}

/* Parse the description and find the array's shape. A single channel gives one dimension. */
static int parse(const struct lw_dataset_info *info, struct lw_flat *flat, struct lw_error *err)
{
    const char *const raw = info->hints.raw;
    struct description told;
    int64_t frame;
    if (!raw[0])
        return lw_fail(err, LW_EUSAGE, "'%s' is to be read as raw numbers, but their type is not given: " EXAMPLE, info->file);
    if (info->path[0])
        return lw_fail(err, LW_EDATA, "'%s' is read as raw numbers, which have no name: leave out ':%s'", info->file, info->path);
    if (!parse_parts(raw, &told))
        return lw_fail(err, LW_EUSAGE,
                       "--format raw=%s is not understood: " EXAMPLE ". Types are int8 to uint64, float16 to float64, with be or "
                       "le after and complex- before them; orders are time-slow and time-fast", raw);
    if (__builtin_mul_overflow(lw_values_bytes(&told.values), told.channels, &frame) || told.offset > info->file_bytes ||
        info->file_bytes - told.offset < frame)
        return lw_fail(err, LW_EDATA, "'%s' has %" PRId64 " bytes: too few for one number of each channel by --format raw=%s",
                       info->file, info->file_bytes, raw);
    const int time = told.is_time_fast && told.channels > 1 ? 1 : 0;
    *flat = (struct lw_flat){.offset = told.offset, .values = told.values, .n_dims = told.channels > 1 ? 2 : 1};
    flat->dims[time] = (info->file_bytes - told.offset) / frame;
    if (flat->n_dims == 2)
        flat->dims[1 - time] = told.channels;
    return LW_OK;
}

static int describe(struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_flat flat;
    int rc;
    if ((rc = parse(info, &flat, err)) || (rc = lw_flat_describe(&flat, false, info, err)))
        return rc;
    info->metadata_axis = flat.n_dims == 2 && strstr(info->hints.raw, "time-fast") ? 1 : 0;
    for (int d = 0; d < flat.n_dims; d++)
        lw_archive_name(info, d, d == info->metadata_axis ? "time" : "channel");
    return LW_OK;
}

LW_FLAT_OPERATIONS(parse)

/* Never called, since raw files have no mark by which lapwing could recognise them. */
static int list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err)
{
    (void)visit;
    (void)context;
    return lw_fail(err, LW_EUSAGE, "'%s' is raw: only --format raw can describe its content", file);
}

const struct lw_format lw_format_raw = {
    .name = "raw", .file_text = "raw numbers",
    .list = list, .describe = describe,
    .open = open_flat, .open_bytes = sizeof(struct lw_flat_opened), .read = lw_flat_read, .reads_in_threads = true,
    .close = lw_flat_close,
    .locate = lw_flat_locate, .read_numbers = read_flat_numbers,
};
