/* Counterexamples without a mandate, and the settings of all counterexamples. */
#include "counterexample.h"

#include "../base/output.h"
#include "../model/narrate.h"

#include <stdlib.h>
#include <string.h>

static void write_leader(const struct scenario_writer *s, const struct question *q)
{
    if (q->leader == ELECT_NOBODY)
        scenario_write_setting(s, SETTING_LEADER, "none");
    else
        scenario_write_number(s, SETTING_LEADER, s->id[q->leader]);
}

static void write_settings(const struct counterexample *w, const struct question *q)
{
    const struct scenario_writer *s = &w->writer;
    const struct elect_config *c = &q->config;
    scenario_write_setting(s, SETTING_ALGORITHM,
                           elect_algorithm_name((enum elect_algorithm)c->algorithm));
    scenario_write_ring(s, c);
    scenario_write_set(s, SETTING_DOWN, q->down);
    write_leader(s, q);
    if (c->announce == ELECT_ANNOUNCE_ALL)
        scenario_write_setting(s, SETTING_ANNOUNCE, "all");
    if (c->tell_lower)
        scenario_write_setting(s, SETTING_TELL_LOWER, "on");
    if (c->form == ELECT_MULTICAST)
        scenario_write_setting(s, SETTING_FORM, "multicast");
    if (c->reliable)
        scenario_write_setting(s, SETTING_ACKS, "off");
    if (c->detector && c->mandate == ELECT_NO_MANDATE)
        scenario_write_setting(s, SETTING_DETECTOR, "on");
    if (c->mandate == ELECT_MAJORITY)
        counterexample_mandate_settings(w);
}

void counterexample_fault(struct counterexample *w, const struct fault *f)
{
    struct happening h;
    scenario_write_fault(&w->writer, f);
    world_fault(&w->world, f, &h);
}

static void write_message(const struct counterexample *w, enum scenario_verb verb, unsigned from,
                          unsigned to, const struct elect_message *m)
{
    struct text t;
    text_clear(&t);
    narrate_message(&w->world, m, &t);
    scenario_write_message(&w->writer, verb, from, to, t.bytes);
}

static uint32_t find(const struct world *w, unsigned from, unsigned to,
                     const struct elect_message *m)
{
    uint32_t found = WORLD_MAX_FLIGHTS;
    for (uint32_t i = 0; i < w->flights; i++) {
        const struct flight *f = &w->flight[i];
        if (f->from == from && f->to == to && memcmp(&f->message, m, sizeof *m) == 0 &&
            (found == WORLD_MAX_FLIGHTS || f->order < w->flight[found].order))
            found = i;
    }
    return found;
}

/* Removes messages to processes that are down or across a cut. The search loses them at once. */
static void clear_the_way(struct counterexample *w)
{
    struct happening h;
    for (uint32_t i = 0; i < w->world.flights;) {
        const struct flight f = w->world.flight[i];
        if (world_up(&w->world, f.to) && (w->world.cut[f.from] >> f.to & 1) == 0) {
            i++;
            continue;
        }
        write_message(w, VERB_LOSE, f.from, f.to, &f.message);
        world_lose(&w->world, i, &h);
        i = 0;
    }
}

static void write_flight(struct counterexample *w, struct space *s, const struct move *m)
{
    static const enum scenario_verb verbs[] = {
        [MOVE_DELIVER] = VERB_DELIVER, [MOVE_LOSE] = VERB_LOSE, [MOVE_DUPLICATE] = VERB_DUPLICATE};
    struct elect_message message;
    struct happening h;
    space_message(s, m->message, &message);
    uint32_t flight = find(&w->world, m->from, m->process, &message);
    write_message(w, verbs[m->kind], m->from, m->process, &message);
    if (flight == WORLD_MAX_FLIGHTS)
        return; /* reported by the replay */
    if (m->kind == MOVE_DELIVER)
        world_deliver(&w->world, flight, &h);
    else if (m->kind == MOVE_LOSE)
        world_lose(&w->world, flight, &h);
    else
        world_duplicate(&w->world, flight);
}

/* The process receives a heartbeat; copies to other processes are lost. */
static void write_hear(struct counterexample *w, const struct move *m)
{
    struct happening h;
    scenario_write_fire(&w->writer, m->from, ELECT_HEARTBEAT_TIMER);
    world_fire(&w->world, m->from, ELECT_HEARTBEAT_TIMER, &h);
    for (uint8_t to = 0; to < w->world.config.n; to++) {
        uint32_t flight = world_find(&w->world, m->from, to, ELECT_HEARTBEAT);
        if (flight == WORLD_MAX_FLIGHTS)
            continue;
        scenario_write_message(&w->writer, to == m->process ? VERB_DELIVER : VERB_LOSE, m->from, to,
                               elect_event_name(ELECT_HEARTBEAT));
        if (to == m->process)
            world_deliver(&w->world, flight, &h);
        else
            world_lose(&w->world, flight, &h);
    }
}

