/* devices.h - the GPU of each rank: log it, refuse unwanted sharing, divide its memory, keep the rank on cores near it. */
#pragma once

#include "comm/comm.h"
#include "engine/engine.h"

/** Settle which device each rank drives. Every rank is kept to the cores beside its device, before it has threads and memory, and
 * its device is logged. Two ranks on one device are refused (LW_ECONFIG, with both ranks and the remedy) unless `may_share`; then
 * each gets an equal part of engine->device_bytes. Ranks whose engine has no device take part and are not counted. Devices are
 * compared by identity, not by number: a launcher may show each rank a single device. Collective. */
int lw_devices_settle(struct lw_comm *comm, struct lw_engine *engine, bool may_share, struct lw_error *err);
