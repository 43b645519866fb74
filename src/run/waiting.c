/* See waiting.h. */
#include "waiting.h"

#include "elect.h"

#include <stdio.h>
#include <string.h>

void waiting_describe(const struct talk *t, char *text, size_t room)
{
    char term[ELECT_TERM_TEXT];
    if (t->leader[0] == '\0')
        snprintf(text, room, "no leader of group %s is known", t->group);
    else if (t->term == 0)
        snprintf(text, room, "%s leads group %s", t->leader, t->group);
    else
        snprintf(text, room, "%s leads group %s in term %s", t->leader, t->group,
                 elect_term_text(t->term, term));
}

void waiting_renew(struct waiting *w)
{
    w->told = false;
    w->line[0] = '\0';
}

static bool is_told(const struct waiting *w, const char *leader)
{
    return w->told && strcmp(w->told_leader, leader) == 0;
}

static void remember(struct waiting *w, const char *leader)
{
    w->told = true;
    memcpy(w->told_leader, leader, TALK_NAME);
}

void waiting_hear(struct waiting *w, const struct talk *t)
{
    bool here = t->leader[0] != '\0' && strcmp(t->leader, t->node) == 0;
    bool news = t->word == TALK_NEWS;
    char leads[3 * TALK_NAME];
    waiting_describe(t, leads, sizeof leads);
    snprintf(w->state, sizeof w->state, "%s%s%s", leads, news || t->why[0] == '\0' ? "" : ", and ",
             news ? "" : t->why);
    w->line[0] = '\0';
    if (is_told(w, t->leader))
        return;
    memcpy(w->leader, t->leader, TALK_NAME);
    if (here && (news || t->why[0] == '\0'))
        remember(w, t->leader);
    else if (news && t->why[0] != '\0')
        snprintf(w->line, sizeof w->line, "waiting: %s (%s)", leads, t->why);
    else
        snprintf(w->line, sizeof w->line, "waiting: %.*s", WAITING_TEXT - 16, w->state);
}

int64_t waiting_next(const struct waiting *w)
{
    return w->line[0] != '\0' ? w->paid - (WAITING_BURST - 1) * WAITING_EVERY : INT64_MAX;
}

const char *waiting_due(struct waiting *w, int64_t now)
{
    static char line[WAITING_TEXT];
    if (now < waiting_next(w))
        return NULL;
    w->paid = (w->paid > now ? w->paid : now) + WAITING_EVERY;
    remember(w, w->leader);
    memcpy(line, w->line, sizeof line);
    w->line[0] = '\0';
    return line;
}
