/* driver.c - runs a fuzz target without libFuzzer: first on the seeds unchanged, then on changed seeds. The changes follow from a
 * fixed seed of random numbers, so that a run can be repeated. The driver does not use code coverage.
 *
 *   fuzz_TARGET [-seconds=3] [-runs=N] [-seed=1] FILE|FOLDER ...
 *
 * LAPWING_FUZZ_SECONDS overrides -seconds. An input that crashes, or takes more than MOST_SECONDS, is kept as crash-PROGRAM. To
 * run this input again: -runs=0 crash-PROGRAM. */
#include "target.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 16, MOST_SEEDS = 1024, MOST_SECONDS = 30 };

struct input {
    uint8_t *bytes;
    size_t n;
};

static struct input seeds[MOST_SEEDS];
static int n_seeds;
static uint8_t now[MOST_BYTES];             /* current input */
static size_t n_now;
static uint64_t state = 1;
static char kept[256];

/* ---- keeping the input of a crash ----------------------------------------------------------------------------------------- */

/* A signal handler calls this function, so it uses only async-signal-safe calls. */
static void keep_input(void)
{
    const int fd = open(kept, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd >= 0 && write(fd, now, n_now) == (ssize_t)n_now && write(STDERR_FILENO, "the input is in ", 16) == 16 &&
        write(STDERR_FILENO, kept, strlen(kept)) > 0 && write(STDERR_FILENO, "\n", 1) == 1)
        close(fd);
}

static void end(int number)
{
    keep_input();
    signal(number == SIGALRM ? SIGABRT : number, SIG_DFL);
    raise(number == SIGALRM ? SIGABRT : number);
}

/* The sanitizers' hooks, which exist if the program is built with sanitizers. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void watch(const char *program)
{
    static const int signals[] = {SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    const char *const name = strrchr(program, '/');
    snprintf(kept, sizeof kept, "crash-%s", name ? name + 1 : program);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(keep_input);
    for (size_t i = 0; i < (__sanitizer_set_death_callback ? 2 : sizeof signals / sizeof *signals); i++)
        signal(signals[i], end);
}

/* ---- seeds --------------------------------------------------------------------------------------------------------------- */

