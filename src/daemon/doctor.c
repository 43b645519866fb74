/* Looks for problems (findings), logs them, and answers the verb `doctor`. */
#include "answers.h"

#include "run_queue.h"
#include "trusted.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MILLISECOND  1000
#define SECOND       1000000
#define LASTS        3   /* updates before a new or cleared finding is logged */
#define HOOKS_EVERY  60  /* ticks */
#define ASK_EVERY    10  /* ticks */
#define FEW_SYNCS    10  /* writes needed for a finding about the disk */
#define MANY_SYNCS   100 /* writes needed for the 99th percentile */
#define STALL_COUNTS 600 /* seconds */
#define ELECTION     (2 * SECOND)
#define START        (3 * SECOND) /* by then, all running peers have been heard */
#define CLOCK_LEAST  (10 * SECOND)
#define CLOCK_WINDOW (60 * SECOND)

const char *doctor_severity_name(enum doctor_severity severity)
{
    static const char *const names[] = {"ok", "note", "warning", "broken"};
    return names[severity];
}

/* ---- findings ---- */

/* Returns a free slot. If the list is full, a problem replaces a note. */
static struct finding *place_for(struct doctor *r, enum doctor_severity severity)
{
    if (r->count < DOCTOR_FINDINGS)
        return &r->finding[r->count++];
    r->omitted++;
    for (unsigned i = 0; severity > DOCTOR_NOTE && i < r->count; i++)
        if (r->finding[i].severity == DOCTOR_NOTE)
            return &r->finding[i];
    return &r->surplus;
}

__attribute__((format(printf, 6, 7))) static struct finding *
find(struct doctor *r, enum doctor_severity severity, const char *area, int group,
     const char *object, const char *format, ...)
{
    struct finding *f = place_for(r, severity);
    va_list values;
    *f = (struct finding){.severity = (uint8_t)severity, .area = area, .group = group};
    snprintf(f->object, sizeof f->object, "%s", object);
    va_start(values, format);
    vsnprintf(f->what, sizeof f->what, format, values);
    va_end(values);
    text_clean(f->object);
    text_clean(f->what);
    return f;
}

__attribute__((format(printf, 2, 3))) static void remedy(struct finding *f, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(f->remedy, sizeof f->remedy, format, values);
    va_end(values);
    text_clean(f->remedy);
}

/* Returns true just after a start, when even a healthy cluster would have some findings. */
static bool is_too_early(struct daemon *d)
{
    bool early = elect_uv_now() - d->began < START;
    d->doctor.starting = d->doctor.starting || early;
    return early;
}

static void add_name(char *names, size_t room, const char *name)
{
    size_t used = strlen(names);
    snprintf(names + used, room - used, "%s%s", used > 0 ? ", " : "", name);
}

/* ---- groups ---- */

static bool check_quorum(struct daemon *d, unsigned group)
{
    const struct elect_node *node = elect_member_node(d->member, group);
    elect_set voters = node->saved.membership.voters, lost = voters & ~query_up(d);
    char missing[JOURNAL_TEXT] = "";
    int all = __builtin_popcountll(voters), there = all - __builtin_popcountll(lost);
    if (there > all / 2 || is_too_early(d))
        return there > all / 2;
    for (; lost != 0; lost &= lost - 1)
        add_name(missing, sizeof missing, d->name[__builtin_ctzll(lost)]);
    remedy(find(&d->doctor, DOCTOR_BROKEN, "quorum", (int)group, d->config.group[group],
                "%d of %d voters reachable, %d needed", there, all, all / 2 + 1),
           "start or reconnect %s", missing);
    return false;
}

/* A leader whose last run succeeded keeps leading without a run, but no work is done until another
 * run starts. */
static void check_leaders_run(struct daemon *d, unsigned group)
{
    const struct elect_news *news = &d->group[group].news;
    const char *name = d->config.group[group];
    uint8_t leader = elect_rank(&d->elect, news->leader);
    if (news->known && leader < d->elect.n && d->config.lead_only_with_runner[group] &&
        (query_aside(d, group) >> leader & 1) != 0)
        remedy(find(&d->doctor, DOCTOR_WARNING, "runs", (int)group, name,
                    "the leader %s has no healthy elect run (lead-only-with-runner = yes)",
                    config_name(&d->config, news->leader)),
               "start elect run there, or hand over to a member that has one: elect resign -g %s",
               name);
}

