/* A token bucket for each local user, stored as the time it will be full again. The table is small:
 * a new user replaces the one that has been idle longest. */
#include "pace.h"

/* If the user has no entry, returns the one that has been idle longest. */
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

static struct pace_user *entry_of(struct pace *p, uid_t user)
{
    struct pace_user *u = &p->user[place_of(p, user)];
    if (u->user != user)
        *u = (struct pace_user){.user = user};
    return u;
}

void pace_take(struct pace *p, uid_t user, unsigned turns, elect_time now)
{
    struct pace_user *u = entry_of(p, user);
    u->spent = (u->spent > now ? u->spent : now) + (elect_time)turns * PACE_PERIOD;
}

elect_time pace_fail(struct pace_failures *f, elect_time lasted, elect_time now)
{
    elect_time delay = PACE_FAILED;
    f->count = lasted >= PACE_RAN_WELL ? 1 : f->count + 1;
    for (unsigned i = 1; i < f->count && delay < PACE_LONGEST; i++)
        delay *= 2;
    delay = delay < PACE_LONGEST ? delay : PACE_LONGEST;
    f->until = now + delay;
    return delay;
}

unsigned pace_resign(struct pace *p, uid_t user, elect_time now)
{
    struct pace_user *u = entry_of(p, user);
    bool again = u->resigned != 0 && now - u->resigned < PACE_CALM;
    u->doubled = (uint8_t)(!again ? 0 : u->doubled < PACE_DOUBLE ? u->doubled + 1 : PACE_DOUBLE);
    u->resigned = now;
    return (unsigned)PACE_RESIGN << u->doubled;
}
