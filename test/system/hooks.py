#!/usr/bin/env python3
"""Tests the hooks that a member runs when the leader changes: hooks.py ELECT [CASE ... | --list] [--jobs N]

Hooks run in order, one at a time, with a time limit, and always for the current leader. A hook runs only if no other user can
change the file or its path. The suite's hook is a script that records when it begins and ends, and executes the content of a
file beside it."""

import collections
import contextlib
import datetime
import os
import pathlib
import re
import signal
import sys
import time

sys.dont_write_bytecode = True
from lib.cases import case, main  # noqa: E402
from lib.checks import expect, holds, is_root  # noqa: E402
from lib.elect_command import run  # noqa: E402
from lib.local_cluster import LocalCluster  # noqa: E402
from lib.processes import children, member_of, state, wait  # noqa: E402
from lib.run_socket import Lookout, Talker, clock  # noqa: E402
from lib.status_socket import ask  # noqa: E402
from lib.times import LONG_TIMES, TIMES  # noqa: E402

HOOKS = ("pre-leader", "on-leader", "on-follower", "on-leader-change")
SCRIPT = """#!/bin/sh
# $1 is the word "begins" or "ends"; a hook itself has no arguments
note() {
    read -r up rest < /proc/uptime
    echo "$1 $ELECT_NODE $ELECT_HOOK $ELECT_GROUP $ELECT_LEADER $ELECT_TERM $ELECT_TOKEN $$ $up $# ${status:-0}" >> "FOLDER/noted"
}
note begins
if [ -e "FOLDER/$ELECT_HOOK.$ELECT_NODE" ]; then . "FOLDER/$ELECT_HOOK.$ELECT_NODE"
elif [ -e "FOLDER/$ELECT_HOOK" ]; then . "FOLDER/$ELECT_HOOK"; fi
note ends
exit ${status:-0}
"""
PATIENT = "hook-timeout = 600s\n"  # for cases where no hook may time out on a slow machine
Note = collections.namedtuple("Note", "what node hook group leader term token pid at count status")


class Hooked(LocalCluster):
    def __init__(self, which=HOOKS, options=PATIENT, **more):
        super().__init__(**more)
        self.hooks = self.folder / "hooks"
        self.hooks.mkdir(mode=0o755)
        self.folder.chmod(0o755)
        self.noted = self.hooks / "noted"
        self.noted.touch()
        self.program = self.hooks / "hook"
        self.program.write_text(SCRIPT.replace("FOLDER", str(self.hooks)))
        self.program.chmod(0o755)
        self.edit("state-dir = state\n", "state-dir = state\n" + "".join(f"{h} = {self.program}\n" for h in which) + options)

    def does(self, hook, lines, node=None):
        """Atomically changes what the hook does."""
        path = self.hooks / (f"{hook}.{node}" if node else hook)
        new = path.with_suffix(".new")
        new.write_text(lines + "\n")
        new.rename(path)

    def all_notes(self):
        """Returns all notes in the order written. A hook writes one when it begins, and another just before it ends."""
        return [Note(*line.split(" ")) for line in self.noted.read_text().rpartition("\n")[0].splitlines()]

    def notes(self, node=None, begun=True):
        """Returns the notes that hooks wrote when they began or, if `begun` is false, when they ended. `node` limits them to
        one member."""
        return [note for note in self.all_notes() if (note.what == "begins") == begun and node in (None, note.node)]

    def hooks_of(self, node):
        return [note.hook for note in self.notes(node)]

    def one_at_a_time(self):
        """Checks for each member and group that a hook ends before the next one begins, and that hooks get no arguments."""
        runs, cut_short = {}, set()
        for note in self.all_notes():
            holds("no arguments", note.count == "1", note)
            where = note.node, note.group
            if note.what == "begins":
                before = runs.get(where)  # a hook without a note of its end was killed
                holds("one at a time", before is None or not is_hook(before, self.program), note)
                cut_short |= {(where, before)} if before else set()
                cut_short -= {(where, note.pid)}
                runs[where] = note.pid
            else:
                holds("a killed hook does not end later", (where, note.pid) not in cut_short, note)
                runs[where] = None

    def settled(self):
        """Waits until on-leader has started on the leader, and returns (leader, token of that hook). A leader that succeeds
        itself in a larger term runs no hook for it, so its term may be larger than the token. A slow machine may elect another
        leader meanwhile."""
        def found():
            leader, _ = self.leader()
            turns = [n for n in self.notes(leader) if n.hook in ("on-leader", "on-follower")]
            return (leader, int(turns[-1].token)) if turns and turns[-1].hook == "on-leader" else None
        return wait("the hooks of the leader were run", found)

    def promised(self):
        """Returns (leader, token, until) of a leader that has started on-leader and has a lease until `until` or later."""
        def found():
            leader, token = self.settled()
            now, said = clock(), ask(self.socket(leader), {"verb": "is-leader"})
            leads = said and said.get("leads") and self.settled() == (leader, token)
            return (leader, token, now + said["left_us"]) if leads else None
        return wait("a leader keeps its office", found)

    def undone_before(self, former, term, note, until):
        """Checks that the former leader's on-follower or its lease had ended when this note was written. Returns True if it was
        the lease."""
        all_of_it = self.all_notes()
        undone = [i for i, n in enumerate(all_of_it) if
                  (n.what, n.node, n.hook, n.token) == ("ends", former, "on-follower", str(term))]
        waited = float(note.at) * 1e6 >= until - 20000  # the note's clock has a resolution of 10 ms
        holds("on-follower ended before", waited or (undone and undone[0] < all_of_it.index(note)), note, until, all_of_it)
        return waited


