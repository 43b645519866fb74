/*
 * Parses and checks settings, with one function per kind of value, and makes a configuration and a
 * world from them. Also parses faults, whose form is the same in scenario files and in the options
 * of `elect sim`.
 */
#include "setup.h"

#include "../base/parse.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool complain_word(struct text *t, const char *word, const char *after)
{
    text_add_quoted(t, word);
    return text_refuse(t, after);
}

const char *setup_key(enum setting setting)
{
    static const char *const keys[] = {
#define X(name, key, value, text) key,
        SETUP_SETTINGS(X)
#undef X
    };
    return keys[setting];
}

static bool given(const struct setup *s, enum setting setting)
{
    return (s->given >> setting & 1) != 0;
}

void setup_init(struct setup *s)
{
    memset(s, 0, sizeof *s);
    s->detector = -1;
    s->leader = -1;
    s->seed = 1;
    s->drift = DICE_CERTAIN / 100;
    s->calm = WORLD_FOREVER;
    s->weather.delay_min = s->weather.delay_max = 1;
}

static bool set_processes(struct setup *s, const char *value, struct text *complaint)
{
    struct numbers *p = &s->processes;
    uint32_t twice;
    if (!numbers_parse(p, value, complaint))
        return false;
    if (p->ranges == 1 && p->range[0].first == p->range[0].last && strpbrk(value, ".,") == NULL) {
        uint64_t count = p->range[0].first;
        p->ranges = count > 0;
        p->count = count;
        p->range[0].first = 0;
        p->range[0].last = (uint32_t)(count - (count > 0));
    }
    if (p->count == 0)
        return text_refuse(complaint, "the cluster is empty: name at least one process");
    if (p->count > SETUP_MAX_COUNT)
        return text_refuse_number(complaint, p->count, " processes: at most 16000000");
    if (numbers_repeat(p, &twice))
        return text_refuse_number(complaint, twice,
                                  " is listed twice: every process needs its own number");
    return true;
}

static bool set_leader(struct setup *s, const char *value, struct text *complaint)
{
    uint64_t id;
    s->leader = -1;
    if (strcmp(value, "none") == 0)
        return true;
    if (!parse_number(value, UINT32_MAX, &id))
        return complain_word(complaint, value, " is neither a process nor none");
    s->leader = (int64_t)id;
    return true;
}

static bool set_delay(struct setup *s, const char *value, struct text *complaint)
{
    const char *rest = value;
    uint64_t min, max;
    bool fine = parse_digits(&rest, SETUP_MAX_DELAY, &min);
    max = min;
    if (fine && strncmp(rest, "..", 2) == 0) {
        rest += 2;
        fine = parse_digits(&rest, SETUP_MAX_DELAY, &max);
    }
    if (!fine || *rest != '\0' || min < 1 || max < min)
        return complain_word(complaint, value, " is not a delay: write 1 or 1..5 (1 to 1000000)");
    s->weather.delay_min = (uint32_t)min;
    s->weather.delay_max = (uint32_t)max;
    return true;
}

bool setup_probability(const char *value, uint32_t *parts, struct text *complaint)
{
    if (parse_probability(value, parts))
        return true;
    return complain_word(complaint, value, " is not a probability: write 0 to 1, such as 0.05");
}

static bool set_number(const char *value, uint64_t limit, uint64_t *number, struct text *complaint)
{
    if (parse_number(value, limit, number))
        return true;
    complain_word(complaint, value, " is not a number from 0 to ");
    text_add_number(complaint, limit);
    return false;
}

static bool set_choice(struct setup *s, enum setting setting, const char *value,
                       struct text *complaint)
{
    static const char *const algorithms[] = {
#define X(name, word, text) word,
        ELECT_ALGORITHMS(X)
#undef X
    };
    static const char *const forms[] = {"circulate", "multicast"};
    static const char *const announces[] = {"lower", "all"};
    static const char *const mandates[] = {"none", "majority"};
    if (setting == SETTING_ALGORITHM)
        return choice_parse(value, algorithms, COUNT(algorithms), &s->algorithm, complaint);
    if (setting == SETTING_MANDATE)
        return choice_parse(value, mandates, COUNT(mandates), &s->mandate, complaint);
    if (setting == SETTING_FORM)
        return choice_parse(value, forms, COUNT(forms), &s->form, complaint);
    return choice_parse(value, announces, COUNT(announces), &s->announce, complaint);
}

