/* See parse.h. */
#include "parse.h"

#include <stddef.h>
#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool parse_digits(const char **s, uint64_t limit, uint64_t *value)
{
    uint64_t v = 0;
    if (!is_digit(**s))
        return false;
    for (; is_digit(**s); (*s)++) {
        v = v * 10 + (uint64_t)(**s - '0');
        if (v > limit)
            return false;
    }
    *value = v;
    return true;
}

bool parse_number(const char *s, uint64_t limit, uint64_t *value)
{
    return parse_digits(&s, limit, value) && *s == '\0';
}

bool parse_duration(const char *s, uint64_t limit, uint64_t *microseconds)
{
    static const struct {
        const char *unit;
        uint64_t length;
    } units[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}, {"m", 60000000}, {"h", 3600000000}};
    uint64_t value;
    if (!parse_digits(&s, limit, &value))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(s, units[i].unit) == 0 && value <= limit / units[i].length) {
            *microseconds = value * units[i].length;
            return true;
        }
    return false;
}

bool parse_probability(const char *s, uint32_t *parts)
{
    uint64_t whole = 0, value = 0, place = 1000000000;
    if (*s != '.' && !parse_digits(&s, 1, &whole))
        return false;
    if (*s == '.' && !is_digit(s[1]))
        return false;
    if (*s == '.')
        for (s++; is_digit(*s) && place > 1; s++)
            value += (uint64_t)(*s - '0') * (place /= 10);
    value += whole * 1000000000;
    *parts = (uint32_t)value;
    return *s == '\0' && value <= 1000000000;
}
