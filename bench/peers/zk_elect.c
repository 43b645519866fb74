/* Elects a leader with ZooKeeper's recipe for leader election and its C client:
 *     zk_elect CLAIMS SERVERS PATH SESSION-MS
 *
 * Each contender creates an ephemeral sequential node. The contender with the lowest node leads;
 * the others watch the next lower node. As the recipe's authors advise, a contender does not claim
 * to lead while it is disconnected, and claims again if it reconnects within its session. When the
 * session expires, it starts again with a new one. */
#include "claim.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#define PATH_ROOM 256
#define RETRY     100000000 /* nanoseconds before a failed call is repeated */

static int bell; /* eventfd: the client's thread wakes main() */
static atomic_int state;
static atomic_int watch_fired; /* the next lower node may have been removed */
static char own[PATH_ROOM], *own_name;

static void ring(void)
{
    uint64_t one = 1;
    if (write(bell, &one, sizeof one) < 0 && errno != EAGAIN)
        claim_give_up("eventfd", strerror(errno));
}

static void on_event(zhandle_t *z, int type, int new_state, const char *path, void *context)
{
    (void)z, (void)path, (void)context;
    if (type == ZOO_SESSION_EVENT)
        state = new_state;
    else
        watch_fired = 1;
    ring();
}

/* Waits up to `patience` nanoseconds for an event from the ZooKeeper client; -1 waits forever. */
static void wait_for_bell(int64_t patience)
{
    struct pollfd rung = {.fd = bell, .events = POLLIN};
    uint64_t count;
    if (claim_poll(&rung, 1, patience) == 1 && read(bell, &count, sizeof count) < 0 &&
        errno != EAGAIN)
        claim_give_up("eventfd", strerror(errno));
}

/* Returns a node's sequence number: the last ten characters of its name. */
static const char *sequence(const char *name)
{
    size_t length = strlen(name);
    return length < 10 ? name : name + length - 10;
}

/* Returns the next lower node, or NULL if this contender's is the lowest. */
static const char *next_lower(const struct String_vector *names)
{
    const char *best = NULL;
    for (int i = 0; i < names->count; i++)
        if (strcmp(sequence(names->data[i]), sequence(own_name)) < 0 &&
            (best == NULL || strcmp(sequence(names->data[i]), sequence(best)) > 0))
            best = names->data[i];
    return best;
}

/* Returns true if this contender has a node. The node may exist although the answer to its
 * creation was lost; with a second node, the contender would wait for itself. */
static bool is_enrolled(zhandle_t *z, const char *election, const char *mark)
{
    struct String_vector names;
    if (zoo_get_children(z, election, 0, &names) != ZOK)
        return false;
    own_name = NULL;
    for (int i = 0; i < names.count && own_name == NULL; i++)
        if (strncmp(names.data[i], mark, strlen(mark)) == 0) {
            snprintf(own, sizeof own, "%s", names.data[i]);
            own_name = own;
        }
    deallocate_String_vector(&names);
    return own_name != NULL;
}

static bool enroll_member(zhandle_t *z, const char *election)
{
    char mark[32], path[PATH_ROOM];
    int error = zoo_create(z, election, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
    if (error != ZOK && error != ZNODEEXISTS)
        return false;
    snprintf(mark, sizeof mark, "n-%d-", (int)getpid());
    if (is_enrolled(z, election, mark))
        return true;
    snprintf(path, sizeof path, "%s/%s", election, mark);
    return zoo_create(z, path, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, NULL, 0) ==
               ZOK &&
           is_enrolled(z, election, mark);
}

/* Returns 1 if this contender has the lowest node, 0 if it now watches the next lower one, and
 * -1 to be called again. */
static int look(zhandle_t *z, const char *election)
{
    struct String_vector names;
    struct Stat unused;
    char path[2 * PATH_ROOM];
    if (zoo_get_children(z, election, 0, &names) != ZOK)
        return -1;
    const char *other = next_lower(&names);
    int result = other == NULL ? 1 : 0;
    watch_fired = 0;
    if (other != NULL) {
        snprintf(path, sizeof path, "%s/%s", election, other);
        if (zoo_wexists(z, path, on_event, NULL, &unused) != ZOK)
            result = -1;
    }
    deallocate_String_vector(&names);
    return result;
}

static void contend(const char *servers, const char *election, int session)
{
    bool enrolled = false, lowest = false, looks = true;
    state = 0;
    zhandle_t *z = zookeeper_init(servers, on_event, session, NULL, NULL, ZOO_NO_LOG_CLIENTENV);
    if (z == NULL)
        claim_give_up(servers, strerror(errno));
    while (state != ZOO_EXPIRED_SESSION_STATE) {
        bool connected = state == ZOO_CONNECTED_STATE;
        if (connected && !enrolled)
            enrolled = enroll_member(z, election);
        if (connected && enrolled && !lowest && (looks || watch_fired)) {
            int seen = look(z, election);
            lowest = seen == 1;
            looks = seen < 0;
        }
        if (enrolled && !looks)
            claim_ready();
        if (state == ZOO_CONNECTED_STATE && lowest && !claim_leads())
            claim_set(true);
        else if (state != ZOO_CONNECTED_STATE && claim_leads())
            claim_set(false);
        wait_for_bell(connected && (!enrolled || looks) ? RETRY : -1);
    }
    claim_set(false);
    zookeeper_close(z);
}

int main(int count, char **argument)
{
    if (count != 5)
        claim_give_up("usage", "zk_elect CLAIMS SERVERS PATH SESSION-MS");
    bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell < 0)
        claim_give_up("eventfd", strerror(errno));
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    claim_open(argument[1]);
    for (;;)
        contend(argument[2], argument[3], (int)strtol(argument[4], NULL, 10));
}