def is_hook(pid, program):
    try:
        return str(program).encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def lost_its_lease(p, name, since=0):
    """Returns True if the log shows that the leader lost its lease in a stall. A hook may then have ended too late, and the
    member may lead again before it could run on-follower."""
    log = p.log(name)[since:]
    return "not renewed in time" in log or "has run out" in log


@case
def in_order(_):
    with Hooked(times=LONG_TIMES) as p:
        p.does("on-follower", "sleep 0.2")
        p.start()
        leader, term, until = p.promised()
        wait("every member ran on-leader-change", lambda: all(("on-leader-change" in p.hooks_of(n)) for n in p.names))
        p.elect(leader, "resign")
        wait("on-follower has ended", lambda: any((n.hook, n.token) == ("on-follower", str(term)) for n in p.notes(leader, begun=False)))
        new, later = wait("another member leads", lambda: (found := p.settled())[1] > term and found)
        begun = next(n for n in p.notes(new) if (n.hook, n.token) == ("on-leader", str(later)))
        p.undone_before(leader, term, begun, until)
        for n in p.names:
            each_in_order(p, n)
        p.one_at_a_time()


def each_in_order(p, name):
    """Checks that a leader's hooks ran in the order pre-leader, on-leader, on-follower, and that a member that never led ran
    only on-leader-change."""
    asked = led = None
    for note in p.notes(name):
        if note.hook in ("pre-leader", "on-leader"):
            term = int(note.token)
            holds("the term", (note.leader, note.term) == (name, f"{term >> 16}.{term & 0xffff}"), note)
            holds("the term belongs to the member", p.names[(term & 0xffff) - 1] == name, note)
        if note.hook == "pre-leader":
            holds("on-follower ran before", led is None or lost_its_lease(p, name), note)
            asked = note.token
        elif note.hook == "on-leader":
            holds("pre-leader runs before on-leader", asked is not None and int(asked) <= int(note.token), note)
            asked, led = None, note.token
        elif note.hook == "on-follower":
            holds("on-follower has the term of on-leader", led in (note.token, None), note)  # None: on-leader was killed before its first note
            led = None


@case
def declines(_):
    with Hooked() as p:
        for name in "bc":
            p.does("pre-leader", "status=1", name)
        p.start()

        def others():
            return [n for n in p.notes() if n.hook == "on-leader" and n.node != "a"]
        wait("the member that agrees leads", lambda: p.group("a").get("leads") or others())

        def said():
            """Returns True if b or c has declined to lead. If neither was elected yet because a was elected first, transfers
            leadership from a to b."""
            if not any(n.node in "bc" and n.hook == "pre-leader" for n in p.notes()):
                p.elect("a", "transfer", "b")
            return any("pre-leader exited with status 1: this member declines" in p.log(n) for n in "bc")
        wait("the log reports that a member declines", said)
        wait("the member that agrees leads", lambda: p.group("a").get("leads") or others())
        holds("no other member has led", not others(), p.notes())
        p.one_at_a_time()


