/* The failure detector: see detector.c. */
#ifndef ELECT_CORE_DETECTOR_H
#define ELECT_CORE_DETECTOR_H

#include "vocabulary.h"

void elect__suspect(struct process *p);
void elect__beat(struct process *p);
void elect__heartbeat(struct process *p, number from, const message *m);

/* Starts and stops the timers of the detector. elect_step() calls this function at the end of every
 * step, because the timers depend on whether the process leads, follows or holds an election. */
void elect__watch(struct process *p, number leader_before, uint8_t state_before);

#endif
