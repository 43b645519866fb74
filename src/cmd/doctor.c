/* elect doctor: asks the daemon for its findings, adds those that need no daemon, and prints
 * them all, worst first. If no daemon runs, checks whether anything would prevent a start. */
#include "../base/access.h"
#include "../base/json.h"
#include "../daemon/doctor.h"
#include "../daemon/enrolment.h"
#include "../daemon/hook.h"
#include "../daemon/keys.h"
#include "../daemon/state_check.h"
#include "../daemon/trusted.h"
#include "member.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE 2      /* seconds */
#define PAUSE    200000 /* microseconds between requests to a starting daemon */
#define STARTING 20     /* maximum number of requests to a starting daemon */

static enum doctor_severity severity_of(const json_t *finding)
{
    int severity = DOCTOR_BROKEN;
    while (severity > DOCTOR_OK &&
           strcmp(field_text(finding, "severity"),
                  doctor_severity_name((enum doctor_severity)severity)) != 0)
        severity--;
    return (enum doctor_severity)severity;
}

static size_t count_of(const json_t *findings, enum doctor_severity severity)
{
    size_t i, count = 0;
    json_t *f;
    json_array_foreach(findings, i, f) count += severity_of(f) == severity;
    return count;
}

/* Paths may contain bytes that are not valid in JSON. */
static json_t *clean_string(const char *s)
{
    struct text t;
    text_clear(&t);
    text_add(&t, s);
    text_clean_utf8(t.bytes);
    return json_string(t.bytes);
}

/* Adds a finding: worst first, equal ones in the order they were found. */
static void add(json_t *all, enum doctor_severity severity, const char *area, const char *object,
                const char *what, const char *remedy)
{
    json_t *f =
        json_pack("{s:s, s:s, s:o, s:n, s:o, s:o}", "severity", doctor_severity_name(severity),
                  "area", area, "object", clean_string(object), "group", "what", clean_string(what),
                  "do", clean_string(remedy));
    size_t at = 0;
    while (at < json_array_size(all) && severity_of(json_array_get(all, at)) >= severity)
        at++;
    json_array_insert_new(all, at, f);
}

/* ---- checks that need no daemon ---- */

/* Adds a finding from an error message of the form "WHAT: REMEDY". `otherwise` is the remedy if
 * the message has none. */
static void add_complaint(json_t *all, const char *area, const char *object, char *complaint,
                          const char *otherwise)
{
    char *remedy = NULL;
    for (char *at = complaint; (at = strstr(at, ": ")) != NULL; at++)
        remedy = at;
    if (remedy != NULL)
        *remedy = '\0';
    add(all, DOCTOR_BROKEN, area, object, complaint, remedy != NULL ? remedy + 2 : otherwise);
}

/* Adds a finding if a file or folder has any mode bit in `wrong`. Skips a file that this user
 * may not stat. */
static void check_mode(json_t *all, const char *path, mode_t wrong, const char *what,
                       const char *remedy)
{
    struct stat is;
    if (stat(path, &is) == 0 && (is.st_mode & wrong) != 0)
        add(all, DOCTOR_WARNING, "permissions", path, what, remedy);
}

static void check_part(void *all, const char *path)
{
    check_mode(all, path, 002, "other users may write to the configuration", "chmod o-w");
}

/* Adds a finding if other users can replace files in the folder. In a sticky folder such as
 * /tmp, they cannot. */
static void check_folder(json_t *all, const char *path, const char *what)
{
    struct stat is;
    if (stat(path, &is) == 0 && (is.st_mode & S_ISVTX) == 0)
        check_mode(all, path, 002, what, "chmod o-w");
}

/* Checks the modes of the sockets and the state file. Any user who can connect to the admin
 * socket controls the member. */
static void check_sockets(json_t *all, const struct config *c, const struct config_member *m)
{
    char path[CONFIG_FILE];
    config_socket_path(c, m->peer.id, "admin", path);
    check_mode(all, path, 077, "other users may control the member", "chmod 600");
    config_socket_path(c, m->peer.id, "run", path);
    check_mode(all, path, 007, "every user may run work under the member", "chmod o=");
    config_state_path(c, m->peer.id, path);
    check_mode(all, path, 022, "other users may write to the state of the member", "chmod 600");
}

/* Checks the modes of the key file and the folders. Never suggests chmod for a file without a
 * key or a sticky folder such as /tmp: other programs may need its mode. */
