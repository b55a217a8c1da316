#include "resume/grant.h"

#include "base/log.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static struct {
    pid_t squeue;               /* process id of squeue; 0: not running */
    int answer;                 /* read end of the pipe to which squeue writes */
    char text[64];
    size_t n_text;
    double asked;               /* start of squeue, by lw_now: its answer counts from here, whenever it is read */
    double end;                 /* end of the job, by lw_now; 0: not known */
} grant;

double lw_grant_parse(const char *text)
{
    double seconds = 0, part;
    char *end;
    for (;; text = end + 1) {
        part = strtod(text, &end);
        if (end == text || part < 0)
            return 0;
        seconds += part;
        if (*end == '-')
            seconds *= 24;      /* the part was days, hours follow */
        else if (*end == ':')
            seconds *= 60;
        else
            return isfinite(seconds) && (*end == '\0' || *end == '\n') ? seconds : 0;
    }
}

static void start_squeue(const char *job)
{
    char *const arguments[] = {"squeue", "--noheader", "--jobs", (char *)job, "--format=%L", NULL};
    posix_spawn_file_actions_t files;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    grant.asked = lw_now();
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&grant.squeue, "squeue", &files, NULL, arguments, environ) != 0)
        grant.squeue = 0;
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    grant.answer = ends[0];
    if (grant.squeue == 0)
        close(ends[0]);
    else
        fcntl(grant.answer, F_SETFL, O_NONBLOCK);
}

void lw_grant_ask(void)
{
    const char *const job = getenv("SLURM_JOB_ID"), *const end = getenv("SLURM_JOB_END_TIME");
    memset(&grant, 0, sizeof grant);
    if (job && end && atoll(end) > 0)
        grant.end = lw_now() + (double)(atoll(end) - (long long)time(NULL));
    else if (job)
        start_squeue(job);
}

void lw_grant_end_asking(void)
{
    if (grant.squeue == 0)
        return;
    close(grant.answer);
    kill(grant.squeue, SIGKILL);
    waitpid(grant.squeue, NULL, 0);
    grant.squeue = 0;
}

double lw_grant_end(void)
{
    if (grant.squeue == 0)
        return grant.end;
    ssize_t n;
    while ((n = read(grant.answer, grant.text + grant.n_text, sizeof grant.text - 1 - grant.n_text)) > 0)
        grant.n_text += (size_t)n;
    if (n == 0) {
        const double left = lw_grant_parse(grant.text);
        grant.end = left > 0 ? grant.asked + left : 0;
        lw_grant_end_asking();
        if (grant.end > 0)
            lw_log_detail("the Slurm job has %.0f s left", left);
    }
    return grant.end;
}
