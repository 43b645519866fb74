#include "explain.h"

#include <string.h>

#define SECOND    1000000
#define LONG_REST (5 * SECOND) /* without a step: what was before belongs to something else */

#define NEAR 64 /* lines back from here may be told together with it */

struct known {
    const char *rule;
    int weight;
};

/* How much a step says about a change of leader; what is not here: 1. */
static const struct known weights[] = {
    {"TAKES_OFFICE", 9},
    {"TESTAMENT", 9},
    {"RESIGNS", 9},
    {"GIVES_PLACE", 9},
    {"MANDATE_OVER", 9},
    {"CLOCKS_ARE_WRONG", 9},
    {"TESTAMENT_OF_THE_LIVING", 9},
    {"HANDS_OVER", 8},
    {"MISSES", 8},
    {"OFFICE_RELEASED", 7},
    {"SUSPECTS", 8},
    {"CONFIRMS", 7},
    {"CERTIFIED", 7},
    {"GRANTS", 7},
    {"SEES_MAJORITY", 6},
    {"PREVOTES", 6},
    {"NOBODY_HIGHER", 6},
    {"NOBODY_ANSWERED", 6},
    {"IS_HIGHEST", 6},
    {"DECIDES_ITSELF", 6},
    {"OWN_NUMBER_BACK", 6},
    {"REFUSES_HELD", 5},
    {"RELEASES", 5},
    {"STARTED", 5},
    {"NO_LEADER", 5},
    {"LOOKS_AROUND", 4},
    {"SAYS_AYE", 3},
    {"REFUSES_BOOT", 4},
    {"REFUSES_STALE", 4},
    {"REFUSED", 4},
    {"NO_MAJORITY", 4},
    {"STANDS_BACK", 3},
    {"IS_TOLD", 3},
    {"LEADER_TELLS", 3},
    {"TERM_IS_OVER", 2},
    {"OPENED", 2},
};

static bool is_one_of(const char *rule, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rule, list[i]) == 0)
            return true;
    return false;
}

static bool is(const struct recorded *s, const char *rule) { return strcmp(s->rule, rule) == 0; }

static bool is_sign(const struct recorded *s)
{
    return is(s, "GRANTS_AGAIN") || is(s, "RENEWED") || is(s, "HEARD_LEADER");
}

static int weight_of(const struct recorded *s)
{
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++)
        if (is(s, weights[i].rule))
            return weights[i].weight;
    return 1;
}

/* ---- who took office, and who had it ---- */

/* Whom it grants again asked in vain, and knows that it did: a voter cannot tell a candidate that
 * repeats itself from a leader that renews. */
static bool never_led(const struct gathered *g, const struct recorded *s)
{
    bool covered = false;
    for (const struct recorded *own = g->step; own < g->step + g->steps; own++) {
        if (strcmp(g->name[own->member], s->a) != 0)
            continue;
        if ((own->leads > 0 && own->term == s->term) || (own->leads < 0 && own->at > s->at))
            return false;
        covered = covered || own->at < s->at;
    }
    return covered;
}

/* Whom this is about, if it tells of somebody who leads, or led. */
static const char *leader_in(const struct gathered *g, const struct recorded *s, uint64_t term)
{
    static const char *const first[] = {"MISSES", "OFFICE_RELEASED", "HEARD_LEADER"};
    static const char *const textbook[] = {"SUSPECTS", "FOLLOWS", "FOLLOWS_HEARTBEAT",
                                           "ELECTED_FOLLOWS"};
    if (s->leads > 0)
        return g->name[s->member];
    if (is(s, "GRANTS_AGAIN") && s->term < term)
        return never_led(g, s) ? "" : s->a;
    if (is_one_of(s->rule, first, sizeof first / sizeof first[0]))
        return s->a;
    if (gather_mandated(g)) /* there these only nominate, and who is promised to need not lead */
        return "";
    if (is_one_of(s->rule, textbook, sizeof textbook / sizeof textbook[0]))
        return s->a;
    return is(s, "ACCEPTS") || is(s, "DECIDES") ? s->b : "";
}

/* It was granted, or said itself that it was. */
static bool is_sign_of(const struct gathered *g, const struct recorded *s, const char *who)
{
    bool own = strcmp(g->name[s->member], who) == 0;
    return is(s, "GRANTS") || is(s, "GRANTS_AGAIN") || is(s, "HEARD_LEADER")
               ? strcmp(s->a, who) == 0
               : own && (is(s, "RENEWED") || s->leads > 0);
}

static void find_old(const struct gathered *g, struct change *c)
{
    uint64_t term = c->takes != NULL ? c->takes->term : UINT64_MAX;
    const char *new = c->takes != NULL ? g->name[c->takes->member] : "";
    for (const struct recorded *s = g->step; s < c->limit; s++) {
        const char *who = leader_in(g, s, term);
        /* what follows the change may seem to be before it, by another clock */
        if (*who != '\0' && (strcmp(who, new) != 0 || s->leads > 0))
            c->old = who;
        if (s->leads > 0)
            c->before = s;
    }
    for (const struct recorded *s = g->step; s < c->limit && c->old != NULL; s++) {
        if (!is_sign_of(g, s, c->old) || (s->term != 0 && s->term >= term))
            continue;
        c->sign = s;
        if (is(s, "GRANTS") || s->leads > 0)
            c->reign = s;
    }
    if (c->before != NULL && (c->old == NULL || strcmp(g->name[c->before->member], c->old) != 0))
        c->before = NULL;
}

/* Its own word, which may come late, from who stood still; else its guardian's, or what others
 * heard of that office. */
