"""A cluster of real daemons, each in its own network namespace, and the faults that a test can inject.

A cut is a firewall rule in the switch between the namespaces, so that it begins and ends for all members at the same time. A
test that delays, reorders, duplicates or loses packets has a relay instead of the switch. Each cut is then a rule in the
receiver's namespace. All namespaces and rules are removed, however the test ends."""

import atexit
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import evidence
from .checks import Failure, NotHere, is_unanswered, need_root
from .containment import end_once
from .processes import LIMIT, die_with_parent, is_alive, signal_both, wait
from .safety_checker import judge
from .status_socket import ask
from .times import SHORT_TIMES

PORT = 7400
RULES = """table inet cut {
    set from {
        type ipv4_addr
    }
    chain input {
        type filter hook input priority 0
        ip saddr @from drop
    }
}
"""
SWITCH_RULES = """table bridge cut {
    set pairs {
        type ipv4_addr . ipv4_addr
    }
    chain forward {
        type filter hook forward priority 0
        ip saddr . ip daddr @pairs drop
    }
}
"""


def run(*args, text=None, check=True):
    done = subprocess.run(list(map(str, args)), input=text, capture_output=True, text=True, timeout=300)
    if check and done.returncode != 0:
        raise NotHere(f"needs a kernel that allows `{' '.join(map(str, args))}`: {done.stderr.strip()}")
    return done


# ---- leftovers of a run that was killed ----

def pid_of(name):
    part = name.split("-")
    return int(part[1]) if len(part) > 2 and part[0] == "elect" and part[1].isdigit() else None


def sweep():
    for name in os.listdir("/run/netns") if os.path.isdir("/run/netns") else ():
        if pid_of(name) is not None and not is_alive(pid_of(name)):
            run("ip", "netns", "del", name, check=False)
    with open("/proc/mounts") as mounts:
        for where in [line.split()[1] for line in mounts]:
            pids = [pid_of(part) for part in where.split("/") if pid_of(part) is not None]
            if pids and not is_alive(pids[0]):
                run("umount", "-l", where, check=False)
    for folder in pathlib.Path(home()).glob("elect-*-*"):
        if pid_of(folder.name) is not None and not is_alive(pid_of(folder.name)):
            shutil.rmtree(folder, ignore_errors=True)


def home():
    """Returns a folder, in memory if possible, because a slow disk is not under test."""
    return os.environ.get("TMPDIR") or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())


def need_namespaces():
    """Raises NotHere if this machine cannot run a cluster in network namespaces."""
    need_root()
    for tool in ("ip", "nft", "nsenter", "unshare"):
        if shutil.which(tool) is None:
            raise NotHere(f"needs {tool}")
    sweep()
    name = f"elect-{os.getpid()}-probe"
    run("ip", "netns", "add", name)
    try:
        run("nsenter", f"--net=/run/netns/{name}", "nft", "-f", "-", text=RULES + SWITCH_RULES)
        run("ip", "-n", name, "link", "add", "x", "type", "veth", "peer", "name", "y")
        run("ip", "-n", name, "link", "add", "z", "type", "bridge")
    finally:
        run("ip", "netns", "del", name, check=False)


# ---- the cluster ----

