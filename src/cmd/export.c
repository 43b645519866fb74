/* elect history --export. */
#include "export.h"

#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *leader_of(const struct gathered *g)
{
    return json_string_value(json_object_get(gather_group(g), "leader"));
}

/* Whether the replay ends as the history did. */
static void compare(const struct gathered *g, const char *file, unsigned leads, bool known)
{
    const char *now = leader_of(g);
    printf("%s: elect sim replays it", file);
    if (now == NULL)
        puts("; nobody is known to lead here now");
    else if (known && leads == gather_id(g, gather_called(g, now)))
        printf(", and ends as it did: %s leads\n", now);
    else if (known)
        printf(", but ends otherwise: %u leads there, and %s here\n", leads, now);
    else
        printf(", but ends otherwise: nobody leads there, and %s here\n", now);
}

int export_history(struct asked_for *a, const char *file)
{
    int status;
    struct text why;
    struct outcome outcome;
    if (!save_possible(file))
        return args_complain(a->verb, "--export", "cannot be written there");
    struct gathered *g = gather_members(a, &status);
    if (g == NULL)
        return status;
    char *script = gather_mandated(g) ? export_script(g) : NULL;
    text_clear(&why);
    char *story = script != NULL ? save_replay(script, PROPERTY_COUNT, &why, &outcome) : NULL;
    if (script == NULL)
        status = ask_complain(a->verb, EXIT_NO,
                              gather_mandated(g) ? "no leader is recorded"
                                                 : "only the history of a cluster with a mandate");
    else if (story == NULL)
        status = ask_complain(a->verb, EXIT_NO, why.bytes);
    else
        status = save_scenario(a->verb, "--export", file, script, story) ? EXIT_FINE : EXIT_IO;
    if (status == EXIT_FINE && !a->quiet)
        compare(g, file, outcome.leader, outcome.agreed);
    free(script);
    free(story);
    gather_end(g);
    return status;
}
