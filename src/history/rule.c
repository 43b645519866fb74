/* See rule.h. */
#include "rule.h"

#include <string.h>

unsigned history_rule(const char *word)
{
    static const char *const words[] = {
#define X(name, quiet, text) #name,
        ELECT_RULES(X)
#undef X
#define X(name, text) #name,
            ELECT_PEER_NEWS(X)
#undef X
    };
    unsigned rule = 0;
    while (rule < HISTORY_UNKNOWN_RULE && strcmp(words[rule], word) != 0)
        rule++;
    return rule;
}

unsigned history_event(const char *word)
{
    static const char *const words[] = {
#define X(name, word) word,
        ELECT_EVENTS(X)
#undef X
            "member"};
    unsigned event = 0;
    while (event < HISTORY_UNKNOWN_EVENT && strcmp(words[event], word) != 0)
        event++;
    return event;
}
