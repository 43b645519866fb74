"""What the tests of the command share: they run it, count their checks, and report."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
ELECT, ROOT = map(os.path.abspath, sys.argv[1:])
failures = []
count = 0


def run(*args, **kwargs):
    return subprocess.run([ELECT, *map(str, args)], capture_output=True, text=True, timeout=300, **kwargs)


def check(what, holds, *details):
    global count
    count += 1
    if not holds:
        failures.append(f"{what}: {' | '.join(map(str, details))}")


def complains(args, *words, code=64):
    """One line on stderr that says what is wrong, nothing on stdout."""
    done = run(*args)
    what = " ".join(map(str, args))
    check(what, done.returncode == code, "exit", done.returncode, done.stderr)
    check(what, done.stdout == "", "stdout", done.stdout)
    check(what, done.stderr.count("\n") == 1 and done.stderr.startswith("elect"), "stderr", done.stderr)
    for word in words:
        check(what, word in done.stderr, f"no {word!r} in", done.stderr)


def report(skipped=""):
    """And the end; 77, loudly, if something could not be looked at."""
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{count - len(failures)} passed, {len(failures)} failed")
    if skipped:
        print(f"SKIPPED: {skipped}", file=sys.stderr)
    sys.exit(1 if failures else 77 if skipped else 0)
