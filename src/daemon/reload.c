/* Reads the configuration again and applies what a running member can change: roles, times and
 * addresses. If anything else differs, the reload is refused without any change. */
#include "daemon.h"

#include "hook.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool same_members(const struct config *a, const struct config *b, const char **what)
{
    for (unsigned i = 0; i < a->members; i++) {
        const struct config_member *x = &a->member[i], *y = &b->member[i];
        *what = strcmp(x->name, y->name) != 0        ? "the members, or their order"
                : x->peer.id != y->peer.id           ? "the id of a member"
                : x->priority != y->priority         ? "the priority of a member"
                : x->peer.links != y->peer.links     ? "the number of addresses"
                : x->peer.dynamic != y->peer.dynamic ? "which member is dynamic"
                                                     : NULL;
        if (*what != NULL)
            return false;
    }
    return true;
}

/* Returns a complaint if a value differs that must never change, not even with a restart; otherwise
 * NULL. */
static const char *what_never_changes(const struct config *old, const struct config *new)
{
    if (memcmp(old->cluster, new->cluster, SEAL_CLUSTER) != 0)
        return "the cluster's id never changes: restore it; nothing has changed";
    if (new->max_lease < old->max_lease)
        return "max-lease never becomes smaller: restore it; nothing has changed";
    return NULL;
}

/* Returns the name of the first setting that differs and that a running member cannot change; NULL
 * if there is none. */
static const char *what_cannot_change(const struct daemon *d, const struct config *new)
{
    const struct config *old = &d->config;
    const char *what = NULL;
    const struct config_member *me = &new->member[d->me - old->member];
    if (strcmp(old->key_file, new->key_file) != 0)
        return "key-file";
    if (strcmp(old->state_dir, new->state_dir) != 0)
        return "state-dir";
    if (strcmp(old->run_dir, new->run_dir) != 0)
        return "run-dir";
    if (old->algorithm != new->algorithm || old->mandate != new->mandate)
        return old->mandate != new->mandate ? "mandate" : "algorithm";
    if (strcmp(old->run_group, new->run_group) != 0)
        return "run-group";
    if (memcmp(old->hook, new->hook, sizeof old->hook) != 0 ||
        old->hook_timeout != new->hook_timeout)
        return "a hook or hook-timeout"; /* the guardian still has the old ones */
    if (old->members != new->members)
        return "the members";
    if (!same_members(old, new, &what))
        return what;
    if (memcmp(d->me->peer.link, me->peer.link, sizeof me->peer.link) != 0)
        return "the address of this member";
    if (old->groups != new->groups || memcmp(old->group, new->group, sizeof old->group) != 0)
        return "the groups";
    return NULL;
}

static void move_peers(struct daemon *d, const struct config *new, struct text *done)
{
    for (unsigned i = 0; i < new->members; i++) {
        const struct config_member *x = &d->config.member[i], *y = &new->member[i];
        if (memcmp(x->peer.link, y->peer.link, sizeof x->peer.link) == 0 &&
            memcmp(x->host, y->host, sizeof x->host) == 0)
            continue;
        for (unsigned link = 0; link < y->peer.links; link++)
            if (y->host[link].name[0] == '\0')
                elect_member_move(d->member, y->peer.id, link, &y->peer.link[link]);
        text_add(done, done->length > 0 ? ", " : "");
        text_add(done, "the address of ");
        text_add(done, y->name);
    }
}

static void add_changed(struct text *done, const char *what, bool changed)
{
    if (!changed)
        return;
    text_add(done, done->length > 0 ? ", " : "");
    text_add(done, what);
}

/* Explains why the election refuses to change a group's members, and suggests a remedy. */
static void explain_refusal(const struct daemon *d, unsigned group, const struct elect_rule *rule,
                            const struct elect_input *in, struct text *complaint)
{
    text_add(complaint, d->config.group[group]);
    text_add(complaint, ": ");
    words_rule(&d->words, elect_rank(&d->elect, d->me->peer.id), rule, &in->message, complaint);
    words_cut_effect(complaint);
    if (rule->number == ELECT_RULE_CHANGE_TOO_SOON)
        text_add(complaint, "; retry after one lease");
    if (rule->number == ELECT_RULE_CHANGE_TOO_LARGE)
        text_add(complaint, "; change one voter at a time, or run elect resign first");
}

/* Changes the members of each group that this member leads; only a leader can do so. Without
 * `really`, the change is only tried on copies. The caller does that first, so that all groups
 * change or none. */
