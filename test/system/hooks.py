#!/usr/bin/env python3
"""The programs that a member runs when something changes: hooks.py ELECT [CASE ... | --list] [--jobs N]

In order, one at a time, for what is so now; with an end; with a path that nobody else can change. The hook here is a
script that notes what it was run for, and does what a file beside it says."""

import datetime
import os
import pathlib
import signal
import sys
import time

sys.dont_write_bytecode = True
from lib.cases import case, main  # noqa: E402
from lib.checks import expect, holds, is_root  # noqa: E402
from lib.local_cluster import LocalCluster  # noqa: E402
from lib.processes import member_of, wait  # noqa: E402
from lib.run_socket import Lookout, Talker, clock  # noqa: E402
from lib.status_socket import ask  # noqa: E402

HOOKS = ("pre-leader", "on-leader", "on-follower", "on-leader-change")
SCRIPT = """#!/bin/sh
# $1 is not there: no arguments
note() { echo "$1 $ELECT_NODE $ELECT_HOOK $ELECT_GROUP $ELECT_LEADER $ELECT_TERM $ELECT_TOKEN $$ $(date +%s%N) $#" >> "FOLDER/noted"; }
note begins
if [ -e "FOLDER/$ELECT_HOOK.$ELECT_NODE" ]; then . "FOLDER/$ELECT_HOOK.$ELECT_NODE"
elif [ -e "FOLDER/$ELECT_HOOK" ]; then . "FOLDER/$ELECT_HOOK"; fi
note ends
exit ${status:-0}
"""


class Hooked(LocalCluster):
    def __init__(self, which=HOOKS, options="", **more):
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

    def notes(self, node=None, begun=True):
        """(node, hook, group, leader, term, token) of all that were run."""
        found = []
        for line in self.noted.read_text().splitlines():
            what, where, hook, group, *rest = line.split(" ")
            if (what == "begins") == begun and (node is None or where == node):
                found.append((where, hook, group, *rest))
        return found

    def hooks_of(self, node):
        return [note[1] for note in self.notes(node)]

    def one_at_a_time(self):
        """In each member and group what begins ends before the next one begins, and there are no arguments."""
        runs = {}
        for line in self.noted.read_text().splitlines():
            what, node, hook, group, leader, term, token, pid, at, count = line.split(" ")
            holds("no arguments", count == "1", line)
            before = runs.get((node, group))
            if what == "begins":
                holds("one at a time", before is None or not os.path.exists(f"/proc/{before}"), line)
                runs[node, group] = pid
            elif runs.get((node, group)) == pid:
                runs[node, group] = None

    def settled(self):
        leader, term = self.leader()
        wait("its hooks were run", lambda: "on-leader" in self.hooks_of(leader))
        return leader, term


@case
def in_order(_):
    with Hooked() as p:
        p.does("on-follower", "sleep 0.2")
        p.start()
        leader, term = p.settled()
        others = [n for n in p.names if n != leader]
        wait("everybody heard", lambda: all(("on-leader-change" in p.hooks_of(n)) for n in p.names))
        holds("first it agrees, then it leads", p.hooks_of(leader)[:2] == ["pre-leader", "on-leader"], p.hooks_of(leader))
        for note in p.notes(leader)[:2]:
            holds("the term", note[4:6] == (f"{term >> 16}.{term & 0xffff}", str(term)) and note[3] == leader, note)
        for n in others:
            holds("a follower", set(p.hooks_of(n)) == {"on-leader-change"}, p.hooks_of(n))
        expect("resign", p.elect(leader, "resign"), 0, out="leads")
        new, _ = p.settled()
        wait("it is undone", lambda: any(n[1] == "on-follower" for n in p.notes(leader, begun=False)))
        kept = [line.split(" ") for line in p.noted.read_text().splitlines()]
        undone = next(int(x[8]) for x in kept if x[0] == "ends" and x[1] == leader and x[2] == "on-follower")
        begun = next(int(x[8]) for x in kept if x[0] == "begins" and x[1] == new and x[2] == "on-leader")
        holds("before the next one leads", undone < begun)
        p.one_at_a_time()


