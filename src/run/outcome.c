/* Decides whether the end of a command hands leadership over, and why. */
#include "outcome.h"

#include <stdio.h>
#include <string.h>

const char *outcome_signal(int number)
{
    static char text[32];
    const char *name = sigabbrev_np(number);
    if (name != NULL)
        snprintf(text, sizeof text, "SIG%s", name);
    else
        snprintf(text, sizeof text, "signal %d", number);
    return text;
}

bool outcome_yields_if_killed(const struct run_options *o) { return o->on_exit != EXIT_HOLDS; }

bool outcome_was_told(const struct page *page, int status)
{
    int number = atomic_load(&page->ending);
    return number == SIGTERM || number == SIGINT || (number != 0 && status == EXIT_SIGNAL + number);
}

static void describe(struct outcome *to, const struct page *page, enum ended_part part, int status)
{
    const char *signal = status > EXIT_SIGNAL ? sigabbrev_np(status - EXIT_SIGNAL) : NULL;
    if (atomic_load(&page->unhealthy) != 0)
        snprintf(to->why, sizeof to->why, "%.*s", TALK_WHY - 1, page->complaint);
    else if (part != ENDED_COMMAND)
        snprintf(to->why, sizeof to->why, "its %s was killed",
                 part == ENDED_RUNNER ? "runner" : "keeper");
    else if (status == EXIT_NOT_FOUND || status == EXIT_CANNOT_RUN || status == EXIT_RUN_FAILED)
        snprintf(to->why, sizeof to->why, "its command could not be started (status %d)", status);
    else if (signal != NULL)
        snprintf(to->why, sizeof to->why, "its command was killed by SIG%s", signal);
    else
        snprintf(to->why, sizeof to->why, "its command exited with status %d", status);
}

struct outcome outcome_of(const struct run_options *o, const struct page *page,
                          enum ended_part part, int status)
{
    struct outcome is = {0};
    bool unhealthy = atomic_load(&page->unhealthy) != 0, killed = part != ENDED_COMMAND;
    bool ended = killed || (atomic_load(&page->phase) == PHASE_EMPTY && status != RUN_NOTHING);
    if (!unhealthy && (atomic_load(&page->lost) != 0 || !ended))
        return is;
    bool failed = unhealthy || killed || (status != 0 && !outcome_was_told(page, status));
    bool yields = unhealthy || o->on_exit == EXIT_YIELDS || (failed && o->on_exit != EXIT_HOLDS);
    is.flags = (uint8_t)((yields ? TALK_YIELDS : 0) | (failed ? TALK_FAILED : 0));
    describe(&is, page, part, status);
    return is;
}

void outcome_describe(const struct page *page, bool known, int status, char *how, size_t room)
{
    if (atomic_load(&page->unhealthy) != 0)
        snprintf(how, room, "%.*s", TALK_WHY - 1, page->complaint);
    else if (!known)
        snprintf(how, room, "all its processes were killed");
    else if (status > EXIT_SIGNAL && sigabbrev_np(status - EXIT_SIGNAL) != NULL)
        snprintf(how, room, "killed by %s", outcome_signal(status - EXIT_SIGNAL));
    else
        snprintf(how, room, "exit status %d", status);
}
