/*
 * Tests the sessions against an attacker that has a copy of every packet ever sent. The attacker
 * delays, drops, repeats, changes and reflects packets, while members restart, restore snapshots,
 * run as clones, and change their keys in any order. The test checks that
 *  - a member accepts a message at most once, and only if it was addressed to this run of the
 *    member,
 *  - a member that knows a later state of the sender accepts no message sent in an earlier state,
 *  - a repeated packet never shows that a link works,
 *  - no honest member is told to stop,
 *  - once the attacker stops and all members share a key, all members can communicate, send few
 *    HELLOs, and know each other's keys.
 */
#include "../../src/model/dice.h"
#include "../../src/runtime/session.h"
#include "elect.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 3
#define POOL    2048
#define LIVES   256
#define STEPS   600
#define WORDS   8192
#define SHOWN   4096
#define LINKS   2
#define KEYS    3 /* ids 1 to 3 */
#define SECOND  1000000u

struct letter {
    size_t length;
    uint8_t bytes[SEAL_MAX_PACKET];
};

struct disk {
    uint32_t incarnation;
    uint64_t sequence;
    struct session_memory known[MEMBERS];
};

/* One run of a member, from its start to its exit. */
struct life {
    unsigned member;
    bool earlier;      /* started from a restored snapshot */
    bool lost;         /* has lost its state and says so */
    uint64_t sequence; /* the state's sequence number at the start */
    uint32_t incarnation;
    uint64_t began, ended;
    uint8_t boot[SESSION_BOOT];
};

/* Key ids by slot, 0 if the slot is empty. Keys survive a restart. */
struct ring {
    uint8_t id[SESSION_KEYS], use;
};

/* The content of a DATA packet: the sender's life, the word's number, and the receiver's nonce. */
struct word {
    uint32_t life, number;
    uint8_t to[SEAL_NONCE];
};

static struct {
    struct dice dice;
    uint64_t now;
    struct disk disk[MEMBERS], snapshot[MEMBERS];
    struct sessions node[MEMBERS];
    bool up[MEMBERS], has_snapshot[MEMBERS], tampered[MEMBERS], lost[MEMBERS];
    uint32_t life[MEMBERS];
    struct life lives[LIVES];
    unsigned life_count;
    struct ring ring[MEMBERS];
    uint32_t words, eras;
    /* latest life of member j that member i has accepted a message from: heard[lost][i][j] */
    uint32_t heard[2][MEMBERS][MEMBERS];
    /* what each member knew about each peer before it opened the current session */
    struct session_memory knew[MEMBERS][MEMBERS];
    /* words accepted by the current life of each member */
    bool taken[MEMBERS][WORDS];
    struct {
        uint32_t life;
        unsigned link;
        uint8_t salt[SEAL_SALT];
    } shown[SHOWN]; /* packets that have shown that a link works */
    unsigned showings;
    struct letter pool[POOL];
    unsigned letters, delivered, hellos;
    uint64_t got; /* number of accepted words */
    const char *wrong;
} w;

static uint64_t below(uint64_t bound) { return dice_below(&w.dice, bound); }

static void draw(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)dice_throw(&w.dice);
}

static void wrong(const char *what)
{
    if (w.wrong == NULL)
        w.wrong = what;
}

static uint16_t id_of(unsigned member) { return (uint16_t)(10 * member + 7); }

static unsigned peer_index(unsigned member, unsigned other)
{
    return other < member ? other : other - 1;
}

static void stop(unsigned i)
{
    w.up[i] = false;
    w.lives[w.life[i]].ended = w.now;
}

static void add_key(unsigned i, uint8_t slot, uint8_t id)
{
    uint8_t key[SEAL_KEY] = {id, 2, 3};
    sessions_add_key(&w.node[i], slot, id, key);
    w.ring[i].id[slot] = id;
}

static void use(unsigned i, uint8_t slot)
{
    sessions_use(&w.node[i], slot);
    w.ring[i].use = slot;
}

static void remove_key(unsigned i, uint8_t slot)
{
    sessions_remove_key(&w.node[i], slot);
    w.ring[i].id[slot] = 0;
}

static bool has(unsigned i, uint8_t id)
{
    return id != 0 && (w.ring[i].id[0] == id || w.ring[i].id[1] == id);
}

