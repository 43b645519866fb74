/*
 * A text buffer of fixed size, filled piece by piece. Text that does not fit is cut off.
 *
 * Functions also report errors in such a buffer: a function that fails returns false (or NULL, or
 * -1) and adds one line to a `struct text`. The line says which object is affected, what is wrong
 * with it and what to do. The command prints that line after "elect VERB: " and exits with a status
 * from exit.h.
 */
#ifndef ELECT_BASE_TEXT_H
#define ELECT_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_MAX 8192

struct text {
    size_t length;
    char bytes[TEXT_MAX]; /* always ends in NUL */
};

void text_clear(struct text *t);
void text_cut(struct text *t, size_t length); /* shortens the text to an earlier length */
void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const char *s, size_t length);
void text_add_number(struct text *t, uint64_t value);
/* Adds a word that a user wrote, in quotes. A question mark replaces each character that is not
 * printable, and a long word is shortened, so that the remedy after it remains visible. */
void text_add_quoted(struct text *t, const char *word);
/* Adds the reason for a failure, and returns false for the caller to return. Inline, so that the
 * compiler sees that the result is always false. */
static inline bool text_refuse(struct text *t, const char *why)
{
    text_add(t, why);
    return false;
}
static inline bool text_refuse_number(struct text *t, uint64_t number, const char *why)
{
    text_add_number(t, number);
    return text_refuse(t, why);
}
/* Adds "where: what" and a remedy, and returns false for the caller to return. */
bool text_complain(struct text *t, const char *where, const char *what, const char *remedy);

/* Replaces every byte that is not printable ASCII with a question mark. */
void text_clean(char *s);
/* Replaces every byte that is not part of a UTF-8 character with a question mark, and also the
 * control characters DEL and C1, because no output format escapes them. */
void text_clean_utf8(char *s);
/* Returns how many bytes of `s` fit on a line of `width` bytes, preferably up to a blank. */
size_t text_fits(const char *s, size_t width);

#endif
