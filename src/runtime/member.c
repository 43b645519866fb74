#include "member.h"

#include "bytes.h"
#include "saved.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_HEAD     6 /* which group, how long */
#define TESTAMENT_BYTES 16
#define MOVED_PACKETS   5 /* that show that a dynamic peer is at another address */
#define NOTE_MARK       0 /* in place of a group's: from host to host */

_Static_assert(SESSION_LINKS == ELECT_UV_LINKS, "sessions know every link");
_Static_assert(RECORD_HEAD + ELECT_UV_NOTE <= SESSION_ROOM, "a note fits into a datagram");

/* ---- the end ---- */

static void let_go(struct elect_member *m)
{
    if (--m->handles == 0)
        free(m);
}

static void closed(uv_handle_t *handle) { let_go(handle->data); }

void elect_member_stop(struct elect_member *m)
{
    m->over = true;
    file_close(&m->file);
    sodium_free(m->sessions);
    m->sessions = NULL;
    sodium_memzero(m->options.key, sizeof m->options.key);
    m->handles = 1 + m->net.links + (m->clock.open ? 1 : 0); /* the first one is this call's */
    net_close(&m->net, closed);
    alarm_close(&m->clock, closed);
    let_go(m);
}

void member_fail(struct elect_member *m, bool forbidden, const char *why)
{
    if (m->over)
        return;
    m->over = true;
    m->options.fail(m->options.context, forbidden, why);
}

void member_broken(void *context, int error)
{
    char why[128];
    snprintf(why, sizeof why, "a socket or timer has failed: %s", strerror(error));
    member_fail(context, false, why);
}

/* ---- what a step puts out ---- */

static void put_record(struct outbox *box, uint32_t mark, const uint8_t *bytes, size_t length)
{
    struct bytes b = {box->bytes + box->used, box->bytes + OUTBOX_ROOM, true};
    if (!bytes_room(&b, RECORD_HEAD + length))
        return;
    put_number(&b, mark, 4);
    put_number(&b, length, 2);
    put_bytes(&b, bytes, length);
    box->used += RECORD_HEAD + length;
}

static void queue(struct elect_member *m, unsigned group, uint8_t rank,
                  const struct elect_message *message)
{
    const struct group *g = &m->group[group];
    uint8_t bytes[ELECT_MAX_BYTES];
    if (rank == g->node.me) {
        if (m->selves < SELF_ROOM)
            m->self[m->selves++] = (struct self_message){(uint8_t)group, *message};
        return;
    }
    for (unsigned i = 0; i < m->peers; i++)
        if (m->peer[i].id == g->config.id[rank]) {
            bool lost = message->type == ELECT_REMEMBERS;
            size_t length = elect_encode(&g->config, message, bytes);
            put_record(lost ? &m->out_lost[i] : &m->out[i], g->mark, bytes, length);
        }
}

/* Who has lost its state writes nothing before it knows enough, and then all of it. */
static void persist(struct elect_member *m, unsigned group)
{
    struct group *g = &m->group[group];
    saved_store(&g->config, &g->node.saved, &m->state, &m->state.group[group]);
    m->dirty = !m->options.lost;
    g->done = m->options.lost;
    if (m->options.lost && g->node.saved.incarnation > m->state.incarnation)
        m->state.incarnation = g->node.saved.incarnation;
}

void member_perform(struct elect_member *m, unsigned group, const struct elect_output *out,
                    elect_time now)
{
    struct group *g = &m->group[group];
    if (out->persist)
        persist(m, group);
    for (unsigned i = 0; i < out->sends; i++)
        for (elect_set to = out->send[i].to; to != 0; to &= to - 1)
            queue(m, group, (uint8_t)__builtin_ctzll(to), &out->send[i].message);
    for (unsigned t = 0; t < ELECT_TIMER_COUNT; t++) {
        if ((out->stop >> t & 1) != 0)
            g->deadline[t] = ELECT_UNSET;
        if ((out->start >> t & 1) != 0)
            g->deadline[t] = now + g->config.duration[t];
    }
    g->announced = g->announced || out->announced;
    g->deposits = g->deposits || out->deposit;
}