/* Changes a member's keys at random, even if this cuts off other members. */
static void turn_keys(unsigned i)
{
    uint8_t id = (uint8_t)(1 + below(KEYS)), other = w.ring[i].use ^ 1u;
    bool there = w.ring[i].id[other] != 0, again = below(2) == 0;
    if (!there && !has(i, id))
        add_key(i, other, id);
    else if (there && below(2) == 0)
        use(i, other);
    else if (there) {
        id = w.ring[i].id[other];
        remove_key(i, other);
        if (again)
            add_key(i, other, id);
    }
}

static void start(unsigned i)
{
    struct sessions *s = &w.node[i];
    struct disk *d = &w.disk[i];
    if (w.up[i])
        stop(i);
    w.now++; /* no two lives begin at the same time */
    memset(s, 0, sizeof *s);
    d->incarnation += w.lost[i] ? 0 : 1;
    d->sequence += w.lost[i] ? 0 : 1;
    s->lost = w.lost[i];
    s->id = id_of(i);
    s->incarnation = d->incarnation;
    s->sequence = w.lost[i] ? w.now : d->sequence;
    s->suspicion = SECOND / 2;
    s->draw = draw;
    sessions_begin(s);
    for (uint8_t k = 0; k < SESSION_KEYS; k++)
        if (w.ring[i].id[k] != 0)
            add_key(i, k, w.ring[i].id[k]);
    sessions_use(s, w.ring[i].use);
    for (unsigned j = 0; j < MEMBERS; j++)
        if (j != i)
            sessions_add_peer(s, id_of(j), &d->known[j]);
    w.up[i] = true;
    w.life[i] = w.life_count;
    w.lives[w.life_count] = (struct life){.member = i,
                                          .lost = w.lost[i],
                                          .earlier = w.tampered[i],
                                          .sequence = d->sequence,
                                          .incarnation = d->incarnation,
                                          .began = w.now};
    memcpy(w.lives[w.life_count++].boot, s->boot, SESSION_BOOT);
    memset(w.taken[i], 0, sizeof w.taken[i]);
    memset(w.heard[0][i], 0, sizeof w.heard[0][i]);
    memset(w.heard[1][i], 0, sizeof w.heard[1][i]);
}

static void send_packet(const uint8_t *bytes, size_t length)
{
    if (length == 0)
        return;
    if (w.letters == POOL) { /* drop the older half of the packets */
        memmove(w.pool, w.pool + POOL / 2, POOL / 2 * sizeof w.pool[0]);
        w.letters = POOL / 2;
        w.delivered = w.delivered > POOL / 2 ? w.delivered - POOL / 2 : 0;
    }
    struct letter *l = &w.pool[w.letters++];
    l->length = length;
    memcpy(l->bytes, bytes, length);
    w.hellos += bytes[4] == PACKET_HELLO;
}

static uint8_t slot_of(unsigned i, const uint8_t *bytes) { return bytes[5] != w.ring[i].id[0]; }

/* Sends the next word to member j or, if `lost`, to a process with j's number that has lost its
 * state. */
static void say(unsigned i, unsigned j, bool lost)
{
    size_t (*seal)(struct sessions *, unsigned, const uint8_t *, size_t, uint8_t *) =
        lost ? sessions_seal_lost : sessions_seal;
    uint8_t out[SEAL_MAX_PACKET];
    struct sessions *s = &w.node[i];
    struct session_peer *p = &s->peer[peer_index(i, j)];
    struct word word = {.life = w.life[i], .number = w.words};
    if (seal(s, peer_index(i, j), (const uint8_t *)"", 0, out) == 0)
        return;
    /* the session that sealed `out` */
    struct session *n = &(lost ? &p->lost : &p->now)->with[slot_of(i, out)];
    memcpy(word.to, n->nonce, SEAL_NONCE);
    w.words++;
    send_packet(out, seal(s, peer_index(i, j), (uint8_t *)&word, sizeof word, out));
}

static void say_something(unsigned i, unsigned j) { say(i, j, below(8) == 0); }

static void say_hello(unsigned i, unsigned j)
{
    uint8_t out[SEAL_MAX_PACKET];
    send_packet(out, sessions_hello(&w.node[i], peer_index(i, j), w.now, out));
}

