"""The state file is killed, or fails, at every system call: state.py STATE_TOOL

What was acknowledged is there afterwards, the file can be opened, and an error ends the writing. Needs strace."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

TOOL = sys.argv[1]
CALLS = ["openat", "newfstatat", "fstat", "fcntl", "pread64", "pwrite64", "fdatasync", "fsync", "linkat", "unlinkat", "close"]
MATTER = {"pread64", "pwrite64", "fdatasync", "fsync", "linkat"}
WRITES = 3
tried = {"kill": 0, "error": 0}


def run(*args, inject=None):
    """The process that ended, and whether it was hurt."""
    with tempfile.NamedTemporaryFile("r") as log:
        strace = ["strace", "-qq", "-o", log.name, "-e", f"trace={inject.split(':')[0]}", "-e", f"inject={inject}"] if inject else []
        done = subprocess.run([*strace, TOOL, *map(str, args)], capture_output=True, text=True, timeout=60)
        done.hurt = "INJECTED" in log.read() or done.returncode < 0
    return done


def fail(text, done):
    sys.exit(f"state: {text}\n{done.stdout}{done.stderr}")


def last(done):
    return int(done.stdout.split()[-1]) if done.stdout.split() else 0


def check(path, told, what):
    """It can be opened, and has all that was acknowledged."""
    found = run(path, "read")
    if found.returncode != 0:
        fail(f"cannot be opened after {what}", found)
    if last(found) < told:
        fail(f"{told} was acknowledged before {what}", found)


def each_call(how):
    """The first, second ... call of each kind."""
    for call in CALLS:
        for when in range(1, 200):
            with tempfile.TemporaryDirectory() as folder:
                if not (yield pathlib.Path(folder) / "state", call, f"{call}:{how}:when={when}"):
                    break


def must_tell(done, call, inject):
    """Nothing that matters fails without a word."""
    if done.returncode == 0 and call in MATTER:
        fail(f"nothing was said of {inject}", done)
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
            check(path, last(done), inject)
            tried[kind] += 1
        try:
            more = calls.send(done.hurt)
        except StopIteration:
            more = None


def writing(path, inject):
    assert run(path, "make").returncode == 0
    return run(path, "write", WRITES, inject=inject)


def making(path, inject):
    """There is a whole file afterwards, or none, and then it can be made."""
    done = run(path, "make", inject=inject)
    if not path.exists():
        again = run(path, "make")
        if again.returncode != 0:
            fail(f"cannot be made after {inject}", again)
    return done


def main():
    if shutil.which("strace") is None or run("/nowhere", "read", inject="openat:error=EIO:when=999").returncode not in (1,):
        print("SKIPPED: strace cannot be used here: the state file was NOT hurt at every system call", flush=True)
        return 77
    for use in (writing, making):
        hurt("signal=KILL", "kill", use)
        hurt("error=EIO", "error", use)
        hurt("error=ENOSPC", "error", use)
    print(f"{tried['kill']} kills, {tried['error']} errors")
    return 0 if tried["kill"] > 30 and tried["error"] > 30 else 1


sys.exit(main())
