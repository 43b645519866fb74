/* Tests log lines on a stream and in systemd's journal, slow readers, and the output of hooks. */
#include "../support.h"

#include "../../src/daemon/hook_output.h"
#include "../../src/daemon/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ROOM 65536

static struct journal j;
/* original standard error, and the read end of the pipe that replaces it */
static int before, stream = -1;
static char folder[] = "/tmp/elect-log-XXXXXX", place[64], got[ROOM];

/* Redirects standard error to a pipe. If `named`, JOURNAL_STREAM identifies that pipe as the
 * journal. */
static void begin(bool json, bool named, enum level level)
{
    int pair[2];
    char text[64];
    struct stat is;
    assert_int_equal(0, pipe2(pair, O_NONBLOCK));
    before = dup(STDERR_FILENO);
    dup2(pair[1], STDERR_FILENO);
    close(pair[1]);
    stream = pair[0];
    assert_int_equal(0, fstat(STDERR_FILENO, &is));
    snprintf(text, sizeof text, "%llu:%llu", (unsigned long long)is.st_dev,
             (unsigned long long)is.st_ino + !named);
    setenv("JOURNAL_STREAM", text, 1);
    memset(&j, 0, sizeof j);
    journal_begin(&j, &(struct journal_options){.json = json, .level = (uint8_t)level}, "a");
    j.stream.socket = place;
}

static void end(void)
{
    dup2(before, STDERR_FILENO);
    close(before);
    close(stream);
    stream = -1;
    unsetenv("JOURNAL_STREAM");
}

static const char *printed(void)
{
    ssize_t length = read(stream, got, ROOM - 1);
    got[length > 0 ? length : 0] = '\0';
    return got;
}

/* Restores standard error after a failed test, and prints what the test had logged. */
static int restore(void **state)
{
    (void)state;
    if (stream < 0)
        return 0;
    printed();
    end();
    fputs(got, stderr);
    return 0;
}

static int be_journal(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    memcpy(at.sun_path, place, sizeof place);
    unlink(place);
    assert_int_equal(0, bind(fd, (struct sockaddr *)&at, sizeof at));
    return fd;
}

static const char *received(int fd)
{
    ssize_t length = recv(fd, got, ROOM - 1, 0);
    got[length > 0 ? length : 0] = '\0';
    return got;
}

static void follows(void)
{
    journal_write(&j, &(struct journal_entry){.event = JOURNAL_FOLLOWS,
                                              .group = "main",
                                              .leader = "b",
                                              .peer = "b",
                                              .term = 65538,
                                              .text = "follows b in term 1.2",
                                              .cause = "b reports that it leads"});
}

static void holds(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no %s in %s", part, text);
}

static void fields_of_the_journal(void **state)
{
    static const char fields[] = "MESSAGE=main: follows b in term 1.2 (b reports that it leads)\n"
                                 "PRIORITY=5\nSYSLOG_IDENTIFIER=elect\nELECT_GROUP=main\n"
                                 "ELECT_CAUSE=b reports that it leads\nELECT_EVENT=follows\n"
                                 "ELECT_PEER=b\nELECT_LEADER=b\nELECT_TERM=1.2\n"
                                 "ELECT_MEMBER=a\n";
    int fd = be_journal();
    (void)state;
    begin(false, true, LEVEL_INFO);
    follows();
    assert_string_equal("", printed());
    assert_string_equal(fields, received(fd));
    end();
    begin(true, true, LEVEL_INFO);
    follows();
    assert_string_equal("", printed());
    holds(received(fd), "MESSAGE={\"time\":\"");
    holds(got, "\"term\":65538,");
    holds(got, "\nPRIORITY=5\n");
    end();
    close(fd);
}

/* Without the journal's socket, each line starts with its priority. Text lines have no time,
 * because the journal adds it. */
static void no_journal_socket(void **state)
{
    (void)state;
    unlink(place);
    begin(false, true, LEVEL_INFO);
    follows();
    assert_string_equal("<5>level=notice group=main text=\"follows b in term 1.2\" "
                        "cause=\"b reports that it leads\" event=follows peer=b leader=b term=1.2 "
                        "member=a\n",
                        printed());
    end();
    begin(true, true, LEVEL_INFO);
    follows();
    holds(printed(), "<5>{\"time\":");
    end();
}

/* A program may inherit JOURNAL_STREAM although its standard error is not the journal. */
static void another_stream_than_the_journal(void **state)
{
    int fd = be_journal();
    (void)state;
    begin(false, false, LEVEL_INFO);
    follows();
    assert_int_equal(0, strncmp("time=20", printed(), 7));
    assert_string_equal("", received(fd));
    journal_complain(&j.options, "a", "cannot bind");
    assert_string_equal("elect daemon: cannot bind\n", printed());
    end();
    close(fd);
}

