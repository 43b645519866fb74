/* See words.h. */
#include "words.h"

#include <string.h>

void words_id(const struct words *w, uint8_t rank, struct text *t)
{
    if (rank >= w->config->n)
        text_add(t, w->name != NULL ? "no member" : "no process");
    else if (w->name != NULL)
        text_add(t, w->name[rank]);
    else
        text_add_number(t, w->config->id[rank]);
}

void words_ids(const struct words *w, elect_set set, struct text *t)
{
    for (elect_set rest = set; rest != 0; rest &= rest - 1) {
        if (rest != set)
            text_add(t, " ");
        words_id(w, (uint8_t)__builtin_ctzll(rest), t);
    }
}

/* Adds a list in prose, such as "5, 6 and 7". */
static void words_prose(const struct words *w, elect_set set, struct text *t)
{
    for (elect_set rest = set; rest != 0; rest &= rest - 1) {
        if (rest != set)
            text_add(t, (rest & (rest - 1)) == 0 ? " and " : ", ");
        words_id(w, (uint8_t)__builtin_ctzll(rest), t);
    }
}

/* Adds a ring's list in the order of the ring, beginning with its head. In a malformed message, the
 * head may not be a valid rank. */
static void words_list(const struct words *w, uint8_t head, elect_set set, struct text *t)
{
    const struct elect_config *c = w->config;
    unsigned place = head < c->n ? c->place[head] : 0;
    const char *gap = "[";
    for (unsigned i = 0; i < c->n; i++) {
        uint8_t rank = c->ring[(place + i) % c->n];
        if (set >> rank & 1) {
            text_add(t, gap);
            words_id(w, rank, t);
            gap = " ";
        }
    }
    text_add(t, "]");
}

static void add_labelled(struct text *t, const char *label, uint64_t number)
{
    text_add(t, label);
    text_add_number(t, number);
}

static void add_details(const struct elect_message *m, struct text *t)
{
    char term[ELECT_TERM_TEXT];
    if (m->type == ELECT_REFUSE)
        text_add(t, m->what == ELECT_PREVOTE ? " PREVOTE" : " REQUEST");
    if (m->round != 0)
        add_labelled(t, " round ", m->round);
    add_labelled(t, " life ", m->incarnation);
    if (m->leading)
        text_add(t, " leading");
    if (m->type == ELECT_FOLLOWING)
        add_labelled(t, " left ", m->valid_for);
    if (m->type == ELECT_REFUSE && m->in_the_way != 0) {
        text_add(t, " for ");
        text_add(t, elect_term_text(m->in_the_way, term));
    } else if (m->certificate != 0) {
        text_add(t, " after ");
        text_add(t, elect_term_text(m->certificate, term));
    }
}

/* Adds a term, such as "(3.7)" for counter 3 and process 7. */
static void add_term(const struct elect_message *m, bool exactly, struct text *t)
{
    static const char *const reasons[] = {
#define X(name, word) word,
        ELECT_REFUSALS(X)
#undef X
    };
    char term[ELECT_TERM_TEXT];
    text_add(t, "(");
    text_add(t, elect_term_text(m->term, term));
    if (m->type == ELECT_REFUSE) {
        text_add(t, " ");
        text_add(t, m->reason < ELECT_REFUSAL_COUNT ? reasons[m->reason] : "?");
    }
    if (exactly)
        add_details(m, t);
    text_add(t, ")");
}

static bool has_term(const struct elect_message *m)
{
    return m->type != ELECT_PRESENT && m->type != ELECT_FORGOT && m->type != ELECT_REMEMBERS;
}

static void add_presence(const struct words *w, const struct elect_message *m, struct text *t)
{
    text_add(t, "(");
    words_ids(w, m->heard, t);
    text_add(t, m->able ? " able" : "");
    add_labelled(t, " round ", m->round);
    add_labelled(t, " life ", m->incarnation);
    add_labelled(t, " penalty ", m->penalty);
    add_labelled(t, " pause ", m->pause);
    add_labelled(t, " knows ", elect_term_counter(m->term));
    text_add(t, ")");
}

void words_exactly(const struct words *w, const struct elect_message *m, struct text *t)
{
    if (!words_of_mandate(m->type)) {
        words_message(w, m, t);
        return;
    }
    text_add(t, elect_event_name((enum elect_event)m->type));
    if (has_term(m))
        add_term(m, true, t);
    else
        add_presence(w, m, t);
}

void words_message(const struct words *w, const struct elect_message *m, struct text *t)
{
    text_add(t, elect_event_name((enum elect_event)m->type));
    if (words_of_mandate(m->type)) {
        if (has_term(m))
            add_term(m, false, t);
        return;
    }
    if (m->type == ELECT_HEARTBEAT || w->config->algorithm == ELECT_BULLY)
        return;
    if (m->type == ELECT_ELECTION && m->list != 0) {
        words_list(w, m->origin, m->list, t);
        return;
    }
    text_add(t, "(");
    words_id(w, m->list != 0 ? (uint8_t)(63 - __builtin_clzll(m->list)) : m->origin, t);
    text_add(t, ")");
}

/* Under a mandate an election only nominates, so some texts differ. */
static const char *rule_text(const struct words *w, enum elect_rule_number rule)
{
    static const struct {
        enum elect_rule_number rule;
        const char *text;
    } nominations[] = {
        {ELECT_RULE_FOLLOWS, "%a is higher -> for %p, %a is nominated"},
        {ELECT_RULE_TELLS_LOWER, "%a is lower and %p is nominated -> %p announces itself to %a"},
        {ELECT_RULE_LEADER_ANSWERS,
         "%a is lower and %p is nominated -> %p answers OK and announces itself"},
        {ELECT_RULE_ACCEPTS, "%b is the highest of the list -> for %p, %b is nominated"},
        {ELECT_RULE_DECIDES,
         "%p's number has come back, so its list is complete -> for %p, %b is nominated"},
        {ELECT_RULE_ELECTED_FOLLOWS, "%a is elected -> %p passes it on"},
    };
    for (unsigned i = 0; i < sizeof nominations / sizeof nominations[0]; i++)
        if (w->config->mandate == ELECT_MAJORITY && nominations[i].rule == rule)
            return nominations[i].text;
    return elect_rule_text(rule);
}

void words_rule(const struct words *w, uint8_t who, const struct elect_rule *rule,
                const struct elect_message *about, struct text *t)
{
    const char *s = rule_text(w, (enum elect_rule_number)rule->number);
    elect_set all = elect_everyone(w->config);
    for (const char *mark; (mark = strchr(s, '%')) != NULL; s = mark + 2) {
        text_add_bytes(t, s, (size_t)(mark - s));
        switch (mark[1]) {
        case 'p': words_id(w, who, t); break;
        case 'a': words_id(w, rule->a, t); break;
        case 'b': words_id(w, rule->b, t); break;
        case 'h': words_prose(w, all & ~(((elect_set)2 << who) - 1), t); break;
        case 'l': words_list(w, about->origin, about->list, t); break;
        }
    }
    text_add(t, s);
}

const char *words_cut_effect(struct text *t)
{
    static const char arrow[] = " -> ";
    char *at = strstr(t->bytes, arrow);
    if (at == NULL)
        return NULL;
    t->length = (size_t)(at - t->bytes);
    *at = '\0';
    return at + strlen(arrow);
}
