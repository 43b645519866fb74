/* See faults.h. */
#include "faults.h"

#include "../base/json.h"

#include <stdlib.h>
#include <string.h>

struct cut {
    int64_t from, noticed;
    elect_set away;
};

struct search {
    const struct history *h;
    struct history_faults *f;
    unsigned cuts;
    struct cut cut[HISTORY_FAULTS];
};

static bool takes(const struct history_step *r) { return r->leads > 0; }

static bool is_named(const struct search *s, const char *name, unsigned member)
{
    return strcmp(name, s->h->name[member]) == 0;
}

/* ---- faults ---- */

static void add(struct search *s, int64_t at, int64_t lasts, const struct fault *fault)
{
    struct history_faults *f = s->f;
    if (f->count == HISTORY_FAULTS)
        return;
    /* The scenario begins with the first leader: move earlier faults to that time. */
    f->fault[f->count++] = (struct history_fault){at > f->began ? at : f->began, lasts, *fault};
}

static void add_of(struct search *s, int64_t at, enum fault_kind kind, unsigned member)
{
    add(s, at, 0, &(struct fault){.kind = (uint8_t)kind, .rank = (uint8_t)member});
}

/* Adds this member's resignations as recorded by others. Returns the time of the last record, or
 * 0 if none. */
static int64_t add_resigned(struct search *s, unsigned member, int64_t since, int64_t until)
{
    const struct history *h = s->h;
    int64_t at = 0;
    uint64_t term = 0;
    for (const struct history_step *r = h->step; r < h->step + h->steps; r++) {
        bool over = r->rule == ELECT_RULE_OFFICE_RELEASED || r->rule == ELECT_RULE_CERTIFIED;
        if (over && is_named(s, r->from, member) && r->at > since && r->at < until &&
            r->term > term) { /* once per term, whatever the number of records */
            at = r->at;
            term = r->term;
            add_of(s, at, FAULT_RESIGN, member);
        }
    }
    return at;
}

/* Returns when another member last heard from this one. A record of silence means that it was
 * heard shortly before, at an estimated time. For members that are silent now, the local daemon
 * also reports when it last heard from them. */
static int64_t last_heard(const struct search *s, unsigned member, int64_t since, int64_t until)
{
    const struct history *h = s->h;
    const json_t *ago = json_object_get(history_member_json(h, member), "heard_ms_ago");
    int64_t here = h->asked - (int64_t)(json_number_value(ago) * HISTORY_MILLISECOND);
    int64_t last = json_is_number(ago) && here < until && here > since ? here : since;
    for (const struct history_step *r = h->step; r < h->step + h->steps; r++) {
        bool missed = r->rule == ELECT_RULE_MISSES && is_named(s, r->a, member);
        int64_t at = missed ? r->at - 3 * s->f->renewal : is_named(s, r->from, member) ? r->at : 0;
        if (r->member != member && r->at < until && at > last)
            last = at;
    }
    return last;
}

/* Adds this member's crash or death report as recorded by others. If it resigned and then fell
 * silent, its end is placed shortly after the resignation. */
static void add_end(struct search *s, unsigned member, int64_t since, int64_t until, bool testament)
{
    int64_t soon =
        4 * s->f->delay; /* a death report also releases the mandate, which is not a resignation */
    int64_t resigned = add_resigned(s, member, since, testament ? until - soon : until);
    int64_t heard = last_heard(s, member, since, until);
    int64_t silent = resigned + soon;
    int64_t end = resigned != 0 && silent > heard ? silent : heard + HISTORY_MILLISECOND;
    if (testament)
        add_of(s, until, FAULT_TESTAMENT, member);
    else
        add_of(s, end < until ? end : until - HISTORY_MILLISECOND, FAULT_CRASH, member);
}

/* Adds this member's crashes and starts, from others' records and its own starts. */
static void add_lives(struct search *s, unsigned member)
{
    const struct history *h = s->h;
    int64_t began = s->f->began, up = began; /* `up`: last start, or 0 if down */
    for (const struct history_step *r = h->step; r < h->step + h->steps; r++) {
        bool about = is_named(s, r->a, member) && r->member != member && r->at > began;
        bool starts = r->member == member && r->at > began && r->event == ELECT_START;
        bool dead = about && r->rule == HISTORY_TESTAMENT;
        if (up != 0 && (dead || starts)) {
            add_end(s, member, up, r->at, dead);
            up = 0;
        }
        if (up == 0 && (starts || (about && r->rule == HISTORY_OPENED))) {
            add_of(s, r->at, FAULT_RECOVER, member);
            up = r->at;
        }
    }
    if (!h->complete[member] && !h->in_part[member] && up != 0)
        add_end(s, member, up, INT64_MAX, false);
}

static void add_resignation(struct search *s, const struct history_step *r)
{
    unsigned to = history_member(s->h, r->from);
    if (to == s->h->members)
        add_of(s, r->at, FAULT_RESIGN, r->member);
    else
        add(s, r->at, 0,
            &(struct fault){.kind = FAULT_TRANSFER,
                            .rank = (uint8_t)r->member,
                            .amount = history_id(s->h, to)});
}

