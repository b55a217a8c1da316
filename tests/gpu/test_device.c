/* test_device.c - tests of the device that an engine takes, of its description, and that no other device gets a context. */
#include "gpu.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

typedef CUresult state_function(CUdevice device, unsigned *flags, int *active);

/* Number of devices with a context of this process; -1: unknown. The driver is asked, because the runtime would make a context. */
static int count_contexts(int n_devices)
{
    void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *const symbol = driver ? dlsym(driver, "cuDevicePrimaryCtxGetState") : NULL;
    if (!symbol)
        return -1;
    state_function *state;
    memcpy(&state, &symbol, sizeof state);
    int n = 0;
    for (int device = 0; device < n_devices; device++) {
        unsigned flags;
        int active = 0;
        n += state(device, &flags, &active) == CUDA_SUCCESS && active;
    }
    return n;
}

static int create(int node_rank, int node_ranks, bool share, char text[256], struct lw_error *err)
{
    const struct lw_engine_spec spec = {
        .node_rank = node_rank, .node_ranks = node_ranks, .share_device = share};
    struct lw_engine *engine = NULL;
    const int rc = lw_cuda_engine.create(&spec, &engine, err);
    if (rc)
        return rc;
    engine->ops->describe(engine, text, 256);
    lw_engine_destroy(engine);
    return LW_OK;
}

static void test_sharing(int n_devices)
{
    struct lw_error err;
    char first[256], again[256], expected[64];
    int rc = create(n_devices, n_devices + 1, false, first, &err);
    snprintf(expected, sizeof expected, "%d ranks on this node and %d CUDA", n_devices + 1, n_devices);
    CHECK(rc == LW_ECONFIG, "code %d", rc);
    CHECK(strstr(err.message, expected) && strstr(err.message, "--engine auto,share-gpu"), "%s", err.message);
    rc = create(0, n_devices + 1, true, first, &err);
    CHECK(rc == LW_OK, "%s", err.message);
    rc = create(n_devices, n_devices + 1, true, again, &err);
    CHECK(rc == LW_OK && strcmp(first, again) == 0, "rank %d has '%s', rank 0 '%s'", n_devices, again, first);
}

static void test_texts(void)
{
    struct lw_engine *const engine = gpu_engine();
    char text[256];
    engine->ops->describe(engine, text, sizeof text);
    CHECK(strstr(text, "GPU-") && strstr(text, "iB"), "'%s' lacks the UUID or the memory", text);
    engine->ops->architecture(engine, text, sizeof text);
    int version = 0;
    CHECK(sscanf(text, "sm_%d", &version) == 1 && version >= 80, "'%s'", text);
    lw_engine_destroy(engine);
}

int main(void)
{
    unsetenv("SLURM_GPUS_PER_TASK");
    unsetenv("SLURM_TRES_PER_TASK");
    const int missing = gpu_missing("device");
    if (missing)
        return missing;
    int n_devices = 0;
    cudaGetDeviceCount(&n_devices);
    CHECK(count_contexts(n_devices) == 0, "looking for devices made %d contexts", count_contexts(n_devices));
    struct lw_engine *const engine = gpu_engine();
    CHECK(count_contexts(n_devices) == 1, "one engine has %d contexts", count_contexts(n_devices));
    lw_engine_destroy(engine);
    test_texts();
    test_sharing(n_devices);
    return check_result("device");
}
