/* Numbers for the rules and events whose names flight recorders contain. Those of the core keep
 * the core's numbers; all others have larger ones. */
#ifndef ELECT_HISTORY_RULE_H
#define ELECT_HISTORY_RULE_H

#include "elect-uv.h"

/* The core's rules, then the kinds of news about another member (enum elect_peer_news). */
enum history_rule {
    HISTORY_LAST_RULE = ELECT_RULE_COUNT - 1,
#define X(name, text) HISTORY_##name,
    ELECT_PEER_NEWS(X)
#undef X
        HISTORY_UNKNOWN_RULE, /* from another version of Elect */
    HISTORY_RULE_COUNT
};

/* Events beyond enum elect_event. */
enum history_event { HISTORY_MEMBER_EVENT = ELECT_EVENT_COUNT, HISTORY_UNKNOWN_EVENT };

/* Returns the rule's number, or HISTORY_UNKNOWN_RULE. */
unsigned history_rule(const char *word);
/* Returns the event's number, or HISTORY_UNKNOWN_EVENT. */
unsigned history_event(const char *word);

#endif
