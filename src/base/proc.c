#include "base/proc.h"

#include <dirent.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_CORES 4096

/* File names of control groups of one version. */
struct version {
    const char *folder;         /* path below the mount */
    const char *limit, *usage;
    const char *reclaimable[3]; /* fields of memory.stat, of the group and all groups below it */
};

static const struct version version_1 = {
    "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file", NULL},
};
static const struct version version_2 = {
    "", "memory.max", "memory.current", {"inactive_file", "active_file", "slab_reclaimable"},
};

int64_t lw_proc_field(const char *path, const char *key)
{
    FILE *const file = fopen(path, "r");
    if (!file)
        return -1;
    char line[256];
    const size_t length = strlen(key);
    int64_t value = -1;
    while (value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, length) == 0 && (line[length] == ':' || line[length] == ' '))
            value = strtoll(line + length + 1, NULL, 10);
    fclose(file);
    return value;
}

bool lw_proc_line(const char *path, char *text, int size)
{
    FILE *const file = fopen(path, "r");
    const bool is_read = file && fgets(text, size, file);
    if (file)
        fclose(file);
    if (is_read)
        text[strcspn(text, "\n")] = '\0';
    return is_read;
}

/* Return the number that a file holds; -1: the file holds none, such as "max". */
static int64_t read_number(const char *directory, const char *name)
{
    char path[1200], text[64];
    int64_t value;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return lw_proc_line(path, text, sizeof text) && sscanf(text, "%" SCNd64, &value) == 1 ? value : -1;
}

static int64_t reclaimable(const struct version *version, const char *directory)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/memory.stat", directory);
    int64_t bytes = 0;
    for (int i = 0; i < 3 && version->reclaimable[i]; i++) {
        const int64_t field = lw_proc_field(path, version->reclaimable[i]);
        bytes += field > 0 ? field : 0;
    }
    return bytes;
}

/* Return the room of a group, bytes: the least of its own and all its parents' rooms, since each group may have a limit. */
static int64_t tree_room(const struct version *version, const char *mount, const char *group)
{
    char directory[1100];
    const int top = snprintf(directory, sizeof directory, "%s%s", mount, version->folder);
    snprintf(directory + top, sizeof directory - (size_t)top, "%s", group);
    int64_t room = INT64_MAX;
    for (;;) {
        const int64_t limit = read_number(directory, version->limit);
        if (limit >= 0 && limit <= INT64_MAX / 2) {
            const int64_t used = read_number(directory, version->usage) - reclaimable(version, directory);
            const int64_t here = used <= 0 ? limit : limit > used ? limit - used : 0;
            room = here < room ? here : room;
        }
        char *const slash = strrchr(directory, '/');
        if (!slash || strlen(directory) <= (size_t)top)
            return room;
        *slash = '\0';
    }
}

/* Each line of `groups` is "NUMBER:CONTROLLERS:GROUP"; the line of version 2 has the number 0 and no controllers. */
int64_t lw_proc_group_room(const char *groups, const char *mount)
{
    FILE *const file = fopen(groups, "r");
    if (!file)
        return INT64_MAX;
    char line[1024];
    int64_t room = INT64_MAX;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        const char *const controllers = strchr(line, ':'), *const group = controllers ? strchr(controllers + 1, ':') : NULL;
        const struct version *const version = strncmp(line, "0::", 3) == 0 ? &version_2
                                              : group && strncmp(controllers, ":memory:", 8) == 0 ? &version_1 : NULL;
        const int64_t here = group && version ? tree_room(version, mount, group + 1) : INT64_MAX;
        room = here < room ? here : room;
    }
    fclose(file);
    return room;
}

int lw_proc_entries(const char *folder)
{
    DIR *const entries = opendir(folder);
    if (!entries)
        return 0;
    int n = 0;
    for (const struct dirent *entry; (entry = readdir(entries));)
        n += entry->d_name[0] != '.';
    closedir(entries);
    return n;
}

/* Parse a list such as "3,0-15" into a set of cores. Return false if the text is no list. */
static bool parse_cores(const char *text, size_t size, cpu_set_t *set)
{
    CPU_ZERO_S(size, set);
    for (;;) {
        char *end;
        const long first = strtol(text, &end, 10);
        const bool is_range = end > text && *end == '-';
        text = is_range ? end + 1 : text;
        const long last = is_range ? strtol(text, &end, 10) : first;
        if (end == text || first < 0 || first > last || last >= MOST_CORES)
            return false;
        for (long core = first; core <= last; core++)
            CPU_SET_S((size_t)core, size, set);
        if (*end != ',')
            return *end == '\0';
        text = end + 1;
    }
}

int lw_proc_stay_on(const char *list)
{
    const size_t size = CPU_ALLOC_SIZE(MOST_CORES);
    cpu_set_t *const near = CPU_ALLOC(MOST_CORES), *const given = CPU_ALLOC(MOST_CORES);
    char text[4096];
    int n = -1;
    if (near && given && lw_proc_line(list, text, sizeof text) && parse_cores(text, size, near) &&
        sched_getaffinity(0, size, given) == 0) {
        CPU_AND_S(size, near, near, given);
        n = CPU_COUNT_S(size, near);
        if (n > 0 && sched_setaffinity(0, size, near))
            n = -1;
    }
    CPU_FREE(near);
    CPU_FREE(given);
    return n;
}

static struct {
    int cores, node_cores;
} imagined;

void lw_proc_imagine(int cores, int node_cores)
{
    imagined.cores = cores;
    imagined.node_cores = node_cores;
}

int lw_proc_node_cores(void) { return imagined.node_cores > 0 ? imagined.node_cores : (int)sysconf(_SC_NPROCESSORS_ONLN); }

int lw_proc_cores(void)
{
    int n = 0;
    if (imagined.cores > 0)
        return imagined.cores;
    cpu_set_t *const set = CPU_ALLOC(MOST_CORES);
    const size_t size = CPU_ALLOC_SIZE(MOST_CORES);
    if (set && sched_getaffinity(0, size, set) == 0)
        n = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    return n > 0 ? n : 1;
}
