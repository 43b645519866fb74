/*
 * See narrate.h. The texts for messages and reasons come from src/words, as in the log and the
 * traces of daemons.
 */
#include "narrate.h"

#include "../words/words.h"

#include <string.h>

static struct words words_of(const struct world *w) { return (struct words){.config = &w->config}; }

static void add_id(const struct world *w, uint8_t rank, struct text *t)
{
    struct words words = words_of(w);
    words_id(&words, rank, t);
}

static void add_ids(const struct world *w, elect_set set, struct text *t)
{
    struct words words = words_of(w);
    words_ids(&words, set, t);
}

static void add_time(const struct world *w, struct text *t)
{
    text_add(t, "[");
    text_add_number(t, w->now);
    text_add(t, "] ");
}

const char *narrate_time(enum elect_time_name name)
{
    static const char *const words[] = {
        [ELECT_EXPIRES] = "lease", [ELECT_GUARD] = "guard",        [ELECT_UNTIL] = "office",
        [ELECT_RENEW] = "renewal", [ELECT_GIVE_UP] = "patience",   [ELECT_RETRY] = "retry",
        [ELECT_LOOK] = "look",     [ELECT_BEGIN] = "election",     [ELECT_CLAIM] = "claim",
        [ELECT_DECAY] = "decay",   [ELECT_NEXT_CHANGE] = "change",
    };
    return words[name];
}

void narrate_exactly(const struct world *w, const struct elect_message *m, struct text *t)
{
    struct words words = words_of(w);
    words_exactly(&words, m, t);
}

void narrate_message(const struct world *w, const struct elect_message *m, struct text *t)
{
    struct words words = words_of(w);
    words_message(&words, m, t);
}

void narrate_rule(const struct world *w, const struct happening *h, struct text *t)
{
    struct words words = words_of(w);
    words_rule(&words, h->rank, &h->output.rule, &h->input.message, t);
}

static bool is_message(unsigned event)
{
    return event >= ELECT_FIRST_MESSAGE && event < ELECT_FIRST_TIMER;
}

/* Messages that are sent all the time, even if nothing changes. */
static bool is_housekeeping(const struct elect_message *m)
{
    return m->type == ELECT_ACK || m->type == ELECT_HEARTBEAT || m->type == ELECT_PRESENT ||
           m->type == ELECT_FOLLOWING || (m->type == ELECT_REQUEST && m->leading);
}

static void narrate_step(const struct world *w, const struct happening *h, bool verbose,
                         struct text *t)
{
    if (verbose || !elect_rule_quiet((enum elect_rule_number)h->output.rule.number)) {
        add_time(w, t);
        if (is_message(h->input.event) && (verbose || h->input.event != ELECT_ACK)) {
            add_id(w, h->rank, t);
            text_add(t, " < ");
            add_id(w, h->input.from, t);
            text_add(t, " ");
            narrate_message(w, &h->input.message, t);
            text_add(t, ": ");
        }
        narrate_rule(w, h, t);
        text_add(t, "\n");
    }
    for (unsigned i = 0; i < h->output.sends; i++) {
        const struct elect_send *s = &h->output.send[i];
        bool again = h->output.rule.number == ELECT_RULE_GRANTS_AGAIN;
        if (!verbose && (is_housekeeping(&s->message) || again))
            continue;
        add_time(w, t);
        add_id(w, h->rank, t);
        text_add(t, " > ");
        add_ids(w, s->to, t);
        text_add(t, " ");
        narrate_message(w, &s->message, t);
        text_add(t, "\n");
    }
}

static void narrate_lost(const struct world *w, const struct happening *h, bool verbose,
                         struct text *t)
{
    static const char *const reasons[] = {
        [FATE_LOST_ON_THE_WAY] = " is lost on the way",
        [FATE_LOST_IN_CUT] = " is lost: no link between them",
        [FATE_LOST_AT_THE_DEAD] = " is lost: the receiver is down",
        [FATE_LOST_BY_HAND] = " is lost by hand",
        [FATE_GARBLED] = " is garbled and thrown away",
    };
    if (!verbose && is_housekeeping(&h->input.message))
        return;
    add_time(w, t);
    add_id(w, h->input.from, t);
    text_add(t, " > ");
    add_id(w, h->rank, t);
    text_add(t, " ");
    narrate_message(w, &h->input.message, t);
    text_add(t, reasons[h->fate]);
    text_add(t, "\n");
}

