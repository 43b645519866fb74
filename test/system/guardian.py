#!/usr/bin/env python3
"""Tests a member, its guardian, and work under its mandate: guardian.py ELECT [CASE ... | --list] [--jobs N]

The cases kill member, guardian and work in any order and at any moment. No other member may lead while permitted work may still
run, and members must not wait for a leader whose death was reported. The suite itself connects to the daemon in place of real
workers (lib/run_socket.py), so that a worker can be slow, be silent or disconnect at any moment."""

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from lib.cases import case, main  # noqa: E402
from lib.checks import NotHere, expect, holds, is_root, need_root  # noqa: E402
from lib.elect_command import ELECT, run  # noqa: E402
from lib.local_cluster import LocalCluster  # noqa: E402
from lib.processes import LIMIT, die_with_parent, member_of, signal_both, state, wait  # noqa: E402
from lib.run_socket import FORMAT, LOOSE, Lookout, NOW, Talker, UNHEALTHY, Words, YIELDS, clock  # noqa: E402
from lib.status_socket import answer, ask  # noqa: E402

LONG = "lease = 30s\nrenewal = 3s\nmax-lease = 40s\n"  # so long that its end is never mistaken for a death report
MIDDLE = "lease = 8s\nrenewal = 1s\nmax-lease = 10s\n"  # for cases that wait for the end of a lease
LEASE, MIDDLE_LEASE = 30_000_000, 8_000_000  # microseconds
BURST, PERIOD = 20, 0.05  # pace.h
F_OFD_SETLK = 37
SHORT = "lease = 500ms\nrenewal = 150ms\nmax-lease = 1s\n"


class Watched(LocalCluster):
    """A cluster with a long lease and a leader that is about to suffer a fault."""

    def __init__(self, options=LONG, **more):
        super().__init__(times="delay = 10ms\n" + options, **more)

    def begin(self):
        self.first, self.term = super().begin()  # all members follow now, so the new term's death report reaches all of them
        return self.first, self.term

    def pid(self, name):
        return member_of(self.daemons[name].pid)

    def leads_until(self):
        """Returns a lower bound on the end of the leader's lease."""
        asked = clock()
        return asked + answer(self.socket(self.first), {"verb": "is-leader"})["left_us"]

    def run_socket(self, name=None):
        return self.socket(name or self.first, "run")

    def lookout(self):
        others = {n: self.socket(n) for n in self.names if n != self.first and self.daemons[n].poll() is None}
        return Lookout(ask, others, self.term)

    def kill_member(self, name=None):
        os.kill(self.pid(name or self.first), signal.SIGKILL)

    def times_in_history(self, text):
        """Returns how many times the text was logged, including repeated entries that the log only counted."""
        said = ask(self.socket(self.first), {"verb": "history"})
        return sum(1 + e.get("repeated", 0) for e in said["history"] if text in e["text"]) if said else 0

    def testament_came(self):
        return any("died (reported by its guardian)" in self.log(n) for n in self.names if n != self.first)


def talker_of(user, path):
    """Connects to the socket as the given user, whom the kernel reports to the daemon until the connection ends."""
    os.seteuid(user)
    try:
        return Talker(path)
    finally:
        os.seteuid(0)


def use_up_burst(t):
    """Starts work until the daemon refuses because the user's burst is used up. If it never refuses, checks that this machine
    was too slow to exceed the permitted rate."""
    begun = time.monotonic()
    for _ in range(1000):
        said = t.hold(flags=NOW)
        if "too often" in said.why:
            return
        if said.word == "GO":
            t.empty()
    lasted = time.monotonic() - begun
    holds("turns have a pace", lasted >= (1000 - BURST) * PERIOD, lasted)


def yield_until_another_leads(t, look):
    """Makes the run yield until another member leads. If the others are too slow to take over, the same member leads again, and
    the run yields again."""
    def another_leads():
        t.say("RESIGN", group="main")
        said = t.until_hears("DONE", "REFUSED")
        holds("a run that works may not resign", said and said.word == "REFUSED" and "has not ended" in said.why, said)
        t.empty(flags=YIELDS)
        t.say("HOLD", group="main")
        wait("this or another member leads", lambda: look.seen or t.until_hears("GO", patience=0.1))
        return look.seen
    wait("another member leads", another_leads)


# ---- death of the member, its guardian or both ----

@case
def member_killed(_):
    with Watched() as p:
        p.begin()
        look = p.lookout()
        p.kill_member()
        seen = look.wait()
        holds("another member leads", seen is not None)
        holds("because of the testament", p.testament_came())
        holds("the exit status is the member's", p.daemons[p.first].wait(LIMIT) == 128 + signal.SIGKILL)
        holds("the guardian logs what happened", re.search(rf"member {p.first} \(pid \d+\) was killed \(signal 9", p.log(p.first)) and
              f"told the other members that {p.first} is dead" in p.log(p.first), p.log(p.first))
        p.start(p.first)
        p.leader()


