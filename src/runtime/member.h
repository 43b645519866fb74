/* What a member consists of: start.c puts it together, member.c runs it. */
#ifndef ELECT_RUNTIME_MEMBER_H
#define ELECT_RUNTIME_MEMBER_H

#include "alarm.h"
#include "file.h"
#include "net.h"
#include "store.h"

#define SELF_ROOM   512                 /* messages of a turn to oneself */
#define OUTBOX_ROOM (16 * SESSION_ROOM) /* bytes of a turn to a peer */

struct group {
    uint32_t mark; /* its name, on the wire */
    struct elect_config config;
    struct elect_node node;
    elect_time deadline[ELECT_TIMER_COUNT];
    bool announced;
    bool deposits;          /* a testament, before anything is sent */
    bool done;              /* lost: it knows enough */
    struct elect_news news; /* as announced */
};

/* What goes to a peer at the end of this turn. What has no room is lost. The bytes are kept
 * elsewhere: every turn looks whether all outboxes are empty, which must not touch a page each. */
struct outbox {
    size_t used;
    uint8_t *bytes;
};

/* From host to host: one at a time, so that it takes no room from what the members say. */
struct note {
    size_t length; /* 0: none */
    uint8_t bytes[ELECT_UV_NOTE];
};

struct self_message {
    uint8_t group;
    struct elect_message message;
};

/* Where a dynamic peer may be by now. */
struct candidate {
    union elect_address address;
    elect_time since, heard; /* its first packet and its last one */
    unsigned packets;        /* newest ones, in a row; 0: there is no candidate */
};

struct elect_member {
    struct elect_member_options options;
    struct elect_peer peer[SESSION_PEERS];
    unsigned peers, me; /* me: among them, and my rank is that of its id */
    uint8_t session_of[SESSION_PEERS], peer_of[SESSION_PEERS];
    elect_time link_heard[SESSION_PEERS][ELECT_UV_LINKS];
    struct candidate candidate[SESSION_PEERS][ELECT_UV_LINKS];
    struct group group[STORE_GROUPS];
    unsigned groups;
    struct sessions *sessions; /* keys: not to be swapped out or dumped */
    struct session_event event;
    struct outbox out[SESSION_PEERS], out_lost[SESSION_PEERS];
    uint8_t out_bytes[2 * SESSION_PEERS][OUTBOX_ROOM];
    struct note note[SESSION_PEERS];
    struct self_message self[SELF_ROOM];
    unsigned selves;
    bool dirty, turning, over;
    uint64_t writes, testaments;
    struct file file;
    struct store store;
    struct state state;
    struct net net;
    struct alarm clock;
    unsigned handles;
};

/* Nothing is sent, and nobody leads, from now on. */
void member_fail(struct elect_member *m, bool forbidden, const char *why);
/* What a step has put out. */
void member_perform(struct elect_member *m, unsigned group, const struct elect_output *out,
                    elect_time now);
struct elect_rule member_step(struct elect_member *m, unsigned group, const struct elect_input *in);
/* Written down, sent, delivered to oneself, announced. */
void member_turn(struct elect_member *m);
void member_filter(struct elect_member *m);
/* For the clock and the sockets. */
void member_ring(void *context);
void member_take(void *context, unsigned link, const union elect_address *from,
                 const uint8_t *bytes, size_t length);
void member_rested(void *context);
void member_broken(void *context, int error);
/* What all members must be told alike. */
uint32_t member_digest(const struct elect_member *m);

#endif
