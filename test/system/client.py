"""Programs beside a daemon: examples/client.c and client.py, beside three real ones, and with a daemon that can be stopped,
killed, restarted, mute, and that can lie. That one is this file, too, in a process of its own.

    client.py ELECT LIBRARY EXAMPLE EXAMPLE.PY TALK.H"""

import contextlib
import os
import pathlib
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from lib.checks import Failure  # noqa: E402
from lib.containment import contain  # noqa: E402
from lib.local_cluster import LocalCluster  # noqa: E402
from lib.processes import LIMIT  # noqa: E402

PACKET = struct.Struct("=IBB2xqqQII64s64s64s160s")  # struct talk
LEASE, RENEWAL, TOKEN = 400000, 80000, 65537


def words(header):
    """The numbers of what is said, and the magic, as the header has them."""
    text = pathlib.Path(header).read_text()
    names = re.findall(r"^ +X\((\w+), [01]\)", text, re.M)
    return {name: i for i, name in enumerate(names)}, int(re.search(r"TALK_MAGIC +(0x\w+?)u", text)[1], 16)


# ---- the daemon ----

class Fake:
    """Answers as its latest line of standard input says: lead, follow, mute, news, or a lie; says what it hears."""

    def __init__(self, path, header):
        self.word, self.magic = words(header)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(16)
        self.clients, self.mode, self.term = [], "mute", TOKEN

    def packet(self, word, stamp=0, left=0, magic=None, term=None, lease=LEASE, group=b"main", leader=b"b", why=b""):
        return PACKET.pack(magic or self.magic, self.word[word], 0, stamp, left, self.term if term is None else term,
                           lease, RENEWAL, group, b"a", leader, why)

    def answer(self, stamp):
        lead = {"stamp": stamp, "left": LEASE}
        return {"lead": lambda: self.packet("TOLD", **lead),
                "follow": lambda: self.packet("TOLD", stamp),
                "refuse": lambda: self.packet("REFUSED", why=b"no such group"),
                "stamp": lambda: self.packet("TOLD", stamp + 1, LEASE),
                "magic": lambda: self.packet("TOLD", **lead, magic=1),
                "short": lambda: self.packet("TOLD", **lead)[:-1],
                "long": lambda: self.packet("TOLD", **lead) + b"x",
                "negative": lambda: self.packet("TOLD", stamp, -LEASE),
                "no-lease": lambda: self.packet("TOLD", **lead, lease=0),
                "no-token": lambda: self.packet("TOLD", **lead, term=0),
                "group": lambda: self.packet("TOLD", **lead, group=b"other"),
                "endless": lambda: self.packet("TOLD", **lead, leader=b"b" * 64),
                "word": lambda: self.packet("GO", **lead)}[self.mode]()

    @staticmethod
    def send(client, packet):
        with contextlib.suppress(OSError):  # it has hung up, of which we shall hear
            client.send(packet)

    def hear(self, client):
        try:
            bytes_ = client.recv(4096)
        except ConnectionError:
            bytes_ = b""
        if not bytes_:
            self.clients.remove(client)
            client.close()
            return
        word, stamp = PACKET.unpack(bytes_)[1], PACKET.unpack(bytes_)[3]
        if word == self.word["RESIGN"]:
            print("RESIGN", flush=True)
            self.send(client, self.packet("DONE"))
        elif word == self.word["LEASE"] and self.mode != "mute":
            self.send(client, self.answer(stamp))

    def obey(self, line):
        self.mode, *term = line.split()
        self.term = int(term[0]) if term else self.term
        for client in self.clients:
            self.send(client, self.packet("NEWS"))

    def run(self):
        print("listens", flush=True)
        while True:
            for ready in select.select([self.listener, sys.stdin, *self.clients], [], [])[0]:
                if ready is self.listener:
                    self.clients.append(ready.accept()[0])
                elif ready is sys.stdin:
                    line = sys.stdin.readline()
                    if not line:
                        return
                    self.obey(line)
                else:
                    self.hear(ready)


# ---- what is tested ----

