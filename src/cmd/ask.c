/* Parses the common options, finds the member and its socket, and talks to the daemon. */
#include "ask.h"

#include "../base/access.h"
#include "../base/clock.h"
#include "../base/json.h"
#include "../base/parse.h"
#include "../daemon/control.h"
#include "../history/collect.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAX_OPTIONS 32
#define MAX_TIMEOUT 3600 /* seconds */
/* minimum wait in milliseconds before asking a busy daemon again; the maximum is twice that */
#define RETRY 20

/* Shown if the daemon closes the connection without an answer. It either exited or never read
 * the request. */
static const char closed[] = "the daemon closed the connection without an answer, because it ended "
                             "or the request came too late: try again";

int ask_complain(const char *verb, int status, const char *what)
{
    args_complain(verb, "", what);
    return status;
}

/* ---- the command line ---- */

static void print_help(const struct verb_spec *spec, const struct option_spec *all, size_t count)
{
    printf("usage: elect %s\n\n", spec->usage);
    args_help_text(spec->text);
    if ((spec->without >> ASK_TIMEOUT & 1) == 0) /* only these verbs talk to the daemon */
        args_help_text("Exit 75: the daemon has too many clients; try again later.");
    putchar('\n');
    for (size_t i = 0; i < count; i++)
        if ((spec->without >> i & 1) == 0)
            args_help_options(&all[i], 1);
}

static bool take_timeout(struct asked_for *a, const char *from, const char *value)
{
    uint64_t seconds;
    if (!parse_number(value, MAX_TIMEOUT, &seconds) || seconds == 0) {
        args_complain(a->verb, from, "expected a number of seconds, 1 to 3600");
        return false;
    }
    a->timeout = (unsigned)seconds;
    return true;
}

static bool take_common(struct asked_for *a, int option, const char *value)
{
    struct text why;
    text_clear(&why);
    if (value != NULL && value[0] == '\0' && option <= ASK_GROUP) {
        static const char *const names[] = {"config", "id", "group"};
        args_complain_option(a->verb, names[option], "the value is empty");
        return false;
    }
    switch (option) {
    case ASK_CONFIG_FILE: a->config = value; break;
    case ASK_ID: a->id = value; break;
    case ASK_GROUP: a->group = value; break;
    case ASK_SOCKET: a->socket = value; break;
    case ASK_TIMEOUT: return take_timeout(a, "--timeout", value);
    case ASK_OUTPUT:
        if (!args_output(value, &a->json, &why)) {
            args_complain(a->verb, "--output", why.bytes);
            return false;
        }
        break;
    case ASK_QUIET: a->quiet = true; break;
    default: a->help = true;
    }
    return true;
}

int ask_parse(struct asked_for *a, const struct verb_spec *spec, int argc, char **argv)
{
    struct option_spec all[MAX_OPTIONS] = {ASK_OPTIONS};
    struct args args = {.verb = spec->name, .argc = argc, .at = 1, .argv = argv};
    size_t count = ASK_OWN_OPTIONS + spec->owns;
    const char *value;
    char name[32], too_many[64];
    int option;
    snprintf(too_many, sizeof too_many,
             spec->max > 1 ? "unexpected argument: at most %u, see --help"
                           : "unexpected argument, see --help",
             (unsigned)spec->max);
    memset(a, 0, sizeof *a);
    a->verb = spec->name;
    for (size_t i = 0; i < spec->owns; i++)
        all[ASK_OWN_OPTIONS + i] = spec->own[i];
    while ((option = args_next(&args, all, count, &value)) != ARGS_END) {
        if (option == ARGS_BAD)
            return ~EXIT_USAGE;
        if (option == ARGS_WORD) {
            if (a->words == spec->max)
                return ~args_complain(spec->name, value, too_many);
            a->word[a->words++] = value;
        } else if ((spec->without >> option & 1) != 0) {
            snprintf(name, sizeof name, "--%s", all[option].name);
            return ~args_complain(spec->name, name, "this verb does not have this option");
        } else if (option >= ASK_OWN_OPTIONS) {
            spec->take(spec->context, option - ASK_OWN_OPTIONS, value);
        } else if (!take_common(a, option, value)) {
            return ~EXIT_USAGE;
        }
    }
    if (a->help) {
        print_help(spec, all, count);
        return ~EXIT_FINE;
    }
    if (a->words < spec->min)
        return ~args_complain(spec->name, "", spec->missing);
    const char *timeout = getenv("ELECT_TIMEOUT");
    if (a->timeout == 0 && timeout != NULL && timeout[0] != '\0' &&
        (spec->without >> ASK_TIMEOUT & 1) == 0 && !take_timeout(a, "ELECT_TIMEOUT", timeout))
        return ~EXIT_USAGE;
    return 0;
}

