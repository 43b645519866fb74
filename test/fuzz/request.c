/* Passes arbitrary requests to the control socket's request handler. The socket and the member are
 * stubs that only count the answers. */
#include "../../src/daemon/daemon.h"
#include "../../src/daemon/run_connection.h"
#include "../../src/daemon/run_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static struct daemon d;
static struct elect_node node;
static unsigned answers;

static void put_away(json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT);
    assert(text != NULL);
    free(text);
    json_decref(line);
}

void control_answer(struct control_client *client, json_t *answer)
{
    answers++;
    client->waits = false;
    put_away(answer);
}

void control_tell(struct control_client *client, json_t *line)
{
    (void)client;
    put_away(line);
}

bool control_watch(struct control_client *client)
{
    client->watches = true;
    return true;
}

void control_wait(struct control_client *client, uint64_t patience, const char *late)
{
    (void)patience;
    (void)late;
    client->waits = true;
}

const struct elect_node *elect_member_node(const struct elect_member *m, unsigned group)
{
    (void)m;
    assert(group < d.config.groups);
    return &node;
}

const struct elect_config *elect_member_config(const struct elect_member *m, unsigned group)
{
    (void)m;
    assert(group < d.config.groups);
    return &d.elect;
}

struct elect_news work_shown(const struct work *w, unsigned group)
{
    (void)w;
    return (struct elect_news){.group = group, .known = true, .leader = 2, .term = 65538};
}

struct elect_rule work_tell(struct work *w, unsigned group, const struct elect_input *in,
                            const char *why)
{
    assert(strlen(why) < JOURNAL_TEXT);
    return elect_member_tell(w->member, group, in);
}

struct elect_rule elect_member_tell(struct elect_member *m, unsigned group,
                                    const struct elect_input *in)
{
    (void)m;
    (void)group;
    assert(in->event == ELECT_RESIGN || in->event == ELECT_PAUSE || in->event == ELECT_RESUME);
    return (struct elect_rule){ELECT_RULE_HAS_NO_OFFICE, ELECT_NOBODY, ELECT_NOBODY};
}

void elect_member_note(struct elect_member *m, uint16_t to, const uint8_t *bytes, size_t length)
{
    (void)m;
    assert(to == 2 && bytes != NULL && length > 0 && length <= ELECT_UV_NOTE);
}

bool elect_member_peer(const struct elect_member *m, unsigned i, struct elect_peer_info *info)
{
    (void)m;
    *info = (struct elect_peer_info){.id = 2, .links = 1, .session = true, .heard = elect_uv_now()};
    return i == 0;
}

struct elect_traffic elect_member_traffic(const struct elect_member *m)
{
    (void)m;
    return (struct elect_traffic){0};
}

const char *elect_uv_rejection(enum elect_rejection reason)
{
    return reason == ELECT_REJECTED_NONE ? "" : "rejected";
}

struct elect_disk elect_member_disk(const struct elect_member *m)
{
    (void)m;
    return (struct elect_disk){.syncs = 100, .p90 = 1 << 19, .p99 = 1 << 20};
}

struct elect_stalls elect_member_stalls(const struct elect_member *m)
{
    (void)m;
    return (struct elect_stalls){.count = 1, .longest = 7, .last = 1};
}

struct elect_rejected elect_member_stranger(const struct elect_member *m, uint16_t *id)
{
    (void)m;
    *id = 9;
    return (struct elect_rejected){.reason = ELECT_REJECTED_ADDRESS, .count = 4};
}

unsigned elect_member_key_lacks(const struct elect_member *m, uint8_t id, uint16_t *ids,
                                unsigned room)
{
    (void)m;
    ids[0] = 2;
    return id == 1 && room > 0;
}

uint32_t elect_member_incarnation(const struct elect_member *m)
{
    (void)m;
    return 1;
}

bool elect_member_key_fingerprint(const struct elect_member *m, uint8_t id,
                                  uint8_t fingerprint[ELECT_UV_PRINT])
{
    (void)m;
    memset(fingerprint, id, ELECT_UV_PRINT);
    return true;
}

unsigned elect_member_keys(const struct elect_member *m, uint8_t ids[ELECT_UV_KEYS])
{
    (void)m;
    ids[0] = 1;
    return 1;
}

bool elect_member_key_install(struct elect_member *m, const struct elect_key *key, char *why,
                              size_t room)
{
    (void)m;
    (void)key;
    return room > 0 && why != NULL;
}

