#include "plot/picture.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- options ----------------------------------------------------------------------------------------------------------- */

int lw_picture_kind(const char *name, enum lw_picture *kind, struct lw_error *err)
{
    static const char *const endings[] = {
        [LW_PICTURE_PNG] = ".png", [LW_PICTURE_PDF] = ".pdf", [LW_PICTURE_SVG] = ".svg", [LW_PICTURE_TEXT] = ".gp",
    };
    const char *const dot = strrchr(name, '.');
    for (size_t k = 0; dot && k < sizeof endings / sizeof *endings; k++)
        if (strcasecmp(dot, endings[k]) == 0) {
            *kind = (enum lw_picture)k;
            return LW_OK;
        }
    return lw_fail(err, LW_EUSAGE, "--output: '%s' must end with .png, .pdf, .svg, or .gp for gnuplot's text", name);
}

int lw_picture_parse_size(const char *text, int *width, int *height, struct lw_error *err)
{
    enum { LEAST = 200, MOST = 8192 };
    char *end;
    const long w = strtol(text, &end, 10);
    const bool has_both = end != text && *end == 'x';
    const char *const second = end + (has_both ? 1 : 0);
    const long h = has_both ? strtol(second, &end, 10) : 0;
    if (!has_both || end == second || *end)
        return lw_fail(err, LW_EUSAGE, "--size: '%s' is not WIDTHxHEIGHT in pixels, such as 1200x600", text);
    if (w < LEAST || w > MOST || h < LEAST || h > MOST)
        return lw_fail(err, LW_EUSAGE, "--size: %s: width and height must be in %d..%d pixels", text, LEAST, MOST);
    *width = (int)w;
    *height = (int)h;
    return LW_OK;
}

/* ---- the file ------------------------------------------------------------------------------------------------------ */

static int fail_exists(const char *name, struct lw_error *err)
{
    return lw_fail(err, LW_EIO, "'%s' exists already: --overwrite replaces it, --output NAME chooses another name", name);
}

int lw_picture_create(const char *name, bool overwrite, struct lw_picture_file *file, struct lw_error *err)
{
    struct stat status;
    *file = (struct lw_picture_file){.name = name, .overwrite = overwrite, .fd = -1};
    if (lstat(name, &status) == 0 && (!overwrite || !S_ISREG(status.st_mode)))
        return overwrite ? lw_fail(err, LW_EIO, "'%s' is not a regular file and is not replaced", name) : fail_exists(name, err);
    const size_t size = strlen(name) + sizeof ".XXXXXX";
    if (!(file->part = lw_alloc(size, "a name", err)))
        return LW_ESYSTEM;
    snprintf(file->part, size, "%s.XXXXXX", name);
    file->fd = mkstemp(file->part);
    if (file->fd >= 0) {        /* mkstemp's mode is for the owner alone: set a new file's usual mode, if possible */
        const mode_t mask = umask(0);
        umask(mask);
        (void)fchmod(file->fd, 0666 & ~mask);
        return LW_OK;
    }
    const int reason = errno;
    lw_free(file->part);
    file->part = NULL;
    return lw_fail(err, LW_EIO, "cannot write '%s': %s; choose another place with --output NAME", name, strerror(reason));
}

int lw_picture_copy(const struct lw_picture_file *file, FILE *script, struct lw_error *err)
{
    off_t at = 0;
    ssize_t sent = 1;
    while (sent > 0)
        sent = sendfile(file->fd, fileno(script), &at, 1 << 30);
    return sent == 0 ? LW_OK : lw_fail(err, LW_EIO, "cannot write '%s': %s", file->name, strerror(errno));
}

