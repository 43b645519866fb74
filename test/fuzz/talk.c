/* Sends arbitrary messages from several runs and clients to a run socket, while the leader changes
 * and the guardian sometimes does not answer. The sockets are real; the member and the guardian are
 * stubs. */
#include "../../src/daemon/run_socket.c"

#include <assert.h>

#define CROWD 3

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static struct config config;
static struct elect_config elect;
static const char *const names[] = {"a"};
static const struct words the_words = {.config = &elect, .name = names};
static uv_loop_t loop;
static struct work work = {.loop = &loop, .config = &config, .words = &the_words, .run_socket = -1};
static struct elect_node node;
static struct guard_page page;
static bool leads, hears;
static elect_time now;
static struct run_connection *crowd[CROWD];
static int their[CROWD];
static struct guard_note asked;

elect_time elect_uv_now(void) { return now; }

const struct elect_node *elect_member_node(const struct elect_member *m, unsigned group)
{
    (void)m;
    assert(group < config.groups);
    return &node;
}

const struct elect_config *elect_member_config(const struct elect_member *m, unsigned group)
{
    (void)m;
    assert(group < config.groups);
    return &elect;
}

void elect_member_deposit(struct elect_member *m, unsigned group)
{
    (void)m;
    assert(group < config.groups);
}

struct elect_news work_shown(const struct work *w, unsigned group)
{
    (void)w;
    return (struct elect_news){.group = group,
                               .leads = leads,
                               .known = leads,
                               .leader = 1,
                               .term = 65537,
                               .until = now + 1000};
}

bool work_is_guarded(const struct work *w) { return w->guard.channel >= 0; }

bool work_tell_guardian(struct work *w, const struct guard_note *note, int fd)
{
    (void)w;
    asked = hears && note->word == GUARD_HOLD ? *note : asked;
    assert((note->word == GUARD_HOLD) == (fd >= 0));
    return hears;
}

void work_wake(struct work *w, elect_time when)
{
    (void)w;
    (void)when;
}

void work_turn(struct work *w, unsigned group)
{
    w->group[group].office = leads;
    run_queue_resign(w, group);
    run_queue_turn(w, group);
}

struct elect_rule work_resign(struct work *w, unsigned group, const char *why)
{
    assert(group < config.groups);
    assert(why != NULL && memchr(why, 0, JOURNAL_TEXT) != NULL);
    assert(w->group[group].holder == NULL && now >= w->group[group].last);
    return (struct elect_rule){leads ? ELECT_RULE_RESIGNS : ELECT_RULE_HAS_NO_OFFICE, 0, 0};
}

static void log_note(void *context, const struct journal_note *note)
{
    (void)context;
    assert(note->group < (int)config.groups && note->text != NULL);
}

static const char *reason(void *context, unsigned group)
{
    (void)context;
    assert(group < config.groups);
    return "";
}

static const struct work_calls calls = {.log = log_note, .reason = reason};

int control_bind(const char *path, int type, mode_t mode, struct text *complaint)
{
    (void)path;
    (void)type;
    (void)mode;
    (void)complaint;
    return -1;
}

static void begin(void)
{
    static const char text[] =
        "[cluster]\nid = 000102030405060708090a0b0c0d0eff\n[member a]\nid = 1\n"
        "address = 127.0.0.1:1\n[group main]\n[group b]\n";
    bool fine = config_parse(&config, "/nowhere/x.conf", text);
    assert(fine && config_elect(&config, &elect) == ELECT_FINE);
    work.me = &config.member[0];
    work.calls = &calls;
    work.guard.page = &page;
    uv_loop_init(&loop);
}

static void arrive(unsigned i)
{
    int pair[2];
    struct run_connection *c = calloc(1, sizeof *c);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) != 0 || c == NULL)
        abort();
    uv_poll_init(&loop, &c->poll, pair[0]);
    c->poll.data = c;
    c->work = &work;
    c->fd = pair[0];
    c->channel = -1;
    c->next = work.connections;
    work.connections = crowd[i] = c;
    their[i] = pair[1];
}

