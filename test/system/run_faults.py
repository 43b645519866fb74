#!/usr/bin/env python3
"""Tests elect run under faults: run_faults.py ELECT [CASE ... | --list] [--jobs N]

The workloads resist being killed, the runner and the keeper are killed or stopped at any moment, and the daemon is late,
silent, dead or wrong. No process of the work may survive or be alive after the deadline, by the clock of the daemon that
granted the lease and by the times that the workload writes. Runner and keeper are killed $DEATHS (default 120) times."""

import ctypes
import errno
import os
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
from lib.cases import case  # noqa: E402
from lib.checks import NotHere, expect, holds, is_root, need_root  # noqa: E402
from lib.fake_daemon import Fake, MARGIN, SHORT, TERM, boottime  # noqa: E402
from lib.processes import LIMIT, children, die_with_parent, state, wait  # noqa: E402
from lib.runner import HOSTILE, UNPRIVILEGED, OBEYS, Run, begin, main, ran  # noqa: E402

DEATHS = int(os.environ.get("DEATHS", "120"))


# ---- workloads that resist being killed ----

@case
def hostile_workloads(_):
    with Fake() as f:
        rows = [(mode, number, SHORT["lease"]) for mode, number in (("ignore", 0), ("tree", 20), ("threads", 10), ("chain", 2), ("bomb", 100),
                                                               ("memory", 1024), ("output", 0), ("stopped", 0))]
        if is_root("hostile-workloads/lease-of-60-ms"):  # a busy machine may need longer without a real-time priority
            rows += [("tree", 10, 60_000), ("ignore", 0, 60_000)]
        for mode, number, lease in rows:
            f.renews, f.lease, f.renewal = True, lease, 12_000 if lease == 60_000 else 100_000
            with Run(f, *[] if lease == 60_000 else MARGIN, "--", HOSTILE, "BEAT", mode, str(number)) as r:
                forked = min(number, 1) if mode == "memory" else number
                # A lease of 60 ms may end before the workload has forked all its processes, but even then none may be alive
                # afterwards.
                wait(mode, lambda: (r.beat()[0] and r.beat()[1] >= forked) or (lease == 60_000 and r.process.poll() is not None))
                f.renews = False
                wait("the end of the lease", lambda: boottime() > f.until())
                r.nothing_after(f.until(), mode)
                holds(mode, r.end() == 75, r.process.returncode, r.err[-300:])
                holds(f"{mode}: no process is left", not r.alive())
                holds("the run warns", ("the lease is 60 ms" in r.err) == (lease == 60_000), r.err[-300:])
        f.renews, f.lease, f.renewal = True, 10_000_000, 500_000
        with Run(f, "--", "sh", "-c", f"{HOSTILE} {f.folder}/left tree 5; exit 3") as r:
            left = f.folder / "left"
            wait("all processes run", lambda: left.exists() and left.stat().st_size and struct.unpack("=qq", left.read_bytes()[:16])[1] >= 5)
            os.kill(next(p for p in children(r.command())), signal.SIGKILL)
            holds("the status of the command", r.end() == 3, r.process.returncode)
            holds("no process is left", not r.alive())
        f.wait("EMPTY", lambda: all(c.is_empty() for c in f.clients))


CHAINS = int(os.environ.get("CHAINS", "120"))
PROCESSES = 1500  # more than these chains need, fewer than the machine's process numbers


def limit_processes():
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    some = [PROCESSES, *(n for n in (soft, hard) if n != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_NPROC, (min(some), hard))


def end_chains(f, how, *words):
    """Ends a run whose command forks without end. Returns the microseconds from the kill until no process of the work was
    alive."""
    margin = 50_000
    with Run(f, "-k", "0ms", "--kill-margin", "50ms", *words, "--", HOSTILE, "BEAT", "chain", str(CHAINS), preexec_fn=limit_processes,
             **how) as r:
        r.begun(3 * CHAINS)
        f.renews = False
        holds("lost", r.end() == 75, r.returncode, r.err)
        holds("the guardian hears that the run is empty", f.wait("E", lambda: f.clients[-1].is_empty()))
        last = r.beat()
        holds("no process is left", not r.alive())
        holds("nothing worked after EMPTY", r.beat() == last, last, r.beat())
        holds("chains were killed, none ended by itself", r.ended_by_itself() == 0, r.ended_by_itself())
        return last[0] - (f.until() - margin)


@case
def fork_chains(_):
    """The workload's processes only leave their session, fork and exit, without a control group. The case runs with an ordinary
    user's priority and then, if possible, with root's. It prints how long they survived the kill, but sets no limit."""
    ordinary = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "cwd": "/"} if is_root("fork-chains with the priority of root") else {}
    for how in (ordinary, {}) if ordinary else ({},):
        with Fake(**SHORT) as f:
            f.folder.chmod(0o777)
            os.chmod(f.path, 0o777)
            late = end_chains(f, how)
            print(f"measured: {CHAINS} chains, {'ordinary user' if how or not ordinary else 'root'}: worked {late / 1000:.1f} ms after the kill")


