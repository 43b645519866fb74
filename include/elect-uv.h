/*
 * libelect-uv: one member of a cluster on a libuv loop, for programs that want to be one themselves
 * (others ask a daemon, or run under `elect run`).
 *
 *     struct elect_member_options options = {.loop = loop, .id = 1, .state = "member-1.state",
 *                                            .peers = 3, .peer = peers, .groups = 1,
 *                                            .group = groups, .announce = leadership, ...};
 *     struct elect_member *m = elect_member_start(&options, &forbidden, why, sizeof why);
 *     ...
 *     if (elect_member_status(m, 0).leads)            asked at every use, computed at the call
 *         do_what_only_a_leader_may(token);
 *
 * What a step of the core puts out is performed in its order: written down, sent, timers,
 * announced. One write covers all groups that changed in a turn of the loop, and the messages of
 * all groups to a peer share datagrams. Several addresses of a member are redundant networks:
 * everything goes on all of them.
 *
 * The state file is made once, by elect_member_create(); who has lost it must not make another one
 * but ask the others what was promised: options.lost.
 *
 * Nothing here may be called from another thread than the loop's. Callbacks may call anything but
 * elect_member_stop().
 */
#ifndef ELECT_UV_H
#define ELECT_UV_H

#include <elect.h>
#include <netinet/in.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define ELECT_UV_LINKS   4  /* networks that a member is on */
#define ELECT_UV_GROUPS  64 /* things to be led, each with a leader of its own */
#define ELECT_UV_NAME    64 /* of a group, with its NUL */
#define ELECT_UV_CLUSTER 16
#define ELECT_UV_KEY     32
#define ELECT_UV_KEYS    2    /* while one replaces the other */
#define ELECT_UV_NOTE    1120 /* bytes, at most */

/* AF_UNSPEC: not known (yet). */
union elect_address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

struct elect_peer {
    uint16_t id;
    uint8_t links;
    bool dynamic; /* it is where its packets come from; see SECURITY.md for when it moves */
    union elect_address link[ELECT_UV_LINKS];
};

struct elect_group {
    char name[ELECT_UV_NAME];
    struct elect_config config; /* in microseconds; the same members in each */
};

struct elect_key {
    uint8_t id; /* which of the keys that a packet is sealed with */
    uint8_t key[ELECT_UV_KEY];
};

/* What a group's leadership is now. */
struct elect_news {
    unsigned group;
    bool known;   /* somebody leads */
    bool leads;   /* this member does, until `until` by elect_uv_now() */
    bool works;   /* it did: whoever works must stop; then tell it ELECT_STOPPED */
    bool renewed; /* only `until` has changed */
    uint16_t leader;
    elect_term term; /* the fencing token; 0: not known (yet), or there is no mandate */
    elect_time until;
};

/*
 * A testament says that one term is over, in a packet to each of the other members. A guardian that
 * outlives this process sends it when the process is dead and all work under its mandate has ended,
 * so that no member waits for the lease. Never send it while the process lives: the voters would
 * elect another leader, and two would lead at once.
 */
#define ELECT_UV_TESTAMENT_PACKET 96 /* bytes, at most */

struct elect_testament_packet {
    uint8_t links, length;
    union elect_address link[ELECT_UV_LINKS];
    uint8_t bytes[ELECT_UV_TESTAMENT_PACKET];
};

struct elect_testament {
    unsigned group, packets;
    elect_term term;
    struct elect_testament_packet packet[ELECT_MAX];
};

/* name, what is said of the peer */
#define ELECT_PEER_NEWS(X)                                                                         \
    X(OPENED, "is up")                                                                             \
    X(LOST, "has lost its state, and asks what was promised")                                      \
    X(ROLLED_BACK, "is refused: its state file is older than the state remembered here")           \
    X(CLONED, "is refused: another process with its id is running")                                \
    X(PROTOCOL, "is refused: it speaks no common protocol")                                        \
    X(TESTAMENT, "is dead, says its guardian")                                                     \
    X(DIFFERS, "has another configuration")

enum elect_peer_news {
#define X(name, text) ELECT_PEER_##name,
    ELECT_PEER_NEWS(X)
#undef X
        ELECT_PEER_NEWS_COUNT
};

struct elect_member_options {
    uv_loop_t *loop;
    uint16_t id;
    uint8_t cluster[ELECT_UV_CLUSTER];
    unsigned keys; /* the first one is used */
    struct elect_key key[ELECT_UV_KEYS];
    const char *state; /* the path of its file */
    bool lost;         /* there is none any more: it asks, and makes one when it knows enough */
    unsigned peers;    /* all members, this one too: it listens there */
    const struct elect_peer *peer;
    const int
        *sockets; /* bound before, see elect_member_bind(), and its own from now on; or NULL */
    unsigned groups;
    const struct elect_group *group;
    void (*announce)(void *context, const struct elect_news *news);
    void (*fail)(void *context, bool forbidden, const char *why); /* it has stopped, for good;
                                            forbidden: it must not be started again as it is */
    /* Each may be NULL: */
    void (*step)(void *context, unsigned group, const struct elect_input *in,
                 const struct elect_output *out); /* everything that happens */
    void (*peer_news)(void *context, uint16_t id, enum elect_peer_news news);
    void (*readmitted)(void *context); /* lost: the file is there; stop it, and start anew */
    void (*deposit)(void *context, const struct elect_testament *testament); /* instead of the one
                                            before of that group; then it asks for that term */
    void (*note)(void *context, uint16_t from, const uint8_t *bytes,
                 size_t length); /* what another host has to say: elect_member_note() */
    void *context;
};

struct elect_member;

