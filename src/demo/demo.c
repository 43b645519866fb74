/* Main loop of the demonstration: handles signals, keys and the members' answers, and draws the
 * view. */
#include "demo.h"
#include "guide.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* microseconds between redraws, and between rounds of requests to the members */
#define TICK              100000
#define COLUMNS_OF_A_HINT 80
#define OTHERS            2 /* file descriptors besides the terminal and the monitor's */

/* ---- start and end ---- */

static int take_signals(void)
{
    static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGTSTP,
                                  SIGCONT, SIGPIPE, SIGWINCH, SIGCHLD};
    sigset_t set;
    sigemptyset(&set);
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool demo_begin(struct demo *d, struct text *complaint)
{
    d->signals = take_signals();
    d->began = boottime_now();
    if (!cluster_begin(&d->cluster, complaint))
        return false;
    monitor_begin(&d->monitor, &d->cluster);
    for (unsigned i = 0; i < d->cluster.members; i++)
        demo_order(d, ORDER_START, i);
    return true;
}

void demo_end(struct demo *d)
{
    if (d->cluster.terminal >= 0)
        screen_leave(&d->cluster);
    monitor_end(&d->monitor);
    cluster_end(&d->cluster);
}

/* ---- orders ---- */

void demo_order(struct demo *d, enum order order, unsigned member)
{
    assert(member < d->cluster.members);
    static const char *const texts[] = {
        [ORDER_START] = "%u starts",
        [ORDER_KILL] = "kill -9 of %u: its guardian reports the death",
        [ORDER_CRASH] = "kill -9 of %u and of its guardian, as if the machine were lost",
        [ORDER_STOP] = "%u and its guardian are stopped (SIGSTOP)",
        [ORDER_CONTINUE] = "%u continues",
    };
    char text[MONITOR_TEXT];
    bool runs = atomic_load(&d->cluster.page->runs[member]);
    if (order == ORDER_CONTINUE && !runs)
        order = ORDER_START;
    if (runs != (order != ORDER_START))
        return;
    if (!cluster_order(&d->cluster, order, member)) {
        d->lost = true;
        return;
    }
    int64_t at = atomic_load(&d->cluster.page->done[member]);
    snprintf(text, sizeof text, texts[order], member + 1);
    monitor_note(&d->monitor, at, text);
    if (order == ORDER_KILL || order == ORDER_CRASH)
        monitor_killed(&d->monitor, member, at);
}

static void demo_part(struct demo *d, unsigned member, bool off)
{
    char text[MONITOR_TEXT];
    atomic_store(&d->cluster.page->part[member], (uint8_t)(off ? member + 1 : 0));
    snprintf(text, sizeof text, off ? "%u is cut off from all others" : "%u is connected again",
             member + 1);
    monitor_note(&d->monitor, boottime_now(), text);
}

void demo_heal(struct demo *d)
{
    for (unsigned i = 0; i < d->cluster.members; i++)
        atomic_store(&d->cluster.page->part[i], 0);
    monitor_note(&d->monitor, boottime_now(), "the network is whole again");
}

static void next_algorithm(struct demo *d)
{
    char text[MONITOR_TEXT];
    d->changing = true;
    d->cluster.algorithm = (uint8_t)((d->cluster.algorithm + 1) % ELECT_ALGORITHM_COUNT);
    for (unsigned i = 0; i < d->cluster.members; i++)
        demo_order(d, ORDER_CRASH, i);
    for (unsigned i = 0; i < d->cluster.members && !d->lost; i++)
        while (atomic_load(&d->cluster.page->runs[i]) && demo_turn(d)) {
        }
    d->lost = d->lost || !cluster_configure(&d->cluster, &d->why);
    snprintf(text, sizeof text, "all start again with %s: %.100s",
             elect_algorithm_name((enum elect_algorithm)d->cluster.algorithm),
             elect_algorithm_text((enum elect_algorithm)d->cluster.algorithm));
    monitor_note(&d->monitor, boottime_now(), text);
    for (unsigned i = 0; i < d->cluster.members && !d->lost && !d->quits; i++)
        demo_order(d, ORDER_START, i);
    d->changing = false;
}

/* ---- a turn ---- */

/* Handles ^Z: stops this process but not the daemons. */
static void suspend(struct demo *d)
{
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGTSTP);
    if (d->cluster.terminal >= 0)
        screen_leave(&d->cluster);
    raise(SIGTSTP);
    /* SIGTSTP stops this process as soon as it is unblocked, unless the process group is
     * orphaned. */
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    sigprocmask(SIG_BLOCK, &only, NULL);
    if (d->cluster.terminal >= 0)
        screen_enter(&d->cluster);
}

static void take_signal(struct demo *d)
{
    struct signalfd_siginfo info;
    while (read(d->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int number = (int)info.ssi_signo;
        if (number == SIGTSTP)
            suspend(d);
        else if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT ||
                 number == SIGPIPE)
            d->ended = number;
    }
}

/* Makes the leader the target of the next keys, unless there are several or the user has chosen
 * another member. */
static void choose_leader(struct demo *d)
{
    unsigned leader[CLUSTER_MEMBERS];
    if (!d->by_hand && monitor_leaders(&d->monitor, leader) == 1)
        d->chosen = leader[0];
}