/* ---- the member ---- */

bool ask_config(const struct asked_for *a, struct config *c)
{
    const char *path = a->config != NULL ? a->config : ASK_CONFIG;
    if (config_load(c, path))
        return true;
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        text_add(&c->complaint,
                 a->config != NULL ? ": correct the path after -c" : ": name it with -c");
        text_add(&c->complaint,
                 ", copy it from another member, or create a cluster: elect init --new-cluster");
    }
    args_complain(a->verb, "", c->complaint.bytes);
    return false;
}

const struct config_member *ask_member(const struct asked_for *a, const struct config *c)
{
    const char *names[SESSION_PEERS];
    struct text why;
    for (unsigned i = 0; i < c->members; i++) {
        char number[8];
        snprintf(number, sizeof number, "%u", c->member[i].peer.id);
        if (strcmp(c->member[i].name, a->id) == 0 || strcmp(number, a->id) == 0)
            return &c->member[i];
        names[i] = c->member[i].name;
    }
    uint64_t number; /* a number that matches no member has no similar name to suggest */
    const char *nearest = parse_number(a->id, UINT64_MAX, &number)
                              ? NULL
                              : choice_nearest(a->id, strlen(a->id), names, c->members);
    text_clear(&why);
    text_add(&why, "no such member in ");
    text_add(&why, c->path);
    if (nearest != NULL) {
        text_add(&why, ", did you mean ");
        text_add(&why, nearest);
        text_add(&why, "?");
    }
    args_complain(a->verb, a->id, why.bytes);
    return NULL;
}

/* Returns the only member that has its file on this machine. Returns NULL if there is none, if
 * there are several (sets `several`), or if this user may not search the folder (sets `why`). */
static const struct config_member *only_one(const struct config *c,
                                            void (*path_of)(const struct config *, uint16_t,
                                                            const char *, char *),
                                            const char *which, bool *several, struct text *why)
{
    const struct config_member *found = NULL;
    *several = false;
    for (unsigned i = 0; i < c->members; i++) {
        char path[CONFIG_FILE];
        struct stat is;
        path_of(c, c->member[i].peer.id, which, path);
        if (lstat(path, &is) != 0 && errno == EACCES) {
            text_add(why, access_text(EACCES, path, ACCESS_READ));
            return NULL;
        }
        if (lstat(path, &is) != 0)
            continue;
        *several = found != NULL;
        if (*several)
            return NULL;
        found = &c->member[i];
    }
    return found;
}

static void state_path(const struct config *c, uint16_t id, const char *unused, char *path)
{
    (void)unused;
    config_state_path(c, id, path);
}

static void socket_path(const struct config *c, uint16_t id, const char *which, char *path)
{
    config_socket_path(c, id, which, path);
}

const struct config_member *ask_self(const struct asked_for *a, const struct config *c)
{
    bool several;
    struct text why;
    if (a->id != NULL)
        return ask_member(a, c);
    text_clear(&why);
    const struct config_member *me = only_one(c, state_path, "", &several, &why);
    if (me == NULL && why.length == 0)
        text_add(&why,
                 several
                     ? "several members have a state here: name one with --id"
                     : "no member of this cluster has a state here: create one with elect init");
    if (me == NULL)
        args_complain(a->verb, c->state_dir, why.bytes);
    return me;
}

const struct config_member *ask_local(const struct config *c, bool *several, struct text *why)
{
    text_clear(why);
    const struct config_member *runs = only_one(c, socket_path, "status", several, why);
    if (runs != NULL)
        return runs;
    text_clear(why);
    return only_one(c, state_path, "", several, why);
}

/* ---- requests ---- */

/* The name of the member that is asked; empty if only its socket is known. */
static char member_asked[CONFIG_NAME];

