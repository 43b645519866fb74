#!/usr/bin/env python3
"""Tests elect explain and the export of a history: explain.py ELECT [CASE ... | --list] [--jobs N]

The cases ask one of several real daemons why the leader last changed, and it asks the others. They also export the recorded
faults as a scenario, which the simulator must be able to replay."""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import sys
import threading
import time

sys.dont_write_bytecode = True
from lib.cases import case, main  # noqa: E402
from lib.checks import expect, holds  # noqa: E402
from lib.elect_command import ELECT, explain, explained, run  # noqa: E402
from lib.local_cluster import LocalCluster  # noqa: E402
from lib.namespace_cluster import NamespaceCluster, need_namespaces  # noqa: E402
from lib.processes import LIMIT, member_of, signal_both, wait  # noqa: E402
from lib.run_socket import Talker, YIELDS, clock  # noqa: E402
from lib.status_socket import ask  # noqa: E402
from lib.times import LONG_TIMES, PATIENT_TIMES  # noqa: E402


RENEWAL, LEASE = 3000, 10000  # milliseconds, in PATIENT_TIMES


def members(*names, **how):
    """Returns a cluster whose members may stall for seconds without a change of leader."""
    return LocalCluster(*names, times=PATIENT_TIMES, **how)


def does_not_lead(p, name):
    """Returns True if the member reports that it does not lead, and False if it does not answer."""
    group = p.group(name)
    return group and not group.get("leads")


def knows_no_leader(p, name):
    group = p.group(name)
    return group and group["leader"] is None


def begin(p):
    """Starts the members so that the highest leads with the second highest as its heir, as in the simulator."""
    p.start(p.names[-1])
    wait("the highest member answers", lambda: p.group(p.names[-1]))
    p.start(*p.names[:-1])
    leader, term = p.leader()
    wait("the leader has an heir", lambda: p.group(leader).get("heir") == max(n for n in p.names if n != leader))
    return leader, term


def recorded(p, name, since=0):
    """Returns the rules (the reasons for steps) that the member has recorded since `since` (CLOCK_BOOTTIME)."""
    done = expect("steps", p.elect(name, "history", "--messages", "-o", "json"))
    return [step.get("rule") for step in json.loads(done.stdout) if step["at_us"] > since]


def rules(said):
    return [s["rule"] for s in said["steps"]]


def replays(p, name, leader):
    """Checks that the simulator accepts the exported scenario, replays its events and ends with the same leader. Repeats the
    export until every running member answers, because the steps of a silent member would be missing."""
    file = p.folder / "history.elect"
    running = [n for n, daemon in p.daemons.items() if daemon.poll() is None]

    def exported():
        done = expect("export", p.elect(name, "history", "--export", file), 0)
        script = file.read_text().split("----")[0]
        return None if any(f"is {n}, which did not answer" in script for n in running) else (done, script)
    done, script = wait("all running members answer", exported)
    holds("the scenario ends with the same leader", f"ends as the history did: {leader} leads" in done.stdout, done.stdout, script)
    expect("replay", run("sim", file), 0)
    return script


@case
def the_first_leader(_):
    with members() as p:
        leader, term = p.begin()
        other = next(n for n in p.names if n != leader)
        said = explained(p, other)
        holds("the leaders", said["leader"] == leader and said["term"] == term and "before" not in said, said)
        holds("the steps", {"TAKES_OFFICE", "GRANTS"} <= set(rules(said)), said)
        holds("in order", [s["ms"] for s in said["steps"]] == sorted(s["ms"] for s in said["steps"]), said)
        holds("the steps end with the office", said["steps"][-1]["rule"] == "TAKES_OFFICE" and said["steps"][-1]["ms"] == 0, said)
        text = expect("text", p.elect(other, "explain"), 0, out=(f"group main: {leader} leads in term", "No earlier leader is recorded")).stdout
        holds("a dozen lines", len(text.splitlines()) <= 24 and max(map(len, text.splitlines())) <= 80, text)
        script = replays(p, other, leader)
        holds("the scenario contains no fault", all(line.startswith(("transfer", "recover")) for line in script.splitlines() if " at " in line), script)


