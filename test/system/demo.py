#!/usr/bin/env python3
"""Tests the demonstration as a user sees it: demo.py ELECT [CASE ... | --list] [--jobs N]

Some cases run it in a tmux terminal, send keys and inspect the screen. Others run it with its output in a pipe. No process,
file or socket may be left, however it ends."""

import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from lib.cases import case, main  # noqa: E402
from lib.checks import expect, holds, is_root  # noqa: E402
from lib.elect_command import ELECT, run  # noqa: E402
from lib.processes import LIMIT, adopt_orphans, children, descendants, state, wait  # noqa: E402

MEMBERS = "12345"
SCRIPT = "--limit", f"{LIMIT}s"  # so long that the demonstration ends normally on a slow machine


def play(case):
    adopt_orphans()
    case(None)


def processes():
    """Returns the elect processes that this case started, in any session or process group."""
    found = []
    for pid in descendants():
        try:
            if b"elect" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]:
                found.append(pid)
        except OSError:
            pass
    return found


def parent(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return None


def front():
    """Returns the process that was started: the only elect process without an elect parent."""
    found = processes()
    return next(pid for pid in found if parent(pid) not in found)


def belonging_to(member):
    """Returns the processes of a member and its guardian, found by the path of their configuration."""
    found = []
    for pid in processes():
        try:
            if f"/{member}.conf".encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            pass
    return found


class Theatre:
    """A terminal in which the demonstration runs, and a folder for its files."""

    def __init__(self, *words, columns=80, rows=24, env=(), jobs=False):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="elect-theatre-", dir="/tmp"))
        # True if a shell with job control starts the demonstration.
        self.words, self.size, self.env, self.jobs = words, (columns, rows), list(env), jobs

    def __enter__(self):
        columns, rows = self.size
        status = self.folder / "status"
        job = f"env TMPDIR={self.folder} {' '.join(self.env)} {ELECT} demo {' '.join(self.words)}"
        back = f"while [ $s = 148 ]; do touch {self.folder}/away; until [ -e {self.folder}/back ]; do :; done; fg; s=$?; done"
        line = f"trap : INT QUIT; set {'-m' if self.jobs else '+m'}; {job}; s=$?; {back}; echo $s > {status}; exec cat"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows, "-s", "demo", line)
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            print("the screen:", self.screen(), sep="\n", file=sys.stderr)
        self.tmux("kill-server")
        while pids := processes():
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        shutil.rmtree(self.folder, ignore_errors=True)

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", str(self.folder / "tmux"), *map(str, words)], capture_output=True, text=True,
                              timeout=LIMIT, env=os.environ | {"TERM": "xterm"})
        return done.stdout

    def screen(self):
        return self.tmux("capture-pane", "-p", "-t", "demo")

    def press(self, *keys):
        self.tmux("send-keys", "-t", "demo", *keys)

    def shows(self, *patterns):
        """Waits until the screen matches all these patterns at once."""
        def seen():
            screen = self.screen()
            return screen if all(re.search(p, screen, re.M) for p in patterns) else None
        return wait(f"the screen shows {patterns}", seen)

    def status(self):
        path = self.folder / "status"
        return wait("the demonstration has ended", lambda: path.read_text().strip() if path.exists() and path.read_text().endswith("\n") else None)

    def leftovers(self):
        return [p.name for p in self.folder.glob("elect-demo-*")]

    def gone(self):
        wait("no process is left", lambda: not processes())
        holds("no folder is left:", not self.leftovers(), self.leftovers())

    def resigns(self):
        """Presses the key that makes the leader resign until a leader has handed over, and returns that leader's number. If the
        leader is deposed before the key arrives, the next leader gets the key."""
        def handed_over():
            screen = self.screen()
            found = re.search(r"(\d) has handed over to \d", screen)
            if not found:
                self.press(self.leader(), "r")
            return found
        return wait("a leader hands over", handed_over)[1]

    def leader(self, other_than=None):
        def found():
            leads = set(re.findall(r"(\d) LEADS", self.screen()))
            return leads.pop() if len(leads) == 1 and leads != {other_than} else None
        return wait("the screen shows a leader", found)


HAS_A_LEADER = r"(?:follows \d|LEADS)"  # any member may lead after an extra election


