/* journal.c - fuzz target of journals, whole or damaged, and of the state that a run restores from them. Lines get a title and a
 * checksum if they have none, so that the input reaches the code behind those checks. */
#include "target.h"

#include "io/journal/journal.h"
#include "stream/resume.h"

#include <inttypes.h>
#include <string.h>

static const struct lw_grid grid = {.n_outputs = 10000, .unit = 10, .n_channels = 6, .channel_unit = 2, .n_filters = 3};

/* Check that the stripes left to do can be cut into rounds, and stay the same when they are written and read again. */
static void check_stripes(const struct lw_streamed *streamed)
{
    static struct lw_stripe left[FUZZ_MOST_TEXT];
    struct lw_rounds rounds = lw_rounds_make(&grid, 2, LW_SPLIT_AXIS, 500, 4);
    lw_rounds_limit(&rounds, streamed->stripes, streamed->n_stripes);
    const int64_t n = lw_rounds_all_outputs(&rounds), most = lw_rounds_most_left(&rounds);
    REQUIRE(n > 0 && n <= lw_grid_outputs(&grid), "%" PRId64 " outputs are left", n);
    REQUIRE(most <= FUZZ_MOST_TEXT, "%" PRId64 " stripes", most);
    const int64_t n_left = lw_rounds_left(&rounds, 0, left);
    REQUIRE(lw_stripes_outputs(left, n_left) == n, "%" PRId64 " outputs", n);
}

static void take(struct lw_journal *journal)
{
    struct lw_streamed streamed = {.checkpoint = {.journal_name = "journal", .earlier = journal}};
    struct lw_error err = {0};
    int64_t runs = -1;
    const int rc = lw_streamed_take(&streamed, &grid, &err);
    REQUIRE(rc == LW_OK || (rc == LW_EDATA && err.message[0]), "code %d: %s", rc, err.message);
    if (rc == LW_OK)
        check_stripes(&streamed);
    if (lw_checkpoint_number(&streamed.checkpoint, "runs", &runs, &err) == LW_OK)
        REQUIRE(runs >= 0, "%" PRId64 " runs", runs);
    free(streamed.stripes);
}

static int parse(const char *text, size_t size)
{
    struct lw_journal *journal = NULL;
    struct lw_error err = {0};
    const int rc = lw_journal_parse(text, (int64_t)size, "journal", &journal, &err);
    REQUIRE(rc == LW_OK || (rc == LW_EDATA && err.message[0]), "code %d: %s", rc, err.message);
    if (rc == LW_OK) {
        take(journal);
        lw_journal_destroy(journal);
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char title[] = "lapwing journal 1\n";
    static char text[FUZZ_MOST_TEXT + 100];
    if (parse((const char *)data, size) == LW_OK || size > FUZZ_MOST_TEXT)
        return 0;
    const size_t head = sizeof title - 1, all = head + size;
    memcpy(text, title, head);
    memcpy(text + head, data, size);
    const uint64_t sum = lw_replace_checksum(LW_CHECKSUM_START, text, (int64_t)all);
    parse(text, all + (size_t)snprintf(text + all, sizeof text - all, "checksum = %016" PRIx64 "\n", sum));
    return 0;
}
