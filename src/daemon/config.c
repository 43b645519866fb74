#include "config.h"

#include "../base/choice.h"
#include "../base/parse.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define MILLISECOND  1000u
#define SECOND       1000000u
#define SHORT        '@'
#define CONFIG_BYTES 65536 /* of a file */

enum section { CLUSTER, MEMBER };
enum role { ROLE_MEMBER, ROLE_WITNESS, ROLE_OBSERVER };

enum key {
#define X(section, name, word, value, text) KEY_##name,
    CONFIG_KEYS(X)
#undef X
        KEY_COUNT
};

static const struct {
    enum section section;
    const char *word;
} keys[] = {
#define X(section, name, word, value, text) {section, word},
    CONFIG_KEYS(X)
#undef X
};

static const char *const roles[] = {"member", "witness", "observer"};
static const char *const no_yes[] = {"no", "yes"};
static const char *const mandates[] = {[ELECT_NO_MANDATE] = "none", [ELECT_MAJORITY] = "majority"};

static const struct {
    const char *name;
    uint32_t lease, renewal, delay;
} profiles[] = {
    {"fast", 60 * MILLISECOND, 12 * MILLISECOND, 2 * MILLISECOND},
    {"lan", SECOND, 200 * MILLISECOND, 20 * MILLISECOND},
    {"wan", 5 * SECOND, SECOND, 250 * MILLISECOND},
};

/* ---- complaints ---- */

/* Only the first one counts. Its line is put before it when it is known. */
static bool complain(struct config *c, const char *what, const char *word, const char *remedy)
{
    if (c->complaint.length == 0) {
        text_add(&c->complaint, what);
        if (word != NULL) {
            text_add(&c->complaint, " ");
            text_add_quoted(&c->complaint, word);
        }
        text_add(&c->complaint, remedy);
    }
    return false;
}

static bool unknown(struct config *c, const char *what, const char *word, const char *const *known,
                    size_t count)
{
    return c->complaint.length == 0 && choice_unknown(&c->complaint, what, word, known, count);
}

/* ---- values ---- */

static bool take_duration(struct config *c, const char *value, uint32_t *to)
{
    uint64_t time = 0;
    bool fine = parse_duration(value, UINT32_MAX, &time);
    *to = (uint32_t)time;
    return fine || complain(c, "no time", value, ": expected such as 200ms, 1s or 2m");
}

/* 1%, 0.05%: in millionths */
static bool take_percent(struct config *c, const char *value, uint32_t *to)
{
    char *end;
    double percent = strtod(value, &end);
    if (end == value || strcmp(end, "%") != 0 || !(percent >= 0 && percent < 50))
        return complain(c, "no percentage", value, ": expected such as 1% or 0.05%, below 50%");
    *to = (uint32_t)(percent * 10000 + 0.5);
    return true;
}

static bool take_number(struct config *c, const char *value, uint64_t limit, uint64_t *to)
{
    char remedy[64];
    snprintf(remedy, sizeof remedy, ": expected 0 to %llu", (unsigned long long)limit);
    return parse_number(value, limit, to) || complain(c, "no number", value, remedy);
}

/* How much of the file's own path is its folder's. */
static int folder_of(const struct config *c)
{
    const char *slash = strrchr(c->path, '/');
    return slash != NULL ? (int)(slash + 1 - c->path) : 0;
}

static bool take_path(struct config *c, const char *value, char to[CONFIG_PATH])
{
    int folder = value[0] == '/' ? 0 : folder_of(c);
    if (value[0] == '\0')
        return complain(c, "no path", value, "");
    return (size_t)snprintf(to, CONFIG_PATH, "%.*s%s", folder, c->path, value) < CONFIG_PATH ||
           complain(c, "too long a path", value, ": at most 255 characters");
}

/* It is walked from /, with a look at whom each folder belongs to, whenever it is run. */
static bool take_hook(struct config *c, const char *value, enum hook hook)
{
    if (value[0] != '/')
        return complain(c, "no path", value, ": expected a program, from / on");
    return take_path(c, value, c->hook[hook]);
}

