"""Elect: each machine has a daemon and an `elect run`. The claims come from a client of the daemon, or from the command of `elect
run`."""

import os
import signal
import subprocess

from testbed import NODES, Peer, wait_for  # adds the path of lib
from lib.checks import Failure
from lib.processes import member_of

PORT = 7400


class Elect(Peer):
    contenders = ("elect_claim", "work_claim")
    rest = 2.0          # a member that has just started grants nothing for a lease, which must not be part of the time

    def __init__(self, build, name, title, fault="crash", settings="", works=False):
        super().__init__(build)
        self.name, self.title, self.fault, self.settings, self.works = name, title, fault, settings, works
        self.binary = self.build / "elect"

    def missing(self):
        return super().missing() or (None if self.binary.exists() else f"{self.binary} does not exist: run make bench")

    def version(self):
        return subprocess.run([self.binary, "--version"], capture_output=True, text=True).stdout.split()[-1]

    def prepare(self):
        """Creates the cluster with local addresses, so that elect init need not ask other machines, and then replaces them with
        the addresses of the machines."""
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
        """Starts elect_claim and elect run once for each machine. Both survive a crash of the daemon, and wait for its
        restart."""
        if (node, lane) in self.process:
            return
        asks = [self.program("elect_claim").resolve(), self.claims_file(node, lane), self.socket(node, "run"), "main"]
        work = [self.program("work_claim").resolve(), self.claims_file(node, lane)] if self.works else ["sleep", "infinity"]
        runs = [self.binary.resolve(), "run", "-q", "--respawn", "-c", self.conf, "--id", node, "--", *work]
        self.process["run", node, lane] = self.testbed.spawn(node, *runs)
        self.process[node, lane] = self.process["run", node, lane] if self.works else self.testbed.spawn(node, *asks)

    def settled(self, lane):
        """Works like Peer.settled. If the commands make the claims, waiting contenders count as ready, although they have not
        written anything yet."""
        if not self.works:
            return super().settled(lane)
        leaders = [node for node in NODES if self.claims[node, lane].read().leads]
        return leaders[0] if len(leaders) == 1 else None

    def crash(self, node, lane):
        """kill -9 of the member. This measures the effect of the testament that its guardian sends."""
        os.kill(member_of(self.process[node].pid), signal.SIGKILL)

    def repair_crash(self, node, lane):
        self.process[node].wait()
        self.testbed.kill(self.process.pop(node))
        self.boot(node)

    def crash_of_both(self, node, lane):
        """kill -9 of the member and its guardian, which are one process group."""
        self.testbed.kill(self.process.pop(node))

    def repair_crash_of_both(self, node, lane):
        self.boot(node)

    def resign(self, node, lane):
        """Starts elect resign, which ends when another member leads."""
        self.process["resign"] = self.testbed.spawn(node, self.binary.resolve(), "resign", "-c", self.conf, "--id", node)

    def since(self, node, lane, struck):
        """Returns the end of the leader's last claim, because a leader that resigns leads until then."""
        return self.claims[node, lane].read().spans[-1][1] if self.fault == "resign" else struck

    def repair_resign(self, node, lane):
        """Waits for the end of elect resign, which shows that another member leads."""
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