@case
def all_decline(_):
    """If all members decline to lead, leadership does not move between them as fast as possible. From its second failure on, a
    member waits after each failure before it may lead again, each time twice as long."""
    for hook, words in (("pre-leader", "this member declines"), ("on-leader", "this member resigns")):
        with Hooked() as p:
            p.does(hook, "status=2")
            p.start()

            def failures(name):
                return [line.split()[0] for line in p.log(name).splitlines() if f"{hook} exited with status 2: {words}" in line]
            name = wait("five failures", lambda: next((n for n in p.names if len(failures(n)) >= 5), None))
            at = [datetime.datetime.fromisoformat(date.replace("Z", "+00:00")).timestamp() for date in failures(name)]
            for nth in range(1, 4):
                holds("not before the back-off", at[nth + 1] - at[nth] >= 0.1 * 2 ** (nth - 1) - 0.002, nth, at)
            p.does(hook, "status=0")
            p.leader()


@case
def while_pre_leader_runs(_):
    """A member tells no client that it leads until its pre-leader hook agrees. If it loses leadership meanwhile, it does not
    wait for the hook."""
    with Hooked(times=LONG_TIMES) as p:
        p.does("pre-leader", "while [ ! -e FOLDER/go ]; do sleep 0.02; done".replace("FOLDER", str(p.hooks)))
        p.start()

        def asked():
            return next((n for n in p.names if (group := p.group(n)).get("state") == "prepares to lead" or group.get("leads")), None)
        name = wait("a member runs pre-leader", asked)
        holds("the member does not lead yet", not p.group(name).get("leads"))
        said = wait("is-leader answers", lambda: (done := p.elect(name, "is-leader")).returncode != 3 and done)  # 3: no answer within a second
        expect("is-leader", said, 2, out="no")
        with Talker(p.socket(name, "run")) as t:
            t.say("HOLD", group="main")
            holds("no run works", t.until_hears("WAIT") and t.until_hears("GO", patience=0.3) is None)
            holds("no client gets a lease", t.ask("LEASE") == 0)
            t.say_to_guardian()
        holds("no member has led", not any("became leader in term" in p.log(n) for n in p.names) and not any(n.hook == "on-leader" for n in p.notes()))
        (p.hooks / "go").touch()
        p.settled()


@case
def fails_repeatedly(_):
    """on-leader runs again after exit status 1, but not after 2: that leader cannot begin its work and resigns."""
    with Hooked() as p:
        p.does("on-leader", "n=$(cat FOLDER/count 2>/dev/null || echo 0); echo $((n+1)) > FOLDER/count; [ $n -ge 2 ] || status=1"
               .replace("FOLDER", str(p.hooks)))
        p.start()
        wait("the third run succeeds", lambda: any((n.hook, n.status) == ("on-leader", "0") for n in p.notes(begun=False)))
        p.settled()
        time.sleep(0.3)
        for name in p.names:
            for token, statuses in outcomes(p, name).items():
                holds("it runs again after each failure, and only then", all(s == "1" for s in statuses[:-1]), token, statuses)
            again = sum(len(statuses) - 1 for statuses in outcomes(p, name).values())
            said = p.log(name).count("on-leader exited with status 1: running it again")
            holds("the log reports each repetition", again <= said <= 2, name, again, said, p.log(name))
        p.one_at_a_time()
    with Hooked() as p:
        for name in "bc":
            p.does("on-leader", "status=2", name)
        p.start()
        wait("the member whose hook succeeds leads", lambda: p.group("a").get("leads") and "on-leader" in p.hooks_of("a"))
        failed = {n.node for n in p.notes(begun=False) if n.node in "bc" and n.hook == "on-leader"}
        for n in failed:
            wait("on-follower runs", lambda: "on-follower" in p.hooks_of(n))
            wait("the log reports the failure", lambda: "on-leader exited with status 2: this member resigns" in p.log(n) or lost_its_lease(p, n))


def outcomes(p, name):
    """Returns {token: [exit status of each on-leader hook with this token]}, with None for a hook that was killed."""
    found = {}
    for note in p.all_notes():
        if (note.node, note.hook) == (name, "on-leader"):
            statuses = found.setdefault(note.token, [])
            if note.what == "begins":
                statuses.append(None)
            else:
                statuses[-1] = note.status
    return found


