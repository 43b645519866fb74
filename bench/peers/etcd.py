"""etcd: its own command, and the shortest lease that it grants, through its JSON gateway.

As a program this file is the contender of the second: etcd.py CLAIMS ADDRESS ELECTION TTL"""

import base64
import http.client
import json
import os
import subprocess
import sys
import threading
import time

CLIENTS, PEERS = 2379, 2380
EVERY = 0.0007      # seconds between two samples of a claim: with what Python adds, less than a millisecond
WORD = "the-leader"


# ---- the contender ----

class Gateway:
    def __init__(self, claims, address, election, ttl):
        self.file = os.open(claims, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.address, self.election, self.ttl = address, election, ttl
        self.until = 0.0        # CLOCK_BOOTTIME until which the lease holds for certain
        self.elected = self.lost = False

    def note(self, kind):
        os.write(self.file, f"{kind} {time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000}\n".encode())

    def call(self, path, patience, **body):
        """The answer, or None."""
        connection = http.client.HTTPConnection(self.address, CLIENTS, timeout=patience)
        try:
            connection.request("POST", path, json.dumps(body))
            said = json.loads(connection.getresponse().readline())
        except (OSError, ValueError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        return None if "error" in said else said.get("result", said)

    def renew(self, lease, granted):
        """From before each question: when the answer came says nothing about when the lease began."""
        while not self.lost:
            time.sleep(granted / 3)
            before = time.clock_gettime(time.CLOCK_BOOTTIME)
            said = self.call("/v3/lease/keepalive", granted / 3, ID=lease)
            if said is not None and int(said.get("TTL", 0)) == 0:
                self.lost = True
            elif said is not None:
                self.until = before + int(said["TTL"])

    def campaign(self, lease):
        name, value = (base64.b64encode(text.encode()).decode() for text in (self.election, WORD))
        self.elected = self.call("/v3/election/campaign", None, name=name, lease=lease, value=value) is not None
        self.lost |= not self.elected

    def one_lease(self):
        self.note("b")
        before = time.clock_gettime(time.CLOCK_BOOTTIME)
        said = self.call("/v3/lease/grant", 2, TTL=self.ttl)
        if said is None:
            time.sleep(0.1)  # not there yet
            return
        granted, self.elected, self.lost = int(said["TTL"]), False, False
        print(f"granted {granted}", flush=True)
        self.until = before + granted
        for work in ((self.renew, said["ID"], granted), (self.campaign, said["ID"])):
            threading.Thread(target=work[0], args=work[1:], daemon=True).start()
        self.note("r")
        leads = False
        while not self.lost and time.clock_gettime(time.CLOCK_BOOTTIME) < self.until:
            leads = self.elected
            if leads:
                self.note("c")
            time.sleep(EVERY)
        self.lost = True
        if leads:
            self.note("e")


if __name__ == "__main__":
    contender = Gateway(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
    while True:
        contender.one_lease()

from ground import NODES, Peer, patiently  # noqa: E402: the contender does without


# ---- the servers ----

class Etcd(Peer):
    package = "etcd-server"
    programs = ("etcd",)
    options = ()        # of the servers

    def boot(self, node):
        where = self.ground.address(node)
        cluster = ",".join(f"{n}=http://{self.ground.address(n)}:{PEERS}" for n in NODES)
        clients, peers = f"http://{where}:{CLIENTS}", f"http://{where}:{PEERS}"
        self.process[node] = self.ground.spawn(
            node, "etcd", "--name", node, "--data-dir", self.ground.folder / f"etcd-{node}", "--log-level", "error",
            "--listen-client-urls", clients, "--advertise-client-urls", clients, "--listen-peer-urls", peers,
            "--initial-advertise-peer-urls", peers, "--initial-cluster", cluster, *self.options)

    def control(self, node, *words):
        return self.ground.inside(node, "etcdctl", "--endpoints", f"http://{self.ground.address(node)}:{CLIENTS}", *words,
                                  check=False)

    def ripen(self):
        for node in NODES:
            patiently(f"the etcd of {node}", lambda: self.control(node, "endpoint", "health").returncode == 0, self.limit)


class EtcdCommand(Etcd):
    name, title = "etcdctl", "etcd, etcdctl elect, defaults (60 s lease)"
    programs = ("etcd", "etcdctl")
    contenders = ("follow",)
    slow, lanes, phase, limit = True, 20, 20.0, 120

    def prepare(self):
        self.complete = set()   # lanes in which all contend

    def contend(self, node, lane):
        self.complete.discard(lane)
        command = self.ground.spawn(node, "etcdctl", "--endpoints", f"http://{self.ground.address(node)}:{CLIENTS}", "elect",
                                    f"lane-{lane}", WORD, stdout=subprocess.PIPE)
        self.ground.spawn(node, self.program("follow").resolve(), self.claims_file(node, lane), WORD, stdin=command.stdout)
        command.stdout.close()
        self.process[node, lane] = command

    def settled(self, lane):
        """A command that waits says nothing: its key is what shows that it contends."""
        leaders = [node for node in NODES if self.claims[node, lane].read().leads]
        if len(leaders) == 1 and lane not in self.complete:
            keys = self.control(leaders[0], "get", "--prefix", "--keys-only", f"lane-{lane}/").stdout.split()
            self.complete |= {lane} if len(keys) >= len(NODES) else set()
        return leaders[0] if len(leaders) == 1 and lane in self.complete else None


class EtcdGateway(Etcd):
    """The contender asks for a lease of one second; what it is granted is in the notes."""
    phase, rest = 2.0, 1.0

    def __init__(self, build, name, title, options=(), fault="crash"):
        super().__init__(build)
        self.name, self.title, self.options, self.fault = name, title, options, fault

    def contend(self, node, lane):
        self.process[node, lane] = self.ground.spawn(
            node, sys.executable, os.path.abspath(__file__), self.claims_file(node, lane), self.ground.address(node),
            f"lane-{lane}", 1, log=f"{node}-contender.log")

    def settled(self, lane):
        leader = super().settled(lane)
        if leader is not None:
            self.note_lease(leader)
        return leader

    def note_lease(self, node):
        said = (self.ground.folder / f"{node}-contender.log").read_text().split()
        note = f"asked for 1 s, granted {said[-1]} s"
        if note not in self.notes:
            self.notes.append(note)


def rows(build):
    return [
        EtcdCommand(build),
        EtcdGateway(build, "etcd", "etcd, shortest lease, JSON gateway"),
        EtcdGateway(build, "etcd-raft-fast", "etcd, shortest lease, raft 10/100 ms",
                    ("--heartbeat-interval", "10", "--election-timeout", "100")),
        EtcdGateway(build, "etcd-cut", "etcd, shortest lease, JSON gateway: cut", fault="cut"),
    ]
