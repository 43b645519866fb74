/* See change.h. The search starts from the latest step that made a member leader, and looks back
 * for the previous leader and the end of its term. */
#include "change.h"

#include "../base/json.h"

#include <string.h>

#define SECOND    1000000
#define LONG_REST (5 * SECOND) /* a longer pause separates two changes */
#define NEAR      64           /* number of latest lines that a step can be merged into */
#define HEAVIEST  9

/* How much a step explains a change of leader; 1 if not listed. */
static const uint8_t weights[HISTORY_RULE_COUNT] = {
    [ELECT_RULE_TAKES_OFFICE] = 9,
    [HISTORY_TESTAMENT] = 9,
    [ELECT_RULE_RESIGNS] = 9,
    [ELECT_RULE_GIVES_PLACE] = 9,
    [ELECT_RULE_MANDATE_OVER] = 9,
    [ELECT_RULE_CLOCKS_ARE_WRONG] = 9,
    [ELECT_RULE_TESTAMENT_OF_THE_LIVING] = 9,
    [ELECT_RULE_HANDS_OVER] = 8,
    [ELECT_RULE_MISSES] = 8,
    [ELECT_RULE_OFFICE_RELEASED] = 7,
    [ELECT_RULE_SUSPECTS] = 8,
    [ELECT_RULE_CONFIRMS] = 7,
    [ELECT_RULE_CERTIFIED] = 7,
    [ELECT_RULE_GRANTS] = 7,
    [ELECT_RULE_SEES_MAJORITY] = 6,
    [ELECT_RULE_PREVOTES] = 6,
    [ELECT_RULE_NOBODY_HIGHER] = 6,
    [ELECT_RULE_NOBODY_ANSWERED] = 6,
    [ELECT_RULE_IS_HIGHEST] = 6,
    [ELECT_RULE_DECIDES_ITSELF] = 6,
    [ELECT_RULE_OWN_NUMBER_BACK] = 6,
    [ELECT_RULE_REFUSES_HELD] = 5,
    [ELECT_RULE_RELEASES] = 5,
    [ELECT_RULE_STARTED] = 5,
    [ELECT_RULE_NO_LEADER] = 5,
    [ELECT_RULE_LOOKS_AROUND] = 4,
    [ELECT_RULE_SAYS_AYE] = 3,
    [ELECT_RULE_REFUSES_BOOT] = 4,
    [ELECT_RULE_REFUSES_STALE] = 4,
    [ELECT_RULE_REFUSED] = 4,
    [ELECT_RULE_NO_MAJORITY] = 4,
    [ELECT_RULE_STANDS_BACK] = 3,
    [ELECT_RULE_IS_TOLD] = 3,
    [ELECT_RULE_LEADER_TELLS] = 3,
    [ELECT_RULE_TERM_IS_OVER] = 2,
    [HISTORY_OPENED] = 2,
};

static bool is_sign(const struct history_step *s)
{
    return s->rule == ELECT_RULE_GRANTS_AGAIN || s->rule == ELECT_RULE_RENEWED ||
           s->rule == ELECT_RULE_HEARD_LEADER;
}

static int weight_of(const struct history_step *s)
{
    return weights[s->rule] > 0 ? weights[s->rule] : 1;
}

/* ---- the new leader and the old one ---- */

/* In step `s`, a voter repeated a grant: to a leader that renewed its term, or to a candidate
 * that repeated its request. The voter cannot tell which. Returns true if the member's own
 * recorder covers that time but does not show that it led in that term. */
static bool never_led(const struct history *h, const struct history_step *s)
{
    bool covered = false;
    for (const struct history_step *own = h->step; own < h->step + h->steps; own++) {
        if (strcmp(h->name[own->member], s->a) != 0)
            continue;
        if ((own->leads > 0 && own->term == s->term) || (own->leads < 0 && own->at > s->at))
            return false;
        covered = covered || own->at < s->at;
    }
    return covered;
}

/* Returns the leader that the step mentions, or "". With a mandate, an elected process is not
 * yet a leader: it still needs its voters' grants. */
