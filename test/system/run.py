#!/usr/bin/env python3
"""Tests elect run beside a fake daemon, as a user sees it: run.py ELECT [CASE ... | --list] [--jobs N]

The cases check messages and exit statuses, the command's environment, and every way that a run can lose its permission to
work."""

import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import uuid

sys.dont_write_bytecode = True
from lib import evidence  # noqa: E402
from lib.cases import case  # noqa: E402
from lib.checks import NotHere, expect, holds, is_root, need_root, skip  # noqa: E402
from lib.elect_command import ELECT  # noqa: E402
from lib.fake_daemon import CGROUP, FAILED, Fake, LOOSE, MARGIN, NAMESPACE, NOW, SHORT, TERM, UNHEALTHY, YIELDS, boottime  # noqa: E402
from lib.processes import LIMIT, state, wait  # noqa: E402
from lib.runner import HOSTILE, UNPRIVILEGED, OBEYS, Run, STAYS, begin, empty, main, ran  # noqa: E402

CGROUPS = pathlib.Path("/sys/fs/cgroup/unified")


# ---- usage and exit statuses ----

@case
def usage(_):
    with Fake() as f:
        for words, err in (
                ([], "expected -- CMD"), (["--"], "expected -- CMD"), (["true"], "expected -- CMD"),
                (["a", "b", "--", "true"], "unexpected argument"), (["main", "-g", "main", "--", "true"], "given twice"),
                (["--frobnicate", "--", "true"], "unknown option"), (["--respwan", "--", "true"], "did you mean --respawn?"),
                (["-o", "json", "--", "true"], "does not have this option"), (["-k", "soon", "--", "true"], "expected for example 200ms"),
                (["-w", "5", "--", "true"], "expected for example 200ms"), (["--on-lose", "stpo", "--", "true"], "--on-lose"),
                (["--on-exit", "yeild", "--", "true"], "did you mean yield?"),
                (["--on-exit", "yield", "-n", "--", "true"], "cannot be used with --no-wait"), (["--resign", "--", "true"], "removed: a command that fails"),
                (["-s", "TERMINATE", "--", "true"], "invalid signal"), (["-s", "STOP", "--", "true"], "--signal: STOP cannot end a command"),
                (["-E", "256", "--", "true"], "from 0 to 255"), (["--once", "--respawn", "--", "true"], "cannot be used with --respawn"),
                (["-n", "-w", "1s", "--", "true"], "cannot be used with --max-wait"), (["--shell", "--", "echo", "a"], "one word"),
                (["--health-every", "1s", "--", "true"], "use it only with --health"), (["--health", " ", "--", "true"], "the command is empty"),
                (["--health", "x", "--health-tries", "0", "--", "true"], "from 1 to"),
                (["--kill-margin", "0s", "--", "true"], "above 0"), (["--on-lose", "freeze", "-s", "INT", "--", "true"], "--on-lose freeze"),
                (["--on-lose", "freeze", "--respawn", "--", "true"], "--on-lose freeze"), (["g" * 64, "--", "true"], "too long"),
                (["-k", "10s", "--", "true"], ("grace 10000 ms + kill margin 50 ms", "10000 ms - 2 x renewal 500 ms = 9000 ms"))):
            r = expect(" ".join(words), ran(f, *words), 125, err=err)
            holds("one line:", r.err.count("\n") == 1 and not r.out, words, r.err)
        holds("usage", ran(f, "--help").out.startswith("usage: elect run [GROUP]"))
        f.wait("EMPTY", lambda: f.words()[-1:] == ["EMPTY"])
        holds("only one run requested the office", f.words() == ["HOLD", "EMPTY"], f.words())
        made = subprocess.run([ELECT, "init", "-c", f.folder / "elect.conf", "--new-cluster", "a=127.0.0.1:7400"], capture_output=True)
        os.symlink(f.path, f.folder / "state" / "member-1.run")
        by = subprocess.run([ELECT, "run", "-c", f.folder / "elect.conf", "--", "sh", "-c", "echo $ELECT_SOCKET"], capture_output=True,
                            text=True)
        holds("the member is found by its configuration", by.returncode == 0 and by.stdout == f"{f.folder}/state/member-1.status\n", made, by)
        elsewhere = subprocess.run([ELECT, "run", "-c", f.folder / "nowhere", "--", "true"], capture_output=True, text=True)
        holds("no configuration", elsewhere.returncode == 125 and "No such file" in elsewhere.stderr, elsewhere)
    alone = subprocess.run([ELECT, "run", "-S", f.status_path, "--", "true"], capture_output=True, text=True)
    holds("no daemon", alone.returncode == 125 and ": there is no such socket: correct the path" in alone.stderr and alone.stderr.count("\n") == 1, alone)


@case
def exits(_):
    with Fake() as f:
        searchable = {"PATH": os.defpath}  # an unsearchable folder would change "not found" to 126
        folder = f.folder / "a-folder"
        folder.mkdir()
        (f.folder / "text").write_text("no program\n")
        (f.folder / "text").chmod(0o644)
        rows = [(["--", "true"], 0), (["-n", "--", "true"], 0), (["-w", "100s", "--", "true"], 0),
                (["--", "false"], 1), (["--shell", "--", "exit 7"], 7), (["--", "sh", "-c", "exit 75"], 75),
                (["--", "sh", "-c", "exit 255"], 255), (["--", "no-such-program"], 127), (["--", f.folder / "nothing"], 127),
                (["--", folder], 126), (["--", f.folder / "text"], 126),
                (["--isolate", "--", "no-such-program"], 127), (["--isolate", "--", "sh", "-c", "exit 9"], 9)]
        rows += [(["--", "sh", "-c", f"kill -{n} $$"], 128 + n) for n in (1, 2, 3, 9, 10, 15)]
        rows += [(["--isolate", "--", "sh", "-c", f"kill -{n} $$; exec sleep 9"], 128 + n) for n in (9, 15)]
        for n, (words, status) in enumerate(rows, 1):
            started = "because a leads group main in term 5.1" if status < 126 or status > 127 else "was not started; handing over"
            expect(" ".join(map(str, words)), ran(f, *words, env=searchable), status, err=(started, f"; exiting with status {status}\n"))
            empty("exits", f, n)
        expect("quiet", ran(f, "-q", "--", "true"), 0)
        holds("quiet", not ran(f, "-q", "--", "true").err)
        expect("an error is printed", ran(f, "-q", "--", "no-such-program", env=searchable), 127, err="no-such-program: No such file")
        expect("arguments are not changed", ran(f, "--", "printf", "%s|", "a b", "--", "-n", ""), 0, out="a b|--|-n||")


def as_ordinary_user(f):
    """Gives an ordinary user access to the fake daemon's folder and socket. Returns the arguments that make Run run as that
    user."""
    f.folder.chmod(0o777)
    os.chmod(f.path, 0o777)
    return {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "cwd": "/"} if os.geteuid() == 0 else {}