@case
def takes_too_long(_):
    """A hook that exceeds its timeout is killed with all processes that it started."""
    with Hooked(("on-leader-change",), "hook-timeout = 300ms\n") as p:
        p.does("on-leader-change", "(trap '' TERM; setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' &) ; sleep 1000")
        marker = "sleep 1000"
        p.start()
        leader, _ = p.leader()
        wait("the log reports the timeout", lambda: "on-leader-change took too long" in p.log(leader))

        def left():
            return [pid for pid in os.listdir("/proc") if pid.isdigit() and belongs(pid, str(p.hooks), marker)]
        wait("no process is left between two runs", lambda: not left())
        p.leader()
        holds("no office is lost because of it", not any(word in p.log(n) for n in p.names for word in ("this member declines", "this member resigns")))


def belongs(pid, folder, words):
    try:
        return words.replace(" ", "\0") in pathlib.Path(f"/proc/{pid}/cmdline").read_text() and folder in \
            pathlib.Path(f"/proc/{pid}/environ").read_text(errors="replace").replace("state", "hooks")
    except OSError:
        return False


@case
def nothing_is_left(_):
    """Processes that a hook leaves behind are killed when it ends."""
    with Hooked() as p:
        p.does("on-leader", f"cd {p.hooks}; for i in 1 2 3; do setsid sleep 987 >/dev/null 2>&1 & echo $! >> {p.hooks}/pids; done")
        p.start()
        p.settled()
        wait("the hook has ended", lambda: any(n.hook == "on-leader" for n in p.notes(begun=False)))
        pids = wait("the hook started processes", lambda: (p.hooks / "pids").read_text().split() if (p.hooks / "pids").exists() else None)
        wait("no process is left", lambda: not any(is_sleep(pid, 987) for pid in pids))


def is_sleep(pid, seconds):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text() == f"sleep\0{seconds}\0"
    except OSError:
        return False


# ---- death of the member, its guardian or both ----

@case
def member_killed(_):
    """The guardian runs on-follower for its dead member before another member can lead."""
    with Hooked(times=LONG_TIMES) as p:
        p.does("on-follower", "sleep 0.3")
        p.start()
        leader, term, until = p.promised()
        look = Lookout(ask, {n: p.socket(n) for n in p.names if n != leader}, term)
        os.kill(member_of(p.daemons[leader].pid), signal.SIGKILL)
        seen = look.wait()
        holds("another member leads", seen)
        begun = next(n for n in p.notes(seen[1]) if n.hook == "pre-leader" and int(n.token) > term)
        waited = p.undone_before(leader, term, begun, until)
        holds("because of the testament", waited or any("died (reported by its guardian)" in p.log(n) for n in p.names))


@case
def member_killed_and_not_undone(_):
    for lines, options in (("status=1", PATIENT), ("sleep 1000", "hook-timeout = 2s\n"), (None, PATIENT)):
        with Hooked(HOOKS if lines else ("on-leader",), options) as p:
            if lines:
                p.does("on-follower", lines)
            p.start()
            leader, term, until = p.promised()
            look = Lookout(ask, {n: p.socket(n) for n in p.names if n != leader}, term)
            os.kill(member_of(p.daemons[leader].pid), signal.SIGKILL)
            seen = look.wait()
            holds("the others wait for the lease", seen and seen[0] >= until - 5000, seen, until)
            holds("no testament", not any("died (reported by its guardian)" in p.log(n) for n in p.names))


