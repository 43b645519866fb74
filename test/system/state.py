"""Kills the writer of a state file at every system call, or makes the call fail: state.py STATE_TOOL SHORT_LIBRARY

Afterwards the file can be opened and contains every acknowledged write. The writer stops after an error, but continues after a
call that did only part of its work. The test needs strace."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from lib.cases import SKIPPED  # noqa: E402
from lib.checks import skip  # noqa: E402
from lib.containment import contain  # noqa: E402

TOOL, SHORT = sys.argv[1:3]
CALLS = ["openat", "newfstatat", "fstat", "fcntl", "pread64", "pwrite64", "fdatasync", "fsync", "linkat", "unlinkat", "close"]
MATTER = {"pwrite64", "fdatasync", "fsync", "linkat"}  # their failure must be reported; one unreadable slot may be ignored
WRITES = 3
MAKERS = 8
tried = {"kill": 0, "error": 0, "short": 0}


def preload(short):
    return {"LD_PRELOAD": SHORT, "SHORT": short} if short else {}


def run(*args, inject=None, short=None):
    """Runs the tool and returns the completed process. `hurt` is True if strace injected a fault or a signal killed the
    tool."""
    with tempfile.NamedTemporaryFile("r") as log:
        strace = ["strace", "-qq", "-o", log.name, "-e", f"trace={inject.split(':')[0]}", "-e", f"inject={inject}"] if inject else []
        for name, value in preload(short).items() if inject else ():
            strace += ["-E", f"{name}={value}"]
        env = os.environ | ({} if inject else preload(short))
        done = subprocess.run([*strace, TOOL, *map(str, args)], capture_output=True, text=True, timeout=60, env=env)
        done.hurt = "INJECTED" in log.read() or done.returncode < 0
    return done


def fail(text, done):
    sys.exit(f"state: {text}\n{done.stdout}{done.stderr}")


def last(done):
    return int(done.stdout.split()[-1]) if done.stdout.split() else 0


def still_has(path, told, what):
    """Checks that the state file can be opened and contains all acknowledged writes."""
    found = run(path, "read")
    if found.returncode != 0:
        fail(f"cannot be opened after {what}", found)
    if last(found) < told:
        fail(f"{told} was acknowledged before {what}", found)


def each_call(how):
    """Yields faults for the first, second, ... call of each kind."""
    for call in CALLS:
        for when in range(1, 200):
            with tempfile.TemporaryDirectory() as folder:
                if not (yield pathlib.Path(folder) / "state", call, f"{call}:{how}:when={when}"):
                    break


def must_tell(done, call, inject):
    """Checks that the tool reported every failure that matters, with a reason."""
    if done.returncode == 0 and call in MATTER:
        fail(f"no failure was reported after {inject}", done)
    if done.returncode > 0 and not done.stderr:
        fail(f"no reason was given for {inject}", done)


def hurt(how, kind, use):
    calls = each_call(how)
    more = next(calls)
    while more is not None:
        path, call, inject = more
        done = use(path, inject)
        if done.hurt:
            must_tell(done, call, inject)
            still_has(path, last(done), inject)
            tried[kind] += 1
        try:
            more = calls.send(done.hurt)
        except StopIteration:
            more = None


def writing(path, inject=None, short=None):
    assert run(path, "make").returncode == 0
    return run(path, "write", WRITES, inject=inject, short=short)


def making(path, inject=None, short=None):
    """Makes a state file, with or without a fault. No other file may be left. If there is no state file, a second attempt
    without a fault must succeed."""
    done = run(path, "make", inject=inject, short=short)
    left = [p.name for p in path.parent.iterdir() if p != path]
    if left and not (short and (done.returncode < 0 or inject.startswith("unlinkat"))):
        fail(f"{left} is left after {inject}", done)
    if not path.exists():
        again = run(path, "make")
        if again.returncode != 0:
            fail(f"cannot be made after {inject}", again)
    return done


def making_by_name(path, inject=None):
    """Makes the state file under its final name at once, as on a system without O_TMPFILE."""
    return making(path, inject, "nameless:1")


def shorten(use, short):
    """Checks that writing and reading a state file give the same results when system calls do only part of their work."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "state"
        done = use(path, short=short)
        if done.returncode != 0 or (use is writing and last(done) != WRITES):
            fail(f"did not succeed with {short}", done)
        still_has(path, last(done), short)
        if run(path, "read", short=short).stdout != run(path, "read").stdout:
            fail(f"read something else with {short}", done)
        tried["short"] += 1


def shorten_to_nothing(use, every):
    """A disk that accepts no bytes counts as full."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "state"
        done = use(path, short=f"nothing:{every}")
        must_tell(done, "pwrite64", f"nothing:{every}")
        still_has(path, last(done), f"nothing:{every}")
        tried["short"] += 1


def make_concurrently(short):
    """Several processes make the same state file at once. One must succeed, the others must report that the file exists, and no
    other file may be left."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "state"
        makers = [subprocess.Popen([TOOL, path, "make"], stderr=subprocess.PIPE, text=True, env=os.environ | preload(short))
                  for _ in range(MAKERS)]
        said = sorted(maker.communicate()[1] for maker in makers)
        if said[0] or any("it exists already" not in text for text in said[1:]) or os.listdir(folder) != ["state"]:
            sys.exit(f"state: made at once {short}: {said}, {os.listdir(folder)}")
        still_has(path, 0, "being made at once")


def make_without_proc():
    with tempfile.TemporaryDirectory() as folder:
        done = making(pathlib.Path(folder) / "state", "linkat:error=ENOENT:when=1")
        if done.returncode != 0 or not done.hurt:
            fail("cannot be made without /proc", done)


def main():
    contain()
    if shutil.which("strace") is None or run("/nowhere", "read", inject="openat:error=EIO:when=999").returncode not in (1,):
        skip("a failure at every system call", "needs strace")
        return SKIPPED
    for use in (writing, making):
        for short in ("half:1", "half:2", "half:3", "one:1", "one:5", "interrupted:2", "interrupted:3"):
            shorten(use, short)
        for every in range(1, 7):
            shorten_to_nothing(use, every)
    for short in (None, "nameless:1"):
        for _ in range(5):
            make_concurrently(short)
    make_without_proc()
    for use in (writing, making, making_by_name):
        hurt("signal=KILL", "kill", use)
        hurt("error=EIO", "error", use)
        hurt("error=ENOSPC", "error", use)
    print(f"{tried['kill']} kills, {tried['error']} errors, {tried['short']} shortened runs")
    return 0 if tried["kill"] > 30 and tried["error"] > 30 else 1


sys.exit(main())
