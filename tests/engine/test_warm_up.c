/* test_warm_up.c - test that an engine is prepared while the main thread goes on, and is ready when the wait ends. */
#include "engine/warm_up.h"

#include "../check.h"

#include <pthread.h>
#include <semaphore.h>

static sem_t may_go;
static pthread_t thread;
static int node_rank = -1;

static void warm_up(const struct lw_engine_spec *spec)
{
    sem_wait(&may_go);          /* this would wait for ever on the main thread */
    thread = pthread_self();
    node_rank = spec->node_rank;
}

static void test_slow_engine(void)
{
    static const struct lw_engine_type type = {.name = "slow", .warm_up = warm_up};
    struct lw_engine_spec spec = {.node_rank = 3, .node_ranks = 4};
    struct lw_warm_up warm = {0};
    lw_warm_up_begin(&warm, &type, &spec);
    spec.node_rank = 5;         /* the thread works on a copy */
    sem_post(&may_go);
    lw_warm_up_end(&warm);
    CHECK(node_rank == 3, "the engine got ready for rank %d", node_rank);
    CHECK(!pthread_equal(thread, pthread_self()), "the engine was prepared on the main thread");
    lw_warm_up_end(&warm);      /* a second call changes nothing */
}

static void test_quick_engine(void)
{
    static const struct lw_engine_type type = {.name = "quick"};
    const struct lw_engine_spec spec = {.node_ranks = 1};
    struct lw_warm_up warm = {0};
    lw_warm_up_end(&warm);
    lw_warm_up_begin(&warm, &type, &spec);
    CHECK(!warm.pool, "a thread was made for an engine without preparation");
    lw_warm_up_end(&warm);
}

int main(void)
{
    sem_init(&may_go, 0, 0);
    test_slow_engine();
    test_quick_engine();
    return check_result("warm_up");
}
