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
    struct world mark; /* valid if `marked` */
    bool marked;
    unsigned violations;
    struct violation violation[PLAY_MAX_VIOLATIONS];
};

void play_tell(struct play *p, const struct happening *h);
void play_suspect(struct play *p, uint8_t rank);

/*
 * Runs the world through `until`. With WORLD_FOREVER, runs it until it is at rest, then checks the
 * properties of a world at rest. With a failure detector, "at rest" means that every part of the
 * cluster has its leader and no election is under way; without one, that no message, timer or fault
 * is pending. Gives up after 200 suspicion timeouts.
 */
void play_run(struct play *p, uint64_t until);

/* Saves the world as the mark. Moves that lead back to it can repeat forever. */
void play_mark(struct play *p);

/* Records a violation if the property does not hold. For a property of the future, runs the world
 * to rest without a listener. If there is a mark, compares the world with it instead: if they are
 * the same (and, for eventually-leader, the processes do not agree), the moves since the mark can
 * repeat forever. */
void play_check(struct play *p, enum property property);

#endif
