/*
 * A program with its own libuv loop becomes a member of a cluster. Without the lines marked
 * "for Elect", every copy of the program works every 100 ms. With them, only one copy works at a
 * time, and another one takes over when it fails.
 *
 *     head -c 32 /dev/urandom > KEY
 *     embed 1 KEY 7501 7502 7503     and the same with 2 and 3, in the same folder or elsewhere
 *
 * The first argument is the member's number, and also the position of its port in the list. The
 * member keeps its state in the working directory. SIGINT ends the program; a leader hands over
 * first.
 */
#include <elect-uv.h> /* for Elect */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PERIOD 100 /* milliseconds */

static uv_timer_t pulse;
static uv_signal_t quit;
static int status;
static struct elect_member *member; /* for Elect */

/* ---- for Elect: the callbacks and the start of the member ---- */

/* Called when the leadership changes. If `works` is true, the member's term has ended, and the
 * work must stop before another member may lead. Here, the work runs only in another callback of
 * the same loop, so it has already stopped. */
static void leadership(void *context, const struct elect_news *news)
{
    (void)context;
    if (news->works) {
        struct elect_input in = elect_happens(ELECT_STOPPED, elect_uv_now());
        elect_member_tell(member, news->group, &in);
    }
}

/* Called when the member cannot continue. Exit status 78 tells a service manager not to restart
 * the program, because it would fail again with the same state and configuration. */
static void failed(void *context, bool forbidden, const char *why)
{
    fprintf(stderr, "embed: %s\n", why);
    status = forbidden ? 78 : 74;
    uv_stop(context);
}

static void configure(char **ports, unsigned count, struct elect_peer *peers,
                      struct elect_group *group)
{
    uint16_t ids[ELECT_MAX];
    for (unsigned i = 0; i < count; i++) {
        ids[i] = (uint16_t)(i + 1);
        peers[i] = (struct elect_peer){.id = ids[i], .links = 1};
        peers[i].link[0].four =
            (struct sockaddr_in){.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)strtoul(ports[i], NULL, 10)),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    }
    /* Times are in microseconds: at most 20 ms to deliver a message and 20 ms to process it; a
     * lease of 1 s, renewed every 200 ms. Clocks run at most 1 % too fast or too slow. */
    snprintf(group->name, sizeof group->name, "main");
    elect_config_init(&group->config, ELECT_BULLY, ids, count, 20000, 20000);
    elect_config_mandate(&group->config, 1000000, 200000, 10000, 1);
}

static bool read_key(const char *path, struct elect_key *key)
{
    FILE *file = fopen(path, "rb");
    bool fine = file != NULL && fread(key->key, ELECT_UV_KEY, 1, file) == 1;
    if (file != NULL)
        fclose(file);
    key->id = 1;
    return fine;
}

static void become_member(uv_loop_t *loop, unsigned count, char **argv)
{
    static struct elect_peer peers[ELECT_MAX];
    static struct elect_group group;
    char state[32], why[512] = "cannot read the key: the file must have at least 32 bytes";
    bool forbidden = false;
    struct elect_member_options options = {.loop = loop,
                                           .id = (uint16_t)strtoul(argv[1], NULL, 10),
                                           .cluster = "an example, 16 b",
                                           .keys = 1,
                                           .state = state,
                                           .peers = count,
                                           .peer = peers,
                                           .groups = 1,
                                           .group = &group,
                                           .announce = leadership,
                                           .fail = failed,
                                           .context = loop};
    configure(argv + 3, count, peers, &group);
    snprintf(state, sizeof state, "member-%u.state", options.id);
    /* Create the state file only once. If a member has lost it, set options.lost instead: the
     * member then asks the others what it had promised. */
    if (read_key(argv[2], &options.key[0]) &&
        (access(state, F_OK) == 0 ||
         elect_member_create(state, options.cluster, options.id, why, sizeof why)))
        member = elect_member_start(&options, &forbidden, why, sizeof why);
    if (member == NULL) {
        fprintf(stderr, "embed: %s\n", why);
        exit(forbidden ? 78 : 75); /* 75: a later attempt may succeed */
    }
}

static void end_when_handed_over(uv_timer_t *timer)
{
    if (!elect_in_office(elect_member_node(member, 0), elect_uv_now()))
        uv_stop(timer->loop);
}

/* ---- the original program, with lines added for Elect ---- */

static void work(uv_timer_t *timer)
{
    struct elect_news news = elect_member_status(member, 0); /* for Elect */
    (void)timer;
    if (!news.leads) /* for Elect */
        return;      /* for Elect */
    printf("works with token %llu\n", (unsigned long long)news.term);
}

static void signalled(uv_signal_t *handle, int number)
{
    struct elect_input in = elect_resigns(ELECT_NOBODY, elect_uv_now()); /* for Elect */
    (void)number;
    uv_signal_stop(handle);
    elect_member_tell(member, 0, &in);                  /* for Elect; ignored by a follower */
    uv_timer_start(&pulse, end_when_handed_over, 0, 1); /* for Elect, instead of uv_stop() */
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    if (argc < 4 || argc - 3 > ELECT_MAX) {
        fprintf(stderr, "usage: embed NUMBER KEY PORT...\n");
        return 64;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    become_member(loop, (unsigned)argc - 3, argv); /* for Elect */
    uv_timer_init(loop, &pulse);
    uv_timer_start(&pulse, work, 0, PERIOD);
    uv_signal_init(loop, &quit);
    uv_signal_start(&quit, signalled, SIGINT);
    uv_run(loop, UV_RUN_DEFAULT);
    elect_member_stop(member); /* for Elect */
    return status;
}
