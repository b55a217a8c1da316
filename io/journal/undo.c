#include "io/journal/journal.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TITLE "lapwing undo 1\n"

enum { MOST_RANGES = 64 };

/* Head of the undo file. The saved bytes follow, range after range, then the checksum of head and saved bytes. */
struct head {
    char title[sizeof TITLE];
    int64_t file_bytes;
    int64_t n_ranges;
    struct lw_undo_range ranges[MOST_RANGES];
};

static int64_t kept_bytes(const struct head *head)
{
    int64_t bytes = 0;
    for (int64_t r = 0; r < head->n_ranges; r++)
        bytes += head->ranges[r].end - head->ranges[r].begin;
    return bytes;
}

/* ---- store ------------------------------------------------------------------------------------------------------------ */

static void add_range(struct head *head, int64_t begin, int64_t end)
{
    if (begin < end)
        head->ranges[head->n_ranges++] = (struct lw_undo_range){begin, end};
}

static int make_head(int fd, const struct lw_undo_range *others, int n, const char *undo, struct head *head, struct lw_error *err)
{
    struct stat status;
    int64_t at = 0;
    if (fstat(fd, &status) != 0 || n >= MOST_RANGES)
        return lw_fail(err, LW_EIO, "cannot save the bytes that will change to '%.600s': %s", undo,
                       n < MOST_RANGES ? strerror(errno) : "too many parts");
    *head = (struct head){.title = TITLE, .file_bytes = status.st_size};
    for (int o = 0; o < n; o++) {
        add_range(head, at, lw_min64(others[o].begin, status.st_size));
        at = lw_max64(at, others[o].end);
    }
    add_range(head, at, status.st_size);
    return LW_OK;
}

/* Copy the ranges from the file to `bytes`, or back to the file if `is_back`. */
static int move_ranges(int fd, const struct head *head, char *bytes, bool is_back, struct lw_error *err)
{
    int rc = LW_OK;
    for (int64_t r = 0; r < head->n_ranges && rc == LW_OK; r++) {
        const int64_t begin = head->ranges[r].begin, length = head->ranges[r].end - begin;
        rc = is_back ? lw_bytes_write(fd, bytes, begin, length, err) : lw_bytes_read(fd, bytes, begin, length, err);
        bytes += length;
    }
    return rc;
}

static uint64_t checksum(const struct head *head, const char *kept, int64_t bytes)
{
    return lw_replace_checksum(lw_replace_checksum(LW_CHECKSUM_START, head, sizeof *head), kept, bytes);
}

int lw_undo_store(int fd, const struct lw_undo_range *others, int n, const char *undo, struct lw_error *err)
{
    struct head head;
    struct lw_error reason;
    int rc = make_head(fd, others, n, undo, &head, err);
    if (rc)
        return rc;
    const int64_t bytes = kept_bytes(&head);
    LW_FREED char *const kept = lw_alloc((size_t)bytes + 1, "the bytes of the result that will change", err);
    if (!kept)
        return LW_ESYSTEM;
    if (move_ranges(fd, &head, kept, false, &reason) != LW_OK)
        rc = lw_fail(err, LW_EIO, "cannot save the bytes that will change to '%.600s': %.200s", undo, reason.message);
    const uint64_t sum = checksum(&head, kept, bytes);
    const struct lw_replace_part parts[] = {{&head, sizeof head}, {kept, bytes}, {&sum, sizeof sum}};
    return rc ? rc : lw_replace(undo, parts, 3, err);
}

/* ---- apply ------------------------------------------------------------------------------------------------------------ */

static bool is_sound(const struct head *head, int64_t undo_bytes)
{
    const int64_t room = undo_bytes - (int64_t)(sizeof *head + sizeof(uint64_t));
    int64_t at = 0, bytes = 0;
    if (memcmp(head->title, TITLE, sizeof TITLE) != 0 || head->file_bytes < 0 || head->n_ranges < 0 || head->n_ranges > MOST_RANGES)
        return false;
    for (int64_t r = 0; r < head->n_ranges; r++) {
        const struct lw_undo_range *const range = &head->ranges[r];
        if (range->begin < at || range->end <= range->begin || range->end > head->file_bytes)
            return false;
        bytes += range->end - range->begin;
        at = range->end;
    }
    return bytes == room;
}

static int fail_damaged(const char *undo, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA,
                   "'%.600s' is damaged: without it, the interrupted result cannot be completed; start over with "
                   "--resume never",
                   undo);
}

static int apply(int fd, int from, const char *undo, const struct head *head, struct lw_error *err)
{
    struct lw_error reason;
    uint64_t sum;
    const int64_t bytes = kept_bytes(head);
    LW_FREED char *const kept = lw_alloc((size_t)bytes + 1, "the bytes of the result that have changed", err);
    if (!kept)
        return LW_ESYSTEM;
    int rc = LW_OK;
    if (lw_bytes_read(from, kept, sizeof *head, bytes, &reason) != LW_OK ||
        lw_bytes_read(from, &sum, (int64_t)sizeof *head + bytes, sizeof sum, &reason) != LW_OK ||
        sum != checksum(head, kept, bytes))
        rc = fail_damaged(undo, err);
    else if (move_ranges(fd, head, kept, true, &reason) != LW_OK)
        rc = lw_fail(err, LW_EIO, "cannot restore a result from '%.600s': %.200s", undo, reason.message);
    else if (ftruncate(fd, head->file_bytes) != 0 || fsync(fd) != 0)
        rc = lw_fail(err, LW_EIO, "cannot restore a result from '%.600s': %s", undo, strerror(errno));
    return rc;
}

int lw_undo_apply(int fd, const char *undo, struct lw_error *err)
{
    struct head head;
    struct stat status;
    int from;
    if (access(undo, F_OK) != 0 && errno == ENOENT)
        return LW_OK;
    int rc = lw_file_open_input(undo, &from, err);
    if (rc)
        return rc;
    if (fstat(from, &status) != 0 || lw_bytes_read(from, &head, 0, sizeof head, NULL) != LW_OK || !is_sound(&head, status.st_size))
        rc = fail_damaged(undo, err);
    else
        rc = apply(fd, from, undo, &head, err);
    close(from);
    if (rc == LW_OK && unlink(undo) != 0)
        rc = lw_fail(err, LW_EIO, "cannot remove '%.600s': %s", undo, strerror(errno));
    return rc;
}
