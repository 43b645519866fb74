#include "pace.h"

static unsigned place_of(const struct pace *p, uid_t user)
{
    unsigned rested = 0;
    for (unsigned i = 0; i < PACE_USERS; i++) {
        if (p->user[i].user == user && p->user[i].spent != 0)
            return i;
        if (p->user[i].spent < p->user[rested].spent)
            rested = i;
    }
    return rested;
}

elect_time pace_next(const struct pace *p, uid_t user, unsigned bursts, elect_time now)
{
    const struct pace_user *u = &p->user[place_of(p, user)];
    elect_time next = u->spent - ((elect_time)bursts * PACE_BURST - 1) * PACE_PERIOD;
    return u->user == user && next > now ? next : now;
}

void pace_take(struct pace *p, uid_t user, unsigned cost, elect_time now)
{
    struct pace_user *u = &p->user[place_of(p, user)];
    elect_time from = u->user == user && u->spent > now ? u->spent : now;
    *u = (struct pace_user){user, from + (elect_time)cost * PACE_PERIOD};
}
