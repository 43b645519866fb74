/*
 * Parses scenario files into steps and plays the steps. Any fault of a world can be a step.
 * Settings and faults are parsed in setup.c; scenario_write.c writes the same syntax.
 */
#include "scenario.h"

#include "../base/parse.h"
#include "narrate.h"

#include <string.h>

/* The first entry of a word counts. "duplicate" is both a setting and a verb; the text after it
 * decides. */
static const char *const words[] = {
#define X(name, key, value, text) key,
    SETUP_SETTINGS(X)
#undef X
#define X(name, word) word,
        SCENARIO_VERBS(X) WORLD_FAULTS(X)
#undef X
};

static bool complain_id(struct text *t, const struct elect_config *c, uint8_t rank,
                        const char *what)
{
    text_add_number(t, c->id[rank]);
    return text_refuse(t, what);
}

/* ---- parsing ---- */

struct reader {
    struct scenario *scenario;
    struct text *complaint;
    unsigned line;
};

static char *skip_blank(char *s)
{
    while (*s == ' ' || *s == '\t')
        s++;
    return s;
}

static char *word_end(char *s)
{
    while (*s != '\0' && *s != ' ' && *s != '\t')
        s++;
    return s;
}

static char *cut_word(char *s)
{
    char *end = word_end(s);
    if (*end == '\0')
        return end;
    *end = '\0';
    return skip_blank(end + 1);
}

static bool parse_rank(struct reader *r, const char *word, uint8_t *rank)
{
    uint64_t id;
    if (!parse_number(word, UINT32_MAX, &id)) {
        text_add(r->complaint, "expected the number of a process, found \"");
        text_add(r->complaint, word);
        return text_refuse(r->complaint, "\"");
    }
    *rank = elect_rank(&r->scenario->config, (uint32_t)id);
    if (*rank != ELECT_NOBODY)
        return true;
    text_add_number(r->complaint, id);
    return text_refuse(r->complaint, " is not in the cluster");
}

static bool parse_event(struct reader *r, const char *word, unsigned first, unsigned end,
                        const char *what, uint8_t *event)
{
    const char *names[ELECT_EVENT_COUNT];
    for (unsigned e = first; e < end; e++) {
        names[e - first] = elect_event_name((enum elect_event)e);
        if (strcmp(word, names[e - first]) == 0) {
            *event = (uint8_t)e;
            return true;
        }
    }
    return choice_unknown(r->complaint, what, word, names, end - first);
}

static bool parse_run(struct reader *r, char *rest, struct step *step)
{
    if (*rest == '\0')
        return true;
    char *time = cut_word(rest);
    step->timed = true;
    if (strcmp(rest, "until") == 0 && parse_number(time, SETUP_MAX_TIME, &step->time))
        return true;
    return text_refuse(r->complaint, "expected: run, or run until TIME");
}

/* Example: "4 > 5 ELECTION" (the blanks are optional) */
static bool parse_message(struct reader *r, char *rest, struct step *step)
{
    char *arrow = strchr(rest, '>');
    if (arrow == NULL)
        return text_refuse(r->complaint, "expected a message, such as 4 > 5 ELECTION");
    char *to = skip_blank(arrow + 1), *type = cut_word(to);
    *arrow = '\0';
    if (*cut_word(rest) != '\0')
        return text_refuse(r->complaint, "expected a message, such as 4 > 5 ELECTION");
    size_t length = strlen(type), name = strcspn(type, "([");
    if (length >= sizeof step->message)
        return text_refuse(r->complaint, "the message is too long: at most 127 characters");
    if (type[name] != '\0')
        memcpy(step->message, type, length + 1);
    type[name] = '\0';
    return parse_rank(r, rest, &step->rank) && parse_rank(r, to, &step->to) &&
           parse_event(r, type, ELECT_FIRST_MESSAGE, ELECT_FIRST_TIMER, "unknown message ",
                       &step->event);
}

