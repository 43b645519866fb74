/* The ELECT_ variables. */
#include "environment.h"

#include <stdio.h>

void environment_each(const struct environment *e,
                      void (*add)(void *context, const char *name, const char *value),
                      void *context)
{
    char term[ELECT_TERM_TEXT], token[24], lease[16];
    snprintf(token, sizeof token, "%llu", (unsigned long long)e->term);
    snprintf(lease, sizeof lease, "%u", e->lease / 1000);
    add(context, "ELECT_GROUP", e->group);
    add(context, "ELECT_NODE", e->node);
    add(context, "ELECT_LEADER", e->leader);
    add(context, "ELECT_TERM", elect_term_text(e->term, term));
    add(context, "ELECT_TOKEN", token);
    add(context, "ELECT_LEASE_MS", lease);
    add(context, "ELECT_SOCKET", e->socket);
}
