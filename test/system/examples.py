#!/usr/bin/env python3
"""The examples, beside real daemons: examples.py ELECT [CASE ... | --list] [--jobs N]

Each works; then whoever leads is killed, and it goes on with another."""

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
from lib.processes import die_with_parent, member_of, wait  # noqa: E402
from lib.runner import Late, children, is_elect, main, state  # noqa: E402

BUILT = pathlib.Path(ELECT).parent / "examples"
SOURCES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"


def tree(pid):
    return [pid, *itertools.chain.from_iterable(tree(child) for child in children(pid))]


def end_all(pid):
    for each in tree(pid):
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Beside(LocalCluster):
    """Daemons, and programs beside them, each with a log; all of them end with it."""

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
        return wait(f"{label} says {pattern!r}", lambda: re.search(pattern, self.said(label), re.M))

    def begin(self):
        """Until somebody leads; then there are ports for the programs, too."""
        found = super().begin()
        self.port = dict(zip(self.names, free_ports(len(self.names))))
        return found

    def member(self, token):
        return self.names[(token & 0xffff) - 1]

    def kill_member(self, name):
        os.kill(member_of(self.daemons[name].pid), signal.SIGKILL)
        wait("its guardian ends", lambda: self.daemons[name].poll() is not None)

    def kill_machine(self, name, program):
        end_all(self.programs[program].pid)
        self.programs[program].wait()
        self.kill(name)


# ---- mutual exclusion ----

# Writes down, again and again, that it is in; then counts, with what it has read at first.
INSIDE = """
import os, sys, time
def sign():
    e = os.environ
    now = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
    os.write(log, f"{e['ELECT_TOKEN']} {e['MUTEX_GRANT']} {os.getpid()} {now} {label}\\n".encode())
label, milliseconds = sys.argv[3], int(sys.argv[4])
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
sign()
counter = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
before = int(os.pread(counter, 16, 0) or 0)
for _ in range(milliseconds):
    time.sleep(0.001)
    sign()
os.pwrite(counter, b"%016d" % (before + 1), 0)
sign()
"""
CROWD = 'until [ -e "$0" ]; do "$@"; echo "exit $?"; done'
CROWDED = 3  # processes that want in all the time


class Mutex(Beside):
    def begin(self):
        super().begin()
        self.over = self.folder / "over"
        for name in self.names:
            self.serve(name)
        for i in range(CROWDED):
            self.launch(f"crowd-{i}", "sh", "-c", CROWD, self.over, *self.lock(f"crowd-{i}", 3))
        wait("somebody was in", lambda: self.exits()[0] > CROWDED)

    def serve(self, name):
        self.launch(f"serve-{name}", BUILT / "mutex", "serve", self.socket(name), self.port[name])

    def lock(self, label, milliseconds):
        return [BUILT / "mutex", "lock", *self.port.values(), "--", sys.executable, "-I", "-S", "-c", INSIDE,
                self.folder / "signs", self.folder / "counter", label, milliseconds]

    def exits(self):
        """How often a process of the crowd ended with which status."""
        return collections.Counter(int(s) for i in range(CROWDED) for s in re.findall(r"^exit (\d+)$", self.said(f"crowd-{i}"), re.M))

    def guests(self):
        """{(token, grant, pid): [first sign, last sign, label]} of all that were in."""
        found = {}
        path = self.folder / "signs"
        for line in path.read_text().rpartition("\n")[0].splitlines() if path.exists() else ():  # the last may be half written
            token, grant, pid, at, label = line.split()
            guest = found.setdefault((int(token), int(grant), int(pid)), [int(at), int(at), label])
            guest[1] = int(at)
        return found

    def stays(self, label):
        """Somebody is in, for long; and with which token."""
        self.launch(label, *self.lock(label, 10 ** 6))
        return wait(f"{label} is in", lambda: [key[0] for key, guest in self.guests().items() if guest[2] == label])[0]

    def goes_on(self, label):
        """Others are in again, and the one that stayed was killed before."""
        stayed, done = self.programs[label], self.exits()[0]
        wait("others are in", lambda: self.judge() and self.exits()[0] > done + 2 * CROWDED)
        wait(f"{label} ends", lambda: stayed.poll() is not None)
        holds("it was not let in any longer", stayed.returncode == 75, stayed.returncode)

    def forge(self, label):
        """Somebody who is not in says that he is out."""
        def latest():
            return max(guest[1] for guest in self.guests().values() if guest[2] == label)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
            for port in self.port.values():
                door.sendto(b"RELEASE 2 0", ("127.0.0.1", port))
        until = evidence.now() + 200_000  # four times as long as it takes the others to ask again
        wait("it stays", lambda: latest() > until)
        self.judge()

    def judge(self):
        """No two were in at once."""
        guests = sorted(self.guests().items(), key=lambda item: item[1][0])
        for (one, a), (other, b) in itertools.pairwise(guests):
            if a[1] > b[0]:
                raise Late(f"{b[2]} {other} came in before {a[2]} {one} was out, by {a[1] - b[0]} us")
            holds("the pair is larger in every later grant", one[:2] < other[:2], one, other)
        return True

    def finish(self):
        self.over.touch()
        for i in range(CROWDED):
            wait("the crowd goes", lambda: self.programs[f"crowd-{i}"].poll() is not None)
        self.judge()
        exits = self.exits()
        holds("each was in, or lost it", set(exits) <= {0, 75}, exits)
        counted = int((self.folder / "counter").read_text())
        holds("nobody was counted over", exits[0] <= counted <= exits[0] + exits[75], counted, exits)


