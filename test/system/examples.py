#!/usr/bin/env python3
"""Tests the examples beside real daemons: examples.py ELECT [CASE ... | --list] [--jobs N]

Each example must work, and must continue with another leader after its leader is killed."""

import collections
import itertools
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
from lib import evidence  # noqa: E402
from lib.cases import case  # noqa: E402
from lib.checks import holds  # noqa: E402
from lib.elect_command import ELECT  # noqa: E402
from lib.local_cluster import LocalCluster, free_ports  # noqa: E402
from lib.processes import LIMIT, children, die_with_parent, member_of, state, wait  # noqa: E402
from lib.runner import Late, environ, is_elect, main  # noqa: E402

BUILT = pathlib.Path(ELECT).parent / "examples"
SOURCES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"


def tree(pid):
    return [pid, *itertools.chain.from_iterable(tree(child) for child in children(pid))]


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def stand_still(pid):
    """Stops a process, and waits until it is stopped or has ended."""
    send(pid, signal.SIGSTOP)
    wait("the process is stopped", lambda: state(pid) in ("T", "Z", ""))


def end_all(pid):
    """Kills a process and its descendants. All are stopped first, so that they cannot fork in the meantime."""
    stopped = set()
    while new := set(tree(pid)) - stopped:
        for each in new:
            stand_still(each)
        stopped |= new
    for each in stopped:
        send(each, signal.SIGKILL)


class Beside(LocalCluster):
    """Daemons and the example programs beside them. Each of these processes has a log file, and ends with the cluster."""

    def __init__(self):
        super().__init__()
        self.programs, self.port = {}, {}

    def __exit__(self, *how):
        for program in self.programs.values():
            end_all(program.pid)
            program.wait()
        super().__exit__(*how)

    def launch(self, label, *words, env=None, **how):
        with open(self.folder / f"{label}.log", "a") as log:
            self.programs[label] = subprocess.Popen(
                list(map(str, words)), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=os.environ | (env or {}), preexec_fn=die_with_parent, **how)
        return self.programs[label]

    def said(self, label):
        return self.log(label)

    def until_said(self, label, pattern):
        return wait(f"{label} prints {pattern!r}", lambda: re.search(pattern, self.said(label), re.M))

    def begin(self):
        """Starts the daemons, waits for a leader, and chooses free ports for the example programs."""
        found = super().begin()
        self.port = dict(zip(self.names, free_ports(len(self.names))))
        return found

    def member(self, token):
        return self.names[(token & 0xffff) - 1]

    def kill_member(self, name):
        os.kill(member_of(self.daemons[name].pid), signal.SIGKILL)
        wait("the guardian ends", lambda: self.daemons[name].poll() is not None)

    def kill_machine(self, name, program):
        end_all(self.programs[program].pid)
        self.programs[program].wait()
        self.kill(name)

    def resigns(self):
        """Makes the leader resign."""
        self.resign(self.leader()[0])


# ---- mutual exclusion ----

# The program that holds the lock. It reads the counter, records again and again that it has the lock, and then writes the
# counter plus one. The counter is fenced: the program exits with 3 if the counter was already used with a larger pair (token,
# grant).
INSIDE = """
import fcntl, os, sys, time
pair = int(os.environ["ELECT_TOKEN"]), int(os.environ["MUTEX_GRANT"])
def sign():
    now = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
    os.write(log, f"{pair[0]} {pair[1]} {os.getpid()} {now} {label}\\n".encode())
def count(number=None):
    fcntl.flock(counter, fcntl.LOCK_EX)
    *latest, there = map(int, os.pread(counter, 80, 0).split() or (0, 0, 0))
    if tuple(latest) > pair:
        sys.exit(3)
    os.pwrite(counter, b"%020d %020d %020d" % (*pair, there if number is None else number), 0)
    fcntl.flock(counter, fcntl.LOCK_UN)
    return there
label, milliseconds = sys.argv[3], int(sys.argv[4])
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
sign()
counter = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
before = count()
for _ in range(milliseconds):
    time.sleep(0.001)
    sign()
count(before + 1)
sign()
"""
CROWD = 'until [ -e "$0" ]; do "$@"; echo "exit $?"; done'
CROWDED = 3  # number of processes that always want the lock
LATE = re.compile(r"process (\d+) was killed too late, at (\d+) us: its grant ended at (\d+) us, "
                  r"and mutex was suspended from (\d+) us on$", re.M)
