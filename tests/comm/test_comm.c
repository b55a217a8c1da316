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

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    check_agree(comm);
    check_same(comm);
    check_collectives(comm);
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
