"""Ends every process that a suite started, even if the suite itself is ended by a failure, ^C, a time limit or SIGKILL.

A suite consists of three processes. The front is the process that the caller started, so the caller knows its process id. The
sweeper is a child of the front. The suite itself is a child of the sweeper, and only in the suite does the call of `contain`
return. Front and sweeper adopt orphaned descendants, so that they find even a process that has left its parent, its process group
or its session.

When the suite has ended or the front has died, the sweeper kills all remaining processes. If the sweeper dies, the front kills
them. Front and sweeper are in different sessions and have different command lines, so a signal to a process group, or to all
processes with a certain name, does not reach both of them. If all three processes die at the same time, their descendants
survive."""

import os
import pathlib
import signal
import sys
import time

from .processes import adopt_orphans, descendants, die_with_parent

SWEEPER = str(pathlib.Path(__file__).resolve().with_name("sweeper.py"))
PATIENCE = 10  # seconds between SIGTERM and SIGKILL, so that nested suites can clean up
HURRY = 1  # the same for processes that a suite left running
PASSED_ON = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}


def send(number, pids):
    """Sends the signal to those of the processes that are still descendants. A process id that is no longer a descendant's may
    have been reused by an unrelated process."""
    ends = {}
    for pid in pids:
        try:
            ends[pid] = os.pidfd_open(pid)
        except OSError:
            pass
    still = set(descendants())
    for pid, end in ends.items():
        try:
            if pid in still:
                signal.pidfd_send_signal(end, number)
        except OSError:
            pass
        os.close(end)


def reap(wanted):
    """Reaps all children that have ended. Returns the status of the wanted child, or None if it still runs."""
    status = None
    while True:
        try:
            pid, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == wanted:
            status = how


def sweep(patience):
    """Ends all descendants, first with SIGTERM and after `patience` seconds with SIGKILL. Returns when no descendant is left."""
    end, told = time.monotonic() + patience, set()
    while True:
        reap(None)
        left = descendants()
        if not left:
            return
        if time.monotonic() > end:
            send(signal.SIGKILL, left)
        elif new := set(left) - told:
            send(signal.SIGTERM, new)
            told |= new
        time.sleep(0.01)


def watch(child, front=None):
    """Passes signals on to the child until it ends or the front dies, then ends all descendants. Returns the child's exit
    status."""
    while True:
        status = reap(child)
        if status is not None:
            sweep(PATIENCE if os.WIFSIGNALED(status) else HURRY)
            return os.waitstatus_to_exitcode(status)
        if front is not None and os.getppid() != front:
            sweep(PATIENCE)
            return -signal.SIGKILL
        number = signal.sigwait({signal.SIGCHLD, *PASSED_ON})
        if number in PASSED_ON and (front is None or os.getppid() == front):
            os.kill(child, number)


def leave(status):
    os._exit(status if status >= 0 else 128 - status)


def end_once(number, frame):
    """Ends the suite, which then cleans up. A second signal does not interrupt the cleanup."""
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, lambda number, frame: None)
    sys.exit(128 + number)


def start_sweeper(front, mask):
    """Turns this process into the sweeper. Returns only in the sweeper's child, which is the suite."""
    os.setsid()
    die_with_parent(signal.SIGTERM)  # sent when the front dies
    adopt_orphans()
    suite = os.fork()
    if suite > 0:
        os.execv(sys.executable, [sys.executable, "-IB", SWEEPER, str(front), str(suite)])
    die_with_parent(signal.SIGTERM)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # a signal that is ignored, as under nohup, stays ignored
            signal.signal(number, end_once)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def contain():
    """Makes this process the front, and starts the sweeper and the suite. Returns only in the suite."""
    front = os.getpid()
    if "ELECT_TIER" in os.environ:
        die_with_parent(signal.SIGTERM)  # if meson is killed, its children continue
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, *PASSED_ON})
    adopt_orphans()
    sweeper = os.fork()
    if sweeper == 0:
        start_sweeper(front, mask)
    else:
        leave(watch(sweeper))
