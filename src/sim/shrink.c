/* See shrink.h. A moment is a step or a fault of the recorded trace. A trial replays some of the
 * moments in a separate world to see if the violation still happens. Moments are left out first in
 * large chunks, then one by one. */
#include "shrink.h"

#include "../base/output.h"
#include "../model/narrate.h"
#include "../model/scenario_write.h"

#include <stdlib.h>
#include <string.h>

#define MOST_MOMENTS 600000
#define MOST_STEPS   100000000 /* for all trials together */

/* ---- recording ---- */

/* Some faults only affect which messages arrive and when. The trace records every arrival, so it
 * does not need them. */
static bool matters(enum fault_kind kind)
{
    return kind != FAULT_CUT && kind != FAULT_ONE_WAY && kind != FAULT_HEAL &&
           kind != FAULT_STALL && kind != FAULT_CALM;
}

void shrink_note(void *context, const struct world *w, const struct happening *happening)
{
    struct shrink_trace *trace = context;
    bool fault = happening->what == HAPPENED_FAULT;
    if ((happening->what != HAPPENED_STEP && !fault) ||
        (fault && !matters((enum fault_kind)happening->fault.kind)))
        return;
    if (trace->count == trace->room) {
        size_t room = 2 * trace->room + 1024;
        struct moment *more =
            room > MOST_MOMENTS ? NULL : realloc(trace->moment, room * sizeof *more);
        trace->too_long = trace->too_long || more == NULL;
        if (trace->too_long)
            return;
        trace->moment = more;
        trace->room = room;
    }
    trace->moment[trace->count++] = (struct moment){.time = w->now,
                                                    .is_fault = fault,
                                                    .rank = happening->rank,
                                                    .input = happening->input,
                                                    .fault = happening->fault};
}

void shrink_free(struct shrink_trace *trace) { free(trace->moment); }

/* ---- playing the kept moments ---- */

/*
 * The latest messages of one type from one process to another. Terms and rounds change when earlier
 * steps are left out, so a message is identified by its age: the number of later messages of the
 * same type, sender and receiver.
 */
struct mail {
    uint32_t count;
    struct elect_message last[];
};

struct post {
    unsigned n, remembers;
    struct mail **mail; /* by sender, receiver and type; NULL until first used */
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

/* Messages sent to a process before its readmission can no longer arrive. */
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

static uint32_t age_of(const struct post *p, const struct moment *m)
{
    struct moment known = *m;
    const struct elect_message *found;
    for (known.age = 0; (found = by_age(p, &known)) != NULL; known.age++)
        if (memcmp(found, &m->input.message, sizeof *found) == 0)
            break;
    return known.age;
}

/* Replays a moment. Returns false if it is impossible in this world. */
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

/* Returns the violated property, or PROPERTY_COUNT if the promise holds. */
static enum property breaks(const struct world *w, enum storm_promise promise)
{
    static const struct {
        enum storm_promise promise;
        enum property property;
    } words[] = {
        {STORM_P1, PROPERTY_ONE_PER_TERM},  {STORM_P2, PROPERTY_RISING_GRANTS},
        {STORM_P2, PROPERTY_RISING_TOKENS}, {STORM_P3, PROPERTY_ONE_LEADER},
        {STORM_P3, PROPERTY_RELEASED_LAST}, {STORM_P5, PROPERTY_ORDERED_ONCE},
    };
    struct violation v;
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i].promise == promise && property_broken(w, words[i].property, &v))
            return words[i].property;
    return PROPERTY_COUNT;
}

struct trial {
    struct shrink_trace *trace;
    enum storm_promise promise;
    struct world *w;
    struct post post;
    bool *kept;
    uint64_t steps;
    size_t end; /* index after the moment of the violation */
    bool first; /* the complete trace is played: record the ages */
    bool last;  /* the shrunk trace is played: look messages up by age */
};

static void note_message(struct trial *t, struct moment *m)
{
    const struct elect_message *message;
    bool is_message =
        !m->is_fault && m->input.event >= ELECT_FIRST_MESSAGE && m->input.event < ELECT_FIRST_TIMER;
    if (is_message && t->first)
        m->age = age_of(&t->post, m);
    if (is_message && t->last && (message = by_age(&t->post, m)) != NULL)
        m->input.message = *message;
}

/* Plays the kept moments at their times and drops those that have become impossible. Returns true
 * if the promise is broken. */
