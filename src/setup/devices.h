/* devices.h - which GPU each rank drives: told in the log, compared, its memory divided, the rank kept near it. */
#pragma once

#include "comm/comm.h"
#include "engine/engine.h"

/** Keep every rank to the cores beside its device, before it has threads and memory. Log the device of every rank.
 * Refuse two ranks on one device (LW_ECONFIG, naming both and the remedy) unless they may share it; then each of them gets an
 * equal part of engine->device_bytes. Ranks whose engine has no device take part and are not counted. A launcher may show each
 * rank one device, so that only its identity tells whether it is another's, too. Collective. */
int lw_devices_settle(struct lw_comm *comm, struct lw_engine *engine, bool may_share, struct lw_error *err);
