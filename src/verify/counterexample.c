/* Counterexamples of elections without a mandate; the settings of all. */
#include "counterexample.h"

#include "../model/narrate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned id(const struct counterexample *w, unsigned rank)
{
    return counterexample_id(w, rank);
}

static void write_ids(const struct counterexample *w, elect_set set)
{
    for (; set != 0; set &= set - 1)
        fprintf(w->out, " %u", id(w, (unsigned)__builtin_ctzll(set)));
}

static void write_settings(const struct counterexample *w, const struct question *q)
{
    const struct elect_config *c = &q->config;
    fprintf(w->out, "algorithm %s\nprocesses",
            elect_algorithm_name((enum elect_algorithm)c->algorithm));
    for (unsigned place = 0; place < c->n; place++)
        fprintf(w->out, " %u", id(w, c->ring[place]));
    if (q->down != 0) {
        fputs("\ndown", w->out);
        write_ids(w, q->down);
    }
    if (q->leader == ELECT_NOBODY)
        fputs("\nleader none", w->out);
    else
        fprintf(w->out, "\nleader %u", id(w, q->leader));
    if (c->announce == ELECT_ANNOUNCE_ALL)
        fputs("\nannounce all", w->out);
    if (c->tell_lower)
        fputs("\ntell-lower on", w->out);
    if (c->form == ELECT_MULTICAST)
        fputs("\nform multicast", w->out);
    if (c->reliable)
        fputs("\nacks off", w->out);
    if (c->detector && c->mandate == ELECT_NO_MANDATE)
        fputs("\ndetector on", w->out);
    fputc('\n', w->out);
    if (c->mandate == ELECT_MAJORITY)
        counterexample_mandate_settings(w);
}

static void write_message(const struct counterexample *w, const char *verb, unsigned from,
                          unsigned to, const struct elect_message *m)
{
    struct text t;
    text_clear(&t);
    narrate_message(&w->world, m, &t);
    fprintf(w->out, "%s %u > %u %s\n", verb, id(w, from), id(w, to), t.bytes);
}

/* The oldest message in flight with this content. */
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

/* What goes to the dead, or across a cut, is lost at once. */
static void clear_the_way(struct counterexample *w)
{
    struct happening h;
    for (uint32_t i = 0; i < w->world.flights;) {
        const struct flight f = w->world.flight[i];
        if (world_up(&w->world, f.to) && (w->world.cut[f.from] >> f.to & 1) == 0) {
            i++;
            continue;
        }
        write_message(w, "lose", f.from, f.to, &f.message);
        world_lose(&w->world, i, &h);
        i = 0;
    }
}

static void write_flight(struct counterexample *w, struct space *s, const struct move *m)
{
    static const char *const verbs[] = {
        [MOVE_DELIVER] = "deliver", [MOVE_LOSE] = "lose", [MOVE_DUPLICATE] = "duplicate"};
    struct elect_message message;
    struct happening h;
    space_message(s, m->message, &message);
    uint32_t flight = find(&w->world, m->from, m->process, &message);
    write_message(w, verbs[m->kind], m->from, m->process, &message);
    if (flight == WORLD_MAX_FLIGHTS)
        return; /* the replay will say so */
    if (m->kind == MOVE_DELIVER)
        world_deliver(&w->world, flight, &h);
    else if (m->kind == MOVE_LOSE)
        world_lose(&w->world, flight, &h);
    else
        world_duplicate(&w->world, flight);
}

/* The leader's heartbeat reaches one process; the others have no use for it. */
static void write_hear(struct counterexample *w, const struct move *m)
{
    struct happening h;
    fprintf(w->out, "fire %u heartbeat\n", id(w, m->from));
    world_fire(&w->world, m->from, ELECT_HEARTBEAT_TIMER, &h);
    for (uint8_t to = 0; to < w->world.config.n; to++) {
        uint32_t flight = world_find(&w->world, m->from, to, ELECT_HEARTBEAT);
        if (flight == WORLD_MAX_FLIGHTS)
            continue;
        fprintf(w->out, "%s %u > %u HEARTBEAT\n", to == m->process ? "deliver" : "lose",
                id(w, m->from), id(w, to));
        if (to == m->process)
            world_deliver(&w->world, flight, &h);
        else
            world_lose(&w->world, flight, &h);
    }
}

