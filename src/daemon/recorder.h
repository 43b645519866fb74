/* The flight recorder keeps every step of the last minutes in memory, to explain a change of leader
 * later. Steps that changed something are kept for much longer. */
#ifndef ELECT_DAEMON_RECORDER_H
#define ELECT_DAEMON_RECORDER_H

#include "../words/words.h"

#include <jansson.h>

#define RECORDER_ENTRIES 6144
#define RECORDER_LOUD    1024
#define RECORDER_REASONS 32
#define RECORDER_REASON  208 /* fits an order that names two members, or the end of a run */

enum record_kind { RECORD_STEP, RECORD_SENT, RECORD_HEARD };
enum record_change { RECORD_NO_CHANGE, RECORD_LEADS, RECORD_STOPPED_LEADING };

struct record {
    elect_time at;
    elect_set set;   /* receivers of a sent message, or list in a received one */
    elect_time over; /* latest time when the lost leadership can have ended */
    elect_term term;
    uint32_t round;
    uint8_t group, event, from, origin;
    uint8_t kind;   /* enum record_kind */
    uint8_t change; /* enum record_change of a step */
    uint8_t reason; /* of a REFUSE; or enum elect_peer_news */
    struct elect_rule rule;
};

struct reel {
    uint64_t count;
    unsigned room;
    struct record *entry;
};

struct recorder {
    struct reel all, loud;
    struct record entries[RECORDER_ENTRIES], loud_entries[RECORDER_LOUD];
    struct record sign[64]; /* by group: last routine step, unless already in `loud` */
    struct {
        bool leads;
        elect_time until; /* end of leadership without a renewal */
    } led[64];
    unsigned reasons;
    struct recorder_reason {
        elect_time at;
        uint8_t group;
        char why[RECORDER_REASON];
    } reason[RECORDER_REASONS]; /* why members resigned */
};

void recorder_begin(struct recorder *r);
/* Records news of a peer (enum elect_peer_news) for all groups. */
void recorder_heard(struct recorder *r, uint8_t of, uint8_t news, elect_time now);
/* `node` is the state after the step; NULL while the member starts. */
void recorder_step(struct recorder *r, unsigned group, const struct elect_input *in,
                   const struct elect_output *out, const struct elect_node *node);
void recorder_explain(struct recorder *r, unsigned group, const char *why);

struct recorder_question {
    unsigned group;
    bool loud; /* no routine steps, except the last one before each change */
    elect_time since;
    int64_t from; /* number of the first entry; -N for the last N entries */
    size_t most;  /* like `bytes`, bounds the cost of an answer */
    size_t bytes;
};

/* Returns the selected entries, the oldest first. `next` is the `from` of the next question; `more`
 * is true if there are further entries now. */
json_t *recorder_json(const struct recorder *r, const struct words *words, uint8_t me,
                      const struct recorder_question *q, elect_time now, uint64_t *next,
                      bool *more);

#endif