/* Example: "4 > 5 ELECTION until 90" */
static bool parse_late(struct reader *r, char *rest, struct step *step)
{
    char *until = strstr(rest, " until ");
    if (until == NULL || !parse_number(until + 7, SETUP_MAX_TIME, &step->time))
        return text_refuse(r->complaint, "expected: late A > B TYPE until TIME");
    *until = '\0';
    return parse_message(r, rest, step);
}

static bool parse_fire(struct reader *r, char *rest, struct step *step)
{
    char *timer = cut_word(rest);
    return parse_rank(r, rest, &step->rank) &&
           parse_event(r, timer, ELECT_FIRST_TIMER, ELECT_EVENT_COUNT, "unknown timer ",
                       &step->event);
}

static bool parse_check(struct reader *r, const char *word, struct step *step)
{
    static const char *const names[] = {
#define X(name, word, text) word,
        PROPERTY_LIST(X)
#undef X
    };
    return choice_parse(word, names, PROPERTY_COUNT, &step->event, r->complaint);
}

static bool needs_mandate(struct reader *r)
{
    return r->scenario->config.mandate == ELECT_MAJORITY ||
           text_refuse(r->complaint, "this step needs mandate majority");
}

static bool parse_fault(struct reader *r, enum fault_kind kind, char *rest, struct step *step)
{
    if (kind >= FAULT_FIRST_MANDATE && kind <= FAULT_LAST_MANDATE && !needs_mandate(r))
        return false;
    /* In "heal at 5", no argument comes before the time. */
    const char *separator = strncmp(rest, "at ", 3) == 0 ? "at " : " at ";
    return setup_fault(&r->scenario->config, kind, rest, separator, &step->fault, &step->timed,
                       r->complaint);
}

static bool parse_due(struct reader *r, char *rest, struct step *step)
{
    const char *names[ELECT_STANDS];
    char *word = cut_word(rest);
    uint8_t name;
    for (unsigned i = 0; i < ELECT_STANDS; i++)
        names[i] = narrate_time((enum elect_time_name)i);
    if (!needs_mandate(r) || !parse_rank(r, rest, &step->rank) ||
        !choice_parse(word, names, ELECT_STANDS, &name, r->complaint))
        return false;
    step->fault = (struct fault){.kind = FAULT_DUE, .rank = step->rank, .amount = name};
    return true;
}

static bool parse_only_rank(struct reader *r, char *rest, struct step *step)
{
    if (*cut_word(rest) != '\0')
        return text_refuse(r->complaint, "expected the number of a process, and nothing else");
    return needs_mandate(r) && parse_rank(r, rest, &step->rank);
}

#define MAX_COUNTER 1000000

static bool parse_hears(struct reader *r, char *rest, struct step *step)
{
    char *counter = cut_word(rest);
    if (!needs_mandate(r) || !parse_rank(r, rest, &step->rank))
        return false;
    step->fault = (struct fault){.kind = FAULT_HEARS, .rank = step->rank};
    if (!parse_number(counter, MAX_COUNTER, &step->time))
        return text_refuse(r->complaint, "expected: hears ID TERM");
    step->fault.amount = (int64_t)step->time;
    return true;
}

/* Example: "2 stale 3" */
static bool parse_refuse(struct reader *r, char *rest, struct step *step)
{
    static const char *const names[] = {SCENARIO_REFUSALS};
    char *why = cut_word(rest), *counter = cut_word(why);
    if (!needs_mandate(r) || !parse_rank(r, rest, &step->rank) ||
        !choice_parse(why, names, 2, &step->event, r->complaint))
        return false;
    return parse_number(counter, MAX_COUNTER, &step->time) ||
           text_refuse(r->complaint, "expected: refuse ID stale|closed TERM");
}

static struct step *add_step(struct reader *r, enum scenario_verb verb)
{
    struct scenario *s = r->scenario;
    if (s->steps == SCENARIO_MAX_STEPS) {
        text_refuse(r->complaint, "too many steps: at most 4096");
        return NULL;
    }
    s->step[s->steps] = (struct step){.verb = (uint8_t)verb, .line = r->line};
    return &s->step[s->steps++];
}