static void narrate_amount(const struct world *w, const struct fault *f, const char *what,
                           const char *unit, struct text *t)
{
    add_id(w, f->rank, t);
    text_add(t, what);
    text_add(t, f->amount < 0 ? "-" : "");
    text_add_number(t, (uint64_t)(f->amount < 0 ? -f->amount : f->amount));
    text_add(t, unit);
}

/* Text for a fault that affects one process and has no amount, otherwise NULL. */
static const char *what_happens(enum fault_kind kind)
{
    static const char *const words[FAULT_KINDS] = {
        [FAULT_CRASH] = " crashes\n",
        [FAULT_RECOVER] = " recovers\n",
        [FAULT_WIN] = " is nominated by hand\n",
        [FAULT_TESTAMENT] = " crashes, and its guardian sends its testament\n",
        [FAULT_RESIGN] = " is told to resign\n",
        [FAULT_ADD] = " is to be added to the membership\n",
        [FAULT_REMOVE] = " is to be removed from the membership\n",
        [FAULT_READMIT] = " comes back without its state\n",
        [FAULT_PAUSE_ELECTIONS] = " is told to pause elections\n",
        [FAULT_RESUME_ELECTIONS] = " is told to resume elections\n",
        [FAULT_ASIDE] = " is told to stand aside\n",
        [FAULT_READY] = " is told to stand ready\n",
        [FAULT_BACKUP] = "'s disk is backed up\n",
        [FAULT_RESTORE] = "'s disk is restored from its backup\n",
        [FAULT_WIPE] = "'s disk is lost\n",
        [FAULT_CLONE] = " is cloned\n",
        [FAULT_SWAP] = "'s clone takes its place\n",
    };
    return words[kind];
}

/* Texts before and after the amount of a fault of one process; NULL if it has no amount. */
static const char *const *what_changes(enum fault_kind kind)
{
    static const char *const words[FAULT_KINDS][2] = {
        [FAULT_STALL] = {" stands still for ", "\n"},
        [FAULT_RATE] = {"'s clock is wrong by ", " millionths\n"},
        [FAULT_DISK] = {"'s disk takes ", " for a write\n"},
        [FAULT_FREEZE] = {" and its clock stand still for ", "\n"},
        [FAULT_HEARS] = {" hears of term ", "\n"},
        [FAULT_TRANSFER] = {" is told to hand over to ", "\n"},
        [FAULT_ORDER] = {" receives an order to resign in its term ", "\n"},
        [FAULT_TICK] = {"'s clock jumps forward by ", "\n"},
    };
    return words[kind];
}

static void narrate_parts(const struct world *w, const struct fault *f, const char *between,
                          struct text *t)
{
    for (unsigned i = 0; i < f->parts; i++) {
        text_add(t, i > 0 ? between : "");
        add_ids(w, f->part[i], t);
    }
    text_add(t, "\n");
}

static void narrate_due(const struct world *w, const struct fault *f, struct text *t)
{
    add_id(w, f->rank, t);
    text_add(t, "'s time has come: ");
    text_add(t, narrate_time((enum elect_time_name)f->amount));
    text_add(t, "\n");
}

static void narrate_fault(const struct world *w, const struct happening *h, struct text *t)
{
    const struct fault *f = &h->fault;
    enum fault_kind kind = (enum fault_kind)f->kind;
    add_time(w, t);
    if (what_happens(kind) != NULL) {
        add_id(w, f->rank, t);
        text_add(t, what_happens(kind));
    } else if (what_changes(kind)[0] != NULL) {
        narrate_amount(w, f, what_changes(kind)[0], what_changes(kind)[1], t);
    } else if (kind == FAULT_CUT) {
        text_add(t, "cut ");
        narrate_parts(w, f, " / ", t);
    } else if (kind == FAULT_ONE_WAY) {
        narrate_parts(w, f, " cannot be heard by ", t);
    } else if (kind == FAULT_LEASE) {
        text_add(t, "from now on a lease is ");
        text_add_number(t, (uint64_t)f->amount);
        text_add(t, "\n");
    } else if (kind == FAULT_DUE) {
        narrate_due(w, f, t);
    } else {
        text_add(t, kind == FAULT_HEAL ? "heal\n"
                                       : "calm: from now on nothing is lost or duplicated\n");
    }
}

