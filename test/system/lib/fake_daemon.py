"""A fake daemon for elect run. It speaks the runner's protocol (src/client/talk.h), and can be late, silent, wrong or dead.

It records which leases it has granted and when each ends, by the clock that all processes share."""

import os
import pathlib
import select
import shutil
import socket
import struct
import tempfile
import threading
import time

from .processes import LIMIT

MAGIC = 0x31524c45
WORDS = ["HOLD", "ASK", "EMPTY", "RESIGN", "LEASE", "HEALTH", "REFUSED", "NO", "WAIT", "GO", "TOLD", "STOP", "LOST", "NEWS", "DONE"]
FORMAT = "=IBB2xqqQIII4x64s64s64s160s"
SIZE = struct.calcsize(FORMAT)
NOW, LOOSE, CGROUP, NAMESPACE, YIELDS, FAILED, UNHEALTHY = 1, 2, 4, 8, 16, 32, 64
# A short lease for cases that wait for its end, still long enough for a brief stall of this process. Only root gets a real-time
# priority. Without it, a busy machine needs a larger margin to kill all processes before the lease ends.
SHORT = {"lease": 5_000_000, "renewal": 200_000}
MARGIN = ["--kill-margin", "400ms" if os.geteuid() == 0 else "2s"]
TERM = 5 << 16 | 1


def boottime():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


class Said(dict):
    """A packet, as a dict of its fields."""
    __getattr__ = dict.__getitem__

    @classmethod
    def of(cls, data):
        magic, word, flags, stamp, left, term, lease, renewal, pid, *names = struct.unpack(FORMAT, data)
        group, node, leader, why = (n.split(b"\0")[0].decode() for n in names)
        assert magic == MAGIC and word < len(WORDS), data
        return cls(word=WORDS[word], flags=flags, stamp=stamp, left=left, term=term, lease=lease, renewal=renewal, pid=pid, group=group,
                   node=node, leader=leader, why=why)


def packet(word, flags=0, stamp=0, left=0, term=TERM, lease=0, renewal=0, group="main", node="a", leader="a", why=""):
    return struct.pack(FORMAT, MAGIC, WORDS.index(word), flags, stamp, left, term, lease, renewal, 0,
                       *(s.encode() for s in (group, node, leader, why)))


class Client:
    """A runner's connection."""

    def __init__(self, fake, connection):
        self.fake, self.connection = fake, connection
        self.holders, self.heard = [], []  # the guardian's ends of channels; the runner's packets
        self.until, self.holding, self.empty = 0, False, 0
        self.theirs = None  # the runner's end of the latest channel, None once sent

    def say(self, word, **fields):
        if word in ("WAIT", "GO") and self.theirs is not None:  # WAIT carries the runner's end of the channel, before GO
            data = packet("WAIT", lease=self.fake.lease, renewal=self.fake.renewal, **{k: v for k, v in fields.items() if k == "leader"})
            try:
                socket.send_fds(self.connection, [data], [self.theirs.fileno()])
            except OSError:
                pass
            self.theirs.close()
            self.theirs = None
            if word == "WAIT":
                return
        self.send(packet(word, **{"lease": self.fake.lease, "renewal": self.fake.renewal, "term": self.fake.term} | fields))

    def send(self, data):
        try:
            self.connection.send(data, socket.MSG_DONTWAIT)
        except OSError:
            pass

    def close(self):
        self.connection.shutdown(socket.SHUT_RDWR)  # this connection's thread then closes it

    def is_empty(self):
        """Returns True if the run told the guardian that no process of its work is left, and sent nothing else on the channel
        of its last HOLD. True also if the run never received that channel."""
        return self.theirs is not None or self.holders[-1][1] == b"E" * len(self.holders[-1][1]) != b""


class Fake:
    """A fake daemon in its own folder, which answers as the function `answer(client, said)` decides, in a thread.

    By default it acts as a member that leads: it answers a run with GO, and each request with a lease that begins at the
    request's time stamp."""

    def __init__(self, lease=10_000_000, renewal=500_000, answer=None, ask=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="elect-run-"))
        self.lease, self.renewal, self.term = lease, renewal, TERM
        self.answer, self.ask = answer, ask
        self.clients, self.changed = [], threading.Condition()
        self.renews = True
        self.paused = threading.Event()
        self.listen()

    def listen(self):
        self.path = str(self.folder / "member-1.run")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen(16)
        self.stopping = False
        self.wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    @property
    def status_path(self):
        return str(self.folder / "member-1.status")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.die()
        shutil.rmtree(self.folder, ignore_errors=True)

    def die(self):
        """Behaves like a killed daemon: closes every descriptor except the guardian's ends of the channels. A guardian survives
        its member and can still receive messages."""
        if self.stopping:
            return
        self.stopping = True
        os.write(self.wake[1], b"x")
        self.thread.join()
        self.listener.close()
        os.unlink(self.path)
        for client in self.clients:
            client.connection.close()
        for fd in self.wake:
            os.close(fd)

    def serve(self):
        while not self.stopping:
            by_fd = {self.listener.fileno(): None}
            for client in self.clients:
                if client.connection.fileno() >= 0:
                    by_fd[client.connection.fileno()] = client
                for end in client.holders:
                    if end[0].fileno() >= 0:
                        by_fd[end[0].fileno()] = (client, end)
            ready, _, _ = select.select([*by_fd, self.wake[0]], [], [], 0.2)
            if self.paused.is_set():
                time.sleep(0.005)
                continue
            for fd in ready:
                self.turn(fd, by_fd.get(fd, 0))

    def turn(self, fd, who):
        if fd == self.wake[0]:
            return
        if who is None:
            connection, _ = self.listener.accept()
            self.clients.append(Client(self, connection))
        elif isinstance(who, tuple):
            data = who[1][0].recv(64)
            if not data:
                who[1][0].close()
            who[1][1] += data
        else:
            self.hear(who)
        with self.changed:
            self.changed.notify_all()

    def hear(self, client):
        try:
            data = client.connection.recv(SIZE + 1)
        except OSError:
            return
        if not data:
            client.connection.close()
            return
        said = Said.of(data)
        if said.word == "HOLD":  # before a test can see the HOLD and answer it
            ours, client.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            client.holders.append([ours, b""])
        answer = self.answer  # chosen first, because a test that sees the packet may change it
        client.heard.append(said)
        if said.word == "HOLD":
            client.holding = True
        if said.word == "EMPTY":
            client.holding, client.empty = False, client.empty + 1
        if answer is None or not answer(client, said):
            self.usual(client, said)

    def usual(self, client, said):
        if said.word == "HOLD":
            client.say("WAIT" if said.flags & UNHEALTHY else "GO")
        elif said.word == "HEALTH" and not said.flags & UNHEALTHY:
            client.say("GO")
        elif said.word == "ASK" and self.renews:
            self.grant(client, said.stamp)

    def grant(self, client, stamp, left=None):
        left = self.lease if left is None else left
        client.until = max(client.until, stamp + left)
        client.say("TOLD", stamp=stamp, left=left)

    # ---- for the tests ----

    def wait(self, what, holds, limit=LIMIT):
        end = time.monotonic() + limit
        with self.changed:
            while True:
                last = time.monotonic() > end  # before the last check, because this process may also stall
                if value := holds():
                    return value
                if last:
                    raise TimeoutError(f"{what}: not within {limit} s")
                self.changed.wait(0.05)

    def client(self):
        return self.wait("a runner", lambda: self.clients)[-1]

    def words(self):
        return [s.word for c in self.clients for s in c.heard]

    def until(self):
        return max((c.until for c in self.clients), default=0)
