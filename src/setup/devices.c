#include "setup/devices.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/proc.h"

#include <stdio.h>

/* Description of a rank's device: plain bytes, gathered from all ranks. */
struct rank_device {
    char id[LW_DEVICE_ID];
    char host[64];
    char text[224];
};

/* Describe this rank's device, and pin the rank to the CPU cores near it. Without a device all texts are empty. */
static struct rank_device describe(const struct lw_comm *comm, const struct lw_engine *engine)
{
    struct rank_device mine = {{0}, {0}, {0}};
    snprintf(mine.id, sizeof mine.id, "%s", engine->device_id);
    snprintf(mine.host, sizeof mine.host, "%s", lw_comm_host(comm));
    if (mine.id[0])
        engine->ops->describe(engine, mine.text, sizeof mine.text);
    if (!engine->device_cores[0])
        return mine;
    const int given = lw_proc_cores(), near = lw_proc_stay_on(engine->device_cores);
    const size_t used = strlen(mine.text);
    if (near > 0)
        snprintf(mine.text + used, sizeof mine.text - used, ", on %d of %d cores, those near it", near, given);
    else if (near == 0)
        snprintf(mine.text + used, sizeof mine.text - used,
                 ", on %d cores, none of them near it (try mpirun --map-by numa or --bind-to none)", given);
    return mine;
}

/* Count the ranks that use this rank's device, and divide the device's memory among them. */
static int settle(struct lw_engine *engine, const struct rank_device *all, int size, bool may_share, struct lw_error *err)
{
    int first = -1;
    for (int rank = 0; rank < size; rank++) {
        if (strcmp(all[rank].id, engine->device_id) != 0)
            continue;
        if (first >= 0 && !may_share)
            return lw_fail(err, LW_ECONFIG, "ranks %d and %d (%s) were both given %s: start one rank for each GPU of a node, have "
                           "the launcher give each rank its own (srun --gpus-per-task=1), or let ranks share with --engine "
                           "auto,share-gpu", first, rank, all[rank].host, all[rank].id);
        first = first < 0 ? rank : first;
        engine->device_ranks++;
    }
    engine->device_bytes /= engine->device_ranks;
    return LW_OK;
}

int lw_devices_settle(struct lw_comm *comm, struct lw_engine *engine, bool may_share, struct lw_error *err)
{
    const int size = lw_comm_size(comm);
    LW_FREED struct rank_device *const all = lw_alloc_array(size, sizeof *all, "the ranks' devices", err);
    int rc = lw_comm_agree(comm, all ? LW_OK : LW_ESYSTEM, err);
    if (rc == LW_OK) {
        const struct rank_device mine = describe(comm, engine);
        lw_comm_gather_all(comm, &mine, sizeof mine, all);
        for (int rank = 0; rank < size; rank++)
            if (all[rank].id[0])
                lw_log_info("rank %d (%s): %s", rank, all[rank].host, all[rank].text);
        engine->device_ranks = 0;
        rc = engine->device_id[0] ? settle(engine, all, size, may_share, err) : LW_OK;
        rc = lw_comm_agree(comm, rc, err);
    }
    return rc;
}