static bool take_cluster_id(struct config *c, const char *value)
{
    unsigned digit[2];
    c->has_cluster = strlen(value) == 2 * SEAL_CLUSTER &&
                     strspn(value, "0123456789abcdefABCDEF") == 2 * SEAL_CLUSTER;
    for (unsigned i = 0; i < SEAL_CLUSTER && c->has_cluster; i++) {
        sscanf(value + 2 * (size_t)i, "%1x%1x", &digit[0], &digit[1]);
        c->cluster[i] = (uint8_t)(16 * digit[0] + digit[1]);
    }
    return c->has_cluster ||
           complain(c, "no cluster id", value, ": expected 32 hexadecimal digits");
}

static bool take_profile(struct config *c, const char *value)
{
    const char *names[sizeof profiles / sizeof profiles[0]];
    for (unsigned i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        names[i] = profiles[i].name;
        if (strcmp(value, names[i]) == 0) {
            c->lease = profiles[i].lease;
            c->renewal = profiles[i].renewal;
            c->delay = profiles[i].delay;
            return true;
        }
    }
    return unknown(c, "unknown profile ", value, names, sizeof names / sizeof names[0]);
}

static bool take_choice(struct config *c, const char *what, const char *value,
                        const char *const *names, unsigned count, uint8_t *to)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(value, names[i]) == 0) {
            *to = (uint8_t)i;
            return true;
        }
    return unknown(c, what, value, names, count);
}

static bool take_algorithm(struct config *c, const char *value)
{
    const char *names[ELECT_ALGORITHM_COUNT];
    for (unsigned i = 0; i < ELECT_ALGORITHM_COUNT; i++)
        names[i] = elect_algorithm_name((enum elect_algorithm)i);
    return take_choice(c, "unknown algorithm ", value, names, ELECT_ALGORITHM_COUNT, &c->algorithm);
}

static bool take_preempt(struct config *c, const char *value)
{
    uint64_t after = 0;
    bool fine = strcmp(value, "no") == 0 || strcmp(value, "yes") == 0 ||
                (strncmp(value, "after ", 6) == 0 && parse_duration(value + 6, UINT32_MAX, &after));
    c->preempt = strcmp(value, "no") != 0;
    c->preempt_after = (uint32_t)after;
    return fine || complain(c, "unknown", value, ": expected no, yes or after 30s");
}

/* A name of a machine, as it may be looked up: not a number that is wrong. */
static bool is_host(const char *s)
{
    size_t length = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-");
    return length > 0 && s[length] == '\0' && s[0] != '-' && s[0] != '.' &&
           strspn(s, "0123456789.") != length;
}

/* 10.0.0.1:7400, [fd00::1]:7400, or a.example.org:7400 */
bool config_address(const char *text, union elect_address *a, struct config_host *host)
{
    uint64_t port;
    const char *colon = strrchr(text, ':');
    bool six = text[0] == '[';
    memset(a, 0, sizeof *a);
    memset(host, 0, sizeof *host);
    if (colon == NULL || !parse_number(colon + 1, 65535, &port) || port == 0 ||
        (six && (colon < text + 2 || colon[-1] != ']')))
        return false;
    size_t length = (size_t)(colon - text) - (six ? 2 : 0);
    if (length >= sizeof host->name)
        return false;
    memcpy(host->name, text + (six ? 1 : 0), length);
    host->port = (uint16_t)port;
    bool known = inet_pton(six ? AF_INET6 : AF_INET, host->name,
                           six ? (void *)&a->six.sin6_addr : (void *)&a->four.sin_addr) == 1;
    if (!known)
        return !six && is_host(host->name);
    a->any.sa_family = six ? AF_INET6 : AF_INET;
    a->four.sin_port = htons(host->port); /* it is at the same place in both */
    memset(host->name, 0, sizeof host->name);
    return true;
}

static bool take_addresses(struct config *c, const char *value, struct config_member *m)
{
    struct elect_peer *p = &m->peer;
    char copy[512], *next;
    if ((size_t)snprintf(copy, sizeof copy, "%s", value) >= sizeof copy)
        return complain(c, "too long", NULL, ": at most 4 addresses");
    p->links = 0;
    p->dynamic = strcmp(value, "dynamic") == 0;
    if (p->dynamic) {
        p->links = 1;
        memset(&p->link[0], 0, sizeof p->link[0]);
        return true;
    }
    for (char *at = strtok_r(copy, ", ", &next); at != NULL; at = strtok_r(NULL, ", ", &next)) {
        if (p->links == ELECT_UV_LINKS)
            return complain(c, "too many addresses", NULL, ": at most 4");
        if (!config_address(at, &p->link[p->links], &m->host[p->links]))
            return complain(
                c, "no address", at,
                ": expected such as 10.0.0.1:7400, [fd00::1]:7400 or a.example.org:7400");
        p->links++;
    }
    return p->links > 0 || complain(c, "no address", NULL, ": expected such as 10.0.0.1:7400");
}

