/* Plays a world: makes its moves, reports them to a listener, and judges the end. */
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
    struct world mark; /* the world at the mark, if there is one */
    bool marked;
    unsigned violations;
    struct violation violation[PLAY_MAX_VIOLATIONS];
};

void play_tell(struct play *p, const struct happening *h);
void play_suspect(struct play *p, uint8_t rank);

/*
 * Lets time pass through `until`. With WORLD_FOREVER, lets time pass until the world is at rest,
 * then judges the world. With the detector, a world is at rest when every part of the cluster has
 * its leader and no election is under way; without the detector, when nothing is left to happen.
 * Gives up after 200 suspicion timeouts.
 */
void play_run(struct play *p, uint64_t until);

/* Remembers the present world as the mark. Moves that return to that world can be repeated
 * forever. */
void play_mark(struct play *p);

/* Records a violation if the property does not hold now. To test a property about the future, plays
 * this world on without a listener. If there is a mark, such a property is violated if the world is
 * the same as at the mark (and, for eventually-leader, has no agreement), because the moves in
 * between can be repeated forever. */
void play_check(struct play *p, enum property property);

#endif
