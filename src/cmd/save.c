/* Saves a scenario together with the trace of its replay. */
#include "sim.h"

#include "../model/scenario.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a temporary file beside `save`, to replace it once complete. If `save` is a symbolic
 * link, the target is replaced. */
static FILE *open_beside(const char *save, char *file, char *name, size_t room)
{
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    mode_t mode = 0666 & ~mask;
    if (realpath(save, file) == NULL)
        snprintf(file, PATH_MAX, "%s", save);
    if (stat(file, &st) == 0) {
        mode = st.st_mode & 0777;
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        if (!S_ISREG(st.st_mode))
            return NULL;
    }
    errno = *save == '\0' ? ENOENT : ENAMETOOLONG;
    if (*save == '\0' || snprintf(name, room, "%s.XXXXXX", file) >= (int)room)
        return NULL;
    int fd = mkstemp(name);
    return fd >= 0 && fchmod(fd, mode) == 0 ? fdopen(fd, "w") : NULL;
}

/* Returns true if the file can be written. Refuses "-", which usually means standard output. */
bool save_possible(const char *save)
{
    char file[PATH_MAX], name[PATH_MAX + 8];
    errno = EINVAL;
    FILE *out = strcmp(save, "-") != 0 ? open_beside(save, file, name, sizeof name) : NULL;
    if (out == NULL)
        return false;
    fclose(out);
    unlink(name);
    return true;
}

bool save_scenario(const char *verb, const char *option, const char *save, const char *script,
                   const char *story)
{
    char file[PATH_MAX], name[PATH_MAX + 8];
    FILE *out = open_beside(save, file, name, sizeof name);
    bool written = out != NULL && fprintf(out, "%s" SCENARIO_STORY "\n%s", script, story) > 0;
    if (out != NULL && fclose(out) == 0 && written && rename(name, file) == 0)
        return true;
    args_complain(verb, option, strerror(errno));
    if (out != NULL)
        unlink(name);
    return false;
}

/* Parses the script from its text first, so that this replay equals that of the saved file. */
char *save_replay(const char *script, enum property property, struct text *complaint,
                  struct outcome *end)
{
    static struct scenario scenario;
    static struct play play;
    struct trace trace = {.collects = true};
    struct text outcome;
    unsigned line;
    play.tell = trace_happening;
    play.listener = &trace;
    if (!scenario_parse(&scenario, script, complaint, &line) ||
        !scenario_play(&scenario, &play, complaint, &line)) {
        free(trace.text);
        return NULL;
    }
    text_clear(&outcome);
    trace_outcome(&play, &outcome);
    trace_collect(&trace, outcome.bytes, outcome.length);
    if (end != NULL)
        outcome_of_play(end, &play);
    bool shown = property == PROPERTY_COUNT;
    for (unsigned i = 0; i < play.violations; i++)
        shown = shown || play.violation[i].property == property;
    if (!shown) {
        text_clear(complaint);
        text_add(complaint, "its replay does not show the violation");
        free(trace.text);
        return NULL;
    }
    return trace.text;
}