/* ---- lines ---- */

static bool is_name(const char *s)
{
    size_t length = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
    return length > 0 && length < CONFIG_NAME && s[length] == '\0';
}

static bool bad_name(struct config *c, const char *name)
{
    return complain(c, "no name", name, ": 1 to 63 letters, digits, dots, dashes or underscores");
}

static bool take_name(struct config *c, const char *value, char to[CONFIG_NAME])
{
    if (!is_name(value))
        return bad_name(c, value);
    memcpy(to, value, strlen(value) + 1);
    return true;
}

static bool take_key(struct config *c, struct config_member *m, enum key key, const char *value)
{
    uint64_t number = 0;
    uint8_t choice = 0;
    bool fine;
    switch (key) {
    case KEY_ID: return take_cluster_id(c, value);
    case KEY_KEY_FILE: return take_path(c, value, c->key_file);
    case KEY_STATE_DIR: return take_path(c, value, c->state_dir);
    case KEY_RUN_DIR: return take_path(c, value, c->run_dir);
    case KEY_PROFILE: return take_profile(c, value);
    case KEY_LEASE: return take_duration(c, value, &c->lease);
    case KEY_RENEWAL: return take_duration(c, value, &c->renewal);
    case KEY_MAX_LEASE: return take_duration(c, value, &c->max_lease);
    case KEY_DELAY: return take_duration(c, value, &c->delay);
    case KEY_RHO: return take_percent(c, value, &c->rho);
    case KEY_ALGORITHM: return take_algorithm(c, value);
    case KEY_MANDATE: return take_choice(c, "unknown mandate ", value, mandates, 2, &c->mandate);
    case KEY_PREEMPT: return take_preempt(c, value);
    case KEY_TELL_LOWER:
        fine = take_choice(c, "unknown ", value, no_yes, 2, &choice);
        c->tell_lower = choice == 1;
        return fine;
    case KEY_TESTAMENT:
        fine = take_choice(c, "unknown ", value, no_yes, 2, &choice);
        c->testament = choice == 1;
        return fine;
    case KEY_TESTAMENT_DELAY: return take_duration(c, value, &c->testament_delay);
    case KEY_RUN_GROUP: return take_name(c, value, c->run_group);
    case KEY_PRE_LEADER: return take_hook(c, value, HOOK_PRE_LEADER);
    case KEY_ON_LEADER: return take_hook(c, value, HOOK_ON_LEADER);
    case KEY_ON_FOLLOWER: return take_hook(c, value, HOOK_ON_FOLLOWER);
    case KEY_ON_LEADER_CHANGE: return take_hook(c, value, HOOK_ON_LEADER_CHANGE);
    case KEY_HOOK_TIMEOUT:
        return take_duration(c, value, &c->hook_timeout) &&
               (c->hook_timeout > 0 || complain(c, "no time", value, ": nothing can be that fast"));
    case KEY_MEMBER_ID:
        fine = take_number(c, value, ELECT_MAX_ID, &number);
        if (fine && m->has_id && m->peer.id != number)
            return complain(c, "a second id of member", m->name, ": are two called the same?");
        m->has_id = fine;
        m->peer.id = (uint16_t)number;
        return fine;
    case KEY_ADDRESS: return take_addresses(c, value, m);
    case KEY_ROLE: return take_choice(c, "unknown role ", value, roles, 3, &m->role);
    case KEY_PRIORITY:
        fine = take_number(c, value, UINT8_MAX, &number);
        m->priority = (uint8_t)number;
        return fine;
    case KEY_COUNT: break;
    }
    return false;
}

static struct config_member *member_of(struct config *c, const char *name)
{
    struct config_member *m = (struct config_member *)config_member(c, name);
    if (m != NULL)
        return m;
    if (!is_name(name) || c->members == SESSION_PEERS) {
        if (!is_name(name))
            bad_name(c, name);
        else
            complain(c, "too many members", NULL, ": at most 64");
        return NULL;
    }
    m = &c->member[c->members++];
    memcpy(m->name, name, strlen(name));
    return m;
}

