#include "member.h"

#include "bytes.h"
#include "file.h"
#include "net.h"
#include "saved.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SELF_ROOM   512 /* messages of a turn to oneself */
#define RECORD_HEAD 6   /* which group, how long */

struct group {
    uint32_t mark; /* its name, on the wire */
    struct elect_config config;
    struct elect_node node;
    elect_time deadline[ELECT_TIMER_COUNT];
    bool announced;
};

/* What goes to a peer at the end of this turn. What has no room is lost. */
struct outbox {
    size_t used;
    uint8_t bytes[SESSION_ROOM];
};

struct self_message {
    uint8_t group;
    struct elect_message message;
};

struct member {
    struct member_options options;
    struct member_peer peer[SESSION_PEERS];
    unsigned peers, me; /* me: among them, and my rank is that of its id */
    uint8_t session_of[SESSION_PEERS], peer_of[SESSION_PEERS];
    struct group group[STORE_GROUPS];
    unsigned groups;
    struct sessions *sessions; /* keys: not to be swapped out or dumped */
    struct session_event event;
    struct outbox out[SESSION_PEERS], out_lost[SESSION_PEERS];
    struct self_message self[SELF_ROOM];
    unsigned selves;
    bool dirty, opened, turning, over;
    struct file file;
    struct store store;
    struct state state;
    struct net net;
    struct alarm_clock clock;
    unsigned handles;
};

/* ---- the end ---- */

static void let_go(struct member *m)
{
    if (--m->handles == 0)
        free(m);
}

static void closed(uv_handle_t *handle) { let_go(handle->data); }

void member_stop(struct member *m)
{
    m->over = true;
    file_close(&m->file);
    sodium_free(m->sessions);
    m->sessions = NULL;
    sodium_memzero(m->options.key, sizeof m->options.key);
    m->handles = 1 + m->net.links + (m->clock.open ? 1 : 0); /* the first one is this call's */
    net_close(&m->net, closed);
    clock_close(&m->clock, closed);
    let_go(m);
}

static void fail(struct member *m, const char *why)
{
    if (m->over)
        return;
    m->over = true; /* nothing is sent, and nobody leads, from now on */
    m->options.fail(m->options.context, why);
}

/* ---- what a step puts out ---- */

static void put_record(struct outbox *box, uint32_t mark, const uint8_t *bytes, size_t length)
{
    struct bytes b = {box->bytes + box->used, box->bytes + sizeof box->bytes, true};
    if (!bytes_room(&b, RECORD_HEAD + length))
        return;
    put_number(&b, mark, 4);
    put_number(&b, length, 2);
    put_bytes(&b, bytes, length);
    box->used += RECORD_HEAD + length;
}