@case
def orphans_need_no_keeper(_):
    """The kernel, not the keeper, reaps the workload's orphans. The keeper would fall behind a workload that forks faster than
    it can reap."""
    orphans = "for i in $(seq 50); do (true &) ; done; echo on; exec sleep 1000"
    with Fake() as f, Run(f, "--", "sh", "-c", f"echo stop; read go; {orphans}", stdin=subprocess.PIPE) as r:
        holds("the command has started", r.process.stdout.readline() == b"stop\n")
        keeper = r.keeper()
        os.kill(keeper, signal.SIGSTOP)
        wait("the keeper is stopped", lambda: state(keeper) == "T")
        r.process.stdin.write(b"go\n")
        r.process.stdin.flush()
        holds("all orphans were forked", r.process.stdout.readline() == b"on\n")
        # The first child was started by the keeper and is not an orphan.
        wait("no orphan runs any more", lambda: all(state(p) in ("Z", "") for p in children(keeper)[1:]))
        left = [p for p in children(keeper) if state(p) == "Z"]
        holds("no orphan waits to be reaped", not left, len(left))
        os.kill(keeper, signal.SIGCONT)
        r.signal(signal.SIGTERM)
        holds("ended", r.end() == 143, r.returncode, r.err)


@case
def all_killed_before_anything_else(_):
    """The keeper neither opens a file nor sleeps between its first and its last kill."""
    if not shutil.which("strace"):
        raise NotHere("needs strace")
    number = 40
    with Fake(lease=20 * LIMIT * 1_000_000) as f:
        trace = f.folder / "trace"
        before = ["strace", "-f", "-qq", "-o", trace, "-e", "trace=kill,pidfd_send_signal,openat,clock_nanosleep,nanosleep"]
        with Run(f, "--kill-margin", f"{9 * LIMIT}s", "--", HOSTILE, "BEAT", "tree", str(number), before=before) as r:
            r.begun(number)
            f.client().say("LOST", why="")
            holds("lost", r.end() == 75, r.returncode, r.err)
        by_process = {}
        for line in trace.read_text().splitlines():
            pid, call = line.split(None, 1)
            by_process.setdefault(pid, []).append(call)
        # Only signals to single processes count, not the one to the whole process group.
        kills = {pid: [i for i, call in enumerate(calls) if re.match(r"(kill\(\d+|pidfd_send_signal\(\d+), SIGKILL", call)]
                 for pid, calls in by_process.items()}
        killer = max(kills, key=lambda pid: len(kills[pid]))
        holds("one process killed all", len(kills[killer]) >= number, {pid: len(k) for pid, k in kills.items()})
        between = by_process[killer][kills[killer][0]:kills[killer][number - 1]]
        others = [call for call in between if not re.match(r"kill|pidfd_send_signal|<\.\.\. (kill|pidfd_send_signal)", call)]
        holds("no other calls in between", not others, len(others), others[:3])


@case
def set_uid(_):
    need_root()
    with Fake() as f:
        f.folder.chmod(0o711)
        os.chmod(f.path, 0o777)
        program = f.folder / "id"
        shutil.copy("/usr/bin/id", program)
        program.chmod(0o4755)
        plain = subprocess.run([program, "-u"], user=UNPRIVILEGED, capture_output=True, text=True, cwd="/")
        holds("a set-uid program", plain.stdout == "0\n", plain.stdout, "(is the folder mounted nosuid?)")
        expect("no new privileges", ran(f, "--", program, "-u", user=UNPRIVILEGED, cwd="/"), 0, out=f"{UNPRIVILEGED}\n")


# ---- runner or keeper is killed or stopped ----

def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


