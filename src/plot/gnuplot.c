#include "plot/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What it says goes to a file of its own, so that neither waits for the other. */
static int start(char *const *arguments, int input, int output, int messages, pid_t *process)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGXFSZ);      /* main ignores it, and so would a child */
    int rc = posix_spawn_file_actions_init(&files);
    if (rc)
        return rc;
    if ((rc = posix_spawnattr_init(&attributes)) == 0) {
        (void)((rc = posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO)) ||
               (rc = posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO)) ||
               (rc = posix_spawn_file_actions_adddup2(&files, messages, STDERR_FILENO)) ||
               (rc = posix_spawnattr_setsigdefault(&attributes, &defaults)) ||
               (rc = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF)) ||
               (rc = posix_spawnp(process, "gnuplot", &files, &attributes, arguments, environ)));
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

static int fail_start(int reason, struct lw_error *err)
{
    if (reason == ENOENT)
        return lw_fail(err, LW_ESYSTEM, "gnuplot, which draws the pictures, is not installed: apt-get install gnuplot-nox; or "
                       "write --output NAME.gp and draw it where gnuplot is");
    return lw_fail(err, LW_ESYSTEM, "cannot start gnuplot: %s", strerror(reason));
}

/* The first line that gnuplot says beyond its echo of the place: "line 12: undefined variable: x". */
static void read_reason(int messages, char *reason, size_t size)
{
    char text[2048];
    const ssize_t length = pread(messages, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    const char *const at = strstr(text, "line ");
    const char *const first = at ? at : text + strspn(text, " \n");
    snprintf(reason, size, "%.*s", (int)strcspn(first, "\n"), first);
}

static int finish(pid_t process, int messages, struct lw_error *err)
{
    int status = 0;
    char reason[400];
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR)
            return lw_fail(err, LW_ESYSTEM, "cannot wait for gnuplot: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return LW_OK;
    if (WIFSIGNALED(status))
        return lw_fail(err, LW_ESYSTEM, "gnuplot was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    read_reason(messages, reason, sizeof reason);
    return lw_fail(err, LW_ESYSTEM, "gnuplot failed (exit code %d): %s", WEXITSTATUS(status), reason);
}

static int run(char *const *arguments, int input, int output, struct lw_error *err)
{
    const int messages = memfd_create("gnuplot's messages", MFD_CLOEXEC);
    if (messages < 0)
        return lw_fail(err, LW_ESYSTEM, "cannot start gnuplot: %s", strerror(errno));
    pid_t process;
    const int rc = start(arguments, input, output, messages, &process);
    const int code = rc ? fail_start(rc, err) : finish(process, messages, err);
    close(messages);
    return code;
}

int lw_gnuplot_check(struct lw_error *err)
{
    static char name[] = "gnuplot", version[] = "--version";
    char *const arguments[] = {name, version, NULL};
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0)
        return lw_fail(err, LW_ESYSTEM, "cannot open /dev/null: %s", strerror(errno));
    const int rc = run(arguments, nowhere, nowhere, err);
    close(nowhere);
    return rc;
}

/* -d: without the user's own settings. */
int lw_gnuplot_draw(FILE *script, int picture, struct lw_error *err)
{
    static char name[] = "gnuplot", plain[] = "-d";
    char *const arguments[] = {name, plain, NULL};
    if (fflush(script) != 0 || lseek(fileno(script), 0, SEEK_SET) != 0)
        return lw_fail(err, LW_ESYSTEM, "cannot hand the text to gnuplot: %s", strerror(errno));
    return run(arguments, fileno(script), picture, err);
}
