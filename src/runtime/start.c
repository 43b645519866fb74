/* Starts a member: binds its sockets, opens its state, begins its sessions and performs the first
 * step of each group. Nothing is sent before the new incarnation is on disk. */
#include "../base/clock.h"
#include "member.h"

#include "saved.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint32_t mark_of(const char *name)
{
    uint8_t hash[crypto_generichash_BYTES_MIN];
    crypto_generichash(hash, sizeof hash, (const uint8_t *)name, strlen(name), NULL, 0);
    uint32_t mark = (uint32_t)hash[0] | (uint32_t)hash[1] << 8 | (uint32_t)hash[2] << 16 |
                    (uint32_t)hash[3] << 24;
    return mark != 0 ? mark : 1; /* 0 is MEMBER_NOTE_MARK */
}

static void draw(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    randombytes_buf(bytes, length);
}

static const char *know_peers(struct elect_member *m)
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

/* Moves the state of options.group[i] to m->state.group[i]. */
static bool order_group(struct elect_member *m, unsigned i, char *why, size_t room)
{
    const char *name = m->options.group[i].name;
    struct state_group *s = group_of(&m->state, name), swap;
    if (s == NULL) {
        snprintf(why, room,
                 "%s: no room for the promises of group %s, because it holds those of %d other "
                 "groups: move it away, "
                 "then run elect readmit",
                 m->options.state, name, STORE_GROUPS);
        return false;
    }
    swap = m->state.group[i];
    m->state.group[i] = *s;
    *s = s != &m->state.group[i] ? swap : *s;
    return true;
}

static bool begin_group(struct elect_member *m, unsigned i, char *why, size_t room)
{
    const struct elect_group *from = &m->options.group[i];
    struct group *g = &m->group[i];
    struct elect_saved saved;
    struct elect_output out;
    uint16_t whom = 0;
    g->mark = mark_of(from->name);
    for (unsigned j = 0; j < i; j++)
        if (m->group[j].mark == g->mark) {
            snprintf(why, room,
                     "cannot distinguish groups %s and %s on the wire: rename one of them",
                     m->options.group[j].name, from->name);
            return false;
        }
    if (!order_group(m, i, why, room))
        return false;
    g->config = from->config;
    for (unsigned t = 0; t < ELECT_TIMER_COUNT; t++)
        g->deadline[t] = ELECT_UNSET;
    uint8_t me = elect_rank(&g->config, m->options.id);
    elect_time now = elect_uv_now();
    if (m->options.lost) {
        elect_readmit(&g->config, &g->node, me, (uint32_t)time(NULL), now, &out);
    } else if (saved_load(&g->config, &m->state, &m->state.group[i], &saved, &whom)) {
        elect_init(&g->config, &g->node, me, ELECT_NOBODY, &saved, now, &out);
    } else {
        snprintf(why, room,
                 "%s: its membership includes member %u, which the configuration lacks: put that "
                 "member back, and let the leader remove it first",
                 m->options.state, whom);
        return false;
    }
    g->news.until = g->node.mandate.time[ELECT_UNTIL];
    member_perform(m, i, &out, now);
    return true;
}

static bool begin_groups(struct elect_member *m, char *why, size_t room)
{
    const char *wrong = know_peers(m);
    if (wrong != NULL) {
        snprintf(why, room, "%s: %s", m->options.state, wrong);
        return false;
    }
    for (; m->groups < m->options.groups; m->groups++)
        if (!begin_group(m, m->groups, why, room))
            return false;
    return true;
}

