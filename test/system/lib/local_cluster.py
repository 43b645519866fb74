"""A cluster of daemons on loopback, in its own folder, for the tests of verbs."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from .checks import expect, holds, is_late
from .elect_command import ELECT, answered, run
from .log_lines import prose
from .processes import die_with_parent, signal_both, wait
from .status_socket import answer, ask
from .times import TIMES

LAST_PORT = None


def first_port():
    """Returns the first port of a block of sixteen. This process keeps the block's last port bound until it ends, so that other
    processes choose other blocks."""
    global LAST_PORT
    turn = os.getpid()
    while LAST_PORT is None:
        taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            taken.bind(("127.0.0.1", 10000 + turn % 1370 * 16 + 15))
            LAST_PORT = taken
        except OSError:
            taken.close()
            turn += 1
    return LAST_PORT.getsockname()[1] - 15


def free_ports(count):
    """Returns free ports that the kernel does not assign by itself and that no concurrent case uses. Other processes could bind
    any other port before a member starts or while it is down."""
    ports, port = [], first_port()
    while len(ports) < count:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            try:
                s.bind(("127.0.0.1", port))
                ports.append(port)
            except OSError:
                pass
        port += 1
    return ports


class LocalCluster:
    """A cluster of daemons in its own folder."""

    def __init__(self, names="abc", options="", groups=("main",), roles=None, times=TIMES):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="elect-verbs-"))
        self.names, self.daemons, self.groups = list(names), {}, groups
        self.conf = self.folder / "elect.conf"
        self.ports = dict(zip(self.names, free_ports(len(self.names))))
        made = run("init", "-c", self.conf, "--new-cluster", *[f"{n}=127.0.0.1:{self.ports[n]}" for n in self.names], "-g", groups[0])
        holds("init", made.returncode == 0, made.stderr)
        text = self.conf.read_text().replace("state-dir = state\n", "state-dir = state\n" + times + options)
        for name, role in (roles or {}).items():
            text = text.replace(f"[member {name}]\n", f"[member {name}]\nrole = {role}\n")
        self.conf.write_text(text + "".join(f"[group {g}]\n" for g in groups[1:]))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for daemon in self.daemons.values():
            if daemon.poll() is None and "COVERAGE" in os.environ:  # a killed daemon writes no coverage data
                daemon.terminate()
                try:
                    daemon.wait(5)
                except subprocess.TimeoutExpired:
                    pass
            signal_both(daemon, signal.SIGKILL)
            daemon.wait()
        if kind is not None:
            for path in sorted(self.folder.glob("*.log")):
                print(f"the end of {path.name}:", *path.read_text(errors="replace").splitlines()[-8:], sep="\n  ", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)

    def number(self, name):
        return self.names.index(name) + 1

    def socket(self, name, which="status"):
        return str(self.folder / "state" / f"member-{self.number(name)}.{which}")

    def state(self, name):
        return self.folder / "state" / f"member-{self.number(name)}.state"

    def log(self, name):
        """Returns the log of a daemon, or of another process that logs to this folder, in the format of `elect history`."""
        text = (self.folder / f"{name}.log").read_text(errors="replace")
        return "".join(prose(line) + "\n" for line in text.splitlines())

    def start(self, *names, env=None, conf=None, words=()):
        for name in names or self.names:
            with open(self.folder / f"{name}.log", "a") as log:
                self.daemons[name] = subprocess.Popen(
                    [ELECT, "daemon", "-c", str(conf or self.conf), "--id", name, *words], stdin=subprocess.DEVNULL, stdout=log,
                    stderr=log, env=None if env is None else os.environ | env, preexec_fn=die_with_parent)

    def kill(self, *names):
        for name in names:
            signal_both(self.daemons[name], signal.SIGKILL)
            self.daemons[name].wait()

    def group(self, name, which=0):
        answer = ask(self.socket(name), {"verb": "status"})
        return answer["groups"][which] if answer else {}

    def known(self, name, which=0):
        """Waits until a running member answers, and returns its report about the group."""
        return answer(self.socket(name), {"verb": "status"})["groups"][which]

    def leader(self, among=None, other_than=None):
        """Waits until all members report the same leader, and returns (leader, term). A leader that succeeds itself while its
        work continues still reports the term of that work, but the other members report the later term. The earlier one is
        returned, because it is the work's token."""
        names = among or [n for n, d in self.daemons.items() if d.poll() is None]

        def found():
            seen = {n: self.group(n) for n in names}
            leaders = {group.get("leader") for group in seen.values()}
            leader = leaders.pop() if len(leaders) == 1 else None
            own = self.group(leader) if leader not in (None, other_than) else {}
            terms = {group.get("term") for n, group in seen.items() if n != leader}
            if not own.get("leads") or len(terms) > 1 or None in terms:  # a member told of its leader by others knows no term yet
                return None
            later = all(term >= own["term"] and term & 0xffff == own["term"] & 0xffff for term in terms)
            return (leader, own["term"]) if later else None
        return wait(f"a leader of {' '.join(names)}", found)

    def begin(self):
        self.start()
        return self.leader()

    def elect(self, name, *words):
        """Runs a verb, and repeats the command while a busy daemon closes the connection without an answer."""
        return answered(*words, "-c", self.conf, "--id", name)

    def elect_briefly(self, name, *words):
        """Runs a verb with a user's default timeout instead of the suites' longer one."""
        return run(*words, "-c", self.conf, "--id", name, env={"ELECT_TIMEOUT": ""})

    def resign(self, name, which=0):
        """Makes the member resign until it no longer leads. If slow members do not take over in time, it leads again, the
        command reports that, and is repeated."""
        def resigned():
            done = self.elect(name, "resign", "-g", self.groups[which])
            holds("resign", done.returncode == 0 or is_late(done), done.stdout, done.stderr)
            return done if not self.known(name, which)["leads"] else None
        return wait(f"{name} resigns", resigned)

    def transfer(self, to, which=0):
        """Transfers leadership until member `to` leads. If `to` does not take over in time, another member may be elected, and
        the next command goes to that member. Returns the last command's process, or None if `to` already led."""
        done = None

        def transferred():
            nonlocal done
            leader = self.known(to, which).get("leader")
            if leader is not None and leader != to:
                done = self.elect(leader, "transfer", to, "-g", self.groups[which])
                holds("transfer", done.returncode == 0 or is_late(done), done.stdout, done.stderr)
            return self.known(to, which)["leads"]
        wait(f"{to} leads {self.groups[which]}", transferred)
        return done

    def edit(self, old, new, conf=None):
        text = (conf or self.conf).read_text()
        holds("nothing to edit:", old in text, old)
        (conf or self.conf).write_text(text.replace(old, new, 1))

    def refused(self, what, *err, name="a", code=78, words=("daemon",)):
        expect(what, self.elect(name, *words), code, err=err)
