/* The rules and events of recorded steps as numbers. A recorder writes words, which are translated
 * once, when the record is read. Rules and events of the core keep their numbers; other rules and
 * events of a recorder have the numbers after those. */
#ifndef ELECT_HISTORY_RULE_H
#define ELECT_HISTORY_RULE_H

#include "elect-uv.h"

/* Numbers after enum elect_rule_number: what a member heard of another member (enum
 * elect_peer_news). */
enum history_rule {
    HISTORY_LAST_RULE = ELECT_RULE_COUNT - 1,
#define X(name, text) HISTORY_##name,
    ELECT_PEER_NEWS(X)
#undef X
        HISTORY_UNKNOWN_RULE, /* a rule of another version */
    HISTORY_RULE_COUNT
};

/* Numbers after enum elect_event. */
enum history_event {
    HISTORY_MEMBER_EVENT = ELECT_EVENT_COUNT, /* the member heard of another member */
    HISTORY_UNKNOWN_EVENT
};

/* Returns the number of a rule, or HISTORY_UNKNOWN_RULE. */
unsigned history_rule(const char *word);
/* Returns the number of an event, or HISTORY_UNKNOWN_EVENT. */
unsigned history_event(const char *word);

#endif