static bool set_detector(struct setup *s, const char *value, struct text *complaint)
{
    bool on, fine = choice_parse_switch(value, &on, complaint);
    s->detector = on;
    return fine;
}

static bool set_acks(struct setup *s, const char *value, struct text *complaint)
{
    bool on, fine = choice_parse_switch(value, &on, complaint);
    s->reliable = !on;
    return fine;
}

static bool set_processing(struct setup *s, const char *value, struct text *complaint)
{
    uint64_t ticks = 0;
    bool fine = set_number(value, SETUP_MAX_DELAY, &ticks, complaint);
    s->processing = (uint32_t)ticks;
    return fine;
}

/* Example: "5:2,3:1" */
static bool set_priorities(struct setup *s, const char *value, struct text *complaint)
{
    uint64_t id, priority;
    for (const char *rest = value;; rest++) {
        bool fine = parse_digits(&rest, UINT32_MAX, &id) && *rest++ == ':' &&
                    parse_digits(&rest, UINT8_MAX, &priority) && (*rest == ',' || *rest == '\0');
        if (!fine || s->priorities == ELECT_MAX)
            return complain_word(complaint, value,
                                 " is not a list of priorities: write 5:2,3:1 (0 to 255)");
        s->priority[s->priorities].id = (uint32_t)id;
        s->priority[s->priorities++].priority = (uint8_t)priority;
        if (*rest == '\0')
            return true;
    }
}

static bool set_preempt(struct setup *s, const char *value, struct text *complaint)
{
    s->preempt = strcmp(value, "no") != 0;
    if (!s->preempt || strcmp(value, "yes") == 0)
        return true;
    return parse_number(value, SETUP_MAX_TIME, &s->preempt_after) ||
           complain_word(complaint, value, " is neither no, yes nor a number of ticks");
}

static bool set_stability(struct setup *s, const char *value, struct text *complaint)
{
    bool on, fine = choice_parse_switch(value, &on, complaint);
    s->unstable = !on;
    return fine;
}

bool setup_set(struct setup *s, enum setting setting, const char *value, struct text *complaint)
{
    if (given(s, setting))
        return text_refuse(complaint, "is given twice: once is enough");
    s->given |= 1u << setting;
    switch (setting) {
    case SETTING_ALGORITHM:
    case SETTING_FORM:
    case SETTING_MANDATE:
    case SETTING_ANNOUNCE: return set_choice(s, setting, value, complaint);
    case SETTING_PROCESSES: return set_processes(s, value, complaint);
    case SETTING_DOWN: return numbers_parse(&s->down, value, complaint);
    case SETTING_LEADER: return set_leader(s, value, complaint);
    case SETTING_DELAY: return set_delay(s, value, complaint);
    case SETTING_PROCESSING: return set_processing(s, value, complaint);
    case SETTING_DETECTOR: return set_detector(s, value, complaint);
    case SETTING_ACKS: return set_acks(s, value, complaint);
    case SETTING_LEASE: return set_number(value, SETUP_MAX_TIME, &s->lease, complaint);
    case SETTING_RENEWAL: return set_number(value, SETUP_MAX_TIME, &s->renewal, complaint);
    case SETTING_DRIFT: return setup_probability(value, &s->drift, complaint);
    case SETTING_WITNESSES: return numbers_parse(&s->witnesses, value, complaint);
    case SETTING_OBSERVERS: return numbers_parse(&s->observers, value, complaint);
    case SETTING_PRIORITY: return set_priorities(s, value, complaint);
    case SETTING_PREEMPT: return set_preempt(s, value, complaint);
    case SETTING_DECAY: return set_number(value, SETUP_MAX_TIME, &s->decay, complaint);
    case SETTING_STOPPING: return set_number(value, SETUP_MAX_TIME, &s->stopping, complaint);
    case SETTING_STABILITY: return set_stability(s, value, complaint);
    case SETTING_SEED: return set_number(value, UINT64_MAX / 16, &s->seed, complaint);
    case SETTING_LOSS: return setup_probability(value, &s->weather.loss, complaint);
    case SETTING_DUPLICATE: return setup_probability(value, &s->weather.duplicate, complaint);
    case SETTING_CALM: return set_number(value, SETUP_MAX_TIME, &s->calm, complaint);
    case SETTING_REORDER: return choice_parse_switch(value, &s->weather.reorder, complaint);
    case SETTING_TELL_LOWER: return choice_parse_switch(value, &s->tell_lower, complaint);
    case SETTING_SHUFFLE: return choice_parse_switch(value, &s->shuffle, complaint);
    case SETTING_COUNT: break;
    }
    return false;
}