static void queue(struct member *m, unsigned group, uint8_t rank,
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

static void perform(struct member *m, unsigned group, const struct elect_output *out,
                    elect_time now)
{
    struct group *g = &m->group[group];
    if (out->persist) {
        saved_store(&g->config, &g->node.saved, &m->state, &m->state.group[group]);
        m->dirty = true;
    }
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
}

static void step(struct member *m, unsigned group, const struct elect_input *in)
{
    struct elect_output out;
    elect_step(&m->group[group].config, &m->group[group].node, in, &out);
    perform(m, group, &out, in->now);
}

/* ---- a turn: written down, sent, delivered to oneself, announced ---- */

static void send_packet(struct member *m, unsigned peer, const uint8_t *bytes, size_t length)
{
    for (unsigned link = 0; link < m->peer[peer].links && length > 0; link++)
        net_send(&m->net, link, &m->peer[peer].link[link], bytes, length);
}

static void flush(struct member *m)
{
    uint8_t packet[SEAL_MAX_PACKET];
    for (unsigned i = 0; i < m->peers; i++) {
        struct outbox *box = &m->out[i], *lost = &m->out_lost[i];
        unsigned session = m->session_of[i];
        if (box->used > 0)
            send_packet(m, i, packet,
                        sessions_seal(m->sessions, session, box->bytes, box->used, packet));
        if (lost->used > 0)
            send_packet(m, i, packet,
                        sessions_seal_lost(m->sessions, session, lost->bytes, lost->used, packet));
        box->used = lost->used = 0;
    }
}

static bool write_down(struct member *m)
{
    if (!m->dirty)
        return true;
    m->dirty = false;
    if (store_write(&m->store, &m->state) != STORE_FINE) {
        fail(m, "the state cannot be written");
        return false;
    }
    m->sessions->sequence = m->state.sequence;
    return true;
}

static void hear_oneself(struct member *m)
{
    unsigned count = m->over ? 0 : m->selves;
    for (unsigned i = 0; i < count; i++) {
        struct self_message s = m->self[i];
        struct group *g = &m->group[s.group];
        struct elect_input in = elect_received(g->node.me, &s.message, clock_now());
        step(m, s.group, &in);
    }
    memmove(m->self, m->self + count, (m->selves - count) * sizeof m->self[0]);
    m->selves -= count;
}

static void announce(struct member *m)
{
    for (unsigned i = 0; i < m->groups && !m->over; i++)
        if (m->group[i].announced) {
            struct member_news news = member_status(m, i);
            m->group[i].announced = false;
            m->options.announce(m->options.context, &news);
        }
}

static bool is_quiet(const struct member *m)
{
    bool quiet = m->selves == 0 && !m->dirty;
    for (unsigned i = 0; i < m->groups; i++)
        quiet = quiet && !m->group[i].announced;
    for (unsigned i = 0; i < m->peers; i++)
        quiet = quiet && m->out[i].used == 0 && m->out_lost[i].used == 0;
    return quiet;
}

static elect_time sooner(elect_time a, elect_time b)
{
    return a == ELECT_UNSET || (b != ELECT_UNSET && b < a) ? b : a;
}

static void set_clock(struct member *m)
{
    elect_time next = ELECT_UNSET;
    for (unsigned i = 0; i < m->groups; i++) {
        next = sooner(next, elect_alarm(&m->group[i].node));
        for (unsigned t = 0; t < ELECT_TIMER_COUNT; t++)
            next = sooner(next, m->group[i].deadline[t]);
    }
    for (unsigned i = 0; i < m->sessions->count; i++)
        next = sooner(next, (elect_time)sessions_next(m->sessions, i));
    clock_set(&m->clock, next);
}

static void filter(struct member *m)
{
    uint32_t tags[SESSION_PEERS * SESSION_TAGS];
    unsigned count = sessions_tags(m->sessions, tags, sizeof tags / sizeof tags[0]);
    m->opened = false;
    net_filter(&m->net, tags, count);
}

static void turn(struct member *m)
{
    if (m->turning || m->over)
        return;
    m->turning = true;
    while (!m->over && !is_quiet(m) && write_down(m)) {
        flush(m);
        announce(m);
        hear_oneself(m);
    }
    m->turning = false;
    if (m->over)
        return;
    if (m->opened)
        filter(m);
    set_clock(m);
}

/* ---- what comes in ---- */

static void take_record(struct member *m, unsigned peer, uint32_t mark, const uint8_t *bytes,
                        size_t length)
{
    for (unsigned i = 0; i < m->groups; i++) {
        struct group *g = &m->group[i];
        struct elect_message message;
        if (g->mark != mark || !elect_decode(&g->config, bytes, length, &message) ||
            (m->event.lost && message.type != ELECT_FORGOT))
            continue;
        struct elect_input in =
            elect_received(elect_rank(&g->config, m->peer[peer].id), &message, clock_now());
        step(m, i, &in);
    }
}

static void take_data(struct member *m, unsigned peer)
{
    struct bytes b = {m->event.content, m->event.content + m->event.length, true};
    while (b.at < b.end) {
        uint32_t mark = (uint32_t)take_number(&b, 4);
        size_t length = (size_t)take_number(&b, 2);
        const uint8_t *at = b.at;
        if (!bytes_room(&b, length))
            return;
        b.at += length;
        take_record(m, peer, mark, at, length);
    }
}

static void remember(struct member *m, unsigned peer, bool at_once)
{
    struct state_peer *p = &m->state.peer[0];
    while (p->id != m->peer[peer].id)
        p++;
    p->known = m->sessions->peer[m->session_of[peer]].known;
    m->dirty = m->dirty || at_once;
}

static void take_packet(void *context, unsigned link, const union member_address *from,
                        const uint8_t *bytes, size_t length)
{
    struct member *m = context;
    struct session_event *e = &m->event;
    struct packet head;
    unsigned peer = 0;
    if (m->over || !seal_head(bytes, length, &head))
        return;
    while (peer < m->peers && m->peer[peer].id != head.from)
        peer++;
    if (peer == m->peers || peer == m->me || link >= m->peer[peer].links ||
        !net_same(from, &m->peer[peer].link[link]))
        return;
    sessions_take(m->sessions, (uint64_t)clock_now(), bytes, length, e);
    if (e->news == SESSION_MUST_STOP)
        fail(m, session_refusal_text((enum session_refusal)e->why));
    if (m->over)
        return;
    if ((e->news == SESSION_OPENED && !e->lost) || e->fresh)
        remember(m, peer, e->news == SESSION_OPENED);
    m->opened = m->opened || e->news == SESSION_OPENED;
    if (e->news == SESSION_DATA)
        take_data(m, peer);
    if (e->answer_length > 0 && write_down(m))
        send_packet(m, peer, e->answer, e->answer_length);
}

static void rested(void *context)
{
    struct member *m = context;
    if (!m->over)
        sessions_turn(m->sessions);
    turn(m);
}

static void ring(void *context)
{
    struct member *m = context;
    elect_time now = clock_now();
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
                step(m, i, &in);
            }
        elect_time alarm = elect_alarm(&g->node);
        struct elect_input in = elect_happens(ELECT_ALARM, now);
        if (alarm != ELECT_UNSET && alarm <= now)
            step(m, i, &in);
    }
    for (unsigned i = 0; i < m->sessions->count; i++)
        send_packet(m, m->peer_of[i], packet,
                    sessions_hello(m->sessions, i, (uint64_t)now, packet));
    turn(m);
}

