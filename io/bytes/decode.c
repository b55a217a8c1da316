#include "io/bytes/decode.h"

#include "base/integers.h"
#include "base/memory.h"

#include <inttypes.h>
#include <pthread.h>

struct lw_decoder {
    struct lw_filters filters;
    struct lw_filter_tools *tools;
    int64_t room;
    char memory[];              /* 2 x room bytes: each filter decodes from one half into the other */
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

char *lw_decoder_stored(struct lw_decoder *decoder) { return decoder->memory; }

int lw_decoder_decode(struct lw_decoder *decoder, int64_t stored_bytes, uint32_t skipped, const char **out, struct lw_error *err)
{
    const struct lw_filters *const filters = &decoder->filters;
    struct lw_filtered data = {.data = decoder->memory, .spare = decoder->memory + decoder->room, .bytes = stored_bytes,
                               .room = decoder->room};
    for (int f = filters->n - 1; f >= 0; f--)
        if (!(skipped >> f & 1) && lw_filter_undo(&filters->filter[f], decoder->tools, &data, err))
            return LW_EDATA;
    if (data.bytes != filters->chunk_bytes)
        return lw_fail(err, LW_EDATA, "%" PRId64 " bytes were expected, and %" PRId64 " decoded", filters->chunk_bytes, data.bytes);
    *out = data.data;
    return LW_OK;
}

/* ---- decoders that threads share ---------------------------------------------------------------------------------- */

struct lw_decoders {
    pthread_mutex_t mutex;      /* guards the members below */
    pthread_cond_t given;
    int n_free;
    struct lw_decoder *free[];  /* room for all n decoders; the first n_free are free */
};

int64_t lw_decoders_bytes(const struct lw_filters *filters, int n)
{
    return (int64_t)sizeof(struct lw_decoders) + n * ((int64_t)sizeof(struct lw_decoder *) + lw_decoder_bytes(filters));
}

int lw_decoders_create(const struct lw_filters *filters, int n, struct lw_decoders **out, struct lw_error *err)
{
    const size_t bytes = sizeof(struct lw_decoders) + (size_t)n * sizeof(struct lw_decoder *);
    struct lw_decoders *const decoders = *out = lw_alloc(bytes, "decoding chunks", err);
    if (!decoders)
        return LW_ESYSTEM;
    pthread_mutex_init(&decoders->mutex, NULL);
    pthread_cond_init(&decoders->given, NULL);
    for (; decoders->n_free < n; decoders->n_free++)
        if (lw_decoder_create(filters, &decoders->free[decoders->n_free], err))
            return LW_ESYSTEM;
    return LW_OK;
}

void lw_decoders_destroy(struct lw_decoders *decoders)
{
    if (!decoders)
        return;
    for (int i = 0; i < decoders->n_free; i++)
        lw_decoder_destroy(decoders->free[i]);
    pthread_cond_destroy(&decoders->given);
    pthread_mutex_destroy(&decoders->mutex);
    lw_free(decoders);
}

struct lw_decoder *lw_decoders_take(struct lw_decoders *decoders)
{
    pthread_mutex_lock(&decoders->mutex);
    while (decoders->n_free == 0)
        pthread_cond_wait(&decoders->given, &decoders->mutex);
    struct lw_decoder *const decoder = decoders->free[--decoders->n_free];
    pthread_mutex_unlock(&decoders->mutex);
    return decoder;
}

void lw_decoders_give(struct lw_decoders *decoders, struct lw_decoder *decoder)
{
    pthread_mutex_lock(&decoders->mutex);
    decoders->free[decoders->n_free++] = decoder;
    pthread_cond_signal(&decoders->given);
    pthread_mutex_unlock(&decoders->mutex);
}