static bool add_group(struct config *c, const char *name)
{
    for (unsigned i = 0; i < c->groups; i++)
        if (strcmp(c->group[i], name) == 0)
            return true;
    if (!is_name(name))
        return bad_name(c, name);
    if (c->groups == STORE_GROUPS)
        return complain(c, "too many groups", NULL, ": at most 64");
    memcpy(c->group[c->groups++], name, strlen(name));
    return true;
}

static bool take_line(struct config *c, enum section section, struct config_member *m,
                      const char *word, const char *value)
{
    const char *known[KEY_COUNT];
    size_t count = 0;
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        if (keys[i].section != section)
            continue;
        if (strcmp(keys[i].word, word) == 0)
            return take_key(c, m, (enum key)i, value);
        known[count++] = keys[i].word;
    }
    return unknown(c, "unknown key ", word, known, count);
}

/* Of every section, with no key, and of every key. */
static int handle(void *user, const char *section, const char *name, const char *value)
{
    static const char *const sections[] = {"cluster", "member NAME", "group NAME"};
    struct config *c = user;
    const char *word = value != NULL ? value : "";
    uint64_t index;
    if (strcmp(section, "cluster") == 0)
        return name == NULL || take_line(c, CLUSTER, NULL, name, word);
    if (strncmp(section, "member ", 7) == 0)
        return name == NULL ? member_of(c, section + 7) != NULL
                            : complain(c, "[member NAME] must be the first on its line", NULL, "");
    if (name != NULL && section[0] == SHORT && c->members > 0 &&
        parse_number(section + 1, c->members - 1, &index))
        return take_line(c, MEMBER, &c->member[index], name, word);
    if (strncmp(section, "group ", 6) == 0)
        return add_group(c, section + 6) &&
               (name == NULL || complain(c, "unknown key", name, ": a group has none yet"));
    return unknown(c, "unknown section ", section, sections, 3);
}

/* ---- the whole ---- */

const struct config_member *config_member(const struct config *c, const char *name)
{
    for (unsigned i = 0; i < c->members; i++)
        if (strcmp(c->member[i].name, name) == 0)
            return &c->member[i];
    return NULL;
}

const struct config_member *config_member_with(const struct config *c, uint16_t id)
{
    for (unsigned i = 0; i < c->members; i++)
        if (c->member[i].peer.id == id)
            return &c->member[i];
    return NULL;
}

void config_state_path(const struct config *c, uint16_t id, char path[CONFIG_FILE])
{
    snprintf(path, CONFIG_FILE, "%s/member-%u.state", c->state_dir, id);
}

void config_socket_path(const struct config *c, uint16_t id, const char *which,
                        char path[CONFIG_FILE])
{
    snprintf(path, CONFIG_FILE, "%s/member-%u.%s", c->run_dir, id, which);
}

const char *config_role(const struct config_member *m) { return roles[m->role]; }

bool config_may_lead(const struct config_member *m) { return m->role == ROLE_MEMBER; }

/* A process takes no longer to answer, with a write, than a message does. */
enum elect_error config_elect(const struct config *c, struct elect_config *e)
{
    uint16_t ids[SESSION_PEERS];
    uint8_t priority[SESSION_PEERS];
    for (unsigned i = 0; i < c->members; i++) {
        ids[i] = c->member[i].peer.id;
        priority[i] = c->member[i].priority;
    }
    enum elect_error error = elect_config_init(e, (enum elect_algorithm)c->algorithm, ids,
                                               c->members, c->delay, c->delay);
    if (error != ELECT_FINE)
        return error;
    e->tell_lower = c->tell_lower;
    elect_config_priorities(e, priority);
    for (unsigned i = 0; i < c->members; i++) {
        elect_set bit = (elect_set)1 << elect_rank(e, ids[i]);
        e->members &= !config_may_lead(&c->member[i]) ? ~bit : ~(elect_set)0;
        e->voters &= c->member[i].role == ROLE_OBSERVER ? ~bit : ~(elect_set)0;
    }
    if (c->mandate == ELECT_NO_MANDATE) {
        if (c->renewal < MILLISECOND || c->renewal > 60 * SECOND)
            return c->renewal < MILLISECOND ? ELECT_RENEWAL_TOO_SHORT : ELECT_TOO_LONG;
        e->detector = true;
        e->digest = c->renewal * 31 + c->delay * 37 + c->tell_lower * 41u + c->algorithm;
        e->duration[ELECT_HEARTBEAT_TIMER - ELECT_FIRST_TIMER] = c->renewal;
        e->duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER] = 3 * c->renewal;
        return ELECT_FINE;
    }
    e->max_lease = c->max_lease;
    e->preempt = c->preempt;
    e->preempt_after = c->preempt_after;
    return elect_config_mandate(e, c->lease, c->renewal, c->rho, 1);
}

