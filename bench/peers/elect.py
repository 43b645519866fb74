"""Elect itself: a daemon on each machine, asked again and again whether it leads."""

import subprocess

from cluster import Failure  # where ground has said
from ground import NODES, Peer, patiently

PORT = 7400


class Elect(Peer):
    contenders = ("elect_claim",)
    settings = ""       # lines for [cluster]
    rest = 2.0          # who has just started grants nothing for a lease: that is not what is measured

    def __init__(self, build, name, title, fault="crash", settings=""):
        super().__init__(build)
        self.name, self.title, self.fault, self.settings = name, title, fault, settings
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

    def contend(self, node, lane):
        """The one who asks is no part of the system: it outlives the daemon, and believes a yes to its end."""
        if (node, lane) not in self.process:
            socket = self.ground.folder / "state" / f"member-{NODES.index(node) + 1}.status"
            self.process[node, lane] = self.ground.spawn(
                node, self.program("elect_claim").resolve(), self.claims_file(node, lane), socket, "main")

    def crash(self, node, lane):
        """kill -9 of the daemon."""
        self.ground.kill(self.process.pop(node))

    def mend_crash(self, node, lane):
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
    return [
        Elect(build, "elect", "Elect, defaults (lease 1 s): kill -9 of the member"),
        Elect(build, "elect-cut", "Elect, defaults (lease 1 s): cut", "cut"),
        Elect(build, "elect-resign", "Elect, defaults (lease 1 s): resign", "resign"),
        Elect(build, "elect-fast", "Elect, profile fast (lease 60 ms): kill -9 of the member", settings="profile = fast"),
    ]
