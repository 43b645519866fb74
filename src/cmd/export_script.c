/*
 * Recorders know what each member did, not what befell it: that is concluded. Who has started
 * again was down before, since its guardian said so, or since it was missed; who lost its mandate
 * while it lived, or missed its leader for a while, was cut off, or stood still. The simulator has
 * a network of its own, so that messages of the replay are not those of the history; who leads, and
 * why, should be.
 */
#include "export.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECOND 1000
#define MOST_FAULTS 512

struct fault_line {
    int64_t at; /* microseconds */
    int64_t lasts;
    char text[2 * GATHER_MEMBERS * 6 + 16];
};

struct cut {
    int64_t from, noticed;
    uint64_t away; /* a bit for each member */
};

struct script {
    const struct gathered *g;
    int64_t began; /* when the first leader took office */
    unsigned first;
    int64_t lease, renewal, delay;
    unsigned faults;
    struct fault_line fault[MOST_FAULTS];
    unsigned cuts;
    struct cut cut[MOST_FAULTS];
};

/* ---- who is who ---- */

static const char *role_of(const struct gathered *g, unsigned member)
{
    return json_string_value(json_object_get(gather_member(g, member), "role"));
}

static int priority_of(const struct gathered *g, unsigned member)
{
    return (int)json_integer_value(json_object_get(gather_member(g, member), "priority"));
}

static bool is(const struct recorded *r, const char *rule) { return strcmp(r->rule, rule) == 0; }

static bool takes(const struct recorded *r) { return r->leads > 0; }

/* ---- faults ---- */

__attribute__((format(printf, 3, 4))) static void add(struct script *s, int64_t at,
                                                      const char *format, ...)
{
    va_list rest;
    if (s->faults == MOST_FAULTS)
        return;
    s->fault[s->faults].at = at > s->began ? at : s->began; /* what led to it is not replayed */
    va_start(rest, format);
    vsnprintf(s->fault[s->faults++].text, sizeof s->fault[0].text, format, rest);
    va_end(rest);
}

/* Offices that it resigned, as others heard it; and when the last one was, 0 if it did not. */
static int64_t add_resigned(struct script *s, unsigned member, int64_t since, int64_t until)
{
    const struct gathered *g = s->g;
    int64_t at = 0;
    uint64_t term = 0;
    for (const struct recorded *r = g->step; r < g->step + g->steps; r++) {
        bool over = is(r, "OFFICE_RELEASED") || is(r, "CERTIFIED");
        if (over && strcmp(r->from, g->name[member]) == 0 && r->at > since && r->at < until &&
            r->term > term) { /* each of the others has heard it */
            at = r->at;
            term = r->term;
            add(s, at, "resign %u", gather_id(g, member));
        }
    }
    return at;
}

/* When somebody heard of it for the last time, or must have, who missed it. The member here also
 * knows when it heard of those who are silent now. */
static int64_t last_heard(const struct script *s, unsigned member, int64_t since, int64_t until)
{
    const struct gathered *g = s->g;
    const json_t *ago = json_object_get(gather_member(g, member), "heard_ms_ago");
    int64_t here = g->asked - (int64_t)(json_number_value(ago) * MILLISECOND);
    int64_t last = ago != NULL && here < until && here > since ? here : since;
    for (const struct recorded *r = g->step; r < g->step + g->steps; r++) {
        int64_t at = is(r, "MISSES") && strcmp(r->a, g->name[member]) == 0 ? r->at - 3 * s->renewal
                     : strcmp(r->from, g->name[member]) == 0               ? r->at
                                                                           : 0;
        if (r->member != member && r->at < until && at > last)
            last = at;
    }
    return last;
}

/* A life of which nothing but what others heard is left. Who resigns and is silent at once has
 * ended in good order. */
