#include "options/words.h"

#include <string.h>

static bool is_special(char letter) { return letter == ' ' || letter == '\\'; }

size_t lw_words_room(const char *word)
{
    size_t room = strlen(word) + 2;
    for (; *word; word++)
        room += is_special(*word);
    return room;
}

char *lw_words_append(const char *word, const char *text, char *end)
{
    if (end > text)
        *end++ = ' ';
    for (; *word; word++) {
        if (is_special(*word))
            *end++ = '\\';
        *end++ = *word;
    }
    *end = '\0';
    return end;
}

const char *lw_words_take(const char *text, char *word, size_t size)
{
    const char *at = text + strspn(text, " ");
    size_t n = 0;
    while (*at && *at != ' ') {
        if (*at == '\\' && is_special(at[1]))
            at++;
        if (n + 1 == size)
            return NULL;
        word[n++] = *at++;
    }
    word[n] = '\0';
    return at + strspn(at, " ");
}