NOT_RENEWED = "killed because its grant was not renewed"
MARGIN = int(re.search(r"#define MARGIN (\d+)", (SOURCES / "mutex.c").read_text())[1])


class Mutex(Beside):
    def begin(self):
        super().begin()
        self.over = self.folder / "over"
        for name in self.names:
            self.serve(name)
        for i in range(CROWDED):
            self.launch(f"crowd-{i}", "sh", "-c", CROWD, self.over, *self.lock(f"crowd-{i}", 3))
        wait("the crowd has had the lock", lambda: self.exits()[0] > CROWDED)

    def serve(self, name):
        self.launch(f"serve-{name}", BUILT / "mutex", "serve", self.socket(name), self.port[name])

    def lock(self, label, milliseconds):
        return [BUILT / "mutex", "lock", *self.port.values(), "--", sys.executable, "-I", "-S", "-c", INSIDE,
                self.folder / "signs", self.folder / "counter", label, milliseconds]

    def exits(self):
        """Counts the exit statuses of the processes that want the lock."""
        return collections.Counter(int(s) for i in range(CROWDED) for s in re.findall(r"^exit (\d+)$", self.said(f"crowd-{i}"), re.M))

    def signs(self):
        """Yields (token, grant, pid, time, label) for each sign of life from a process with the lock."""
        path = self.folder / "signs"
        for line in path.read_text().rpartition("\n")[0].splitlines() if path.exists() else ():  # the last line may be incomplete
            token, grant, pid, at, label = line.split()
            yield int(token), int(grant), int(pid), int(at), label

    def deadlines(self):
        """Returns {pid: end of its grant} for each process that `mutex` killed only after its grant had ended. Checks that
        `mutex` itself was then suspended for the whole safety margin before the end, the only valid excuse."""
        found = {}
        for label in self.programs:
            for pid, killed, until, since in (map(int, line) for line in LATE.findall(self.said(label))):
                stood = since < until - MARGIN and until <= killed
                holds("mutex stalled for the whole margin", stood, label, pid, since, until, killed)
                found[pid] = until
        return found

    def guests(self):
        """Returns {(token, grant, pid): [first sign of life, last sign of life, label]} of all processes that had the lock.
        Signs of life after the end of a grant are left out."""
        found, deadlines = {}, self.deadlines()
        for token, grant, pid, at, label in self.signs():
            if at < deadlines.get(pid, float("inf")):
                guest = found.setdefault((token, grant, pid), [at, at, label])
                guest[1] = at
        return found

    def stays(self, label):
        """Starts a process that keeps the lock for a long time, and returns its token. If a slow machine does not renew the
        grant in time, the process is killed before it has recorded anything, and is started again."""
        self.launch(label, *self.lock(label, 10 ** 6))

        def found():
            ended = self.programs[label].poll()
            if tokens := [token for token, *_, by in self.signs() if by == label]:
                return tokens[-1]
            if ended is not None:
                holds("it was killed because it lost the lock", ended == 75, label, ended)
                self.launch(label, *self.lock(label, 10 ** 6))
        return wait(f"{label} has the lock", found)

    def goes_on(self, label):
        """Waits until the process that kept the lock is killed and other processes get the lock again."""
        stayed, done = self.programs[label], self.exits()[0]
        wait(f"{label} ends", lambda: stayed.poll() is not None)
        holds("it was killed because it lost the lock", stayed.returncode == 75, stayed.returncode)
        wait("others get the lock", lambda: self.exits()[0] > done + 2 * CROWDED)

    def forge(self, label):
        """Forges a message that releases the lock. The process with the lock must keep it, unless a slow machine delays its
        renewals. If another process got the lock through the forgery, `judge` reports it."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
            for port in self.port.values():
                door.sendto(b"RELEASE 2 0", ("127.0.0.1", port))
        until = evidence.now() + 200_000  # four times the others' interval between requests
        wait("the process keeps the lock", lambda: self.programs[label].poll() is not None or
             any(at > until for *_, at, by in self.signs() if by == label))

    def judge(self):
        """Checks that no two processes had the lock at the same time. All processes must have ended: only then is it known
        which ones were killed too late."""
        guests = sorted(self.guests().items(), key=lambda item: item[1][0])
        for (one, a), (other, b) in itertools.pairwise(guests):
            if a[1] >= b[0]:
                raise Late(f"{b[2]} {other} got the lock before {a[2]} {one} released it, by {a[1] - b[0]} us")
            holds("the pair is larger in every later grant", one[:2] < other[:2], one, other)

    def finish(self):
        self.over.touch()
        for i in range(CROWDED):
            wait("the crowd ends", lambda: self.programs[f"crowd-{i}"].poll() is not None)
        self.judge()
        exits = self.exits()
        holds("each process had the lock, or lost it", set(exits) <= {0, 75}, exits)
        counted = int((self.folder / "counter").read_text().split()[2])
        holds("no process overwrote the count of another", exits[0] <= counted <= exits[0] + exits[75], counted, exits)


@case
def mutex(_):
    """Processes lock and unlock all the time. Three times, while one process keeps the lock, the coordinator's machine fails:
    the first time the member is killed, then everything on the machine, then only the coordinator."""
    with Mutex() as p:
        p.begin()
        first = p.stays("one")
        p.kill_member(p.member(first))
        p.goes_on("one")
        p.start(p.member(first))
        second = p.stays("two")
        name = p.member(second)
        holds("another member coordinates", second > first, first, second)
        p.kill_machine(name, f"serve-{name}")
        p.goes_on("two")
        p.start(name)
        p.serve(name)
        third = p.stays("three")
        name = p.member(third)
        holds("another member coordinates", third > second, second, third)
        end_all(p.programs[f"serve-{name}"].pid)
        p.programs[f"serve-{name}"].wait()
        p.serve(name)  # restarts with the same token, but without its memory
        p.goes_on("three")
        p.stays("four")
        p.forge("four")
        p.resigns()
        p.goes_on("four")
        p.finish()


@case
def mutex_commands(_):
    """`mutex lock` exits with its command's status, ends all processes that the command leaves behind, and waits if no
    coordinator runs."""
    with Mutex() as p:
        p.begin()
        p.over.touch()
        lock = p.lock("", 0)[:p.lock("", 0).index("--") + 1]

        def ends(label, *command):
            """Returns the command's exit status. If a slow machine does not renew the grant in time, the command is killed with
            a message, and is started again."""
            def found():
                done, said = p.launch(label, *lock, *command), len(p.said(label))
                wait("the command ends", lambda: done.poll() is not None)
                if done.returncode == 75:
                    holds("the reason is reported", NOT_RENEWED in p.said(label)[said:] or LATE.search(p.said(label)[said:]), p.said(label))
                return [done.returncode] if done.returncode != 75 else None
            return wait(f"{command} ends without a late grant", found)[0]
        for command, status in ((["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137), (["/nowhere/at/all"], 127)):
            ended = ends("command", *command)
            holds(command, ended == status, ended)
        left = p.folder / "left"
        ends("leaves", "sh", "-c", f"sleep 600 & echo $! > {left}")
        wait("the process that it left ends, too", lambda: state(int(left.read_text())) in ("", "Z"))
        alone = p.launch("alone", BUILT / "mutex", "lock", free_ports(1)[0], "--", "echo", "in")
        after = p.launch("after", *lock, "true")
        wait("the other process had the lock", lambda: after.poll() is not None)
        holds("the process without coordinators did not", alone.poll() is None and p.said("alone") == "", p.said("alone"))


# ---- clocks ----

NEAR = 25  # milliseconds two clocks may differ by: a little more than the longest round trip that counts
STEP = 5  # milliseconds: half of that round trip, the largest error of an answering clock per round


class Clocks(Beside):
    def __init__(self):
        super().__init__()
        self.heard = collections.Counter()

    def tick(self, name, offset, drift):
        others = [self.port[n] for n in self.names if n != name]
        self.launch(f"clock-{name}", BUILT / "berkeley", self.socket(name), offset, drift, self.port[name], *others)

    def forget(self):
        """Ignores all earlier output."""
        for name in self.names:
            self.heard[name] = len(self.said(f"clock-{name}"))

    def lines(self, name):
        """Returns (error in ms, master or slave) for each line that the clock program has printed since `forget`."""
        said = self.said(f"clock-{name}")[self.heard[name]:]
        return [(float(ms), what) for ms, what in re.findall(r"^([+-][\d.]+) ms, (\w+)$", said, re.M)]

    def clocks(self, names):
        return {name: self.lines(name)[-1] for name in names if self.lines(name)}

    def rounds(self):
        """Returns how many lines the clock programs have printed as master: an upper bound on the number of corrections."""
        return sum(self.said(f"clock-{name}").count(", master") for name in self.names if f"clock-{name}" in self.programs)

    def agree(self, names=None):
        """Waits until newly printed lines show that the clocks agree. Returns their mean error and the master's name."""
        names = names or self.names
        self.forget()

        def found():
            clocks = self.clocks(names)
            wrong = [ms for ms, _ in clocks.values()]
            masters = [name for name, (_, what) in clocks.items() if what == "master"]
            near = len(wrong) == len(names) and max(wrong) - min(wrong) < NEAR
            return (sum(wrong) / len(wrong), masters[0]) if near and len(masters) == 1 else None
        return wait("the clocks agree", found)

    def agrees_upon(self, what, expected, since):
        """Checks that the clocks agree on roughly the expected mean error. Each round since `since` may have changed it by up
        to half of the longest round trip that counts."""
        mean, _ = self.agree()
        bound = NEAR + STEP * (self.rounds() - since)
        holds(what, abs(mean - expected) < bound, mean, expected, bound)

    def alone(self, first, second):
        """Waits until one of the two members with clocks is master. After a long stall the third member may be elected instead,
        and must then hand over."""
        third = next(name for name in self.names if name not in (first, second))

        def found():
            if self.group(third).get("leads"):
                self.elect(third, "transfer", first)
            return self.rounds() > 5
        wait("one of the two is master", found)