static bool parse_suspects(struct reader *r, char *rest)
{
    if (*rest == '\0')
        return text_refuse(r->complaint, "expected: suspect ID ...");
    while (*rest != '\0') {
        char *next = cut_word(rest);
        struct step *step = add_step(r, VERB_SUSPECT);
        if (step == NULL || !parse_rank(r, rest, &step->rank))
            return false;
        rest = next;
    }
    return true;
}

/* `kind` is valid only with VERB_FAULT. */
static bool parse_step(struct reader *r, enum scenario_verb verb, enum fault_kind kind, char *rest)
{
    struct scenario *s = r->scenario;
    struct step *step;
    if (!s->configured && !setup_config(&s->setup, s->setup.seed, &s->config, r->complaint))
        return false;
    s->configured = true;
    if (verb == VERB_SUSPECT)
        return parse_suspects(r, rest);
    if ((step = add_step(r, verb)) == NULL)
        return false;
    switch (verb) {
    case VERB_RUN: return parse_run(r, rest, step);
    case VERB_WAIT:
        return parse_number(rest, SETUP_MAX_TIME, &step->time) ||
               text_refuse(r->complaint, "expected: wait TIME");
    case VERB_DUE: return parse_due(r, rest, step);
    case VERB_STOPPED:
    case VERB_ALARM:
    case VERB_ASSENT: return parse_only_rank(r, rest, step);
    case VERB_HEARS: return parse_hears(r, rest, step);
    case VERB_REFUSE: return parse_refuse(r, rest, step);
    case VERB_DELIVER:
    case VERB_LOSE:
    case VERB_DUPLICATE: return parse_message(r, rest, step);
    case VERB_FIRE: return parse_fire(r, rest, step);
    case VERB_MARK:
        return *rest == '\0' || text_refuse(r->complaint, "expected: mark, without arguments");
    case VERB_CHECK: return parse_check(r, rest, step);
    case VERB_LATE: return parse_late(r, rest, step);
    case VERB_FAULT: return parse_fault(r, kind, rest, step);
    case VERB_SUSPECT: break;
    }
    return false;
}

static bool parse_line(struct reader *r, char *line)
{
    char *rest = cut_word(line);
    struct scenario *s = r->scenario;
    const unsigned count = sizeof words / sizeof *words;
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(line, words[i]) != 0)
            continue;
        if (i >= SETTING_COUNT + VERB_FAULT)
            return parse_step(r, VERB_FAULT, (enum fault_kind)(i - SETTING_COUNT - VERB_FAULT),
                              rest);
        if (i >= SETTING_COUNT)
            return parse_step(r, (enum scenario_verb)(i - SETTING_COUNT), FAULT_KINDS, rest);
        if (i == SETTING_DUPLICATE && strchr(rest, '>') != NULL)
            continue;
        if (s->configured)
            return text_refuse(r->complaint, "settings come before the first step");
        if (*rest == '\0')
            return text_refuse(r->complaint, "a value is missing");
        return setup_set(&s->setup, (enum setting)i, rest, r->complaint);
    }
    return choice_unknown(r->complaint, "unknown word ", line, words, count);
}