/* Two of them, or one on two networks. */
static bool is_elsewhere_too(const struct config_member *m, const struct config_member *other)
{
    for (unsigned i = 0; i < m->peer.links; i++)
        for (unsigned j = 0; j < (m == other ? i : other->peer.links); j++)
            if (memcmp(&m->peer.link[i], &other->peer.link[j], sizeof m->peer.link[i]) == 0 &&
                memcmp(&m->host[i], &other->host[j], sizeof m->host[i]) == 0)
                return true;
    return false;
}

static bool check_members(struct config *c)
{
    unsigned dynamic = 0;
    for (unsigned i = 0; i < c->members; i++) {
        const struct config_member *m = &c->member[i];
        if (!m->has_id || m->peer.links == 0)
            return complain(c, "member", m->name, m->has_id ? " has no address" : " has no id");
        if (m->peer.links != c->member[0].peer.links)
            return complain(c, "member", m->name,
                            " has not as many addresses as the first one: one for each network");
        if (c->mandate == ELECT_NO_MANDATE && !config_may_lead(m))
            return complain(c, "member", m->name,
                            " has a role, but without a mandate nobody votes: leave it out");
        dynamic += m->peer.dynamic;
        if (dynamic > 1)
            return complain(c, "member", m->name,
                            " is dynamic, and another one is: they would not find each other");
        for (unsigned j = 0; j < i; j++)
            if (c->member[j].peer.id == m->peer.id)
                return complain(c, "member", m->name, " has the id of another one");
        for (unsigned j = 0; j <= i; j++)
            if (is_elsewhere_too(m, &c->member[j]))
                return complain(c, "member", m->name,
                                j < i ? " has an address of another one"
                                      : " has an address twice: one for each network");
    }
    return true;
}

static bool check_algorithm(struct config *c)
{
    return !c->tell_lower || c->algorithm == ELECT_BULLY ||
           complain(c, "tell-lower = yes", NULL, " needs algorithm = bully: change one of them");
}

static bool check_times(struct config *c)
{
    struct elect_config unused;
    char text[160];
    switch (config_elect(c, &unused)) {
    case ELECT_FINE:
        return c->testament_delay < c->lease ||
               complain(c, "too long a testament-delay", NULL,
                        ": after a lease nobody waits for a testament; see testament = no");
    case ELECT_NO_SUCH_ROLE:
        return complain(c, "nobody may lead", NULL, ": some role must be member");
    case ELECT_TOO_LONG:
        return complain(
            c, "too long a time", NULL,
            ": lease is at most max-lease (raise that first, everywhere), delay at most 1s");
    case ELECT_LEASE_TOO_SHORT:
        snprintf(text, sizeof text, ": with a delay of %g ms it must be longer than %g ms",
                 c->delay / 1e3, c->delay / 125.0);
        return complain(c, "too short a lease", NULL, text);
    case ELECT_RENEWAL_TOO_LONG:
        return complain(c, "too long a renewal", NULL, ": it must fit three times into the lease");
    case ELECT_RENEWAL_TOO_SHORT:
        return complain(c, "too short a renewal", NULL, ": at least 3/4 of delay");
    case ELECT_EMPTY:
    case ELECT_TOO_MANY:
    case ELECT_TWICE:
    case ELECT_DRIFT_TOO_LARGE:
    case ELECT_UNKNOWN_ALGORITHM: break;
    }
    return complain(c, "the times do not fit together", NULL, "");
}