class Between(threading.Thread):
    """A status socket between elect explain and a daemon. It forwards requests, except those for one member's flight recorder.
    It answers these itself, slowly, each time promising more steps, and counts them."""

    def __init__(self, path, daemon, slow):
        super().__init__(daemon=True)
        self.daemon_socket, self.slow, self.pages = daemon, slow, 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()
        self.start()

    def page(self, request):
        self.pages += 1
        time.sleep(0.25)  # a daemon waits at most 0.3 s for another member
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        step = {"at_us": now, "ago_us": 0, "event": "ALARM", "rule": "NOTHING", "because": "nothing at all"}
        return {"ok": True, "now_us": now, "asked_us": now - 250_000, "answered_us": now, "next": max(request["from"], 0) + 1,
                "more": True, "messages": [step]}

    def run(self):
        while True:
            client, _ = self.socket.accept()
            with client:
                request = json.loads(client.makefile().readline())
                about_slow = request["verb"] == "messages" and request["member"] == self.slow
                answer = self.page(request) if about_slow else ask(self.daemon_socket, request, LIMIT)
                with contextlib.suppress(OSError):
                    client.sendall(json.dumps(answer).encode() + b"\n")


@case
def a_member_that_answers_without_end(_):
    """If a member's answers never end, elect explain stops querying that member and names it. The other members' answers are
    not delayed. (All 400 steps of that member would take 100 s.)"""
    with members() as p:
        leader, _ = begin(p)  # usually c, so that the queried member comes before the slow one
        asked, slow = (n for n in p.names if n != leader)
        between = Between(str(p.folder / "between.status"), p.socket(asked), slow)

        def answered():
            between.pages = 0
            done = run("explain", "-S", p.folder / "between.status", "-o", "json")
            return json.loads(done.stdout) if done.returncode == 0 and not json.loads(done.stdout)["missing"] else None
        said = wait("the others answer", answered)
        holds("the leader", said["leader"] == leader and "TAKES_OFFICE" in rules(said), said)
        holds("the slow member was queried, but not for all steps", 0 < between.pages < 400, between.pages)
        holds("the slow member is named as incomplete", said["incomplete"] == [slow], said)
        text = expect("text", run("explain", "-S", p.folder / "between.status"), 0).stdout
        holds("the text names the slow member, too", f"{slow} answered only in part: some steps recorded there are missing" in text, text)


class Doubtful(Between):
    """Adds forged steps to the answers, as if a member had been the first candidate and had granted itself a term twice without
    being elected."""

    def page(self, request):
        said = ask(self.daemon_socket, request, LIMIT)
        if said and said.get("messages") and not self.pages:
            first = said["messages"][0]
            said["messages"].insert(0, first | {"rule": "GRANTS_AGAIN", "a": self.slow, "b": self.slow, "at_us": first["at_us"] - 1000})
            self.pages += 1
        return said


@case
def a_candidate_was_not_the_first_leader(_):
    """The first leader has exited properly, so its steps are lost. The exported scenario must not make a member that was only a
    candidate at that time the first leader."""
    with members() as p:
        old, _term = begin(p)
        p.daemons[old].terminate()
        p.daemons[old].wait()
        leader, _term = p.leader(among=[n for n in p.names if n != old], other_than=old)
        candidate = next(n for n in p.names if n not in (old, leader))
        explained(p, leader, [old])
        between = Doubtful(str(p.folder / "between.status"), p.socket(leader), candidate)

        def exported():
            between.pages = 0
            done = run("history", "-S", p.folder / "between.status", "--export", p.folder / "history.elect")
            return done if done.returncode == 0 and between.pages else None
        done = wait("the members answer", exported)
        script = (p.folder / "history.elect").read_text().split("----")[0]
        holds("the same end", f"ends as the history did: {leader} leads" in done.stdout, done.stdout, script)
        holds("the candidate never leads in the scenario", not re.search(rf"^(wins|transfer \d+) {p.number(candidate)}\b", script, re.M), script)


