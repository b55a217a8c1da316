#include "engine/gpus.h"

#define MODELS_RATE 4800.0          /* GB/s of the memory of an H200, on which the models were measured */
#define IS_DERIVED(capability) ((capability) != 90)

const struct lw_gpu lw_gpus[] = {
#define X(its_name, its_capability, processors, shared, memory, rate, link)                                                       \
    {.name = #its_name, .capability = its_capability, .n_multiprocessors = processors, .shared_bytes = (shared) << 10,             \
     .memory_bytes = (int64_t)((memory) * 0x1p30), .link_rate = (link) * 1e9,                                                     \
     .slowness = IS_DERIVED(its_capability) ? MODELS_RATE / (rate) : 1, .is_derived = IS_DERIVED(its_capability)},
    LW_GPUS(X)
#undef X
};
