/* Builds the socket filter, a classic BPF program. */
#include "filter.h"

#include "session.h"

#include <assert.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>

#define UDP_HEADER  8
#define IPV4_SOURCE 12 /* offset in the IP header */
#define IPV6_SOURCE 8
#define LENGTH_MAX  BPF_MAXINSNS

struct program {
    struct sock_filter code[LENGTH_MAX];
    unsigned length;
};

static void add(struct program *p, struct sock_filter one)
{
    assert(p->length < LENGTH_MAX);
    p->code[p->length++] = one;
}

static void load(struct program *p, uint16_t size, uint32_t at)
{
    add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_ABS | size, at));
}

static void expect(struct program *p, uint32_t value, uint8_t otherwise)
{
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, otherwise));
}

static void finish(struct program *p, bool accepts)
{
    add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, accepts ? UINT32_MAX : 0));
}

static void accept_from(struct program *p, const union elect_address *from)
{
    bool six = from->any.sa_family == AF_INET6;
    unsigned words = six ? 4 : 1;
    uint32_t word[4] = {from->four.sin_addr.s_addr};
    if (six)
        memcpy(word, &from->six.sin6_addr, sizeof word);
    /* If a word differs, skip the rest of the test: two instructions for each remaining word, and
     * the three after the loop. */
    for (unsigned i = 0; i < words; i++) {
        load(p, BPF_W, (uint32_t)SKF_NET_OFF + (six ? IPV6_SOURCE : IPV4_SOURCE) + 4 * i);
        expect(p, __builtin_bswap32(word[i]), (uint8_t)(2 * (words - 1 - i) + 3));
    }
    load(p, BPF_H, 0);
    expect(p, __builtin_bswap16(six ? from->six.sin6_port : from->four.sin_port), 1);
    finish(p, true);
}

/* Drops packets of this protocol except HELLOs. */
static void refuse_others(struct program *p)
{
    load(p, BPF_W, UDP_HEADER);
    expect(p, __builtin_bswap32(SEAL_MAGIC), 3);
    load(p, BPF_B, UDP_HEADER + SEAL_TYPE_OFFSET);
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_HELLO, 1, 0));
    finish(p, false);
}

bool filter_attach(int socket, const uint32_t *tags, unsigned count, enum filter_samples samples,
                   const union elect_address *from, unsigned addresses)
{
    struct program p = {.length = 0};
    assert(count <= FILTER_MAX_TAGS && addresses <= SESSION_PEERS);
    load(&p, BPF_W, UDP_HEADER + SEAL_TAG_OFFSET);
    for (unsigned i = 0; i < count; i++) {
        expect(&p, __builtin_bswap32(tags[i]), 1);
        finish(&p, true);
    }
    if (samples != FILTER_NONE)
        refuse_others(&p);
    for (unsigned i = 0; i < addresses && samples == FILTER_CONFIGURED; i++)
        accept_from(&p, &from[i]);
    finish(&p, samples == FILTER_ANY);
    struct sock_fprog program = {.len = (unsigned short)p.length, .filter = p.code};
    return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

void filter_detach(int socket)
{
    int unused = 0;
    setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
}