@case
def path_that_cannot_be_searched(_):
    """If a folder in $PATH is not searchable, commands in the others are still found, and a command in none of them is reported
    as not found."""
    with Fake() as f:
        how = as_ordinary_user(f)
        closed, readable = f.folder / "closed", f.folder / "readable"
        for folder in (closed, readable):
            folder.mkdir()
        (readable / "text").write_text("no program\n")
        (readable / "text").chmod(0o644)
        env = {"PATH": f"{closed}:{readable}:/usr/bin:/bin"}
        closed.chmod(0)
        try:
            expect("in no folder", ran(f, "--", "no-such-program", env=env, **how), 127, err="no-such-program: No such file")
            expect("not executable", ran(f, "--", "text", env=env, **how), 126, err="text: Permission denied")
            expect("in a later folder", ran(f, "--", "true", env=env, **how), 0)
        finally:
            closed.chmod(0o700)


@case
def warns_of_a_command_that_cannot_be_executed(_):
    """A run that waits warns once if its command cannot be executed. The run goes on, and starts a program that is installed
    before the member leads. The warning uses PATH and the permissions of the user, as the start does."""
    with Fake(answer=lambda client, said: said.word == "HOLD" and (client.say("WAIT", leader="b") or True)) as f:
        how = as_ordinary_user(f)
        folders = [f.folder / name for name in ("first", "second")]
        for folder in folders:
            folder.mkdir()
        (folders[0] / "folder").mkdir()
        for folder, name, mode in ((folders[0], "text", 0o644), (folders[0], "both", 0o644), (folders[1], "both", 0o755)):
            (folder / name).write_text("#!/bin/sh\nexit 3\n")
            (folder / name).chmod(mode)
        late = folders[1] / "late"

        def lines(words, then=lambda: None):
            """Returns the warnings of a run that waits, hears of two more leaders, and leads. Also returns its exit status."""
            f.clients = []
            with Run(f, *words, env={"PATH": f"{folders[0]}:{folders[1]}:/bin:/usr/bin"}, **how) as r:
                f.wait("HOLD", lambda: f.clients and f.clients[-1].holding and f.clients[-1].theirs is None)
                for leader in ("c", "b"):
                    f.clients[-1].say("NEWS", leader=leader)
                wait("the run has read all", lambda: unread(f.clients[-1].connection) == 0)
                said = "" if "-q" in words else until_it_says(r, "waiting: c leads")
                then()
                f.clients[-1].say("GO")
                status = r.end()
                return re.findall(r"elect run: (cannot execute .*)\n", said + r.err), status
        hint = "(correct the command, or install it before a leads)"
        missing, denied = ("No such file or directory", 127), ("Permission denied", 126)
        for name, (error, status) in (("no-such-program", missing), (late, missing), ("text", denied), ("folder", denied), (folders[0], denied)):
            said = lines(["--", name])
            holds(f"{name}: one warning", said == ([f"cannot execute {name}: {error} {hint}"], status), said)
        holds("errors only", lines(["-q", "--", "no-such-program"]) == ([], 127))
        for words in (["--", "both"], ["--", folders[1] / "both"], ["--shell", "--", "exit 3"]):
            said = lines(words)
            holds(f"{words}: no warning", said == ([], 3), said)

        def install():
            late.write_text("#!/bin/sh\nexit 4\n")
            late.chmod(0o755)
        holds("a program that is installed in time", lines(["--", "late"], install) == ([f"cannot execute late: No such file or directory {hint}"], 4))


TAKES = """
import ctypes, os, pathlib
libc = ctypes.CDLL(None, use_errno=True)
def parent(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
print("dumpable", libc.prctl(3), os.stat("/proc/self/environ").st_uid == os.geteuid())
pid, seen = os.getppid(), 0
while pid > 0 and b"elect" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\\0")[0]:
    seen += 1
    process = os.pidfd_open(pid)
    for fd in range(3, 64):
        if libc.syscall(438, process, fd, 0) >= 0:
            print("took descriptor", fd, "of", pid)
    try:
        open(f"/proc/{pid}/mem", "r+b").close()
        print("opened the memory of", pid)
    except OSError:
        pass
    if libc.ptrace(16, pid, None, None) == 0:
        print("traces", pid)
        os.waitpid(pid, 0x40000000)
        libc.ptrace(17, pid, None, None)
    pid = parent(pid)
print("tried", seen)
"""


@case
def command_takes_nothing_from_elect(_):
    """A command of the same user cannot trace the processes above it, or get their descriptors or memory. With the guardian's
    channel it could report that no work is left. The command itself is dumpable, like any other program."""
    with Fake() as f:
        how = as_ordinary_user(f)
        for words in ([], ["--isolate"]):
            r = ran(f, *words, "--", "/usr/bin/python3", "-c", TAKES, **how)
            if words and r.returncode == 125 and "not permitted" in r.err:
                skip("command-takes-nothing-from-elect/isolated", "needs namespaces for this user")
                continue
            lines = expect("the command ran", r, 0).out.splitlines()
            holds("dumpable itself", lines[0] == "dumpable 1 True", lines)
            holds("nothing was taken", not words and lines[1:] == ["tried 3"] or words and lines[1:] == ["tried 1"], lines)