static void remember(unsigned i, unsigned j, bool at_once)
{
    w.disk[i].known[j] = w.node[i].peer[peer_index(i, j)].known;
    if (at_once)
        w.node[i].sequence = ++w.disk[i].sequence;
}

/* Returns true if the life began with an older state than `knew`. Sequence numbers are per era. */
static bool is_older(const struct life *life, const struct session_memory *knew)
{
    uint32_t era = ELECT_ERA(life->incarnation), known = ELECT_ERA(knew->incarnation);
    return era < known || (era == known && life->sequence <= knew->sequence);
}

static void hear(unsigned i, unsigned j, uint8_t slot, const struct session_event *e)
{
    uint32_t *latest = &w.heard[e->lost][i][j];
    struct word word;
    if (e->length != sizeof word) {
        wrong("a member accepts a message that no member sent");
        return;
    }
    memcpy(&word, e->content, sizeof word);
    if (word.life < w.life_count && w.lives[word.life].lost != e->lost)
        wrong("a sender that has lost its state is taken for one that has not, or the reverse");
    if (word.life >= w.life_count || w.lives[word.life].member != j)
        wrong("a message is accepted from the wrong sender");
    else if (memcmp(word.to, w.node[i].key[slot].nonce, SEAL_NONCE) != 0)
        wrong("a message to an earlier life or key is accepted");
    else if (w.taken[i][word.number])
        wrong("a message is accepted twice");
    else if (word.life < *latest && !w.lives[*latest].earlier)
        wrong("a message of an earlier life is accepted after one of a later life");
    else if (w.lives[word.life].earlier && is_older(&w.lives[word.life], &w.knew[i][j]))
        wrong("a member that knows a later state accepts a message from a restored snapshot");
    w.taken[i][word.number] = true;
    *latest = word.life > *latest ? word.life : *latest;
    w.got++;
}

/* Checks that no session connects this process to one that exited before it started. */
static void check_peer(unsigned i, const struct session_memory *knows)
{
    for (unsigned k = 1; k < w.life_count; k++)
        if (memcmp(w.lives[k].boot, knows->boot, SESSION_BOOT) == 0 && w.lives[k].ended != 0 &&
            w.lives[k].ended < w.lives[w.life[i]].began)
            wrong("a session is opened with a life that had already ended");
}

static void show(unsigned i, unsigned link, const uint8_t *bytes)
{
    const uint8_t *salt = bytes + SEAL_HEAD - SEAL_SALT;
    for (unsigned k = 0; k < w.showings && k < SHOWN; k++)
        if (w.shown[k].life == w.life[i] && w.shown[k].link == link &&
            memcmp(w.shown[k].salt, salt, SEAL_SALT) == 0)
            wrong("a repeated packet shows that a link works");
    unsigned k = w.showings++ % SHOWN;
    w.shown[k].life = w.life[i];
    w.shown[k].link = link;
    memcpy(w.shown[k].salt, salt, SEAL_SALT);
}

static void deliver(unsigned i, const uint8_t *bytes, size_t length)
{
    static struct session_event e;
    unsigned link = (unsigned)below(LINKS);
    struct session_memory knew[MEMBERS];
    for (unsigned k = 0; k + 1 < MEMBERS; k++)
        knew[k] = w.node[i].peer[k].known;
    sessions_turn(&w.node[i]);
    sessions_take(&w.node[i], w.now, link, bytes, length, &e);
    if (e.later)
        show(i, link, bytes);
    unsigned j = e.peer < i ? e.peer : e.peer + 1u;
    const struct session_memory *knows = &w.node[i].peer[e.peer].known;
    if (e.news == SESSION_OPENED && !e.lost &&
        memcmp(knows->boot, knew[e.peer].boot, SESSION_BOOT) != 0)
        w.knew[i][j] = knew[e.peer];
    if (e.news == SESSION_OPENED && !e.lost)
        check_peer(i, knows);
    if (e.news == SESSION_DATA)
        hear(i, j, slot_of(i, bytes), &e);
    if (e.news == SESSION_OPENED || e.fresh)
        remember(i, j, e.news == SESSION_OPENED);
    if (e.news == SESSION_MUST_STOP && !w.tampered[i])
        wrong("an honest member is told to stop");
    if (e.news == SESSION_MUST_STOP)
        stop(i);
    send_packet(e.answer, e.answer_length);
}

