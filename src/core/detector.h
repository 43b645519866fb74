/* The failure detector: see detector.c. */
#ifndef ELECT_CORE_DETECTOR_H
#define ELECT_CORE_DETECTOR_H

#include "vocabulary.h"

void elect__suspect(struct process *p);
void elect__beat(struct process *p);
void elect__heartbeat(struct process *p, number from, const message *m);

/* After every step: which of the detector's timers belong to what the process has become. */
void elect__watch(struct process *p, number leader_before, uint8_t state_before);

#endif
