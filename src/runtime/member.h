/*
 * The parts of a member, and the functions that the files of the member share. start.c puts a
 * member together. receive.c handles the packets that arrive, reject.c counts the packets that are
 * rejected, and address.c keeps the addresses of the peers up to date. timers.c wakes the member
 * up. turn.c carries out the output of its steps, with outbox.c and testament.c. member.c,
 * member_status.c and member_keys.c contain the functions that the host calls.
 */
#ifndef ELECT_RUNTIME_MEMBER_H
#define ELECT_RUNTIME_MEMBER_H

#include "alarm.h"
#include "file.h"
#include "net.h"
#include "store.h"

#define SELF_ROOM   512                 /* most messages from the member to itself in one turn */
#define OUTBOX_ROOM (16 * SESSION_ROOM) /* most bytes that are sent to one peer in one turn */
/* In a record that is a note from one host to another, this mark replaces the mark of a group. */
#define MEMBER_NOTE_MARK 0

struct group {
    uint32_t mark; /* identifies the group on the wire */
    struct elect_config config;
    struct elect_node node;
    elect_time deadline[ELECT_TIMER_COUNT];
    bool announced;
    bool deposits; /* a testament must be deposited before the next packet is sent */
    bool done; /* with options.lost: the other members have told this one enough about the group */
    struct elect_news news; /* the latest news that the host was told */
};

/* Records that are sent to a peer at the end of this turn. A record for which there is no room is
 * lost. The bytes are stored in `out_bytes` of the member and not here: every turn checks whether
 * all outboxes are empty, and that check must not touch a page of memory for each outbox. */
struct outbox {
    size_t used;
    uint8_t *bytes;
};

/* A short message between the hosts of two members, which are the programs that run them. Each peer
 * has separate space for one note, so that notes do not displace the messages of members. */
struct note {
    size_t length; /* 0: there is no note */
    uint8_t bytes[ELECT_UV_NOTE];
};

struct self_message {
    uint8_t group;
    struct elect_message message;
};

/* An address to which a dynamic peer may have moved. */
struct candidate {
    union elect_address address;
    elect_time since, heard; /* when its first and its last packet arrived */
    unsigned packets;        /* packets in a row, each newer than all before it; 0: no candidate */
};

/* Packets of a peer that were rejected since its last authentic packet. */
struct rejections {
    uint32_t count;
    uint8_t reason; /* a value of enum elect_rejection */
    union elect_address from;
    elect_time last;
};

struct elect_member {
    struct elect_member_options options;
    struct elect_peer peer[SESSION_PEERS];
    unsigned peers, me; /* me: the index of this member among the peers */
    uint8_t session_of[SESSION_PEERS], peer_of[SESSION_PEERS];
    elect_time link_heard[SESSION_PEERS][ELECT_UV_LINKS];
    struct candidate candidate[SESSION_PEERS][ELECT_UV_LINKS];
    /* `stranger` counts the packets of a process that has the key, but is not a peer. */
    struct rejections rejected[SESSION_PEERS], stranger;
    uint16_t stranger_id;
    struct {
        elect_time since; /* when the present second began */
        unsigned known;   /* samples from configured addresses in this second */
        unsigned strange; /* samples from other addresses */
    } samples;
    struct group group[STORE_GROUPS];
    unsigned groups;
    struct sessions *sessions; /* in separate memory that is never swapped out or dumped */
    struct session_event event;
    struct outbox out[SESSION_PEERS], out_lost[SESSION_PEERS];
    uint8_t out_bytes[2 * SESSION_PEERS][OUTBOX_ROOM];
    struct note note[SESSION_PEERS];
    struct self_message self[SELF_ROOM];
    unsigned selves;
    bool dirty;   /* the state has changed since the last write */
    bool turning; /* a turn is under way, so another turn must not begin */
    bool over;    /* the member has failed or was stopped */
    uint64_t writes, testaments;
    struct file file;
    struct store store;
    struct state state;
    struct net net;
    struct alarm clock;
    unsigned handles;
};

