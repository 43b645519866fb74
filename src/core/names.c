/* Returns the names and texts of algorithms, events and rules, from the lists in elect.h. */
#include "elect.h"

#include <assert.h>

const char *elect_algorithm_name(enum elect_algorithm algorithm)
{
    static const char *const names[] = {
#define X(name, word, text) word,
        ELECT_ALGORITHMS(X)
#undef X
    };
    assert(algorithm < ELECT_ALGORITHM_COUNT);
    return names[algorithm];
}

const char *elect_algorithm_text(enum elect_algorithm algorithm)
{
    static const char *const texts[] = {
#define X(name, word, text) text,
        ELECT_ALGORITHMS(X)
#undef X
    };
    assert(algorithm < ELECT_ALGORITHM_COUNT);
    return texts[algorithm];
}

const char *elect_event_name(enum elect_event event)
{
    static const char *const names[] = {
#define X(name, word) word,
        ELECT_EVENTS(X)
#undef X
    };
    assert(event < ELECT_EVENT_COUNT);
    return names[event];
}

static const struct {
    const char *name, *text;
    bool quiet;
} rules[] = {
#define X(name, quiet, text) {#name, text, quiet},
    ELECT_RULES(X)
#undef X
};

const char *elect_rule_name(enum elect_rule_number rule)
{
    assert(rule < ELECT_RULE_COUNT);
    return rules[rule].name;
}

const char *elect_rule_text(enum elect_rule_number rule)
{
    assert(rule < ELECT_RULE_COUNT);
    return rules[rule].text;
}

bool elect_rule_quiet(enum elect_rule_number rule)
{
    assert(rule < ELECT_RULE_COUNT);
    return rules[rule].quiet;
}

static char *put_digits(char *at, uint64_t value)
{
    char digits[20];
    unsigned count = 0;
    do
        digits[count++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

const char *elect_term_text(elect_term term, char text[ELECT_TERM_TEXT])
{
    char *at = put_digits(text, elect_term_counter(term));
    *at++ = '.';
    *put_digits(at, elect_term_owner(term)) = '\0';
    return text;
}
