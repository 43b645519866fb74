/* Macros to skip cases, or parts of cases, that cannot run on this machine. tools/tier counts and
 * lists the lines that they print. */
#ifndef ELECT_TEST_SKIP_H
#define ELECT_TEST_SKIP_H

#include <unistd.h>

#define SKIP_PART(part, why) print_message("skipped: %s: %s\n", part, why)

#define SKIP_CASE(why)                                                                             \
    do {                                                                                           \
        SKIP_PART(__func__, why);                                                                  \
        skip();                                                                                    \
    } while (0)

#define NEEDS_ROOT()                                                                               \
    do {                                                                                           \
        if (geteuid() != 0)                                                                        \
            SKIP_CASE("needs root");                                                               \
    } while (0)

#endif
