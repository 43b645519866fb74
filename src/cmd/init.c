/* elect init: creates a cluster, or the state of a member that has never run. elect readmit:
 * creates new state for a member that has lost it. */
#include "../base/access.h"
#include "../daemon/enrolment.h"
#include "member.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Default wait for answers from other members, in milliseconds, and the number of parts it is
 * divided into (see one_more_turn). */
#define PROBE       1000
#define PROBE_TURNS 10

#define DEFAULT_GROUP "main"

/* Gives a file created by root to the daemon's user. */
static void give_away(const char *path)
{
    const struct passwd *user = geteuid() == 0 ? getpwnam("elect") : NULL;
    int fd = user != NULL ? open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
    struct stat is;
    if (fd < 0)
        return;
    /* A file that root has just created has one link. With a second one, another user may be
     * trying to become its owner. */
    if (fstat(fd, &is) == 0 && is.st_uid == 0 && (S_ISDIR(is.st_mode) || is.st_nlink == 1))
        (void)!fchownat(fd, "", user->pw_uid, user->pw_gid, AT_EMPTY_PATH);
    close(fd);
}

/* ---- a new cluster ---- */

struct init_options {
    bool new_cluster;
};

static void take_init(void *context, int option, const char *value)
{
    struct init_options *o = context;
    (void)option;
    (void)value;
    o->new_cluster = true;
}

/* Writes a member's section of the configuration. `word` has the form
 * a=10.0.0.1:7400,10.1.0.1:7400. */
static bool write_member(FILE *out, const struct asked_for *a, const char *word, unsigned id)
{
    const char *equals = strchr(word, '=');
    union elect_address address;
    struct config_host host;
    char first[128];
    size_t length = equals != NULL ? strcspn(equals + 1, ",") : 0;
    bool printable = true;
    for (const char *at = word; *at != '\0'; at++)
        printable = printable && (unsigned char)*at > ' ' && *at != 0x7f;
    /* A "]" in the name would end the section header early. */
    if (equals == NULL || equals == word || memchr(word, ']', (size_t)(equals - word)) != NULL ||
        length >= sizeof first || !printable) {
        args_complain(a->verb, word, "expected NAME=HOST:PORT, such as a=10.0.0.1:7400");
        return false;
    }
    memcpy(first, equals + 1, length);
    first[length] = '\0';
    if (!config_address(first, &address, &host)) {
        args_complain(a->verb, word,
                      "invalid address: expected NAME=HOST:PORT, such as a=10.0.0.1:7400");
        return false;
    }
    fprintf(out, "\n[member %.*s]\nid = %u\naddress = %s\n", (int)(equals - word), word, id,
            equals + 1);
    return true;
}

static char *new_config(const struct asked_for *a, const char *path, unsigned members,
                        const char *group)
{
    uint8_t cluster[SEAL_CLUSTER];
    char hex[2 * SEAL_CLUSTER + 1], *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    bool fine = out != NULL;
    if (!fine)
        return NULL;
    randombytes_buf(cluster, sizeof cluster);
    sodium_bin2hex(hex, sizeof hex, cluster, sizeof cluster);
    fprintf(out,
            "# Use the same file on every member. elect config example prints all other keys.\n"
            "[cluster]\nid = %s\n",
            hex);
    if (strcmp(path, ASK_CONFIG) != 0)
        fputs("state-dir = state\n", out);
    for (unsigned i = 0; i < members && fine; i++)
        fine = write_member(out, a, a->word[i], i + 1);
    fprintf(out, "\n[group %s]\n", group);
    fclose(out);
    if (!fine) {
        free(text);
        text = NULL;
    }
    return text;
}

static bool is_named_before(const struct asked_for *a, unsigned at)
{
    size_t length = strcspn(a->word[at], "=") + 1;
    bool found = false;
    for (unsigned i = 0; i < at; i++)
        found = found || strncmp(a->word[i], a->word[at], length) == 0;
    return found;
}

