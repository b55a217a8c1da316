/* pretend.h - a pretended file system and pretended nodes for programs that are linked with --wrap=lw_storage_find and
 * --wrap=lw_comm_nodes: writing through aggregators can so be tried on the file systems that are here. */
#pragma once

#include "base/integers.h"
#include "comm/comm.h"
#include "io/bytes/store.h"

#include <string.h>

/* Stripes that the replaced lw_storage_find returns if is_striped. */
static struct lw_storage pretended;
static int pretended_nodes;         /* ranks are on nodes in turn; 0: on those where they are */

void __real_lw_storage_find(int fd, struct lw_storage *storage);
void __wrap_lw_storage_find(int fd, struct lw_storage *storage);
int64_t __real_lw_comm_nodes(struct lw_comm *comm);
int64_t __wrap_lw_comm_nodes(struct lw_comm *comm);

void __wrap_lw_storage_find(int fd, struct lw_storage *storage)
{
    __real_lw_storage_find(fd, storage);
    if (!pretended.is_striped)
        return;
    memcpy(storage->name, pretended.name, sizeof storage->name);
    storage->is_striped = true;
    storage->stripe_bytes = pretended.stripe_bytes;
    storage->n_stripes = pretended.n_stripes;
}

int64_t __wrap_lw_comm_nodes(struct lw_comm *comm)
{
    return pretended_nodes > 0 ? lw_min64(pretended_nodes, lw_comm_size(comm)) : __real_lw_comm_nodes(comm);
}
