#!/usr/bin/env python3
"""The programs that a member runs when something changes: hooks.py ELECT [CASE ... | --list] [--jobs N]

In order, one at a time, for what is so now; with an end; with a path that nobody else can change. The hook here is a
script that notes what it was run for, and does what a file beside it says."""

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
# $1 is not there: no arguments
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
PATIENT = "hook-timeout = 600s\n"  # for cases in which no hook is to take too long, however slow the machine is
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
        """What it is to do, from now on: put in place at once."""
        path = self.hooks / (f"{hook}.{node}" if node else hook)
        new = path.with_suffix(".new")
        new.write_text(lines + "\n")
        new.rename(path)

    def all_notes(self):
        """In the order in which they were written: what a hook notes is there before the hook ends."""
        return [Note(*line.split(" ")) for line in self.noted.read_text().rpartition("\n")[0].splitlines()]

    def notes(self, node=None, begun=True):
        """Of all that were run."""
        return [note for note in self.all_notes() if (note.what == "begins") == begun and node in (None, note.node)]

    def hooks_of(self, node):
        return [note.hook for note in self.notes(node)]

    def one_at_a_time(self):
        """In each member and group what begins ends before the next one begins, and there are no arguments."""
        runs, cut_short = {}, set()
        for note in self.all_notes():
            holds("no arguments", note.count == "1", note)
            where = note.node, note.group
            if note.what == "begins":
                before = runs.get(where)  # has it no end? then it was killed
                holds("one at a time", before is None or not is_hook(before, self.program), note)
                cut_short |= {(where, before)} if before else set()
                cut_short -= {(where, note.pid)}
                runs[where] = note.pid
            else:
                holds("what was killed does not end later", (where, note.pid) not in cut_short, note)
                runs[where] = None

    def settled(self):
        """(leader, token), once its on-leader was run. The token is that of the hook: a leader that succeeds itself in a larger
        term keeps its office, and no hook is run for that. A slow machine may elect another leader meanwhile."""
        def found():
            leader, _ = self.leader()
            turns = [n for n in self.notes(leader) if n.hook in ("on-leader", "on-follower")]
            return (leader, int(turns[-1].token)) if turns and turns[-1].hook == "on-leader" else None
        return wait("its hooks were run", found)

    def promised(self):
        """(leader, token, until): a settled leader, and a time before which its lease does not end."""
        def found():
            leader, token = self.settled()
            now, said = clock(), ask(self.socket(leader), {"verb": "is-leader"})
            leads = said and said.get("leads") and self.settled() == (leader, token)
            return (leader, token, now + said["left_us"]) if leads else None
        return wait("a leader stays", found)

    def undone_before(self, former, term, note, until):
        """What on-leader began in that term was undone before this one; or this one came when the lease was over anyway."""
        all_of_it = self.all_notes()
        undone = [i for i, n in enumerate(all_of_it) if
                  (n.what, n.node, n.hook, n.token) == ("ends", former, "on-follower", str(term))]
        waited = float(note.at) * 1e6 >= until - 20000  # its clock has a resolution of 10 ms
        holds("it was undone before", waited or (undone and undone[0] < all_of_it.index(note)), note, until, all_of_it)
        return waited


def is_hook(pid, program):
    try:
        return str(program).encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def lost_its_lease(p, name, since=0):
    """A leader on a machine that stood still: its hook may end too late to be told of, and it may lead again before it could
    undo what it began."""
    log = p.log(name)[since:]
    return "not renewed in time" in log or "has run out" in log


@case
def in_order(_):
    with Hooked(times=LONG_TIMES) as p:
        p.does("on-follower", "sleep 0.2")
        p.start()
        leader, term, until = p.promised()
        wait("everybody heard", lambda: all(("on-leader-change" in p.hooks_of(n)) for n in p.names))
        p.elect(leader, "resign")
        wait("it is undone", lambda: any((n.hook, n.token) == ("on-follower", str(term)) for n in p.notes(leader, begun=False)))
        new, later = wait("another one", lambda: (found := p.settled())[1] > term and found)
        begun = next(n for n in p.notes(new) if (n.hook, n.token) == ("on-leader", str(later)))
        p.undone_before(leader, term, begun, until)
        for n in p.names:
            each_in_order(p, n)
        p.one_at_a_time()