struct elect_rule member_step(struct elect_member *m, unsigned group, const struct elect_input *in)
{
    struct elect_output out;
    if (m->group[group].done)
        return (struct elect_rule){ELECT_RULE_NOTHING, ELECT_NOBODY, ELECT_NOBODY};
    elect_step(&m->group[group].config, &m->group[group].node, in, &out);
    member_perform(m, group, &out, in->now);
    if (m->options.step != NULL)
        m->options.step(m->options.context, group, in, &out);
    return out.rule;
}

/* ---- a turn: written down, sent, delivered to oneself, announced ---- */

/* Has the candidate been heard within the suspicion time? An attacker that repeats a packet with a
 * false source address makes the member send there for that long and no longer. */
static bool is_candidate_heard(const struct elect_member *m, const struct candidate *c)
{
    return c->packets > 0 && elect_uv_now() - c->heard < (elect_time)m->sessions->suspicion;
}

/* A dynamic peer that may have moved gets each packet at both addresses: a leader that has moved
 * needs its grants before the suspicion time has passed at the new address. */
static void send_packet(struct elect_member *m, unsigned peer, const uint8_t *bytes, size_t length)
{
    for (unsigned link = 0; link < m->peer[peer].links && length > 0; link++) {
        const struct candidate *c = &m->candidate[peer][link];
        net_send(&m->net, link, &m->peer[peer].link[link], bytes, length);
        if (is_candidate_heard(m, c))
            net_send(&m->net, link, &c->address, bytes, length);
    }
}

/* As many whole records as a datagram takes. */
static size_t datagram(const struct outbox *box, size_t from)
{
    size_t length = 0;
    while (from + length < box->used) {
        const uint8_t *head = box->bytes + from + length;
        size_t record = RECORD_HEAD + (size_t)(head[4] | head[5] << 8);
        if (length + record > SESSION_ROOM)
            break;
        length += record;
    }
    return length;
}

static void empty(struct elect_member *m, unsigned peer, struct outbox *box,
                  size_t (*seal)(struct sessions *, unsigned, const uint8_t *, size_t, uint8_t *))
{
    uint8_t packet[SEAL_MAX_PACKET];
    for (size_t at = 0, length; at < box->used; at += length) {
        length = datagram(box, at);
        send_packet(m, peer, packet,
                    seal(m->sessions, m->session_of[peer], box->bytes + at, length, packet));
    }
    box->used = 0;
}

/* By itself in a datagram. */
static void send_note(struct elect_member *m, unsigned peer)
{
    uint8_t content[SESSION_ROOM], packet[SEAL_MAX_PACKET];
    struct bytes b = {content, content + sizeof content, true};
    struct note *note = &m->note[peer];
    put_number(&b, NOTE_MARK, 4);
    put_number(&b, note->length, 2);
    put_bytes(&b, note->bytes, note->length);
    size_t length = RECORD_HEAD + note->length;
    note->length = 0;
    send_packet(m, peer, packet,
                sessions_seal(m->sessions, m->session_of[peer], content, length, packet));
}

static void flush(struct elect_member *m)
{
    for (unsigned i = 0; i < m->peers; i++) {
        empty(m, i, &m->out[i], sessions_seal);
        empty(m, i, &m->out_lost[i], sessions_seal_lost);
        if (m->note[i].length > 0)
            send_note(m, i);
    }
    net_flush(&m->net);
}

static bool write_down(struct elect_member *m)
{
    if (!m->dirty)
        return true;
    m->dirty = false;
    if (store_write(&m->store, &m->state) != STORE_FINE) {
        char why[128];
        snprintf(why, sizeof why, "the state cannot be written: %s", strerror(m->store.error));
        member_fail(m, false, why);
        return false;
    }
    m->writes++;
    m->sessions->sequence = m->state.sequence;
    return true;
}

/* ---- testaments ---- */

