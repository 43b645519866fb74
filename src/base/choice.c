/* See choice.h. */
#include "choice.h"

#include <string.h>

#define WORD_MAX 32

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Returns how many edits turn one word into the other. An edit inserts, deletes or replaces a
 * letter, or swaps two neighbours. In a word of two letters a swap is no single edit: "no" is not a
 * typing error for "on". */
static size_t distance(const char *a, size_t length, const char *b)
{
    size_t rows[3][WORD_MAX + 1], width = strlen(b);
    if (length > WORD_MAX || width > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= width; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), 1 + least(above[j], row[j - 1]));
            if (i > 1 && j > 1 && length > 2 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], 1 + before[j - 2]);
        }
    }
    return rows[length % 3][width];
}

const char *choice_nearest(const char *word, size_t length, const char *const *words, size_t count)
{
    const char *nearest = NULL;
    size_t best = 1 + least((length + 1) / 2, 3);
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, length, words[i]);
        if (d < best && d < length) { /* words without a common letter are not near */
            best = d;
            nearest = words[i];
        }
    }
    return nearest;
}

bool choice_unknown(struct text *complaint, const char *what, const char *word,
                    const char *const *words, size_t count)
{
    const char *nearest = choice_nearest(word, strlen(word), words, count);
    text_add(complaint, what);
    text_add_quoted(complaint, word);
    text_add(complaint, nearest != NULL ? ": did you mean " : ": one of ");
    for (size_t i = 0; i < count && nearest == NULL; i++) {
        text_add(complaint, i == 0 ? "" : ", ");
        text_add(complaint, words[i]);
    }
    text_add(complaint, nearest != NULL ? nearest : "");
    text_add(complaint, nearest != NULL ? "?" : "");
    return false;
}

bool choice_parse(const char *value, const char *const *words, size_t count, uint8_t *choice,
                  struct text *complaint)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(value, words[i]) == 0) {
            *choice = (uint8_t)i;
            return true;
        }
    }
    return choice_unknown(complaint, "unknown ", value, words, count);
}

bool choice_parse_switch(const char *value, bool *on, struct text *complaint)
{
    static const char *const words[] = {"off", "on"};
    uint8_t choice = 0;
    bool fine = choice_parse(value, words, 2, &choice, complaint);
    *on = choice == 1;
    return fine;
}
