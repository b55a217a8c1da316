#include "io/bytes/decoders.h"

#include "base/memory.h"

#include <pthread.h>

struct lw_decoders {
    pthread_mutex_t mutex;      /* over what follows */
    pthread_cond_t given;
    int n_free;
    struct lw_decoder *free[];  /* the first n_free of them */
};

static int64_t own_bytes(int n)
{
    return (int64_t)sizeof(struct lw_decoders) + n * (int64_t)sizeof(struct lw_decoder *);
}

int64_t lw_decoders_bytes(const struct lw_filters *filters, int n)
{
    return own_bytes(n) + n * lw_decoder_bytes(filters);
}

int lw_decoders_create(const struct lw_filters *filters, int n, struct lw_decoders **out, struct lw_error *err)
{
    struct lw_decoders *const decoders = lw_alloc((size_t)own_bytes(n), "decoding chunks", err);
    if (!decoders)
        return LW_ESYSTEM;
    pthread_mutex_init(&decoders->mutex, NULL);
    pthread_cond_init(&decoders->given, NULL);
    for (; decoders->n_free < n; decoders->n_free++)
        if (lw_decoder_create(filters, &decoders->free[decoders->n_free], err)) {
            lw_decoders_destroy(decoders);
            return LW_ESYSTEM;
        }
    *out = decoders;
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