static size_t testament(struct elect_member *m, unsigned group, unsigned peer, uint8_t *packet)
{
    const struct group *g = &m->group[group];
    uint8_t content[TESTAMENT_BYTES];
    struct bytes b = {content, content + sizeof content, true};
    put_number(&b, m->state.incarnation, 4);
    put_number(&b, g->mark, 4);
    put_number(&b, g->node.saved.used, 8);
    return sessions_testament(m->sessions, m->session_of[peer], m->testaments, content,
                              sizeof content, packet);
}

/* One for each group, not one for all: whoever keeps it may have to burn one of them. */
static void deposit(struct elect_member *m, unsigned group)
{
    struct elect_testament t = {.group = group, .term = m->group[group].node.saved.used};
    uint8_t packet[SEAL_MAX_PACKET];
    m->testaments++;
    for (unsigned i = 0; i < m->peers; i++) {
        size_t length = i != m->me ? testament(m, group, i, packet) : 0;
        if (length == 0)
            continue;
        struct elect_letter *l = &t.letter[t.letters++];
        l->links = m->peer[i].links;
        memcpy(l->link, m->peer[i].link, sizeof l->link);
        memcpy(l->packet, packet, length);
        l->length = (uint8_t)length;
    }
    m->options.deposit(m->options.context, &t);
}

static void deposit_all(struct elect_member *m)
{
    for (unsigned i = 0; i < m->groups; i++) {
        if (m->group[i].deposits && m->options.deposit != NULL)
            deposit(m, i);
        m->group[i].deposits = false;
    }
}

/* Letters were sealed for a session, or addressed to a place, that is no more: new ones, of the
 * terms that this life has asked for. */
static void deposit_anew(struct elect_member *m)
{
    for (unsigned i = 0; i < m->groups; i++)
        m->group[i].deposits = m->group[i].node.mandate.leader.term != 0;
}

/* It is what the dead one would have said, and nothing more. */
static bool take_testament(struct elect_member *m, unsigned peer)
{
    struct bytes b = {m->event.content, m->event.content + m->event.length, true};
    uint32_t life = (uint32_t)take_number(&b, 4), mark = (uint32_t)take_number(&b, 4);
    elect_term term = take_number(&b, 8);
    if (!b.fine || b.at != b.end || elect_term_owner(term) != m->peer[peer].id ||
        life != m->sessions->peer[m->session_of[peer]].known.incarnation)
        return false;
    for (unsigned i = 0; i < m->groups; i++) {
        struct group *g = &m->group[i];
        uint8_t from = elect_rank(&g->config, m->peer[peer].id);
        struct elect_message release = elect_testament(&g->config, from, term, life);
        release.penalty = g->node.mandate.presence.penalty[from]; /* the dead one did not say */
        struct elect_input in = elect_received(from, &release, elect_uv_now());
        if (g->mark == mark)
            member_step(m, i, &in);
    }
    return true;
}

static void hear_oneself(struct elect_member *m)
{
    unsigned count = m->over ? 0 : m->selves;
    for (unsigned i = 0; i < count; i++) {
        struct self_message s = m->self[i];
        struct group *g = &m->group[s.group];
        struct elect_input in = elect_received(g->node.me, &s.message, elect_uv_now());
        member_step(m, s.group, &in);
    }
    memmove(m->self, m->self + count, (m->selves - count) * sizeof m->self[0]);
    m->selves -= count;
}

static bool same(const struct elect_news *a, const struct elect_news *b)
{
    return a->known == b->known && a->leads == b->leads && a->works == b->works &&
           a->leader == b->leader && a->term == b->term;
}

static void announce(struct elect_member *m)
{
    for (unsigned i = 0; i < m->groups && !m->over; i++) {
        struct group *g = &m->group[i];
        if (!g->announced && g->node.mandate.time[ELECT_UNTIL] == g->news.until)
            continue;
        struct elect_news news = elect_member_status(m, i);
        news.renewed = same(&news, &g->news);
        bool nothing = news.renewed && !news.works && news.until == g->news.until;
        g->announced = false;
        g->news = news;
        g->news.until = g->node.mandate.time[ELECT_UNTIL];
        if (!nothing)
            m->options.announce(m->options.context, &news);
    }
}