@case
def mutex(_):
    """In and out, while coordinators are killed with somebody in: their members, everything beside them, themselves."""
    with Mutex() as p:
        p.begin()
        first = p.stays("one")
        p.kill_member(p.member(first))
        p.goes_on("one")
        p.start(p.member(first))
        second = p.stays("two")
        name = p.member(second)
        holds("another one coordinates", second > first, first, second)
        p.kill_machine(name, f"serve-{name}")
        p.goes_on("two")
        p.start(name)
        p.serve(name)
        third = p.stays("three")
        name = p.member(third)
        holds("another one coordinates", third > second, second, third)
        end_all(p.programs[f"serve-{name}"].pid)
        p.programs[f"serve-{name}"].wait()
        p.serve(name)  # with the same token, and it knows nothing
        p.goes_on("three")
        fourth = p.stays("four")
        p.forge("four")
        holds("resigns", p.elect(p.member(fourth), "resign").returncode == 0)
        p.goes_on("four")
        p.finish()


@case
def mutex_commands(_):
    """The exit status is the command's; what it leaves behind ends with it; who is alone waits."""
    with Mutex() as p:
        p.begin()
        p.over.touch()
        lock = p.lock("", 0)[:p.lock("", 0).index("--") + 1]
        for command, status in ((["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137), (["/nowhere/at/all"], 127)):
            done = p.launch("command", *lock, *command)
            wait("it ends", lambda: done.poll() is not None)
            holds(command, done.returncode == status, done.returncode)
        left = p.folder / "left"
        done = p.launch("leaves", *lock, "sh", "-c", f"sleep 600 & echo $! > {left}")
        wait("it ends", lambda: done.poll() is not None)
        wait("so does what it left", lambda: state(int(left.read_text())) in ("", "Z"))
        alone = p.launch("alone", BUILT / "mutex", "lock", free_ports(1)[0], "--", "echo", "in")
        after = p.launch("after", *lock, "true")
        wait("that one was in", lambda: after.poll() is not None)
        holds("and this one was not", alone.poll() is None and p.said("alone") == "", p.said("alone"))


# ---- clocks ----

NEAR = 25  # milliseconds: half of the longest way there and back that counts, of two, and some


class Clocks(Beside):
    def __init__(self):
        super().__init__()
        self.heard = collections.Counter()

    def tick(self, name, offset, drift):
        others = [self.port[n] for n in self.names if n != name]
        self.launch(f"clock-{name}", BUILT / "berkeley", self.socket(name), offset, drift, self.port[name], *others)

    def forget(self):
        """What they have said so far."""
        for name in self.names:
            self.heard[name] = len(self.said(f"clock-{name}"))

    def lines(self, name):
        """(how wrong, master or slave), as often as it has said so since."""
        said = self.said(f"clock-{name}")[self.heard[name]:]
        return [(float(ms), what) for ms, what in re.findall(r"^([+-][\d.]+) ms, (\w+)$", said, re.M)]

    def clocks(self, names):
        return {name: self.lines(name)[-1] for name in names if self.lines(name)}

    def agree(self, names=None):
        """Until they do, from now on; upon what, and who is master."""
        names = names or self.names
        self.forget()

        def found():
            clocks = self.clocks(names)
            wrong = [ms for ms, _ in clocks.values()]
            masters = [name for name, (_, what) in clocks.items() if what == "master"]
            near = len(wrong) == len(names) and max(wrong) - min(wrong) < NEAR
            return (sum(wrong) / len(wrong), masters[0]) if near and len(masters) == 1 else None
        return wait("the clocks agree", found)


@case
def berkeley(_):
    with Clocks() as p:
        first, stale = p.begin()
        second, third = (name for name in p.names if name != first)
        p.tick(first, 300, 100)
        p.tick(second, 60000, 50)
        wait("the master is alone with that one", lambda: p.said(f"clock-{first}").count("master") > 5)
        apart = p.clocks([first, second])
        holds("two of three that differ prove nothing", abs(apart[first][0] - 300) < NEAR and abs(apart[second][0] - 60000) < NEAR, apart)
        p.tick(third, -200, -100)
        mean, master = p.agree()
        holds("who is far off does not count", abs(mean - 50) < NEAR and master == first, mean, master)
        p.kill_machine(first, f"clock-{first}")
        _, master = p.agree([second, third])
        holds("another one is master", master != first, master)
        p.start(first)
        p.tick(first, 700, 0)
        mean, master = p.agree()
        holds("all three count now", abs(mean - (2 * 50 + 700) / 3) < 2 * NEAR and master != first, mean, master)
        late(p, stale, second if master == third else third, mean)


def late(p, stale, slave, mean):
    """What a former master says comes late; and what the present one never said in answer to anything."""
    p.forget()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as former:
        former.bind(("127.0.0.1", 0))
        former.setblocking(False)

        def say(word, token):
            former.sendto(f"{word} {token} 1 500000000".encode(), ("127.0.0.1", p.port[slave]))
        for word in ("ASK", "ADJUST"):
            say(word, stale)
            p.until_said(f"clock-{slave}", rf"^refuses {word} with token {stale}: it has seen \d+$")
        latest = p.group(slave)["term"]
        wait("it says some more", lambda: say("ADJUST", latest) or len(p.lines(slave)) > 2)
        try:
            holds("nothing is answered", False, former.recv(128))
        except BlockingIOError:
            pass
    holds("its clock is as it was", all(abs(ms - mean) < NEAR for ms, _ in p.lines(slave)), mean, p.lines(slave))


# ---- a file with a fence ----

def fenced(path, token, text):
    return subprocess.run([str(BUILT / "fenced"), str(path)], input=text, env=os.environ | {"ELECT_TOKEN": str(token)},
                          capture_output=True, text=True, timeout=60)


@case
def fenced_writers(_):
    """In turn, and many at once: a smaller token is refused, and what is there is whole."""
    with Beside() as p:
        store = p.folder / "store"
        for token, text, status in ((7, "one\n", 0), (7, "two\n", 0), (10, "three\n", 0), (9, "four\n", 1), (2 ** 64 - 1, "", 0)):
            before = store.read_text() if store.exists() else ""
            done = fenced(store, token, text)
            holds(f"{token} writes {text!r}:", done.returncode == status, done.returncode, done.stderr)
            holds("it is written, or as it was", store.read_text() == (before if status else f"{token}\n{text}"), store.read_text())
        holds("why", fenced(store, 10, "").stderr == f"fenced: token 10 is refused: {2 ** 64 - 1} has written\n")
        for token in ("", "0", "-1", "1x", " 1", 2 ** 64):
            holds(f"{token!r} is no token", fenced(store, token, "").returncode == 64)
        store.write_text("written by hand\n")
        holds("what is not its own is left alone", fenced(store, 5, "x").returncode == 74 and store.read_text() == "written by hand\n")
        store.unlink()
        running = [(token, subprocess.Popen([str(BUILT / "fenced"), str(store)], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                            env=os.environ | {"ELECT_TOKEN": str(token)})) for token in range(1, 31)]
        for token, writer in running:
            writer.stdin.write(b"%d\n" % token * 10000)
            writer.stdin.close()
        statuses = {token: writer.wait(60) for token, writer in running}
        holds("each has written, or was refused", set(statuses.values()) <= {0, 1} and statuses[30] == 0, statuses)
        holds("the largest is there", store.read_text() == "30\n" * 10001, store.read_text()[:20])
        holds("and nothing else", sorted(path.name for path in p.folder.glob("store*")) == ["store", "store.lock"])


WRITES = 'while echo "$ELECT_NODE" | "$0" "$1"; do sleep 0.05; done; echo ended'


@case
def fenced_leaders(_):
    """A leader is stopped, with all that guards it, and another one writes. When it goes on it is refused."""
    with Beside() as p:
        p.begin()
        store = p.folder / "store"
        for name in p.names:
            p.launch(f"run-{name}", ELECT, "run", "-c", p.conf, "--id", name, "--", "sh", "-c", WRITES, BUILT / "fenced", store)

        def written(above=0):
            def found():
                token, name = store.read_text().split() if store.exists() else (0, None)
                return (int(token), name) if int(token) > above else None
            return wait("it is written", found)
        token, name = written()
        runner = p.programs[f"run-{name}"].pid
        chain = [runner]  # runner, keeper, waiter, and the command
        while is_elect(chain[-1]):
            chain.append(children(chain[-1])[0])
        writer = chain[-1]
        for pid in chain:
            os.kill(pid, signal.SIGSTOP)
        p.kill(name)
        later, other = written(above=token)
        holds("another one writes", other != name, name, other)
        os.kill(writer, signal.SIGCONT)
        p.until_said(f"run-{name}", f"^fenced: token {token} is refused: {later} has written\nended$")
        holds("the later one's is there", store.read_text().split() == [str(later), other], store.read_text())


# ---- jobs ----

def cron_path(folder):
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@case
def cron(_):
    """A job runs on one member, and on another one when that is killed."""
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
        wait("it has run twice", lambda: len(runs()) > 1)
        token, name = runs()[-1]
        holds("on the one that leads", p.leader() == (name, token), p.leader(), runs())
        p.until_said(f"cron-{name}", f"^cron: {name}: exit 3: exit 3$")
        p.kill_machine(name, f"cron-{name}")
        wait("on another one", lambda: len([r for r in runs() if r[0] > token]) > 1)
        holds("each with its own token, one after the other", runs() == sorted(runs()) and all(p.member(t) == n for t, n in runs()), runs())
        holds("only two of them", len({n for _, n in runs()}) == 2, runs())
        holds("and only what is due", not (p.folder / "rarely").exists())


@case
def cron_begins_nothing(_):
    """When little of the lease is left; and ends, with its job, when it is told to."""
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
        p.until_said("cron", "^cron: a: not begun, the lease is not being renewed: echo")
        holds("it was not begun", not pid.exists())
        (p.folder / "left.new").write_text("250000")
        (p.folder / "left.new").rename(left)
        wait("it was", pid.exists)
        jobs.terminate()
        wait("it ends", lambda: jobs.poll() is not None)
        holds("in good order", jobs.returncode == 0, jobs.returncode)
        wait("so does its job", lambda: state(int(pid.read_text())) in ("", "Z"))


# ---- a member in a program of its own ----

@case
def embed(_):
    """Three of them, without a daemon: one works; another one when it is killed, or hands over."""
    with Beside() as p:
        (p.folder / "key").write_bytes(os.urandom(32))
        ports = free_ports(3)

        def begin(number):
            p.launch(f"embed-{number}", BUILT / "embed", number, "key", *ports, cwd=p.folder)

        def works(above=0):
            """Who does, with a larger token."""
            def found():
                tokens = {n: set(map(int, re.findall(r"^works with token (\d+)$", p.said(f"embed-{n}"), re.M))) for n in (1, 2, 3)}
                foreign = [t for n in tokens for t in tokens[n] if t & 0xffff != n]
                holds("each with its own", not foreign, tokens)
                return [(t, n) for n in tokens for t in tokens[n] if t > above]
            return max(wait("somebody works", found))
        for number in (1, 2, 3):
            begin(number)
        token, first = works()
        p.programs[f"embed-{first}"].kill()
        p.programs[f"embed-{first}"].wait()
        token, second = works(above=token)
        holds("another one", second != first)
        begin(first)
        p.programs[f"embed-{second}"].send_signal(signal.SIGINT)
        token, third = works(above=token)
        wait("it ends", lambda: p.programs[f"embed-{second}"].poll() is not None)
        holds("in good order", p.programs[f"embed-{second}"].returncode == 0 and third != second, third)


@case
def all_are_in_the_readme(_):
    text = (SOURCES / "README.md").read_text()
    missing = [path.name for path in SOURCES.iterdir() if path.suffix in (".c", ".py", ".sh") and f"]({path.name})" not in text]
    holds("each is named, with a command", not missing, missing)


if __name__ == "__main__":
    sys.exit(main(__file__))
