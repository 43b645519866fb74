"""The testbed of bench/failover: three machines on one switch, the processes on them, and the claims of the contenders.

Machines are network namespaces with the run's process id in their names, so that a later run can remove what a killed one left."""

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
LOOK = 0.002  # seconds between reads of the claims; these contain the times of events themselves
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
    """A contender's claims (see claim.h), as the spans of time when it claimed to lead."""

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
        """Adds one sample. Successive claims form one span: the contender believed that it led all the time, even if it was
        suspended."""
        if kind == b"c" and not self.leads:
            self.spans.append([time_, time_])
        elif self.leads and kind in b"ce":
            self.spans[-1][1] = time_
        self.is_ready = kind == b"r" or (self.is_ready and kind != b"b")
        self.leads = kind == b"c" or (self.leads and kind not in b"eb")

    def died(self):
        """Records that the contender was killed. Its claim ends with its last sample."""
        self.read()
        self.is_ready = self.leads = False

    def first_since(self, begin):
        """Returns the first time from `begin` on when the contender claimed to lead, or None."""
        return next((max(start, begin) for start, end in self.spans if end >= begin), None)


def overlap(all_spans, begin, end):
    """Returns the microseconds between `begin` and `end` when at least two contenders claimed to lead."""
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


class Testbed:
    """Three machines, a folder for their files, and their processes."""

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
        """Starts nft and writes its commands, but keeps the pipe open so that nft waits. Starting nft at the time of the fault
        would take longer than some of the measured times."""
        armed = self.spawn(node, "nft", "-f", "-", stdin=subprocess.PIPE)
        armed.stdin.write(CUT.encode())
        armed.stdin.flush()
        return armed

    def cut(self, armed):
        """Drops all packets to and from the machine. Its interface stays up."""
        armed.stdin.close()
        if armed.wait() != 0:
            raise Failure("nft failed: the machine is not cut off")
        self.processes.remove(armed)

    def heal(self, node):
        self.inside(node, "nft", "delete", "table", "inet", "cut")

    def spawn(self, node, *command, own_run=False, shared=None, log=None, **more):
        """Starts a process on a machine, in the testbed's folder, as leader of its own process group. With `own_run`, it gets its
        own /run, for daemons that keep one file there per machine. `shared` names a folder of the testbed that it sees as
        /dev/shm; the process then needs relative paths, because its /dev/shm may hide the testbed's folder."""
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
        """Kills the process groups of these processes, and waits for the processes."""
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        for process in processes:
            process.wait()
            if process in self.processes:
                self.processes.remove(process)

    def tails(self, lines=6):
        """Returns the last lines of each log file."""
        said = []
        for path in sorted(self.folder.glob("*.log")):
            end = path.read_text(errors="replace").splitlines()[-lines:]
            said += [f"last lines of {path.name}:", *(f"  {line}" for line in end)] if end else []
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
    """A system that is measured with one configuration and one kind of fault. The table has one row for each peer.

    A lane is an independent election on the same three machines. A slow peer has many lanes, so that several trials can run at
    the same time. To add a peer, define `boot` (how to start the server of a machine), `contend` (how to start a contender) and
    `crash` (how to crash the leader)."""

    name = ""
    title = ""
    fault = "crash"     # method that injects the fault into the leader
    package = None      # Debian package, for the version
    programs = ()
    contenders = ()
    slow = False        # use --slow-trials instead of --trials
    lanes = 1
    phase = 1.0         # seconds over which faults are spread: longer than any period of the peer
    rest = 0.5          # seconds with one leader before the fault
    calm = 0.3          # seconds with one leader before a trial is over
    hold = 5.0          # seconds until a trial ends even with two leaders
    limit = 60          # seconds for a new leader to appear

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.testbed, self.process, self.notes = None, {}, []

    def missing(self):
        """Returns why this peer cannot be measured here, or None."""
        for program in self.programs:
            if shutil.which(program) is None:
                return f"{program} is not installed: run make deps-failover"
        for program in self.contenders:
            if not (self.build / "bench/peers" / program).exists():
                return (f"{program} is not built: run make deps-failover, then meson configure {self.build} -Dbench=true && "
                        f"ninja -C {self.build}")
        return None

    def version(self):
        if self.package is None:
            return None
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", self.package], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else None

    def program(self, name):
        return self.build / "bench/peers" / name

    # ---- starting ----

    def start(self, testbed):
        self.testbed = testbed
        self.claims = {(node, lane): Claims(testbed.folder / f"{node}{lane}.claims")
                       for node in NODES for lane in range(self.lanes)}
        self.prepare()
        for node in NODES:
            self.boot(node)
        self.wait_until_ready()
        for lane in range(self.lanes):
            for node in NODES:
                self.contend(node, lane)

    def prepare(self):
        """Writes configuration files, before any process starts."""

    def boot(self, node):
        """Starts a machine's server."""

    def wait_until_ready(self):
        """Waits until the servers accept contenders."""

    def contend(self, node, lane):
        """Starts a contender."""
        raise NotImplementedError

    def claims_file(self, node, lane):
        return self.claims[node, lane].path

    def settled(self, lane):
        """Returns the leader's machine if all contenders are ready and exactly one leads, and None otherwise."""
        of_lane = {node: self.claims[node, lane].read() for node in NODES}
        leaders = [node for node, one in of_lane.items() if one.leads]
        return leaders[0] if len(leaders) == 1 and all(one.is_ready for one in of_lane.values()) else None

    # ---- faults ----

    def crash(self, node, lane):
        """kill -9 of the contender."""
        self.testbed.kill(self.process.pop((node, lane)))
        self.claims[node, lane].died()

    def repair_crash(self, node, lane):
        self.contend(node, lane)

    def arm_cut(self, node, lane):
        self.process["cut"] = self.testbed.arm_cut(node)

    def cut(self, node, lane):
        self.testbed.cut(self.process.pop("cut"))

    def repair_cut(self, node, lane):
        self.testbed.heal(node)

    def arm(self, node, lane):
        """Prepares the fault, so that injecting it takes almost no time."""
        getattr(self, f"arm_{self.fault}", lambda *unused: None)(node, lane)

    def disarm(self):
        """Cancels a prepared fault after a change of leader."""
        if "cut" in self.process:
            self.testbed.kill(self.process.pop("cut"))

    def strike(self, node, lane):
        """Injects the fault into the leader, and returns the time."""
        at = now()
        getattr(self, self.fault)(node, lane)
        return at

    def since(self, node, lane, struck):
        """Returns when the time without a leader begins."""
        return struck

    def repair(self, node, lane):
        getattr(self, f"repair_{self.fault}")(node, lane)


def wait_for(what, holds, limit):
    """Waits until holds() returns a true value, and returns that value."""
    end = time.monotonic() + limit
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"waited {limit:g} s in vain for {what}")
        time.sleep(LOOK)