/* Returns true if --id is missing, or is the name or number of a new member. */
static bool is_id_named(const struct asked_for *a)
{
    char number[8];
    bool found = a->id == NULL;
    for (unsigned i = 0; i < a->words && !found; i++) {
        size_t length = strcspn(a->word[i], "=");
        snprintf(number, sizeof number, "%u", i + 1);
        found = strcmp(a->id, number) == 0 ||
                (strlen(a->id) == length && strncmp(a->id, a->word[i], length) == 0);
    }
    return found;
}

/* Returns the new cluster's configuration. If an argument is wrong, prints the reason and
 * returns NULL. Adds one member at a time to find the wrong argument, because there is no file
 * yet whose line an error message could name. */
static char *checked_config(const struct asked_for *a, const char *path, struct config *c)
{
    const char *group = a->group != NULL ? a->group : DEFAULT_GROUP;
    char *text = NULL;
    for (unsigned members = 1; members <= a->words + 1; members++) {
        bool all = members > a->words;
        free(text);
        text = new_config(a, path, all ? a->words : members, all ? group : DEFAULT_GROUP);
        if (text != NULL && !all && is_named_before(a, members - 1)) {
            args_complain(a->verb, a->word[members - 1], "another member has this name");
            free(text);
            return NULL;
        }
        if (text == NULL)
            return NULL;
        if (!config_parse(c, path, text)) {
            args_complain(a->verb, all ? "--group" : a->word[members - 1],
                          c->complaint.bytes + c->reason);
            free(text);
            return NULL;
        }
    }
    return text;
}

static int write_new(const struct asked_for *a, const char *path, const char *text)
{
    char why[CONFIG_PATH + 128];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    ssize_t put = fd >= 0 ? write(fd, text, strlen(text)) : -1;
    bool fine = put == (ssize_t)strlen(text) && fsync(fd) == 0;
    int error = put >= 0 && put < (ssize_t)strlen(text) ? ENOSPC : errno;
    if (fd >= 0)
        close(fd);
    if (fine)
        return 0;
    if (fd >= 0)
        unlink(path);
    snprintf(why, sizeof why, "%s: %s", path,
             error == EEXIST
                 ? "a configuration exists already: without --new-cluster, elect init creates the "
                   "state of a member"
                 : access_text(error, path, ACCESS_MAKE));
    return ask_complain(a->verb, error == EEXIST ? EXIT_NO : EXIT_IO, why);
}

static int make_folder_of(const struct asked_for *a, const char *path)
{
    char folder[CONFIG_PATH], why[CONFIG_PATH + 128];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path ||
        (size_t)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path) >= sizeof folder)
        return 0;
    if (mkdir(folder, 0755) == 0 || errno == EEXIST)
        return 0;
    int error = errno;
    snprintf(why, sizeof why, "%s: %s%s", folder, access_text(error, folder, ACCESS_MAKE),
             error == ENOENT ? ": create the folder above it first" : "");
    return ask_complain(a->verb, EXIT_IO, why);
}

static int make_cluster(const struct asked_for *a, struct config *c)
{
    const char *path = a->config != NULL ? a->config : ASK_CONFIG;
    struct keys keys = {.count = 1};
    struct text why;
    char *text = checked_config(a, path, c);
    text_clear(&why);
    if (text == NULL)
        return EXIT_USAGE;
    int status = make_folder_of(a, path);
    if (status == 0)
        status = write_new(a, path, text);
    free(text);
    if (status != 0)
        return status;
    keys_draw(&(struct keys){0}, &keys.key[0]);
    bool fine = keys_write(&keys, c->key_file, true, &why);
    keys_wipe(&keys);
    if (!fine) {
        unlink(path);
        return ask_complain(a->verb, EXIT_IO, why.bytes);
    }
    give_away(c->key_file);
    if (!a->quiet)
        printf("%s and %s created: copy both to every member\n", path, c->key_file);
    return 0;
}