static const char *leader_in(const struct history *h, const struct history_step *s, uint64_t term)
{
    if (s->leads > 0)
        return h->name[s->member];
    switch (s->rule) {
    case ELECT_RULE_GRANTS_AGAIN: return s->term >= term || never_led(h, s) ? "" : s->a;
    case ELECT_RULE_MISSES:
    case ELECT_RULE_OFFICE_RELEASED:
    case ELECT_RULE_HEARD_LEADER: return s->a;
    case ELECT_RULE_SUSPECTS:
    case ELECT_RULE_FOLLOWS:
    case ELECT_RULE_FOLLOWS_HEARTBEAT:
    case ELECT_RULE_ELECTED_FOLLOWS: return history_mandated(h) ? "" : s->a;
    case ELECT_RULE_ACCEPTS:
    case ELECT_RULE_DECIDES: return history_mandated(h) ? "" : s->b;
    default: return "";
    }
}

/* Returns true if the step shows that `who` led: a voter granted it a lease, a follower heard
 * from it, or its own record says so. */
static bool is_sign_of(const struct history *h, const struct history_step *s, const char *who)
{
    bool own = strcmp(h->name[s->member], who) == 0;
    switch (s->rule) {
    case ELECT_RULE_GRANTS:
    case ELECT_RULE_GRANTS_AGAIN:
    case ELECT_RULE_HEARD_LEADER: return strcmp(s->a, who) == 0;
    case ELECT_RULE_RENEWED: return own;
    default: return own && s->leads > 0;
    }
}

static void find_old(const struct history *h, struct history_change *c)
{
    uint64_t term = c->takes != NULL ? c->takes->term : UINT64_MAX;
    const char *new = c->takes != NULL ? h->name[c->takes->member] : "";
    for (const struct history_step *s = h->step; s < c->limit; s++) {
        const char *who = leader_in(h, s, term);
        /* Clocks differ: a later step may seem to precede the change. */
        if (*who != '\0' && (strcmp(who, new) != 0 || s->leads > 0))
            c->old = who;
        if (s->leads > 0)
            c->before = s;
    }
    for (const struct history_step *s = h->step; s < c->limit && c->old != NULL; s++) {
        if (!is_sign_of(h, s, c->old) || (s->term != 0 && s->term >= term))
            continue;
        c->sign = s;
        if (s->rule == ELECT_RULE_GRANTS || s->leads > 0)
            c->reign = s;
    }
    if (c->before != NULL && (c->old == NULL || strcmp(h->name[c->before->member], c->old) != 0))
        c->before = NULL;
}

/* Finds the best evidence of the old leader's end. Its own record comes first, even if a stall
 * made it late, then its guardian's death report, then other members' records of the release. */
static void find_end(const struct history *h, struct history_change *c)
{
    const struct history_step *s, *all = h->step + h->steps;
    for (s = c->before; s != NULL && s < all && c->how == HISTORY_END_UNKNOWN; s++)
        if (s->member == c->before->member && s->leads < 0) {
            c->end = s;
            c->how = HISTORY_END_OWN;
        }
    if (c->how == HISTORY_END_OWN || c->old == NULL)
        return;
    for (s = c->reign != NULL ? c->reign : h->step; s < c->limit; s++) {
        bool guardian = s->rule == HISTORY_TESTAMENT;
        bool heard = s->rule == ELECT_RULE_OFFICE_RELEASED || s->rule == ELECT_RULE_CERTIFIED;
        if (strcmp(s->a, c->old) != 0 || c->how == HISTORY_END_GUARDIAN || !(guardian || heard))
            continue;
        c->end = guardian || c->end == NULL ? s : c->end;
        c->how = guardian ? HISTORY_END_GUARDIAN : HISTORY_END_RELEASED;
    }
}

/* Computes the time without a leader. Without a mandate, only the old leader's own record can
 * show it. */
