#include "text.h"

#include <string.h>

void text_cut(struct text *t, size_t length)
{
    t->length = length;
    t->bytes[length] = '\0';
}

void text_clear(struct text *t) { text_cut(t, 0); }

void text_add_bytes(struct text *t, const char *s, size_t length)
{
    size_t room = TEXT_MAX - 1 - t->length;
    if (length > room)
        length = room;
    memcpy(t->bytes + t->length, s, length);
    t->length += length;
    t->bytes[t->length] = '\0';
}

void text_add(struct text *t, const char *s) { text_add_bytes(t, s, strlen(s)); }

bool text_complain(struct text *t, const char *where, const char *what, const char *remedy)
{
    text_add(t, where);
    text_add(t, ": ");
    text_add(t, what);
    text_add(t, remedy);
    return false;
}

void text_clean(char *s)
{
    for (; *s != '\0'; s++)
        *s = *s >= ' ' && *s < 0x7f ? *s : '?';
}

void text_number(struct text *t, uint64_t value)
{
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    text_add_bytes(t, digits + first, sizeof digits - first);
}

#define WORD_MAX 32

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Levenshtein's distance, with one row. */
static size_t distance(const char *a, size_t length, const char *b)
{
    size_t row[WORD_MAX + 1], width = strlen(b);
    if (length > WORD_MAX || width > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t replace = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(replace, 1 + least(row[j], row[j - 1]));
        }
    }
    return row[width];
}

const char *text_nearest(const char *word, size_t length, const char *const *words, size_t count)
{
    const char *nearest = NULL;
    size_t best = 1 + least((length + 1) / 2, 3);
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, length, words[i]);
        if (d < best) {
            best = d;
            nearest = words[i];
        }
    }
    return nearest;
}

size_t text_fits(const char *s, size_t width)
{
    size_t length = strlen(s), at = width;
    if (length <= width)
        return length;
    while (at > 0 && s[at] != ' ')
        at--;
    return at > 0 ? at : width;
}
