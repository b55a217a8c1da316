#include "memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *lw_alloc(size_t bytes, const char *what, struct lw_error *err)
{
    const size_t padded = (bytes / LW_ALIGNMENT + 1) * LW_ALIGNMENT;
    void *memory = padded > bytes ? aligned_alloc(LW_ALIGNMENT, padded) : NULL;
    if (!memory) {
        lw_fail(err, LW_ESYSTEM, "no memory for %s (%zu bytes): lower --memory or run fewer ranks on a node", what, bytes);
        return NULL;
    }
    return memset(memory, 0, padded);
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

void lw_free(void *memory)
{
    free(memory);
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

/* The number after `key` in a "key: value kB" file such as /proc/meminfo, in bytes; -1 if absent. */
static int64_t read_kib_field(const char *path, const char *key)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    char line[256];
    const size_t length = strlen(key);
    int64_t bytes = -1;
    while (bytes < 0 && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, length) == 0 && line[length] == ':')
            bytes = strtoll(line + length + 1, NULL, 10) * 1024;
    }
    fclose(file);
    return bytes;
}

/* The one number in a file; -1 if there is none ("max"). */
static int64_t read_number(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    int64_t value = -1;
    if (fscanf(file, "%" SCNd64, &value) != 1)
        value = -1;
    fclose(file);
    return value;
}

/* What one cgroup directory still allows; INT64_MAX without a limit. */
static int64_t cgroup_room(const char *directory, const char *limit_name, const char *usage_name)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", directory, limit_name);
    const int64_t limit = read_number(path);
    snprintf(path, sizeof path, "%s/%s", directory, usage_name);
    const int64_t usage = read_number(path);
    if (limit < 0 || limit > INT64_MAX / 2)
        return INT64_MAX;
    return limit > usage ? limit - (usage > 0 ? usage : 0) : 0;
}

/* This process' cgroup below `mount`, and each of its parents: any of them may hold the limit. */
static int64_t cgroup_tree_room(const char *mount, const char *group, const char *limit_name, const char *usage_name)
{
    char directory[1100];
    snprintf(directory, sizeof directory, "%s%s", mount, group);
    int64_t room = INT64_MAX;
    for (;;) {
        const int64_t here = cgroup_room(directory, limit_name, usage_name);
        room = here < room ? here : room;
        char *const slash = strrchr(directory, '/');
        if (!slash || strlen(directory) <= strlen(mount))
            return room;
        *slash = '\0';
    }
}

static int64_t cgroup_available(void)
{
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (!file)
        return INT64_MAX;
    char line[1024];
    int64_t room = INT64_MAX;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *const controllers = strchr(line, ':');
        char *const group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        int64_t here = INT64_MAX;
        if (strncmp(line, "0::", 3) == 0)
            here = cgroup_tree_room("/sys/fs/cgroup", group + 1, "memory.max", "memory.current");
        else if (strncmp(controllers, ":memory:", 8) == 0)
            here = cgroup_tree_room("/sys/fs/cgroup/memory", group + 1, "memory.limit_in_bytes",
                                    "memory.usage_in_bytes");
        room = here < room ? here : room;
    }
    fclose(file);
    return room;
}

static int64_t environment_number(const char *name)
{
    const char *const text = getenv(name);
    return text ? strtoll(text, NULL, 10) : 0;
}

/* MiB in Slurm's environment, for this node; INT64_MAX outside Slurm. */
static int64_t slurm_grant(void)
{
    const int64_t mib = (int64_t)1 << 20;
    const int64_t per_node = environment_number("SLURM_MEM_PER_NODE");
    if (per_node > 0)
        return per_node * mib;
    const int64_t per_cpu = environment_number("SLURM_MEM_PER_CPU");
    const int64_t cpus = environment_number("SLURM_CPUS_ON_NODE");
    return per_cpu > 0 && cpus > 0 ? per_cpu * cpus * mib : INT64_MAX;
}

struct lw_memory_limit lw_memory_available(void)
{
    const int64_t available = read_kib_field("/proc/meminfo", "MemAvailable");
    struct lw_memory_limit limit = {available > 0 ? available : (int64_t)1 << 30, "available memory"};
    const int64_t cgroup = cgroup_available();
    if (cgroup < limit.bytes)
        limit = (struct lw_memory_limit){cgroup, "cgroup limit"};
    const int64_t grant = slurm_grant();
    if (grant < limit.bytes)
        limit = (struct lw_memory_limit){grant, "Slurm's grant"};
    return limit;
}

int64_t lw_memory_resident_bytes(void)
{
    const int64_t bytes = read_kib_field("/proc/self/status", "VmRSS");
    return bytes > 0 ? bytes : 0;
}

int64_t lw_memory_peak_bytes(void)
{
    const int64_t bytes = read_kib_field("/proc/self/status", "VmHWM");
    return bytes > 0 ? bytes : 0;
}
