#!/usr/bin/env python3
"""A program that works only while the member on its machine leads. This is examples/client.c in Python, with the same library.

    client.py [SOCKET [GROUP]]

If libelect-client is not installed in a system directory, set LD_LIBRARY_PATH to its directory."""

import ctypes
import select
import signal
import sys


class Answer(ctypes.Structure):
    """struct elect_client_answer in elect-client.h."""
    _fields_ = [("token", ctypes.c_uint64), ("deadline", ctypes.c_int64), ("leads", ctypes.c_bool),
                ("group", ctypes.c_char * 64), ("node", ctypes.c_char * 64), ("leader", ctypes.c_char * 64)]


class ClientError(Exception):
    """Raised when a library call fails."""


class Client:
    """A connection to the daemon on this machine. `answer` is the daemon's latest answer. `left` is computed on every access."""

    library = ctypes.CDLL("libelect-client.so.0")
    for name, result, arguments in (
            ("open", ctypes.c_int, [ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p, ctypes.c_char_p]),
            ("close", None, [ctypes.c_void_p]),
            ("ask", ctypes.c_int, [ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(Answer)]),
            ("resign", ctypes.c_int, [ctypes.c_void_p, ctypes.c_int64]),
            ("span", None, [ctypes.c_void_p, ctypes.c_int64]),
            ("stopped", None, [ctypes.c_void_p]),
            ("left", ctypes.c_int64, [ctypes.POINTER(Answer)]),
            ("fd", ctypes.c_int, [ctypes.c_void_p]),
            ("why", ctypes.c_char_p, [ctypes.c_void_p]),
            ("text", ctypes.c_char_p, [ctypes.c_int])):
        function = getattr(library, f"elect_client_{name}")
        function.restype, function.argtypes = result, arguments

    def __init__(self, socket=None, group=None):
        self.handle, self.answer = ctypes.c_void_p(), Answer()
        error = self.library.elect_client_open(self.handle, socket and socket.encode(), group and group.encode())
        if error:
            raise ClientError(self.library.elect_client_text(error).decode())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.library.elect_client_close(self.handle)
        self.handle = None

    def fileno(self):
        """Returns a descriptor for select or poll. Call `ask` when it becomes readable."""
        return self.library.elect_client_fd(self.handle)

    def ask(self, patience=0.1):
        """Asks the daemon whether this member leads, waiting at most `patience` seconds. On error, the previous answer stays
        valid until its deadline."""
        self.check(self.library.elect_client_ask(self.handle, int(patience * 1e6), self.answer))

    def span(self, seconds):
        """Limits later promises of leadership to `seconds`. After a crash, the next leader waits at most this long."""
        self.library.elect_client_span(self.handle, int(seconds * 1e6))

    def stopped(self):
        """Tells the daemon that the work has stopped, so that a hand-over need not wait. Invalidates all earlier answers."""
        self.answer = Answer()
        self.library.elect_client_stopped(self.handle)

    def resign(self, patience=1):
        """Asks this member to hand leadership over. First stop the work and call `stopped`."""
        self.check(self.library.elect_client_resign(self.handle, int(patience * 1e6)))

    def check(self, error):
        if error:
            raise ClientError(self.library.elect_client_why(self.handle).decode())

    @property
    def left(self):
        """The microseconds for which this member is certain to lead, or 0. Read it before every piece of work."""
        return self.library.elect_client_left(self.answer)


def ask(client):
    """Asks the daemon whether this member leads, and returns the line to print."""
    try:
        client.ask()
    except ClientError as why:
        return str(why)
    answer = client.answer
    if answer.leads:
        return f"leads {answer.group.decode()} with token {answer.token}"
    client.stopped()  # no work is in progress: the next leader need not wait
    return f"does not lead {answer.group.decode()} (leader: {answer.leader.decode() or 'unknown'})"


def main():
    told_to_end, previous = [], None
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told_to_end.append(True))
    with Client(*sys.argv[1:]) as client:
        while not told_to_end:
            if select.select([client], [], [], 0.05)[0]:
                line = ask(client)
                if line != previous:
                    print(line, flush=True)
                previous = line
            left = client.left
            if left > 0:  # a real program passes the token to its store, which refuses smaller ones (fenced.c)
                print(f"works with token {client.answer.token}, {left} us left", flush=True)
        leads = client.left > 0
        client.stopped()
        if leads:
            try:
                client.resign()
            except ClientError as why:
                print(f"client.py: {why}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except ClientError as why:
        sys.exit(f"client.py: {why}")
