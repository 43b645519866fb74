/* Verbs that control a daemon: resign, transfer, pause, resume and reload. */
#include "../base/json.h"
#include "member.h"

#include <stdio.h>
#include <string.h>

#define PATIENCE  5  /* seconds */
#define HAND_OVER 60 /* seconds to wait for a new leader */

static int tell(struct asked_for *a, json_t *request, unsigned patience,
                void (*print)(const json_t *o))
{
    int status;
    json_t *o = ask_daemon(a, "admin", request, patience, &status);
    if (o == NULL)
        return status;
    json_object_del(o, "ok");
    if (a->json && !a->quiet)
        ask_print_json(o);
    else if (!a->quiet)
        print(o);
    json_decref(o);
    return EXIT_FINE;
}

/* ---- resign, transfer ---- */

static void print_hand_over(const json_t *o)
{
    char old[ELECT_TERM_TEXT], new[ELECT_TERM_TEXT];
    bool confirmed = field_is_true(o, "confirmed");
    printf("group %s: %s leads in term %s; %s %s in term %s%s\n", field_text(o, "group"),
           field_text(o, "leader"), elect_term_text((elect_term)field_integer(o, "term"), new),
           field_text(o, "from"), confirmed ? "handed over" : "led",
           elect_term_text((elect_term)field_integer(o, "from_term"), old),
           confirmed ? "" : " and did not confirm the order");
}

#define EXITS                                                                                      \
    "\nExit: 0 done; 1 refused, with the reason; 3 no daemon answers; 64 bad usage; 78 "           \
    "configuration refused."

static void take_force(void *context, int option, const char *value)
{
    (void)option;
    (void)value;
    *(bool *)context = true;
}

int cmd_resign(int argc, char **argv)
{
    static const struct option_spec own[] = {
        {"force", 0, NULL, "resign even if no other member could take over"}};
    bool force = false;
    const struct verb_spec spec = {
        .name = "resign",
        .usage = "resign [-g GROUP] [--force] [OPTIONS]",
        .text =
            "Make the leader hand over to the next member, and wait until another member leads. "
            "Any member accepts the order and forwards it to the leader, which steps down once "
            "its work has stopped. The order is refused if no other member could take over, or "
            "if the leader has changed since the order was given." EXITS,
        .own = own,
        .owns = 1,
        .take = take_force,
        .context = &force};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    return status < 0 ? ~status
                      : tell(&a, json_pack("{s:s, s:b}", "verb", "resign", "force", force),
                             HAND_OVER, print_hand_over);
}

int cmd_transfer(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "transfer",
        .usage = "transfer MEMBER [-g GROUP] [OPTIONS]",
        .text =
            "Make the leader hand over to MEMBER, and wait until another member leads. Any member "
            "accepts the order and forwards it to the leader, which steps down once its work "
            "has stopped." EXITS,
        .min = 1,
        .max = 1,
        .missing = "expected the name of the member that should lead"};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    return status < 0 ? ~status
                      : tell(&a, json_pack("{s:s, s:s}", "verb", "transfer", "to", a.word[0]),
                             HAND_OVER, print_hand_over);
}

/* ---- pause, resume ---- */

static void print_paused(const json_t *o)
{
    size_t i;
    json_t *g;
    json_array_foreach(json_object_get(o, "groups"), i, g)
    {
        bool changed = field_is_true(g, "changed");
        const char *are = field_is_true(g, "paused")
                              ? (changed ? "are paused" : "are paused already")
                          : changed ? "are resumed"
                                    : "were not paused";
        printf("group %s: elections %s (pause counter %lld)\n", field_text(g, "group"), are,
               (long long)field_integer(g, "pause_counter"));
    }
}

int cmd_pause(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "pause",
        .usage = "pause [-g GROUP] [OPTIONS]",
        .text = "Pause elections in the whole cluster until elect resume is run: the leader stays "
                "in office, but is not replaced if it fails. The order applies to all groups or, "
                "with --group, to one group. The local member increases its pause counter, and "
                "the other members receive the new counter with the next renewal." EXITS};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    return status < 0 ? ~status
                      : tell(&a, json_pack("{s:s}", "verb", "pause"), PATIENCE, print_paused);
}

int cmd_resume(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "resume",
        .usage = "resume [-g GROUP] [OPTIONS]",
        .text =
            "Resume elections after elect pause. The order applies to all groups or, with --group, "
            "to one group. The local member increases its pause counter, and the other members "
            "receive the new counter with the next renewal." EXITS};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    return status < 0 ? ~status
                      : tell(&a, json_pack("{s:s}", "verb", "resume"), PATIENCE, print_paused);
}

/* ---- reload ---- */

static void print_reload(const json_t *o)
{
    printf("changed: %s\n", json_string_value(json_object_get(o, "changed")));
}

int cmd_reload(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "reload",
        .without = 1 << ASK_GROUP,
        .usage = "reload [OPTIONS]",
        .text = "Make the daemon read its configuration again, as on SIGHUP. The leader stays in "
                "office. If the new configuration changes a setting that cannot change while a "
                "member runs, the reload is refused, and nothing changes." EXITS};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    return status < 0 ? ~status
                      : tell(&a, json_pack("{s:s}", "verb", "reload"), PATIENCE, print_reload);
}
