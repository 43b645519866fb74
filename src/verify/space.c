#include "local.h"

#include <stdlib.h>
#include <string.h>

#define EMPTY  SPACE_NO_MAIL
#define NOBODY ELECT_NOBODY

#define MAX_LETTERS  256        /* in a mailbox */
#define MAX_MESSAGES (1u << 20) /* different ones: see HAPPENS_VOTES */

/* ---- local values, mailboxes, seats; all with the lock held ---- */

static bool mandated(const struct space *s) { return s->question.config.mandate == ELECT_MAJORITY; }

static size_t local_size(const struct space *s)
{
    return mandated(s) ? sizeof(struct local) : offsetof(struct local, disk);
}

static void get_local(const struct space *s, uint32_t index, struct local *l)
{
    size_t length;
    const void *value = table_value(&s->locals, index, &length);
    memset(l, 0, sizeof *l);
    memcpy(l, value, length);
}

static uint32_t intern_local(struct space *s, const struct local *l)
{
    return table_intern(&s->locals, l, local_size(s));
}

/* (from, message) in order, all of one sender together. */
struct letter {
    uint32_t from, message;
};

struct mail {
    unsigned count;
    struct letter letter[MAX_LETTERS + 1];
};

static void get_mail(const struct space *s, uint32_t mailbox, struct mail *mail)
{
    size_t length;
    const void *value = table_value(&s->mailboxes, mailbox, &length);
    if (length > 0)
        memcpy(mail->letter, value, length);
    mail->count = (unsigned)(length / sizeof *mail->letter);
}

static uint32_t short_term(const struct space *s, elect_term e)
{
    return e == 0 ? 0 : (uint32_t)(e >> 16) << 8 | elect_rank(&s->question.config, e & 0xffff);
}

static uint32_t without_the_dead(struct space *s, uint32_t local, uint32_t mailbox);

static uint32_t new_seat(struct space *s, uint32_t local, uint32_t mailbox);

static uint32_t intern_seat(struct space *s, uint32_t local, uint32_t mailbox)
{
    uint64_t key = (uint64_t)local << 32 | mailbox;
    const uint64_t *known = memo_find(&s->seat_numbers, key);
    if (known != NULL)
        return (uint32_t)*known;
    uint32_t alive = mandated(s) ? without_the_dead(s, local, mailbox) : mailbox;
    uint32_t index = alive == mailbox ? new_seat(s, local, mailbox) : intern_seat(s, local, alive);
    memo_put(&s->seat_numbers, key, index);
    return index;
}

static uint32_t new_seat(struct space *s, uint32_t local, uint32_t mailbox)
{
    uint32_t index = s->seat_count;
    if (index / SPACE_PAGE >= sizeof s->seats / sizeof s->seats[0]) {
        s->full = true;
        return 0;
    }
    struct seat **page = &s->seats[index / SPACE_PAGE];
    if (*page == NULL)
        *page = table_must(calloc(SPACE_PAGE, sizeof **page));
    struct local l;
    struct mail mail;
    uint16_t senders = 0;
    get_local(s, local, &l);
    get_mail(s, mailbox, &mail);
    for (unsigned i = 0; i < mail.count; i++)
        senders |= (uint16_t)(1u << mail.letter[i].from);
    (*page)[index % SPACE_PAGE] = (struct seat){.local = local,
                                                .mailbox = mailbox,
                                                .senders = senders,
                                                .up = l.up != 0,
                                                .state = l.node.state,
                                                .leader = l.node.leader,
                                                .running = l.up ? l.node.running : 0,
                                                .leads = elect_in_office(&l.node, 0),
                                                .broken = (uint8_t)l.broken,
                                                .taken = short_term(s, l.claims.taken)};
    s->seat_count++;
    return index;
}

void space_message(struct space *s, uint32_t message, struct elect_message *m)
{
    size_t length;
    pthread_mutex_lock(&s->lock);
    memcpy(m, table_value(&s->messages, message, &length), sizeof *m);
    pthread_mutex_unlock(&s->lock);
}

void space_node(struct space *s, uint32_t seat, struct elect_node *node)
{
    struct local l;
    pthread_mutex_lock(&s->lock);
    get_local(s, space_seat(s, seat)->local, &l);
    pthread_mutex_unlock(&s->lock);
    *node = l.node;
}

static uint32_t intern_mail(struct space *s, const struct mail *mail)
{
    return table_intern(&s->mailboxes, mail->letter, mail->count * sizeof *mail->letter);
}