static void check_files(json_t *all, const struct config *c)
{
    struct stat is;
    char folder[CONFIG_FILE];
    bool sticky = stat(c->state_dir, &is) == 0 && (is.st_mode & S_ISVTX) != 0;
    check_part(all, c->path);
    const char *slash = strrchr(c->path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - c->path) + 1 : 1,
             slash != NULL ? c->path : ".");
    check_folder(all, folder, "other users may replace the configuration");
    config_each_part(c, folder, check_part, all);
    check_folder(all, folder, "other users may add to the configuration");
    if (strcmp(c->run_dir, c->state_dir) != 0)
        check_folder(all, c->run_dir, "other users may replace the sockets of the member");
    if (keys_are_in(c->key_file))
        check_mode(all, c->key_file, 077, "other users may access the key file",
                   "chmod 600, and replace the key with elect key new");
    check_mode(all, c->state_dir, 022, "other users may write to the folder of the state",
               sticky ? "move the state to a folder of its own, see state-dir" : "chmod go-w");
}

static bool may_look(json_t *all, const char *path)
{
    struct text why;
    text_clear(&why);
    bool may = access_check(path, ACCESS_READ, &why);
    if (!may)
        add(all, DOCTOR_WARNING, "permissions", path, "not checked",
            access_text(EACCES, path, ACCESS_READ));
    return may;
}

static void check_key(json_t *all, const struct config *c)
{
    struct keys keys;
    struct text why;
    text_clear(&why);
    if (!may_look(all, c->key_file))
        return;
    if (keys_read(&keys, c->key_file, KEYS_LOOKED_AFTER, &why))
        keys_wipe(&keys);
    else
        add_complaint(all, "keys", c->key_file, why.bytes + strlen(c->key_file) + 2,
                      "copy the key file of another member, as the user that runs the daemon");
}

static bool can_bind(const struct elect_peer *peer, unsigned peers, const struct config_member *m,
                     char *why, size_t room)
{
    int fd[ELECT_UV_LINKS];
    if (!elect_member_bind(peer, peers, m->peer.id, fd, why, room))
        return false;
    for (unsigned i = 0; i < m->peer.links; i++)
        close(fd[i]);
    return true;
}

/* Checks that the member's addresses belong to this machine and are free. A successful bind is
 * not enough: net.ipv4.ip_nonlocal_bind allows addresses of other machines. */
static void check_address(json_t *all, const struct config *c, const struct config_member *m)
{
    struct elect_peer peer[SESSION_PEERS];
    union elect_address *own = peer[m - c->member].link;
    char why[512] = "";
    for (unsigned i = 0; i < c->members; i++)
        peer[i] = c->member[i].peer;
    for (unsigned i = 0; i < m->peer.links && why[0] == '\0'; i++) {
        const char *name = m->host[i].name;
        const char *fault =
            name[0] != '\0' ? enroll_resolve(&m->host[i], AF_UNSPEC, &own[i]) : NULL;
        if (fault != NULL)
            snprintf(why, sizeof why, "%s%s", name, fault);
    }
    if (why[0] == '\0' && can_bind(peer, c->members, m, why, sizeof why))
        for (unsigned i = 0; i < m->peer.links && !m->peer.dynamic; i++)
            if (!enroll_is_local(&own[i]))
                snprintf(why, sizeof why,
                         "its address is not one of this machine: correct the "
                         "address, or give it to this machine");
    if (why[0] != '\0')
        add_complaint(all, "address", m->name, why, "correct the address in elect.conf");
}

static void check_state(json_t *all, const struct config *c, const struct config_member *m)
{
    char path[CONFIG_FILE];
    struct text why;
    config_state_path(c, m->peer.id, path);
    text_clear(&why);
    if (may_look(all, path) && !state_check(c, m, config_user(c), &why))
        add_complaint(all, "state", path, why.bytes, "check the disk");
}

/* Adds a finding if the user that runs the daemon cannot create files in a folder. Looks at the
 * mode of the folder, because another user may run this command. A folder that does not exist is
 * skipped: the daemon or its service manager creates the folder of the sockets. */