def each_in_order(p, name):
    """First it agrees, then it leads, then that is undone; a member that never leads only hears of changes."""
    asked = led = None
    for note in p.notes(name):
        if note.hook in ("pre-leader", "on-leader"):
            term = int(note.token)
            holds("the term", (note.leader, note.term) == (name, f"{term >> 16}.{term & 0xffff}"), note)
            holds("its own", p.names[(term & 0xffff) - 1] == name, note)
        if note.hook == "pre-leader":
            holds("it was undone before", led is None or lost_its_lease(p, name), note)
            asked = note.token
        elif note.hook == "on-leader":
            holds("first it agrees, then it leads", asked is not None and int(asked) <= int(note.token), note)
            asked, led = None, note.token
        elif note.hook == "on-follower":
            holds("what was begun is undone", led in (note.token, None), note)  # None: killed before it noted anything
            led = None


@case
def declines(_):
    with Hooked() as p:
        for name in "bc":
            p.does("pre-leader", "status=1", name)
        p.start()

        def others():
            return [n for n in p.notes() if n.hook == "on-leader" and n.node != "a"]
        wait("who agrees leads", lambda: p.group("a").get("leads") or others())

        def said():
            """If a was faster than the others, which is right too, it hands over to one of them."""
            if not any(n.node in "bc" and n.hook == "pre-leader" for n in p.notes()):
                p.elect("a", "transfer", "b")
            return any("pre-leader exits with 1: it declines" in p.log(n) for n in "bc")
        wait("it is said", said)
        wait("who agrees leads", lambda: p.group("a").get("leads") or others())
        holds("no other member has led", not others(), p.notes())
        p.one_at_a_time()


@case
def all_decline(_):
    """Then they do not hand it round as fast as they can: from the second time on each takes its time, twice as long every time."""
    for hook, words in (("pre-leader", "it declines"), ("on-leader", "it resigns")):
        with Hooked() as p:
            p.does(hook, "status=2")
            p.start()

            def failures(name):
                return [line.split()[0] for line in p.log(name).splitlines() if f"{hook} exits with 2: {words}" in line]
            name = wait("five times", lambda: next((n for n in p.names if len(failures(n)) >= 5), None))
            at = [datetime.datetime.fromisoformat(date.replace("Z", "+00:00")).timestamp() for date in failures(name)]
            for nth in range(1, 4):
                holds("not before", at[nth + 1] - at[nth] >= 0.1 * 2 ** (nth - 1) - 0.002, nth, at)
            p.does(hook, "status=0")
            p.leader()


@case
def while_it_is_asked(_):
    """Nobody is told that it leads before its hook agrees; and who loses its office meanwhile does not wait for it."""
    with Hooked(times=LONG_TIMES) as p:
        p.does("pre-leader", "while [ ! -e FOLDER/go ]; do sleep 0.02; done".replace("FOLDER", str(p.hooks)))
        p.start()

        def asked():
            return next((n for n in p.names if (group := p.group(n)).get("state") == "prepares to lead" or group.get("leads")), None)
        name = wait("it is asked", asked)
        holds("not yet", not p.group(name).get("leads"))
        said = wait("it answers", lambda: (done := p.elect(name, "is-leader")).returncode != 3 and done)  # 3: not within a second
        expect("is-leader", said, 2, out="no")
        with Talker(p.socket(name, "run")) as t:
            t.say("HOLD", group="main")
            holds("nobody works", t.until_hears("WAIT") and t.until_hears("GO", patience=0.3) is None)
            holds("nobody is promised anything", t.ask("LEASE") == 0)
            t.say_to_guardian()
        holds("none has led", not any("became leader in term" in p.log(n) for n in p.names) and not any(n.hook == "on-leader" for n in p.notes()))
        (p.hooks / "go").touch()
        p.settled()


