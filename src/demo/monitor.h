/*
 * The demonstration's monitor polls the members over their status sockets. A member that does not
 * answer does not delay the others. All members use this machine's clock, so their reports can be
 * merged into one chronicle in order of time.
 */
#ifndef ELECT_DEMO_MONITOR_H
#define ELECT_DEMO_MONITOR_H

#include "cluster.h"

#include <poll.h>

#define MONITOR_LINES   512
#define MONITOR_OFFICES 256
#define MONITOR_TEXT    160

enum monitor_ask { MONITOR_STATUS, MONITOR_STORY, MONITOR_WATCH, MONITOR_TELL, MONITOR_ASKS };

struct conversation {
    int fd; /* -1 if none */
    int64_t began;
    size_t length, room;
    char *bytes;
};

struct seen {
    int64_t at;    /* when its latest answered request was sent; 0 if none yet */
    int64_t until; /* end of its term, unless renewed */
    bool leads;
    unsigned leader; /* CLUSTER_MEMBERS if none */
    uint64_t term;
    char state[32];
    int64_t settled; /* when it last became leader or follower */
    int64_t told;    /* all steps up to this time have been reported */
    uint64_t sent, taken;
    double sends, takes; /* packets per second */
    int64_t counted;
};

/* A line of the chronicle. Members that take the same step for the same reason share a line. */
struct line {
    int64_t at;
    /* first member that took the step; CLUSTER_MEMBERS for an action of the user or the script */
    unsigned member;
    unsigned others; /* set of members */
    char rule[32], a[8], b[8];
    char text[MONITOR_TEXT];
};

struct office {
    unsigned member;
    int64_t from, until; /* `until` is 0 while in office */
    int64_t lease;       /* last reported end of the lease; 0 if there is no lease */
};

struct monitor {
    const struct cluster *cluster;
    struct conversation talk[CLUSTER_MEMBERS][MONITOR_ASKS];
    struct seen seen[CLUSTER_MEMBERS];
    int64_t story_next[CLUSTER_MEMBERS];
    unsigned lines, offices;
    uint64_t opened; /* total number; not all are still stored */
    struct line line[MONITOR_LINES];
    struct office office[MONITOR_OFFICES];
};

void monitor_begin(struct monitor *e, const struct cluster *g);
void monitor_end(struct monitor *e);

/* Sends a request to every member that is not still answering one. */
void monitor_look(struct monitor *e);
/* Fills `fd` with the descriptors to poll, and returns their number. */
unsigned monitor_poll(const struct monitor *e, struct pollfd *fd);
void monitor_take(struct monitor *e);

/* Asks this member to make the leader resign. The outcome appears in the chronicle. */
void monitor_resign(struct monitor *e, unsigned member);
void monitor_note(struct monitor *e, int64_t at, const char *text);
/* Records that the member was killed, which ends its term in office, if any. */
void monitor_killed(struct monitor *e, unsigned member, int64_t at);

/* Writes a line of the chronicle, including the names of all its members. */
void monitor_line(const struct line *l, char *text, size_t room);

/* Returns true if the member runs and has answered within the last second. */
bool monitor_answers(const struct monitor *e, unsigned member);
bool monitor_leads(const struct monitor *e, unsigned member);
unsigned monitor_leaders(const struct monitor *e, unsigned leader[CLUSTER_MEMBERS]);
/* Returns the leader that all running members in this part of the network follow, or
 * CLUSTER_MEMBERS if they disagree. Ignores suspended members. */
unsigned monitor_agreed(const struct monitor *e, unsigned part);
/* Returns true if all running members have reported their steps up to `time`. Ignores suspended
 * members. */
bool monitor_told(const struct monitor *e, int64_t time);
/* Returns the member's first term that began after `since`, or NULL if there is none yet.
 * CLUSTER_MEMBERS stands for any member. */
const struct office *monitor_office(const struct monitor *e, unsigned member, int64_t since);
/* Returns the longest time without a leader, including the time since the last one. */
int64_t monitor_longest_gap(const struct monitor *e, int64_t now);
/* Returns the longest time since `since` with two leaders at once, in microseconds. */
int64_t monitor_two_at_once(const struct monitor *e, int64_t since, int64_t now);

#endif