static void check_writable(json_t *all, const char *path, uid_t user)
{
    struct stat is;
    struct statvfs system;
    if (stat(path, &is) != 0)
        return;
    if (statvfs(path, &system) == 0 && (system.f_flag & ST_RDONLY) != 0)
        add(all, DOCTOR_BROKEN, "permissions", path, "its file system is read-only",
            "mount it for writing, or correct elect.conf");
    else if (user != 0 && is.st_uid == user && (is.st_mode & 0300) != 0300)
        add(all, DOCTOR_BROKEN, "permissions", path,
            "the user that runs the daemon may not write to this folder", "chmod u+wx");
    else if (user != 0 && is.st_uid != user && (is.st_mode & 022) == 0)
        add(all, DOCTOR_BROKEN, "permissions", path,
            "the user that runs the daemon may not write to this folder",
            "chown it to the owner of state-dir");
}

static void check_hooks(json_t *all, const struct config *c)
{
    struct text why;
    for (unsigned i = 0; i < HOOK_COUNT; i++) {
        text_clear(&why);
        if (c->hook[i][0] != '\0' && !trusted_check(c->hook[i], config_user(c), &why))
            add(all, DOCTOR_BROKEN, "hooks", hook_name((enum hook)i), why.bytes,
                "repair the hook, then run elect config check");
    }
}

static void check_voters(json_t *all, const struct config *c)
{
    char warning[CONFIG_WARNING];
    config_warning(c, warning);
    if (warning[0] != '\0')
        add(all, DOCTOR_WARNING, "voters", "cluster", warning, "see elect.conf(5), role");
}

static void check_without_daemon(const struct asked_for *a, json_t *all, const struct config *c,
                                 const struct config_member *m)
{
    char remedy[CONFIG_FILE + 128];
    check_address(all, c, m);
    check_state(all, c, m);
    check_writable(all, c->state_dir, config_user(c));
    if (strcmp(c->run_dir, c->state_dir) != 0)
        check_writable(all, c->run_dir, config_user(c));
    check_key(all, c);
    check_hooks(all, c);
    check_voters(all, c);
    if (a->config != NULL)
        snprintf(remedy, sizeof remedy, "elect daemon -c %.*s --id %s", CONFIG_FILE, a->config,
                 m->name);
    else
        snprintf(remedy, sizeof remedy, "elect daemon --id %s, or systemctl start elect", m->name);
    add(all, DOCTOR_BROKEN, "daemon", m->name, "no daemon runs here", remedy);
}

/* ---- the member ---- */

static bool is_silent(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof at.sun_path)
        return false;
    memcpy(at.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool silent = fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) != 0 &&
                  (errno == ENOENT || errno == ECONNREFUSED);
    if (fd >= 0)
        close(fd);
    return silent;
}

/* Asks the daemon for its findings. If the member has just started, asks again later, because it
 * may not have heard from its peers yet. */
static json_t *ask(struct asked_for *a, int *status)
{
    json_t *o = NULL;
    for (unsigned i = 0; i < STARTING && (i == 0 || json_is_true(json_object_get(o, "starting")));
         i++) {
        if (i > 0)
            usleep(PAUSE);
        json_decref(o);
        o = ask_daemon(a, "status", json_pack("{s:s}", "verb", "doctor"), PATIENCE, status);
    }
    if (o == NULL)
        *status = *status == EXIT_NO ? EXIT_USAGE : *status; /* EXIT_NO: the group does not exist */
    if (o == NULL || json_is_array(json_object_get(o, "findings")))
        return o;
    json_decref(o);
    *status = ask_complain(a->verb, EXIT_NO_DAEMON,
                           "the daemon answered without findings: check which program, and which "
                           "version of it, listens at the status socket");
    return NULL;
}

/* Returns a report without a daemon. Values that only a daemon knows are null. */
static json_t *report(const char *member, json_t *findings)
{
    return json_pack("{s:s?, s:n, s:n, s:o, s:n, s:n, s:n, s:n}", "member", member, "members",
                     "groups", "findings", findings, "omitted", "disk", "stalls", "clocks");
}

/* Returns the member on this machine. If there is none, adds a finding and returns NULL. On any
 * other problem, prints an error message, sets `status` and returns NULL. */
static const struct config_member *choose_member(const struct asked_for *a, const struct config *c,
                                                 json_t *all, int *status)
{
    bool several;
    struct text why;
    *status = EXIT_USAGE;
    if (a->id != NULL)
        return ask_member(a, c);
    const struct config_member *m = ask_local(c, &several, &why);
    if (m == NULL && several) {
        args_complain(a->verb, c->state_dir, "several members are here: name one with --id");
    } else if (m == NULL && why.length > 0) {
        args_complain(a->verb, c->state_dir, why.bytes);
        *status = EXIT_NO_DAEMON;
    } else if (m == NULL) {
        add(all, DOCTOR_BROKEN, "state", c->state_dir, "no member of this cluster has a state here",
            "run elect init, or correct state-dir");
    }
    return m;
}

