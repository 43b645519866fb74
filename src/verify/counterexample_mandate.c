/*
 * Counterexamples under a mandate. The search takes some inputs for granted, for example that all
 * voters agree or that a time has been reached; the scenario forces them with extra steps. It also
 * contains events that the search leaves out because they only make further steps possible, such as
 * the end of a lease.
 */
#include "counterexample.h"

#include "../model/narrate.h"

static bool waits(const struct counterexample *w, uint8_t rank, enum elect_time_name name)
{
    return w->world.node[rank].mandate.time[name] != ELECT_UNSET;
}

static void write_due(struct counterexample *w, uint8_t rank, enum elect_time_name name)
{
    counterexample_fault(w, &(struct fault){.kind = FAULT_DUE, .rank = rank, .amount = name});
}

/* If clocks may be arbitrarily wrong, the search lets a voter grant at any time. The scenario ends
 * the voter's lease and guard first. */
static void write_no_lease(struct counterexample *w, uint8_t rank)
{
    if (w->space->question.clocks != CLOCKS_ANY)
        return;
    if (waits(w, rank, ELECT_EXPIRES))
        write_due(w, rank, ELECT_EXPIRES);
    if (waits(w, rank, ELECT_GUARD))
        write_due(w, rank, ELECT_GUARD);
}

/* In the search, a leader notices the end of its term at once. */
static void write_ends(struct counterexample *w)
{
    for (uint8_t rank = 0; rank < w->world.config.n; rank++) {
        const struct elect_mandate *m = &w->world.node[rank].mandate;
        if (m->leader.token != 0 && !world_in_office(&w->world, rank))
            write_due(w, rank, ELECT_UNTIL);
    }
}

/* ---- messages ---- */

/* The search numbers the rounds of each term from 2; the world numbers all rounds of an incarnation
 * in one sequence. Counts the earlier rounds of the term, all of which are still in flight because
 * delivered messages stay there. */
static bool is_nth_round(const struct world *w, const struct elect_message *m, unsigned nth)
{
    uint64_t earlier = 0;
    for (uint32_t i = 0; i < w->flights; i++) {
        const struct elect_message *other = &w->flight[i].message;
        if (other->type == m->type && other->term == m->term &&
            other->incarnation == m->incarnation && other->round < m->round)
            earlier |= UINT64_C(1) << (other->round % 64);
    }
    return (unsigned)__builtin_popcountll(earlier) == nth;
}

static unsigned nth_round(const struct counterexample *w, const struct elect_message *m)
{
    unsigned rounds = w->space->question.max_rounds;
    unsigned nth = m->round - 2 - (m->round > rounds + 1 ? rounds + 1 : 0);
    /* If the membership may change, the first round of each term counts as lost. */
    bool lost = w->space->question.max_changes > 0 && nth > 0;
    return nth + lost;
}

static uint32_t find(const struct counterexample *w, unsigned from, unsigned to,
                     const struct elect_message *m)
{
    const struct world *world = &w->world;
    for (uint32_t i = 0; i < world->flights; i++) {
        const struct flight *f = &world->flight[i];
        if (f->from == from && f->to == to && f->message.type == m->type &&
            f->message.term == m->term && f->message.incarnation == m->incarnation &&
            (m->type == ELECT_RELEASE || m->type == ELECT_HAND ||
             is_nth_round(world, &f->message, nth_round(w, m))))
            return i;
    }
    return WORLD_MAX_FLIGHTS;
}

/* The original stays in flight because it may arrive again. */
static void write_delivery(struct counterexample *w, unsigned from, unsigned to,
                           const struct elect_message *m)
{
    struct happening h;
    struct text t;
    uint32_t flight = find(w, from, to, m);
    text_clear(&t);
    narrate_exactly(&w->world, flight < WORLD_MAX_FLIGHTS ? &w->world.flight[flight].message : m,
                    &t);
    scenario_write_message(&w->writer, VERB_DUPLICATE, from, to, t.bytes);
    scenario_write_message(&w->writer, VERB_DELIVER, from, to, t.bytes);
    if (flight == WORLD_MAX_FLIGHTS)
        return; /* reported by the replay */
    world_duplicate(&w->world, flight);
    world_deliver(&w->world, flight, &h);
}

static void write_message(struct counterexample *w, const struct move *m)
{
    struct elect_message message;
    space_message(w->space, m->message, &message);
    if (m->kind == MOVE_DELIVER) {
        write_no_lease(w, m->process);
        write_delivery(w, m->from, m->process, &message);
        return;
    }
    for (unsigned from = 0; from < w->world.config.n; from++)
        if (m->cut >> from & 1)
            for (unsigned twice = 0; twice < 2; twice++)
                write_delivery(w, from, m->process, &message);
}

/* ---- elections ---- */

static void write_assent(struct counterexample *w, uint8_t rank)
{
    struct happening h;
    if (w->world.node[rank].mandate.candidate.stage != ELECT_PREVOTING)
        return;
    scenario_write_verb(&w->writer, VERB_ASSENT, rank);
    for (uint8_t from = 0; from < w->world.config.n; from++)
        world_assent(&w->world, rank, from, &h);
}

