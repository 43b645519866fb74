/* Checks that the values of a configuration fit together: no two members are alike, the algorithm
 * supports the options, and the times are consistent. A cluster with a configuration that fails a
 * check would not work or would not be safe. */
#include "config_internal.h"

#include <stdio.h>
#include <string.h>

#define LONGEST_DELAY 1000000 /* microseconds */

/* With m == other, checks whether the member has the same address twice. */
static bool shares_address(const struct config_member *m, const struct config_member *other)
{
    for (unsigned i = 0; i < m->peer.links; i++)
        for (unsigned j = 0; j < (m == other ? i : other->peer.links); j++)
            if (memcmp(&m->peer.link[i], &other->peer.link[j], sizeof m->peer.link[i]) == 0 &&
                memcmp(&m->host[i], &other->host[j], sizeof m->host[i]) == 0)
                return true;
    return false;
}

static bool check_members(struct config *c)
{
    unsigned dynamic = 0;
    for (unsigned i = 0; i < c->members; i++) {
        const struct config_member *m = &c->member[i];
        if (!m->has_id || m->peer.links == 0)
            return config_complain(c, "member", m->name,
                                   m->has_id ? " has no address" : " has no id");
        if (m->peer.links != c->member[0].peer.links)
            return config_complain(
                c, "member", m->name,
                " has more or fewer addresses than the first member: expected one for each link");
        if (c->mandate == ELECT_NO_MANDATE && !config_may_lead(m))
            return config_complain(c, "member", m->name,
                                   " has a role that needs a mandate: remove the role");
        dynamic += m->peer.dynamic;
        if (dynamic > 1)
            return config_complain(
                c, "member", m->name,
                " is dynamic, as another member is, and they could not find each other: write the "
                "address of one of them");
        for (unsigned j = 0; j < i; j++)
            if (c->member[j].peer.id == m->peer.id)
                return config_complain(c, "member", m->name, " has the id of another member");
        for (unsigned j = 0; j <= i; j++)
            if (shares_address(m, &c->member[j]))
                return config_complain(c, "member", m->name,
                                       j < i ? " has an address of another member"
                                             : " has an address twice: expected one for each link");
    }
    return true;
}

static bool check_algorithm(struct config *c)
{
    return !c->tell_lower || c->algorithm == ELECT_BULLY ||
           config_complain(c, "tell-lower = yes", NULL,
                           " needs algorithm = bully: change one of them");
}

static bool check_groups(struct config *c)
{
    for (unsigned i = 0; i < c->groups; i++)
        if (c->lead_only_with_runner[i] && c->mandate == ELECT_NO_MANDATE)
            return config_complain(c, "group", c->group[i],
                                   " has lead-only-with-runner = yes, which needs a mandate: "
                                   "change one of them");
    return true;
}

static bool refuse_renewal(struct config *c, bool is_long)
{
    if (c->mandate == ELECT_NO_MANDATE)
        return config_complain(c, "renewal is out of range", NULL, ": expected 1ms to 60s");
    if (is_long && c->renewal > 0)
        return config_complain(c, "renewal is too long", NULL,
                               ": it must fit three times into the lease");
    return config_complain(c, "renewal is too short", NULL,
                           ": it must be more than 0, and at least 3/4 of delay");
}

static bool check_times(struct config *c)
{
    struct elect_config e;
    char text[160];
    switch (config_elect(c, &e)) {
    case ELECT_FINE:
        return c->testament_delay < c->lease ||
               config_complain(c, "testament-delay is too long", NULL,
                               ": it must be shorter than lease; or set testament = no");
    case ELECT_NO_SUCH_ROLE:
        return config_complain(c, "no member may lead", NULL,
                               ": at least one must have role = member");
    case ELECT_TOO_LONG:
        if (c->delay == 0 || c->delay > LONGEST_DELAY)
            return config_complain(c, "delay is out of range", NULL,
                                   ": it must be more than 0 and at most 1s");
        if (c->mandate == ELECT_NO_MANDATE)
            return refuse_renewal(c, true);
        return config_complain(c, "lease is too long", NULL,
                               ": it is at most max-lease, which must be raised first, on all "
                               "members");
    case ELECT_LEASE_TOO_SHORT:
        snprintf(text, sizeof text,
                 ": with a delay of %g ms and rho %g%% it must be at least %lldus", c->delay / 1e3,
                 c->rho / 1e4, (long long)elect_shortest_lease(&e, c->rho, 1));
        return config_complain(c, "lease is too short", NULL, text);
    case ELECT_RENEWAL_TOO_LONG: return refuse_renewal(c, true);
    case ELECT_RENEWAL_TOO_SHORT: return refuse_renewal(c, false);
    case ELECT_EMPTY:
    case ELECT_TOO_MANY:
    case ELECT_TWICE:
    case ELECT_DRIFT_TOO_LARGE:
    case ELECT_UNKNOWN_ALGORITHM: break;
    }
    return config_complain(c, "rho is too large", NULL, ": it must be below 50%");
}

bool config_check(struct config *c)
{
    return (c->has_cluster ||
            config_complain(c, "[cluster] has no id", NULL,
                            ": copy elect.conf from another member, or remove this "
                            "file and run elect init --new-cluster")) &&
           (c->members > 0 ||
            config_complain(c, "no section [member NAME]", NULL, ": add one for each member")) &&
           (c->groups > 0 ||
            config_complain(c, "no section [group NAME]", NULL, ": add one for each group")) &&
           check_members(c) && check_algorithm(c) && check_groups(c) && check_times(c);
}
