/* A world that is played: moves are made and reported to a listener, and the end is judged. */
#ifndef ELECT_MODEL_PLAY_H
#define ELECT_MODEL_PLAY_H

#include "property.h"
#include "world.h"

#define PLAY_MAX_VIOLATIONS 16

struct play {
    struct world world;
    void (*tell)(void *listener, const struct world *w, const struct happening *h); /* or NULL */
    void *listener;
    struct world mark; /* the world at the mark, if there is one */
    bool marked;
    unsigned violations;
    struct violation violation[PLAY_MAX_VIOLATIONS];
};

void play_tell(struct play *p, const struct happening *h);
void play_suspect(struct play *p, uint8_t rank);

/*
 * Lets time pass until `until`, or (WORLD_FOREVER) until the world is at rest. With the detector on
 * it is at rest when every part of the cluster has its leader and no election is under way, without
 * it when nothing is left to happen. Gives up after many suspicion times.
 */
void play_run(struct play *p, uint64_t until);

/* Remembers the world as it is now. Moves that lead back to it can be repeated for ever. */
void play_mark(struct play *p);

/* Records a violation if the property does not hold now. A property about the future is tried out:
 * this world is played on without a listener. If there is a mark, the world must not be the same as
 * at the mark, because then it can go on like that for ever. */
void play_check(struct play *p, enum property property);

#endif
