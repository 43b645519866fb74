/* The exit statuses of all verbs. elect(1) and elect-run(1) document them. */
#ifndef ELECT_BASE_EXIT_H
#define ELECT_BASE_EXIT_H

enum exit_status {
    EXIT_FINE = 0,
    EXIT_NO = 1, /* the answer is no, the request was refused, or an expectation was not met */
    EXIT_NO_LEADER = 2,
    EXIT_UNDECIDED = 2, /* sim, verify: no agreement, or the search was not completed */
    EXIT_NO_DAEMON = 3,
    EXIT_USAGE = 64, /* wrong arguments (64, 74, 75 and 78 are from sysexits.h) */
    EXIT_IO = 74,
    EXIT_NOT_NOW = 75, /* the daemon cannot start now, or has too many clients; try again later */
    EXIT_CONFIG = 78,  /* the configuration, the key or the state was rejected */
    /* statuses of elect run, which otherwise exits with the status of its command */
    EXIT_LOST = 75,    /* this member lost its leadership */
    EXIT_WAITED = 124, /* --max-wait has passed */
    EXIT_RUN_FAILED = 125,
    EXIT_CANNOT_RUN = 126, /* the command cannot be executed */
    EXIT_NOT_FOUND = 127,
    EXIT_SIGNAL = 128 /* 128 plus the number of the signal that killed the command */
};

#endif