/* ---- what the host says and asks ---- */

struct member_news member_status(const struct member *m, unsigned group)
{
    const struct group *g = &m->group[group];
    const struct elect_mandate *o = &g->node.mandate;
    struct member_news news = {.group = group,
                               .known = o->follows != ELECT_NOBODY && !m->over,
                               .leads = !m->over && elect_leads(&g->node, clock_now()),
                               .works = o->working,
                               .until = o->time[ELECT_UNTIL]};
    news.leader = news.known ? g->config.id[o->follows] : 0;
    news.term = news.leads ? o->token : o->granted;
    return news;
}

static void told(struct member *m, unsigned group, struct elect_input in)
{
    if (m->over)
        return;
    step(m, group, &in);
    turn(m);
}

void member_stopped(struct member *m, unsigned group)
{
    told(m, group, elect_happens(ELECT_STOPPED, clock_now()));
}

void member_resign(struct member *m, unsigned group, uint8_t successor)
{
    told(m, group, elect_resigns(successor, clock_now()));
}

/* ---- beginning ---- */

static uint32_t mark_of(const char *name)
{
    uint8_t hash[crypto_generichash_BYTES_MIN];
    crypto_generichash(hash, sizeof hash, (const uint8_t *)name, strlen(name), NULL, 0);
    return (uint32_t)hash[0] | (uint32_t)hash[1] << 8 | (uint32_t)hash[2] << 16 |
           (uint32_t)hash[3] << 24;
}

static void draw(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    randombytes_buf(bytes, length);
}

static const char *know_peers(struct member *m)
{
    uint16_t id[SESSION_PEERS];
    for (unsigned i = 0; i < m->peers; i++)
        id[i] = m->peer[i].id;
    return saved_begin(&m->state, id, m->peers);
}

static struct state_group *group_of(struct state *state, const char *name)
{
    for (unsigned i = 0; i < state->groups; i++)
        if (strcmp(state->group[i].name, name) == 0)
            return &state->group[i];
    if (state->groups == STORE_GROUPS)
        return NULL;
    struct state_group *g = &state->group[state->groups++];
    memset(g, 0, sizeof *g);
    memcpy(g->name, name, strlen(name));
    return g;
}

/* Group i of the member is group i of the state: those of the state are put in that order. */
static bool begin_group(struct member *m, unsigned i, char *why, size_t room)
{
    const struct member_group *from = &m->options.group[i];
    struct group *g = &m->group[i];
    struct state_group *s = group_of(&m->state, from->name), swap;
    struct elect_saved saved;
    struct elect_output out;
    uint16_t whom = 0;
    if (s == NULL) {
        snprintf(why, room,
                 "no room for group %s: the state keeps what it promised in %u others; elect "
                 "readmit makes a new one",
                 from->name, STORE_GROUPS);
        return false;
    }
    swap = m->state.group[i];
    m->state.group[i] = *s;
    *s = s != &m->state.group[i] ? swap : *s;
    g->mark = mark_of(from->name);
    g->config = from->config;
    for (unsigned t = 0; t < ELECT_TIMER_COUNT; t++)
        g->deadline[t] = ELECT_UNSET;
    if (!saved_load(&g->config, &m->state, &m->state.group[i], &saved, &whom)) {
        snprintf(why, room,
                 "the state counts with member %u, which the configuration does not know", whom);
        return false;
    }
    elect_time now = clock_now();
    elect_init(&g->config, &g->node, elect_rank(&g->config, m->options.id), ELECT_NOBODY, &saved,
               now, &out);
    perform(m, i, &out, now);
    return true;
}