static bool check_mandate(const struct setup *s, struct text *complaint)
{
    static const enum setting needs[] = {
        SETTING_LEASE,   SETTING_RENEWAL, SETTING_DRIFT,     SETTING_WITNESSES, SETTING_OBSERVERS,
        SETTING_PREEMPT, SETTING_DECAY,   SETTING_STABILITY, SETTING_PRIORITY,  SETTING_STOPPING};
    for (unsigned i = 0; i < COUNT(needs) && s->mandate == ELECT_NO_MANDATE; i++)
        if (given(s, needs[i]))
            return complain_word(complaint, setup_key(needs[i]),
                                 " needs mandate majority: add it, or leave this out");
    if (s->mandate == ELECT_MAJORITY && s->detector == 0)
        return text_refuse(complaint, "a mandate needs the detector, because its rounds serve "
                                      "as heartbeats: remove detector off");
    if (s->mandate == ELECT_MAJORITY && given(s, SETTING_LEADER) && s->leader >= 0)
        return text_refuse(complaint, "with a mandate no process leads at first: leave leader out");
    return true;
}

bool setup_check(const struct setup *s, struct text *complaint)
{
    uint32_t id;
    if (s->processes.count == 0)
        return text_refuse(complaint, "no processes: give their number or a list of them");
    if (s->down.count > s->processes.count)
        return text_refuse(complaint, "more processes are down than the cluster has");
    for (struct numbers_place i = NUMBERS_START; numbers_next(&s->down, &i, &id);)
        if (!numbers_have(&s->processes, id))
            return text_refuse_number(complaint, id, " is down but not in the cluster");
    if (numbers_repeat(&s->down, &id))
        return text_refuse_number(complaint, id, " is down twice: name it once");
    if (s->leader >= 0 && !numbers_have(&s->processes, (uint32_t)s->leader))
        return text_refuse_number(complaint, (uint64_t)s->leader,
                                  " leads but is not in the cluster");
    if (s->down.count == s->processes.count)
        return text_refuse(complaint, "every process is down: at least one must be up");
    if (s->reliable && (s->down.count > 0 || s->weather.loss > 0))
        return text_refuse(complaint,
                           "acks off needs a cluster where nothing fails: leave out down and loss");
    if (s->algorithm != ELECT_BULLY && given(s, SETTING_ANNOUNCE))
        return text_refuse(complaint, "announce needs the bully algorithm: on a ring, use form");
    if (s->algorithm != ELECT_BULLY && s->tell_lower)
        return text_refuse(complaint,
                           "tell-lower needs the bully algorithm: remove it, or use bully");
    if (s->algorithm != ELECT_RING && given(s, SETTING_FORM))
        return text_refuse(complaint, "form needs the ring algorithm: remove it, or use ring");
    return check_mandate(s, complaint);
}

static bool name_roles(const struct elect_config *c, const struct numbers *list, elect_set *roles,
                       struct text *complaint)
{
    uint32_t id;
    for (struct numbers_place i = NUMBERS_START; numbers_next(list, &i, &id);) {
        uint8_t rank = elect_rank(c, id);
        if (rank == ELECT_NOBODY)
            return text_refuse_number(complaint, id, " has a role but is not in the cluster");
        *roles |= (elect_set)1 << rank;
    }
    return true;
}

