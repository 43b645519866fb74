/*
 * The monitor of the demonstration asks each member for reports at regular intervals, over the
 * status socket of the member. A member that does not answer does not delay the others. All members
 * use the clock of this machine, so the monitor can merge the reports into one chronicle in order
 * of time.
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
    int fd; /* -1: none */
    int64_t began;
    size_t length, room;
    char *bytes;
};

/* The latest report of a member. */
struct seen {
    int64_t at; /* when the latest answered question was sent; 0: the member has not answered yet */
    int64_t until; /* when its office ends, unless it is renewed */
    bool leads;
    unsigned leader; /* the leader that it follows; CLUSTER_MEMBERS: none */
    uint64_t term;
    char state[32];
    int64_t settled; /* when it last began to lead or to follow a leader */
    int64_t told;    /* the latest request for steps after which the member had no further steps */
    uint64_t sent, taken;
    double sends, takes; /* packets per second */
    int64_t counted;     /* when `sends` and `takes` were computed */
};

/* A line of the chronicle. Members that take the same step for the same reason share a line. */
struct line {
    int64_t at;
    /* the first member with this step; CLUSTER_MEMBERS: an act of the user or script */
    unsigned member;
    unsigned others; /* the set of other members with this step */
    char rule[32], a[8], b[8];
    char text[MONITOR_TEXT];
};

/* An office that a member held. */
struct office {
    unsigned member;
    int64_t from, until; /* until: 0 while the office lasts */
    int64_t lease;       /* the end of its lease according to the latest report; 0: no lease */
};

struct monitor {
    const struct cluster *cluster;
    struct conversation talk[CLUSTER_MEMBERS][MONITOR_ASKS];
    struct seen seen[CLUSTER_MEMBERS];
    int64_t story_next[CLUSTER_MEMBERS];
    unsigned lines, offices;
    uint64_t opened; /* the number of all offices, including those that are no longer stored */
    struct line line[MONITOR_LINES];
    struct office office[MONITOR_OFFICES];
};

void monitor_begin(struct monitor *e, const struct cluster *g);
void monitor_end(struct monitor *e);

/* Sends a request to every member that has no unanswered request. */
void monitor_look(struct monitor *e);
/* Adds the descriptors to wait for, and returns their number. */
unsigned monitor_poll(const struct monitor *e, struct pollfd *fd);
/* Reads the answers that have arrived. */
void monitor_take(struct monitor *e);

/* Orders the leader to resign, through this member. The outcome is added to the chronicle. */
void monitor_resign(struct monitor *e, unsigned member);
/* Adds an act of the user or the script to the chronicle. */
void monitor_note(struct monitor *e, int64_t at, const char *text);
/* Records that the member was killed, which ends its office. */
void monitor_killed(struct monitor *e, unsigned member, int64_t at);

/* Writes the text of a line, including the other members that took the step. */
void monitor_line(const struct line *l, char *text, size_t room);

/* Returns true if the member runs and has answered within the last second. */
bool monitor_answers(const struct monitor *e, unsigned member);
bool monitor_leads(const struct monitor *e, unsigned member);
/* Finds the members that lead now, and returns their number. */
unsigned monitor_leaders(const struct monitor *e, unsigned leader[CLUSTER_MEMBERS]);
/* Returns the leader that all running members in this part of the network follow, or
 * CLUSTER_MEMBERS if they do not agree. Stopped members are ignored. */
unsigned monitor_agreed(const struct monitor *e, unsigned part);
/* Returns true if all members that run and are not stopped have reported their steps up to that
 * time. */
bool monitor_told(const struct monitor *e, int64_t time);
/* Returns the first office of `member` that began after `since`, or NULL if there is none yet.
 * CLUSTER_MEMBERS stands for any member. */
const struct office *monitor_office(const struct monitor *e, unsigned member, int64_t since);
/* Returns the longest time without a leader, either between two offices or since the last
 * office. */
int64_t monitor_longest_gap(const struct monitor *e, int64_t now);
/* Returns the longest time during which two members led at once, in microseconds. Times before
 * `since` are ignored. */
int64_t monitor_two_at_once(const struct monitor *e, int64_t since, int64_t now);

#endif