/* ---- a member ---- */

static bool is_local(const struct config_member *m)
{
    union elect_address at = m->peer.link[0];
    bool known = m->host[0].name[0] == '\0' || enroll_resolve(&m->host[0], AF_UNSPEC, &at) == NULL;
    return known && enroll_is_local(&at);
}

/* A member without state asks the others whether they remember it (elect init) or what it had
 * promised them (elect readmit). */
struct asking {
    uv_loop_t loop;
    uv_timer_t timer;
    struct elect_member *member;
    const struct config *config;
    bool quiet, readmits, done;
    unsigned turns;
    uint32_t remembered; /* latest incarnation known to another member; 0 if none */
    elect_set answered;
    char why[256];
};

static void announced(void *context, const struct elect_news *news)
{
    (void)context;
    (void)news;
}

static void failed(void *context, bool forbidden, const char *why)
{
    struct asking *q = context;
    (void)forbidden;
    snprintf(q->why, sizeof q->why, "%s", why);
    uv_stop(&q->loop);
}

static void readmitted(void *context)
{
    struct asking *q = context;
    q->done = true;
    uv_stop(&q->loop);
}

static void stepped(void *context, unsigned group, const struct elect_input *in,
                    const struct elect_output *out)
{
    struct asking *q = context;
    if (in->event == ELECT_REMEMBERS && in->message.incarnation > q->remembered)
        q->remembered = in->message.incarnation;
    if (in->event == ELECT_REMEMBERS)
        q->answered |= (elect_set)1 << in->from;
    unsigned others = (unsigned)__builtin_popcountll(q->answered);
    if (!q->readmits && (q->remembered > 0 || others == q->config->members - 1))
        uv_stop(&q->loop);
    if (q->readmits && !q->quiet && out->rule.number == ELECT_RULE_WAITS_IT_OUT)
        printf("group %s: enough members have answered; waiting until all earlier promises have "
               "expired\n",
               q->config->group[group]);
    fflush(stdout);
}

/* Counts one part of the wait, which ends after PROBE_TURNS parts. If this process stalls, the
 * loop still reads the answers that arrived meanwhile; a single timer could expire before that. */
static void one_more_turn(uv_timer_t *timer)
{
    struct asking *q = timer->data;
    if (++q->turns == PROBE_TURNS)
        uv_stop(&q->loop);
}

static bool ask_others(struct asking *q, const struct config *c, const struct config_member *me,
                       const struct keys *keys)
{
    static struct enrolment e;
    struct text complaint;
    bool forbidden;
    text_clear(&complaint);
    q->config = c;
    if (!enroll_member(&e, c, me, &complaint) || !enroll_others(&e, c, &complaint)) {
        snprintf(q->why, sizeof q->why, "%.250s", complaint.bytes);
        return false;
    }
    enroll_keys(&e, keys);
    uv_loop_init(&q->loop);
    uv_timer_init(&q->loop, &q->timer);
    q->timer.data = q;
    e.options.loop = &q->loop;
    e.options.lost = true;
    e.options.announce = announced;
    e.options.fail = failed;
    e.options.step = stepped;
    e.options.readmitted = readmitted;
    e.options.context = q;
    q->member = elect_member_start(&e.options, &forbidden, q->why, sizeof q->why);
    enroll_wipe(&e);
    /* The first message may be lost, because there is no session yet. The second follows within
     * two renewals: wait long enough for both. But wait less than max-lease: after that time,
     * the member would be readmitted, which only elect readmit may do. */
    uint64_t asks = (uint64_t)c->renewal * 5 / 2000, most = (uint64_t)c->max_lease * 3 / 4000;
    uint64_t patience = asks > PROBE ? asks : PROBE;
    patience = patience < most ? patience : most;
    if (q->member != NULL) {
        uint64_t turn = patience / PROBE_TURNS + 1;
        if (!q->readmits)
            uv_timer_start(&q->timer, one_more_turn, turn, turn);
        uv_run(&q->loop, UV_RUN_DEFAULT);
        elect_member_stop(q->member);
    }
    uv_close((uv_handle_t *)&q->timer, NULL);
    uv_run(&q->loop, UV_RUN_DEFAULT);
    uv_loop_close(&q->loop);
    return q->why[0] == '\0';
}