@case
def berkeley(_):
    with Clocks() as p:
        first, stale = p.begin()
        second, third = (name for name in p.names if name != first)
        p.tick(first, 300, 100)
        p.tick(second, 60000, 50)
        p.alone(first, second)
        apart = wait("both clocks report", lambda: len(clocks := p.clocks([first, second])) == 2 and clocks)
        holds("two of three clocks that differ are not adjusted", abs(apart[first][0] - 300) < NEAR and abs(apart[second][0] - 60000) < NEAR, apart)
        since = p.rounds()
        p.tick(third, -200, -100)
        p.agrees_upon("a clock that is far off does not count", 50, since)
        lost, _ = p.leader()
        p.kill_machine(lost, f"clock-{lost}")
        mean, master = p.agree([name for name in p.names if name != lost])
        holds("another member is master", master != lost, master)
        since = p.rounds()
        p.start(lost)
        p.tick(lost, round(mean) + 650, 0)
        p.agrees_upon("all three count now", mean + 650 / 3, since)
        _, master = p.agree()
        refuses_late_words(p, stale, next(name for name in p.names if name not in (master, lost)))


def refuses_late_words(p, stale, slave):
    """A slave refuses messages from a former master, and ignores an adjustment from any address but the master's."""
    mean, _ = p.agree()
    p.forget()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as former:
        former.bind(("127.0.0.1", 0))
        former.setblocking(False)

        def say(word, token):
            former.sendto(f"{word} {token} 1 500000000".encode(), ("127.0.0.1", p.port[slave]))
        for word in ("ASK", "ADJUST"):
            say(word, stale)
            p.until_said(f"clock-{slave}", rf"^refused {word} with token {stale} \(largest token seen: \d+\)$")
        latest = wait("its daemon answers", lambda: p.group(slave).get("term"))
        since = p.rounds()
        wait("the slave reports more", lambda: say("ADJUST", latest) or len(p.lines(slave)) > 2)
        try:
            holds("the slave does not answer", False, former.recv(128))
        except BlockingIOError:
            pass
    bound = 1000 + STEP * (p.rounds() - since)  # the forged adjustment is 500 s
    holds("its clock is unchanged", all(abs(ms - mean) < bound for ms, _ in p.lines(slave)), mean, p.lines(slave))


