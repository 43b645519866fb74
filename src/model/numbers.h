/* Lists of numbers, such as 8, 0..7, 3,32,5 or 0..3 9 12..14. They are stored as ranges, so a
 * million consecutive numbers take no more memory than one. */
#ifndef ELECT_MODEL_NUMBERS_H
#define ELECT_MODEL_NUMBERS_H

#include "../base/text.h"

#define NUMBERS_MAX_RANGES 256

struct numbers {
    unsigned ranges;
    uint64_t count;
    struct {
        uint32_t first, last;
    } range[NUMBERS_MAX_RANGES];
};

/* Returns false with a complaint if `s` is not a list. An empty list is permitted. */
bool numbers_parse(struct numbers *n, const char *s, struct text *complaint);
bool numbers_have(const struct numbers *n, uint32_t value);
/* Returns true if a number occurs twice, and stores it in `which`. */
bool numbers_repeat(const struct numbers *n, uint32_t *which);

/* Iterates over the numbers in the order of the list:
 *     for (i = NUMBERS_START; numbers_next(n, &i, &value);) */
struct numbers_place {
    unsigned range;
    uint32_t offset;
};
#define NUMBERS_START ((struct numbers_place){0, 0})
bool numbers_next(const struct numbers *n, struct numbers_place *i, uint32_t *value);

#endif