/* Creates a member's state. Refuses if another member remembers this one: then its state was
 * lost, and its old promises may still be in force. */
static int make_member(const struct asked_for *a, const struct config *c,
                       const struct config_member *me, const struct keys *keys)
{
    static struct asking q;
    char path[CONFIG_FILE], why[CONFIG_FILE + 256];
    q = (struct asking){.quiet = a->quiet};
    struct text denied;
    config_state_path(c, me->peer.id, path);
    text_clear(&denied);
    if (!access_check(path, ACCESS_MAKE, &denied))
        return ask_complain(a->verb, EXIT_CONFIG, denied.bytes);
    if (access(path, F_OK) == 0) {
        snprintf(why, sizeof why, "%s: %s has a state already: start it with elect daemon", path,
                 me->name);
        return ask_complain(a->verb, EXIT_NO, why);
    }
    if (keys != NULL && c->mandate != ELECT_NO_MANDATE &&
        (!ask_others(&q, c, me, keys) || q.remembered > 0)) {
        if (q.remembered > 0)
            snprintf(
                why, sizeof why,
                "%s: other members remember it (incarnation %u), so it has lost its state: run "
                "elect readmit",
                me->name, q.remembered);
        else
            snprintf(why, sizeof why, "%s", q.why);
        return ask_complain(a->verb, q.remembered > 0 ? EXIT_NO : EXIT_CONFIG, why);
    }
    if (!elect_member_create(path, c->cluster, me->peer.id, why, sizeof why))
        return ask_complain(a->verb, EXIT_CONFIG, why);
    give_away(path);
    if (!a->quiet)
        printf("member %s (%u) created: %s\n", me->name, me->peer.id, path);
    return EXIT_FINE;
}

static bool make_folder(const struct asked_for *a, const char *path)
{
    bool made = mkdir(path, 0700) == 0;
    if (made)
        give_away(path);
    if (made || errno == EEXIST)
        return true;
    args_complain(a->verb, path, access_text(errno, path, ACCESS_MAKE));
    return false;
}

int cmd_init(int argc, char **argv)
{
    static struct config c;
    static const struct option_spec own[] = {
        {"new-cluster", 0, NULL, "first create a new cluster, with a configuration and a key"}};
    struct init_options options = {0};
    struct verb_spec spec = {
        .name = "init",
        .without = 1 << ASK_SOCKET | 1 << ASK_OUTPUT | 1 << ASK_TIMEOUT,
        .usage = "init [-c FILE] [--id MEMBER]\n"
                 "       elect init --new-cluster NAME=HOST:PORT ... [-c FILE] [-g GROUP]",
        .text =
            "Before a member runs for the first time, create its state. Without --id, do so for "
            "each member that has an address of this machine. The command is refused if another "
            "member remembers this member, which has then lost its state: see elect readmit.\n"
            "Exit: 0 success; 1 refused, with the reason; 64 bad usage; 74 a file cannot be "
            "written; 78 configuration, key or state refused.",
        .max = 64,
        .own = own,
        .owns = 1,
        .take = take_init,
        .context = &options};
    struct asked_for a;
    struct keys keys;
    struct text why;
    unsigned made = 0;
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    text_clear(&why);
    if (options.new_cluster != (a.words > 0))
        return args_complain(a.verb, a.words > 0 ? a.word[0] : "--new-cluster",
                             a.words > 0
                                 ? "unexpected argument: name members only with --new-cluster"
                                 : "expected the members: NAME=HOST:PORT ...");
    if (a.group != NULL && !options.new_cluster)
        return args_complain(a.verb, "--group", "use it only with --new-cluster");
    if (options.new_cluster && !is_id_named(&a))
        return args_complain(a.verb, a.id, "no such member among the arguments of --new-cluster");
    if (sodium_init() < 0)
        return ask_complain(
            a.verb, EXIT_IO,
            "cannot use keys: libsodium finds no random numbers, check /dev/urandom");
    status = options.new_cluster ? make_cluster(&a, &c) : ask_config(&a, &c) ? 0 : EXIT_CONFIG;
    if (status != 0)
        return status;
    const struct config_member *only = a.id != NULL ? ask_member(&a, &c) : NULL;
    if ((a.id != NULL && only == NULL) || !make_folder(&a, c.state_dir))
        return EXIT_CONFIG;
    if (!keys_read(&keys, c.key_file, KEYS_LOOKED_AFTER, &why))
        return ask_complain(a.verb, EXIT_CONFIG, why.bytes);
    for (unsigned i = 0; i < c.members && status == EXIT_FINE; i++)
        if (only != NULL ? only == &c.member[i] : is_local(&c.member[i])) {
            status = make_member(&a, &c, &c.member[i], options.new_cluster ? NULL : &keys);
            made++;
        }
    keys_wipe(&keys);
    if (made == 0 && !options.new_cluster)
        return ask_complain(a.verb, EXIT_NO,
                            "no member has an address of this machine: name one with --id");
    return status;
}