@case
def environment(_):
    def masks(text):
        lines = [line.split() for line in text.splitlines() if line.startswith(("SigBlk", "SigIgn"))]
        return {name: int(value, 16) & ~(3 << 31) for name, value in lines}  # the C library uses signals 32 and 33
    with Fake() as f:
        r = expect("environment", ran(f, "main", "--shell", "--", "env; ls -l /proc/self/fd; cat /proc/self/status"), 0)
        for line in ("ELECT_GROUP=main", "ELECT_NODE=a", "ELECT_LEADER=a", "ELECT_TERM=5.1", f"ELECT_TOKEN={TERM}", "ELECT_LEASE_MS=10000",
                     f"ELECT_SOCKET={f.status_path}"):
            holds("environment", line + "\n" in r.out, line, r.out)
        holds("group", f.clients[0].heard[0].group == "main")
        there = subprocess.run([ELECT, "run", "-S", "member-1.status", "--shell", "--", "cd /; echo $ELECT_SOCKET"], cwd=f.folder,
                               capture_output=True, text=True)
        holds("from anywhere", there.stdout == f"{f.status_path}\n", there)
        loss = next(line.split("=")[1] for line in r.out.splitlines() if line.startswith("ELECT_LOSS_FD="))
        fds = {line.split()[-3] for line in r.out.splitlines() if " -> " in line}
        holds("the descriptors: three of its own, ELECT_LOSS_FD, and those of ls", fds <= {"0", "1", "2", loss, "3", "4"} and loss in fds, fds, loss)
        holds("no signal is blocked or ignored", masks(r.out) == {"SigBlk:": 0, "SigIgn:": 0}, masks(r.out))

        def spoil():
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
            for number in (signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
                signal.signal(number, signal.SIG_IGN)
        r = expect("spoilt", ran(f, "--", "cat", "/proc/self/status", preexec_fn=spoil), 0)
        holds("only SIGHUP stays ignored, as under nohup", masks(r.out) == {"SigBlk:": 0, "SigIgn:": 1}, masks(r.out))

        r = expect("priority", ran(f, "--", sys.executable, "-c", "import os; print(os.nice(0), os.sched_getscheduler(0))",
                                   preexec_fn=lambda: os.nice(7)), 0)
        holds("the priority at its start", r.out == f"{min(19, os.nice(0) + 7)} {os.SCHED_OTHER}\n", r.out)

        def close_all():
            for fd in range(3):
                os.close(fd)
        r = ran(f, "--", "sh", "-c", f"ls -l /proc/$$/fd > {f.folder}/fds", preexec_fn=close_all)
        holds("closed descriptors", "socket" not in (f.folder / "fds").read_text() and r.returncode == 0, (f.folder / "fds").read_text())
        with open(f.folder / "passed", "w") as passed:
            ran(f, "--", "sh", "-c", f"echo hello >&{passed.fileno()}", pass_fds=[passed.fileno()])
        holds("a descriptor that the user passes on", (f.folder / "passed").read_text() == "hello\n")


@case
def waiting(_):
    def never(client, said):
        if said.word == "HOLD":
            client.say("NO" if said.flags & NOW else "WAIT", leader="b")
        return True
    with Fake(answer=never) as f:
        expect("-n", ran(f, "-n", "--", "true"), 1, err="true was not started: b leads group main in term 5.1; exiting with status 1")
        empty("-n", f)
        begun = time.monotonic()
        expect("max-wait", ran(f, "-w", "300ms", "--", "true"), 124, err="true was not started within 0.3 s (--max-wait): b leads group main in term 5.1; exiting with status 124")
        holds("max-wait", 0.3 <= time.monotonic() - begun)
        f.wait("the run reports its end", lambda: f.words()[-2:] == ["HOLD", "EMPTY"])
        expect("the times are checked before the member leads", ran(f, "-k", "10s", "--", "true"), 125, err="grace 10000 ms")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            with Run(f, "--", "true") as r:
                f.wait("HOLD", lambda: f.words()[-1] == "HOLD" and f.clients[-1].holders and f.clients[-1].theirs is None)
                for ignored in ("USR1", "USR2", "WINCH", "ALRM", "PIPE", "TSTP", "CONT"):
                    r.signal(signal.Signals["SIG" + ignored])
                r.signal(number)
                holds("the run waits", r.end() == 128 + number and "waiting: b leads group main in term 5.1" in r.err and f"{number.name} while waiting" in r.err, r.process.returncode, number, r.err)
                holds("the guardian hears that the run is empty", f.wait("E", lambda: f.clients[-1].is_empty() and f.clients[-1].empty == 1))
    with Fake(answer=lambda client, said: client.say("REFUSED", why="there is no group mian, did you mean main?") or True) as f:
        expect("refused", ran(f, "mian", "--", "true"), 125, err="there is no group mian, did you mean main?")
        empty("refused", f)
    with Fake(answer=never) as f, Run(f, "--", "true") as r:
        first = f.client()
        f.wait("HOLD", lambda: first.holders and first.theirs is None)
        first.say("GO", lease=0)
        holds("an answer without a lease", r.end() == 125 and "reports no lease" in r.err, r.err)
    with Fake(answer=lambda client, said: True) as f:
        expect("-n without an answer", ran(f, "-n", "--", "true"), 125, err="the daemon does not answer")
    with Fake(answer=lambda client, said: client.close() or True) as f:
        expect("-n, and the daemon ends", ran(f, "-n", "--", "true"), 125, err="the daemon of the local member has ended; exiting with status 125")


@case
def news_while_it_waits(_):
    """A waiting run reports each change of the leader with its cause, and nothing else. If the leader changes too often, it
    reports only some changes."""
    def lines(f, words, news):
        """Returns the lines that a run prints for these news. Each item is (leader, term, cause)."""
        with Run(f, *words, "--", "true") as r:
            f.wait("HOLD", lambda: f.clients and f.clients[-1].holding and f.clients[-1].theirs is None)
            for leader, term, why in news:
                f.clients[-1].say("NEWS", leader=leader, term=term, why=why)
            wait("the run has read all", lambda: unread(f.clients[-1].connection) == 0)
            r.signal(signal.SIGTERM)
            holds("the end", r.end() == 143, r.err)
            return re.findall(r"elect run: waiting: (.*)\n", r.err)
    with Fake(answer=lambda client, said: client.say("WAIT", leader="b") or True) as f:
        said = lines(f, [], [("b", TERM, "said twice"), ("b", TERM + 65536, "a new term of the same leader"), ("", 0, "a hears nothing from b"),
                             ("c", TERM + 2, "c reports that it leads"), ("a", TERM, "the run gets its turn"), ("b", TERM, "")])
        holds("the lines", said == ["b leads group main in term 5.1", "no leader of group main is known (a hears nothing from b)",
                                    "c leads group main in term 5.3 (c reports that it leads)", "b leads group main in term 5.1"], said)
        flaps = [("bc"[n % 2], TERM, "it flaps") for n in range(100)]
        holds("few lines", len(lines(f, [], flaps)) == 5)
        holds("quiet", not lines(f, ["-q"], flaps))


def unread(connection):
    """Returns how many bytes the connection's other end has not read."""
    return struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)))[0]


def started(f, r):
    """Waits until the user was told that the command has started; elect run then sends the daemon its process id."""
    f.wait("the start is reported", lambda: f.clients[-1].holding and any(said.pid > 0 for said in f.clients[-1].heard))
    return r


def until_it_says(r, words):
    """Reads what the run prints until it has printed these words, and returns it."""
    said = ""
    while words not in said:
        holds(f"it says {words}:", select.select([r.process.stderr], [], [], LIMIT)[0], said)
        now = os.read(r.process.stderr.fileno(), 4096).decode(errors="replace")
        holds(f"it says {words} before it ends:", now, said)
        said += now
    return said


@case
def messages(_):
    """Each line names the command with its process id, and says what happened and why."""
    def lines(r):
        """Returns the lines, with CMD for the command and its process id."""
        pid = re.search(r"started \S+ \(pid (\d+)\)", r.err)
        return re.sub(rf"\S+ \(pid {pid and pid[1]}\)", "CMD", r.err).splitlines()
    begins = "elect run: started CMD, because a leads group main in term 5.1"
    with Fake() as f:
        with started(f, begin(f, OBEYS)) as r:
            f.clients[-1].say("STOP", why="uid 0 ordered a to resign")
            holds("told to stop", r.end() == 75 and lines(r)[:2] == [
                begins, "elect run: a is handing over leadership of group main (uid 0 ordered a to resign): ending CMD"] and re.fullmatch(
                    r"elect run: CMD has ended \(.*\); exiting with status 75", lines(r)[-1]), r.err)
        for words in ([], ["--isolate"]):
            with started(f, Run(f, *words, "--", "sh", "-c", "exec sleep 100")) as r:
                r.signal(signal.SIGTERM)
                holds("told to end", r.end() == 143 and lines(r) == [
                    begins, "elect run: received SIGTERM: passing it on to CMD",
                    "elect run: CMD has ended (killed by SIGTERM); exiting with status 143"], r.err)
        with Run(f, "--shell", "--", "sleep 1; exit 3") as r:
            holds("failed", r.end() == 3 and lines(r) == [
                begins, "elect run: CMD has ended (exit status 3); handing over leadership of group main; exiting with status 3"], r.err)


