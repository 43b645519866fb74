/* Looks up a word in a list of known words, and suggests the nearest word for a mistyped one. */
#ifndef ELECT_BASE_CHOICE_H
#define ELECT_BASE_CHOICE_H

#include "text.h"

/* Sets `choice` to the index of `value` in `words`. Returns false with a complaint if `words` does
 * not contain it. */
bool choice_parse(const char *value, const char *const *words, size_t count, uint8_t *choice,
                  struct text *complaint);
/* Sets `on` from "on" or "off". Returns false with a complaint if `value` is another word. */
bool choice_parse_switch(const char *value, bool *on, struct text *complaint);

/* Adds a complaint that `word` is not one of `words`. The complaint suggests the nearest word or
 * lists them all. Returns false. */
bool choice_unknown(struct text *complaint, const char *what, const char *word,
                    const char *const *words, size_t count);

/* Returns the element of `words` that is nearest to a mistyped word, or NULL if none is near. */
const char *choice_nearest(const char *word, size_t length, const char *const *words, size_t count);

#endif
