/*
 * Counts rejected packets and finds out why they were rejected. A member with another key or of
 * another cluster sends HELLOs that the others cannot read. The socket filter lets some of them
 * pass, so that both sides can report the reason. Nothing in such a packet is authentic, so only
 * its source address and head are compared, and the reason is only reported to the host.
 *
 * A flood must not keep the member busy. After SAMPLES rejected packets from unconfigured addresses
 * within a second, the filter drops such packets for the rest of that second; the same holds for
 * configured addresses. A flood therefore costs at most two receive buffers a second. To prevent
 * the report of a wrong key, an attacker must forge the address of a member.
 */
#include "member.h"

#define SECOND  1000000
#define SAMPLES 16

/* rejections in a row per link before a reason is reported; a restarted peer causes one or two */
#define ENOUGH 4

/* how long a reason is reported after the last rejection; HELLOs are sent once a second */
#define RECENT (10 * SECOND)

const char *elect_uv_rejection(enum elect_rejection reason)
{
    static const char *const texts[] = {
#define X(name, text) text,
        ELECT_REJECTIONS(X)
#undef X
    };
    return texts[reason];
}

static unsigned peer_at(const struct elect_member *m, unsigned link,
                        const union elect_address *from)
{
    unsigned peer = 0;
    while (peer < m->peers && (peer == m->me || link >= m->peer[peer].links ||
                               !net_same(from, &m->peer[peer].link[link])))
        peer++;
    return peer;
}

/* Like judge(), for a HELLO. On entry, `peer` is the result of peer_at() for its source address. */
static enum elect_rejection judge_hello(const struct elect_member *m, const struct packet *head,
                                        unsigned *peer)
{
    unsigned at = *peer, named = member_peer_with(m, head->from);
    bool is_peer = named < m->peers && named != m->me, dynamic = is_peer && m->peer[named].dynamic;
    if (is_peer && head->to == m->options.id &&
        sessions_knows_hello(m->sessions, m->session_of[named], head->tag)) {
        *peer = named;
        return at == named || dynamic ? ELECT_REJECTED_NONE : ELECT_REJECTED_ADDRESS;
    }
    if (at < m->peers && at == named && head->to != m->options.id &&
        member_peer_with(m, head->to) < m->peers)
        return ELECT_REJECTED_OTHER;
    *peer = at < m->peers ? at : named;
    return at < m->peers || dynamic ? ELECT_REJECTED_KEY : ELECT_REJECTED_NONE;
}

/* Sets `peer` to the sender and returns why its packet is rejected. Returns ELECT_REJECTED_NONE if
 * the packet proves nothing: it may be late, repeated, or from a process that is not a peer. */
static enum elect_rejection judge(const struct elect_member *m, unsigned link,
                                  const union elect_address *from, const uint8_t *bytes,
                                  size_t length, unsigned *peer)
{
    struct packet head;
    bool ours = seal_head(bytes, length, &head);
    *peer = peer_at(m, link, from);
    if (!ours)
        return *peer < m->peers ? ELECT_REJECTED_PROTOCOL : ELECT_REJECTED_NONE;
    if (head.type != PACKET_HELLO)
        return ELECT_REJECTED_NONE;
    return judge_hello(m, &head, peer);
}

enum filter_samples member_samples(const struct elect_member *m)
{
    return m->samples.known >= SAMPLES     ? FILTER_NONE
           : m->samples.strange >= SAMPLES ? FILTER_CONFIGURED
                                           : FILTER_ANY;
}

static void count_rejection(struct rejections *r, enum elect_rejection reason,
                            const union elect_address *from)
{
    elect_time now = elect_uv_now();
    r->count = now - r->last > RECENT ? 1 : r->count + (r->count < UINT32_MAX);
    r->reason = (uint8_t)reason;
    r->from = *from;
    r->last = now;
}

/* Remembers a process that has the key, but is not in this member's configuration, as when a member
 * was added or removed only in the configuration of others. If there are several, one of them is
 * remembered until it falls silent. */
static void meet_stranger(struct elect_member *m, const union elect_address *from,
                          const uint8_t *bytes, size_t length)
{
    struct packet head;
    bool is_free = elect_uv_now() - m->stranger.last > RECENT;
    if (!seal_head(bytes, length, &head) || head.type != PACKET_HELLO || head.to != m->options.id ||
        member_peer_with(m, head.from) < m->peers || (!is_free && head.from != m->stranger_id) ||
        !sessions_knows_stranger(m->sessions, head.from, head.tag))
        return;
    m->stranger_id = head.from;
    count_rejection(&m->stranger, ELECT_REJECTED_ADDRESS, from);
}

void member_reject(struct elect_member *m, unsigned link, const union elect_address *from,
                   const uint8_t *bytes, size_t length)
{
    elect_time now = elect_uv_now();
    unsigned peer, *taken;
    if (now - m->samples.since >= SECOND) {
        /* the alarm for the new second may not have rung yet */
        member_sample(m, now);
        m->samples.since = now;
        m->samples.known = m->samples.strange = 0;
    }
    bool strange = peer_at(m, link, from) == m->peers;
    taken = strange ? &m->samples.strange : &m->samples.known;
    if (*taken >= SAMPLES)
        return;
    enum elect_rejection reason = judge(m, link, from, bytes, length, &peer);
    if (reason != ELECT_REJECTED_NONE)
        count_rejection(&m->rejected[peer], reason, from);
    else if (strange)
        meet_stranger(m, from, bytes, length);
    if (++*taken == SAMPLES) {
        member_filter_sockets(m);
        member_set_timer(m);
    }
}

void member_accept(struct elect_member *m, unsigned peer) { m->rejected[peer].count = 0; }

elect_time member_samples_due(const struct elect_member *m)
{
    return member_samples(m) != FILTER_ANY ? m->samples.since + SECOND : ELECT_UNSET;
}

void member_sample(struct elect_member *m, elect_time now)
{
    if (member_samples(m) == FILTER_ANY || now < member_samples_due(m))
        return;
    m->samples.known = m->samples.strange = 0;
    member_filter_sockets(m);
}

static struct elect_rejected rejected(const struct rejections *r, unsigned links)
{
    bool told = r->count >= ENOUGH * links && elect_uv_now() - r->last <= RECENT;
    return (struct elect_rejected){.reason =
                                       told ? (enum elect_rejection)r->reason : ELECT_REJECTED_NONE,
                                   .count = told ? r->count : 0,
                                   .from = r->from};
}

struct elect_rejected member_rejected(const struct elect_member *m, unsigned peer)
{
    return rejected(&m->rejected[peer], m->peer[peer].links);
}

struct elect_rejected elect_member_stranger(const struct elect_member *m, uint16_t *id)
{
    *id = m->stranger_id;
    return rejected(&m->stranger, m->peer[m->me].links);
}
