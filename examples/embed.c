/*
 * One member inside a program of its own: three of them on this machine choose one of themselves.
 *
 *     embed 1 KEY &  embed 2 KEY &  embed 3 KEY
 *
 * KEY is a file with 32 random bytes, the same for all (head -c 32 /dev/urandom > KEY). Each keeps
 * its state in the working directory. SIGINT: who leads hands over first.
 */
#include <elect-uv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMBERS 3 /* on ports 7501 to 7503 */
static const uint8_t cluster[ELECT_UV_CLUSTER] = "an example, 16 b";
static struct elect_member *member;
static uv_signal_t quit;
static uv_timer_t patience;
static int status;

static void leadership(void *context, const struct elect_news *news)
{
    static struct elect_news before;
    (void)context;
    if (news->works) { /* whatever works under this office stops here; then: */
        struct elect_input in = elect_happens(ELECT_STOPPED, elect_uv_now());
        elect_member_tell(member, news->group, &in);
    }
    if (news->known == before.known && news->leader == before.leader && news->term == before.term)
        return; /* a lease is renewed several times a second */
    before = *news;
    if (news->known)
        printf("%u leads%s, its token is %llu\n", news->leader, news->leads ? ", here" : "",
               (unsigned long long)news->term);
    else
        puts("nobody leads, as far as is known here");
    fflush(stdout);
}

static void failed(void *context, bool forbidden, const char *why)
{
    fprintf(stderr, "embed: %s\n", why);
    status = forbidden ? 78 : 74; /* 78: it must not be started again as it is */
    uv_stop(context);
}

static void ends(uv_timer_t *timer)
{
    if (!elect_in_office(elect_member_node(member, 0), elect_uv_now()))
        uv_stop(timer->loop);
}

static void signalled(uv_signal_t *handle, int number)
{
    struct elect_input in = elect_resigns(ELECT_NOBODY, elect_uv_now());
    (void)number;
    elect_member_tell(member, 0, &in); /* does nothing if it does not lead */
    uv_timer_start(&patience, ends, 0, 1);
    uv_signal_stop(handle);
}

static void configure(struct elect_peer peers[MEMBERS], struct elect_group *group)
{
    uint16_t ids[MEMBERS];
    for (uint16_t i = 0; i < MEMBERS; i++) {
        ids[i] = (uint16_t)(i + 1);
        peers[i] = (struct elect_peer){.id = ids[i], .links = 1};
        peers[i].link[0].four = (struct sockaddr_in){.sin_family = AF_INET,
                                                     .sin_port = htons((uint16_t)(7500 + ids[i])),
                                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    }
    /* In microseconds: a message takes 20 ms at most, the lease is 1 s, clocks differ by 1 %. */
    snprintf(group->name, sizeof group->name, "main");
    elect_config_init(&group->config, ELECT_BULLY, ids, MEMBERS, 20000, 20000);
    elect_config_mandate(&group->config, 1000000, 200000, 10000, 1);
}

int main(int argc, char **argv)
{
    static struct elect_peer peers[MEMBERS];
    static struct elect_group group;
    uv_loop_t *loop = uv_default_loop();
    char state[32], why[512] = "";
    struct elect_member_options options = {.loop = loop,
                                           .keys = 1,
                                           .key = {{.id = 1}},
                                           .state = state,
                                           .peers = MEMBERS,
                                           .peer = peers,
                                           .groups = 1,
                                           .group = &group,
                                           .announce = leadership,
                                           .fail = failed,
                                           .context = loop};
    bool forbidden = false;
    FILE *key = argc == 3 ? fopen(argv[2], "rb") : NULL;
    options.id = argc == 3 ? (uint16_t)strtoul(argv[1], NULL, 10) : 0;
    if (key == NULL || fread(options.key[0].key, ELECT_UV_KEY, 1, key) != 1) {
        fprintf(stderr, "usage: embed 1|2|3 KEY-FILE\n");
        return 64;
    }
    fclose(key);
    configure(peers, &group);
    memcpy(options.cluster, cluster, sizeof cluster);
    snprintf(state, sizeof state, "member-%u.state", options.id);
    /* Once in the life of a member. Who has lost this file must not make another: options.lost. */
    if ((access(state, F_OK) != 0 &&
         !elect_member_create(state, cluster, options.id, why, sizeof why)) ||
        (member = elect_member_start(&options, &forbidden, why, sizeof why)) == NULL) {
        fprintf(stderr, "embed: %s\n", why);
        return forbidden ? 78 : 75; /* later it may be another matter */
    }
    uv_timer_init(loop, &patience);
    uv_signal_init(loop, &quit);
    uv_signal_start(&quit, signalled, SIGINT);
    uv_run(loop, UV_RUN_DEFAULT);
    elect_member_stop(member);
    return status;
}
