/* warm_up.h - start an engine's device in a second thread while the main thread prepares the run. A GPU's driver and context take
 * longer to start than everything else before the first block.
 *
 * The warm-up only saves time. Anything that fails here fails again in lw_engine_type.create, which reports it. It must not begin
 * before MPI has started: MPI sets environment variables and the driver reads them; the C library forbids both at a time. */
#pragma once

#include "base/pool.h"
#include "engine/engine.h"

/* A warm-up; all zero: none is running. */
struct lw_warm_up {
    struct lw_pool *pool;
    struct lw_batch batch;
    const struct lw_engine_type *type;
    struct lw_engine_spec spec;
};

/** Start a warm-up and return; do nothing if the type has none. Until lw_warm_up_end *warm_up must not move, and the environment
 * must not change. @param spec  as for create */
void lw_warm_up_begin(struct lw_warm_up *warm_up, const struct lw_engine_type *type, const struct lw_engine_spec *spec);

/** Wait until the warm-up has ended; legal if none was begun. */
void lw_warm_up_end(struct lw_warm_up *warm_up);