@case
def keys(_):
    """Each key does what its description says, and the screen shows it."""
    with Theatre(rows=200) as t:  # room for all entries, even after extra elections
        t.shows(r"elect demo: 5 processes, bully, mandate majority", r"(\d) leads in term \d+\.\1", r"lease \[#+ *\] \d\.\d\d s",
                r"\[\*\d\*\]", r"a majority of the voters granted")
        first = t.leader()
        t.press(first, "k")
        t.shows(rf"kill -9 of {first}: its guardian", rf">{first} is dead", rf"x{first}x")
        t.leader(first)
        t.press("c")
        t.shows(rf"^ +\d+\.\d+ +{first} starts", rf">{first} {HAS_A_LEADER}")
        t.resigns()
        third = t.leader()
        t.press(third, "s")
        t.shows(rf"{third} is stopped", rf"\(z{third}z\)")
        t.leader(third)
        t.press("c")
        t.shows(rf"{third} continues", rf">{third} {HAS_A_LEADER}")
        t.press("c", "Z", "9")
        t.shows(rf"{third} runs already, so c has no effect", "unknown key Z: press . for the list of keys", "unknown key 9: ")
        fourth = t.leader()
        t.press(fourth, "x")
        t.shows(rf"{fourth} is cut off from all others")
        t.leader(fourth)
        t.press("h")
        t.shows("the network is whole again", rf">{fourth} {HAS_A_LEADER}")
        fifth = t.leader()
        t.press(fifth, "K")
        t.shows(r"as if the machine were lost")
        t.leader(fifth)
        t.press("c", "a")
        t.shows("elect demo: 5 processes, ring, mandate majority", "all start again with ring")
        t.leader()
        t.press("q")
        holds("exit", t.status() == "0", t.status())
        t.gone()
        wait("the terminal is restored", lambda: "elect demo" not in t.screen() and "choose" not in t.screen())


@case
def guides(_):
    """The demonstration guides its user: it selects the leader until the user selects a process, gives hints that match the
    events, explains all keys in its help, and ends with a summary."""
    with Theatre() as t:
        first = t.leader()
        t.shows(rf">{first} LEADS", "^ try k: kill the leader")
        t.press("k")
        second = t.leader(first)
        t.shows(rf">{second} LEADS", rf"^ try {first}, then c: start process {first}")
        t.press("?")
        t.shows("WHAT YOU SEE", r"^ q  quit", r"\?: back")
        t.press("k")  # must only close the help
        t.shows("try ", rf"{first} is dead")
        dead = re.findall(r"^.{36}.\d is dead", t.screen(), re.M)
        holds("a key that closes the help does nothing else", len(dead) == 1, dead)
        t.press(first, "c")
        t.shows(rf">{first} {HAS_A_LEADER}", "^ try K: ")
        t.press("l")
        t.shows(r">\d LEADS")
        t.press("x")
        t.shows("^ try h: heal the network")
        t.press("h")
        t.leader()
        t.press("q")
        holds("exit", t.status() == "0", t.status())
        t.shows(r"^In \d+\.\d s, with 5 processes, bully, mandate majority:$", r"^leaders that took office +\d+$",
                r"^longest time without a leader, after the first one +[\d.]+ ms$", r"^two led at once, for +never$")
        t.gone()


@case
def split_brain(_):
    """Without a mandate a partition leads to two leaders, and the screen shows both."""
    with Theatre("--mandate", "none") as t:
        first = t.leader()
        t.press(first, "x")
        t.shows(r"\d and \d LEAD AT ONCE: split brain")
        t.press("h")
        t.leader()
        t.shows(r"^ \d leads$")
        wait("the leader refuses to resign", lambda: "refuses: cannot hand over with mandate = none" in t.screen() or t.press("r"))
        t.press("q")
        holds("exit", t.status() == "0", t.status())
        t.gone()


