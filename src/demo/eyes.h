/*
 * What the members of the demonstration say of themselves. Each is asked again and again, over its
 * status socket; nobody waits for one that does not answer. What they say comes together in one
 * chronicle, in the order in which it happened: they all have the same clock.
 */
#ifndef ELECT_DEMO_EYES_H
#define ELECT_DEMO_EYES_H

#include "ground.h"

#include <poll.h>

#define EYES_LINES   512
#define EYES_OFFICES 256
#define EYES_TEXT    160

enum eyes_ask { EYES_STATUS, EYES_STORY, EYES_WATCH, EYES_TELL, EYES_ASKS };

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
    unsigned leader; /* whom it follows; GROUND_MEMBERS: nobody */
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
    unsigned member; /* who took it first; GROUND_MEMBERS: a hand's doing */
    unsigned others; /* set of those who did so, too */
    char rule[32], a[8], b[8];
    char text[EYES_TEXT];
};

/* Somebody led. */
struct office {
    unsigned member;
    int64_t from, until; /* until: 0 while it lasts */
};

struct eyes {
    const struct ground *ground;
    struct conversation talk[GROUND_MEMBERS][EYES_ASKS];
    struct seen seen[GROUND_MEMBERS];
    int64_t story_next[GROUND_MEMBERS];
    unsigned lines, offices;
    struct line line[EYES_LINES];
    struct office office[EYES_OFFICES];
};

void eyes_begin(struct eyes *e, const struct ground *g);
void eyes_end(struct eyes *e);

/* Those who are not being asked already are asked. */
void eyes_look(struct eyes *e);
/* What to wait for: how many were added. Then what has come. */
unsigned eyes_poll(const struct eyes *e, struct pollfd *fd);
void eyes_take(struct eyes *e);

/* It is told to resign; what comes of it enters the chronicle. */
void eyes_resign(struct eyes *e, unsigned member);
/* A hand's doing does so, too. */
void eyes_note(struct eyes *e, int64_t at, const char *text);
/* It was killed then: whatever it led is over. */
void eyes_killed(struct eyes *e, unsigned member, int64_t at);

/* A line of it, with the others. */
void eyes_line(const struct line *l, char *text, size_t room);

/* It has answered lately. */
bool eyes_answers(const struct eyes *e, unsigned member);
bool eyes_leads(const struct eyes *e, unsigned member);
/* Who leads, at this instant; how many. */
unsigned eyes_leaders(const struct eyes *e, unsigned leader[GROUND_MEMBERS]);
/* Whom all that can answer, and are in the same part of the network, follow; GROUND_MEMBERS: there
 * is no such one. */
unsigned eyes_agreed(const struct eyes *e, unsigned part);
/* All that can answer have told what happened to them before that time. */
bool eyes_told(const struct eyes *e, int64_t time);
/* The first office of anybody (or of `member`) that began after `since`; NULL: none yet. */
const struct office *eyes_office(const struct eyes *e, unsigned member, int64_t since);
/* For how long two led at once, in microseconds, since then. */
int64_t eyes_two_at_once(const struct eyes *e, int64_t since, int64_t now);

#endif