@case
def guardian_killed(_):
    """If the guardian dies, its member runs on-follower itself, hands over and exits."""
    with Hooked(times=LONG_TIMES) as p:
        p.does("on-leader", "sleep 0.3")
        p.start()

        def begun():
            """Returns a leader whose on-leader has ended, as shown by a note of on-leader-change, which a new leader runs only
            afterwards. If the guardian died earlier, the others would wait until the lease ends."""
            leader, term, until = p.promised()
            notes = p.notes(leader)
            on_leader = max(i for i, n in enumerate(notes) if n.hook == "on-leader")
            return (leader, term, until) if any(n.hook == "on-leader-change" for n in notes[on_leader:]) else None
        leader, term, until = wait("on-leader has ended", begun)
        member = member_of(p.daemons[leader].pid)
        look = Lookout(ask, {n: p.socket(n) for n in p.names if n != leader}, term)
        p.daemons[leader].kill()
        seen = look.wait()
        holds("another member leads", seen is not None, p.log(leader))
        holds("the end of the lease was not awaited", seen[0] < until, seen, until)
        wait("the member has ended", lambda: not os.path.exists(f"/proc/{member}"))
        wait("the next leader's hook was run", lambda: [n for n in p.notes() if n.hook == "on-leader" and int(n.token) > term])
        p.undone_before(leader, term, [n for n in p.notes() if n.hook == "on-leader" and int(n.token) > term][0], until)
        p.one_at_a_time()


@case
def guardian_killed_and_not_undone(_):
    """The other members wait until the lease ends if on-follower fails again and again, or if a hook runs when the guardian
    dies."""
    for hook, does in (("on-follower", "status=2"), ("on-leader", "touch FOLDER/runs; sleep 1000")):
        with Hooked(times=TIMES) as p:
            p.does(hook, does.replace("FOLDER", str(p.hooks)))
            p.start()
            if hook == "on-follower":
                leader, term, until = p.promised()
            else:
                wait("the hook runs", lambda: (p.hooks / "runs").exists())
                leader, term = p.leader()
                until = clock() + ask(p.socket(leader), {"verb": "is-leader"})["left_us"]
            look = Lookout(ask, {n: p.socket(n) for n in p.names if n != leader}, term)
            p.does("on-leader", "true")
            p.daemons[leader].kill()
            seen = look.wait()
            holds("the others wait for the lease", seen and seen[0] >= until - 5000, hook, seen, until)
            wait("on-follower was run", lambda: "on-follower" in p.hooks_of(leader))
            wait("the log reports it", lambda: hook == "on-leader" or "the other members wait until the lease is over" in p.log(leader))


@case
def guardian_killed_during_on_leader(_):
    """The guardian dies while its on-leader runs. The member starts on-follower only when on-leader has ended, because
    on-leader could otherwise act after on-follower. It waits at most until the lease ends, because a stopped hook parent would
    make it wait forever."""
    with Hooked(times=LONG_TIMES) as p:
        p.does("on-leader", f"[ -e {p.hooks}/runs ] || {{ echo $ELECT_NODE > {p.hooks}/new; mv {p.hooks}/new {p.hooks}/runs; sleep 1000; }}")
        p.start()
        wait("the hook runs", lambda: (p.hooks / "runs").exists())
        leader = (p.hooks / "runs").read_text().strip()
        guardian = p.daemons[leader].pid
        member = member_of(guardian)
        parent, = set(children(guardian)) - {member}
        os.kill(parent, signal.SIGSTOP)  # as on a busy machine, the hook parent is told to kill its hook but does not run
        try:
            left = wait("the rest of the lease is known", lambda: (said := ask(p.socket(leader), {"verb": "is-leader"})) and said.get("left_us"))
            until = clock() + left - 1000000  # may have been renewed since, but is never shorter
            p.daemons[leader].kill()
            wait("the member hands over", lambda: p.group(leader).get("state") == "hands over")
            time.sleep(0.3)  # an on-follower that does not wait would start now
            begun = [n for n in p.notes(leader) if n.hook == "on-follower"]
        finally:
            os.kill(parent, signal.SIGCONT)
        holds("on-follower has not run yet", all(float(n.at) * 1e6 >= until for n in begun), begun, until)
        wait("on-follower has ended", lambda: any(n.hook == "on-follower" for n in p.notes(leader, begun=False)))
        wait("the member has ended", lambda: not os.path.exists(f"/proc/{member}"))
        undone = next(n for n in p.notes(leader) if n.hook == "on-follower")
        holds("as soon as the hook had ended", float(undone.at) * 1e6 < until, undone, until)
        p.one_at_a_time()