@case
def the_first_leader_is_not_the_highest(_):
    """Member c, the highest, starts after the others have elected a leader, and follows it."""
    with members() as p:
        p.start("a", "b")
        leader, _term = p.leader(among=["a", "b"])
        p.start("c")
        p.leader()
        holds("the leaders", explain(p, "c")["leader"] == leader)
        replays(p, "c", leader)
        wait("c is the heir", lambda: p.group(leader).get("heir") == "c")
        os.kill(member_of(p.daemons[leader].pid), signal.SIGKILL)
        p.daemons[leader].wait()
        new, _term = p.leader(among=[n for n in p.names if n != leader], other_than=leader)
        # Usually c, the heir; another member if c was slow.
        replays(p, next(n for n in "ab" if n != leader), new)


@case
def a_reason_with_an_arrow(_):
    """A run's reason is printed in full, even if it looks like the end of a rule."""
    with members() as p:
        old, _term = begin(p)
        with Talker(p.socket(old, "run")) as t:
            holds("the run works", t.hold().word == "GO")
            t.empty(flags=YIELDS, why="a -> b failed")
            leader, _term = p.leader(other_than=old)
        said = " ".join(p.elect(leader, "explain").stdout.split())
        holds("the whole reason", re.search(rf"Why {old} stopped leading: {old} resigns \(elect run \(pid \d+\) hands over: a -> b failed\)\. ", said), said)


@case
def members_with_roles(_):
    """The exported scenario contains roles, priorities and preemption."""
    roles = {"a": "witness", "b": "member\npriority = 5", "d": "observer"}
    with members("abcd", roles=roles, options="preempt = yes\n") as p:
        p.start()
        wait("the fittest leads", lambda: {p.group(name).get("leader") for name in p.names} == {"b"})
        script = replays(p, "d", "b")
        holds("settings", {"witnesses 1", "observers 4", "priority 2:5", "preempt yes"} <= set(script.splitlines()), script)


@case
def leader_process_dies(_):
    """The guardian reports its member's death. All other members receive the report, and the explanation mentions the death
    once."""
    with members() as p:
        old, _term = begin(p)
        os.kill(member_of(p.daemons[old].pid), signal.SIGKILL)
        p.daemons[old].wait()
        new, term = p.leader(among=[n for n in p.names if n != old], other_than=old)
        asked = next(n for n in p.names if n not in (old, new))
        said = explained(p, asked, [old])
        holds("the leaders", (said["leader"], said["before"], said["term"]) == (new, old, term), said)
        holds("the reason", said.get("stopped", "") == f"{old} died (reported by its guardian)" and not said["exactly"], said)
        dead = next((s for s in said["steps"] if s["rule"] == "TESTAMENT"), {"member": "nobody", "also": []})
        holds("the members that heard it", {dead["member"], *dead["also"]} == {asked, new}, dead)
        holds("the time without a leader", said["nobody_led_ms"] > 0, said)
        expect("text", p.elect(asked, "explain"), 0, out=(f"Before that, {old} led", f"{old} died (reported by its guardian)", "There was no leader for ",
                                                          f"{old} did not answer: the steps recorded there are missing."))
        script = replays(p, asked, new)
        holds("replayed", f"testament {p.number(old)} at " in script and "resign" not in script, script)
        p.start(old)
        p.leader()
        script = replays(p, asked, new)
        holds("the return of the member", f"recover {p.number(old)} at " in script and "resign" not in script, script)


@case
def leader_machine_is_lost(_):
    """The leader's machine fails, so no guardian reports the death. The others miss the leader and wait until its lease ends.
    elect explain counts the time without a leader from the lease's last renewal."""
    with members() as p:
        old, _term = begin(p)
        since = clock()
        wait("its lease is renewed", lambda: all("GRANTS_AGAIN" in recorded(p, n, since) for n in p.names if n != old))
        p.kill(old)
        new, term = p.leader(among=[n for n in p.names if n != old], other_than=old)
        said = explained(p, new, [old])
        holds("the leaders", (said["leader"], said["before"], said["term"]) == (new, old, term), said)
        holds("the reason", "stopped" not in said and "MISSES" in rules(said), said)
        holds("its last sign of life", {"GRANTS_AGAIN", "RENEWED"} & set(rules(said)), said)
        steps = json.loads(expect("steps", p.elect(new, "history", "--messages", "-o", "json")).stdout)
        takes = next(s["at_us"] for s in steps if s.get("rule") == "TAKES_OFFICE")
        misses = max(s["at_us"] for s in steps if s.get("rule") == "MISSES" and s["at_us"] < takes)
        renewed = max(s["at_us"] for s in steps if s.get("rule") == "GRANTS_AGAIN" and s["at_us"] < misses)
        holds("the time without a leader", LEASE / 2 < said["nobody_led_ms"] <= (takes - renewed) / 1000 + 1, said, takes, renewed)
        expect("text", p.elect(new, "explain"), 0, out=("hears nothing from", "still leads (recorded by", "did not report that it stopped"))
        holds("replayed", f"crash {p.number(old)} at " in replays(p, new, new))


