/* Two ends of a session, for the session tests. */
#ifndef ELECT_TEST_SESSION_H
#define ELECT_TEST_SESSION_H

#include "../support.h"

#include "../../src/runtime/session.h"

#include <sodium.h>
#include <string.h>

#define SECOND 1000000u

static const uint8_t key[SEAL_KEY] = {9, 8, 7}, words[] = "words";
static struct dice dice;

static inline void draw(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)dice_throw(&dice);
}

struct pair {
    struct sessions s[2];
    struct session_event e;
    uint64_t now;
    unsigned packets;
};

static inline void begin(struct pair *p, unsigned i, uint32_t incarnation, uint64_t sequence)
{
    struct session_memory known =
        p->s[i].count > 0 ? p->s[i].peer[0].known : (struct session_memory){0};
    memset(&p->s[i], 0, sizeof p->s[i]);
    p->s[i].id = (uint16_t)(10 + i);
    p->s[i].incarnation = incarnation;
    p->s[i].sequence = sequence;
    p->s[i].suspicion = SECOND;
    p->s[i].draw = draw;
    sessions_begin(&p->s[i]);
    sessions_add_key(&p->s[i], 0, 1, key);
    sessions_add_peer(&p->s[i], (uint16_t)(11 - i), &known);
}

static inline void begin_lost(struct pair *p, unsigned i)
{
    begin(p, i, 1, p->now); /* a member without its state uses the time as its sequence number */
    struct sessions *s = &p->s[i];
    s->lost = true;
    s->incarnation = 0;
    sessions_begin(s);
    sessions_add_key(s, 0, 1, key);
    sessions_add_peer(s, (uint16_t)(11 - i), &(struct session_memory){0});
}

/* Delivers a packet to end i, and then all answers. */
static inline void deliver(struct pair *p, unsigned i, const uint8_t *bytes, size_t length)
{
    uint8_t copy[SEAL_MAX_PACKET];
    while (length > 0) {
        memcpy(copy, bytes, length);
        p->packets++;
        sessions_turn(&p->s[i]);
        sessions_take(&p->s[i], p->now, 0, copy, length, &p->e);
        bytes = p->e.answer;
        length = p->e.answer_length;
        i = 1 - i;
    }
}

static inline bool greet(struct pair *p, unsigned i)
{
    uint8_t out[SEAL_MAX_PACKET];
    size_t length = sessions_hello(&p->s[i], 0, p->now, out);
    deliver(p, 1 - i, out, length);
    return length > 0;
}

static inline bool talk(struct pair *p, unsigned i)
{
    uint8_t out[SEAL_MAX_PACKET];
    size_t length = sessions_seal(&p->s[i], 0, words, sizeof words, out);
    deliver(p, 1 - i, out, length);
    return length > 0 && p->e.news == SESSION_DATA && p->e.length == sizeof words &&
           memcmp(p->e.content, words, sizeof words) == 0;
}

static inline struct pair *acquainted(void)
{
    static struct pair p;
    memset(&p, 0, sizeof p);
    dice_seed(&dice, 1, DICE_LOSS);
    p.now = SECOND;
    begin(&p, 0, 1, 1);
    begin(&p, 1, 1, 1);
    assert_false(talk(&p, 0));
    greet(&p, 0);
    assert_true(talk(&p, 0) && talk(&p, 1));
    return &p;
}

#endif
