/* test_proc.c - tests of /proc and control groups: cores by lists, entries of folders, memory limits of versions 1 and 2. The
 * limits are read from folders like the kernel's: a limit in the group or above it, a page cache that counts as free, and no limit
 * at all. */
#include "../check.h"
#include "base/proc.h"

#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

static char top[] = "proc-test-XXXXXX";

/* Write a file below the test's folder, and make the folders that lead to the file. */
static void put(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", top, name);
    for (char *at = path + sizeof top; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *const file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0, "%s", path);
    if (file)
        fclose(file);
}

static void expect(const char *groups, const char *mount, int64_t room)
{
    char list[100], folder[100];
    snprintf(list, sizeof list, "%s/%s", top, groups);
    snprintf(folder, sizeof folder, "%s/%s", top, mount);
    const int64_t found = lw_proc_group_room(list, folder);
    CHECK(found == room, "%s: %" PRId64 " bytes, expected %" PRId64, groups, found, room);
}

static void check_version_2(void)
{
    put("list2", "0::/job/step\n");
    put("v2/job/step/memory.max", "max\n");
    put("v2/job/step/memory.current", "900\n");
    expect("list2", "v2", INT64_MAX);
    put("v2/job/memory.max", "1000\n");
    put("v2/job/memory.current", "990\n");
    expect("list2", "v2", 10);
    put("v2/job/memory.stat", "anon 100\nfile 890\ninactive_file 600\nactive_file 200\nslab_reclaimable 50\nslab 70\n");
    expect("list2", "v2", 860);
    put("v2/job/memory.current", "800\n");       /* the two files may be read at different moments */
    expect("list2", "v2", 1000);
    put("v2/job/step/memory.max", "901\n");
    expect("list2", "v2", 1);
    put("v2/job/step/memory.max", "800\n");
    expect("list2", "v2", 0);
}

static void check_version_1(void)
{
    put("list1", "5:cpu:/\n4:memory:/slurm/uid_1\n0::/\n");
    put("v1/memory/slurm/uid_1/memory.limit_in_bytes", "9223372036854771712\n");
    put("v1/memory/slurm/uid_1/memory.usage_in_bytes", "5000\n");
    expect("list1", "v1", INT64_MAX);
    put("v1/memory/slurm/memory.limit_in_bytes", "6000\n");
    put("v1/memory/slurm/memory.usage_in_bytes", "5900\n");
    put("v1/memory/slurm/memory.stat",
        "cache 5000\ninactive_file 1\nactive_file 1\ntotal_inactive_file 3000\ntotal_active_file 700\n");
    expect("list1", "v1", 3800);
    expect("no list", "v1", INT64_MAX);
    expect("list1", "no mount", INT64_MAX);
}

static void check_fields(void)
{
    char path[100];
    put("fields", "MemAvailableNot:   1 kB\nMemAvailable:   4711 kB\nactive 8\n");
    snprintf(path, sizeof path, "%s/fields", top);
    CHECK(lw_proc_field(path, "MemAvailable") == 4711, "%" PRId64, lw_proc_field(path, "MemAvailable"));
    CHECK(lw_proc_field(path, "active") == 8, "%" PRId64, lw_proc_field(path, "active"));
    CHECK(lw_proc_field(path, "Mem") == -1 && lw_proc_field("no file", "Mem") == -1, "a field that does not exist is found");
}

static void check_entries(void)
{
    char folder[100];
    put("driver/gpus/0000:01:00.0/information", "");
    put("driver/gpus/0000:02:00.0/information", "");
    put("driver/gpus/.hidden", "");
    snprintf(folder, sizeof folder, "%s/driver/gpus", top);
    CHECK(lw_proc_entries(folder) == 2, "%d entries, not 2", lw_proc_entries(folder));
    CHECK(lw_proc_entries("no folder") == 0, "a missing folder has entries");
}

/* Expect lw_proc_stay_on to return `found` for a list of cores, and this process to keep `left` cores. */
static void expect_cores(const char *text, int found, int left)
{
    char path[100];
    put("cores", text);
    snprintf(path, sizeof path, "%s/cores", top);
    const int n = lw_proc_stay_on(path);
    CHECK(n == found && lw_proc_cores() == left, "'%s': %d, expected %d; %d cores left, expected %d", text, n, found,
          lw_proc_cores(), left);
}

static void check_cores(void)
{
    cpu_set_t given;
    char one[40], all[40];
    CHECK(sched_getaffinity(0, sizeof given, &given) == 0, "the cores of this process are unknown");
    const int n = CPU_COUNT(&given);
    size_t first = 0;
    while (!CPU_ISSET(first, &given))
        first++;
    snprintf(one, sizeof one, "4000-4095,%zu\n", first);
    snprintf(all, sizeof all, "0-%d,4090", CPU_SETSIZE - 1);
    CHECK(lw_proc_stay_on("no file") == -1, "a missing file is no error");
    expect_cores("", -1, n);
    expect_cores("\n", -1, n);
    expect_cores("0-", -1, n);
    expect_cores("3-1\n", -1, n);
    expect_cores("0,\n", -1, n);
    expect_cores("0-4096\n", -1, n);
    expect_cores("0;1\n", -1, n);
    expect_cores("-1\n", -1, n);
    expect_cores("4000-4001,4090\n", 0, n);
    expect_cores(all, n, n);
    expect_cores(one, 1, 1);
    CHECK(sched_setaffinity(0, sizeof given, &given) == 0, "the cores of this process cannot be restored");
}

int main(void)
{
    CHECK(mkdtemp(top), "%s", top);
    check_version_2();
    check_version_1();
    check_fields();
    check_cores();
    check_entries();
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", top);
    CHECK(system(command) == 0, "%s", command);
    return check_result("proc");
}