@case
def fails_again_and_again(_):
    """1: once more; 2: no use. A leader whose work cannot begin resigns."""
    with Hooked() as p:
        p.does("on-leader", "n=$(cat FOLDER/count 2>/dev/null || echo 0); echo $((n+1)) > FOLDER/count; [ $n -ge 2 ] || status=1"
               .replace("FOLDER", str(p.hooks)))
        p.start()
        wait("the third time", lambda: any((n.hook, n.status) == ("on-leader", "0") for n in p.notes(begun=False)))
        p.settled()
        time.sleep(0.3)
        for name in p.names:
            for token, statuses in outcomes(p, name).items():
                holds("once more after each failure, and no more", all(s == "1" for s in statuses[:-1]), token, statuses)
            again = sum(len(statuses) - 1 for statuses in outcomes(p, name).values())
            said = p.log(name).count("on-leader exits with 1: it is run again")
            holds("it is said", again <= said <= 2, name, again, said, p.log(name))
        p.one_at_a_time()
    with Hooked() as p:
        for name in "bc":
            p.does("on-leader", "status=2", name)
        p.start()
        wait("who can leads", lambda: p.group("a").get("leads") and "on-leader" in p.hooks_of("a"))
        failed = {n.node for n in p.notes(begun=False) if n.node in "bc" and n.hook == "on-leader"}
        for n in failed:
            wait("what it began is undone", lambda: "on-follower" in p.hooks_of(n))
            wait("it is said", lambda: "on-leader exits with 2: it resigns" in p.log(n) or lost_its_lease(p, n))


def outcomes(p, name):
    """{token: [status of each on-leader; None: it was ended]}"""
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
    """It is ended, with whatever it began."""
    with Hooked(("on-leader-change",), "hook-timeout = 300ms\n") as p:
        p.does("on-leader-change", "(trap '' TERM; setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' &) ; sleep 1000")
        marker = "sleep 1000"
        p.start()
        leader, _ = p.leader()
        wait("it is said", lambda: "on-leader-change took too long" in p.log(leader))

        def left():
            return [pid for pid in os.listdir("/proc") if pid.isdigit() and belongs(pid, str(p.hooks), marker)]
        wait("nothing is left between two tries", lambda: not left())
        p.leader()
        holds("no office is lost by it", not any(word in p.log(n) for n in p.names for word in ("it declines", "it resigns")))


def belongs(pid, folder, words):
    try:
        return words.replace(" ", "\0") in pathlib.Path(f"/proc/{pid}/cmdline").read_text() and folder in \
            pathlib.Path(f"/proc/{pid}/environ").read_text(errors="replace").replace("state", "hooks")
    except OSError:
        return False


@case
def nothing_is_left(_):
    """A hook that leaves something behind: it is killed when the hook ends."""
    with Hooked() as p:
        p.does("on-leader", f"cd {p.hooks}; for i in 1 2 3; do setsid sleep 987 >/dev/null 2>&1 & echo $! >> {p.hooks}/pids; done")
        p.start()
        p.settled()
        wait("it has ended", lambda: any(n.hook == "on-leader" for n in p.notes(begun=False)))
        pids = wait("it began something", lambda: (p.hooks / "pids").read_text().split() if (p.hooks / "pids").exists() else None)
        wait("nothing is left", lambda: not any(is_sleep(pid, 987) for pid in pids))


def is_sleep(pid, seconds):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text() == f"sleep\0{seconds}\0"
    except OSError:
        return False


# ---- whoever dies ----

@case
def member_killed(_):
    """What on-leader began is undone before anybody else leads: by the guardian."""
    with Hooked(times=LONG_TIMES) as p:
        p.does("on-follower", "sleep 0.3")
        p.start()
        leader, term, until = p.promised()
        look = Lookout(ask, {n: p.socket(n) for n in p.names if n != leader}, term)
        os.kill(member_of(p.daemons[leader].pid), signal.SIGKILL)
        seen = look.wait()
        holds("another one leads", seen)
        begun = next(n for n in p.notes(seen[1]) if n.hook == "pre-leader" and int(n.token) > term)
        waited = p.undone_before(leader, term, begun, until)
        holds("by its testament", waited or any("is dead, says its guardian" in p.log(n) for n in p.names))


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
            holds("its lease is waited for", seen and seen[0] >= until - 5000, seen, until)
            holds("no testament", not any("is dead, says its guardian" in p.log(n) for n in p.names))


