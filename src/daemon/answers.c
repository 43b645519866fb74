/* Table of the control sockets' verbs, and the verbs that change something. The read-only verbs are
 * in queries.c. */
#include "answers.h"

#include "../base/choice.h"

#include <stdio.h>
#include <string.h>

json_t *answer_refusal(const char *why) { return json_pack("{s:b, s:s}", "ok", 0, "error", why); }

void answer_refuse(struct control_client *client, const char *why)
{
    char text[TEXT_MAX];
    snprintf(text, sizeof text, "%s", why);
    text_clean(text);
    control_answer(client, answer_refusal(text));
}

int answer_group(const struct daemon *d, struct control_client *client, const json_t *request)
{
    struct text why;
    int group =
        config_group(&d->config, json_string_value(json_object_get(request, "group")), &why);
    if (group < 0)
        answer_refuse(client, why.bytes);
    return group;
}

/* ---- orders to hand over, to pause and to reload ---- */

static void hand_over(struct daemon *d, struct control_client *client, json_t *request,
                      const struct config_member *successor)
{
    int group = answer_group(d, client, request);
    bool force = json_is_true(json_object_get(request, "force"));
    if (group >= 0 && d->config.mandate == ELECT_NO_MANDATE)
        answer_refuse(client, "cannot hand over with mandate = none: stop the leader instead");
    else if (group >= 0)
        order_give(d, client, (unsigned)group, successor, force);
}

static void answer_resign(struct daemon *d, struct control_client *client, json_t *request)
{
    hand_over(d, client, request, NULL);
}

static void answer_transfer(struct daemon *d, struct control_client *client, json_t *request)
{
    const char *name = json_string_value(json_object_get(request, "to")), *known[SESSION_PEERS];
    const struct config_member *m = name != NULL ? config_member(&d->config, name) : NULL;
    struct text why;
    if (m != NULL) {
        hand_over(d, client, request, m);
        return;
    }
    for (unsigned i = 0; i < d->config.members; i++)
        known[i] = d->config.member[i].name;
    text_clear(&why);
    choice_unknown(&why, "unknown member ", name != NULL ? name : "", known, d->config.members);
    answer_refuse(client, why.bytes);
}

static void audit(struct daemon *d, const struct control_client *client, int group,
                  const char *what)
{
    char text[JOURNAL_TEXT];
    snprintf(text, sizeof text, "%.100s (uid %u, pid %d)", what, (unsigned)client->user,
             (int)client->pid);
    daemon_log(d, JOURNAL_ADMIN, group, text);
}

/* Pauses or resumes one group or all groups. Elections are paused while the pause counter is
 * odd. */
static void pause_or_resume(struct daemon *d, struct control_client *client, json_t *request,
                            enum elect_event event)
{
    if (d->config.mandate == ELECT_NO_MANDATE) {
        answer_refuse(client, "cannot pause elections with mandate = none");
        return;
    }
    int only =
        json_object_get(request, "group") != NULL ? answer_group(d, client, request) : STORE_GROUPS;
    if (only < 0)
        return;
    json_t *groups = json_array();
    for (unsigned i = 0; i < d->config.groups; i++) {
        struct elect_input in = elect_happens(event, elect_uv_now());
        const struct elect_node *node = elect_member_node(d->member, i);
        bool changes = elect_paused(node) != (event == ELECT_PAUSE);
        if (only != STORE_GROUPS && only != (int)i)
            continue;
        if (changes) {
            audit(d, client, (int)i,
                  event == ELECT_PAUSE ? "order to pause elections" : "order to resume elections");
            elect_member_tell(d->member, i, &in);
        }
        json_array_append_new(groups, json_pack("{s:s, s:b, s:b, s:I}", "group", d->config.group[i],
                                                "changed", changes, "paused", elect_paused(node),
                                                "pause_counter", (json_int_t)node->saved.pause));
    }
    control_answer(client, json_pack("{s:b, s:o}", "ok", 1, "groups", groups));
}

static void answer_pause(struct daemon *d, struct control_client *client, json_t *request)
{
    pause_or_resume(d, client, request, ELECT_PAUSE);
}

static void answer_resume(struct daemon *d, struct control_client *client, json_t *request)
{
    pause_or_resume(d, client, request, ELECT_RESUME);
}

static void answer_reload(struct daemon *d, struct control_client *client, json_t *request)
{
    struct text done, complaint;
    (void)request;
    bool fine = daemon_reload(d, &done, &complaint);
    if (fine)
        audit(d, client, -1, "configuration reloaded");
    control_answer(client, fine ? json_pack("{s:b, s:s}", "ok", 1, "changed", done.bytes)
                                : answer_refusal(complaint.bytes));
}

/* ---- key changes: a key is read from the key file, never from a request ---- */

static void answer_key_install(struct daemon *d, struct control_client *client, json_t *request)
{
    struct keys keys;
    struct text complaint;
    char why[256] = "";
    uint8_t ids[ELECT_UV_KEYS];
    (void)request;
    text_clear(&complaint);
    if (!keys_read(&keys, d->config.key_file, KEYS_OWN, &complaint)) {
        answer_refuse(client, complaint.bytes);
        return;
    }
    unsigned count = elect_member_keys(d->member, ids);
    bool fine = true;
    for (unsigned i = 0; i < keys.count && fine; i++) {
        bool there = false;
        for (unsigned k = 0; k < count; k++)
            there = there || ids[k] == keys.key[i].id;
        fine = there || elect_member_key_install(d->member, &keys.key[i], why, sizeof why);
    }
    keys_wipe(&keys);
    if (fine)
        audit(d, client, -1, "keys of the key file installed");
    control_answer(client, fine ? json_pack("{s:b, s:o}", "ok", 1, "keys", query_keys(d))
                                : answer_refusal(why));
}

