/*
 * libelect-uv runs one member of a cluster on a libuv loop. Use it in programs that are members
 * themselves; other programs ask a daemon (libelect-client) or run under `elect run`.
 *
 *     struct elect_member_options options = {.loop = loop, .id = 1, .state = "member-1.state",
 *                                            .peers = 3, .peer = peers, .groups = 1,
 *                                            .group = groups, .announce = leadership, ...};
 *     struct elect_member *m = elect_member_start(&options, &forbidden, why, sizeof why);
 *     ...
 *     if (elect_member_status(m, 0).leads)            call it before every use; it reads the clock
 *         do_what_only_a_leader_may(token);
 *
 * The library carries out the output of each core step in order: it writes the state, sends the
 * messages, sets the timers and then announces changes. One write saves all groups that changed in
 * one iteration of the loop, and one datagram to a peer can carry messages for several groups. If
 * members have several addresses, each address belongs to a redundant network, and every message is
 * sent on all networks.
 *
 * Call elect_member_create() once, to create the state file of a new member. Do not create another
 * file for a member that has lost its state file. Start such a member with options.lost: it then
 * asks the other members what it had promised.
 *
 * Call these functions only from the thread of the loop. Callbacks may call all these functions
 * except elect_member_stop().
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

#define ELECT_UV_LINKS   4  /* maximum number of links (network addresses) per member */
#define ELECT_UV_GROUPS  64 /* maximum number of groups, each with its own leader */
#define ELECT_UV_NAME    64 /* size of a group name, with its NUL */
#define ELECT_UV_CLUSTER 16
#define ELECT_UV_KEY     32
#define ELECT_UV_PRINT   4    /* bytes of the fingerprint of a key */
#define ELECT_UV_KEYS    2    /* a member accepts two keys while one replaces the other */
#define ELECT_UV_NOTE    1120 /* maximum size of a note in bytes */

/* The family AF_UNSPEC means that the address is not known yet. */
union elect_address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

struct elect_peer {
    uint16_t id;
    uint8_t links;
    bool dynamic; /* the peer's address is learned from its packets: see SECURITY.md */
    union elect_address link[ELECT_UV_LINKS];
};

struct elect_group {
    char name[ELECT_UV_NAME];
    struct elect_config config; /* durations in microseconds; all groups have the same members */
};

struct elect_key {
    uint8_t id; /* sent in each packet that the key encrypts */
    uint8_t key[ELECT_UV_KEY];
};

/* The current leader of a group, as far as this member knows. */
struct elect_news {
    unsigned group;
    bool known;
    bool leads; /* this member leads, until `until` */
    /* This member's leadership has ended or is being handed over. Stop all work that depends on it,
     * then pass ELECT_STOPPED to elect_member_tell(). */
    bool works;
    bool renewed;     /* only `until` has changed since the latest announcement */
    uint16_t leader;  /* 0 if no leader is known */
    elect_term term;  /* fencing token; 0 if not known yet or without a mandate */
    elect_time until; /* when the leadership ends unless it is renewed (see elect_uv_now()) */
};

/*
 * A testament tells the other members that a term has ended. It consists of one packet for each of
 * them. A guardian is a process that outlives this one: it sends the testament once this process
 * has died and all work under its mandate has ended, so that no member has to wait for the lease to
 * expire. Never send a testament while the process is running: the voters would elect another
 * leader, and two would lead at the same time.
 */
#define ELECT_UV_TESTAMENT_PACKET 96 /* bytes */

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

