#!/usr/bin/env python3
"""A program beside a daemon, which works only while the member there leads: examples/client.c in Python, with the same
library (libelect-client; if it is not where the system looks, LD_LIBRARY_PATH says where).

    client.py [SOCKET [GROUP]]"""

import ctypes
import select
import signal
import sys


class Answer(ctypes.Structure):
    """struct elect_client_answer, see elect-client.h."""
    _fields_ = [("token", ctypes.c_uint64), ("deadline", ctypes.c_int64), ("leads", ctypes.c_bool),
                ("group", ctypes.c_char * 64), ("node", ctypes.c_char * 64), ("leader", ctypes.c_char * 64)]


class Refused(Exception):
    """What was asked for did not happen; the text says why."""


class Client:
    """Whether the member here leads. `answer` is the latest one; `left` looks at the clock whenever it is read."""

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
            raise Refused(self.library.elect_client_text(error).decode())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.library.elect_client_close(self.handle)
        self.handle = None

    def fileno(self):
        """For select and the like: readable when it is time to ask."""
        return self.library.elect_client_fd(self.handle)

    def ask(self, patience=0.1):
        """Of the daemon, for at most so many seconds. If that fails, the latest answer is as good as it was."""
        self.check(self.library.elect_client_ask(self.handle, int(patience * 1e6), self.answer))

    def span(self, seconds):
        """From now on, answers for no longer than that: after a crash nobody waits longer."""
        self.library.elect_client_span(self.handle, int(seconds * 1e6))

    def stopped(self):
        """Whatever was answered before is void: a hand-over need not wait."""
        self.answer = Answer()
        self.library.elect_client_stopped(self.handle)

    def resign(self, patience=1):
        self.check(self.library.elect_client_resign(self.handle, int(patience * 1e6)))

    def check(self, error):
        if error:
            raise Refused(self.library.elect_client_why(self.handle).decode())

    @property
    def left(self):
        """For how many microseconds it leads from now on; 0: it does not. To be looked at before every use."""
        return self.library.elect_client_left(self.answer)


def look(client):
    try:
        client.ask()
    except Refused as why:
        return str(why)
    answer = client.answer
    if answer.leads:
        return f"leads {answer.group.decode()} with token {answer.token}"
    client.stopped()  # nothing is under way here: whoever is next need not wait
    return f"does not lead {answer.group.decode()}, but {answer.leader.decode() or 'nobody'} does"


def main():
    told_to_end, before = [], None
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told_to_end.append(True))
    with Client(*sys.argv[1:]) as client:
        while not told_to_end:
            if select.select([client], [], [], 0.05)[0]:
                line = look(client)
                if line != before:
                    print(line, flush=True)
                before = line
            left = client.left
            if left > 0:  # only a leader may; whoever does it for us gets the token, and refuses a lower one
                print(f"works with token {client.answer.token}, {left} us left", flush=True)
        leads = client.left > 0
        client.stopped()
        if leads:
            try:
                client.resign()
            except Refused as why:  # it was said all the same, or nothing was to be said
                print(f"client.py: {why}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except Refused as why:
        sys.exit(f"client.py: {why}")