@case
def guardian_killed(_):
    """The member itself undoes what on-leader began, then hands over, and ends."""
    with Hooked(times=LONG_TIMES) as p:
        p.does("on-leader", "sleep 0.3")
        p.start()

        def begun():
            """While on-leader runs, its lease would be waited for: a member runs on-leader-change for its own office only once it
            knows that on-leader has ended."""
            leader, term, until = p.promised()
            notes = p.notes(leader)
            on_leader = max(i for i, n in enumerate(notes) if n.hook == "on-leader")
            return (leader, term, until) if any(n.hook == "on-leader-change" for n in notes[on_leader:]) else None
        leader, term, until = wait("on-leader has ended", begun)
        member = member_of(p.daemons[leader].pid)
        look = Lookout(ask, {n: p.socket(n) for n in p.names if n != leader}, term)
        p.daemons[leader].kill()
        seen = look.wait()
        holds("another one leads", seen is not None, p.log(leader))
        holds("no lease was waited for", seen[0] < until, seen, until)
        wait("the member has ended", lambda: not os.path.exists(f"/proc/{member}"))
        wait("the next leader's hook was run", lambda: [n for n in p.notes() if n.hook == "on-leader" and int(n.token) > term])
        p.undone_before(leader, term, [n for n in p.notes() if n.hook == "on-leader" and int(n.token) > term][0], until)
        p.one_at_a_time()


@case
def guardian_killed_and_not_undone(_):
    """If on-follower fails again and again, or a hook runs when the guardian dies, the others wait for the lease."""
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
            holds("its lease is waited for", seen and seen[0] >= until - 5000, hook, seen, until)
            wait("it is undone, or tried", lambda: "on-follower" in p.hooks_of(leader))
            wait("it is said", lambda: hook == "on-leader" or "others wait until its lease is over" in p.log(leader))


@case
def guardian_killed_while_it_begins(_):
    """on-follower waits until the hook of the dead guardian has ended. Otherwise it could undo too early what on-leader is still
    about to begin. It does not wait longer than the lease: the hook parent may have been stopped."""
    with Hooked(times=LONG_TIMES) as p:
        p.does("on-leader", f"[ -e {p.hooks}/runs ] || {{ echo $ELECT_NODE > {p.hooks}/new; mv {p.hooks}/new {p.hooks}/runs; sleep 1000; }}")
        p.start()
        wait("the hook runs", lambda: (p.hooks / "runs").exists())
        leader = (p.hooks / "runs").read_text().strip()
        guardian = p.daemons[leader].pid
        member = member_of(guardian)
        parent, = set(children(guardian)) - {member}
        os.kill(parent, signal.SIGSTOP)  # as on a busy machine: it is told to end its hook, and does not do so yet
        try:
            left = wait("how long it leads", lambda: (said := ask(p.socket(leader), {"verb": "is-leader"})) and said.get("left_us"))
            until = clock() + left - 1000000  # it may have been renewed since, but it is not shorter
            p.daemons[leader].kill()
            wait("it hands over", lambda: p.group(leader).get("state") == "hands over")
            time.sleep(0.3)  # an on-follower that does not wait would begin now
            begun = [n for n in p.notes(leader) if n.hook == "on-follower"]
        finally:
            os.kill(parent, signal.SIGCONT)
        holds("it is not undone yet", all(float(n.at) * 1e6 >= until for n in begun), begun, until)
        wait("it is undone", lambda: any(n.hook == "on-follower" for n in p.notes(leader, begun=False)))
        wait("the member has ended", lambda: not os.path.exists(f"/proc/{member}"))
        undone = next(n for n in p.notes(leader) if n.hook == "on-follower")
        holds("as soon as that had ended", float(undone.at) * 1e6 < until, undone, until)
        p.one_at_a_time()


