#include "shrink.h"

#include "../model/narrate.h"

#include <stdlib.h>
#include <string.h>

#define MOST_MOMENTS 600000
#define MOST_STEPS   100000000 /* of all trials together */

/* ---- writing it down ---- */

/* Who can hear whom, how fast and how reliably, shows in what arrives. */
static bool matters(enum fault_kind kind)
{
    return kind != FAULT_CUT && kind != FAULT_ONE_WAY && kind != FAULT_HEAL &&
           kind != FAULT_PAUSE && kind != FAULT_CALM;
}

void history_note(void *history, const struct world *w, const struct happening *happening)
{
    struct history *h = history;
    bool fault = happening->what == HAPPENED_FAULT;
    if ((happening->what != HAPPENED_STEP && !fault) ||
        (fault && !matters((enum fault_kind)happening->fault.kind)))
        return;
    if (h->count == h->room) {
        size_t room = 2 * h->room + 1024;
        struct moment *more = room > MOST_MOMENTS ? NULL : realloc(h->moment, room * sizeof *more);
        h->too_long = h->too_long || more == NULL;
        if (h->too_long)
            return;
        h->moment = more;
        h->room = room;
    }
    h->moment[h->count++] = (struct moment){.time = w->now,
                                            .is_fault = fault,
                                            .rank = happening->rank,
                                            .input = happening->input,
                                            .fault = happening->fault};
}

void history_free(struct history *h) { free(h->moment); }

/* ---- trying a part of it ---- */

/*
 * What was sent lately, from one to another, of one type. A message is known by its age: how many
 * of its kind were sent after it. Terms and rounds are others when something before is left out.
 */
struct mail {
    uint32_t count;
    struct elect_message last[];
};

struct post {
    unsigned n, remembers;
    struct mail **mail; /* by sender, receiver and type; NULL: nothing yet */
};

static struct mail **mail_of(const struct post *p, uint8_t from, uint8_t to, unsigned type)
{
    return &p->mail[((size_t)from * p->n + to) * ELECT_EVENT_COUNT + type];
}

static void clear_post(struct post *p)
{
    for (size_t i = 0; i < (size_t)p->n * p->n * ELECT_EVENT_COUNT; i++)
        if (p->mail[i] != NULL)
            p->mail[i]->count = 0;
}

/* Nothing of its former life reaches it. */
static void forget_mail(struct post *p, uint8_t to)
{
    for (uint8_t from = 0; from < p->n; from++)
        for (unsigned type = 0; type < ELECT_EVENT_COUNT; type++)
            if (*mail_of(p, from, to, type) != NULL)
                (*mail_of(p, from, to, type))->count = 0;
}

static void send(struct post *p, uint8_t from, const struct elect_output *out)
{
    for (unsigned i = 0; i < out->sends; i++)
        for (elect_set to = out->send[i].to; to != 0; to &= to - 1) {
            const struct elect_message *m = &out->send[i].message;
            struct mail **mail = mail_of(p, from, (uint8_t)__builtin_ctzll(to), m->type);
            if (*mail == NULL &&
                (*mail = calloc(1, sizeof **mail + p->remembers * sizeof *m)) == NULL)
                return;
            (*mail)->last[(*mail)->count++ % p->remembers] = *m;
        }
}

static const struct elect_message *by_age(const struct post *p, const struct moment *m)
{
    const struct mail *mail = *mail_of(p, m->input.from, m->rank, m->input.event);
    if (mail == NULL || m->age >= p->remembers || m->age >= mail->count)
        return NULL;
    return &mail->last[(mail->count - 1 - m->age) % p->remembers];
}

/* How old is this one? */
static uint32_t age_of(const struct post *p, const struct moment *m)
{
    struct moment known = *m;
    const struct elect_message *found;
    for (known.age = 0; (found = by_age(p, &known)) != NULL; known.age++)
        if (memcmp(found, &m->input.message, sizeof *found) == 0)
            break;
    return known.age;
}