/* Behind the others of its sender, or before them; without order on the links, by message. Under a
 * mandate a mailbox is a set: see mandate.c. */
static uint32_t insert(struct space *s, uint32_t mailbox, struct letter letter, bool in_front)
{
    struct mail mail;
    unsigned at = 0;
    get_mail(s, mailbox, &mail);
    if (mail.count == MAX_LETTERS) {
        s->full = true;
        return mailbox;
    }
    in_front = in_front && !s->question.reorder; /* without order there is no front */
    while (at < mail.count &&
           (mail.letter[at].from < letter.from ||
            (mail.letter[at].from == letter.from && !in_front &&
             (!s->question.reorder || mail.letter[at].message <= letter.message))))
        at++;
    if (mandated(s) && at > 0 && memcmp(&mail.letter[at - 1], &letter, sizeof letter) == 0)
        return mailbox;
    memmove(&mail.letter[at + 1], &mail.letter[at], (mail.count - at) * sizeof letter);
    mail.letter[at] = letter;
    mail.count++;
    return intern_mail(s, &mail);
}

/* The k-th letter that can be taken, and what is left without it. False if there is none. */
static bool take(struct space *s, uint32_t mailbox, unsigned k, struct letter *letter,
                 uint32_t *rest)
{
    struct mail mail;
    get_mail(s, mailbox, &mail);
    for (unsigned i = 0; i < mail.count; i++) {
        const struct letter *l = &mail.letter[i];
        bool first = i == 0 || l->from != l[-1].from,
             differs = first || l->message != l[-1].message;
        if (!(first || (s->question.reorder && differs)) || k-- > 0)
            continue;
        *letter = *l;
        memmove(&mail.letter[i], &mail.letter[i + 1], (mail.count - i - 1) * sizeof *l);
        mail.count--;
        *rest = intern_mail(s, &mail);
        return true;
    }
    return false;
}

static bool across(unsigned side, unsigned a, unsigned b)
{
    return (side >> a & 1) != (side >> b & 1);
}

static uint32_t without_strangers(struct space *s, uint32_t mailbox, unsigned me, unsigned side)
{
    struct mail mail;
    unsigned kept = 0;
    get_mail(s, mailbox, &mail);
    for (unsigned k = 0; k < mail.count; k++)
        if (!across(side, mail.letter[k].from, me))
            mail.letter[kept++] = mail.letter[k];
    mail.count = kept;
    return intern_mail(s, &mail);
}

/* ---- steps of the real code, each worked out once; with the lock held ---- */

/* What was persisted is all that is left. */
static void die(struct local *l)
{
    struct elect_node dead = {.me = l->node.me, .leader = NOBODY, .saved = l->node.saved};
    l->node = dead;
    l->up = 0;
}

static const struct elect_message *letter_of(const struct space *s, uint32_t what)
{
    static _Thread_local struct elect_message m;
    size_t length;
    unsigned kind = what >> 28, argument = what & 0xfffffff;
    if (kind != HAPPENS_LETTER && kind != HAPPENS_GRANTS)
        return NULL;
    memcpy(&m, table_value(&s->messages, argument >> (kind == HAPPENS_LETTER ? 4 : 8), &length),
           sizeof m);
    return &m;
}

static void run(const struct space *s, uint32_t what, struct local *l, struct elect_output *out)
{
    const struct elect_config *c = &s->question.config;
    unsigned argument = what & 0xfffffff;
    struct elect_input in;
    if (what >> 28 == HAPPENS_LETTER) {
        in = elect_received(argument & 15, letter_of(s, what), 0);
    } else {
        in = elect_happens((enum elect_event)argument, 0);
        if (argument == ELECT_START) {
            struct elect_saved saved = l->node.saved;
            elect_init(c, &l->node, l->node.me, NOBODY, &saved, 0, out);
            l->up = 1;
        }
    }
    elect_step(c, &l->node, &in, out);
}

static struct change work_out_step(struct space *s, uint32_t local, uint32_t what)
{
    struct elect_output out = {0};
    struct local l;
    bool within = true;
    get_local(s, local, &l);
    if (what == HAPPENS(CRASH, 0))
        die(&l);
    else if (mandated(s))
        within = mandate_step(&s->question, what, letter_of(s, what), &l, &out);
    else
        run(s, what, &l, &out);
    if (!within)
        return (struct change){.becomes = local, .beyond = true};
    struct change o = {
        .becomes = intern_local(s, &l), .started = (uint8_t)out.start, .sends = out.sends};
    for (unsigned i = 0; i < out.sends; i++) {
        o.send[i].to = (uint16_t)out.send[i].to;
        o.send[i].message =
            table_intern(&s->messages, &out.send[i].message, sizeof out.send[i].message);
    }
    s->full = s->full || s->messages.count > MAX_MESSAGES;
    return o;
}

