/* The flight recorder: every step of the last minutes, in memory, for whoever asks afterwards how
 * it came to that. */
#ifndef ELECT_RECORDER_H
#define ELECT_RECORDER_H

#include "../model/words.h"

#include <jansson.h>

#define RECORDER_ENTRIES 8192

struct record {
    elect_time at;
    elect_set to; /* whom it was sent to; 0: it is a step */
    elect_term term;
    uint32_t round;
    uint8_t group, event, from; /* of what came in, or went out */
    struct elect_rule rule;     /* a step's */
};

struct recorder {
    uint64_t count;
    struct record entry[RECORDER_ENTRIES];
};

void recorder_step(struct recorder *r, unsigned group, const struct elect_input *in,
                   const struct elect_output *out);
/* The last `seconds` of one group, the oldest first, from entry number `*next` on: an array of at
 * most RECORDER_PAGE, so that nobody keeps the daemon busy. `*next`: where it goes on; or 0. */
#define RECORDER_PAGE 128
json_t *recorder_json(const struct recorder *r, const struct words *words, uint8_t me,
                      unsigned group, elect_time now, unsigned seconds, uint64_t *next);

#endif