@case
def sizes(_):
    """The screen has the right layout with three to nine members, on terminals of all sizes, without colours, and after a
    resize."""
    for words, columns, rows in ((("--members", "3"), 80, 24), (("--members", "9", "--algorithm", "chang-roberts"), 80, 24),
                                 (("--members", "5"), 200, 60), ((), 40, 12), ((), 80, 12), (("--members", "9"), 20, 6)):
        with Theatre(*words, columns=columns, rows=rows, env=["NO_COLOR=1"]) as t:
            if rows >= 24:
                t.leader()
                screen = t.shows(r"x cut off  h heal", r"^ +\d+\.\d{3}  \d ")  # the last entries may be about a slow member
                holds("no colours", "\x1b" not in t.tmux("capture-pane", "-p", "-e", "-t", "demo").replace("\x1b[39m", ""))
                holds("the keys are at the bottom", "q quit" in screen.rstrip("\n").splitlines()[-1], screen)
            else:  # without the ring, the selected process and every key are still shown
                t.shows(r"^>\d LEADS", r"^ \d leads in term")
                keys = t.screen().splitlines()[rows - 1]
                holds("the screen shows every key", all(key in keys for key in ("1-", *"lkKscxhra?q")), keys)
                seen, page = "", 0
                while "?: back" not in seen:
                    t.press("?")
                    page += 1
                    seen += t.shows(rf"^ {page}/\d+  ")
                t.press("?")
                holds("help explains each key", all(re.search(rf"^ {key}  \w", seen, re.M) for key in "lkKscxhraq"), seen)
                t.shows(r"^>\d LEADS")
            t.tmux("resize-window", "-t", "demo", "-x", 100, "-y", 30)
            wait("the demonstration fills the terminal", lambda: "q quit" in (t.screen().splitlines() + [""] * 30)[29])
            t.press("q")
            holds("exit", t.status() == "0", t.status())
            t.gone()


@case
def hung_up(_):
    """The demonstration ends when its terminal disappears."""
    with Theatre() as t:
        t.leader()
        t.tmux("kill-server")
        t.gone()


@case
def silenced(_):
    """The demonstration ends on SIGTERM even when ^S blocks the terminal."""
    with Theatre() as t:
        t.leader()
        t.press("C-s")
        for _ in range(20):
            t.screen()
        os.kill(front(), signal.SIGTERM)
        t.gone()
        t.press("C-q")
        holds("exit", t.status() == "143", t.status())


@case
def interrupted(_):
    with Theatre() as t:
        t.leader()
        t.press("C-c")
        holds("exit", t.status() == "130", t.status())
        t.gone()


@case
def stopped(_):
    """^Z returns the terminal to the shell, and fg continues the demonstration."""
    with Theatre(jobs=True) as t:
        t.leader()
        t.press("C-z")
        wait("the shell has the terminal", lambda: (t.folder / "away").exists())
        wait("the demonstration has left the screen", lambda: "choose" not in t.screen())
        t.press("x")
        (t.folder / "back").touch()
        t.shows("q quit")
        t.press("q")
        holds("exit", t.status() == "0", t.status())
        t.gone()


