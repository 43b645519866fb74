#!/usr/bin/env python3
"""Tests work that only a leader does, with real daemons: work.py ELECT [CASE ... | --list] [--jobs N]

Each of three members has an elect run, restarted by the suite as by a service manager. The workload ignores TERM, has
grandchildren in separate sessions, and records when each of its processes was last alive. Under every fault, work with a later
token must begin after the last sign of life of work with an earlier token. $SECONDS and $SEED apply only to the case
`anything`."""

import contextlib
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from lib.cases import CASES, case  # noqa: E402
from lib.checks import NotHere, expect, holds, is_root, need_root  # noqa: E402
from lib.elect_command import ELECT  # noqa: E402
from lib.local_cluster import LocalCluster  # noqa: E402
from lib.processes import LIMIT, adopt_orphans, children, descendants, die_with_parent, member_of, state, wait  # noqa: E402
from lib.run_socket import clock  # noqa: E402
from lib.runner import HOSTILE, cmdline, is_elect, main  # noqa: E402
from lib.status_socket import ask  # noqa: E402
from lib.times import SHORT_TIMES, STEADY_TIMES, TIMES  # noqa: E402

# Only root gets a real-time priority. Without it, a busy machine needs a larger margin to kill all processes before the lease
# ends.
ROOT = os.geteuid() == 0
MARGIN = [] if ROOT else ["--kill-margin", "1s"]
PAUSE = 0.8 if ROOT else 4  # seconds: longer than a lease


