/* Formats processes, messages and rules as text, for the log and the traces. */
#ifndef ELECT_WORDS_WORDS_H
#define ELECT_WORDS_WORDS_H

#include "../base/text.h"
#include "elect.h"

struct words {
    const struct elect_config *config;
    const char *const *name; /* names by rank; NULL: use the numbers instead */
};

static inline bool words_of_mandate(unsigned type)
{
    return type >= ELECT_PREVOTE && type < ELECT_FIRST_TIMER;
}

void words_id(const struct words *w, uint8_t rank, struct text *t);
void words_ids(const struct words *w, elect_set set, struct text *t);
void words_message(const struct words *w, const struct elect_message *m, struct text *t);
/* Like words_message(), but with enough detail to distinguish any two messages of a mandate. */
void words_exactly(const struct words *w, const struct elect_message *m, struct text *t);
/* Adds the rule of a step as "cause -> effect". `about` is the message that caused the step. */
void words_rule(const struct words *w, uint8_t who, const struct elect_rule *rule,
                const struct elect_message *about, struct text *t);
/* Cuts the text of a rule down to its cause, and returns the effect, or NULL if there is none. */
const char *words_cut_effect(struct text *t);

#endif