static bool open_state(struct elect_member *m, bool *forbidden, char *why, size_t room)
{
    enum file_error file = file_open(&m->file, m->options.state);
    if (file != FILE_FINE) {
        *forbidden = file != FILE_IO && file != FILE_LOCKED;
        snprintf(why, room, "%s: %s", m->options.state,
                 file == FILE_IO ? strerror(m->file.error) : file_text(file));
        return false;
    }
    struct store_file real = file_store(&m->file);
    enum store_error error = store_open(&m->store, &real, &m->state);
    *forbidden = error != STORE_IO;
    if (error != STORE_FINE) {
        snprintf(why, room, "%s: %s", m->options.state,
                 error == STORE_IO ? strerror(m->store.error) : store_text(error));
        return false;
    }
    if (m->state.condemned != 0) {
        snprintf(why, room,
                 "%s: the other members have told it to stop (%s): move it away, then run elect "
                 "readmit",
                 m->options.state,
                 session_refusal_text((enum session_refusal)(m->state.condemned - 1)));
        return false;
    }
    if (!begin_groups(m, why, room))
        return false;
    m->state.incarnation++;
    m->dirty = false;
    *forbidden = false;
    if (store_write(&m->store, &m->state) == STORE_FINE)
        return true;
    snprintf(why, room, "%s: %s", m->options.state, strerror(m->store.error));
    return false;
}

/* For a member that has lost its state: the path of its new state file must not exist yet. */
static bool open_nothing(struct elect_member *m, bool *forbidden, char *why, size_t room)
{
    struct file there;
    enum file_error error = file_open(&there, m->options.state);
    *forbidden = error != FILE_IO;
    if (error != FILE_MISSING) {
        file_close(&there);
        snprintf(why, room, error == FILE_IO ? "%s: %s" : "%s exists: %s", m->options.state,
                 error == FILE_IO ? strerror(there.error)
                                  : "if it is damaged, move it away and try again; if not, elect "
                                    "daemon can use it");
        return false;
    }
    for (unsigned i = 0; i < m->options.groups; i++)
        if (m->options.group[i].config.mandate == ELECT_NO_MANDATE) {
            snprintf(why, room,
                     "%s: with mandate = none there are no promises to recover: create a new state "
                     "with elect init",
                     m->options.state);
            return false;
        }
    return begin_groups(m, why, room);
}