/* Events of a peer, each with a name and a text that the log prints after the peer's name. */
#define ELECT_PEER_NEWS(X)                                                                         \
    X(OPENED, "is up")                                                                             \
    X(LOST, "has lost its state, and asks what was promised")                                      \
    X(ROLLED_BACK, "is refused: its state file is older than the state remembered here")           \
    X(CLONED, "is refused: another process with its id is running")                                \
    X(PROTOCOL, "is refused: it speaks no common protocol")                                        \
    X(TESTAMENT, "died (reported by its guardian)")                                                \
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
    unsigned keys; /* number of accepted keys; the first encrypts outgoing packets */
    struct elect_key key[ELECT_UV_KEYS];
    const char *state; /* path of the state file */
    bool lost;         /* the state file is lost: ask the other members, then create a new file */
    unsigned peers;    /* including this member */
    const struct elect_peer *peer;
    const int *sockets; /* from elect_member_bind(), or NULL; the member takes ownership of them */
    unsigned groups;
    const struct elect_group *group;
    void (*announce)(void *context, const struct elect_news *news);
    /* Called when the member has failed and stopped. If `forbidden` is true, the state or the
     * options of the member are wrong: do not start it again until they have been corrected. */
    void (*fail)(void *context, bool forbidden, const char *why);

    /* Each of the following callbacks may be NULL. */

    void (*step)(void *context, unsigned group, const struct elect_input *in,
                 const struct elect_output *out);
    void (*peer_news)(void *context, uint16_t id, enum elect_peer_news news);
    /* Called when a member that was started with `lost` has created its new state file. The host
     * must then stop the member, and restart it without `lost`. */
    void (*readmitted)(void *context);
    /* Called with a testament, which replaces the group's previous one. The member asks the voters
     * for the testament's term only after this call. */
    void (*deposit)(void *context, const struct elect_testament *testament);
    /* Called when a note arrives, a short message that another member's host sent with
     * elect_member_note(). */
    void (*note)(void *context, uint16_t from, const uint8_t *bytes, size_t length);
    /* Returns a member's name, to be used in error messages instead of its id. */
    const char *(*name)(void *context, uint16_t id);
    void *context;
};

struct elect_member;

/* Creates the state file of a member that has never run before. Returns false on failure, with the
 * reason in `why`. */
bool elect_member_create(const char *path, const uint8_t cluster[ELECT_UV_CLUSTER], uint16_t id,
                         char *why, size_t room);

/* Binds the sockets of member `id`, one for each of its links. The host can then keep them open
 * while it restarts the member. Returns false on failure, with the reason in `why`. */
bool elect_member_bind(const struct elect_peer *peer, unsigned peers, uint16_t id,
                       int sockets[ELECT_UV_LINKS], char *why, size_t room);

/* Starts a member. Returns NULL if the member cannot start, with the reason in `why`. Sets
 * `forbidden` to true if the state or the options of the member are wrong, so that another attempt
 * would also fail. */
struct elect_member *elect_member_start(const struct elect_member_options *options, bool *forbidden,
                                        char *why, size_t room);
/* Stops the member immediately, without telling the other members. */
void elect_member_stop(struct elect_member *m);

/* Returns CLOCK_BOOTTIME in microseconds: the clock of the leases, which keeps running while the
 * machine is suspended. */
elect_time elect_uv_now(void);

/* Returns the group's leader, as known to this member at the time of the call. */
struct elect_news elect_member_status(const struct elect_member *m, unsigned group);

/* Passes an event from the host to the member: STOPPED, RESIGN, PAUSE, RESUME, CHANGE, ASIDE or
 * READY. Create the event with elect_happens() or a similar function, and use elect_uv_now() as its
 * time. Returns the rule of the step, which says what the member did and why. */
struct elect_rule elect_member_tell(struct elect_member *m, unsigned group,
                                    const struct elect_input *in);

/* Sends a note from this host to the host of another member, in a datagram that may be lost. A new
 * note replaces an earlier one that has not been sent yet. The note is dropped if there is no
 * session with that member. */
void elect_member_note(struct elect_member *m, uint16_t to, const uint8_t *bytes, size_t length);

/* Calls `deposit` again with the group's testament, if there is one. */
void elect_member_deposit(struct elect_member *m, unsigned group);

/* The node and the configuration that the core uses for the group. */
const struct elect_node *elect_member_node(const struct elect_member *m, unsigned group);
const struct elect_config *elect_member_config(const struct elect_member *m, unsigned group);

struct elect_link_info {
    union elect_address address;
    elect_time heard; /* when a packet last arrived on this link; ELECT_UNSET: never */
};

