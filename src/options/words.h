/* words.h - several words, such as names of files, in one text: with blanks between them; a blank or backslash of a word has a
 * backslash before it. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Bytes that lw_words_append adds at most, with the final zero. */
size_t lw_words_room(const char *word);

/** Add a word at `end`, the final zero of `text`, behind a blank if there is something before it. @return  the new end */
char *lw_words_append(const char *word, const char *text, char *end);

/** Take the first word, without its backslashes. @return  where the rest begins; NULL: it is longer than size - 1 */
const char *lw_words_take(const char *text, char *word, size_t size);
