/* Opens a descriptor with which the runner receives its signals, and classifies them. */
#include "signals.h"

#include "tree.h"

#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

bool signals_end(int number)
{
    return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
}

int signals_open(void)
{
    static const int ours[] = {SIGHUP,  SIGINT,   SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
                               SIGTERM, SIGCHLD,  SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU,
                               SIGPIPE, SIGWINCH, SIGURG,  SIGIO,   SIGPWR,  SIGVTALRM};
    sigset_t set;
    sigemptyset(&set);
    for (unsigned i = 0; i < sizeof ours / sizeof ours[0]; i++)
        sigaddset(&set, ours[i]);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        sigaddset(&set, number);
    signal(SIGCHLD, SIG_DFL); /* if SIGCHLD is ignored, waitpid() cannot report a child */
    if (sigprocmask(SIG_SETMASK, &set, NULL) != 0)
        return -1;
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int signals_next(int signals)
{
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == sizeof info) {
        int number = (int)info.ssi_signo;
        if (number == SIGCHLD || number == SIGPIPE || number == SIGTSTP || number == SIGTTIN ||
            number == SIGTTOU) /* a stopped runner could not enforce the deadline */
            continue;
        /* TREE_ENDED from the kernel reports the end of a health check, and is not passed on. */
        if (number == TREE_ENDED && info.ssi_code > 0)
            continue;
        return number;
    }
    return 0;
}
