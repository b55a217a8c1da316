#include "gpu/host/device.h"

#include "gpu/host/device_code.h"
#include "gpu/host/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The oldest architecture whose kernels fit this program: nothing below it is in the build. */
static bool is_built_for(int major, int minor)
{
    return major * 10 + minor >= lw_device_code_oldest();
}

/* Clusters and dependent launches, which the host asks for on devices of 9.0 and later, are left out of older kernels: these
 * would run there, and compute something else. */
static bool lacks_features(int major, int minor)
{
    return major >= 9 && lw_device_code_for(major * 10 + minor) < 90;
}

/* Device count without a context; LW_ESYSTEM if the driver is missing or sees nothing. */
static int count_devices(int *count, struct lw_error *err)
{
    *count = 0;
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
        return lw_fail(err, LW_ESYSTEM, "no NVIDIA driver on this machine: use --engine cpu");
    const cudaError_t status = cudaGetDeviceCount(count);
    if (status == cudaErrorNoDevice || (status == cudaSuccess && *count == 0))
        return lw_fail(err, LW_ESYSTEM, "no CUDA device is visible: use --engine cpu");
    return lw_cuda_check(status, "looking for CUDA devices", err);
}

static void format_uuid(const cudaUUID_t *uuid, char text[LW_DEVICE_ID])
{
    size_t used = (size_t)snprintf(text, LW_DEVICE_ID, "GPU-");
    for (int i = 0; i < 16; i++) {
        const char *const dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        used += (size_t)snprintf(text + used, LW_DEVICE_ID - used, "%s%02x", dash, (unsigned char)uuid->bytes[i]);
    }
}

static int read_properties(int index, struct lw_device *device, struct lw_error *err)
{
    struct cudaDeviceProp properties;
    const cudaError_t status = cudaGetDeviceProperties(&properties, index);
    const int rc = lw_cuda_check(status, "reading a CUDA device's properties", err);
    if (rc)
        return rc;
    device->index = index;
    snprintf(device->name, sizeof device->name, "%s", properties.name);
    format_uuid(&properties.uuid, device->uuid);
    snprintf(device->bus, sizeof device->bus, "%04x:%02x:%02x.0", (unsigned)properties.pciDomainID & 0xffff,
             (unsigned)properties.pciBusID & 0xff, (unsigned)properties.pciDeviceID & 0xff);
    device->major = properties.major;
    device->minor = properties.minor;
    device->n_multiprocessors = properties.multiProcessorCount;
    device->shared_bytes = (int)properties.sharedMemPerBlockOptin;
    device->memory_bytes = (int64_t)properties.totalGlobalMem;
    if (!is_built_for(device->major, device->minor))
        return lw_fail(err, LW_ESYSTEM, "device %d (%s) has compute capability %d.%d, this program is built for %d.%d "
                       "and later: use --engine cpu", index, device->name, device->major, device->minor,
                       lw_device_code_oldest() / 10, lw_device_code_oldest() % 10);
    if (lacks_features(device->major, device->minor))
        return lw_fail(err, LW_ESYSTEM,
                       "device %d (%s) has compute capability %d.%d, this program has no kernels of 9.0 and later: "
                       "build it with -DCMAKE_CUDA_ARCHITECTURES=%d, or use --engine cpu",
                       index, device->name, device->major, device->minor, device->major * 10 + device->minor);
    return LW_OK;
}

/* With --gpus-per-task Slurm shows each rank a device of its own, so that the count says nothing about sharing. */
static bool has_private_devices(void)
{
    const char *const resources = getenv("SLURM_TRES_PER_TASK");
    return getenv("SLURM_GPUS_PER_TASK") || (resources && strstr(resources, "gpu"));
}

static int check_sharing(const struct lw_engine_spec *spec, int n_devices, struct lw_error *err)
{
    if (spec->node_ranks <= n_devices || spec->share_device || has_private_devices())
        return LW_OK;
    return lw_fail(err, LW_ECONFIG,
                   "%d ranks on this node and %d CUDA device%s visible: start at most %d rank%s on it, "
                   "or let ranks share devices with --engine auto,share-gpu",
                   spec->node_ranks, n_devices, n_devices == 1 ? "" : "s", n_devices, n_devices == 1 ? "" : "s");
}

/* A twentieth stays free: the driver needs some for modules and cuFFT for its tables. */
static int measure_memory(struct lw_device *device, struct lw_error *err)
{
    size_t free_bytes = 0, total_bytes = 0;
    const int rc = lw_cuda_check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the device's free memory", err);
    device->usable_bytes = (int64_t)(free_bytes / 20 * 19);
    return rc;
}

static int find_device(const struct lw_engine_spec *spec, int *n_devices, struct lw_device *device, struct lw_error *err)
{
    int rc;
    (void)((rc = count_devices(n_devices, err)) || (rc = check_sharing(spec, *n_devices, err)) ||
           (rc = read_properties(spec->node_rank % *n_devices, device, err)));
    return rc;
}

/* The context of the device, which becomes the calling thread's device. */
static int start_device(const struct lw_device *device, struct lw_error *err)
{
    char what[160];
    int rc;
    snprintf(what, sizeof what, "starting CUDA device %d (%.100s)", device->index, device->name);
    (void)((rc = lw_cuda_check(cudaSetDevice(device->index), what, err)) || (rc = lw_cuda_check(cudaFree(NULL), what, err)) ||
           (rc = lw_cuda_check(lw_device_code_check(), what, err)));
    return rc;
}

int lw_device_open(const struct lw_engine_spec *spec, struct lw_device *device, struct lw_error *err)
{
    int n_devices, rc;
    (void)((rc = find_device(spec, &n_devices, device, err)) || (rc = start_device(device, err)) ||
           (rc = measure_memory(device, err)));
    return rc;
}

void lw_device_warm_up(const struct lw_engine_spec *spec)
{
    struct lw_device device;
    int n_devices;
    if (find_device(spec, &n_devices, &device, NULL) == LW_OK)
        start_device(&device, NULL);
}

bool lw_device_is_usable(const struct lw_engine_spec *spec, char text[LW_ENGINE_TEXT])
{
    struct lw_error err;
    struct lw_device device;
    int n_devices;
    if (find_device(spec, &n_devices, &device, &err)) {
        snprintf(text, LW_ENGINE_TEXT, "%.*s", LW_ENGINE_TEXT - 1, err.message);
        return false;
    }
    snprintf(text, LW_ENGINE_TEXT, "%d CUDA device%s, this rank's %.100s", n_devices, n_devices == 1 ? "" : "s", device.name);
    return true;
}
