/* The last change of leader, out of what the recorders say; or how it came that nobody leads. */
#ifndef ELECT_CMD_EXPLAIN_H
#define ELECT_CMD_EXPLAIN_H

#include "../daemon/journal.h"
#include "gather.h"

#define EXPLAIN_LINES 12

/* The same step of several members, told once. */
struct told {
    const struct recorded *first;
    int64_t last;    /* when the last of them took it */
    unsigned others; /* besides the first */
    uint64_t who;    /* set of them */
    int weight;      /* who is told of first if there is little room */
};

/* How it is known that the old one led no more. */
enum ending {
    END_UNKNOWN, /* nobody says */
    END_OWN,     /* by its own word, which has the time */
    END_GUARDIAN,
    END_RELEASED /* others heard that it was over */
};

struct change {
    const struct recorded *takes;  /* somebody leads; NULL: nobody has since */
    const struct recorded *limit;  /* that, or behind the last step */
    int64_t at;                    /* when it took office, or was asked */
    const char *old;               /* who led before; NULL: nobody did */
    const struct recorded *before; /* ... took office; NULL: not known */
    const struct recorded *reign;  /* the last of how it came to lead */
    const struct recorded *sign;   /* its last sign of life */
    enum ending how;
    const struct recorded *end; /* who says so */
    bool measured;              /* how long nobody led: */
    int64_t gap;                /* so long if it is its own word, else at most; below 0: both led */
    int64_t error;              /* by which that may be wrong: clocks differ */
    bool lasts;                 /* nobody says that the new office is over */
    unsigned lines, left_out;
    struct told line[GATHER_STEPS];
};

/* False if no change is recorded. */
bool explain_find(const struct gathered *g, struct change *c);

/* "1, 2 and 3" */
void explain_names(const struct gathered *g, uint64_t who, struct text *t);

#endif