/* False if it cannot happen in this world. */
static bool happen(struct world *w, const struct post *post, const struct moment *m,
                   struct happening *h)
{
    enum elect_event event = (enum elect_event)m->input.event;
    const struct elect_message *message;
    if (m->is_fault) {
        world_fault(w, &m->fault, h);
        return h->what != HAPPENED_NOTHING;
    }
    if (!world_up(w, m->rank))
        return false;
    if (event >= ELECT_FIRST_TIMER) {
        if (!world_timer_runs(w, m->rank, event))
            return false;
        world_fire(w, m->rank, event, h);
    } else if (event >= ELECT_FIRST_MESSAGE) {
        if ((message = by_age(post, m)) == NULL)
            return false;
        world_take(w, m->rank, m->input.from, message, h);
    } else if (event == ELECT_STOPPED) {
        if (!elect_must_stop(&w->node[m->rank]))
            return false;
        world_stopped(w, m->rank, h);
    } else if (event == ELECT_ALARM) {
        world_alarm(w, m->rank, h);
    } else {
        world_suspect(w, m->rank, h);
    }
    return true;
}

/* What a promise says, in other words: the property of this world that breaks it, if any does. */
static enum property breaks(const struct world *w, enum storm_promise promise)
{
    static const struct {
        enum storm_promise promise;
        enum property property;
    } words[] = {
        {STORM_P1, PROPERTY_ONE_PER_TERM},  {STORM_P2, PROPERTY_RISING_GRANTS},
        {STORM_P2, PROPERTY_RISING_TOKENS}, {STORM_P3, PROPERTY_ONE_LEADER},
        {STORM_P3, PROPERTY_RELEASED_LAST},
    };
    struct violation v;
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i].promise == promise && property_broken(w, words[i].property, &v))
            return words[i].property;
    return PROPERTY_COUNT;
}

struct trial {
    struct history *history;
    enum storm_promise promise;
    struct world *w;
    struct post post;
    bool *kept;     /* by moment */
    uint64_t steps; /* of all trials */
    size_t end;     /* behind the moment that shows it */
    bool first;     /* all that happened: see how old messages are */
    bool last;      /* what is left: see which messages they are now */
};

static void know(struct trial *t, struct moment *m)
{
    const struct elect_message *message;
    bool letter =
        !m->is_fault && m->input.event >= ELECT_FIRST_MESSAGE && m->input.event < ELECT_FIRST_TIMER;
    if (letter && t->first)
        m->age = age_of(&t->post, m);
    if (letter && t->last && (message = by_age(&t->post, m)) != NULL)
        m->input.message = *message;
}

/* Only what is kept, in order, at its time. What cannot happen does not. */
static bool try(struct trial *t)
{
    struct weather weather = {.delay_min = 1, .delay_max = 1};
    struct happening h;
    world_init(t->w, &t->history->config, &weather, t->history->seed, ELECT_NOBODY);
    clear_post(&t->post);
    for (size_t i = 0; i < t->history->count; i++) {
        struct moment *m = &t->history->moment[i];
        if (!t->kept[i])
            continue;
        t->steps++;
        t->w->now = m->time;
        know(t, m);
        memset(&h, 0, sizeof h);
        t->kept[i] = happen(t->w, &t->post, m, &h);
        if (!t->kept[i])
            continue;
        if (m->is_fault && m->fault.kind == FAULT_READMIT)
            forget_mail(&t->post, m->fault.rank);
        send(&t->post, h.rank, &h.output);
        t->w->flights = t->w->elections = 0;
        t->end = i + 1;
        if (breaks(t->w, t->promise) != PROPERTY_COUNT)
            return true;
    }
    return false;
}

/* ---- leaving out ---- */

/* What happens from here on happens that much earlier. */
static void advance(struct history *h, size_t from, uint64_t by)
{
    for (size_t i = from; i < h->count; i++)
        h->moment[i].time -= by;
}

