/* pretend.h - a pretended file system and pretended nodes for programs that are linked with --wrap=lw_storage_find and
 * --wrap=lw_comm_node_rank: writing through aggregators can so be tried on the file systems that are here. */
#pragma once

#include "comm/comm.h"
#include "io/bytes/store.h"

#include <string.h>

/* Stripes that the replaced lw_storage_find returns if is_striped. */
static struct lw_storage pretended;
static int pretended_nodes;         /* ranks are on nodes in turn; 0: on those where they are */

void __real_lw_storage_find(int fd, struct lw_storage *storage);
void __wrap_lw_storage_find(int fd, struct lw_storage *storage);
int __real_lw_comm_node_rank(const struct lw_comm *comm);
int __wrap_lw_comm_node_rank(const struct lw_comm *comm);

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

int __wrap_lw_comm_node_rank(const struct lw_comm *comm)
{
    return pretended_nodes > 0 ? lw_comm_rank(comm) / pretended_nodes : __real_lw_comm_node_rank(comm);
}