static void attack(unsigned i)
{
    if (w.letters == 0)
        return;
    struct letter l = w.pool[below(2) == 0 ? below(w.letters)
                                           : w.letters - 1 - below(w.letters < 6 ? w.letters : 6)];
    if (below(8) == 0)
        l.bytes[below(l.length)] ^= (uint8_t)(1 << below(8));
    if (below(20) == 0)
        l.length = below(l.length + 1);
    if (w.up[i])
        deliver(i, l.bytes, l.length);
}

/* Replays up to 19 consecutive packets in their original order. */
static void repeat(unsigned i)
{
    unsigned first = (unsigned)below(w.letters + 1), count = (unsigned)below(20);
    for (unsigned k = first; k < first + count && k < w.letters && w.up[i]; k++) {
        struct letter l = w.pool[k];
        deliver(i, l.bytes, l.length);
    }
}

/* Delivers the next packet once, to its destination. */
static void deliver_next(void)
{
    if (w.delivered >= w.letters)
        return;
    struct letter l = w.pool[w.delivered++];
    struct packet head;
    for (unsigned i = 0; i < MEMBERS; i++)
        if (seal_head(l.bytes, l.length, &head) && head.to == id_of(i) && w.up[i])
            deliver(i, l.bytes, l.length);
}

/* Restarts a member without its state. */
static void forget(unsigned i)
{
    memset(&w.disk[i], 0, sizeof w.disk[i]);
    w.lost[i] = true;
    w.has_snapshot[i] = w.tampered[i] = false;
    start(i);
}

static bool can_speak(unsigned i, unsigned j)
{
    uint8_t out[SEAL_MAX_PACKET];
    return sessions_seal(&w.node[i], peer_index(i, j), (const uint8_t *)"", 0, out) > 0;
}

/* Restarts a member that has lost its state, if all other members can answer it. It gets a new era
 * (a range of incarnations) that no other member has seen. */
static void come_back(unsigned i)
{
    for (unsigned j = 0; j < MEMBERS; j++)
        if (i != j && (!w.up[j] || !can_speak(i, j)))
            return;
    w.disk[i].incarnation = ++w.eras * ELECT_STARTS;
    w.lost[i] = false;
    start(i);
}

static void move(void)
{
    unsigned i = (unsigned)below(MEMBERS), j = (i + 1 + (unsigned)below(MEMBERS - 1)) % MEMBERS;
    unsigned kind = (unsigned)below(100);
    w.now += below(SECOND / 20);
    if (kind < 40)
        deliver_next();
    else if (kind < 57)
        attack(i);
    else if (kind < 60)
        repeat(i);
    else if (w.tampered[i] && !w.up[i] && below(4) == 0)
        forget(i);
    else if (w.tampered[i] && (kind > 94 || !w.up[i]))
        return; /* a member that was told to stop is not restarted */
    else if (!w.up[i])
        start(i);
    else if (w.lost[i] && below(8) == 0)
        come_back(i);
    else if (kind < 78)
        say_hello(i, j);
    else if (kind < 91)
        say_something(i, j);
    else if (kind < 94)
        turn_keys(i);
    else if (kind < 95)
        w.delivered = w.letters; /* all packets in flight are lost */
    else if (kind < 97)
        start(i);
    else if (kind == 97 && !w.lost[i]) {
        w.snapshot[i] = w.disk[i];
        w.has_snapshot[i] = true;
    } else if (kind == 98 && w.has_snapshot[i] && !w.lost[i] && below(4) == 0) {
        w.disk[i] = w.snapshot[i];
        w.tampered[i] = true;
        start(i);
    } else if (kind == 99 && below(2) == 0)
        forget(i);
}

/* Installs a key in a free slot or, if there is none, in place of a key other than `keep`. */
static void give(unsigned i, uint8_t id, uint8_t keep)
{
    const uint8_t *has_now = w.ring[i].id;
    uint8_t slot = has_now[0] != 0 && (has_now[1] == 0 || has_now[0] == keep);
    if (has(i, id))
        return;
    if (has_now[slot] != 0) {
        use(i, slot ^ 1u);
        remove_key(i, slot);
    }
    add_key(i, slot, id);
}