void narrate_happening(const struct world *w, const struct happening *h, bool verbose,
                       struct text *t)
{
    switch ((enum happened)h->what) {
    case HAPPENED_STEP: narrate_step(w, h, verbose, t); break;
    case HAPPENED_LOSS: narrate_lost(w, h, verbose, t); break;
    case HAPPENED_FAULT:
        narrate_fault(w, h, t);
        if (world_fault_steps(&h->fault))
            narrate_step(w, h, verbose, t);
        break;
    case HAPPENED_NOTHING: break;
    }
}

/* ---- the outcome ---- */

static elect_set followers(const struct world *w, uint8_t leader, bool electing)
{
    elect_set set = 0;
    for (elect_set rest = w->up; rest != 0; rest &= rest - 1) {
        uint8_t rank = (uint8_t)__builtin_ctzll(rest);
        bool elects = w->node[rank].state != ELECT_NORMAL && !w->node[rank].mandated;
        if (elects == electing && (electing || world_follows(w, rank) == leader))
            set |= (elect_set)1 << rank;
    }
    return set;
}

static void add_disagreement(const struct world *w, struct text *t)
{
    const char *gap = "no agreement: ";
    if (w->up == 0)
        text_add(t, "no agreement: no process is up");
    for (unsigned i = 0; i <= w->config.n; i++) {
        uint8_t leader = i < w->config.n ? (uint8_t)i : ELECT_NOBODY;
        elect_set set = followers(w, leader, false);
        if (set == 0)
            continue;
        text_add(t, gap);
        add_ids(w, set, t);
        bool one = (set & (set - 1)) == 0;
        gap = "; ";
        if (leader == ELECT_NOBODY) {
            text_add(t, one ? " has no leader" : " have no leader");
            continue;
        }
        text_add(t, one ? " follows " : " follow ");
        add_id(w, leader, t);
        if (!world_up(w, leader))
            text_add(t, ", which is down");
    }
    elect_set electing = followers(w, 0, true);
    if (electing != 0) {
        text_add(t, gap);
        add_ids(w, electing, t);
        text_add(t, " still electing");
    }
}

static void add_costs(const struct world *w, struct text *t)
{
    const struct books *b = &w->books;
    const char *gap = ": ";
    text_add(t, "sent ");
    text_add_number(t, world_total(w));
    for (unsigned type = ELECT_FIRST_MESSAGE; type < ELECT_FIRST_TIMER; type++) {
        if (!elect_sends(&w->config, (enum elect_event)type))
            continue;
        text_add(t, gap);
        text_add(t, elect_event_name((enum elect_event)type));
        text_add(t, " ");
        text_add_number(t, b->sent[type]);
        gap = ", ";
    }
    const struct {
        const char *name;
        uint64_t value;
        bool shown;
    } rest[] = {
        {"delivered", b->delivered, true},
        {"failed hops", b->failed_hops, w->config.algorithm != ELECT_BULLY},
        {"heartbeats", b->heartbeats, w->config.detector},
        {"time", w->changed, true},
    };
    for (unsigned i = 0; i < sizeof rest / sizeof rest[0]; i++) {
        if (!rest[i].shown)
            continue;
        text_add(t, "   ");
        text_add(t, rest[i].name);
        text_add(t, " ");
        text_add_number(t, rest[i].value);
    }
    text_add(t, "\n");
}

static void add_mandate(const struct world *w, struct text *t)
{
    const char *gap = "mandate: ";
    for (unsigned type = ELECT_PREVOTE; type < ELECT_FIRST_TIMER; type++) {
        if (w->books.sent[type] == 0)
            continue;
        text_add(t, gap);
        text_add(t, elect_event_name((enum elect_event)type));
        text_add(t, " ");
        text_add_number(t, w->books.sent[type]);
        gap = ", ";
    }
    text_add(t, *gap == ',' ? "\n" : "mandate: nothing was sent\n");
}

void narrate_outcome(const struct world *w, struct text *t)
{
    uint8_t leader = world_leader(w);
    if (leader == ELECT_NOBODY) {
        add_disagreement(w, t);
    } else {
        text_add(t, "leader ");
        add_id(w, leader, t);
        text_add(t, "   agreed by ");
        add_ids(w, w->up, t);
    }
    text_add(t, "\n");
    add_costs(w, t);
    if (w->config.mandate == ELECT_MAJORITY)
        add_mandate(w, t);
}
