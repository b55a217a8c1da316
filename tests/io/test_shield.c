/* test_shield.c - tests of looks at files in separate processes: answers, errors, crashes, and a guard process that lives as long
 * as the program. */
#include "base/pool.h"
#include "io/format.h"
#include "io/shield.h"

#include "../check.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Plain data that names the process that looked, larger than a socket's buffer. */
struct answer {
    pid_t process, parent;
    char name[LW_MAX_PATH];
    char filling[1 << 20];
};

static int look(const struct lw_object *object, void *result, struct lw_error *err)
{
    struct answer *const answer = result;
    (void)err;
    answer->process = getpid();
    answer->parent = getppid();
    snprintf(answer->name, sizeof answer->name, "%s", object->name);
    memset(answer->filling, 7, sizeof answer->filling);
    return LW_OK;
}

static int refuse(const struct lw_object *object, void *result, struct lw_error *err)
{
    (void)result;
    return lw_fail(err, LW_EIO, "cannot read '%s'", object->name);
}

static int crash(const struct lw_object *object, void *result, struct lw_error *err)
{
    (void)object;
    (void)result;
    (void)err;
    raise(SIGSEGV);
    return LW_OK;
}

static const struct lw_object object = {.name = "no such file:/data", .file = "no such file", .path = "/data"};
static struct answer answer;

/* @return parent of the child that looked */
static pid_t test_looks(const char *where)
{
    struct lw_error err = {0};
    answer = (struct answer){0};
    int rc = lw_shield(look, &object, &answer, sizeof answer, &err);
    CHECK(rc == LW_OK, "%s: code %d: %s", where, rc, err.message);
    CHECK(answer.process > 0 && answer.process != getpid(), "%s: this process looked", where);
    CHECK(strcmp(answer.name, object.name) == 0, "%s: looked at '%s'", where, answer.name);
    CHECK(answer.filling[sizeof answer.filling - 1] == 7, "%s: the end of the answer is missing", where);
    const pid_t parent = answer.parent;

    rc = lw_shield(refuse, &object, &answer, sizeof answer, &err);
    CHECK(rc == LW_EIO && strcmp(err.message, "cannot read 'no such file:/data'") == 0, "%s: code %d: %s", where, rc, err.message);
    rc = lw_shield(crash, &object, &answer, sizeof answer, &err);
    CHECK(rc == LW_EDATA && strstr(err.message, "damaged"), "%s: code %d: %s", where, rc, err.message);
    return parent;
}

static int be_busy(void *context, int64_t piece, int thread, struct lw_error *err)
{
    (void)piece;
    (void)thread;
    (void)err;
    while (!__atomic_load_n((int *)context, __ATOMIC_ACQUIRE))
        free(malloc(1000));
    return LW_OK;
}

/* Threads of this program hold the allocator's locks all the time. The guard's children do not have these threads, so that they
 * do not hang. */
static void test_with_threads(void)
{
    int is_over = 0;
    struct lw_error err;
    struct lw_pool *pool;
    struct lw_batch batch = {.n_pieces = 2, .work = be_busy, .context = &is_over};
    CHECK(lw_pool_create(2, &pool, &err) == LW_OK, "the pool cannot be made");
    lw_pool_start(pool, &batch);
    for (int i = 0; i < 20; i++)
        test_looks("with threads");
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    lw_pool_wait(pool, &batch, NULL);
    lw_pool_destroy(pool);
}

/* Whether a process that this process has adopted ends soon. */
static bool ends(pid_t process)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    pid_t ended = 0;
    for (int i = 0; i < 500 && ended == 0; i++) {
        nanosleep(&moment, NULL);
        ended = waitpid(process, NULL, WNOHANG);
    }
    return ended == process;
}

/* Start a program with a guard and kill it, so that it cannot end the guard. @return the guard */
static pid_t kill_program(void)
{
    int tell[2];
    pid_t guard = 0;
    CHECK(pipe(tell) == 0, "the pipe cannot be made");
    const pid_t program = fork();
    if (program == 0) {
        struct lw_error err;
        if (lw_shield_start(&err) || lw_shield(look, &object, &answer, sizeof answer, &err))
            _exit(1);
        if (write(tell[1], &answer.parent, sizeof answer.parent) > 0)
            pause();
        _exit(1);
    }
    close(tell[1]);
    const ssize_t got = read(tell[0], &guard, sizeof guard);
    CHECK(got == (ssize_t)sizeof guard && guard > 0 && guard != program, "the program in between has no guard");
    close(tell[0]);
    kill(program, SIGKILL);
    waitpid(program, NULL, 0);
    return guard;
}

