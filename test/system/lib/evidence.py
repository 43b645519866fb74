"""Processes that run beside a cluster and collect evidence for the safety checker. A claimant beside each member records when
that member leads. The claimants write to a resource, which checks their tokens.

Each of these processes writes its own file, and does not know which faults a test injects."""

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

EVERY = 0.004  # seconds between two queries
LATE = 0.5  # seconds of delay of every twentieth write, as if its writer had been stopped


class Stalls:
    """Measures the machine's longest stall, because a stall may depose a leader."""

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
    """Runs work(*args) in a forked process, which dies with this process. Returns its process id."""
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
    except BaseException as error:  # noqa: BLE001: an exception must not return into the caller's stack
        print(f"{work.__name__}: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(status)


def promised(talker, path):
    """Asks the daemon how long its member will lead, as a client with a deadline does. If the member does not lead, reports
    that the work has stopped, as such a client must. Without a mandate the daemon promises nothing for the future: its answer
    is valid only at that moment."""
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
    """Asks again and again whether its member leads, records the claims, and writes to the resource while the member leads."""
    enter(namespace)
    late = collections.deque()  # (time, token) of delayed writes
    writes = 0
    talker = None
    with open(out, "a", buffering=1) as log, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
        door.setblocking(False)

        def write(token):
            try:
                door.sendto(json.dumps({"member": member, "token": token}).encode(), resource)
            except OSError:
                pass  # the socket is full: this write is lost

        while True:
            before = now()
            talker, answer = promised(talker, path)
            after = now()
            if answer and answer.left != 0:
                token, until = answer.term, answer.stamp + answer.left
                if answer.left < 0 or answer.stamp < before:  # no time was granted, or the answer is to another query
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
    """A fenced resource: it accepts a write only if no write with a larger token was accepted before."""
    highest = 0
    with open(out, "a", buffering=1) as log, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
        door.bind(path)
        while True:
            write = json.loads(door.recv(4096))
            accepted = write["token"] >= highest
            highest = max(highest, write["token"])
            log.write(json.dumps({"at": now(), **write, "accepted": accepted}) + "\n")


class Weather:
    """How the relay between the members delays, loses and duplicates packets. The values are in memory shared with the test."""
    FORM = "4d"  # minimum and maximum delay in seconds, fractions lost and duplicated

    def __init__(self):
        self.page = mmap.mmap(-1, struct.calcsize(self.FORM))
        self.set()

    def set(self, least=0.0, most=0.0, lost=0.0, doubled=0.0):
        struct.pack_into(self.FORM, self.page, 0, least, most, lost, doubled)

    def get(self):
        return struct.unpack_from(self.FORM, self.page, 0)


def relay(namespace, ports, weather, seed):
    """Replaces the bridge between the members. Frames keep their addresses, but may arrive late, out of order, twice or
    never."""
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
            if origin[2] == 4:  # PACKET_OUTGOING: sent by this relay
                continue
            home[frame[6:12]] = s
            if frame[12:14] == b"\x08\x00" and frame[23] == 17:  # no checksum: a virtual card does not compute it
                frame = frame[:40] + b"\0\0" + frame[42:]
            least, most, lost, doubled = weather.get()
            to = [home[frame[:6]]] if frame[:6] in home else [other for other in sockets if other is not s]
            if frame[12:14] == b"\x08\x06":  # ARP is not under test and passes undisturbed
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
