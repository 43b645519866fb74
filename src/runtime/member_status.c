/* Reports a member's status to its host: the leader of each group, the peers and when they were
 * last heard, and the packets and writes so far. */
#include "member.h"

struct elect_news elect_member_status(const struct elect_member *m, unsigned group)
{
    const struct group *g = &m->group[group];
    const struct elect_mandate *o = &g->node.mandate;
    elect_time now = elect_uv_now();
    /* Without a mandate there is no lease, so a leader is sure of its leadership only for one
     * heartbeat interval. */
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
        /* otherwise the granted term belongs to an earlier leader */
        news.term = o->voter.granted;
    return news;
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
                                     .heard = heard != 0 ? (elect_time)heard : ELECT_UNSET,
                                     .rejected = member_rejected(m, at)};
    for (uint8_t slot = 0; slot < SESSION_KEYS; slot++) {
        bool lacks = m->sessions->key[slot].there && !sessions_accepts(m->sessions, session, slot);
        info->same_keys = info->same_keys && !lacks;
        info->lacks = lacks ? m->sessions->key[slot].id : info->lacks;
    }
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

struct elect_disk elect_member_disk(const struct elect_member *m)
{
    return (struct elect_disk){.syncs = file_syncs(&m->file),
                               .median = file_sync_time(&m->file, 50),
                               .p90 = file_sync_time(&m->file, 90),
                               .p99 = file_sync_time(&m->file, 99)};
}

struct elect_stalls elect_member_stalls(const struct elect_member *m) { return m->clock.stalls; }

uint32_t elect_member_incarnation(const struct elect_member *m) { return m->state.incarnation; }

uint32_t member_digest(const struct elect_member *m)
{
    uint32_t digest = 0;
    for (unsigned i = 0; i < m->groups; i++)
        digest = digest * 31 + (m->group[i].mark ^ m->group[i].config.digest);
    return digest;
}