/* Ends the member, which from then on sends nothing and leads no group. */
void member_fail(struct elect_member *m, bool forbidden, const char *why);
void member_broken(void *context, int error); /* callback of the sockets and the alarm */
/* Returns a digest of the groups and the configuration. Members compare their digests to detect
 * that their configurations differ. */
uint32_t member_digest(const struct elect_member *m);

/* ---- turn.c ---- */

struct elect_rule member_step(struct elect_member *m, unsigned group, const struct elect_input *in);
/* Queues the output of a step. member_turn() then carries it out. */
void member_perform(struct elect_member *m, unsigned group, const struct elect_output *out,
                    elect_time now);
/* Writes the state, deposits testaments, sends packets, announces news to the host, and delivers
 * messages to the member itself, until nothing is left to do. */
void member_turn(struct elect_member *m);
/* Writes the state if it has changed. Returns false if the write fails; the member must then send
 * nothing. */
bool member_write(struct elect_member *m);

/* ---- outbox.c ---- */

void outbox_put(struct outbox *box, uint32_t mark, const uint8_t *bytes, size_t length);
/* Queues a packet for the peer on all of its links, unless its length is 0. */
void member_send(struct elect_member *m, unsigned peer, const uint8_t *bytes, size_t length);
/* Sends the contents of all outboxes. */
void member_flush(struct elect_member *m);

/* ---- testament.c ---- */

void member_deposit_all(struct elect_member *m);
/* Makes the next turn deposit new testaments for the terms that this life has requested. The old
 * testaments were sealed for an earlier session, or are addressed to an old address of a peer. */
void member_deposit_anew(struct elect_member *m);
/* Handles a testament from the peer, which is the content of the present session event. Returns
 * false if the testament is not valid for the peer's present life. */
bool member_take_testament(struct elect_member *m, unsigned peer);

/* ---- address.c ---- */

/* Returns the index of the peer with this id; m->peers if there is no such peer. */
unsigned member_peer_with(const struct elect_member *m, uint16_t id);
/* Returns true if the candidate was heard within the suspicion time. An attacker that repeats a
 * packet with a false source address can make the member send to that address only for the
 * suspicion time. */
bool member_is_candidate_heard(const struct elect_member *m, const struct candidate *c);
/* Updates the address of a dynamic peer after a packet has come from this address. */
void member_follow_address(struct elect_member *m, unsigned peer, unsigned link,
                           const union elect_address *from);

/* ---- receive.c: callbacks of the sockets ---- */

void member_take(void *context, unsigned link, const union elect_address *from,
                 const uint8_t *bytes, size_t length);
void member_rested(void *context);
/* Makes the sockets accept packets of the present sessions and keys and, at a bounded rate, samples
 * of other packets. */
void member_filter_sockets(struct elect_member *m);
/* Updates the filters of the sockets after a session or a key has changed, and makes the next turn
 * deposit new testaments. */
void member_filter(struct elect_member *m);

/* ---- reject.c ---- */

/* Counts a packet that is not authentic. This function compares only the source address and fixed
 * bytes of the head. */
void member_reject(struct elect_member *m, unsigned link, const union elect_address *from,
                   const uint8_t *bytes, size_t length);
/* Records that an authentic packet of the peer has arrived. */
void member_accept(struct elect_member *m, unsigned peer);
/* Returns which samples of other packets the socket filter may let pass now. */
enum filter_samples member_samples(const struct elect_member *m);
/* Returns the time at which the socket filter must let all samples pass again; ELECT_UNSET if it
 * lets them pass now. */
elect_time member_samples_due(const struct elect_member *m);
/* Makes the socket filter let all samples pass again, if the time for this has come. */
void member_sample(struct elect_member *m, elect_time now);
/* Returns why packets from the peer are rejected, if enough of them were rejected. */
struct elect_rejected member_rejected(const struct elect_member *m, unsigned peer);

/* ---- timers.c ---- */

void member_ring(void *context);
/* Sets the alarm to the next time at which a timer, an ALARM, a HELLO or the filter is due. */
void member_set_timer(struct elect_member *m);

#endif
