#!/usr/bin/env python3
"""Tests orders to hand over leadership, which any member forwards to the leader: orders.py ELECT [CASE ... | --list] [--jobs N]

An order must not take effect twice, or in another term than the one it was given for. test/scenario/mandate/late-orders.elect
and the simulator's storms also test both rules."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
from lib.cases import case, main  # noqa: E402
from lib.checks import expect, holds, is_late  # noqa: E402
from lib.elect_command import ELECT  # noqa: E402
from lib.local_cluster import LocalCluster  # noqa: E402
from lib.namespace_cluster import NamespaceCluster, need_namespaces  # noqa: E402
from lib.processes import wait  # noqa: E402
from lib.status_socket import answer  # noqa: E402
from lib.times import PATIENT_TIMES, STEADY_TIMES, TIMES  # noqa: E402


def audits(p, name, words, then=""):
    """Returns the numbers of all orders that the member has logged with these words."""
    return re.findall(rf'\b{words} order ([a-z]-\d+): .*{then}', p.log(name))


def term_text(term):
    return f"{term >> 16}.{term & 0xffff}"


@contextlib.contextmanager
def stopped(p, name):
    """Stops the member's process, but not its guardian."""
    member = answer(p.socket(name), {"verb": "status"})["pid"]
    os.kill(member, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(member, signal.SIGCONT)


@case
def from_any_member(_):
    """The member that receives an order and the leader log the same number for it. If slow members do not take over in time,
    the order is repeated."""
    with LocalCluster("abco", roles={"o": "observer"}, times=STEADY_TIMES) as p:
        p.begin()
        for to in ("follower", "observer"):
            def ordered():
                leader, term = p.leader()
                by = "o" if to == "observer" else next(n for n in "abc" if n != leader)
                heir = next(n for n in "abc" if n not in (leader, by))
                words = ["resign"] if to == "observer" else ["transfer", heir]
                done = p.elect(by, *words, "-o", "json")
                holds(words, done.returncode == 0 or is_late(done), done.stdout, done.stderr)
                return (leader, term, by, json.loads(done.stdout)) if done.returncode == 0 else None
            leader, term, by, said = wait(f"the order of the {to} is carried out", ordered)
            holds("the result of the order", set(said) == {"group", "from", "from_term", "leader", "term", "confirmed"} and
                  said["from"] == leader and said["from_term"] == term and said["term"] > term and said["confirmed"], said)
            sent, received = audits(p, by, f"{by} sent {leader}", f"term {re.escape(term_text(term))}.*uid {os.getuid()}, pid"), audits(p, leader, f"{leader} received")
            holds("both members log the order", sent and sent[-1] == received[-1], sent, received)
            holds("the leader logs the member that sent the order", f", on {by})" in p.log(leader), p.log(leader)[-600:])
            holds("the outcome", audits(p, by, f"{leader} accepted")[-1:] == sent[-1:], p.log(by)[-600:])
        leader, _ = p.leader()
        other = next(n for n in "abc" if n != leader)
        expect("the named member leads already", p.elect(other, "transfer", leader), 1, err=f"{leader} leads already")
        expect("an observer", p.elect(other, "transfer", "o"), 1, err=f"group main: {leader} refuses, because o may not lead")


@case
def an_order_that_arrives_late_and_often(_):
    """The leader is stopped while another member sends it the same order again and again. When it continues, it carries the
    order out only once."""
    with LocalCluster(times=PATIENT_TIMES) as p:
        leader, term = p.begin()
        by = next(n for n in p.names if n != leader)
        with stopped(p, leader):
            done = p.elect_briefly(by, "resign")
        if f"handed over in term {term_text(term)}" not in done.stdout:  # a busy machine may delay only the answer
            expect("the outcome is unknown", done, 1, err=f"group main: {leader} does not answer: it may be stalled, and still carry the order out in this term; if its version is older, run the command there")
        wait("the leader resigns", lambda: not p.known(leader)["leads"])
        p.leader()
        holds("carried out once", len(audits(p, leader, f"{leader} received")) == 1 and len(audits(p, by, f"{by} sent {leader}")) == 1, p.log(leader))


@case
def an_order_for_an_office_that_is_over(_):
    """The leader is stopped until another member leads. An order that the old leader then receives has no effect."""
    with LocalCluster(times=TIMES) as p:
        leader, term = p.begin()
        by = next(n for n in p.names if n != leader)
        with stopped(p, leader):
            sent = subprocess.Popen([ELECT, "transfer", next(n for n in p.names if n not in (leader, by)), "-c", str(p.conf), "--id", by],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            new = wait("another member leads", lambda: next((n for n in p.names if n != leader and p.group(n).get("leads")), None))
            now = p.known(new)["term"]
            sent.communicate(timeout=30)
        wait("the order arrives", lambda: audits(p, leader, f"{leader} refused", "no longer leads"))
        holds("the order has no effect", p.leader() == (new, now) or p.leader()[1] > now, p.log(leader))
        holds("no other member got the order", not audits(p, new, f"{new} received"), p.log(new))


@case
def an_order_for_a_former_term(_):
    """A member that has heard nothing for a while orders the leader to resign from a term that has already ended. The leader,
    in a later term now, refuses. On a slow machine the leader may lose leadership, or the member may miss the leader. The case
    then tries again."""
    need_namespaces()
    with NamespaceCluster(ELECT, times=PATIENT_TIMES) as c:
        c.start(*c.names)

        def refused():
            leader, term = c.leader()
            by, other = c.others(leader)
            order, said = rf" order {by}-\d+: resign from term {re.escape(term_text(term))}", []
            c.cut((leader, by), (other, by))
            c.elect(leader, "transfer", other)
            c.elect(other, "transfer", leader)
            later = c.group(leader)
            if later.get("leads") and later["term"] > term and c.view(by) == (leader, term):
                client = threading.Thread(target=lambda: said.append(c.elect_once(by, "resign")))
                client.start()
                wait("the order arrives, or is given up", lambda: re.search(f"received{order}", c.log(leader).read_text()) or not client.is_alive())
                c.heal()
                client.join()
                log = c.log(leader).read_text()
                holds("the order is not carried out", said[0].returncode == 1 and len(re.findall(f"received{order}", log)) == len(re.findall(f"refused{order}", log)),
                      said, log[-2000:])
            c.heal()
            return re.search(f"refused{order}.*leads in another term now", c.log(leader).read_text())
        wait("the order is refused in another term", refused)


@case
def a_term_that_is_learned_late(_):
    """A member that hears nothing during a hand-over learns first which member leads, and its term later. Its client gets
    an answer only when the term is known."""
    need_namespaces()
    with NamespaceCluster(ELECT, times=TIMES) as c:
        c.start(*c.names)

        def answered_in_time():
            leader, term = c.leader()
            by, other = c.others(leader)
            said = []
            c.cut((leader, by), (other, by))
            client = threading.Thread(target=lambda: said.append(c.elect_once(by, "resign")))
            client.start()
            wait("the leader resigns, or the order is given up", lambda: c.group(leader).get("leads") is False or not client.is_alive())
            c.heal()
            client.join()
            unaware = "no other member leads yet" in said[0].stderr and (c.group(by).get("term") or 0) > term
            holds("the client gets the answer that the member knows", not unaware, said, c.log(by).read_text()[-2000:])
            return said[0].returncode == 0
        wait("the order is carried out", answered_in_time)


@case
def longest_names(_):
    """The log and the flight recorder name all members involved in an order, even with the longest names."""
    names = [n * 63 for n in "abc"]
    with LocalCluster(names, groups=("g" * 63,), times=STEADY_TIMES) as p:
        leader, term = p.begin()
        by, heir = [n for n in names if n != leader]
        done = p.elect(by, "transfer", heir)
        holds("the order is carried out", done.returncode == 0 or is_late(done), done.stdout, done.stderr)
        order = rf"{by}-\d+: hand over term {re.escape(term_text(term))} to {heir} \(by uid {os.getuid()}, pid \d+, on {by}\)\n"
        for name, did in ((by, f"{by} sent {leader}"), (leader, f"{leader} received"), (by, f"{leader} accepted")):
            holds("the audit is complete", re.search(f" {did} order {order}", p.log(name)), did, p.log(name)[-2000:])
        said = p.elect(leader, "history", "--messages", "-o", "json").stdout
        holds("the reason is complete", f"on {by} ordered it to hand over to {heir}) -> " in said, said)


@case
def no_member_could_take_over(_):
    with LocalCluster(roles={"b": "witness", "c": "witness"}, times=STEADY_TIMES.replace("renewal = 3s", "renewal = 1s")) as p:
        before = p.begin()
        for by in "abc":
            expect("refused", p.elect(by, "resign"), 1,
                   err="group main: a sees no member that could take over (--force: resign anyway)")
        holds("nothing has changed", p.leader() == before and "resigns" not in p.log("a"))
        expect("--force resigns", p.elect("b", "resign", "--force"), 1, err="group main: a leads again, in term")
        holds("both members log the force", len(audits(p, "a", "a received")) == 4 and audits(p, "a", "a received", "with --force")
              and audits(p, "b", "b sent a", "with --force"), p.log("a"), p.log("b"))
        holds("in another term", p.leader()[1] > before[1])
        expect("--force is for resign only", p.elect("b", "transfer", "a", "--force"), 64, err="--force: unknown option")


if __name__ == "__main__":
    sys.exit(main(__file__))
