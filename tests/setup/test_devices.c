/* test_devices.c - tests of how ranks share devices, on a table instead of devices: which rank is refused, how many ranks share a
 * device, and how much of its memory each of them has. */
#include "../check.h"
#include "base/log.h"
#include "setup/devices.h"

#include <string.h>

enum { MAX_RANKS = 4 };
static const int64_t free_bytes = 6000;

static void describe(const struct lw_engine *engine, char *text, size_t size)
{
    snprintf(text, size, "a device called %s", engine->device_id);
}

static const struct lw_engine_ops ops = {.name = "fake", .describe = describe};

/* Device of each rank ("": none). Only the first `size` entries count. */
struct table {
    const char *ids[MAX_RANKS];
};

static struct lw_engine engine_of(const struct table *table, int rank)
{
    struct lw_engine engine = {.ops = &ops, .device_bytes = table->ids[rank][0] ? free_bytes : 0};
    snprintf(engine.device_id, sizeof engine.device_id, "%s", table->ids[rank]);
    return engine;
}

static int count_same(const struct table *table, int rank, int size)
{
    int same = 0;
    for (int r = 0; r < size; r++)
        same += strcmp(table->ids[r], table->ids[rank]) == 0;
    return same;
}

static bool any_shares(const struct table *table, int size)
{
    for (int rank = 0; rank < size; rank++)
        if (table->ids[rank][0] && count_same(table, rank, size) > 1)
            return true;
    return false;
}

static void check_apart(struct lw_comm *comm, const struct table *table)
{
    const int size = lw_comm_size(comm);
    struct lw_engine engine = engine_of(table, lw_comm_rank(comm));
    struct lw_error err = {0};
    const int rc = lw_devices_settle(comm, &engine, false, &err);
    CHECK(rc == (any_shares(table, size) ? LW_ECONFIG : LW_OK), "code %d for %s %s", rc, table->ids[0], table->ids[1]);
    if (rc)
        CHECK(strstr(err.message, "were both given GPU-") && strstr(err.message, "--engine auto,share-gpu"), "'%s'", err.message);
    else
        CHECK(engine.device_bytes == (engine.device_id[0] ? free_bytes : 0),
              "a rank without sharing must have the device's free memory");
}

static void check_together(struct lw_comm *comm, const struct table *table)
{
    const int rank = lw_comm_rank(comm);
    struct lw_engine engine = engine_of(table, rank);
    struct lw_error err = {0};
    CHECK(lw_devices_settle(comm, &engine, true, &err) == LW_OK, "%s", err.message);
    const int sharing = engine.device_id[0] ? count_same(table, rank, lw_comm_size(comm)) : 0;
    CHECK(engine.device_ranks == sharing, "%d ranks on %s, not %d", sharing, engine.device_id, engine.device_ranks);
    CHECK(engine.device_bytes == (sharing ? free_bytes / sharing : 0), "%lld bytes of a device of %d ranks",
          (long long)engine.device_bytes, sharing);
}

int main(int argc, char **argv)
{
    static const struct table tables[] = {
        {{"GPU-a", "GPU-b", "GPU-c", "GPU-d"}}, {{"GPU-a", "GPU-a", "GPU-a", "GPU-a"}}, {{"GPU-a", "GPU-b", "GPU-a", "GPU-b"}},
        {{"GPU-a", "GPU-b", "GPU-c", "GPU-a"}}, {{"", "", "", ""}}, {{"", "GPU-a", "GPU-b", ""}}, {{"", "GPU-a", "", "GPU-a"}},
    };
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    lw_log_start(lw_comm_rank(comm), lw_comm_host(comm), LW_LOG_QUIET);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        check_apart(comm, &tables[i]);
        check_together(comm, &tables[i]);
    }
    const int failed = (int)lw_comm_max(comm, check_failed);
    const int result = check_result("devices");
    lw_comm_stop(comm);
    return result || failed;
}
