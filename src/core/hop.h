/* The links of the ring: see hop.c. */
#ifndef ELECT_HOP_H
#define ELECT_HOP_H

#include "vocabulary.h"

void elect__hop_receive(struct process *p, number from, const message *m);
void elect__hop_acked(struct process *p, number from, const message *m);
void elect__hop_timeout(struct process *p);
void elect__enter_round(struct process *p, uint32_t round);
void elect__leave_round(struct process *p); /* nothing is on its way any more */

#endif
