/* gpu.h - helpers of tests that need a CUDA device. Without a device a test is skipped; with LW_REQUIRE_GPU=1 it fails. */
#pragma once

#include "../check.h"
#include "engine/registry.h"

#include <stdlib.h>
#include <string.h>

/* Return 0 if there is a device, else the exit code for the test. */
static inline int gpu_missing(const char *name)
{
    const struct lw_engine_spec spec = {.node_ranks = 1};
    char why[LW_ENGINE_TEXT];
    if (lw_cuda_engine.is_usable(&spec, why))
        return 0;
    const char *const required = getenv("LW_REQUIRE_GPU");
    const int is_required = required && strcmp(required, "1") == 0;
    printf("%s: no GPU: %s: %s\n", is_required ? "LW_REQUIRE_GPU is set" : "skipped", name, why);
    return is_required ? 1 : CHECK_SKIP;
}

/* Return the engine on the first device. Without one the program ends. */
static inline struct lw_engine *gpu_engine(void)
{
    const struct lw_engine_spec spec = {.node_ranks = 1};
    struct lw_engine *engine = NULL;
    struct lw_error err;
    if (lw_cuda_engine.create(&spec, &engine, &err)) {
        fprintf(stderr, "no CUDA engine: %s\n", err.message);
        exit(1);
    }
    return engine;
}