static struct change step(struct space *s, uint32_t local, uint32_t what)
{
    uint64_t key = (uint64_t)local << 32 | what;
    const uint64_t *known = memo_find(&s->steps, key);
    if (known != NULL)
        return s->change[*known];
    struct change o = work_out_step(s, local, what);
    if (s->steps_run == s->room) {
        s->room = 2 * s->room + 1024;
        s->change = table_must(realloc(s->change, s->room * sizeof *s->change));
    }
    memo_put(&s->steps, key, s->steps_run);
    s->change[s->steps_run++] = o;
    return o;
}

/* Under a mandate: letters that this process can do nothing with. */
static uint32_t without_the_dead(struct space *s, uint32_t local, uint32_t mailbox)
{
    struct local l;
    struct mail mail;
    bool dead[MAX_LETTERS + 1] = {false};
    unsigned kept = 0;
    get_local(s, local, &l);
    get_mail(s, mailbox, &mail);
    for (unsigned i = 0; i < mail.count; i++)
        for (unsigned j = 0; j < mail.count && !dead[i]; j++) {
            struct elect_message m = *letter_of(s, HAPPENS_MESSAGE(mail.letter[i].message, 0));
            dead[i] =
                mandate_is_dead(&l, &m, letter_of(s, HAPPENS_MESSAGE(mail.letter[j].message, 0)));
        }
    for (unsigned i = 0; i < mail.count; i++)
        if (!dead[i])
            mail.letter[kept++] = mail.letter[i];
    if (kept == mail.count)
        return mailbox;
    mail.count = kept;
    return intern_mail(s, &mail);
}

/* ---- what becomes of a seat ---- */

static struct change after(struct space *s, const struct seat *seat, uint32_t what,
                           uint32_t mailbox)
{
    struct change o = step(s, seat->local, what);
    o.becomes = intern_seat(s, o.becomes, mailbox);
    return o;
}

/* One letter is lost, or put there twice. */
static struct change mishap(struct space *s, const struct seat *seat, enum happening_kind kind,
                            unsigned k)
{
    struct letter letter = {0};
    uint32_t mailbox = EMPTY;
    take(s, seat->mailbox, k, &letter, &mailbox);
    if (kind == HAPPENS_COPY)
        mailbox = insert(s, seat->mailbox, letter, true);
    return (struct change){.becomes = intern_seat(s, seat->local, mailbox),
                           .message = letter.message,
                           .from = (uint8_t)letter.from};
}

static struct change work_out(struct space *s, uint32_t number, uint32_t what)
{
    const struct seat *seat = space_seat(s, number);
    unsigned argument = what & 0xfffffff;
    struct local l;
    switch ((enum happening_kind)(what >> 28)) {
    case HAPPENS_EVENT:
    case HAPPENS_LETTER:
    case HAPPENS_GRANTS:
    case HAPPENS_WIN:
    case HAPPENS_STALE:
    case HAPPENS_CLOSED:
    case HAPPENS_DUE:
    case HAPPENS_RESTART:
    case HAPPENS_RESIGN:
    case HAPPENS_CHANGE:
    case HAPPENS_TICK: return after(s, seat, what, seat->mailbox);
    case HAPPENS_CRASH: return after(s, seat, what, EMPTY);
    case HAPPENS_LOSS:
    case HAPPENS_COPY: return mishap(s, seat, (enum happening_kind)(what >> 28), argument);
    case HAPPENS_CUT: break;
    }
    get_local(s, seat->local, &l);
    uint32_t mailbox = without_strangers(s, seat->mailbox, l.node.me, argument);
    return (struct change){.becomes = intern_seat(s, seat->local, mailbox)};
}

static uint32_t remember(struct memory *m, const struct change *o)
{
    if (m->count == m->room) {
        m->room = 2 * m->room + 1024;
        m->change = table_must(realloc(m->change, m->room * sizeof *m->change));
    }
    m->change[m->count] = *o;
    return m->count++;
}

