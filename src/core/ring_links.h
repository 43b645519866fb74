/* The links of the ring: see ring_links.c. */
#ifndef ELECT_CORE_RING_LINKS_H
#define ELECT_CORE_RING_LINKS_H

#include "vocabulary.h"

void elect__link_receive(struct process *p, number from, const message *m);
void elect__link_acknowledged(struct process *p, number from, const message *m);
void elect__link_timeout(struct process *p);
void elect__enter_round(struct process *p, uint32_t round);
/* Drops all queued messages, and stops the ring's timers. */
void elect__leave_round(struct process *p);

#endif