bool elect_member_key_use(struct elect_member *m, uint8_t id, char *why, size_t room)
{
    (void)m;
    return room > 0 && why != NULL && id == 1;
}

bool elect_member_key_remove(struct elect_member *m, uint8_t id, bool force, char *why, size_t room)
{
    (void)m;
    return room > 0 && why != NULL && id == 1 && force;
}

bool work_is_guarded(const struct work *w) { return w != NULL; }

bool work_has_testament(const struct work *w, unsigned group) { return w != NULL && group == 0; }

unsigned run_queue_waiting(const struct work *w, unsigned group) { return w != NULL ? group : 0; }

elect_time run_queue_backs_off(const struct work *w, unsigned group)
{
    return w != NULL ? (elect_time)group : 0;
}

const char *run_queue_why_aside(const struct work *w, unsigned group)
{
    return w != NULL && group == 0 ? "no elect run is connected here" : NULL;
}

bool run_queue_has_healthy(const struct work *w, unsigned group) { return w != NULL && group == 1; }

int run_connection_pid(const struct run_connection *c) { return c != NULL; }

bool run_connection_restarts(const struct run_connection *c) { return c == NULL; }

const char *run_connection_program(const struct run_connection *c) { return c != NULL ? "x" : ""; }
int run_connection_command(const struct run_connection *c) { return c != NULL; }

int64_t run_connection_since(const struct run_connection *c) { return c != NULL; }

const char *run_connection_containment(const struct run_connection *c)
{
    return c != NULL ? "process tree" : "";
}

elect_time elect_uv_now(void) { return 1000000; }

bool daemon_reload(struct daemon *daemon, struct text *done, struct text *complaint)
{
    (void)daemon;
    text_clear(done);
    text_clear(complaint);
    return true;
}

void daemon_note(struct daemon *daemon, const struct journal_note *note)
{
    (void)daemon;
    assert(note->text != NULL);
}

void daemon_log(struct daemon *daemon, enum journal_event event, int group, const char *text)
{
    (void)daemon;
    (void)event;
    (void)group;
    assert(text != NULL);
}

static void begin(void)
{
    static const char text[] =
        "[cluster]\nid = 000102030405060708090a0b0c0d0eff\n"
        "[member a]\nid = 1\naddress = 127.0.0.1:1\n"
        "[member b]\nid = 2\naddress = 127.0.0.1:2\n[group main]\n[group b]\n";
    bool fine = config_parse(&d.config, "/nowhere/x.conf", text);
    assert(fine && config_elect(&d.config, &d.elect) == ELECT_FINE);
    d.me = &d.config.member[0];
    d.name[0] = "a";
    d.name[1] = "b";
    d.words = (struct words){.config = &d.elect, .name = d.name};
    recorder_begin(&d.recorder);
    /* fill the flight recorder, so that requests can ask for its entries */
    for (unsigned i = 0; i < 40; i++) {
        const struct elect_message said = {.type = ELECT_GRANT, .term = 65538, .round = i};
        struct elect_input in = elect_received(1, &said, i);
        struct elect_output out = {.rule = {ELECT_RULE_TAKES_OFFICE, 1, ELECT_NOBODY}};
        recorder_step(&d.recorder, i % 2, &in, &out, &node);
        recorder_heard(&d.recorder, 1, ELECT_PEER_TESTAMENT, i);
    }
}

/* Handles a note from another member: a question, an order, or an answer that a client waits
 * for. */
static void note(const uint8_t *bytes, size_t length)
{
    struct control_client client = {.waits = true, .asks = 1, .order = 7, .peer = 2};
    d.control.clients = &client;
    d.orders.given[0] = (struct order){.number = 7, .term = 65538, .leader = 2};
    inquiry_note(&d, 2, bytes, length);
    d.control.clients = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    json_error_t error;
    if (d.me == NULL)
        begin();
    json_t *request = json_loadb((const char *)bytes, length, JSON_REJECT_DUPLICATES, &error);
    for (int which = 0; which < CONTROL_COUNT && json_is_object(request); which++) {
        struct control_client client = {.which = (enum control_which)which};
        answers = 0;
        d.control.clients = &client;
        answer_request(&d, &client, request);
        d.control.clients = NULL;
        /* a client gets one answer, unless it waits for another member or has become a watcher */
        assert(client.waits ? answers == 0 : answers == 1 || client.watches);
    }
    json_decref(request);
    note(bytes, length);
    return 0;
}
