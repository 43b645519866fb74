/* Texts of the live demonstration: help, hints and summary. */
#include "guide.h"

#include <stdio.h>

const char *const guide_help[] = {
    "WHAT YOU SEE",
    "Real daemons on this machine elect a leader. With mandate majority, it leads for one lease "
    "at a time, and only while a majority of the processes grants it.",
    "",
    "[*5*] leads   ( 4 ) follows   (z3z) is stopped   x2x is dead",
    "Dots connect neighbours that can reach each other. The table shows the state that each "
    "process "
    "reports, and how many messages it sends and receives per second; > marks the chosen process. "
    "Below the table are the steps of all processes, with the seconds since the start.",
    "",
    "KEYS",
    "1 to 9  choose a process",
    "l  choose the leader, and after each change the new one (default)",
    "k  kill the process; its guardian reports the death: no wait for the lease",
    "K  kill its guardian, too, as if the machine were lost: wait for the lease",
    "s  stop the process and its guardian (SIGSTOP)",
    "c  continue the process, or start it again if it is dead",
    "x  cut the process off from the others; press again to reconnect it",
    "h  heal the network: connect all processes",
    "r  order the leader to resign, through this process",
    "a  start all processes again with the next algorithm",
    "?  show this help, page by page; any other key leaves it",
    "q  quit",
    NULL};

/* ---- hints ---- */

static bool suggest_repair(const struct monitor *m, char *text, size_t room)
{
    const struct cluster_page *page = m->cluster->page;
    for (unsigned i = 0; i < m->cluster->members; i++) {
        bool runs = atomic_load(&page->runs[i]);
        if (runs && !atomic_load(&page->stands[i]))
            continue;
        snprintf(text, room, "try %u, then c: %s process %u", i + 1, runs ? "continue" : "start",
                 i + 1);
        return true;
    }
    for (unsigned i = 0; i < m->cluster->members; i++)
        if (atomic_load(&page->part[i]) != 0) {
            snprintf(text, room, "try h: heal the network");
            return true;
        }
    return false;
}

void guide_hint(const struct monitor *m, unsigned tried, char *text, size_t room)
{
    static const struct {
        enum guide_tried key;
        const char *text;
    } hints[] = {
        {TRIED_KILL, "try k: kill the leader; another one leads within milliseconds"},
        {TRIED_CRASH, "try K: lose the leader's machine; the others wait for the lease"},
        {TRIED_CUT, "try x: cut the leader off; it stops before another one leads"},
        {TRIED_STOP, "try s: stop the leader; its lease runs out"},
        {TRIED_RESIGN, "try r: let the leader resign; another one leads immediately"},
        {TRIED_ALGORITHM, "try a: elect with another algorithm"},
    };
    unsigned leader[CLUSTER_MEMBERS], leaders = monitor_leaders(m, leader);
    text[0] = '\0';
    /* During an election, the user should watch the screen, not read hints. */
    if (leaders == 0 || suggest_repair(m, text, room))
        return;
    for (unsigned i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        bool resigns = m->cluster->mandate != ELECT_NO_MANDATE || hints[i].key != TRIED_RESIGN;
        if ((tried & hints[i].key) == 0 && resigns) {
            snprintf(text, room, "%s", hints[i].text);
            return;
        }
    }
}

/* ---- the summary ---- */

void guide_print_row(const char *what, int64_t took, const char *never)
{
    if (took < 0)
        printf("%-66s %10s\n", what, never);
    else
        printf("%-66s %7.1f ms\n", what, (double)took / 1000);
}

void guide_print_summary(const struct monitor *m, int64_t began, int64_t now)
{
    int64_t two = monitor_two_at_once(m, began, now), none = monitor_longest_gap(m, now);
    printf("In %.1f s, with %u processes, %s, mandate %s:\n", (double)(now - began) / 1e6,
           m->cluster->members, elect_algorithm_name((enum elect_algorithm)m->cluster->algorithm),
           cluster_mandate(m->cluster));
    printf("%-66s %10llu\n", "leaders that took office", (unsigned long long)m->opened);
    guide_print_row("longest time without a leader, after the first one", m->opened > 0 ? none : -1,
                    "no leader");
    guide_print_row("two led at once, for", two > 0 ? two : -1, "never");
}
