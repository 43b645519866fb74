/* Tests the control sockets: each turn of the loop does a limited amount of work, one user cannot
 * take all connections, and every client gets an answer or a refusal. */
#include "../support.h"

#include "../../src/daemon/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define CROWD 20 /* more than CONTROL_FEW and CONTROL_WATCHES */

static const char question[] = "{\"verb\": \"anything\"}\n", fine[] = "{\"ok\":true}\n";

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

/* Runs turns of the loop. The clients have no deadlines, so a slow machine changes nothing. */
static void turn(struct place *p, unsigned times)
{
    for (; times > 0; times--) {
        uv_run(&p->loop, UV_RUN_NOWAIT);
        for (struct control_client *c = p->control.clients; c != NULL; c = c->next)
            c->due = CONTROL_NEVER;
    }
}

static unsigned accepted(const struct place *p)
{
    unsigned count = 0;
    for (const struct control_client *c = p->control.clients; c != NULL; c = c->next)
        count++;
    return count;
}

/* Returns the number of clients that have received a line starting with `line`. */
static unsigned told(const struct place *p, const char *line)
{
    unsigned count = 0;
    char text[256];
    for (unsigned i = 0; i < CROWD; i++) {
        ssize_t got = recv(p->client[i], text, sizeof text, MSG_DONTWAIT | MSG_PEEK);
        count += got >= (ssize_t)strlen(line) && memcmp(text, line, strlen(line)) == 0;
    }
    return count;
}

static void all_connect(struct place *p)
{
    for (unsigned i = 0; i < CROWD; i++)
        p->client[i] = connect_one(p);
}

static void ask(const struct place *p, unsigned i)
{
    assert_int_equal(sizeof question - 1, send(p->client[i], question, sizeof question - 1, 0));
}

static void one_connection_is_accepted_in_a_turn(void **state)
{
    struct place *p = *state;
    all_connect(p);
    for (unsigned turns = 1; turns <= CROWD; turns++) {
        turn(p, 1);
        assert_in_range(accepted(p), 0, turns);
    }
    turn(p, CROWD);
    assert_int_equal(CROWD, accepted(p));
}

static void one_request_is_answered_in_a_turn(void **state)
{
    struct place *p = *state;
    all_connect(p);
    turn(p, 2 * CROWD);
    for (unsigned i = 0; i < CROWD; i++)
        ask(p, i);
    for (unsigned turns = 1; turns <= CROWD; turns++) {
        turn(p, 1);
        assert_in_range(told(p, fine), 0, turns);
    }
    turn(p, CROWD);
    assert_int_equal(CROWD, told(p, fine));
}

/* Some connections are reserved for users with few clients. */
static void a_surplus_client_is_refused(void **state)
{
    struct place *p = *state;
    p->control.most = CONTROL_RESERVED + 4;
    all_connect(p);
    turn(p, 2 * CROWD);
    assert_int_equal(CONTROL_FEW, accepted(p));
    assert_int_equal(CROWD - CONTROL_FEW, told(p, "{\"ok\":false,\"error\":\"too many clients: "));
}

static void a_client_that_leaves_makes_room(void **state)
{
    struct place *p = *state;
    p->control.most = CONTROL_RESERVED;
    for (unsigned i = 0; i < CONTROL_FEW; i++)
        p->client[i] = connect_one(p);
    turn(p, 2 * CROWD);
    close(p->client[0]);
    turn(p, CROWD);
    assert_int_equal(CONTROL_FEW - 1, accepted(p));
    p->client[0] = connect_one(p);
    ask(p, 0);
    turn(p, CROWD);
    assert_int_equal(1, told(p, fine));
}

/* A request is handled once all its parts have arrived, even if the client has shut down its
 * sending side. */
static void a_request_in_pieces_is_answered(void **state)
{
    struct place *p = *state;
    p->client[0] = connect_one(p);
    for (unsigned i = 0; i < sizeof question - 1; i++) {
        assert_int_equal(0, told(p, fine));
        assert_int_equal(1, send(p->client[0], &question[i], 1, 0));
        if (question[i] == '\n')
            shutdown(p->client[0], SHUT_WR);
        turn(p, 3);
    }
    assert_int_equal(1, told(p, fine));
}