/* [member NAME] becomes [@N]: inih cuts long ones off. */
static void shorten(const struct config *c, const char *name, char *at, const char *end)
{
    char number[8];
    int length = snprintf(number, sizeof number, "%c%u]", SHORT,
                          (unsigned)(config_member(c, name) - c->member));
    memset(at, ' ', (size_t)(end - at) + 1);
    memcpy(at, number, (size_t)length);
}

/* inih tells only of sections that have keys; a group need not have any. The line of the first that
 * is not known, or 0. */
static int take_sections(struct config *c, char *text)
{
    int line = 1;
    ini_allow_multiline = false;
    ini_stop_on_first_error = true;
    for (; *text != '\0'; text += strcspn(text, "\n"), text += *text == '\n', line++) {
        char *at = text + strspn(text, " \t\v\f\r\xef\xbb\xbf"), *end = at + strcspn(at, "]\n");
        char section[128];
        if (*at != '[' || *end != ']')
            continue;
        size_t length = (size_t)(end - at) - 1;
        length = length < sizeof section ? length : sizeof section - 1;
        memcpy(section, at + 1, length);
        section[length] = '\0';
        if (!handle(c, section, NULL, NULL))
            return line;
        if (strncmp(section, "member ", 7) == 0)
            shorten(c, section + 7, at + 1, end);
    }
    return 0;
}

static void begin(struct config *c, const char *path)
{
    memset(c, 0, sizeof *c);
    c->lease = SECOND;
    c->renewal = 200 * MILLISECOND;
    c->max_lease = 10 * SECOND;
    c->testament = true;
    c->hook_timeout = 10 * SECOND;
    c->delay = 20 * MILLISECOND;
    c->rho = 10000;
    c->mandate = ELECT_MAJORITY;
    snprintf(c->path, sizeof c->path, "%s", path);
    snprintf(c->key_file, sizeof c->key_file, "%.*skey", folder_of(c), c->path);
}

/* In front of what was found: where. */
static bool locate(struct config *c, const char *path, int line)
{
    struct text why = c->complaint;
    text_clear(&c->complaint);
    char clean[CONFIG_PATH + 32];
    snprintf(clean, sizeof clean, "%s", path);
    text_clean(clean); /* no control character reaches a terminal */
    text_add(&c->complaint, clean);
    if (line > 0) {
        text_add(&c->complaint, ":");
        text_add_number(&c->complaint, (uint64_t)line);
    }
    text_add(&c->complaint, ": ");
    text_add(&c->complaint,
             why.length > 0 ? why.bytes : "no key and value: expected such as lease = 1s");
    return false;
}

static bool take_text(struct config *c, const char *path, const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL) {
        complain(c, "no memory", NULL, "");
        return locate(c, path, 0);
    }
    int line = take_sections(c, copy);
    if (line == 0)
        line = ini_parse_string(copy, handle, c);
    free(copy);
    return (line == 0 && c->complaint.length == 0) || locate(c, path, line);
}

static bool finish(struct config *c)
{
    static const char state_dir[] = "/var/lib/elect", run_dir[] = "/run/elect";
    if (c->run_dir[0] == '\0' && c->state_dir[0] != '\0')
        memcpy(c->run_dir, c->state_dir, sizeof c->run_dir);
    else if (c->run_dir[0] == '\0')
        memcpy(c->run_dir, run_dir, sizeof run_dir);
    if (c->state_dir[0] == '\0')
        memcpy(c->state_dir, state_dir, sizeof state_dir);
    return ((c->has_cluster ||
             complain(c, "[cluster] has no id", NULL, ": elect init --new-cluster makes one")) &&
            (c->members > 0 || complain(c, "no [member NAME]", NULL, "")) &&
            (c->groups > 0 || complain(c, "no [group NAME]", NULL, "")) && check_members(c) &&
            check_algorithm(c) && check_times(c)) ||
           locate(c, c->path, 0);
}

bool config_parse(struct config *c, const char *path, const char *text)
{
    begin(c, path);
    return take_text(c, path, text) && finish(c);
}

/* ---- files ---- */

static bool take_file(struct config *c, const char *path)
{
    static char text[CONFIG_BYTES + 1];
    FILE *in = fopen(path, "re");
    size_t length = in != NULL ? fread(text, 1, sizeof text, in) : 0;
    bool fine = in != NULL && ferror(in) == 0;
    int error = errno;
    if (in != NULL)
        fclose(in);
    if (!fine || length > CONFIG_BYTES || memchr(text, '\0', length) != NULL) {
        complain(c,
                 !fine                   ? strerror(error)
                 : length > CONFIG_BYTES ? "too long a file"
                                         : "no text",
                 NULL, "");
        return locate(c, path, 0);
    }
    text[length] = '\0';
    return take_text(c, path, text);
}