@case
def stopped_while_it_is_undone(_):
    """A service manager that stops the unit sends SIGTERM to all of its processes, hooks included: on-follower is run again."""
    with Hooked(times=LONG_TIMES) as p:
        p.does("on-follower", f"[ -e {p.hooks}/runs ] || {{ touch {p.hooks}/runs; exec sleep 1000; }}; sleep 0.5")
        p.start()
        leader, term = p.settled()
        wait("it resigns", lambda: (p.hooks / "runs").exists() or
             p.elect(leader, "resign", "--timeout", "1").returncode not in (0, 1) and None)
        wait("it is being undone", lambda: (p.hooks / "runs").exists())
        former = next(n.node for n in p.notes() if n.hook == "on-follower")
        stop_unit(p.daemons[former].pid)
        wait("another one leads", lambda: [n for n in p.notes() if n.hook == "on-leader" and n.node != former and int(n.token) > term])
        notes = p.all_notes()
        later = next(i for i, n in enumerate(notes) if (n.what, n.hook) == ("begins", "on-leader") and n.node != former and
                     int(n.token) > term)
        holds("it was undone before", any((n.what, n.hook, n.node) == ("ends", "on-follower", former) for n in notes[:later]) or
              lost_its_lease(p, former), notes)
        wait("the daemon ends", lambda: p.daemons[former].poll() == 0)
        p.one_at_a_time()


@case
def stopped_while_the_guardian_undoes_it(_):
    """The same when the member is dead. Otherwise nobody would undo it."""
    with Hooked(times=LONG_TIMES) as p:
        p.does("on-follower", f"[ -e {p.hooks}/runs ] || {{ touch {p.hooks}/runs; exec sleep 1000; }}")
        p.start()
        leader, term = p.settled()
        os.kill(member_of(p.daemons[leader].pid), signal.SIGKILL)
        wait("it is being undone", lambda: (p.hooks / "runs").exists())
        stop_unit(p.daemons[leader].pid)
        wait("the guardian ends", lambda: p.daemons[leader].poll() is not None)
        undone = [n.token for n in p.notes(leader, begun=False) if n.hook == "on-follower"]
        holds("it was undone", undone[-1:] == [str(term)], p.notes(leader))
        p.one_at_a_time()


def everything(pid):
    """All processes of a daemon, as its control group would have them."""
    return [pid] + [one for child in children(pid) for one in everything(child)]


def stop_unit(pid):
    for one in everything(pid):
        with contextlib.suppress(ProcessLookupError):  # it ended with one before it
            os.kill(one, signal.SIGTERM)


@case
def too_late_to_begin(_):
    """A guardian that wakes up when the office is over begins nothing for it: another one leads."""
    with Hooked(("on-leader",)) as p:
        p.start()
        leader, _ = p.settled()
        other = [n for n in p.names if n != leader][-1]
        guardian, member = p.daemons[other].pid, member_of(p.daemons[other].pid)
        os.kill(guardian, signal.SIGSTOP)
        wait("it stands still", lambda: state(guardian) == "T")
        before, offices = len(p.notes(other)), p.log(other).count("became leader in term")  # it may have led already, on a slow machine
        try:
            # its log, for it may have lost that office already, too, and gets no other while its guardian stands still
            wait(f"{other} leads", lambda: p.log(other).count("became leader in term") > offices or hand_over(p, other))
            os.kill(member, signal.SIGSTOP)
            third = wait("another one leads", lambda: next((n for n in p.names if n != other and p.group(n).get("leads")), None))
            over = wait("its term", lambda: p.group(third).get("term"))

            def late():
                return [n for n in p.notes(other)[before:] if int(n.token) < over]
            os.kill(guardian, signal.SIGCONT)
            wait("it has heard", lambda: state(guardian) == "S")
            time.sleep(0.2)
            holds("nothing began", not late(), p.notes())
        finally:
            os.kill(guardian, signal.SIGCONT)
            os.kill(member, signal.SIGCONT)
        p.leader()
        holds("and nothing began", not late(), p.notes())


