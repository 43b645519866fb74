"""Runs the cases of a suite in parallel, each in its own process."""

import collections
import signal
import subprocess
import sys
import tempfile
import time

from .checks import Failure, NotHere, skip
from .containment import contain, end_once
from .processes import die_with_parent

CASES = {}
SKIPPED = 77


def case(function):
    CASES[function.__name__.replace("_", "-")] = function
    return function


def tell(case, worker, out, since):
    """Prints the result of a case that has ended, with what it skipped and measured, and all its output if it failed."""
    out.seek(0)
    text = out.read()
    result = {0: "ok", SKIPPED: "skip"}.get(worker.returncode, "FAILED")
    print(f"{result:6} {time.monotonic() - since:5.1f} s  {case}", flush=True)
    for line in text.splitlines():
        if line.startswith(("skipped: ", "measured: ")):
            print(line, flush=True)
    if result == "FAILED":
        print(text, file=sys.stderr, flush=True)
    return result


def end_all(running):
    for worker, *_ in running.values():
        worker.terminate()
    for worker, *_ in running.values():
        worker.wait()


def run_all(script, elect, waiting, jobs, over):
    """Runs the cases and returns their results. After a signal it ends the running cases; the signal handler must not, because
    a handler that interrupted a wait for a process and then waited for the same process would never return."""
    running, results = {}, {}
    try:
        while running or (waiting and time.monotonic() < over):
            while waiting and len(running) < jobs and time.monotonic() < over:
                case = waiting.pop(0)
                out = tempfile.TemporaryFile("w+")
                worker = subprocess.Popen([sys.executable, script, elect, case], stdout=out, stderr=out,
                                          preexec_fn=lambda: die_with_parent(signal.SIGTERM))
                running[case] = worker, out, time.monotonic()
            case = next((case for case, (worker, *_) in running.items() if worker.poll() is not None), None)
            if case is None:
                time.sleep(0.01)
                continue
            results[case] = tell(case, *running.pop(case))
    finally:
        end_all(running)
    return results


def many(script, elect, wanted, jobs, seconds=float("inf")):
    """Runs the cases and prints a summary. Starts no more cases after `seconds`. Returns the suite's exit status."""
    begun = time.monotonic()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end_once)
    results = run_all(script, elect, list(wanted), jobs, begun + seconds)
    count = collections.Counter(results.values())
    print(f"{count['ok']} of {len(results)} cases passed, {count['skip']} skipped, {time.monotonic() - begun:.0f} s")
    for case in [case for case, result in results.items() if result == "FAILED"]:
        print(f"failed: {case}; again: {script} {elect} {case}")
    return 1 if count["FAILED"] else 0 if count["ok"] else SKIPPED


def play(case):
    """Runs a case. Raises NotHere if the case cannot run on this machine."""
    case(None)


def main(script, jobs=4, play=play):
    """The main function of a suite. Arguments: ELECT [CASE ... | --list] [--jobs N]. A single case runs in this process,
    several cases run in a process each."""
    words = sys.argv[1:]
    jobs = int(words.pop(words.index("--jobs") + 1)) if "--jobs" in words else jobs
    elect, *wanted = [word for word in words if word != "--jobs"]
    if wanted == ["--list"]:
        print(*CASES, sep="\n")
        return 0
    contain()
    if len(wanted) != 1:
        return many(script, elect, wanted or list(CASES), jobs)
    if wanted[0] not in CASES:
        sys.exit(f"{wanted[0]}: no such case, see --list")
    signal.signal(signal.SIGINT, end_once)
    try:
        play(CASES[wanted[0]])
    except NotHere as why:
        skip(wanted[0], why)
        return SKIPPED
    except (Failure, TimeoutError) as failure:
        print(f"{wanted[0]}: {failure}\nagain: {sys.argv[0]} {elect} {wanted[0]}", file=sys.stderr)
        return 1
    print(wanted[0])
    return 0