@case
def both_killed(_):
    with Watched(MIDDLE) as p:
        p.begin()
        look, until = p.lookout(), p.leads_until()
        p.kill(p.first)
        seen = look.wait()
        holds("another member leads", seen is not None)
        holds("its lease was waited for", seen[0] >= until and not p.testament_came(), seen[0] - until)


@case
def waits_for_the_lock(_):
    """A daemon waits while another process uses its state file. It queries that process only once, and starts when the file is
    free."""
    with LocalCluster("a") as p, socket.socket(socket.AF_UNIX) as door, open(p.state("a"), "r+b") as held:
        fcntl.fcntl(held, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        door.bind(p.socket("a"))
        door.listen(1024)
        door.setblocking(False)
        p.start("a")
        wait("the daemon waits", lambda: f"is in use by process {os.getpid()}" in p.log("a"))
        since = time.monotonic()
        wait("it continues to wait", lambda: time.monotonic() > since + 0.3)
        asked = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                door.accept()[0].close()
                asked += 1
        holds("it queried once", asked == 1, asked)
        held.close()
        p.leader()


@case
def guardian_killed(_):
    """When its guardian dies, the member waits until the work has stopped, hands over and exits. Another daemon that is started
    for this member meanwhile waits until it has exited."""
    with Watched() as p:
        p.begin()
        member = p.pid(p.first)
        try:
            with Talker(p.run_socket()) as t:
                holds("the work may start", t.hold().word == "GO" and t.ask() > t.asked)
                look, until = p.lookout(), p.leads_until()
                p.daemons[p.first].kill()
                p.daemons[p.first].wait()
                holds("the work is told to stop", t.until_hears("STOP"))
                p.start(p.first)
                wait("the next daemon waits", lambda: f"member-{p.number(p.first)}.state is in use by process {member}" in p.log(p.first))
                holds("no other leads while it works", look.seen is None and not is_dead(member), look.seen)
                t.empty()
                seen = look.wait()
                holds("another member leads", seen is not None)
                holds("the end of the lease was not awaited", seen[0] < until, seen[0] - until)
            wait("the member has ended", lambda: is_dead(member))
            wait("the next daemon runs", lambda: "incarnation 2," in p.log(p.first))
            holds("the member handed over", "shuts down (its guardian is dead)" in p.log(p.first) and not p.testament_came(), p.log(p.first))
            raw = (p.folder / f"{p.first}.log").read_text()
            holds("it is logged as an error", re.search(r"level=error text=\"[a-z] shuts down\" cause=\"its guardian is dead\"", raw), raw)
            p.leader()
        finally:
            end(member)


@case
def guardian_killed_with_work_that_does_not_stop(_):
    """If the work of a member without a guardian does not stop, no other member leads before the lease ends."""
    with Watched(MIDDLE) as p:
        p.begin()
        member = p.pid(p.first)
        try:
            with Talker(p.run_socket()) as t:
                holds("the work may start", t.hold().word == "GO" and t.ask() > t.asked)
                look = p.lookout()
                p.daemons[p.first].kill()
                p.daemons[p.first].wait()
                seen, until = look.wait(), t.until
                holds("another member leads only after the lease of the work", seen is not None and seen[0] >= until, seen, until)
            wait("the member has ended", lambda: is_dead(member))
        finally:
            end(member)


@case
def guardian_of_a_follower_killed(_):
    with Watched() as p:
        p.begin()
        name = next(n for n in p.names if n != p.first)
        member = p.pid(name)
        try:
            p.daemons[name].kill()
            p.daemons[name].wait()
            wait("the member has ended", lambda: is_dead(member))
            p.start(name)
            wait("the next daemon runs", lambda: "incarnation 2," in p.log(name))
            holds("the leader is the same", p.known(p.first)["term"] == p.term)
        finally:
            end(member)


@case
def guardian_stopped(_):
    groups = ("main", *(f"g{i}" for i in range(23)))
    with Watched(groups=groups) as p:
        p.begin()
        guardian = p.daemons[p.first]
        guardian.send_signal(signal.SIGSTOP)
        with Talker(p.run_socket()) as t:
            t.say("HOLD", group="main")
            holds("the run waits, because the guardian does not know it", t.until_hears("WAIT") and t.until_hears("GO", patience=1) is None)
            holds("the member still leads", p.known(p.first)["leads"])
            for testament in ("no", "yes") * 10:  # one message per group: more than the channel can hold
                p.conf.write_text(re.sub("^testament = .*\n", "", p.conf.read_text(), flags=re.M).replace(
                    "[cluster]\n", f"[cluster]\ntestament = {testament}\n"))
                expect("the member does not wait for the guardian", p.elect(p.first, "reload"), 0, out="changed: testament")
            expect("the member does not wait for the guardian", p.elect(p.first, "is-leader", "-g", "main"), 0, out="yes")
            guardian.send_signal(signal.SIGCONT)
            holds("the work may start", t.until_hears("GO"))
            t.empty()
        wait("the guardian got the delayed messages", lambda: p.known(p.first)["testament"])
        guardian.send_signal(signal.SIGSTOP)
        look = p.lookout()
        p.kill_member()
        time.sleep(0.3)
        holds("no testament while the guardian is stopped", look.seen is None and not p.testament_came())
        guardian.send_signal(signal.SIGCONT)
        holds("the guardian sends the testament", look.wait() and p.testament_came())


@case
def guardian_too_late(_):
    """A guardian is stopped until its dead member's lease has ended. When it continues, it sends no death report: another
    member has led since, and may itself have stopped leading."""
    with Watched(MIDDLE) as p:
        p.begin()
        p.daemons[p.first].send_signal(signal.SIGSTOP)
        look = p.lookout()
        p.kill_member()
        holds("another member leads", look.wait())
        p.daemons[p.first].send_signal(signal.SIGCONT)
        holds("the guardian's exit status is the member's", p.daemons[p.first].wait(LIMIT) == 128 + signal.SIGKILL)
        holds("no testament was sent", not p.testament_came() and "testament is sent" not in p.log(p.first), p.log(p.first))


@case
def stopped_is_not_dead(_):
    with Watched(MIDDLE) as p:
        p.begin()
        look = p.lookout()
        os.kill(p.pid(p.first), signal.SIGSTOP)
        holds("another member leads", look.wait() and not p.testament_came())
        os.kill(p.pid(p.first), signal.SIGCONT)
        wait("the stopped member follows", lambda: p.group(p.first).get("leader") not in (None, p.first))


# ---- work ----

@case
def holder(_):
    with Watched() as p:
        p.begin()
        with Talker(p.run_socket()) as t, Talker(p.run_socket()) as second, Talker(p.run_socket()) as third:
            said = t.hold()
            holds("the work may start", said.word == "GO" and said.term == p.term and said.node == p.first and said.group == "main", said)
            holds("the work has a lease", 0 < t.ask() - t.asked <= LEASE)
            holds("status", p.known(p.first)["work"]["runner_pid"] == os.getpid(), p.group(p.first))
            second.say("HOLD", group="main")
            holds("one run works at a time", second.until_hears("WAIT") and second.until_hears("GO", patience=0.2) is None)
            holds("a run that does not wait is refused", third.hold(flags=NOW).word == "NO")
            third.say("HOLD", group="main")
            third.until_hears("WAIT")
            t.empty()
            holds("the next run may start", second.until_hears("GO"))
            holds("the other run may not", third.until_hears("GO", patience=0.2) is None)
            look = p.lookout()
            p.kill_member()
            holds("the run only sees its connection end", second.until_hears("LOST", "STOP") is None)
            time.sleep(0.3)
            holds("the others wait for the work", look.seen is None and not p.testament_came(), look.seen)
            stopped = clock()
            second.say_to_guardian()
            third.say_to_guardian()
            seen = look.wait()
            holds("then another member leads", seen and seen[0] >= stopped and p.testament_came())


@case
def killed_with_a_holder(_):
    """While work continues after the member's death, the guardian sends no death report, so the others wait until the lease
    ends."""
    with Watched(MIDDLE) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold()
            until = t.ask()
            look = p.lookout()
            p.kill_member()
            seen = look.wait()
            holds("the others wait for the lease", seen and seen[0] >= until and not p.testament_came(), seen, until)


@case
def holder_without_a_word(_):
    """A run disconnects without reporting that its work has ended, so the work may still be running. The guardian sends no
    death report, and no other work starts before this work's deadline."""
    with Watched(MIDDLE) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold()
            until = t.ask()
        with Talker(p.run_socket()) as t:
            t.say("HOLD", group="main")
            holds("the next run may start, after that time", t.until_hears("GO") and clock() >= until)
            until = t.ask()
            look = p.lookout()
            p.kill_member()
            t.until_hears("GO")
            t.close()
            seen = look.wait()
            holds("the others wait for the lease", seen and seen[0] >= until and not p.testament_came(), seen, until)
            holds("the log reports it", "one lease later" in p.log(p.first), p.log(p.first))


@case
def loose_holder(_):
    """Some work is not killed when its member loses leadership (LOOSE). The guardian cannot release a dead member's lease while
    such work runs, but can after it has ended."""
    with Watched(MIDDLE) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            holds("the work may start, without a testament", t.hold(flags=LOOSE).word == "GO" and not p.known(p.first)["testament"])
            until = t.ask()
            look = p.lookout()
            p.kill_member()
            t.until_hears("GO")
            t.say_to_guardian()
            seen = look.wait()
            holds("the others wait for the lease", seen and seen[0] >= until and not p.testament_came(), seen, until)
    with Watched() as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold(flags=LOOSE)
            t.empty()
            wait("the member has a testament again", lambda: p.known(p.first)["testament"])
            look = p.lookout()
            p.kill_member()
            holds("the testament is sent", look.wait() and p.testament_came())


@case
def two_loose_runs(_):
    """Two runs whose work is not killed when the member loses leadership (LOOSE). One run must wait because its user has
    started too much work. It must not overtake the other run once the guardian has registered that one. While either works, the
    guardian cannot release the lease."""
    need_root()
    with Watched() as p:
        p.begin()
        for folder in (p.folder, p.folder / "state"):
            folder.chmod(0o755)
        os.chmod(p.run_socket(), 0o666)
        guardian = p.daemons[p.first]
        with talker_of(65534, p.run_socket()) as paced, talker_of(0, p.run_socket()) as free:
            for turn in range(3):
                use_up_burst(paced)
                guardian.send_signal(signal.SIGSTOP)
                for t in (paced, free):
                    t.say("HOLD", group="main", flags=LOOSE)
                    holds("the run waits", t.until_hears("WAIT"))
                time.sleep(0.1)  # until the first user may start work again
                paced.ask()
                guardian.send_signal(signal.SIGCONT)
                first = wait("one run works", lambda: next((t for t in (free, paced) if t.until_hears("GO", patience=0.05)), None))
                second = free if first is paced else paced
                first.empty()
                holds("the next run may start", second.until_hears("GO"))
                holds("there is a testament beside work that cannot be killed:", not p.known(p.first)["testament"])
                if turn < 2:
                    second.empty()
                    wait("the testament exists again", lambda: p.known(p.first)["testament"])
            until = second.ask()
            look = p.lookout()
            p.kill_member()
            second.say_to_guardian()
            seen = look.wait()
            holds("the others wait for the lease", seen and seen[0] >= until and not p.testament_came(), seen, until)


@case
def unhealthy_run_that_the_guardian_knows(_):
    """An unhealthy run does not keep a healthy run on the same member from working."""
    with Watched() as p:
        p.begin()
        guardian = p.daemons[p.first]
        with Talker(p.run_socket()) as ill, Talker(p.run_socket()) as well:
            guardian.send_signal(signal.SIGSTOP)
            ill.say("HOLD", group="main")
            holds("the run waits", ill.until_hears("WAIT"))
            well.say("HOLD", group="main")
            holds("the run waits", well.until_hears("WAIT"))
            ill.say("HEALTH", flags=UNHEALTHY, group="main", why="no disk")
            ill.ask()
            guardian.send_signal(signal.SIGCONT)
            holds("the healthy run works", well.until_hears("GO"))
            look = p.lookout()
            p.kill_member()
            well.until_hears("LOST")
            ill.say_to_guardian()
            time.sleep(0.3)
            holds("the others wait for the work", look.seen is None and not p.testament_came(), look.seen)
            well.say_to_guardian()
            holds("then another member leads", look.wait() and p.testament_came())


@case
def resigns(_):
    """A leader that resigns renews its lease until the work has stopped, and then hands over."""
    with Watched(MIDDLE) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold()
            t.ask()
            look = p.lookout()
            admin = subprocess.Popen([sys.argv[1], "resign", "-c", str(p.conf), "--id", p.first], stdout=subprocess.PIPE, text=True)
            said = t.until_hears("STOP")
            holds("the work is told to stop", said and "ordered it to resign" in said.why, said)
            end = clock() + MIDDLE_LEASE + 1_000_000
            while clock() < end:  # longer than a lease
                holds("the lease is renewed", t.ask() > t.asked)
                holds("no other member leads", look.seen is None)
                time.sleep(0.05)
            expect("is-leader answers no", p.elect(p.first, "is-leader"), 2, out="no")
            stopped = clock()
            t.empty()
            seen = look.wait()
            holds("then another member leads", seen and seen[0] >= stopped)
            admin.wait(LIMIT)
    with Watched() as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold()
            look = p.lookout()
            yield_until_another_leads(t, look)
            t.say("RESIGN", group="main")
            said = t.until_hears("DONE", "REFUSED")
            holds("a member that does not lead refuses", said.word == "REFUSED" and "does not lead" in said.why, said)


@case
def yields_after_the_last_promise(_):
    """A run disconnects because all its processes are killed. Some of its work may survive, so the member stays leader until
    the run's lease has ended, and only then hands over. With --on-exit hold it does not hand over."""
    for flags in (YIELDS, 0):
        with Watched(MIDDLE) as p:
            p.begin()
            with Talker(p.run_socket()) as t:
                t.hold(flags=flags)
                until = t.ask()
                look = p.lookout()
            wait("the daemon notices the end", lambda: "disconnected without reporting that its work has ended" in p.log(p.first))
            if flags:
                wait("the member no longer leads", lambda: not p.group(p.first).get("leads"))
                holds("not before the end of that lease", clock() >= until, until)
                seen = look.wait()
                holds("then a member leads", seen and seen[0] >= until, seen, until)
            holds("the log reports the hand-over:", ("hands leadership over (it was killed" in p.log(p.first)) == bool(flags), p.log(p.first))


@case
def terminated(_):
    """A daemon that is told to exit waits until the work has stopped."""
    with Watched() as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold()
            look = p.lookout()
            p.daemons[p.first].terminate()
            holds("the work is told to stop", t.until_hears("STOP"))
            holds("the daemon waits", p.daemons[p.first].poll() is None and look.seen is None)
            stopped = clock()
            t.empty()
            seen = look.wait()
            holds("another member leads", seen and seen[0] >= stopped)
            holds("the daemon ends with status 0", p.daemons[p.first].wait(LIMIT) == 0 and not p.testament_came())


@case
def work_does_not_answer(_):
    """If work neither stops nor answers when told to stop, the other members wait until its lease has ended, but no longer."""
    with Watched(MIDDLE) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold()
            until = t.ask()
            look = p.lookout()
            p.daemons[p.first].terminate()
            seen = look.wait()
            holds("then another member leads", seen and seen[0] >= until, seen, until)
            holds("the daemon ends", p.daemons[p.first].wait(LIMIT) == 0 and "has not reported that its work has ended" in p.log(p.first), p.log(p.first))


def run_loses_its_leader(disturb):
    """A healthy run's member loses leadership, but notices this late. All messages about the loss must be true. On a slow
    machine the daemon may log that the run has not stopped yet, but must later log that it has. The daemon must not report that
    the run died, nor the run that the daemon died."""
    with Watched(MIDDLE) as p:
        p.begin()
        with open(p.folder / "run.log", "w") as log:
            run = subprocess.Popen([ELECT, "run", "-c", str(p.conf), "--id", p.first, "--respawn", "--", "sleep", "1000"],
                                   stdin=subprocess.DEVNULL, stderr=log, preexec_fn=die_with_parent)
        try:
            wait("the run works", lambda: "started sleep (pid " in p.log("run"))
            disturb(p)
            wait("the daemon reports the end of the work", lambda: re.search("has ended all its work|without", p.log(p.first)))
            wait("the run waits or works again", lambda: (w := p.known(p.first)["work"])["waiting"] or w["runner_pid"])
        finally:
            run.terminate()
            run.wait()
        said = p.log(p.first)
        for false in ("has not reported", "without reporting", f"stopped leading ({p.first} is not"):
            holds("a false message of the daemon:", false not in said, said)
        holds("a false message of the run:", "the daemon has ended" not in p.log("run"), p.log("run"))


@case
def run_of_a_leader_that_is_cut_off(_):
    def cut_off(p):
        others = [p.daemons[n] for n in p.names if n != p.first]
        for daemon in others:
            signal_both(daemon, signal.SIGSTOP)
        wait("the member no longer leads", lambda: "stopped leading" in p.log(p.first))
        office = p.log(p.first).split("stopped leading")[0]
        for daemon in others:
            signal_both(daemon, signal.SIGCONT)
        holds("no work is started that must stop immediately", office.count(") starts its work") == 1, office)
    run_loses_its_leader(cut_off)


@case
def told_after_its_lease(_):
    """A run may not learn that its member no longer leads until its lease has ended. Even then it can report the end of its
    work, and wait until it may work again."""
    with Watched(MIDDLE) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            holds("the work may start", t.hold() and t.ask())
            others = [p.daemons[n] for n in p.names if n != p.first]
            for daemon in others:
                signal_both(daemon, signal.SIGSTOP)
            holds("the run hears of the loss", t.until_hears("LOST", patience=LIMIT))
            for daemon in others:
                signal_both(daemon, signal.SIGCONT)
            t.empty()
            t.say("HOLD", group="main")
            said = t.until_hears("WAIT", patience=LIMIT)
            holds("the run waits", said is not None, p.log(p.first))
            holds("the end of the work is logged", p.times_in_history("has ended all its work") == 1, p.log(p.first))


@case
def run_of_a_leader_that_is_paused(_):
    def pause(p):
        signal_both(p.daemons[p.first], signal.SIGSTOP)
        wait("the run notices", lambda: "was not renewed in time" in p.log("run"))
        wait("another member leads", lambda: any(p.group(n).get("leads") for n in p.names if n != p.first))
        signal_both(p.daemons[p.first], signal.SIGCONT)
        wait("the member no longer leads", lambda: "stopped leading" in p.log(p.first))
    run_loses_its_leader(pause)


@case
def guardian_dies_before_it_registers_a_run(_):
    """If the guardian dies before it has registered a run, the run's work never starts, and the member hands over."""
    with Watched() as p:
        p.begin()
        member = p.pid(p.first)
        p.daemons[p.first].send_signal(signal.SIGSTOP)
        try:
            with Talker(p.run_socket()) as t:
                t.say("HOLD", group="main")
                holds("the run waits", t.until_hears("WAIT") and t.until_hears("GO", patience=0.3) is None)
                look = p.lookout()
                p.daemons[p.first].kill()
                holds("the run does not start", t.until_hears("GO") is None)
                holds("another member leads", look.wait())
            wait("the member has ended", lambda: is_dead(member))
        finally:
            end(member)


@case
def reports_its_end_and_disconnects(_):
    """The daemon still reads the last report of a run that has disconnected, even if the run did not read every answer. The
    guardian then gets the channel back."""
    with Watched() as p:
        p.begin()
        for _ in range(20):
            t = Talker(p.run_socket())
            holds("the work may start", t.hold() and t.ask())
            os.kill(p.pid(p.first), signal.SIGSTOP)
            t.say("ASK", stamp=1)
            t.empty()
            t.close()
            os.kill(p.pid(p.first), signal.SIGCONT)
        wait("each report was read", lambda: p.times_in_history("has ended all its work") == 20)
        holds("no other end is reported", "without reporting" not in p.log(p.first), p.log(p.first)[-900:])
        kept = [Talker(p.run_socket()) for _ in range(3)]
        channels = []
        for i in range(300):  # more channels than the guardian can hold
            t = kept[i % 3]
            holds("the work may start", t.hold().word == "GO", i)
            channels.append(t.channel)
            t.channel = None
            t.say("EMPTY")
        wait("all runs have ended", lambda: p.times_in_history("has ended all its work") == 320)
        for t in kept + channels:
            t.close()
        look = p.lookout()
        p.kill_member()
        holds("the testament is not delayed", look.wait() and p.testament_came())


@case
def children_ignored(_):
    """The daemon works even if its supervisor ignores SIGCHLD, which it inherits."""
    with Watched() as p:
        for name in p.names:
            with open(p.folder / f"{name}.log", "a") as log:
                p.daemons[name] = subprocess.Popen(
                    ["sh", "-c", "trap '' CHLD; exec \"$@\"", "sh", ELECT, "daemon", "-c", str(p.conf), "--id", name],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=ignore_children)
        p.first, p.term = p.leader()
        look = p.lookout()
        p.kill_member()
        holds("the testament is sent", look.wait() and p.testament_came())
        holds("the guardian ends", p.daemons[p.first].wait(LIMIT) == 128 + signal.SIGKILL)


def ignore_children():
    die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


# ---- clients with a deadline ----

@case
def client(_):
    with Watched(MIDDLE) as p:
        p.begin()
        other = next(n for n in p.names if n != p.first)
        with Talker(p.run_socket()) as t, Talker(p.run_socket(other)) as follower:
            until = t.ask("LEASE")
            holds("the client gets a lease", 0 < until - t.asked <= MIDDLE_LEASE)
            holds("the client of a follower gets none", follower.ask("LEASE") == 0)
            look = p.lookout()
            p.kill_member()
            seen = look.wait()
            holds("the lease of the client is respected", seen and seen[0] >= until, seen, until)
            holds("the client of a follower gets news", follower.until_hears("NEWS"))
    with Watched() as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            until = t.ask("LEASE", left=3_000_000)
            holds("the lease is not longer than requested", 0 < until - t.asked <= 3_000_000)
            look = p.lookout()
            p.kill_member()
            seen = look.wait()
            holds("the lease of the client is respected", seen and seen[0] >= until and p.testament_came(), seen, until)
    with Watched() as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            holds("the client gets a lease", t.ask("LEASE"))
            t.say("EMPTY")
            wait("the lease of the client is void", lambda: t.ask("ASK") == 0)
            look = p.lookout()
            p.kill_member()
            holds("the testament is not delayed", look.wait() and p.testament_came())
    with Watched(MIDDLE) as p:  # a client's lease also counts during a hand-over
        p.begin()
        with Talker(p.run_socket()) as t:
            until = t.ask("LEASE")
            look = p.lookout()
            t.say("RESIGN", group="main")
            seen = look.wait()
            holds("the lease of the client is respected", seen and seen[0] >= until, seen, until)
            holds("the client hears of the hand-over", t.until_hears("NEWS") and t.ask("LEASE") == 0)


@case
def client_library(_):
    """The example clients work while their member leads. Another member may lead only after they have stopped."""
    built = os.path.dirname(os.path.abspath(ELECT))
    programs = [[sys.executable, str(pathlib.Path(__file__).resolve().parent.parent.parent / "examples/client.py")],
                [os.path.join(built, "examples/client")]]
    with Watched() as p:
        p.begin()
        began, running = [], []
        try:
            for words in programs:
                running.append(subprocess.Popen([*words, p.socket(p.first), "main"], stdout=subprocess.PIPE, text=True,
                                                env=os.environ | {"LD_LIBRARY_PATH": built}))
                began.append(running[-1].stdout.readline())
                holds("the client works", f"leads main with token {p.term}" in began[-1] and "works with" in running[-1].stdout.readline(), began)
            look = p.lookout()
            p.resign(p.first)
            holds("another member leads", look.wait())
            for program in running:
                program.terminate()
                said = program.communicate(timeout=LIMIT)[0].splitlines()
                holds("the client has stopped", any("does not lead main" in line for line in said), said[-5:])
        finally:
            for program in running:
                program.kill()
                program.wait()


# ---- configuration ----

@case
def configured(_):
    with Watched(MIDDLE + "testament = no\n") as p:
        p.begin()
        look = p.lookout()
        p.kill_member()
        holds("another member leads", look.wait() and not p.testament_came())
    with Watched(LONG + "testament-delay = 700ms\n") as p:
        p.begin()
        look, killed = p.lookout(), clock()
        p.kill_member()
        seen = look.wait()
        holds("after the delay", seen and seen[0] - killed >= 700_000 and p.testament_came(), seen, killed)
    with LocalCluster() as p:
        for line, why in (("testament = maybe", "one of no, yes"), ("testament-delay = soon", "not a duration"), ("run-group = a b", "not a name"),
                          ("on-leader = hook", "not an absolute path"), ("testament-delay = 9s", "testament-delay is too long"), ("hook-timeout = 0ms", "is too short")):
            text = p.conf.read_text()
            p.conf.write_text(text.replace("[cluster]\n", f"[cluster]\n{line}\n", 1))
            done = run("config", "check", "-c", p.conf)
            holds(line, done.returncode == 78 and why in done.stderr and "elect.conf:" in done.stderr, done.stderr)
            p.conf.write_text(text)
        p.edit("[cluster]\n", "[cluster]\nrun-group = no-such-group-here\n")
        p.refused("run-group", "no such group in /etc/group")


@case
def several_groups(_):
    """If the guardian cannot release one group's lease, it still releases the other's."""
    with Watched(groups=("main", "other")) as p:
        p.begin()
        p.transfer(p.first, 1)
        wait("all members follow the leader", lambda: all(p.known(n, 1).get("leader") == p.first for n in p.names))
        with Talker(p.run_socket()) as t:
            holds("the work may start", t.hold("main").word == "GO")
            until = t.ask()
            p.kill_member()
            t.until_hears("GO")
            t.close()
        second = next(n for n in p.names if n != p.first)
        wait("the other group has a leader", lambda: p.group(second, 1).get("leader") not in (None, p.first))
        holds("without waiting for the lease", clock() < until, "it waited for the lease of the other group")
        wait("then the first group has a leader", lambda: p.group(second, 0).get("leader") not in (None, p.first))
        holds("not before the end of the lease", clock() >= until)


# ---- bad input ----

@case
def refused(_):
    with Watched(groups=("main", "other")) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            said = t.hold("mian")
            holds("the nearest name is suggested", said.word == "REFUSED" and "did you mean main?" in said.why, said)
            said = t.hold("")
            holds("the name of the group is missing", said.word == "REFUSED" and "several groups" in said.why, said)
            t.say("ASK", stamp=5)
            said = t.until_hears("TOLD")
            holds("a run that holds no office gets no lease", said.left == 0 and said.stamp == 5)
        good = Words("LEASE", group="main").pack()
        group = good.index(b"main")  # here the name in a bad packet has no terminator
        for bad in (good[:-1], good + b"x", b"", b"x" * FORMAT.size, good[:4] + b"\x40" + good[5:], good[:4] + b"\x08" + good[5:],
                    good[:group] + b"g" * 64 + good[group + 64:], good[:5] + b"\xff" + good[6:], b"\0" * 60000):
            with Talker(p.run_socket()) as t:
                if bad:
                    t.socket.send(bad)
                else:
                    t.socket.shutdown(1)
                said = t.hear()
                holds("the connection is closed", said is not None and said.word == "END", bad[:16], said)
        with Talker(p.run_socket()) as t:  # bad packets may carry descriptors, which the daemon must close
            import socket as sockets
            for _ in range(200):
                sockets.send_fds(t.socket, [good], [0, 1, 2])
                holds("the daemon answers", t.until_hears("TOLD") is not None)
        if is_root("refused/descriptors-of-a-member"):
            fds = len(os.listdir(f"/proc/{p.pid(p.first)}/fd"))
            holds("the descriptors are closed", fds < 60, fds)
        crowd = []
        try:
            for _ in range(140):
                crowd.append(Talker(p.run_socket()))
            crowd[-1].say("LEASE", group="main")
            said = crowd[-1].hear()
            holds("surplus connections are refused", said.word == "REFUSED" and "too many" in said.why, said)
            holds("the first connection is kept", crowd[0].ask("LEASE", "main") is not None)
        finally:
            for t in crowd:
                t.close()
    with LocalCluster(options="mandate = none\n") as p:
        p.start()
        wait("the daemon runs", lambda: p.group("a"))
        with Talker(p.socket("a", "run")) as t:
            said = t.hold()
            holds("without a mandate", said.word == "REFUSED" and "with mandate = none" in said.why, said)


# ---- faults at every moment ----

@case
def peers_restart(_):
    """The guardian's death report also reaches members that have restarted since the election and therefore have new
    sessions."""
    with Watched() as p:
        p.begin()
        for name in [n for n in p.names if n != p.first]:
            p.kill(name)
            p.start(name)
            wait("the member follows again", lambda: p.group(name).get("leader") == p.first)
        look = p.lookout()
        p.kill_member()
        holds("the testament is sent", look.wait() and p.testament_came())


def status_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return "State:\tX"


def is_dead(pid):
    return re.search(r"^State:\t[XZ]", status_of(pid), re.M) is not None


def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def killed_at(p, who, call, number, flags):
    """Kills the leader or its guardian at its `number`-th system call `call`. After the guardian, kills the leader, too. Later
    reports that the work has ended."""
    member, guardian = p.pid(p.first), p.daemons[p.first].pid
    pid = member if who == "member" else guardian
    tracer = subprocess.Popen(["strace", "-q", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}",
                               "-p", str(pid)], stderr=subprocess.PIPE, preexec_fn=die_with_parent)
    try:
        look = p.lookout()
        wait("the process is traced, or dead", lambda: is_dead(pid) or f"TracerPid:\t{tracer.pid}" in status_of(pid))
        try:
            t = Talker(p.run_socket())
        except OSError:
            return is_dead(pid)  # the daemon never saw the connection
        with t:
            t.say("HOLD", group="main", flags=flags)
            said = wait("the run works, or its member is dead, or another member leads",
                        lambda: t.until_hears("GO", patience=0.1) or is_dead(member) or look.seen)
            until = t.ask() if isinstance(said, Words) else 0
            idle = 0
            while not is_dead(pid) and idle < 100:  # a traced process dies late, and a sleeping one survives
                idle = idle + 1 if state(pid) == "S" else 0
                time.sleep(0.005)
            died = is_dead(pid)
            for one in (member, guardian) if who == "guardian" else (member,):
                end(one)
            t.until_hears("LOST")
            time.sleep(0.05)
            stopped = clock()
            if until:
                holds("no other member led during the work", look.seen is None or look.seen[0] >= min(stopped, until), look.seen, stopped, until)
            t.say_to_guardian()
            seen = look.wait()
            holds("another member leads", seen is not None)
            if until:
                holds("not before the work had stopped", seen[0] >= min(stopped, until), seen, stopped, until)
        return died
    finally:
        tracer.kill()
        tracer.wait()
        for one in (member, guardian):
            end(one)


