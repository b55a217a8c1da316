/* devices.h - the devices (GPUs) of the ranks: log them, refuse unwanted sharing, divide their memory, pin ranks near them. */
#pragma once

#include "comm/comm.h"
#include "engine/engine.h"

/** Check and log the ranks' devices, and set engine->device_ranks. Each rank is pinned to the CPU cores near its device, so call
 * this before the rank has threads and memory. Two ranks on one device: LW_ECONFIG, with both ranks and the remedy; with
 * `may_share` they divide engine->device_bytes equally. A rank without a device calls this, too. Devices are compared by
 * identifier, not by number: a launcher may show each rank a single device. Collective. */
int lw_devices_settle(struct lw_comm *comm, struct lw_engine *engine, bool may_share, struct lw_error *err);