static void add_end(struct script *s, unsigned member, int64_t since, int64_t until, bool testament)
{
    int64_t soon = 4 * s->delay; /* a testament releases the office, too */
    int64_t resigned = add_resigned(s, member, since, testament ? until - soon : until);
    int64_t heard = last_heard(s, member, since, until);
    int64_t silent = resigned + soon;
    int64_t end = resigned != 0 && silent > heard ? silent : heard + MILLISECOND;
    if (testament)
        add(s, until, "testament %u", gather_id(s->g, member));
    else
        add(s, end < until ? end : until - MILLISECOND, "crash %u", gather_id(s->g, member));
}

/* What others heard of it, and its own starts. */
static void add_lives(struct script *s, unsigned member)
{
    const struct gathered *g = s->g;
    int64_t up = s->began; /* since when; 0: it is down */
    for (const struct recorded *r = g->step; r < g->step + g->steps; r++) {
        bool about = strcmp(r->a, g->name[member]) == 0 && r->member != member && r->at > s->began;
        bool starts = r->member == member && r->at > s->began && strcmp(r->event, "START") == 0;
        bool dead = about && is(r, "TESTAMENT");
        if (up != 0 && (dead || starts)) {
            add_end(s, member, up, r->at, dead);
            up = 0;
        }
        if (up == 0 && (starts || (about && is(r, "OPENED")))) {
            add(s, r->at, "recover %u", gather_id(g, member));
            up = r->at;
        }
    }
    if (!g->told[member] && !g->in_part[member] && up != 0)
        add_end(s, member, up, INT64_MAX, false);
}

/* What its host was told. */
static void add_told(struct script *s, const struct recorded *r)
{
    const struct gathered *g = s->g;
    unsigned id = gather_id(g, r->member), to = gather_called(g, r->from);
    if (is(r, "RESIGNS") && to < g->members)
        add(s, r->at, "transfer %u %u", id, gather_id(g, to));
    else if (is(r, "RESIGNS"))
        add(s, r->at, "resign %u", id);
    else if (is(r, "PAUSES") && strcmp(r->event, "PAUSE") == 0)
        add(s, r->at, "pause-elections %u", id);
    else if (is(r, "RESUMES") && strcmp(r->event, "RESUME") == 0)
        add(s, r->at, "resume-elections %u", id);
}

/* In that time `a` heard `b`, or was heard by it. */
static bool talked(const struct gathered *g, unsigned a, unsigned b, int64_t from, int64_t until)
{
    for (unsigned i = 0; i < g->steps; i++) {
        const struct recorded *r = &g->step[i];
        if (r->at > from && r->at < until &&
            ((r->member == a && strcmp(r->from, g->name[b]) == 0) ||
             (r->member == b && strcmp(r->from, g->name[a]) == 0)))
            return true;
    }
    return false;
}

/* Cut off some time after `from`, as it found out at `noticed`. Whom it talked with in between, and
 * until `until`, was with it. */
static void note_cut(struct script *s, unsigned member, int64_t from, int64_t noticed,
                     int64_t until)
{
    struct cut *c = &s->cut[s->cuts];
    if (s->cuts == MOST_FAULTS)
        return;
    *c = (struct cut){from, noticed, UINT64_C(1) << member};
    for (unsigned i = 0; i < s->g->members; i++)
        if (talked(s->g, member, i, (from + noticed) / 2, until))
            c->away |= UINT64_C(1) << i;
    s->cuts++;
}

/* When, after it was noticed, somebody of one side heard somebody of the other. */
static int64_t healed(const struct gathered *g, const struct cut *c)
{
    for (unsigned i = 0; i < g->steps; i++) {
        const struct recorded *r = &g->step[i];
        unsigned from = gather_called(g, r->from);
        if (r->at > c->noticed && from < g->members &&
            (c->away >> r->member & 1) != (c->away >> from & 1))
            return r->at;
    }
    return INT64_MAX;
}

