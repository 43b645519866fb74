#!/usr/bin/env python3
"""Tests attacks of local users on a daemon: local_users.py ELECT [CASE ... | --list] [--jobs N]

A user who may query the daemon must not be able to prevent the renewal of leases. A user who may run work under its leadership
must not be able to erase its history or fill its log."""

import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from lib.cases import case, main  # noqa: E402
from lib.checks import holds, is_root  # noqa: E402
from lib.elect_command import ELECT  # noqa: E402
from lib.local_cluster import LocalCluster  # noqa: E402
from lib.processes import die_with_parent, member_of, wait  # noqa: E402
from lib.run_socket import clock, FAILED, NOW, Talker, UNHEALTHY, YIELDS  # noqa: E402
from lib.status_socket import ask  # noqa: E402
from lib.times import STEADY_TIMES  # noqa: E402

CROWD = os.path.join(os.path.dirname(ELECT), "test", "crowd")
USER, GROUP = 60001, 60000  # the attacker, if the suite runs as root
PEAK = 2048                # kB that an attack may add to a member's memory
SHOWN, WINDOW, BURST, PERIOD = 8, 60, 20, 0.05  # journal.h, pace.h
TURN = ("starts its work", "has ended all its work")


def peak_memory(pid):
    """Returns the process's peak memory in kB."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def margins(path, questions):
    """Queries the lease on the run socket several times. Returns the shortest remaining time and the longest wait for an
    answer."""
    least, longest = float("inf"), 0
    with Talker(path) as t:
        for _ in range(questions):
            asked = clock()
            until = t.ask("LEASE")
            answered = clock()
            holds("the member leads, and answers", until > 0)
            least, longest = min(least, until - answered), max(longest, answered - asked)
            time.sleep(0.005)
    return f"least lease left {least / 1000:.0f} ms, longest answer {longest / 1000:.1f} ms"


def crowd(what, *words):
    """A user who is only in the daemon's group opens many connections. Queries of this user and of others are still answered,
    and the member leads as before."""
    with LocalCluster(times=STEADY_TIMES) as p:
        leader, term = p.begin()
        as_user = {}
        if is_root(f"a crowd that {what}, of another user"):
            as_user = {"user": USER, "group": GROUP, "extra_groups": []}
            os.chown(p.socket(leader), -1, GROUP)
            for folder in (p.folder, p.folder / "state"):
                folder.chmod(0o755)
        member, path = member_of(p.daemons[leader].pid), p.socket(leader, "run")
        print("measured: without the crowd:", margins(path, 300))
        before = peak_memory(member)
        attack = subprocess.Popen([CROWD, p.socket(leader), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  preexec_fn=die_with_parent, **as_user)
        try:
            print("measured: with the crowd:", margins(path, 600))
            if as_user:
                wait("an answer", lambda: ask(p.socket(leader), {"verb": "is-leader"}))
        finally:
            made = int(attack.communicate()[0])
        grown = peak_memory(member) - before
        print(f"measured: {made} connections were made; the member's peak grew by {grown} kB")
        holds("there was a crowd", made > 0)
        holds("bounded memory:", grown < PEAK, grown, "kB")
        holds("the member leads as before", p.leader() == (leader, term), p.leader(), (leader, term))


@case
def crowd_of_clients(_):
    crowd("queries", "8", "32", '{"verb": "status"}\n')


@case
def crowd_with_incomplete_requests(_):
    """A user opens more connections than the daemon keeps, with an incomplete request on each."""
    crowd("is silent", "8", "200", '{"verb": ')


def history(p, name):
    return wait("the history", lambda: ask(p.socket(name), {"verb": "history"}))["history"]


def counted(entries, text):
    return sum(1 + e.get("repeated", 0) for e in entries if text in e["text"])


@case
def flood_of_turns(_):
    """A user starts and ends work as fast as possible, more often than the history can record. Each command has another name,
    and ends for another reason."""
    turns = 200
    with LocalCluster(times=STEADY_TIMES) as p:
        leader, _ = p.begin()
        first = [e["text"] for e in history(p, leader) if e["event"] != "link"]
        begun = time.monotonic()
        with Talker(p.socket(leader, "run")) as t:
            for i in range(turns):
                name = "".join(chr(ord("a") + int(d)) for d in str(i))
                holds("the run gets its turn", t.hold(why=name).word == "GO", i)
                t.empty(why=name)
        lasted = time.monotonic() - begun
        holds("turns have a pace:", lasted >= (turns - BURST) * PERIOD, lasted)
        missing = [text for text in first if text not in [e["text"] for e in history(p, leader)]]
        holds("nothing else is replaced:", not missing, missing)
        wait("all ended", lambda: counted(history(p, leader), "has ended all its work") == turns)
        entries = history(p, leader)
        holds("every turn is counted", sum(counted(entries, text) for text in TURN) == 2 * turns, entries)
        holds("entries are in order", [e["at_us"] for e in entries] == sorted(e["at_us"] for e in entries), entries)
        # The log is read before the clock: the limit grows with time and must cover every line counted.
        lines, lasted = sum(p.log(leader).count(text) for text in TURN), time.monotonic() - begun
        holds("repetitions are not logged one by one:", lines <= 2 * (SHOWN + 1) * (lasted // WINDOW + 2), lines)
        p.daemons[leader].terminate()
        p.daemons[leader].wait()
        said = p.log(leader)
        holds("repetitions are summed up at the end", re.search(r"has ended all its work: \w+ \(and \d+ similar entries within 60 s\)", said), said[-900:])


@case
def flood_of_lost_channels(_):
    """A user closes the guardian's channel of one run after another. The guardian logs the doubt, but not for each run."""
    with LocalCluster("a", times=STEADY_TIMES) as p:
        p.begin()
        before = len(p.log("a").splitlines())
        for _ in range(40):
            with Talker(p.socket("a", "run")) as t:
                t.say("HOLD", group="main")
                t.until_hears("WAIT")
                t.channel.close()
                t.channel = None
                holds("the run gets its turn", t.until_hears("GO"))
                t.empty()
        wait("the doubt is logged", lambda: "ended without reporting" in p.log("a"))
        lines = p.log("a").splitlines()[before:]
        holds("lines are few:", sum("ended without reporting" in line for line in lines) < 10, len(lines), lines[:5])