# ---- a file with a fence ----

def fenced(path, token, text):
    return subprocess.run([str(BUILT / "fenced"), str(path)], input=text, env=os.environ | {"ELECT_TOKEN": str(token)},
                          capture_output=True, text=True, timeout=LIMIT)


@case
def fenced_writers(_):
    """Several writers write in turn, then many at once. Smaller tokens are refused, and the file is never torn."""
    with Beside() as p:
        store = p.folder / "store"
        for token, text, status in ((7, "one\n", 0), (7, "two\n", 0), (10, "three\n", 0), (9, "four\n", 1), (2 ** 64 - 1, "", 0)):
            before = store.read_text() if store.exists() else ""
            done = fenced(store, token, text)
            holds(f"{token} writes {text!r}:", done.returncode == status, done.returncode, done.stderr)
            holds("the file is written, or unchanged", store.read_text() == (before if status else f"{token}\n{text}"), store.read_text())
        holds("the refusal names both tokens", fenced(store, 10, "").stderr == f"fenced: {store}: token 10 refused: a leader with token {2 ** 64 - 1} has written\n")
        for token in ("", "0", "-1", "1x", " 1", 2 ** 64):
            holds(f"{token!r} is not a token", fenced(store, token, "").returncode == 64)
        store.write_text("written by hand\n")
        holds("a file of another format is not changed", fenced(store, 5, "x").returncode == 74 and store.read_text() == "written by hand\n")
        store.unlink()
        running = [(token, subprocess.Popen([str(BUILT / "fenced"), str(store)], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                            env=os.environ | {"ELECT_TOKEN": str(token)})) for token in range(1, 31)]
        for token, writer in running:
            writer.stdin.write(b"%d\n" % token * 10000)
            writer.stdin.close()
        statuses = {token: writer.wait(LIMIT) for token, writer in running}
        holds("each has written, or was refused", set(statuses.values()) <= {0, 1} and statuses[30] == 0, statuses)
        holds("the write with the largest token stays", store.read_text() == "30\n" * 10001, store.read_text()[:20])
        holds("no other file is left", sorted(path.name for path in p.folder.glob("store*")) == ["store", "store.lock"])