/* A client that has asked in time stays connected while others are answered first. */
static void a_client_that_has_asked_waits_for_its_turn(void **state)
{
    struct place *p = *state;
    p->client[0] = connect_one(p);
    uv_run(&p->loop, UV_RUN_NOWAIT);
    assert_int_equal(1, accepted(p));
    ask(p, 0);
    p->control.clients->due = 0;
    uv_timer_start(&p->control.late, p->control.late.timer_cb, 0, 0);
    turn(p, 3);
    assert_int_equal(1, told(p, fine));
}

/* Watchers stay connected, and do not count towards the limit of other clients. */
static void watchers_are_counted_separately(void **state)
{
    struct place *p = *state;
    p->control.most = CONTROL_RESERVED;
    for (unsigned i = 0; i < CONTROL_WATCHES; i++)
        p->client[i] = connect_one(p);
    turn(p, 2 * CROWD);
    for (struct control_client *c = p->control.clients; c != NULL; c = c->next)
        assert_true(control_watch(c));
    p->client[CROWD - 1] = connect_one(p);
    turn(p, CROWD);
    assert_int_equal(CONTROL_WATCHES + 1, accepted(p));
    assert_false(control_watch(p->control.clients));
}

/* The line arrives complete, and a watcher that does not read is disconnected. */
static void a_line_beyond_the_buffer_of_the_kernel_is_kept(void **state)
{
    struct place *p = *state;
    static char text[1 << 20], read[1 << 16];
    ssize_t all = 0, got;
    memset(text, 'x', sizeof text - 1);
    p->client[0] = connect_one(p);
    turn(p, 3);
    control_tell(p->control.clients, json_pack("[s]", text));
    turn(p, 3);
    while ((got = recv(p->client[0], read, sizeof read, MSG_DONTWAIT)) > 0) {
        all += got;
        turn(p, 3);
    }
    /* plus two quotes, two brackets, and a newline instead of the NUL */
    assert_int_equal(sizeof text + 4, all);
    assert_int_equal(1, accepted(p));
    control_tell(p->control.clients, json_pack("[s]", text));
    control_tell(p->control.clients, json_pack("[s]", text));
    assert_int_equal(0, accepted(p));
}

/* A child forked to run a hook, for example, briefly has copies of all clients' descriptors. A
 * client that is disconnected meanwhile is freed, and must not cause another event. */
static void a_disconnected_client_is_forgotten(void **state)
{
    struct place *p = *state;
    struct epoll_event e;
    int end[2];
    p->client[0] = connect_one(p);
    turn(p, 2);
    assert_int_equal(1, accepted(p));
    assert_int_equal(0, pipe(end));
    pid_t child = fork();
    if (child == 0) {
        close(end[1]);
        /* until the parent closes the other end */
        _exit(read(end[0], &e, 1) == 0 ? 0 : 1);
    }
    close(end[0]);
    ask(p, 0);
    turn(p, 2);
    assert_int_equal(1, told(p, fine));
    assert_int_equal(0, accepted(p));
    /* an event on a descriptor that only the child still has open */
    shutdown(p->client[0], SHUT_RDWR);
    assert_int_equal(0, epoll_wait(p->control.ready, &e, 1, 0));
    close(end[1]);
    assert_int_equal(child, waitpid(child, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_connection_is_accepted_in_a_turn, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(one_request_is_answered_in_a_turn, open_place, close_place),
        cmocka_unit_test_setup_teardown(a_surplus_client_is_refused, open_place, close_place),
        cmocka_unit_test_setup_teardown(a_client_that_leaves_makes_room, open_place, close_place),
        cmocka_unit_test_setup_teardown(a_request_in_pieces_is_answered, open_place, close_place),
        cmocka_unit_test_setup_teardown(a_client_that_has_asked_waits_for_its_turn, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(watchers_are_counted_separately, open_place, close_place),
        cmocka_unit_test_setup_teardown(a_disconnected_client_is_forgotten, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(a_line_beyond_the_buffer_of_the_kernel_is_kept, open_place,
                                        close_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
