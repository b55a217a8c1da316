#include "io/shield.h"

#include "io/format.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the child ----------------------------------------------------------------------------------------------------- */

/* MPI prints a trace of the stack where a process crashes, and the C library complains; neither is of use here. */
static void be_quiet(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGXCPU};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
}

static void set_limits(void)
{
    const struct rlimit no_core = {0, 0}, cpu = {LW_SHIELD_CPU_S, LW_SHIELD_CPU_S + 1};
    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_CPU, &cpu);
    alarm(LW_SHIELD_WALL_S);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static bool put(int pipe_end, const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        const ssize_t written = write(pipe_end, at, bytes);
        if (written < 0 && errno != EINTR)
            return false;
        at += written > 0 ? written : 0;
        bytes -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

static void be_child(int pipe_end, lw_shield_fn *look, const struct lw_object *object, void *result, size_t bytes)
{
    struct lw_error err = {0};
    be_quiet();
    set_limits();
    err.code = look(object, result, &err);
    _exit(put(pipe_end, &err, sizeof err) && put(pipe_end, result, bytes) ? 0 : 1);
}

/* ---- the parent ---------------------------------------------------------------------------------------------------- */

/* Whether as many bytes came as were to come. */
static bool take(int pipe_end, void *data, size_t bytes)
{
    for (char *at = data; bytes > 0;) {
        const ssize_t got = read(pipe_end, at, bytes);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        at += got > 0 ? got : 0;
        bytes -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* Telling the format takes no library more than the first bytes of a file. */
static const char *format_name(const char *file)
{
    const struct lw_format *format;
    return lw_formats_find(file, &format, NULL) == LW_OK ? format->name : "archive";
}

static int explain(const struct lw_object *object, int status, struct lw_error *err)
{
    const char *const name = object->name, *const format = format_name(object->file);
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    switch (number) {
    case SIGALRM:
        return lw_fail(err, LW_EIO, "cannot read '%.600s': its metadata did not come within %d s", name, LW_SHIELD_WALL_S);
    case SIGKILL:
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
        return lw_fail(err, LW_ESYSTEM, "the process that looks at '%.600s' was ended from outside (%s): it may have taken too "
                       "much memory", name, strsignal(number));
    case SIGXCPU:
        return lw_fail(err, LW_EDATA, "damaged %s file: the metadata of '%.600s' take %s more than %d s of processor time",
                       format, name, format, LW_SHIELD_CPU_S);
    default:
        return lw_fail(err, LW_EDATA, "damaged %s file: the metadata of '%.600s' make %s crash (%s); make the file anew", format,
                       name, format, number ? strsignal(number) : "it ends without an answer");
    }
}

static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static int hear(int pipe_end, pid_t child, const struct lw_object *object, void *result, size_t bytes, struct lw_error *err)
{
    struct lw_error theirs;
    const bool is_whole = take(pipe_end, &theirs, sizeof theirs) && take(pipe_end, result, bytes);
    const int status = wait_for(child);
    if (!is_whole)
        return explain(object, status, err);
    if (theirs.code != LW_OK)
        *err = theirs;
    return theirs.code;
}

int lw_shield(lw_shield_fn *look, const struct lw_object *object, void *result, size_t bytes, struct lw_error *err)
{
    int ends[2];
    lw_formats_start();
    fflush(NULL);       /* what is buffered is this process' to print */
    if (pipe2(ends, O_CLOEXEC) != 0)
        return lw_fail(err, LW_ESYSTEM, "no pipe to a process that looks at '%.600s': %s", object->name, strerror(errno));
    const pid_t child = fork();
    if (child == 0)
        be_child(ends[1], look, object, result, bytes);
    const int reason = errno;
    close(ends[1]);
    const int rc = child > 0 ? hear(ends[0], child, object, result, bytes, err)
                             : lw_fail(err, LW_ESYSTEM, "no process that looks at '%.600s' first can be started: %s",
                                       object->name, strerror(reason));
    close(ends[0]);
    return rc;
}