static void add_file(const char *path)
{
    FILE *const file = fopen(path, "rb");
    if (!file || n_seeds == MOST_SEEDS) {
        fprintf(stderr, "%s: %s\n", path, file ? "there are more seeds than room" : "cannot be read");
        exit(2);
    }
    struct input *const seed = &seeds[n_seeds++];
    seed->bytes = malloc(MOST_BYTES);
    seed->n = fread(seed->bytes, 1, MOST_BYTES, file);
    fclose(file);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Files are added in the order of their names, so that runs are equal everywhere. */
static void add_folder(const char *path, DIR *folder)
{
    static char *names[MOST_SEEDS];
    int n = 0;
    for (struct dirent *entry; n < MOST_SEEDS && (entry = readdir(folder)); )
        if (entry->d_name[0] != '.' && asprintf(&names[n], "%s/%s", path, entry->d_name) > 0)
            n++;
    closedir(folder);
    qsort(names, (size_t)n, sizeof *names, by_name);
    for (int i = 0; i < n; i++) {
        add_file(names[i]);
        free(names[i]);
    }
}

static void add_seeds(const char *path)
{
    DIR *const folder = opendir(path);
    if (folder)
        add_folder(path, folder);
    else
        add_file(path);
}

/* ---- changes ------------------------------------------------------------------------------------------------------------- */

/* Random numbers by xorshift, the same on every machine. */
static size_t draw(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return n ? (size_t)(state >> 16) % n : 0;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* A random place in the input. Half of the places are among the first bytes, where headers are. */
static size_t draw_place(void)
{
    return draw(draw(2) ? least(n_now, 512) : n_now);
}

static void put_number(size_t at)
{
    static const int64_t odd[] = {0, 1, -1, 2, -2, 127, -128, 255, 256, INT16_MAX, INT16_MIN, 65535, 65536, INT32_MAX, INT32_MIN,
                                  UINT32_MAX, INT64_MAX, INT64_MIN};
    const int64_t value = draw(3) ? odd[draw(sizeof odd / sizeof *odd)] : (int64_t)draw(1 << 12);
    const size_t bytes = least((size_t)1 << draw(4), n_now - at);
    const bool is_big = draw(2);
    for (size_t b = 0; b < bytes; b++)
        now[at + b] = (uint8_t)((uint64_t)value >> 8 * (is_big ? bytes - 1 - b : b));
}

static void put_text(size_t at)
{
    static const char *const odd[] = {"-1", "0", "1e999", "9223372036854775807", "99999999999999999999", "nan", "-", ".", "''", " ",
                                      "1e-320", "4294967296", "%s", "\n", "\\", "${", "}", "2^62", "T", "(", ","};
    const char *const text = odd[draw(sizeof odd / sizeof *odd)];
    memcpy(now + at, text, least(strlen(text), n_now - at));
}

/* Insert bytes of a seed, or overwrite bytes with them. */
static void put_seed(size_t at)
{
    const struct input *const from = &seeds[draw((size_t)n_seeds)];
    const size_t first = draw(from->n), length = least(1 + draw(draw(2) ? 16 : 256), from->n - first);
    if (draw(2) && n_now + length <= MOST_BYTES) {
        memmove(now + at + length, now + at, n_now - at);
        n_now += length;
    }
    memcpy(now + at, from->bytes + first, least(length, n_now - at));
}

static void change(void)
{
    static const char likely[] = "0123456789-+.EeD' =()TF,/&<>:_";
    const size_t at = draw_place(), length = least(1 + draw(16), n_now - at);
    if (n_now == 0)
        return;
    switch (draw(9)) {
    case 0:
        now[at] ^= (uint8_t)(1u << draw(8));
        break;
    case 1:
        now[at] = (uint8_t)draw(256);
        break;
    case 2:
        now[at] = (uint8_t)likely[draw(sizeof likely - 1)];
        break;
    case 3:
        put_number(at);
        break;
    case 4:
        put_text(at);
        break;
    case 5:
        memmove(now + at, now + draw(n_now - length + 1), length);
        break;
    case 6:
        put_seed(at);
        break;
    case 7:
        memmove(now + at, now + at + length, n_now - at - length);
        n_now -= length;
        break;
    default:
        n_now = draw(8) ? n_now : draw(n_now + 1);
    }
}

/* ---- the run ------------------------------------------------------------------------------------------------------------- */

static void run_one(void)
{
    uint8_t *const exact = malloc(n_now ? n_now : 1);       /* an exact allocation lets the address sanitizer detect reads beyond
                                                             * the input */
    memcpy(exact, now, n_now);
    alarm(MOST_SECONDS);
    LLVMFuzzerTestOneInput(exact, n_now);
    alarm(0);
    free(exact);
}

static void run_seed(const struct input *seed, int n_changes)
{
    memcpy(now, seed->bytes, seed->n);
    n_now = seed->n;
    for (; n_changes > 0; n_changes--)
        change();
    run_one();
}

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
    const char *const asked = getenv("LAPWING_FUZZ_SECONDS");
    double seconds = 3;
    long long most = 1LL << 60, runs = 0;
    watch(argv[0]);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "-seconds=", 9) == 0)
            seconds = atof(argv[i] + 9);
        else if (strncmp(argv[i], "-runs=", 6) == 0)
            most = atoll(argv[i] + 6);
        else if (strncmp(argv[i], "-seed=", 6) == 0)
            state = strtoull(argv[i] + 6, NULL, 10) | 1;
        else
            add_seeds(argv[i]);
    if (asked)
        seconds = atof(asked);
    if (n_seeds == 0) {
        fprintf(stderr, "%s has no seeds: the build makes them (the target fuzz_seeds)\n", argv[0]);
        return 1;
    }
    for (int s = 0; s < n_seeds; s++)
        run_seed(&seeds[s], 0);
    const double begin = seconds_now();
    for (; runs < most && seconds_now() - begin < seconds; runs++)
        run_seed(&seeds[draw((size_t)n_seeds)], 1 + (int)draw(5));
    printf("%s: %d seeds and %lld changed ones in %.1f s\n", argv[0], n_seeds, runs, seconds_now() - begin);
    return 0;
}