def recorded(p, name):
    """Returns how many steps that member has recorded."""
    question = {"verb": "messages", "group": "main", "loud": True, "from": -1}
    return wait("the recorder", lambda: ask(p.socket(name), question))["next"]


@case
def flood_of_resignations(_):
    """A member that does not lead records no steps for requests to resign, so its flight recorder keeps its history."""
    with LocalCluster(times=STEADY_TIMES) as p:
        leader, _ = p.begin()
        follower = next(n for n in p.names if n != leader)
        before = recorded(p, follower)
        with Talker(p.socket(follower, "run")) as t:
            for _ in range(100):
                t.say("RESIGN", group="main")
                said = t.until_hears("REFUSED", "DONE")
                holds("the request is refused", said and said.word == "REFUSED" and "does not lead" in said.why, said)
        holds("no step is recorded", recorded(p, follower) - before < 100, before, recorded(p, follower))


@case
def failures_that_keep_leadership(_):
    """A run with --on-exit hold always fails and is restarted at once. When the user's initial burst is used up, it starts at
    most four times a second."""
    with LocalCluster(times=STEADY_TIMES) as p:
        leader, _ = p.begin()
        begun = time.monotonic()
        with Talker(p.socket(leader, "run")) as t:
            for i in range(12):
                holds("the run gets its turn", t.hold().word == "GO", i)
                t.empty(flags=FAILED, why="its command exited with status 1")
        lasted = time.monotonic() - begun
        holds("failures have a pace:", lasted >= 1.5, lasted)
        holds("the member leads", p.known(leader)["leads"] and "exited with status 1" in p.log(leader), p.log(leader))