@case
def declines(_):
    with Hooked() as p:
        for name in "bc":
            p.does("pre-leader", "status=1", name)
        p.start()
        wait("who agrees leads", lambda: p.group("a").get("leads"))
        holds("and nobody else did", not any(n[1] == "on-leader" and n[0] != "a" for n in p.notes()), p.notes())
        holds("it is said", any("pre-leader exits with 1: it declines" in p.log(n) for n in "bc"))
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
            leader, _ = p.leader()
            wait("then one leads", lambda: p.group(leader).get("leads"))


@case
def while_it_is_asked(_):
    """Nobody is told that it leads before its hook agrees; and who loses its office meanwhile does not wait for it."""
    with Hooked(options="hook-timeout = 60s\n") as p:
        p.does("pre-leader", "while [ ! -e FOLDER/go ]; do sleep 0.02; done".replace("FOLDER", str(p.hooks)))
        p.start()
        name = wait("it is asked", lambda: [n for n in p.notes() if n[1] == "pre-leader"])[0][0]
        g = p.group(name)
        holds("not yet", not g["leads"] and g["state"] == "prepares to lead", g)
        expect("is-leader", p.elect(name, "is-leader"), 2, out="no")
        with Talker(p.socket(name, "run")) as t:
            t.say("HOLD", group="main")
            holds("nobody works", t.until_hears("WAIT") and t.until_hears("GO", patience=0.3) is None)
            holds("nobody is promised anything", t.ask("LEASE") == 0)
            t.say_to_guardian()
        (p.hooks / "go").touch()
        wait("then it does", lambda: p.group(name).get("leads"))


@case
def fails_again_and_again(_):
    """1: once more; 2: no use. A leader whose work cannot begin resigns."""
    with Hooked() as p:
        p.does("on-leader", "n=$(cat FOLDER/count 2>/dev/null || echo 0); echo $((n+1)) > FOLDER/count; [ $n -ge 2 ] || status=1"
               .replace("FOLDER", str(p.hooks)))
        p.start()
        leader, term = p.settled()
        wait("the third time", lambda: p.hooks_of(leader).count("on-leader") == 3)
        time.sleep(0.3)
        holds("and no more", p.hooks_of(leader).count("on-leader") == 3 and p.group(leader)["leads"])
        holds("it is said", p.log(leader).count("on-leader exits with 1: it is run again") == 2, p.log(leader))
        p.one_at_a_time()
    with Hooked() as p:
        for name in "bc":
            p.does("on-leader", "status=2", name)
        p.start()
        wait("who can leads", lambda: p.group("a").get("leads") and "on-leader" in p.hooks_of("a"))
        failed = [n for n in "bc" if "on-leader" in p.hooks_of(n)]
        for n in failed:
            holds("what it began is undone", "on-follower" in p.hooks_of(n), p.hooks_of(n))
            holds("it is said", "on-leader exits with 2: it resigns" in p.log(n), p.log(n))


@case
def takes_too_long(_):
    """It is ended, with whatever it began."""
    with Hooked(options="hook-timeout = 300ms\n") as p:
        p.does("on-leader-change", "(trap '' TERM; setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' &) ; sleep 1000")
        marker = "sleep 1000"
        p.start()
        leader, _ = p.settled()
        wait("it is said", lambda: "on-leader-change took too long" in p.log(leader))

        def left():
            return [pid for pid in os.listdir("/proc") if pid.isdigit() and belongs(pid, str(p.hooks), marker)]
        wait("nothing is left between two tries", lambda: not left())
        holds("it leads on", p.group(leader)["leads"])


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
        leader, _ = p.settled()
        wait("it has ended", lambda: any(n[1] == "on-leader" for n in p.notes(begun=False)))
        pids = wait("it began something", lambda: (p.hooks / "pids").read_text().split() if (p.hooks / "pids").exists() else None)
        wait("nothing is left", lambda: not any(is_sleep(pid) for pid in pids))


