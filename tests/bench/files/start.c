/* start.c - benchmark of the program's start: the time until its first submitted block, beside the time that the GPU's driver
 * takes alone.
 *
 *   bench_start LAPWING FOLDER [launcher ...]     example: bench_start build/lapwing /dev/shm mpirun -np 2
 *
 *   driver    cuInit and the primary context of device 0, in a process that does nothing else
 *   lapwing   lapwing ols --engine cuda on a small file in FOLDER: the time in its log, counted from its main
 *   outside   the same on this program's clock, from before the process is made until that line of the log arrives
 *
 * The program prints every repetition in turn, the medians, and how much slower lapwing is than the driver; at most 0.1 s is
 * required. */
#include "base/log.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPETITIONS = 7, MOST_WORDS = 64 };
enum part { DRIVER, LAPWING, OUTSIDE, N_PARTS };

/* ---- the driver alone ---------------------------------------------------------------------------------------------- */

typedef CUresult init_function(unsigned flags);
typedef CUresult retain_function(CUcontext *context, CUdevice device);

static void find(void *library, const char *name, void *function)
{
    void *const symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "bench_start: the driver has no %s\n", name);
        exit(1);
    }
    memcpy(function, &symbol, sizeof symbol);
}

static int time_driver(void)
{
    const double start = lw_now();
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "bench_start: no NVIDIA driver\n");
        return 1;
    }
    init_function *init;
    retain_function *retain;
    find(library, "cuInit", &init);
    find(library, "cuDevicePrimaryCtxRetain", &retain);
    CUcontext context;
    const CUresult status = init(0);
    const double begun = lw_now();
    if (status != CUDA_SUCCESS || retain(&context, 0) != CUDA_SUCCESS) {
        fprintf(stderr, "bench_start: the driver gives no context on device 0\n");
        return 1;
    }
    const double end = lw_now();
    fprintf(stderr, "driver started after %.3f s: cuInit %.3f, context %.3f\n", end - start, begun - start, end - begun);
    return 0;
}

/* ---- a command and the line of its log ----------------------------------------------------------------------------- */

static FILE *start(char *const *words, pid_t *child)
{
    int ends[2];
    if (pipe(ends) != 0 || (*child = fork()) < 0) {
        perror("bench_start");
        exit(1);
    }
    if (*child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        execvp(words[0], words);
        perror(words[0]);
        _exit(127);
    }
    close(ends[1]);
    return fdopen(ends[0], "r");
}

/* Run a command to its end. @return the seconds in the log's line "`what` after X s"; *outside: seconds until the line arrived */
static double run(char *const *words, const char *what, double *outside)
{
    pid_t child;
    char line[1024];
    double seconds = -1;
    int status;
    const double begun = lw_now();
    FILE *const log = start(words, &child);
    while (fgets(line, sizeof line, log)) {
        char *const at = strstr(line, what);
        if (!at || seconds >= 0)
            continue;
        *outside = lw_now() - begun;
        seconds = strtod(at + strlen(what) + strlen(" after "), NULL);
        printf("%s", at);
    }
    fclose(log);
    if (waitpid(child, &status, 0) < 0 || status != 0) {
        fprintf(stderr, "bench_start: %s fails: run it by hand\n", words[0]);
        exit(1);
    }
    return seconds;
}

/* ---- the comparison ------------------------------------------------------------------------------------------------ */

static int compare(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void report(double seconds[N_PARTS][REPETITIONS])
{
    static const char *const names[N_PARTS] = {"driver", "lapwing", "outside"};
    for (int part = 0; part < N_PARTS; part++) {
        qsort(seconds[part], REPETITIONS, sizeof(double), compare);
        printf("%-8s %8.3f s   (%.3f .. %.3f)\n", names[part], seconds[part][REPETITIONS / 2], seconds[part][0],
               seconds[part][REPETITIONS - 1]);
    }
    const double over = seconds[LAPWING][REPETITIONS / 2] - seconds[DRIVER][REPETITIONS / 2];
    printf("lapwing - driver: %.3f s; required: at most 0.1 s\n", over);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--driver") == 0)
        return time_driver();
    if (argc < 3 || argc > MOST_WORDS / 2) {
        fprintf(stderr, "usage: bench_start LAPWING FOLDER [launcher ...]\n");
        return 2;
    }
    char input[1024], output[1024], signal[1100], filters[1100];
    snprintf(input, sizeof input, "%s/bench-start.h5", argv[2]);
    snprintf(output, sizeof output, "%s/bench-start-result.h5", argv[2]);
    snprintf(signal, sizeof signal, "%s:/signal", input);
    snprintf(filters, sizeof filters, "%s:/filters", input);
    char *const driver[] = {argv[0], "--driver", NULL};
    char *const synth[] = {argv[1], "synth",    "ols", "--samples",   "16M",     "--type",
                           "int16", "--output", input, "--overwrite", "--quiet", NULL};
    char *const job[] = {argv[1], "ols", "--engine", "cuda,share-gpu", "--verbose", "--overwrite", "--input", signal, "--filters",
                         filters, "--output", output, NULL};
    char *words[MOST_WORDS] = {NULL};
    memcpy(words, argv + 3, (size_t)(argc - 3) * sizeof *words);
    memcpy(words + argc - 3, job, sizeof job);
    double seconds[N_PARTS][REPETITIONS], ignored;
    run(synth, "nothing", &ignored);
    for (int i = 0; i < REPETITIONS; i++) {
        seconds[DRIVER][i] = run(driver, "driver started", &ignored);
        seconds[LAPWING][i] = run(words, "first block submitted", &seconds[OUTSIDE][i]);
    }
    report(seconds);
    unlink(input);
    unlink(output);
    return 0;
}
