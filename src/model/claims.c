/* See claims.h. */
#include "claims.h"

unsigned claims_note(struct claims *c, elect_term *latest, elect_term token,
                     const struct elect_node *node, const struct elect_output *out, bool spoken)
{
    elect_term now = elect_token(node);
    unsigned broken = 0;
    if (now != 0 && now != token) {
        broken |= now <= c->taken ? CLAIMED_TWICE : 0;
        broken |= now <= *latest ? CLAIMED_LATE : 0;
        c->taken = now > c->taken ? now : c->taken;
        *latest = now > *latest ? now : *latest;
    }
    for (unsigned i = 0; i < out->sends; i++) {
        const struct elect_message *m = &out->send[i].message;
        if (m->type == ELECT_RELEASE && (now != 0 || elect_must_stop(node)))
            broken |= CLAIMED_OVER;
        if (m->type != ELECT_GRANT)
            continue;
        broken |= m->term < c->granted ? CLAIMED_FALLING : 0;
        if (spoken && m->term > c->granted)
            c->granted = m->term;
    }
    return broken;
}

unsigned claims_note_order(struct claims *c, elect_term token, elect_term named,
                           const struct elect_output *out)
{
    if (out->rule.number != ELECT_RULE_RESIGNS)
        return 0;
    bool wrong = token != named || named <= c->ordered;
    c->ordered = named > c->ordered ? named : c->ordered;
    return wrong ? CLAIMED_ORDER : 0;
}
