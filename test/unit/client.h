/* A fake daemon for client_answers.c and client_life.c. The client's calls do not block here, so
 * the daemon can answer between two calls. */
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

#define PATH    "member-1.run"
#define MS      1000          /* microseconds */
#define LEASE   (600000 * MS) /* no lease ends while the machine stalls */
#define RENEWAL (LEASE / 4)
#define SILENCE (1000 * MS) /* until the client repeats a question */
/* between two attempts to connect: see src/client/client.c */
#define RETRY      (200 * MS)
#define FOREVER    120000 /* milliseconds, for events that take one second at most */
#define OTHER_USER 12345

extern char folder[64]; /* temporary folder of the test, with the socket */
extern int listener, connection;
extern struct talk heard; /* the client's latest packet */
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
/* checks that the client's descriptor stays unreadable during the pause */
void is_quiet(int64_t since, int64_t pause);
void question_is_under_way(void); /* checks that the client waits for an answer */
void is_told(int64_t left);

int enter(void **state);
int leave(void **state);
bool in_a_child(void); /* true in a child process, which runs until the test ends */

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

/* Each runs the tests in one file and returns the number of failed tests. */
int test_answers(void);
int test_life(void);

#endif