def is_sleep(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text() == "sleep\n"
    except OSError:
        return False


# ---- whoever dies ----

@case
def member_killed(_):
    """What on-leader began is undone before anybody else leads: by the guardian."""
    with Hooked() as p:
        p.edit("lease = 3s\n", "lease = 8s\n")
        p.edit("max-lease = 4s\n", "max-lease = 10s\n")
        p.does("on-follower", "sleep 0.3")
        p.start()
        leader, term = p.settled()
        wait("it is done", lambda: any(n[1] == "on-leader" for n in p.notes(leader, begun=False)))
        look = Lookout(ask, {n: p.socket(n) for n in p.names if n != leader}, term)
        os.kill(member_of(p.daemons[leader].pid), signal.SIGKILL)
        seen = look.wait()
        holds("another one leads", seen)
        holds("by its testament", any("is dead, says its guardian" in p.log(n) for n in p.names))
        kept = [line.split(" ") for line in p.noted.read_text().splitlines()]
        undone = next((int(x[8]) for x in kept if x[0] == "ends" and x[1] == leader and x[2] == "on-follower"), None)
        begun = next(int(x[8]) for x in kept if x[0] == "begins" and x[1] == seen[1] and x[2] == "pre-leader")
        holds("when all was undone", undone is not None and undone < begun, undone, begun)


@case
def member_killed_and_not_undone(_):
    for lines, options in (("status=1", ""), ("sleep 30", "hook-timeout = 200ms\n"), (None, "")):
        with Hooked(HOOKS if lines else ("on-leader",), options) as p:
            if lines:
                p.does("on-follower", lines)
            p.start()
            leader, term = p.settled()
            wait("it is done", lambda: any(n[1] == "on-leader" for n in p.notes(leader, begun=False)))
            until = clock() + ask(p.socket(leader), {"verb": "is-leader"})["left_us"]
            look = Lookout(ask, {n: p.socket(n) for n in p.names if n != leader}, term)
            os.kill(member_of(p.daemons[leader].pid), signal.SIGKILL)
            seen = look.wait()
            holds("its lease is waited for", seen and seen[0] >= until - 5000, seen, until)
            holds("no testament", not any("is dead, says its guardian" in p.log(n) for n in p.names))


@case
def guardian_killed(_):
    """Nobody can undo what was begun: the member ends, and others wait for its lease."""
    with Hooked() as p:
        p.start()
        leader, term = p.settled()
        member = member_of(p.daemons[leader].pid)
        look = Lookout(ask, {n: p.socket(n) for n in p.names if n != leader}, term)
        p.daemons[leader].kill()
        wait("it ends", lambda: not os.path.exists(f"/proc/{member}"))
        holds("it says why", "its guardian is dead, and nobody else can run its hooks" in p.log(leader), p.log(leader))
        holds("another one leads", look.wait())
        holds("nobody was told", not any("leads no more" in line and "hands" in line for line in p.log(leader).splitlines()))


@case
def too_late_to_begin(_):
    """A guardian that wakes up when the office is over begins nothing for it: another one leads."""
    with Hooked(("on-leader",)) as p:
        p.start()
        leader, term = p.settled()
        other = [n for n in p.names if n != leader][-1]
        guardian, member = p.daemons[other].pid, member_of(p.daemons[other].pid)
        os.kill(guardian, signal.SIGSTOP)
        try:
            expect("transfer", p.elect(leader, "transfer", other), 0, out=f"{other} leads")
            os.kill(member, signal.SIGSTOP)
            third = wait("another one leads", lambda: next((n for n in p.names if n != other and p.group(n).get("leads")), None))
            os.kill(guardian, signal.SIGCONT)
            wait("it has heard", lambda: pathlib.Path(f"/proc/{guardian}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S")
            time.sleep(0.2)
            holds("nothing began", other not in {n[0] for n in p.notes()}, p.notes())
        finally:
            os.kill(member, signal.SIGCONT)
        wait("it follows", lambda: p.group(other).get("leader") == third)
        holds("and nothing began", other not in {n[0] for n in p.notes()} or p.group(other)["leads"], p.notes())


@case
def keeper_killed(_):
    """Whatever the hook began goes with its keeper."""
    with Hooked() as p:
        p.does("on-leader", f"setsid sleep 654 >/dev/null 2>&1 & echo $! > {p.hooks}/left; sleep 60")
        p.start()
        leader, term = p.leader()
        pid = wait("it began something", lambda: (p.hooks / "left").exists() and (p.hooks / "left").read_text().strip())
        wait("it runs", lambda: is_sleep(pid))
        member = member_of(p.daemons[leader].pid)
        keeper = next(c for c in pathlib.Path(f"/proc/{p.daemons[leader].pid}/task/{p.daemons[leader].pid}/children").read_text().split()
                      if int(c) != member)
        os.kill(int(keeper), signal.SIGKILL)
        p.does("on-leader", "true")
        wait("it is gone", lambda: not is_sleep(pid))
        wait("it resigned", lambda: "could not be run, or was killed: it resigns" in p.log(leader))


@case
def not_undone_when_it_resigns(_):
    with Hooked() as p:
        p.does("on-follower", "status=2")
        p.start()
        leader, term = p.settled()
        until = clock() + ask(p.socket(leader), {"verb": "is-leader"})["left_us"]
        look = Lookout(ask, {n: p.socket(n) for n in p.names if n != leader}, term)
        p.elect(leader, "resign")
        seen = look.wait()
        holds("what was promised is waited for", seen and seen[0] >= until - 5000, seen, until)
        holds("it is said", "on-follower exits with 2: others wait until its lease is over" in p.log(leader), p.log(leader))


# ---- many changes ----

@case
def flaps(_):
    """Leadership goes round as fast as it can while hooks are slow: they are run for what is, not for all that was."""
    with Hooked(("on-leader", "on-follower", "on-leader-change"), "hook-timeout = 5s\n") as p:
        p.does("on-leader-change", "sleep 0.05")
        p.start()
        p.leader()
        changes = int(os.environ.get("FLAPS", "60"))
        done = 0
        end = time.monotonic() + 200
        while done < changes and time.monotonic() < end:
            for n in p.names:
                if p.group(n).get("leads"):
                    done += p.elect(n, "resign").returncode == 0
        holds("it went round", done >= changes, done)
        p.leader()
        for n in p.names:
            def turns():
                return [h for h in p.hooks_of(n) if h != "on-leader-change"]
            wait("the last one is what is", lambda: not turns() or
                 turns()[-1] == ("on-leader" if p.group(n)["leads"] else "on-follower"))
            # one that was too late may have been ended before it could note anything: then it is undone all the same
            holds("in turn", all(a != b or a == "on-follower" for a, b in zip(turns(), turns()[1:])), turns())
        seen = [x for x in p.notes() if x[1] == "on-leader-change"]
        holds("not one for each", 0 < len(seen) < 3 * changes, len(seen))
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
            hurt(p)
            p.start()
            wait(f"{hurt.__name__}: it is said", lambda: "pre-leader is not to be trusted: it declines" in p.log("a") or
                 "pre-leader could not be run" in p.log("a"))
            holds("it does not lead", not p.group("a").get("leads"), hurt.__name__)
            holds("why", "elect: pre-leader: /" in p.log("a"), p.log("a"))
            holds("it was not run", not p.noted.exists() or not p.notes())


@case
def environment(_):
    """From scratch: nothing of the daemon's own."""
    with Hooked() as p:
        p.does("pre-leader", f"env | sort > {p.hooks}/environment.$ELECT_NODE; cat > {p.hooks}/input")
        p.start(env={"SECRET": "x", "LD_PRELOAD": "", "NOTIFY_SOCKET": "/nowhere"})
        leader, term = p.settled()
        found = dict(line.split("=", 1) for line in (p.hooks / f"environment.{leader}").read_text().splitlines())
        known = {"PATH", "ELECT_HOOK", "ELECT_GROUP", "ELECT_NODE", "ELECT_LEADER", "ELECT_TERM", "ELECT_TOKEN", "ELECT_LEASE_MS",
                 "ELECT_SOCKET", "PWD", "SHLVL", "_", "OLDPWD"}
        holds("nothing else", set(found) <= known, found)
        holds("what it says", found["ELECT_TOKEN"] == str(term) and found["ELECT_LEASE_MS"] == "2940" and
              found["ELECT_SOCKET"].endswith(".status") and found["ELECT_HOOK"] == "pre-leader", found)
        holds("no input", (p.hooks / "input").read_text() == "")


if __name__ == "__main__":
    sys.exit(main(__file__))
