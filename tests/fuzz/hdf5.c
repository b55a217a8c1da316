/* hdf5.c - fuzz target of HDF5 files, damaged or not. Input: a line with a path in the file, then the file. libhdf5 crashes on
 * some files, which is why the program looks at files in a child process. Only crashes in our code are findings. This target,
 * too, uses a child, and reads the report of a child that died: it is a finding if the innermost function in the sanitizer's
 * report or the failed assertion is ours. libFuzzer cannot see into a child, so with it the file is read in the process itself,
 * and `campaign` sorts the crashes. */
#include "target.h"

#include "dataset.h"
#include "io/shield.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

extern const struct lw_format lw_format_hdf5;

#ifdef FUZZ_IN_PROCESS

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[256];
    lw_format_hdf5.start();
    const uint8_t *const file = fuzz_line(data, &size, path, sizeof path);
    fuzz_dataset(&lw_format_hdf5, fuzz_file(file, size), path, NULL);
    return 0;
}

#else

enum { MOST_CPU_S = 1 };        /* CPU seconds of a child: libhdf5 loops for ever on some files, and the program waits 15 s */

static int said = -1;           /* descriptor of a file in memory that is the standard error of children */

static int look(const struct lw_object *object, void *result, struct lw_error *err)
{
    const struct rlimit cpu = {MOST_CPU_S, MOST_CPU_S + 1};
    (void)result;
    (void)err;
    setrlimit(RLIMIT_CPU, &cpu);
    dup2(said, STDERR_FILENO);
    fuzz_dataset(&lw_format_hdf5, object->file, object->path, NULL);
    return LW_OK;
}

/* Whether a report names our code: its innermost frame outside the sanitizer and the C library is ours. */
static bool is_ours(char *report)
{
    if (strstr(report, "runtime error:") || strstr(report, "not so:") || strstr(report, "Assertion"))
        return true;
    char *rest = report;
    for (const char *line; (line = strsep(&rest, "\n")); ) {
        const char *const frame = line + strspn(line, " ");
        if (frame[0] == '#' && !strstr(frame, "sanitizer") && !strstr(frame, "libasan") && !strstr(frame, "/libc.so"))
            return !strstr(frame, "libhdf5") && !strstr(frame, "(<unknown module>)");
    }
    return false;
}

static void judge_death(void)
{
    static char report[1 << 16], copy[sizeof report];
    const ssize_t n = pread(said, report, sizeof report - 1, 0);
    report[n > 0 ? n : 0] = '\0';
    strcpy(copy, report);
    REQUIRE(!is_ours(copy), "\n%s", report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lw_object object = {.name = "a file"};
    struct lw_error err = {0};
    char nothing;
    if (said < 0)
        said = memfd_create("said", 0);
    REQUIRE(said >= 0 && ftruncate(said, 0) == 0 && lseek(said, 0, SEEK_SET) == 0, "a file for reports");
    lw_format_hdf5.start();
    const uint8_t *const file = fuzz_line(data, &size, object.path, 256);
    snprintf(object.file, sizeof object.file, "%s", fuzz_file(file, size));
    const int rc = lw_shield(look, &object, &nothing, sizeof nothing, &err);
    REQUIRE(rc == LW_OK || rc == LW_EDATA, "code %d: %s", rc, err.message);
    if (rc)
        judge_death();
    return 0;
}

#endif
