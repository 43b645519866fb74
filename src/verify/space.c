/* See space.h. */
#include "local.h"

#include <stdlib.h>
#include <string.h>

#define EMPTY SPACE_NO_MAIL

#define MAX_LETTERS  256        /* in a mailbox */
#define MAX_MESSAGES (1u << 20) /* 20 bits in HAPPENS_VOTES */

/* ---- local values, mailboxes, seats ---- */

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

/* Sorted by sender within a mailbox. */
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

static const struct elect_message *message_at(const struct space *s, uint32_t message)
{
    size_t length;
    return table_value(&s->messages, message, &length);
}

static uint32_t short_term(const struct space *s, elect_term e)
{
    return e == 0 ? 0
                  : (uint32_t)elect_term_counter(e) << 8 |
                        elect_rank(&s->question.config, elect_term_owner(e));
}

static uint32_t without_the_dead(struct space *s, uint32_t local, uint32_t mailbox);

static struct seat describe(const struct space *s, uint32_t local, uint32_t mailbox)
{
    struct local l;
    struct mail mail;
    uint16_t senders = 0;
    get_local(s, local, &l);
    get_mail(s, mailbox, &mail);
    for (unsigned i = 0; i < mail.count; i++)
        senders |= (uint16_t)(1u << mail.letter[i].from);
    return (struct seat){.local = local,
                         .mailbox = mailbox,
                         .senders = senders,
                         .up = l.up != 0,
                         .state = l.node.state,
                         .leader = l.node.leader,
                         .running = l.up ? l.node.running : 0,
                         .leads = elect_in_office(&l.node, 0),
                         .broken = (uint8_t)l.broken,
                         .taken = short_term(s, l.claims.taken)};
}

/* Called with the lock held. */
static uint32_t new_seat(struct space *s, const struct seat *seat)
{
    uint32_t index = s->seat_count;
    if (index / SPACE_PAGE >= sizeof s->seats / sizeof s->seats[0]) {
        s->full = true;
        return 0;
    }
    struct seat **page = &s->seats[index / SPACE_PAGE];
    if (*page == NULL)
        *page = table_must(calloc(SPACE_PAGE, sizeof **page));
    memcpy(&(*page)[index % SPACE_PAGE], seat, sizeof *seat);
    s->seat_count++;
    return index;
}

static uint32_t add_seat(struct space *s, uint32_t local, uint32_t mailbox, uint64_t key)
{
    struct seat seat = describe(s, local, mailbox);
    pthread_mutex_lock(&s->lock);
    /* Another thread may have added it in the meantime. */
    const uint64_t *known = memo_find(&s->seat_numbers, key);
    uint32_t index =
        (uint32_t)(known != NULL ? *known : memo_add(&s->seat_numbers, key, new_seat(s, &seat)));
    pthread_mutex_unlock(&s->lock);
    return index;
}

static uint32_t intern_seat(struct space *s, uint32_t local, uint32_t mailbox)
{
    uint64_t key = (uint64_t)local << 32 | mailbox;
    const uint64_t *known = memo_find(&s->seat_numbers, key);
    if (known != NULL)
        return (uint32_t)*known;
    uint32_t alive = mandated(s) ? without_the_dead(s, local, mailbox) : mailbox;
    if (alive == mailbox)
        return add_seat(s, local, mailbox, key);
    return (uint32_t)memo_add(&s->seat_numbers, key, intern_seat(s, local, alive));
}

void space_message(struct space *s, uint32_t message, struct elect_message *m)
{
    *m = *message_at(s, message);
}

void space_node(struct space *s, uint32_t seat, struct elect_node *node)
{
    struct local l;
    get_local(s, space_seat(s, seat)->local, &l);
    *node = l.node;
}

static uint32_t intern_mail(struct space *s, const struct mail *mail)
{
    return table_intern(&s->mailboxes, mail->letter, mail->count * sizeof *mail->letter);
}