/* Without these moments, does it still go wrong? If so they are gone. */
static bool without(struct trial *t, bool *before, size_t at, size_t end)
{
    size_t n = t->history->count;
    memcpy(before, t->kept, n * sizeof *before);
    memset(t->kept + at, 0, (end - at) * sizeof *t->kept);
    if (try(t)) {
        memset(t->kept + t->end, 0, (n - t->end) * sizeof *t->kept);
        return true;
    }
    memcpy(t->kept, before, n * sizeof *before);
    return false;
}

/* First with the time that they took, then without. */
static void leave_out(struct trial *t, bool *before, size_t chunk, const volatile int *interrupted)
{
    struct history *h = t->history;
    for (size_t at = 0; at < h->count; at += chunk) {
        size_t end = at + chunk < h->count ? at + chunk : h->count, there = 0;
        uint64_t took = end < h->count ? h->moment[end].time - h->moment[at].time : 0;
        for (size_t i = at; i < end; i++)
            there += t->kept[i];
        if (there == 0)
            continue;
        if (t->steps > MOST_STEPS || (interrupted != NULL && *interrupted))
            return;
        advance(h, end, took);
        if (took > 0 && without(t, before, at, end))
            continue;
        advance(h, end, (uint64_t)0 - took);
        without(t, before, at, end);
    }
}

static void keep_only(struct history *h, const bool *kept)
{
    size_t count = 0;
    for (size_t i = 0; i < h->count; i++)
        if (kept[i])
            h->moment[count++] = h->moment[i];
    h->count = count;
}

static void leave_out_all(struct trial *t, bool *before, size_t chunk,
                          const volatile int *interrupted)
{
    memset(t->kept, true, t->history->count);
    leave_out(t, before, chunk, interrupted);
    keep_only(t->history, t->kept);
}

/* Once more, from that time on; as it is written down then. */
static bool try_last(struct trial *t, uint64_t from)
{
    t->last = true;
    advance(t->history, 0, from);
    memset(t->kept, true, t->history->count);
    if (try(t))
        return true;
    advance(t->history, 0, (uint64_t)0 - from);
    return false;
}

static bool shrink(struct trial *t, bool *before, const volatile int *interrupted)
{
    struct history *h = t->history;
    memset(t->kept, true, h->count);
    t->first = true;
    if (!try(t))
        return false;
    t->first = false;
    memset(t->kept + t->end, 0, h->count - t->end);
    keep_only(h, t->kept);
    for (size_t more = h->count + 1; more > h->count;) { /* until nothing more can be left out */
        more = h->count;
        for (size_t chunk = (h->count + 1) / 2; chunk > 0; chunk /= 2)
            leave_out_all(t, before, chunk, interrupted);
    }
    bool fine = try_last(t, h->count > 0 ? h->moment[0].time : 0) || try_last(t, 0);
    h->broken = breaks(t->w, t->promise);
    return fine;
}

bool history_shrink(struct history *h, enum storm_promise promise, struct world *w,
                    const volatile int *interrupted)
{
    struct trial t = {
        .history = h, .promise = promise, .w = w, .post = {h->config.n, 16384 / h->config.n, NULL}};
    size_t mails = (size_t)t.post.n * t.post.n * ELECT_EVENT_COUNT;
    bool *before = calloc(h->count + 1, sizeof *before);
    t.kept = calloc(h->count + 1, sizeof *t.kept);
    t.post.mail = calloc(mails, sizeof *t.post.mail);
    bool fine = !h->too_long && promise != STORM_P4 && before != NULL && t.kept != NULL &&
                t.post.mail != NULL && shrink(&t, before, interrupted);
    for (size_t i = 0; i < mails && t.post.mail != NULL; i++)
        free(t.post.mail[i]);
    free(t.post.mail);
    free(before);
    free(t.kept);
    return fine;
}

/* ---- as a scenario ---- */

static void write_ids(const struct elect_config *c, const char *what, elect_set set, FILE *out)
{
    if (set == 0)
        return;
    fputs(what, out);
    for (; set != 0; set &= set - 1)
        fprintf(out, " %u", c->id[__builtin_ctzll(set)]);
    fputc('\n', out);
}

