/*
 * elect_step(), which combines the algorithm, the ring links, the failure detector and the mandate.
 * This file checks every input; the other files only assert that it is valid.
 */
#include "detector.h"
#include "ring_links.h"
#include "mandate.h"

#include <assert.h>
#include <string.h>

static const struct algorithm *const algorithms[ELECT_ALGORITHM_COUNT] = {
    [ELECT_BULLY] = &elect__bully,
    [ELECT_RING] = &elect__ring,
    [ELECT_ACTIVE_RING] = &elect__active_ring,
    [ELECT_CHANG_ROBERTS] = &elect__chang_roberts,
};

/*
 * MAX_LEAP, MAX_ROUNDS and MAX_TERMS limit the counters in messages. A round, a term or a pause
 * that is ahead by more than MAX_LEAP comes from a faulty process. Without this limit, one message
 * could raise a counter to its maximum, and no further election would be possible. A process that
 * is new or has lost its state cannot tell how far the others have counted, so it accepts up to
 * half of the counter's range.
 */
#define MAX_LEAP   (1u << 28)
#define MAX_ROUNDS (UINT32_MAX / 2) /* for rounds and pauses */
#define MAX_TERMS  (UINT64_MAX >> 17)

static uint64_t farthest(uint64_t known, bool knows_nothing, uint64_t most)
{
    return knows_nothing ? most : known + MAX_LEAP;
}

static bool is_message(unsigned event)
{
    return event >= ELECT_FIRST_MESSAGE && event < ELECT_FIRST_TIMER;
}

static bool says(const struct algorithm *a, unsigned type)
{
    return type < ELECT_PREVOTE && ((a->messages >> type) & 1);
}

/* The messages of the mandate are the last ones in ELECT_EVENTS. */
static bool of_mandate(unsigned type) { return type >= ELECT_PREVOTE; }

static bool tells_members(const message *m)
{
    return m->type == ELECT_REQUEST || m->type == ELECT_PREVOTE || m->type == ELECT_PRESENT ||
           m->type == ELECT_FOLLOWING || m->type == ELECT_REMEMBERS ||
           (m->type == ELECT_REFUSE && m->reason == ELECT_REFUSED_CONFIG);
}

static bool is_answer(const message *m)
{
    return m->type == ELECT_AYE || m->type == ELECT_GRANT || m->type == ELECT_REFUSE;
}

static bool ends_a_term(const message *m)
{
    return m->type == ELECT_RELEASE || m->type == ELECT_HAND;
}

/* Returns true if a correct process could have sent this message of the mandate. The term in a
 * question belongs to the sender of the question; the term in an answer belongs to this process. */
static bool well_formed_mandate(const struct process *p, number from, const message *m)
{
    bool is_new = p->node->mandate.seen == 0 || lost_state(p);
    term last = elect_term_make(
        farthest(elect_term_counter(p->node->mandate.seen), is_new, MAX_TERMS), ELECT_MAX_ID);
    uint64_t last_pause = farthest(saved(p)->pause, is_new, MAX_ROUNDS);
    /* `in_the_way` shares its bytes with `certificate` */
    if (!p->node->mandated || from >= p->config->n || m->origin != from || m->term > last ||
        m->certificate > last || m->pause > last_pause)
        return false;
    if (tells_members(m) &&
        (!elect__can_be_members(p, &m->membership) || m->membership.stamp > last))
        return false;
    if (m->type == ELECT_PRESENT || m->type == ELECT_FORGOT)
        return from != me(p);
    /* A REMEMBERS must not name the last era: readmission needs the next one. */
    if (m->type == ELECT_REMEMBERS)
        return from != me(p) && ELECT_ERA(m->last_met) < ELECT_ERA(UINT32_MAX);
    if (elect_term_counter(m->term) == 0 || elect__owner(p, m->term) == ELECT_NOBODY)
        return false;
    if (m->type == ELECT_FOLLOWING)
        return from != me(p);
    if (is_answer(m))
        return elect__owner(p, m->term) == me(p) && m->reason < ELECT_REFUSAL_COUNT &&
               (lost_state(p) || m->incarnation <= saved(p)->incarnation);
    return elect__owner(p, m->term) == from;
}

