#!/usr/bin/env python3
"""Tests real daemons in network namespaces, under every fault: faults.py ELECT [CASE ... | --list | --seconds N [--seed S]]
[--jobs N]

A case is FAULT/MEMBERS/ALGORITHM, such as leader-killed/5/ring. By default the suite runs as few cases as possible, but tests
every fault, and every number of members with every algorithm. After each case the safety checker examines the evidence: the
times when members claimed to lead (properties P1 to P3), the writes and the logs.

Exit status: 0 if all cases passed; 1 if one failed; 77 if this machine has no namespaces."""

import argparse
import itertools
import os
import random
import re
import select
import shutil
import signal
import sys
import threading
import time

sys.dont_write_bytecode = True
from lib.cases import SKIPPED, many  # noqa: E402
from lib.checks import Failure, NotHere, holds, is_late, skip  # noqa: E402
from lib.containment import contain  # noqa: E402
from lib.elect_command import refused_init  # noqa: E402
from lib.namespace_cluster import NamespaceCluster, need_namespaces, run  # noqa: E402
from lib.processes import member_of, pidfd, wait  # noqa: E402
from lib.status_socket import answer  # noqa: E402
from lib.times import LONG_TIMES, SHORT_TIMES  # noqa: E402

SIZES = {"3": {"members": 3}, "5": {"members": 5}, "2+w": {"witness": True}}
ALGORITHMS = ("bully", "ring", "active-ring", "chang-roberts")
FAULTS = {}


def fault(**needs):
    def add(function):
        FAULTS[function.__name__.replace("_", "-")] = function, {"times": LONG_TIMES} | needs
        return function
    return add


def same(c, before, among=None):
    """Checks that the leader and its term are still as in `before`."""
    now = c.leader(among)
    holds("the leader has changed:", now == before, before, "->", now)


def some_time(c, leader, claims_wanted=150):
    """Waits until the evidence contains more claims of the leader."""
    before = c.claims(leader).count(b"\n")
    wait(f"more claims of {leader}", lambda: c.claims(leader).count(b"\n") >= before + claims_wanted)


def peers(c, name):
    answer = c.status(name)
    return {p["member"]: p for p in answer["members"]} if answer else {}


def sees_down(c, name, *whom):
    def down():
        seen = peers(c, name)
        return seen and not any(seen[w]["up"] for w in whom)
    wait(f"{name} sees that {' '.join(whom)} is down", down)


def know_no_leader(c, *names):
    wait(f"{' '.join(names)} know no leader", lambda: all(c.group(name) and c.view(name) is None for name in names))
    for name in names:
        code = c.elect(name, "is-leader").returncode
        holds(f"elect is-leader on {name}: expected exit 2, not", code == 2, code)


def a_follower(c, leader):
    return c.voters_only(*c.others(leader))[0]


# ---- processes ----

@fault()
def leader_killed(c):
    leader, term = c.begin()
    c.kill(leader)
    new = c.leader(other_than=[leader])
    c.start(leader)
    same(c, new)


@fault()
def member_killed(c):
    """Only the member's process is killed, so its guardian reports the death. The safety checker verifies that promises to
    clients are kept."""
    leader, term = c.begin()
    os.kill(member_of(c.daemons[leader].pid), signal.SIGKILL)
    c.say(f"the member of {leader} is killed, not its guardian")
    new = c.leader(among=c.others(leader), other_than=[leader])
    holds("its exit status", c.ended(leader) == 128 + signal.SIGKILL)
    c.start(leader)
    same(c, new)


@fault()
def guardian_killed(c):
    """When its guardian dies, the member hands over and exits."""
    leader, term = c.begin()
    member = pidfd(member_of(c.daemons[leader].pid))
    c.note("hand-over", leader, token=term)
    c.daemons[leader].kill()
    c.daemons[leader].wait()
    c.say(f"the guardian of {leader} is killed, not the member")
    new = c.leader(other_than=[leader])
    wait("the member has ended", lambda: select.select([member], [], [], 0)[0])
    os.close(member)
    c.start(leader)
    same(c, new)


