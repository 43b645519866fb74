#!/usr/bin/env python3
"""A member, its guardian, and what works under its mandate: guardian.py ELECT [CASE ... | --list] [--jobs N]

Whoever dies, in whatever order, at whatever moment: nobody leads while something that was told to work may still do
so; and who is known to be dead is not waited for. The workers here are talkers of our own (talk.py), so that they
can be as slow, silent or sudden as they like."""

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

LONG = "lease = 30s\nrenewal = 3s\nmax-lease = 40s\n"  # its end is not mistaken for a testament, however busy the machine is
MIDDLE = "lease = 8s\nrenewal = 1s\nmax-lease = 10s\n"  # for cases that wait for its end
LEASE, MIDDLE_LEASE = 30_000_000, 8_000_000  # microseconds
BURST, PERIOD = 20, 0.05  # pace.h
F_OFD_SETLK = 37
SHORT = "lease = 500ms\nrenewal = 150ms\nmax-lease = 1s\n"


class Watched(LocalCluster):
    """A cluster with a long lease, whose leader is about to have bad luck."""

    def __init__(self, options=LONG, **more):
        super().__init__(times="delay = 10ms\n" + options, **more)

    def begin(self):
        self.first, self.term = super().begin()  # all follow it: the testament of a term that was just won is for all
        return self.first, self.term

    def pid(self, name):
        return member_of(self.daemons[name].pid)

    def leads_until(self):
        """At least."""
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
        """How often it was logged; repetitions are counted."""
        said = ask(self.socket(self.first), {"verb": "history"})
        return sum(1 + e.get("repeated", 0) for e in said["history"] if text in e["text"]) if said else 0

    def testament_came(self):
        return any("is dead, says its guardian" in self.log(n) for n in self.names if n != self.first)


def talker_of(user, path):
    """A connection of that user, whom the kernel knows it by from then on."""
    os.seteuid(user)
    try:
        return Talker(path)
    finally:
        os.seteuid(0)


def use_up_burst(t):
    """Until its user may not start work for a moment; or this machine is slower than the pace."""
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
    """The run yields until another member leads. Slow members may not take the office: then the first one leads again."""
    def another_leads():
        t.say("RESIGN", group="main")
        said = t.until_hears("DONE", "REFUSED")
        holds("a run that works may not resign", said and said.word == "REFUSED" and "has not ended" in said.why, said)
        t.empty(flags=YIELDS)
        t.say("HOLD", group="main")
        wait("it leads again, or another one does", lambda: look.seen or t.until_hears("GO", patience=0.1))
        return look.seen
    wait("another one leads", another_leads)


# ---- whoever dies ----

@case
def member_killed(_):
    with Watched() as p:
        p.begin()
        look = p.lookout()
        p.kill_member()
        seen = look.wait()
        holds("another one leads", seen is not None)
        holds("by its testament", p.testament_came())
        holds("the exit status is the member's", p.daemons[p.first].wait(LIMIT) == 128 + signal.SIGKILL)
        holds("it says what happened", "the member was killed (signal 9" in p.log(p.first) and "testament sent" in p.log(p.first))
        p.start(p.first)
        p.leader()


@case
def both_killed(_):
    with Watched(MIDDLE) as p:
        p.begin()
        look, until = p.lookout(), p.leads_until()
        p.kill(p.first)
        seen = look.wait()
        holds("another one leads", seen is not None)
        holds("its lease was waited for", seen[0] >= until and not p.testament_came(), seen[0] - until)


