/* The flight recorder keeps every step of the last minutes in memory, so that a change of leader
 * can be explained later. It keeps the steps that changed something for much longer. */
#ifndef ELECT_DAEMON_RECORDER_H
#define ELECT_DAEMON_RECORDER_H

#include "../words/words.h"

#include <jansson.h>

#define RECORDER_ENTRIES 6144
#define RECORDER_LOUD    1024
#define RECORDER_REASONS 32
#define RECORDER_REASON  208 /* for an order that names two members, or the end of a run */

enum record_kind { RECORD_STEP, RECORD_SENT, RECORD_HEARD };
enum record_change { RECORD_NO_CHANGE, RECORD_LEADS, RECORD_STOPPED_LEADING };

struct record {
    elect_time at;
    elect_set set;   /* the receivers of a sent message, or the list in a received one */
    elect_time over; /* the latest time at which the lost leadership can have ended */
    elect_term term;
    uint32_t round;
    uint8_t group, event, from, origin; /* fields of a step or of a message */
    uint8_t kind;                       /* enum record_kind */
    uint8_t change;                     /* in a step: enum record_change */
    uint8_t reason;                     /* why a REFUSE was sent; or enum elect_peer_news */
    struct elect_rule rule;             /* in a step: the rule that was applied */
};

struct reel {
    uint64_t count; /* how many records have ever been added */
    unsigned room;
    struct record *entry;
};

struct recorder {
    struct reel all, loud;
    struct record entries[RECORDER_ENTRIES], loud_entries[RECORDER_LOUD];
    struct record sign[64]; /* for each group, the last routine step, if it is not in `loud` yet */
    struct {
        bool leads;
        elect_time until; /* when leadership ends, unless it is renewed */
    } led[64];
    unsigned reasons; /* how many reasons have ever been added */
    struct recorder_reason {
        elect_time at;
        uint8_t group;
        char why[RECORDER_REASON];
    } reason[RECORDER_REASONS]; /* why members resigned, because a rule contains no reason */
};

void recorder_begin(struct recorder *r);
/* Records news about another member (enum elect_peer_news) for all groups. */
void recorder_heard(struct recorder *r, uint8_t of, uint8_t news, elect_time now);
/* Records a step. `node` is the state after the step; NULL while the member starts. */
void recorder_step(struct recorder *r, unsigned group, const struct elect_input *in,
                   const struct elect_output *out, const struct elect_node *node);
/* Adds a reason to the step that was recorded last. */
void recorder_explain(struct recorder *r, unsigned group, const char *why);

/* A question to the flight recorder: which entries to return. */
struct recorder_question {
    unsigned group;
    bool loud;        /* omit routine steps, except the last one before each change */
    elect_time since; /* omit entries that are older than this */
    int64_t from;     /* the number of the first entry; -N means the last N entries */
    size_t most;      /* the most entries; like `bytes`, it bounds the cost of an answer */
    size_t bytes;
};

/* Returns the selected entries, the oldest first. `next` is the value of `from` with which a later
 * question continues; `more` is true if there are further entries now. */
json_t *recorder_json(const struct recorder *r, const struct words *words, uint8_t me,
                      const struct recorder_question *q, elect_time now, uint64_t *next,
                      bool *more);

#endif