static bool change_roles(struct daemon *d, const struct elect_config *to, bool really,
                         struct text *done, struct text *complaint)
{
    bool elsewhere = false;
    for (unsigned i = 0; i < d->config.groups; i++) {
        const struct elect_node *node = elect_member_node(d->member, i);
        const struct elect_membership *is = &node->saved.membership;
        struct elect_input in = elect_changes(to->members, to->voters, elect_uv_now());
        if (is->members == to->members && is->voters == to->voters)
            continue;
        if (!d->group[i].news.leads) {
            elsewhere = true;
            continue;
        }
        struct elect_node copy = *node;
        struct elect_output out;
        elect_step(&d->elect, &copy, &in, &out);
        struct elect_rule rule = really ? elect_member_tell(d->member, i, &in) : out.rule;
        if (rule.number != ELECT_RULE_CHANGES_MEMBERS) {
            explain_refusal(d, i, &rule, &in, complaint);
            return false;
        }
        add_changed(done, "the roles in ", really);
        text_add(done, really ? d->config.group[i] : "");
    }
    add_changed(done, "no roles in groups that another member leads (reload that member, too)",
                elsewhere && really);
    return true;
}

static void name_times(const struct config *a, const struct config *b, struct text *done)
{
    add_changed(done, "lease", a->lease != b->lease);
    add_changed(done, "renewal", a->renewal != b->renewal);
    add_changed(done, "max-lease", a->max_lease != b->max_lease);
    add_changed(done, "delay", a->delay != b->delay);
    add_changed(done, "rho", a->rho != b->rho);
    add_changed(done, "preempt", a->preempt != b->preempt || a->preempt_after != b->preempt_after);
    add_changed(done, "tell-lower", a->tell_lower != b->tell_lower);
    add_changed(done, "testament", a->testament != b->testament);
    add_changed(done, "lead-only-with-runner",
                memcmp(a->lead_only_with_runner, b->lead_only_with_runner,
                       sizeof a->lead_only_with_runner) != 0);
    add_changed(done, "testament-delay", a->testament_delay != b->testament_delay);
}

static void change_log_level(struct daemon *d, const struct config *new, struct text *done)
{
    bool fixed = d->journal.options.fixed;
    add_changed(done,
                fixed ? "log-level (without effect, because --log-level was given)" : "log-level",
                d->config.log_level != new->log_level);
    if (!fixed)
        d->journal.shared->level = new->log_level;
}

static bool reload(struct daemon *d, struct text *done, struct text *complaint)
{
    static struct config new;
    struct elect_config elect;
    text_clear(done);
    text_clear(complaint);
    if (!config_load(&new, d->config.path)) {
        *complaint = new.complaint;
        return false;
    }
    const char *never = what_never_changes(&d->config, &new);
    if (never != NULL)
        return text_refuse(complaint, never);
    const char *what = what_cannot_change(d, &new);
    if (what != NULL) {
        text_add(complaint, what);
        text_add(complaint, " cannot change while a member runs: restart the members one by one, "
                            "the leader last; nothing has changed");
        return false;
    }
    if (!hook_check_all(&new, geteuid(), complaint))
        return false;
    config_elect(&new, &elect);
    if (!change_roles(d, &elect, false, done, complaint) ||
        !change_roles(d, &elect, true, done, complaint))
        return false;
    move_peers(d, &new, done);
    name_times(&d->config, &new, done);
    change_log_level(d, &new, done);
    unsigned me = (unsigned)(d->me - d->config.member);
    d->config = new;
    d->me = &d->config.member[me];
    d->elect = elect;
    elect_member_configure(d->member, &elect);
    work_configure(&d->work);
    if (done->length == 0)
        text_add(done, "nothing");
    return true;
}

bool daemon_reload(struct daemon *d, struct text *done, struct text *complaint)
{
    char text[JOURNAL_TEXT];
    bool fine = reload(d, done, complaint);
    snprintf(text, sizeof text, "reloaded: %.*s", JOURNAL_TEXT - 12, done->bytes);
    daemon_note(d, &(struct journal_note){.event = JOURNAL_ADMIN,
                                          .level = fine ? 0 : LEVEL_ERROR,
                                          .group = -1,
                                          .text = fine ? text : "reload refused",
                                          .cause = fine ? NULL : complaint->bytes});
    if (fine)
        daemon_log_warning(d);
    return fine;
}
