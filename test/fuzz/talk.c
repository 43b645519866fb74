/* What several talkers say on a run socket, while leadership comes and goes and the guardian hears
 * or does not. The member and the guardian are stand-ins; the sockets are real. */
#include "../../src/daemon/holders.c"

#include <assert.h>

#define CROWD 3

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static struct daemon d;
static struct elect_node node;
static struct guard_page page;
static bool leads, hears;
static elect_time now;
static struct talker *crowd[CROWD];
static int their[CROWD];
static struct guard_note asked;

elect_time elect_uv_now(void) { return now; }

const struct elect_node *elect_member_node(const struct elect_member *m, unsigned group)
{
    (void)m;
    assert(group < d.config.groups);
    return &node;
}

const struct elect_config *elect_member_config(const struct elect_member *m, unsigned group)
{
    (void)m;
    assert(group < d.config.groups);
    return &d.elect;
}

void elect_member_deposit(struct elect_member *m, unsigned group)
{
    (void)m;
    assert(group < d.config.groups);
}

struct elect_news work_shown(const struct daemon *daemon, unsigned group)
{
    (void)daemon;
    return (struct elect_news){.group = group,
                               .leads = leads,
                               .known = leads,
                               .leader = 1,
                               .term = 65537,
                               .until = now + 1000};
}

bool work_is_guarded(const struct daemon *daemon) { return daemon->guard.channel >= 0; }

bool work_tell_guardian(struct daemon *daemon, const struct guard_note *note, int fd)
{
    (void)daemon;
    asked = hears && note->word == GUARD_HOLD ? *note : asked;
    assert((note->word == GUARD_HOLD) == (fd >= 0));
    return hears;
}

void work_wake(struct daemon *daemon, elect_time when)
{
    (void)daemon;
    (void)when;
}

void work_turn(struct daemon *daemon, unsigned group) { holders_turn(daemon, group); }

struct elect_rule work_resign(struct daemon *daemon, unsigned group)
{
    (void)daemon;
    assert(group < d.config.groups);
    return (struct elect_rule){leads ? ELECT_RULE_RESIGNS : ELECT_RULE_HAS_NO_OFFICE, 0, 0};
}

void daemon_log(struct daemon *daemon, enum journal_event event, int group, const char *text)
{
    (void)daemon;
    (void)event;
    assert(group < (int)d.config.groups && text != NULL);
}

void daemon_log_work(struct daemon *daemon, unsigned group, uid_t user, const char *text)
{
    (void)daemon;
    (void)user;
    assert(group < d.config.groups && text != NULL);
}

struct words daemon_words(const struct daemon *daemon)
{
    return (struct words){.config = &daemon->elect, .name = daemon->name};
}

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
    bool fine = config_parse(&d.config, "/nowhere/x.conf", text);
    assert(fine && config_elect(&d.config, &d.elect) == ELECT_FINE);
    d.me = &d.config.member[0];
    d.name[0] = "a";
    d.guard.page = &page;
    uv_loop_init(&d.loop);
}

static void arrive(unsigned i)
{
    int pair[2];
    struct talker *t = calloc(1, sizeof *t);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) != 0 || t == NULL)
        abort();
    uv_poll_init(&d.loop, &t->poll, pair[0]);
    t->poll.data = t;
    t->d = &d;
    t->fd = pair[0];
    t->channel = -1;
    t->next = d.talkers;
    d.talkers = crowd[i] = t;
    their[i] = pair[1];
}

static void leave(unsigned i)
{
    close(their[i]);
    if (crowd[i] != NULL)
        let_go(crowd[i]);
    crowd[i] = NULL;
    uv_run(&d.loop, UV_RUN_NOWAIT);
    uv_run(&d.loop, UV_RUN_NOWAIT);
}

/* What must be so, whatever was said. */
static void look(void)
{
    unsigned holders[2] = {0};
    for (unsigned i = 0; i < CROWD; i++)
        crowd[i] = crowd[i] != NULL && crowd[i]->closing ? NULL : crowd[i];
    for (const struct talker *t = d.talkers; t != NULL; t = t->next) {
        assert(t->group < d.config.groups);
        if (t->stage == TALKER_HOLDS) {
            holders[t->group]++;
            assert(d.group[t->group].work.holder == t);
            assert(t->channel < 0 || !work_is_guarded(&d)); /* the guardian knows of it */
            assert(!t->loose || !work_is_guarded(&d) || d.group[t->group].work.is_void);
        }
        for (unsigned g = 0; g < d.config.groups; g++)
            assert(page.not_before[g] >= t->promised[g]);
    }
    for (unsigned g = 0; g < d.config.groups; g++)
        assert(holders[g] == (d.group[g].work.holder != NULL));
}

static size_t say(unsigned i, const uint8_t *bytes, size_t length)
{
    struct talk w = {.magic = TALK_MAGIC, .group = "main"};
    char unread[sizeof w];
    size_t size = sizeof w, used = length < 4 ? length : 4;
    if (crowd[i] == NULL)
        return used;
    w.word = used > 0 ? bytes[0] % (TALK_WORD_COUNT + 1) : 0;
    w.flags = used > 1 ? bytes[1] & 3 : 0;
    w.left = used > 2 ? bytes[2] * 100 : 0;
    if (used > 3 && bytes[3] < 64)
        memcpy(w.group, bytes[3] < 32 ? "b" : "nowhere", 2);
    if (used > 3 && bytes[3] > 250) { /* as it comes */
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
    holders_acknowledged(&d, &asked);
    for (unsigned g = 0; g < d.config.groups; g++)
        holders_turn(&d, g);
}

static void happen(uint8_t what)
{
    switch (what % 8) {
    case 0: leads = !leads; break;
    case 1: hears = !hears; break;
    case 2: now += what * 50; break;
    case 3: acknowledge(what); break;
    case 4: d.guard.channel = what < 16 ? -1 : d.guard.channel; break; /* dead for good */
    case 5: node.mandate.leader.token = node.mandate.leader.token == 0 ? 65537 : 0; break;
    case 6:
        leave(what / 8 % CROWD);
        arrive(what / 8 % CROWD);
        break;
    default: node.mandate.time[ELECT_UNTIL] = now + what; break;
    }
    for (unsigned g = 0; g < d.config.groups; g++) {
        holders_turn(&d, g);
        holders_news(&d, g);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (d.me == NULL)
        begin();
    memset(d.group, 0, sizeof d.group);
    memset(&page, 0, sizeof page);
    memset(&node, 0, sizeof node);
    now = 1000000;
    leads = hears = true;
    d.guard.channel = 1;
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
    assert(d.talkers == NULL && d.group[0].work.holder == NULL && d.group[1].work.holder == NULL);
    return 0;
}
