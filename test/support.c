#include "support.h"

#include "../src/base/parse.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void set(struct experiment *e, const char *key, const char *value)
{
    struct text complaint;
    text_clear(&complaint);
    if (strcmp(key, "begin") == 0) {
        e->begin_given = true;
        e->begin_all = strcmp(value, "all") == 0;
        assert_true(e->begin_all || numbers_parse(&e->begin, value, &complaint));
        return;
    }
    if (strcmp(key, "crash-rate") == 0) {
        assert_true(parse_probability(value, &e->crash_rate));
        return;
    }
    for (int i = 0; i < SETTING_COUNT; i++) {
        if (strcmp(setup_key((enum setting)i), key) == 0) {
            if (!setup_set(&e->setup, (enum setting)i, value, &complaint))
                fail_msg("%s %s: %s", key, value, complaint.bytes);
            return;
        }
    }
    fail_msg("unknown key %s", key);
}

void describe(struct experiment *e, const char *words)
{
    static char key[64], value[1024];
    int used;
    experiment_init(e);
    for (; sscanf(words, " %63s %1023s%n", key, value, &used) == 2; words += used)
        set(e, key, value);
    struct text complaint;
    text_clear(&complaint);
    if (!experiment_check(e, &complaint))
        fail_msg("%s", complaint.bytes);
}

static struct play play;

const struct play *last_play(void) { return &play; }

const struct world *hold(const struct experiment *e, uint64_t seed)
{
    experiment_play(e, seed, &play);
    return &play.world;
}

const struct world *hold_words(const char *words)
{
    static struct experiment e;
    describe(&e, words);
    return hold(&e, e.setup.seed);
}

const struct world *hold_format(const char *format, ...)
{
    char words[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    return hold_words(words);
}

const char *list(uint64_t set)
{
    static struct text t;
    text_clear(&t);
    for (; set != 0; set &= set - 1) {
        text_add_number(&t, (uint64_t)__builtin_ctzll(set));
        text_add(&t, ",");
    }
    return t.bytes;
}

void actor_init(struct actor *a, enum elect_algorithm algorithm, unsigned n, uint8_t me,
                uint8_t leader)
{
    uint16_t ids[ELECT_MAX];
    for (unsigned i = 0; i < n; i++)
        ids[i] = (uint16_t)(10 * i);
    assert_int_equal(elect_config_init(&a->config, algorithm, ids, n, 1, 0), ELECT_FINE);
    elect_init(&a->config, &a->node, me, leader, NULL, 0, &a->out);
}

void actor_happens(struct actor *a, enum elect_event event)
{
    struct elect_input in = elect_happens(event, 0);
    elect_step(&a->config, &a->node, &in, &a->out);
}

void actor_hears(struct actor *a, uint8_t from, struct elect_message m)
{
    struct elect_input in = elect_received(from, &m, 0);
    elect_step(&a->config, &a->node, &in, &a->out);
}

bool actor_sent(const struct actor *a, enum elect_event type, elect_set to)
{
    for (unsigned i = 0; i < a->out.sends; i++)
        if (a->out.send[i].message.type == type && a->out.send[i].to == to)
            return true;
    return false;
}

bool actor_starts(const struct actor *a, enum elect_event timer)
{
    return (a->out.start & ELECT_TIMER_BIT(timer)) != 0;
}

bool actor_stops(const struct actor *a, enum elect_event timer)
{
    return (a->out.stop & ELECT_TIMER_BIT(timer)) != 0;
}

/* ---- ports ---- */

static bool binds(const struct sockaddr *address, int *fd)
{
    *fd = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size =
        address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    return bind(*fd, address, size) == 0;
}

/* Reserves a block of sixteen ports below the kernel's ephemeral range. The last port stays bound
 * until this process exits, which keeps other processes and lib/local_cluster.py off the block. */
uint16_t own_ports(void)
{
    static uint16_t first;
    for (unsigned turn = (unsigned)getpid(); first == 0; turn++) {
        unsigned port = 10000 + turn % 1370 * 16;
        struct sockaddr_in last = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)(port + 15)),
                                   .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd;
        if (binds((struct sockaddr *)&last, &fd))
            first = (uint16_t)port;
        else
            close(fd);
    }
    return first;
}

uint16_t choose_port(struct sockaddr *address, uint16_t port)
{
    bool is_free = false;
    for (uint16_t end = (uint16_t)(own_ports() + 15); !is_free; port++) {
        int fd;
        assert_true(port < end);
        if (address->sa_family == AF_INET6)
            ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
        else
            ((struct sockaddr_in *)address)->sin_port = htons(port);
        is_free = binds(address, &fd);
        close(fd);
    }
    return port;
}