static void add_told(struct search *s, const struct history_step *r)
{
    if (r->rule == ELECT_RULE_RESIGNS)
        add_resignation(s, r);
    else if (r->rule == ELECT_RULE_PAUSES && r->event == ELECT_PAUSE)
        add_of(s, r->at, FAULT_PAUSE_ELECTIONS, r->member);
    else if (r->rule == ELECT_RULE_RESUMES && r->event == ELECT_RESUME)
        add_of(s, r->at, FAULT_RESUME_ELECTIONS, r->member);
    else if (r->event == ELECT_ASIDE || r->event == ELECT_READY)
        add_of(s, r->at, r->event == ELECT_ASIDE ? FAULT_ASIDE : FAULT_READY, r->member);
}

/* ---- cuts ---- */

/* Returns true if one of the two members heard from the other between these times. */
static bool talked(const struct search *s, unsigned a, unsigned b, int64_t from, int64_t until)
{
    const struct history *h = s->h;
    for (const struct history_step *r = h->step; r < h->step + h->steps; r++)
        if (r->at > from && r->at < until &&
            ((r->member == a && is_named(s, r->from, b)) ||
             (r->member == b && is_named(s, r->from, a))))
            return true;
    return false;
}

/* Records a cut that `member` noticed at `noticed` but that began after `from`. Members that
 * still exchanged messages with it between the middle of that interval and `until` were on its
 * side. */
static void note_cut(struct search *s, unsigned member, int64_t from, int64_t noticed,
                     int64_t until)
{
    struct cut *c = &s->cut[s->cuts];
    if (s->cuts == HISTORY_FAULTS)
        return;
    *c = (struct cut){from, noticed, (elect_set)1 << member};
    for (unsigned i = 0; i < s->h->members; i++)
        if (talked(s, member, i, (from + noticed) / 2, until))
            c->away |= (elect_set)1 << i;
    s->cuts++;
}

/* Returns when a message first crossed the cut after it was noticed, or INT64_MAX. */
static int64_t healed(const struct history *h, const struct cut *c)
{
    for (const struct history_step *r = h->step; r < h->step + h->steps; r++) {
        unsigned from = history_member(h, r->from);
        if (r->at > c->noticed && from < h->members &&
            (c->away >> r->member & 1) != (c->away >> from & 1))
            return r->at;
    }
    return INT64_MAX;
}

static void add_cut(struct search *s, const struct cut *c)
{
    elect_set others = elect_ranks_below(s->h->members) & ~c->away;
    int64_t end = healed(s->h, c);
    if (others == 0)
        return;
    add(s, c->from, 0, &(struct fault){.kind = FAULT_CUT, .parts = 2, .part = {c->away, others}});
    if (end != INT64_MAX)
        add_of(s, end, FAULT_HEAL, 0);
}

static int by_begin(const void *x, const void *y)
{
    const struct cut *a = x, *b = y;
    return (a->from > b->from) - (a->from < b->from);
}

/* Adds all cuts. Cuts that overlap in time become one, because the records cannot show whether
 * their members were also cut off from each other. */
static void add_cuts(struct search *s)
{
    qsort(s->cut, s->cuts, sizeof s->cut[0], by_begin);
    for (unsigned i = 0; i < s->cuts; i++) {
        struct cut *next = i + 1 < s->cuts ? &s->cut[i + 1] : NULL;
        if (next == NULL || next->from >= s->cut[i].noticed) {
            add_cut(s, &s->cut[i]);
            continue;
        }
        next->away |= s->cut[i].away;
        next->from = s->cut[i].from;
        if (next->noticed < s->cut[i].noticed)
            next->noticed = s->cut[i].noticed;
    }
}

/* ---- members that were away ---- */

static bool is_office(const struct history *h, uint64_t term)
{
    for (const struct history_step *r = h->step; r < h->step + h->steps; r++)
        if (takes(r) && r->term == term)
            return true;
    return false;
}

/* Returns the last time before step `r` when its member renewed its term or its grant to another
 * leader. */
static int64_t last_sign(const struct search *s, const struct history_step *r)
{
    for (const struct history_step *b = r; b-- > s->h->step;)
        if (b->member == r->member &&
            (b->rule == ELECT_RULE_RENEWED || b->rule == ELECT_RULE_GRANTS_AGAIN || takes(b)))
            return b->at;
    return r->at - (r->rule == ELECT_RULE_MANDATE_OVER ? s->f->lease : 3 * s->f->renewal);
}

static void add_pause(struct search *s, unsigned member, int64_t from, int64_t until)
{
    add(s, from, until - from,
        &(struct fault){.kind = FAULT_STALL,
                        .rank = (uint8_t)member,
                        .amount = (until - from) / HISTORY_MILLISECOND});
}