WRITES = 'while echo "$ELECT_NODE" | "$0" "$1"; do sleep 0.05; done; echo ended'


@case
def fenced_leaders(_):
    """A leader is stopped with all its processes, and another leader writes. When the first leader continues, its writes are
    refused."""
    with Beside() as p:
        p.begin()
        store = p.folder / "store"
        for name in p.names:
            p.launch(f"run-{name}", ELECT, "run", "--respawn", "-c", p.conf, "--id", name, "--",
                     "sh", "-c", WRITES, BUILT / "fenced", store)

        def written(above=0):
            def found():
                token, name = store.read_text().split() if store.exists() else (0, None)
                return (int(token), name) if int(token) > above else None
            return wait("the file is written", found)
        token, name, writer = stop_writer(p, written)
        p.kill(name)
        later, other = written(above=token)
        holds("another member writes", other != name, name, other)
        os.kill(writer, signal.SIGCONT)
        said = p.until_said(f"run-{name}", rf"^fenced: {store}: token {token} refused: a leader with token (\d+) has written\nended$")
        holds("refused because of a later token", int(said[1]) >= later, said[0], later)
        there, other = store.read_text().split()  # the leader may have changed again on a slow machine
        holds("the write of the later leader stays", int(there) >= later and p.member(int(there)) == other != name, there, other)


