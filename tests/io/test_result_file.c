/* test_result_file.c - tests of the file that a result grows in: names, lock, free space and file-size limit, renaming. */
#include "../check.h"
#include "io/write/result_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t PETABYTE = (int64_t)1 << 50;

static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

/* Claim `file`, expect the code and the text, and release it. */
static void check_claim(const char *file, bool overwrite, int64_t bytes, int code, const char *says)
{
    struct lw_result_file result;
    struct lw_error err = {0};
    CHECK(lw_result_file_name(&result, file, overwrite, &err) == LW_OK, "%s", err.message);
    const int rc = lw_result_file_claim(&result, bytes, &err);
    CHECK(rc == code, "%s: code %d, not %d: %s", file, rc, code, err.message);
    if (rc)
        CHECK(strstr(err.message, says), "'%s' is not in: %s", says, err.message);
    if (code != LW_OK)
        CHECK(!exists(result.part), "%s is gone", result.part);
    lw_result_file_discard(&result);
    CHECK(!exists(result.part), "%s is gone", result.part);
}

static void check_claims(const char *folder)
{
    char file[300], below[320];
    snprintf(file, sizeof file, "%s/out.h5", folder);
    check_claim(file, false, 1000, LW_OK, "");
    check_claim(file, false, PETABYTE, LW_EIO, "1125899906842624 bytes), but ");
    check_claim(folder, true, 1000, LW_EIO, "it is a folder");
    check_claim("/dev/null", true, 1000, LW_EIO, "device");
    snprintf(below, sizeof below, "%s/none/out.h5", folder);
    check_claim(below, false, 1000, LW_EIO, "No such file or directory");

    fclose(fopen(file, "w"));
    check_claim(file, false, 1000, LW_EIO, "--overwrite");
    check_claim(file, true, 1000, LW_OK, "");
    snprintf(below, sizeof below, "%s/out.h5/out.h5", folder);
    check_claim(below, false, 1000, LW_EIO, "Not a directory");
    unlink(file);

    char long_name[LW_MAX_PATH + 1];
    memset(long_name, 'x', LW_MAX_PATH);
    long_name[LW_MAX_PATH] = '\0';
    struct lw_result_file result;
    struct lw_error err;
    CHECK(lw_result_file_name(&result, long_name, false, &err) == LW_EIO, "a name that is too long is not refused");
}

static void check_life(const char *folder)
{
    char file[300];
    struct lw_result_file first, second;
    struct lw_error err = {0};
    struct stat status;
    snprintf(file, sizeof file, "%s/life.h5", folder);
    lw_result_file_name(&first, file, false, &err);
    lw_result_file_name(&second, file, false, &err);
    CHECK(lw_result_file_claim(&first, 1000, &err) == LW_OK, "%s", err.message);
    CHECK(lw_result_file_claim(&second, 1000, &err) == LW_EIO && strstr(err.message, "another run"), "%s", err.message);
    CHECK(exists(first.part), "the refused second run removed the first run's file");

    CHECK(lw_result_file_reserve(&first, 5000000, &err) == LW_OK, "%s", err.message);
    CHECK(stat(first.part, &status) == 0 && status.st_size == 5000000 && status.st_blocks * 512 >= 5000000,
          "the file's space is not reserved");
    CHECK(lw_result_file_reserve(&first, PETABYTE, &err) == LW_EIO && strstr(err.message, "no room"), "%s", err.message);

    CHECK(lw_result_file_publish(&first, &err) == LW_OK, "%s", err.message);
    CHECK(exists(file) && !exists(first.part), "the result does not have its name");
    lw_result_file_discard(&first);
    CHECK(exists(file), "discarding removed a finished result");
}

/* A file that another program makes with this name meanwhile is replaced only with --overwrite. */
static void check_race(const char *folder)
{
    char file[300];
    struct lw_result_file result;
    struct lw_error err = {0};
    snprintf(file, sizeof file, "%s/race.h5", folder);
    for (int overwrite = 0; overwrite < 2; overwrite++) {
        lw_result_file_name(&result, file, overwrite, &err);
        CHECK(lw_result_file_claim(&result, 10, &err) == LW_OK, "%s", err.message);
        fclose(fopen(file, "w"));
        const int rc = lw_result_file_publish(&result, &err);
        CHECK(rc == (overwrite ? LW_OK : LW_EIO), "code %d", rc);
        lw_result_file_discard(&result);
    }
}

static void check_resume(const char *folder)
{
    char file[300];
    struct lw_result_file result;
    struct lw_error err = {0};
    snprintf(file, sizeof file, "%s/resumed.h5", folder);
    lw_result_file_name(&result, file, false, &err);
    CHECK(lw_result_file_resume(&result, &err) == LW_EIO && strstr(err.message, "No such file"), "%s", err.message);

    lw_result_file_name(&result, file, false, &err);
    CHECK(lw_result_file_claim(&result, 10, &err) == LW_OK && write(result.fd, "content", 7) == 7, "%s", err.message);
    lw_result_file_leave(&result);
    lw_result_file_name(&result, file, false, &err);
    CHECK(lw_result_file_resume(&result, &err) == LW_OK, "%s", err.message);
    struct stat status;
    lw_result_file_discard(&result);
    CHECK(stat(result.part, &status) == 0 && status.st_size == 7, "claiming a kept file changed its length");

    lw_result_file_name(&result, file, false, &err);
    CHECK(lw_result_file_resume(&result, &err) == LW_OK && lw_result_file_publish(&result, &err) == LW_OK, "%s", err.message);
    CHECK(stat(file, &status) == 0 && status.st_size == 7, "the resumed file does not have its name");
}

