/* See numbers.h. */
#include "numbers.h"

#include "../base/parse.h"

#include <string.h>

static bool is_gap(char c) { return c == ' ' || c == '\t' || c == ','; }

static bool complain(struct text *complaint, const char *what, const char *where)
{
    text_add(complaint, what);
    text_add(complaint, " at \"");
    text_add(complaint, where);
    text_add(complaint, "\": write 8, 0..7 or 3,5,9");
    return false;
}

bool numbers_parse(struct numbers *n, const char *s, struct text *complaint)
{
    n->ranges = 0;
    n->count = 0;
    while (is_gap(*s))
        s++;
    while (*s != '\0') {
        const char *item = s;
        uint64_t first, last;
        if (!parse_digits(&s, UINT32_MAX - 1, &first))
            return complain(complaint, "not a number", item);
        last = first;
        if (strncmp(s, "..", 2) == 0) {
            s += 2;
            if (!parse_digits(&s, UINT32_MAX - 1, &last) || last < first)
                return complain(complaint, "not a range", item);
        }
        if (*s != '\0' && !is_gap(*s))
            return complain(complaint, "not a list of numbers", item);
        if (n->ranges == NUMBERS_MAX_RANGES)
            return complain(complaint, "more than 256 numbers or ranges", item);
        n->range[n->ranges].first = (uint32_t)first;
        n->range[n->ranges++].last = (uint32_t)last;
        n->count += last - first + 1;
        while (is_gap(*s))
            s++;
    }
    return true;
}

bool numbers_have(const struct numbers *n, uint32_t value)
{
    for (unsigned i = 0; i < n->ranges; i++)
        if (value >= n->range[i].first && value <= n->range[i].last)
            return true;
    return false;
}

bool numbers_repeat(const struct numbers *n, uint32_t *which)
{
    for (unsigned i = 0; i < n->ranges; i++) {
        for (unsigned j = 0; j < i; j++) {
            uint32_t from = n->range[i].first, to = n->range[i].last;
            from = from > n->range[j].first ? from : n->range[j].first;
            to = to < n->range[j].last ? to : n->range[j].last;
            if (from <= to) {
                *which = from;
                return true;
            }
        }
    }
    return false;
}

bool numbers_next(const struct numbers *n, struct numbers_place *i, uint32_t *value)
{
    if (i->range == n->ranges)
        return false;
    *value = n->range[i->range].first + i->offset;
    if (*value == n->range[i->range].last)
        *i = (struct numbers_place){i->range + 1, 0};
    else
        i->offset++;
    return true;
}
