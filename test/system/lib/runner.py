"""Helpers for the tests of elect run: a run beside a fake daemon, and all processes that it started."""

import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import uuid

from . import cases
from .checks import Failure, holds
from .elect_command import ELECT
from .fake_daemon import boottime
from .processes import LIMIT, children, die_with_parent, state, wait

HOSTILE = os.environ.get("HOSTILE", os.path.join(os.path.dirname(ELECT), "test", "hostile"))
MARK = "ELECT_TEST_MARK"
UNPRIVILEGED = 65534
ENDING = 100_000  # microseconds before a deadline; a stall in this time delays the end of the work


def environ(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def cmdline(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def is_elect(pid):
    """Returns True if the process is elect, by its command line: all that an ordinary user can see of a process that is not
    dumpable."""
    return ELECT.encode() in cmdline(pid).split(b"\0")[:1]


def session(pid):
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def is_dying(pid):
    """Returns True if the process was killed but has not ended yet for lack of processor time. It never runs its own code
    again."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        flags = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[6])
    except OSError:
        return True
    pending = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith(("SigPnd", "ShdPnd"))]
    return any(p >> (signal.SIGKILL - 1) & 1 for p in pending) or bool(flags & 4) or state(pid) in ("Z", "X")


class Late(Failure):
    """Two runs worked at the same time, or a run worked without permission."""


class Stalls:
    """Records when and for how long the machine's processors stalled, because no process can meet a deadline during a stall."""

    def __enter__(self):
        self.file = tempfile.NamedTemporaryFile(prefix="elect-stalls-")
        self.process = subprocess.Popen([HOSTILE, self.file.name, "stalls"], preexec_fn=die_with_parent)
        return self

    def between(self, begin, end):
        """Returns for how long, in microseconds, the processors stalled between these two times (CLOCK_BOOTTIME)."""
        _, *numbers = struct.unpack("=511q", pathlib.Path(self.file.name).read_bytes()[:4088].ljust(4088, b"\0"))
        stalls = zip(numbers[::2], numbers[1::2])
        return sum(max(0, min(over, end) - max(over - length, begin)) for over, length in stalls)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.file.close()


class Run:
    """An elect run and all processes that it started. A mark in their environment identifies them in any session."""

    is_run = True  # standard error may have more than one line
    stalls = None  # records the machine's stalls while a case runs

    def __init__(self, fake, *words, before=(), env=None, stdin=subprocess.DEVNULL, **how):
        self.fake, self.mark = fake, uuid.uuid4().hex
        self.beat_file = str(fake.folder / f"beat-{self.mark}")
        words = [w.replace("BEAT", self.beat_file) for w in map(str, words)]
        self.process = subprocess.Popen(
            [*before, ELECT, "run", "-S", fake.status_path, *words], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=os.environ | {MARK: self.mark} | (env or {}), start_new_session=True, **how)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for _ in range(100):
            pids = self.alive()
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not pids:
                break
        self.process.kill()
        _, err = self.process.communicate() if not self.process.stderr.closed else ("", b"")
        if kind is not None:
            print("it said:", err.decode(errors="replace")[-1000:], file=sys.stderr)

    def alive(self):
        """Returns all processes of this run: those with the mark in their environment, and those of elect, which hide their
        environment but stay in the run's session."""
        wanted = f"{MARK}={self.mark}".encode()
        pids = [int(p) for p in os.listdir("/proc") if p.isdigit()]
        return [p for p in pids if wanted in environ(p) or (session(p) == self.pid and is_elect(p))]

    def workers(self):
        return [p for p in self.alive() if not is_elect(p)]

    def keeper(self):
        return wait("the keeper", lambda: next((p for p in children(self.pid)), None))

    def waiter(self):
        keeper = self.keeper()
        return wait("the waiter", lambda: next((p for p in children(keeper) if is_elect(p)), None))

    def command(self):
        waiter = self.waiter()
        return wait("the command", lambda: next((p for p in children(waiter) if not is_elect(p)), None))

    def beat(self):
        """Returns the last time when a process of the workload was alive, and how many processes were forked."""
        try:
            with open(self.beat_file, "rb") as f:
                return struct.unpack("=qq", f.read(16))
        except (OSError, struct.error):
            return 0, 0

    def ended_by_itself(self):
        """Returns how many processes of the workload ended by themselves because they were not killed within a minute."""
        with open(self.beat_file, "rb") as f:
            return struct.unpack("=qqqq", f.read(32))[3]

    def begun(self, forked=0):
        wait("the workload", lambda: self.beat()[0] > 0 and self.beat()[1] >= forked)
        return self

    def end(self, limit=LIMIT):
        try:
            out, err = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise Failure(f"elect run has not ended within {limit} s") from None
        self.stdout, self.stderr = self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")
        self.returncode = self.process.returncode
        return self.process.returncode

    def signal(self, number):
        os.kill(self.pid, number)

    def nothing_after(self, until, what, beat_shift=0):
        """Checks that no process of the work was alive after `until`, by /proc and by the times that the processes wrote. Only
        a stall of this machine is an excuse, because it also delays the process that kills the work."""
        wait("the end of the lease", lambda: boottime() > until)
        seen, lines = 0, []
        while survivors := [p for p in self.workers() if not is_dying(p)]:
            seen, lines = boottime(), [cmdline(p) for p in survivors]
            if seen > until + 10 * ENDING:
                break
        self.in_time(max(seen, self.beat()[0] - beat_shift), until, what, lines)

    def in_time(self, last, until, what, *details):
        """Checks that the last sign of life came before the deadline, or later only by as much as this machine stalled around
        the deadline."""
        stood = self.stalls.between(until - ENDING, last)
        holds(f"{what}: alive after the deadline:", last <= until + stood, *details, f"{last - until} us late, stood still for {stood} us")
        if last > until:
            print(f"{what}: {last - until} us late, on a machine that stood still for {stood} us")


def ran(fake, *words, **how):
    with Run(fake, *words, **how) as r:
        r.end()
        return r


def empty(what, fake, times=1):
    """Checks that the run told both the guardian and the daemon that no process is left, exactly once for each HOLD packet (the
    run's request to start its command)."""
    fake.wait(f"{what}: EMPTY", lambda: all(c.is_empty() and c.empty >= len(c.holders) for c in fake.clients if c.holders))
    counts = [(len(c.holders), c.empty) for c in fake.clients]
    holds(f"{what}: as many EMPTY as HOLD", all(h == e for h, e in counts) and sum(h for h, _ in counts) == times, counts)


# Commands that record the signals they get, and when.
RECORD = ("import signal,sys,time\nsignal.pthread_sigmask(signal.SIG_BLOCK, [2,15])\nprint('on',flush=True)\nwhile 1:\n"
          " n=signal.sigwait([2,15])\n print('told',int(n),time.clock_gettime_ns(time.CLOCK_BOOTTIME)//1000,flush=True)\n {}")
OBEYS, STAYS = RECORD.format("sys.exit(0)"), RECORD.format("pass")


def begin(f, program, *words, **how):
    r = Run(f, *words, "--", sys.executable, "-c", program, **how)
    holds("the command has started", r.process.stdout.readline() == b"on\n")
    f.wait("the run holds the office", lambda: f.clients and f.clients[-1].holding)
    return r


def play(case):
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # may have been inherited as ignored
    with Stalls() as Run.stalls:
        case(None)


def main(script):
    return cases.main(script, 2, play)
