/* The flight recorder keeps every step of the last minutes in memory, to explain a change of leader
 * later. The flight recorder keeps the steps that changed something for much longer. */
#ifndef ELECT_DAEMON_RECORDER_H
#define ELECT_DAEMON_RECORDER_H

#include "../words/words.h"

#include <jansson.h>

#define RECORDER_ENTRIES 6144
#define RECORDER_LOUD    1024
#define RECORDER_REASONS 32
#define RECORDER_REASON  160

enum record_kind { RECORD_STEP, RECORD_SENT, RECORD_HEARD };
enum record_change { RECORD_NO_CHANGE, RECORD_LEADS, RECORD_STOPPED_LEADING };

struct record {
    elect_time at;
    elect_set set;   /* the receivers of a sent message, or the list in a received one */
    elect_time over; /* STOPPED_LEADING: the latest time at which the office can have ended */
    elect_term term;
    uint32_t round;
    uint8_t group, event, from, origin; /* of a step or of a message */
    uint8_t kind;                       /* enum record_kind */
    uint8_t change;                     /* enum record_change of this member in a step */
    uint8_t reason;                     /* REFUSE: its reason; HEARD: enum elect_peer_news */
    struct elect_rule rule;             /* the rule of a step */
};

struct reel {
    uint64_t count; /* records that were ever added */
    unsigned room;
    struct record *entry;
};

struct recorder {
    struct reel all, loud;
    struct record entries[RECORDER_ENTRIES], loud_entries[RECORDER_LOUD];
    struct record sign[64]; /* by group: the last routine step, which is not in `loud` yet */
    struct {
        bool leads;
        elect_time until; /* the end of the office unless it is renewed */
    } led[64];
    unsigned reasons; /* that were ever added */
    struct recorder_reason {
        elect_time at;
        uint8_t group;
        char why[RECORDER_REASON];
    } reason[RECORDER_REASONS]; /* of the last resignations, which rules cannot tell */
};

void recorder_begin(struct recorder *r);
/* Records news about a member (enum elect_peer_news), which concerns all groups. */
void recorder_heard(struct recorder *r, uint8_t of, uint8_t news, elect_time now);
/* Records a step. `node` is the state after the step; NULL while the member starts. */
void recorder_step(struct recorder *r, unsigned group, const struct elect_input *in,
                   const struct elect_output *out, const struct elect_node *node);
/* Adds to the step that was just recorded why it happened. */
void recorder_explain(struct recorder *r, unsigned group, const char *why);

/* The question selects entries of the flight recorder. */
struct recorder_question {
    unsigned group;
    bool loud;        /* only steps that changed something, and the last routine step before each */
    elect_time since; /* older entries are omitted */
    int64_t from;     /* number of the first entry; -N: the last N entries */
    size_t most;      /* limits on entries and bytes, which bound the cost of an answer */
    size_t bytes;
};

/* Returns the selected entries, the oldest first. `next` is the `from` with which a later question
 * continues; `more` is true if further entries exist already. */
json_t *recorder_json(const struct recorder *r, const struct words *words, uint8_t me,
                      const struct recorder_question *q, elect_time now, uint64_t *next,
                      bool *more);

#endif