int ask_socket(const struct asked_for *a, const char *which, char path[CONFIG_FILE])
{
    static struct config c;
    bool named = a->config != NULL || a->id != NULL; /* ELECT_SOCKET is then ignored */
    const char *given = a->socket != NULL ? a->socket : named ? NULL : getenv("ELECT_SOCKET");
    struct text why;
    bool several = false;
    if (given != NULL) {
        const char *dot = strrchr(given, '.');
        /* A daemon's status, admin and run sockets differ only in the suffix. */
        bool one = dot != NULL && (strcmp(dot, ".status") == 0 || strcmp(dot, ".admin") == 0 ||
                                   strcmp(dot, ".run") == 0);
        int length = snprintf(path, CONFIG_FILE, one ? "%.*s.%s" : "%.*s",
                              one ? (int)(dot - given) : (int)strlen(given), given, which);
        return length > 0 && length < CONFIG_FILE
                   ? 0
                   : args_complain(a->verb, a->socket != NULL ? "--socket" : "ELECT_SOCKET",
                                   length > 0
                                       ? "the path is too long for a socket: use at most 107 bytes"
                                       : "expected the path of a socket");
    }
    if (!ask_config(a, &c))
        return EXIT_CONFIG;
    text_clear(&why);
    const struct config_member *m =
        a->id != NULL ? ask_member(a, &c) : only_one(&c, socket_path, which, &several, &why);
    if (m == NULL && a->id != NULL)
        return EXIT_USAGE;
    if (m == NULL) {
        if (why.length == 0)
            text_add(&why, several ? "several members run here: name one with --id"
                                   : "no daemon runs here: start it with elect daemon");
        args_complain(a->verb, c.run_dir, why.bytes);
        return several ? EXIT_USAGE : EXIT_NO_DAEMON;
    }
    snprintf(member_asked, sizeof member_asked, "%s", m->name);
    config_socket_path(&c, m->peer.id, which, path);
    if (access(path, F_OK) == 0 || errno != ENOENT)
        return 0;
    args_complain(a->verb, path, "no daemon runs here: start it with elect daemon");
    return EXIT_NO_DAEMON;
}

/* connect() that restarts after a signal, and with it the timeout. On a socket with a timeout, even
 * a SIGCONT after ^Z and fg interrupts the call; see signal(7). */
static int connect_patiently(int fd, const struct sockaddr_un *at)
{
    int result;
    do
        result = connect(fd, (const struct sockaddr *)at, sizeof *at);
    while (result != 0 && errno == EINTR);
    return result;
}

/* A connection to the daemon, for reading the answer. */
struct source {
    int fd;
    bool late;
};

static size_t read_patiently(void *buffer, size_t room, void *context)
{
    struct source *s = context;
    ssize_t got;
    do
        got = read(s->fd, buffer, room);
    while (got < 0 && errno == EINTR);
    s->late = got < 0 && errno == EAGAIN;
    return got < 0 ? (size_t)-1 : (size_t)got;
}

static unsigned timeout_of(const struct asked_for *a, unsigned seconds)
{
    return a->timeout != 0 ? a->timeout : seconds;
}

/* Adds to `why` that the daemon did not answer in time. `more` may warn that the daemon may
 * still carry out the request. */
static void add_late(struct text *why, unsigned seconds, const char *more)
{
    text_add(why, "the daemon did not answer within ");
    text_add_number(why, seconds);
    text_add(why, " s");
    text_add(why, more);
    text_add(why, " (--timeout SECONDS waits longer)");
}

static int connect_to(const struct asked_for *a, const char *which, unsigned seconds, int *status)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = seconds};
    char path[CONFIG_FILE], complaint[CONFIG_FILE + 64];
    struct text why;
    *status = ask_socket(a, which, path);
    if (*status != 0)
        return -1;
    if (strlen(path) >= sizeof at.sun_path) {
        snprintf(complaint, sizeof complaint,
                 "%s: the path is too long for a socket: use at most 107 bytes", path);
        *status = ask_complain(a->verb, EXIT_USAGE, complaint);
        return -1;
    }
    memcpy(at.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* This timeout also limits connect, which would otherwise wait forever if the daemon has
     * stalled and its backlog is full. */
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    }
    if (fd >= 0 && connect_patiently(fd, &at) == 0)
        return fd;
    int error = errno;
    text_clear(&why);
    text_add(&why, path);
    text_add(&why, ": ");
    if (error == EAGAIN)
        add_late(&why, seconds,
                 ": its queue of connections is full, because it is stopped or overloaded");
    else
        text_add(&why, access_socket_text(error, path));
    *status = ask_complain(a->verb, EXIT_NO_DAEMON, why.bytes);
    if (fd >= 0)
        close(fd);
    return -1;
}