static unsigned tried(char key)
{
    switch (key) {
    case 'k': return TRIED_KILL;
    case 'K': return TRIED_CRASH;
    case 'x': return TRIED_CUT;
    case 's': return TRIED_STOP;
    case 'r': return TRIED_RESIGN;
    case 'a': return TRIED_ALGORITHM;
    default: return 0;
    }
}

static void order_resignation(struct demo *d, unsigned member)
{
    char text[MONITOR_TEXT];
    if (monitor_answers(&d->monitor, member)) {
        monitor_resign(&d->monitor, member);
        return;
    }
    snprintf(text, sizeof text, "%u does not answer, so it cannot be asked to resign", member + 1);
    monitor_note(&d->monitor, boottime_now(), text);
}

/* Continues a stopped process, or starts a dead one. A process that does not answer may have been
 * stopped from outside, so it is continued, too. */
static void order_continuation(struct demo *d, unsigned member)
{
    const struct cluster_page *page = d->cluster.page;
    char text[MONITOR_TEXT];
    if (!atomic_load(&page->runs[member]) || atomic_load(&page->stands[member]) ||
        !monitor_answers(&d->monitor, member)) {
        demo_order(d, ORDER_CONTINUE, member);
        return;
    }
    snprintf(text, sizeof text, "%u runs already, so c has no effect", member + 1);
    monitor_note(&d->monitor, boottime_now(), text);
}

static void report_unknown(struct demo *d, char key)
{
    char text[MONITOR_TEXT];
    snprintf(text, sizeof text, "unknown key %c: press ? for the list of keys", key);
    monitor_note(&d->monitor, boottime_now(), text);
}

static void press(struct demo *d, char key)
{
    unsigned number = (unsigned)(key - '1'), c = d->chosen;
    if (key == '?')
        d->help = d->help < screen_help_pages(&d->cluster) ? d->help + 1 : 0;
    else if (d->help != 0 && key != 'q')
        key = ' '; /* this key only closes the help */
    if (key != '?')
        d->help = 0;
    if (d->changing && key != 'q')
        return;
    d->tried |= tried(key);
    bool off = atomic_load(&d->cluster.page->part[c]) != 0;
    switch (key) {
    case 'l': d->by_hand = false; break;
    case 'k': demo_order(d, ORDER_KILL, c); break;
    case 'K': demo_order(d, ORDER_CRASH, c); break;
    case 's': demo_order(d, ORDER_STOP, c); break;
    case 'c': order_continuation(d, c); break;
    case 'x': demo_part(d, c, !off); break;
    case 'h': demo_heal(d); break;
    case 'r': order_resignation(d, c); break;
    case 'a': d->next_algorithm = true; break;
    case 'q': d->quits = true; break;
    default:
        if (number < d->cluster.members) {
            d->chosen = number;
            d->by_hand = true;
        } else if (key > ' ' && key <= '~' && key != '?') {
            report_unknown(d, key);
        }
    }
}

static void take_keys(struct demo *d)
{
    char keys[64];
    ssize_t got = read(STDIN_FILENO, keys, sizeof keys);
    if (got < 0 && errno != EAGAIN && errno != EINTR)
        d->ended = SIGHUP;
    for (ssize_t i = 0; i < got; i++)
        if (keys[i] == '\x1b') /* ignore escape sequences such as arrow keys */
            return;
        else
            press(d, keys[i]);
}

static int wait_for(const struct demo *d, struct pollfd *fd)
{
    int64_t left = (d->next - boottime_now()) / 1000 + 1;
    unsigned count = OTHERS;
    fd[0] = (struct pollfd){.fd = d->signals, .events = POLLIN};
    fd[1] = (struct pollfd){.fd = d->cluster.channel, .events = 0};
    if (d->cluster.terminal >= 0)
        fd[count++] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    count += monitor_poll(&d->monitor, fd + count);
    return poll(fd, count, left > 0 ? (int)left : 0);
}

bool demo_turn(struct demo *d)
{
    struct pollfd fd[OTHERS + 1 + CLUSTER_MEMBERS * MONITOR_ASKS];
    if (wait_for(d, fd) > 0) {
        if (fd[0].revents != 0)
            take_signal(d);
        d->lost = d->lost || fd[1].revents != 0;
        monitor_take(&d->monitor);
        if (d->cluster.terminal >= 0 && (fd[OTHERS].revents & (POLLHUP | POLLERR)) != 0)
            d->ended = SIGHUP;
        else if (d->cluster.terminal >= 0 && fd[OTHERS].revents != 0)
            take_keys(d);
    }
    if (boottime_now() >= d->next) {
        d->next = boottime_now() + TICK;
        monitor_look(&d->monitor);
        char hint[COLUMNS_OF_A_HINT];
        choose_leader(d);
        guide_hint(&d->monitor, d->tried, hint, sizeof hint);
        const struct view view = {&d->cluster, &d->monitor, d->chosen, d->began,
                                  d->colour,   d->help,     hint};
        if (d->cluster.terminal >= 0 && !screen_draw(&view))
            d->ended = SIGHUP;
    }
    return d->ended == 0 && !d->quits && !d->lost;
}

void demo_live(struct demo *d)
{
    screen_enter(&d->cluster);
    while (demo_turn(d)) {
        if (d->next_algorithm)
            next_algorithm(d);
        d->next_algorithm = false; /* ignore `a` keys pressed during the change */
    }
}
