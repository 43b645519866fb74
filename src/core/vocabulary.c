/* Implements the verbs that all algorithms use. Each verb changes one field of the node or adds one
 * entry to the output. */
#include "vocabulary.h"

#include <assert.h>

void because(struct process *p, enum rule why)
{
    p->out->rule = (struct elect_rule){
        .number = (uint8_t)why,
        .a = p->about,
        .b = p->node->leader,
    };
}

void send(struct process *p, unsigned type, set to)
{
    if (is_empty(to))
        return;
    assert(p->out->sends < ELECT_MAX_SENDS);
    p->out->send[p->out->sends++] = (struct elect_send){
        .to = to,
        .message = {.type = (uint8_t)type, .origin = me(p), .round = p->node->saved.round},
    };
}

/* If a step starts and stops a timer more than once, the last call counts. */
void start(struct process *p, unsigned timer)
{
    p->node->running |= (uint8_t)ELECT_TIMER_BIT(timer);
    p->out->start |= ELECT_TIMER_BIT(timer);
    p->out->stop &= ~ELECT_TIMER_BIT(timer);
}

void stop(struct process *p, unsigned timer)
{
    p->node->running &= (uint8_t)~ELECT_TIMER_BIT(timer);
    p->out->stop |= ELECT_TIMER_BIT(timer);
    p->out->start &= ~ELECT_TIMER_BIT(timer);
}

void stand(struct process *p, enum state s)
{
    p->node->state = (uint8_t)s;
    p->node->leader = ELECT_NOBODY;
}

static void settle(struct process *p, number leader)
{
    p->node->state = NORMAL;
    p->node->leader = leader;
    p->node->active = 0;
    stop(p, ELECT_ANSWER_TIMER);
    stop(p, ELECT_RING_TIMER);
}

void follow(struct process *p, number j)
{
    assert(j > me(p) && j < p->config->n);
    settle(p, j);
}

void lead(struct process *p) { settle(p, me(p)); }
