#include "base/memory.h"

#include "base/proc.h"

#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/* Zero a buffer. In a large buffer whole pages are dropped: the system supplies zeroed ones on first use, to the thread that uses
 * them. Huge pages are requested, since zeroing them takes a tenth of the time. */
static void zero(char *memory, size_t bytes)
{
    char *const first = memory + (-(uintptr_t)memory & (HUGE_PAGE_BYTES - 1));
    const size_t before = (size_t)(first - memory),
                 whole = bytes > before ? (bytes - before) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES : 0;
    if (whole == 0 || madvise(first, whole, MADV_DONTNEED) != 0) {
        memset(memory, 0, bytes);
        return;
    }
    madvise(first, whole, MADV_HUGEPAGE);
    memset(memory, 0, before);
    memset(first + whole, 0, bytes - before - whole);
}

void *lw_alloc(size_t bytes, const char *what, struct lw_error *err)
{
    const size_t padded = (bytes / LW_ALIGNMENT + 1) * LW_ALIGNMENT;
    void *memory = padded > bytes ? aligned_alloc(LW_ALIGNMENT, padded) : NULL;
    if (memory)
        zero(memory, padded);
    else
        lw_fail(err, LW_ESYSTEM, "no memory for %s (%zu bytes): lower --memory or run fewer ranks on a node", what, bytes);
    return memory;
}

void *lw_alloc_array(int64_t count, size_t size, const char *what, struct lw_error *err)
{
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes)) {
        lw_fail(err, LW_ESYSTEM, "no memory for %s: %" PRId64 " elements of %zu bytes", what, count, size);
        return NULL;
    }
    return lw_alloc(bytes, what, err);
}

void lw_free(void *memory) { free(memory); }

void lw_free_at(const void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    lw_free(memory);
}

void lw_memory_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

const char *lw_bytes_text(int64_t bytes, char text[24])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1024 && unit < 5) {
        value /= 1024;
        unit++;
    }
    snprintf(text, 24, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

/* Return a field in bytes, which the file gives in KiB; 0 if the field is absent. */
static int64_t read_kib(const char *path, const char *key)
{
    const int64_t kib = lw_proc_field(path, key);
    return kib < 0 || kib > INT64_MAX / 1024 ? 0 : kib * 1024;
}

static int64_t environment_number(const char *name)
{
    const char *const text = getenv(name);
    return text ? strtoll(text, NULL, 10) : 0;
}

/* Return a times b, at most INT64_MAX; 0 if a factor is not positive. */
static int64_t product(int64_t a, int64_t b)
{
    int64_t c;
    return a <= 0 || b <= 0 ? 0 : __builtin_mul_overflow(a, b, &c) ? INT64_MAX : c;
}

static int64_t imagined_bytes;

void lw_memory_imagine(int64_t bytes) { imagined_bytes = bytes; }

struct lw_memory_limit lw_memory_available(void)
{
    if (imagined_bytes > 0)
        return (struct lw_memory_limit){imagined_bytes, "memory given"};
    const int64_t available = read_kib("/proc/meminfo", "MemAvailable");
    struct lw_memory_limit limit = {available > 0 ? available : (int64_t)1 << 30, "available memory"};
    const int64_t cgroup = lw_proc_group_room("/proc/self/cgroup", "/sys/fs/cgroup");
    if (cgroup < limit.bytes)
        limit = (struct lw_memory_limit){cgroup, "cgroup limit"};
    const int64_t per_node = environment_number("SLURM_MEM_PER_NODE");
    const int64_t all_cpus = product(environment_number("SLURM_MEM_PER_CPU"), environment_number("SLURM_CPUS_ON_NODE"));
    const int64_t grant = product(per_node > 0 ? per_node : all_cpus, (int64_t)1 << 20);
    if (grant > 0 && grant < limit.bytes)
        limit = (struct lw_memory_limit){grant, "Slurm's grant"};
    return limit;
}

int64_t lw_memory_resident_bytes(void) { return read_kib("/proc/self/status", "VmRSS"); }

int64_t lw_memory_peak_bytes(void) { return read_kib("/proc/self/status", "VmHWM"); }