static bool leader_works(const struct daemon *d, unsigned group)
{
    const struct elect_news *news = &d->group[group].news;
    if (!news->known)
        return false;
    if (news->leads || news->leader == d->me->peer.id)
        return d->work.group[group].holder != NULL;
    const struct peer_work *w = &d->doctor.peer[inquiry_peer(d, news->leader)].work;
    return w->date >= d->group[group].since &&
           json_object_get(w->groups, d->config.group[group]) != NULL;
}

/* A member that has not reported yet counts, too. */
static bool may_have_run(const struct daemon *d, unsigned group, uint8_t rank)
{
    size_t i;
    json_t *name;
    uint16_t id = d->elect.id[rank];
    if (id == d->me->peer.id)
        return run_queue_has_healthy(&d->work, group);
    const struct peer_work *w = &d->doctor.peer[inquiry_peer(d, id)].work;
    bool has = !json_is_array(w->ready);
    json_array_foreach(w->ready, i, name) has =
        has ||
        (json_is_string(name) && strcmp(json_string_value(name), d->config.group[group]) == 0);
    return has;
}

/* Returns the members that may have a healthy run. A follower does not know which of the other
 * followers stand aside. */
static elect_set with_runs(const struct daemon *d, unsigned group, elect_set members)
{
    elect_set some = 0;
    for (; members != 0; members &= members - 1)
        if (may_have_run(d, group, (uint8_t)__builtin_ctzll(members)))
            some |= members & -members;
    return some;
}

/* Warns that the work would stop if the leader failed, because no other member has a run. This may
 * be intended. */
static void check_heirs_run(struct daemon *d, unsigned group, elect_set ready)
{
    const struct elect_news *news = &d->group[group].news;
    const char *name = d->config.group[group];
    uint8_t heir = elect_member_node(d->member, group)->mandate.presence.heir;
    uint8_t leader = news->known ? elect_rank(&d->elect, news->leader) : d->elect.n;
    if (leader >= d->elect.n || !leader_works(d, group))
        return;
    const char *leads = d->name[leader];
    if (d->config.lead_only_with_runner[group] &&
        with_runs(d, group, ready & ~((elect_set)1 << leader)) == 0)
        remedy(find(&d->doctor, DOCTOR_NOTE, "runs", (int)group, name,
                    "only the leader %s has a healthy elect run (lead-only-with-runner = yes), so "
                    "no member can replace it",
                    leads),
               "start elect run on another member, too");
    else if (heir < d->elect.n && heir != leader && !may_have_run(d, group, heir))
        remedy(find(&d->doctor, DOCTOR_NOTE, "runs", (int)group, name,
                    "the leader %s has a run, but the heir %s has none: no work would run on it",
                    leads, d->name[heir]),
               "start elect run on %s, or set lead-only-with-runner = yes", d->name[heir]);
}

static void check_readiness(struct daemon *d, unsigned group)
{
    const struct elect_node *node = elect_member_node(d->member, group);
    elect_set ready = node->saved.membership.members & query_up(d) & ~query_aside(d, group);
    bool known = d->group[group].news.known, runner = d->config.lead_only_with_runner[group];
    const char *name = d->config.group[group];
    if (is_too_early(d))
        return;
    if (ready != 0) {
        check_leaders_run(d, group);
        check_heirs_run(d, group, ready);
        return;
    }
    remedy(find(&d->doctor, known ? DOCTOR_WARNING : DOCTOR_BROKEN, "runs", (int)group, name,
                "%s, so none may %s",
                runner ? "no member has a healthy elect run (lead-only-with-runner = yes)"
                       : "the work or the health check of every reachable member fails",
                known ? "replace the leader" : "lead"),
           runner ? "start elect run -g %s on a member, and see its log if it fails"
                  : "read the entries of elect run about group %s in the logs of the members",
           name);
}

/* Reports that there has been no leader for longer than an election should take, including the wait
 * for a lease that may still be valid. */
