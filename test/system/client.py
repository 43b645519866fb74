"""Tests the example clients with a deadline, examples/client.c and examples/client.py, with three real daemons and with a fake
daemon. The fake daemon is a second process of this script, which can be stopped, killed, restarted, silent or wrong.

    client.py ELECT LIBRARY EXAMPLE EXAMPLE.PY TALK.H"""

import contextlib
import itertools
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
from lib.checks import Failure, skip  # noqa: E402
from lib.containment import contain  # noqa: E402
from lib.local_cluster import LocalCluster  # noqa: E402
from lib.processes import LIMIT, state, wait  # noqa: E402

PACKET = struct.Struct("=IBB2xqqQII4x4x64s64s64s160s")  # struct talk
RENEWAL, TOKEN = 80000, 65537
SHORT, LONG = 400000, 600000000  # microseconds: SHORT ends soon, LONG outlasts a busy machine's stalls


def words(header):
    """Reads TALK.H. Returns {word of the protocol: its number} and the protocol's magic number."""
    text = pathlib.Path(header).read_text()
    names = re.findall(r"^ +X\((\w+), [01]\)", text, re.M)
    return {name: i for i, name in enumerate(names)}, int(re.search(r"TALK_MAGIC +(0x\w+?)u", text)[1], 16)


# ---- the daemon ----

class Fake:
    """A fake daemon. Each line of its standard input (lead, follow, mute, or one of the wrong answers) sets how it answers
    clients from then on, and it then sends NEWS to all of them. It prints a line when a client sends RESIGN."""

    def __init__(self, path, header, lease):
        self.lease = int(lease)
        self.word, self.magic = words(header)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(16)
        self.clients, self.mode, self.term = [], "mute", TOKEN

    def packet(self, word, stamp=0, left=0, magic=None, term=None, lease=None, group=b"main", leader=b"b", why=b""):
        return PACKET.pack(magic or self.magic, self.word[word], 0, stamp, left, self.term if term is None else term,
                           self.lease if lease is None else lease, RENEWAL, group, b"a", leader, why)

    def answer(self, stamp):
        lead = {"stamp": stamp, "left": self.lease}
        return {"lead": lambda: self.packet("TOLD", **lead),
                "follow": lambda: self.packet("TOLD", stamp),
                "refuse": lambda: self.packet("REFUSED", why=b"no such group"),
                "stamp": lambda: self.packet("TOLD", stamp + 1, self.lease),
                "magic": lambda: self.packet("TOLD", **lead, magic=1),
                "short": lambda: self.packet("TOLD", **lead)[:-1],
                "long": lambda: self.packet("TOLD", **lead) + b"x",
                "negative": lambda: self.packet("TOLD", stamp, -self.lease),
                "no-lease": lambda: self.packet("TOLD", **lead, lease=0),
                "no-token": lambda: self.packet("TOLD", **lead, term=0),
                "group": lambda: self.packet("TOLD", **lead, group=b"other"),
                "endless": lambda: self.packet("TOLD", **lead, leader=b"b" * 64),
                "word": lambda: self.packet("GO", **lead)}[self.mode]()

    @staticmethod
    def send(client, packet):
        with contextlib.suppress(OSError):  # disconnected: the next recv reports that
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


# ---- the clients ----

