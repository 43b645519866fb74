/* The flight recorder: every step of the last minutes, in memory, to explain a change of leader
 * afterwards; and those steps that changed something, which reach back much further. */
#ifndef ELECT_DAEMON_RECORDER_H
#define ELECT_DAEMON_RECORDER_H

#include "../words/words.h"

#include <jansson.h>

#define RECORDER_ENTRIES 6144
#define RECORDER_LOUD    1024

enum record_kind { RECORD_STEP, RECORD_SENT, RECORD_HEARD };
enum record_change { RECORD_NO_CHANGE, RECORD_LEADS, RECORD_STOPPED_LEADING };

struct record {
    elect_time at;
    elect_set set;   /* whom it was sent to; or the list in what came in */
    elect_time over; /* STOPPED_LEADING: since when, at the latest */
    elect_term term;
    uint32_t round;
    uint8_t group, event, from, origin; /* of what came in, or went out */
    uint8_t kind;                       /* enum record_kind */
    uint8_t change;                     /* enum record_change: what a step made of this one */
    uint8_t reason;                     /* REFUSE; or what was heard */
    struct elect_rule rule;             /* a step's */
};

struct reel {
    uint64_t count; /* that were ever recorded */
    unsigned room;
    struct record *entry;
};

struct recorder {
    struct reel all, loud;
    struct record entries[RECORDER_ENTRIES], loud_entries[RECORDER_LOUD];
    struct record sign[64]; /* of life, by group: the leader's, or of those who made it one */
    struct {
        bool leads;
        elect_time until; /* if it is not renewed */
    } led[64];
};

void recorder_begin(struct recorder *r);
/* Records news of a member (enum elect_peer_news), which concern all groups. */
void recorder_heard(struct recorder *r, uint8_t of, uint8_t news, elect_time now);
/* Records a step. `node`: as it is after the step; NULL while the member is being started. */
void recorder_step(struct recorder *r, unsigned group, const struct elect_input *in,
                   const struct elect_output *out, const struct elect_node *node);

/* What is asked of it. */
struct recorder_question {
    unsigned group;
    bool loud;        /* only what changed something, and the last sign of life before that */
    elect_time since; /* nothing older */
    int64_t from;     /* entry number; below 0: so many from the end */
    size_t most;      /* entries, and their bytes: limits what one answer costs the daemon */
    size_t bytes;
};

/* Returns entries, the oldest first. `next`: where the next question continues; `more`: there are
 * such entries already. */
json_t *recorder_json(const struct recorder *r, const struct words *words, uint8_t me,
                      const struct recorder_question *q, elect_time now, uint64_t *next,
                      bool *more);

#endif
