"""Where peers are measured: three machines on one switch, the processes on them, and what the contenders claimed.

Machines are network namespaces whose names say which run made them, so that a later run removes what a killed one left."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test/system"))
from lib.checks import Failure  # noqa: E402
from lib.evidence import now  # noqa: E402
from lib.namespace_cluster import home, run  # noqa: E402
from lib.processes import die_with_parent  # noqa: E402

NODES = ("a", "b", "c")
LOOK = 0.002  # seconds between two looks at the claims; when something happened is what the claims say
CUT = """table inet cut {
    chain input {
        type filter hook input priority 0
        iifname net0 drop
    }
    chain output {
        type filter hook output priority 0
        oifname net0 drop
    }
}
"""


class Claims:
    """What one contender wrote, as spans of time during which it claimed to lead."""

    def __init__(self, path):
        self.path, self.at, self.rest = path, 0, b""
        self.spans, self.is_ready, self.leads = [], False, False

    def read(self):
        try:
            with open(self.path, "rb") as file:
                file.seek(self.at)
                more = file.read()
        except FileNotFoundError:
            return self
        self.at += len(more)
        *lines, self.rest = (self.rest + more).split(b"\n")
        for line in lines:
            self.take(line[:1], int(line[2:]))
        return self

    def take(self, kind, time_):
        """Between two claims it never said that it ceased: it believed all the time, even if it was not scheduled."""
        if kind == b"c" and not self.leads:
            self.spans.append([time_, time_])
        elif self.leads and kind in b"ce":
            self.spans[-1][1] = time_
        self.is_ready = kind == b"r" or (self.is_ready and kind != b"b")
        self.leads = kind == b"c" or (self.leads and kind not in b"eb")

    def died(self):
        """Its last sample was its end."""
        self.read()
        self.is_ready = self.leads = False

    def first_since(self, begin):
        """When it first claimed after that, if it has."""
        return next((max(start, begin) for start, end in self.spans if end >= begin), None)


def overlap(all_spans, begin, end):
    """Microseconds between the two times during which at least two of them claimed."""
    edges = []
    for spans in all_spans:
        for first, last in spans:
            if first < end and last > begin:
                edges += [(max(first, begin), 1), (min(last, end), -1)]
    total, count, since = 0, 0, 0
    for at, step in sorted(edges):
        if count >= 2:
            total += at - since
        count, since = count + step, at
    return total


class Ground:
    """The machines."""

    def __init__(self):
        self.owner = os.getpid()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"elect-{self.owner}-", dir=home()))
        self.processes = []
        try:
            self.make_networks()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def space(self, machine):
        return f"elect-{self.owner}-{machine}"

    def address(self, node):
        return f"10.77.0.{NODES.index(node) + 1}"

    def make_networks(self):
        hub = self.space("hub")
        run("ip", "-batch", "-", text="".join(
            [f"netns add {hub}\n"] + [f"netns add {self.space(n)}\n" for n in NODES] +
            [f"link add to-{n} netns {hub} type veth peer name net0 netns {self.space(n)}\n" for n in NODES]))
        run("ip", "-n", hub, "-batch", "-", text="link add switch type bridge mcast_snooping 0\nlink set switch up\n" +
            "".join(f"link set to-{n} master switch up\n" for n in NODES))
        for n in NODES:
            run("ip", "-n", self.space(n), "-batch", "-",
                text=f"link set lo up\naddr add {self.address(n)}/24 dev net0\nlink set net0 up\n")

    def inside(self, node, *command, text=None, check=True):
        return run("nsenter", f"--net=/run/netns/{self.space(node)}", *command, text=text, check=check)

    def arm_cut(self, node):
        """All but the last word: starting a program takes longer than some of what is measured."""
        armed = self.spawn(node, "nft", "-f", "-", stdin=subprocess.PIPE)
        armed.stdin.write(CUT.encode())
        armed.stdin.flush()
        return armed

    def cut(self, armed):
        """Nothing leaves that machine, and nothing arrives; its link stays up."""
        armed.stdin.close()
        if armed.wait() != 0:
            raise Failure("nft: there is no cut")
        self.processes.remove(armed)

    def heal(self, node):
        self.inside(node, "nft", "delete", "table", "inet", "cut")

    def spawn(self, node, *command, own_run=False, shared=None, log=None, **more):
        """A process on that machine, in our folder; the leader of a group, so that it dies with all its children. `own_run`:
        with a /run of its own, for daemons that keep one file there for the whole machine. `shared`: a folder within ours
        that is its /dev/shm; what it leaves there goes when ours does, and it finds its own files only by relative names."""
        words = list(map(str, command))
        mounts = ["mount -t tmpfs tmpfs /run"] if own_run else []
        mounts += [f"mount --bind {shared} /dev/shm"] if shared else []
        if mounts:
            words = ["unshare", "--mount", "sh", "-c", " && ".join([*mounts, 'exec "$@"']), "sh", *words]
        with open(self.folder / (log or f"{node}.log"), "ab") as file:
            process = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{self.space(node)}", *words], cwd=self.folder, start_new_session=True,
                preexec_fn=die_with_parent,
                **{"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file, **more})
        self.processes.append(process)
        return process

    def kill(self, *processes):
        """All of them, and then their remains."""
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        for process in processes:
            process.wait()
            if process in self.processes:
                self.processes.remove(process)

    def tails(self, lines=6):
        """The end of every log."""
        said = []
        for path in sorted(self.folder.glob("*.log")):
            end = path.read_text(errors="replace").splitlines()[-lines:]
            said += [f"the end of {path.name}:", *(f"  {line}" for line in end)] if end else []
        return "\n".join(said)

    def close(self):
        if os.getpid() != self.owner:
            return
        self.kill(*list(self.processes))
        for machine in ("hub", *NODES):
            if os.path.exists(f"/run/netns/{self.space(machine)}"):
                run("ip", "netns", "del", self.space(machine), check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


class Peer:
    """A system with one way to set it up, and one thing that happens to its leader: a row of the table.

    A lane is an election of its own on the same three machines; a slow peer has many, so that its trials share
    the time that they wait. Whoever adds a peer says how to boot a machine, how to contend, and what a crash is."""

    name = ""           # one word, for --only
    title = ""          # in the table
    fault = "crash"     # the method that strikes the leader
    package = None      # of Debian, for the version
    programs = ()       # that must be in the path
    contenders = ()     # that must have been built
    slow = False
    lanes = 1
    phase = 1.0         # seconds over which the moments of the faults are spread: longer than any period of the peer
    rest = 0.5          # seconds that one and only one must lead before it is struck
    calm = 0.3          # seconds of the same before a trial is over
    hold = 5.0          # seconds after which a trial is over although two still claim
    limit = 60          # seconds within which somebody must lead

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.ground, self.process, self.notes = None, {}, []

    def missing(self):
        """Why it cannot be measured here, or None."""
        for program in self.programs:
            if shutil.which(program) is None:
                return f"there is no {program}: make deps-failover"
        for program in self.contenders:
            if not (self.build / "bench/peers" / program).exists():
                return (f"{program} was not built: make deps-failover, then meson configure {self.build} -Dbench=true; "
                        f"ninja -C {self.build}")
        return None

    def version(self):
        if self.package is None:
            return None
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", self.package], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else None

    def program(self, name):
        return self.build / "bench/peers" / name

    # ---- its life ----

    def start(self, ground):
        self.ground = ground
        self.claims = {(node, lane): Claims(ground.folder / f"{node}{lane}.claims")
                       for node in NODES for lane in range(self.lanes)}
        self.prepare()
        for node in NODES:
            self.boot(node)
        self.ripen()
        for lane in range(self.lanes):
            for node in NODES:
                self.contend(node, lane)

    def prepare(self):
        """Before anything runs."""

    def boot(self, node):
        """The server of that machine."""

    def ripen(self):
        """Waits until contenders find what they need."""

    def contend(self, node, lane):
        """A contender."""
        raise NotImplementedError

    def claims_file(self, node, lane):
        return self.claims[node, lane].path

    def settled(self, lane):
        """Whoever leads, if all contend and there is one."""
        of_lane = {node: self.claims[node, lane].read() for node in NODES}
        leaders = [node for node, one in of_lane.items() if one.leads]
        return leaders[0] if len(leaders) == 1 and all(one.is_ready for one in of_lane.values()) else None

    # ---- what happens to a leader ----

    def crash(self, node, lane):
        """kill -9 of the contender."""
        self.ground.kill(self.process.pop((node, lane)))
        self.claims[node, lane].died()

    def mend_crash(self, node, lane):
        self.contend(node, lane)

    def arm_cut(self, node, lane):
        self.process["cut"] = self.ground.arm_cut(node)

    def cut(self, node, lane):
        self.ground.cut(self.process.pop("cut"))

    def mend_cut(self, node, lane):
        self.ground.heal(node)

    def arm(self, node, lane):
        """What can be done before the fault, so that it takes no time."""
        getattr(self, f"arm_{self.fault}", lambda *unused: None)(node, lane)

    def disarm(self):
        """It is another one's turn."""
        if "cut" in self.process:
            self.ground.kill(self.process.pop("cut"))

    def strike(self, node, lane):
        """When it was struck."""
        at = now()
        getattr(self, self.fault)(node, lane)
        return at

    def since(self, node, lane, struck):
        """From when the time without a leader counts."""
        return struck

    def mend(self, node, lane):
        getattr(self, f"mend_{self.fault}")(node, lane)


def patiently(what, holds, limit):
    """Until it holds; what it then is."""
    end = time.monotonic() + limit
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {limit:g} s")
        time.sleep(LOOK)