static bool well_formed(const struct process *p, number from, const message *m)
{
    const struct algorithm *a = p->algorithm;
    number n = p->config->n;
    uint64_t last = farthest(saved(p)->round, saved(p)->round == 0, MAX_ROUNDS);
    if (of_mandate(m->type))
        return well_formed_mandate(p, from, m);
    if (from >= n || m->origin >= n || m->round > last || m->seen > last)
        return false;
    if (m->type == ELECT_HEARTBEAT)
        return from != me(p) && (a->ring || m->round == 0);
    if (m->type == ELECT_ACK)
        return a->ring && says(a, m->what) && m->what != ELECT_LEADER && m->round > 0 &&
               (m->seen == 0 || m->seen >= m->round);
    if (!says(a, m->type))
        return false;
    if (!a->ring)
        return from != me(p) && m->round == 0 &&
               (m->type == ELECT_ELECTION ? from < me(p)
                                          : m->type == ELECT_COORDINATOR || from > me(p));
    if (m->round == 0 || (m->type == ELECT_LEADER && (from == me(p) || !has(m->list, me(p)))))
        return false;
    if (a == &elect__ring)
        return (m->list & ~all(p)) == 0 && has(m->list, m->origin);
    return m->list == 0;
}

static void take_mandate(struct process *p, number from, const message *m)
{
    switch (m->type) {
    case ELECT_PREVOTE: elect__upon_prevote(p, from, m); break;
    case ELECT_AYE: elect__upon_aye(p, from, m); break;
    case ELECT_REQUEST: elect__upon_request(p, from, m); break;
    case ELECT_GRANT: elect__upon_grant(p, from, m); break;
    case ELECT_REFUSE: elect__upon_refuse(p, from, m); break;
    case ELECT_RELEASE: elect__upon_release(p, from, m); break;
    case ELECT_HAND: elect__upon_hand(p, from, m); break;
    case ELECT_PRESENT: elect__upon_present(p, from, m); break;
    case ELECT_FOLLOWING: elect__upon_following(p, from, m); break;
    case ELECT_FORGOT: elect__upon_forgot(p, from, m); break;
    case ELECT_REMEMBERS: because(p, ANSWERED_TOO_LATE); break;
    }
}

static void take(struct process *p, number from, const message *m)
{
    if (!of_mandate(m->type))
        p->node->silent &= ~only(from); /* the sender takes part in elections again */
    if (p->node->mandated && from != me(p))
        elect__hear(p, from, m);
    if (of_mandate(m->type))
        take_mandate(p, from, m);
    else if (p->node->mandated && m->type != ELECT_ACK && elect__keeps_out(p, from, m))
        return;
    else if (m->type == ELECT_HEARTBEAT)
        elect__heartbeat(p, from, m);
    else if (m->type == ELECT_ACK)
        elect__link_acknowledged(p, from, m);
    else if (p->algorithm->ring)
        elect__link_receive(p, from, m);
    else
        p->algorithm->upon(p, &(struct event){.type = m->type, .from = from});
}

/* Ignores a timer that is not running: the host may report one that has just been stopped. */
static void expire(struct process *p, unsigned timer)
{
    if (!runs(p, timer)) {
        because(p, NOTHING);
        return;
    }
    p->node->running &= (uint8_t)~ELECT_TIMER_BIT(timer);
    if (timer == ELECT_SUSPICION_TIMER && presence(p)->told)
        because(p, NOTHING); /* a FOLLOWING counts until ELECT_LOOK, regardless of this timer */
    else if (timer == ELECT_SUSPICION_TIMER)
        elect__suspect(p);
    else if (timer == ELECT_HEARTBEAT_TIMER)
        elect__beat(p);
    else if (p->node->mandated && elect__keeps_out(p, me(p), NULL))
        return;
    else if (timer == ELECT_HOP_TIMER)
        elect__link_timeout(p);
    else
        p->algorithm->upon(p, &(struct event){.type = timer, .from = me(p)});
}

static void happen_mandate(struct process *p, const struct elect_input *in)
{
    switch (in->event) {
    case ELECT_START:
    case ELECT_SUSPECT: elect__suspect(p); break;
    case ELECT_STOPPED: elect__stopped(p); break;
    case ELECT_RESIGN: elect__resign(p, in->from, in->message.term); break;
    case ELECT_CHANGE: elect__change(p, &in->message.membership); break;
    case ELECT_PAUSE: elect__pause(p, true); break;
    case ELECT_RESUME: elect__pause(p, false); break;
    case ELECT_ASIDE: elect__stand_aside(p, true); break;
    case ELECT_READY: elect__stand_aside(p, false); break;
    case ELECT_ALARM: elect__alarm(p); break;
    default: because(p, NOTHING); break;
    }
}