static pid_t looker(void)
{
    struct lw_error err = {0};
    answer = (struct answer){0};
    CHECK(lw_shield(look, &object, &answer, sizeof answer, &err) == LW_OK, "%s", err.message);
    return answer.process;
}

/* One process looks at file after file, until a look fails. */
static void test_lookers(void)
{
    struct lw_error err;
    const pid_t first = looker();
    CHECK(looker() == first && looker() == first, "each look has a process of its own");
    lw_shield(crash, &object, &answer, sizeof answer, &err);
    const pid_t second = looker();
    CHECK(second != first && looker() == second, "no new process after a crash, or several");
    lw_shield(refuse, &object, &answer, sizeof answer, &err);
    CHECK(looker() != second, "the process of a look that failed is still used");
}

/* A file that no library reads needs no process: this program's guard has been killed. */
static void test_without_library(void)
{
    struct lw_dataset_info info;
    struct lw_hints hints = {.raw = "int8", .format = "raw"};
    struct lw_error err;
    FILE *const file = fopen("plain.raw", "w");
    fwrite("four", 1, 4, file);
    fclose(file);
    int rc = lw_examine_dataset("plain.raw", &hints, LW_USE_SAMPLES, &info, &err);
    CHECK(rc == LW_OK && info.dims[0] == 4, "code %d: %s", rc, err.message);
    rc = lw_examine_dataset("plain.raw", &(struct lw_hints){.format = "HDF5"}, LW_USE_SAMPLES, &info, &err);
    CHECK(rc == LW_ESYSTEM, "no process looks at a file of HDF5: code %d", rc);
    remove("plain.raw");
}

int main(void)
{
    struct lw_error err;
    CHECK(test_looks("without a guard") == getpid(), "without a guard the child's parent is another process");
    lw_shield_stop();           /* there is no guard to stop */

    CHECK(lw_shield_start(&err) == LW_OK, "%s", err.message);
    const pid_t guard = test_looks("with a guard");
    CHECK(guard != getpid(), "the child's parent is this process, not the guard");
    if (guard <= 1)
        return check_result("shield");
    kill(guard, SIGTERM);       /* a launcher sends signals to the whole process group */
    kill(guard, SIGUSR1);
    CHECK(test_looks("after a signal") == guard, "a signal replaced the guard");
    test_lookers();
    test_with_threads();
    lw_shield_stop();
    CHECK(kill(guard, 0) != 0 && errno == ESRCH, "the guard still lives after lw_shield_stop");
    CHECK(!lw_shield_is_ready(), "lw_shield_is_ready after lw_shield_stop");

    CHECK(lw_shield_start(&err) == LW_OK, "%s", err.message);
    const pid_t other = test_looks("with a new guard");
    if (other <= 1)
        return check_result("shield");
    kill(other, SIGKILL);
    const int rc = lw_shield(look, &object, &answer, sizeof answer, &err);
    CHECK(rc == LW_ESYSTEM && strstr(err.message, "ended from outside"), "without its guard: code %d: %s", rc, err.message);
    test_without_library();
    lw_shield_stop();

    CHECK(lw_shield_start(&err) == LW_OK && lw_shield_is_ready(), "%s", err.message);
    lw_shield_rest();
    CHECK(!lw_shield_is_ready(), "a guard that no run needs still lives");
    CHECK(lw_shield_start(&err) == LW_OK, "%s", err.message);
    lw_shield_keep();
    lw_shield_rest();
    CHECK(lw_shield_is_ready() && looker() != getpid(), "a guard that further runs need has ended");
    lw_shield_stop();

    CHECK(lw_shield_start(&err) == LW_OK && lw_shield_is_ready(), "%s", err.message);
    lw_shield_stop();
    lw_shield_leave();
    CHECK(!lw_shield_is_ready(), "a rank that leaves looks to others looks at files");

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t orphan = kill_program();
    CHECK(orphan > 0 && ends(orphan), "the guard %d lives longer than its program", (int)orphan);
    return check_result("shield");
}