struct change space_change(struct space *s, struct memory *m, uint32_t seat, uint32_t what)
{
    uint64_t key = (uint64_t)seat << 32 | what;
    const uint64_t *known = memo_find(&m->changes, key);
    if (known != NULL)
        return m->change[*known];
    pthread_mutex_lock(&s->lock);
    struct change o = work_out(s, seat, what);
    pthread_mutex_unlock(&s->lock);
    memo_put(&m->changes, key, remember(m, &o));
    return o;
}

/* All GRANTs of one round, from whomever. */
static bool same_round(struct space *s, const struct elect_message *grant, uint32_t message)
{
    struct elect_message m = *letter_of(s, HAPPENS_MESSAGE(message, 0));
    m.origin = grant->origin;
    return memcmp(&m, grant, sizeof m) == 0;
}

/* Under a mandate: what this letter does; GRANTs are taken together, with the first of them. */
static bool deliver_letter(struct space *s, const struct seat *seat, const struct mail *mail,
                           unsigned k, struct change *o)
{
    const struct letter *letter = &mail->letter[k];
    struct elect_message m = *letter_of(s, HAPPENS_MESSAGE(letter->message, 0));
    unsigned voters = 0;
    for (unsigned i = 0; i < mail->count && m.type == ELECT_GRANT; i++) {
        if (!same_round(s, &m, mail->letter[i].message))
            continue;
        if (i < k)
            return false;
        voters |= 1u << mail->letter[i].from;
    }
    *o = after(s, seat,
               voters != 0 ? HAPPENS_VOTES(letter->message, voters)
                           : HAPPENS_MESSAGE(letter->message, letter->from),
               seat->mailbox);
    o->kind = voters != 0 ? MOVE_GRANTS : MOVE_DELIVER;
    o->voters = (uint8_t)voters;
    o->message = letter->message;
    o->from = (uint8_t)letter->from;
    return true;
}

/* What changes nothing is not remembered. */
static void remember_change(struct memory *m, uint32_t number, const struct change *o)
{
    if (!o->beyond && (o->becomes != number || o->sends > 0))
        remember(m, o);
}

static void happen(struct space *s, struct memory *m, uint32_t number, enum move_kind kind,
                   unsigned argument, uint32_t what)
{
    const struct seat *seat = space_seat(s, number);
    struct change o = after(s, seat, what, seat->mailbox);
    o.kind = (uint8_t)kind;
    o.argument = (uint8_t)argument;
    remember_change(m, number, &o);
}

static void mandate_deliveries(struct space *s, struct memory *m, uint32_t number)
{
    const struct seat *seat = space_seat(s, number);
    struct mail mail;
    struct change o;
    get_mail(s, seat->mailbox, &mail);
    for (unsigned k = 0; k < mail.count; k++)
        if (deliver_letter(s, seat, &mail, k, &o))
            remember_change(m, number, &o);
    for (unsigned term = 0; term < s->question.max_term; term++) {
        happen(s, m, number, MOVE_WIN, term, HAPPENS(WIN, term));
        happen(s, m, number, MOVE_STALE, term, HAPPENS(STALE, term));
    }
    for (unsigned name = ELECT_EXPIRES; name < ELECT_SENT; name++)
        happen(s, m, number, MOVE_DUE, name, HAPPENS(DUE, name));
    happen(s, m, number, MOVE_CLOSED, 0, HAPPENS(CLOSED, 0));
    happen(s, m, number, MOVE_STOPPED, 0, HAPPENS(EVENT, ELECT_STOPPED));
    for (unsigned other = 0; other < s->question.config.n; other++) {
        if (s->question.hand_over)
            happen(s, m, number, MOVE_RESIGN, other, HAPPENS(RESIGN, other));
        if (s->question.max_changes > 0)
            happen(s, m, number, MOVE_CHANGE, other, HAPPENS(CHANGE, other));
    }
}

static void textbook_deliveries(struct space *s, struct memory *m, uint32_t number)
{
    const struct seat *seat = space_seat(s, number);
    struct letter letter;
    uint32_t rest;
    for (unsigned k = 0; take(s, seat->mailbox, k, &letter, &rest); k++) {
        struct change o = after(s, seat, HAPPENS_MESSAGE(letter.message, letter.from), rest);
        o.message = letter.message;
        o.from = (uint8_t)letter.from;
        remember(m, &o);
    }
}

static void work_out_deliveries(struct space *s, struct memory *m, uint32_t number)
{
    uint32_t first = m->count;
    pthread_mutex_lock(&s->lock);
    if (mandated(s))
        mandate_deliveries(s, m, number);
    else
        textbook_deliveries(s, m, number);
    pthread_mutex_unlock(&s->lock);
    m->deliveries[number] =
        (struct deliveries){.first = first, .count = (uint16_t)(m->count - first), .known = true};
}

