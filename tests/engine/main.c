/* main.c - runs one of the suites of suites.h on one engine: test_suites SUITE ENGINE [DIVISOR]. */
#include "suites.h"

#include "../check.h"
#include "../gpu/gpu.h"

/* Random trials are divided by this: emulated kernels and sanitizers have time for a part only. */
#ifdef LW_EMULATED
enum { DIVISOR = 10 };
#else
enum { DIVISOR = IS_SANITIZED ? 4 : 1 };
#endif

static const struct {
    const char *name;
    int (*run)(const struct lw_engine_type *type, int divisor);
} suites[] = {
    {"ols", suite_ols}, {"search", suite_search}, {"accuracy", suite_accuracy}, {"conv2d", suite_conv2d}, {"sfft", suite_sfft},
    {"published", suite_published}, {"beams", suite_beams}, {"array", suite_array}, {"accel", suite_accel},
};

int main(int argc, char **argv)
{
    const bool is_cuda = argc > 2 && strcmp(argv[2], "cuda") == 0;
    for (size_t s = 0; argc > 2 && s < sizeof suites / sizeof *suites; s++) {
        if (strcmp(argv[1], suites[s].name) != 0)
            continue;
        const int missing = is_cuda ? gpu_missing(argv[1]) : 0;
        return missing ? missing : suites[s].run(is_cuda ? &lw_cuda_engine : &lw_cpu_engine, argc > 3 ? atoi(argv[3]) : DIVISOR);
    }
    fprintf(stderr, "usage: test_suites ols|search|accuracy|conv2d|sfft|published|beams|array|accel cpu|cuda [DIVISOR]\n");
    return 2;
}