@case
def daemon_comes_back(_):
    with Fake(answer=lambda client, said: client.say("WAIT", leader="") or True) as f, Run(f, "--", "sh", "-c", "exit 3") as r:
        f.wait("HOLD", lambda: f.words() == ["HOLD"])
        f.die()
        wait("the run tries again", lambda: state(r.pid) == "S")
        f.answer, f.clients = None, []
        f.listen()
        holds("then the command runs", r.end() == 3 and r.err.count("the daemon of a has ended; waiting") == 1, r.err)
        empty("again", f)
    with Fake(answer=lambda client, said: client.say("WAIT", leader="") or True) as f, Run(f, "-w", "1s", "--", "true") as r:
        f.wait("HOLD", lambda: "HOLD" in f.words())
        f.die()
        holds("the wait has an end", r.end() == 124, r.err)


@case
def signals_are_passed_on(_):
    script = ("import signal,sys\nnumber=int(sys.argv[1])\nsignal.pthread_sigmask(signal.SIG_BLOCK, [number])\nprint('on', flush=True)\n"
              "sys.exit(40 + signal.sigwait([number]))")
    with Fake() as f:
        for number in (1, 2, 3, 10, 12, 14, 15, 18, 28, 34, 64):
            with Run(f, "--", sys.executable, "-c", script, str(number)) as r:
                holds("the command has started", r.process.stdout.readline() == b"on\n")
                r.signal(number)
                holds("the command got the signal", r.end() == 40 + number, number, r.process.returncode, r.err)
        for words in ([], ["--isolate"]):
            with Run(f, *words, "--", "sh", "-c", "echo on; exec sleep 100") as r:
                holds("the command has started", r.process.stdout.readline() == b"on\n")
                r.signal(signal.SIGTERM)
                holds("TERM", r.end() == 143, r.process.returncode)
        with Run(f, "--", HOSTILE, "BEAT", "plain") as r:
            r.begun()
            for ignored in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGPIPE):
                r.signal(ignored)
                os.kill(r.keeper(), ignored)
            for other in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):  # to the whole group
                os.kill(r.keeper(), other)
            beat = r.beat()[0]
            wait("both continue", lambda: r.beat()[0] > beat + 1_000_000)
            holds("the processes of elect run continue", r.process.poll() is None and state(r.pid) in "SRD" and state(r.keeper()) in "SRD")


# ---- loss of leadership ----

def killed_at_last(r):
    """Returns True if the command was killed, either by the keeper or, if it was late, by the runner."""
    return "did not end within" in r.err or "is late; killing all processes" in r.err


@case
def not_renewed(_):
    """If a lease that ends at U is not renewed, the command gets TERM at U-k-m and KILL at U-m, where k is its grace period and
    m the kill margin. On a busy machine it may be killed before it can handle TERM."""
    def told(r):
        """Returns (signal, time when the command got it), or None if the command was killed before it could record one."""
        words = r.out.split()
        holds("the command got the signal, or was killed", words[:1] == ["told"] or not words and killed_at_last(r), r.out, r.err)
        return (int(words[1]), int(words[2])) if words else None
    with Fake(**SHORT) as f:
        with begin(f, OBEYS, "-k", "1s") as r:
            f.renews = False
            holds("lost", r.end() == 75 and "was not renewed in time" in r.err, r.err)
            heard = told(r)
            holds("TERM, and not before U-k-m", heard is None or heard[0] == 15 and heard[1] >= f.until() - 1_050_000, heard, f.until())
        f.renews = True
        with begin(f, STAYS) as r:
            f.renews = False
            holds("killed", r.end() == 75 and killed_at_last(r), r.err)
            ended = boottime()
            holds("before U, and not long before U-m", f.until() - 60_000 < ended, f.until() - ended)
            r.nothing_after(f.until(), "not renewed")
        f.renews = True
        with begin(f, OBEYS, "-E", "33") as r:
            f.renews = False
            holds("-E", r.end() == 33)
        f.renews = True
        with begin(f, OBEYS, "-s", "INT", "-k", "300ms") as r:
            f.renews = False
            holds("lost", r.end() == 75, r.err)
            heard = told(r)
            holds("-s, -k", heard is None or heard[0] == 2 and heard[1] >= f.until() - 350_000, heard, f.until())
        empty("not renewed", f, 4)


@case
def told_to_stop(_):
    with Fake() as f:
        with begin(f, OBEYS) as r:
            f.client().say("STOP", why="preempted by b")
            holds("handed over", r.end() == 75 and "a is handing over leadership of group main (preempted by b): ending" in r.err and "told 15" in r.out, r.err)
        with begin(f, STAYS, "-k", "550ms") as r:  # the lease is renewed, so the command gets its whole grace
            said = boottime()
            f.client().say("STOP", why="preempted by b")
            holds("handed over", r.end() == 75 and killed_at_last(r), r.err)
            took = boottime() - said
            holds("the whole grace", 550_000 <= took, took)  # no upper bound: the lease is always renewed
        with begin(f, STAYS, "-k", "0ms") as r:
            f.client().say("LOST", why="a majority follows b")
            holds("lost", r.end() == 75 and "a lost leadership of group main (a majority follows b): killing" in r.err, r.err)
        with begin(f, STAYS, "-k", "300ms") as r:
            f.client().close()
            holds("end of file", r.end() == 75 and "the daemon of a has ended: ending" in r.err and killed_at_last(r), r.err)
            holds("no process is left", not r.alive())
        holds("the guardian hears that the run is empty", f.wait("E", lambda: all(c.is_empty() for c in f.clients)))
    with Fake(lease=20 * LIMIT * 1_000_000) as f, begin(f, STAYS, "-k", f"{9 * LIMIT}s") as r:
        f.client().say("STOP", why="preempted by b")
        holds("the command got the signal", r.process.stdout.readline().startswith(b"told 15"))
        f.client().say("LOST", why="")
        holds("the loss kills the command before its grace is over", r.end() == 75, r.process.returncode)


@case
def loss_descriptor(_):
    watch = ("import os,select,signal\nfd=int(os.environ['ELECT_LOSS_FD'])\nsignal.signal(15, signal.SIG_IGN)\nprint('on',flush=True)\n"
             "select.select([fd],[],[]); print('read', os.read(fd, 1), flush=True)\nraise SystemExit(0)")
    with Fake(lease=4_000_000, renewal=200_000) as f:
        for lose in (lambda: setattr(f, "renews", False), lambda: f.client().say("STOP", why="")):
            f.renews = True
            with begin(f, watch) as r:
                lose()
                holds("readable", r.end() == 75 and r.out == "read b''\n", r.out, r.err)


@case
def respawn(_):
    with Fake() as f:
        with begin(f, OBEYS, "--respawn") as r:
            for n in range(3):
                f.client().say("STOP", why="again")
                holds("the command got the signal", r.process.stdout.readline().startswith(b"told 15"))
                holds("the command is started again", r.process.stdout.readline() == b"on\n")
            f.die()  # the next signal comes when the daemon restarts
            holds("the command got the signal", r.process.stdout.readline().startswith(b"told 15"))
            said = until_it_says(r, "has ended; waiting for a new one")
            holds("the run says what it waits for, once", re.search(r"has ended \(exit status 0\); waiting for its next turn\n"
                                                                    r"elect run: the daemon of a has ended; waiting for a new one\n$", said), said)
            f.listen()
            holds("the command is started again", r.process.stdout.readline() == b"on\n")
            r.signal(signal.SIGINT)
            holds("the run ends by itself", r.end() == 0 and "told 2" in r.out and "for a new one" not in r.err, r.out, r.err)
        holds("each HOLD ended with EMPTY", f.wait("E", lambda: all(c.is_empty() for c in f.clients)))
        f.clients = []
        with begin(f, STAYS, "--respawn", "-k", "2s") as r:
            f.client().say("STOP", why="again")
            holds("the command got the signal", r.process.stdout.readline().startswith(b"told 15"))
            r.signal(signal.SIGTERM)
            holds("the command is not started again", r.end() == 75, r.process.returncode)
        empty("respawn", f)