/* Length of a file in bytes; -1: it does not exist. */
static long bytes_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (long)status.st_size : -1;
}

/* An interrupted run's file is made anew. The old file stays until the new one takes its place, and no other run can claim it. */
static void check_replace(const char *folder)
{
    char file[300], part[LW_MAX_PATH];
    struct lw_result_file kept, second;
    struct lw_error err = {0};
    snprintf(file, sizeof file, "%s/kept.h5", folder);
    lw_result_file_name(&kept, file, false, &err);
    snprintf(part, sizeof part, "%s", kept.part);
    FILE *const earlier = fopen(part, "w");
    CHECK(earlier && fputs("what was done", earlier) >= 0 && fclose(earlier) == 0, "%s", part);
    for (int places = 0; places < 2; places++) {
        lw_result_file_name(&kept, file, false, &err);
        kept.is_kept = true;
        CHECK(lw_result_file_claim(&kept, 1000, &err) == LW_OK, "%s", err.message);
        CHECK(bytes_of(part) == 13, "the kept file changed while the new file was made");
        lw_result_file_name(&second, file, false, &err);
        CHECK(lw_result_file_claim(&second, 1000, &err) == LW_EIO && strstr(err.message, "another run"), "%s", err.message);
        CHECK(write(kept.fd, "new", 3) == 3, "the new file cannot be written");
        if (places) {
            CHECK(lw_result_file_place(&kept, &err) == LW_OK && strcmp(kept.part, part) == 0, "%s", err.message);
            CHECK(bytes_of(part) == 3, "the new file did not replace the kept one");
            CHECK(lw_result_file_claim(&second, 1000, &err) == LW_EIO && strstr(err.message, "another run"), "%s", err.message);
        }
        lw_result_file_discard(&kept);
        CHECK(bytes_of(part) == (places ? 3 : 13), "discarding removed the kept file, or the new file in its place");
        snprintf(part + strlen(part), 8, ".new");
        CHECK(!exists(part), "%s is left", part);
        part[strlen(part) - 4] = '\0';
    }
    unlink(part);
}

/* Another rank joins the claimed file. Its node may share the folder, hold another file of this name, or hold none. */
static void check_join(const char *folder)
{
    char file[300];
    struct lw_result_file mine, other;
    struct lw_error err = {0};
    uint64_t mark;
    snprintf(file, sizeof file, "%s/joined.h5", folder);
    lw_result_file_name(&mine, file, false, &err);
    lw_result_file_name(&other, file, false, &err);
    CHECK(lw_result_file_claim(&mine, 10, &err) == LW_OK && write(mine.fd, "content", 7) == 7, "%s", err.message);
    CHECK(lw_result_file_mark(&mine, &mark, &err) == LW_OK, "%s", err.message);
    CHECK(lw_result_file_join(&other, mark, &err) == LW_OK, "%s", err.message);
    lw_result_file_leave(&other);
    CHECK(pwrite(mine.fd, "k", 1, 6) == 1, "the file cannot be changed");
    CHECK(lw_result_file_join(&other, mark, &err) == LW_EIO && strstr(err.message, "another file here"), "%s", err.message);
    lw_result_file_leave(&other);
    lw_result_file_discard(&mine);
    CHECK(lw_result_file_join(&other, mark, &err) == LW_EIO && strstr(err.message, "all ranks need it"), "%s", err.message);
}

/* This test is the last, since the limit cannot be raised again. */
static void check_limit(const char *folder)
{
    char file[300];
    struct lw_result_file result;
    struct lw_error err = {0};
    snprintf(file, sizeof file, "%s/limit.h5", folder);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, 1 << 20}) == 0, "the file-size limit cannot be set");
    check_claim(file, false, (1 << 20) + 1, LW_EIO, "ulimit -f");
    lw_result_file_name(&result, file, false, &err);
    CHECK(lw_result_file_claim(&result, 1 << 20, &err) == LW_OK, "%s", err.message);
    CHECK(lw_result_file_reserve(&result, (1 << 20) + 1, &err) == LW_EIO, "a file beyond the limit is not refused");
    lw_result_file_discard(&result);
}

int main(void)
{
    char folder[] = "/tmp/lapwing-result-XXXXXX", command[64];
    if (!mkdtemp(folder))
        return 1;
    check_claims(folder);
    check_life(folder);
    check_race(folder);
    check_resume(folder);
    check_replace(folder);
    check_join(folder);
    check_limit(folder);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_result("result_file");
}