@fault()
def follower_killed(c):
    before = c.begin()
    follower = c.others(before[0])[-1]
    c.kill(follower)
    sees_down(c, before[0], follower)
    same(c, before)
    c.start(follower)
    same(c, before)


@fault(times=SHORT_TIMES)
def leader_stopped_briefly(c):
    leader, _ = c.begin()
    for length in (0.1, 0.2, 0.4):
        c.pause(leader)
        time.sleep(length)
        c.go_on(leader)
        leader, _ = c.leader()


@fault()
def leader_stopped_for_long(c):
    leader, _ = c.begin()
    c.pause(leader)
    new = c.leader(among=c.others(leader), other_than=[leader])
    some_time(c, new[0])
    code = c.elect_once(leader, "is-leader", "--timeout", 1).returncode
    holds("elect is-leader of a stopped daemon: expected exit 3, not", code == 3, code)
    c.go_on(leader)
    same(c, new)


@fault()
def follower_stopped(c):
    before = c.begin()
    follower = c.others(before[0])[0]
    c.pause(follower)
    sees_down(c, before[0], follower)
    same(c, before, c.others(follower))
    c.go_on(follower)
    same(c, before)


@fault(times=SHORT_TIMES)
def all_stopped(c):
    _, term = c.begin()
    c.pause(*c.names)
    time.sleep(1)
    c.go_on(*c.names)
    holds("the term has not risen", c.leader()[1] > term)


@fault()
def all_killed(c):
    _, term = c.begin()
    for _ in range(2):
        c.kill(*c.names)
        c.start(*c.names)
        after = c.settle()[1]
        holds("the term has not risen", after > term)
        term = after


@fault()
def handed_over(c):
    leader, term = c.begin()
    for verb in ("resign", "transfer", "resign"):
        heirs = c.voters_only(*c.others(leader))
        c.note("hand-over", leader, token=term)
        done = c.elect(leader, verb, *heirs[:1] if verb == "transfer" else ())
        if is_late(done):  # slow members may not take over in time
            leader, term = c.leader()
            continue
        holds(f"elect {verb}:", done.returncode == 0, done.stderr)
        new, new_term = c.leader(other_than=[leader])
        holds("the verb reported another leader:", f"{new} leads in term {new_term >> 16}.{new_term & 0xffff};" in done.stdout, done.stdout)
        holds("the leader is not the named member:", verb != "transfer" or new == heirs[0], new)
        leader, term = new, new_term
    c.note("hand-over", leader, token=term)
    c.signal(leader, signal.SIGTERM)
    holds("exit status", c.ended(leader) == 0)
    new = c.leader(other_than=[leader])
    c.start(leader)
    same(c, new)


@fault()
def ordered_on_a_bad_network(c):
    """A member sends an order again if it is lost on its way to the leader. If the machine is too slow even then, the case
    repeats the order once."""
    c.begin()

    def carried_out():
        leader, term = c.leader()
        by, said = c.voters_only(*c.others(leader))[0], []
        before = c.log(by).read_text().count(f"{by} sent {leader} order ")
        c.cut((by, leader))
        c.note("hand-over", leader, token=term)
        order = threading.Thread(target=lambda: said.append(c.elect_once(by, "resign")))
        order.start()
        wait("the order is sent", lambda: c.log(by).read_text().count(f"{by} sent {leader} order ") > before)
        c.heal()
        order.join()
        holds("elect resign:", said[0].returncode == 0 or is_late(said[0]), said[0])
        return said[0].returncode == 0 and f"{leader} handed over in term {term >> 16}.{term & 0xffff}" in said[0].stdout
    wait("the order is carried out", carried_out)


# ---- networks ----

@fault()
def leader_cut_off(c):
    leader, _ = c.begin()
    c.part([leader], c.others(leader))
    new = c.leader(among=c.others(leader), other_than=[leader])
    know_no_leader(c, leader)
    c.heal()
    same(c, new)


