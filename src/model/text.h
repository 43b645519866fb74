/* Text that is put together piece by piece, in a buffer of fixed size: what does not fit is cut
 * off. */
#ifndef ELECT_TEXT_H
#define ELECT_TEXT_H

#include "elect.h"

#define TEXT_MAX 8192

struct text {
    size_t length;
    char bytes[TEXT_MAX]; /* always ends in NUL */
};

void text_clear(struct text *t);
void text_cut(struct text *t, size_t length); /* back to what it was */
void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const char *s, size_t length);
/* "where: what" and a remedy; false, for whoever refuses with it. */
bool text_complain(struct text *t, const char *where, const char *what, const char *remedy);
void text_clean(char *s); /* what is no plain letter becomes a question mark */
void text_number(struct text *t, uint64_t value);
/* How much of it goes into a line of that width: up to a blank, if there is one. */
size_t text_fits(const char *s, size_t width);

/* The nearest of `count` words to a mistyped one, NULL if none is near. */
const char *text_nearest(const char *word, size_t length, const char *const *words, size_t count);

#endif