@case
def on_lose_signal(_):
    with Fake(**SHORT) as f, begin(f, STAYS, "--on-lose", "signal", "-s", "INT") as r:
        holds("loose", f.client().heard[0].flags == LOOSE | YIELDS)
        command = r.command()
        f.renews = False
        holds("the command got the signal", r.process.stdout.readline().startswith(b"told 2"))
        empty("signal", f)
        holds("not before the end of the lease", boottime() >= f.until() - 60_000)
        wait("the end of the lease", lambda: boottime() > f.until() + 300_000)
        holds("the command lives", state(command) in ("S", "R", "D") and r.process.poll() is None)
        r.signal(signal.SIGINT)
        holds("the command got the signal", r.process.stdout.readline().startswith(b"told 2"))
        os.kill(command, signal.SIGKILL)
        holds("lost", r.end() == 75, r.process.returncode, r.err)


@case
def waiter_is_stopped(_):
    """If the command's parent, the waiter, is stopped, elect run continues it, so that it notices the command's end. This works
    while the member leads and after it has lost leadership."""
    with Fake(**SHORT) as f:
        for words in ([], ["--isolate"]):
            expect("stopped", ran(f, *words, "--", "sh", "-c", "kill -STOP $PPID; exit 5"), 5)
    with Fake(**SHORT) as f, begin(f, STAYS, "--on-lose", "signal") as r:
        command, waiter = r.command(), r.waiter()
        f.renews = False
        empty("given up", f)
        os.kill(waiter, signal.SIGSTOP)
        os.kill(command, signal.SIGKILL)
        holds("ended", r.end() == 75, r.process.returncode, r.err)


@case
def on_lose_freeze(_):
    with Fake(**SHORT) as f, Run(f, "--on-lose", "freeze", *MARGIN, "--", HOSTILE, "BEAT", "tree", "3") as r:
        r.begun(3)
        for round in range(1, 4):
            f.renews, f.answer = False, lambda client, said: said.word == "HOLD" and (client.say("WAIT", leader="b") or True)
            r.fake.wait("the run requests the office again", lambda: f.words().count("HOLD") == round + 1)
            until = f.until()
            wait("the end of the lease", lambda: boottime() > until)
            holds("all processes are alive", len(r.workers()) == 4)
            wait("all processes are stopped", lambda: {state(p) for p in r.workers()} == {"T"})
            beat = r.beat()[0]
            r.in_time(beat, until, "frozen")
            since = boottime()
            wait("some time later", lambda: boottime() > since + 200_000)
            holds("no process works", r.beat()[0] == beat)
            f.renews, f.answer = True, None
            f.term = TERM + (round << 16)
            f.client().say("GO")
            wait("the command works", lambda: r.beat()[0] > beat + 100_000)
            wait("all processes work", lambda: {state(p) for p in r.workers()} <= {"S", "R"})
        f.answer = lambda client, said: said.word == "HOLD" and (client.say("WAIT", leader="b") or True)
        f.client().say("LOST", why="")
        r.fake.wait("the run requests the office again", lambda: f.words().count("HOLD") == 5)
        r.signal(signal.SIGTERM)
        holds("the run ends while frozen", r.end() == 143 and not r.workers(), r.process.returncode, r.err)
        holds("it says that it freezes", ": freezing " in r.err and "ending " not in r.err, r.err)
        holds("the guardian hears that the run is empty", f.wait("E", lambda: f.clients[-1].is_empty()))


def last_empty(f, times=1):
    """Waits for this number of EMPTY packets (no process is left) on the newest connection, and returns the last one."""
    f.wait("EMPTY", lambda: f.client().empty == times)
    return [said for said in f.client().heard if said.word == "EMPTY"][-1]


@case
def on_exit(_):
    """When the command ends, the run hands leadership over only if its --on-exit policy says so, and only with the packet that
    reports that no process is left."""
    hold, always, both = 0, YIELDS, YIELDS | FAILED
    policies = ((), both), (("--on-exit", "yield-on-failure"), both), (("--on-exit", "yield"), both), (("--on-exit", "hold"), FAILED)
    with Fake() as f:
        for words, failed in policies:
            fine = always if "yield" in words else hold
            for command, flags, why in ((("true",), fine, "status 0"), (("sh", "-c", "exit 4"), failed, "exited with status 4"),
                                        (("sh", "-c", "kill -9 $$"), failed, "killed by SIGKILL"),
                                        (("/nowhere/at/all",), failed, "could not be started (status 127)"),
                                        ((str(f.folder),), failed, "could not be started (status 126)")):
                r = ran(f, *words, "--", *command)
                said = last_empty(f)
                holds("as the policy requires:", said.flags == flags and why in said.why, words, command, said)
                holds("the run reports it:", ("handing over leadership of group main" in r.err) == bool(flags & YIELDS), words, r.err)
            holds("the daemon knows what to do if all processes of the run die:", bool(f.client().heard[0].flags & YIELDS) == ("hold" not in words), words)
            how = as_ordinary_user(f)
            expect("no further process", ran(f, *words, "--", "true", before=("prlimit", "--nproc=1:1"), **how), 125, err="cannot start")
            holds("a failure to start:", last_empty(f).flags == failed and "(status 125)" in last_empty(f).why, words, last_empty(f))
            with begin(f, STAYS, *words) as r:  # a command terminated by its service manager has not failed
                r.signal(signal.SIGTERM)
                holds("the command got the signal", r.process.stdout.readline().startswith(b"told 15"))
                os.kill(r.command(), signal.SIGKILL)
                holds("ended", r.end() == 137, r.err)
                holds("terminated:", last_empty(f).flags == fine, words, last_empty(f))
            with begin(f, OBEYS, *words) as r:
                f.client().say("STOP", why="again")
                holds("lost", r.end() == 75 and last_empty(f).flags == 0, last_empty(f))


@case
def signals_that_a_command_survives(_):
    """A command that handles HUP, often "reload", and later exits with an error has failed. A command that dies of HUP was
    terminated and has not failed."""
    with Fake() as f:
        ready, heard, end = (f.folder / name for name in ("ready", "heard", "end"))
        survives = f"trap 'touch {heard}' HUP; touch {ready}; until [ -e {end} ]; do sleep .02; done; exit 3"
        with Run(f, "--", "sh", "-c", survives) as r:
            wait("the command runs", ready.exists)
            r.signal(signal.SIGHUP)
            wait("the command gets the signal", heard.exists)
            end.touch()
            holds("the command fails", r.end() == 3 and last_empty(f).flags == YIELDS | FAILED, r.process.returncode, last_empty(f))
        with Run(f, "--", "sh", "-c", f"touch {ready}2; exec sleep 600") as r:
            wait("the command runs", pathlib.Path(f"{ready}2").exists)
            r.signal(signal.SIGHUP)
            holds("the command was terminated", r.end() == 129 and last_empty(f).flags == 0, r.process.returncode, last_empty(f))
        for name in heard, end:
            name.unlink()
        starts = f.folder / "starts"
        with Run(f, "--on-exit", "restart", "--", "sh", "-c", f"echo >>{starts}; {survives}") as r:
            wait("the command runs", starts.exists)
            wait("the signal reaches the command", lambda: heard.exists() or r.signal(signal.SIGHUP))
            end.touch()

            def started_again():
                holds("the run goes on", r.process.poll() is None)
                return len(starts.read_text()) == 2
            wait("the command is started again", started_again)
            r.signal(signal.SIGTERM)
            r.end()