static bool is_quiet(const struct elect_member *m)
{
    bool quiet = m->selves == 0 && !m->dirty && m->net.queued == 0;
    for (unsigned i = 0; i < m->groups; i++)
        quiet = quiet && !m->group[i].announced && !m->group[i].deposits &&
                m->group[i].news.until == m->group[i].node.mandate.time[ELECT_UNTIL];
    for (unsigned i = 0; i < m->peers; i++)
        quiet = quiet && m->out[i].used == 0 && m->out_lost[i].used == 0 && m->note[i].length == 0;
    return quiet;
}

static elect_time sooner(elect_time a, elect_time b)
{
    return a == ELECT_UNSET || (b != ELECT_UNSET && b < a) ? b : a;
}

/* When the group is to be told the time. The renewals of all groups go together, so that they
 * share datagrams: the first one of an office may be late by one renewal. */
static elect_time alarm_of(const struct elect_member *m, const struct group *g)
{
    const elect_time *time = g->node.mandate.time;
    elect_time alarm = elect_alarm(&g->node), renewal = g->config.renewal;
    if (m->groups == 1 || g->node.mandate.leader.token == 0 || alarm != time[ELECT_RENEW])
        return alarm;
    elect_time together = (alarm + renewal - 1) / renewal * renewal;
    return sooner(together, time[ELECT_UNTIL]); /* which must not be told late */
}

static void set_clock(struct elect_member *m)
{
    elect_time next = ELECT_UNSET;
    for (unsigned i = 0; i < m->groups; i++) {
        if (m->group[i].done)
            continue;
        next = sooner(next, alarm_of(m, &m->group[i]));
        for (unsigned t = 0; t < ELECT_TIMER_COUNT; t++)
            next = sooner(next, m->group[i].deadline[t]);
    }
    for (unsigned i = 0; i < m->sessions->count; i++)
        next = sooner(next, (elect_time)sessions_next(m->sessions, i));
    alarm_set(&m->clock, next);
}

void member_filter(struct elect_member *m)
{
    uint32_t tags[SESSION_PEERS * SESSION_TAGS];
    unsigned count = sessions_tags(m->sessions, tags, sizeof tags / sizeof tags[0]);
    net_filter(&m->net, tags, count);
    deposit_anew(m);
}

/* Who has lost its state, and now knows enough: it has one again. */
static void readmit(struct elect_member *m)
{
    int error;
    for (unsigned i = 0; i < m->groups; i++)
        if (!m->group[i].done)
            return;
    enum file_error result = file_create(m->options.state, &m->store, &m->state, &error);
    m->over = true;
    if (result == FILE_FINE && m->options.readmitted != NULL)
        m->options.readmitted(m->options.context);
    if (result != FILE_FINE)
        m->options.fail(m->options.context, false,
                        result == FILE_IO ? strerror(error) : file_text(result));
}

void member_turn(struct elect_member *m)
{
    if (m->turning || m->over)
        return;
    m->turning = true;
    while (!m->over && !is_quiet(m) && write_down(m)) {
        deposit_all(m);
        flush(m);
        announce(m);
        hear_oneself(m);
    }
    m->turning = false;
    if (m->options.lost && !m->over)
        readmit(m);
    if (!m->over)
        set_clock(m);
}

/* ---- what comes in ---- */

/* Of who has lost its state: a life that it had is remembered also if all that was heard of it was
 * an answer, which does not name it. It may have been a grant. */
static void recall(const struct elect_member *m, unsigned peer, uint32_t *met)
{
    uint32_t known = m->sessions->peer[m->session_of[peer]].known.incarnation;
    *met = known > *met ? known : *met;
}

/* What is answered goes out when all of what came in is taken. */
static void take_note(struct elect_member *m, unsigned peer, const uint8_t *bytes, size_t length)
{
    if (m->options.note == NULL || m->event.lost)
        return;
    m->turning = true;
    m->options.note(m->options.context, m->peer[peer].id, bytes, length);
    m->turning = false;
}