static bool add_priorities(const struct setup *s, struct elect_config *c, struct text *complaint)
{
    uint8_t priority[ELECT_MAX] = {0};
    for (unsigned i = 0; i < s->priorities; i++) {
        uint8_t rank = elect_rank(c, s->priority[i].id);
        if (rank == ELECT_NOBODY)
            return text_refuse_number(complaint, s->priority[i].id,
                                      " has a priority but is not in the cluster");
        priority[c->place[rank]] = s->priority[i].priority;
    }
    elect_config_priorities(c, priority);
    return true;
}

static bool complain_lease(const struct elect_config *c, enum elect_error error, uint64_t lease,
                           uint64_t renewal, uint32_t drift, struct text *t)
{
    if (error == ELECT_DRIFT_TOO_LARGE)
        return text_refuse(
            t,
            "drift must be below 0.5: otherwise no office would end before the lease of a voter");
    if (error == ELECT_TOO_LONG) {
        text_add(t, "lease ");
        text_add_number(t, lease);
        text_add(t, " is above the longest lease that a voter grants: at most ");
        text_add_number(t, c->max_lease);
        return false;
    }
    struct elect_config asked = {.drift = drift, .grain = 1};
    int64_t office = elect_office_length(&asked, (uint32_t)lease);
    if (error == ELECT_RENEWAL_TOO_SHORT) {
        text_add(t, "renewal ");
        text_add_number(t, renewal);
        text_add(t, " is less than a quarter of T = ");
        text_add_number(t, c->answer_bound);
        return text_refuse(t, ": a leader remembers only four rounds");
    }
    text_add(t, error == ELECT_RENEWAL_TOO_LONG ? "renewal " : "lease ");
    text_add_number(t, error == ELECT_RENEWAL_TOO_LONG ? renewal : lease);
    text_add(t, error == ELECT_RENEWAL_TOO_LONG ? " is more than a third of " : " leaves ");
    text_add_number(t, office > 0 ? (uint64_t)office : 0);
    text_add(t, " = lease (1-drift)/(1+drift) - 1 ticks to lead");
    if (error == ELECT_RENEWAL_TOO_LONG)
        return false;
    text_add(t, ", but two rounds with their writes take ");
    text_add_number(t, (uint64_t)elect_shortest_office(c));
    return false;
}

static bool add_mandate(const struct setup *s, struct elect_config *c, struct text *complaint)
{
    elect_set witnesses = 0, observers = 0;
    uint64_t lease = s->lease > 0 ? s->lease : 30 * (uint64_t)c->answer_bound;
    uint64_t renewal = s->renewal > 0 ? s->renewal : lease / 5;
    uint32_t drift = (uint32_t)((uint64_t)s->drift * 1000000 / DICE_CERTAIN);
    if (!name_roles(c, &s->witnesses, &witnesses, complaint) ||
        !name_roles(c, &s->observers, &observers, complaint))
        return false;
    if ((witnesses & observers) != 0)
        return text_refuse(complaint, "a process cannot be both a witness and an observer");
    c->preempt = s->preempt;
    c->preempt_after = (uint32_t)s->preempt_after;
    c->decay = (uint32_t)s->decay;
    c->stable = !s->unstable;
    c->voters &= ~observers;
    c->members &= ~(witnesses | observers);
    if (c->members == 0)
        return text_refuse(
            complaint,
            "no process may lead: at least one must be neither a witness nor an observer");
    enum elect_error error = elect_config_mandate(c, (uint32_t)lease, (uint32_t)renewal, drift, 1);
    return error == ELECT_FINE || complain_lease(c, error, lease, renewal, drift, complaint);
}

