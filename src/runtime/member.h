/*
 * One member on a libuv loop: the core on real sockets, disks and clocks.
 *
 * What a step puts out is performed in its order: written down, sent, timers, announced. One write
 * covers all groups that changed in a turn of the loop, and the messages of all groups to a peer
 * share datagrams. A member may have several links: everything goes on all of them.
 */
#ifndef ELECT_MEMBER_H
#define ELECT_MEMBER_H

#include "clock.h"
#include "store.h"

#include <netinet/in.h>

#define MEMBER_LINKS 4

union member_address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

struct member_peer {
    uint16_t id;
    uint8_t links;
    union member_address link[MEMBER_LINKS];
};

struct member_group {
    char name[STORE_NAME];
    struct elect_config config; /* in microseconds; the same members in each */
};

/* What a group's leadership is now. */
struct member_news {
    unsigned group;
    bool known; /* somebody leads */
    bool leads; /* this member does, until `until` by clock_now() */
    bool works; /* it did: whoever works must stop, then member_stopped() */
    uint16_t leader;
    elect_term term;
    elect_time until;
};

struct member_options {
    uv_loop_t *loop;
    uint16_t id;
    uint8_t key_id;
    uint8_t cluster[SEAL_CLUSTER], key[SEAL_KEY];
    const char *state; /* its path */
    unsigned peers;    /* all members, this one too: it listens there */
    const struct member_peer *peer;
    unsigned groups;
    const struct member_group *group;
    void (*announce)(void *context, const struct member_news *news);
    void (*fail)(void *context, const char *why); /* it has stopped, for good */
    void *context;
};

struct member;

/* NULL, and why, if it cannot start. */
struct member *member_start(const struct member_options *options, char *why, size_t room);
void member_stop(struct member *m); /* at once, without a word to anybody */

/* Computed at the call. */
struct member_news member_status(const struct member *m, unsigned group);

void member_stopped(struct member *m, unsigned group);
void member_resign(struct member *m, unsigned group, uint8_t successor);

#endif
