/* dispatch.h - choice of the compiled table of inner loops for this processor. */
#pragma once

#include "cpu/kernels/kernels.h"

/* Environment variable with the instruction set to use instead of the best one: avx512, avx2 or generic. */
#define LW_ISA_VARIABLE "LAPWING_ISA"

/** Return the table for this processor, or the one that LW_ISA_VARIABLE names. */
const struct lw_cpu_kernels *lw_cpu_kernels(enum lw_precision precision);

/** Return the name of that table's instruction set ("x86-64 AVX-512"). Static storage. */
const char *lw_cpu_instruction_set(void);

/** Return LW_ECONFIG if LW_ISA_VARIABLE names an instruction set that this processor lacks. */
int lw_cpu_instruction_set_check(struct lw_error *err);
