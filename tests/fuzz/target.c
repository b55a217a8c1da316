#include "target.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *fuzz_file(const uint8_t *data, size_t size)
{
    static char name[40];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    }
    REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "a file in memory");
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
