"""What the tests of verbs have in common: a cluster of daemons on loopback, in a folder of its own."""

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
from .processes import die_with_parent, signal_both, wait
from .status_socket import answer, ask

LAST_PORT = None
# A lease that a busy machine does not lose. The short one is for cases in which losing it is the subject.
TIMES = "lease = 3s\nrenewal = 300ms\ndelay = 20ms\nmax-lease = 4s\n"
SHORT_TIMES = "lease = 500ms\nrenewal = 80ms\ndelay = 10ms\nmax-lease = 1s\n"
# For cases in which no leader is lost: a member may stand still for 9 s before another one misses it, and for 30 s in office.
STEADY_TIMES = "lease = 30s\nrenewal = 3s\ndelay = 20ms\nmax-lease = 40s\n"
# The same for cases that wait for the end of a lease.
PATIENT_TIMES = "lease = 10s\nrenewal = 3s\ndelay = 20ms\nmax-lease = 12s\n"
LONG_TIMES = "lease = 8s\nrenewal = 1s\ndelay = 10ms\nmax-lease = 10s\n"  # a busy machine does not cost such a lease


def first_port():
    """Of sixteen, of which the last is taken as long as this process lives: who is there looks elsewhere."""
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
    """Of nobody at this moment; and not among those that the kernel gives to whoever asks for any, nor where a case that runs
    beside this one looks: else another one might have it before it is used, or while its member is down."""
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
    """A cluster of daemons in a folder of its own."""

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
            if daemon.poll() is None and "COVERAGE" in os.environ:  # who is killed does not say what it ran
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
        return (self.folder / f"{name}.log").read_text(errors="replace")

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
        """The group as a member that runs sees it, once that member answers."""
        return answer(self.socket(name), {"verb": "status"})["groups"][which]

    def leader(self, among=None, other_than=None):
        """Once all agree."""
        names = among or [n for n, d in self.daemons.items() if d.poll() is None]

        def found():
            seen = {(self.group(n).get("leader"), self.group(n).get("term")) for n in names}
            one = seen.pop() if len(seen) == 1 else (None, None)
            return one if None not in one and one[0] != other_than and self.group(one[0]).get("leads") else None
        return wait(f"a leader of {' '.join(names)}", found)

    def begin(self):
        self.start()
        return self.leader()

    def elect(self, name, *words):
        """A verb, given again if a busy daemon did not answer in time."""
        return answered(*words, "-c", self.conf, "--id", name)

    def elect_once(self, name, *words):
        return run(*words, "-c", self.conf, "--id", name)

    def resign(self, name, which=0):
        """Until the member does not lead any more. Slow members may not take its office in time: then it leads again, is asked
        again, and the refusal says so."""
        def resigned():
            done = self.elect(name, "resign", "-g", self.groups[which])
            holds("resign", done.returncode == 0 or is_late(done), done.stdout, done.stderr)
            return done if not self.known(name, which)["leads"] else None
        return wait(f"{name} resigns", resigned)

    def transfer(self, to, which=0):
        """Until that member leads. A slow one may not take the office in time: then any member may lead, and is asked again.
        What the last hand-over said, or None if it leads already."""
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