@case
def stopped_during_on_follower(_):
    """A service manager that stops a unit sends SIGTERM to all its processes, including hooks. An on-follower that is
    terminated like this must run again."""
    with Hooked(times=LONG_TIMES) as p:
        p.does("on-follower", f"[ -e {p.hooks}/runs ] || {{ touch {p.hooks}/runs; exec sleep 1000; }}; sleep 0.5")
        p.start()
        leader, term = p.settled()
        wait("the leader resigns", lambda: (p.hooks / "runs").exists() or
             p.elect(leader, "resign", "--timeout", "1").returncode not in (0, 1) and None)
        wait("on-follower runs", lambda: (p.hooks / "runs").exists())
        former = next(n.node for n in p.notes() if n.hook == "on-follower")
        stop_unit(p.daemons[former].pid)
        wait("another member leads", lambda: [n for n in p.notes() if n.hook == "on-leader" and n.node != former and int(n.token) > term])
        notes = p.all_notes()
        later = next(i for i, n in enumerate(notes) if (n.what, n.hook) == ("begins", "on-leader") and n.node != former and
                     int(n.token) > term)
        holds("on-follower ended before", any((n.what, n.hook, n.node) == ("ends", "on-follower", former) for n in notes[:later]) or
              lost_its_lease(p, former), notes)
        wait("the daemon ends", lambda: p.daemons[former].poll() == 0)
        p.one_at_a_time()


@case
def stopped_during_on_follower_of_the_guardian(_):
    """An on-follower that was terminated must run again. Only the guardian can do this if the member has died."""
    with Hooked(times=LONG_TIMES) as p:
        p.does("on-follower", f"[ -e {p.hooks}/runs ] || {{ touch {p.hooks}/runs; exec sleep 1000; }}")
        p.start()
        leader, term = p.settled()
        os.kill(member_of(p.daemons[leader].pid), signal.SIGKILL)
        wait("on-follower runs", lambda: (p.hooks / "runs").exists())
        stop_unit(p.daemons[leader].pid)
        wait("the guardian ends", lambda: p.daemons[leader].poll() is not None)
        undone = [n.token for n in p.notes(leader, begun=False) if n.hook == "on-follower"]
        holds("on-follower ended", undone[-1:] == [str(term)], p.notes(leader))
        p.one_at_a_time()


def everything(pid):
    """Returns the daemon and all its descendants: the processes in its control group."""
    return [pid] + [one for child in children(pid) for one in everything(child)]


def stop_unit(pid):
    for one in everything(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGTERM)


@case
def guardian_too_late(_):
    """A guardian is stopped while its member becomes leader and is replaced by another one. When it continues, it starts no
    hook for the former leader."""
    with Hooked(("on-leader",)) as p:
        p.start()
        leader, _ = p.settled()
        other = [n for n in p.names if n != leader][-1]
        guardian, member = p.daemons[other].pid, member_of(p.daemons[other].pid)
        os.kill(guardian, signal.SIGSTOP)
        wait("the guardian is stopped", lambda: state(guardian) == "T")
        before, offices = len(p.notes(other)), p.log(other).count("became leader in term")  # the member may have led before on a slow machine
        try:
            # The log also shows an election if the member has already lost leadership. It does not become leader again while
            # its guardian is stopped.
            wait(f"{other} leads", lambda: p.log(other).count("became leader in term") > offices or hand_over(p, other))
            os.kill(member, signal.SIGSTOP)
            third = wait("another member leads", lambda: next((n for n in p.names if n != other and p.group(n).get("leads")), None))
            over = wait("the term of the third leader", lambda: p.group(third).get("term"))

            def late():
                return [n for n in p.notes(other)[before:] if int(n.token) < over]
            os.kill(guardian, signal.SIGCONT)
            wait("the guardian has read its messages", lambda: state(guardian) == "S")
            time.sleep(0.2)
            holds("no hook was started", not late(), p.notes())
        finally:
            os.kill(guardian, signal.SIGCONT)
            os.kill(member, signal.SIGCONT)
        p.leader()
        holds("still no hook was started", not late(), p.notes())


def hand_over(p, to):
    """Makes the leader hand over if it still leads. On a slow machine another member may take over."""
    for name in p.names:
        if name != to and p.group(name).get("leads"):
            p.elect(name, "transfer", to)


