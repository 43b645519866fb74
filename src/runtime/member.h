/*
 * What a member consists of, and what its files call in each other. start.c puts it together,
 * receive.c takes what comes in, reject.c counts what it rejects, timers.c wakes it up, turn.c
 * performs the output of its steps with outbox.c and testament.c, address.c knows where its peers
 * are; member.c, member_status.c and member_keys.c are the functions for its host.
 */
#ifndef ELECT_RUNTIME_MEMBER_H
#define ELECT_RUNTIME_MEMBER_H

#include "alarm.h"
#include "file.h"
#include "net.h"
#include "store.h"

#define SELF_ROOM        512                 /* messages of a turn from the member to itself */
#define OUTBOX_ROOM      (16 * SESSION_ROOM) /* bytes of a turn to a peer */
#define MEMBER_NOTE_MARK 0 /* in place of the mark of a group: a note from host to host */

struct group {
    uint32_t mark; /* stands for its name on the wire */
    struct elect_config config;
    struct elect_node node;
    elect_time deadline[ELECT_TIMER_COUNT];
    bool announced;
    bool deposits;          /* a testament has to be deposited before anything is sent */
    bool done;              /* with options.lost: it knows enough */
    struct elect_news news; /* the last ones that were announced */
};

/* Records that go to a peer at the end of this turn; a record for which there is no room is lost.
 * The bytes are kept elsewhere, because every turn checks whether all outboxes are empty, and that
 * must not touch a page of memory for each. */
struct outbox {
    size_t used;
    uint8_t *bytes;
};

/* From host to host: one at a time, so that notes take no room from the messages of members. */
struct note {
    size_t length; /* 0: none */
    uint8_t bytes[ELECT_UV_NOTE];
};

struct self_message {
    uint8_t group;
    struct elect_message message;
};

/* An address to which a dynamic peer may have moved. */
struct candidate {
    union elect_address address;
    elect_time since, heard; /* its first packet and its last one */
    unsigned packets;        /* newest ones, in a row; 0 means no candidate */
};

/* Packets of a peer that failed since its last authentic one. */
struct rejections {
    uint32_t count;
    uint8_t reason; /* enum elect_rejection */
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
    struct rejections rejected[SESSION_PEERS], stranger; /* one that has the key */
    uint16_t stranger_id;
    struct {
        elect_time since; /* when its second began */
        unsigned known;   /* samples from configured addresses that were taken in it */
        unsigned strange; /* samples from other addresses */
    } samples;
    struct group group[STORE_GROUPS];
    unsigned groups;
    struct sessions *sessions; /* apart from the member: its keys are never swapped out or dumped */
    struct session_event event;
    struct outbox out[SESSION_PEERS], out_lost[SESSION_PEERS];
    uint8_t out_bytes[2 * SESSION_PEERS][OUTBOX_ROOM];
    struct note note[SESSION_PEERS];
    struct self_message self[SELF_ROOM];
    unsigned selves;
    bool dirty;   /* the state has changed since the last write */
    bool turning; /* a turn is under way: another one must not begin */
    bool over;    /* it has failed or was stopped */
    uint64_t writes, testaments;
    struct file file;
    struct store store;
    struct state state;
    struct net net;
    struct alarm clock;
    unsigned handles;
};

/* From now on this member sends nothing and leads no group. */
void member_fail(struct elect_member *m, bool forbidden, const char *why);
void member_broken(void *context, int error); /* for the sockets and the alarm */
/* A number that is equal for members with equal groups and configurations. */
uint32_t member_digest(const struct elect_member *m);

/* ---- turn.c ---- */

struct elect_rule member_step(struct elect_member *m, unsigned group, const struct elect_input *in);
/* Takes over what a step has put out; member_turn() performs it. */
void member_perform(struct elect_member *m, unsigned group, const struct elect_output *out,
                    elect_time now);
/* Writes, deposits, sends, announces and delivers to the member itself, until all is done. */
void member_turn(struct elect_member *m);
/* Writes the state if it has changed; false if that fails, and then nothing may be sent. */
bool member_write(struct elect_member *m);

/* ---- outbox.c ---- */

void outbox_put(struct outbox *box, uint32_t mark, const uint8_t *bytes, size_t length);
/* Queues a packet for the peer on all of its links. Nothing is sent if its length is 0. */
void member_send(struct elect_member *m, unsigned peer, const uint8_t *bytes, size_t length);
/* Empties all outboxes. */
void member_flush(struct elect_member *m);

/* ---- testament.c ---- */

void member_deposit_all(struct elect_member *m);
/* Testaments were sealed for a session, or addressed to a place, that is gone. The next turn
 * deposits new ones for the terms that this life has asked for. */
void member_deposit_anew(struct elect_member *m);
/* The event is a testament of the peer; false if it is not valid for its present life. */
bool member_take_testament(struct elect_member *m, unsigned peer);

/* ---- address.c ---- */

/* Its index; m->peers if there is no such peer. */
unsigned member_peer_with(const struct elect_member *m, uint16_t id);
/* Has the candidate been heard within the suspicion time? An attacker that repeats a packet with a
 * false source address makes the member send there for that long and no longer. */
bool member_is_candidate_heard(const struct elect_member *m, const struct candidate *c);
/* The event came from this address. */
void member_follow_address(struct elect_member *m, unsigned peer, unsigned link,
                           const union elect_address *from);

/* ---- receive.c: for the sockets ---- */

void member_take(void *context, unsigned link, const union elect_address *from,
                 const uint8_t *bytes, size_t length);
void member_rested(void *context);
/* The sockets let packets of the present sessions and keys pass and, at a bounded rate, samples of
 * what was rejected. */
void member_filter_sockets(struct elect_member *m);
/* The same after a session or a key has changed, with which testaments were sealed. */
void member_filter(struct elect_member *m);

/* ---- reject.c ---- */

/* Counts a packet that is not authentic. Only fixed bytes of its head are looked at. */
void member_reject(struct elect_member *m, unsigned link, const union elect_address *from,
                   const uint8_t *bytes, size_t length);
/* An authentic packet of the peer came in. */
void member_accept(struct elect_member *m, unsigned peer);
/* Which samples may pass the filter now. */
enum filter_samples member_samples(const struct elect_member *m);
/* When the filter is to be opened again; ELECT_UNSET: it is open. */
elect_time member_samples_due(const struct elect_member *m);
/* Opens the filter again if it is time. */
void member_sample(struct elect_member *m, elect_time now);
/* Returns why packets of the peer are rejected, if enough were to tell. */
struct elect_rejected member_rejected(const struct elect_member *m, unsigned peer);

/* ---- timers.c ---- */

void member_ring(void *context);
/* Sets the alarm to the time of the next timer, alarm or HELLO. */
void member_set_timer(struct elect_member *m);

#endif