static bool try(struct trial *t)
{
    struct weather weather = {.delay_min = 1, .delay_max = 1};
    struct happening h;
    world_init(t->w, &t->trace->config, &weather, t->trace->seed, ELECT_NOBODY);
    clear_post(&t->post);
    for (size_t i = 0; i < t->trace->count; i++) {
        struct moment *m = &t->trace->moment[i];
        if (!t->kept[i])
            continue;
        t->steps++;
        t->w->now = m->time;
        note_message(t, m);
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

static void advance(struct shrink_trace *trace, size_t from, uint64_t by)
{
    for (size_t i = from; i < trace->count; i++)
        trace->moment[i].time -= by;
}

/* Drops the moments from `at` up to `end` if the promise is broken without them, too. */
static bool without(struct trial *t, bool *before, size_t at, size_t end)
{
    size_t n = t->trace->count;
    memcpy(before, t->kept, n * sizeof *before);
    memset(t->kept + at, 0, (end - at) * sizeof *t->kept);
    if (try(t)) {
        memset(t->kept + t->end, 0, (n - t->end) * sizeof *t->kept);
        return true;
    }
    memcpy(t->kept, before, n * sizeof *before);
    return false;
}

/* Tries twice to leave out each chunk: first with all later moments earlier by the chunk's
 * duration, then with their times unchanged. */
static void leave_out(struct trial *t, bool *before, size_t chunk, const volatile int *interrupted)
{
    struct shrink_trace *trace = t->trace;
    for (size_t at = 0; at < trace->count; at += chunk) {
        size_t end = at + chunk < trace->count ? at + chunk : trace->count, there = 0;
        uint64_t took = end < trace->count ? trace->moment[end].time - trace->moment[at].time : 0;
        for (size_t i = at; i < end; i++)
            there += t->kept[i];
        if (there == 0)
            continue;
        if (t->steps > MOST_STEPS || (interrupted != NULL && *interrupted))
            return;
        advance(trace, end, took);
        if (took > 0 && without(t, before, at, end))
            continue;
        advance(trace, end, (uint64_t)0 - took);
        without(t, before, at, end);
    }
}

static void keep_only(struct shrink_trace *trace, const bool *kept)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->count; i++)
        if (kept[i])
            trace->moment[count++] = trace->moment[i];
    trace->count = count;
}

static void leave_out_all(struct trial *t, bool *before, size_t chunk,
                          const volatile int *interrupted)
{
    memset(t->kept, true, t->trace->count);
    leave_out(t, before, chunk, interrupted);
    keep_only(t->trace, t->kept);
}

/* Plays the shrunk trace exactly as the scenario will have it, with `from` as time 0. */
static bool try_last(struct trial *t, uint64_t from)
{
    t->last = true;
    advance(t->trace, 0, from);
    memset(t->kept, true, t->trace->count);
    if (try(t))
        return true;
    advance(t->trace, 0, (uint64_t)0 - from);
    return false;
}

static bool shrink(struct trial *t, bool *before, const volatile int *interrupted)
{
    struct shrink_trace *trace = t->trace;
    memset(t->kept, true, trace->count);
    t->first = true;
    if (!try(t))
        return false;
    t->first = false;
    memset(t->kept + t->end, 0, trace->count - t->end);
    keep_only(trace, t->kept);
    for (size_t more = trace->count + 1; more > trace->count;) {
        more = trace->count;
        for (size_t chunk = (trace->count + 1) / 2; chunk > 0; chunk /= 2)
            leave_out_all(t, before, chunk, interrupted);
    }
    bool fine = try_last(t, trace->count > 0 ? trace->moment[0].time : 0) || try_last(t, 0);
    trace->broken = breaks(t->w, t->promise);
    return fine;
}

bool shrink_reduce(struct shrink_trace *trace, enum storm_promise promise, struct world *w,
                   const volatile int *interrupted)
{
    struct trial t = {.trace = trace,
                      .promise = promise,
                      .w = w,
                      .post = {trace->config.n, 16384 / trace->config.n, NULL}};
    size_t mails = (size_t)t.post.n * t.post.n * ELECT_EVENT_COUNT;
    bool *before = calloc(trace->count + 1, sizeof *before);
    t.kept = calloc(trace->count + 1, sizeof *t.kept);
    t.post.mail = calloc(mails, sizeof *t.post.mail);
    bool fine = !trace->too_long && promise != STORM_P4 && before != NULL && t.kept != NULL &&
                t.post.mail != NULL && shrink(&t, before, interrupted);
    for (size_t i = 0; i < mails && t.post.mail != NULL; i++)
        free(t.post.mail[i]);
    free(t.post.mail);
    free(before);
    free(t.kept);
    return fine;
}