static void happen(struct process *p, const struct elect_input *in)
{
    unsigned event = in->event;
    if (event >= ELECT_FIRST_TIMER && event < ELECT_EVENT_COUNT)
        expire(p, event);
    else if (p->node->mandated)
        happen_mandate(p, in);
    else if (event == ELECT_SUSPECT)
        elect__suspect(p);
    else if (event == ELECT_START && is(p, NORMAL))
        p->algorithm->begin(p, STARTED);
    else
        because(p, NOTHING);
}

static void clear(struct elect_output *out)
{
    memset(out, 0, sizeof *out);
    out->rule.a = out->rule.b = ELECT_NOBODY;
}

static void react(struct process *p, const struct elect_input *in)
{
    const message *m = is_message(in->event) ? &in->message : NULL;
    if (m != NULL && (m->type != in->event || !well_formed(p, in->from, m)))
        because(p, MALFORMED);
    else if (m != NULL && is_answer(m) && m->incarnation != saved(p)->incarnation)
        because(p, ANSWERED_TOO_LATE); /* an earlier incarnation of this process asked */
    else if (m != NULL && ends_a_term(m) && elect__of_a_former_life(p, in->from, m->incarnation))
        because(p, FORMER_LIFE);
    else if (lost_state(p))
        elect__remember(p, in);
    else if (m != NULL)
        take(p, in->from, m);
    else
        happen(p, in);
}

/* Nominates this process if the election has just chosen it. The process then asks the voters for a
 * mandate. */
static void seek_mandate(struct process *p)
{
    bool chosen = leads(p), before = candidate(p)->nominated;
    candidate(p)->nominated = chosen;
    if (chosen && !before)
        elect__nominate(p);
}

void elect_step(const struct elect_config *config, struct elect_node *node,
                const struct elect_input *in, struct elect_output *out)
{
    struct process p = {
        .config = config,
        .algorithm = algorithms[config->algorithm],
        .node = node,
        .out = out,
        .now = in->now,
        .about = in->from < config->n ? in->from : ELECT_NOBODY,
    };
    number leader = node->leader, follows = node->mandate.presence.follows;
    elect_term token = node->mandate.leader.token;
    uint8_t handing = node->mandate.leader.handing;
    uint8_t state = node->state;

    clear(out);
    bool ended = node->mandated && elect__at_until(&p);
    react(&p, in);
    elect__watch(&p, leader, state);
    if (node->mandated && !lost_state(&p)) {
        leader = node->leader;
        state = node->state;
        elect__keep_watch(&p);
        seek_mandate(&p);
        elect__watch(&p, leader, state);
    }
    if (ended)
        because(&p, MANDATE_OVER);
    out->announced = node->mandated ? follows != node->mandate.presence.follows ||
                                          token != node->mandate.leader.token ||
                                          handing != node->mandate.leader.handing
                                    : node->leader != leader;
    assert(leader == ELECT_NOBODY || leader < config->n);
    assert(is(&p, NORMAL) || node->leader == ELECT_NOBODY);
}

static void init_mandate(const struct elect_config *config, struct elect_node *node, elect_time now,
                         struct elect_output *out)
{
    struct elect_mandate *m = &node->mandate;
    struct elect_saved *s = &node->saved;
    node->mandated = true;
    m->presence.follows = m->presence.heir = ELECT_NOBODY;
    m->voter.holder = m->leader.successor = ELECT_NOBODY;
    for (unsigned i = 0; i < ELECT_TIMES; i++)
        m->time[i] = ELECT_UNSET;
    for (unsigned i = 0; i < ELECT_MAX; i++)
        m->presence.heard[i] = m->presence.heard_me[i] = ELECT_UNSET;
    if (config->stable) { /* every start adds a penalty, so that other members are fitter */
        m->presence.penalties = 1;
        m->time[ELECT_DECAY] = now + config->decay;
    }
    if (s->longest > 0)
        m->time[ELECT_GUARD] = now + s->longest;
    raise_term(&m->seen, s->promised);
    raise_term(&m->seen, s->used);
    for (unsigned i = 0; i < ELECT_MAX; i++)
        raise_term(&m->seen, s->closed[i]);
    assert(!ELECT_LAST_START(s->incarnation));
    s->incarnation++;
    out->persist = true;
}

