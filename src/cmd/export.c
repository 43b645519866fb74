/* Converts a cluster's history to a scenario and plays it before saving it, to show whether it
 * ends with the same leader. */
#include "export.h"

#include "../base/access.h"
#include "../history/script.h"
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *leader_of(const struct history *h)
{
    return json_string_value(json_object_get(history_group(h), "leader"));
}

static void compare(const struct history *h, const char *file, unsigned leads, bool known)
{
    const char *now = leader_of(h);
    printf("%s: written for elect sim", file);
    if (now == NULL)
        puts("; no leader is known now, so its end was not compared");
    else if (known && leads == history_id(h, history_member(h, now)))
        printf("; its replay ends as the history did: %s leads\n", now);
    else if (known)
        printf("; its replay ends differently: member %u leads there, and %s in the cluster\n",
               leads, now);
    else
        printf(
            "; its replay ends differently: no member leads there, and %s leads in the cluster\n",
            now);
}

int export_history(struct asked_for *a, const char *file)
{
    int status;
    struct text why;
    struct outcome outcome;
    if (*file == '\0' || strcmp(file, "-") == 0)
        return args_complain(a->verb, "--export", "expected the name of a file");
    if (!save_possible(file)) {
        args_complain(a->verb, file, access_text(errno, file, ACCESS_MAKE));
        return EXIT_IO;
    }
    struct history *h = ask_history(a, &status);
    if (h == NULL)
        return status;
    char *script = history_mandated(h) ? history_script(h) : NULL;
    text_clear(&why);
    char *story = script != NULL ? save_replay(script, PROPERTY_COUNT, &why, &outcome) : NULL;
    if (script == NULL)
        status = ask_complain(a->verb, EXIT_NO,
                              history_mandated(h)
                                  ? "no leader is recorded"
                                  : "only the history of a cluster with a mandate can be exported");
    else if (story == NULL)
        status = ask_complain(a->verb, EXIT_NO, why.bytes);
    else
        status = save_scenario(a->verb, "--export", file, script, story) ? EXIT_FINE : EXIT_IO;
    if (status == EXIT_FINE && !a->quiet)
        compare(h, file, outcome.leader, outcome.agreed);
    free(script);
    free(story);
    history_free(h);
    return status;
}
