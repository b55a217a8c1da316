#include "io/archive/fits/plio.h"

#include "base/integers.h"
#include "io/archive/field.h"

#include <string.h>

/* A word is an instruction, of 4 bits, and a number. */
enum { ZEROS, SET_HIGH, RAISE, LOWER, VALUES, ZEROS_AND_VALUE, RAISE_AND_PUT, LOWER_AND_PUT };

struct line {
    const unsigned char *code;
    int64_t n_words;
    int64_t n, at;              /* pixels, and those that are made */
    uint32_t value;
    int32_t *pixels;
};

static unsigned word_at(const struct line *line, int64_t i) { return (unsigned)lw_field_unsigned(line->code + 2 * i, 2, true); }

static void put_run(struct line *line, int64_t count, int instruction)
{
    const int64_t end = lw_min64(line->n, line->at + count);
    for (int64_t i = line->at; i < end; i++)
        line->pixels[i] = instruction == VALUES ? (int32_t)line->value : 0;
    if (instruction == ZEROS_AND_VALUE && count > 0 && line->at + count <= line->n)
        line->pixels[end - 1] = (int32_t)line->value;
    line->at = end;
}

/* @param i  of the word; set to that of the next one */
static bool obey(struct line *line, int64_t *i)
{
    const unsigned word = word_at(line, *i);
    const int instruction = (int)(word >> 12);
    const uint32_t number = word & 0xfff;
    ++*i;
    switch (instruction) {
    case ZEROS:
    case VALUES:
    case ZEROS_AND_VALUE:
        put_run(line, number, instruction);
        return true;
    case SET_HIGH:
        if (*i >= line->n_words)
            return false;
        line->value = word_at(line, (*i)++) << 12 | number;
        return true;
    case RAISE:
    case RAISE_AND_PUT:
        line->value += number;
        break;
    case LOWER:
    case LOWER_AND_PUT:
        line->value -= number;
        break;
    default:
        return false;
    }
    if (instruction == RAISE_AND_PUT || instruction == LOWER_AND_PUT)
        put_run(line, 1, VALUES);
    return true;
}

/* The old header has its length in word 2, the new one in words 3 and 4, and its own length in word 1. */
bool lw_plio_decode(const unsigned char *code, int64_t bytes, int64_t n, int32_t *pixels)
{
    enum { OLD_HEADER = 3, LEAST_WORDS = 3, NEW_WORDS = 5 };
    struct line line = {.code = code, .n_words = bytes / 2, .n = n, .value = 1, .pixels = pixels};
    if (line.n_words < LEAST_WORDS)
        return false;
    int64_t first = OLD_HEADER, length = (int16_t)(uint16_t)word_at(&line, 2);
    if (length <= 0) {
        if (line.n_words < NEW_WORDS)
            return false;
        length = (int64_t)word_at(&line, 4) << 15 | word_at(&line, 3);
        first = word_at(&line, 1);
    }
    if (length > line.n_words || first < LEAST_WORDS)
        return false;
    for (int64_t i = first; i < length && line.at < n; )
        if (!obey(&line, &i))
            return false;
    memset(pixels + line.at, 0, (size_t)(n - line.at) * sizeof *pixels);
    return true;
}