@case
def either_is_killed(_):
    """The runner or the keeper is killed at a random moment. No process of the work survives or is alive after the deadline."""
    dice = random.Random(1)
    with Fake(**SHORT) as f:
        for n in range(DEATHS):
            with Run(f, "--", HOSTILE, "BEAT", "tree", "3") as r:
                moment = boottime() + dice.randrange(0, 30_000)
                who = dice.choice(("runner", "keeper", "keeper"))
                while boottime() < moment:
                    pass
                kill(r.pid if who == "runner" else next(iter(children(r.pid)), r.pid))
                r.end()
                wait(f"{n}: {who} was killed: no process is left", lambda: not r.alive())
                r.in_time(r.beat()[0], f.until(), f"{n}: {who} was killed")
        f.wait("every channel is closed", lambda: all(end[0].fileno() < 0 for c in f.clients for end in c.holders))


@case
def either_is_killed_at_work(_):
    with Fake() as f:
        for n in range(DEATHS // 4):
            with Run(f, "--", HOSTILE, "BEAT", "tree", "4") as r:
                r.begun(4)
                keeper = r.keeper()
                os.kill(r.pid if n % 2 else keeper, signal.SIGKILL)
                status = r.end()
                wait("no process is left", lambda: not r.alive())
                r.in_time(r.beat()[0], f.until(), "killed at work")
                holds("the guardian hears that the run is empty", f.wait("E", lambda: f.clients[-1].is_empty()))
                f.wait("EMPTY", lambda: f.clients[-1].empty == 1)
                holds("status", status == (-9 if n % 2 else 125), status, r.err)


@case
def either_is_stopped(_):
    with Fake(**SHORT) as f:
        for who in ("runner", "keeper"):
            for renews in (False, True):
                f.renews = True
                with Run(f, *MARGIN, "--", HOSTILE, "BEAT", "tree", "4") as r:
                    r.begun(4)
                    os.kill(r.pid if who == "runner" else r.keeper(), signal.SIGSTOP)
                    f.renews = renews
                    if who == "keeper" and renews:  # the command works until leadership is lost
                        beat = f.until()
                        wait("the command works", lambda: r.beat()[0] > beat)
                        f.client().say("LOST", why="")
                        holds("lost", r.end() == 75 and "is late; killing all processes" in r.err, r.err)
                        wait("no process is left", lambda: not r.workers())
                    else:
                        wait("the end of the lease", lambda: boottime() > f.until() + 1000)
                        r.nothing_after(f.until(), f"{who} is stopped")
                    if who == "runner":
                        r.signal(signal.SIGCONT)
                    holds(who, r.end() == 75, r.process.returncode, r.err)
                    holds("the guardian hears that the run is empty", f.wait("E", lambda: f.clients[-1].is_empty()))
    with Fake() as f, Run(f, "--", HOSTILE, "BEAT", "tree", "4") as r:  # kills the keeper while it is stopped
        r.begun(4)
        os.kill(r.keeper(), signal.SIGSTOP)
        os.kill(r.keeper(), signal.SIGKILL)
        holds("killed", r.end() == 125 and not r.alive(), r.err)


# ---- a daemon that is late, silent, dead or wrong ----

@case
def daemon_stalls(_):
    """The daemon stalls at each point of its dialogue with the run in turn. The deadline is always the end of the lease that it
    has granted."""
    for nth in range(1, 6):
        def pause_at(client, said, nth=nth):
            if len(client.heard) == nth:
                client.fake.paused.set()
            return len(client.heard) == nth
        with Fake(**SHORT, answer=pause_at) as f, Run(f, "-k", "100ms", *MARGIN, "--", HOSTILE, "BEAT", "tree", "3") as r:
            f.wait("the daemon has stalled", f.paused.is_set)
            if nth <= 2:  # no lease granted yet: no command starts
                begun = boottime()
                wait("some time", lambda: boottime() > begun + 700_000)
                holds("the command has not started", r.beat()[0] == 0 and not r.workers())
                f.answer = None
                f.paused.clear()
                if nth == 1:
                    f.client().say("GO")
                r.begun(3)
                f.paused.set()
            wait("the end of the lease", lambda: boottime() > f.until())
            r.nothing_after(f.until(), f"stalled from packet {nth} on")
            if r.beat()[0] == 0 and nth > 2:  # too slow to start within that lease: the run waits for its next turn
                r.signal(signal.SIGTERM)
            holds("lost", r.end() == 75 or r.returncode == 143 and r.beat()[0] == 0, r.process.returncode, r.err)


@case
def daemon_is_late(_):
    """A lease begins at the time of its request, however late the answer."""
    late, begun = [], []

    def answer(client, said):
        if said.word != "ASK" or not begun:
            return False
        late.append((client, said.stamp))
        return True
    with Fake(**SHORT, answer=answer) as f, Run(f, *MARGIN, "--", HOSTILE, "BEAT", "tree", "3") as r:
        begun.append(r.begun(3))
        f.wait("a request", lambda: late)
        client, stamp = late[0]
        wait("the request is old", lambda: boottime() > stamp + 250_000)
        f.grant(client, stamp)
        wait("the end of the lease", lambda: boottime() > f.until())
        r.nothing_after(f.until(), "late")
        holds("lost", r.end() == 75, r.err)


@case
def daemon_dies(_):
    for nth in range(1, 6):
        def die_at(client, said, nth=nth):
            if len(client.heard) == nth:
                client.connection.shutdown(socket.SHUT_RDWR)
                return True
            return False
        words = ["-w", "2s"] if nth <= 2 else []  # no lease is granted, so the run tries again
        with Fake(answer=die_at) as f, Run(f, *words, "-k", "100ms", "--", HOSTILE, "BEAT", "tree", "3") as r:
            status = r.end()
            holds(f"dead at {nth}", status == (124 if nth <= 2 else 75), status, r.err)
            holds("no process is left", not r.alive())
            r.in_time(r.beat()[0], f.until(), f"dead at {nth}")
            holds("the guardian hears that the run is empty", f.wait("E", lambda: all(c.is_empty() for c in f.clients)))


@case
def wrong_answers(_):
    """The run ignores an answer with another request's time stamp, an impossible lease or an earlier term: it neither starts
    the command nor extends its lease."""
    lease = SHORT["lease"]
    lies = {"foreign stamp": lambda s: {"stamp": s.stamp + 1_000_000, "left": lease},
            "foreign": lambda s: {"stamp": s.stamp - 1, "left": lease}, "later": lambda s: {"stamp": 2**63 - 1, "left": lease},
            "no stamp": lambda s: {"stamp": 0, "left": lease}, "huge": lambda s: {"stamp": s.stamp, "left": 2**63 - 1},
            "more than a lease": lambda s: {"stamp": s.stamp, "left": lease + 1}, "negative": lambda s: {"stamp": s.stamp, "left": -1},
            "least": lambda s: {"stamp": s.stamp, "left": -2**63}, "none": lambda s: {"stamp": s.stamp, "left": 0},
            "older term": lambda s: {"stamp": s.stamp, "left": lease, "term": TERM - 65536}}
    for name, lie in lies.items():
        lying = {"on": True}

        def answer(client, said):
            if said.word == "ASK" and lying["on"]:
                client.say("TOLD", **lie(said))
                client.send(b"\xff" * 37)
                return True
            return False
        with Fake(lease=lease, renewal=100_000, answer=answer) as f, Run(f, "-k", "100ms", *MARGIN, "--", HOSTILE, "BEAT", "tree", "2") as r:
            f.wait("requests", lambda: f.words().count("ASK") >= 4)
            holds(f"{name}: the command has not started", r.beat()[0] == 0)
            lying["on"] = False
            r.begun(2)
            lying["on"] = True
            wait("the end of the lease", lambda: boottime() > f.until())
            r.nothing_after(f.until(), name)
            holds(name, r.end() == 75, r.err)


@case
def late_messages_of_another_office(_):
    """Late messages of an earlier term do not affect the current one."""
    with Fake() as f, begin(f, OBEYS, "--respawn") as r:
        old = f.client().heard[-1].stamp
        f.answer = lambda client, said: said.word in ("HOLD", "ASK")
        f.client().say("STOP", why="")
        holds("the command got the signal", r.process.stdout.readline().startswith(b"told"))
        f.wait("HOLD", lambda: f.words().count("HOLD") == 2)
        for word in ("TOLD", "STOP", "LOST"):
            f.client().say(word, stamp=old, left=1_000_000)
        f.client().say("GO")
        f.wait("ASK", lambda: f.words()[-1] == "ASK")
        f.grant(f.client(), old)
        begun = boottime()
        wait("some time", lambda: boottime() > begun + 300_000)
        holds("the command is not started", not r.workers())
        f.answer = None
        holds("the command is started", r.process.stdout.readline() == b"on\n")


@case
def a_shorter_office(_):
    """A run has ended its work and starts it again with a shorter lease. The earlier lease would have ended later, but does not
    extend the new one."""
    shorter = 8_000_000
    with Fake(lease=5 * shorter) as f, Run(f, "--respawn", "-k", "100ms", *MARGIN, "--", HOSTILE, "BEAT", "plain") as r:
        r.begun()
        f.wait("some answers", lambda: f.words().count("ASK") >= 3)
        f.answer = lambda client, said: said.word in ("HOLD", "ASK")
        f.wait("a request without an answer", lambda: f.words()[-1] == "ASK" and f.client().heard[-1].stamp + f.lease > f.until())
        f.grant(f.client(), f.client().heard[-1].stamp)
        f.client().say("STOP", why="")
        f.wait("HOLD", lambda: f.words()[-1] == "HOLD")
        before, beat = f.until(), r.beat()[0]
        f.client().say("GO")
        f.wait("ASK", lambda: f.words()[-1] == "ASK")
        until = f.client().heard[-1].stamp + shorter
        f.client().say("TOLD", stamp=until - shorter, left=shorter)
        wait("the end of the shorter lease", lambda: boottime() > until)
        holds("the new lease is shorter", until < before, before - until)
        r.nothing_after(until, "the office before")
        holds("the command had started again", r.beat()[0] > beat)


@case
def stopped_before_it_starts(_):
    """If the daemon sends STOP or LOST after GO but before the first lease, the run starts no command and waits for its next
    turn."""
    for word in ("STOP", "LOST"):
        def answer(client, said):
            if said.word == "ASK" and len(client.holders) == 1:
                client.say(word, why="not yet")
                client.say("TOLD", stamp=said.stamp, left=1_000_000)
                return True
            return False
        with Fake(answer=answer) as f:
            expect(word, ran(f, "--", "sh", "-c", "exit 8"), 8)
            f.wait("EMPTY, again", lambda: [w for w in f.words() if w != "ASK"] == ["HOLD", "EMPTY", "HOLD", "EMPTY"])


@case
def other_clock(_):
    if not os.path.exists("/proc/self/ns/time"):
        raise NotHere("needs time namespaces")
    need_root()
    offset = 100_000
    with Fake(**SHORT) as f:
        for sign in (1, -1):
            shift = offset if sign > 0 else -min(offset, boottime() // 1_000_000 - 1)
            f.renews = True
            before = ["unshare", "--time", "--boottime", str(shift)]
            with Run(f, *MARGIN, "--", HOSTILE, "BEAT", "tree", "3", before=before) as r:
                stamps = [begun := boottime()]
                r.begun(3)
                stamps += [said.stamp - shift * 1_000_000 for said in f.client().heard if said.word == "ASK"]
                holds("the stamps are by its own clock", begun <= min(stamps) and max(stamps) <= boottime(), stamps)
                f.renews = False
                until = f.until() - shift * 1_000_000
                wait("the end of the lease", lambda: boottime() > until)
                r.nothing_after(until, "in another time", beat_shift=shift * 1_000_000)
                holds("lost", r.end() == 75, r.err)
            f.clients = []


@case
def without_proc(_):
    """Without /proc the run cannot list processes, but still kills those in the command's group."""
    need_root()
    before = ["unshare", "-m", "sh", "-c", "umount -l /proc && exec \"$@\"", "sh"]
    with Fake(**SHORT) as f, Run(f, *MARGIN, "--", HOSTILE, "BEAT", "bomb", "5", before=before) as r:
        r.begun(5)
        f.renews = False
        holds("lost", r.end() == 75, r.err)
        r.nothing_after(f.until(), "without /proc")


PIDFD_SEND_SIGNAL, PIDFD_OPEN, CLOSE_RANGE = 424, 434, 436  # the same on every architecture


def deny(error, *calls):
    """Returns a preexec_fn that installs a seccomp filter: these system calls fail with this error."""
    refuse = [line for call in calls for line in ((0x15, 0, 1, call), (0x06, 0, 0, 0x50000 | error))]
    lines = [(0x20, 0, 0, 0), *refuse, (0x06, 0, 0, 0x7fff0000)]  # load the call's number, refuse these calls, allow others
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)

    def install(_code=code):  # the code must exist as long as this function
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "seccomp")
    return install