bool setup_config(const struct setup *s, uint64_t seed, struct elect_config *c,
                  struct text *complaint)
{
    uint32_t ids[ELECT_MAX], id;
    uint16_t order[ELECT_MAX];
    struct dice dice;
    size_t n = 0;
    if (!setup_check(s, complaint))
        return false;
    if (s->processes.count > ELECT_MAX)
        return text_refuse_number(complaint, s->processes.count,
                                  " processes: a world has at most 64");
    for (struct numbers_place i = NUMBERS_START; numbers_next(&s->processes, &i, &id);
         ids[n++] = id)
        if (id > ELECT_MAX_ID)
            return text_refuse_number(complaint, id,
                                      " is out of range: numbers go from 0 to 65535");
    dice_seed(&dice, seed, DICE_SHUFFLE);
    if (s->shuffle)
        dice_shuffle(&dice, ids, n);
    for (size_t i = 0; i < n; i++)
        order[i] = (uint16_t)ids[i];
    if (elect_config_init(c, (enum elect_algorithm)s->algorithm, order, n, s->weather.delay_max,
                          s->processing) != ELECT_FINE)
        return text_refuse(complaint, "these processes cannot form a cluster");
    if (!add_priorities(s, c, complaint))
        return false;
    c->form = s->form;
    c->announce = s->announce;
    c->tell_lower = s->tell_lower;
    c->reliable = s->reliable;
    c->detector = s->detector >= 0 ? s->detector > 0 : s->weather.loss > 0 || s->random_faults;
    return s->mandate == ELECT_NO_MANDATE || add_mandate(s, c, complaint);
}

bool setup_first_leader(const struct setup *s, uint32_t top, uint32_t *leader)
{
    *leader = given(s, SETTING_LEADER) ? (uint32_t)s->leader : top;
    return given(s, SETTING_LEADER) ? s->leader >= 0 : numbers_have(&s->down, top);
}

void setup_world(const struct setup *s, const struct elect_config *c, uint64_t seed,
                 struct world *w)
{
    uint32_t id;
    uint8_t leader = ELECT_NOBODY;
    if (setup_first_leader(s, c->id[c->n - 1], &id))
        leader = elect_rank(c, id);
    world_init(w, c, &s->weather, seed, leader);
    w->stopping = s->stopping;
    for (struct numbers_place i = NUMBERS_START; numbers_next(&s->down, &i, &id);)
        world_down(w, elect_rank(c, id));
    /* The textbook algorithms do not promise that a higher process replaces a live leader, so there
     * may be no agreement. */
    if (leader != ELECT_NOBODY && world_up(w, leader) && (w->up >> leader) > 1)
        w->disturbed = true;
    if (s->calm != WORLD_FOREVER)
        world_schedule(w, &(struct fault){.time = s->calm, .kind = FAULT_CALM});
}

/* ---- faults ---- */

static bool fault_rank(const struct elect_config *c, const char *text, uint8_t *rank,
                       struct text *complaint)
{
    uint64_t id;
    if (!parse_number(text, UINT32_MAX, &id))
        return complain_word(complaint, text, " is not a process");
    *rank = elect_rank(c, (uint32_t)id);
    return *rank != ELECT_NOBODY || text_refuse_number(complaint, id, " is not in the cluster");
}

static bool fault_part(const struct elect_config *c, const char *text, struct fault *fault,
                       struct text *complaint)
{
    struct numbers part;
    elect_set set = 0;
    uint32_t id;
    if (!numbers_parse(&part, text, complaint))
        return false;
    if (part.count == 0)
        return text_refuse(complaint, "an empty part: write 0,1,2/3,4");
    for (struct numbers_place i = NUMBERS_START; numbers_next(&part, &i, &id);) {
        uint8_t rank = elect_rank(c, id);
        if (rank == ELECT_NOBODY)
            return text_refuse_number(complaint, id, " is not in the cluster");
        set |= (elect_set)1 << rank;
    }
    for (unsigned i = 0; i < fault->parts; i++)
        if (fault->part[i] & set)
            return text_refuse(complaint, "a process cannot be on both sides of a cut");
    if (fault->parts == WORLD_MAX_PARTS)
        return text_refuse(complaint, "a cut has at most 8 parts");
    fault->part[fault->parts++] = set;
    return true;
}

static bool fault_parts(const struct elect_config *c, char *text, struct fault *fault,
                        struct text *complaint)
{
    for (char *slash; (slash = strchr(text, '/')) != NULL; text = slash + 1) {
        *slash = '\0';
        if (!fault_part(c, text, fault, complaint))
            return false;
    }
    if (!fault_part(c, text, fault, complaint))
        return false;
    return fault->parts > 1 || text_refuse(complaint, "a cut needs two parts: write 0,1,2/3,4");
}

