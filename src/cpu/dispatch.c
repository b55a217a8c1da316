#include "cpu/dispatch.h"

#include "base/text.h"

#include <stdlib.h>

struct choice {
    const char *key, *name;
    const struct lw_cpu_kernels *single_precision, *double_precision;
};

#define CHOICE(isa, name) {#isa, name, &lw_kernels_single_##isa, &lw_kernels_double_##isa}
#define DECLARE(isa) extern const struct lw_cpu_kernels lw_kernels_single_##isa, lw_kernels_double_##isa

#if defined __x86_64__ && !defined LW_CPU_GENERIC_ONLY
DECLARE(avx512);
DECLARE(avx2);
DECLARE(generic);

/* Choices, best first. */
static const struct choice choices[] = {
    CHOICE(avx512, "x86-64 AVX-512"),
    CHOICE(avx2, "x86-64 AVX2"),
    CHOICE(generic, "x86-64 SSE2"),
};

/* Return the index of the best choice that this processor runs. */
static int best(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return 0;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") ? 1 : 2;
}
#else
DECLARE(generic);

#ifdef __aarch64__
static const struct choice choices[] = {CHOICE(generic, "aarch64")};
#else
static const struct choice choices[] = {CHOICE(generic, "generic")};
#endif

static int best(void) { return 0; }
#endif

enum { N_CHOICES = sizeof choices / sizeof *choices };

/* Return the index of the instruction set that the user names, so that unlike processors can compute the same bits, or else of the
 * best one; -1 if this processor lacks it. */
static int wanted(void)
{
    const char *const key = getenv(LW_ISA_VARIABLE);
    const int first = best();
    if (!key || !*key)
        return first;
    for (int i = first; i < N_CHOICES; i++)
        if (strcmp(key, choices[i].key) == 0)
            return i;
    return -1;
}

int lw_cpu_instruction_set_check(struct lw_error *err)
{
    if (wanted() >= 0)
        return LW_OK;
    char keys[64] = "";
    for (int i = best(); i < N_CHOICES; i++)
        lw_append(keys, sizeof keys, "%s%s", *keys ? ", " : "", choices[i].key);
    return lw_fail(err, LW_ECONFIG, LW_ISA_VARIABLE " = %s is not one of this processor's sets: %s", getenv(LW_ISA_VARIABLE), keys);
}

static const struct choice *chosen(void)
{
    const int index = wanted();
    return &choices[index >= 0 ? index : best()];
}

const struct lw_cpu_kernels *lw_cpu_kernels(enum lw_precision precision)
{
    const struct choice *const choice = chosen();
    return precision == LW_DOUBLE ? choice->double_precision : choice->single_precision;
}

const char *lw_cpu_instruction_set(void) { return chosen()->name; }
