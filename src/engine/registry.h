/* registry.h - the list of engines. A new engine is its folder, a line here, and a line of CMakeLists.txt. */
#pragma once

#include "engine/engine.h"

/* --engine auto chooses among those usable on every rank (setup/choice.h); the first is usable everywhere. NAME is the choice of
 * --engine, lw_NAME_engine the engine's type. Builds without CUDA have gpu/host/none.c as the cuda engine. */
#define LW_ENGINES(X) \
    X(cpu)            \
    X(cuda)

#define X(name) extern const struct lw_engine_type lw_##name##_engine;
LW_ENGINES(X)
#undef X

/** The engines in the order of the list, NULL-ended. */
extern const struct lw_engine_type *const lw_engines[];
