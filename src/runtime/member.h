/*
 * The member's internal types and functions. start.c starts a member, receive.c handles packets,
 * reject.c counts rejected ones, address.c tracks the addresses of the peers, timers.c handles
 * timers, and turn.c carries out the output of the core's steps, with outbox.c and testament.c.
 * member.c, member_status.c and member_keys.c contain the functions for the host.
 */
#ifndef ELECT_RUNTIME_MEMBER_H
#define ELECT_RUNTIME_MEMBER_H

#include "alarm.h"
#include "file.h"
#include "net.h"
#include "store.h"

#define SELF_ROOM   512                 /* most messages to itself in one turn */
#define OUTBOX_ROOM (16 * SESSION_ROOM) /* most bytes to one peer in one turn */
/* in place of a group's mark in a record that holds a note */
#define MEMBER_NOTE_MARK 0

struct group {
    uint32_t mark; /* identifies the group on the wire */
    struct elect_config config;
    struct elect_node node;
    elect_time deadline[ELECT_TIMER_COUNT];
    bool announced;
    bool deposits; /* deposit death reports before the next packet is sent */
    bool done;     /* with options.lost: the other members have told enough about this group */
    struct elect_news news;
};

/* Records to be sent to a peer at the end of the turn. If it is full, further records are dropped.
 * The bytes are in the member's `out_bytes`, because every turn checks all outboxes and must not
 * touch a page of memory for each. */
struct outbox {
    size_t used;
    uint8_t *bytes;
};

/* A short message from one member's host program to another's. It has its own buffer, so that notes
 * do not displace the messages of members. */
struct note {
    size_t length; /* 0 if none */
    uint8_t bytes[ELECT_UV_NOTE];
};

struct self_message {
    uint8_t group;
    struct elect_message message;
};

struct candidate {
    union elect_address address;
    elect_time since, heard; /* arrival of its first and last packet */
    unsigned packets;        /* packets in a row, each the newest so far; 0: no candidate */
};

/* A peer's rejected packets since its last authentic one. */
struct rejections {
    uint32_t count;
    uint8_t reason;
    union elect_address from;
    elect_time last;
};

struct elect_member {
    struct elect_member_options options;
    struct elect_peer peer[SESSION_PEERS];
    unsigned peers, me; /* `me`: this member's index in `peer` */
    uint8_t session_of[SESSION_PEERS], peer_of[SESSION_PEERS];
    elect_time link_heard[SESSION_PEERS][ELECT_UV_LINKS];
    struct candidate candidate[SESSION_PEERS][ELECT_UV_LINKS];
    /* `stranger`: a process that has the key, but is not a peer */
    struct rejections rejected[SESSION_PEERS], stranger;
    uint16_t stranger_id;
    struct {
        elect_time since;
        unsigned known;   /* from configured addresses in this second */
        unsigned strange; /* from other addresses */
    } samples;
    struct group group[STORE_GROUPS];
    unsigned groups;
    struct sessions *sessions; /* from sodium_malloc(): never swapped out or dumped */
    struct session_event event;
    struct outbox out[SESSION_PEERS], out_lost[SESSION_PEERS];
    uint8_t out_bytes[2 * SESSION_PEERS][OUTBOX_ROOM];
    struct note note[SESSION_PEERS];
    struct self_message self[SELF_ROOM];
    unsigned selves;
    bool dirty;
    bool turning; /* in member_turn(), which must not be entered again */
    bool over;    /* failed or stopped */
    uint64_t writes, testaments;
    struct file file;
    struct store store;
    struct state state;
    struct net net;
    struct alarm clock;
    unsigned handles;
};

/* Ends the member: from then on it sends nothing and leads no group. */
void member_fail(struct elect_member *m, bool forbidden, const char *why);
void member_broken(void *context, int error);
/* Returns a digest of the groups and the configuration, so that members can detect that theirs
 * differ. */
uint32_t member_digest(const struct elect_member *m);

/* ---- turn.c ---- */

struct elect_rule member_step(struct elect_member *m, unsigned group, const struct elect_input *in);
void member_perform(struct elect_member *m, unsigned group, const struct elect_output *out,
                    elect_time now);
/* Writes the state, deposits death reports, sends packets, announces news, and delivers the
 * member's messages to itself, until nothing is left to do. */
void member_turn(struct elect_member *m);
/* Writes the state if it has changed. Returns false if that fails; the member must then not send
 * anything. */
bool member_write(struct elect_member *m);

/* ---- outbox.c ---- */

void outbox_put(struct outbox *box, uint32_t mark, const uint8_t *bytes, size_t length);
/* Queues a packet on all links of the peer, unless `length` is 0. */
void member_send(struct elect_member *m, unsigned peer, const uint8_t *bytes, size_t length);
void member_flush(struct elect_member *m);

/* ---- testament.c ---- */

void member_deposit_all(struct elect_member *m);
/* Makes the next turn deposit new testaments for all terms requested since the start. The old ones
 * were sealed for an earlier session, or carry an old address of a peer. */
void member_deposit_anew(struct elect_member *m);
/* Handles the testament in the current session event. Returns false unless it is valid for the
 * peer's current incarnation. */
bool member_take_testament(struct elect_member *m, unsigned peer);

/* ---- address.c ---- */

/* Returns the index of the peer with this id, or m->peers. */
unsigned member_peer_with(const struct elect_member *m, uint16_t id);
/* Returns true if the candidate was heard within the suspicion time. This limits how long an
 * attacker who replays a packet from a false address can make the member send to it. */
bool member_is_candidate_heard(const struct elect_member *m, const struct candidate *c);
void member_follow_address(struct elect_member *m, unsigned peer, unsigned link,
                           const union elect_address *from);

/* ---- receive.c: callbacks of the sockets ---- */

void member_take(void *context, unsigned link, const union elect_address *from,
                 const uint8_t *bytes, size_t length);
void member_rested(void *context);
/* Makes the sockets accept packets of the current sessions and keys and, at a bounded rate, samples
 * of other packets. */
void member_filter_sockets(struct elect_member *m);
/* Updates the socket filters after a change of a session or key, and makes the next turn deposit
 * new testaments. */
void member_filter(struct elect_member *m);

/* ---- reject.c ---- */

/* Counts a packet that is not authentic, by its source address and head alone. */
void member_reject(struct elect_member *m, unsigned link, const union elect_address *from,
                   const uint8_t *bytes, size_t length);
void member_accept(struct elect_member *m, unsigned peer);
enum filter_samples member_samples(const struct elect_member *m);
/* Returns when the socket filter must let all samples pass again, or ELECT_UNSET if it does so
 * now. */
elect_time member_samples_due(const struct elect_member *m);
/* Makes the socket filter let all samples pass again once that is due. */
void member_sample(struct elect_member *m, elect_time now);
/* Returns why the peer's packets are rejected, if enough of them were. */
struct elect_rejected member_rejected(const struct elect_member *m, unsigned peer);

/* ---- timers.c ---- */

void member_ring(void *context);
void member_set_timer(struct elect_member *m);

#endif
