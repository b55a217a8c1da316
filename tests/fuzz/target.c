#include "target.h"

#include <string.h>
#include <unistd.h>

static char name[300];
static pid_t maker;

static void remove_file(void)
{
    if (getpid() == maker)
        unlink(name);
}

/* Make a file for the input, since libraries open files by name. */
static int make_file(void)
{
    const char *const folder = getenv("TMPDIR");
    snprintf(name, sizeof name, "%.200s/lapwing-fuzz-XXXXXX", folder ? folder : "/dev/shm");
    maker = getpid();
    atexit(remove_file);
    return mkstemp(name);
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0)
        fd = make_file();
    REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "%s is written", name);
    return name;
}

const char *fuzz_text(const uint8_t *data, size_t size)
{
    static char text[FUZZ_MOST_TEXT + 1];
    const size_t length = size < FUZZ_MOST_TEXT ? size : FUZZ_MOST_TEXT;
    memcpy(text, data, length);
    text[length] = '\0';
    return text;
}

const uint8_t *fuzz_line(const uint8_t *data, size_t *size, char *line, size_t room)
{
    const uint8_t *const end = memchr(data, '\n', *size);
    const size_t length = end ? (size_t)(end - data) : *size, kept = length < room ? length : room - 1;
    memcpy(line, data, kept);
    line[kept] = '\0';
    *size -= length + (end != NULL);
    return data + length + (end != NULL);
}