def hand_over(p, to):
    """The leader does, if it still leads; the transfer may go to another member on a slow machine."""
    for name in p.names:
        if name != to and p.group(name).get("leads"):
            p.elect(name, "transfer", to)


@case
def hook_parent_killed(_):
    """Whatever the hook began goes with its parent."""
    with Hooked(("on-leader",), times=LONG_TIMES) as p:
        p.does("on-leader", f"setsid sleep 654 >/dev/null 2>&1 & echo $ELECT_NODE $! > {p.hooks}/left.new; mv {p.hooks}/left.new "
               f"{p.hooks}/left; sleep 1000")
        p.start()

        def running():
            """(member, what it began, its parent), all of which run."""
            leader, pid = (p.hooks / "left").read_text().split() if (p.hooks / "left").exists() else (None, None)
            guardian = p.daemons[leader].pid if leader else None
            parents = set(children(guardian)) - {member_of(guardian)} if leader else ()
            return (leader, pid, *parents) if len(parents) == 1 and is_sleep(pid, 654) else None
        leader, pid, parent = wait("it runs", running)
        p.does("on-leader", "true")
        before = len(p.log(leader))
        os.kill(parent, signal.SIGKILL)
        wait("it is gone", lambda: not is_sleep(pid, 654))
        wait("it resigned", lambda: "could not be run, or was killed: it resigns" in p.log(leader)[before:] or
             lost_its_lease(p, leader, before))


@case
def hook_parent_stopped(_):
    """A hook that stops its parent is ended all the same, and the daemon does not wait for it for ever."""
    with Hooked(("on-leader",), names="a") as p:
        p.does("on-leader", "kill -STOP $PPID; exec sleep 653")
        p.start()
        daemon = p.daemons["a"]
        parent = wait("it is stopped", lambda: next((c for c in children(daemon.pid) if state(c) == "T"), None))
        left = children(parent)
        try:
            daemon.terminate()
            wait("the daemon ends", lambda: daemon.poll() == 0)
            holds("nothing is left", not any(is_sleep(pid, 653) for pid in left), left)
        finally:
            if daemon.poll() is None:
                os.kill(parent, signal.SIGCONT)


@case
def not_undone_when_it_resigns(_):
    with Hooked() as p:
        p.does("on-follower", "status=2")
        p.start()
        leader, term, until = p.promised()
        look = Lookout(ask, {n: p.socket(n) for n in p.names if n != leader}, term)
        p.elect(leader, "resign")
        seen = look.wait()
        holds("what was promised is waited for", seen and seen[0] >= until - 5000, seen, until)
        wait("it is said", lambda: "on-follower exits with 2: others wait until its lease is over" in p.log(leader))


# ---- many changes ----

def change(p):
    """Some leader resigns; each change has its own limit."""
    wait("it resigns", lambda: any(p.elect(n, "resign").returncode == 0 for n in p.names if p.group(n).get("leads")))


def changes_seen(p, name):
    """How often it said that it leads, follows another one, or knows of no leader."""
    return len(re.findall(r"main: (?:became leader|follows|has no leader|lost its leader|stopped leading)", p.log(name)))


@case
def flaps(_):
    """Leadership goes round as fast as it can while hooks are slow: they are run for what is, not for all that was."""
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
            wait("the last one is what is", lambda: not turns() or
                 turns()[-1] == ("on-leader" if p.group(n).get("leads") else "on-follower"))
            # one that was too late may have been ended before it could note anything: then it is undone all the same
            holds("in turn", lost_its_lease(p, n) or all(a != b or a == "on-follower" for a, b in zip(turns(), turns()[1:])), turns())
            told = wait("it is told", lambda: p.hooks_of(n).count("on-leader-change"))
            holds("not more than one for each", told <= changes_seen(p, n), told, changes_seen(p, n))
        p.one_at_a_time()