int cmd_readmit(int argc, char **argv)
{
    static struct config c;
    static struct asking q;
    static const struct verb_spec spec = {
        .name = "readmit",
        .without = 1 << ASK_GROUP | 1 << ASK_SOCKET | 1 << ASK_OUTPUT | 1 << ASK_TIMEOUT,
        .usage = "readmit [-c FILE] --id MEMBER",
        .text =
            "Give a new state to a member that lost its state: ask the other members what this "
            "member had promised, wait until all these promises have expired (max-lease), and "
            "create the state. The command waits while too few other members answer. Then start "
            "the member with elect daemon.\nExit: 0 success; 64 bad usage; 78 refused, with the "
            "reason."};
    struct asked_for a;
    struct keys keys;
    struct text why;
    struct stat is;
    char path[CONFIG_FILE];
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    text_clear(&why);
    if (!ask_config(&a, &c))
        return EXIT_CONFIG;
    if (a.id == NULL)
        return args_complain(a.verb, "--id", "expected the member that lost its state");
    const struct config_member *me = ask_member(&a, &c);
    if (me == NULL)
        return EXIT_USAGE;
    if (sodium_init() < 0)
        return ask_complain(
            a.verb, EXIT_IO,
            "cannot use keys: libsodium finds no random numbers, check /dev/urandom");
    if (!keys_read(&keys, c.key_file, KEYS_LOOKED_AFTER, &why))
        return ask_complain(a.verb, EXIT_CONFIG, why.bytes);
    q = (struct asking){.quiet = a.quiet, .readmits = true};
    config_state_path(&c, me->peer.id, path);
    if (lstat(path, &is) == 0)
        text_complain(&why, path, "the state exists already",
                      ": if it is damaged, move it away first; if not, start elect daemon");
    if (why.length > 0 || !make_folder(&a, c.state_dir) || !access_check(path, ACCESS_MAKE, &why)) {
        keys_wipe(&keys);
        return why.length > 0 ? ask_complain(a.verb, EXIT_CONFIG, why.bytes) : EXIT_CONFIG;
    }
    if (!a.quiet)
        printf("asking the other members what %s had promised\n", me->name);
    fflush(stdout);
    bool fine = ask_others(&q, &c, me, &keys);
    keys_wipe(&keys);
    if (!fine || !q.done)
        return ask_complain(a.verb, EXIT_CONFIG, q.why);
    give_away(path);
    if (!a.quiet)
        printf("%s has a new state: start it with elect daemon\n", me->name);
    return EXIT_FINE;
}
