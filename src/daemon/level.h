/* Log levels, with the numbers of syslog(3): smaller is more serious. */
#ifndef ELECT_DAEMON_LEVEL_H
#define ELECT_DAEMON_LEVEL_H

/* The most serious level first. The numbers must have no gaps. */
#define LEVEL_NAMES(X)                                                                             \
    X(ERROR, "error")                                                                              \
    X(WARNING, "warning")                                                                          \
    X(NOTICE, "notice")                                                                            \
    X(INFO, "info")                                                                                \
    X(DEBUG, "debug")

enum level {
    LEVEL_BEFORE = 2,
#define X(name, word) LEVEL_##name,
    LEVEL_NAMES(X)
#undef X
        LEVEL_END
};

#define LEVEL_FIRST LEVEL_ERROR
#define LEVEL_COUNT (LEVEL_END - LEVEL_FIRST)

static const char *const level_words[LEVEL_COUNT] = {
#define X(name, word) word,
    LEVEL_NAMES(X)
#undef X
};

#endif