static void write_settings(const struct history *h, FILE *out)
{
    const struct elect_config *c = &h->config;
    unsigned delay = (c->answer_bound - c->processing_bound) / 2;
    fprintf(out, "algorithm %s\nprocesses",
            elect_algorithm_name((enum elect_algorithm)c->algorithm));
    for (unsigned place = 0; place < c->n; place++)
        fprintf(out, " %u", c->id[c->ring[place]]);
    fprintf(out, "\nmandate majority\nlease %u\nrenewal %u\ndrift 0.%06u\ndelay %u\n", c->lease,
            c->renewal, c->drift, delay);
    if (c->processing_bound > 0)
        fprintf(out, "processing %u\n", c->processing_bound);
    write_ids(c, "witnesses", c->voters & ~c->members, out);
    write_ids(c, "observers", elect_everyone(c) & ~c->voters, out);
    fprintf(out, "seed %llu\n", (unsigned long long)h->seed);
}

static void write_fault(const struct history *h, const struct fault *f, FILE *out)
{
    bool amount = f->kind == FAULT_RATE || f->kind == FAULT_DISK || f->kind == FAULT_TICK ||
                  f->kind == FAULT_FREEZE || f->kind == FAULT_TRANSFER;
    fputs(world_fault_name((enum fault_kind)f->kind), out);
    if (f->kind != FAULT_LEASE)
        fprintf(out, " %u", h->config.id[f->rank]);
    if (amount || f->kind == FAULT_LEASE)
        fprintf(out, " %lld", (long long)f->amount);
    fputc('\n', out);
}

static bool same_message(const struct moment *a, const struct moment *b)
{
    return !a->is_fault && !b->is_fault && a->rank == b->rank && a->input.event == b->input.event &&
           a->input.from == b->input.from &&
           memcmp(&a->input.message, &b->input.message, sizeof a->input.message) == 0;
}

static void write_message(const struct history *h, size_t i, struct world *w, FILE *out)
{
    const struct moment *m = &h->moment[i];
    const uint16_t *id = h->config.id;
    struct text t;
    bool again = false;
    for (size_t j = i + 1; j < h->count; j++)
        again = again || same_message(m, &h->moment[j]);
    text_clear(&t);
    narrate_exactly(w, &m->input.message, &t);
    for (unsigned copy = again ? 0 : 1; copy < 2; copy++)
        fprintf(out, "%s %u > %u %s\n", copy == 0 ? "duplicate" : "deliver", id[m->input.from],
                id[m->rank], t.bytes);
}

static void write_step(const struct history *h, size_t i, struct world *w, FILE *out)
{
    const struct moment *m = &h->moment[i];
    enum elect_event event = (enum elect_event)m->input.event;
    unsigned id = h->config.id[m->rank];
    if (event >= ELECT_FIRST_TIMER)
        fprintf(out, "fire %u %s\n", id, elect_event_name(event));
    else if (event >= ELECT_FIRST_MESSAGE)
        write_message(h, i, w, out);
    else
        fprintf(out, "%s %u\n",
                event == ELECT_ALARM     ? "alarm"
                : event == ELECT_STOPPED ? "stopped"
                                         : "suspect",
                id);
}

void history_write(const struct history *h, enum storm_promise promise, struct world *w, FILE *out)
{
    uint64_t now = 0;
    fprintf(out, "# Found by a storm, seed %llu, and made small: %s is broken, %s.\n",
            (unsigned long long)h->seed, storm_promise_name(promise), storm_promise_text(promise));
    write_settings(h, out);
    for (size_t i = 0; i < h->count; i++) {
        if (h->moment[i].time != now)
            fprintf(out, "wait %llu\n", (unsigned long long)(now = h->moment[i].time));
        if (h->moment[i].is_fault)
            write_fault(h, &h->moment[i].fault, out);
        else
            write_step(h, i, w, out);
    }
    fprintf(out, "check %s\n", property_name(h->broken));
}
