/* Plays a world: makes its moves, reports them to a listener, and checks the properties that must
 * hold when the world is at rest. */
#ifndef ELECT_MODEL_PLAY_H
#define ELECT_MODEL_PLAY_H

#include "property.h"
#include "world.h"

#define PLAY_MAX_VIOLATIONS 16

struct play {
    struct world world;
    void (*tell)(void *listener, const struct world *w,
                 const struct happening *h); /* may be NULL */
    void *listener;
    struct world mark; /* the world at the mark, if `marked` is true */
    bool marked;
    unsigned violations;
    struct violation violation[PLAY_MAX_VIOLATIONS];
};

void play_tell(struct play *p, const struct happening *h);
void play_suspect(struct play *p, uint8_t rank);

/*
 * Lets time pass up to and including `until`. If `until` is WORLD_FOREVER, lets time pass until the
 * world is at rest, and then checks the properties of a world at rest. With the failure detector, a
 * world is at rest when every part of the cluster has its leader and no election is under way.
 * Without the detector, a world is at rest when no message, timer or fault is pending. Gives up if
 * the world is not at rest after 200 suspicion timeouts.
 */
void play_run(struct play *p, uint64_t until);

/* Remembers the current world as the mark. If later moves return to that world, they can be
 * repeated forever. */
void play_mark(struct play *p);

/* Checks a property, and records a violation if it does not hold. For a property that concerns the
 * future, this function plays the world silently (without a listener) until the world is at rest.
 * If there is a mark, the function compares the world with the mark instead. If they are the same
 * (and, for eventually-leader, there is no agreement), the property is violated, because the moves
 * since the mark can be repeated forever. */
void play_check(struct play *p, enum property property);

#endif
