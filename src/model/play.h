/* A world being played: moves are made, told to whoever listens, and the end is judged. */
#ifndef ELECT_MODEL_PLAY_H
#define ELECT_MODEL_PLAY_H

#include "property.h"
#include "world.h"

#define PLAY_MAX_VIOLATIONS 16

struct play {
    struct world world;
    void (*tell)(void *listener, const struct world *w, const struct happening *h); /* or NULL */
    void *listener;
    struct world mark; /* the world as it was then, if it was marked */
    bool marked;
    unsigned violations;
    struct violation violation[PLAY_MAX_VIOLATIONS];
};

void play_tell(struct play *p, const struct happening *h);
void play_suspect(struct play *p, uint8_t rank);

/*
 * Lets time pass until `until`, or (WORLD_FOREVER) until the world is at rest: with the detector
 * on, every part of the cluster has its leader and no election is under way; else nothing is left
 * to happen. Gives up after a time in which every repair has had many chances.
 */
void play_run(struct play *p, uint64_t until);

/* Remembers the world as it is now: what leads back to it can happen again and again. */
void play_mark(struct play *p);

/* Puts down a violation if the property does not hold now. Those about the future are tried out:
 * time goes on in this world, in silence. But if it was marked it must not be as it was then: that
 * can go on for ever. */
void play_check(struct play *p, enum property property);

#endif