static int is_conf(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot != NULL && strcmp(dot, ".conf") == 0;
}

bool config_load(struct config *c, const char *path)
{
    char folder[CONFIG_PATH + 16], file[CONFIG_PATH + 300];
    struct dirent **entries;
    begin(c, path);
    if (strlen(path) >= CONFIG_PATH) {
        complain(c, "too long a path", NULL, ": at most 255 characters");
        return locate(c, path, 0);
    }
    snprintf(folder, sizeof folder, "%.*sconf.d", folder_of(c), path);
    bool fine = take_file(c, path);
    int count = scandir(folder, &entries, is_conf, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, entries[i]->d_name);
        fine = fine && take_file(c, file);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return fine && finish(c);
}

int config_group(const struct config *c, const char *name, struct text *why)
{
    const char *known[STORE_GROUPS];
    text_clear(why);
    if (name == NULL && c->groups == 1)
        return 0;
    if (name == NULL) {
        text_add(why, "there are several groups: say which with -g GROUP");
        return -1;
    }
    for (unsigned i = 0; i < c->groups; i++) {
        known[i] = c->group[i];
        if (strcmp(known[i], name) == 0)
            return (int)i;
    }
    const char *nearest = choice_nearest(name, strlen(name), known, c->groups);
    char text[256];
    snprintf(text, sizeof text, "there is no group %.63s%s%s%s", name,
             nearest != NULL ? ", did you mean " : "", nearest != NULL ? nearest : "",
             nearest != NULL ? "?" : "");
    text_clean(text);
    text_add(why, text);
    return -1;
}

int64_t config_link_silence(const struct elect_config *e)
{
    int64_t suspicion = e->duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
    int64_t least = 3 * (int64_t)SECOND;
    return 2 * suspicion > least ? 2 * suspicion : least;
}

bool config_has_hooks(const struct config *c)
{
    bool has = false;
    for (unsigned i = 0; i < HOOK_COUNT; i++)
        has = has || c->hook[i][0] != '\0';
    return has;
}

/* ---- an example ---- */

void config_example(struct text *t)
{
    static const struct {
        const char *section, *word, *value, *help;
    } all[] = {
#define X(section, name, word, value, text) {#section, word, value, text},
        CONFIG_KEYS(X)
#undef X
    };
    const char *before = "";
    text_add(t, "# The same file on every member, in /etc/elect/elect.conf. Lines that begin with\n"
                "# \"#\" are comments; those that begin with \"#\" and a key are what else there "
                "is.\n");
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        bool needed = i == KEY_ID || i == KEY_MEMBER_ID || i == KEY_ADDRESS;
        if (strcmp(before, all[i].section) != 0)
            text_add(t, keys[i].section == CLUSTER ? "\n[cluster]\n" : "\n[member a]\n");
        before = all[i].section;
        text_add(t, "# ");
        text_add(t, all[i].help);
        text_add(t, needed ? "\n" : "\n#");
        text_add(t, all[i].word);
        text_add(t, " = ");
        text_add(t, i == KEY_ID          ? "00112233445566778899aabbccddeeff"
                    : i == KEY_MEMBER_ID ? "1"
                    : i == KEY_ADDRESS   ? "10.0.0.1:7400"
                                         : all[i].value);
        text_add(t, "\n");
    }
    text_add(t, "\n[member b]\nid = 2\naddress = 10.0.0.2:7400\n"
                "\n[member c]\nid = 3\naddress = 10.0.0.3:7400\n"
                "\n# What is to be led; at most 64.\n[group main]\n");
}

void config_make_absolute(char path[CONFIG_FILE])
{
    char here[CONFIG_FILE], whole[sizeof((struct sockaddr_un){0}.sun_path)];
    if (path[0] == '/' || getcwd(here, sizeof here) == NULL)
        return;
    size_t length = (size_t)snprintf(whole, sizeof whole, "%s/%s", here, path);
    if (length < sizeof whole)
        memcpy(path, whole, length + 1);
}