class Lines:
    """A process whose lines are waited for."""

    def __init__(self, *args, **kwargs):
        self.process = subprocess.Popen(list(map(str, args)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, bufsize=0, **kwargs)
        self.bytes = b""

    def next(self, limit=LIMIT):
        end = time.monotonic() + limit
        while b"\n" not in self.bytes:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                return None
            more = os.read(self.process.stdout.fileno(), 4096)
            if not more:
                return None
            self.bytes += more
        line, self.bytes = self.bytes.split(b"\n", 1)
        return line.decode()

    def until(self, pattern):
        """Everything before a line that matches, and that line."""
        lines, end = [], time.monotonic() + LIMIT
        while time.monotonic() < end:
            line = self.next(end - time.monotonic())
            if line is None:
                break
            lines.append(line)
            if re.search(pattern, line):
                return lines
        raise AssertionError(f"no {pattern!r} after {lines[-20:]}")

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(number)
        status = self.process.wait(LIMIT)
        self.process.stdin.close()
        self.process.stdout.close()
        return status


def start(prefix, command, status_socket, *args):
    environment = {**os.environ, "ELECT_SOCKET": status_socket, "LD_LIBRARY_PATH": os.path.dirname(LIBRARY)}
    return Lines(*prefix, *command, *args, env=environment)


class ProgramBesideFake:
    """A folder with a daemon and a program beside it; all is gone at the end."""

    def __init__(self, command, prefix=()):
        self.folder = tempfile.TemporaryDirectory(prefix="elect-client-")
        self.path = os.path.join(self.folder.name, "member-1.run")
        self.command, self.prefix, self.daemon, self.program = command, prefix, None, None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for process in (self.program, self.daemon):
            if process is not None and process.process.returncode is None:
                process.end()
        self.folder.cleanup()

    def start_daemon(self, mode):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.daemon = Lines(sys.executable, __file__, "fake", self.path, HEADER)
        assert self.daemon.next() == "listens"
        self.daemon.say(mode)

    def start_program(self, *args):
        """Without arguments: where the daemon is says the environment, as below elect run."""
        self.program = start(self.prefix, self.command, self.path.replace(".run", ".status"), *args)


def tokens(lines):
    return {int(m[1]) for m in (re.match(r"works with token (\d+), ", line) for line in lines) if m}


def spans(lines):
    return [int(m[1]) for m in (re.search(r", (\d+) us left", line) for line in lines) if m]


def works_while_it_leads(place):
    """Elected, deposed, elected again with another token; then told to end: it resigns."""
    place.start_daemon("follow")
    place.start_program()
    assert not tokens(place.program.until("^does not lead main, but b does"))
    place.daemon.say("lead")
    place.program.until("^works with token 65537,")
    place.daemon.say("negative")  # its lease has ended while it was answering
    before = place.program.until("^does not lead")
    assert tokens(before) <= {TOKEN} and all(0 < left <= LEASE for left in spans(before)), before
    place.daemon.say("lead 131073")
    assert tokens(place.program.until("^works")) == {131073}
    status = place.program.end(signal.SIGTERM)
    assert status == 0, status
    assert place.daemon.next() == "RESIGN"


def wait_until_the_work_ends(place):
    """What is left of the promise, which is less each time, then a lease and more of silence."""
    left = LEASE
    while (line := place.program.next(1)) is not None:
        assert line.startswith("works") and 0 < spans([line])[0] < left, line
        left = spans([line])[0]


def stops_with_the_daemon(place):
    """Stopped for longer than a lease: the work ends by itself, and goes on when the daemon does."""
    place.start_daemon("lead")
    place.start_program()
    place.program.until("^works")
    place.daemon.process.send_signal(signal.SIGSTOP)
    place.program.until("the daemon has not answered in time")
    wait_until_the_work_ends(place)
    place.daemon.process.send_signal(signal.SIGCONT)
    place.program.until("^works")


def outlives_the_daemon(place):
    """Killed, then restarted: what was promised is used up, no more, and the next one is asked."""
    place.start_daemon("lead")
    place.start_program()
    place.program.until("^works")
    place.daemon.end()
    place.program.until("no daemon runs here")
    wait_until_the_work_ends(place)
    place.start_daemon("lead 131073")
    lines = place.program.until("^works")
    assert tokens(lines) == {131073}, lines
    place.daemon.end()
    place.start_daemon("follow")  # at once: it may not have noticed
    place.program.until("^does not lead")


def starts_before_the_daemon(place):
    place.start_program()
    assert not tokens(place.program.until("no daemon runs here"))
    place.start_daemon("lead")
    place.program.until("^works")


LIES = {"magic": "no daemon", "short": "no daemon", "long": "no daemon", "no-lease": "no daemon",
        "no-token": "no daemon", "group": "no daemon", "endless": "no daemon", "word": "no daemon",
        "stamp": "not answered", "mute": "not answered", "refuse": "no such group"}


def believes_no_lie(place):
    place.start_daemon("follow")
    place.start_program(place.path, "main")
    place.program.until("^does not lead")
    for lie, complaint in LIES.items():
        place.daemon.say(lie)
        lines = place.program.until(complaint)
        place.daemon.say("follow")
        lines += place.program.until("^does not lead")
        assert not tokens(lines), (lie, lines)


def one_of_three_works(cluster, programs):
    """Beside real daemons. Resigned by hand, by the program, killed: always one works, with a token of its own."""
    seen = {name: set() for name in programs}

    def works(name, token):
        seen[name] |= tokens(programs[name].until(f"^works with token {token},"))

    def makes_room(name):
        seen[name] |= tokens(programs[name].until("^does not lead"))

    first, token = cluster.begin()
    for name in programs:
        programs[name] = start((), EXAMPLES["Python" if name == first else "C"], cluster.socket(name))
    for name in programs:
        works(name, token) if name == first else makes_room(name)
    done = cluster.elect(first, "resign")
    assert done.returncode == 0, done.stderr
    makes_room(first)
    second, token = cluster.leader(other_than=first)
    works(second, token)
    assert programs[second].end(signal.SIGTERM) == 0
    third, token = cluster.leader(other_than=second)
    works(third, token)
    cluster.kill(third)
    seen[third] |= tokens(programs[third].until("no daemon runs here"))
    cluster.start(third)
    last, token = cluster.leader()
    if last != second:  # whose program has ended
        works(last, token)
    of_several = [t for name in seen for t in seen[name] if sum(t in other for other in seen.values()) > 1]
    assert not of_several, (of_several, seen)


def beside_real_daemons():
    with LocalCluster() as cluster:
        programs = dict.fromkeys(cluster.names)
        try:
            one_of_three_works(cluster, programs)
        finally:
            for program in programs.values():
                if program is not None and program.process.returncode is None:
                    program.end()


CASES = [works_while_it_leads, stops_with_the_daemon, outlives_the_daemon, starts_before_the_daemon]


def has_time_namespaces():
    return subprocess.run(["unshare", "--time", "--boottime", "1000000", "true"], capture_output=True).returncode == 0


def main():
    contain()
    elsewhere = ("unshare", "--time", "--boottime", "1000000")
    runs = [(case, name, ()) for case in CASES for name in EXAMPLES] + [(believes_no_lie, "C", ())]
    if has_time_namespaces():
        runs += [(works_while_it_leads, name, elsewhere) for name in EXAMPLES]
    else:
        print("no time namespaces here: not tested")
    failures = 0
    try:
        beside_real_daemons()
        print("beside real daemons: fine", flush=True)
    except (AssertionError, Failure) as why:
        failures += 1
        print(f"beside real daemons: FAILED: {why}", flush=True)
    for case, name, prefix in runs:
        with ProgramBesideFake(EXAMPLES[name], prefix) as place:
            try:
                case(place)
                result = "fine"
            except AssertionError as why:
                failures += 1
                result = f"FAILED: {why}"
        print(f"{case.__name__}, {name}{', other clock' if prefix else ''}: {result}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1] == "fake":
        Fake(*sys.argv[2:]).run()
    else:
        LIBRARY, EXAMPLE, SCRIPT, HEADER = map(os.path.abspath, sys.argv[2:])
        EXAMPLES = {"C": [EXAMPLE], "Python": [sys.executable, SCRIPT]}
        sys.exit(main())
