/* See choice.h. */
#include "choice.h"

#include <string.h>

#define WORD_MAX 32

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Returns the Levenshtein distance between two words. Keeps only one row of the matrix. */
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
