"""How a suite decides: `check` notes a failure and goes on, `holds` and `expect` end the case, `report` ends the suite.

A part that cannot be run here is skipped with `skip`. tools/tier reads those lines, counts them, and names them."""

import os
import sys

failures = []
skips = []
count = 0


class Failure(Exception):
    """What was expected did not come."""


class NotHere(Exception):
    """A case cannot be run here: the text is what it needs, such as "needs root"."""


def check(what, condition, *details):
    """Notes a failure unless the condition is true; the suite goes on."""
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
    """Whether this is root; if not, the part of the case that needs it is skipped."""
    if os.geteuid() != 0:
        skip(part, "needs root")
    return os.geteuid() == 0


def listed(words):
    return [words] if isinstance(words, str) else words


def expect(what, done, code=0, out=(), err=(), lines=None):
    """Ends the case unless a process ended with this code and said these words. A complaint is one line on standard error,
    and there is none unless `err` asks for it; only `elect run` tells more there, and may do so unasked."""
    runs = getattr(done, "is_run", False)
    wrong = [f"exit {done.returncode}, not {code}"] if done.returncode != code else []
    wrong += [f"no {word!r} in what it says" for word in listed(out) if word not in done.stdout]
    wrong += [f"no {word!r} in its complaint" for word in listed(err) if word not in done.stderr]
    if err and not runs and (done.stderr.count("\n") != 1 or not done.stderr.startswith("elect ")):
        wrong.append("its complaint is not one line that begins with elect")
    if err and runs:
        wrong += [f"not from elect: {line!r}" for line in done.stderr.splitlines() if not line.startswith("elect run: ")]
    if not err and not runs and done.stderr:
        wrong.append("it complains")
    if lines is not None and done.stdout.count("\n") != lines:
        wrong.append(f"{lines} lines were expected")
    if wrong:
        raise Failure(f"{what}: {'; '.join(wrong)}\n  stdout: {done.stdout}\n  stderr: {done.stderr}")
    return done


def is_unanswered(done):
    """The daemon closed the connection, for the question came too late on a busy machine: it has not read it, so that the same
    command can be given again. A command that was not answered within $ELECT_TIMEOUT may have taken effect, and is not."""
    return done.returncode == 3 and "the daemon closed the connection without an answer" in done.stderr


def is_late(done):
    """A hand-over that slow members did not complete as asked: each is refused with its reason."""
    return done.returncode == 1 and any(text in done.stderr for text in (
        "did not hand over to ", "leads again, in term", "no other member leads yet", "does not answer", "no longer leads",
        "leads in another term now", "is handing over already", "has not heard from the successor", "no leader is known",
        "sees no member that could take over"))


def skip(what, why):
    """Says that a part was not run here, and why: `why` is what is needed, such as "needs root"."""
    skips.append(what)
    print(f"skipped: {what}: {why}", flush=True)


def report():
    """Ends the suite; with status 77 if nothing at all could be run here."""
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{count - len(failures)} passed, {len(failures)} failed, {len(skips)} skipped")
    sys.exit(1 if failures else 77 if skips and not count else 0)
