/* The words of the protocol, from the lists in elect.h. */
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
