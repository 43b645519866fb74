/*
 * Handles received packets. The session decides which ones are authentic and new; its events become
 * steps of the groups, news for the host, and answers.
 */
#include "member.h"

#include "bytes.h"

_Static_assert(SESSION_LINKS == ELECT_UV_LINKS, "sessions know every link");

/* ---- the records of a datagram ---- */

/* Raises `met`, the peer's latest incarnation known to the core, before the core answers a peer
 * that has lost its state. The session may know a higher one, because some messages of the core,
 * such as grants, do not contain the sender's incarnation. */
static void recall(const struct elect_member *m, unsigned peer, uint32_t *met)
{
    uint32_t known = m->sessions->peer[m->session_of[peer]].known.incarnation;
    *met = known > *met ? known : *met;
}

/* `turning` holds back the host's answers until the whole datagram has been handled. */
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
    if (mark == MEMBER_NOTE_MARK) {
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

/* ---- the events of a session ---- */

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
    member_filter(m); /* before the answer, so that replies can arrive */
    peer_news(m, peer, e->lost ? ELECT_PEER_LOST : ELECT_PEER_OPENED);
    if (!e->lost && m->sessions->peer[m->session_of[peer]].digest != m->sessions->digest)
        peer_news(m, peer, ELECT_PEER_DIFFERS);
}

/* Records the refusal in the state file, so that later starts fail, too. Otherwise each start would
 * raise the incarnation and sequence number, until the other members no longer recognized the state
 * as an old one. */
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
    if (e->news == SESSION_TESTAMENT) {
        if (member_take_testament(m, peer))
            peer_news(m, peer, ELECT_PEER_TESTAMENT);
        return;
    }
    if (e->later)
        m->link_heard[peer][link] = elect_uv_now();
    member_follow_address(m, peer, link, from);
    if (e->news == SESSION_OPENED)
        opened(m, peer);
    if (e->fresh)
        remember(m, peer, false);
    if (e->news == SESSION_REFUSED)
        peer_news(m, peer, refusals[e->why]);
    if (e->news == SESSION_DATA)
        take_data(m, peer);
    if (e->answer_length == 0 || !member_write(m))
        return;
    if (m->peer[peer].dynamic) /* its known address may be out of date */
        net_send(&m->net, link, from, e->answer, e->answer_length);
    else
        member_send(m, peer, e->answer, e->answer_length);
}

/* ---- callbacks of the sockets ---- */

void member_take(void *context, unsigned link, const union elect_address *from,
                 const uint8_t *bytes, size_t length)
{
    struct elect_member *m = context;
    struct packet head;
    if (m->over)
        return;
    unsigned peer = seal_head(bytes, length, &head) ? member_peer_with(m, head.from) : m->peers;
    bool fits = peer != m->peers && peer != m->me && link < m->peer[peer].links;
    bool known = fits && net_same(from, &m->peer[peer].link[link]);
    if (!fits || (!known && !m->peer[peer].dynamic)) {
        member_reject(m, link, from, bytes, length);
        return;
    }
    sessions_take(m->sessions, (uint64_t)elect_uv_now(), known ? link : SESSION_LINKS, bytes,
                  length, &m->event);
    if (m->event.news == SESSION_NOTHING) {
        m->net.traffic.ignored++;
        member_reject(m, link, from, bytes, length);
        return;
    }
    member_accept(m, peer);
    take_event(m, peer, link, from);
}

void member_rested(void *context)
{
    struct elect_member *m = context;
    if (!m->over)
        sessions_turn(m->sessions);
    member_turn(m);
}

void member_filter_sockets(struct elect_member *m)
{
    uint32_t tags[SESSION_PEERS * SESSION_TAGS];
    unsigned count = sessions_tags(m->sessions, tags, sizeof tags / sizeof tags[0]);
    net_filter(&m->net, tags, count, member_samples(m), m->peer, m->peers);
}

void member_filter(struct elect_member *m)
{
    member_filter_sockets(m);
    member_deposit_anew(m);
}
