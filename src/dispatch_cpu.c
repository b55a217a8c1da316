/* dispatch_cpu.c - which of the compiled tables this processor runs. */
#include "kernels_cpu.h"

#define X(isa) extern const struct lw_kernels_cpu lw_kernels_single_##isa, lw_kernels_double_##isa;
X(generic)
#ifdef __x86_64__
X(avx2)
X(avx512)
#endif
#undef X

struct choice {
    const struct lw_kernels_cpu *single_precision, *double_precision;
    const char *name;
};

#ifdef __x86_64__
static struct choice choose(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return (struct choice){&lw_kernels_single_avx512, &lw_kernels_double_avx512, "x86-64 AVX-512"};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        return (struct choice){&lw_kernels_single_avx2, &lw_kernels_double_avx2, "x86-64 AVX2"};
    return (struct choice){&lw_kernels_single_generic, &lw_kernels_double_generic, "x86-64 SSE2"};
}
#else
#ifdef __aarch64__
#define ARCHITECTURE "aarch64"
#else
#define ARCHITECTURE "generic"
#endif
static struct choice choose(void)
{
    return (struct choice){&lw_kernels_single_generic, &lw_kernels_double_generic, ARCHITECTURE};
}
#endif

const struct lw_kernels_cpu *lw_kernels_cpu(enum lw_precision precision)
{
    const struct choice choice = choose();
    return precision == LW_DOUBLE ? choice.double_precision : choice.single_precision;
}

const char *lw_instruction_set_cpu(void) { return choose().name; }