static void check_leader(struct daemon *d, unsigned group)
{
    elect_time now = elect_uv_now(), *led = &d->doctor.led[group];
    const char *name = d->config.group[group];
    if (d->group[group].news.known)
        *led = now;
    elect_time since = *led != 0 ? *led : d->began;
    if (now - since <= (elect_time)d->config.max_lease + ELECTION)
        return;
    remedy(find(&d->doctor, DOCTOR_BROKEN, "leader", (int)group, name,
                "no leader has been known for %.0f s", (double)(now - since) / SECOND),
           "see elect explain -g %s and the other findings", name);
}

static void check_group(struct daemon *d, unsigned group)
{
    const char *name = d->config.group[group];
    const struct group_hooks *h = &d->work.group[group].hooks;
    if (d->config.mandate != ELECT_NO_MANDATE && check_quorum(d, group))
        check_readiness(d, group);
    check_leader(d, group);
    if (elect_paused(elect_member_node(d->member, group)))
        remedy(find(&d->doctor, DOCTOR_WARNING, "elections", (int)group, name,
                    "elections are paused: a leader that fails is not replaced"),
               "elect resume -g %s", name);
    if (h->failures > 0)
        remedy(find(&d->doctor, DOCTOR_WARNING, "hooks", (int)group, name,
                    "pre-leader or on-leader failed in the last %u office%s of this member",
                    h->failures, h->failures == 1 ? "" : "s"),
               "read what the hook printed in the log, and run it by hand");
}

/* ---- peers ---- */

static void check_packets(struct daemon *d, const struct elect_peer_info *p)
{
    static const char *const remedies[] = {
        [ELECT_REJECTED_NONE] = "",
        [ELECT_REJECTED_KEY] =
            "compare the fingerprints in elect key list, and the cluster id, on both members",
        [ELECT_REJECTED_ADDRESS] = "correct the address of the member in elect.conf on all members",
        [ELECT_REJECTED_OTHER] = "correct the addresses in elect.conf on that member",
        [ELECT_REJECTED_PROTOCOL] = "check which program sends from there, and its version",
    };
    char address[DAEMON_ADDRESS];
    daemon_address(&p->rejected.from, address);
    remedy(find(&d->doctor, DOCTOR_WARNING, "packets", -1, config_name(&d->config, p->id),
                "packets from %s are rejected: %s", address,
                elect_uv_rejection(p->rejected.reason)),
           "%s", remedies[p->rejected.reason]);
}

/* Reports a sender with the cluster's key that is missing from the configuration. */
static void check_stranger(struct daemon *d)
{
    uint16_t id;
    char address[DAEMON_ADDRESS];
    struct elect_rejected r = elect_member_stranger(d->member, &id);
    if (r.reason == ELECT_REJECTED_NONE)
        return;
    daemon_address(&r.from, address);
    remedy(find(&d->doctor, DOCTOR_WARNING, "packets", -1, address,
                "packets from %s are rejected: %s; the sender has the key, and its id is %u",
                address, elect_uv_rejection(r.reason), id),
           "add member %u to elect.conf on all members and restart them one by one, or stop it",
           id);
}

static void check_silence(struct daemon *d, const struct elect_peer_info *p)
{
    elect_time now = elect_uv_now();
    const char *name = config_name(&d->config, p->id);
    char address[DAEMON_ADDRESS];
    if (is_too_early(d))
        return;
    daemon_address(&p->link[0].address, address);
    struct finding *f = p->session ? find(&d->doctor, DOCTOR_WARNING, "peers", -1, name,
                                          "not heard for %.0f s", (double)(now - p->heard) / SECOND)
                                   : find(&d->doctor, DOCTOR_WARNING, "peers", -1, name,
                                          "never heard since this member started %.0f s ago",
                                          (double)(now - d->began) / SECOND);
    remedy(f, "run elect doctor there, and check that UDP packets pass to and from %s", address);
}

static void check_links(struct daemon *d, const struct elect_peer_info *p)
{
    elect_time since = elect_uv_now() - config_link_silence(&d->elect);
    char address[DAEMON_ADDRESS];
    for (unsigned link = 0; link < p->links && p->links > 1; link++) {
        if ((p->link[link].heard != ELECT_UNSET && p->link[link].heard > since) || is_too_early(d))
            continue;
        daemon_address(&p->link[link].address, address);
        remedy(find(&d->doctor, DOCTOR_WARNING, "links", -1, config_name(&d->config, p->id),
                    "link %u is down", link + 1),
               "check the network between this member and %s", address);
    }
}