@case
def yields_when_nothing_is_left(_):
    """A command fails and leaves processes behind. Leadership is handed over when they are all dead, even if a process of elect
    run is killed meanwhile."""
    seen = []

    def look(client, said):
        if said.word == "EMPTY":
            seen.append((said.flags, said.why, r.workers()))
        return False

    def none(_):
        pass

    def runner(r):
        r.signal(signal.SIGKILL)

    def keeper(r):
        os.kill(r.keeper(), signal.SIGKILL)
    for end, why in ((none, "status 3"), (runner, "its runner was killed"), (keeper, "its keeper was killed")):
        with Fake(answer=look) as f:
            there = f.folder / "fail"
            leaves = f"setsid {HOSTILE} BEAT tree 20 & until [ -e {there} ]; do sleep .01; done; exit 3"
            with Run(f, "--", "sh", "-c", leaves) as r:
                r.begun(20)
                there.touch() if end is none else end(r)
                r.end()
                f.wait("EMPTY", lambda: seen)
                flags, said, workers = seen.pop()
                holds("the run fails", flags == YIELDS | FAILED and why in said, flags, said)
                holds("no process is left by then:", not workers, workers)


@case
def restarts(_):
    """A failed command is restarted three times in the same term, each time after all its processes have died. After the last
    failure the run hands leadership over."""
    with Fake() as f:
        starts = f.folder / "starts"
        r = ran(f, "--on-exit", "restart", "--shell", "--", f"echo $ELECT_TERM $ELECT_LOSS_FD >>{starts}; exit 3")
        holds("the run gives up", r.returncode == 3 and "handing over leadership of group main" in r.err, r.err)
        holds("the delays double", re.findall(r"restarting it in (\d) s", r.err) == ["1", "2", "4"], r.err)
        lines = starts.read_text().splitlines()
        holds("four starts", len(lines) == 4 and all(line.startswith("5.1 ") and line[-1].isdigit() for line in lines), lines)
        holds("the office is released once", last_empty(f).flags == YIELDS | FAILED and f.words().count("HOLD") == 1, f.words())
        expect("a command that succeeds is not started again", ran(f, "--on-exit", "restart", "--", "true"), 0)
        holds("leadership is kept", last_empty(f).flags == 0, last_empty(f))
        told = "elect run: received SIGTERM before the restart of sh\n"
        for end, status, said in ((lambda r: r.signal(signal.SIGTERM), 3, told), (lambda r: f.client().say("STOP", why="again"), 75, ""),
                                  (lambda r: f.client().say("LOST", why="again"), 75, "")):
            with Run(f, "--on-exit", "restart", "--", "sh", "-c", "exit 3") as r:
                while b"restarting it in 1 s" not in r.process.stderr.readline():
                    pass
                end(r)
                holds("the run ends immediately", r.end() == status and last_empty(f).flags == 0, r.process.returncode, r.err, last_empty(f))
                holds("it says so", r.err.endswith(f"{said}elect run: sh was not started again; exiting with status {status}\n")
                      and "passing it on" not in r.err, r.err)


@case
def restarts_of_a_frozen_run(_):
    """A failed command is not restarted while --on-lose freeze applies, even if the run's last lease has not ended yet."""
    with Fake() as f:
        starts = f.folder / "starts"
        with Run(f, "--on-exit", "restart", "--on-lose", "freeze", "--", "sh", "-c", f"echo $$ $ELECT_TERM >>{starts}; exit 3") as r:
            while b"restarting it in 1 s" not in r.process.stderr.readline():
                pass
            since = boottime()
            f.answer = lambda client, said: said.word == "HOLD" and (client.say("WAIT", leader="b") or True)
            f.client().say("STOP", why="again")
            f.wait("the run waits for its turn", lambda: f.words().count("HOLD") == 2)
            while boottime() < since + 1_500_000:
                r.signal(signal.SIGUSR1)  # wakes the keeper
                time.sleep(0.02)
            holds("the command is not started", len(starts.read_text().splitlines()) == 1, starts.read_text())
            f.answer, f.term = None, 7 << 16 | 1
            f.client().say("GO")
            wait("the command is started again", lambda: len(starts.read_text().splitlines()) == 2)
            holds("in the present term", [line.split()[1] for line in starts.read_text().splitlines()] == ["5.1", "7.1"], starts.read_text())
            r.signal(signal.SIGTERM)
            r.end()


@case
def health(_):
    with Fake() as f:
        sign = f.folder / "sick"
        checks = f.folder / "checks"
        # A check that takes more than a second also fails, but a busy machine does not cause so many failures in a row.
        with begin(f, OBEYS, "--health", f"echo >>{checks}; test ! -e {sign}", "--health-every", "1s", "--health-tries", "15") as r:
            wait("some checks", lambda: checks.exists() and checks.stat().st_size >= 2)
            holds("the run continues", "EMPTY" not in f.words())
            sign.touch()
            holds("the run becomes unhealthy", r.end() == 75 and "is unhealthy (its health check exited with status" in r.err and "handing over leadership of group main" in r.err, r.err)
            holds("leadership is handed over", last_empty(f).flags == YIELDS | FAILED and "health check" in last_empty(f).why, last_empty(f))
        slow = f.folder / "slow"  # exists only while the command works
        with begin(f, OBEYS, "--health", f"test ! -e {slow} || sleep 1000", "--health-every", "1s", "--health-tries", "2") as r:
            slow.touch()
            holds("too slow", r.end() == 75 and "timed out" in r.err, r.err)
        with begin(f, OBEYS, "--on-lose", "freeze", "--health", f"test ! -e {sign}-2", "--health-every", "1s", "--health-tries", "2") as r:
            f.answer = lambda client, said: said.word == "HOLD" and (client.say("WAIT", leader="b") or True)
            (f.folder / "sick-2").touch()
            wait("all processes are stopped", lambda: {state(p) for p in r.workers()} == {"T"})
            r.signal(signal.SIGTERM)
            holds("it says that it freezes, and why", r.end() == 143 and "is unhealthy (" in r.err and "): freezing it" in r.err
                  and "was not renewed" not in r.err and "ending " not in r.err, r.err)
        holds("no check is left", f.wait("E", lambda: all(c.is_empty() for c in f.clients)))