/* Installs one key for all members, or two keys, of which each member uses one. */
static void agree_on_keys(void)
{
    uint8_t first = (uint8_t)(1 + below(KEYS)), second = (uint8_t)(1 + first % KEYS);
    bool both = below(2) == 0;
    for (unsigned i = 0; i < MEMBERS; i++)
        if (w.up[i]) {
            give(i, first, 0);
            if (both)
                give(i, second, first);
            use(i, both ? (uint8_t)below(SESSION_KEYS) : w.ring[i].id[1] == first);
        }
}

static bool are_honest(unsigned i, unsigned j)
{
    return i != j && !w.tampered[i] && !w.tampered[j] && !w.lost[i] && !w.lost[j];
}

/* Runs the network without an attacker for `turns` steps of 50 ms. */
static void pass(unsigned turns, bool talking)
{
    for (unsigned turn = 0; turn < turns; turn++) {
        w.now += SECOND / 20;
        for (unsigned i = 0; i < MEMBERS; i++)
            for (unsigned j = 0; j < MEMBERS; j++)
                if (i != j && w.up[i]) {
                    say_hello(i, j);
                    if (talking && are_honest(i, j))
                        say(i, j, false);
                }
        while (w.delivered < w.letters)
            deliver_next();
    }
}

/* Checks what member i knows about member j's keys, and which key it uses. */
static void check_keys(unsigned i, unsigned j, bool one_key)
{
    const struct letter *last = &w.pool[w.letters - 1];
    if (one_key && last->bytes[5] != w.ring[i].id[w.ring[i].use])
        wrong("the key in use is not used");
    for (uint8_t k = 0; k < SESSION_KEYS; k++)
        if (sessions_accepts(&w.node[i], peer_index(i, j), k) != has(j, w.ring[i].id[k]))
            wrong("a member is wrong about the keys of another");
}

/* Checks that honest members reach each other within seconds and accept each other's packets. */
static void calm(void)
{
    bool one_key = true;
    w.delivered = w.letters;
    for (unsigned i = 0; i < MEMBERS; i++)
        if (!w.up[i] && !w.tampered[i])
            start(i);
    bool talking = below(2) == 0;
    pass((unsigned)below(40), talking);
    agree_on_keys();
    for (unsigned i = 1; i < MEMBERS; i++)
        one_key = one_key && w.ring[i].id[w.ring[i].use] == w.ring[0].id[w.ring[0].use];
    pass(60, talking);
    for (unsigned i = 0; i < MEMBERS; i++)
        if (w.lost[i])
            come_back(i);
    pass(120, talking);
    for (unsigned i = 0; i < MEMBERS; i++)
        for (unsigned j = 0; j < MEMBERS; j++)
            if (are_honest(i, j)) {
                uint64_t before = w.got;
                say(i, j, false);
                while (w.delivered < w.letters)
                    deliver_next();
                if (w.got == before)
                    wrong("two honest members cannot communicate");
                check_keys(i, j, one_key);
            }
    pass(20, true);
    w.hellos = 0;
    /* five seconds; each of the six paths may carry a HELLO and its answer twice a second */
    pass(100, true);
    bool all = are_honest(0, 1) && are_honest(1, 2);
    if (all && w.hellos > (one_key ? 0 : 5 * MEMBERS * (MEMBERS - 1) * 2 * 2))
        wrong("more HELLOs than needed");
}

static void history(uint64_t seed)
{
    memset(&w, 0, sizeof w);
    dice_seed(&w.dice, seed, DICE_CRASH);
    w.now = SECOND;
    w.life_count = 1;
    for (unsigned i = 0; i < MEMBERS; i++) {
        w.ring[i] = (struct ring){.id = {1}};
        start(i);
    }
    for (unsigned s = 0; s < STEPS && w.wrong == NULL && w.life_count < LIVES - MEMBERS; s++)
        move();
    if (w.wrong == NULL)
        calm();
}

int main(int argc, char **argv)
{
    uint64_t histories = argc > 1 ? strtoull(argv[1], NULL, 10) : 3000;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, got = 0;
    if (sodium_init() < 0)
        return 1;
    for (uint64_t seed = first; seed < first + histories; seed++) {
        history(seed);
        got += w.got;
        if (w.wrong != NULL) {
            fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, w.wrong);
            return 1;
        }
    }
    printf("%llu histories, %llu words accepted\n", (unsigned long long)histories,
           (unsigned long long)got);
    /* fail if too few words were accepted to test anything */
    return got < histories;
}