/* Returns true, with a warning in `text`, if a member that is down may lack the key that will be in
 * use after this change. It can only come back while its old key is still accepted. */
static bool key_locks_out(const struct daemon *d, uint8_t number, bool use, bool force,
                          char text[JOURNAL_TEXT])
{
    uint8_t ids[ELECT_UV_KEYS];
    uint16_t lack[SESSION_PEERS];
    unsigned keys = elect_member_keys(d->member, ids);
    uint8_t stays = use ? number : ids[0];
    bool known = keys == ELECT_UV_KEYS && (ids[0] == number || ids[1] == number);
    unsigned count = known && (use || number != ids[0])
                         ? elect_member_key_lacks(d->member, stays, lack, SESSION_PEERS)
                         : 0;
    struct text names;
    text_clear(&names);
    for (unsigned i = 0; i < count; i++) {
        text_add(&names, i > 0 ? ", " : "");
        text_add(&names, config_name(&d->config, lack[i]));
    }
    snprintf(text, JOURNAL_TEXT, "key %u may be missing on %.40s (down): %s", stays, names.bytes,
             use     ? "install it there before you remove the other key"
             : force ? "locked out until the key is installed there"
                     : "start that member and install the key first, or lock it out with --force");
    text_clean(text);
    return count > 0;
}

static void change_key(struct daemon *d, struct control_client *client, json_t *request, bool use)
{
    json_t *id = json_object_get(request, "id");
    bool force = json_is_true(json_object_get(request, "force"));
    char why[256] = "no key has this number: see elect key list", text[JOURNAL_TEXT];
    json_int_t number = json_is_integer(id) ? json_integer_value(id) : -1;
    char lacks[JOURNAL_TEXT];
    bool locks_out =
        number >= 0 && number <= 255 && key_locks_out(d, (uint8_t)number, use, force, lacks);
    if (locks_out && !use && !force) {
        answer_refuse(client, lacks);
        return;
    }
    bool fine = number >= 0 && number <= 255 &&
                (use ? elect_member_key_use(d->member, (uint8_t)number, why, sizeof why)
                     : elect_member_key_remove(d->member, (uint8_t)number, force, why, sizeof why));
    snprintf(text, sizeof text, "key %d %s", (int)number, use ? "in use" : "removed");
    if (fine)
        audit(d, client, -1, text);
    control_answer(client, fine ? json_pack("{s:b, s:o, s:s?}", "ok", 1, "keys", query_keys(d),
                                            "warning", locks_out ? lacks : NULL)
                                : answer_refusal(why));
}

static void answer_key_use(struct daemon *d, struct control_client *client, json_t *request)
{
    change_key(d, client, request, true);
}

static void answer_key_remove(struct daemon *d, struct control_client *client, json_t *request)
{
    change_key(d, client, request, false);
}

/* ---- the list of verbs ---- */

static const struct {
    const char *verb;
    enum control_which which;
    void (*answer)(struct daemon *d, struct control_client *client, json_t *request);
} questions[] = {
    {"status", CONTROL_STATUS, query_status},   {"is-leader", CONTROL_STATUS, query_is_leader},
    {"history", CONTROL_STATUS, query_history}, {"messages", CONTROL_STATUS, query_messages},
    {"watch", CONTROL_STATUS, query_watch},     {"doctor", CONTROL_STATUS, query_doctor},
    {"resign", CONTROL_ADMIN, answer_resign},   {"transfer", CONTROL_ADMIN, answer_transfer},
    {"pause", CONTROL_ADMIN, answer_pause},     {"resume", CONTROL_ADMIN, answer_resume},
    {"reload", CONTROL_ADMIN, answer_reload},   {"key-install", CONTROL_ADMIN, answer_key_install},
    {"key-use", CONTROL_ADMIN, answer_key_use}, {"key-remove", CONTROL_ADMIN, answer_key_remove},
};

static bool is_string(const json_t *value) { return json_is_string(value); }
static bool is_boolean(const json_t *value) { return json_is_boolean(value); }
static bool is_integer(const json_t *value) { return json_is_integer(value); }

/* Checks the types of the values in a request. Returns a complaint, or NULL. Ignoring a wrong type
 * would be dangerous: a pause without a group pauses all groups. */
static const char *wrong_type(const json_t *request)
{
    static const struct {
        const char *key, *complaint;
        bool (*is)(const json_t *value);
    } keys[] = {
        {"group", "group: expected a string", is_string},
        {"to", "to: expected a string", is_string},
        {"member", "member: expected a string", is_string},
        {"force", "force: expected true or false", is_boolean},
        {"loud", "loud: expected true or false", is_boolean},
        {"id", "id: expected an integer", is_integer},
        {"seconds", "seconds: expected an integer", is_integer},
        {"from", "from: expected an integer", is_integer},
    };
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *value = json_object_get(request, keys[i].key);
        if (value != NULL && !json_is_null(value) && !keys[i].is(value))
            return keys[i].complaint;
    }
    return NULL;
}

void answer_request(void *context, struct control_client *client, json_t *request)
{
    struct daemon *d = context;
    const char *wrong = wrong_type(request);
    if (wrong != NULL) {
        answer_refuse(client, wrong);
        return;
    }
    const char *verb = json_string_value(json_object_get(request, "verb"));
    for (unsigned i = 0; i < sizeof questions / sizeof questions[0] && verb != NULL; i++)
        if (strcmp(questions[i].verb, verb) == 0) {
            if (questions[i].which != client->which)
                answer_refuse(client, "this verb is not available on this socket");
            else
                questions[i].answer(d, client, request);
            return;
        }
    answer_refuse(client, "unknown verb");
}