static void check_settings(struct daemon *d, unsigned i, const struct elect_peer_info *p)
{
    const char *differs = d->doctor.peer[i].differs;
    if (p->same) {
        d->doctor.peer[i].differs[0] = '\0';
        return;
    }
    remedy(find(&d->doctor, DOCTOR_WARNING, "configuration", -1, config_name(&d->config, p->id),
                "its configuration differs%s%s", differs[0] != '\0' ? ": " : "", differs),
           "use the same elect.conf on all members, then run elect reload");
}

/* The peer read its clock between this member's question and the arrival of the answer. Those two
 * times bound the difference between the clocks. Delay widens the bounds, but never makes a correct
 * clock look wrong. */
void doctor_hear_clock(struct daemon *d, unsigned i, elect_time asked, elect_time reading)
{
    struct clock_rate *c = &d->doctor.peer[i].clock;
    elect_time now = elect_uv_now(), length = now - c->first.at;
    if (c->asked == 0 || c->asked != asked || now - asked > SECOND || reading < 0 ||
        reading > INT64_MAX / 2)
        return;
    struct clock_reading last = {.at = now, .least = reading - now, .most = reading - asked};
    c->asked = 0;
    if (c->first.at != 0 && length >= CLOCK_LEAST) {
        c->least = (double)(last.least - c->first.most) / (double)length;
        c->most = (double)(last.most - c->first.least) / (double)length;
        c->known = true;
    }
    if (c->first.at == 0 || length >= CLOCK_WINDOW)
        c->first = last;
}

/* Reports a peer whose clock runs too fast or too slowly, compared with this member's clock. There
 * is at most one leader only while every clock's rate is wrong by at most rho. If two rates differ
 * by more than rho, both may still be within rho, but no member can be sure of that. */
static void check_clock(struct daemon *d, unsigned i, const struct elect_peer_info *p)
{
    const struct clock_rate *c = &d->doctor.peer[i].clock;
    double rho = d->config.rho / 1e6, least = c->least > -c->most ? c->least : -c->most;
    if (!c->known || c->incarnation != p->incarnation || least <= rho / 2)
        return;
    remedy(find(&d->doctor, least > rho ? DOCTOR_BROKEN : DOCTOR_WARNING, "clocks", -1,
                config_name(&d->config, p->id),
                "its clock runs at least %.2f %% %s than the clock here; rho allows %g %%",
                least * 100, c->least > 0 ? "faster" : "slower", rho * 100),
           "repair the clock source of the machine whose clock differs from all others; stop the "
           "daemon there until then");
}

/* Returns true if the peer leads a group, but has not reported its work there since this member
 * learned that it leads. */
static bool has_news(const struct daemon *d, unsigned i, uint16_t id)
{
    bool has = false;
    for (unsigned group = 0; group < d->config.groups; group++) {
        const struct watched *w = &d->group[group];
        has = has ||
              (w->news.known && w->news.leader == id && d->doctor.peer[i].work.date < w->since);
    }
    return has;
}

/* Asks peers for their settings and clocks. Only one note per peer can be pending, so the two
 * questions go out in different ticks. The measurement starts again when a peer restarts, because
 * its clock may be another one then. */
static void ask_peers(struct daemon *d)
{
    struct elect_peer_info p;
    for (unsigned i = 0; elect_member_peer(d->member, i, &p); i++) {
        struct clock_rate *c = &d->doctor.peer[i].clock;
        unsigned turn = (d->ticks + i) % ASK_EVERY;
        if (query_is_up(d, &p) && turn == ASK_EVERY / 2 && !p.same)
            inquiry_ask_settings(d, p.id, 0);
        if (!query_is_up(d, &p) || (turn != 0 && !has_news(d, i, p.id)))
            continue;
        if (c->incarnation != p.incarnation)
            *c = (struct clock_rate){.incarnation = p.incarnation};
        c->asked = elect_uv_now();
        inquiry_ask_clock(d, p.id, c->asked);
    }
}

