/* Numbers for the rules and events in recorded steps. A flight recorder contains their names, which
 * this file translates into numbers when a record is read. Rules and events of the core have the
 * same numbers as in the core, and all others have larger numbers. */
#ifndef ELECT_HISTORY_RULE_H
#define ELECT_HISTORY_RULE_H

#include "elect-uv.h"

/* The rules of the core, followed by the kinds of news about another member (enum
 * elect_peer_news). */
enum history_rule {
    HISTORY_LAST_RULE = ELECT_RULE_COUNT - 1,
#define X(name, text) HISTORY_##name,
    ELECT_PEER_NEWS(X)
#undef X
        HISTORY_UNKNOWN_RULE, /* a rule that only another version of Elect has */
    HISTORY_RULE_COUNT
};

/* The events that enum elect_event does not have. Their numbers are larger than those in that
 * enum. */
enum history_event {
    HISTORY_MEMBER_EVENT = ELECT_EVENT_COUNT, /* the member received news about another one */
    HISTORY_UNKNOWN_EVENT
};

/* Returns the number of the rule with this name, or HISTORY_UNKNOWN_RULE. */
unsigned history_rule(const char *word);
/* Returns the number of the event with this name, or HISTORY_UNKNOWN_EVENT. */
unsigned history_event(const char *word);

#endif
