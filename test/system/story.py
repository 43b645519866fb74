"""Tests a short story with real daemons: story.py ELECT

Three members elect a leader, and work runs beside it. Then the leader is killed, the next leader hands over, and `elect
explain` reports the reason.

The work takes an exclusive lock, so the test detects two leaders at once. On a slow machine there may be an extra election, so
the story follows the present leader. It checks order, cause and safety, but never a duration."""

import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from lib.cases import case, main  # noqa: E402
from lib.checks import expect, holds  # noqa: E402
from lib.elect_command import ELECT, explained  # noqa: E402
from lib.local_cluster import LocalCluster  # noqa: E402
from lib.processes import die_with_parent, wait  # noqa: E402

# So long that a leader keeps its lease on a busy machine.
TIMES = "lease = 10s\nrenewal = 2s\ndelay = 50ms\nmax-lease = 10s\n"
WORK = """import fcntl, os, signal, sys
log, lock = open(sys.argv[1], "a"), open(sys.argv[2], "a")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    print("two at once", file=log, flush=True)
print("works", os.environ["ELECT_NODE"], os.environ["ELECT_TOKEN"], file=log, flush=True)
signal.pause()
"""


class Story(LocalCluster):
    """A cluster with `elect run` beside each member."""

    def __init__(self):
        super().__init__(times=TIMES)
        self.runs = []

    def __exit__(self, *how):
        for run in self.runs:
            run.terminate()
        for run in self.runs:
            run.wait()
        super().__exit__(*how)

    def work(self):
        for name in self.names:
            with open(self.folder / f"run-{name}.log", "w") as log:
                self.runs.append(subprocess.Popen(
                    [ELECT, "run", "--respawn", "-c", self.conf, "--id", name, "--", sys.executable, "-c", WORK,
                     str(self.folder / "work"), str(self.folder / "lock")],
                    stdout=log, stderr=log, preexec_fn=lambda: die_with_parent(signal.SIGTERM)))

    def worked(self):
        """Returns (member, token) of each process that has worked, in order. Checks that only one worked at a time, and that
        the tokens increase."""
        path = self.folder / "work"
        lines = path.read_text().splitlines() if path.exists() else []
        holds("two leaders worked at the same time", "two at once" not in lines, lines)
        done = [(line.split()[1], int(line.split()[2])) for line in lines]
        tokens = [token for _, token in done]
        holds("each leader's token is higher than the last", tokens == sorted(set(tokens)), done)
        return done

    def works(self, *others):
        """Waits for work beside a leader that is not one of `others`. Returns the leader and its token."""
        def found():
            last = self.worked()[-1:]
            return last[0] if last and last[0][0] not in others and self.group(last[0][0]).get("leads") else None
        return wait(f"work of a leader other than {' '.join(others)}", found)


@case
def story(_):
    with Story() as s:
        s.begin()
        s.work()
        first, _ = s.works()

        s.kill(first)  # kills member and guardian, as if their machine were lost
        second, token = s.works(first)
        said = explained(s, second, [first])
        holds("explain names the leader of the latest term", said["leader"] == second or said["term"] > token, said)
        holds("its last step is the office", said["steps"][-1]["rule"] == "TAKES_OFFICE", said)
        holds("the missing member", first in said["missing"], said)

        s.start(first)
        s.leader()
        now, token = s.works()
        target = next(name for name in s.names if name != now)
        done = s.elect(now, "transfer", target)
        # If the target is too slow to take over, another member leads, and the command says so.
        holds("the hand-over", done.returncode == 0 or "leads" in done.stdout + done.stderr, done)
        third, later = s.works(now)
        holds("the target leads", third == target or done.returncode != 0, third, target, done)
        holds("with a higher token", later > token, token, later)
        explained(s, third)
        text = expect("explain", s.elect(third, "explain"), out=f"{third} leads in term").stdout
        holds("explain names the previous leader", f"Before that, {now} led" in text or done.returncode != 0, text)


if __name__ == "__main__":
    sys.exit(main(__file__))
