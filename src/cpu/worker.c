#include "cpu/worker.h"

#include "base/memory.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

struct lw_cpu_worker {
    void (*prepare)(void *context);
    void (*work)(void *context, void *item);
    void *context;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void *items[LW_WORKER_ITEMS];       /* of ticket t at t % LW_WORKER_ITEMS */
    int64_t n_submitted, n_done;
    bool is_ready, is_ending;
};

/* Under the mutex. */
static void announce(struct lw_cpu_worker *worker) { pthread_cond_broadcast(&worker->changed); }

static void *serve(void *argument)
{
    struct lw_cpu_worker *const worker = argument;
    if (worker->prepare)
        worker->prepare(worker->context);
    pthread_mutex_lock(&worker->mutex);
    worker->is_ready = true;
    announce(worker);
    for (;;) {
        while (worker->n_done == worker->n_submitted && !worker->is_ending)
            pthread_cond_wait(&worker->changed, &worker->mutex);
        if (worker->n_done == worker->n_submitted)
            break;
        void *const item = worker->items[worker->n_done % LW_WORKER_ITEMS];
        pthread_mutex_unlock(&worker->mutex);
        worker->work(worker->context, item);
        pthread_mutex_lock(&worker->mutex);
        worker->n_done++;
        announce(worker);
    }
    pthread_mutex_unlock(&worker->mutex);
    return NULL;
}

/* Signals are for the main thread: the new thread inherits a mask that blocks them all. */
static int start_thread(struct lw_cpu_worker *worker)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&worker->thread, NULL, serve, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int lw_cpu_worker_create(void (*prepare)(void *context), void (*work)(void *context, void *item), void *context,
                         struct lw_cpu_worker **out, struct lw_error *err)
{
    struct lw_cpu_worker *const worker = lw_alloc(sizeof *worker, "a worker thread", err);
    if (!worker)
        return LW_ESYSTEM;
    worker->prepare = prepare;
    worker->work = work;
    worker->context = context;
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->changed, NULL);
    const int failure = start_thread(worker);
    if (failure) {
        lw_free(worker);
        return lw_fail(err, LW_ESYSTEM, "no thread for the cpu engine: %s", strerror(failure));
    }
    pthread_mutex_lock(&worker->mutex);
    while (!worker->is_ready)
        pthread_cond_wait(&worker->changed, &worker->mutex);
    pthread_mutex_unlock(&worker->mutex);
    *out = worker;
    return LW_OK;
}

void lw_cpu_worker_destroy(struct lw_cpu_worker *worker)
{
    if (!worker)
        return;
    pthread_mutex_lock(&worker->mutex);
    worker->is_ending = true;
    announce(worker);
    pthread_mutex_unlock(&worker->mutex);
    pthread_join(worker->thread, NULL);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->mutex);
    lw_free(worker);
}

int64_t lw_cpu_worker_submit(struct lw_cpu_worker *worker, void *item)
{
    pthread_mutex_lock(&worker->mutex);
    assert(worker->n_submitted - worker->n_done < LW_WORKER_ITEMS);
    const int64_t ticket = worker->n_submitted++;
    worker->items[ticket % LW_WORKER_ITEMS] = item;
    announce(worker);
    pthread_mutex_unlock(&worker->mutex);
    return ticket;
}

void lw_cpu_worker_wait(struct lw_cpu_worker *worker, int64_t ticket)
{
    pthread_mutex_lock(&worker->mutex);
    while (worker->n_done <= ticket)
        pthread_cond_wait(&worker->changed, &worker->mutex);
    pthread_mutex_unlock(&worker->mutex);
}
