/* A daemon that the test controls. It answers between two calls of a client that do not wait.
 * client_answers.c and client_life.c use it. */
#ifndef ELECT_TEST_CLIENT_H
#define ELECT_TEST_CLIENT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/client/talk.h"
#include "elect-client.h"

#include <sys/types.h>

#define PATH       "member-1.run"
#define MS         1000          /* microseconds */
#define LEASE      (600000 * MS) /* of this daemon: no promise ends while a busy machine waits */
#define RENEWAL    (LEASE / 4)
#define SILENCE    (1000 * MS) /* the client repeats a question after this time, and */
#define RETRY      (200 * MS) /* looks for a daemon again after this one: see src/client/client.c */
#define FOREVER    120000     /* milliseconds, for events that take one second at most */
#define OTHER_USER 12345

extern char folder[64]; /* the folder of the test and of the socket */
extern int listener, connection;
extern struct talk heard; /* the latest packet */
extern struct elect_client *client;
extern struct elect_client_answer answer;
extern pid_t helper;

int64_t now(void);

/* The daemon. */
void daemon_starts(int type, int backlog);
void hang_up(void);
void daemon_ends(void);
void accept_client(void);
void daemon_hears(enum talk_word word);
void daemon_hears_nothing(void);
struct talk packet(enum talk_word word, int64_t left);
void send_bytes(const void *bytes, size_t length);
void send_packet(struct talk t);
void daemon_says(enum talk_word word);
void daemon_tells(int64_t left);

/* The client. */
void asks(int64_t patience, enum elect_client_error expected);
bool readable_within(int milliseconds);
void is_quiet(int64_t since, int64_t pause); /* not readable, unless the pause is already over */
void question_is_under_way(void);            /* asked, and not answered yet */
void is_told(int64_t left);                  /* a question that is answered */

int enter(void **state);
int leave(void **state);
bool in_a_child(void); /* returns true in a child, which lives until the test is over */

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

/* Return how many tests have failed. */
int test_answers(void);
int test_life(void);

#endif