/* Examples: "2 30"; "2 -30" for a clock */
static bool fault_amount(const struct elect_config *c, char *text, struct fault *fault,
                         struct text *complaint)
{
    char *amount = strchr(text, ' ');
    uint64_t number = 0;
    if (amount != NULL)
        *amount++ = '\0';
    bool slow = amount != NULL && *amount == '-' && fault->kind == FAULT_RATE;
    uint64_t limit = fault->kind == FAULT_RATE ? 999999 : SETUP_MAX_TIME;
    if (amount == NULL || !parse_number(amount + slow, limit, &number))
        return text_refuse(complaint, fault->kind == FAULT_RATE
                                          ? "expected a process and millionths, below a "
                                            "million: 2 -10000"
                                      : fault->kind == FAULT_ORDER
                                          ? "expected a process and a term number: order 2 1"
                                          : "expected a process and ticks: 2 30");
    fault->amount = slow ? -(int64_t)number : (int64_t)number;
    return fault_rank(c, text, &fault->rank, complaint);
}

/* Example: "2 1" (process 2 hands over to process 1) */
static bool fault_transfer(const struct elect_config *c, char *text, struct fault *fault,
                           struct text *complaint)
{
    char *to = strchr(text, ' ');
    uint8_t rank;
    if (to == NULL)
        return text_refuse(complaint, "expected the leader and its successor: transfer 2 1");
    *to++ = '\0';
    if (!fault_rank(c, text, &fault->rank, complaint) || !fault_rank(c, to, &rank, complaint))
        return false;
    fault->amount = c->id[rank];
    return true;
}

static bool fault_lease(const struct elect_config *c, const char *text, struct fault *fault,
                        struct text *complaint)
{
    struct elect_config other = *c;
    uint64_t lease, renewal;
    if (!parse_number(text, SETUP_MAX_TIME, &lease))
        return text_refuse(complaint, "expected ticks: new-lease 60");
    renewal = c->renewal * lease / c->lease;
    fault->amount = (int64_t)lease;
    enum elect_error error =
        elect_config_mandate(&other, (uint32_t)lease, (uint32_t)renewal, c->drift, c->grain);
    return error == ELECT_FINE || complain_lease(c, error, lease, renewal, c->drift, complaint);
}

enum setup_form setup_fault_form(enum fault_kind kind)
{
    static const uint8_t forms[FAULT_KINDS] = {
        [FAULT_CUT] = SETUP_PARTS,     [FAULT_ONE_WAY] = SETUP_PARTS,
        [FAULT_HEAL] = SETUP_NOTHING,  [FAULT_TRANSFER] = SETUP_TRANSFER,
        [FAULT_STALL] = SETUP_AMOUNT,  [FAULT_RATE] = SETUP_AMOUNT,
        [FAULT_DISK] = SETUP_AMOUNT,   [FAULT_TICK] = SETUP_AMOUNT,
        [FAULT_FREEZE] = SETUP_AMOUNT, [FAULT_LEASE] = SETUP_LEASE,
        [FAULT_ORDER] = SETUP_AMOUNT,  [FAULT_HEARS] = SETUP_COUNTER,
        [FAULT_DUE] = SETUP_TIME,
    };
    return (enum setup_form)forms[kind];
}

/* The arguments end at `separator`; the time follows it. */
bool setup_fault(const struct elect_config *c, enum fault_kind kind, const char *text,
                 const char *separator, struct fault *fault, bool *timed, struct text *complaint)
{
    char copy[SETUP_MAX_TEXT];
    size_t length = strlen(text);
    memset(fault, 0, sizeof *fault);
    fault->kind = (uint8_t)kind;
    if (length >= sizeof copy)
        return text_refuse(complaint, "too long: at most 511 characters");
    memcpy(copy, text, length + 1);
    char *time = strstr(copy, separator);
    *timed = time != NULL;
    if (time != NULL) {
        const char *digits = time + strlen(separator);
        if (!parse_number(digits, SETUP_MAX_TIME, &fault->time))
            return complain_word(complaint, digits, " is not a time");
        *time = '\0';
    }
    switch (setup_fault_form(kind)) {
    case SETUP_NOTHING: return copy[0] == '\0' || complain_word(complaint, copy, " is not a time");
    case SETUP_AMOUNT: return fault_amount(c, copy, fault, complaint);
    case SETUP_TRANSFER: return fault_transfer(c, copy, fault, complaint);
    case SETUP_PARTS: return fault_parts(c, copy, fault, complaint);
    case SETUP_LEASE: return fault_lease(c, copy, fault, complaint);
    case SETUP_PROCESS:
    case SETUP_COUNTER: /* this form and the next are parsed by scenario.c */
    case SETUP_TIME: break;
    }
    return fault_rank(c, copy, &fault->rank, complaint);
}

