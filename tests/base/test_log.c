/* test_log.c - tests of the log: which rank logs at which level, how errors name their rank, and when progress is shown. The
 * tests redirect standard error to a file and compare its content. */
#include "../check.h"
#include "base/log.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/lapwing-log-XXXXXX";
static int real_stderr;

static void start_capture(void)
{
    fflush(stderr);
    if (ftruncate(STDERR_FILENO, 0) != 0)
        abort();
    rewind(stderr);
}

/* The text that was logged since start_capture. */
static const char *captured(void)
{
    static char text[8192];
    fflush(stderr);
    FILE *const file = fopen(path, "r");
    const size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
    return text;
}

static void check_text(const char *expected, const char *what)
{
    char found[8192];
    snprintf(found, sizeof found, "%s", captured());
    dprintf(real_stderr, "%s", strcmp(found, expected) == 0 ? "" : found);
    CHECK(strcmp(found, expected) == 0, "%s", what);
    start_capture();
}

static void speak(void)
{
    lw_log_info("info %d", 1);
    lw_log_detail("detail %d", 2);
    lw_log_warn("warn %d", 3);
}

static void test_levels(void)
{
    lw_log_start(0, "here", LW_LOG_QUIET);
    speak();
    check_text("lapwing: warning: warn 3\n", "quiet");
    lw_log_start(0, "here", LW_LOG_NORMAL);
    speak();
    check_text("info 1\nlapwing: warning: warn 3\n", "normal");
    lw_log_start(0, "here", LW_LOG_VERBOSE);
    speak();
    check_text("info 1\ndetail 2\nlapwing: warning: warn 3\n", "verbose");
    lw_log_start(2, "there", LW_LOG_VERBOSE);
    speak();
    check_text("lapwing: rank 2 (there): warning: warn 3\n", "another rank");
}

static void test_errors(void)
{
    struct lw_error err = {.code = LW_EIO, .rank = -1, .message = "no file"};
    lw_log_start(1, "there", LW_LOG_NORMAL);
    lw_log_error(&err);
    check_text("", "another rank prints no error");
    lw_log_start(0, "here", LW_LOG_QUIET);
    lw_log_error(&err);
    check_text("lapwing: no file\n", "quiet prints errors");
    err.rank = 3;
    strcpy(err.host, "there");
    lw_log_error(&err);
    check_text("lapwing: rank 3 (there): no file\n", "another rank's error");
    err.rank = 0;
    lw_log_error(&err);
    check_text("lapwing: no file\n", "rank 0's error");
}

/* A log file gets no progress line in the first 10 s, and none before a tenth is done unless 10 min have passed. */
static void test_lines(void)
{
    lw_log_start(0, "here", LW_LOG_NORMAL);
    struct lw_progress progress;
    lw_progress_start(&progress, 1000000, 4000000);
    CHECK(!progress.is_terminal, "a file is no terminal");
    lw_progress_show(&progress, 500000);
    check_text("", "nothing in the first seconds");

    progress.started -= 20000;          /* so long ago that one more second does not show in the rates */
    progress.shown -= 20;
    lw_progress_show(&progress, 50000);
    check_text("", "less than a tenth");
    lw_progress_show(&progress, 500000);
    const char *const text = captured();
    CHECK(strncmp(text, " 50.0 %  25.", 12) == 0 && strstr(text, "samples/s  100.0 B/s  5 h 33 min left\n"), "'%s'", text);
    start_capture();
    lw_progress_show(&progress, 700000);
    check_text("", "just shown");
    progress.shown -= 601;
    lw_progress_show(&progress, 501000);
    CHECK(strncmp(captured(), " 50.1 %", 7) == 0, "'%s'", captured());
    start_capture();

    progress.shown -= 601;
    lw_log_start(0, "here", LW_LOG_QUIET);
    lw_progress_show(&progress, 900000);
    lw_log_start(1, "there", LW_LOG_NORMAL);
    lw_progress_show(&progress, 900000);
    lw_progress_end(&progress);
    check_text("", "quiet, or another rank");
}

/* A terminal's progress line is rewritten in place, and every other message begins a line of its own. */
static void test_terminal(void)
{
    lw_log_start(0, "here", LW_LOG_NORMAL);
    struct lw_progress progress;
    lw_progress_start(&progress, 20000000, 80000000);
    progress.is_terminal = true;
    progress.started -= 40000;
    progress.shown -= 1;
    lw_progress_show(&progress, 5000000);
    lw_log_info("aside");
    progress.shown -= 1;
    lw_progress_show(&progress, 20000000);
    lw_progress_end(&progress);
    check_text("\r 25.0 %  125.0 samples/s  500.0 B/s  33 h 20 min left\033[K\naside\n"
               "\r100.0 %  500.0 samples/s  2.0 kB/s  0 s left\033[K\n", "a terminal");
}

/* Control characters of one and of two bytes, bytes that are not UTF-8, valid UTF-8, and a text longer than the buffer. */
static void test_escape(void)
{
    static const struct {
        const char *text, *keep, *shown;
    } cases[] = {
        {"plain text, 100 %s", "", "plain text, 100 %s"},
        {"", "", ""},
        {"\x1b[31m\a\x7f", "", "\\x1b[31m\\x07\\x7f"},
        {"two\nlines\t", "\n", "two\nlines\\x09"},
        {"two\nlines", "", "two\\x0alines"},
        {"gr\xc3\xb6\xc3\x9f"
         "e \xe2\x98\x83 \xf0\x9f\x98\x80 \xc2\xa0",
         "",
         "gr\xc3\xb6\xc3\x9f"
         "e \xe2\x98\x83 \xf0\x9f\x98\x80 \xc2\xa0"},
        {"\xc2\x9b"
         "2J",
         "", "\\xc2\\x9b2J"},
        {"\xff\xc3", "", "\\xff\\xc3"},
        {"\xe2\x98", "", "\\xe2\\x98"},
        {"\x9b", "", "\\x9b"},
    };
    char shown[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(strcmp(lw_escape(cases[i].text, cases[i].keep, shown, sizeof shown), cases[i].shown) == 0, "case %zu: %s", i, shown);
    CHECK(strcmp(lw_escape("abc\x1b", "", shown, 7), "abc") == 0, "no half of an escape: %s", shown);
    CHECK(strcmp(lw_escape("ab\xc3\xb6", "", shown, 4), "ab") == 0, "no half of a character: %s", shown);
    lw_log_start(0, "here", LW_LOG_NORMAL);
    lw_log_warn("a file named %s", "\x1b]0;x\a");
    check_text("lapwing: warning: a file named \\x1b]0;x\\x07\n", "warnings are escaped");
    struct lw_error err;
    lw_fail(&err, LW_EDATA, "bad\r%s", "\x1b");
    lw_log_error(&err);
    check_text("lapwing: bad\\x0d\\x1b\n", "errors are escaped");
}

int main(void)
{
    real_stderr = dup(STDERR_FILENO);
    const int fd = mkstemp(path);
    if (fd < 0 || !freopen(path, "w", stderr))
        return 1;
    setvbuf(stderr, NULL, _IONBF, 0);
    test_levels();
    test_errors();
    test_escape();
    test_lines();
    test_terminal();
    dup2(real_stderr, STDERR_FILENO);
    unlink(path);
    close(fd);
    return check_result("log");
}
