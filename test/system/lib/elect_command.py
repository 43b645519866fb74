"""Runs the elect command under test."""

import json
import os
import pathlib
import subprocess
import sys
import threading
import time

from .checks import Failure, check, expect, holds, is_unanswered
from .processes import LIMIT, wait
from .status_socket import ask

ELECT = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[3]


def run(*words, env=None, cwd=None, limit=10 * LIMIT):
    """Runs elect to its end and returns the completed process. `env` is added to the environment."""
    try:
        return subprocess.run([ELECT, *map(str, words)], capture_output=True, text=True, timeout=limit, cwd=cwd,
                              env=None if env is None else os.environ | env)
    except subprocess.TimeoutExpired:
        raise Failure(f"elect {' '.join(map(str, words))}: has not ended within {limit} s") from None


def answered(*words, **how):
    """Runs elect, and repeats it while a busy daemon closes the connection without an answer. Returns the completed process."""
    def found():
        done = run(*words, **how)
        return None if is_unanswered(done) else done
    return wait(f"an answer to elect {' '.join(map(str, words))}", found)


class Pulse(threading.Thread):
    """Queries the daemons continuously. `longest` is the longest time between two answers; a busy machine may have delayed
    other processes for as long."""

    def __init__(self, sockets):
        super().__init__(daemon=True)
        self.sockets, self.longest, self.over = sockets, 0, False

    def run(self):
        last = time.monotonic()
        while not self.over:
            for path in self.sockets:
                ask(path, {"verb": "is-leader"})
                now = time.monotonic()
                self.longest, last = max(self.longest, now - last), now
            time.sleep(0.005)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.join()


def refused_init(cluster, name):
    """Runs `elect init` for a member that other members remember, checks that it refuses, and returns the completed process.

    The command waits for the other members' answers for 2.5 renewals, but at least a second. If a busy machine delays all
    answers for longer, it creates a state file, which would later prevent the daemon from running. Such a file is accepted only
    if a delay of that length was measured here. It is then removed, and the command repeated."""
    def found():
        begun = time.monotonic()
        with Pulse([cluster.socket(other) for other in cluster.names if other != name]) as pulse:
            done = cluster.elect(name, "init")
        holds("elect init did not wait for answers", done.returncode != 0 or time.monotonic() - begun >= 1, done)
        holds("elect init created a state file, although the others could answer", done.returncode != 0 or pulse.longest > 0.1, pulse.longest, done)
        if done.returncode == 0:
            cluster.state(name).unlink()
        return done if done.returncode != 0 else None
    done = wait("the others answer in time", found)
    holds("elect init created a state file", not cluster.state(name).exists())
    return done


def explain(cluster, name):
    return json.loads(expect("explain", cluster.elect(name, "explain", "-o", "json")).stdout)


def explained(cluster, name, missing=()):
    """Returns the explanation of `elect explain`. Repeats the command until all members except those in `missing` have answered
    in full, because a member may answer too late on a busy machine."""
    def found():
        said = explain(cluster, name)
        return said if sorted(said["missing"]) == sorted(missing) and not said.get("incomplete") else None
    return wait(f"all members except {missing} answer", found)


def complains(args, *words, code=64):
    """Checks that elect prints one line with these words on standard error, and nothing on standard output."""
    done = run(*args)
    what = " ".join(map(str, args))
    check(what, done.returncode == code, "exit", done.returncode, done.stderr)
    check(what, done.stdout == "", "stdout", done.stdout)
    check(what, done.stderr.count("\n") == 1 and done.stderr.startswith("elect"), "stderr", done.stderr)
    for word in words:
        check(what, word in done.stderr, f"no {word!r} in", done.stderr)