static bool ends_a_life(const struct fault *f)
{
    return f->kind == FAULT_CRASH || f->kind == FAULT_TESTAMENT;
}

static bool is_about_lives(const struct fault *f)
{
    return ends_a_life(f) || f->kind == FAULT_RECOVER || f->kind == FAULT_READMIT;
}

/* Returns true if the process would still crash and recover in turn, counting the scheduled
 * faults. */
static bool keeps_alternating(const struct world *w, const struct fault *fault,
                              struct text *complaint)
{
    bool up = world_up(w, fault->rank), placed = false;
    for (uint32_t i = w->next_fault; i <= w->fault_count; i++) {
        const struct fault *next = i < w->fault_count ? &w->fault[i] : NULL;
        if (!placed && (next == NULL || next->time > fault->time)) {
            if (up != ends_a_life(fault))
                return text_refuse_number(complaint, w->config.id[fault->rank],
                                          up ? " is not down at that time" : " is down already");
            up = !up;
            placed = true;
        }
        if (next != NULL && next->rank == fault->rank && is_about_lives(next)) {
            if (placed && up != ends_a_life(next))
                return text_refuse_number(complaint, w->config.id[fault->rank],
                                          up ? " would recover twice" : " would crash twice");
            up = !ends_a_life(next);
        }
    }
    return true;
}

/* A disk changes only while its process is down; a backup or clone must exist before it is used. */
static bool can_happen(const struct world *w, const struct fault *fault, struct text *complaint)
{
    elect_set who = (elect_set)1 << fault->rank;
    bool disk =
        fault->kind == FAULT_RESTORE || fault->kind == FAULT_WIPE || fault->kind == FAULT_READMIT;
    bool up = world_up(w, fault->rank),
         change = fault->kind == FAULT_ADD || fault->kind == FAULT_REMOVE;
    if (fault->time > w->now)
        return true; /* the process may be in another state by then */
    if (change && world_in_charge(w) == ELECT_NOBODY)
        return text_refuse(complaint, "no process leads: only a leader changes the membership");
    if (disk && up)
        return text_refuse_number(complaint, w->config.id[fault->rank], " is up: crash it first");
    bool host = fault->kind == FAULT_WIN || fault->kind == FAULT_TESTAMENT ||
                fault->kind == FAULT_RESIGN || fault->kind == FAULT_TRANSFER ||
                fault->kind == FAULT_ORDER || fault->kind == FAULT_PAUSE_ELECTIONS ||
                fault->kind == FAULT_RESUME_ELECTIONS || fault->kind == FAULT_ASIDE ||
                fault->kind == FAULT_READY;
    if ((fault->kind == FAULT_CLONE || fault->kind == FAULT_SWAP || host) && !up)
        return text_refuse_number(complaint, w->config.id[fault->rank], " is down");
    if ((fault->kind == FAULT_RESTORE && (w->backed_up & who) == 0) ||
        (fault->kind == FAULT_SWAP && (w->cloned & who) == 0))
        return text_refuse_number(complaint, w->config.id[fault->rank],
                                  fault->kind == FAULT_SWAP ? " has no clone" : " has no backup");
    return true;
}

bool setup_sensible(const struct world *w, const struct fault *fault, struct text *complaint)
{
    if (!can_happen(w, fault, complaint))
        return false;
    if (is_about_lives(fault) && !keeps_alternating(w, fault, complaint))
        return false;
    return w->fault_count < WORLD_MAX_FAULTS ||
           text_refuse(complaint, "too many faults: at most 512");
}
