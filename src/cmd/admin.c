/* The verbs that tell a daemon what to do. */
#include "../base/json.h"
#include "member.h"

#include <stdio.h>
#include <string.h>

#define PATIENCE  5  /* seconds */
#define HAND_OVER 60 /* until somebody else leads */

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

static void print_hand_over(const json_t *o)
{
    char from[32], to[32];
    printf("from term %s to term %s: %s leads\n",
           elect_term_text((elect_term)field_integer(o, "from"), from),
           elect_term_text((elect_term)field_integer(o, "to"), to),
           json_string_value(json_object_get(o, "leader")));
}

int cmd_resign(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "resign",
        .usage = "resign [-g GROUP] [OPTIONS]",
        .text = "The member here leads no more; whoever is next does, once its work has "
                "stopped.\nExit: 0; 1 refused, with the reason; 3 no daemon answers, 64 bad usage, "
                "78 no configuration."};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    return status < 0 ? ~status
                      : tell(&a, json_pack("{s:s}", "verb", "resign"), HAND_OVER, print_hand_over);
}

int cmd_transfer(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "transfer",
        .usage = "transfer MEMBER [-g GROUP] [OPTIONS]",
        .text = "The member here hands its office over to MEMBER, once its work has "
                "stopped.\nExit: 0; 1 refused, with the reason; 3 no daemon answers, 64 bad usage, "
                "78 no configuration.",
        .min = 1,
        .max = 1,
        .missing = "to whom? expected the name of a member"};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    return status < 0 ? ~status
                      : tell(&a, json_pack("{s:s, s:s}", "verb", "transfer", "to", a.word[0]),
                             HAND_OVER, print_hand_over);
}

static void print_changed(const json_t *o)
{
    size_t i;
    json_t *group, *all = json_object_get(o, "changed");
    if (json_array_size(all) == 0)
        puts("it was so already");
    json_array_foreach(all, i, group) { printf("group %s: done\n", json_string_value(group)); }
}

int cmd_pause(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "pause",
        .usage = "pause [-g GROUP] [OPTIONS]",
        .text = "From now on no leader changes by itself, in the whole cluster: the leader goes "
                "on, and when it fails nobody is elected until elect resume. Of all groups, or of "
                "one.\nExit: 0; 1 refused, with the reason; 3 no daemon answers, 64 bad usage, 78 "
                "no configuration."};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    return status < 0 ? ~status
                      : tell(&a, json_pack("{s:s}", "verb", "pause"), PATIENCE, print_changed);
}

int cmd_resume(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "resume",
        .usage = "resume [-g GROUP] [OPTIONS]",
        .text = "Elections are held again, after elect pause.\nExit: 0; 1 refused, with the "
                "reason; 3 no daemon answers, 64 bad usage, 78 no configuration."};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    return status < 0 ? ~status
                      : tell(&a, json_pack("{s:s}", "verb", "resume"), PATIENCE, print_changed);
}

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
        .text =
            "The daemon reads its configuration again, as on SIGHUP; whoever leads goes on. What "
            "cannot change while a member runs is refused by name, and then nothing "
            "changes.\nExit: 0; 1 refused, with the reason; 3 no daemon answers, 64 bad usage, 78 "
            "no configuration."};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    return status < 0 ? ~status
                      : tell(&a, json_pack("{s:s}", "verb", "reload"), PATIENCE, print_reload);
}