class Lines:
    """A process whose output is read line by line."""

    def __init__(self, *args, **kwargs):
        self.process = subprocess.Popen(list(map(str, args)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, bufsize=0, **kwargs)
        self.bytes, self.report = b"", ""  # report: the program's latest line that is not about work

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
        self.report = self.report if line.startswith(b"works") else line.decode()
        return line.decode()

    def until(self, pattern):
        """Returns the process's lines up to the first one that matches the pattern, inclusive."""
        lines, end = [], time.monotonic() + LIMIT
        while time.monotonic() < end:
            line = self.next(end - time.monotonic())
            if line is None:
                break
            lines.append(line)
            if re.search(pattern, line):
                return lines
        raise AssertionError(f"no {pattern!r} after {lines[-20:]}")

    def written(self):
        """Returns the lines written since the last read."""
        lines = []
        while (line := self.next(0)) is not None:
            lines.append(line)
        return lines

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        wait("the program stops", lambda: state(self.process.pid) == "T")

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")

    def end(self, number=signal.SIGKILL):
        self.go_on()
        self.process.send_signal(number)
        status = self.process.wait(LIMIT)
        self.process.stdin.close()
        self.process.stdout.close()
        return status


def start(prefix, command, status_socket, *args):
    environment = {**os.environ, "ELECT_SOCKET": status_socket, "LD_LIBRARY_PATH": os.path.dirname(LIBRARY)}
    return Lines(*prefix, *command, *args, env=environment)


class ProgramBesideFake:
    """A fake daemon and a program beside it, in their own folder. The end of the `with` block ends both and removes the
    folder."""

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

    def start_daemon(self, mode, lease=LONG):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.daemon = Lines(sys.executable, __file__, "fake", self.path, HEADER, lease)
        assert self.daemon.next() == "listens"
        self.daemon.say(mode)

    def start_program(self, *args):
        """Starts the program. Without arguments it finds the daemon through its environment, as under elect run."""
        self.program = start(self.prefix, self.command, self.path.replace(".run", ".status"), *args)


def tokens(lines):
    return {int(m[1]) for m in (re.match(r"works with token (\d+), ", line) for line in lines) if m}


def spans(lines):
    return [int(m[1]) for m in (re.search(r", (\d+) us left", line) for line in lines) if m]


def works_while_it_leads(place):
    """The client works only while its member leads. The member is elected, deposed, and elected again with another token. The
    client is terminated at the end, and must then resign."""
    place.start_daemon("follow")
    place.start_program()
    assert not tokens(place.program.until(r"^does not lead main \(leader: b\)"))
    place.daemon.say("lead")
    place.program.until("^works with token 65537,")
    place.daemon.say("negative")  # the lease ended before the answer arrived
    before = place.program.until("^does not lead")
    assert tokens(before) <= {TOKEN} and all(0 < left <= LONG for left in spans(before)), before
    place.daemon.say("lead 131073")
    assert tokens(place.program.until("^works")) == {131073}
    status = place.program.end(signal.SIGTERM)
    assert status == 0, status
    assert place.daemon.next() == "RESIGN"


def loses_the_daemon(place, stop, report):
    """Calls `stop`, which makes the daemon unreachable for longer than a lease. Returns the program's lines from then until it
    reports the loss of the daemon."""
    place.program.until("^works")
    stop()
    place.program.stop()  # separates earlier lines from later ones
    place.program.written()
    place.program.go_on()
    time.sleep(2 * SHORT / 1e6)  # a longer sleep does no harm: the lease has ended
    lines = place.program.written()
    return lines if report in place.program.report else lines + place.program.until(report)


def uses_up(lines):
    """Checks that the lease's remaining time decreases from line to line, because a stopped daemon does not renew it. One
    increase is allowed: a renewal may have been in progress when the daemon stopped."""
    left = spans(lines)
    renewed = sum(later >= earlier for earlier, later in itertools.pairwise(left))
    assert all(0 < each <= SHORT for each in left) and renewed <= 1, lines


def stops_with_the_daemon(place):
    """The daemon is stopped for longer than a lease. The program stops its work by itself, and resumes it when the daemon
    continues and the member leads."""
    place.start_daemon("lead", SHORT)
    place.start_program()
    lines = loses_the_daemon(place, place.daemon.stop, "the daemon has not answered in time")
    uses_up(lines)
    place.daemon.go_on()
    place.daemon.say("lead 131073")
    lines += place.program.until("^works with token 131073,")
    uses_up([line for line in lines if 131073 not in tokens([line])])


def outlives_the_daemon(place):
    """The daemon is killed and restarted. The program works only until its last lease ends, then queries the new daemon."""
    place.start_daemon("lead", SHORT)
    place.start_program()
    lines = loses_the_daemon(place, place.daemon.end, "no daemon runs here")
    place.start_daemon("lead 131073")
    lines += place.program.until("^works with token 131073,")
    uses_up([line for line in lines if 131073 not in tokens([line])])
    place.daemon.end()
    place.start_daemon("follow")  # the program may not have noticed the change of daemons
    place.program.until("^does not lead")


def starts_before_the_daemon(place):
    place.start_program()
    assert not tokens(place.program.until("no daemon runs here"))
    place.start_daemon("lead")
    place.program.until("^works")


NOT_A_DAEMON = "not from an elect daemon"
LIES = {"magic": NOT_A_DAEMON, "short": NOT_A_DAEMON, "long": NOT_A_DAEMON, "no-lease": NOT_A_DAEMON,
        "no-token": NOT_A_DAEMON, "group": NOT_A_DAEMON, "endless": NOT_A_DAEMON, "word": NOT_A_DAEMON,
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


class Trio:
    """Three real daemons with an example program beside each, and all lines that the programs have printed."""

    def __init__(self, cluster):
        self.cluster, self.programs, self.lines, self.ended = cluster, {}, {}, None

    def start(self, name, example):
        self.programs[name], self.lines[name] = start((), EXAMPLES[example], self.cluster.socket(name)), []

    def read(self):
        for name, program in self.programs.items():
            if program.process.returncode is None:
                self.lines[name] += program.written()

    def tokens(self, name):
        """Returns the tokens that the program has worked with. Each must be a term of the member beside it."""
        self.read()
        found = tokens(self.lines[name])
        assert all(self.cluster.names[(token & 0xffff) - 1] == name for token in found), (name, found)
        return found

    def until_says(self, name, pattern, since=0):
        def said():
            self.read()
            return any(re.search(pattern, line) for line in self.lines[name][since:])
        wait(f"{name} says {pattern!r}", said)

    def stops_using(self, name, token):
        """Waits until the program reports that it does not lead or, if the member leads again at once, until it works with a
        new token."""
        def does():
            newer = max(self.tokens(name)) > token
            last = max(i for i, line in enumerate(self.lines[name]) if token in tokens([line]))
            return newer or any(line.startswith("does not lead") for line in self.lines[name][last:])
        wait(f"{name} stops its work with token {token}", does)

    def works(self, above=0):
        """Waits until a program works with a token above `above`, and returns (name, token) of the program with the largest
        token. On a slow machine the member whose program has ended may be elected again, and must then resign."""
        def found():
            if self.ended and self.cluster.group(self.ended).get("leads"):
                self.cluster.elect(self.ended, "resign")
            latest = max((token, name) for name in self.programs for token in self.tokens(name) | {0})
            return latest[::-1] if latest[0] > above else None
        return wait(f"a program works with a token above {above}", found)


def one_of_three_works(cluster, trio):
    """The leader resigns, then the next leader's program is terminated, and finally the third leader's daemon is killed. Each
    time a program must continue with a new token."""
    first, _ = cluster.begin()
    for name in cluster.names:
        trio.start(name, "Python" if name == first else "C")
    for name in cluster.names:
        trio.until_says(name, "^works|^does not lead")
    first, token = trio.works()
    wait("the leader resigns", lambda: cluster.elect(cluster.leader()[0], "resign").returncode == 0)
    trio.stops_using(first, token)
    second, _ = trio.works(above=token)
    trio.read()
    assert trio.programs[second].end(signal.SIGTERM) == 0
    trio.ended = second
    third, token = trio.works(above=max(trio.tokens(second)))
    trio.read()
    said = len(trio.lines[third])
    cluster.kill(third)
    trio.until_says(third, "no daemon runs here", said)
    token = max(trio.tokens(third))
    cluster.start(third)
    trio.works(above=token)
    of_several = [t for one, other in itertools.combinations(cluster.names, 2) for t in trio.tokens(one) & trio.tokens(other)]
    assert not of_several, (of_several, trio.lines)


def beside_real_daemons():
    with LocalCluster() as cluster:
        trio = Trio(cluster)
        try:
            one_of_three_works(cluster, trio)
        finally:
            for program in trio.programs.values():
                if program.process.returncode is None:
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
        skip("client/other-clock", "needs root and time namespaces")
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