@case
def hook_parent_killed(_):
    """All of a hook's processes die when the hook parent is killed."""
    with Hooked(("on-leader",), times=LONG_TIMES) as p:
        p.does("on-leader", f"setsid sleep 654 >/dev/null 2>&1 & echo $ELECT_NODE $! > {p.hooks}/left.new; mv {p.hooks}/left.new "
               f"{p.hooks}/left; sleep 1000")
        p.start()

        def running():
            """Returns (member, pid of the hook's child, pid of the hook parent) if all are running."""
            leader, pid = (p.hooks / "left").read_text().split() if (p.hooks / "left").exists() else (None, None)
            guardian = p.daemons[leader].pid if leader else None
            parents = set(children(guardian)) - {member_of(guardian)} if leader else ()
            return (leader, pid, *parents) if len(parents) == 1 and is_sleep(pid, 654) else None
        leader, pid, parent = wait("the hook runs", running)
        p.does("on-leader", "true")
        before = len(p.log(leader))
        os.kill(parent, signal.SIGKILL)
        wait("the process of the hook is gone", lambda: not is_sleep(pid, 654))
        wait("the leader resigned", lambda: "could not be run, or was killed: this member resigns" in p.log(leader)[before:] or
             lost_its_lease(p, leader, before))


@case
def hook_parent_stopped(_):
    """A hook stops its parent process, which is to kill it. The hook is killed nevertheless, and the daemon does not wait
    forever."""
    with Hooked(("on-leader",), names="a") as p:
        p.does("on-leader", "kill -STOP $PPID; exec sleep 653")
        p.start()
        daemon = p.daemons["a"]
        parent = wait("the hook parent is stopped", lambda: next((c for c in children(daemon.pid) if state(c) == "T"), None))
        left = children(parent)
        try:
            daemon.terminate()
            wait("the daemon ends", lambda: daemon.poll() == 0)
            holds("no process is left", not any(is_sleep(pid, 653) for pid in left), left)
        finally:
            if daemon.poll() is None:
                os.kill(parent, signal.SIGCONT)


@case
def not_undone_on_resignation(_):
    with Hooked() as p:
        p.does("on-follower", "status=2")
        p.start()
        leader, term, until = p.promised()
        look = Lookout(ask, {n: p.socket(n) for n in p.names if n != leader}, term)
        p.elect(leader, "resign")
        seen = look.wait()
        holds("the others wait for the lease", seen and seen[0] >= until - 5000, seen, until)
        wait("the log reports it", lambda: "on-follower exited with status 2: the other members wait until the lease is over" in p.log(leader))


# ---- many changes ----

def change(p):
    """Makes the present leader resign. Fails if this takes too long."""
    wait("a leader resigns", lambda: any(p.elect(n, "resign").returncode == 0 for n in p.names if p.group(n).get("leads")))


def changes_seen(p, name):
    """Counts the changes in the member's log: it leads, follows, or knows no leader."""
    return len(re.findall(r"main: [a-z] (?:became leader|follows|has no leader|lost its leader|stopped leading)", p.log(name)))


@case
def flaps(_):
    """Leadership changes as fast as possible while hooks are slow. Hooks run only for the current leader, not for every past
    change."""
    with Hooked(("on-leader", "on-follower", "on-leader-change")) as p:
        p.does("on-leader-change", "sleep 0.05")
        p.start()
        p.leader()
        for _ in range(int(os.environ.get("FLAPS", "60"))):
            change(p)
        p.leader()
        for n in p.names:
            def turns():
                return [h for h in p.hooks_of(n) if h != "on-leader-change"]
            wait("the last hook fits the present leader", lambda: not turns() or
                 turns()[-1] == ("on-leader" if p.group(n).get("leads") else "on-follower"))
            # A late on-leader may be killed before its first note. on-follower still runs, so two of its notes may follow each
            # other.
            holds("on-leader and on-follower alternate", lost_its_lease(p, n) or all(a != b or a == "on-follower" for a, b in zip(turns(), turns()[1:])), turns())
            told = wait("on-leader-change was run", lambda: p.hooks_of(n).count("on-leader-change"))
            holds("at most one run for each change", told <= changes_seen(p, n), told, changes_seen(p, n))
        p.one_at_a_time()


