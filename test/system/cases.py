"""Many cases of a test, some at a time, each in a process of its own."""

import signal
import subprocess
import sys
import tempfile
import time

import claims


def tell(case, worker, out, since):
    """A line, and all that was said if it went wrong; whether it did, and whether it took another try."""
    out.seek(0)
    text = out.read()
    again = "once more" in text
    print(f"{'FAILED' if worker.returncode else 'ok':6} {time.monotonic() - since:5.1f} s  {text.splitlines()[-1] if text else case}",
          flush=True)
    if worker.returncode or again:
        print(text, file=sys.stderr, flush=True)
    return worker.returncode != 0, again


def many(script, elect, wanted, jobs):
    begun, waiting, running, failed, tries = time.monotonic(), list(wanted), {}, [], 0

    def end_all(number, frame):
        for worker, *_ in running.values():
            worker.terminate()
        for worker, *_ in running.values():
            worker.wait()
        sys.exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end_all)
    while waiting or running:
        while waiting and len(running) < jobs:
            case = waiting.pop(0)
            out = tempfile.TemporaryFile("w+")
            worker = subprocess.Popen([sys.executable, script, elect, case], stdout=out, stderr=out,
                                      preexec_fn=lambda: claims.die_with_parent(signal.SIGTERM))
            running[case] = worker, out, time.monotonic()
        case = next((case for case, (worker, *_) in running.items() if worker.poll() is not None), None)
        if case is None:
            time.sleep(0.01)
            continue
        bad, again = tell(case, *running.pop(case))
        failed += [case] if bad else []
        tries += again
    print(f"{len(wanted) - len(failed)} of {len(wanted)} cases passed, {tries} took another try, {time.monotonic() - begun:.0f} s")
    for case in failed:
        print(f"failed: {case}; again: {script} {elect} {case}")
    return 1 if failed else 0
