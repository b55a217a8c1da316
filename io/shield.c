#include "io/shield.h"

#include "base/memory.h"
#include "io/format.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- messages between processes: over sockets, because writing to a broken pipe would raise a signal ------------------ */

static bool put(int end, const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        const ssize_t sent = send(end, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        at += sent > 0 ? sent : 0;
        bytes -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

/* Return whether all bytes arrived. */
static bool take(int end, void *data, size_t bytes)
{
    for (char *at = data; bytes > 0;) {
        const ssize_t got = read(end, at, bytes);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        at += got > 0 ? got : 0;
        bytes -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* A request for one look at a file, as sent. The object's name follows it on the socket, without its final zero. */
struct request {
    lw_shield_fn *look;
    size_t bytes, name_bytes;
    struct lw_object object;
};

/* Receive a request. Returns memory, to be freed by the caller, for the result and behind it the name. NULL: no more requests. */
static void *take_request(int end, struct request *request)
{
    if (!take(end, request, sizeof *request))
        return NULL;
    void *const memory = lw_alloc(request->bytes + request->name_bytes + 1, "a look at a file", NULL);
    char *const name = memory ? (char *)memory + request->bytes : NULL;
    if (memory && take(end, name, request->name_bytes)) {
        request->object.name = name;
        return memory;
    }
    lw_free(memory);
    return NULL;
}

/* ---- children ------------------------------------------------------------------------------------------------------- */

struct child {
    pid_t process;              /* 0: no child */
    int end;                    /* this side's end of the socket to the child */
};

/* Start a process that calls `serve` with its end of a socket, and then ends.
 * @param name  first file that the process looks at, for messages; NULL: unknown */
static int start_child(struct child *child, void serve(int end), const char *name, struct lw_error *err)
{
    int ends[2];
    char what[640] = "files";
    if (name)
        snprintf(what, sizeof what, "'%.600s'", name);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return lw_fail(err, LW_ESYSTEM, "cannot make a socket to a process that looks at %s: %s", what, strerror(errno));
    const pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        serve(ends[1]);
        _exit(0);
    }
    const int reason = errno;
    close(ends[1]);
    if (process < 0) {
        close(ends[0]);
        return lw_fail(err, LW_ESYSTEM, "cannot start a process that looks at %s%s: %s", what, name ? " first" : "",
                       strerror(reason));
    }
    *child = (struct child){.process = process, .end = ends[0]};
    return LW_OK;
}

/* End a child and return its exit status. */
static int stop_child(struct child *child)
{
    int status = 0;
    close(child->end);
    while (waitpid(child->process, &status, 0) < 0 && errno == EINTR)
        ;
    child->process = 0;
    return status;
}

/* Send a request and receive the answer. @return  false: the child has ended */
static bool ask(const struct child *child, const struct request *request, void *result, struct lw_error *theirs)
{
    return put(child->end, request, sizeof *request) && put(child->end, request->object.name, request->name_bytes) &&
           take(child->end, theirs, sizeof *theirs) && take(child->end, result, request->bytes);
}

/* ---- the looker: a child process that looks at one file after the other ---------------------------------------------- */

/* Limit the time of one look. RLIMIT_CPU counts from the start of the process, so the time already used is added. */
static void set_limits(void)
{
    struct rusage used;
    struct rlimit cpu;
    getrusage(RUSAGE_SELF, &used);
    getrlimit(RLIMIT_CPU, &cpu);
    const rlim_t wanted = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + LW_SHIELD_CPU_S + 1;
    cpu.rlim_cur = cpu.rlim_max == RLIM_INFINITY || wanted < cpu.rlim_max ? wanted : cpu.rlim_max;
    setrlimit(RLIMIT_CPU, &cpu);
    alarm(LW_SHIELD_WALL_S);
}

/* Serve looks until one fails, because a failed look may leave the library in an unknown state. The default handlers and /dev/null
 * silence MPI's stack trace after a crash and the complaints of the C library. */
static void be_looker(int end)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGXCPU};
    static const struct rlimit no_core = {0, 0};
    struct request request;
    struct lw_error err = {0};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (void *result; err.code == LW_OK && (result = take_request(end, &request)); lw_free(result)) {
        set_limits();
        err.code = request.look(&request.object, result, &err);
        alarm(0);
        if (!put(end, &err, sizeof err) || !put(end, result, request.bytes))
            break;
    }
}

/* ---- the parent of a looker ---------------------------------------------------------------------------------------- */

/* Explain why a looker died. lw_formats_find is safe here: it needs only the first bytes of the file and no library. */
static int explain(const struct lw_object *object, int status, struct lw_error *err)
{
    const struct lw_format *known;
    const char *const format = lw_formats_find(object->file, NULL, &known, NULL) == LW_OK ? known->name : "archive";
    const char *const name = object->name;
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

/* Number of looks after which a looker is replaced, because libraries leak memory. */
enum { MOST_LOOKS = 1000 };

struct looker {
    struct child child;
    int n_looks;
};

static int ask_looker(struct looker *looker, const struct request *request, void *result, struct lw_error *err)
{
    struct lw_error theirs;
    if (!looker->child.process) {
        fflush(NULL);       /* else the copy would print this process' buffered output again */
        const int rc = start_child(&looker->child, be_looker, request->object.name, err);
        if (rc)
            return rc;
        looker->n_looks = 0;
    }
    if (!ask(&looker->child, request, result, &theirs))
        return explain(&request->object, stop_child(&looker->child), err);
    if (theirs.code != LW_OK)
        *err = theirs;
    if (theirs.code != LW_OK || ++looker->n_looks == MOST_LOOKS)
        stop_child(&looker->child);
    return theirs.code;
}

/* ---- the guard: a copy of this program, so that function pointers in requests are valid in it ------------------------ */

static struct {
    struct child child;
    pid_t program;              /* process that started the guard */
    bool is_over;               /* the guard has been stopped */
    bool is_kept;               /* lw_shield_rest does nothing */
} guard;

/* Serve looks until the program ends. Launchers send signals to whole process groups; the guard blocks them, to end last. */
static void be_guard(int end)
{
    static const int blocked[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP};
    struct request request;
    struct looker looker = {0};
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++)
        sigaddset(&signals, blocked[i]);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard.program)
        return;
    lw_formats_start();
    for (void *result; (result = take_request(end, &request)); lw_free(result)) {
        struct lw_error err = {0};
        err.code = ask_looker(&looker, &request, result, &err);
        if (!put(end, &err, sizeof err) || !put(end, result, request.bytes))
            break;
    }
}

