"""Processes beside a cluster whose evidence the checker reads: who claims to lead, and a resource that checks tokens.

Each is forked, writes one file, and knows nothing of what is done to the cluster."""

import collections
import ctypes
import heapq
import json
import mmap
import os
import random
import select
import signal
import socket
import struct
import sys
import threading
import time

from .processes import die_with_parent, libc
from .run_socket import Talker, Words
from .status_socket import ask

EVERY = 0.004        # seconds between two questions
LATE = 0.5           # seconds that a write is held back now and then, as by a process that was paused


class Stalls:
    """For how many seconds this machine stood still, at most: then leaders change that would not else."""

    def __enter__(self):
        self.worst, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def watch(self):
        before = time.monotonic()
        while not self.over.wait(0.01):
            self.worst, before = max(self.worst, time.monotonic() - before), time.monotonic()


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def enter(namespace):
    fd = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if libc.setns(fd, 0x40000000) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.close(fd)


def fork(work, *args):
    """The id of a process that does it, and ends with this one."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        die_with_parent()
        work(*args)
        status = 0
    except BaseException as error:  # noqa: BLE001: it must not come back into what was forked
        print(f"{work.__name__}: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(status)


def promised(talker, path):
    """For how long its member leads, as a client with a deadline is told. Who hears that it does not has stopped, and says so.
    Without a mandate there are no promises, only what is so now."""
    try:
        talker = talker or Talker(path[:-len("status")] + "run")
    except OSError:
        return None, None
    stamp = now()
    talker.say("LEASE", stamp=stamp, group="main")
    answer = talker.until_hears("TOLD", "REFUSED", patience=1)
    if answer is None:
        talker.close()
        return None, None
    if answer.word == "REFUSED":
        said = ask(path, {"verb": "is-leader", "group": "main"})
        leads = said and said.get("leads")
        return talker, Words("TOLD", stamp=stamp, left=said["left_us"], term=said["term"] or 0) if leads else None
    if answer.left == 0:
        talker.say("EMPTY")
    return talker, answer


def claimant(member, namespace, path, resource, out):
    """Asks again and again whether its member leads, claims what it may, and writes while it does."""
    enter(namespace)
    late = collections.deque()  # (when, token) of writes that come when they will
    writes = 0
    talker = None
    with open(out, "a", buffering=1) as log, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
        door.setblocking(False)

        def write(token):
            try:
                door.sendto(json.dumps({"member": member, "token": token}).encode(), resource)
            except OSError:
                pass  # a full socket: a write that was lost

        while True:
            before = now()
            talker, answer = promised(talker, path)
            after = now()
            if answer and answer.left != 0:
                token, until = answer.term, answer.stamp + answer.left
                if answer.left < 0 or answer.stamp < before:  # a yes that had nothing left when it was said, or to another question
                    log.write(json.dumps({"member": member, "at": after, "contradiction": repr(answer)}) + "\n")
                if until > after:
                    log.write(json.dumps({"member": member, "token": token, "before": before, "after": after, "until": until}) + "\n")
                    writes += 1
                    if writes % 20 == 0:
                        late.append((time.monotonic() + LATE, token))
                    elif now() < until:
                        write(token)
            while late and late[0][0] <= time.monotonic():
                write(late.popleft()[1])
            time.sleep(EVERY)


def resource(path, out):
    """Accepts no smaller token than it has seen."""
    highest = 0
    with open(out, "a", buffering=1) as log, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
        door.bind(path)
        while True:
            write = json.loads(door.recv(4096))
            accepted = write["token"] >= highest
            highest = max(highest, write["token"])
            log.write(json.dumps({"at": now(), **write, "accepted": accepted}) + "\n")


class Weather:
    """What the relay does to packets; shared with it."""
    FORM = "4d"  # seconds at least and at most, share lost, share doubled

    def __init__(self):
        self.page = mmap.mmap(-1, struct.calcsize(self.FORM))
        self.set()

    def set(self, least=0.0, most=0.0, lost=0.0, doubled=0.0):
        struct.pack_into(self.FORM, self.page, 0, least, most, lost, doubled)

    def get(self):
        return struct.unpack_from(self.FORM, self.page, 0)


def relay(namespace, ports, weather, seed):
    """In place of a bridge: frames keep their addresses, and arrive late, in another order, twice or not at all."""
    enter(namespace)
    dice = random.Random(seed)
    sockets = {}
    for port in ports:
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
        s.bind((port, 0))
        s.setblocking(False)
        sockets[s] = port
    home, queue, count = {}, [], 0
    while True:
        patience = max(0.0, queue[0][0] - time.monotonic()) if queue else None
        for s in select.select(list(sockets), [], [], patience)[0]:
            try:
                frame, origin = s.recvfrom(65536)
            except OSError:
                continue
            if origin[2] == 4:  # PACKET_OUTGOING: our own
                continue
            home[frame[6:12]] = s
            if frame[12:14] == b"\x08\x00" and frame[23] == 17:  # no checksum, for it was left to a card that is none
                frame = frame[:40] + b"\0\0" + frame[42:]
            least, most, lost, doubled = weather.get()
            to = [home[frame[:6]]] if frame[:6] in home else [other for other in sockets if other is not s]
            if frame[12:14] == b"\x08\x06":  # who has which address is asked rarely, and is not our subject
                least = most = lost = doubled = 0.0
            for _ in range(0 if dice.random() < lost else 2 if dice.random() < doubled else 1):
                count += 1
                heapq.heappush(queue, (time.monotonic() + dice.uniform(least, most), count, frame, to))
        while queue and queue[0][0] <= time.monotonic():
            _, _, frame, to = heapq.heappop(queue)
            for s in to:
                try:
                    s.send(frame)
                except OSError:
                    pass
