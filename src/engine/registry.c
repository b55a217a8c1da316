#include "engine/registry.h"

const struct lw_engine_type *const lw_engines[] = {
#define X(name) &lw_##name##_engine,
    LW_ENGINES(X)
#undef X
    NULL,
};