def pipe(*words, folder, **more):
    return subprocess.Popen([ELECT, "demo", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                            text=True, env=os.environ | {"TMPDIR": str(folder)}, **more)


class Live:
    """A demonstration on a terminal that is not read, until `end` or `quit` is called."""

    def __init__(self, folder):
        self.keyboard, terminal = pty.openpty()
        self.process = subprocess.Popen([ELECT, "demo"], stdin=terminal, stdout=terminal, stderr=subprocess.PIPE, text=True,
                                        env=os.environ | {"TMPDIR": str(folder), "TERM": "xterm"})
        os.close(terminal)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        os.close(self.keyboard)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.communicate(timeout=LIMIT)

    def quit(self):
        os.write(self.keyboard, b"q")
        self.process.communicate(timeout=LIMIT)
        return self.process.returncode


def has_ended_by_itself(p, out):
    """Returns True if the script ended before it could be signalled."""
    return p.returncode == 0 and "\nMeasured, with" in out


@case
def in_a_pipe(_):
    """If its output is a pipe, the demonstration plays its script, prints measurements and exits."""
    heard = 0
    for words in ((), ("--algorithm", "ring", "--members", "3"), ("--algorithm", "active-ring"), ("--algorithm", "chang-roberts")):
        with tempfile.TemporaryDirectory(prefix="elect-pipe-", dir="/tmp") as folder:
            with pipe(*words, *SCRIPT, folder=folder) as p:
                out, err = p.communicate(timeout=2 * LIMIT)
            holds("exit", p.returncode == 0 and not err, p.returncode, err, out)
            for word in ("All processes start.", "is lost: kill -9", "crashes: kill -9", "It starts again.", "The network is partitioned",
                         "a majority of the voters granted", "two led at once, for", "never"):
                holds("no", word in out, repr(word), out)
            heard += by_guardian_or_lease(out)
            holds("no line is too long", max(map(len, out.splitlines())) <= 80, max(out.splitlines(), key=len))
            holds("no colours", "\x1b" not in out)
            holds("nothing is left", not os.listdir(folder), os.listdir(folder))
    if not heard:
        print("every lease ended before the guardian acted: this machine is very slow")


def by_guardian_or_lease(out):
    """Checks how the other members learned of a leader's death, from the demonstration's output. If the guardian died, too,
    they must have waited until the lease ended. A surviving guardian must have reported the death, unless it stalled for longer
    than a lease. Returns True if it did."""
    acts = {words: [act for act in out.split("\n\n") if words in act] for words in ("is lost: kill -9", "crashes: kill -9")}
    said = re.compile(r"died\s+\(reported\s+by\s+its\s+guardian\)")
    for act in acts["is lost: kill -9"]:
        holds("no guardian reports the death", not said.search(act), act)
    act = acts["crashes: kill -9"][-1]  # an act is repeated if its victim no longer led
    holds("the guardian reports the death, or the lease ends", said.search(act) or re.search(r"hears\s+nothing\s+from", act), act)
    return said.search(act) is not None


@case
def measured(_):
    """-o json prints all measurements. With a mandate there are never two leaders."""
    with tempfile.TemporaryDirectory(prefix="elect-pipe-", dir="/tmp") as folder:
        with pipe("-o", "json", *SCRIPT, folder=folder) as p:
            out, err = p.communicate(timeout=2 * LIMIT)
        holds("exit", p.returncode == 0, p.returncode, err)
        said = json.loads(out)
        holds("everything was measured", all(said[k] is not None for k in said), said, err)
        holds("never two leaders", said["two_at_once_ms"] == 0 and said["old_leader_stopped_ms"] < said["new_leader_ms"], said)
        with pipe("-o", "json", "--mandate", "none", *SCRIPT, folder=folder) as p:
            out, err = p.communicate(timeout=2 * LIMIT)
        holds("exit", p.returncode == 0, p.returncode, err)
        said = json.loads(out)
        holds("two leaders at the same time", said["two_at_once_ms"] > 0 and said["old_leader_stopped_ms"] is None, said, err)
        holds("nothing is left", not os.listdir(folder), os.listdir(folder))


@case
def limited(_):
    """A script that exceeds its time limit reports the missing event and what to do."""
    with tempfile.TemporaryDirectory(prefix="elect-pipe-", dir="/tmp") as folder:
        with pipe("--limit", "1ms", folder=folder) as p:
            out, err = p.communicate(timeout=LIMIT)
        holds("exit", p.returncode == 1 and "Measured" not in out, p.returncode, out)
        holds("why", err.startswith("elect demo: a first leader: did not happen in time (") and "--limit" in err, err)
        holds("nothing is left", not os.listdir(folder), os.listdir(folder))


@case
def signals(_):
    """No process, file or socket is left when a signal ends the demonstration, in any of its processes."""
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV]
    for number in numbers:
        for whom in ("front", "supervisor"):
            with tempfile.TemporaryDirectory(prefix="elect-pipe-", dir="/tmp") as folder:
                with pipe(*SCRIPT, folder=folder) as p:
                    supervisor = wait("the supervisor runs", lambda: p.poll() is not None and [0] or children(p.pid))[0]
                    wait("daemons run", lambda: len(processes()) >= 12 or p.poll() is not None)
                    if p.poll() is None:
                        os.kill(p.pid if whom == "front" else supervisor, number)
                    out, _ = p.communicate(timeout=LIMIT)
                    wait(f"nothing is left after {number.name} of the {whom}", lambda: not processes())
                    wait("no folder is left", lambda: not os.listdir(folder))
                    expected = {128 + number, -number} if whom == "front" else {74}
                    holds("exit", p.returncode in expected or has_ended_by_itself(p, out), number.name, whom, p.returncode)


@case
def killed_while_it_starts(_):
    """A demonstration that is killed while it starts leaves at most a folder, which the next one removes."""
    with tempfile.TemporaryDirectory(prefix="elect-pipe-", dir="/tmp") as folder:
        for i in range(30):
            with pipe(folder=folder) as p:
                try:
                    p.wait(i / 1000)
                except subprocess.TimeoutExpired:
                    pass
                p.kill()
                p.communicate(timeout=LIMIT)
        wait("no process is left", lambda: not processes())
        with Live(folder) as p:
            wait("another demonstration runs", lambda: len(processes()) >= 12)
            p.end()
        holds("no folder is left:", not os.listdir(folder), os.listdir(folder))


