"""Waits for, finds and signals processes."""

import ctypes
import errno
import os
import pathlib
import select
import signal
import time

from .checks import Failure

LIMIT = int(os.environ.get("LIMIT", "120"))  # seconds until a wait fails; no other result depends on it
# The default timeout, a few seconds, suits interactive use. The tests wait up to LIMIT.
os.environ.setdefault("ELECT_TIMEOUT", str(LIMIT))
libc = ctypes.CDLL(None, use_errno=True)


def wait(what, holds, limit=LIMIT):
    """Calls holds() until it returns a true value, and returns that value. Fails after `limit` seconds. The last call begins
    after the limit, so a stall of this process alone does not cause a failure."""
    end = time.monotonic() + limit
    while True:
        last = time.monotonic() > end
        value = holds()
        if value:
            return value
        if last:
            raise Failure(f"{what}: not within {limit} s")
        time.sleep(0.01)


def die_with_parent(number=signal.SIGKILL):
    libc.prctl(1, number)  # PR_SET_PDEATHSIG


def adopt_orphans():
    """Makes this process adopt every orphaned descendant, so that `descendants` finds it."""
    libc.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def descendants():
    """Returns all descendants of this process, even those that are not dumpable, because any user may read a process's
    parent."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    found, more = set(), {os.getpid()}
    while more:
        more = {pid for pid, parent in parents.items() if parent in more}
        found |= more
    return sorted(found)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True


def children(pid):
    try:
        return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def state(pid):
    """Returns the state letter that ps shows, or "" if the process does not exist."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def member_of(guardian):
    """Returns the process id of this guardian's member, or None if that member is not running."""
    for child in children(guardian):
        try:
            if pathlib.Path(f"/proc/{child}/comm").read_text() == "elect-member\n":
                return child
        except OSError:
            pass
    return None


def pidfd(pid):
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def signal_both(guardian, number):
    """Sends a signal to a member and its guardian, as if their machine had failed, so that the guardian cannot report the
    member's death. After SIGKILL, waits until the member has exited and has no open sockets."""
    if guardian.poll() is not None:
        return
    os.kill(guardian.pid, signal.SIGSTOP)
    member = member_of(guardian.pid)
    if member is not None and (end := pidfd(member)) is not None:
        signal.pidfd_send_signal(end, number)  # still the member's process id: its stopped guardian cannot reap it
        if number == signal.SIGKILL:
            select.select([end], [], [], LIMIT)
        os.close(end)
    os.kill(guardian.pid, number)
    if number not in (signal.SIGSTOP, signal.SIGKILL):
        os.kill(guardian.pid, signal.SIGCONT)
