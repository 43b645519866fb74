/* One alarm for all timers and ALARMs of the groups, and for the HELLOs. */
#include "member.h"

static elect_time sooner(elect_time a, elect_time b)
{
    return a == ELECT_UNSET || (b != ELECT_UNSET && b < a) ? b : a;
}

/* Returns when the group's next ALARM is due. All groups renew at the same times, to share
 * datagrams, so the first renewal of an office may be up to one interval late. */
static elect_time alarm_of(const struct elect_member *m, const struct group *g)
{
    const elect_time *time = g->node.mandate.time;
    elect_time alarm = elect_alarm(&g->node), renewal = g->config.renewal;
    if (m->groups == 1 || g->node.mandate.leader.token == 0 || alarm != time[ELECT_RENEW])
        return alarm;
    elect_time together = (alarm + renewal - 1) / renewal * renewal;
    /* the end of the office must not be noticed late */
    return sooner(together, time[ELECT_UNTIL]);
}

void member_set_timer(struct elect_member *m)
{
    elect_time next = ELECT_UNSET;
    for (unsigned i = 0; i < m->groups; i++) {
        if (m->group[i].done)
            continue;
        next = sooner(next, alarm_of(m, &m->group[i]));
        for (unsigned t = 0; t < ELECT_TIMER_COUNT; t++)
            next = sooner(next, m->group[i].deadline[t]);
    }
    for (unsigned i = 0; i < m->sessions->count; i++)
        next = sooner(next, (elect_time)sessions_next(m->sessions, i));
    next = sooner(next, member_samples_due(m));
    alarm_set(&m->clock, next);
}

void member_ring(void *context)
{
    struct elect_member *m = context;
    elect_time now = elect_uv_now();
    uint8_t packet[SEAL_MAX_PACKET];
    if (m->over)
        return;
    for (unsigned i = 0; i < m->groups; i++) {
        struct group *g = &m->group[i];
        for (unsigned t = 0; t < ELECT_TIMER_COUNT; t++)
            if (g->deadline[t] != ELECT_UNSET && g->deadline[t] <= now) {
                struct elect_input in =
                    elect_happens((enum elect_event)(ELECT_FIRST_TIMER + t), now);
                g->deadline[t] = ELECT_UNSET;
                member_step(m, i, &in);
            }
        elect_time alarm = alarm_of(m, g);
        struct elect_input in = elect_happens(ELECT_ALARM, now);
        if (alarm != ELECT_UNSET && alarm <= now)
            member_step(m, i, &in);
    }
    member_sample(m, now);
    for (unsigned i = 0; i < m->sessions->count; i++)
        member_send(m, m->peer_of[i], packet,
                    sessions_hello(m->sessions, i, (uint64_t)now, packet));
    member_turn(m);
}
