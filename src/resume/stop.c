#include "resume/stop.h"

#include "base/leave.h"
#include "base/log.h"

#include <math.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static const struct {
    int number;
    const char *name, *has_come;
} signals[] = {
    {SIGTERM, "SIGTERM", "SIGTERM has come"}, {SIGINT, "SIGINT", "SIGINT has come"}, {SIGUSR1, "SIGUSR1", "SIGUSR1 has come"}};

static volatile sig_atomic_t received;
static double start;

/* Note the first signal, exit at the second: the journal on disk is complete at any moment, so nothing needs to be saved. */
static void note(int signal)
{
    if (received)
        _exit(LW_ESTOPPED);
    received = signal;
    alarm(LW_STOP_ROUND_S);
}

/* Handle an alarm: the round under way has not ended. The first alarm asks it to leave, the second ends the process. */
static void lose_patience(int signal)
{
    (void)signal;
    if (lw_leave_is_asked()) {
        static const char text[] =
            "lapwing: ended at once, since the round under way did not stop in time; work since the last checkpoint is lost\n";
        const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
        (void)written;
        _exit(LW_ESTOPPED);
    }
    const char *why = "the time limit is near";
    for (size_t s = 0; s < sizeof signals / sizeof *signals; s++)
        if (signals[s].number == received)
            why = signals[s].has_come;
    lw_leave_ask(why);
    alarm(LW_STOP_LEAVE_S);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void lw_stop_listen(void)
{
    start = lw_now();
    handle(SIGALRM, lose_patience);
    for (size_t s = 0; s < sizeof signals / sizeof *signals; s++)
        handle(signals[s].number, note);
}

void lw_stop_begin(double limit_s)
{
    const double left = fmax(limit_s - lw_stop_elapsed(), 1e-3);
    const struct itimerval timer = {.it_value = {(time_t)left, (suseconds_t)(1e6 * (left - floor(left)))}};
    if (limit_s > 0)
        setitimer(ITIMER_REAL, &timer, NULL);
    if (received)           /* a signal came before this call */
        alarm(LW_STOP_ROUND_S);
}

void lw_stop_end(void)
{
    alarm(0);
    lw_leave_ask(NULL);
}

static void change_mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t s = 0; s < sizeof signals / sizeof *signals; s++)
        sigaddset(&set, signals[s].number);
    sigprocmask(how, &set, NULL);
}

void lw_stop_hold(void) { change_mask(SIG_BLOCK); }
void lw_stop_release(void) { change_mask(SIG_UNBLOCK); }

int lw_stop_signal(void) { return received; }

const char *lw_stop_signal_text(int signal)
{
    for (size_t s = 0; s < sizeof signals / sizeof *signals; s++)
        if (signals[s].number == signal)
            return signals[s].name;
    return "a signal";
}

int lw_stop_check(struct lw_error *err)
{
    if (!received)
        return LW_OK;
    return lw_fail(err, LW_ESTOPPED, "interrupted before the first output: %s has come; the same command starts over",
                   lw_stop_signal_text(received));
}

double lw_stop_elapsed(void) { return lw_now() - start; }