def end(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Works(LocalCluster):
    def __init__(self, options="", words=(), times=SHORT_TIMES if ROOT else TIMES, **more):
        super().__init__(options=options, times=times, **more)
        adopt_orphans()
        self.records = self.folder / "records"
        self.records.mkdir()
        self.runs, self.words, self.lost = {}, [*MARGIN, *words], []

    def __exit__(self, *how):
        for pid in self.lost:
            end(pid)
        for run in self.runs.values():
            for pid in children(run.pid):
                end(pid, signal.SIGCONT)
            run.kill()
            run.wait()
        super().__exit__(*how)
        left = [pid for pid in descendants() if self.folder.name in cmdline(pid).decode(errors="replace")]
        for pid in left:  # left by a run or a member without its keeper
            end(pid)

    def work(self, name):
        with open(self.folder / f"{name}.log", "a") as log:
            self.runs[name] = subprocess.Popen(
                [ELECT, "run", "-c", str(self.conf), "--id", name, *self.words, "--", HOSTILE, str(self.records), "record", "3"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=lambda: die_with_parent(signal.SIGTERM))

    def begin(self):
        self.start()
        for name in self.names:
            wait("the member answers", lambda: self.group(name))
            self.work(name)
        return self.working()

    def look_after(self):
        """Restarts daemons and runs, like a service manager."""
        for name in self.names:
            if self.daemons[name].poll() is not None:
                self.start(name)
            if self.runs[name].poll() is not None and self.group(name):
                self.work(name)

    def offices(self):
        """Returns (token, first sign of life, last sign of life) of each process that worked."""
        found = []
        for path in self.records.iterdir():
            data = path.read_bytes()[:24]
            last, _, first = struct.unpack("=qqq", data.ljust(24, b"\0"))
            if first > 0:
                found.append((int(path.name.split("-")[0]), first, last))
        return sorted(found)

    def working(self, above=0, since=0):
        """Waits for a working process with a token above `above` that began after `since`. Returns the token's member, and the
        token."""
        def found():
            self.look_after()
            now = clock()
            alive = [o for o in self.offices() if o[0] > above and o[1] > since and now - o[2] < 20_000]
            return alive[-1] if alive else None
        token = wait("a process works", found)[0]
        return self.names[(token & 0xffff) - 1], token

    def judge(self):
        offices = self.offices()
        for a in offices:
            for b in offices:
                if a[0] < b[0] or (a[0] == b[0] and a[1] < b[1]):
                    holds(f"{a[0] >> 16}.{a[0] & 0xffff} works after the beginning of {b[0] >> 16}.{b[0] & 0xffff}:", a[2] < b[1], a[2] - b[1], "us")
        return offices

    # ---- faults ----

    def kill_member(self, name):
        pid = member_of(self.daemons[name].pid)
        if pid is not None:
            end(pid)

    def kill_guardian(self, name):
        """Kills the guardian and, a little later, the member, which cannot restart without its guardian."""
        member = member_of(self.daemons[name].pid)
        self.daemons[name].kill()
        self.daemons[name].wait()
        if member is not None:
            self.lost.append(member)
            time.sleep(0.3)
            end(member)
            wait("the member is gone", lambda: state(member) in ("", "Z", "X"))

    def kill_both(self, name):
        self.kill(name)

    def stop_member(self, name):
        pid = member_of(self.daemons[name].pid)
        if pid is not None:
            end(pid, signal.SIGSTOP)
            time.sleep(PAUSE)
            end(pid, signal.SIGCONT)

    def stop_guardian(self, name):
        end(self.daemons[name].pid, signal.SIGSTOP)
        self.kill_member(name)
        time.sleep(0.2)
        end(self.daemons[name].pid, signal.SIGCONT)

    def restart(self, name):
        self.daemons[name].terminate()
        wait("the daemon has ended", lambda: self.daemons[name].poll() is not None)

    def resign(self, name):
        self.elect(name, "resign")

    def kill_runner(self, name):
        end(self.runs[name].pid)

    def kill_keeper(self, name):
        for pid in children(self.runs[name].pid):
            end(pid)

    def stop_runner(self, name):
        end(self.runs[name].pid, signal.SIGSTOP)
        time.sleep(PAUSE)
        end(self.runs[name].pid, signal.SIGCONT)

    def stop_keeper(self, name):
        """Stops the keeper, so that only the runner can end the work, then kills the member."""
        for pid in children(self.runs[name].pid):
            end(pid, signal.SIGSTOP)
        self.kill_member(name)

    def kill_work(self, name):
        for keeper in children(self.runs[name].pid):
            for waiter in children(keeper):
                for pid in children(waiter) if is_elect(waiter) else ():
                    if not is_elect(pid):
                        end(pid)


HAPPENS = {"kill-member": 3, "kill-guardian": 1, "kill-both": 1, "stop-member": 1, "stop-guardian": 1, "restart": 1, "resign": 2,
           "kill-runner": 1, "kill-keeper": 1, "stop-runner": 1, "stop-keeper": 1, "kill-work": 1}
# Faults that make another member leader.
MOVES = {"kill-member", "kill-guardian", "kill-both", "stop-member", "stop-guardian", "restart", "resign", "stop-keeper"}


def happens(what):
    def test(_):
        with Works() as p:
            name, token = p.begin()
            for _ in range(2):
                since = clock()
                getattr(p, what.replace("-", "_"))(name)
                name, token = p.working(token if what in MOVES else 0, since)
            offices = p.judge()
            holds("more than one process worked", len(offices) > 1, offices)
    return test


for what in HAPPENS:
    CASES[what] = happens(what)


@case
def runner_in_another_time_namespace(_):
    """The runner's clock is years ahead, in its own time namespace. The work must still stop in time when the leader dies."""
    if not os.path.exists("/proc/self/ns/time"):
        raise NotHere("needs time namespaces")
    need_root()
    with Works(times=STEADY_TIMES) as p:
        with open(p.folder / "x.log", "a") as log:
            p.start()
            leader, term = p.leader()
            run = subprocess.Popen(["unshare", "--time", "--boottime", "100000000", ELECT, "run", "-c", str(p.conf), "--id", leader, "--",
                                    HOSTILE, str(p.records), "record", "2"], stderr=log, preexec_fn=die_with_parent)
        try:
            shift = 100_000_000 * 1_000_000
            first = wait("the workload runs", p.offices)[0]
            holds("by the clock of the runner", first[1] > shift)
            look = p.known(next(n for n in p.names if n != leader))
            holds("the leader is the same", look["leader"] == leader)
            p.kill_member(leader)
            run.wait(LIMIT)
            wait("another member leads", lambda: any(p.group(n).get("leads") for n in p.names if n != leader))
            last = p.offices()[0][2] - shift
            time.sleep(0.1)
            holds("the workload has stopped", p.offices()[0][2] - shift == last and run.returncode == 75, run.returncode)
        finally:
            run.kill()
            run.wait()


def is_told(elect, *words):
    """Runs elect run -n, and repeats it if a busy daemon does not answer within five seconds."""
    def found():
        done = elect(*words)
        return done if "the daemon does not answer" not in done.stderr else None
    return wait("an answer", found)


@case
def bad_input(_):
    """Each error message is a single line with the cause and the remedy. The exit status shows that elect failed, not the
    command."""
    def elect(name, *words):
        return subprocess.run([ELECT, "run", "-c", str(p.conf), "--id", name, *words], capture_output=True, text=True, timeout=10 * LIMIT)
    with LocalCluster(times=STEADY_TIMES, groups=("main", "other")) as p:
        expect("no daemon", elect("a", "main", "--", "true"), 125, err="no daemon runs here: start it with elect daemon")
        p.start()
        leader, _ = p.leader()
        follower = next(n for n in p.names if n != leader)
        expect("no such group", elect(leader, "mian", "--", "true"), 125, err="there is no group mian, did you mean main?")
        expect("which group", elect(leader, "--", "true"), 125, err="there are several groups: choose one with -g GROUP")
        expect("no --", elect(leader, "main", "true"), 125, err="--")
        expect("no command after --", elect(leader, "main", "--"), 125, err="elect run: ")
        expect("-n", is_told(elect, follower, "main", "-n", "--", "true"), 1, err=f"{leader} leads")
        for words, code in ((("/nowhere/at/all",), 127), ((str(p.conf),), 126), (("sh", "-c", "exit 7"), 7), (("sh", "-c", "kill -9 $$"), 137)):
            done = is_told(elect, leader, "main", "-n", "--on-exit", "hold", "--", *words)
            holds(words, done.returncode == code, done.returncode, done.stderr)


    # With such a short lease the member may lose leadership at any moment, but elect run checks the times first.
    with LocalCluster(times="profile = fast\n") as p:
        p.start()
        wait("the member answers", lambda: p.group("a"))
        done = elect("a", "-k", "1s", "--", "true")
        holds("the times do not fit the lease", done.returncode == 125 and "grace 1000 ms + kill margin" in done.stderr and "2 x renewal 12 ms" in done.stderr, done.stderr)
    with LocalCluster("a", times="profile = fast\n") as p:
        p.begin()
        wait("the message names the margin", lambda: re.search("is killed .*ms before the lease ends", elect("a", "--", "true").stderr))


@case
def containment(_):
    """The daemon reports how the work is contained. Only work in a mere process tree may survive its deadline."""
    ways = [([], "process tree")]
    if is_root("containment/process-namespace"):
        ways.append((["--isolate"], "process namespace"))
    for words, container in ways:
        with Works(words=words, times=STEADY_TIMES) as p:  # lasts while the case queries the member
            name, _ = p.begin()
            work = wait("the command is known", lambda: (w := p.known(name)["work"])["pid"] and w if not words else p.known(name)["work"])
            holds("work", work["running"] and work["runner_pid"] == p.runs[name].pid and work["since"] and work["containment"] == container
                  and work["waiting"] == 0 and work["backoff_seconds"] is None, work)
            holds("the command of the work", words or HOSTILE.encode() in cmdline(work["pid"]), work)
            text = " ".join(p.elect(name, "status").stdout.split())
            holds("the text names the containment", f"(elect run: pid {p.runs[name].pid}), in a {container}" in text, text)


@case
def failed_command(_):
    """When a command fails, the run hands leadership over and exits with the command's status. When a command succeeds, the run
    keeps leadership."""
    with LocalCluster(times=STEADY_TIMES) as p:
        leader, term = p.begin()
        run = [ELECT, "run", "-c", str(p.conf), "--id", leader, "--"]
        holds("a command that succeeds", subprocess.run([*run, "true"], capture_output=True).returncode == 0)
        holds("leadership is kept", p.leader() == (leader, term), p.log(leader))
        failed = subprocess.run([*run, "sh", "-c", "exit 3"], capture_output=True, text=True)
        holds("a command that fails", failed.returncode == 3 and "has ended (exit status 3); handing over leadership of group main; exiting with status 3" in failed.stderr, failed)
        wait("the term is over", lambda: (p.known(leader)["term"] or 0) > term)
        log = p.log(leader)
        holds("in this order", 0 <= log.find("has ended all its work") <= log.rfind("hands leadership over (its command exited with status 3")
              < log.find("stopped leading"), log)


def backed_off(log):
    """Returns how many seconds the member backed off each time, by its log."""
    return [int(s) for s in re.findall(r"this member backs off for (\d+) s", log)]


@case
def fails_everywhere(_):
    """A command that fails on every member is not restarted in a tight loop: after each failure a member waits twice as
    long."""
    with LocalCluster() as p:
        p.start()
        for name in p.names:
            wait("the member answers", lambda: p.group(name))
        runs = [subprocess.Popen(["sh", "-c", f"while :; do {ELECT} run -q -c {p.conf} --id {n} -- /bin/false; done"],
                                 preexec_fn=die_with_parent, start_new_session=True) for n in p.names]
        try:
            wait("three failures of one member", lambda: any(len(backed_off(p.log(n))) >= 3 for n in p.names))
        finally:
            for run in runs:
                os.killpg(run.pid, signal.SIGTERM)
                run.wait()
        for name in p.names:
            log = p.log(name)
            delays, earliest = backed_off(log), 0
            holds("twice as long each time:", delays == [2 ** i for i in range(len(delays))], name, delays)
            for entry in wait("the history", lambda: ask(p.socket(name), {"verb": "history"}))["history"]:
                if " starts its work" in entry["text"]:
                    holds("no start in the first half of a back-off:", entry["at_us"] >= earliest, name, entry, earliest)
                for delay in backed_off(entry["text"]):
                    earliest = entry["at_us"] + delay * 500_000  # the delay may begin some time before its log entry


@case
def unhealthy_before_it_starts(_):
    """A leader's health check fails before its command starts. The leader hands over once and stands aside, and the command is
    not started."""
    with LocalCluster(times=STEADY_TIMES) as p:
        leader, term = p.begin()
        started = p.folder / "started"
        run = subprocess.Popen([ELECT, "run", "-c", str(p.conf), "--id", leader, "--health", "echo no disk; exit 4", "--health-every", "200ms",
                                "--health-tries", "2", "--", "touch", started], stderr=subprocess.PIPE, preexec_fn=die_with_parent)
        try:
            wait("the member hands over", lambda: (p.known(leader)["term"] or 0) > term)
            log = p.log(leader)
            holds("the log has the reason", "hands leadership over (its health check exited with status 4: no disk" in log, log)
            holds("one hand-over, and no start", len(backed_off(log)) == 1 and not started.exists(), log)
            holds("no work runs", not p.known(leader)["work"]["running"], p.known(leader))
            holds("the member stands aside", "stands aside (no elect run here is healthy)" in log, log)
        finally:
            run.kill()
            run.communicate()


@case
def restarting(_):
    """Between two starts of a failing command, elect status reports that no work runs."""
    with LocalCluster(times=STEADY_TIMES) as p:
        leader, _ = p.begin()
        run = subprocess.Popen([ELECT, "run", "-c", str(p.conf), "--id", leader, "--on-exit", "restart", "--", "false"],
                               stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)
        try:
            work = wait("the run restarts its command", lambda: (work := p.known(leader)["work"])["restarting"] and work)
            holds("no work runs", not work["running"] and work["pid"] is None and work["runner_pid"] == run.pid, work)
            wait("status reports it", lambda: f"work here: none: the command failed, and elect run (pid {run.pid})" in p.elect(leader, "status").stdout)
        finally:
            run.kill()
            run.wait()


@case
def unhealthy_while_another_works(_):
    """While one run works, a second one on the same member is unhealthy. When the first has ended, the member must hand over,
    although the unhealthy run is still there."""
    with LocalCluster(times=STEADY_TIMES) as p:
        leader, term = p.begin()
        end = p.folder / "end"
        run = [ELECT, "run", "-c", str(p.conf), "--id", leader]
        works = subprocess.Popen([*run, "--", "sh", "-c", f"until [ -e {end} ]; do sleep .02; done"], preexec_fn=die_with_parent)
        wait("the first run works", lambda: p.known(leader)["work"]["running"])
        waits = subprocess.Popen([*run, "--health", "false", "--health-every", "200ms", "--health-tries", "1", "--", "true"], preexec_fn=die_with_parent)
        try:
            wait("the second run is unhealthy", lambda: "is unhealthy (its health check exited with status 1)" in p.log(leader))
            holds("the leader stays", p.leader() == (leader, term), p.log(leader))
            end.touch()
            wait("the member hands over", lambda: (p.known(leader)["term"] or 0) > term)
            holds("the log has the reason", "hands leadership over (its health check exited with status 1)" in p.log(leader), p.log(leader))
        finally:
            for process in works, waits:
                process.kill()
                process.wait()


@contextlib.contextmanager
def running(p, name):
    """Runs elect run beside that member, and kills it at the end."""
    run = subprocess.Popen([ELECT, "run", "-c", str(p.conf), "--id", name, "--", "sleep", "600"], stderr=subprocess.DEVNULL,
                           preexec_fn=die_with_parent)
    try:
        yield run
    finally:
        run.kill()
        run.wait()


@case
def only_with_a_runner(_):
    """All members vote, but only one with a waiting elect run can be elected. Without any elect run there is no leader."""
    with LocalCluster(times=STEADY_TIMES) as p:
        p.conf.write_text(p.conf.read_text().replace("[group main]", "[group main]\nlead-only-with-runner = yes"))
        p.start()
        for name in p.names:
            wait("the member stands aside", lambda: f"main: {name} stands aside (no elect run is connected here)" in p.log(name))
            wait("status reports it", lambda: all(text in p.elect(name, "status").stdout for text in (
                "no member can be elected, because none has a run", "none; this member stands aside")))
        wait("elect doctor reports it", lambda: "no member has a healthy elect run (lead-only-with-runner = yes), so none may lead"
             in p.elect("c", "doctor").stdout)
        for name in ("a", "b"):  # not the highest member, which would always be elected
            with running(p, name):  # the keeper ends a killed runner's work, and the member hands over
                holds("the member with a run leads", p.leader()[0] == name, p.log(name))
                wait("the work runs", lambda: p.known(name)["work"]["running"])
                holds("one member stands ready", not p.known(name)["none_ready"] and p.known(name)["aside_because"] is None, p.known(name))
            wait("no member leads", lambda: not any(p.known(n)["leads"] for n in p.names))
        with running(p, "a"):
            holds("the member with a run leads", p.leader()[0] == "a", p.log("a"))
            wait("elect doctor notes it", lambda: "only the leader a has a healthy elect run (lead-only-with-runner = yes), so no member can "
                 "replace it" in p.elect("c", "doctor").stdout)
            before = p.log("c").count("stands aside")
            with running(p, "c"):
                wait("c stands ready", lambda: "may lead again" in p.log("c"))
            wait("c stands aside again", lambda: p.log("c").count("stands aside") > before)
            holds("the leader is the same", p.known("c").get("leader") == "a", p.log("c"))
            holds("no other member ever led", not any("c leads" in p.log(n) for n in p.names))
            before = p.log("c").count("may lead again")
            p.edit("lead-only-with-runner = yes", "lead-only-with-runner = no")
            for name in p.names:
                expect("reload", p.elect(name, "reload"), 0, out="lead-only-with-runner")
            wait("c needs no run any more", lambda: p.log("c").count("may lead again") > before)


@case
def only_with_a_runner_beside_a_witness(_):
    """A witness never leads, so it never stands aside. A leader continues to lead when its last run is terminated properly. If
    another member still has a run, elect doctor reports that the leader has none, and elect resign hands over to that
    member."""
    with LocalCluster(times=STEADY_TIMES, roles={"c": "witness"}) as p:
        p.conf.write_text(p.conf.read_text().replace("[group main]", "[group main]\nlead-only-with-runner = yes"))
        p.start()
        for name in p.names:
            wait("the members that may lead stand aside", lambda: (look := p.group(name)) and look["aside"] == ["a", "b"] and look["none_ready"])
        holds("the witness does not", p.known("c")["aside_because"] is None and "this member stands aside" not in p.elect("c", "status").stdout
              and "stands aside" not in p.log("c"), p.log("c"))
        with running(p, "a") as run:
            holds("the member with a run leads", p.leader()[0] == "a", p.log("a"))
            wait("the work runs", lambda: p.known("a")["work"]["running"])
            with running(p, "b"):
                wait("another member is ready", lambda: p.known("a")["aside"] == [])
                holds("a follower does not report what it has not heard since", p.known("c")["aside"] == [], p.known("c"))
                run.send_signal(signal.SIGTERM)
                holds("the run is terminated properly", run.wait(LIMIT) == 143, run.returncode)
                for name in p.names:
                    wait("elect doctor reports it", lambda: "the leader a has no healthy elect run (lead-only-with-runner = yes): start "
                         "elect run there, or hand over to a member that has one: elect resign -g main" in p.elect(name, "doctor").stdout)
                holds("the leader keeps its office", p.known("a")["leads"], p.log("a"))
                expect("resign", p.elect("c", "resign", "-g", "main"), 0, out="b leads")
                wait("doctor reports only that no other member has a run", lambda: (said := p.elect("b", "doctor").stdout)
                     and "has no healthy elect run" not in said and "note     runs main" in said and "only the leader b has" in said)


@case
def anything(_):
    """Injects random faults into random members for a limited time."""
    seed = int(os.environ.get("SEED", "1"))
    dice, done = random.Random(seed), []
    with Works(words=["--respawn"] if seed % 2 else []) as p:
        p.begin()
        over = time.monotonic() + float(os.environ.get("SECONDS", "20"))
        while time.monotonic() < over:
            what = dice.choices(list(HAPPENS), list(HAPPENS.values()))[0]
            leaders = [n for n in p.names if p.group(n).get("leads")]
            name = dice.choice(leaders if leaders and dice.random() < 0.7 else p.names)
            done.append((what, name))
            getattr(p, what.replace("-", "_"))(name)
            time.sleep(dice.choice((0, 0.05, 0.3, 0.8)))
            p.look_after()
            if dice.random() < 0.3:
                p.working()
        p.working()
        offices = p.judge()
        print(f"measured: seed {seed}: {len(done)} faults, {len(offices)} offices")


if __name__ == "__main__":
    sys.exit(main(__file__))