/* Reports a key that a peer lacks. During a key rotation, either the key is new here, or the peer
 * has removed it. */
static void check_key_of(struct daemon *d, const struct elect_peer_info *p)
{
    uint8_t ids[ELECT_UV_KEYS];
    elect_member_keys(d->member, ids);
    bool used = ids[0] == p->lacks;
    struct finding *f = find(&d->doctor, DOCTOR_WARNING, "keys", -1, config_name(&d->config, p->id),
                             "it does not accept key %u, which this member %s", p->lacks,
                             used ? "uses" : "accepts but does not use");
    if (used)
        remedy(f, "elect key install there");
    else
        remedy(f,
               "if key %u is new, elect key install there; if it is old, elect key remove %u here",
               p->lacks, p->lacks);
}

static void check_peers(struct daemon *d)
{
    struct elect_peer_info p;
    for (unsigned i = 0; elect_member_peer(d->member, i, &p); i++) {
        bool heard = query_is_up(d, &p);
        if (p.rejected.reason != ELECT_REJECTED_NONE)
            check_packets(d, &p);
        else if (!heard)
            check_silence(d, &p);
        if (!heard)
            continue;
        check_links(d, &p);
        check_settings(d, i, &p);
        if (d->config.mandate != ELECT_NO_MANDATE)
            check_clock(d, i, &p);
        if (!p.same_keys)
            check_key_of(d, &p);
    }
}

/* Reports each member that is down and may lack one of the two keys, so that removing the other one
 * would lock it out. */
static void check_keys(struct daemon *d)
{
    uint8_t ids[ELECT_UV_KEYS];
    uint16_t lack[SESSION_PEERS];
    if (elect_member_keys(d->member, ids) < ELECT_UV_KEYS)
        return;
    unsigned which = 1, count = elect_member_key_lacks(d->member, ids[1], lack, SESSION_PEERS);
    if (count == 0)
        count = elect_member_key_lacks(d->member, ids[which = 0], lack, SESSION_PEERS);
    for (unsigned i = 0; i < count; i++)
        remedy(find(&d->doctor, DOCTOR_WARNING, "keys", -1, config_name(&d->config, lack[i]),
                    "removing key %u would lock it out: it is down, and may not have key %u",
                    ids[1 - which], ids[which]),
               "start it and install key %u there before key %u is removed", ids[which],
               ids[1 - which]);
}

/* ---- this member ---- */

static void check_disk(struct daemon *d)
{
    struct elect_disk disk = elect_member_disk(d->member);
    bool many = disk.syncs >= MANY_SYNCS; /* otherwise p99 would be the slowest write */
    uint64_t high = many ? disk.p99 : disk.p90;
    if (disk.syncs < FEW_SYNCS || high <= d->config.delay)
        return;
    remedy(find(&d->doctor, DOCTOR_WARNING, "disk", -1, d->config.state_dir,
                "slow: %d %% of %llu fdatasync calls took %.1f ms or longer; delay is %.1f ms",
                many ? 1 : 10, (unsigned long long)disk.syncs, (double)high / MILLISECOND,
                (double)d->config.delay / MILLISECOND),
           "put state-dir on a faster disk, or raise delay on all members");
}

static void check_stalls(struct daemon *d)
{
    struct elect_stalls s = elect_member_stalls(d->member);
    elect_time ago = elect_uv_now() - s.last;
    if (s.count == 0 || ago > (elect_time)STALL_COUNTS * SECOND)
        return;
    remedy(
        find(&d->doctor, DOCTOR_WARNING, "stalls", -1, d->me->name,
             "the daemon stalled %llu time%s for longer than a renewal; the longest stall took at "
             "least %.0f ms, the last one ended %.0f s ago",
             (unsigned long long)s.count, s.count == 1 ? "" : "s", (double)s.longest / MILLISECOND,
             (double)ago / SECOND),
        "give the daemon more CPU time and memory, or raise renewal and lease on all members");
}

