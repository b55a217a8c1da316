/* probe.h - what this build's device code runs on. */
#ifndef LW_GPU_HOST_PROBE_H
#define LW_GPU_HOST_PROBE_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Compute capability of the oldest architecture compiled in, times ten: 80, 90. */
int lw_probe_oldest_architecture(void);

/** Whether the current device finds code for itself in this program. Needs the context. */
cudaError_t lw_probe_kernel(void);

#ifdef __cplusplus
}
#endif

#endif
