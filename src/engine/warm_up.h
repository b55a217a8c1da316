/* warm_up.h - an engine gets ready in a thread of its own while the main thread does other things: a GPU's driver and context
 * take longer to start than everything else before the first block together.
 *
 * It is a head start and nothing more: what fails here fails again in lw_engine_type.create, which reports it, and without it
 * create takes longer. It must not begin before MPI has started, which sets environment variables: a driver reads them, and
 * the C library lets no thread do that meanwhile. */
#pragma once

#include "base/pool.h"
#include "engine/engine.h"

/* All zero: none is under way. */
struct lw_warm_up {
    struct lw_pool *pool;
    struct lw_batch batch;
    const struct lw_engine_type *type;
    struct lw_engine_spec spec;
};

/** Begin and return; nothing is begun where the engine does not need it. Not to be moved, and the environment not to be changed,
 * until the end. @param spec  as for create */
void lw_warm_up_begin(struct lw_warm_up *warm_up, const struct lw_engine_type *type, const struct lw_engine_spec *spec);

/** Wait for it; legal where nothing was begun. */
void lw_warm_up_end(struct lw_warm_up *warm_up);