static void begin_sessions(struct elect_member *m)
{
    struct sessions *s = m->sessions;
    memset(s, 0, sizeof *s);
    s->id = m->options.id;
    memcpy(s->cluster, m->options.cluster, SEAL_CLUSTER);
    s->lost = m->options.lost;
    s->incarnation = m->state.incarnation;
    s->sequence = s->lost ? (uint64_t)date_now() : m->state.sequence;
    s->digest = member_digest(m);
    s->suspicion = m->group[0].config.duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
    s->draw = draw;
    sessions_begin(s);
    for (unsigned k = 0; k < m->options.keys; k++)
        sessions_add_key(s, (uint8_t)k, m->options.key[k].id, m->options.key[k].key);
    sodium_memzero(m->options.key, sizeof m->options.key);
    for (unsigned i = 0; i < m->peers; i++) {
        for (unsigned link = 0; link < ELECT_UV_LINKS; link++)
            m->link_heard[i][link] = ELECT_UNSET;
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

static const char *bind_remedy(int error, unsigned port)
{
    switch (error) {
    case EADDRINUSE: return "end the process that uses it, or choose another port";
    case EADDRNOTAVAIL: return "correct the address, or give it to this machine";
    case EACCES:
        if (port > 0 && port < 1024)
            return "choose a port from 1024 on, or run this as user root";
        return "check the rules of SELinux or AppArmor";
    case EPERM: return "check the rules of SELinux, AppArmor and the service manager";
    case EAFNOSUPPORT: return "this machine lacks that version of IP: enable it, or use the other";
    case EMFILE:
    case ENFILE: return "raise the limit of open files";
    case ENOMEM:
    case ENOBUFS: return "free memory on this machine";
    default: return "check the address and the network of this machine";
    }
}

bool elect_member_bind(const struct elect_peer *peer, unsigned peers, uint16_t id,
                       int sockets[ELECT_UV_LINKS], char *why, size_t room)
{
    unsigned link, me = 0;
    while (me < peers && peer[me].id != id)
        me++;
    if (me == peers) {
        snprintf(why, room, "the configuration does not contain member %u", id);
        return false;
    }
    int error = net_bind(&peer[me], &peer[me == 0], sockets, &link);
    if (error == 0)
        return true;
    char host[INET6_ADDRSTRLEN];
    union elect_address a = net_own(&peer[me], &peer[me == 0], link - 1);
    bool six = a.any.sa_family == AF_INET6;
    unsigned port = ntohs(a.four.sin_port);
    inet_ntop(a.any.sa_family,
              six ? (const void *)&a.six.sin6_addr : (const void *)&a.four.sin_addr, host,
              sizeof host);
    snprintf(why, room, six ? "cannot bind [%s]:%u: %s: %s" : "cannot bind %s:%u: %s: %s", host,
             port, strerror(error), bind_remedy(error, port));
    return false;
}

static bool open_net(struct elect_member *m, char *why, size_t room)
{
    int own[ELECT_UV_LINKS];
    const int *fd = m->options.sockets;
    m->net = (struct net){
        .take = member_take, .rested = member_rested, .broken = member_broken, .context = m};
    if (fd == NULL && !elect_member_bind(m->peer, m->peers, m->options.id, own, why, room))
        return false;
    int error = net_open(&m->net, m->options.loop, fd != NULL ? fd : own, m->peer[m->me].links);
    if (error != 0)
        snprintf(why, room, "cannot open its sockets: %s", strerror(error));
    return error == 0;
}

static bool begin(struct elect_member *m, bool *forbidden, char *why, size_t room)
{
    while (m->me < m->peers && m->peer[m->me].id != m->options.id)
        m->me++;
    if (m->me == m->peers) {
        snprintf(why, room, "the configuration does not contain member %u", m->options.id);
        *forbidden = true;
        return false;
    }
    memcpy(m->state.cluster, m->options.cluster, SEAL_CLUSTER);
    m->state.node = m->options.id;
    if (!open_net(m, why, room) || !(m->options.lost ? open_nothing(m, forbidden, why, room)
                                                     : open_state(m, forbidden, why, room)))
        return false;
    begin_sessions(m);
    return true;
}

struct elect_member *elect_member_start(const struct elect_member_options *options, bool *forbidden,
                                        char *why, size_t room)
{
    *forbidden = false;
    struct elect_member *m = calloc(1, sizeof *m);
    if (m == NULL || sodium_init() < 0 ||
        (m->sessions = sodium_malloc(sizeof *m->sessions)) == NULL) {
        snprintf(why, room, "cannot start the member: no memory for its sessions and keys");
        free(m);
        return NULL;
    }
    for (unsigned i = 0; i < SESSION_PEERS; i++) {
        m->out[i].bytes = m->out_bytes[i];
        m->out_lost[i].bytes = m->out_bytes[SESSION_PEERS + i];
    }
    m->options = *options;
    m->peers = options->peers;
    m->file.fd = -1;
    memcpy(m->peer, options->peer, options->peers * sizeof m->peer[0]);
    m->clock = (struct alarm){.ring = member_ring,
                              .broken = member_broken,
                              .context = m,
                              .patience = options->group[0].config.renewal};
    int error = alarm_open(&m->clock, options->loop);
    if (error != 0 || !begin(m, forbidden, why, room)) {
        if (error != 0)
            snprintf(why, room, "cannot create a timer: %s", strerror(error));
        elect_member_stop(m);
        return NULL;
    }
    member_filter(m);
    for (unsigned i = 0; i < m->groups && !options->lost; i++) {
        struct elect_input in = elect_happens(ELECT_START, elect_uv_now());
        member_step(m, i, &in);
    }
    member_turn(m);
    return m;
}

bool elect_member_create(const char *path, const uint8_t cluster[ELECT_UV_CLUSTER], uint16_t id,
                         char *why, size_t room)
{
    struct store *store = malloc(sizeof *store);
    struct state *state = calloc(1, sizeof *state);
    int error = ENOMEM;
    enum file_error result = FILE_IO;
    if (store != NULL && state != NULL) {
        memcpy(state->cluster, cluster, SEAL_CLUSTER);
        state->node = id;
        result = file_create(path, store, state, &error);
    }
    if (result != FILE_FINE)
        snprintf(why, room, "%s: %s", path,
                 result == FILE_IO ? strerror(error) : file_text(result));
    free(store);
    free(state);
    return result == FILE_FINE;
}
