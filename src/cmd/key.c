/* elect key: replaces the key of the cluster without downtime. Keys are stored only in files;
 * requests to the daemon contain only the numbers of keys. */
#include "../base/json.h"
#include "../daemon/keys.h"
#include "member.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE 5 /* seconds */

static void take_force(void *context, int option, const char *value)
{
    bool *force = context;
    (void)option;
    (void)value;
    *force = true;
}

static void print_result(const struct asked_for *a, unsigned id, const char *before,
                         const char *what, const char *after)
{
    if (a->json && !a->quiet) {
        json_t *o = json_pack("{s:i}", "key", (int)id);
        ask_print_json(o);
        json_decref(o);
    } else if (!a->quiet) {
        printf("key %u %s%s%s\n", id, before, what, after);
    }
}

static int complain(const struct asked_for *a, const struct text *why)
{
    return ask_complain(a->verb, EXIT_CONFIG, why->bytes);
}

static int make(const struct asked_for *a, const char *path)
{
    static struct config c;
    struct keys old = {0}, new = {.count = 1};
    struct text why;
    text_clear(&why);
    /* If this machine has a member, the new key needs a number that is free in the member's key
     * file. */
    bool member = a->config != NULL || access(ASK_CONFIG, F_OK) == 0;
    if (member && !ask_config(a, &c))
        return EXIT_CONFIG;
    if (member && !keys_read(&old, c.key_file, KEYS_LOOKED_AFTER, &why))
        return complain(a, &why);
    keys_draw(&old, &new.key[0]);
    bool fine = keys_write(&new, path, true, &why);
    if (fine)
        print_result(a, new.key[0].id, "is in ", path,
                     ": copy it to every member and install it there");
    keys_wipe(&old);
    keys_wipe(&new);
    return fine ? EXIT_FINE : complain(a, &why);
}

static int tell(const struct asked_for *a, const char *verb, int id, bool force)
{
    int status;
    json_t *o =
        ask_daemon(a, "admin", json_pack("{s:s, s:i, s:b}", "verb", verb, "id", id, "force", force),
                   PATIENCE, &status);
    const char *warning = json_string_value(json_object_get(o, "warning"));
    if (warning != NULL)
        fprintf(stderr, "elect key: warning: %s\n", warning);
    bool fine = o != NULL;
    json_decref(o);
    return fine ? EXIT_FINE : status;
}

/* Adds a key to the key file, then tells the daemon to read the file, so that the request does
 * not contain the key. */
static int install(const struct asked_for *a, const struct config *c, const char *path)
{
    struct keys all, new;
    struct text why;
    text_clear(&why);
    if (!keys_read(&new, path, KEYS_LOOKED_AFTER, &why) ||
        !keys_read(&all, c->key_file, KEYS_LOOKED_AFTER, &why))
        return complain(a, &why);
    struct keys before = all;
    bool there = false;
    for (unsigned i = 0; i < all.count; i++)
        there = there || sodium_memcmp(&all.key[i], &new.key[0], sizeof new.key[0]) == 0;
    if (new.count != 1)
        text_add(&why, "expected a file with one key");
    else if (!there && all.count == ELECT_UV_KEYS)
        text_add(&why, "the key file has two keys already: remove one first");
    else if (!there && all.key[0].id == new.key[0].id)
        text_add(
            &why,
            "the key file has another key with this number: make a new one with elect key new");
    else if (!there)
        all.key[all.count++] = new.key[0];
    bool fine = why.length == 0 && (there || keys_write(&all, c->key_file, false, &why));
    int status = fine ? tell(a, "key-install", 0, false) : complain(a, &why);
    if (fine && !there && status != EXIT_FINE)
        keys_write(&before, c->key_file, false, &why);
    if (status == EXIT_FINE)
        print_result(a, new.key[0].id, "is accepted here", "",
                     ": when all members accept it, use it");
    keys_wipe(&all);
    keys_wipe(&before);
    keys_wipe(&new);
    return status;
}

/* Switches the cluster to a key, or removes a key. The key file changes only after the daemon
 * has agreed. */