struct deliveries space_deliveries(struct space *s, struct memory *m, uint32_t seat)
{
    if (seat >= m->seats) {
        uint32_t seats = 2 * seat + 1024;
        m->deliveries = table_must(realloc(m->deliveries, seats * sizeof *m->deliveries));
        memset(m->deliveries + m->seats, 0, (seats - m->seats) * sizeof *m->deliveries);
        m->seats = seats;
    }
    if (!m->deliveries[seat].known)
        work_out_deliveries(s, m, seat);
    return m->deliveries[seat];
}

uint32_t space_append(struct space *s, struct memory *m, uint32_t number, unsigned from,
                      uint32_t message)
{
    uint64_t key = (uint64_t)number << 32 | message << 4 | from;
    const uint64_t *known = memo_find(&m->appends, key);
    if (known != NULL)
        return (uint32_t)*known;
    pthread_mutex_lock(&s->lock);
    const struct seat *seat = space_seat(s, number);
    uint32_t mailbox = insert(s, seat->mailbox, (struct letter){from, message}, false);
    uint32_t result = intern_seat(s, seat->local, mailbox);
    pthread_mutex_unlock(&s->lock);
    memo_put(&m->appends, key, result);
    return result;
}

uint32_t space_heartbeat(struct space *s, struct memory *m, uint32_t number, unsigned leader)
{
    uint32_t local = space_seat(s, number)->local;
    const uint64_t *known = memo_find(&m->heartbeats, local);
    if (known != NULL)
        return (uint32_t)*known;
    struct local l;
    pthread_mutex_lock(&s->lock);
    get_local(s, local, &l);
    struct elect_message beat = {
        .type = ELECT_HEARTBEAT, .origin = (uint8_t)leader, .round = l.node.saved.round};
    uint32_t message = table_intern(&s->messages, &beat, sizeof beat);
    pthread_mutex_unlock(&s->lock);
    memo_put(&m->heartbeats, local, message);
    return message;
}

/* ---- beginning and end ---- */

void space_init(struct space *s, const struct question *q, struct memory *m, struct row *first)
{
    memset(s, 0, sizeof *s);
    s->question = *q;
    s->watched = q->down != 0 || !budget_is_none(&q->budget);
    pthread_mutex_init(&s->lock, NULL);
    table_intern(&s->mailboxes, NULL, 0);
    memset(first, 0, sizeof *first);
    first->left = q->budget;
    for (uint8_t i = 0; i < q->config.n; i++) {
        struct elect_output out;
        struct local l;
        memset(&l, 0, sizeof l);
        l.up = (q->down >> i & 1) == 0;
        elect_init(&q->config, &l.node, i, l.up ? q->leader : NOBODY, NULL, 0, &out);
        l.disk = l.node.saved;
        if (mandated(s))
            mandate_settle(q, &l);
        first->seat[i] = intern_seat(s, intern_local(s, &l), EMPTY);
    }
    for (unsigned i = 0; i < q->beginners; i++)
        space_begin(s, m, first, q->beginner[i]);
}

void space_free(struct space *s)
{
    table_free(&s->locals);
    table_free(&s->messages);
    table_free(&s->mailboxes);
    memo_free(&s->seat_numbers);
    memo_free(&s->steps);
    free(s->change);
    for (unsigned i = 0; i < sizeof s->seats / sizeof s->seats[0]; i++)
        free(s->seats[i]);
    pthread_mutex_destroy(&s->lock);
}

size_t space_bytes(struct space *s)
{
    pthread_mutex_lock(&s->lock);
    size_t bytes = table_bytes(&s->locals) + table_bytes(&s->messages) +
                   table_bytes(&s->mailboxes) + memo_bytes(&s->seat_numbers) +
                   memo_bytes(&s->steps) + s->room * sizeof *s->change +
                   s->seat_count * sizeof(struct seat);
    pthread_mutex_unlock(&s->lock);
    return bytes;
}

void memory_free(struct memory *m)
{
    memo_free(&m->changes);
    memo_free(&m->appends);
    memo_free(&m->heartbeats);
    free(m->change);
    free(m->deliveries);
}

size_t memory_bytes(const struct memory *m)
{
    return memo_bytes(&m->changes) + memo_bytes(&m->appends) + memo_bytes(&m->heartbeats) +
           m->room * sizeof *m->change + m->seats * sizeof *m->deliveries;
}