/* Drops the comment and surrounding blanks. Returns false if the line is too long. */
static bool clean_line(const char *from, size_t length, char *to, size_t room)
{
    const char *comment = memchr(from, '#', length);
    if (comment != NULL)
        length = (size_t)(comment - from);
    while (length > 0 && strchr(" \t\r", from[length - 1]) != NULL)
        length--;
    while (length > 0 && strchr(" \t", *from) != NULL) {
        from++;
        length--;
    }
    if (length >= room)
        return false;
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

bool scenario_parse(struct scenario *s, const char *text, struct text *complaint, unsigned *line)
{
    struct reader r = {.scenario = s, .complaint = complaint};
    char buffer[SETUP_MAX_TEXT];
    const char *at =
        strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text; /* skip a byte order mark */
    memset(s, 0, sizeof *s);
    setup_init(&s->setup);
    text_clear(complaint);
    while (*at != '\0' && !s->expects) {
        size_t length = strcspn(at, "\n");
        *line = ++r.line;
        if (!clean_line(at, length, buffer, sizeof buffer))
            return text_refuse(complaint, "the line is too long: at most 511 characters");
        at += length + (at[length] == '\n');
        s->expects = strcmp(buffer, SCENARIO_STORY) == 0;
        if (buffer[0] != '\0' && !s->expects && !parse_line(&r, buffer))
            return false;
    }
    s->expected_offset = (size_t)(at - text);
    if (s->steps == 0)
        return text_refuse(complaint, "no step: a scenario needs at least suspect and run");
    return true;
}

/* ---- playing ---- */

/* Returns the oldest message with the step's type and, if given, its content. */
static uint32_t find_message(const struct world *w, const struct step *step)
{
    uint32_t found = WORLD_MAX_FLIGHTS;
    if (step->message[0] == '\0')
        return world_find(w, step->rank, step->to, (enum elect_event)step->event);
    for (uint32_t i = 0; i < w->flights; i++) {
        const struct flight *f = &w->flight[i];
        struct text t;
        if (f->from != step->rank || f->to != step->to || f->message.type != step->event)
            continue;
        text_clear(&t);
        narrate_message(w, &f->message, &t);
        bool same = strcmp(t.bytes, step->message) == 0;
        text_clear(&t);
        narrate_exactly(w, &f->message, &t);
        same = same || strcmp(t.bytes, step->message) == 0;
        if (same && (found == WORLD_MAX_FLIGHTS || f->order < w->flight[found].order))
            found = i;
    }
    return found;
}

static bool play_message(const struct step *step, struct play *p, struct text *complaint)
{
    struct world *w = &p->world;
    struct happening h;
    uint32_t flight = find_message(w, step);
    if (flight == WORLD_MAX_FLIGHTS)
        return text_refuse(complaint, "no such message is in flight");
    if (step->verb == VERB_DUPLICATE) {
        world_duplicate(w, flight);
        return true;
    }
    if (step->verb == VERB_LATE) {
        if (step->time < w->now)
            return text_refuse(complaint, "this time is already past");
        world_delay(w, flight, step->time);
        return true;
    }
    if (step->verb == VERB_LOSE)
        world_lose(w, flight, &h);
    else
        world_deliver(w, flight, &h);
    play_tell(p, &h);
    return true;
}

static bool play_fire(const struct step *step, struct play *p, struct text *complaint)
{
    struct happening h;
    if (!world_timer_runs(&p->world, step->rank, (enum elect_event)step->event))
        return complain_id(complaint, &p->world.config, step->rank, " has no such timer running");
    world_fire(&p->world, step->rank, (enum elect_event)step->event, &h);
    play_tell(p, &h);
    return true;
}

static bool play_alarm(const struct step *step, struct play *p, struct text *complaint)
{
    struct happening h;
    if (!world_up(&p->world, step->rank))
        return complain_id(complaint, &p->world.config, step->rank, " is down");
    world_alarm(&p->world, step->rank, &h);
    play_tell(p, &h);
    return true;
}

static bool play_due(const struct step *step, struct play *p, struct text *complaint)
{
    const struct world *w = &p->world;
    struct happening h;
    if (!world_up(w, step->rank))
        return complain_id(complaint, &w->config, step->rank, " is down");
    if (step->verb == VERB_STOPPED
            ? !elect_must_stop(&w->node[step->rank])
            : w->node[step->rank].mandate.time[step->fault.amount] == ELECT_UNSET)
        return complain_id(complaint, &w->config, step->rank,
                           step->verb == VERB_STOPPED ? " has no work to stop"
                                                      : " does not wait for this time");
    if (step->verb == VERB_STOPPED)
        world_stopped(&p->world, step->rank, &h);
    else
        world_fault(&p->world, &step->fault, &h);
    play_tell(p, &h);
    return true;
}

/* Answers the process's PREVOTE with one AYE (a yes) after another, up to a majority. */
static void play_assent(const struct step *step, struct play *p)
{
    struct happening h;
    for (uint8_t from = 0; from < p->world.config.n; from++)
        if (world_assent(&p->world, step->rank, from, &h))
            play_tell(p, &h);
}

static void play_refuse(const struct step *step, struct play *p)
{
    struct happening h;
    world_refuse(&p->world, step->rank,
                 step->event == SCENARIO_STALE ? ELECT_REFUSED_STALE : ELECT_REFUSED_CLOSED,
                 step->time, &h);
    play_tell(p, &h);
}

static bool play_answer(const struct step *step, struct play *p, struct text *complaint)
{
    const struct elect_mandate *m = &p->world.node[step->rank].mandate;
    bool asks =
        step->verb == VERB_ASSENT ? m->candidate.stage == ELECT_PREVOTING : m->leader.token != 0;
    if (!world_up(&p->world, step->rank) || !asks)
        return complain_id(complaint, &p->world.config, step->rank,
                           step->verb == VERB_ASSENT ? " has no prevote under way"
                                                     : " holds no office");
    if (step->verb == VERB_ASSENT)
        play_assent(step, p);
    else
        play_refuse(step, p);
    return true;
}

static bool play_fault(const struct step *step, struct play *p, struct text *complaint)
{
    struct fault fault = step->fault;
    struct happening h;
    if (!step->timed)
        fault.time = p->world.now;
    if (fault.time < p->world.now)
        return text_refuse(complaint, "this time is already past");
    if (!setup_sensible(&p->world, &fault, complaint))
        return false;
    if (step->timed) {
        world_schedule(&p->world, &fault);
        return true;
    }
    world_fault(&p->world, &fault, &h);
    play_tell(p, &h);
    return true;
}

static bool play_step(const struct step *step, struct play *p, struct text *complaint)
{
    switch ((enum scenario_verb)step->verb) {
    case VERB_SUSPECT:
        if (!world_up(&p->world, step->rank))
            return complain_id(complaint, &p->world.config, step->rank,
                               " is down and cannot suspect the leader");
        play_suspect(p, step->rank);
        return true;
    case VERB_RUN:
        if (step->timed && step->time < p->world.now)
            return text_refuse(complaint, "this time is already past");
        play_run(p, step->timed ? step->time : WORLD_FOREVER);
        return true;
    case VERB_WAIT:
        if (step->time < p->world.now)
            return text_refuse(complaint, "this time is already past");
        p->world.now = step->time;
        return true;
    case VERB_ALARM: return play_alarm(step, p, complaint);
    case VERB_ASSENT:
    case VERB_REFUSE: return play_answer(step, p, complaint);
    case VERB_DUE:
    case VERB_STOPPED: return play_due(step, p, complaint);
    case VERB_DELIVER:
    case VERB_LOSE:
    case VERB_DUPLICATE:
    case VERB_LATE: return play_message(step, p, complaint);
    case VERB_FIRE: return play_fire(step, p, complaint);
    case VERB_MARK: play_mark(p); return true;
    case VERB_CHECK: play_check(p, (enum property)step->event); return true;
    case VERB_HEARS:
    case VERB_FAULT: return play_fault(step, p, complaint);
    }
    return false;
}

bool scenario_play(const struct scenario *s, struct play *p, struct text *complaint, unsigned *line)
{
    text_clear(complaint);
    p->violations = 0;
    p->marked = false;
    setup_world(&s->setup, &s->config, s->setup.seed, &p->world);
    for (unsigned i = 0; i < s->steps; i++) {
        *line = s->step[i].line;
        if (!play_step(&s->step[i], p, complaint))
            return false;
    }
    return true;
}
