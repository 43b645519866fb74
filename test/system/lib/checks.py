"""Functions that report failures: `check` records a failure and continues, `holds` and `expect` end the case, and `report` ends
the suite.

`skip` reports a part that cannot run on this machine. tools/tier counts and lists the lines that it prints."""

import os
import sys

failures = []
skips = []
count = 0


class Failure(Exception):
    """The result of a case is not what the case expected."""


class NotHere(Exception):
    """This machine cannot run the case. The text says what is missing, such as "needs root"."""


def check(what, condition, *details):
    """Records a failure unless the condition is true, and continues."""
    global count
    count += 1
    if not condition:
        failures.append(f"{what}: {' '.join(map(str, details))}")


def holds(what, condition, *details):
    """Ends the case unless the condition is true."""
    if not condition:
        raise Failure(" ".join(map(str, (what, *details))))


def need_root():
    if os.geteuid() != 0:
        raise NotHere("needs root")


def is_root(part):
    """Returns True if this process is root; otherwise skips the part, which needs root."""
    if os.geteuid() != 0:
        skip(part, "needs root")
    return os.geteuid() == 0


def listed(words):
    return [words] if isinstance(words, str) else words


def expect(what, done, code=0, out=(), err=(), lines=None):
    """Ends the case unless the process exited with this code and printed these words. Standard error must be empty, or a single
    line if `err` is given. Only `elect run` may print more lines there."""
    runs = getattr(done, "is_run", False)
    wrong = [f"exit {done.returncode}, not {code}"] if done.returncode != code else []
    wrong += [f"standard output lacks {word!r}" for word in listed(out) if word not in done.stdout]
    wrong += [f"standard error lacks {word!r}" for word in listed(err) if word not in done.stderr]
    if err and not runs and (done.stderr.count("\n") != 1 or not done.stderr.startswith("elect ")):
        wrong.append("standard error is not one line that begins with elect")
    if err and runs:
        wrong += [f"not from elect: {line!r}" for line in done.stderr.splitlines() if not line.startswith("elect run: ")]
    if not err and not runs and done.stderr:
        wrong.append("standard error is not empty")
    if lines is not None and done.stdout.count("\n") != lines:
        wrong.append(f"standard output does not have {lines} lines")
    if wrong:
        raise Failure(f"{what}: {'; '.join(wrong)}\n  stdout: {done.stdout}\n  stderr: {done.stderr}")
    return done


def is_unanswered(done):
    """Returns True if the daemon closed the connection because the request came too late on a busy machine. The daemon has not
    read such a request, so the command can be repeated. A command that timed out after $ELECT_TIMEOUT may have taken effect,
    and must not be repeated."""
    return done.returncode == 3 and "the daemon closed the connection without an answer" in done.stderr


def is_late(done):
    """Returns True if the command failed because slow members did not complete the hand-over."""
    return done.returncode == 1 and any(text in done.stderr for text in (
        "did not hand over to ", "leads again, in term", "no other member leads yet", "does not answer", "no longer leads",
        "leads in another term now", "is handing over already", "has not heard from", "no leader is known",
        "sees no member that could take over"))


def skip(what, why):
    """Reports that a part of a case did not run on this machine. `why` says what is missing, such as "needs root"."""
    skips.append(what)
    print(f"skipped: {what}: {why}", flush=True)


def report():
    """Ends the suite. The exit status is 77 if every part was skipped."""
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{count - len(failures)} passed, {len(failures)} failed, {len(skips)} skipped")
    sys.exit(1 if failures else 77 if skips and not count else 0)
