"""Elect itself: a daemon on each machine, and an elect run beside it. Who leads says the daemon; or what is run."""

import os
import signal
import subprocess

from lib.checks import Failure  # where ground has said
from lib.processes import member_of
from ground import NODES, Peer, patiently

PORT = 7400


class Elect(Peer):
    contenders = ("elect_claim", "work_claim")
    rest = 2.0          # who has just started grants nothing for a lease: that is not what is measured

    def __init__(self, build, name, title, fault="crash", settings="", works=False):
        super().__init__(build)
        self.name, self.title, self.fault, self.settings, self.works = name, title, fault, settings, works
        self.binary = self.build / "elect"

    def missing(self):
        return super().missing() or (None if self.binary.exists() else f"there is no {self.binary}")

    def version(self):
        return subprocess.run([self.binary, "--version"], capture_output=True, text=True).stdout.split()[-1]

    def prepare(self):
        """States are made where nobody has to be asked; then the addresses are put where they belong."""
        self.conf = self.ground.folder / "elect.conf"
        words = [f"{node}=127.0.0.1:{PORT + i}" for i, node in enumerate(NODES)]
        made = subprocess.run([self.binary, "init", "-q", "-c", self.conf, "--new-cluster", *words], capture_output=True,
                              text=True)
        if made.returncode != 0:
            raise Failure(f"elect init: {made.stderr.strip()}")
        text = self.conf.read_text().replace("[cluster]\n", f"[cluster]\n{self.settings}\n")
        for i, node in enumerate(NODES):
            text = text.replace(f"127.0.0.1:{PORT + i}", f"{self.ground.address(node)}:{PORT}")
        self.conf.write_text(text)

    def boot(self, node):
        self.process[node] = self.ground.spawn(node, self.binary.resolve(), "daemon", "-c", self.conf, "--id", node)

    def socket(self, node, which):
        return self.ground.folder / "state" / f"member-{NODES.index(node) + 1}.{which}"

    def ripen(self):
        patiently("their sockets", lambda: all(self.socket(node, "run").exists() for node in NODES), 10)

    def contend(self, node, lane):
        """Whoever asks, and whatever is run, outlives the daemon; the run waits for the next one."""
        if (node, lane) in self.process:
            return
        asks = [self.program("elect_claim").resolve(), self.claims_file(node, lane), self.socket(node, "run"), "main"]
        work = [self.program("work_claim").resolve(), self.claims_file(node, lane)] if self.works else ["sleep", "infinity"]
        runs = [self.binary.resolve(), "run", "-q", "--respawn", "-c", self.conf, "--id", node, "--", *work]
        self.process["run", node, lane] = self.ground.spawn(node, *runs)
        self.process[node, lane] = self.process["run", node, lane] if self.works else self.ground.spawn(node, *asks)

    def settled(self, lane):
        """What is run says nothing while it is not run."""
        if not self.works:
            return super().settled(lane)
        leaders = [node for node in NODES if self.claims[node, lane].read().leads]
        return leaders[0] if len(leaders) == 1 else None

    def crash(self, node, lane):
        """kill -9 of the member; what it leaves to its guardian is what is measured."""
        os.kill(member_of(self.process[node].pid), signal.SIGKILL)

    def mend_crash(self, node, lane):
        self.process[node].wait()
        self.ground.kill(self.process.pop(node))
        self.boot(node)

    def crash_of_both(self, node, lane):
        """kill -9 of member and guardian together: one group of processes, one word."""
        self.ground.kill(self.process.pop(node))

    def mend_crash_of_both(self, node, lane):
        self.boot(node)

    def resign(self, node, lane):
        """The command is left alone: it ends when another one leads."""
        self.process["resign"] = self.ground.spawn(node, self.binary.resolve(), "resign", "-c", self.conf, "--id", node)

    def since(self, node, lane, struck):
        """A leader that resigns leads until it has: what counts is the time without any."""
        return self.claims[node, lane].read().spans[-1][1] if self.fault == "resign" else struck

    def mend_resign(self, node, lane):
        """Another one leads: the command has nothing left to wait for."""
        command = self.process.pop("resign")
        patiently("the end of elect resign", lambda: command.poll() is not None, 10)
        self.ground.processes.remove(command)
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
