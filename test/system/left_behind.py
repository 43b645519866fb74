#!/usr/bin/env python3
"""Checks that a suite leaves nothing behind if it is ended at a random moment: left_behind.py ELECT [CASE ... | --list] [--jobs
N]

SEED in the environment determines the moments. Each case adopts the processes that a suite leaves behind, and waits until all
its descendants have ended."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from lib.cases import CASES, main  # noqa: E402
from lib.checks import Failure, holds  # noqa: E402
from lib.containment import PATIENCE, reap  # noqa: E402
from lib.elect_command import ELECT  # noqa: E402
from lib.namespace_cluster import need_namespaces, pid_of, sweep  # noqa: E402
from lib.processes import adopt_orphans, descendants, wait  # noqa: E402
from lib.runner import cmdline, is_elect  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SEED = os.environ.get("SEED", "1")
SUITES = {"a-case": ["work.py", ELECT, "anything"], "cases": ["work.py", ELECT, "kill-guardian", "stop-keeper", "resign"],
          "a-story": ["story.py", ELECT], "namespaces": ["faults.py", ELECT, "leader-cut-off/3/bully", "state-lost/3/ring"]}


def end(number, *pids):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def parts(script):
    """Returns two lists of a suite's processes and those of its nested suites: fronts and suites, and sweepers."""
    lines = {pid: cmdline(pid).split(b"\0") for pid in descendants()}
    return ([pid for pid, line in lines.items() if str(HERE / script).encode() in line],
            [pid for pid, line in lines.items() if str(HERE / "lib" / "sweeper.py").encode() in line])


# Ways to end a suite. Each function gets the front (the suite's first process) and the suite's script.
WAYS = {
    "killed": lambda front, script: end(signal.SIGKILL, front),
    "group-killed": lambda front, script: os.killpg(front, signal.SIGKILL),  # like a time limit
    "interrupted": lambda front, script: os.killpg(front, signal.SIGINT),  # like ^C
    "terminated": lambda front, script: end(signal.SIGTERM, front),
    "hung-up": lambda front, script: os.killpg(front, signal.SIGHUP),  # like the end of a connection
    "killed-by-name": lambda front, script: end(signal.SIGKILL, *parts(script)[0]),  # like pkill -f
    "sweepers-killed": lambda front, script: end(signal.SIGKILL, *parts(script)[1]),
}


def left():
    reap(None)
    return descendants()


def spaces():
    """Returns the network namespaces made by this case and its descendants. Their names contain their maker's process id."""
    mine = set(descendants())
    return {name for name in os.listdir("/run/netns") if pid_of(name) in mine} if os.path.isdir("/run/netns") else set()


def attack(suite, way):
    def test(_):
        if suite == "namespaces":
            need_namespaces()
        dice, (script, *words) = random.Random(f"{suite}/{way}/{SEED}"), SUITES[suite]
        adopt_orphans()
        out = tempfile.TemporaryFile("w+")
        # A killed suite cannot remove its folders.
        place = tempfile.TemporaryDirectory(prefix="elect-left-", dir="/tmp", ignore_cleanup_errors=True)
        child = subprocess.Popen([sys.executable, str(HERE / script), *words], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                 start_new_session=True, env=os.environ | {"TMPDIR": place.name})
        begun = wait("daemons", lambda: [pid for pid in descendants() if is_elect(pid)] or child.poll() is not None)
        out.seek(0)
        holds("the suite has ended before it was attacked:", begun is not True, out.read())
        time.sleep(dice.uniform(0, 3))
        made = spaces()
        holds("there are namespaces to remove", made or suite != "namespaces")
        attacked = time.monotonic()
        WAYS[way](child.pid, script)
        if way not in ("killed", "group-killed", "killed-by-name"):
            child.wait()
        try:
            wait("no process is left", lambda: not left())
        except Failure:
            raise Failure("left behind:", *[cmdline(pid).replace(b"\0", b" ") for pid in left()]) from None
        if made and time.monotonic() > attacked + PATIENCE:  # a slow case may have been killed before it removed its namespaces
            sweep()
        left_spaces = made & set(os.listdir("/run/netns")) if made else ()
        holds("namespaces are left:", not left_spaces, left_spaces)
        place.cleanup()
    return test


for suite in SUITES:
    for way in WAYS:
        if suite == "namespaces" and way in ("killed-by-name", "sweepers-killed"):
            continue  # a killed case removes none, so the next suite does
        CASES[f"{suite}-{way}"] = attack(suite, way)


if __name__ == "__main__":
    sys.exit(main(__file__))
