"""etcd is measured in two ways: with the command etcdctl, and through its JSON gateway with the shortest lease that etcd
grants.

Run as a program, this file is the contender that uses the gateway: etcd.py CLAIMS ADDRESS ELECTION TTL"""

import base64
import http.client
import json
import os
import subprocess
import sys
import threading
import time

CLIENTS, PEERS = 2379, 2380
EVERY = 0.0007      # seconds between samples: below a millisecond even with Python's overhead
WORD = "the-leader"


# ---- the contender ----

def call(address, path, patience, **body):
    """Sends a request to etcd's JSON gateway. Returns the answer, or None after an error."""
    connection = http.client.HTTPConnection(address, CLIENTS, timeout=patience)
    try:
        connection.request("POST", path, json.dumps(body))
        said = json.loads(connection.getresponse().readline())
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return None if "error" in said else said.get("result", said)


def boottime():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """A lease granted by etcd. A contender that loses its lease lets it expire and asks for a new one."""

    def __init__(self, address, granted, before):
        self.address, self.id, self.ttl = address, granted["ID"], int(granted["TTL"])
        self.until = before + self.ttl  # counted from before the request: the lease lasts at least this long
        self.elected = self.lost = False

    def holds(self):
        return not self.lost and boottime() < self.until

    def renew(self):
        while self.holds():
            time.sleep(self.ttl / 3)
            before = boottime()
            said = call(self.address, "/v3/lease/keepalive", self.ttl / 3, ID=self.id) if self.holds() else None
            if said is not None and int(said.get("TTL", 0)) == 0:
                self.lost = True
            elif said is not None and self.holds():
                self.until = before + int(said["TTL"])

    def campaign(self, election):
        """Waits until this contender leads. After an error, it is no longer a candidate with this lease, so the lease counts as
        lost."""
        name, value = (base64.b64encode(text.encode()).decode() for text in (election, WORD))
        self.elected = call(self.address, "/v3/election/campaign", None, name=name, lease=self.id, value=value) is not None
        self.lost |= not self.elected


class Contender:
    def __init__(self, claims, address, election, ttl):
        self.file = os.open(claims, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.address, self.election, self.ttl = address, election, ttl

    def note(self, kind):
        os.write(self.file, f"{kind} {time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000}\n".encode())

    def contend(self):
        """Obtains a lease and competes with it until the lease is lost."""
        self.note("b")
        before = boottime()
        granted = call(self.address, "/v3/lease/grant", 2, TTL=self.ttl)
        if granted is None:
            time.sleep(0.1)  # etcd is not running, or has no quorum
            return
        lease = Lease(self.address, granted, before)
        print(f"granted {lease.ttl}", flush=True)
        threading.Thread(target=lease.renew, daemon=True).start()
        threading.Thread(target=lease.campaign, args=(self.election,), daemon=True).start()
        self.note("r")
        leads = False
        while lease.holds():
            leads = lease.elected
            if leads:
                self.note("c")
            time.sleep(EVERY)
        if leads:
            self.note("e")


if __name__ == "__main__":
    contender = Contender(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
    while True:
        contender.contend()

from testbed import NODES, Peer, wait_for  # noqa: E402: the contender does not need it


# ---- the servers ----

class Etcd(Peer):
    package = "etcd-server"
    programs = ("etcd",)
    options = ()

    def boot(self, node):
        where = self.testbed.address(node)
        cluster = ",".join(f"{n}=http://{self.testbed.address(n)}:{PEERS}" for n in NODES)
        clients, peers = f"http://{where}:{CLIENTS}", f"http://{where}:{PEERS}"
        self.process[node] = self.testbed.spawn(
            node, "etcd", "--name", node, "--data-dir", self.testbed.folder / f"etcd-{node}", "--log-level", "error",
            "--listen-client-urls", clients, "--advertise-client-urls", clients, "--listen-peer-urls", peers,
            "--initial-advertise-peer-urls", peers, "--initial-cluster", cluster, *self.options)

    def control(self, node, *words):
        return self.testbed.inside(node, "etcdctl", "--endpoints", f"http://{self.testbed.address(node)}:{CLIENTS}", *words,
                                  check=False)

    def wait_until_ready(self):
        for node in NODES:
            wait_for(f"the etcd of {node}", lambda: self.control(node, "endpoint", "health").returncode == 0, self.limit)


class EtcdCommand(Etcd):
    name, title = "etcdctl", "etcd, etcdctl elect, defaults (60 s lease)"
    programs = ("etcd", "etcdctl")
    contenders = ("follow",)
    slow, lanes, phase, limit = True, 20, 20.0, 120

    def prepare(self):
        self.complete = set()

    def contend(self, node, lane):
        self.complete.discard(lane)
        command = self.testbed.spawn(node, "etcdctl", "--endpoints", f"http://{self.testbed.address(node)}:{CLIENTS}", "elect",
                                    f"lane-{lane}", WORD, stdout=subprocess.PIPE)
        self.testbed.spawn(node, self.program("follow").resolve(), self.claims_file(node, lane), WORD, stdin=command.stdout)
        command.stdout.close()
        self.process[node, lane] = command

    def settled(self, lane):
        """Returns the leader's machine if exactly one contender leads and all three compete, and None otherwise. Waiting
        contenders print nothing, so this looks for their keys in etcd."""
        leaders = [node for node in NODES if self.claims[node, lane].read().leads]
        if len(leaders) == 1 and lane not in self.complete:
            keys = self.control(leaders[0], "get", "--prefix", "--keys-only", f"lane-{lane}/").stdout.split()
            self.complete |= {lane} if len(keys) >= len(NODES) else set()
        return leaders[0] if len(leaders) == 1 and lane in self.complete else None


class EtcdGateway(Etcd):
    """etcd through its JSON gateway. The contender asks for a lease of one second; the notes below the row show what etcd
    granted."""
    phase, rest = 2.0, 1.0

    def __init__(self, build, name, title, options=(), fault="crash"):
        super().__init__(build)
        self.name, self.title, self.options, self.fault = name, title, options, fault

    def contend(self, node, lane):
        self.process[node, lane] = self.testbed.spawn(
            node, sys.executable, os.path.abspath(__file__), self.claims_file(node, lane), self.testbed.address(node),
            f"lane-{lane}", 1, log=f"{node}-contender.log")

    def settled(self, lane):
        leader = super().settled(lane)
        if leader is not None:
            self.note_lease(leader)
        return leader

    def note_lease(self, node):
        said = (self.testbed.folder / f"{node}-contender.log").read_text().split()
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