static void take_record(struct elect_member *m, unsigned peer, uint32_t mark, const uint8_t *bytes,
                        size_t length)
{
    if (mark == NOTE_MARK) {
        take_note(m, peer, bytes, length);
        return;
    }
    for (unsigned i = 0; i < m->groups; i++) {
        struct group *g = &m->group[i];
        struct elect_message message;
        if (g->mark != mark || !elect_decode(&g->config, bytes, length, &message) ||
            (m->event.lost && message.type != ELECT_FORGOT))
            continue;
        uint8_t from = elect_rank(&g->config, m->peer[peer].id);
        struct elect_input in = elect_received(from, &message, elect_uv_now());
        if (m->event.lost)
            recall(m, peer, &g->node.saved.met[from]);
        member_step(m, i, &in);
    }
}

static void take_data(struct elect_member *m, unsigned peer)
{
    struct bytes b = {m->event.content, m->event.content + m->event.length, true};
    while (b.at < b.end && !m->over) {
        uint32_t mark = (uint32_t)take_number(&b, 4);
        size_t length = (size_t)take_number(&b, 2);
        const uint8_t *at = b.at;
        if (!bytes_room(&b, length))
            return;
        b.at += length;
        take_record(m, peer, mark, at, length);
    }
}

static void remember(struct elect_member *m, unsigned peer, bool at_once)
{
    struct state_peer *p = &m->state.peer[0];
    while (p->id != m->peer[peer].id)
        p++;
    p->known = m->sessions->peer[m->session_of[peer]].known;
    m->dirty = m->dirty || (at_once && !m->options.lost);
}

static void peer_news(struct elect_member *m, unsigned peer, enum elect_peer_news news)
{
    if (m->options.peer_news != NULL)
        m->options.peer_news(m->options.context, m->peer[peer].id, news);
}

static void opened(struct elect_member *m, unsigned peer)
{
    const struct session_event *e = &m->event;
    if (!e->lost)
        remember(m, peer, true);
    member_filter(m); /* before it is answered: what it says then must come in */
    peer_news(m, peer, e->lost ? ELECT_PEER_LOST : ELECT_PEER_OPENED);
    if (!e->lost && m->sessions->peer[m->session_of[peer]].digest != m->sessions->digest)
        peer_news(m, peer, ELECT_PEER_DIFFERS);
}

static void move(struct elect_member *m, unsigned peer, unsigned link,
                 const union elect_address *to)
{
    if (net_same(&m->peer[peer].link[link], to))
        return;
    m->peer[peer].link[link] = *to;
    m->candidate[peer][link].packets = 0;
    deposit_anew(m);
}

/* A dynamic peer has moved when some newest packets in a row have come from another address, for
 * the suspicion time, and none from the address that is known. An attacker that only relays packets
 * from elsewhere, however fast, moves no peer that is still heard at its own address. */
static void follow_address(struct elect_member *m, unsigned peer, unsigned link,
                           const union elect_address *from)
{
    struct candidate *c = &m->candidate[peer][link];
    elect_time now = elect_uv_now();
    if (m->event.later)
        c->packets = 0;
    if (!m->peer[peer].dynamic || !m->event.newest || net_same(&m->peer[peer].link[link], from))
        return;
    if (c->packets == 0 || !net_same(&c->address, from))
        *c = (struct candidate){.address = *from, .since = now};
    c->packets++;
    c->heard = now;
    if (m->peer[peer].link[link].any.sa_family == AF_UNSPEC ||
        (c->packets >= MOVED_PACKETS && now - c->since >= (elect_time)m->sessions->suspicion))
        move(m, peer, link, from);
}

static unsigned peer_with(const struct elect_member *m, uint16_t id)
{
    unsigned peer = 0;
    while (peer < m->peers && m->peer[peer].id != id)
        peer++;
    return peer;
}