static void look_at_hooks(struct daemon *d)
{
    struct text why;
    for (unsigned i = 0; i < HOOK_COUNT; i++) {
        text_clear(&why);
        bool fine =
            d->config.hook[i][0] == '\0' || trusted_check(d->config.hook[i], geteuid(), &why);
        snprintf(d->doctor.hook[i], DOCTOR_TEXT, "%.*s", DOCTOR_TEXT - 1, fine ? "" : why.bytes);
    }
}

static void check_hooks(struct daemon *d)
{
    static const char *const names[] = {
#define X(name, word) word,
        CONFIG_HOOKS(X)
#undef X
    };
    for (unsigned i = 0; i < HOOK_COUNT; i++)
        if (d->doctor.hook[i][0] != '\0')
            remedy(find(&d->doctor, DOCTOR_BROKEN, "hooks", -1, names[i], "%s", d->doctor.hook[i]),
                   "repair the hook, then run elect config check");
}

static void evaluate(struct daemon *d)
{
    char warning[CONFIG_WARNING];
    d->doctor.count = d->doctor.omitted = 0;
    d->doctor.starting = false;
    check_disk(d);
    check_stalls(d);
    check_hooks(d);
    config_warning(&d->config, warning);
    if (warning[0] != '\0') {
        struct finding *f =
            find(&d->doctor, DOCTOR_WARNING, "voters", -1, "cluster", "%s", warning);
        f->is_logged = true;
        remedy(f, "see elect.conf(5), role");
    }
    for (unsigned i = 0; i < d->config.groups; i++)
        check_group(d, i);
    check_keys(d);
    check_peers(d);
    check_stranger(d);
}

/* ---- the log ---- */

static struct finding_seen *remember(struct doctor *r, const struct finding *f)
{
    for (unsigned i = 0; i < r->seen; i++) {
        struct finding_seen *s = &r->memory[i];
        if (s->area == f->area && s->group == f->group && strcmp(s->object, f->object) == 0)
            return s;
    }
    if (r->seen == DOCTOR_FINDINGS)
        return NULL;
    struct finding_seen *s = &r->memory[r->seen++];
    *s = (struct finding_seen){.area = f->area, .group = f->group};
    memcpy(s->object, f->object, sizeof s->object);
    return s;
}

/* Writes "AREA OBJECT: " and returns the length. Omits a group, because it has its own field in a
 * log entry. */
static size_t name_finding(char *text, size_t room, const char *area, int group, const char *object)
{
    return (size_t)snprintf(text, room, "%s%s%s: ", area, group < 0 ? " " : "",
                            group < 0 ? object : "");
}

static void note_finding(struct daemon *d, enum level level, int group, const char *object,
                         const char *text)
{
    const struct config_member *m = group < 0 ? config_member(&d->config, object) : NULL;
    daemon_note(d, &(struct journal_note){.event = JOURNAL_FINDING,
                                          .level = level,
                                          .group = group,
                                          .text = text,
                                          .peer = m != NULL && m != d->me ? m->name : NULL});
}

static void log_finding(struct daemon *d, const struct finding *f)
{
    char text[2 * DOCTOR_TEXT + 128];
    size_t length = name_finding(text, sizeof text, f->area, f->group, f->object);
    snprintf(text + length, sizeof text - length, "%s (%s)", f->what, f->remedy);
    note_finding(d, f->severity == DOCTOR_BROKEN ? LEVEL_ERROR : LEVEL_WARNING, f->group, f->object,
                 text);
}

void doctor_tick(struct daemon *d)
{
    struct doctor *r = &d->doctor;
    char text[JOURNAL_TEXT];
    if (d->ticks % HOOKS_EVERY == 1)
        look_at_hooks(d);
    ask_peers(d);
    evaluate(d);
    for (unsigned i = 0; i < r->seen; i++)
        r->memory[i].missed = (uint8_t)(r->memory[i].missed + (r->memory[i].missed < LASTS));
    for (unsigned i = 0; i < r->count; i++) {
        bool note = r->finding[i].severity == DOCTOR_NOTE;
        struct finding_seen *s = note ? NULL : remember(r, &r->finding[i]);
        if (s == NULL)
            continue;
        s->missed = 0;
        s->lasted = (uint8_t)(s->lasted + (s->lasted < LASTS));
        if (s->lasted == LASTS && !s->logged && !r->finding[i].is_logged)
            log_finding(d, &r->finding[i]);
        s->logged = s->logged || s->lasted == LASTS;
    }
    for (unsigned i = r->seen; i-- > 0;) {
        struct finding_seen *s = &r->memory[i];
        if (s->missed < LASTS && (s->logged || s->missed == 0))
            continue;
        size_t length = name_finding(text, sizeof text, s->area, s->group, s->object);
        snprintf(text + length, sizeof text - length, "resolved");
        if (s->logged)
            note_finding(d, LEVEL_NOTICE, s->group, s->object, text);
        *s = r->memory[--r->seen];
    }
}