/* ---- writing the scenario ---- */

static void write_settings(const struct scenario_writer *w, const struct shrink_trace *t)
{
    const struct elect_config *c = &t->config;
    scenario_write_setting(w, SETTING_ALGORITHM,
                           elect_algorithm_name((enum elect_algorithm)c->algorithm));
    scenario_write_ring(w, c);
    scenario_write_setting(w, SETTING_MANDATE, "majority");
    scenario_write_number(w, SETTING_LEASE, c->lease);
    scenario_write_number(w, SETTING_RENEWAL, c->renewal);
    scenario_write_drift(w, c->drift);
    scenario_write_number(w, SETTING_DELAY, (c->answer_bound - c->processing_bound) / 2);
    if (c->processing_bound > 0)
        scenario_write_number(w, SETTING_PROCESSING, c->processing_bound);
    scenario_write_set(w, SETTING_WITNESSES, c->voters & ~c->members);
    scenario_write_set(w, SETTING_OBSERVERS, elect_everyone(c) & ~c->voters);
    scenario_write_number(w, SETTING_SEED, t->seed);
}

static bool same_message(const struct moment *a, const struct moment *b)
{
    return !a->is_fault && !b->is_fault && a->rank == b->rank && a->input.event == b->input.event &&
           a->input.from == b->input.from &&
           memcmp(&a->input.message, &b->input.message, sizeof a->input.message) == 0;
}

/* If the trace delivers the same message again later, the message is duplicated first. */
static void write_message(const struct scenario_writer *w, const struct shrink_trace *trace,
                          size_t i, const struct world *world)
{
    const struct moment *m = &trace->moment[i];
    struct text t;
    bool again = false;
    for (size_t j = i + 1; j < trace->count; j++)
        again = again || same_message(m, &trace->moment[j]);
    text_clear(&t);
    narrate_exactly(world, &m->input.message, &t);
    if (again)
        scenario_write_message(w, VERB_DUPLICATE, m->input.from, m->rank, t.bytes);
    scenario_write_message(w, VERB_DELIVER, m->input.from, m->rank, t.bytes);
}

static void write_moment(const struct scenario_writer *w, const struct shrink_trace *t, size_t i,
                         const struct world *world)
{
    const struct moment *m = &t->moment[i];
    enum elect_event event = (enum elect_event)m->input.event;
    if (m->is_fault)
        scenario_write_fault(w, &m->fault);
    else if (event >= ELECT_FIRST_TIMER)
        scenario_write_fire(w, m->rank, event);
    else if (event >= ELECT_FIRST_MESSAGE)
        write_message(w, t, i, world);
    else
        scenario_write_verb(w,
                            event == ELECT_ALARM     ? VERB_ALARM
                            : event == ELECT_STOPPED ? VERB_STOPPED
                                                     : VERB_SUSPECT,
                            m->rank);
}

static void write_head(const struct scenario_writer *w, const struct shrink_trace *trace,
                       enum storm_promise promise)
{
    struct text t;
    text_clear(&t);
    text_add(&t, "Found by a storm, seed ");
    text_add_number(&t, trace->seed);
    text_add(&t, ", and shrunk: violates ");
    text_add(&t, storm_promise_name(promise));
    text_add(&t, ", ");
    text_add(&t, storm_promise_text(promise));
    text_add(&t, ".");
    scenario_write_comment(w, t.bytes);
}

void shrink_write(const struct shrink_trace *t, enum storm_promise promise,
                  const struct world *world, FILE *out)
{
    const struct scenario_writer w = {t->config.id, ' ', output_line, out};
    uint64_t now = 0;
    write_head(&w, t, promise);
    write_settings(&w, t);
    for (size_t i = 0; i < t->count; i++) {
        if (t->moment[i].time != now)
            scenario_write_wait(&w, now = t->moment[i].time);
        write_moment(&w, t, i, world);
    }
    scenario_write_check(&w, t->broken);
}
