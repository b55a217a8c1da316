/* device_code.h - what this build's device code runs on. */
#ifndef LW_GPU_HOST_DEVICE_CODE_H
#define LW_GPU_HOST_DEVICE_CODE_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Compute capability of the oldest architecture compiled in, times ten: 80, 90. */
int lw_device_code_oldest(void);

/** That of the code which a device of capability `device`, times ten, takes: the newest that is not newer than it. */
int lw_device_code_for(int device);

/** Whether the current device finds code for itself in this program. Needs the context. */
cudaError_t lw_device_code_check(void);

#ifdef __cplusplus
}
#endif

#endif