static void find_end(const struct gathered *g, struct change *c)
{
    const struct recorded *s, *all = g->step + g->steps;
    for (s = c->before; s != NULL && s < all && c->how == END_UNKNOWN; s++)
        if (s->member == c->before->member && s->leads < 0) {
            c->end = s;
            c->how = END_OWN;
        }
    if (c->how == END_OWN || c->old == NULL)
        return;
    for (s = c->reign != NULL ? c->reign : g->step; s < c->limit; s++) {
        bool guardian = is(s, "TESTAMENT"), heard = is(s, "OFFICE_RELEASED") || is(s, "CERTIFIED");
        if (strcmp(s->a, c->old) != 0 || c->how == END_GUARDIAN || !(guardian || heard))
            continue;
        c->end = guardian || c->end == NULL ? s : c->end;
        c->how = guardian ? END_GUARDIAN : END_RELEASED;
    }
}

/* Without a mandate nobody knows of another one that it leads no more. */
static void measure(const struct gathered *g, struct change *c)
{
    if (c->how == END_OWN) {
        c->measured = true;
        unsigned new = c->takes != NULL ? c->takes->member : 0;
        c->gap = c->at - c->end->over;
        if (c->end->member != new) /* of those that are not here */
            c->error = ((c->end->member != 0) + (new != 0)) * g->error;
    } else if (c->sign != NULL && gather_mandated(g)) {
        c->measured = true;
        c->gap = c->at - c->sign->at;
    }
}

/* ---- what is told ---- */

static const struct recorded *begin_of(const struct gathered *g, const struct change *c)
{
    const struct recorded *s = c->limit, *after = c->reign != NULL ? c->reign : c->sign;
    const struct recorded *first = after != NULL ? after + 1 : g->step;
    if (c->takes == NULL) /* it goes on, perhaps for long */
        return first;
    while (s > first && s->at - (s - 1)->at < LONG_REST)
        s--;
    return s;
}

static bool is_same(const struct recorded *a, const struct recorded *b)
{
    return strcmp(a->rule, b->rule) == 0 && strcmp(a->a, b->a) == 0 && strcmp(a->b, b->b) == 0;
}

static void tell(struct change *c, const struct recorded *s)
{
    for (unsigned i = c->lines > NEAR ? c->lines - NEAR : 0; i < c->lines; i++)
        if (s != c->takes && is_same(c->line[i].first, s) && s->at - c->line[i].last < SECOND &&
            (c->line[i].who >> s->member & 1) == 0) {
            c->line[i].others++;
            c->line[i].who |= (uint64_t)1 << s->member;
            c->line[i].last = s->at;
            return;
        }
    c->line[c->lines++] = (struct told){.first = s,
                                        .last = s->at,
                                        .who = (uint64_t)1 << s->member,
                                        .weight = s == c->sign || s->leads != 0 ? 9 : weight_of(s)};
}

/* The least important ones are left out, until the rest can be read. */
static void shorten(struct change *c)
{
    for (int weight = 1; weight < 9 && c->lines > EXPLAIN_LINES; weight++)
        for (unsigned i = c->lines; i-- > 0 && c->lines > EXPLAIN_LINES;)
            if (c->line[i].weight == weight) {
                memmove(&c->line[i], &c->line[i + 1], (c->lines - i - 1) * sizeof c->line[0]);
                c->lines--;
                c->left_out++;
            }
}

static bool lasts(const struct gathered *g, const struct recorded *office)
{
    for (const struct recorded *s = office + 1; s < g->step + g->steps; s++)
        if (s->member == office->member && s->leads != 0)
            return s->leads > 0;
    return true;
}

/* The last one that is not over, if there is one: without a mandate several may begin at once, and
 * clocks do not tell which was later. */
static const struct recorded *last_office(const struct gathered *g)
{
    const struct recorded *last = NULL, *open = NULL;
    for (const struct recorded *s = g->step; s < g->step + g->steps; s++) {
        last = s->leads > 0 ? s : last;
        open = s->leads > 0 && lasts(g, s) ? s : open;
    }
    return open != NULL ? open : last;
}

bool explain_find(const struct gathered *g, struct change *c)
{
    const struct recorded *end = g->step + g->steps;
    const struct recorded *office = last_office(g);
    bool vacant = gather_mandated(g) && *ask_text(gather_group(g), "leader") == '\0' &&
                  (office == NULL || !lasts(g, office)); /* of those that answer nobody leads */
    memset(c, 0, sizeof *c);
    c->takes = vacant ? NULL : office;
    c->limit = c->takes != NULL ? c->takes : end;
    c->at = c->takes != NULL ? c->takes->at : g->asked;
    c->lasts = c->takes != NULL && lasts(g, c->takes);
    find_old(g, c);
    if (c->takes == NULL && (!vacant || c->old == NULL))
        return false;
    find_end(g, c);
    measure(g, c);
    if (c->sign != NULL && c->sign < begin_of(g, c))
        tell(c, c->sign);
    for (const struct recorded *s = begin_of(g, c); s < end && s <= c->limit; s++)
        if (!is_sign(s) || s == c->sign)
            tell(c, s);
    shorten(c);
    return true;
}

void explain_names(const struct gathered *g, uint64_t who, struct text *t)
{
    for (uint64_t rest = who; rest != 0; rest &= rest - 1) {
        if (rest != who)
            text_add(t, (rest & (rest - 1)) == 0 ? " and " : ", ");
        text_add(t, g->name[__builtin_ctzll(rest)]);
    }
}