/* send() that restarts after a signal. See connect_patiently. */
static void send_patiently(int fd, const char *bytes, size_t length)
{
    ssize_t sent;
    do
        sent = send(fd, bytes, length, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
}

/* Sends the whole request in one call, because the daemon reads only complete requests. */
static void send_request(int fd, const json_t *request)
{
    char *text = json_dumps(request, JSON_COMPACT);
    size_t length = text != NULL ? strlen(text) + 1 : 0;
    if (text != NULL) {
        text[length - 1] = '\n';
        send_patiently(fd, text, length);
    }
    free(text);
}

static bool is_too_many(const char *error)
{
    return strncmp(error, CONTROL_TOO_MANY, strlen(CONTROL_TOO_MANY)) == 0;
}

/* Sends a request and returns the answer. If the daemon was reached but did not answer, returns
 * NULL and sets *status to EXIT_FINE. */
static json_t *converse(const struct asked_for *a, const char *socket, const json_t *request,
                        unsigned seconds, int *status, struct source *from)
{
    json_error_t error;
    from->fd = connect_to(a, socket, seconds, status);
    if (from->fd < 0)
        return NULL;
    *status = EXIT_FINE;
    send_request(from->fd, request);
    json_t *answer = json_load_callback(read_patiently, from, JSON_DISABLE_EOF_CHECK, &error);
    close(from->fd);
    return answer;
}

/* Like ask_daemon, but leaves problems with the answer in `why` instead of printing them. If the
 * connection fails, prints an error message and leaves `why` empty. Retries until the timeout
 * while the daemon has too many clients. */
static json_t *try_to_ask(const struct asked_for *a, const char *socket, json_t *request,
                          unsigned seconds, int *status, struct text *why)
{
    struct source from = {0};
    json_t *answer = NULL;
    bool busy = false;
    text_clear(why);
    seconds = timeout_of(a, seconds);
    int64_t end = boottime_now() + (int64_t)seconds * 1000000;
    if (a->group != NULL)
        json_object_set_new(request, "group", json_string(a->group));
    do {
        if (busy)
            /* the process id spreads the retries of different clients */
            poll(NULL, 0, RETRY + (int)getpid() % RETRY);
        json_decref(answer);
        answer = converse(a, socket, request, seconds, status, &from);
        busy = is_too_many(field_text(answer, "error"));
    } while (busy && boottime_now() < end);
    json_decref(request);
    if (*status != EXIT_FINE || json_is_true(json_object_get(answer, "ok")))
        return answer;
    const char *said = json_string_value(json_object_get(answer, "error"));
    *status = answer == NULL ? EXIT_NO_DAEMON : busy ? EXIT_NOT_NOW : EXIT_NO;
    if (answer == NULL && from.late)
        add_late(why, seconds,
                 strcmp(socket, "admin") == 0 ? ", and may still carry out the request" : "");
    else
        text_add(why, answer == NULL ? closed : said != NULL ? said : "refused");
    json_decref(answer);
    return NULL;
}

json_t *ask_daemon(const struct asked_for *a, const char *socket, json_t *request, unsigned seconds,
                   int *status)
{
    struct text why;
    json_t *answer = try_to_ask(a, socket, request, seconds, status, &why);
    if (answer == NULL && why.length > 0)
        ask_complain(a->verb, *status, why.bytes);
    return answer;
}

/* Waits for data or the end of the stream. Returns false after that many milliseconds. */
static bool is_readable_within(int fd, unsigned milliseconds)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    int ready;
    do
        ready = poll(&one, 1, (int)milliseconds);
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* Returns the process id of the listener at the time of the connection, or 0 if unknown. */
static pid_t listener_of(int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 ? who.pid : 0;
}

#define DYING 300 /* milliseconds; a daemon drops clients that are silent for longer */

/* Returns why a running daemon closed the stream; NULL if the daemon has ended. A daemon that exits
 * closes its listening sockets before it disconnects its clients. If the same process still
 * listens, it has therefore disconnected this command, as it does with any client that does not
 * read. The kernel closes the sockets of a killed daemon in any order, but soon closes a new
 * connection, too. */
static const char *why_disconnected(int fd)
{
    struct sockaddr_un at;
    socklen_t size = sizeof at;
    int again = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool same = again >= 0 && getpeername(fd, (struct sockaddr *)&at, &size) == 0 &&
                connect(again, (struct sockaddr *)&at, size) == 0 && listener_of(fd) != 0 &&
                listener_of(again) == listener_of(fd) && !is_readable_within(again, DYING);
    if (again >= 0)
        close(again);
    return same ? "the daemon disconnected this command, which read too slowly: let the program "
                  "that reads its output read faster, or write the output to a file"
                : NULL;
}

/* Adds why the daemon closed the stream, and what to do. Names the member, or its socket if the
 * command line names only the socket. */
static void add_why_ended(struct text *why, int fd)
{
    const char *disconnected = why_disconnected(fd);
    struct sockaddr_un at = {0};
    socklen_t size = sizeof at - 1;
    if (disconnected != NULL) {
        text_add(why, disconnected);
        return;
    }
    if (member_asked[0] == '\0')
        getpeername(fd, (struct sockaddr *)&at, &size);
    char ended[CONFIG_FILE + 96];
    snprintf(ended, sizeof ended,
             "the daemon of %s has ended: its log says why; start it again, then repeat this "
             "command",
             member_asked[0] != '\0' ? member_asked : at.sun_path);
    text_add(why, ended);
}

/* Passes each line to `take` until the stream ends or `take` returns false. Returns an exit
 * status. */
static int take_stream(const struct asked_for *a, FILE *in,
                       bool (*take)(void *context, json_t *line), void *context)
{
    json_error_t error;
    json_t *line;
    bool more = true, first = true;
    struct text why;
    text_clear(&why);
    while (more && (line = json_loadf(in, JSON_DISABLE_EOF_CHECK, &error)) != NULL) {
        first = false;
        text_add(&why, field_text(line, "error"));
        more = why.length == 0 && take(context, line);
        json_decref(line);
    }
    if (why.length > 0)
        return ask_complain(a->verb, is_too_many(why.bytes) ? EXIT_NOT_NOW : EXIT_NO, why.bytes);
    if (!more)
        return EXIT_FINE;
    if (first)
        text_add(&why, closed);
    else
        add_why_ended(&why, fileno(in));
    return ask_complain(a->verb, EXIT_NO_DAEMON, why.bytes);
}

int ask_stream(const struct asked_for *a, json_t *request,
               bool (*take)(void *context, json_t *line), void *context)
{
    unsigned seconds = timeout_of(a, 1);
    int status, fd = connect_to(a, "status", seconds, &status);
    const struct timeval forever = {0};
    struct text why;
    if (fd >= 0)
        send_request(fd, request);
    json_decref(request);
    if (fd < 0)
        return status;
    if (!is_readable_within(fd, seconds * 1000)) {
        close(fd);
        text_clear(&why);
        add_late(&why, seconds, "");
        return ask_complain(a->verb, EXIT_NO_DAEMON, why.bytes);
    }
    /* No timeout from here on: the next change may take long. */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof forever);
    FILE *in = fdopen(fd, "r");
    if (in == NULL) {
        close(fd);
        return ask_complain(a->verb, EXIT_NO_DAEMON, strerror(errno));
    }
    status = take_stream(a, in, take, context);
    fclose(in);
    return status;
}

void ask_print_json(json_t *o)
{
    json_dumpf(o, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
    putchar('\n');
}

/* ---- all members ---- */

#define PATIENCE 1 /* seconds per request */

static json_t *ask_for_history(void *context, json_t *request, int *status, struct text *why)
{
    return try_to_ask(context, "status", request, PATIENCE, status, why);
}

struct history *ask_history(struct asked_for *a, int *status)
{
    const struct history_daemon daemon = {ask_for_history, a};
    struct text why;
    text_clear(&why);
    struct history *h = history_collect(&daemon, status, &why);
    if (h == NULL && why.length > 0)
        ask_complain(a->verb, *status, why.bytes);
    return h;
}