@case
def waits_for_the_lock(_):
    """A daemon that waits asks once who has the state, and starts when it is free."""
    with LocalCluster("a") as p, socket.socket(socket.AF_UNIX) as door, open(p.state("a"), "r+b") as held:
        fcntl.fcntl(held, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        door.bind(p.socket("a"))
        door.listen(1024)
        door.setblocking(False)
        p.start("a")
        wait("it waits", lambda: f"is in use by process {os.getpid()}" in p.log("a"))
        since = time.monotonic()
        wait("and waits", lambda: time.monotonic() > since + 0.3)
        asked = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                door.accept()[0].close()
                asked += 1
        holds("it asked once", asked == 1, asked)
        held.close()
        p.leader()


@case
def guardian_killed(_):
    """Its member hands over, once the work has stopped, and ends. A daemon that is started meanwhile waits for it."""
    with Watched() as p:
        p.begin()
        member = p.pid(p.first)
        try:
            with Talker(p.run_socket()) as t:
                holds("go", t.hold().word == "GO" and t.ask() > t.asked)
                look, until = p.lookout(), p.leads_until()
                p.daemons[p.first].kill()
                p.daemons[p.first].wait()
                holds("its work is to stop", t.until_hears("STOP"))
                p.start(p.first)  # the next daemon
                wait("it waits", lambda: f"member-{p.number(p.first)}.state is in use by process {member}" in p.log(p.first))
                holds("no other leads while it works", look.seen is None and not is_dead(member), look.seen)
                t.empty()
                seen = look.wait()
                holds("another one leads", seen is not None)
                holds("no lease was waited for", seen[0] < until, seen[0] - until)
            wait("the member has ended", lambda: is_dead(member))
            wait("the next daemon runs", lambda: "starts, incarnation 2" in p.log(p.first))
            holds("it handed over", "stops (its guardian is dead)" in p.log(p.first) and not p.testament_came(), p.log(p.first))
            raw = (p.folder / f"{p.first}.log").read_text()
            holds("it is an error", re.search(r"level=error text=stops cause=\"its guardian is dead\"", raw), raw)
            p.leader()
        finally:
            end(member)


@case
def guardian_killed_with_work_that_does_not_stop(_):
    """Then no other member leads before the lease is over."""
    with Watched(MIDDLE) as p:
        p.begin()
        member = p.pid(p.first)
        try:
            with Talker(p.run_socket()) as t:
                holds("go", t.hold().word == "GO" and t.ask() > t.asked)
                look = p.lookout()
                p.daemons[p.first].kill()
                p.daemons[p.first].wait()
                seen, until = look.wait(), t.until
                holds("another one leads, after the lease that its work was told of", seen is not None and seen[0] >= until, seen, until)
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
            wait("the next daemon runs", lambda: "starts, incarnation 2" in p.log(name))
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
            holds("its turn, but the guardian does not know of it", t.until_hears("WAIT") and t.until_hears("GO", patience=1) is None)
            holds("it leads on", p.known(p.first)["leads"])
            for testament in ("no", "yes") * 10:  # told to the guardian for each group: more than the channel takes
                p.conf.write_text(re.sub("^testament = .*\n", "", p.conf.read_text(), flags=re.M).replace(
                    "[cluster]\n", f"[cluster]\ntestament = {testament}\n"))
                expect("nothing waits for it", p.elect(p.first, "reload"), 0, out="changed: testament")
            expect("nothing waits for it", p.elect(p.first, "is-leader", "-g", "main"), 0, out="yes")
            guardian.send_signal(signal.SIGCONT)
            holds("go", t.until_hears("GO"))
            t.empty()
        wait("the guardian has what it could not be told", lambda: p.known(p.first)["testament"])
        guardian.send_signal(signal.SIGSTOP)
        look = p.lookout()
        p.kill_member()
        time.sleep(0.3)
        holds("nobody says anything", look.seen is None and not p.testament_came())
        guardian.send_signal(signal.SIGCONT)
        holds("then it does", look.wait() and p.testament_came())


@case
def guardian_too_late(_):
    """Who wakes up after the lease says nothing: another one has led for long, and may have ended."""
    with Watched(MIDDLE) as p:
        p.begin()
        p.daemons[p.first].send_signal(signal.SIGSTOP)
        look = p.lookout()
        p.kill_member()
        holds("another one leads", look.wait())
        p.daemons[p.first].send_signal(signal.SIGCONT)
        holds("its end", p.daemons[p.first].wait(LIMIT) == 128 + signal.SIGKILL)
        holds("nothing was sent", not p.testament_came() and "testament is sent" not in p.log(p.first), p.log(p.first))


@case
def stopped_is_not_dead(_):
    with Watched(MIDDLE) as p:
        p.begin()
        look = p.lookout()
        os.kill(p.pid(p.first), signal.SIGSTOP)
        holds("another one leads", look.wait() and not p.testament_came())
        os.kill(p.pid(p.first), signal.SIGCONT)
        wait("it follows", lambda: p.group(p.first).get("leader") not in (None, p.first))


# ---- whoever works ----

@case
def holder(_):
    with Watched() as p:
        p.begin()
        with Talker(p.run_socket()) as t, Talker(p.run_socket()) as second, Talker(p.run_socket()) as third:
            said = t.hold()
            holds("go", said.word == "GO" and said.term == p.term and said.node == p.first and said.group == "main", said)
            holds("a lease", 0 < t.ask() - t.asked <= LEASE)
            holds("status", p.known(p.first)["work"]["runner_pid"] == os.getpid(), p.group(p.first))
            second.say("HOLD", group="main")
            holds("one at a time", second.until_hears("WAIT") and second.until_hears("GO", patience=0.2) is None)
            holds("who cannot wait is told", third.hold(flags=NOW).word == "NO")
            third.say("HOLD", group="main")
            third.until_hears("WAIT")
            t.empty()
            holds("the next one", second.until_hears("GO"))
            holds("and no other", third.until_hears("GO", patience=0.2) is None)
            look = p.lookout()
            p.kill_member()
            holds("it is told", second.until_hears("LOST", "STOP") is None)  # by the end of the connection
            time.sleep(0.3)
            holds("what works is waited for", look.seen is None and not p.testament_came(), look.seen)
            stopped = clock()
            second.say_to_guardian()
            third.say_to_guardian()
            seen = look.wait()
            holds("then another one leads", seen and seen[0] >= stopped and p.testament_came())


@case
def killed_with_a_holder(_):
    """So long as something works nobody says that it does not, for as long as the lease lasts."""
    with Watched(MIDDLE) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold()
            until = t.ask()
            look = p.lookout()
            p.kill_member()
            seen = look.wait()
            holds("its lease is waited for", seen and seen[0] >= until and not p.testament_came(), seen, until)


@case
def holder_without_a_word(_):
    """What works ends, and nobody says that it is empty: no testament, and nobody else works before it must have stopped."""
    with Watched(MIDDLE) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold()
            until = t.ask()
        with Talker(p.run_socket()) as t:
            t.say("HOLD", group="main")
            holds("the next one", t.until_hears("GO") and clock() >= until)
            until = t.ask()
            look = p.lookout()
            p.kill_member()
            t.until_hears("GO")
            t.close()
            seen = look.wait()
            holds("its lease is waited for", seen and seen[0] >= until and not p.testament_came(), seen, until)
            holds("and that is said", "testament voided" in p.log(p.first), p.log(p.first))


@case
def loose_holder(_):
    """What cannot be killed leaves no testament behind; when it has ended there is one again."""
    with Watched(MIDDLE) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            holds("go", t.hold(flags=LOOSE).word == "GO" and not p.known(p.first)["testament"])
            until = t.ask()
            look = p.lookout()
            p.kill_member()
            t.until_hears("GO")
            t.say_to_guardian()
            seen = look.wait()
            holds("its lease is waited for", seen and seen[0] >= until and not p.testament_came(), seen, until)
    with Watched() as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold(flags=LOOSE)
            t.empty()
            wait("it has a testament again", lambda: p.known(p.first)["testament"])
            look = p.lookout()
            p.kill_member()
            holds("it is sent", look.wait() and p.testament_came())


@case
def two_loose_runs(_):
    """The guardian hears of one run at a time: a run that waited for its user's pace does not come before the one that the
    guardian was told of meanwhile. Work that cannot be killed leaves no testament, whatever was before it."""
    need_root()  # of two users
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
                    holds("it waits", t.until_hears("WAIT"))
                time.sleep(0.1)  # until its user may start work again
                paced.ask()
                guardian.send_signal(signal.SIGCONT)
                first = wait("one works", lambda: next((t for t in (free, paced) if t.until_hears("GO", patience=0.05)), None))
                second = free if first is paced else paced
                first.empty()
                holds("the next one", second.until_hears("GO"))
                holds("what cannot be killed works, and there is a testament:", not p.known(p.first)["testament"])
                if turn < 2:
                    second.empty()
                    wait("there is a testament again", lambda: p.known(p.first)["testament"])
            until = second.ask()
            look = p.lookout()
            p.kill_member()
            second.say_to_guardian()
            seen = look.wait()
            holds("its lease is waited for", seen and seen[0] >= until and not p.testament_came(), seen, until)


@case
def unhealthy_run_that_the_guardian_knows(_):
    """It does not keep a healthy run from working."""
    with Watched() as p:
        p.begin()
        guardian = p.daemons[p.first]
        with Talker(p.run_socket()) as ill, Talker(p.run_socket()) as well:
            guardian.send_signal(signal.SIGSTOP)
            ill.say("HOLD", group="main")
            holds("it waits", ill.until_hears("WAIT"))
            well.say("HOLD", group="main")
            holds("it waits", well.until_hears("WAIT"))
            ill.say("HEALTH", flags=UNHEALTHY, group="main", why="no disk")
            ill.ask()
            guardian.send_signal(signal.SIGCONT)
            holds("the healthy run works", well.until_hears("GO"))
            look = p.lookout()
            p.kill_member()
            well.until_hears("LOST")  # or its end
            ill.say_to_guardian()
            time.sleep(0.3)
            holds("what works is waited for", look.seen is None and not p.testament_came(), look.seen)
            well.say_to_guardian()
            holds("then another one leads", look.wait() and p.testament_came())


@case
def resigns(_):
    """Handed over when what works has stopped, and its lease is renewed until then."""
    with Watched(MIDDLE) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold()
            t.ask()
            look = p.lookout()
            admin = subprocess.Popen([sys.argv[1], "resign", "-c", str(p.conf), "--id", p.first], stdout=subprocess.PIPE, text=True)
            said = t.until_hears("STOP")
            holds("it is told", said and "resigns" in said.why, said)
            end = clock() + MIDDLE_LEASE + 1_000_000
            while clock() < end:  # longer than a lease
                holds("its lease is renewed", t.ask() > t.asked)
                holds("nobody else leads", look.seen is None)
                time.sleep(0.05)
            expect("it says that it does not lead", p.elect(p.first, "is-leader"), 2, out="no")
            stopped = clock()
            t.empty()
            seen = look.wait()
            holds("then another one leads", seen and seen[0] >= stopped)
            admin.wait(LIMIT)
    with Watched() as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold()
            look = p.lookout()
            yield_until_another_leads(t, look)
            t.say("RESIGN", group="main")
            said = t.until_hears("DONE", "REFUSED")
            holds("who does not lead cannot", said.word == "REFUSED" and "does not lead" in said.why, said)


@case
def yields_after_the_last_promise(_):
    """All processes of a run are killed, which may leave some of its work behind: the member leads on until the time that the
    run was told is over, and hands over then. A run of --on-exit hold keeps leadership."""
    for flags in (YIELDS, 0):
        with Watched(MIDDLE) as p:
            p.begin()
            with Talker(p.run_socket()) as t:
                t.hold(flags=flags)
                until = t.ask()
                look = p.lookout()
            wait("it is noticed", lambda: "disconnected without saying that its work has ended" in p.log(p.first))
            if flags:
                wait("it leads no more", lambda: not p.group(p.first).get("leads"))
                holds("not before", clock() >= until, until)
                seen = look.wait()
                holds("then a member leads", seen and seen[0] >= until, seen, until)
            holds("it says so:", ("hands leadership over (it was killed" in p.log(p.first)) == bool(flags), p.log(p.first))


@case
def told_to_stop(_):
    """The daemon ends when what works has."""
    with Watched() as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold()
            look = p.lookout()
            p.daemons[p.first].terminate()
            holds("it is told", t.until_hears("STOP"))
            holds("it waits", p.daemons[p.first].poll() is None and look.seen is None)
            stopped = clock()
            t.empty()
            seen = look.wait()
            holds("another one leads", seen and seen[0] >= stopped)
            holds("it ends well", p.daemons[p.first].wait(LIMIT) == 0 and not p.testament_came())


@case
def stands_still(_):
    """What was told to stop, and neither does so nor asks, is waited for as long as it was promised, and no longer."""
    with Watched(MIDDLE) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            t.hold()
            until = t.ask()
            look = p.lookout()
            p.daemons[p.first].terminate()
            seen = look.wait()
            holds("then another one leads", seen and seen[0] >= until, seen, until)
            holds("it ends", p.daemons[p.first].wait(LIMIT) == 0 and "has not said that its work has ended" in p.log(p.first), p.log(p.first))


def run_loses_its_leader(disturb):
    """A healthy run whose member leads no more, and is told so late. What is said of both is true: a slow machine may be
    told that the run has not stopped yet, but then that it has; and nobody has ended."""
    with Watched(MIDDLE) as p:
        p.begin()
        with open(p.folder / "run.log", "w") as log:
            run = subprocess.Popen([ELECT, "run", "-c", str(p.conf), "--id", p.first, "--respawn", "--", "sleep", "1000"],
                                   stdin=subprocess.DEVNULL, stderr=log, preexec_fn=die_with_parent)
        try:
            wait("it works", lambda: "starts sleep" in p.log("run"))
            disturb(p)
            wait("what became of it", lambda: re.search("all work has stopped|without", p.log(p.first)))
            wait("it is let in again", lambda: (w := p.known(p.first)["work"])["waiting"] or w["runner_pid"])
        finally:
            run.terminate()
            run.wait()
        said = p.log(p.first)
        for false in ("stands still", "without a word", "without saying", f"stopped leading ({p.first} is not"):
            holds("a false message of the daemon:", false not in said, said)
        holds("a false message of the run:", "the daemon has ended" not in p.log("run"), p.log("run"))


@case
def run_of_a_leader_that_is_cut_off(_):
    def cut_off(p):
        others = [p.daemons[n] for n in p.names if n != p.first]
        for daemon in others:
            signal_both(daemon, signal.SIGSTOP)
        wait("it leads no more", lambda: "stopped leading" in p.log(p.first))
        office = p.log(p.first).split("stopped leading")[0]
        for daemon in others:
            signal_both(daemon, signal.SIGCONT)
        holds("nothing is started that must stop at once", office.count(") starts its work") == 1, office)
    run_loses_its_leader(cut_off)


@case
def told_when_its_lease_is_over(_):
    """A run that is told only then may still say that its work has ended, and wait for its next turn."""
    with Watched(MIDDLE) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            holds("go", t.hold() and t.ask())
            others = [p.daemons[n] for n in p.names if n != p.first]
            for daemon in others:
                signal_both(daemon, signal.SIGSTOP)
            holds("it is told", t.until_hears("LOST", patience=LIMIT))
            for daemon in others:
                signal_both(daemon, signal.SIGCONT)
            t.empty()
            t.say("HOLD", group="main")
            said = t.until_hears("WAIT", patience=LIMIT)
            holds("it waits", said is not None, p.log(p.first))
            holds("its end is heard", p.times_in_history("all work has stopped") == 1, p.log(p.first))


@case
def run_of_a_leader_that_is_paused(_):
    def pause(p):
        signal_both(p.daemons[p.first], signal.SIGSTOP)
        wait("the run has noticed", lambda: "was not renewed in time" in p.log("run"))
        wait("another one leads", lambda: any(p.group(n).get("leads") for n in p.names if n != p.first))
        signal_both(p.daemons[p.first], signal.SIGCONT)
        wait("it leads no more", lambda: "stopped leading" in p.log(p.first))
    run_loses_its_leader(pause)


@case
def guardian_dies_while_it_is_told(_):
    """A run that the guardian does not know of yet never works: the member hands over."""
    with Watched() as p:
        p.begin()
        member = p.pid(p.first)
        p.daemons[p.first].send_signal(signal.SIGSTOP)
        try:
            with Talker(p.run_socket()) as t:
                t.say("HOLD", group="main")
                holds("it waits", t.until_hears("WAIT") and t.until_hears("GO", patience=0.3) is None)
                look = p.lookout()
                p.daemons[p.first].kill()
                holds("it does not work", t.until_hears("GO") is None)
                holds("another one leads", look.wait())
            wait("the member has ended", lambda: is_dead(member))
        finally:
            end(member)


@case
def says_so_and_is_gone(_):
    """What was said is heard, though an answer was left unread; and a channel is given back with it."""
    with Watched() as p:
        p.begin()
        for _ in range(20):
            t = Talker(p.run_socket())
            holds("go", t.hold() and t.ask())
            os.kill(p.pid(p.first), signal.SIGSTOP)
            t.say("ASK", stamp=1)
            t.empty()
            t.close()
            os.kill(p.pid(p.first), signal.SIGCONT)
        wait("every one was heard", lambda: p.times_in_history("all work has stopped") == 20)
        holds("and nothing else", "without saying" not in p.log(p.first), p.log(p.first)[-900:])
        kept = [Talker(p.run_socket()) for _ in range(3)]
        channels = []
        for i in range(300):  # more than the guardian has room for
            t = kept[i % 3]
            holds("go", t.hold().word == "GO", i)
            channels.append(t.channel)
            t.channel = None
            t.say("EMPTY")
        wait("all are empty", lambda: p.times_in_history("all work has stopped") == 320)
        for t in kept + channels:
            t.close()
        look = p.lookout()
        p.kill_member()
        holds("nothing is doubtful", look.wait() and p.testament_came())


@case
def children_ignored(_):
    """As some supervisors have it, who do not want to hear of theirs."""
    with Watched() as p:
        for name in p.names:
            with open(p.folder / f"{name}.log", "a") as log:
                p.daemons[name] = subprocess.Popen(
                    ["sh", "-c", "trap '' CHLD; exec \"$@\"", "sh", ELECT, "daemon", "-c", str(p.conf), "--id", name],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=ignore_children)
        p.first, p.term = p.leader()
        look = p.lookout()
        p.kill_member()
        holds("it is sent", look.wait() and p.testament_came())
        holds("and it ends", p.daemons[p.first].wait(LIMIT) == 128 + signal.SIGKILL)


def ignore_children():
    die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


# ---- whoever was told for how long ----

@case
def client(_):
    with Watched(MIDDLE) as p:
        p.begin()
        other = next(n for n in p.names if n != p.first)
        with Talker(p.run_socket()) as t, Talker(p.run_socket(other)) as follower:
            until = t.ask("LEASE")
            holds("it leads, for some time", 0 < until - t.asked <= MIDDLE_LEASE)
            holds("a follower does not", follower.ask("LEASE") == 0)
            look = p.lookout()
            p.kill_member()
            seen = look.wait()
            holds("what was promised is kept", seen and seen[0] >= until, seen, until)
            holds("a follower is told", follower.until_hears("NEWS"))
    with Watched() as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            until = t.ask("LEASE", left=3_000_000)
            holds("for no longer than it asked", 0 < until - t.asked <= 3_000_000)
            look = p.lookout()
            p.kill_member()
            seen = look.wait()
            holds("what was promised is kept", seen and seen[0] >= until and p.testament_came(), seen, until)
    with Watched() as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            holds("it leads", t.ask("LEASE"))
            t.say("EMPTY")
            wait("what it was told is void", lambda: t.ask("ASK") == 0)
            look = p.lookout()
            p.kill_member()
            holds("nobody is waited for", look.wait() and p.testament_came())
    with Watched(MIDDLE) as p:  # the same when it hands over
        p.begin()
        with Talker(p.run_socket()) as t:
            until = t.ask("LEASE")
            look = p.lookout()
            t.say("RESIGN", group="main")
            seen = look.wait()
            holds("what was promised is kept", seen and seen[0] >= until, seen, until)
            holds("and it is told", t.until_hears("NEWS") and t.ask("LEASE") == 0)


@case
def client_library(_):
    """The examples, with a real daemon: they work while it leads, and nobody leads before they have stopped."""
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
                holds("it works", f"leads main with token {p.term}" in began[-1] and "works with" in running[-1].stdout.readline(), began)
            look = p.lookout()
            p.resign(p.first)
            holds("another one leads", look.wait())
            for program in running:
                program.terminate()
                said = program.communicate(timeout=LIMIT)[0].splitlines()
                holds("it has stopped", any("does not lead main" in line for line in said), said[-5:])
        finally:
            for program in running:
                program.kill()
                program.wait()


# ---- how it is configured ----

@case
def configured(_):
    with Watched(MIDDLE + "testament = no\n") as p:
        p.begin()
        look = p.lookout()
        p.kill_member()
        holds("another one leads", look.wait() and not p.testament_came())
    with Watched(LONG + "testament-delay = 700ms\n") as p:
        p.begin()
        look, killed = p.lookout(), clock()
        p.kill_member()
        seen = look.wait()
        holds("after a while", seen and seen[0] - killed >= 700_000 and p.testament_came(), seen, killed)
    with LocalCluster() as p:
        for line, why in (("testament = maybe", "one of no, yes"), ("testament-delay = soon", "no time"), ("run-group = a b", "no name"),
                          ("on-leader = hook", "from / on"), ("testament-delay = 9s", "too long a testament-delay"), ("hook-timeout = 0ms", "nothing can be that fast")):
            text = p.conf.read_text()
            p.conf.write_text(text.replace("[cluster]\n", f"[cluster]\n{line}\n", 1))
            done = run("config", "check", "-c", p.conf)
            holds(line, done.returncode == 78 and why in done.stderr and "elect.conf:" in done.stderr, done.stderr)
            p.conf.write_text(text)
        p.edit("[cluster]\n", "[cluster]\nrun-group = no-such-group-here\n")
        p.refused("run-group", "no such group in /etc/group")


@case
def several_groups(_):
    """One group's testament is burnt, the other's is sent."""
    with Watched(groups=("main", "other")) as p:
        p.begin()
        p.transfer(p.first, 1)
        wait("all follow it", lambda: all(p.known(n, 1).get("leader") == p.first for n in p.names))
        with Talker(p.run_socket()) as t:
            holds("go", t.hold("main").word == "GO")
            until = t.ask()
            p.kill_member()
            t.until_hears("GO")
            t.close()
        second = next(n for n in p.names if n != p.first)
        wait("the other group has a leader", lambda: p.group(second, 1).get("leader") not in (None, p.first))
        holds("at once", clock() < until, "the first one waits for its lease")
        wait("then that one, too", lambda: p.group(second, 0).get("leader") not in (None, p.first))
        holds("not before", clock() >= until)


# ---- bad input ----

@case
def refused(_):
    with Watched(groups=("main", "other")) as p:
        p.begin()
        with Talker(p.run_socket()) as t:
            said = t.hold("mian")
            holds("nearest", said.word == "REFUSED" and "did you mean main?" in said.why, said)
            said = t.hold("")
            holds("which", said.word == "REFUSED" and "several groups" in said.why, said)
            t.say("ASK", stamp=5)
            said = t.until_hears("TOLD")
            holds("who holds nothing may nothing", said.left == 0 and said.stamp == 5)
        good = Words("LEASE", group="main").pack()
        group = good.index(b"main")  # where a name without an end is put
        for bad in (good[:-1], good + b"x", b"", b"x" * FORMAT.size, good[:4] + b"\x40" + good[5:], good[:4] + b"\x08" + good[5:],
                    good[:group] + b"g" * 64 + good[group + 64:], good[:5] + b"\xff" + good[6:], b"\0" * 60000):
            with Talker(p.run_socket()) as t:
                if bad:
                    t.socket.send(bad)
                else:
                    t.socket.shutdown(1)
                said = t.hear()
                holds("let go", said is not None and said.word == "END", bad[:16], said)
        with Talker(p.run_socket()) as t:  # with descriptors that nobody asked for
            import socket as sockets
            for _ in range(200):
                sockets.send_fds(t.socket, [good], [0, 1, 2])
                holds("it is answered", t.until_hears("TOLD") is not None)
        if is_root("refused/descriptors-of-a-member"):
            fds = len(os.listdir(f"/proc/{p.pid(p.first)}/fd"))
            holds("and none is kept", fds < 60, fds)
        crowd = []
        try:
            for _ in range(140):
                crowd.append(Talker(p.run_socket()))
            crowd[-1].say("LEASE", group="main")
            said = crowd[-1].hear()
            holds("too many are let go", said.word == "REFUSED" and "too many" in said.why, said)
            holds("the first one is not", crowd[0].ask("LEASE", "main") is not None)
        finally:
            for t in crowd:
                t.close()
    with LocalCluster(options="mandate = none\n") as p:
        p.start()
        wait("it runs", lambda: p.group("a"))
        with Talker(p.socket("a", "run")) as t:
            said = t.hold()
            holds("without a mandate", said.word == "REFUSED" and "without a mandate" in said.why, said)


# ---- at every moment ----

@case
def peers_restart(_):
    """A testament reaches whoever has restarted since, under its new session; and a new term has a new one."""
    with Watched() as p:
        p.begin()
        for name in [n for n in p.names if n != p.first]:
            p.kill(name)
            p.start(name)
            wait("it is back", lambda: p.group(name).get("leader") == p.first)
        look = p.lookout()
        p.kill_member()
        holds("it is sent", look.wait() and p.testament_came())


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
    """The leader, or its guardian, is killed at that system call, if it comes to that; then both; what works says so later."""
    member, guardian = p.pid(p.first), p.daemons[p.first].pid
    pid = member if who == "member" else guardian
    tracer = subprocess.Popen(["strace", "-q", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}",
                               "-p", str(pid)], stderr=subprocess.PIPE, preexec_fn=die_with_parent)
    try:
        look = p.lookout()
        wait("it is traced, or dead", lambda: is_dead(pid) or f"TracerPid:\t{tracer.pid}" in status_of(pid))
        try:
            t = Talker(p.run_socket())
        except OSError:
            return is_dead(pid)  # it never heard of us
        with t:
            t.say("HOLD", group="main", flags=flags)
            said = wait("it works, or is dead, or another one leads",
                        lambda: t.until_hears("GO", patience=0.1) or is_dead(member) or look.seen)
            until = t.ask() if isinstance(said, Words) else 0
            idle = 0
            while not is_dead(pid) and idle < 100:  # a traced process dies late; one that sleeps lives on
                idle = idle + 1 if state(pid) == "S" else 0
                time.sleep(0.005)
            died = is_dead(pid)
            for one in (member, guardian) if who == "guardian" else (member,):
                end(one)
            t.until_hears("LOST")  # or its end
            time.sleep(0.05)  # so long it works on
            stopped = clock()
            if until:
                holds("nobody else led while it worked", look.seen is None or look.seen[0] >= min(stopped, until), look.seen, stopped, until)
            t.say_to_guardian()
            seen = look.wait()
            holds("another one leads", seen is not None)
            if until:
                holds("not before it had stopped", seen[0] >= min(stopped, until), seen, stopped, until)
        return died
    finally:
        tracer.kill()
        tracer.wait()
        for one in (member, guardian):
            end(one)


def calls_made(who, flags):
    """The system calls between asking for its turn and working: (name, how many before it have that name)."""
    with Watched() as p:
        p.begin()
        pid = p.pid(p.first) if who == "member" else p.daemons[p.first].pid
        path = p.folder / "trace"
        tracer = subprocess.Popen(["strace", "-q", "-o", str(path), "-p", str(pid)], stderr=subprocess.PIPE,
                                  preexec_fn=die_with_parent)
        try:
            wait("it is traced", lambda: f"TracerPid:\t{tracer.pid}" in status_of(pid))
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
    need_root()  # only root traces a process that is not dumpable
    if shutil.which("strace") is None:
        raise NotHere("needs strace")
    made = calls_made(who, flags)
    holds("there are some", len(made) > 2, made)
    died = 0
    for call, number in made[:30]:
        with Watched(SHORT) as p:
            p.begin()
            died += killed_at(p, who, call, number, flags)
    holds("many of them died there", died > len(made[:30]) // 3, died, made)
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
