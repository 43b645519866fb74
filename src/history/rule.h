/* Numbers for the rules and events of recorded steps. A recorder writes words, and this file
 * translates them when a record is read. Rules and events of the core keep their numbers, and all
 * others have larger numbers. */
#ifndef ELECT_HISTORY_RULE_H
#define ELECT_HISTORY_RULE_H

#include "elect-uv.h"

/* Rules for news about another member (enum elect_peer_news); the numbers follow those of enum
 * elect_rule_number. */
enum history_rule {
    HISTORY_LAST_RULE = ELECT_RULE_COUNT - 1,
#define X(name, text) HISTORY_##name,
    ELECT_PEER_NEWS(X)
#undef X
        HISTORY_UNKNOWN_RULE, /* a rule that only another version knows */
    HISTORY_RULE_COUNT
};

/* Events that are not in enum elect_event; their numbers follow those of that enum. */
enum history_event {
    HISTORY_MEMBER_EVENT = ELECT_EVENT_COUNT, /* the member received news about another member */
    HISTORY_UNKNOWN_EVENT
};

/* Returns the number of a rule, or HISTORY_UNKNOWN_RULE. */
unsigned history_rule(const char *word);
/* Returns the number of an event, or HISTORY_UNKNOWN_EVENT. */
unsigned history_event(const char *word);

#endif