/* The reasons for rejecting a peer's packets, each with a name and a text. A reason is only a
 * guess, because nothing in such a packet is authentic. */
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

/* The peer's packets that this member has rejected since the last authentic one. */
struct elect_rejected {
    enum elect_rejection reason; /* NONE: too few packets were rejected to tell the reason */
    uint32_t count;              /* number of sampled packets that were rejected */
    union elect_address from;    /* sender of the last rejected packet */
};

const char *elect_uv_rejection(enum elect_rejection reason);

struct elect_peer_info {
    uint16_t id;
    uint8_t links;
    bool session;
    bool same;      /* same configuration as this member */
    bool same_keys; /* the peer accepts all keys that this member accepts */
    uint8_t lacks;  /* if not `same_keys`: the id of a key that the peer does not accept */
    uint32_t incarnation;
    elect_time heard; /* when the peer's last packet arrived; ELECT_UNSET: never */
    struct elect_link_info link[ELECT_UV_LINKS];
    struct elect_rejected rejected;
};

/* Describes the `i`-th of the other members, counted from 0 in the order of the configuration.
 * Returns false if `i` is too large, or if this member has stopped. */
bool elect_member_peer(const struct elect_member *m, unsigned i, struct elect_peer_info *info);

/* Describes the rejected packets from a process that has the key but is not a member, and stores
 * its id in `id`. Such packets have a valid authentication tag, but this member has not read their
 * content. */
struct elect_rejected elect_member_stranger(const struct elect_member *m, uint16_t *id);

struct elect_traffic {
    uint64_t sent, sent_bytes, taken, taken_bytes; /* datagrams sent and received */
    uint64_t ignored; /* received datagrams that were forged, late or duplicates */
    uint64_t writes;  /* of the state file */
};
struct elect_traffic elect_member_traffic(const struct elect_member *m);

/* Number of syncs (fdatasync) of the state file, and percentiles of their duration in microseconds,
 * rounded down to a power of two. */
struct elect_disk {
    uint64_t syncs, median, p90, p99;
};
struct elect_disk elect_member_disk(const struct elect_member *m);

/* Stalls of this process: timers that expired more than a renewal interval late. */
struct elect_stalls {
    uint64_t count;
    elect_time longest, last; /* duration of the longest stall; end of the last one */
};
struct elect_stalls elect_member_stalls(const struct elect_member *m);

uint32_t elect_member_incarnation(const struct elect_member *m);

/* Replaces the configuration of all groups. The durations may change, and preemption may be
 * switched on or off, but the members must remain the same. */
void elect_member_configure(struct elect_member *m, const struct elect_config *config);
void elect_member_move(struct elect_member *m, uint16_t id, unsigned link,
                       const union elect_address *to);

/*
 * These functions rotate keys without a restart. Install the new key on all members, then use it on
 * all members, then remove the old key from all members. Each function returns false on failure,
 * with the reason in `why`. A key can be used once every live peer accepts it. A key can be removed
 * once no peer needs it, or at any time with `force`.
 */
bool elect_member_key_install(struct elect_member *m, const struct elect_key *key, char *why,
                              size_t room);
bool elect_member_key_use(struct elect_member *m, uint8_t id, char *why, size_t room);
bool elect_member_key_remove(struct elect_member *m, uint8_t id, bool force, char *why,
                             size_t room);
/* Stores in `ids` the members that are down and are not known to accept the key, and returns their
 * number. A member that does not accept the key cannot rejoin once this member accepts only that
 * key. */
unsigned elect_member_key_lacks(const struct elect_member *m, uint8_t id, uint16_t *ids,
                                unsigned room);
/* Stores the ids of the keys that this member accepts, beginning with the key in use. Returns their
 * number. */
unsigned elect_member_keys(const struct elect_member *m, uint8_t ids[ELECT_UV_KEYS]);
/* Stores the fingerprint of an accepted key, which does not help to guess the key. Two members that
 * show different fingerprints have different keys. Returns false if no accepted key has this id. */
bool elect_member_key_fingerprint(const struct elect_member *m, uint8_t id,
                                  uint8_t fingerprint[ELECT_UV_PRINT]);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