@case
def without_pidfd(_):
    """Processes outside the command's group are killed, stopped and continued even if an old kernel or a filter does not allow
    signals through a pidfd."""
    for install in (deny(errno.ENOSYS, PIDFD_SEND_SIGNAL, PIDFD_OPEN, CLOSE_RANGE), deny(errno.EPERM, PIDFD_SEND_SIGNAL)):
        with Fake() as f:
            there = f.folder / "there"
            orphan = ran(f, "--", "sh", "-c", f"setsid sh -c '>{there}; exec sleep 1000' >/dev/null 2>&1 &"
                         f"until [ -e {there} ]; do sleep .01; done; exit 3", preexec_fn=install)
            expect("the status of the command", orphan, 3)
            holds("no orphan is left", not orphan.alive())
        deep = f"setsid {HOSTILE} BEAT tree 3; exit"  # outside the group, and not a child of the keeper
        with Fake() as f, Run(f, "--on-lose", "freeze", "--", "sh", "-c", deep, preexec_fn=install) as r:
            r.begun(3)
            f.answer = lambda client, said: said.word == "HOLD" and (client.say("WAIT", leader="b") or True)
            f.client().say("LOST", why="")
            f.wait("the run reports that it is empty", lambda: f.clients[-1].empty == 1)
            wait("all processes are stopped", lambda: len(r.workers()) == 5 and {state(p) for p in r.workers()} == {"T"})
            beat = r.beat()
            f.wait("the run requests the office again", lambda: f.words().count("HOLD") == 2)
            f.answer, f.term = None, TERM + (1 << 16)
            f.client().say("GO")
            wait("the command works again", lambda: r.beat()[0] > beat[0] and {state(p) for p in r.workers()} <= {"S", "R"})
            r.signal(signal.SIGKILL)
            r.end()
            wait("all processes are killed", lambda: not r.alive())