def calls_made(who, flags):
    """Returns the system calls that the process makes between a run's request to start its work and the start, as (name, n) for
    the n-th call with that name."""
    with Watched() as p:
        p.begin()
        pid = p.pid(p.first) if who == "member" else p.daemons[p.first].pid
        path = p.folder / "trace"
        tracer = subprocess.Popen(["strace", "-q", "-o", str(path), "-p", str(pid)], stderr=subprocess.PIPE,
                                  preexec_fn=die_with_parent)
        try:
            wait("the process is traced", lambda: f"TracerPid:\t{tracer.pid}" in status_of(pid))
            with Talker(p.run_socket()) as t:
                t.hold(flags=flags)
                t.ask()
                t.empty()
        finally:
            tracer.terminate()
            tracer.wait()
        made, count = [], {}
        for name in re.findall(r"^(?:<... )?([a-z_0-9]+)\(", path.read_text(), re.M):
            count[name] = count.get(name, 0) + 1
            made.append((name, count[name]))
    return made


def killed_at_every_call(who, flags):
    need_root()  # only root can trace a process that is not dumpable
    if shutil.which("strace") is None:
        raise NotHere("needs strace")
    made = calls_made(who, flags)
    holds("there are system calls", len(made) > 2, made)
    died = 0
    for call, number in made[:30]:
        with Watched(SHORT) as p:
            p.begin()
            died += killed_at(p, who, call, number, flags)
    holds("many processes died at their call", died > len(made[:30]) // 3, died, made)
    print(f"{died} of {len(made[:30])} died at such a call")


@case
def member_killed_at_every_call(_):
    killed_at_every_call("member", 0)


@case
def guardian_killed_at_every_call(_):
    killed_at_every_call("guardian", 0)


@case
def member_killed_at_every_call_loosely(_):
    killed_at_every_call("member", LOOSE)


@case
def guardian_killed_at_every_call_loosely(_):
    killed_at_every_call("guardian", LOOSE)


if __name__ == "__main__":
    sys.exit(main(__file__))