/* Inserts a message after or before the others of its sender. Without ordered links, a sender's
 * messages are sorted instead. Under a mandate, a mailbox is a set: see mandate.c. */
static uint32_t insert(struct space *s, uint32_t mailbox, struct letter letter, bool in_front)
{
    struct mail mail;
    unsigned at = 0;
    get_mail(s, mailbox, &mail);
    if (mail.count == MAX_LETTERS) {
        s->full = true;
        return mailbox;
    }
    in_front = in_front && !s->question.reorder;
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

/* Takes the k-th message that can be received; `rest` is the mailbox without it. Returns false if
 * there are fewer. */
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

/* ---- steps of the core, each of which is computed once ---- */

/* Only the saved state survives. */
static void die(struct local *l)
{
    struct elect_node dead = {.me = l->node.me, .leader = ELECT_NOBODY, .saved = l->node.saved};
    l->node = dead;
    l->up = 0;
}

static const struct elect_message *letter_of(const struct space *s, uint32_t what)
{
    unsigned kind = what >> 28, argument = what & 0xfffffff;
    if (kind != HAPPENS_LETTER && kind != HAPPENS_GRANTS)
        return NULL;
    return message_at(s, argument >> (kind == HAPPENS_LETTER ? 4 : 8));
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
            elect_init(c, &l->node, l->node.me, ELECT_NOBODY, &saved, 0, out);
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
    if (what == HAPPENS_WITH(CRASH, 0))
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
    if (s->messages.count > MAX_MESSAGES)
        s->full = true;
    return o;
}

static const struct change *change_at(uint64_t value)
{
    return (const struct change *)(uintptr_t)value;
}

static const struct change *add_change(struct space *s, struct memo *m, uint64_t key,
                                       const struct change *o)
{
    const struct change *kept = arena_keep(&s->arena, o, change_size(o));
    return change_at(memo_add(m, key, (uintptr_t)kept));
}

static const struct change *step(struct space *s, uint32_t local, uint32_t what)
{
    uint64_t key = (uint64_t)local << 32 | what;
    const uint64_t *known = memo_find(&s->steps, key);
    if (known != NULL)
        return change_at(*known);
    struct change o = work_out_step(s, local, what);
    return add_change(s, &s->steps, key, &o);
}

/* Removes messages that can no longer have an effect. Only under a mandate. */
static uint32_t without_the_dead(struct space *s, uint32_t local, uint32_t mailbox)
{
    const struct local *l = table_value(&s->locals, local, &(size_t){0});
    struct mail mail;
    bool dead[MAX_LETTERS + 1] = {false};
    unsigned kept = 0;
    get_mail(s, mailbox, &mail);
    for (unsigned i = 0; i < mail.count; i++)
        for (unsigned j = 0; j < mail.count && !dead[i]; j++)
            dead[i] = mandate_is_dead(l, message_at(s, mail.letter[i].message),
                                      message_at(s, mail.letter[j].message));
    for (unsigned i = 0; i < mail.count; i++)
        if (!dead[i])
            mail.letter[kept++] = mail.letter[i];
    if (kept == mail.count)
        return mailbox;
    mail.count = kept;
    return intern_mail(s, &mail);
}

/* ---- the effect of an event on a seat ---- */

static struct change after(struct space *s, const struct seat *seat, uint32_t what,
                           uint32_t mailbox)
{
    const struct change *step_done = step(s, seat->local, what);
    struct change o;
    memcpy(&o, step_done, change_size(step_done));
    o.becomes = intern_seat(s, o.becomes, mailbox);
    return o;
}

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

const struct change *space_change(struct space *s, uint32_t seat, uint32_t what)
{
    uint64_t key = (uint64_t)seat << 32 | what;
    const uint64_t *known = memo_find(&s->changes, key);
    if (known != NULL)
        return change_at(*known);
    struct change o = work_out(s, seat, what);
    return add_change(s, &s->changes, key, &o);
}

/* ---- all events that are possible next ---- */

struct draft {
    struct space *s;
    uint32_t number;
    struct deliveries *to;
    size_t used, room;
};

static void draft(struct draft *d, const struct change *o)
{
    size_t size = change_size(o);
    if (d->used + size > d->room) {
        d->room = 2 * d->room + 1024;
        d->to = table_must(realloc(d->to, d->room));
    }
    memcpy((unsigned char *)d->to + d->used, o, size);
    d->used += size;
    d->to->count++;
}

/* Ignores changes that have no effect or exceed the bounds. */
static void draft_change(struct draft *d, const struct change *o)
{
    if (!o->beyond && (o->becomes != d->number || o->sends > 0))
        draft(d, o);
}

/* GRANTs of a round differ only in their origin. */
static bool same_round(struct space *s, const struct elect_message *grant, uint32_t message)
{
    struct elect_message m = *message_at(s, message);
    m.origin = grant->origin;
    return memcmp(&m, grant, sizeof m) == 0;
}

/* Under a mandate, the first GRANT of a round stands for all of that round. Returns false for the
 * others. */
static bool deliver_letter(struct space *s, const struct seat *seat, const struct mail *mail,
                           unsigned k, struct change *o)
{
    const struct letter *letter = &mail->letter[k];
    struct elect_message m = *message_at(s, letter->message);
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

static void happen(struct draft *d, enum move_kind kind, unsigned argument, uint32_t what)
{
    const struct seat *seat = space_seat(d->s, d->number);
    struct change o = after(d->s, seat, what, seat->mailbox);
    o.kind = (uint8_t)kind;
    o.argument = (uint8_t)argument;
    draft_change(d, &o);
}

static void mandate_deliveries(struct draft *d)
{
    struct space *s = d->s;
    const struct seat *seat = space_seat(s, d->number);
    struct mail mail;
    struct change o;
    get_mail(s, seat->mailbox, &mail);
    for (unsigned k = 0; k < mail.count; k++)
        if (deliver_letter(s, seat, &mail, k, &o))
            draft_change(d, &o);
    for (unsigned term = 0; term < s->question.max_term; term++) {
        happen(d, MOVE_WIN, term, HAPPENS_WITH(WIN, term));
        happen(d, MOVE_STALE, term, HAPPENS_WITH(STALE, term));
    }
    for (unsigned name = ELECT_EXPIRES; name < ELECT_SENT; name++)
        happen(d, MOVE_DUE, name, HAPPENS_WITH(DUE, name));
    happen(d, MOVE_CLOSED, 0, HAPPENS_WITH(CLOSED, 0));
    happen(d, MOVE_STOPPED, 0, HAPPENS_WITH(EVENT, ELECT_STOPPED));
    for (unsigned other = 0; other < s->question.config.n; other++) {
        if (s->question.hand_over)
            happen(d, MOVE_RESIGN, other, HAPPENS_WITH(RESIGN, other));
        if (s->question.max_changes > 0)
            happen(d, MOVE_CHANGE, other, HAPPENS_WITH(CHANGE, other));
    }
}

static void textbook_deliveries(struct draft *d)
{
    const struct seat *seat = space_seat(d->s, d->number);
    struct letter letter;
    uint32_t rest;
    for (unsigned k = 0; take(d->s, seat->mailbox, k, &letter, &rest); k++) {
        struct change o = after(d->s, seat, HAPPENS_MESSAGE(letter.message, letter.from), rest);
        o.message = letter.message;
        o.from = (uint8_t)letter.from;
        draft(d, &o);
    }
}

/* Two threads may compute the same deliveries; the results are equal. */
const struct deliveries *space_deliveries(struct space *s, uint32_t number)
{
    struct seat *seat = &s->seats[number / SPACE_PAGE][number % SPACE_PAGE];
    const struct deliveries *known = atomic_load_explicit(&seat->deliveries, memory_order_acquire);
    if (known != NULL)
        return known;
    struct draft d = {.s = s, .number = number, .used = sizeof *d.to, .room = 1024};
    d.to = table_must(calloc(1, d.room));
    if (mandated(s))
        mandate_deliveries(&d);
    else
        textbook_deliveries(&d);
    known = arena_keep(&s->arena, d.to, d.used);
    free(d.to);
    atomic_store_explicit(&seat->deliveries, known, memory_order_release);
    return known;
}

uint32_t space_append(struct space *s, uint32_t number, unsigned from, uint32_t message)
{
    uint64_t key = (uint64_t)number << 32 | message << 4 | from;
    const uint64_t *known = memo_find(&s->appends, key);
    if (known != NULL)
        return (uint32_t)*known;
    const struct seat *seat = space_seat(s, number);
    uint32_t mailbox = insert(s, seat->mailbox, (struct letter){from, message}, false);
    return (uint32_t)memo_add(&s->appends, key, intern_seat(s, seat->local, mailbox));
}

uint32_t space_heartbeat(struct space *s, uint32_t number, unsigned leader)
{
    uint32_t local = space_seat(s, number)->local;
    const uint64_t *known = memo_find(&s->heartbeats, local);
    if (known != NULL)
        return (uint32_t)*known;
    struct local l;
    get_local(s, local, &l);
    struct elect_message beat = {
        .type = ELECT_HEARTBEAT, .origin = (uint8_t)leader, .round = l.node.saved.round};
    return (uint32_t)memo_add(&s->heartbeats, local,
                              table_intern(&s->messages, &beat, sizeof beat));
}

/* ---- beginning and end ---- */

#define EACH_TABLE(call, s) call(&(s)->locals), call(&(s)->messages), call(&(s)->mailboxes);
#define EACH_MEMO(call, s)                                                                         \
    call(&(s)->seat_numbers), call(&(s)->steps), call(&(s)->changes), call(&(s)->appends),         \
        call(&(s)->heartbeats);

void space_init(struct space *s, const struct question *q, struct row *first)
{
    memset(s, 0, sizeof *s);
    s->question = *q;
    s->watched = q->down != 0 || !budget_is_none(&q->budget);
    pthread_mutex_init(&s->lock, NULL);
    arena_init(&s->arena);
    EACH_TABLE(table_init, s)
    EACH_MEMO(memo_init, s)
    table_intern(&s->mailboxes, NULL, 0);
    memset(first, 0, sizeof *first);
    first->left = q->budget;
    for (uint8_t i = 0; i < q->config.n; i++) {
        struct elect_output out;
        struct local l;
        memset(&l, 0, sizeof l);
        l.up = (q->down >> i & 1) == 0;
        elect_init(&q->config, &l.node, i, l.up ? q->leader : ELECT_NOBODY, NULL, 0, &out);
        l.disk = l.node.saved;
        if (mandated(s))
            mandate_settle(q, &l);
        first->seat[i] = intern_seat(s, intern_local(s, &l), EMPTY);
    }
    for (unsigned i = 0; i < q->beginners; i++)
        space_begin(s, first, q->beginner[i]);
}

void space_settle(struct space *s)
{
    EACH_TABLE(table_settle, s)
    EACH_MEMO(memo_settle, s)
}

void space_free(struct space *s)
{
    EACH_TABLE(table_free, s)
    EACH_MEMO(memo_free, s)
    arena_free(&s->arena);
    for (unsigned i = 0; i < sizeof s->seats / sizeof s->seats[0]; i++)
        free(s->seats[i]);
    pthread_mutex_destroy(&s->lock);
}

size_t space_bytes(const struct space *s)
{
    return table_bytes(&s->locals) + table_bytes(&s->messages) + table_bytes(&s->mailboxes) +
           s->seat_numbers.bytes + s->steps.bytes + s->changes.bytes + s->appends.bytes +
           s->heartbeats.bytes + s->arena.bytes + s->seat_count * sizeof(struct seat);
}
