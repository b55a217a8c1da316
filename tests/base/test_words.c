/* test_words.c - tests of lists of words in one text: any word that goes in comes out unchanged. */
#include "../check.h"
#include "options/words.h"

#include <string.h>

static void check_round_trip(const char *const *words, int n)
{
    char text[400] = "", word[100];
    size_t room = 1;
    char *end = text;
    for (int w = 0; w < n; w++) {
        room += lw_words_room(words[w]);
        end = lw_words_append(words[w], text, end);
    }
    CHECK(end == text + strlen(text), "the end of '%s'", text);
    CHECK(strlen(text) < room, "'%s' takes %zu, not %zu", text, strlen(text), room);
    const char *at = text;
    for (int w = 0; w < n; w++) {
        at = lw_words_take(at, word, sizeof word);
        if (!at || strcmp(word, words[w]) != 0) {
            CHECK(false, "word %d of '%s' is '%s', not '%s'", w, text, word, words[w]);
            return;
        }
    }
    CHECK(*at == '\0', "'%s' is left of '%s'", at, text);
}

int main(void)
{
    static const char *const some[] = {"a", "b c", "\\", " ", "\\ \\", "d\\e", "x.h5:/a b/c", "end\\"};
    char word[4];
    for (int n = 1; n <= 8; n++)
        for (int first = 0; first + n <= 8; first++)
            check_round_trip(some + first, n);
    const char *rest = lw_words_take("  a\\b   c", word, sizeof word);
    CHECK(rest && strcmp(word, "a\\b") == 0 && strcmp(rest, "c") == 0, "a backslash before a letter is itself: '%s'", word);
    CHECK(!lw_words_take("abcd", word, sizeof word), "a word that is too long");
    CHECK(lw_words_take("abc", word, sizeof word), "a word that just fits");
    return check_result("words");
}