/* ---- answers ---- */

static json_t *finding_json(const struct daemon *d, const struct finding *f)
{
    json_t *group = f->group >= 0 ? json_string(d->config.group[f->group]) : json_null();
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:s}", "severity",
                     doctor_severity_name((enum doctor_severity)f->severity), "area", f->area,
                     "object", f->object, "group", group, "what", f->what, "do", f->remedy);
}

json_t *doctor_worst(const struct daemon *d)
{
    const struct finding *worst = NULL;
    for (unsigned i = 0; i < d->doctor.count; i++) {
        const struct finding *f = &d->doctor.finding[i];
        if (f->severity > (worst != NULL ? worst->severity : DOCTOR_NOTE))
            worst = f;
    }
    return worst != NULL ? finding_json(d, worst) : json_null();
}

static json_t *milliseconds(uint64_t us) { return json_real((double)us / MILLISECOND); }

static json_t *disk_json(const struct daemon *d)
{
    struct elect_disk disk = elect_member_disk(d->member);
    bool known = disk.syncs > 0;
    return json_pack("{s:I, s:o, s:o, s:o}", "syncs", (json_int_t)disk.syncs, "median_ms",
                     known ? milliseconds(disk.median) : json_null(), "p90_ms",
                     known ? milliseconds(disk.p90) : json_null(), "p99_ms",
                     known ? milliseconds(disk.p99) : json_null());
}

static json_t *stalls_json(const struct daemon *d)
{
    struct elect_stalls stalls = elect_member_stalls(d->member);
    return json_pack("{s:I, s:o}", "count", (json_int_t)stalls.count, "longest_ms",
                     stalls.count > 0 ? milliseconds((uint64_t)stalls.longest) : json_null());
}

static json_t *clocks_json(const struct daemon *d)
{
    struct elect_peer_info p;
    json_t *all = json_array();
    for (unsigned i = 0; elect_member_peer(d->member, i, &p); i++) {
        const struct clock_rate *c = &d->doctor.peer[i].clock;
        bool known = c->known && c->incarnation == p.incarnation;
        json_array_append_new(
            all, json_pack("{s:s, s:o, s:o}", "member", config_name(&d->config, p.id),
                           "least_percent", known ? json_real(c->least * 100) : json_null(),
                           "most_percent", known ? json_real(c->most * 100) : json_null()));
    }
    return all;
}

void query_doctor(struct daemon *d, struct control_client *client, json_t *request)
{
    const char *only = json_string_value(json_object_get(request, "group"));
    int group = only != NULL ? answer_group(d, client, request) : -1;
    if (only != NULL && group < 0)
        return;
    look_at_hooks(d);
    evaluate(d);
    json_t *all = json_array();
    for (int severity = DOCTOR_BROKEN; severity > DOCTOR_OK; severity--)
        for (unsigned i = 0; i < d->doctor.count; i++) {
            const struct finding *f = &d->doctor.finding[i];
            if (f->severity == severity && (only == NULL || f->group < 0 || f->group == group))
                json_array_append_new(all, finding_json(d, f));
        }
    control_answer(client,
                   json_pack("{s:b, s:s, s:i, s:i, s:o, s:i, s:b, s:o, s:o, s:o}", "ok", 1,
                             "member", d->me->name, "members", (int)d->config.members, "groups",
                             (int)d->config.groups, "findings", all, "omitted",
                             (int)d->doctor.omitted, "starting", d->doctor.starting, "disk",
                             disk_json(d), "stalls", stalls_json(d), "clocks", clocks_json(d)));
}