/* A file that has appeared under this name meanwhile is replaced only with --overwrite. */
int lw_picture_publish(struct lw_picture_file *file, struct lw_error *err)
{
    struct stat status;
    if (fstat(file->fd, &status) != 0 || status.st_size == 0)
        return lw_fail(err, LW_ESYSTEM, "gnuplot has drawn nothing: check that 'gnuplot -e \"set terminal\"' lists pngcairo, "
                       "pdfcairo and svg; the package gnuplot-nox has them");
    const bool is_closed = close(file->fd) == 0;
    file->fd = -1;
    if (is_closed && (file->overwrite ? rename(file->part, file->name) : lw_file_rename_new(file->part, file->name)) == 0) {
        lw_free(file->part);
        file->part = NULL;
        return LW_OK;
    }
    if (is_closed && !file->overwrite && errno == EEXIST)
        return fail_exists(file->name, err);
    return lw_fail(err, LW_EIO, "cannot write '%s': %s", file->name, strerror(errno));
}

void lw_picture_discard(struct lw_picture_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->part)
        unlink(file->part);
    lw_free(file->part);
    *file = (struct lw_picture_file){.fd = -1};
}

/* ---- gnuplot ------------------------------------------------------------------------------------------------------- */

/* Start gnuplot. Its messages go to a file of their own, so that neither process waits for the other. @return  0 or an errno */
static int start(char *argument, int input, int output, int messages, pid_t *process)
{
    static char name[] = "gnuplot";
    char *const arguments[] = {name, argument, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGXFSZ);      /* main ignores SIGXFSZ, which a child would inherit */
    int rc = posix_spawn_file_actions_init(&files);
    if (rc)
        return rc;
    if ((rc = posix_spawnattr_init(&attributes)) == 0) {
        (void)((rc = posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO)) ||
               (rc = posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO)) ||
               (rc = posix_spawn_file_actions_adddup2(&files, messages, STDERR_FILENO)) ||
               (rc = posix_spawnattr_setsigdefault(&attributes, &defaults)) ||
               (rc = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF)) ||
               (rc = posix_spawnp(process, name, &files, &attributes, arguments, environ)));
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

/* Wait for gnuplot. If it fails, the error has its message from "line" on: "line 12: undefined variable: x". */
static int wait_for(pid_t process, int messages, struct lw_error *err)
{
    int status = 0;
    char text[2048];
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR)
            return lw_fail(err, LW_ESYSTEM, "cannot wait for gnuplot: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return LW_OK;
    if (WIFSIGNALED(status))
        return lw_fail(err, LW_ESYSTEM, "gnuplot was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    const ssize_t length = pread(messages, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    char *const at = strstr(text, "line "), *const reason = at ? at : text + strspn(text, " \n");
    reason[strcspn(reason, "\n")] = '\0';
    return lw_fail(err, LW_ESYSTEM, "gnuplot failed (exit code %d): %.399s", WEXITSTATUS(status), reason);
}

static int run(char *argument, int input, int output, struct lw_error *err)
{
    const int messages = memfd_create("gnuplot's messages", MFD_CLOEXEC);
    if (messages < 0)
        return lw_fail(err, LW_ESYSTEM, "cannot start gnuplot: %s", strerror(errno));
    pid_t process;
    const int reason = start(argument, input, output, messages, &process);
    int rc;
    if (reason == 0)
        rc = wait_for(process, messages, err);
    else if (reason == ENOENT)
        rc = lw_fail(err, LW_ESYSTEM, "gnuplot, which draws the pictures, is not installed: apt-get install gnuplot-nox; or "
                     "write --output NAME.gp and draw it where gnuplot is");
    else
        rc = lw_fail(err, LW_ESYSTEM, "cannot start gnuplot: %s", strerror(reason));
    close(messages);
    return rc;
}

int lw_gnuplot_check(struct lw_error *err)
{
    static char version[] = "--version";
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0)
        return lw_fail(err, LW_ESYSTEM, "cannot open /dev/null: %s", strerror(errno));
    const int rc = run(version, nowhere, nowhere, err);
    close(nowhere);
    return rc;
}

/* The argument -d makes gnuplot ignore the user's own settings. */
int lw_gnuplot_draw(FILE *script, int picture, struct lw_error *err)
{
    static char plain[] = "-d";
    if (fflush(script) != 0 || lseek(fileno(script), 0, SEEK_SET) != 0)
        return lw_fail(err, LW_ESYSTEM, "cannot hand the text to gnuplot: %s", strerror(errno));
    return run(plain, fileno(script), picture, err);
}