@case
def busy_machine(_):
    """All deadlines are met even with more busy processes than processors."""
    burners = [subprocess.Popen([sys.executable, "-c", "while 1: pass"], preexec_fn=die_with_parent)
               for _ in range(4 * os.cpu_count())]
    try:
        with Fake(**SHORT) as f:
            for mode in ("tree", "ignore", "chain", "memory"):
                f.renews = True
                with Run(f, *MARGIN, "--", HOSTILE, "BEAT", mode, "10") as r:
                    r.begun(0 if mode == "ignore" else 1)
                    f.renews = False
                    holds(mode, r.end() == 75, r.err)
                    r.nothing_after(f.until(), mode)
                    holds("no process is left", not r.alive())
                    f.client().until = 0
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


@case
def end_is_seen_before_the_notes(_):
    """The runner notices the keeper's end before it has read the keeper's last notes. It still reports that the command was
    started."""
    if not shutil.which("strace"):
        raise NotHere("needs strace")
    slow = ["strace", "-qq", "-o", "/dev/null", "-e", "trace=wait4", "-e", "inject=wait4:delay_enter=500000"]
    with Fake() as f, Run(f, "--", "true", before=slow) as r:
        holds("both are reported", r.end() == 0 and "started true" in r.err and "has ended (exit status 0)" in r.err, r.returncode, r.err)


