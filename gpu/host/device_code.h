/* device_code.h - what this build's device code runs on. */
#pragma once

#include "base/linkage.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/** Compute capability of the oldest architecture compiled in, times ten: 80, 90. */
int lw_device_code_oldest(void);

/** That of the code which a device of capability `device`, times ten, takes: the newest that is not newer than it. */
int lw_device_code_for(int device);

/** Whether the current device finds code for itself in this program. Needs the context. */
cudaError_t lw_device_code_check(void);

LW_C_END
