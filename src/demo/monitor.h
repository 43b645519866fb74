/*
 * What the members of the demonstration report. The monitor asks each of them periodically, over
 * its status socket, and does not wait for one that does not answer. It merges the reports into one
 * chronicle in order of time, which it can because all members share the clock of this machine.
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

/* The latest of a member. */
struct seen {
    int64_t at;    /* when it was asked; 0: never */
    int64_t until; /* it leads until then, if it is not renewed */
    bool leads;
    unsigned leader; /* whom it follows; CLUSTER_MEMBERS: nobody */
    uint64_t term;
    char state[32];
    int64_t settled; /* when it last said that it leads, or whom it follows */
    int64_t told;    /* when it was asked for what it has told latest of its story */
    uint64_t sent, taken;
    double sends, takes; /* a second */
    int64_t counted;
};

/* What happened; the same step of several members, for the same reason, is one line. */
struct line {
    int64_t at;
    unsigned member; /* who took it first; CLUSTER_MEMBERS: a hand's doing */
    unsigned others; /* set of those who did so, too */
    char rule[32], a[8], b[8];
    char text[MONITOR_TEXT];
};

/* An office that a member held. */
struct office {
    unsigned member;
    int64_t from, until; /* until: 0 while it lasts */
    int64_t lease;       /* the end of its lease as last reported; 0: none */
};

struct monitor {
    const struct cluster *cluster;
    struct conversation talk[CLUSTER_MEMBERS][MONITOR_ASKS];
    struct seen seen[CLUSTER_MEMBERS];
    int64_t story_next[CLUSTER_MEMBERS];
    unsigned lines, offices;
    uint64_t opened; /* offices ever, also those that are not kept */
    struct line line[MONITOR_LINES];
    struct office office[MONITOR_OFFICES];
};

void monitor_begin(struct monitor *e, const struct cluster *g);
void monitor_end(struct monitor *e);

/* Those who are not being asked already are asked. */
void monitor_look(struct monitor *e);
/* What to wait for: how many were added. Then what has come. */
unsigned monitor_poll(const struct monitor *e, struct pollfd *fd);
void monitor_take(struct monitor *e);

/* It is told to resign; what comes of it enters the chronicle. */
void monitor_resign(struct monitor *e, unsigned member);
/* A hand's doing does so, too. */
void monitor_note(struct monitor *e, int64_t at, const char *text);
/* It was killed then: whatever it led is over. */
void monitor_killed(struct monitor *e, unsigned member, int64_t at);

/* A line of it, with the others. */
void monitor_line(const struct line *l, char *text, size_t room);

/* It has answered lately. */
bool monitor_answers(const struct monitor *e, unsigned member);
bool monitor_leads(const struct monitor *e, unsigned member);
/* Who leads, at this instant; how many. */
unsigned monitor_leaders(const struct monitor *e, unsigned leader[CLUSTER_MEMBERS]);
/* Whom all that can answer, and are in the same part of the network, follow; CLUSTER_MEMBERS: there
 * is no such one. */
unsigned monitor_agreed(const struct monitor *e, unsigned part);
/* All that can answer have told what happened to them before that time. */
bool monitor_told(const struct monitor *e, int64_t time);
/* The first office of anybody (or of `member`) that began after `since`; NULL: none yet. */
const struct office *monitor_office(const struct monitor *e, unsigned member, int64_t since);
/* Returns how long there was no leader, at most, between two offices or since the last one. */
int64_t monitor_longest_gap(const struct monitor *e, int64_t now);
/* For how long two led at once, in microseconds, since then. */
int64_t monitor_two_at_once(const struct monitor *e, int64_t since, int64_t now);

#endif