@case
def leader_resigns(_):
    """The leader resigns in favour of a named member. If that member is slow, another may be elected, and the explanation must
    say so."""
    with members() as p:
        old, before = begin(p)
        to = next(n for n in p.names if n != old)
        done = p.elect(old, "transfer", to)
        wait("the term changes", lambda: (p.group(old).get("term") or 0) > before)
        new, term = p.leader()
        holds("transfer reports whether the named member leads", done.returncode == 0 or new != to, done.returncode, done.stderr)
        said = explained(p, old)
        holds("the leaders", (said["leader"], said["before"], said["term"]) == (new, old, term), said)
        holds("the reason", f"{old} resigns (uid {os.getuid()} on {old} ordered it to hand over to {to}) -> " in said.get("stopped", "") and said["exactly"], said)
        holds("the steps", {"RESIGNS", "TAKES_OFFICE"} <= set(rules(said)) and said["nobody_led_ms"] >= 0, said)
        script = replays(p, old, new)
        if new == to:
            holds("by its certificate", {"HANDS_OVER", "CERTIFIED"} <= set(rules(said)), said)
            holds("replayed", f"transfer {p.number(old)} {p.number(to)} at " in script, script)


@case
def leader_stalls(_):
    """The leader is stopped until its mandate has expired. When it continues, it reports the loss."""
    with members() as p:
        old, _term = begin(p)
        signal_both(p.daemons[old], signal.SIGSTOP)
        try:
            new, _term = p.leader(among=[n for n in p.names if n != old], other_than=old)
            holds("the leaders", explained(p, new, [old])["leader"] == new)
        finally:
            signal_both(p.daemons[old], signal.SIGCONT)
        p.leader()
        said = explained(p, old)
        holds("the leaders, afterwards", (said["leader"], said["before"]) == (new, old), said)
        holds("replayed", f"pause {p.number(old)} " in replays(p, old, new))


@case
def leader_is_stopped(_):
    """The leader is terminated. Its history is lost, but the other members have received its release, which explains the
    change."""
    with members() as p:
        old, _term = begin(p)
        p.daemons[old].terminate()
        p.daemons[old].wait()
        new, _term = p.leader(among=[n for n in p.names if n != old], other_than=old)
        said = explained(p, new, [old])
        holds("the leaders", (said["leader"], said["before"], said["known_by"]) == (new, old, "others"), said)
        expect("text", p.elect(new, "explain"), 0, out=f"{old} released its term")
        script = replays(p, new, new)
        holds("replayed", f"resign {p.number(old)} at " in script and f"crash {p.number(old)} at " in script, script)


@case
def leader_resigns_and_its_machine_is_lost(_):
    """The leader resigns, continues to send messages, and is then killed. In the exported scenario the crash comes after the
    resignation."""
    with members() as p:
        old, _term = begin(p)
        resigned = 0
        while (new := p.leader()[0]) == old:  # the others may be so slow that it is re-elected
            resigned += p.elect(old, "resign").returncode == 0

        def renewals():
            steps = json.loads(expect("steps", p.elect(new, "history", "--messages", "-o", "json")).stdout)
            return sum(s.get("from") == old and s["rule"] == "RENEWED" for s in steps)

        wait("the former leader grants three rounds", lambda: renewals() > 3)
        p.kill(old)

        def faults():
            lines = [line.split() for line in replays(p, new, new).splitlines() if " at " in line]
            return [(words[0], int(words[-1])) for words in lines]

        lost = faults()
        story = [*["resign"] * resigned, "crash"]
        holds("resignation and crash, in order", [what for what, _ in lost] == story and lost[-1][1] > lost[-2][1] + RENEWAL, lost)
        p.start(old)
        p.leader()
        back = faults()
        holds("the return of the member", [what for what, _ in back] == [*story, "recover"] and back[-1][1] > back[-2][1], back)