int lw_shield_start(struct lw_error *err)
{
    guard.program = getpid();
    const int rc = start_child(&guard.child, be_guard, NULL, err);
    if (rc == LW_OK)
        guard.is_over = false;
    return rc;
}

void lw_shield_leave(void) { guard.is_over = true; }

void lw_shield_stop(void)
{
    if (guard.child.process == 0)
        return;
    stop_child(&guard.child);
    guard.is_over = true;
}

bool lw_shield_is_ready(void) { return !guard.is_over; }

void lw_shield_keep(void) { guard.is_kept = true; }

void lw_shield_rest(void)
{
    if (!guard.is_kept)
        lw_shield_stop();
}

int lw_shield(lw_shield_fn *look, const struct lw_object *object, void *result, size_t bytes, struct lw_error *err)
{
    lw_formats_start();
    const struct request request = {.look = look, .bytes = bytes, .name_bytes = strlen(object->name), .object = *object};
    struct lw_error theirs;
    if (!guard.child.process) {
        struct looker looker = {0};
        const int rc = ask_looker(&looker, &request, result, err);
        if (looker.child.process)
            stop_child(&looker.child);
        return rc;
    }
    if (!ask(&guard.child, &request, result, &theirs))
        return lw_fail(err, LW_ESYSTEM, "the process that looks at files was ended from outside before it had looked at '%.600s'",
                       request.object.name);
    if (theirs.code != LW_OK)
        *err = theirs;
    return theirs.code;
}
