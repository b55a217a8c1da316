/* linkage.h - C linkage for headers that CUDA C++ includes as well: their declarations stand between LW_C_BEGIN and LW_C_END. */
#pragma once

#ifdef __cplusplus
#define LW_C_BEGIN extern "C" {
#define LW_C_END }
#else
#define LW_C_BEGIN
#define LW_C_END
#endif
