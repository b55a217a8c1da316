#include "gpu/host/device.h"

#include "engine/gpus.h"
#include "gpu/host/error.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

static const int architectures[] = {__CUDA_ARCH_LIST__};        /* architectures with compiled kernels, ascending; 800 means 8.0 */

__global__ void any_kernel() {}

/* Count devices without creating a context. LW_ESYSTEM if the driver is missing or sees no device. */
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

/* Refuse devices that the compiled code does not fit. Kernels compiled for less than 9.0 contain neither clusters nor waits of
 * dependent launches, but the host uses both on devices of 9.0 and later. There these kernels would compute wrong results. */
static int check_code(const struct lw_device *device, struct lw_error *err)
{
    const int capability = device->major * 10 + device->minor, oldest = architectures[0] / 10;
    int newest = 0;         /* newest compiled architecture that the device can run */
    for (const int architecture : architectures)
        newest = architecture / 10 <= capability ? architecture / 10 : newest;
    if (capability < oldest)
        return lw_fail(err, LW_ESYSTEM, "device %d (%s) has compute capability %d.%d, this lapwing is built for %d.%d "
                       "and later: use --engine cpu", device->index, device->name, device->major, device->minor, oldest / 10,
                       oldest % 10);
    if (capability >= 90 && newest < 90)
        return lw_fail(err, LW_ESYSTEM,
                       "device %d (%s) has compute capability %d.%d, this lapwing has no kernels for 9.0 and later: "
                       "build it with -DCMAKE_CUDA_ARCHITECTURES=%d, or use --engine cpu",
                       device->index, device->name, device->major, device->minor, capability);
    return LW_OK;
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
    size_t used = (size_t)snprintf(device->uuid, LW_DEVICE_ID, "GPU-");
    for (int i = 0; i < 16; i++) {
        const char *const dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        used += (size_t)snprintf(device->uuid + used, LW_DEVICE_ID - used, "%s%02x", dash, (unsigned char)properties.uuid.bytes[i]);
    }
    snprintf(device->bus, sizeof device->bus, "%04x:%02x:%02x.0", (unsigned)properties.pciDomainID & 0xffff,
             (unsigned)properties.pciBusID & 0xff, (unsigned)properties.pciDeviceID & 0xff);
    device->major = properties.major;
    device->minor = properties.minor;
    device->n_multiprocessors = properties.multiProcessorCount;
    device->shared_bytes = (int)properties.sharedMemPerBlockOptin;
    device->memory_bytes = (int64_t)properties.totalGlobalMem;
    return check_code(device, err);
}

/* Refuse more ranks on a node than visible devices, unless ranks may share, or see a device each (Slurm's --gpus-per-task). */
static int check_sharing(const struct lw_engine_spec *spec, int n_devices, struct lw_error *err)
{
    const char *const resources = getenv("SLURM_TRES_PER_TASK");
    const bool are_private = getenv("SLURM_GPUS_PER_TASK") || (resources && strstr(resources, "gpu"));
    if (spec->node_ranks <= n_devices || spec->share_device || are_private)
        return LW_OK;
    return lw_fail(err, LW_ECONFIG,
                   "%d ranks on this node and %d CUDA device%s visible: start at most %d rank%s on it, "
                   "or let ranks share devices with --engine auto,share-gpu",
                   spec->node_ranks, n_devices, n_devices == 1 ? "" : "s", n_devices, n_devices == 1 ? "" : "s");
}

/* Take the properties of a GPU that need not be here. Whether this build has code for it does not matter to a plan. */
static void take_properties(const struct lw_gpu *gpu, struct lw_device *device)
{
    *device = {};
    snprintf(device->name, sizeof device->name, "%s, which is not here; %s", gpu->name,
             gpu->is_derived ? "times derived from its memory's rate" : "measured times");
    device->major = gpu->capability / 10;
    device->minor = gpu->capability % 10;
    device->n_multiprocessors = gpu->n_multiprocessors;
    device->shared_bytes = gpu->shared_bytes;
    device->memory_bytes = gpu->memory_bytes;
}

static int find_device(const struct lw_engine_spec *spec, int *n_devices, struct lw_device *device, struct lw_error *err)
{
    int rc;
    if (spec->gpu) {
        *n_devices = spec->node_ranks;
        take_properties(spec->gpu, device);
        return LW_OK;
    }
    (void)((rc = count_devices(n_devices, err)) || (rc = check_sharing(spec, *n_devices, err)) ||
           (rc = read_properties(spec->node_rank % *n_devices, device, err)));
    return rc;
}

/* Create the device's context, make it the calling thread's device, and check that this program has code for it. */
static int start_device(const struct lw_device *device, struct lw_error *err)
{
    char what[160];
    cudaFuncAttributes attributes;
    int rc;
    snprintf(what, sizeof what, "starting CUDA device %d (%.100s)", device->index, device->name);
    (void)((rc = lw_cuda_check(cudaSetDevice(device->index), what, err)) || (rc = lw_cuda_check(cudaFree(nullptr), what, err)) ||
           (rc = lw_cuda_check(cudaFuncGetAttributes(&attributes, any_kernel), what, err)));
    return rc;
}

int lw_device_open(const struct lw_engine_spec *spec, struct lw_device *device, struct lw_error *err)
{
    size_t free_bytes = 0, total_bytes = 0;
    int n_devices, rc;
    if ((rc = find_device(spec, &n_devices, device, err)) || spec->only_plans) {
        device->usable_bytes = device->memory_bytes / 20 * 19;
        return rc;
    }
    (void)((rc = start_device(device, err)) ||
           (rc = lw_cuda_check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the device's free memory", err)));
    device->usable_bytes = (int64_t)(free_bytes / 20 * 19);     /* the driver needs the rest for modules, cuFFT for tables */
    return rc;
}

void lw_device_warm_up(const struct lw_engine_spec *spec)
{
    struct lw_device device;
    int n_devices;
    if (find_device(spec, &n_devices, &device, nullptr) == LW_OK)
        start_device(&device, nullptr);
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