static void leave(unsigned i)
{
    close(their[i]);
    if (crowd[i] != NULL)
        run_connection_drop(crowd[i]);
    crowd[i] = NULL;
    uv_run(&loop, UV_RUN_NOWAIT);
    uv_run(&loop, UV_RUN_NOWAIT);
}

/* Checks the invariants. */
static void look(void)
{
    unsigned holders[2] = {0};
    for (unsigned i = 0; i < CROWD; i++)
        crowd[i] = crowd[i] != NULL && crowd[i]->closing ? NULL : crowd[i];
    for (const struct run_connection *c = work.connections; c != NULL; c = c->next) {
        assert(c->group < config.groups);
        if (c->stage == RUN_HOLDS) {
            holders[c->group]++;
            assert(work.group[c->group].holder == c);
            /* a guardian takes over the run's channel */
            assert(c->channel < 0 || !work_is_guarded(&work));
            assert(!c->loose || !work_is_guarded(&work) || work.group[c->group].is_void);
        }
        for (unsigned g = 0; g < config.groups; g++)
            assert(page.not_before[g] >= c->promised[g]);
    }
    for (unsigned g = 0; g < config.groups; g++)
        assert(holders[g] == (work.group[g].holder != NULL));
}

static size_t say(unsigned i, const uint8_t *bytes, size_t length)
{
    struct talk w = {.magic = TALK_MAGIC, .group = "main"};
    char unread[sizeof w];
    size_t size = sizeof w, used = length < 4 ? length : 4;
    if (crowd[i] == NULL)
        return used;
    w.word = used > 0 ? bytes[0] % (TALK_WORD_COUNT + 1) : 0;
    w.flags = used > 1 ? bytes[1] : 0;
    w.left = used > 2 ? bytes[2] * 100 : 0;
    if (used > 3 && bytes[3] < 64)
        memcpy(w.group, bytes[3] < 32 ? "b" : "nowhere", 2);
    if (used > 3 && bytes[3] > 250) { /* send the raw bytes */
        size = bytes[2] < 128 ? length < sizeof w ? length : sizeof w : sizeof w;
        memcpy(&w, bytes, length < sizeof w ? length : sizeof w);
    }
    (void)!send(their[i], &w, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    readable(&crowd[i]->poll, 0, UV_READABLE);
    while (recv(their[i], unread, sizeof unread, MSG_DONTWAIT) > 0) {
    }
    return used;
}

static void acknowledge(unsigned outcome)
{
    asked.outcome = outcome % 8 == 0 ? 28 : 0;
    run_queue_acknowledged(&work, &asked);
    for (unsigned g = 0; g < config.groups; g++)
        run_queue_turn(&work, g);
}

static void happen(uint8_t what)
{
    switch (what % 8) {
    case 0: leads = !leads; break;
    case 1: hears = !hears; break;
    case 2: now += what * 50; break;
    case 3: acknowledge(what); break;
    /* a closed channel to the guardian is never reopened */
    case 4: work.guard.channel = what < 16 ? -1 : work.guard.channel; break;
    case 5: node.mandate.leader.token = node.mandate.leader.token == 0 ? 65537 : 0; break;
    case 6:
        leave(what / 8 % CROWD);
        arrive(what / 8 % CROWD);
        break;
    default: node.mandate.time[ELECT_UNTIL] = now + what; break;
    }
    for (unsigned g = 0; g < config.groups; g++) {
        work_turn(&work, g);
        run_socket_news(&work, g);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (work.me == NULL)
        begin();
    memset(work.group, 0, sizeof work.group);
    memset(&page, 0, sizeof page);
    memset(&node, 0, sizeof node);
    now = 1000000;
    leads = hears = true;
    work.guard.channel = 1;
    for (unsigned i = 0; i < CROWD; i++)
        arrive(i);
    for (size_t at = 0; at + 1 < length;) {
        uint8_t what = bytes[at++];
        if (what < 160)
            at += say(what % CROWD, bytes + at, length - at);
        else
            happen((uint8_t)(what - 160));
        look();
    }
    for (unsigned i = 0; i < CROWD; i++)
        leave(i);
    assert(work.connections == NULL && work.group[0].holder == NULL &&
           work.group[1].holder == NULL);
    return 0;
}