static void measure(const struct history *h, struct history_change *c)
{
    if (c->how == HISTORY_END_OWN) {
        c->measured = true;
        unsigned new = c->takes != NULL ? c->takes->member : 0;
        c->gap = c->at - c->end->over;
        if (c->end->member != new)
            c->error = ((c->end->member != 0) + (new != 0)) * h->error;
    } else if (c->sign != NULL && history_mandated(h)) {
        c->measured = true;
        c->gap = c->at - c->sign->at;
    }
}

/* ---- the lines ---- */

static const struct history_step *begin_of(const struct history *h, const struct history_change *c)
{
    const struct history_step *s = c->limit, *after = c->reign != NULL ? c->reign : c->sign;
    const struct history_step *first = after != NULL ? after + 1 : h->step;
    if (c->takes == NULL)
        return first;
    while (s > first && s->at - (s - 1)->at < LONG_REST)
        s--;
    return s;
}

static bool is_same(const struct history_step *a, const struct history_step *b)
{
    bool same = a->rule == b->rule &&
                (a->rule != HISTORY_UNKNOWN_RULE || strcmp(a->rule_word, b->rule_word) == 0);
    return same && strcmp(a->a, b->a) == 0 && strcmp(a->b, b->b) == 0;
}

static void add_line(struct history_change *c, const struct history_step *s)
{
    for (unsigned i = c->lines > NEAR ? c->lines - NEAR : 0; i < c->lines; i++)
        if (s != c->takes && is_same(c->line[i].first, s) && s->at - c->line[i].last < SECOND &&
            (c->line[i].who >> s->member & 1) == 0) {
            c->line[i].others++;
            c->line[i].who |= (uint64_t)1 << s->member;
            c->line[i].last = s->at;
            return;
        }
    c->line[c->lines++] =
        (struct history_line){.first = s,
                              .last = s->at,
                              .who = (uint64_t)1 << s->member,
                              .weight = s == c->sign || s->leads != 0 ? HEAVIEST : weight_of(s)};
}

static void shorten(struct history_change *c)
{
    for (int weight = 1; weight < HEAVIEST && c->lines > HISTORY_LINES; weight++)
        for (unsigned i = c->lines; i-- > 0 && c->lines > HISTORY_LINES;)
            if (c->line[i].weight == weight) {
                memmove(&c->line[i], &c->line[i + 1], (c->lines - i - 1) * sizeof c->line[0]);
                c->lines--;
                c->left_out++;
            }
}

static bool lasts(const struct history *h, const struct history_step *office)
{
    for (const struct history_step *s = office + 1; s < h->step + h->steps; s++)
        if (s->member == office->member && s->leads != 0)
            return s->leads > 0;
    return true;
}

/* Finds the latest step that made a member leader, preferably one that still leads. Without a
 * mandate, several may become leader at almost the same time, too close for the clocks to order
 * them. */
static const struct history_step *last_office(const struct history *h)
{
    const struct history_step *last = NULL, *open = NULL;
    for (const struct history_step *s = h->step; s < h->step + h->steps; s++) {
        last = s->leads > 0 ? s : last;
        open = s->leads > 0 && lasts(h, s) ? s : open;
    }
    return open != NULL ? open : last;
}

bool history_find_change(const struct history *h, struct history_change *c)
{
    const struct history_step *end = h->step + h->steps;
    const struct history_step *office = last_office(h);
    /* If no member that answered leads, there is no leader. */
    bool vacant = history_mandated(h) && *field_text(history_group(h), "leader") == '\0' &&
                  (office == NULL || !lasts(h, office));
    memset(c, 0, sizeof *c);
    c->takes = vacant ? NULL : office;
    c->limit = c->takes != NULL ? c->takes : end;
    c->at = c->takes != NULL ? c->takes->at : h->asked;
    c->lasts = c->takes != NULL && lasts(h, c->takes);
    find_old(h, c);
    if (c->takes == NULL && (!vacant || c->old == NULL))
        return false;
    find_end(h, c);
    measure(h, c);
    if (c->sign != NULL && c->sign < begin_of(h, c))
        add_line(c, c->sign);
    for (const struct history_step *s = begin_of(h, c); s < end && s <= c->limit; s++)
        if (!is_sign(s) || s == c->sign)
            add_line(c, s);
    shorten(c);
    return true;
}