@case
def daemons_killed(_):
    """If a guardian is killed from outside, its member dies, too, and the screen shows it as dead."""
    with Theatre() as t:
        leader = t.leader()
        guardian = wait("its guardian runs", lambda: next((pid for pid in belonging_to(leader) if children(pid)), None))
        os.kill(guardian, signal.SIGKILL)
        t.shows(rf"{leader} is dead")
        t.leader(leader)
        t.press(leader, "c")
        t.shows(rf">{leader} {HAS_A_LEADER}")
        t.press("q")
        holds("exit", t.status() == "0", t.status())
        t.gone()


@case
def stopped_from_outside(_):
    """When a stopped leader no longer answers, neither the screen nor the summary shows it as leader after its lease has
    ended."""
    with Theatre() as t:
        leader = t.leader()
        for pid in belonging_to(leader):
            os.kill(pid, signal.SIGSTOP)
        t.shows(rf"{leader} does not answer", r"^ \d leads in term")
        holds("no split brain", "LEAD AT ONCE" not in t.screen())
        t.press("q")
        holds("exit", t.status() == "0", t.status())
        t.shows(r"^longest time without a leader, after the first one +(?!0\.0 )[\d.]+ ms$", r"^two led at once, for +never$")
        t.gone()


@case
def impatient(_):
    """Keys pressed while all members restart have no effect, so no member starts twice."""
    with Theatre(rows=300) as t:
        t.leader()
        t.press("a", "a", "a")
        t.shows("all start again with")
        t.leader()
        screen = t.screen()
        # On a slow terminal a key may arrive after the restart and cause another one.
        began = len(re.findall("all start again with", screen))
        for number in MEMBERS:
            starts = len(re.findall(rf"^ +\d+\.\d+ +{number} starts$", screen, re.M))
            holds("each member starts once each time", starts == 1 + began <= 4, number, starts, began, screen)
        for number in MEMBERS:
            t.press(number, "K")
        t.shows(*[rf"[> ]{number} is dead" for number in MEMBERS])
        wait("only the front and its supervisor are left", lambda: len(processes()) == 2)
        for _ in range(10):
            t.shows(*[rf"[> ]{number} is dead" for number in MEMBERS])
            holds("the members stay dead", len(processes()) == 2, processes())
        t.press("C-z")  # without job control the demonstration continues
        t.shows("q quit")
        t.press("q")
        holds("exit", t.status() == "0", t.status())
        t.gone()


