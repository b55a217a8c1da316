#include "base/log.h"

#include "base/proc.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TERMINAL_INTERVAL_S 0.2
#define LINE_INTERVAL_S 10.0
#define LINE_LONGEST_S 600.0

static struct {
    int rank;
    char host[64];
    enum lw_log_level level;
    bool is_hushed;
    bool is_line_open;          /* the terminal's cursor is at the end of a progress line */
} state = {.level = LW_LOG_NORMAL};

void lw_log_start(int rank, const char *host, enum lw_log_level level)
{
    state.rank = rank;
    state.level = level;
    snprintf(state.host, sizeof state.host, "%s", host);
}

void lw_log_hush(bool is_hushed) { state.is_hushed = is_hushed; }

/* ---- text from outside --------------------------------------------------------------------------------------------- */

/* Return the bytes of the UTF-8 character at `text`; 0: not UTF-8, or a control character (two bytes: U+0080 to U+009F). */
static size_t printable_bytes(const unsigned char *text)
{
    if (text[0] >= 0x20 && text[0] < 0x7f)
        return 1;
    const size_t bytes = text[0] >= 0xf0 && text[0] < 0xf5 ? 4 : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                                                               : text[0] >= 0xc2 && text[0] < 0xe0 ? 2 : 0;
    for (size_t i = 1; i < bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return bytes == 2 && text[0] == 0xc2 && text[1] < 0xa0 ? 0 : bytes;
}

const char *lw_escape(const char *text, const char *keep, char *out, size_t size)
{
    size_t used = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        const size_t bytes = strchr(keep, *at) ? 1 : printable_bytes(at);
        if (used + (bytes ? bytes : 4) >= size)
            break;
        if (bytes)
            memcpy(out + used, at, bytes);
        else
            snprintf(out + used, 5, "\\x%02x", *at);
        used += bytes ? bytes : 4;
        at += bytes ? bytes : 1;
    }
    out[used] = '\0';
    return out;
}

/* ---- messages ------------------------------------------------------------------------------------------------------ */

/* The whole line is printed by one call, so that lines of different ranks do not mix. */
static void print_text(const char *prefix, const char *message)
{
    char shown[8192];
    fprintf(stderr, "%s%s%s\n", state.is_line_open ? "\n" : "", prefix, lw_escape(message, "", shown, sizeof shown));
    state.is_line_open = false;
}

static void print_line(const char *prefix, const char *format, va_list arguments)
{
    char message[2048];
    vsnprintf(message, sizeof message, format, arguments);
    print_text(prefix, message);
}

static void print_error(const char *prefix, const struct lw_error *err)
{
    char line[512];
    print_text(prefix, err->message);
    for (const char *at = err->list; *at; at += strcspn(at, "\n") + 1) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        print_text("  ", line);
    }
}

void lw_log_info(const char *format, ...)
{
    if (state.rank != 0 || state.level < LW_LOG_NORMAL || state.is_hushed)
        return;
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments);
    va_end(arguments);
}

void lw_log_detail(const char *format, ...)
{
    if (state.rank != 0 || state.level < LW_LOG_VERBOSE || state.is_hushed)
        return;
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments);
    va_end(arguments);
}

void lw_log_warn(const char *format, ...)
{
    char prefix[128] = "lapwing: warning: ";
    if (state.is_hushed)
        return;
    if (state.rank != 0)
        snprintf(prefix, sizeof prefix, "lapwing: rank %d (%s): warning: ", state.rank, state.host);
    va_list arguments;
    va_start(arguments, format);
    print_line(prefix, format, arguments);
    va_end(arguments);
}

void lw_log_error(const struct lw_error *err)
{
    if (state.rank != 0)
        return;
    char prefix[128] = "lapwing: ";
    if (err->rank > 0 && err->host[0])
        snprintf(prefix, sizeof prefix, "lapwing: rank %d (%s): ", err->rank, err->host);
    else if (err->rank > 0)
        snprintf(prefix, sizeof prefix, "lapwing: rank %d: ", err->rank);
    print_error(prefix, err);
}