/* If the journal does not read, lines are dropped, and their number is logged later. */
static void busy_journal(void **state)
{
    int fd = be_journal();
    char said[64];
    unsigned taken = 0;
    (void)state;
    begin(false, true, LEVEL_INFO);
    for (unsigned i = 0; i < 5000; i++)
        follows();
    assert_true(j.own.lost > 0);
    assert_string_equal("", printed());
    snprintf(said, sizeof said, "MESSAGE=%llu lines of this log were lost\nPRIORITY=4\n",
             (unsigned long long)j.own.lost);
    while (*received(fd) != '\0')
        taken++;
    assert_int_equal(5000, taken + j.own.lost);
    follows();
    holds(received(fd), said);
    holds(got, "ELECT_EVENT=log-lost\n");
    holds(received(fd), "MESSAGE=main: follows b");
    end();
    close(fd);
}

/* With -o json, the line about lost lines is JSON, too. */
static void slow_reader(void **state)
{
    (void)state;
    begin(true, false, LEVEL_INFO);
    for (unsigned i = 0; i < 5000; i++)
        follows();
    uint64_t lost = j.own.lost;
    assert_true(lost > 0);
    while (*printed() != '\0') {
    }
    follows();
    json_error_t error;
    json_t *line = json_loads(printed(), JSON_DISABLE_EOF_CHECK, &error);
    assert_non_null(line);
    assert_string_equal("log-lost", json_string_value(json_object_get(line, "event")));
    assert_int_equal(lost, strtoull(json_string_value(json_object_get(line, "text")), NULL, 10));
    json_decref(line);
    end();
}

/* The level limits what is printed. The history keeps all entries. */
static void levels(void **state)
{
    struct journal_cursor c = {0};
    unsigned kept = 0;
    (void)state;
    begin(false, false, LEVEL_WARNING);
    journal_write(&j, &(struct journal_entry){.event = JOURNAL_ADMIN, .text = "notice"});
    assert_string_equal("", printed());
    journal_write(
        &j, &(struct journal_entry){.event = JOURNAL_ADMIN, .level = LEVEL_ERROR, .text = "worse"});
    holds(printed(), "level=error text=\"worse\" event=admin");
    j.own.level = LEVEL_NOTICE;
    journal_write(&j, &(struct journal_entry){.event = JOURNAL_ADMIN, .text = "notice"});
    holds(printed(), "level=notice text=\"notice\" event=admin");
    while (journal_next(&j, &c) != NULL)
        kept++;
    assert_int_equal(3, kept);
    end();
}

/* ---- the output of hooks ---- */

static void hook_prints(const char *bytes, size_t length, struct hook_output *o)
{
    int pair[2];
    *o = (struct hook_output){.journal = &j, .about = {.group = "main"}, .hook = "on-leader"};
    assert_int_equal(0, pipe2(pair, O_NONBLOCK));
    o->pipe = pair[0];
    assert_int_equal(length, write(pair[1], bytes, length));
    close(pair[1]);
    while (hook_output_take(o)) {
    }
    hook_output_end(o);
}

static void strange_output(void **state)
{
    static const char bytes[] = "gr\xc3\xbc\xc3\x9f \"x\" \\ \t\x1b[1m\x7f\xff\xc2\x9b\n\n\0a\nend";
    struct hook_output o;
    (void)state;
    begin(false, false, LEVEL_INFO);
    hook_prints(bytes, sizeof bytes - 1, &o);
    holds(printed(), "text=\"gr\xc3\xbc\xc3\x9f \\\"x\\\" \\\\ \\t\\u001B[1m????\" ");
    holds(got, "text=\"\" ");
    holds(got, "text=\"?a\" ");
    holds(got, "text=\"end\" event=hook-output member=a hook=on-leader");
    end();
}

static void long_lines(void **state)
{
    char bytes[3 * HOOK_OUTPUT_LINE];
    struct hook_output o;
    (void)state;
    begin(false, false, LEVEL_INFO);
    memset(bytes, 'x', sizeof bytes);
    bytes[HOOK_OUTPUT_LINE] = '\n';
    bytes[sizeof bytes - 2] = '\n';
    hook_prints(bytes, sizeof bytes, &o);
    const char *first = strstr(printed(), "text="), *second = strstr(first + 5, "text=");
    assert_int_equal(HOOK_OUTPUT_LINE, strspn(first + 6, "x"));
    assert_int_equal(HOOK_OUTPUT_LINE, strspn(second + 6, "x"));
    assert_int_equal('"', first[6 + HOOK_OUTPUT_LINE]);
    assert_int_equal(0, strncmp(second + 6 + HOOK_OUTPUT_LINE, "...\" ", 5));
    holds(second, "text=\"x\" ");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(fields_of_the_journal, restore),
        cmocka_unit_test_teardown(no_journal_socket, restore),
        cmocka_unit_test_teardown(another_stream_than_the_journal, restore),
        cmocka_unit_test_teardown(busy_journal, restore),
        cmocka_unit_test_teardown(slow_reader, restore),
        cmocka_unit_test_teardown(levels, restore),
        cmocka_unit_test_teardown(strange_output, restore),
        cmocka_unit_test_teardown(long_lines, restore),
    };
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(place, sizeof place, "%s/socket", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(place);
    rmdir(folder);
    return failed;
}