static json_t *examine(struct asked_for *a, int *status)
{
    static struct config c;
    char path[CONFIG_FILE];
    bool by_socket =
        a->socket != NULL || (a->config == NULL && a->id == NULL && getenv("ELECT_SOCKET") != NULL);
    if (by_socket)
        return ask(a, status);
    json_t *all = json_array(), *o;
    struct text why;
    text_clear(&why);
    if (!access_check(a->config != NULL ? a->config : ASK_CONFIG, ACCESS_READ, &why)) {
        json_decref(all);
        *status = ask_complain(a->verb, EXIT_NO_DAEMON, why.bytes);
        return NULL;
    }
    if (!config_load(&c, a->config != NULL ? a->config : ASK_CONFIG)) {
        add(all, DOCTOR_BROKEN, "configuration", a->config != NULL ? a->config : ASK_CONFIG,
            c.complaint.bytes,
            "correct it or name another file with -c, then run elect config check");
        return report(NULL, all);
    }
    const struct config_member *m = choose_member(a, &c, all, status);
    if (m == NULL && json_array_size(all) > 0)
        return report(NULL, all);
    if (m == NULL) {
        json_decref(all);
        return NULL;
    }
    config_socket_path(&c, m->peer.id, "status", path);
    if (is_silent(path)) {
        check_without_daemon(a, all, &c, m);
        o = report(m->name, all);
    } else {
        o = ask(a, status);
        json_array_extend(all, json_object_get(o, "findings"));
        json_object_set_new(o, "findings", all);
        if (o == NULL)
            return NULL;
        check_sockets(all, &c, m);
    }
    check_files(all, &c);
    return o;
}

/* ---- printing ---- */

/* Prints a finding. Omits the object if the text already begins with its name. */
static void print_finding(const json_t *f)
{
    char where[CONFIG_FILE];
    const char *object = field_text(f, "object"), *what = field_text(f, "what");
    bool named = strncmp(what, object, strlen(object)) == 0;
    snprintf(where, sizeof where, "%s %s", field_text(f, "area"), named ? "" : object);
    printf("%-8s %-20s %s: %s\n", field_text(f, "severity"), where, what, field_text(f, "do"));
}

static void print_all(const json_t *o, size_t broken, size_t warnings)
{
    const json_t *all = json_object_get(o, "findings");
    size_t i;
    json_t *f;
    json_array_foreach(all, i, f) print_finding(f);
    long long members = field_integer(o, "members"), groups = field_integer(o, "groups");
    long long omitted = field_integer(o, "omitted");
    if (omitted > 0)
        printf("%lld more findings are not shown\n", omitted);
    if (broken + warnings == 0)
        printf("healthy: member %s of %lld, %lld group%s\n", field_text(o, "member"), members,
               groups, groups == 1 ? "" : "s");
    else
        printf("%zu broken, %zu warning%s\n", broken, warnings, warnings == 1 ? "" : "s");
}

int cmd_doctor(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "doctor",
        .usage = "doctor [GROUP] [OPTIONS]",
        .text =
            "Find problems with the local member and its cluster. Print one line for each problem, "
            "the worst first, and say what to do.\nExit: 0 healthy; 1 warnings; 2 broken; 3 the "
            "daemon does not answer, or this user may not query it; 64 bad usage.",
        .max = 1};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    if (a.words == 1 && a.group != NULL)
        return args_complain(a.verb, a.word[0], "the group is given twice: leave one of them out");
    a.group = a.words == 1 ? a.word[0] : a.group;
    json_t *o = examine(&a, &status);
    if (o == NULL)
        return status;
    const json_t *all = json_object_get(o, "findings");
    size_t broken = count_of(all, DOCTOR_BROKEN), warnings = count_of(all, DOCTOR_WARNING);
    json_object_del(o, "ok");
    json_object_del(o, "starting");
    if (a.json && !a.quiet)
        ask_print_json(o);
    else if (!a.quiet)
        print_all(o, broken, warnings);
    json_decref(o);
    return broken > 0 ? 2 : warnings > 0 ? 1 : EXIT_FINE;
}