@case
def one_for_many(_):
    """If the leader changes several times while on-leader-change runs, it runs only once more, for the leader at that time."""
    with Hooked(("on-leader-change",)) as p:
        p.start()
        p.leader()

        def told():
            return p.hooks_of("a").count("on-leader-change")
        p.does("on-leader-change", f"echo > {p.hooks}/blocked; while [ ! -e {p.hooks}/go ]; do sleep 0.02; done", "a")
        wait("the hook runs", lambda: (p.hooks / "blocked").exists() or change(p))
        before, seen = told(), changes_seen(p, "a")
        wait("the member sees changes", lambda: changes_seen(p, "a") >= seen + 4 or change(p))
        holds("one at a time", told() == before, told(), before)
        seen = changes_seen(p, "a")
        (p.hooks / "go").touch()
        wait("the hook ran for the present leader", lambda: p.notes("a")[-1].leader == p.leader()[0] and told() > before)
        more = changes_seen(p, "a") - seen
        holds("one run for all changes", told() <= before + 1 + more, told(), before, more)
        p.one_at_a_time()


# ---- hostile paths ----

@case
def hostile_paths(_):
    """A hook that another user could replace is not run, and the log says so."""

    def writable_parent(p):
        p.hooks.chmod(0o777)

    def group_writable(p):
        p.program.chmod(0o775)

    def symlink(p):
        p.program.rename(p.hooks / "real")
        p.program.symlink_to(p.hooks / "real")

    def folder_symlink(p):
        p.hooks.rename(p.folder / "real")
        p.hooks.symlink_to(p.folder / "real")

    def other_owner(p):
        os.chown(p.program, 12345, 12345)

    def not_executable(p):
        p.program.chmod(0o644)

    def missing(p):
        p.program.unlink()

    def fifo(p):
        p.program.unlink()
        os.mkfifo(p.program, 0o755)
    for hurt in (writable_parent, group_writable, symlink, folder_symlink, not_executable, missing, fifo) + \
            ((other_owner,) if is_root("hostile-paths/of-another-owner") else ()):
        with Hooked(("pre-leader",), names="a") as p:
            p.start()
            wait("the member leads", lambda: p.group("a").get("leads"))
            count = len(p.notes())
            hurt(p)
            p.elect("a", "resign", "--force", "--timeout", "1")  # no other member can take over
            wait(f"{hurt.__name__}: the log reports it", lambda: "pre-leader is not trusted: this member declines" in p.log("a") or
                 "pre-leader could not be run" in p.log("a"))
            holds("the member does not lead", not p.group("a").get("leads"), hurt.__name__)
            holds("the log reports the reason", "error   main: pre-leader cannot be run (/" in p.log("a"), p.log("a"))
            holds("the hook was not run", not p.noted.exists() or len(p.notes()) == count)
            for words in (("config", "check"), ("daemon", "--id", "a")):
                expect(f"{hurt.__name__}: {words[0]}", run(*words, "-c", p.conf), 78, err="pre-leader: /")
            expect(f"{hurt.__name__}: reload", p.elect("a", "reload"), 1, err="pre-leader: /")


@case
def environment(_):
    """Hooks get a new environment, without the daemon's variables."""
    with Hooked() as p:
        p.does("pre-leader", f"env | sort > {p.hooks}/new.$ELECT_TOKEN; mv {p.hooks}/new.$ELECT_TOKEN {p.hooks}/environment.$ELECT_TOKEN; "
               f"cat > {p.hooks}/input")
        p.start(env={"SECRET": "x", "LD_PRELOAD": "", "NOTIFY_SOCKET": "/nowhere"})
        leader, _ = p.settled()
        term = [n.token for n in p.notes(leader, begun=False) if n.hook == "pre-leader"][-1]
        found = dict(line.split("=", 1) for line in (p.hooks / f"environment.{term}").read_text().splitlines())
        known = {"PATH", "ELECT_HOOK", "ELECT_GROUP", "ELECT_NODE", "ELECT_LEADER", "ELECT_TERM", "ELECT_TOKEN", "ELECT_LEASE_MS",
                 "ELECT_SOCKET", "PWD", "SHLVL", "_", "OLDPWD"}
        holds("no other variables", set(found) <= known, found)
        holds("the values", found["ELECT_TOKEN"] == term and found["ELECT_LEASE_MS"] == "2940" and
              found["ELECT_NODE"] == leader and found["ELECT_SOCKET"].endswith(".status") and found["ELECT_HOOK"] == "pre-leader", found)
        holds("no input", (p.hooks / "input").read_text() == "")


if __name__ == "__main__":
    sys.exit(main(__file__))
