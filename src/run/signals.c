/* Opens a descriptor with which the runner receives its signals, and classifies them. */
#include "signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

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