@case
def one_for_many(_):
    """While on-leader-change runs the leader changes several times: then it is run once, for the leader that there is."""
    with Hooked(("on-leader-change",)) as p:
        p.start()
        p.leader()

        def told():
            return p.hooks_of("a").count("on-leader-change")
        p.does("on-leader-change", f"echo > {p.hooks}/blocked; while [ ! -e {p.hooks}/go ]; do sleep 0.02; done", "a")
        wait("it is run", lambda: (p.hooks / "blocked").exists() or change(p))
        before, seen = told(), changes_seen(p, "a")
        wait("it sees changes", lambda: changes_seen(p, "a") >= seen + 4 or change(p))
        holds("one at a time", told() == before, told(), before)
        seen = changes_seen(p, "a")
        (p.hooks / "go").touch()
        wait("it hears of the latest", lambda: p.notes("a")[-1].leader == p.leader()[0] and told() > before)
        more = changes_seen(p, "a") - seen  # of a slow machine
        holds("once for all of them", told() <= before + 1 + more, told(), before, more)
        p.one_at_a_time()


# ---- hostile paths ----

@case
def hostile_paths(_):
    """Whoever could put another program there: it is not run, and that is said."""

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

    def of_another(p):
        os.chown(p.program, 12345, 12345)

    def not_executable(p):
        p.program.chmod(0o644)

    def missing(p):
        p.program.unlink()

    def fifo(p):
        p.program.unlink()
        os.mkfifo(p.program, 0o755)
    for hurt in (writable_parent, group_writable, symlink, folder_symlink, not_executable, missing, fifo) + \
            ((of_another,) if is_root("hostile-paths/of-another-owner") else ()):
        with Hooked(("pre-leader",), names="a") as p:
            p.start()
            wait("it leads", lambda: p.group("a").get("leads"))
            count = len(p.notes())
            hurt(p)
            p.elect("a", "resign", "--force", "--timeout", "1")  # no other member can lead: there is none
            wait(f"{hurt.__name__}: it is said", lambda: "pre-leader is not to be trusted: it declines" in p.log("a") or
                 "pre-leader could not be run" in p.log("a"))
            holds("it does not lead", not p.group("a").get("leads"), hurt.__name__)
            holds("why", "error   main: pre-leader cannot be run (/" in p.log("a"), p.log("a"))
            holds("it was not run", not p.noted.exists() or len(p.notes()) == count)
            for words in (("config", "check"), ("daemon", "--id", "a")):
                expect(f"{hurt.__name__}: {words[0]}", run(*words, "-c", p.conf), 78, err="pre-leader: /")
            expect(f"{hurt.__name__}: reload", p.elect("a", "reload"), 1, err="pre-leader: /")


@case
def environment(_):
    """From scratch: nothing of the daemon's own."""
    with Hooked() as p:
        p.does("pre-leader", f"env | sort > {p.hooks}/new.$ELECT_TOKEN; mv {p.hooks}/new.$ELECT_TOKEN {p.hooks}/environment.$ELECT_TOKEN; "
               f"cat > {p.hooks}/input")
        p.start(env={"SECRET": "x", "LD_PRELOAD": "", "NOTIFY_SOCKET": "/nowhere"})
        leader, _ = p.settled()
        term = [n.token for n in p.notes(leader, begun=False) if n.hook == "pre-leader"][-1]
        found = dict(line.split("=", 1) for line in (p.hooks / f"environment.{term}").read_text().splitlines())
        known = {"PATH", "ELECT_HOOK", "ELECT_GROUP", "ELECT_NODE", "ELECT_LEADER", "ELECT_TERM", "ELECT_TOKEN", "ELECT_LEASE_MS",
                 "ELECT_SOCKET", "PWD", "SHLVL", "_", "OLDPWD"}
        holds("nothing else", set(found) <= known, found)
        holds("what it says", found["ELECT_TOKEN"] == term and found["ELECT_LEASE_MS"] == "2940" and
              found["ELECT_NODE"] == leader and found["ELECT_SOCKET"].endswith(".status") and found["ELECT_HOOK"] == "pre-leader", found)
        holds("no input", (p.hooks / "input").read_text() == "")


if __name__ == "__main__":
    sys.exit(main(__file__))
