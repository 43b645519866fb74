/* The control sockets: what a user who connects as fast as possible can cost the member. */
#include "../support.h"

#include "../../src/daemon/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CROWD 12 /* more than a user may have at once, and fewer than may wait to be accepted */

struct place {
    uv_loop_t loop;
    struct control control;
    char folder[32], path[64];
    int client[CROWD];
};

static void answer(void *context, struct control_client *client, json_t *request)
{
    (void)context;
    (void)request;
    control_answer(client, json_pack("{s:b}", "ok", 1));
}

static int open_place(void **state)
{
    static struct place p;
    struct text complaint;
    p = (struct place){.folder = "/tmp/elect-control-XXXXXX"};
    if (mkdtemp(p.folder) == NULL || uv_loop_init(&p.loop) != 0)
        return -1;
    snprintf(p.path, sizeof p.path, "%s/status", p.folder);
    p.control = (struct control){.loop = &p.loop, .ask = answer};
    *state = &p;
    return control_open(&p.control, CONTROL_STATUS, p.path, &complaint) ? 0 : -1;
}

static int close_place(void **state)
{
    struct place *p = *state;
    for (unsigned i = 0; i < CROWD; i++)
        if (p->client[i] > 0)
            close(p->client[i]);
    control_close(&p->control);
    uv_run(&p->loop, UV_RUN_DEFAULT);
    bool gone = access(p->path, F_OK) != 0;
    rmdir(p->folder);
    return uv_loop_close(&p->loop) == 0 && gone ? 0 : -1;
}

static int connect_one(const struct place *p)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(at.sun_path, p->path, sizeof p->path);
    assert_int_equal(0, connect(fd, (struct sockaddr *)&at, sizeof at));
    return fd;
}

/* Turns of the loop. No client is let go for being slow: a busy machine decides nothing. */
static void turn(struct place *p, unsigned times)
{
    for (; times > 0; times--) {
        uv_run(&p->loop, UV_RUN_NOWAIT);
        for (struct control_client *c = p->control.clients; c != NULL; c = c->next)
            uv_timer_stop(&c->patience);
    }
}

static unsigned accepted(const struct place *p)
{
    unsigned count = 0;
    for (const struct control_client *c = p->control.clients; c != NULL; c = c->next)
        count++;
    return count;
}

/* How many of the crowd were closed by the other end. */
static unsigned closed(const struct place *p)
{
    unsigned count = 0;
    char byte;
    for (unsigned i = 0; i < CROWD; i++)
        count += recv(p->client[i], &byte, 1, MSG_DONTWAIT) == 0;
    return count;
}

static void one_connection_is_accepted_in_a_turn(void **state)
{
    struct place *p = *state;
    for (unsigned i = 0; i < CROWD; i++)
        p->client[i] = connect_one(p);
    for (unsigned turns = 1; turns <= CROWD; turns++) {
        turn(p, 1);
        assert_in_range(accepted(p) + closed(p), 0, turns);
    }
    turn(p, CROWD);
    assert_int_equal(CONTROL_OF_USER, accepted(p));
    assert_int_equal(CROWD - CONTROL_OF_USER, closed(p));
}

/* A client that has left makes room for the next one, which is answered. */
static void there_is_room_again(void **state)
{
    static const char request[] = "{\"verb\": \"anything\"}\n";
    struct place *p = *state;
    char answer[64] = "";
    for (unsigned i = 0; i < CONTROL_OF_USER; i++)
        p->client[i] = connect_one(p);
    turn(p, CROWD);
    close(p->client[0]);
    turn(p, CROWD);
    assert_int_equal(CONTROL_OF_USER - 1, accepted(p));
    p->client[0] = connect_one(p);
    assert_int_equal(sizeof request - 1, send(p->client[0], request, sizeof request - 1, 0));
    turn(p, CROWD);
    assert_true(recv(p->client[0], answer, sizeof answer - 1, 0) > 0);
    assert_string_equal("{\"ok\":true}\n", answer);
}

/* Who watches stays, and is counted apart. */
static void watchers_are_counted_apart(void **state)
{
    struct place *p = *state;
    for (unsigned i = 0; i < CONTROL_OF_USER; i++)
        p->client[i] = connect_one(p);
    turn(p, CROWD);
    for (struct control_client *c = p->control.clients; c != NULL; c = c->next)
        assert_true(control_watch(c));
    p->client[CROWD - 1] = connect_one(p);
    turn(p, CROWD);
    assert_int_equal(CONTROL_OF_USER + 1, accepted(p));
    assert_false(control_watch(p->control.clients));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_connection_is_accepted_in_a_turn, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(there_is_room_again, open_place, close_place),
        cmocka_unit_test_setup_teardown(watchers_are_counted_apart, open_place, close_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