class NamespaceCluster:
    def __init__(self, elect, members=3, witness=False, algorithm="bully", networks=1, relay=False, options="", extra=(), times=SHORT_TIMES):
        self.elect_binary = os.path.abspath(elect)
        self.names = "abcdefg"[:members] if not witness else "ab" + "w"
        self.names = list(self.names)
        self.witness = "w" if witness else None
        self.algorithm, self.networks, self.options, self.times = algorithm, networks, options, times
        self.machines = self.names + list(extra)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"elect-{os.getpid()}-", dir=home()))
        self.evidence = self.folder / "evidence"
        self.daemons, self.helpers, self.mounts, self.said, self.pipes = {}, [], [], [], {}
        self.weather = evidence.Weather() if relay else None
        self.begun, self.closed = time.monotonic(), False
        self.owner = os.getpid()
        atexit.register(self.close)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, end_once)
        self.evidence.mkdir()
        self.make_networks()
        self.make_members()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def say(self, text):
        self.said.append(f"{time.monotonic() - self.begun:7.3f}  {text}")

    # ---- networks ----

    def space(self, machine):
        return f"elect-{self.owner}-{machine}"

    def address(self, name, network=0):
        return f"10.77.{network}.{self.machines.index(name) + 1}"

    def make_networks(self):
        hub = self.space("hub")
        networks = range(self.networks)
        run("ip", "-batch", "-", text="".join(
            [f"netns add {hub}\n"] + [f"netns add {self.space(m)}\n" for m in self.machines] +
            [f"link add {m}{n} netns {hub} type veth peer name net{n} netns {self.space(m)}\n"
             for m in self.machines for n in networks]))
        lines = [f"link add switch{n} type bridge\nlink set switch{n} up\n" for n in networks]
        for n in networks:
            lines += [f"link set {m}{n} up\n" if self.weather else f"link set {m}{n} master switch{n} up\n" for m in self.machines]
        run("ip", "-n", hub, "-batch", "-", text="".join(lines))
        for m in self.machines:
            run("ip", "-n", self.space(m), "-batch", "-", text="link set lo up\n" + "".join(
                f"addr add {self.address(m, n)}/24 dev net{n}\nlink set net{n} up\n" for n in networks))
            self.inside(m, "nft", "-f", "-", text=RULES)
        self.inside("hub", "nft", "-f", "-", text=SWITCH_RULES)
        for n in networks if self.weather else ():
            self.helpers.append(evidence.fork(evidence.relay, hub, [f"{m}{n}" for m in self.machines], self.weather, n))

    def inside(self, machine, *command, text=None, check=True):
        return run("nsenter", f"--net=/run/netns/{self.space(machine)}", *command, text=text, check=check)

    def cut(self, *pairs, networks=None):
        """Drops all packets from sender to receiver, for each pair (sender, receiver)."""
        if not self.weather:
            ways = [f"{self.address(a, n)} . {self.address(b, n)}" for a, b in pairs for n in networks or range(self.networks)]
            self.inside("hub", "nft", "add", "element", "bridge", "cut", "pairs", "{ " + ", ".join(ways) + " }")
        for to in sorted({to for _, to in pairs}) if self.weather else ():
            deaf = sorted({self.address(origin, n) for origin, other in pairs if other == to
                           for n in networks or range(self.networks)})
            self.inside(to, "nft", "add", "element", "inet", "cut", "from", "{ " + ", ".join(deaf) + " }")
        self.say("cut: " + ", ".join(f"{a}>{b}" for a, b in pairs))

    def part(self, one, other, networks=None):
        """Cuts every link between the two sides, in both directions."""
        self.cut(*[pair for a in one for b in other for pair in ((a, b), (b, a))], networks=networks)

    def heal(self):
        self.inside("hub", "nft", "flush", "set", "bridge", "cut", "pairs")
        for m in self.machines if self.weather else ():
            self.inside(m, "nft", "flush", "set", "inet", "cut", "from")
        self.say("healed")

    # ---- members ----

    def make_members(self):
        """Runs elect init once for all members, in one folder, so that it need not wait for other members' answers. Then copies
        the state files into the members' folders."""
        made = self.folder / "made"
        words = [f"{name}=127.0.0.1:{PORT + i}" for i, name in enumerate(self.names)]
        done = self.command("init", "-c", made / "elect.conf", "--new-cluster", *words)
        if done.returncode != 0:
            raise Failure(f"elect init: {done.stderr}")
        self.cluster_id = next(line.split()[2] for line in (made / "elect.conf").read_text().splitlines() if line.startswith("id = "))
        for name in self.names:
            self.make_folder(name)

    def make_folder(self, name):
        """Creates a member's folder, with its configuration, and the key and the state file from elect init."""
        made, place = self.folder / "made", self.folder / name
        (place / "state").mkdir(parents=True)
        self.configure(name)
        shutil.copy2(made / "key", place / "key")
        shutil.copy2(made / "state" / self.state_file(name), place / "state")

    def make_folder_of_twin(self, name):
        """Creates a second folder with everything that the member had before its first start."""
        shutil.copytree(self.folder / name, self.folder / "twin", ignore=lambda place, names: [n for n in names if "member-" in n])
        shutil.copy2(self.folder / "made" / "state" / self.state_file(name), self.folder / "twin" / "state")

    def configure(self, name, renewal=None):
        times = self.times if renewal is None else re.sub(r"^renewal = .*$", f"renewal = {renewal}", self.times, flags=re.M)
        lines = [f"[cluster]\nid = {self.cluster_id}\nstate-dir = state\n{times}algorithm = {self.algorithm}\n{self.options}\n"]
        for i, member in enumerate(self.names):
            where = ", ".join(f"{self.address(member, n)}:{PORT}" for n in range(self.networks))
            lines.append(f"[member {member}]\nid = {i + 1}\naddress = {where}\n"
                         f"{'role = witness' if member == self.witness and 'mandate = none' not in self.options else ''}\n")
        (self.folder / name / "elect.conf").write_text("\n".join(lines) + "\n[group main]\n")

    def number(self, name):
        return self.names.index(name) + 1

    def state_file(self, name):
        return f"member-{self.number(name)}.state"

    def state(self, name):
        return self.folder / name / "state" / self.state_file(name)

    def socket(self, name, which="status"):
        return str(self.folder / name / "state" / f"member-{self.number(name)}.{which}")

    def log(self, name):
        return self.evidence / f"{name}.log"

    def note(self, what, name, **more):
        with open(self.evidence / "nemesis.jsonl", "a") as log:
            log.write(json.dumps({"at": evidence.now(), "what": what, "member": name, **more}) + "\n")

    # ---- processes ----

    def launch(self, name, machine=None, folder=None, offset=None, stderr=None):
        """Starts a member's daemon, with CLOCK_BOOTTIME `offset` seconds ahead."""
        machine, folder = machine or name, folder or name
        time_space = ["unshare", "--time", "--boottime", str(offset)] if offset is not None else []
        with open(self.evidence / f"{folder}.log", "a") as log:
            return subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{self.space(machine)}", *time_space, self.elect_binary, "daemon", "-o", "json",
                 "-c", str(self.folder / folder / "elect.conf"), "--id", name],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log if stderr is None else stderr, preexec_fn=die_with_parent)

    def start(self, *names, **how):
        for name in names:
            self.note("started", name)
            self.daemons[name] = self.launch(name, **how)
            self.say(f"{name} is started")

    def begin(self):
        """Starts all members and the processes that watch them, and waits until the evidence contains a leader."""
        self.start(*self.names)
        self.watch()
        return self.settle()

    def settle(self, limit=LIMIT):
        """Waits until a member leads and the evidence contains several of its claims."""
        def settled():
            leader = self.leader(limit=limit)
            claimed = self.claims(leader[0]).count(b'"token": %d,' % leader[1]) >= 10
            return leader if claimed else None
        return wait("the office of the leader is in the evidence", settled, limit)

    def claims(self, name):
        path = self.evidence / f"claims-{name}.jsonl"
        return path.read_bytes() if path.exists() else b""

    def watch(self):
        path = str(self.folder / "resource")
        self.helpers.append(evidence.fork(evidence.resource, path, self.evidence / "resource.jsonl"))
        for name in self.names:
            self.helpers.append(evidence.fork(evidence.claimant, name, self.space(name), self.socket(name), path,
                                            self.evidence / f"claims-{name}.jsonl"))

    def signal(self, name, number):
        if number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT):
            signal_both(self.daemons[name], number)
        else:
            self.daemons[name].send_signal(number)
        self.say(f"{name}: {signal.Signals(number).name}")

    def kill(self, *names):
        for name in names:
            self.signal(name, signal.SIGKILL)
        for name in names:
            self.daemons[name].wait()

    def pause(self, *names):
        for name in names:
            self.signal(name, signal.SIGSTOP)

    def go_on(self, *names):
        for name in names:
            self.signal(name, signal.SIGCONT)

    def ended(self, name, limit=LIMIT):
        """Waits until the daemon ends by itself. Returns its exit status."""
        try:
            return self.daemons[name].wait(limit)
        except subprocess.TimeoutExpired:
            raise Failure(f"{name} has not ended within {limit} s") from None

    def runs(self, name):
        return name in self.daemons and self.daemons[name].poll() is None

    # ---- queries ----

    def command(self, *words):
        return subprocess.run([self.elect_binary, *map(str, words)], capture_output=True, text=True, timeout=10 * LIMIT)

    def elect(self, name, *words):
        """Runs a verb on that member's machine, and repeats it while a busy daemon closes the connection without an answer."""
        def found():
            done = self.elect_once(name, *words)
            return None if is_unanswered(done) else done
        return wait(f"{name} answers {' '.join(map(str, words))}", found)

    def elect_once(self, name, *words):
        done = subprocess.run(["nsenter", f"--net=/run/netns/{self.space(name)}", self.elect_binary, *map(str, words), "-c",
                               str(self.folder / name / "elect.conf"), "--id", name], capture_output=True, text=True, timeout=10 * LIMIT)
        self.say(f"{name}: elect {' '.join(map(str, words))} -> {done.returncode} {(done.stdout + done.stderr).strip()}")
        return done

    def status(self, name):
        return ask(self.socket(name), {"verb": "status"})

    def group(self, name):
        answer = self.status(name)
        return answer["groups"][0] if answer else {}

    def view(self, name):
        """Returns (leader, term) as that member sees it, or None."""
        g = self.group(name)
        return (g["leader"], g["term"] or 0) if g.get("leader") else None

    def agreed(self, names):
        """Returns (leader, term) if all of these members report the same leader and term, and the leader reports that it
        leads."""
        views = {self.view(name) for name in names}
        one = views.pop() if len(views) == 1 else None
        return one if one is not None and self.group(one[0]).get("leads") else None

    def leader(self, among=None, other_than=(), limit=LIMIT):
        """Returns (leader, term) when all members in `among` follow the same leader."""
        names = [name for name in among or self.names if self.runs(name)]

        def found():
            one = self.agreed(names)
            return one if one and one[0] not in other_than else None
        one = wait(f"a leader of {' '.join(names)}" + (f" other than {' '.join(other_than)}" if other_than else ""), found,
                   limit)
        said = f"{one[0]} leads in term {one[1] >> 16}.{one[1] & 0xffff}"
        if not self.said[-1].endswith(said):
            self.say(said)
        return one

    def others(self, *names):
        return [name for name in self.names if name not in names]

    def voters_only(self, *names):
        """Returns the members that may lead."""
        return [name for name in names if name != self.witness]

    def events(self, name, *kinds):
        path = self.log(name)
        found = []
        for line in path.read_text().splitlines() if path.exists() else ():
            if line.startswith("{"):
                entry = json.loads(line)
                if not kinds or entry["event"] in kinds:
                    found.append(entry)
        return found

    # ---- the end ----

    def stop(self):
        """Ends the test's helper processes, then all daemons. Each daemon must exit with 0."""
        self.stop_helpers()
        names = [name for name in self.names if self.runs(name)]
        for name in names:
            self.signal(name, signal.SIGCONT)
            self.signal(name, signal.SIGTERM)
        for name in names:
            if self.ended(name) != 0:
                raise Failure(f"{name} was told to stop, and its exit status is {self.daemons[name].returncode}")

    def stop_helpers(self):
        for pid in self.helpers:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except OSError:
                pass
        self.helpers = []

    def judge(self):
        return judge(self.evidence)

    def tell(self, out=sys.stderr, tail=12):
        print("what was done:", *self.said, sep="\n  ", file=out)
        for path in sorted(self.evidence.glob("*.log")):
            print(f"the end of {path.name}:", *path.read_text().splitlines()[-tail:], sep="\n  ", file=out)

    def close(self):
        if self.closed or os.getpid() != self.owner:
            return
        self.closed = True
        atexit.unregister(self.close)
        # When a suite is ended, the sweeper signals all processes. The clean-up commands must survive this, so they inherit
        # these signals as ignored.
        before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        for daemon in self.daemons.values():
            signal_both(daemon, signal.SIGKILL)
            daemon.wait()
        self.stop_helpers()
        for fd in (fd for pair in self.pipes.values() for fd in pair):
            os.close(fd)
        for where in self.mounts:
            run("umount", "-l", where, check=False)
        run("ip", "-batch", "-", "-force", check=False,
            text="".join(f"netns del {self.space(m)}\n" for m in ["hub"] + self.machines))
        for m in ["hub"] + self.machines:
            if os.path.exists(f"/run/netns/{self.space(m)}"):
                run("ip", "netns", "del", self.space(m), check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
        for number, handler in before.items():
            signal.signal(number, handler)

    # ---- less usual faults ----

    def full_pipe(self, name):
        """Makes a full pipe for a daemon's standard error. No process reads from it, so it accepts no more bytes. Returns both
        ends."""
        ends = os.pipe()
        self.pipes[name] = ends
        flags = fcntl.fcntl(ends[1], fcntl.F_GETFL)
        fcntl.fcntl(ends[1], fcntl.F_SETFL, flags | os.O_NONBLOCK)
        for size in (65536, 1):
            try:
                while True:
                    os.write(ends[1], b"." * (size - 1) + b"\n")
            except BlockingIOError:
                pass
        fcntl.fcntl(ends[1], fcntl.F_SETFL, flags)
        self.note("log-lost", name)
        return ends

    def small_disk(self, name, size):
        """Moves a stopped member's state to a separate file system of the given size."""
        place = self.folder / name / "state"
        kept = [(path.name, path.read_bytes()) for path in place.iterdir() if path.is_file()]
        run("mount", "-t", "tmpfs", "-o", f"size={size}", "elect-test", place)
        self.mounts.append(place)
        for file, data in kept:
            (place / file).write_bytes(data)
            (place / file).chmod(0o600)
        return place
