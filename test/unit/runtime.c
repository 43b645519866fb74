/* Tests the rules for packets and for the state file. */
#include "../skip.h"
#include "../support.h"

#include "../../src/runtime/file.h"
#include "../../src/runtime/filter.h"
#include "../../src/runtime/net.h"
#include "../../src/runtime/saved.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- packets ---- */

static const uint8_t key[SEAL_KEY] = {9, 8, 7}, cluster[SEAL_CLUSTER] = {1}, words[] = "words";

static size_t packet(uint8_t out[SEAL_MAX_PACKET])
{
    static const uint8_t secret[SEAL_KEY] = {5};
    struct packet head = {PACKET_DATA, 3, 10, 20, 0x01020304, 77};
    return seal_write(&head, secret, key, cluster, words, sizeof words, out);
}

static void every_bit_of_a_packet_is_authenticated(void **state)
{
    uint8_t bytes[SEAL_MAX_PACKET], content[SEAL_MAX_CONTENT];
    size_t length = packet(bytes);
    struct packet head;
    (void)state;
    assert_true(seal_head(bytes, length, &head));
    assert_int_equal(head.from, 10);
    assert_int_equal(head.counter, 77);
    assert_int_equal(seal_open(bytes, length, key, cluster, content), sizeof words);
    assert_memory_equal(content, words, sizeof words);
    for (size_t bit = 0; bit < 8 * length; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(seal_open(bytes, length, key, cluster, content), -1);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    uint8_t other[SEAL_CLUSTER] = {2};
    assert_int_equal(seal_open(bytes, length, key, other, content), -1);
}

static void bytes_that_are_not_a_packet_are_refused(void **state)
{
    uint8_t bytes[SEAL_MAX_PACKET + 1] = {0};
    size_t length = packet(bytes);
    struct packet head;
    (void)state;
    assert_false(seal_head(bytes, length - 1, &head));
    assert_false(seal_head(bytes, length + 1, &head));
    assert_false(seal_head(bytes, SEAL_HEAD + SEAL_PROOF - 1, &head));
    assert_false(seal_head(bytes, SEAL_MAX_PACKET + 1, &head));
    /* bytes 0 to 3: magic number; byte 4: type */
    for (unsigned at = 0; at < 5; at++) {
        bytes[at] ^= 0x80;
        assert_false(seal_head(bytes, length, &head));
        bytes[at] ^= 0x80;
    }
    memset(bytes + SEAL_TAG_OFFSET, 0, 4);
    assert_false(seal_head(bytes, length, &head));
    packet(bytes);
    memcpy(bytes + 8, bytes + 6, 2); /* same sender and receiver */
    assert_false(seal_head(bytes, length, &head));
}

/* ---- the state file ---- */

static uint8_t file_bytes[STORE_SIZE];
static bool full;
static unsigned bad; /* bits of the unreadable slots */

static int file_read(void *context, void *bytes, size_t length, uint64_t offset)
{
    (void)context;
    memcpy(bytes, file_bytes + offset, length);
    return (bad >> offset / STORE_STRIDE & 1) != 0 ? 5 : 0;
}

static int file_write(void *context, const void *bytes, size_t length, uint64_t offset)
{
    (void)context;
    if (full)
        return 28;
    memcpy(file_bytes + offset, bytes, length);
    return 0;
}

static int file_sync(void *context)
{
    (void)context;
    return 0;
}

static const struct store_file file = {file_read, file_write, file_sync, NULL};
static struct store store;

static struct state *some_state(void)
{
    static struct state s;
    memset(&s, 0, sizeof s);
    memset(file_bytes, 0, sizeof file_bytes);
    full = false;
    bad = 0;
    memcpy(s.cluster, cluster, SEAL_CLUSTER);
    s.node = 7;
    s.incarnation = 3;
    s.peers = 2;
    s.peer[1] = (struct state_peer){
        .id = 9, .met = 77, .known = {.sequence = 88, .incarnation = 4, .boot = {1, 2}}};
    s.groups = STORE_GROUPS;
    for (unsigned i = 0; i < STORE_GROUPS; i++) {
        struct state_group *g = &s.group[i];
        snprintf(g->name, sizeof g->name, "group-%u", i);
        g->promised = 100 + i;
        g->used = 50 + i;
        g->longest = 1000;
        g->members = 1;
        g->member[0] = (struct state_member){7, 7};
        g->closed[63] = i;
    }
    return &s;
}

static void a_state_is_read_as_it_was_written(void **state)
{
    struct state *s = some_state();
    static struct state back;
    (void)state;
    assert_int_equal(store_format(&store, &file, s), STORE_FINE);
    for (unsigned i = 0; i < 5; i++) {
        s->group[i].promised += 1000;
        assert_int_equal(store_write(&store, s), STORE_FINE);
        memcpy(back.cluster, cluster, SEAL_CLUSTER);
        back.node = 7;
        assert_int_equal(store_open(&store, &file, &back), STORE_FINE);
        assert_memory_equal(s, &back, sizeof back);
    }
    assert_int_equal(s->sequence, 6);
}

static void one_intact_copy_suffices_and_none_is_reported(void **state)
{
    struct state *s = some_state();
    (void)state;
    assert_int_equal(store_format(&store, &file, s), STORE_FINE);
    assert_int_equal(store_write(&store, s), STORE_FINE);
    file_bytes[2 * STORE_STRIDE + 5000] ^= 1; /* a byte of slot 2, in one group's data */
    assert_int_equal(store_open(&store, &file, s), STORE_FINE);
    assert_int_equal(s->sequence, 2);
    memcpy(file_bytes + STORE_STRIDE, file_bytes + 3 * STORE_STRIDE, STORE_STRIDE);
    file_bytes[2 * STORE_STRIDE] ^= 1;
    file_bytes[3 * STORE_STRIDE] ^= 1;
    assert_int_equal(store_open(&store, &file, s), STORE_FINE);
    assert_int_equal(s->sequence, 1);
    memset(file_bytes, 0, sizeof file_bytes);
    assert_int_equal(store_open(&store, &file, s), STORE_EMPTY);
}

static void an_unreadable_slot_does_no_harm_beside_an_intact_one(void **state)
{
    struct state *s = some_state();
    (void)state;
    assert_int_equal(store_format(&store, &file, s), STORE_FINE);
    bad = 4;
    /* slot 2 is unreadable, and the other slot of the pair is damaged */
    assert_int_equal(store_open(&store, &file, s), STORE_IO);
    bad = 0;
    assert_int_equal(store_write(&store, s), STORE_FINE);
    for (bad = 1; bad < 16; bad++) {
        bool one_of_each = (bad & 3) != 3 && (bad & 12) != 12;
        assert_int_equal(store_open(&store, &file, s), one_of_each ? STORE_FINE : STORE_IO);
        assert_true(one_of_each ? s->sequence == 2 : store.error == 5);
    }
    bad = 8;
    file_bytes[2 * STORE_STRIDE] ^= 1; /* slot 3 may have the only copy of the latest record */
    assert_int_equal(store_open(&store, &file, s), STORE_IO);
}

static void the_state_of_another_member_is_refused(void **state)
{
    struct state *s = some_state();
    (void)state;
    assert_int_equal(store_format(&store, &file, s), STORE_FINE);
    s->node = 8;
    assert_int_equal(store_open(&store, &file, s), STORE_OTHER_NODE);
    s->node = 7;
    s->cluster[5] = 1;
    assert_int_equal(store_open(&store, &file, s), STORE_OTHER_CLUSTER);
    assert_string_equal(store_text(STORE_OTHER_CLUSTER),
                        "it belongs to another cluster: compare cluster id and state-dir");
}

static void an_error_is_reported_and_nothing_is_acknowledged(void **state)
{
    struct state *s = some_state();
    (void)state;
    assert_int_equal(store_format(&store, &file, s), STORE_FINE);
    full = true;
    assert_int_equal(store_write(&store, s), STORE_IO);
    assert_int_equal(store.error, 28);
    assert_int_equal(store.sequence, 1);
    assert_int_equal(store_open(&store, &file, s), STORE_IO);
}

/* ---- ranks and numbers ---- */

static void a_state_means_the_same_in_another_configuration(void **state)
{
    static const uint16_t few[] = {5, 7, 9}, more[] = {2, 5, 6, 7, 9}, others[] = {5, 7};
    struct elect_config small, large, other;
    struct elect_saved saved = {.promised = 9, .used = 8, .longest = 7, .round = 6, .pause = 5},
                       back;
    static struct state whole;
    struct state_group *group = &whole.group[0];
    uint16_t whom;
    (void)state;
    elect_config_init(&small, ELECT_BULLY, few, 3, 1, 0);
    elect_config_init(&large, ELECT_BULLY, more, 5, 1, 0);
    elect_config_init(&other, ELECT_BULLY, others, 2, 1, 0);
    saved.membership =
        (struct elect_membership){.stamp = 4, .version = 3, .members = 6, .voters = 7, .before = 3};
    saved.closed[2] = (elect_term)44 << 16 | 9;
    whole.incarnation = 12;
    whole.peers = 1;
    whole.peer[0] = (struct state_peer){.id = 9, .known = {.incarnation = 3}};
    saved_store(&small, &saved, &whole, group);
    assert_true(saved_load(&large, &whole, group, &back, &whom));
    assert_int_equal(back.promised, 9);
    assert_int_equal(back.incarnation, 12);
    assert_int_equal(back.membership.members, SET(3) | SET(4)); /* members 7 and 9 */
    assert_int_equal(back.membership.voters, SET(1) | SET(3) | SET(4));
    assert_int_equal(back.membership.before, SET(1) | SET(3));
    assert_int_equal(back.closed[4], saved.closed[2]);
    assert_int_equal(back.met[4], 3);
    assert_false(saved_load(&other, &whole, group, &back, &whom));
    assert_int_equal(whom, 9);
    back = (struct elect_saved){.membership = {.members = 3, .voters = 3, .before = 3}};
    /* member 9 was removed, but its term stays closed */
    saved_store(&other, &back, &whole, group);
    assert_true(saved_load(&small, &whole, group, &back, &whom));
    assert_int_equal(back.closed[2], saved.closed[2]);
    back.met[2] = ELECT_STARTS; /* member 9 has lost its state and has a new incarnation */
    saved_store(&small, &back, &whole, group);
    assert_int_equal(whole.peer[0].known.incarnation, 3);
    assert_true(saved_load(&small, &whole, group, &back, &whom));
    assert_int_equal(back.met[2], ELECT_STARTS);
}

static bool knows(const struct state *s, uint16_t id)
{
    for (unsigned i = 0; i < s->peers; i++)
        if (s->peer[i].id == id)
            return true;
    return false;
}

static void removed_members_stay_while_there_is_room(void **state)
{
    struct state *s = some_state(); /* member 7 votes */
    uint16_t id[SESSION_PEERS] = {7, 1000, 1001};
    (void)state;
    s->node = 1000;
    s->peers = SESSION_PEERS;
    for (uint16_t i = 0; i < SESSION_PEERS; i++)
        s->peer[i] = (struct state_peer){.id = i, .known = {.sequence = 100u + (i + 44u) % 64}};
    /* member 7: lowest sequence number, but configured */
    s->peer[7].known.sequence = 0;
    /* member 20: next lowest sequence number, but a voter */
    s->group[3].member[0].id = 20;
    assert_null(saved_begin(s, id, 3));
    assert_int_equal(s->peers, SESSION_PEERS);
    assert_false(knows(s, 1000) || knows(s, 21));
    assert_true(knows(s, 1001) && knows(s, 7) && knows(s, 20) && knows(s, 22));
    /* member 1001 has replaced member 21, and nothing is known about it yet */
    assert_int_equal(s->peer[21].known.sequence, 0);
    assert_null(saved_begin(s, id, 3));
    assert_true(knows(s, 22));
    for (uint16_t i = 1; i < SESSION_PEERS; i++)
        id[i] = (uint16_t)(1000 + i);
    id[0] = 1000;
    /* as many members as the file can hold peers */
    assert_null(saved_begin(s, id, SESSION_PEERS));
    for (unsigned i = 1; i < SESSION_PEERS; i++)
        assert_true(knows(s, id[i]));
    /* room is left for one voter that is no longer configured */
    assert_true(knows(s, 20) || knows(s, 7));
}

static void the_starts_of_an_era_do_not_run_into_the_next_one(void **state)
{
    struct state *s = some_state();
    (void)state;
    s->incarnation = 5 * ELECT_STARTS - 2;
    assert_null(saved_begin(s, NULL, 0));
    s->incarnation++;
    assert_string_equal(saved_begin(s, NULL, 0),
                        "it was used for too many starts: move it away, then run elect readmit");
    s->incarnation++;
    assert_null(saved_begin(s, NULL, 0));
}

/* ---- a real file ---- */

static char folder[32], path[64], link_path[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/elect-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/state", folder);
    snprintf(link_path, sizeof link_path, "%s/link", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    unlink(link_path);
    return rmdir(folder);
}

static void a_state_file_is_created_once_and_used_by_one_process(void **state)
{
    struct file f, second;
    struct state *s = some_state();
    int error;
    (void)state;
    assert_int_equal(file_open(&f, path), FILE_MISSING);
    assert_int_equal(file_create(path, &store, s, &error), FILE_FINE);
    assert_int_equal(file_create(path, &store, s, &error), FILE_EXISTS);
    assert_int_equal(file_open(&f, path), FILE_FINE);
    assert_int_equal(file_open(&second, path), FILE_LOCKED);
    struct store_file real = file_store(&f);
    assert_int_equal(store_open(&store, &real, s), STORE_FINE);
    s->group[1].promised = 4711;
    assert_int_equal(store_write(&store, s), STORE_FINE);
    file_close(&f);
    assert_int_equal(file_open(&f, path), FILE_FINE);
    s->group[1].promised = 0;
    assert_int_equal(store_open(&store, &real, s), STORE_FINE);
    assert_int_equal(s->group[1].promised, 4711);
    file_close(&f);
    assert_int_equal(chmod(path, 0620), 0);
    assert_int_equal(file_open(&f, path), FILE_NOT_MINE);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(symlink(path, link_path), 0);
    assert_int_equal(file_open(&f, link_path), FILE_NOT_MINE);
    assert_int_equal(truncate(path, STORE_SIZE - 1), 0);
    assert_int_equal(file_open(&f, path), FILE_SIZE);
    assert_int_equal(file_create("/nowhere/at/all", &store, s, &error), FILE_IO);
    assert_string_equal(file_text(FILE_LOCKED), "another process uses it");
}

#define MAKERS 16

/* Forks a process that calls file_create() once its parent closes `gate`, and exits with the
 * result. */
static pid_t make_when_told(const int gate[2])
{
    pid_t child = fork();
    char none;
    int error;
    if (child != 0)
        return child;
    close(gate[1]);
    _exit(read(gate[0], &none, 1) == 0 ? (int)file_create(path, &store, some_state(), &error)
                                       : FILE_ERROR_COUNT);
}

static unsigned entries(void)
{
    DIR *d = opendir(folder);
    unsigned count = 0;
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        count++;
    closedir(d);
    return count - 2; /* without . and .. */
}

static void one_of_many_simultaneous_creators_makes_the_state_file(void **state)
{
    int gate[2], status;
    pid_t maker[MAKERS];
    unsigned told[FILE_ERROR_COUNT + 1] = {0};
    struct file f;
    (void)state;
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    for (unsigned i = 0; i < MAKERS; i++)
        assert_true((maker[i] = make_when_told(gate)) > 0);
    close(gate[0]);
    close(gate[1]);
    for (unsigned i = 0; i < MAKERS; i++) {
        assert_int_equal(waitpid(maker[i], &status, 0), maker[i]);
        told[WIFEXITED(status) ? WEXITSTATUS(status) : FILE_ERROR_COUNT]++;
    }
    assert_int_equal(told[FILE_FINE], 1);
    assert_int_equal(told[FILE_EXISTS], MAKERS - 1);
    assert_int_equal(entries(), 1);
    struct state *s = some_state();
    assert_int_equal(file_open(&f, path), FILE_FINE);
    struct store_file real = file_store(&f);
    assert_int_equal(store_open(&store, &real, s), STORE_FINE);
    assert_int_equal(s->sequence, 1);
    file_close(&f);
}

static void a_name_that_is_too_long_is_reported_and_leaves_nothing_open(void **state)
{
    /* the file's name is too long in one path, and the folder's name in the other */
    static const char *const form[] = {"%s/%0300d", "%s/%05000d/y"};
    char longer[6000];
    int error = 0, next = dup(0);
    (void)state;
    close(next);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(longer, sizeof longer, form[i], folder, 0);
        error = errno = 0;
        assert_int_equal(file_create(longer, &store, some_state(), &error), FILE_IO);
        assert_int_equal(error, ENAMETOOLONG);
    }
    assert_int_equal(dup(0), next);
    close(next);
    assert_int_equal(entries(), 0);
}

/* ---- the filter ---- */

static void only_known_tags_come_in(void **state)
{
    int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof here;
    uint32_t tags[] = {7, 0x01020304};
    uint8_t bytes[SEAL_MAX_PACKET], got[SEAL_MAX_PACKET];
    (void)state;
    assert_int_equal(bind(in, (struct sockaddr *)&here, sizeof here), 0);
    assert_int_equal(getsockname(in, (struct sockaddr *)&here, &length), 0);
    assert_true(filter_attach(in, tags, 2, FILTER_NONE, NULL, 0));
    size_t size = packet(bytes);
    bytes[SEAL_TAG_OFFSET] ^= 1;
    sendto(out, bytes, size, 0, (struct sockaddr *)&here, length);
    sendto(out, bytes, 3, 0, (struct sockaddr *)&here, length);
    size = packet(bytes);
    sendto(out, bytes, size, 0, (struct sockaddr *)&here, length);
    assert_int_equal(recv(in, got, sizeof got, 0), size);
    assert_memory_equal(bytes, got, size);
    assert_int_equal(recv(in, got, sizeof got, MSG_DONTWAIT), -1);
    assert_true(filter_attach(in, tags, 1, FILTER_NONE, NULL, 0));
    sendto(out, bytes, size, 0, (struct sockaddr *)&here, length);
    assert_int_equal(recv(in, got, sizeof got, MSG_DONTWAIT), -1);
    filter_detach(in);
    sendto(out, bytes, size, 0, (struct sockaddr *)&here, length);
    assert_int_equal(recv(in, got, sizeof got, 0), size);
    close(in);
    close(out);
}

static void samples_are_hellos_and_other_protocols(void **state)
{
    int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof here;
    uint32_t tag = 7;
    uint8_t bytes[SEAL_MAX_PACKET], got[SEAL_MAX_PACKET];
    (void)state;
    assert_int_equal(bind(in, (struct sockaddr *)&here, sizeof here), 0);
    assert_int_equal(getsockname(in, (struct sockaddr *)&here, &length), 0);
    assert_true(filter_attach(in, &tag, 1, FILTER_ANY, NULL, 0));
    size_t size = packet(bytes);
    for (uint8_t type = 0; type <= PACKET_TESTAMENT + 1; type++) {
        bytes[SEAL_TYPE_OFFSET] = type;
        sendto(out, bytes, size, 0, (struct sockaddr *)&here, length);
        bool comes = recv(in, got, sizeof got, MSG_DONTWAIT) == (ssize_t)size;
        assert_int_equal(comes, type == PACKET_HELLO);
    }
    bytes[0] ^= 1;
    sendto(out, bytes, size, 0, (struct sockaddr *)&here, length);
    assert_int_equal(recv(in, got, sizeof got, 0), size);
    close(in);
    close(out);
}

static union elect_address loopback(int family)
{
    union elect_address a = {.any = {.sa_family = (sa_family_t)family}};
    if (family == AF_INET6)
        a.six.sin6_addr = in6addr_loopback;
    else
        a.four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static int bound_to(union elect_address *a)
{
    socklen_t length = sizeof *a;
    int fd = socket(a->any.sa_family, SOCK_DGRAM, 0);
    if (bind(fd, &a->any, a->any.sa_family == AF_INET6 ? sizeof a->six : sizeof a->four) != 0) {
        close(fd);
        return -1;
    }
    assert_int_equal(getsockname(fd, &a->any, &length), 0);
    return fd;
}

static void samples_come_from_configured_addresses(int family)
{
    union elect_address here = loopback(family), peer[3], strange = loopback(family);
    uint8_t bytes[SEAL_MAX_PACKET], got[SEAL_MAX_PACKET];
    const uint32_t tag = 7;
    int in = bound_to(&here), other = bound_to(&strange), out[3];
    if (in < 0) {
        close(other);
        SKIP_PART("IPv6", "needs ::1");
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        peer[i] = loopback(family);
        out[i] = bound_to(&peer[i]);
    }
    assert_true(filter_attach(in, &tag, 1, FILTER_CONFIGURED, peer, 3));
    size_t size = packet(bytes);
    bytes[SEAL_TYPE_OFFSET] = PACKET_HELLO;
    for (unsigned i = 0; i < 3; i++) {
        sendto(out[i], bytes, size, 0, &here.any, sizeof here);
        assert_int_equal(recv(in, got, sizeof got, MSG_DONTWAIT), size);
    }
    sendto(other, bytes, size, 0, &here.any, sizeof here);
    assert_int_equal(recv(in, got, sizeof got, MSG_DONTWAIT), -1);
    bytes[SEAL_TYPE_OFFSET] = PACKET_DATA;
    sendto(out[0], bytes, size, 0, &here.any, sizeof here);
    assert_int_equal(recv(in, got, sizeof got, MSG_DONTWAIT), -1);
    for (unsigned i = 0; i < 3; i++)
        close(out[i]);
    close(other);
    close(in);
}

static void samples_may_be_limited_to_configured_addresses(void **state)
{
    (void)state;
    samples_come_from_configured_addresses(AF_INET);
    samples_come_from_configured_addresses(AF_INET6);
}

#define NOT_HERE 77

/* Enters a network namespace that limits the memory of filters as kernels before 6.8 do. */
static bool enter_small_network(void)
{
    static const char least[] = "20480";
    if (unshare(geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return false;
    int fd = open("/proc/sys/net/core/optmem_max", O_WRONLY);
    bool fine = fd >= 0 && write(fd, least, strlen(least)) == (ssize_t)strlen(least);
    if (fd >= 0)
        close(fd);
    return fine;
}

/* Returns 0 if a filter for the largest cluster can be attached, whichever packets it samples. */
static int filter_in_a_small_network(void)
{
    static const enum filter_samples samples[] = {FILTER_ANY, FILTER_CONFIGURED, FILTER_NONE,
                                                  FILTER_CONFIGURED, FILTER_ANY};
    static struct net n = {.links = 1};
    static struct elect_peer peer[SESSION_PEERS];
    uint32_t tags[SESSION_PEERS * 8];
    const unsigned count = sizeof tags / sizeof tags[0];
    if (!enter_small_network())
        return NOT_HERE;
    for (unsigned i = 0; i < count; i++)
        tags[i] = i + 1;
    for (unsigned i = 0; i < SESSION_PEERS; i++) {
        peer[i].links = 1;
        peer[i].link[0] = loopback(AF_INET6);
        peer[i].link[0].six.sin6_port = htons((uint16_t)(i + 1));
    }
    n.fd[0] = socket(AF_INET6, SOCK_DGRAM, 0);
    for (unsigned i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        socklen_t instructions = 0;
        net_filter(&n, tags, count, samples[i], peer, SESSION_PEERS);
        if (getsockopt(n.fd[0], SOL_SOCKET, SO_GET_FILTER, NULL, &instructions) != 0 ||
            instructions == 0)
            return 1;
    }
    return 0;
}

static void a_large_cluster_has_a_filter(void **state)
{
    int status;
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(filter_in_a_small_network());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_HERE)
        SKIP_CASE("needs a network namespace, and Linux 6.8");
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_of_a_packet_is_authenticated),
        cmocka_unit_test(bytes_that_are_not_a_packet_are_refused),
        cmocka_unit_test(a_state_is_read_as_it_was_written),
        cmocka_unit_test(one_intact_copy_suffices_and_none_is_reported),
        cmocka_unit_test(an_unreadable_slot_does_no_harm_beside_an_intact_one),
        cmocka_unit_test(the_state_of_another_member_is_refused),
        cmocka_unit_test(an_error_is_reported_and_nothing_is_acknowledged),
        cmocka_unit_test(a_state_means_the_same_in_another_configuration),
        cmocka_unit_test(removed_members_stay_while_there_is_room),
        cmocka_unit_test(the_starts_of_an_era_do_not_run_into_the_next_one),
        cmocka_unit_test_setup_teardown(a_state_file_is_created_once_and_used_by_one_process,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(one_of_many_simultaneous_creators_makes_the_state_file,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_name_that_is_too_long_is_reported_and_leaves_nothing_open,
                                        make_folder, remove_folder),
        cmocka_unit_test(only_known_tags_come_in),
        cmocka_unit_test(samples_are_hellos_and_other_protocols),
        cmocka_unit_test(samples_may_be_limited_to_configured_addresses),
        cmocka_unit_test(a_large_cluster_has_a_filter),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
