#include "io/bytes/decode.h"

#include "base/integers.h"
#include "base/memory.h"

#include <inttypes.h>

struct lw_decoder {
    struct lw_filters filters;
    struct lw_filter_tools *tools;
    int64_t room;
    char memory[];              /* twice that: the data goes from one to the other and back */
};

int64_t lw_decoder_room(const struct lw_filters *filters)
{
    int64_t room = filters->chunk_bytes;
    for (int f = 0; f < filters->n; f++)
        room += lw_filter_growth(&filters->filter[f], filters->chunk_bytes);
    return lw_round_up(room, LW_ALIGNMENT);
}

static int64_t memory_bytes(const struct lw_filters *filters)
{
    return (int64_t)sizeof(struct lw_decoder) + 2 * lw_decoder_room(filters);
}

int64_t lw_decoder_bytes(const struct lw_filters *filters)
{
    return memory_bytes(filters) + lw_filter_tools_bytes(filters->filter, filters->n);
}

int lw_decoder_create(const struct lw_filters *filters, struct lw_decoder **out, struct lw_error *err)
{
    struct lw_decoder *const decoder = lw_alloc((size_t)memory_bytes(filters), "decoding chunks", err);
    if (!decoder)
        return LW_ESYSTEM;
    decoder->filters = *filters;
    decoder->room = lw_decoder_room(filters);
    const int rc = lw_filter_tools_create(filters->filter, filters->n, &decoder->tools, err);
    if (rc)
        lw_decoder_destroy(decoder);
    else
        *out = decoder;
    return rc;
}

void lw_decoder_destroy(struct lw_decoder *decoder)
{
    if (!decoder)
        return;
    lw_filter_tools_destroy(decoder->tools);
    lw_free(decoder);
}

char *lw_decoder_stored(struct lw_decoder *decoder)
{
    return decoder->memory;
}

int lw_decoder_decode(struct lw_decoder *decoder, int64_t stored_bytes, uint32_t skipped, const char **out,
                      struct lw_error *err)
{
    const struct lw_filters *const filters = &decoder->filters;
    struct lw_filtered data = {.data = decoder->memory, .spare = decoder->memory + decoder->room, .bytes = stored_bytes,
                               .room = decoder->room};
    for (int f = filters->n - 1; f >= 0; f--)
        if (!(skipped >> f & 1) && lw_filter_undo(&filters->filter[f], decoder->tools, &data, err))
            return LW_EDATA;
    if (data.bytes != filters->chunk_bytes)
        return lw_fail(err, LW_EDATA, "a chunk of %" PRId64 " bytes has %" PRId64 " there", filters->chunk_bytes, data.bytes);
    *out = data.data;
    return LW_OK;
}
