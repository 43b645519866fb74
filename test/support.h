/* Helpers shared by the tests. */
#ifndef ELECT_TEST_SUPPORT_H
#define ELECT_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../src/sim/experiment.h"
#include "../src/sim/lab_run.h"

#include <sys/socket.h>

/* Sets up an experiment from keys and values, such as "algorithm bully processes 0..7 down 7 begin
 * 4". */
void describe(struct experiment *e, const char *words);

/* Like hold_words(), with a format as in printf(). */
const struct world *hold_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns the numbers in a set as text: "0,3,4,". */
const char *list(uint64_t set);

/* Plays an experiment and returns its world, a static object that the next call overwrites. */
const struct world *hold(const struct experiment *e, uint64_t seed);
const struct world *hold_words(const char *words);
const struct play *last_play(void);

/* A process that a test steps by hand, and the output of its last step. */
struct actor {
    struct elect_config config;
    struct elect_node node;
    struct elect_output out;
};
void actor_init(struct actor *a, enum elect_algorithm algorithm, unsigned n, uint8_t me,
                uint8_t leader);
void actor_happens(struct actor *a, enum elect_event event);
void actor_hears(struct actor *a, uint8_t from, struct elect_message m);
bool actor_sent(const struct actor *a, enum elect_event type, elect_set to);
bool actor_starts(const struct actor *a, enum elect_event timer);
bool actor_stops(const struct actor *a, enum elect_event timer);
/* Returns the first of 15 ports that no other test uses, including the Python suites. */
uint16_t own_ports(void);
/* Stores the first free port from `port` on in the address, and returns the port after it. */
uint16_t choose_port(struct sockaddr *address, uint16_t port);

#define SET(rank) ((elect_set)1 << (rank))

#define assert_rule(actor, name)                                                                   \
    assert_string_equal(elect_rule_name((enum elect_rule_number)(actor)->out.rule.number), #name)

#endif
