/* linkage.h - what a header that CUDA C++ includes, too, puts around the functions of C that it declares. */
#pragma once

#ifdef __cplusplus
#define LW_C_BEGIN extern "C" {
#define LW_C_END }
#else
#define LW_C_BEGIN
#define LW_C_END
#endif