static int change(const struct asked_for *a, const struct config *c, const char *number, bool use,
                  bool force)
{
    struct keys all;
    struct text why;
    uint64_t id;
    unsigned at = 0;
    text_clear(&why);
    if (!parse_number(number, 255, &id))
        return args_complain(a->verb, number, "expected the number of a key, see elect key list");
    if (!keys_read(&all, c->key_file, KEYS_LOOKED_AFTER, &why))
        return complain(a, &why);
    while (at < all.count && all.key[at].id != id)
        at++;
    /* A key that is not in the file can still be removed from the daemon. */
    if (at == all.count && use)
        return ask_complain(a->verb, EXIT_NO, "no key has this number: see elect key list");
    int status = tell(a, use ? "key-use" : "key-remove", (int)id, force);
    if (status == EXIT_FINE && at < all.count) {
        struct elect_key first = all.key[at];
        memmove(&all.key[at], &all.key[at + 1], (all.count - at - 1) * sizeof first);
        all.count--;
        if (use) {
            memmove(&all.key[1], &all.key[0], all.count * sizeof first);
            all.key[0] = first;
            all.count++;
        }
        sodium_memzero(&first, sizeof first);
        if (!keys_write(&all, c->key_file, false, &why))
            status = complain(a, &why);
    }
    if (status == EXIT_FINE)
        print_result(a, (unsigned)id, "is ", use ? "used" : "removed", "");
    keys_wipe(&all);
    return status;
}

static int list(const struct asked_for *a)
{
    int status;
    size_t i;
    json_t *o = ask_daemon(a, "status", json_pack("{s:s}", "verb", "status"), 1, &status), *key, *p;
    if (o == NULL)
        return status;
    bool text = !a->json && !a->quiet;
    if (a->json && !a->quiet)
        ask_print_json(json_object_get(o, "keys"));
    json_array_foreach(json_object_get(o, "keys"), i, key)
    {
        if (text)
            printf("key %lld %s, fingerprint %s\n", (long long)field_integer(key, "id"),
                   field_is_true(key, "used") ? "used" : "accepted",
                   field_text(key, "fingerprint"));
    }
    json_array_foreach(json_object_get(o, "members"), i, p)
    {
        if (text && json_is_false(json_object_get(p, "same_keys")))
            printf("%s accepts different keys\n", json_string_value(json_object_get(p, "member")));
    }
    json_decref(o);
    return EXIT_FINE;
}

int cmd_key(int argc, char **argv)
{
    static struct config c;
    static const struct option_spec own[] = {
        {"force", 0, NULL,
         "remove: remove the key even if other members use it, which cuts them off"}};
    bool force = false;
    struct verb_spec spec = {
        .name = "key",
        .without = 1 << ASK_GROUP,
        .usage = "key new FILE | install FILE | use N | remove N [--force] | list",
        .text =
            "Replace the key of the cluster without downtime. new: write a new key to FILE; copy "
            "this file to every member. install: also accept the key in FILE; run this on every "
            "member. use: use key N; run this on every member. remove: stop accepting key N; run "
            "this on every member. list: print the accepted keys and their fingerprints. If a key "
            "was stolen, remove "
            "that key with --force.\nExit: 0 success; 1 refused, with the reason; 3 no daemon "
            "answers; 64 bad usage; 78 key file or configuration refused.",
        .min = 1,
        .max = 2,
        .missing = "expected new, install, use, remove or list",
        .own = own,
        .owns = 1,
        .take = take_force,
        .context = &force};
    static const char *const verbs[] = {"new", "install", "use", "remove", "list"};
    struct asked_for a;
    struct text why;
    uint8_t which;
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    text_clear(&why);
    if (!choice_parse(a.word[0], verbs, 5, &which, &why))
        return args_complain(a.verb, a.word[0], why.bytes);
    if ((a.words == 2) != (which != 4))
        return args_complain(a.verb, a.word[0],
                             which == 4   ? "unexpected argument: elect key list accepts none"
                             : which <= 1 ? "expected a file"
                                          : "expected the number of a key");
    if (sodium_init() < 0)
        return ask_complain(
            a.verb, EXIT_IO,
            "cannot use keys: libsodium finds no random numbers, check /dev/urandom");
    if (which == 0)
        return make(&a, a.word[1]);
    if (which == 4)
        return list(&a);
    if (!ask_config(&a, &c))
        return EXIT_CONFIG;
    return which == 1 ? install(&a, &c, a.word[1]) : change(&a, &c, a.word[1], which == 2, force);
}
