/* One word out of a list of known words, with "did you mean" for a mistyped one. */
#ifndef ELECT_BASE_CHOICE_H
#define ELECT_BASE_CHOICE_H

#include "text.h"

/* Sets `choice` to the index of `value` in `words`. Returns false with a complaint if it is not
 * there. */
bool choice_parse(const char *value, const char *const *words, size_t count, uint8_t *choice,
                  struct text *complaint);
/* The same for "on" and "off". */
bool choice_parse_switch(const char *value, bool *on, struct text *complaint);

/* Complains that `word` is not one of `words` and suggests the nearest one, or lists them all. */
bool choice_unknown(struct text *complaint, const char *what, const char *word,
                    const char *const *words, size_t count);

/* Returns the nearest of `words` to a mistyped one, or NULL if none is near. */
const char *choice_nearest(const char *word, size_t length, const char *const *words, size_t count);

#endif