def parted(function):
    """Turns a function into a case on five machines that cuts some of them off from the others."""
    def play(_):
        need_namespaces()
        with NamespaceCluster(ELECT, members=5, times=LONG_TIMES) as c:
            c.start(c.names[-1])
            wait("the highest member answers", lambda: c.group(c.names[-1]))
            c.start(*c.names[:-1])
            function(c, c.leader()[0])
    play.__name__ = function.__name__
    return case(play)


def sides_of(script):
    """Returns the two sides of each cut in the scenario, as sets of member numbers."""
    return [frozenset(frozenset(map(int, side.split())) for side in line[4:].split(" at ")[0].split("/"))
            for line in script.splitlines() if line.startswith("cut ")]


def replays_the_cut(c, leader, *sides):
    script = replays(c, leader, leader)
    holds("the sides of the cut", set(sides_of(script)) == {frozenset(frozenset(map(c.number, side)) for side in sides)}, script)
    holds("healed", "heal at " in script and "pause" not in script, script)


def replays_the_absence(c, leader, away, since):
    """Checks that the scenario separates each member that was cut off from the leader or, if the member stalled for a long
    time, pauses it. On a busy machine other members may miss the leader, too. If none does and none is paused, the scenario
    must not separate any other member."""
    script, numbers = replays(c, leader, leader), frozenset(map(c.number, away))
    apart = {n for sides in sides_of(script) for side in sides if c.number(leader) not in side for n in side}
    for number in numbers:
        holds(f"{number} was away", number in apart or f"pause {number} " in script, script)
    if "pause" not in script and not any("MISSES" in recorded(c, n, since) for n in c.others(*away)):
        holds("no other member is separated", apart == numbers and "heal at " in script, script)
    # A busy machine may start a member only after the others have elected a leader. The scenario then lets it recover.
    crashed = {line.split()[1] for line in script.splitlines() if line.startswith("crash ")}
    holds("none of these crashed", not crashed & {str(c.number(n)) for n in (leader, *away)}, script)


@parted
def leader_is_cut_off(c, old):
    """The leader and another member are cut off. The majority waits no longer than the lease, and both sides explain the
    change."""
    with_it = next(n for n in c.names if n != old)
    majority = c.others(old, with_it)
    c.part((old, with_it), majority)
    new, _term = c.leader(among=majority, other_than=(old,))
    said = explained(c, majority[0], (old, with_it))
    holds("the leaders", (said["leader"], said["before"]) == (new, old), said)
    wait("the old leader has stopped", lambda: does_not_lead(c, old))
    c.heal()
    c.leader()
    said = explained(c, with_it)
    holds("the leaders, from the other side", (said["leader"], said["before"]) == (new, old), said)
    holds("the old leader reported its own end", said["known_by"] == "itself" and said["exactly"] and said["nobody_led_ms"] > 0, said)
    replays_the_cut(c, new, (old, with_it), majority)


@parted
def no_side_has_a_majority(c, old):
    """The network is cut so that no side has a majority. A candidate that fails meanwhile must not be reported as a leader."""
    with_it = next(n for n in c.names if n != old)
    sides, since = [(old, with_it), *[(n,) for n in c.others(old, with_it)]], clock()
    c.cut(*[(a, b) for one in sides for other in sides if one != other for a in one for b in other])
    wait("the old leader has stopped", lambda: does_not_lead(c, old))
    wait("one of the two fails to get a majority", lambda: any("NO_MAJORITY" in recorded(c, n, since) for n in (old, with_it)))
    c.heal()
    new, _term = c.leader()
    said = explained(c, new)
    holds("the leaders", (said["leader"], said["before"], said["known_by"]) == (new, old, "itself"), said)