@case
def health_before_it_leads(_):
    """A waiting run whose check fails reports the check's exit status and its first line of output. The command starts only
    after a check that passes."""
    with Fake() as f:
        sign, started = f.folder / "well", f.folder / "started"
        check = f"test -e {sign} || {{ echo 'no disk, no work'; echo more; exit 9; }}"
        with Run(f, "--health", check, "--health-every", "500ms", "--health-tries", "2", "--", "touch", started) as r:
            f.wait("the run reports that its check fails", lambda: "HEALTH" in f.words())
            said = f.client().heard
            holds("not checked yet", said[0].word == "HOLD" and said[0].flags & UNHEALTHY, said)
            holds("the run reports the reason", said[1].flags == UNHEALTHY and said[1].why == "its health check exited with status 9: no disk, no work", said)
            holds("the command is not started", not started.exists())
            sign.touch()
            holds("then the command starts", r.end() == 0 and started.exists(), r.err)
            holds("the messages for the user", "exited with status 9: no disk, no work; failure 1 of 2" in r.err and "the health check of touch passes" in r.err, r.err)
            holds("each change is reported once", [s.flags for s in f.client().heard if s.word == "HEALTH"] == [UNHEALTHY, 0], f.client().heard)
        terms = f.folder / "terms"
        r = ran(f, "--health", f"echo ${{ELECT_TERM-none}} >>{terms}", "--health-every", "100ms", "--", "sh", "-c",
                f"until grep -q 5.1 {terms}; do sleep .1; done", env={"ELECT_TERM": "9.9"})
        holds("a check knows whether the command works", r.returncode == 0 and terms.read_text().startswith("none\n"), terms.read_text(), r.err)
        with Run(f, "--health", "yes; exit 1", "--health-every", "60s", "--health-tries", "1", "--", "true") as r:
            f.wait("HOLD", lambda: f.words()[-1] == "HOLD")
            wait("the output of an endless check is read", lambda: r.workers())
            r.signal(signal.SIGTERM)
            holds("ended", r.end() == 143, r.err)
            wait("the check ends, too", lambda: not r.alive())


def say_as_another_user(name):
    os.setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    while True:
        try:
            sender.sendto(b"WATCHDOG=1", "\0" + name[1:])
        except ConnectionError:
            return
        time.sleep(0.02)


@case
def watchdog(_):
    alive = ("import os,socket,sys,time\nname=os.environ['NOTIFY_SOCKET']\ns=socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
             "every=int(os.environ['WATCHDOG_USEC'])/1e6\nprint('on',flush=True)\n"
             "for _ in range({}):\n s.sendto(b'STATUS=fine\\nWATCHDOG=1\\n', '\\0'+name[1:]); time.sleep(.1)\n{}\ntime.sleep(1000)")
    with Fake() as f:
        # Longer than the watchdog timeout: without signs of life the command would be killed.
        with begin(f, alive.format(100, "sys.exit(6)"), "--watchdog", "8s") as r:
            holds("signs of life", r.end() == 6 and "no sign of life" not in r.err, r.err)
        # Signs of life that arrive while the keeper is stopped count when it continues.
        with begin(f, alive.format(20, "sys.exit(6)"), "--watchdog", "8s") as r:
            keeper, since = r.keeper(), boottime()
            os.kill(keeper, signal.SIGSTOP)
            wait("longer than the watchdog", lambda: boottime() > since + 8_500_000)
            os.kill(keeper, signal.SIGCONT)
            holds("signs of life that were late", r.end() == 6 and "no sign of life" not in r.err, r.err)
        with begin(f, alive.format(3, ""), "--watchdog", "5s") as r:  # enough time to start
            holds("silence", r.end() == 75 and "gave no sign of life (--watchdog)): ending it" in r.err, r.err)
        with begin(f, alive.format(1, "s.sendto(b'WATCHDOG=trigger', '\\0'+name[1:])"), "--watchdog", "100s") as r:
            holds("the command requests its own end", r.end() == 75 and "no sign of life" in r.err, r.err)
        silent = "import os,time\nprint('on',flush=True)\nprint(os.environ['NOTIFY_SOCKET'],flush=True)\ntime.sleep(1000)"
        with begin(f, silent, "--watchdog", "5s") as r:
            name = r.process.stdout.readline().decode().strip()
            foreign = evidence.fork(say_as_another_user, name) if is_root("watchdog/of-another-user") else None
            holds("signs of life of another user do not count", r.end() == 75 and "no sign of life" in r.err, r.err)
            if foreign:
                os.kill(foreign, signal.SIGKILL)
                os.waitpid(foreign, 0)


# ---- namespaces, control groups, terminals ----

@case
def isolated(_):
    with Fake() as f:
        f.folder.chmod(0o711)
        os.chmod(f.path, 0o777)
        who = [{}] + ([{"user": UNPRIVILEGED, "group": UNPRIVILEGED, "cwd": "/"}] if is_root("isolated/as-another-user") else [])
        for how in who:
            f.clients = []
            r = ran(f, "--isolate", "--shell", "--", "ls /proc | grep -c '^[0-9]*$'; id -u; echo $$", **how)
            if r.returncode == 125 and "not permitted" in r.err and how:
                skip("isolated/as-another-user", "needs namespaces for that user")
                continue
            expect("isolated", r, 0)
            holds("the daemon knows the containment", f.client().heard[0].flags == NAMESPACE | YIELDS, f.client().heard[0].flags)
            processes, user, pid = map(int, r.out.split())
            holds("the command is alone in its namespace, as its user", processes < 6 and user == how.get("user", os.geteuid()) and pid == 2, r.out)
    with Fake(**SHORT) as f, Run(f, "--isolate", "--", HOSTILE, "BEAT", "tree", "5") as r:
        r.begun(5)
        f.renews = False
        holds("lost", r.end() == 75, r.err)
        r.nothing_after(f.until(), "isolated")


def ignore_children():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


@case
def isolated_ends_completely(_):
    """With --isolate the command runs in a process namespace, whose first process belongs to elect run. The kernel ends the
    namespace only when none of its process numbers is in use, not even as a process group. The first process must therefore be
    in its own group: in the command's group it would wait for itself forever, and could not even be killed."""
    def end_by_itself(r):
        os.kill(r.command(), signal.SIGKILL)
        return 137

    def end_by_lost_office(r):
        r.fake.client().say("LOST", why="")
        return 75

    def end_by_keeper(r):
        os.kill(r.keeper(), signal.SIGKILL)
        return 125

    def end_by_runner(r):
        r.signal(signal.SIGKILL)
        return -9
    with Fake() as f:
        if os.geteuid() != 0 and ran(f, "--isolate", "--", "true").returncode == 125:
            raise NotHere("needs namespaces for this user")
        for ending in (end_by_itself, end_by_lost_office, end_by_keeper, end_by_runner):
            for mode in ("tree", "chain"):
                with Run(f, "--isolate", "--", HOSTILE, "BEAT", mode, "5", preexec_fn=ignore_children) as r:
                    r.begun(5)
                    first = r.waiter()
                    end = os.pidfd_open(first)
                    numbers = re.search(r"^NSpid:\s(.*)\nNSpgid:\s(.*)$", pathlib.Path(f"/proc/{first}/status").read_text(), re.M)
                    holds("the waiter is the first process, in a group of its own", numbers[1].split()[-1] == numbers[2].split()[-1] == "1", numbers)
                    status = ending(r)
                    holds(ending.__name__, r.end() == status, r.returncode, r.err)
                    holds("the namespace has ended", select.select([end], [], [], LIMIT)[0], ending.__name__, mode)
                    os.close(end)
                    wait("no process is left", lambda: not r.alive())