/* A state file for a member that never ran before. False, and why. */
bool elect_member_create(const char *path, const uint8_t cluster[ELECT_UV_CLUSTER], uint16_t id,
                         char *why, size_t room);

/* The sockets of member `id` of those, one for each link, for whoever keeps them while members come
 * and go. False, and why. */
bool elect_member_bind(const struct elect_peer *peer, unsigned peers, uint16_t id,
                       int sockets[ELECT_UV_LINKS], char *why, size_t room);

/* NULL, and why, if it cannot start; forbidden: not only now, its state or what it was told is
 * wrong. */
struct elect_member *elect_member_start(const struct elect_member_options *options, bool *forbidden,
                                        char *why, size_t room);
void elect_member_stop(struct elect_member *m); /* at once, without a word to anybody */

/* The clock of leases: CLOCK_BOOTTIME in microseconds, which goes on while the machine sleeps. */
elect_time elect_uv_now(void);

/* Computed at the call. */
struct elect_news elect_member_status(const struct elect_member *m, unsigned group);

/* What the host says: ELECT_STOPPED, RESIGN, PAUSE, RESUME, CHANGE, made by elect_happens() and its
 * like with elect_uv_now(). What came of it is the rule of that step. */
struct elect_rule elect_member_tell(struct elect_member *m, unsigned group,
                                    const struct elect_input *in);

/* What the host has to say to that of another member, in a datagram that may be lost; nothing if
 * there is no session with it. One that has not gone out yet is replaced. */
void elect_member_note(struct elect_member *m, uint16_t to, const uint8_t *bytes, size_t length);

/* The testament of that group is deposited once more, if there is one. */
void elect_member_deposit(struct elect_member *m, unsigned group);

/* To look into. */
const struct elect_node *elect_member_node(const struct elect_member *m, unsigned group);
const struct elect_config *elect_member_config(const struct elect_member *m, unsigned group);

struct elect_link_info {
    union elect_address address;
    elect_time heard; /* ELECT_UNSET: never */
};

/* Why packets of a peer are rejected: name, text. The reason is only likely, because nothing in
 * such a packet is authentic. */
#define ELECT_REJECTIONS(X)                                                                        \
    X(NONE, "")                                                                                    \
    X(KEY, "wrong key or other cluster")                                                           \
    X(ADDRESS, "unknown address")                                                                  \
    X(OTHER, "meant for another member")                                                           \
    X(PROTOCOL, "other protocol")

enum elect_rejection {
#define X(name, text) ELECT_REJECTED_##name,
    ELECT_REJECTIONS(X)
#undef X
        ELECT_REJECTION_COUNT
};

/* Packets of a peer that were rejected since its last authentic one. */
struct elect_rejected {
    enum elect_rejection reason; /* NONE: too few to tell, or none lately */
    uint32_t count;              /* of those that were sampled */
    union elect_address from;    /* of the last one */
};

const char *elect_uv_rejection(enum elect_rejection reason);

struct elect_peer_info {
    uint16_t id;
    uint8_t links;
    bool session;   /* it and this one know that they talk to each other's present life */
    bool same;      /* its configuration is this one's */
    bool same_keys; /* it accepts the keys that this one accepts */
    uint32_t incarnation;
    elect_time heard;
    struct elect_link_info link[ELECT_UV_LINKS];
    struct elect_rejected rejected;
};

/* Of all but this one, in the order of the configuration; false if there is no such one. */
bool elect_member_peer(const struct elect_member *m, unsigned i, struct elect_peer_info *info);

/* A process that has the key but is not among the members: its id, and the packets that were
 * rejected. Their tag is authentic, their content was not read. */
struct elect_rejected elect_member_stranger(const struct elect_member *m, uint16_t *id);

struct elect_traffic {
    uint64_t sent, sent_bytes, taken, taken_bytes; /* datagrams */
    uint64_t ignored; /* of those taken: forged, late, or nothing new */
    uint64_t writes;  /* of the state */
};
struct elect_traffic elect_member_traffic(const struct elect_member *m);

/* How long fdatasync of the state file took, in microseconds, rounded down to a power of two. */
struct elect_disk {
    uint64_t syncs, median, p90, p99; /* syncs: how many there were; the others are percentiles */
};
struct elect_disk elect_member_disk(const struct elect_member *m);

/* How often this process stalled for longer than a renewal, measured by its timer. */
struct elect_stalls {
    uint64_t count;
    elect_time longest, last; /* last: the end of the last stall */
};
struct elect_stalls elect_member_stalls(const struct elect_member *m);

uint32_t elect_member_incarnation(const struct elect_member *m);

/* The same members, with other times, or another rule of preemption; and where one of them is. */
void elect_member_configure(struct elect_member *m, const struct elect_config *config);
void elect_member_move(struct elect_member *m, uint16_t id, unsigned link,
                       const union elect_address *to);

/* Rotation of keys, without a stop: install on all members, use on all, remove on all. False, and
 * why: a key is used once every peer that is there accepts it, and removed when none uses it, or by
 * force. */
bool elect_member_key_install(struct elect_member *m, const struct elect_key *key, char *why,
                              size_t room);
bool elect_member_key_use(struct elect_member *m, uint8_t id, char *why, size_t room);
bool elect_member_key_remove(struct elect_member *m, uint8_t id, bool force, char *why,
                             size_t room);
/* Puts in `ids` the members that are down and are not known to accept that key; returns how many.
 * They cannot come back when only that key is accepted here. */
unsigned elect_member_key_lacks(const struct elect_member *m, uint8_t id, uint16_t *ids,
                                unsigned room);
/* How many; the first is used. */
unsigned elect_member_keys(const struct elect_member *m, uint8_t ids[ELECT_UV_KEYS]);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
