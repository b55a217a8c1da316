/* test_comm.c - tests of agreement on failure, of comparison over ranks and of the small collectives. */
#include "../check.h"
#include "comm/comm.h"
#include "comm/shared.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

static void check_agree(struct lw_comm *comm)
{
    const int rank = lw_comm_rank(comm), size = lw_comm_size(comm);
    struct lw_error err = {0};
    CHECK(lw_comm_agree(comm, LW_OK, &err) == LW_OK, "an error without a failed rank");

    for (int failing = 0; failing < size; failing++) {
        int rc = LW_OK;
        if (rank >= failing)
            rc = lw_fail(&err, failing % 2 ? LW_EDATA : LW_EIO, "rank %d has no luck", rank);
        rc = lw_comm_agree(comm, rc, &err);
        char wanted[64];
        snprintf(wanted, sizeof wanted, "rank %d has no luck", failing);
        CHECK(rc == (failing % 2 ? LW_EDATA : LW_EIO), "code %d", rc);
        CHECK(strcmp(err.message, wanted) == 0 && err.rank == failing, "'%s' from %d", err.message, err.rank);
        CHECK(err.host[0] != '\0', "the error does not name the host");
        rc = lw_comm_agree(comm, rc, &err);
        CHECK(rc == err.code && err.rank == failing, "agreed on once more: from %d, not %d", err.rank, failing);
    }
}

static void check_same(struct lw_comm *comm)
{
    struct lw_error err = {0};
    CHECK(lw_comm_same(comm, "the architecture", "equal", &err) == LW_OK, "equal texts are reported as different");
    char text[32];
    snprintf(text, sizeof text, "arch %d", lw_comm_rank(comm));
    const int rc = lw_comm_same(comm, "the architecture", text, &err);
    CHECK(rc == (lw_comm_size(comm) == 1 ? LW_OK : LW_ECONFIG), "code %d", rc);
    if (rc)
        CHECK(strstr(err.message, "rank 0 has 'arch 0', rank 1 has 'arch 1'"), "'%s'", err.message);
}

static void check_collectives(struct lw_comm *comm)
{
    const int rank = lw_comm_rank(comm), size = lw_comm_size(comm);
    CHECK(lw_comm_sum(comm, rank + 1) == (int64_t)size * (size + 1) / 2, "the sum over ranks is wrong");
    CHECK(lw_comm_min(comm, rank - 5) == -5 && lw_comm_max(comm, rank) == size - 1, "the minimum or maximum over ranks is wrong");
    int64_t data[3] = {rank, rank, rank};
    lw_comm_broadcast(comm, data, sizeof data);
    CHECK(data[0] == 0 && data[2] == 0, "the values are not those of rank 0");
    const double mine[2] = {rank, 10.0 * rank};
    double all[64] = {0};
    lw_comm_gather(comm, mine, 2, all);
    for (int r = 0; rank == 0 && r < size; r++)
        CHECK(all[2 * r] == r && all[2 * r + 1] == 10.0 * r, "gathered from %d", r);
    CHECK(lw_comm_nodes(comm) == 1, "%d nodes", (int)lw_comm_nodes(comm));
    CHECK(lw_comm_node_size(comm) == size && lw_comm_node_rank(comm) == rank, "the node's size or rank is wrong");
    CHECK(strlen(lw_comm_library(comm)) > 4, "library '%s'", lw_comm_library(comm));
}

/* A model of 5 ranks, 2 of them on a node, on each rank alone: no collective of it may wait for another rank. */
static void check_model(const struct lw_comm *comm)
{
    struct lw_error err = {0};
    struct lw_comm *model = NULL;
    if (lw_comm_rank(comm) % 2 == 1)
        return;
    CHECK(lw_comm_model(comm, 5, 2, &model, &err) == LW_OK, "%s", err.message);
    CHECK(lw_comm_size(model) == 5 && lw_comm_rank(model) == 0, "%d of %d", lw_comm_rank(model), lw_comm_size(model));
    CHECK(lw_comm_node_size(model) == 2 && lw_comm_node_rank(model) == 0 && lw_comm_nodes(model) == 3, "nodes of a model");
    CHECK(lw_comm_sum(model, 7) == 35 && lw_comm_min(model, 7) == 7 && lw_comm_max(model, -7) == -7, "sum or limits of a model");
    CHECK(lw_comm_or(model, 6) == 6, "bits of a model");
    const double mine[2] = {1, 2};
    double all[10] = {0}, again[10] = {0};
    lw_comm_gather(model, mine, 2, all);
    lw_comm_gather_all(model, mine, sizeof mine, again);
    for (int i = 0; i < 10; i++)
        CHECK(all[i] == mine[i % 2] && again[i] == mine[i % 2], "gathered %g and %g", all[i], again[i]);
    lw_comm_collect(model, all, 10, 0);
    lw_comm_broadcast(model, again, sizeof again);
    lw_comm_barrier(model);
    CHECK(all[9] == 2 && again[9] == 2, "values of rank 0 have changed");
    CHECK(lw_comm_same(model, "a text", "equal", &err) == LW_OK && lw_comm_agree(model, LW_OK, &err) == LW_OK, "an error");
    CHECK(lw_comm_agree(model, lw_fail(&err, LW_EIO, "no luck"), &err) == LW_EIO && err.rank == 0 && err.host[0], "%d", err.rank);
    CHECK(strcmp(lw_comm_library(model), lw_comm_library(comm)) == 0, "another library");
    lw_comm_forget(model);
}