static bool open_state(struct member *m, char *why, size_t room)
{
    enum file_error file = file_open(&m->file, m->options.state);
    if (file != FILE_FINE) {
        snprintf(why, room, "%s: %s", m->options.state, file_text(file));
        return false;
    }
    struct store_file real = file_store(&m->file);
    memcpy(m->state.cluster, m->options.cluster, SEAL_CLUSTER);
    m->state.node = m->options.id;
    enum store_error error = store_open(&m->store, &real, &m->state);
    const char *wrong = error != STORE_FINE ? store_text(error) : know_peers(m);
    if (wrong != NULL) {
        snprintf(why, room, "%s: %s", m->options.state, wrong);
        return false;
    }
    for (unsigned i = 0; i < m->options.groups; i++, m->groups++)
        if (!begin_group(m, i, why, room))
            return false;
    m->state.incarnation++;
    m->dirty = false;
    if (store_write(&m->store, &m->state) == STORE_FINE)
        return true;
    snprintf(why, room, "%s: %s", m->options.state, strerror(m->store.error));
    return false;
}

static void begin_sessions(struct member *m)
{
    struct sessions *s = m->sessions;
    memset(s, 0, sizeof *s);
    s->id = m->options.id;
    memcpy(s->cluster, m->options.cluster, SEAL_CLUSTER);
    s->incarnation = m->state.incarnation;
    s->sequence = m->state.sequence;
    s->digest = m->group[0].config.digest;
    s->suspicion = m->group[0].config.duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
    s->draw = draw;
    sessions_begin(s);
    sessions_add_key(s, 0, m->options.key_id, m->options.key);
    sodium_memzero(m->options.key, sizeof m->options.key);
    for (unsigned i = 0; i < m->peers; i++) {
        if (i == m->me)
            continue;
        const struct state_peer *p = &m->state.peer[0];
        while (p->id != m->peer[i].id)
            p++;
        m->session_of[i] = s->count;
        m->peer_of[s->count] = (uint8_t)i;
        sessions_add_peer(s, p->id, &p->known);
    }
}

static bool open_net(struct member *m, char *why, size_t room)
{
    unsigned link;
    m->net.take = take_packet;
    m->net.rested = rested;
    m->net.context = m;
    int error = net_open(&m->net, m->options.loop, &m->peer[m->me], &link);
    if (error == 0)
        return true;
    snprintf(why, room, "its address %u: %s", link, strerror(error));
    return false;
}

static bool begin(struct member *m, char *why, size_t room)
{
    while (m->me < m->peers && m->peer[m->me].id != m->options.id)
        m->me++;
    if (m->me == m->peers) {
        snprintf(why, room, "member %u is not among the members", m->options.id);
        return false;
    }
    if (!open_net(m, why, room) || !open_state(m, why, room))
        return false;
    begin_sessions(m);
    return true;
}

struct member *member_start(const struct member_options *options, char *why, size_t room)
{
    struct member *m = calloc(1, sizeof *m);
    if (m == NULL || sodium_init() < 0 ||
        (m->sessions = sodium_malloc(sizeof *m->sessions)) == NULL) {
        snprintf(why, room, "no memory");
        free(m);
        return NULL;
    }
    m->options = *options;
    m->peers = options->peers;
    m->file.fd = -1;
    memcpy(m->peer, options->peer, options->peers * sizeof m->peer[0]);
    int error = clock_open(&m->clock, options->loop, ring, m);
    if (error != 0 || !begin(m, why, room)) {
        if (error != 0)
            snprintf(why, room, "no timer: %s", strerror(error));
        member_stop(m);
        return NULL;
    }
    filter(m);
    for (unsigned i = 0; i < m->groups; i++) {
        struct elect_input in = elect_happens(ELECT_START, clock_now());
        step(m, i, &in);
    }
    turn(m);
    return m;
}