static void write_win(struct counterexample *w, const struct move *m)
{
    const struct elect_node *node = &w->world.node[m->process];
    struct fault heard = {.kind = FAULT_HEARS, .rank = m->process, .amount = m->timer};
    struct happening h;
    write_no_lease(w, m->process);
    if (m->timer > 0)
        scenario_write_fault(&w->writer, &heard);
    world_fault(&w->world, &heard, &h);
    if (node->mandate.candidate.stage == ELECT_NO_CANDIDATE)
        counterexample_fault(w, &(struct fault){.kind = FAULT_WIN, .rank = m->process});
    write_assent(w, m->process);
}

static void write_refusal(struct counterexample *w, const struct move *m)
{
    bool stale = m->kind == MOVE_STALE;
    struct happening h;
    scenario_write_refuse(&w->writer, m->process, stale ? SCENARIO_STALE : SCENARIO_CLOSED,
                          m->timer);
    world_refuse(&w->world, m->process, stale ? ELECT_REFUSED_STALE : ELECT_REFUSED_CLOSED,
                 m->timer, &h);
    write_no_lease(w, m->process);
    write_assent(w, m->process);
}

static void write_restart(struct counterexample *w, uint8_t rank, enum fault_kind how)
{
    counterexample_fault(w, &(struct fault){.kind = (uint8_t)how, .rank = rank});
    counterexample_fault(w, &(struct fault){.kind = FAULT_RECOVER, .rank = rank});
}

static void write_resignation(struct counterexample *w, const struct move *m)
{
    unsigned to = w->world.config.id[m->timer];
    counterexample_fault(w,
                         &(struct fault){.kind = FAULT_TRANSFER, .rank = m->process, .amount = to});
}

/* The step names only the process to add or remove. The replay finds the leader itself. */
static void write_change(struct counterexample *w, const struct move *m)
{
    const struct elect_membership *now = &w->world.node[m->process].saved.membership;
    enum fault_kind kind = now->voters >> m->timer & 1 ? FAULT_REMOVE : FAULT_ADD;
    if (waits(w, m->process, ELECT_NEXT_CHANGE))
        write_due(w, m->process, ELECT_NEXT_CHANGE);
    counterexample_fault(w, &(struct fault){.kind = (uint8_t)kind, .rank = m->timer});
}

static void write_stopped(struct counterexample *w, uint8_t rank)
{
    struct happening h;
    scenario_write_verb(&w->writer, VERB_STOPPED, rank);
    world_stopped(&w->world, rank, &h);
}

/* ---- time ---- */

static bool ended(struct counterexample *w, uint8_t rank, enum elect_time_name name,
                  const struct row *before, const struct row *after)
{
    struct elect_node was, is;
    space_node(w->space, before->seat[rank], &was);
    space_node(w->space, after->seat[rank], &is);
    return was.mandate.time[name] != ELECT_UNSET && is.mandate.time[name] == ELECT_UNSET &&
           waits(w, rank, name);
}

/* Moves all clocks by one tick of a slow clock. Voters' clocks are faster in the search, so the
 * leases and guards that ended there are ended here, too. */
static void write_tick(struct counterexample *w, const struct row *before, const struct row *after)
{
    uint32_t slow = w->space->question.slow;
    for (uint8_t rank = 0; rank < w->world.config.n; rank++)
        counterexample_fault(w, &(struct fault){.kind = FAULT_TICK, .rank = rank, .amount = slow});
    for (uint8_t rank = 0; rank < w->world.config.n; rank++) {
        if (ended(w, rank, ELECT_EXPIRES, before, after))
            write_due(w, rank, ELECT_EXPIRES);
        if (ended(w, rank, ELECT_GUARD, before, after))
            write_due(w, rank, ELECT_GUARD);
    }
}

void counterexample_mandate_move(struct counterexample *w, const struct move *m,
                                 const struct row *before, const struct row *after)
{
    if (m->kind == MOVE_DELIVER || m->kind == MOVE_GRANTS)
        write_message(w, m);
    else if (m->kind == MOVE_WIN)
        write_win(w, m);
    else if (m->kind == MOVE_STALE || m->kind == MOVE_CLOSED)
        write_refusal(w, m);
    else if (m->kind == MOVE_DUE)
        write_due(w, m->process, (enum elect_time_name)m->timer);
    else if (m->kind == MOVE_RESTART || m->kind == MOVE_TESTAMENT)
        write_restart(w, m->process, m->kind == MOVE_TESTAMENT ? FAULT_TESTAMENT : FAULT_CRASH);
    else if (m->kind == MOVE_RESIGN)
        write_resignation(w, m);
    else if (m->kind == MOVE_CHANGE)
        write_change(w, m);
    else if (m->kind == MOVE_STOPPED)
        write_stopped(w, m->process);
    else
        write_tick(w, before, after);
    write_ends(w);
}

void counterexample_mandate_settings(const struct counterexample *w)
{
    const struct scenario_writer *s = &w->writer;
    const struct elect_config *c = &w->world.config;
    scenario_write_setting(s, SETTING_MANDATE, "majority");
    scenario_write_setting(s, SETTING_STABILITY, "off");
    scenario_write_number(s, SETTING_LEASE, c->lease);
    scenario_write_number(s, SETTING_RENEWAL, c->renewal);
    scenario_write_drift(s, c->drift);
    scenario_write_set(s, SETTING_WITNESSES, c->voters & ~c->members);
    scenario_write_set(s, SETTING_OBSERVERS, elect_everyone(c) & ~c->voters);
}