@case
def flood_of_health(_):
    """A run that alternates between healthy and unhealthy, with a new reason each time, fills neither the flight recorder nor
    the log."""
    with LocalCluster(times=STEADY_TIMES) as p:
        leader, _ = p.begin()
        follower = next(n for n in p.names if n != leader)
        before, begun = recorded(p, follower), time.monotonic()
        with Talker(p.socket(follower, "run")) as t:
            t.say("HOLD", group="main")
            t.until_hears("WAIT")
            for i in range(1000):
                t.say("HEALTH", flags=UNHEALTHY, group="main", why="".join(chr(ord("a") + int(d)) for d in str(i)))
                t.say("HEALTH", group="main")
                t.ask()
        seconds = time.monotonic() - begun + 1
        holds("steps are few:", recorded(p, follower) - before < 100 + 4 * seconds, before, recorded(p, follower), seconds)
        lines = len(p.log(follower).splitlines())
        holds("lines are few:", lines < 100 + 10 * seconds, lines, seconds)


@case
def flood_of_hand_overs(_):
    """A user starts work on the current leader and makes it resign, again and again, as fast as possible. This floods neither
    the history nor the log. Each resignation costs twice as much as the one before, so a member permits only logarithmically
    many over time."""
    with LocalCluster(times=STEADY_TIMES) as p:
        p.begin()
        first = {n: [e["text"] for e in history(p, n) if e["event"] not in ("link", "work")] for n in p.names}
        begun, resigned = time.monotonic(), 0
        while time.monotonic() - begun < 6:
            leader, _ = p.leader()
            with Talker(p.socket(leader, "run")) as t:
                if t.hold().word != "GO":
                    continue
                t.empty(flags=YIELDS)
                resigned += 1
                wait("another member leads", lambda: not p.known(leader)["leads"])
        lasted = time.monotonic() - begun
        cost = [BURST * PERIOD * 2 ** min(i, 5) for i in range(resigned + 1)]
        most = next(i for i in range(1, resigned + 2) if sum(cost[:i]) - BURST * PERIOD > lasted or i > resigned)
        holds("resignations have a pace:", resigned <= len(p.names) * most, resigned, lasted)
        for name in p.names:
            there = [e["text"] for e in history(p, name)]
            holds("nothing is replaced:", all(text in there for text in first[name]), name, resigned, lasted)


@case
def many_groups_of_one_user(_):
    """After a failover one user's runs start in all groups at once. When all end at once, each run hands its group over once.
    The user's rate limit prevents none of these hand-overs."""
    groups = tuple(f"g{i}" for i in range(24))  # more runs than a burst allows
    with LocalCluster(times=STEADY_TIMES, groups=groups) as p:
        leader, _ = p.begin()

        def led(name):
            said = ask(p.socket(name), {"verb": "status"})
            return {g["group"]: g.get("leader") for g in said["groups"]} if said else {}

        def leads_all():
            for group, other in led(leader).items():
                if other not in (None, leader):
                    p.elect(other, "transfer", leader, "-g", group)
            return list(led(leader).values()) == [leader] * len(groups)
        wait("one member leads all groups", leads_all)
        runs = {group: Talker(p.socket(leader, "run")) for group in groups}
        try:
            for group, t in runs.items():
                said = t.hold(group, flags=NOW)
                holds("its start is not delayed:", said and "too often" not in said.why, group, said)
                holds("the run works", said.word == "GO" or t.hold(group).word == "GO", group, said)
            for t in runs.values():
                t.empty(flags=YIELDS)
            second, left = next(n for n in p.names if n != leader), set()

            def all_left():
                left.update(group for group, name in led(second).items() if name not in (None, leader))
                return len(left) == len(groups)
            wait("other members lead", all_left)
        finally:
            for t in runs.values():
                t.close()


if __name__ == "__main__":
    sys.exit(main(__file__))