@case
def killed_at_every_call(_):
    """The runner is killed at each system call before the command starts, and the keeper at the calls around its fork."""
    if not shutil.which("strace"):
        raise NotHere("needs strace")
    calls = ("socket", "connect", "socketpair", "sendmsg", "recvmsg", "poll", "read", "timerfd_settime", "timerfd_create", "signalfd4",
             "clone", "prctl", "close", "mmap", "rt_sigprocmask", "wait4", "write", "fcntl")
    deaths = [([], call, nth) for call in calls for nth in (1, 2, 3, 4, 6, 9)]
    deaths += [(["-f"], "pipe2", 1), (["-f"], "pipe2", 2), (["-f"], "setpgid", 1)]  # only the keeper makes these calls
    killed = 0
    with Fake() as f:
        for follow, call, nth in deaths:
            before = ["strace", *follow, "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={nth}"]
            with Run(f, "--", HOSTILE, "BEAT", "tree", "2", before=before) as r:
                wait("the run starts its command, or ends", lambda: r.beat()[1] >= 2 or r.process.poll() is not None)
                killed += r.process.poll() is not None
                for runner in children(r.pid):  # these children of strace have not died yet
                    kill(runner)
                r.end()
                wait(f"{call} {nth}: no process is left", lambda: not r.alive())
    holds("many runners died", killed > len(deaths) // 3, killed, len(deaths))


if __name__ == "__main__":
    sys.exit(main(__file__))
