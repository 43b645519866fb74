"""The command under test: where it is, and how it is run."""

import os
import pathlib
import subprocess
import sys

from .checks import Failure, check, is_unanswered
from .processes import LIMIT, wait

ELECT = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[3]


def run(*words, env=None, cwd=None, limit=10 * LIMIT):
    """The process, ended; `env` is added to this environment."""
    try:
        return subprocess.run([ELECT, *map(str, words)], capture_output=True, text=True, timeout=limit, cwd=cwd,
                              env=None if env is None else os.environ | env)
    except subprocess.TimeoutExpired:
        raise Failure(f"elect {' '.join(map(str, words))}: has not ended within {limit} s") from None


def answered(*words, **how):
    """The process, ended: a command that a busy daemon did not answer in time is given again."""
    def found():
        done = run(*words, **how)
        return None if is_unanswered(done) else done
    return wait(f"an answer to elect {' '.join(map(str, words))}", found)


def complains(args, *words, code=64):
    """Checks that there is one line on standard error that says what is wrong, and nothing on standard output."""
    done = run(*args)
    what = " ".join(map(str, args))
    check(what, done.returncode == code, "exit", done.returncode, done.stderr)
    check(what, done.stdout == "", "stdout", done.stdout)
    check(what, done.stderr.count("\n") == 1 and done.stderr.startswith("elect"), "stderr", done.stderr)
    for word in words:
        check(what, word in done.stderr, f"no {word!r} in", done.stderr)