static void write_fault(struct counterexample *w, const struct move *m)
{
    struct fault f = {.rank = m->process};
    struct happening h;
    elect_set everybody = elect_everyone(&w->world.config);
    if (m->kind == MOVE_CRASH || m->kind == MOVE_RECOVER) {
        f.kind = m->kind == MOVE_CRASH ? FAULT_CRASH : FAULT_RECOVER;
        fprintf(w->out, "%s %u\n", f.kind == FAULT_CRASH ? "crash" : "recover", id(w, m->process));
    } else if (m->kind == MOVE_CUT) {
        f = (struct fault){
            .kind = FAULT_CUT, .groups = 2, .group = {m->cut, everybody & ~(elect_set)m->cut}};
        fputs("cut", w->out);
        write_ids(w, f.group[0]);
        fputs(" /", w->out);
        write_ids(w, f.group[1]);
        fputc('\n', w->out);
    } else {
        f.kind = FAULT_HEAL;
        fputs("heal\n", w->out);
    }
    world_fault(&w->world, &f, &h);
}

static void write_move(struct counterexample *w, struct space *s, const struct move *m)
{
    struct happening h;
    switch ((enum move_kind)m->kind) {
    case MOVE_BEGIN:
    case MOVE_SUSPECT:
        fprintf(w->out, "suspect %u\n", id(w, m->process));
        world_suspect(&w->world, m->process, &h);
        break;
    case MOVE_TIMEOUT:
        fprintf(w->out, "fire %u %s\n", id(w, m->process),
                elect_event_name((enum elect_event)m->timer));
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
    case MOVE_TICK: return; /* of a mandate */
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

char *counterexample_script(struct space *s, const struct outcome_of_exploration *o)
{
    struct counterexample *w = calloc(1, sizeof *w);
    struct question q = s->question;
    struct weather weather = {.delay_min = 1, .delay_max = 1};
    char *text = NULL;
    size_t length;
    if (w == NULL || (w->out = open_memstream(&text, &length)) == NULL) {
        free(w);
        return NULL;
    }
    bool mandate = q.config.mandate == ELECT_MAJORITY;
    w->space = s;
    q.config.detector = mandate || hears(o);
    world_init(&w->world, &q.config, &weather, 1, q.leader);
    for (elect_set rest = q.down; rest != 0; rest &= rest - 1)
        world_down(&w->world, (uint8_t)__builtin_ctzll(rest));
    fprintf(w->out, "# Found by elect verify: %s.\n# Violates %s in %u moves%s.\n",
            property_text(o->worst), property_name(o->worst), o->moves - o->after,
            o->loop > 0 ? ", for what follows the mark can be repeated for ever" : "");
    write_settings(w, &q);
    for (unsigned i = 0; i < q.beginners; i++)
        write_move(w, s, &(struct move){.kind = MOVE_BEGIN, .process = q.beginner[i]});
    for (unsigned i = 0; i < o->moves; i++) {
        if (i + o->after == o->moves && o->worst == PROPERTY_EVENTUALLY)
            fputs("# no agreement from here on, whatever happens; for example:\n", w->out);
        if (i + o->loop == o->moves)
            fputs("mark\n", w->out);
        if (mandate)
            counterexample_mandate_move(w, &o->move[i], &o->row[i], &o->row[i + 1]);
        else
            write_move(w, s, &o->move[i]);
    }
    fprintf(w->out, "check %s\n", property_name(o->worst));
    fclose(w->out);
    free(w);
    return text;
}