/* Written down: with every start its numbers rise, and one day nobody would know any more. */
static void must_stop(struct elect_member *m, enum session_refusal why)
{
    if (m->over)
        return;
    m->state.condemned = (uint8_t)(why + 1);
    if (!m->options.lost)
        (void)store_write(&m->store, &m->state);
    member_fail(m, true, session_refusal_text(why));
}

static void take_event(struct elect_member *m, unsigned peer, unsigned link,
                       const union elect_address *from)
{
    static const enum elect_peer_news refusals[] = {
        [SESSION_ROLLBACK] = ELECT_PEER_ROLLED_BACK,
        [SESSION_CLONE] = ELECT_PEER_CLONED,
        [SESSION_PROTOCOL] = ELECT_PEER_PROTOCOL,
    };
    struct session_event *e = &m->event;
    if (e->news == SESSION_MUST_STOP)
        must_stop(m, (enum session_refusal)e->why);
    if (m->over)
        return;
    if (e->news == SESSION_TESTAMENT) { /* which is no sign of life */
        if (take_testament(m, peer))
            peer_news(m, peer, ELECT_PEER_TESTAMENT);
        return;
    }
    if (e->later)
        m->link_heard[peer][link] = elect_uv_now();
    follow_address(m, peer, link, from);
    if (e->news == SESSION_OPENED)
        opened(m, peer);
    if (e->fresh)
        remember(m, peer, false);
    if (e->news == SESSION_REFUSED)
        peer_news(m, peer, refusals[e->why]);
    if (e->news == SESSION_DATA)
        take_data(m, peer);
    if (e->answer_length == 0 || !write_down(m))
        return;
    if (m->peer[peer].dynamic) /* nobody knows yet whether it is there */
        net_send(&m->net, link, from, e->answer, e->answer_length);
    else
        send_packet(m, peer, e->answer, e->answer_length);
}

void member_take(void *context, unsigned link, const union elect_address *from,
                 const uint8_t *bytes, size_t length)
{
    struct elect_member *m = context;
    struct packet head;
    if (m->over || !seal_head(bytes, length, &head))
        return;
    unsigned peer = peer_with(m, head.from);
    if (peer == m->peers || peer == m->me || link >= m->peer[peer].links)
        return;
    bool known = net_same(from, &m->peer[peer].link[link]);
    if (!known && !m->peer[peer].dynamic)
        return;
    sessions_take(m->sessions, (uint64_t)elect_uv_now(), known ? link : SESSION_LINKS, bytes,
                  length, &m->event);
    if (m->event.news == SESSION_NOTHING)
        m->net.traffic.ignored++;
    else
        take_event(m, peer, link, from);
}

void member_rested(void *context)
{
    struct elect_member *m = context;
    if (!m->over)
        sessions_turn(m->sessions);
    member_turn(m);
}

void member_ring(void *context)
{
    struct elect_member *m = context;
    elect_time now = elect_uv_now();
    uint8_t packet[SEAL_MAX_PACKET];
    if (m->over)
        return;
    for (unsigned i = 0; i < m->groups; i++) {
        struct group *g = &m->group[i];
        for (unsigned t = 0; t < ELECT_TIMER_COUNT; t++)
            if (g->deadline[t] != ELECT_UNSET && g->deadline[t] <= now) {
                struct elect_input in =
                    elect_happens((enum elect_event)(ELECT_FIRST_TIMER + t), now);
                g->deadline[t] = ELECT_UNSET;
                member_step(m, i, &in);
            }
        elect_time alarm = alarm_of(m, g);
        struct elect_input in = elect_happens(ELECT_ALARM, now);
        if (alarm != ELECT_UNSET && alarm <= now)
            member_step(m, i, &in);
    }
    for (unsigned i = 0; i < m->sessions->count; i++)
        send_packet(m, m->peer_of[i], packet,
                    sessions_hello(m->sessions, i, (uint64_t)now, packet));
    member_turn(m);
}

/* ---- what the host says and asks ---- */

