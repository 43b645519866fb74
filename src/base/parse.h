/* Numbers, durations and probabilities as people write them. */
#ifndef ELECT_BASE_PARSE_H
#define ELECT_BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the digits at *s, which then points behind them. Returns false if there is none, or if the
 * value is above `limit`. */
bool parse_digits(const char **s, uint64_t limit, uint64_t *value);
/* The same if `s` consists of digits only. */
bool parse_number(const char *s, uint64_t limit, uint64_t *value);
/* 200us, 200ms, 1s, 2m or 3h, in microseconds, at most `limit`. */
bool parse_duration(const char *s, uint64_t limit, uint64_t *microseconds);
/* 0.05 becomes 50000000 parts of 10^9. */
bool parse_probability(const char *s, uint32_t *parts);

#endif