def stop_writer(p, written):
    """Stops the leader's command and its parent processes, and returns (token, name, pid of the command). If a slow machine
    deposed the leader meanwhile, continues them and stops the next leader's."""
    above = 0

    def found():
        nonlocal above
        token, name = written(above)
        chain = [p.programs[f"run-{name}"].pid]  # runner, keeper, waiter, command
        while is_elect(chain[-1]) and (below := children(chain[-1])):
            chain.append(below[0])
        for pid in chain:
            stand_still(pid)
        if not is_elect(chain[-1]) and state(chain[-1]) == "T" and token_of(chain[-1]) == token:
            return token, name, chain[-1]
        for pid in chain:
            send(pid, signal.SIGCONT)
        above = token
        return None
    return wait("a writer is stopped", found)


def token_of(pid):
    """Returns the token in a process's environment."""
    found = re.search(rb"(?:^|\0)ELECT_TOKEN=(\d+)", environ(pid))
    return int(found[1]) if found else None


# ---- jobs ----

def cron_path(folder):
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@case
def cron(_):
    """A job runs on the leader and, when the leader is killed, on another member."""
    with Beside() as p:
        p.begin()
        table, ran = p.folder / "table", p.folder / "ran"
        table.write_text(f"# how often, and what\n\n1 echo \"$ELECT_NODE $ELECT_TOKEN\" >> {ran}\n"
                         f"1000000000 echo >> {p.folder}/rarely\n1 exit 3\n")
        for name in p.names:
            p.launch(f"cron-{name}", ELECT, "run", "--respawn", "-c", p.conf, "--id", name, "--", SOURCES / "cron.sh", table,
                     env=cron_path(os.path.dirname(ELECT)))

        def runs():
            return [(int(token), name) for name, token in map(str.split, ran.read_text().splitlines())] if ran.exists() else []
        token, name = runs_on_the_leader(p, runs)
        wait("its jobs fail", lambda: any(re.search(f"^cron: {n}: failed with exit status 3: exit 3$", p.said(f"cron-{n}"), re.M) for n in p.names))
        p.kill_machine(name, f"cron-{name}")
        before = len(runs())
        wait("the job runs on another member", lambda: len([r for r in runs()[before:] if r[0] > token]) > 1)
        holds("each member runs the job with its own token, in order", runs() == sorted(runs()) and all(p.member(t) == n for t, n in runs()), runs())
        holds("the job does not run on the killed member", name not in {n for _, n in runs()[before:]}, before, runs())
        holds("only jobs that are due run", not (p.folder / "rarely").exists())


def leads(p):
    """Returns (name, term) of the only member that reports that it leads. If it has succeeded itself, the other members may
    report a larger term, but the leader's jobs keep the term that they began in."""
    def found():
        leaders = [(name, group["term"]) for name in p.names if (group := p.group(name)).get("leads")]
        return leaders[0] if len(leaders) == 1 else None
    return wait("one member leads", found)


