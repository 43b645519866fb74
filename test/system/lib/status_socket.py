"""Requests to a daemon's status socket."""

import json
import socket

from .processes import wait


def ask(path, request, patience=5.0):
    """Returns the daemon's answer, or None."""
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(patience)
            s.connect(path)
            s.sendall(json.dumps(request).encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                more = s.recv(65536)
                if not more:
                    return None
                answer += more
            return json.loads(answer)
    except (OSError, ValueError):
        return None


def answer(path, request):
    """Returns a running daemon's answer. Repeats the request, because a busy daemon closes a connection whose request comes
    late."""
    return wait(f"an answer to {request}", lambda: ask(path, request))
