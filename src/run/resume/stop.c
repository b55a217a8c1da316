#include "run/resume/stop.h"

#include "base/log.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGUSR1, "SIGUSR1"}};

static volatile sig_atomic_t received;
static double start;

/* The journal is whole at any moment, so that nothing needs to be done. */
static void note(int signal)
{
    if (received)
        _exit(LW_ESTOPPED);
    received = signal;
}

void lw_stop_listen(void)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    start = lw_now();
    for (size_t s = 0; s < sizeof signals / sizeof *signals; s++)
        sigaction(signals[s].number, &action, NULL);
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

int lw_stop_signal(void)
{
    return received;
}

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
    return lw_fail(err, LW_ESTOPPED, "stopped before the first output, as %s has come; the same command starts over",
                   lw_stop_signal_text(received));
}

double lw_stop_elapsed(void)
{
    return lw_now() - start;
}
