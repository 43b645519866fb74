/* The rules and events of recorded steps as numbers. A recorder writes words; they are translated
 * once, when a record is read. Rules and events of the core keep their own numbers, and what
 * recorders write besides them follows behind. */
#ifndef ELECT_HISTORY_RULE_H
#define ELECT_HISTORY_RULE_H

#include "elect-uv.h"

/* Behind enum elect_rule_number: what a member heard of another one (enum elect_peer_news). */
enum history_rule {
    HISTORY_LAST_RULE = ELECT_RULE_COUNT - 1,
#define X(name, text) HISTORY_##name,
    ELECT_PEER_NEWS(X)
#undef X
        HISTORY_UNKNOWN_RULE, /* of another version */
    HISTORY_RULE_COUNT
};

/* Behind enum elect_event. */
enum history_event {
    HISTORY_MEMBER_EVENT = ELECT_EVENT_COUNT, /* something was heard of a member */
    HISTORY_UNKNOWN_EVENT
};

/* Returns the number of a rule, or HISTORY_UNKNOWN_RULE. */
unsigned history_rule(const char *word);
/* Returns the number of an event, or HISTORY_UNKNOWN_EVENT. */
unsigned history_event(const char *word);

#endif
