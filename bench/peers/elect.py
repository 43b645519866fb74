"""Elect: each machine runs a daemon and an `elect run`. The claims to lead are recorded either by a client of the daemon or by
the command that `elect run` starts."""

import os
import signal
import subprocess

from testbed import NODES, Peer, wait_for  # adds the path of lib
from lib.checks import Failure
from lib.processes import member_of

PORT = 7400


class Elect(Peer):
    contenders = ("elect_claim", "work_claim")
    rest = 2.0          # a member grants nothing during the first lease after its start

    def __init__(self, build, name, title, fault="crash", settings="", works=False):
        super().__init__(build)
        self.name, self.title, self.fault, self.settings, self.works = name, title, fault, settings, works
        self.binary = self.build / "elect"

    def missing(self):
        return super().missing() or (None if self.binary.exists() else f"{self.binary} does not exist: run make bench")

    def version(self):
        return subprocess.run([self.binary, "--version"], capture_output=True, text=True).stdout.split()[-1]

    def prepare(self):
        """Creates the cluster with loopback addresses, so that elect init does not wait for other machines, then inserts the real
        ones."""
        self.conf = self.testbed.folder / "elect.conf"
        words = [f"{node}=127.0.0.1:{PORT + i}" for i, node in enumerate(NODES)]
        made = subprocess.run([self.binary, "init", "-q", "-c", self.conf, "--new-cluster", *words], capture_output=True,
                              text=True)
        if made.returncode != 0:
            raise Failure(f"elect init: {made.stderr.strip()}")
        text = self.conf.read_text().replace("[cluster]\n", f"[cluster]\n{self.settings}\n")
        for i, node in enumerate(NODES):
            text = text.replace(f"127.0.0.1:{PORT + i}", f"{self.testbed.address(node)}:{PORT}")
        self.conf.write_text(text)

    def boot(self, node):
        self.process[node] = self.testbed.spawn(node, self.binary.resolve(), "daemon", "-c", self.conf, "--id", node)

    def socket(self, node, which):
        return self.testbed.folder / "state" / f"member-{NODES.index(node) + 1}.{which}"

    def wait_until_ready(self):
        wait_for("the run sockets of the daemons", lambda: all(self.socket(node, "run").exists() for node in NODES), 10)

    def contend(self, node, lane):
        """Starts elect_claim and elect run once per machine. If the daemon crashes, both wait until it is restarted."""
        if (node, lane) in self.process:
            return
        asks = [self.program("elect_claim").resolve(), self.claims_file(node, lane), self.socket(node, "run"), "main"]
        work = [self.program("work_claim").resolve(), self.claims_file(node, lane)] if self.works else ["sleep", "infinity"]
        runs = [self.binary.resolve(), "run", "-q", "--respawn", "-c", self.conf, "--id", node, "--", *work]
        self.process["run", node, lane] = self.testbed.spawn(node, *runs)
        self.process[node, lane] = self.process["run", node, lane] if self.works else self.testbed.spawn(node, *asks)

    def settled(self, lane):
        """Returns the leader's machine if exactly one contender leads, and None otherwise. If commands of elect run record the
        claims, waiting contenders count as ready, because their commands have not started yet."""
        if not self.works:
            return super().settled(lane)
        leaders = [node for node in NODES if self.claims[node, lane].read().leads]
        return leaders[0] if len(leaders) == 1 else None

    def crash(self, node, lane):
        """kill -9 of the member only. The others react to the release message that its guardian sends."""
        os.kill(member_of(self.process[node].pid), signal.SIGKILL)

    def repair_crash(self, node, lane):
        self.process[node].wait()
        self.testbed.kill(self.process.pop(node))
        self.boot(node)

    def crash_of_both(self, node, lane):
        """kill -9 of the member and its guardian, which share a process group."""
        self.testbed.kill(self.process.pop(node))

    def repair_crash_of_both(self, node, lane):
        self.boot(node)

    def resign(self, node, lane):
        """Starts elect resign, which exits once another member leads."""
        self.process["resign"] = self.testbed.spawn(node, self.binary.resolve(), "resign", "-c", self.conf, "--id", node)

    def since(self, node, lane, struck):
        """Returns when the time without a leader begins. A leader that resigns leads until its last claim ends."""
        return self.claims[node, lane].read().spans[-1][1] if self.fault == "resign" else struck

    def repair_resign(self, node, lane):
        """Waits for elect resign, which exits once another member leads."""
        command = self.process.pop("resign")
        wait_for("the end of elect resign", lambda: command.poll() is not None, 10)
        self.testbed.processes.remove(command)
        if command.returncode != 0:
            raise Failure(f"elect resign: exit {command.returncode}")


def rows(build):
    fast = "profile = fast"
    return [
        Elect(build, "elect", "Elect, defaults (lease 1 s): kill -9 of the member, with work under it"),
        Elect(build, "elect-work", "Elect, the same: until the successor's work runs", works=True),
        Elect(build, "elect-both", "Elect, defaults: kill -9 of member and guardian", "crash_of_both"),
        Elect(build, "elect-cut", "Elect, defaults: cut", "cut"),
        Elect(build, "elect-cut-work", "Elect, the same: until the successor's work runs", "cut", works=True),
        Elect(build, "elect-resign", "Elect, defaults: resign, with work under it", "resign"),
        Elect(build, "elect-fast-both", "Elect, profile fast (lease 60 ms): kill -9 of member and guardian", "crash_of_both", fast),
        Elect(build, "elect-fast-cut", "Elect, profile fast (lease 60 ms): cut", "cut", fast),
    ]