static bool shm_is_full;

int __real_statvfs(const char *path, struct statvfs *out);
int __wrap_statvfs(const char *path, struct statvfs *out);

int __wrap_statvfs(const char *path, struct statvfs *out)
{
    const int rc = __real_statvfs(path, out);
    if (shm_is_full)
        out->f_bavail = 0;
    return rc;
}

/* Each rank writes the numbers of its rows; then every rank reads all. Where /dev/shm is full, each has a copy. */
static void check_shared(struct lw_comm *comm, int64_t rows)
{
    enum { ROW = 3 };
    struct lw_shared shared;
    struct lw_error err = {0};
    int64_t begin, end;
    CHECK(lw_shared_create(comm, rows, ROW * (int64_t)sizeof(int64_t), "rows", &shared, &err) == LW_OK, "%s", err.message);
    lw_shared_part(&shared, &begin, &end);
    CHECK(lw_comm_sum(comm, end - begin) == rows, "the parts are not %lld rows", (long long)rows);
    int64_t *const data = shared.data;
    for (int64_t i = begin * ROW; i < end * ROW; i++)
        data[i] = 7 * i + 1;
    lw_shared_complete(&shared);
    for (int64_t i = 0; i < rows * ROW; i++)
        CHECK(data[i] == 7 * i + 1, "number %lld of %lld rows is %lld", (long long)i, (long long)rows, (long long)data[i]);
    CHECK(shared.owner == (shm_is_full ? lw_comm_rank(comm) : 0), "rank %d has the memory of rank %d", lw_comm_rank(comm),
          shared.owner);
    lw_comm_barrier(comm);
    lw_shared_destroy(&shared);
    lw_shared_destroy(&shared);
}

struct taken {
    int numbers[8 * 16], n;
};

static int take(void *context, const void *data, int64_t bytes, struct lw_error *err)
{
    struct taken *const taken = context;
    (void)err;
    memcpy(taken->numbers + taken->n, data, (size_t)bytes);
    taken->n += (int)(bytes / (int64_t)sizeof(int));
    return LW_OK;
}

/* Any set of ranks has numbers, in pieces of two: rank 0 gets them in the order of the ranks. */
static void check_bring(struct lw_comm *comm)
{
    const int rank = lw_comm_rank(comm), size = lw_comm_size(comm);
    struct lw_error err;
    for (int set = 0; set < 1 << size; set++) {
        const int mine[3] = {3 * rank, 3 * rank + 1, 3 * rank + 2};
        struct taken taken = {.n = 0};
        int buffer[2], n = 0;
        CHECK(lw_comm_bring(comm, mine, set >> rank & 1 ? sizeof mine : 0, buffer, sizeof buffer, take, &taken, &err) == LW_OK,
              "set %d", set);
        for (int i = 0; i < 3 * size && rank == 0; i++)
            if (set >> i / 3 & 1)
                CHECK(taken.numbers[n++] == i, "set %d: number %d is %d", set, n - 1, taken.numbers[n - 1]);
        CHECK(taken.n == n, "set %d: %d numbers instead of %d", set, taken.n, n);
    }
}

/* Let a number that is merged hold its ranks as decimal digits, the lowest first. */
static int merge(void *context, const void *data, int64_t bytes, struct lw_error *err)
{
    int64_t *const mine = context, theirs = *(const int64_t *)data;
    (void)bytes;
    (void)err;
    for (int64_t rest = theirs; rest > 0; rest /= 10)
        *mine *= 10;
    *mine += theirs;
    return LW_OK;
}

static void check_merge(struct lw_comm *comm)
{
    static const int64_t whole = 12345678;
    const int rank = lw_comm_rank(comm), size = lw_comm_size(comm);
    struct lw_error err;
    for (int n = 1; n <= size && n <= 8; n++) {
        int64_t mine = rank + 1, received, wanted = whole;
        for (int left = 8; left > n; left--)
            wanted /= 10;
        if (rank < n)
            CHECK(lw_comm_merge(comm, n, &mine, &received, sizeof mine, merge, &mine, &err) == LW_OK, "%d ranks", n);
        CHECK(rank > 0 || mine == wanted, "%d ranks merge to %lld", n, (long long)mine);
    }
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    check_agree(comm);
    check_same(comm);
    check_collectives(comm);
    check_bring(comm);
    check_merge(comm);
    check_model(comm);
    for (int is_full = 0; is_full < 2; is_full++) {
        shm_is_full = is_full == 1;
        for (int64_t rows = 0; rows < 6; rows++)
            check_shared(comm, rows);
        check_shared(comm, 100000);
    }
    const int failed = (int)lw_comm_max(comm, check_failed);
    const int result = check_result("comm");
    lw_comm_stop(comm);
    return result || failed;
}