void lw_log_fatal(int rank, const char *host, const struct lw_error *err)
{
    char prefix[128];
    snprintf(prefix, sizeof prefix, "lapwing: rank %d (%s): ", rank, host);
    print_error(prefix, err);
    fflush(stderr);
}

double lw_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- progress ---- */

/* mpirun gives its ranks a pipe as standard error and passes the text on. Whether a terminal shows the text therefore
 * depends on mpirun's standard error. mpirun is the parent of rank 0 if both run on the same node. */
static bool launcher_has_terminal(void)
{
    static const char *const launchers[] = {"mpirun", "mpiexec", "orterun", "prterun"};
    const int parent = (int)getppid();
    char path[64], name[32] = "";
    bool is_launcher = false, is_terminal = false;
    snprintf(path, sizeof path, "/proc/%d/comm", parent);
    lw_proc_line(path, name, sizeof name);
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        is_launcher = is_launcher || strcmp(name, launchers[i]) == 0;
    snprintf(path, sizeof path, "/proc/%d/fd/2", parent);
    const int fd = is_launcher ? open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        is_terminal = isatty(fd);
        close(fd);
    }
    return is_terminal;
}

void lw_progress_start(struct lw_progress *progress, int64_t total_samples, int64_t total_bytes)
{
    const double now = lw_now();
    *progress = (struct lw_progress){.total_samples = total_samples, .total_bytes = total_bytes, .started = now,
                                     .shown = now, .is_terminal = isatty(STDERR_FILENO) || launcher_has_terminal()};
}

/* Write a rate: 1234.5 becomes "1.2 k"; the caller adds "samples/s" or "B/s". Return `text`. */
static const char *rate_text(double rate, char text[24])
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    int unit = 0;
    for (; rate >= 1000 && unit < 4; unit++)
        rate /= 1000;
    snprintf(text, 24, "%.1f %s", rate, units[unit]);
    return text;
}

static const char *duration_text(double seconds, char text[24])
{
    const int64_t s = (int64_t)(seconds + 0.5);
    const int hours = (int)(s / 3600), minutes = (int)(s / 60 % 60), rest = (int)(s % 60);
    if (hours > 0)
        snprintf(text, 24, "%d h %02d min", hours, minutes);
    else if (minutes > 0)
        snprintf(text, 24, "%d min %02d s", minutes, rest);
    else
        snprintf(text, 24, "%d s", rest);
    return text;
}

void lw_progress_show(struct lw_progress *progress, int64_t done_samples)
{
    if (state.rank != 0 || state.level < LW_LOG_NORMAL || done_samples <= 0 || progress->total_samples == 0)
        return;
    const double now = lw_now(), since = now - progress->shown, elapsed = now - progress->started;
    const double gained = (double)(done_samples - progress->shown_samples) / (double)progress->total_samples;
    const bool is_due = progress->is_terminal ? since >= TERMINAL_INTERVAL_S || done_samples == progress->total_samples
                                              : since >= LINE_LONGEST_S || (since >= LINE_INTERVAL_S && gained >= 0.1);
    if (!is_due)
        return;
    const double part = (double)done_samples / (double)progress->total_samples;
    const double samples_per_s = elapsed > 0 ? (double)done_samples / elapsed : 0;
    const double bytes_per_s = elapsed > 0 ? part * (double)progress->total_bytes / elapsed : 0;
    char samples[24], bytes[24], left[24];
    fprintf(stderr, "%s%5.1f %%  %ssamples/s  %sB/s  %s left%s", progress->is_terminal ? "\r" : "", 100 * part,
            rate_text(samples_per_s, samples), rate_text(bytes_per_s, bytes),
            duration_text(part > 0 ? elapsed * (1 - part) / part : 0, left), progress->is_terminal ? "\033[K" : "\n");
    state.is_line_open = progress->is_terminal;
    progress->shown = now;
    progress->shown_samples = done_samples;
}

void lw_progress_end(struct lw_progress *progress)
{
    if (state.is_line_open)
        fputc('\n', stderr);
    state.is_line_open = false;
    progress->shown = lw_now();
}
