/* dispatch.h - which of the compiled tables of inner loops this processor runs. */
#pragma once

#include "cpu/kernels/kernels.h"

/* Names an instruction set to be used instead of the best: avx512, avx2 or generic. */
#define LW_ISA_VARIABLE "LAPWING_ISA"

/** The table for this processor, or the one that LW_ISA_VARIABLE names. */
const struct lw_cpu_kernels *lw_cpu_kernels(enum lw_precision precision);

/** "x86-64 AVX-512" and the like, of that table. Static storage. */
const char *lw_cpu_instruction_set(void);

/** LW_ECONFIG if LW_ISA_VARIABLE names what this processor cannot do. */
int lw_cpu_instruction_set_check(struct lw_error *err);