def runs_on_the_leader(p, runs):
    """Returns (token, name) recorded by a run of the job. Queries before and after this run show that the same member led all
    the time."""
    def found():
        leader, before = leads(p), len(runs())
        wait("the job has run twice", lambda: len(runs()) > before + 1)
        between = runs()[before + 1]  # the run before may have begun before the first query
        if leads(p) != leader:
            return None
        holds("the job runs on the leader", (leader[1], leader[0]) == between, leader, runs())
        return between
    return wait("one member leads throughout", found)


@case
def cron_starts_nothing(_):
    """cron.sh starts no job when the lease is about to end. When cron.sh is terminated, its running job ends, too."""
    with Beside() as p:
        table, pid, fake = p.folder / "table", p.folder / "pid", p.folder / "bin" / "elect"
        fake.parent.mkdir()
        left = p.folder / "left"
        left.write_text("249999")
        fake.write_text(f"#!/bin/sh\nprintf '{{\\n  \"leads\": true,\\n  \"left_us\": %s,\\n  \"term\": 7\\n}}\\n' \"$(cat {left})\"\n")
        fake.chmod(0o755)
        table.write_text(f"1 echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600\n")
        told = {"ELECT_LEASE_MS": "500", "ELECT_GROUP": "main", "ELECT_NODE": "a", "ELECT_TOKEN": "7"}
        jobs = p.launch("cron", SOURCES / "cron.sh", table, env=cron_path(fake.parent) | told)
        p.until_said("cron", "^cron: a: not started because the lease is not being renewed: echo")
        holds("the job was not started", not pid.exists())
        (p.folder / "left.new").write_text("250000")
        (p.folder / "left.new").rename(left)
        wait("the job is started", pid.exists)
        jobs.terminate()
        wait("cron.sh ends", lambda: jobs.poll() is not None)
        holds("cron.sh exits with 0", jobs.returncode == 0, jobs.returncode)
        wait("the job ends, too", lambda: state(int(pid.read_text())) in ("", "Z"))


# ---- a program that contains a member ----

@case
def embed(_):
    """Three programs, each with a member inside, work without a daemon. When the program that works is killed or hands over,
    another one takes over."""
    with Beside() as p:
        (p.folder / "key").write_bytes(os.urandom(32))
        ports = free_ports(3)

        def begin(number):
            p.launch(f"embed-{number}", BUILT / "embed", number, "key", *ports, cwd=p.folder)

        def tokens():
            """Returns {number of a program: tokens that it has worked with}."""
            found = {n: set(map(int, re.findall(r"^works with token (\d+)$", p.said(f"embed-{n}"), re.M))) for n in (1, 2, 3)}
            foreign = [t for n in found for t in found[n] if t & 0xffff != n]
            holds("each program uses only its own terms", not foreign, found)
            return found

        def works(but=None):
            """Waits until a program works, and returns its number. If `but` is the number of a program that has ended, the
            token must be larger than all of that program's tokens."""
            above = max(tokens()[but]) if but else 0
            return wait("a program works", lambda: max(((t, n) for n, all_of_it in tokens().items() for t in all_of_it if t > above),
                                                 default=None))[1]
        for number in (1, 2, 3):
            begin(number)
        first = works()
        p.programs[f"embed-{first}"].kill()
        p.programs[f"embed-{first}"].wait()
        second = works(but=first)
        holds("another program works", second != first)
        begin(first)
        p.programs[f"embed-{second}"].send_signal(signal.SIGINT)
        wait("the program ends", lambda: p.programs[f"embed-{second}"].poll() is not None)
        holds("the program exits with 0", p.programs[f"embed-{second}"].returncode == 0, p.programs[f"embed-{second}"].returncode)
        holds("yet another program works", works(but=second) != second)


@case
def all_are_in_the_readme(_):
    text = (SOURCES / "README.md").read_text()
    missing = [path.name for path in SOURCES.iterdir() if path.suffix in (".c", ".py", ".sh") and f"]({path.name})" not in text]
    holds("each example is linked from the README", not missing, missing)


if __name__ == "__main__":
    sys.exit(main(__file__))
