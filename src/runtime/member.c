/* The host's functions to stop a running member, to give it inputs and notes, and to change its
 * configuration. start.c starts a member; turn.c performs its steps. */
#include "member.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- failing and stopping ---- */

static void let_go(struct elect_member *m)
{
    if (--m->handles == 0)
        free(m);
}

static void closed(uv_handle_t *handle) { let_go(handle->data); }

void elect_member_stop(struct elect_member *m)
{
    m->over = true;
    file_close(&m->file);
    sodium_free(m->sessions);
    m->sessions = NULL;
    sodium_memzero(m->options.key, sizeof m->options.key);
    m->handles = 1 + m->net.links + (m->clock.open ? 1 : 0); /* 1 for this call */
    net_close(&m->net, closed);
    alarm_close(&m->clock, closed);
    let_go(m);
}

void member_fail(struct elect_member *m, bool forbidden, const char *why)
{
    if (m->over)
        return;
    m->over = true;
    m->options.fail(m->options.context, forbidden, why);
}

void member_broken(void *context, int error)
{
    char why[128];
    snprintf(why, sizeof why, "a socket or timer has failed: %s", strerror(error));
    member_fail(context, false, why);
}

/* ---- input from the host ---- */

struct elect_rule elect_member_tell(struct elect_member *m, unsigned group,
                                    const struct elect_input *in)
{
    struct elect_rule rule = {ELECT_RULE_NOTHING, ELECT_NOBODY, ELECT_NOBODY};
    if (!m->over) {
        rule = member_step(m, group, in);
        member_turn(m);
    }
    return rule;
}

void elect_member_note(struct elect_member *m, uint16_t to, const uint8_t *bytes, size_t length)
{
    unsigned peer = member_peer_with(m, to);
    if (m->over || peer == m->peers || peer == m->me || length == 0 || length > ELECT_UV_NOTE)
        return;
    memcpy(m->note[peer].bytes, bytes, length);
    m->note[peer].length = length;
    member_turn(m);
}

void elect_member_configure(struct elect_member *m, const struct elect_config *config)
{
    for (unsigned i = 0; i < m->groups; i++)
        m->group[i].config = *config;
    m->clock.patience = config->renewal;
    sessions_configure(m->sessions, member_digest(m),
                       config->duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER]);
    member_turn(m);
}