static bool is_told(const struct history_step *r)
{
    return r->rule == ELECT_RULE_IS_TOLD || r->rule == ELECT_RULE_LEADER_TELLS;
}

static bool grants(const struct history_step *r)
{
    return r->rule == ELECT_RULE_GRANTS || r->rule == ELECT_RULE_GRANTS_AGAIN;
}

/* Returns the first time after step `r` when its member heard of a leader or became one, or
 * INT64_MAX. A member on the same side of a cut may have named the old leader; its silence is
 * then soon noticed again, and note_cut puts both members on one side. */
static int64_t told_again(const struct history *h, const struct history_step *r)
{
    for (const struct history_step *n = r + 1; n < h->step + h->steps; n++)
        if (n->member == r->member &&
            (is_told(n) || takes(n) || (grants(n) && is_office(h, n->term))))
            return n->at;
    return INT64_MAX;
}

/* Returns true if a leader was in office for a while before and after `at`. A member that missed
 * this leader was cut off; the leader was not. */
static bool is_led(const struct search *s, int64_t at)
{
    const struct history *h = s->h;
    int64_t last = 0, next = INT64_MAX;
    for (unsigned i = 0; i < h->steps && next == INT64_MAX; i++)
        if (takes(&h->step[i]) && h->step[i].at <= at)
            last = h->step[i].at;
        else if (takes(&h->step[i]))
            next = h->step[i].at;
    return at != INT64_MAX && at - last > 2 * s->f->renewal && next - at > s->f->lease;
}

/* In step `r`, a running member lost its mandate or missed its leader: it was stalled or cut
 * off. It was stalled if it recorded no renewal for much longer than others need to notice a
 * silent member. A leader that is only cut off still renews with the members on its side. */
static void add_silence(struct search *s, const struct history_step *r)
{
    const struct history_faults *f = s->f;
    int64_t from = last_sign(s, r), until = told_again(s->h, r);
    bool led = r->rule == ELECT_RULE_MANDATE_OVER;
    if (!led && !is_led(s, until))
        return;
    if (r->at - from > (f->lease + 3 * f->renewal) / 2)
        add_pause(s, r->member, from, r->at);
    else if (led)
        note_cut(s, r->member, r->leads < 0 ? r->over - f->lease : from, r->at, r->at + f->delay);
    else
        note_cut(s, r->member, from, r->at, until);
}

/* ---- all together ---- */

/* Returns true if a member repeated a grant to itself. A candidate that repeats its request does
 * so, too, so this does not show that the member led. */
static bool is_own_grant(const struct history *h, const struct history_step *r)
{
    return r->rule == ELECT_RULE_GRANTS_AGAIN && history_member(h, r->a) == r->member;
}

/* Returns the index of the leader that the step mentions, or h->members if none. */
static unsigned leader_in(const struct history *h, const struct history_step *r)
{
    if (takes(r))
        return r->member;
    if (is_own_grant(h, r))
        return h->members;
    switch (r->rule) {
    case ELECT_RULE_GRANTS_AGAIN:
    case ELECT_RULE_MISSES:
    case ELECT_RULE_OFFICE_RELEASED:
    case ELECT_RULE_LEADER_TELLS:
    case HISTORY_TESTAMENT: return history_member(h, r->a);
    case ELECT_RULE_IS_TOLD: return history_member(h, r->b);
    default: return h->members;
    }
}

/* Finds the first recorded leader and the time of the record. Returns false if there is none. */
static bool find_first(const struct history *h, struct history_faults *f)
{
    for (const struct history_step *r = h->step; r < h->step + h->steps; r++) {
        f->began = r->at;
        f->first = leader_in(h, r);
        if (f->first < h->members)
            return true;
    }
    return false;
}

static int64_t microseconds(const json_t *settings, const char *key)
{
    return (int64_t)(field_number(settings, key) * HISTORY_MILLISECOND);
}

static int by_time(const void *x, const void *y)
{
    const struct history_fault *a = x, *b = y;
    return (a->at > b->at) - (a->at < b->at);
}

bool history_find_faults(const struct history *h, struct history_faults *f)
{
    const json_t *settings = json_object_get(h->status, "settings");
    struct search s = {.h = h, .f = f};
    f->count = 0;
    f->lease = microseconds(settings, "lease_ms");
    f->renewal = microseconds(settings, "renewal_ms");
    f->delay = microseconds(settings, "delay_ms");
    if (!find_first(h, f))
        return false;
    for (unsigned i = 0; i < h->members; i++)
        add_lives(&s, i);
    for (const struct history_step *r = h->step; r < h->step + h->steps; r++) {
        if (r->at < f->began)
            continue;
        add_told(&s, r);
        if (r->rule == ELECT_RULE_MANDATE_OVER || r->rule == ELECT_RULE_MISSES)
            add_silence(&s, r);
    }
    add_cuts(&s);
    qsort(f->fault, f->count, sizeof f->fault[0], by_time);
    return true;
}
