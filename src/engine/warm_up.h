/* warm_up.h - engines get ready in a thread of their own while the main thread does other things: a GPU's driver and context
 * take longer to start than everything else before the first block together.
 *
 * It is a head start and nothing more: what fails here fails again in lw_engine_type.create, which reports it, and without it
 * create takes longer. */
#ifndef LW_ENGINE_WARM_UP_H
#define LW_ENGINE_WARM_UP_H

#include "base/pool.h"
#include "engine/engine.h"

#define LW_WARM_UP_ALL (-1)

/* All zero: none is under way. */
struct lw_warm_up {
    struct lw_pool *pool;
    struct lw_batch batch;
    int choice;
    bool has_spec;
    struct lw_engine_spec spec;
};

/** Begin and return; nothing is begun where no engine needs it. Not to be moved until the end.
 * @param choice  number of an engine in lw_engines; LW_WARM_UP_ALL: any of them may be taken
 * @param spec    as for create; NULL: the rank's place is not known yet */
void lw_warm_up_begin(struct lw_warm_up *warm_up, int choice, const struct lw_engine_spec *spec);

/** Wait for it; legal where nothing was begun. A process must not end before. */
void lw_warm_up_end(struct lw_warm_up *warm_up);

#endif
