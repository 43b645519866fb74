"""The client's end of a member's run socket (src/client/talk.h), for a runner or for a client with a deadline."""

import array
import os
import select
import socket
import struct
import threading
import time

from .processes import LIMIT

FORMAT = struct.Struct("=IBB2xqqQII4x4x64s64s64s160s")
MAGIC = 0x31524C45
WORDS = "HOLD ASK EMPTY RESIGN LEASE HEALTH REFUSED NO WAIT GO TOLD STOP LOST NEWS DONE".split()
NOW, LOOSE, YIELDS, FAILED, UNHEALTHY = 1, 2, 16, 32, 64


def clock():
    """Returns the time in microseconds, by the clock of leases."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


class Words:
    def __init__(self, word, flags=0, stamp=0, left=0, term=0, lease=0, renewal=0, group="", node="", leader="", why=""):
        self.word, self.flags, self.stamp, self.left, self.term = word, flags, stamp, left, term
        self.lease, self.renewal, self.group, self.node, self.leader, self.why = lease, renewal, group, node, leader, why

    def pack(self):
        return FORMAT.pack(MAGIC, WORDS.index(self.word), self.flags, self.stamp, self.left, self.term, self.lease, self.renewal,
                           *(text.encode() for text in (self.group, self.node, self.leader, self.why)))

    @staticmethod
    def unpack(data):
        magic, word, flags, stamp, left, term, lease, renewal, *texts = FORMAT.unpack(data)
        assert magic == MAGIC
        return Words(WORDS[word], flags, stamp, left, term, lease, renewal, *(t.split(b"\0")[0].decode() for t in texts))

    def __repr__(self):
        return f"{self.word} {vars(self)}"


class Talker:
    """A connection to a run socket. `hear` returns None if no packet comes for `patience` seconds, and the word END when the
    connection is closed."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(path)
        self.channel, self.until, self.asked = None, 0, 0

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def say(self, word, **more):
        try:
            self.socket.send(Words(word, **more).pack())
        except OSError:
            pass

    def hear(self, patience=LIMIT):
        if not select.select([self.socket], [], [], patience)[0]:
            return None
        try:
            try:
                data, extra, _, _ = self.socket.recvmsg(FORMAT.size, socket.CMSG_SPACE(4))
            except ConnectionResetError:  # the daemon had sent a packet but left a request unread
                data, extra, _, _ = self.socket.recvmsg(FORMAT.size, socket.CMSG_SPACE(4))
        except OSError:
            return Words("END")
        for _, kind, found in extra:
            if kind == socket.SCM_RIGHTS:
                self.channel = socket.socket(fileno=array.array("i", found[:4])[0])
        return Words.unpack(data) if data else Words("END")

    def until_hears(self, *words, patience=LIMIT):
        end = time.monotonic() + patience
        while time.monotonic() < end:
            said = self.hear(max(0, end - time.monotonic()))
            if said is not None and said.word in words:
                return said
            if said is not None and said.word == "END":
                break
        return None

    def ask(self, word="ASK", group="main", left=0):
        """Asks whether the member leads. Returns the end of its lease (CLOCK_BOOTTIME, microseconds), or 0 if it does not lead.
        `left` limits the length of the promise."""
        stamp = self.asked = clock()
        self.say(word, stamp=stamp, group=group, left=left)
        said = self.until_hears("TOLD", "REFUSED")
        if said is None or said.word == "REFUSED" or said.left <= 0:
            return 0
        self.until = max(self.until, said.stamp + said.left)
        return self.until

    def hold(self, group="main", flags=0, why=""):
        """Asks whether the run may start its command, named `why`, and returns the answer."""
        self.say("HOLD", group=group, flags=flags, why=why)
        return self.until_hears("GO", "NO", "REFUSED")

    def empty(self, flags=0, why=""):
        self.say("EMPTY", flags=flags, why=why)
        self.say_to_guardian()

    def say_to_guardian(self):
        if self.channel is not None:
            try:
                self.channel.send(b"E")
            except OSError:
                pass
            self.channel.close()
            self.channel = None

    def close(self):
        self.socket.close()
        if self.channel is not None:
            self.channel.close()
            self.channel = None


class Lookout(threading.Thread):
    """Records when a member first reports that it leads in a term above `term`, by the clock of leases."""

    def __init__(self, ask, sockets, term):
        super().__init__(daemon=True)
        self.ask, self.sockets, self.term, self.seen, self.over = ask, sockets, term, None, False
        self.start()

    def run(self):
        while not self.over and self.seen is None:
            for name, path in self.sockets.items():
                said = self.ask(path, {"verb": "is-leader", "group": "main"})
                if said and said.get("leads") and said["term"] > self.term:
                    self.seen = (clock(), name, said["term"])
                    return
            time.sleep(0.0005)

    def wait(self, patience=LIMIT):
        self.join(patience)
        self.over = True
        return self.seen


def exists(pid):
    return os.path.exists(f"/proc/{pid}")