@case
def children_of_others(_):
    """The demonstration does not kill a child that its process already had."""
    with tempfile.TemporaryDirectory(prefix="elect-pipe-", dir="/tmp") as folder:
        for env, code in (({"TMPDIR": "/nowhere"}, 74), ({"TMPDIR": folder}, -signal.SIGTERM)):
            with subprocess.Popen(["sh", "-c", f"sleep 1000 & echo $!; exec {ELECT} demo {' '.join(SCRIPT)}"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, env=os.environ | env) as p:
                other = int(p.stdout.readline())
                try:
                    if code != 74:
                        wait("daemons run", lambda: len(processes()) >= 12 or p.poll() is not None)
                        p.terminate()
                    p.wait(LIMIT)
                    holds("the other child lives", state(other) in "SRD", state(other))
                finally:
                    os.kill(other, signal.SIGKILL)
                out = p.stdout.read()
                holds("exit", p.returncode == code or has_ended_by_itself(p, out), p.returncode)
        holds("nothing is left", not os.listdir(folder))


@case
def folders_of_others(_):
    """The demonstration removes only its own folders, and never a symbolic link, whatever their names."""
    with tempfile.TemporaryDirectory(prefix="elect-pipe-", dir="/tmp") as folder:
        place = pathlib.Path(folder)
        victim = place / "victim"
        link, open_one, other = place / "elect-demo-link", place / "elect-demo-open", place / "elect-demo-other"
        for path in (victim, open_one, other):
            path.mkdir(mode=0o700)
            (path / "lock").touch()
            (path / "precious").touch()
        link.symlink_to(victim)
        open_one.chmod(0o777)
        kept = [victim, open_one]
        if is_root("folders-of-others/of-another-user"):
            os.chown(other, 65534, 65534)
            kept.append(other)
        else:
            shutil.rmtree(other)
        inside, empty, full = place / "elect-demo-inside", place / "elect-demo-empty", place / "elect-demo-full"
        for path in (inside, empty, full):
            path.mkdir(mode=0o700)
        (full / "precious").touch()
        (inside / "lock").touch()
        (inside / "away").symlink_to(victim)
        with Live(folder) as p:
            wait("daemons run", lambda: len(processes()) >= 12)
            p.end()
        holds("ours are removed", not inside.exists() and not empty.exists(), os.listdir(folder))
        holds("a folder without a lock is not removed", (full / "precious").exists(), os.listdir(folder))
        for path in kept:
            holds("the folder stays", (path / "precious").exists() and (path / "lock").exists(), path)
        holds("the link stays", link.is_symlink())


@case
def supervisor_is_stopped(_):
    """The demonstration ends even if its supervisor, which normally cleans up, is stopped. The front process then cleans up."""
    with tempfile.TemporaryDirectory(prefix="elect-pipe-", dir="/tmp") as folder:
        with Live(folder) as p:
            wait("daemons run", lambda: len(processes()) >= 12)
            os.kill(children(p.pid)[0], signal.SIGSTOP)
            p.end()
            wait("nothing is left", lambda: not processes() and not os.listdir(folder))


@case
def reader_disappears(_):
    """The demonstration ends when its output is no longer read."""
    with tempfile.TemporaryDirectory(prefix="elect-pipe-", dir="/tmp") as folder:
        p = pipe(folder=folder)
        p.stdout.readline()
        p.stdout.close()
        p.wait(timeout=LIMIT)
        p.stderr.close()
        wait("nothing is left", lambda: not processes() and not os.listdir(folder))


@case
def both_killed(_):
    """If both the front process and the supervisor are killed, the demonstration's folder is left. The next demonstration
    removes that folder, but no other."""
    with tempfile.TemporaryDirectory(prefix="elect-pipe-", dir="/tmp") as folder:
        with Live(folder) as p:
            wait("daemons run", lambda: len(processes()) >= 12)
            supervisor = children(p.pid)[0]
            for pid in (supervisor, p.pid):
                os.kill(pid, signal.SIGSTOP)
            for pid in (supervisor, p.pid):
                os.kill(pid, signal.SIGKILL)
        wait("no daemon outlives the supervisor", lambda: not processes())
        left = os.listdir(folder)
        holds("one folder is left", len(left) == 1, left)
        mine = pathlib.Path(folder) / "elect-demo-mine12"
        mine.mkdir()
        with Live(folder) as p:
            wait("another demonstration runs", lambda: len(processes()) >= 12)
            holds("the folder is removed", left[0] not in os.listdir(folder))
            with Live(folder) as q:
                wait("a second demonstration runs", lambda: len(processes()) >= 24)
                q.end()
            wait("the second demonstration has ended", lambda: len(processes()) == 12)
            status = p.quit()
            holds("the first demonstration is not disturbed", status == 0, status)
        holds("a folder without a lock stays", os.listdir(folder) == [mine.name], os.listdir(folder))


@case
def bad_input(_):
    expect("algorithm", run("demo", "--algorithm", "buly"), 64, err="did you mean bully?")
    expect("mandate", run("demo", "--mandate", "no"), 64, err="--mandate")
    for number in ("2", "10", "x", "-1", ""):
        expect("members", run("demo", "--members", number), 64, err="expected a number from 3 to 9")
    for limit in ("0s", "x", "5", ""):
        expect("limit", run("demo", "--limit", limit), 64, err="--limit")
    expect("group", run("demo", "-g", "main"), 64, err="does not have this option")
    expect("word", run("demo", "now"), 64, err="unexpected argument")
    expect("no folder", run("demo", env={"TMPDIR": "/nowhere"}), 74, err="/nowhere")
    with tempfile.TemporaryDirectory(prefix="elect-pipe-", dir="/tmp") as folder:
        deep = pathlib.Path(folder) / ("deep" * 20)
        deep.mkdir()
        expect("a path too long for sockets", run("demo", "-q", *SCRIPT, env={"TMPDIR": str(deep)}), 0, lines=0)
        holds("the folder was made elsewhere", not os.listdir(deep))


if __name__ == "__main__":
    sys.exit(main(__file__, jobs=2, play=play))