@fault()
def leader_mute(c):
    leader, _ = c.begin()
    c.cut(*[(leader, other) for other in c.others(leader)])
    c.leader(among=c.others(leader), other_than=[leader])
    c.heal()
    c.leader()


@fault()
def leader_deaf(c):
    leader, _ = c.begin()
    c.cut(*[(other, leader) for other in c.others(leader)])
    c.leader(among=c.others(leader), other_than=[leader])
    c.heal()
    c.leader()


@fault()
def follower_mute(c):
    before = c.begin()
    follower = a_follower(c, before[0])
    c.cut(*[(follower, other) for other in c.others(follower)])
    sees_down(c, before[0], follower)
    same(c, before, c.others(follower))
    c.heal()
    same(c, before)


@fault()
def one_link_cut(c):
    before = c.begin()
    follower = a_follower(c, before[0])
    c.part([before[0]], [follower])
    sees_down(c, before[0], follower)
    same(c, before, c.others(follower))
    c.heal()
    same(c, before)


@fault()
def leader_is_the_bridge(c):
    before = c.begin()
    rest = c.others(before[0])
    one, other = rest[:len(rest) // 2], rest[len(rest) // 2:]
    c.part(one, other)
    sees_down(c, one[0], *other)
    same(c, before)
    c.heal()
    same(c, before)


@fault()
def leader_beyond_the_bridge(c):
    """The members are cut into two sides, but one member, the bridge, hears both. The leader's side has a majority only with
    the bridge."""
    before = c.begin()
    rest = c.others(before[0])
    mine = 1 + (len(c.names) - 1) // 2 - 1  # a majority together with the bridge and the leader
    one, other = [before[0], *rest[1:mine]], rest[mine:] if mine > 1 else rest[1:]
    c.part(one, other)
    sees_down(c, before[0], *other)
    same(c, before, [name for name in c.names if name not in other])
    c.heal()
    same(c, before)


@fault()
def leader_in_the_minority(c):
    leader, _ = c.begin()
    size = (len(c.names) - 1) // 2
    few = [leader, *c.others(leader)[:size - 1]]
    many = c.others(*few)
    c.part(few, many)
    new = c.leader(among=many, other_than=[leader])
    know_no_leader(c, *few)
    c.heal()
    same(c, new)


@fault()
def all_apart(c):
    _, term = c.begin()
    c.cut(*itertools.permutations(c.names, 2))
    know_no_leader(c, *c.names)
    c.heal()
    holds("the term has not risen", c.leader()[1] > term)


@fault(networks=2)
def one_network_cut(c):
    before = c.begin()

    def links(which, up):
        seen = peers(c, before[0])
        return seen and all(p["links"][which]["up"] == up for p in seen.values())
    wait("both networks are up", lambda: links(0, True) and links(1, True))
    for network in (0, 1):
        c.cut(*itertools.permutations(c.names, 2), networks=[network])
        wait(f"network {network + 1} is seen to be down, and the other one to be up",
             lambda: links(network, False) and links(1 - network, True))
        same(c, before)
        wait("elect members shows it", lambda: c.elect(before[0], "members").stdout.count(" down") == len(c.names) - 1)
        c.heal()
        wait(f"network {network + 1} is seen to be up", lambda: links(network, True))
        same(c, before)


@fault(relay=True)
def packets_late_and_doubled(c):
    c.weather.set(0, 0.006, doubled=0.2)
    before = c.begin()
    some_time(c, before[0], 300)
    same(c, before)


@fault(relay=True, times=SHORT_TIMES)
def bad_weather(c):
    c.begin()
    c.weather.set(0, 0.4, lost=0.3, doubled=0.2)
    time.sleep(2)
    c.weather.set(0, 0.002)
    c.leader()


# ---- states ----

@fault()
def state_lost(c):
    leader, _ = c.begin()
    c.kill(leader)
    c.state(leader).unlink()
    new = c.leader(other_than=[leader])
    done = refused_init(c, leader)
    holds("elect init must refuse, and say what to do:", done.returncode == 1 and "elect readmit" in done.stderr, done.stderr)
    c.start(leader)
    holds("without a state it must exit with 78", c.ended(leader) == 78)
    done = c.elect(leader, "readmit")
    holds("elect readmit:", done.returncode == 0, done.stderr)
    c.start(leader)
    same(c, new)


@fault()
def state_rolled_back(c):
    before = c.begin()
    follower = a_follower(c, before[0])
    kept = c.folder / "kept"
    c.kill(follower)
    shutil.copy2(c.state(follower), kept)
    for name in c.others(follower):
        sees_down(c, name, follower)
    c.start(follower)
    same(c, before)
    for name in c.others(follower):
        wait(f"{name} sees that {follower} is back", lambda: peers(c, name).get(follower, {}).get("up"))
    c.kill(follower)
    for name in c.others(follower):  # otherwise the second process might look like a clone to the other members
        sees_down(c, name, follower)
    shutil.copy2(kept, c.state(follower))
    c.start(follower)
    holds("with an earlier state it must exit with 78", c.ended(follower) == 78)
    said = " ".join(entry["cause"] for entry in c.events(follower, "stopped"))
    holds("it must log the reason:", "state file is older" in said and "elect readmit" in said, said)
    wait("a member logs the refusal", lambda: any(f"member {follower} is refused" in entry["text"]
                                                      for name in c.others(follower) for entry in c.events(name, "member")))
    same(c, before)
    c.state(follower).unlink()
    holds("elect readmit", c.elect(follower, "readmit").returncode == 0)
    c.start(follower)
    same(c, before)


@fault()
def disk_full(c):
    for name in c.names:
        with open(c.small_disk(name, "600k") / "filled", "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                pass
    leader, _ = c.begin()
    c.kill(leader)
    new = c.leader(other_than=[leader])
    c.start(leader)
    same(c, new)
    place = c.folder / "late"
    holds("elect init", c.command("init", "-c", place / "elect.conf", "--new-cluster", "late=10.77.9.9:7400").returncode == 0)
    run("mount", "-t", "tmpfs", "-o", "size=64k", "elect-test", place / "state")
    c.mounts.append(place / "state")
    done = c.command("init", "-c", place / "elect.conf", "--id", "late")
    left = os.listdir(place / "state")
    holds("elect init on a full disk:", done.returncode == 78 and done.stderr.count("\n") == 1 and not left, done, left)


@fault()
def clocks_differ_and_jump(c):
    offsets = {name: (i + 1) * 1_000_000 for i, name in enumerate(c.names)}
    offsets[c.names[0]] = -60
    for name in c.names:
        c.start(name, offset=offsets[name])
    c.watch()
    leader, _ = c.settle()
    for jump in (5_000_000, -120):
        c.kill(leader)
        new, _ = c.leader(other_than=[leader])
        c.start(leader, offset=jump)
        same(c, c.leader())
        leader = new


@fault()
def log_reader_stopped(c):
    for name in c.names:
        c.start(name, stderr=c.full_pipe(name)[1])
    c.watch()
    before = c.settle()
    for _ in range(3):
        for verb in ("pause", "resume"):
            done = c.elect(before[0], verb)
            holds(f"elect {verb}:", done.returncode == 0, done.stderr)
    some_time(c, before[0])
    same(c, before)
    reader = c.pipes[before[0]][0]
    read = b""

    def told():
        nonlocal read
        while select.select([reader], [], [], 0)[0]:
            read += os.read(reader, 65536)
        c.elect(before[0], "pause")
        c.elect(before[0], "resume")
        return b"lines of this log were lost" in read
    wait("the number of lost lines is logged", told)
    same(c, before)


# ---- mistakes of operators ----

@fault()
def wrong_key(c):
    odd = c.names[0]
    key = c.folder / odd / "key"
    right = key.read_bytes()
    key.unlink()
    run(c.elect_binary, "key", "new", key, "-c", c.folder / c.names[1] / "elect.conf")
    key.write_text("1" + key.read_text()[1:])  # the same number, so that the daemon tries the key
    c.start(*c.names)
    c.watch()
    before = c.leader(among=c.others(odd))
    some_time(c, before[0])
    same(c, before, c.others(odd))
    know_no_leader(c, odd)
    holds("it has a session with another member:", not any(p["up"] for p in answer(c.socket(odd), {"verb": "status"})["members"]))
    holds("it logs a leader or a peer:", not c.events(odd, "leads", "follows", "member"))
    c.kill(odd)
    key.write_bytes(right)
    c.start(odd)
    same(c, before)


@fault()
def wrong_configuration(c):
    odd = c.names[0]
    c.configure(odd, renewal="410ms")
    before = c.begin()

    def differs(name, whom, yes=True):
        return peers(c, name).get(whom, {}).get("same_configuration") is (not yes)
    for other in c.others(odd):
        wait(f"{other} sees that {odd} differs", lambda: differs(other, odd))
        holds(f"{other} reports other differences", not any(differs(other, third) for third in c.others(odd, other)))
    name = c.names[-1]
    shown = c.elect(name, "members").stdout
    holds("members does not name the one that differs:", re.findall(r"^  (\S+) .*\n    its configuration differs$", shown, re.M) == [odd], shown)
    wait("the difference is logged", lambda: any(f"member {odd} has another configuration" == e["text"] for e in c.events(name, "member")))
    same(c, before)
    c.configure(odd)
    c.kill(odd)
    now = c.leader()
    c.start(odd)
    same(c, now)
    wait("the difference is gone", lambda: all(differs(other, odd, False) for other in c.others(odd)))


@fault(extra=("twin",))
def duplicate_id(c):
    """A second machine takes a member's place in the network, with the same address and a copy of its state file from before
    its first start."""
    before = c.begin()
    follower = a_follower(c, before[0])
    twin, hub = c.space("twin"), c.space("hub")
    c.make_folder_of_twin(follower)
    run("ip", "-n", hub, "link", "set", f"{follower}0", "down")
    run("ip", "-n", twin, "addr", "add", f"{c.address(follower)}/24", "dev", "net0")
    for name in c.others(follower):
        run("ip", "-n", c.space(name), "neigh", "flush", "all")
    c.daemons["twin"] = c.launch(follower, machine="twin", folder="twin")
    holds("the second process with an id must exit with 78", c.ended("twin") == 78)
    said = " ".join(entry["cause"] for entry in c.events("twin", "stopped"))
    # On a slow machine the other members may not hear this second process until they have lost the first one. They then report
    # that its state file is older.
    holds("it must log the reason:", "another process with the same id is running" in said or "state file is older" in said, said)
    same(c, before, c.others(follower))
    run("ip", "netns", "exec", twin, "ip", "link", "set", "net0", "down")
    run("ip", "-n", hub, "link", "set", f"{follower}0", "up")
    for name in c.others(follower):
        run("ip", "-n", c.space(name), "neigh", "flush", "all")
    same(c, before)


@fault()
def key_rotated(c):
    before = c.begin()
    new = c.folder / "new-key"
    holds("elect key new", c.elect(c.names[0], "key", "new", new).returncode == 0)
    for i, name in enumerate(c.names):
        holds("elect key install", c.elect(name, "key", "install", new).returncode == 0)
        if i == 0:
            done = c.elect(name, "key", "use", 2)
            holds("a key that others do not accept was used:", done.returncode == 1 and "install it there first" in done.stderr, done)
    for name in c.names:
        wait(f"{name} may use the key", lambda: c.elect(name, "key", "use", 2).returncode == 0)
    for name in c.names:
        wait(f"{name} may remove the old key", lambda: c.elect(name, "key", "remove", 1).returncode == 0)
    for name in c.names:
        holds("key list", c.elect(name, "key", "list").stdout.startswith("key 2 used, fingerprint "))
    some_time(c, before[0])
    same(c, before)
    follower = c.others(before[0])[0]
    c.kill(follower)
    c.start(follower)
    same(c, before)


# ---- elections without a mandate: the safety checker must find two leaders ----

TEXTBOOK = "mandate = none"


@fault(options=TEXTBOOK, times=SHORT_TIMES)
def parted_without_a_mandate(c):
    leader, _ = c.begin()
    c.part([leader], c.others(leader))
    new = c.leader(among=c.others(leader), other_than=[leader])
    wait("the old leader leads, too", lambda: c.group(leader).get("leads"))
    some_time(c, new[0])
    some_time(c, leader)
    c.heal()
    c.leader()


@fault(options=TEXTBOOK, times=SHORT_TIMES)
def killed_without_a_mandate(c):
    leader, _ = c.begin()
    c.kill(leader)
    c.leader(other_than=[leader])
    c.start(leader)
    c.leader()


# ---- the list of cases ----

def cases():
    """Returns cases with every fault once, and every number of members with every algorithm. make soak runs all
    combinations."""
    kinds = list(itertools.product(SIZES, ALGORITHMS))
    return ["/".join((name, *kinds[i * 5 % len(kinds)])) for i, name in enumerate(FAULTS)]


# ---- running them ----

def one_case(elect, case):
    part = case.split("/")
    if len(part) != 3 or part[0] not in FAULTS or part[1] not in SIZES or part[2] not in ALGORITHMS:
        sys.exit(f"{case}: no such case, see --list")
    name, size, algorithm = case.split("/")
    function, needs = FAULTS[name]
    with NamespaceCluster(elect, algorithm=algorithm, **SIZES[size], **needs) as c:
        wrong = []
        try:
            function(c)
            c.settle()
            c.stop()
        except Failure as failure:
            wrong.append(str(failure))
            c.stop_helpers()
        problems, seen = c.judge()
        if needs.get("options") == TEXTBOOK:
            two = name != "parted-without-a-mandate" or any("both led" in problem for problem in problems)
            problems = [] if two else ["two led at the same time, but the safety checker did not find it"]
        if not seen["claims"]:
            problems.append("the evidence contains no claims")
        wrong += problems
        if wrong:
            c.tell()
            print(f"{case}: {'; '.join(wrong)}\nagain: {sys.argv[0]} {elect} {case}", file=sys.stderr)
        else:
            print(f"{case}: {seen['offices']} offices, {seen['claims']} claims, {seen['writes']} writes, {seen['refused']} refused")
    return 1 if wrong else 0


def matrix(seed):
    """Returns all combinations of fault, number of members and algorithm, in an order that depends on the seed."""
    every = ["/".join(case) for case in itertools.product(FAULTS, SIZES, ALGORITHMS)]
    random.Random(seed).shuffle(every)
    return every


def main():
    contain()
    parser = argparse.ArgumentParser(description="Faults of real daemons in network namespaces, as root.")
    parser.add_argument("elect")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--list", action="store_true", help="list the cases that run by default")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seconds", type=float, help="run cases of the whole matrix for this number of seconds")
    parser.add_argument("--seed", default="0", help="seed for the order of the cases in the whole matrix")
    how = parser.parse_args()
    if how.list:
        print(*cases(), sep="\n")
        return 0
    try:
        need_namespaces()
    except NotHere as why:
        skip("all faults", why)
        return SKIPPED
    if len(how.cases) == 1:
        return one_case(how.elect, how.cases[0])
    wanted = how.cases or (cases() if how.seconds is None else matrix(how.seed))
    return many(__file__, how.elect, wanted, how.jobs, how.seconds or float("inf"))


if __name__ == "__main__":
    sys.exit(main())
