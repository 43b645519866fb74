/* Parses numbers, durations and probabilities as people write them. */
#ifndef ELECT_BASE_PARSE_H
#define ELECT_BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the digits at *s and moves *s past them. Returns false if there are no digits, or if the
 * value is above `limit`. */
bool parse_digits(const char **s, uint64_t limit, uint64_t *value);
/* Reads a number. Returns false if `s` contains anything but digits, or if the value is above
 * `limit`. */
bool parse_number(const char *s, uint64_t limit, uint64_t *value);
/* Reads a duration such as 200us, 200ms, 1s, 2m or 3h. Returns false if the duration is malformed
 * or above `limit`. */
bool parse_duration(const char *s, uint64_t limit, uint64_t *microseconds);
/* Reads a probability from 0 to 1, in billionths: 0.05 becomes 50000000. */
bool parse_probability(const char *s, uint32_t *parts);

#endif