void elect_init(const struct elect_config *config, struct elect_node *node, uint8_t me,
                uint8_t leader, const struct elect_saved *saved, elect_time now,
                struct elect_output *out)
{
    assert(me < config->n && (leader < config->n || leader == ELECT_NOBODY));
    memset(node, 0, sizeof *node);
    clear(out);
    node->me = me;
    node->leader = leader;
    if (saved != NULL)
        node->saved = *saved;
    if (node->saved.membership.voters == 0)
        node->saved.membership = (struct elect_membership){.version = config->version,
                                                           .members = config->members,
                                                           .voters = config->voters,
                                                           .before = config->voters};
    if (config->mandate == ELECT_MAJORITY) {
        node->leader = ELECT_NOBODY;
        init_mandate(config, node, now, out);
    }
    bool beats = leader == me && !node->mandated;
    if (config->detector)
        node->running = (uint8_t)(out->start = ELECT_TIMER_BIT(beats ? ELECT_HEARTBEAT_TIMER
                                                                     : ELECT_SUSPICION_TIMER));
}

void elect_readmit(const struct elect_config *config, struct elect_node *node, uint8_t me,
                   uint32_t question, elect_time now, struct elect_output *out)
{
    assert(config->mandate == ELECT_MAJORITY);
    elect_init(config, node, me, ELECT_NOBODY, NULL, now, out);
    node->saved.incarnation = 0; /* unknown until the others report it */
    out->persist = false;
    out->start = node->running = 0;
    node->mandate.readmission.stage = ELECT_ASKING;
    node->mandate.readmission.question = 2 * question; /* the second question has the next number */
    node->mandate.time[ELECT_LOOK] = now;
    node->mandate.time[ELECT_DECAY] = ELECT_UNSET;
    node->mandate.presence.penalties = 0;
}

bool elect_in_office(const struct elect_node *node, elect_time now)
{
    if (node->mandated)
        return node->mandate.leader.token != 0 && now < node->mandate.time[ELECT_UNTIL];
    return node->state == NORMAL && node->leader == node->me;
}

bool elect_leads(const struct elect_node *node, elect_time now)
{
    return elect_in_office(node, now) && !node->mandate.leader.handing;
}

elect_term elect_token(const struct elect_node *node) { return node->mandate.leader.token; }

elect_time elect_until(const struct elect_node *node)
{
    return elect_token(node) != 0 ? node->mandate.time[ELECT_UNTIL] : ELECT_UNSET;
}

bool elect_must_stop(const struct elect_node *node) { return node->mandate.leader.working; }

bool elect_paused(const struct elect_node *node) { return node->saved.pause % 2 != 0; }

elect_set elect_aside(const struct elect_node *node) { return node->mandate.presence.aside; }

bool elect_sends(const struct elect_config *config, enum elect_event type)
{
    if (!says(algorithms[config->algorithm], type))
        return false;
    if (type == ELECT_NOTICE)
        return config->tell_lower;
    if (config->algorithm != ELECT_RING || type == ELECT_ELECTION)
        return true;
    return type == (config->form == ELECT_CIRCULATE ? ELECT_COORDINATOR : ELECT_LEADER);
}

struct elect_input elect_happens(enum elect_event event, elect_time now)
{
    return (struct elect_input){.event = (uint8_t)event, .from = ELECT_NOBODY, .now = now};
}

struct elect_input elect_resigns(uint8_t successor, elect_time now)
{
    return (struct elect_input){.event = ELECT_RESIGN, .from = successor, .now = now};
}

struct elect_input elect_ordered(uint8_t successor, elect_term e, elect_time now)
{
    struct elect_input in = elect_resigns(successor, now);
    in.message.term = e;
    return in;
}

struct elect_input elect_changes(elect_set members, elect_set voters, elect_time now)
{
    return (struct elect_input){.event = ELECT_CHANGE,
                                .from = ELECT_NOBODY,
                                .now = now,
                                .message.membership = {.members = members, .voters = voters}};
}

struct elect_input elect_received(uint8_t from, const struct elect_message *m, elect_time now)
{
    return (struct elect_input){.event = m->type, .from = from, .now = now, .message = *m};
}