class Cgroup:
    """A control group for a runner, either delegated, so that the runner may divide it, or not."""

    def __init__(self, delegated):
        self.path = CGROUPS / f"elect-test-{uuid.uuid4().hex[:8]}"
        self.path.mkdir()
        if delegated:
            os.setxattr(self.path, "trusted.delegate", b"1")

    def enter(self):
        (self.path / "cgroup.procs").write_text("0")

    def below(self):
        return [p for p in self.path.iterdir() if p.is_dir()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for path in [*self.below(), self.path]:
            wait("an empty control group", lambda: not (path / "cgroup.procs").read_text())
            path.rmdir()


@case
def control_groups(_):
    if not (CGROUPS / "cgroup.procs").exists():
        raise NotHere("needs control groups of version 2")
    need_root()
    with Fake() as f, Cgroup(True) as given, Cgroup(False) as kept:
        r = expect("delegated", ran(f, "--", "cat", "/proc/self/cgroup", preexec_fn=given.enter), 0)
        holds("a control group of its own", f"0::/{given.path.name}/elect-run-" in r.out, r.out)
        holds("the daemon knows the containment", f.client().heard[0].flags == CGROUP | YIELDS, f.client().heard[0].flags)
        r = expect("not delegated", ran(f, "--", "cat", "/proc/self/cgroup", preexec_fn=kept.enter), 0)
        holds("no control group of its own", f"0::/{kept.path.name}\n" in r.out, r.out)
        r = expect("demanded", ran(f, "--cgroup", "--", "cat", "/proc/self/cgroup", preexec_fn=kept.enter), 0)
        holds("a control group of its own", f"0::/{kept.path.name}/elect-run-" in r.out, r.out)
        f.lease, f.renewal = SHORT["lease"], SHORT["renewal"]
        for mode in ("tree", "chain", "bomb"):
            f.renews = True
            with Run(f, "--", HOSTILE, "BEAT", mode, "40", preexec_fn=given.enter) as r:
                r.begun(40)
                f.renews = False
                holds(mode, r.end() == 75, r.err)
                r.nothing_after(f.until(), mode)
        f.renews = True
        for victim in ("pid", "keeper"):
            with Run(f, "--", HOSTILE, "BEAT", "tree", "5", preexec_fn=given.enter) as r:
                r.begun(5)
                os.kill(r.pid if victim == "pid" else r.keeper(), signal.SIGKILL)
                r.end()
                wait(f"{victim}: no process is left", lambda: not r.alive())
                wait(f"{victim}: no control group is left", lambda: not given.below())
        with Run(f, "--on-lose", "freeze", *MARGIN, "--", HOSTILE, "BEAT", "tree", "5", preexec_fn=given.enter) as r:
            r.begun(5)
            f.renews, f.answer = False, lambda client, said: said.word == "HOLD"
            wait("frozen", lambda: "frozen 1" in (given.below()[0] / "cgroup.events").read_text())
            r.nothing_works = r.beat()[0]
            r.in_time(r.nothing_works, f.until(), "frozen")
            f.renews = True
            f.wait("HOLD", lambda: f.clients[-1].heard[-1].word == "HOLD")
            f.client().say("GO")
            f.answer = None  # the default answers include GO, so they begin after it
            wait("the command works", lambda: r.beat()[0] > r.nothing_works + 100_000)
            r.signal(signal.SIGTERM)
            os.kill(r.command(), signal.SIGKILL)
            holds("the run ends by itself", r.end() == 137, r.process.returncode)
        holds("no control group is left", not given.below() and not kept.below())
        nothing = pathlib.Path("/proc/self/mounts").read_text()
        holds("mounted", "cgroup2" in nothing)
        r = ran(f, "--cgroup", "--", "true", before=["unshare", "-m", "sh", "-c", f"umount {CGROUPS} && exec \"$@\"", "sh"])
        expect("no control groups", r, 125, err="--cgroup: this machine has no control groups of version 2")


@case
def terminal(_):
    """The command owns the terminal while it runs, then its previous owner gets it back. Between two starts of a command, the
    terminal's keys end the run."""
    with Fake() as f:
        starts = f.folder / "starts"
        pid, master = pty.fork()
        if pid == 0:
            os.execv(ELECT, [ELECT, "run", "-S", f.status_path, "--on-exit", "restart", "--", "sh", "-c", f"echo >>{starts}; exit 3"])
        seen = b""
        while b"restarting it in 1 s" not in seen:
            holds("the run restarts its command", select.select([master], [], [], LIMIT)[0], seen)
            seen += os.read(master, 4096)
        os.write(master, b"\x03")
        holds("the run ends", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3 and starts.read_text() == "\n", starts.read_text())
        os.close(master)
        for words in ([], ["--isolate"]):
            pid, master = pty.fork()
            if pid == 0:
                os.execv(ELECT, [ELECT, "run", "-q", "-S", f.status_path, *words, "--", sys.executable, "-c",
                                 "import os,signal,sys\nsignal.signal(2, lambda n,f: sys.exit(5))\n"
                                 "print('mine', os.tcgetpgrp(0)==os.getpgrp(), flush=True)\nprint('got', input(), flush=True)\n"
                                 "import time\nwhile 1: time.sleep(.05)"])
            seen = b""

            def until(word):
                nonlocal seen
                while word not in seen:
                    holds("the command prints", select.select([master], [], [], LIMIT)[0], word, seen)
                    seen += os.read(master, 4096)
            until(b"mine True")
            os.write(master, b"hello\n")
            until(b"got hello")
            os.write(master, b"\x1a")  # elect run continues the stopped command, because no shell would
            wait("the run continues", lambda: state(pid) == "S")
            os.write(master, b"\x03")
            try:  # the terminal may discard output: only the status shows the interrupt
                while os.read(master, 4096):
                    pass
            except OSError:
                pass
            _, status = os.waitpid(pid, 0)
            os.close(master)
            holds("terminal", os.waitstatus_to_exitcode(status) == 5, status, seen)


@case
def keys_of_the_terminal(_):
    """A command that a key of its terminal ends has not failed: the run keeps leadership, whatever --on-exit says about failures.
    The terminal sends the signal of the key only to the foreground process group, to which elect run does not belong."""
    with Fake() as f:
        for words in ([], ["--isolate"], ["--on-exit", "restart"]):
            for key, number in ((b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT)):
                pid, master = pty.fork()
                if pid == 0:
                    os.execv(ELECT, [ELECT, "run", "-S", f.status_path, *words, "--", "sh", "-c", "ulimit -c 0; echo ready; exec sleep 600"])
                seen = b""
                try:  # reading from the terminal fails once the run has ended
                    while select.select([master], [], [], LIMIT)[0]:
                        now = os.read(master, 4096)
                        if b"ready" in seen + now and b"ready" not in seen:
                            os.write(master, key)
                        seen += now
                except OSError:
                    pass
                os.close(master)
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                name = f"killed by {number.name}); exiting with status {128 + number}"
                holds("the key ends the command:", status == 128 + number and name in seen.decode(), words, status, seen)
                holds("it has not failed:", last_empty(f).flags == 0 and "its command was killed by" in last_empty(f).why, words, last_empty(f))


if __name__ == "__main__":
    sys.exit(main(__file__))
