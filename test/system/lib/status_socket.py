"""A question to a daemon, on its status socket."""

import json
import socket

from .processes import wait


def ask(path, request, patience=5.0):
    """What a daemon answers, or None."""
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
    """What a daemon that runs answers. It closes a connection whose question comes late, so a busy machine asks again."""
    return wait(f"an answer to {request}", lambda: ask(path, request))
