/* Looks up members, groups and paths in a parsed configuration, derives the election's
 * configuration from it, and reports mistakes for the other config*.c files. */
#include "config_internal.h"

#include "../base/choice.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MILLISECOND 1000u
#define SECOND      1000000u

const char *const config_roles[ROLE_COUNT] = {"member", "witness", "observer"};

/* ---- complaints ---- */

bool config_complain(struct config *c, const char *what, const char *word, const char *remedy)
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

bool config_complain_unknown(struct config *c, const char *what, const char *word,
                             const char *const *known, size_t count)
{
    return c->complaint.length == 0 && choice_unknown(&c->complaint, what, word, known, count);
}

bool config_complain_name(struct config *c, const char *name)
{
    return config_complain(c, "not a name", name,
                           ": expected 1 to 63 letters, digits, dots, dashes or underscores");
}

bool config_is_name(const char *s)
{
    size_t length = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
    return length > 0 && length < CONFIG_NAME && s[length] == '\0';
}

/* ---- members and groups ---- */

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

const char *config_name(const struct config *c, uint16_t id)
{
    const struct config_member *m = config_member_with(c, id);
    return m != NULL ? m->name : "unknown";
}

const char *config_role(const struct config_member *m) { return config_roles[m->role]; }

bool config_may_lead(const struct config_member *m) { return m->role == ROLE_MEMBER; }

int config_group(const struct config *c, const char *name, struct text *why)
{
    const char *known[STORE_GROUPS];
    text_clear(why);
    if (name == NULL && c->groups == 1)
        return 0;
    if (name == NULL) {
        text_add(why, "there are several groups: choose one with -g GROUP");
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

bool config_has_hooks(const struct config *c)
{
    bool has = false;
    for (unsigned i = 0; i < HOOK_COUNT; i++)
        has = has || c->hook[i][0] != '\0';
    return has;
}

/* Warns about an even number of voters: it tolerates no more failures than one voter fewer. */
void config_warning(const struct config *c, char warning[CONFIG_WARNING])
{
    unsigned voters = 0;
    for (unsigned i = 0; i < c->members; i++)
        voters += c->member[i].role != ROLE_OBSERVER;
    warning[0] = '\0';
    if (c->mandate == ELECT_NO_MANDATE)
        return;
    if (voters == 2)
        snprintf(warning, CONFIG_WARNING,
                 "with 2 voters, the failure of either leaves no majority: add a witness");
    else if (voters % 2 == 0)
        snprintf(warning, CONFIG_WARNING,
                 "%u voters tolerate no more failures than %u: add a witness, or make one an "
                 "observer",
                 voters, voters - 1);
}

uid_t config_user(const struct config *c)
{
    struct stat is;
    return stat(c->state_dir, &is) == 0 ? is.st_uid : geteuid();
}

/* ---- paths ---- */

int config_folder(const struct config *c)
{
    const char *slash = strrchr(c->path, '/');
    return slash != NULL ? (int)(slash + 1 - c->path) : 0;
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

void config_make_absolute(char path[CONFIG_FILE])
{
    char here[CONFIG_FILE], whole[sizeof((struct sockaddr_un){0}.sun_path)];
    if (path[0] == '/' || getcwd(here, sizeof here) == NULL)
        return;
    size_t length = (size_t)snprintf(whole, sizeof whole, "%s/%s", here, path);
    if (length < sizeof whole)
        memcpy(path, whole, length + 1);
}

/* ---- the election ---- */

/* The configured delay is used for two limits: how long a message may take to arrive, and how long
 * a process may take to answer it, including a disk write. */
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

int64_t config_link_silence(const struct elect_config *e)
{
    int64_t suspicion = e->duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
    int64_t least = 3 * (int64_t)SECOND;
    return 2 * suspicion > least ? 2 * suspicion : least;
}