static void add_cut(struct script *s, const struct cut *c)
{
    const struct gathered *g = s->g;
    char mine[GATHER_MEMBERS * 6 + 1] = "", others[sizeof mine] = "";
    for (unsigned i = 0; i < g->members; i++) {
        char *side = (c->away >> i & 1) != 0 ? mine : others;
        size_t length = strlen(side);
        snprintf(side + length, sizeof mine - length, " %u", gather_id(g, i));
    }
    if (*others == '\0')
        return;
    add(s, c->from, "cut%s /%s", mine, others);
    if (healed(g, c) != INT64_MAX)
        add(s, healed(g, c), "heal");
}

static int cut_earlier(const void *x, const void *y)
{
    const struct cut *a = x, *b = y;
    return (a->from > b->from) - (a->from < b->from);
}

/* Those who were away at one time were away together, as far as anybody knows. */
static void add_cuts(struct script *s)
{
    qsort(s->cut, s->cuts, sizeof s->cut[0], cut_earlier);
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

static bool is_office(const struct gathered *g, uint64_t term)
{
    for (unsigned i = 0; i < g->steps; i++)
        if (takes(&g->step[i]) && g->step[i].term == term)
            return true;
    return false;
}

/* Until then it was renewed, or renewed another one. */
static int64_t last_sign(const struct script *s, const struct recorded *r)
{
    for (size_t i = (size_t)(r - s->g->step); i-- > 0;) {
        const struct recorded *b = &s->g->step[i];
        if (b->member == r->member && (is(b, "RENEWED") || is(b, "GRANTS_AGAIN") || takes(b)))
            return b->at;
    }
    return r->at - (is(r, "MANDATE_OVER") ? s->lease : 3 * s->renewal);
}

static void add_pause(struct script *s, unsigned member, int64_t from, int64_t until)
{
    add(s, from, "pause %u %lld", gather_id(s->g, member),
        (long long)((until - from) / MILLISECOND));
    if (s->faults > 0)
        s->fault[s->faults - 1].lasts = until - from;
}

static bool is_told(const struct recorded *r) { return is(r, "IS_TOLD") || is(r, "LEADER_TELLS"); }

/* When the member of `r` heard of an office again, after `r`; INT64_MAX if it did not. One that
 * is away, too, may tell it of the leader that it remembers. It misses that leader soon, and
 * note_cut finds that both were together. */
static int64_t told_again(const struct gathered *g, const struct recorded *r)
{
    for (const struct recorded *n = r + 1; n < g->step + g->steps; n++)
        if (n->member == r->member &&
            (is_told(n) || takes(n) ||
             (strstr(n->rule, "GRANTS") != NULL && is_office(g, n->term))))
            return n->at;
    return INT64_MAX;
}

/* Whether somebody led then, before and afterwards: whoever missed it was the one that was away. */
static bool is_led(const struct script *s, int64_t at)
{
    const struct gathered *g = s->g;
    int64_t last = 0, next = INT64_MAX;
    for (unsigned i = 0; i < g->steps && next == INT64_MAX; i++)
        if (takes(&g->step[i]) && g->step[i].at <= at)
            last = g->step[i].at;
        else if (takes(&g->step[i]))
            next = g->step[i].at;
    return at != INT64_MAX && at - last > 2 * s->renewal && next - at > s->lease;
}

/* It lost its mandate, or its leader, and lived. Who stood still gave no sign for much longer than
 * it takes to miss somebody; who was cut off, and led, was granted its mandate by its own side
 * until the end. */
static void add_silence(struct script *s, const struct recorded *r)
{
    int64_t from = last_sign(s, r), until = told_again(s->g, r);
    bool led = is(r, "MANDATE_OVER");
    if (!led && !is_led(s, until))
        return;
    if (r->at - from > (s->lease + 3 * s->renewal) / 2)
        add_pause(s, r->member, from, r->at);
    else if (led)
        note_cut(s, r->member, r->leads < 0 ? r->over - s->lease : from, r->at, r->at + s->delay);
    else
        note_cut(s, r->member, from, r->at, until);
}

static int earlier(const void *x, const void *y)
{
    const struct fault_line *a = x, *b = y;
    return (a->at > b->at) - (a->at < b->at);
}

static void find_faults(struct script *s)
{
    for (unsigned i = 0; i < s->g->members; i++)
        add_lives(s, i);
    for (const struct recorded *r = s->g->step; r < s->g->step + s->g->steps; r++) {
        if (r->at < s->began)
            continue;
        add_told(s, r);
        if (is(r, "MANDATE_OVER") || is(r, "MISSES"))
            add_silence(s, r);
    }
    add_cuts(s);
    qsort(s->fault, s->faults, sizeof s->fault[0], earlier);
}

/* ---- the text ---- */

static void write_list(const struct gathered *g, const char *setting, uint64_t members, FILE *out)
{
    const char *gap = " ";
    if (members == 0)
        return;
    fputs(setting, out);
    for (unsigned i = 0; i < g->members; i++)
        if ((members >> i & 1) != 0) {
            fprintf(out, "%s%u", gap, gather_id(g, i));
            gap = ",";
        }
    fputc('\n', out);
}

static uint64_t with_role(const struct gathered *g, const char *role)
{
    uint64_t members = 0;
    for (unsigned i = 0; i < g->members; i++)
        if (strcmp(role_of(g, i), role) == 0)
            members |= UINT64_C(1) << i;
    return members;
}

static void write_priorities(const struct gathered *g, FILE *out)
{
    const char *gap = "priority ";
    for (unsigned i = 0; i < g->members; i++)
        if (priority_of(g, i) != 0) {
            fprintf(out, "%s%u:%d", gap, gather_id(g, i), priority_of(g, i));
            gap = ",";
        }
    fputs(*gap == ',' ? "\n" : "", out);
}

/* The longest time that a message may take is kept, as a bound; those of the replay take one. */
static void write_settings(const struct script *s, FILE *out)
{
    const json_t *settings = json_object_get(s->g->status, "settings");
    int64_t bound = 3 * s->delay / MILLISECOND - 2;
    fprintf(out, "algorithm %s\n", json_string_value(json_object_get(settings, "algorithm")));
    if (json_is_true(json_object_get(settings, "tell_lower")))
        fputs("tell-lower on\n", out);
    write_list(s->g, "processes", UINT64_MAX, out);
    write_list(s->g, "witnesses", with_role(s->g, "witness"), out);
    write_list(s->g, "observers", with_role(s->g, "observer"), out);
    write_priorities(s->g, out);
    fprintf(out, "processing %lld\nmandate majority\nlease %lld\nrenewal %lld\ndrift %g\n",
            (long long)(bound > 0 ? bound : 0), (long long)(s->lease / MILLISECOND),
            (long long)(s->renewal / MILLISECOND),
            json_real_value(json_object_get(settings, "rho")));
    if (json_number_value(json_object_get(settings, "preempt_ms")) > 0)
        fprintf(out, "preempt %.0f\n", json_number_value(json_object_get(settings, "preempt_ms")));
    else if (json_object_get(settings, "preempt_ms") != NULL)
        fputs("preempt yes\n", out);
}

static bool is_fitter(const struct gathered *g, unsigned a, unsigned than)
{
    int more = priority_of(g, a) - priority_of(g, than);
    return strcmp(role_of(g, a), "member") == 0 &&
           (more > 0 || (more == 0 && gather_id(g, a) > gather_id(g, than)));
}

/* The first leader leads, even if there are fitter ones: they come when it does, if the others are
 * a majority. Else the fittest hands over to it, and nothing happens until that one is as fit
 * again, after forty leases. Returns from when on the rest can happen. */
static int64_t write_first(const struct script *s, FILE *out)
{
    const struct gathered *g = s->g;
    unsigned best = s->first;
    uint64_t fitter = 0;
    int voters = (int)g->members - __builtin_popcountll(with_role(g, "observer"));
    int64_t lease = s->lease / MILLISECOND, calm = 2 * lease;
    for (unsigned i = 0; i < g->members; i++) {
        fitter |= (uint64_t)is_fitter(g, i, s->first) << i;
        best = is_fitter(g, i, best) ? i : best;
    }
    if (2 * (voters - __builtin_popcountll(fitter)) > voters) {
        write_list(g, "down", fitter, out);
        fprintf(out, "wins %u\n", gather_id(g, s->first));
        for (unsigned i = 0; i < g->members; i++)
            if ((fitter >> i & 1) != 0)
                fprintf(out, "recover %u at %lld\n", gather_id(g, i), (long long)calm);
    } else {
        fprintf(out, "wins %u\ntransfer %u %u at %lld\n", gather_id(g, best), gather_id(g, best),
                gather_id(g, s->first), (long long)calm);
        calm = 45 * lease;
    }
    fprintf(out, "run until %lld\n", (long long)calm);
    return calm + 2 * lease;
}

static void write_script(const struct script *s, FILE *out)
{
    const struct gathered *g = s->g;
    int64_t longest = 0;
    fprintf(out,
            "# What happened to group %s, as its members recorded it. A tick is a millisecond.\n",
            g->group);
    for (unsigned i = 0; i < g->members; i++)
        fprintf(out, "# %u is %s%s\n", gather_id(g, i), g->name[i],
                g->told[i]      ? ""
                : g->in_part[i] ? ", which did not answer in full"
                                : ", which did not answer");
    write_settings(s, out);
    int64_t lead = write_first(s, out), last = lead;
    for (unsigned i = 0; i < s->faults; i++) {
        last = lead + (s->fault[i].at - s->began) / MILLISECOND;
        fprintf(out, "%s at %lld\n", s->fault[i].text, (long long)last);
        longest = longest > s->fault[i].lasts ? longest : s->fault[i].lasts;
    }
    last += longest / MILLISECOND;
    fprintf(out, "run until %lld\n", (long long)(last + 10 * s->lease / MILLISECOND));
    fputs("check one-leader\ncheck one-per-term\ncheck rising-tokens\n", out);
}

/* A candidate grants itself its mandate, again if it has to ask again: that it led is not said. */
static bool is_own_grant(const struct gathered *g, const struct recorded *r)
{
    return is(r, "GRANTS_AGAIN") && gather_called(g, r->a) == r->member;
}

/* The member that took office, or is said to have led, before anything else is recorded. */
static bool find_first(const struct gathered *g, struct script *s)
{
    for (unsigned i = 0; i < g->steps; i++) {
        const struct recorded *r = &g->step[i];
        bool of_another = is(r, "GRANTS_AGAIN") || is(r, "MISSES") || is(r, "OFFICE_RELEASED") ||
                          is(r, "TESTAMENT") || is_told(r);
        s->began = r->at;
        of_another = of_another && !is_own_grant(g, r);
        s->first = takes(r)     ? r->member
                   : of_another ? gather_called(g, is(r, "IS_TOLD") ? r->b : r->a)
                                : g->members;
        if (s->first < g->members)
            return true;
    }
    return false;
}

static int64_t microseconds(const json_t *settings, const char *key)
{
    return (int64_t)(json_number_value(json_object_get(settings, key)) * MILLISECOND);
}

char *export_script(const struct gathered *g)
{
    const json_t *settings = json_object_get(g->status, "settings");
    struct script *s = calloc(1, sizeof *s);
    char *text = NULL;
    size_t size;
    FILE *out = s != NULL && find_first(g, s) ? open_memstream(&text, &size) : NULL;
    if (out != NULL) {
        s->g = g;
        s->lease = microseconds(settings, "lease_ms");
        s->renewal = microseconds(settings, "renewal_ms");
        s->delay = microseconds(settings, "delay_ms");
        find_faults(s);
        write_script(s, out);
        fclose(out);
    }
    free(s);
    return text;
}