static void write_fault(struct counterexample *w, const struct move *m)
{
    elect_set all = elect_everyone(&w->world.config);
    struct fault f = {.kind = FAULT_HEAL, .rank = m->process};
    if (m->kind == MOVE_CRASH || m->kind == MOVE_RECOVER)
        f.kind = m->kind == MOVE_CRASH ? FAULT_CRASH : FAULT_RECOVER;
    else if (m->kind == MOVE_CUT)
        f = (struct fault){
            .kind = FAULT_CUT, .parts = 2, .part = {m->cut, all & ~(elect_set)m->cut}};
    counterexample_fault(w, &f);
}

static void write_move(struct counterexample *w, struct space *s, const struct move *m)
{
    struct happening h;
    switch ((enum move_kind)m->kind) {
    case MOVE_BEGIN:
    case MOVE_SUSPECT:
        scenario_write_verb(&w->writer, VERB_SUSPECT, m->process);
        world_suspect(&w->world, m->process, &h);
        break;
    case MOVE_TIMEOUT:
        scenario_write_fire(&w->writer, m->process, (enum elect_event)m->timer);
        world_fire(&w->world, m->process, (enum elect_event)m->timer, &h);
        break;
    case MOVE_DELIVER:
    case MOVE_LOSE:
    case MOVE_DUPLICATE: write_flight(w, s, m); break;
    case MOVE_HEAR: write_hear(w, m); break;
    case MOVE_CRASH:
    case MOVE_RECOVER:
    case MOVE_CUT:
    case MOVE_HEAL: write_fault(w, m); break;
    case MOVE_GRANTS:
    case MOVE_WIN:
    case MOVE_STALE:
    case MOVE_CLOSED:
    case MOVE_STOPPED:
    case MOVE_DUE:
    case MOVE_RESTART:
    case MOVE_TESTAMENT:
    case MOVE_RESIGN:
    case MOVE_CHANGE:
    case MOVE_TICK: return; /* only under a mandate */
    }
    clear_the_way(w);
}

static bool hears(const struct outcome_of_exploration *o)
{
    for (unsigned i = 0; i < o->moves; i++)
        if (o->move[i].kind == MOVE_HEAR)
            return true;
    return false;
}

static void write_head(const struct counterexample *w, const struct outcome_of_exploration *o)
{
    struct text t;
    text_clear(&t);
    text_add(&t, "Found by elect verify: ");
    text_add(&t, property_text(o->worst));
    text_add(&t, ".");
    scenario_write_comment(&w->writer, t.bytes);
    text_clear(&t);
    text_add(&t, "Violates ");
    text_add(&t, property_name(o->worst));
    text_add(&t, " in ");
    text_add_number(&t, o->moves - o->after);
    text_add(&t, " moves");
    text_add(&t, o->loop > 0 ? ", because the moves after the mark can be repeated forever." : ".");
    scenario_write_comment(&w->writer, t.bytes);
}

static void write_moves(struct counterexample *w, const struct outcome_of_exploration *o)
{
    struct space *s = w->space;
    const struct question *q = &s->question;
    for (unsigned i = 0; i < q->beginners; i++)
        write_move(w, s, &(struct move){.kind = MOVE_BEGIN, .process = q->beginner[i]});
    for (unsigned i = 0; i < o->moves; i++) {
        if (i + o->after == o->moves && o->worst == PROPERTY_EVENTUALLY)
            scenario_write_comment(
                &w->writer,
                "from here on no agreement is possible, whatever happens; for example:");
        if (i + o->loop == o->moves)
            scenario_write_mark(&w->writer);
        if (q->config.mandate == ELECT_MAJORITY)
            counterexample_mandate_move(w, &o->move[i], &o->row[i], &o->row[i + 1]);
        else
            write_move(w, s, &o->move[i]);
    }
}

static void begin(struct counterexample *w, const struct question *q)
{
    struct weather weather = {.delay_min = 1, .delay_max = 1};
    world_init(&w->world, &q->config, &weather, 1, q->leader);
    for (elect_set rest = q->down; rest != 0; rest &= rest - 1)
        world_down(&w->world, (uint8_t)__builtin_ctzll(rest));
}

char *counterexample_script(struct space *s, const struct outcome_of_exploration *o)
{
    struct counterexample *w = calloc(1, sizeof *w);
    struct question q = s->question;
    char *text = NULL;
    size_t length;
    FILE *out = w != NULL ? open_memstream(&text, &length) : NULL;
    if (out == NULL) {
        free(w);
        return NULL;
    }
    q.config.detector = q.config.mandate == ELECT_MAJORITY || hears(o);
    w->space = s;
    w->writer = (struct scenario_writer){q.config.id, ' ', output_line, out};
    begin(w, &q);
    write_head(w, o);
    write_settings(w, &q);
    write_moves(w, o);
    scenario_write_check(&w->writer, o->worst);
    fclose(out);
    free(w);
    return text;
}