def cut_off(c, away):
    """Cuts off the members in `away`. Waits until they have missed their leader and no longer report it to each other."""
    since = clock()
    c.part(away, c.others(*away))

    def gave_up(name):
        seen = recorded(c, name, since)
        return "MISSES" in seen and "STILL_LOOKS" in seen[seen.index("MISSES"):]
    wait("they know no leader", lambda: all(map(gave_up, away)))
    return since


@parted
def two_followers_are_cut_off(c, leader):
    """Two followers are cut off without a change of leader. The exported scenario must contain their absence. They usually
    return before the lease ends, and then grant the leader a renewal again."""
    away = c.others(leader)[:2]
    since = cut_off(c, away)
    c.heal()
    c.leader()
    holds("the leaders", explained(c, away[0])["leader"] == leader)
    replays_the_absence(c, leader, away, since)


@parted
def two_followers_miss_a_hand_over(c, old):
    """Two followers are cut off, and another member leads when they return. During the cut one of them reported the old leader
    to the other, although both missed it."""
    away = c.others(old)[:2]
    since = cut_off(c, away)
    rest = c.others(*away)
    while (new := c.leader(among=rest)[0]) == old:  # the others may be so slow that it is re-elected
        c.elect(old, "resign")
    wait("the new leader leads for some rounds", lambda: recorded(c, new, since).count("RENEWED") > 4)
    c.heal()
    c.leader()
    replays_the_absence(c, new, away, since)


@case
def all_stall(_):
    """All members are stopped at once. The lease ends long before they continue and can report its loss."""
    with members() as p:
        old, _term = begin(p)
        for name in p.names:
            signal_both(p.daemons[name], signal.SIGSTOP)
        since = time.monotonic()
        wait("all leases are over", lambda: time.monotonic() > since + 1.5 * LEASE / 1000)
        for name in p.names:
            signal_both(p.daemons[name], signal.SIGCONT)
        wait("the term changes", lambda: (p.group(old).get("term") or 0) != _term and p.leader())
        said = explained(p, old)
        holds("the time without a leader", said["known_by"] == "itself" and said["exactly"] and said["nobody_led_ms"] > 1000, said)


@case
def no_member_leads_now(_):
    """If there is no leader, elect explain names the last one, says when and why it stopped leading, and lists the elections
    tried since then."""
    with members() as p:
        old, _term = begin(p)
        others = [n for n in p.names if n != old]
        for name in p.names:
            expect("pause", p.elect(name, "pause"), 0)
        wait("all members are paused", lambda: all(p.group(n).get("paused") for n in p.names))
        os.kill(member_of(p.daemons[old].pid), signal.SIGKILL)
        p.daemons[old].wait()
        wait("no member leads", lambda: all(knows_no_leader(p, n) for n in others))
        said = explain(p, others[0])
        holds("the last leader", (said.get("leader"), said.get("before"), said["leads_now"], said.get("known_by")) == (None, old, False, "guardian"), said)
        expect("text", p.elect(others[0], "explain"), 0,
               out=("group main: no leader is known.", f"{old} led last, and was last heard at", "Elections are paused: elect resume.",
                    f"{old} died (reported by its guardian)", "No leader has been known for "))
        for name in others:
            expect("resume", p.elect(name, "resume"), 0)
        new, _term = p.leader(among=others, other_than=old)
        holds("afterwards", (explain(p, new)["leader"], explain(p, new)["before"]) == (new, old))


@case
def no_majority_is_left(_):
    """A leader without a majority reports why it stopped leading, and a follower reports which leader it missed."""
    with members() as p:
        old, _term = begin(p)
        p.kill(*[n for n in p.names if n != old])
        wait("the leader stops", lambda: knows_no_leader(p, old))
        said = explain(p, old)
        holds("the last leader", (said.get("leader"), said.get("before"), said.get("known_by"), said.get("exactly")) == (None, old, "itself", True), said)
        expect("text", p.elect(old, "explain"), 0, out=("group main: no leader is known.", f"{old} led last, for ", f"Why {old} stopped leading: ", "No leader has been known for"))
    with members() as p:
        old, _term = begin(p)
        left, lost = [n for n in p.names if n != old]
        p.kill(old, lost)
        wait("the follower misses the leader", lambda: knows_no_leader(p, left))
        said = explained(p, left, (old, lost))
        holds("the last leader", (said.get("leader"), said.get("before"), said.get("known_by")) == (None, old, "nobody"), said)
        holds("the steps of the follower", "MISSES" in rules(said), said)
        expect("text", p.elect(left, "explain"), 0, out=(f"{old} led last, and was last heard at", "did not report that it stopped: no other member can take office"))