struct elect_news elect_member_status(const struct elect_member *m, unsigned group)
{
    const struct group *g = &m->group[group];
    const struct elect_mandate *o = &g->node.mandate;
    elect_time now = elect_uv_now(); /* without a mandate nothing is promised beyond a moment */
    elect_time beat = g->config.duration[ELECT_HEARTBEAT_TIMER - ELECT_FIRST_TIMER];
    bool leads = !m->over && elect_leads(&g->node, now);
    uint8_t follows = g->node.mandated                ? o->presence.follows
                      : g->node.state == ELECT_NORMAL ? g->node.leader
                                                      : ELECT_NOBODY;
    uint8_t leader = leads ? g->node.me : follows;
    bool known = leads || (!m->over && leader != ELECT_NOBODY && leader != g->node.me);
    struct elect_news news = {.group = group,
                              .known = known,
                              .leads = leads,
                              .works = o->leader.working || (m->over && o->leader.token != 0),
                              .leader = known ? g->config.id[leader] : 0,
                              .term = leads ? o->leader.token : 0,
                              .until = g->node.mandated ? o->time[ELECT_UNTIL] : now + beat};
    if (known && !leads && elect_term_owner(o->voter.granted) == news.leader)
        news.term =
            o->voter.granted; /* its own: what was granted may be another one's, or nothing yet */
    return news;
}

struct elect_rule elect_member_tell(struct elect_member *m, unsigned group,
                                    const struct elect_input *in)
{
    struct elect_rule rule = {ELECT_RULE_NOTHING, ELECT_NOBODY, ELECT_NOBODY};
    if (!m->over) {
        rule = member_step(m, group, in);
        member_turn(m);
    }
    return rule;
}

void elect_member_note(struct elect_member *m, uint16_t to, const uint8_t *bytes, size_t length)
{
    unsigned peer = peer_with(m, to);
    if (m->over || peer == m->peers || peer == m->me || length == 0 || length > ELECT_UV_NOTE)
        return;
    memcpy(m->note[peer].bytes, bytes, length);
    m->note[peer].length = length;
    member_turn(m);
}

void elect_member_deposit(struct elect_member *m, unsigned group)
{
    m->group[group].deposits = m->group[group].node.mandate.leader.term != 0;
    member_turn(m);
}

const struct elect_node *elect_member_node(const struct elect_member *m, unsigned group)
{
    return &m->group[group].node;
}

const struct elect_config *elect_member_config(const struct elect_member *m, unsigned group)
{
    return &m->group[group].config;
}

bool elect_member_peer(const struct elect_member *m, unsigned i, struct elect_peer_info *info)
{
    unsigned at = i + (i >= m->me);
    if (at >= m->peers || m->over)
        return false;
    unsigned session = m->session_of[at];
    const struct session_peer *p = &m->sessions->peer[session];
    uint64_t heard = sessions_heard(m->sessions, session);
    *info = (struct elect_peer_info){.id = p->id,
                                     .links = m->peer[at].links,
                                     .session = heard != 0,
                                     .same = p->digest == m->sessions->digest,
                                     .same_keys = true,
                                     .incarnation = p->known.incarnation,
                                     .heard = heard != 0 ? (elect_time)heard : ELECT_UNSET};
    for (uint8_t slot = 0; slot < SESSION_KEYS; slot++)
        info->same_keys = info->same_keys && (!m->sessions->key[slot].there ||
                                              sessions_accepts(m->sessions, session, slot));
    for (unsigned link = 0; link < info->links; link++)
        info->link[link] =
            (struct elect_link_info){m->peer[at].link[link], m->link_heard[at][link]};
    return true;
}

struct elect_traffic elect_member_traffic(const struct elect_member *m)
{
    struct elect_traffic traffic = m->net.traffic;
    traffic.writes = m->writes;
    return traffic;
}

uint32_t elect_member_incarnation(const struct elect_member *m) { return m->state.incarnation; }

uint32_t member_digest(const struct elect_member *m)
{
    uint32_t digest = 0;
    for (unsigned i = 0; i < m->groups; i++)
        digest = digest * 31 + (m->group[i].mark ^ m->group[i].config.digest);
    return digest;
}