@case
def on_a_ring(_):
    """Without a mandate each algorithm records its own step when a process becomes leader."""
    for algorithm in ("ring", "active-ring", "chang-roberts"):
        with members(options=f"mandate = none\nalgorithm = {algorithm}\n") as p:
            p.start()
            wait("the highest leads", lambda: {p.group(n).get("leader") for n in p.names} == {"c"})
            said = wait("explain names the leader", lambda: next((s for s in [explain(p, "a")] if s.get("leader") == "c"), None))
            holds(algorithm, said["leads_now"] and said["steps"][-1]["ms"] == 0, said)


@case
def without_a_mandate(_):
    """Without a mandate the other members do not wait for a lease to end, so elect explain reports no time without a leader."""
    with members(options="mandate = none\n") as p:
        p.start()
        wait("the highest leads", lambda: {p.group(n).get("leader") for n in p.names} == {"c"})
        p.kill("c")
        wait("the next one leads", lambda: {p.group(n).get("leader") for n in "ab"} == {"b"})
        said, text = explain(p, "a"), p.elect("a", "explain")
        holds("the leaders", said["leader"] == "b" and "nobody_led_ms" not in said, said)
        holds("the leader before", said["before"] in ("c", "a"), said)  # a may have led in between if b answered its election too late
        if said["before"] == "c":
            holds("the steps", {"SUSPECTS", "NOBODY_ANSWERED"} <= set(rules(said)), said)
        expect("text", text, 0, out=f"{said['before']} did not report that it stopped: without a mandate")
        expect("export", p.elect("a", "history", "--export", p.folder / "x"), 1, err="only the history of a cluster with a mandate")


@case
def restarted_members_have_forgotten(_):
    with members() as p:
        p.begin()
        p.kill(*p.names)
        p.start("a")
        wait("the member answers", lambda: p.group("a"))
        expect("nothing", p.elect("a", "explain"), 1, err="no change of leader is recorded")
        expect("nothing", p.elect("a", "history", "--export", p.folder / "x"), 1, err="no leader is recorded")
        holds("no file is written", not (p.folder / "x").exists())


@case
def bad_input(_):
    with members(groups=("main", "other")) as p:
        expect("no daemon", p.elect("a", "explain"), 3, err="no daemon runs here")
        p.begin()
        expect("which group", p.elect("a", "explain"), 64, err="there are several groups: choose one with -g GROUP")
        expect("no such group", p.elect("a", "explain", "-g", "mian"), 1, err="did you mean main?")
        wait("the other group has a leader", lambda: p.group("a", 1).get("leader"))
        expect("the other", p.elect("a", "explain", "-g", "other"), 0, out="group other:")
        expect("quiet", p.elect("a", "explain", "-g", "other", "-q"), 0, lines=0)
        expect("word", p.elect("a", "explain", "it"), 64, err="unexpected argument")
        expect("both", p.elect("a", "history", "--messages", "--export", "x"), 64, err="cannot be used with --messages")
        for nowhere, code, why in (("/nowhere/x", 74, "/nowhere/x: No such file or directory"), ("-", 64, "--export: expected the name of a file")):
            expect("nowhere", p.elect("a", "history", "-g", "main", "--export", nowhere), code, err=why)
        mine = pathlib.Path(p.folder / "kept")
        mine.write_text("mine")
        expect("kept", p.elect("a", "history", "-g", "mian", "--export", mine), 1, err="did you mean main?")
        holds("the existing file stays", mine.read_text() == "mine")


if __name__ == "__main__":
    sys.exit(main(__file__))