void elect_member_configure(struct elect_member *m, const struct elect_config *config)
{
    for (unsigned i = 0; i < m->groups; i++)
        m->group[i].config = *config;
    sessions_configure(m->sessions, member_digest(m),
                       config->duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER]);
    member_turn(m);
}

void elect_member_move(struct elect_member *m, uint16_t id, unsigned link,
                       const union elect_address *to)
{
    unsigned peer = peer_with(m, id);
    if (peer < m->peers && peer != m->me && link < m->peer[peer].links)
        move(m, peer, link, to);
}

/* ---- keys ---- */

static uint8_t slot_of(const struct elect_member *m, uint8_t id)
{
    uint8_t slot = 0;
    while (slot < SESSION_KEYS &&
           !(m->sessions->key[slot].there && m->sessions->key[slot].id == id))
        slot++;
    return slot;
}

bool elect_member_key_install(struct elect_member *m, const struct elect_key *key, char *why,
                              size_t room)
{
    uint8_t slot = 0;
    while (slot < SESSION_KEYS && m->sessions->key[slot].there)
        slot++;
    if (slot == SESSION_KEYS || slot_of(m, key->id) != SESSION_KEYS) {
        snprintf(why, room,
                 slot == SESSION_KEYS ? "there are two keys already: remove one first"
                                      : "a key with that number is there already");
        return false;
    }
    sessions_add_key(m->sessions, slot, key->id, key->key);
    member_filter(m);
    set_clock(m);
    return true;
}

/* The name of whoever is in the way. */
static bool in_the_way(const struct elect_member *m, uint8_t slot, bool of_use, uint16_t *whom)
{
    uint64_t now = (uint64_t)elect_uv_now();
    for (unsigned i = 0; i < m->sessions->count; i++) {
        *whom = m->sessions->peer[i].id;
        if (of_use ? sessions_lives(m->sessions, i, now) && !sessions_accepts(m->sessions, i, slot)
                   : sessions_speaks_with(m->sessions, i, slot, now))
            return true;
    }
    return false;
}

bool elect_member_key_use(struct elect_member *m, uint8_t id, char *why, size_t room)
{
    uint8_t slot = slot_of(m, id);
    uint16_t whom;
    if (slot == SESSION_KEYS) {
        snprintf(why, room, "key %u is not installed here", id);
        return false;
    }
    if (in_the_way(m, slot, true, &whom)) {
        snprintf(why, room, "member %u does not accept key %u yet: install it there first", whom,
                 id);
        return false;
    }
    sessions_use(m->sessions, slot);
    deposit_anew(m);
    set_clock(m);
    return true;
}

bool elect_member_key_remove(struct elect_member *m, uint8_t id, bool force, char *why, size_t room)
{
    uint8_t slot = slot_of(m, id);
    uint16_t whom;
    if (slot == SESSION_KEYS || slot == m->sessions->use) {
        snprintf(why, room,
                 slot == SESSION_KEYS ? "key %u is not installed here"
                                      : "key %u is used here: use another one first",
                 id);
        return false;
    }
    if (!force && in_the_way(m, m->sessions->use, true, &whom)) {
        snprintf(why, room, "member %u does not accept the key in use: install it there first",
                 whom);
        return false;
    }
    if (!force && in_the_way(m, slot, false, &whom)) {
        snprintf(why, room,
                 "member %u still speaks with key %u: use another one there first, or --force, "
                 "which cuts it off",
                 whom, id);
        return false;
    }
    sessions_remove_key(m->sessions, slot);
    member_filter(m);
    set_clock(m);
    return true;
}

unsigned elect_member_keys(const struct elect_member *m, uint8_t ids[ELECT_UV_KEYS])
{
    unsigned count = 0;
    ids[count++] = m->sessions->key[m->sessions->use].id;
    for (uint8_t slot = 0; slot < SESSION_KEYS; slot++)
        if (m->sessions->key[slot].there && slot != m->sessions->use)
            ids[count++] = m->sessions->key[slot].id;
    return count;
}
