#!/usr/bin/env python3
"""Tests a member's answers to users and programs: status.py ELECT [CASE ... | --list] [--jobs N]"""

import contextlib
import json
import re
import resource
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
from lib.cases import case, main  # noqa: E402
from lib.checks import NotHere, expect, holds  # noqa: E402
from lib.elect_command import ELECT, ROOT, run  # noqa: E402
from lib.local_cluster import LocalCluster  # noqa: E402
from lib.processes import LIMIT, die_with_parent, wait  # noqa: E402
from lib.status_socket import answer  # noqa: E402
from lib.times import STEADY_TIMES, TIMES  # noqa: E402


# ---- JSON ----

def documented_objects():
    """Reads the tables of JSON objects in docs/formats.md. Returns each object's keys with their types."""
    parts = re.split(r"^##+ ", (ROOT / "docs" / "formats.md").read_text(), flags=re.M)
    chapter = parts[next(i for i, part in enumerate(parts) if part.startswith("Journal entries\n")):]
    chapter = chapter[:next(i for i, part in enumerate(chapter) if part.startswith("Notes about settings\n"))]
    objects = {}
    for part in chapter:
        name = part.splitlines()[0].lower().replace(" ", "-")
        table = re.search(r"^\| key \| type \| meaning \|\n\|.*\n((?:\|.*\n)+)", part, re.M)
        if table:
            objects[name] = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", table[1], re.M))
    return objects


OBJECTS = documented_objects()
PLAIN = {"string": lambda v: isinstance(v, str) and v != "", "boolean": lambda v: isinstance(v, bool),
         "integer": lambda v: isinstance(v, int) and not isinstance(v, bool), "real": lambda v: isinstance(v, float)}


def fits(value, written, where, seen):
    """Checks that a value has its documented type, and records the objects and keys in `seen`."""
    if written.endswith(" or null"):
        return value is None or fits(value, written.removesuffix(" or null"), where, seen)
    if written.startswith("array of "):
        return isinstance(value, list) and all(fits(v, written.removeprefix("array of "), where, seen) for v in value)
    if written in PLAIN:
        return PLAIN[written](value)
    name = re.fullmatch(r"\[.*\]\(#(.*)\)", written)[1]
    holds(f"{where}: keys of a {name}", isinstance(value, dict) and list(value) == list(OBJECTS[name]), value, list(OBJECTS[name]))
    for key, one in value.items():
        holds(f"{where}: {key} of a {name} is {OBJECTS[name][key]}", fits(one, OBJECTS[name][key], where, seen), value)
        if one is not None:
            seen.add((name, key))
    return True


def looked_at(p, name, where, seen):
    """Checks all answers of a member."""
    for verb, written in (("status", "status-object"), ("is-leader", "leadership"), ("leader", "leadership"), ("doctor", "diagnosis")):
        done = p.elect(name, verb, "-o", "json")
        fits(json.loads(done.stdout), f"[](#{written})", f"{where}, {verb}", seen)
    members = json.loads(p.elect(name, "members", "-o", "json").stdout)
    fits(members, "array of [](#peer)", f"{where}, members", seen)
    history = json.loads(p.elect(name, "history", "-o", "json").stdout)
    fits(history, "array of [](#journal-entries)", f"{where}, history", seen)
    watcher = subprocess.Popen([ELECT, "watch", "-S", p.socket(name), "-o", "json"], stdout=subprocess.PIPE, preexec_fn=die_with_parent)
    fits(json.loads(watcher.stdout.readline()), "[](#group)", f"{where}, watch", seen)
    watcher.terminate()
    watcher.communicate()


@case
def documented_keys(_):
    """Each answer has exactly the documented keys. Each key, even one that may be null, has a value in at least one situation
    of this case."""
    seen = set()
    with LocalCluster(times=TIMES) as p:
        fits(json.loads(p.elect("a", "doctor", "-o", "json").stdout), "[](#diagnosis)", "no daemon", seen)
        other = p.folder / "other"
        other.mkdir()
        expect("key", run("key", "new", other / "key", "-c", p.conf), 0)
        (other / "elect.conf").write_text(p.conf.read_text().replace("state-dir = state\n", f"state-dir = {p.folder}/state\n"))
        p.start("a")
        wait("the member answers", lambda: p.group("a"))
        looked_at(p, "a", "peers were never heard", seen)
        p.start("b")
        p.start("c", conf=other / "elect.conf")
        leader, _ = p.leader(among=["a", "b"])
        wait("c is rejected", lambda: (now := answer(p.socket(leader), {"verb": "status"}))["worst"] and any(
            m["rejected"] for m in now["members"]))
        looked_at(p, leader, "a leader, and another key", seen)
    with LocalCluster(times=STEADY_TIMES, options="preempt = after 1h\n") as p:
        leader, _ = p.begin()
        wait("the leader has an heir", lambda: p.known(leader)["heir"])
        follower = next(n for n in p.names if n != leader)
        wait("the leader reports its work", lambda: p.known(follower)["leader_work"])
        looked_at(p, follower, "a follower", seen)
        work = subprocess.Popen([ELECT, "run", "-c", str(p.conf), "--id", leader, "--", "sleep", "600"], stderr=subprocess.DEVNULL,
                                preexec_fn=die_with_parent)
        wait("work", lambda: p.known(leader)["work"]["pid"])
        looked_at(p, leader, "work", seen)
        told = wait("the follower knows", lambda: (told := p.known(follower)["leader_work"])["pid"] and told)
        here = p.known(leader)["work"]
        holds("the follower reports the same work", told["running"] and told["pid"] == here["pid"] and told["since"] == here["since"]
              and told["command"] == here["command"] == "sleep", told, here)
        wait("status shows it", lambda: re.search(rf" work on {leader}: runs sleep \(pid {here['pid']}\) since \S+Z \(\d+ s\), as of \d+ s ago ",
                                                  " ".join(p.elect(follower, "status").stdout.split())))
        looked_at(p, follower, "a follower of a leader with work", seen)
        work.terminate()
        work.wait()
        expect("pause", p.elect(leader, "pause"), 0)
        looked_at(p, leader, "paused", seen)
    with LocalCluster(times=TIMES, options="mandate = none\n") as p:
        p.start()
        wait("a leader", lambda: p.group("a").get("leader"))
        looked_at(p, "a", "without a mandate", seen)
    missing = {(name, key) for name, keys in OBJECTS.items() for key in keys} - seen
    holds("keys without a value in any situation:", missing <= {("stalls", "longest_ms"), ("work", "backoff_seconds"), ("group", "aside_because"),
                                               ("clock", "least_percent"), ("clock", "most_percent")}, missing)


# ---- text ----

@case
def screen(_):
    """The status of five members and one group fits on one screen and begins with the leader."""
    with LocalCluster("abcde", times=STEADY_TIMES, roles={"a": "witness", "d": "observer", "e": "observer"}) as p:
        p.start(*"abcd")
        leader, term = p.leader()
        heir = wait("the leader has an heir", lambda: p.known(leader)["heir"])
        text = f"{term >> 16}.{term & 0xffff}"

        def said(name, *patterns):
            def found():
                known = "" if name == leader else ", known"
                lines = expect("status", p.elect(name, "status"), 0).stdout.splitlines()
                holds("one screen", len(lines) <= 24 and max(map(len, lines)) <= 80, lines)
                holds("the leader is on the first line", re.fullmatch(rf"group main: {leader} leads in term {text}{known} since \S+Z \(\d+ \w+\)", lines[0]), lines)
                return all(any(re.search(pattern, line) for line in lines) for pattern in patterns)
            return wait(f"{name}: {patterns}", found)
        voter = r"member +0  yes   up     \d\.\d s ago +1/1"
        said(leader, r"^  lease left: \d+ ms; quorum: 3 of 3 voters reachable, 2 needed; heir: " + heir, r"^  work here: none$",
             rf"^  {leader} +\d  member +0  yes   here +leader$", rf"^  {heir} +\d  {voter} +heir$", r"^  a +1  witness +0  yes   up ", r"^  d +4  observer +0  no    up ",
             r"^  e +5  observer +0  no    down   never +0/1$", r"^warning: peers e: never heard")
        other = next(n for n in "bc" if n != leader)
        said(other, r"^  quorum: 3 of 3 voters reachable, 2 needed", rf"^  {leader} +\d  {voter} +leader$")
        expect("leader", p.elect(other, "leader"), 0, out=f"{leader}\n", lines=1)
        expect("members", p.elect(other, "members"), 0, out=f"    127.0.0.1:{p.ports[leader]} up\n")


@case
def long_names(_):
    """A name wider than its column gets its own line, so that the rows stay aligned with their headings."""
    names = [f"db-primary-host.eu-central-1.example.company.com-{letter}" for letter in "ab"]
    with LocalCluster(names, times=STEADY_TIMES) as p:
        p.start(names[0])
        lines = wait("the member answers", lambda: p.elect(names[0], "status").stdout).splitlines()
        head = next(line for line in lines if line.startswith("  member"))
        for name in names:
            row = lines[lines.index(f"  {name}") + 1]
            holds("under its heading", row[head.index("role"):].startswith("member") and len(row) <= 80, lines)


# ---- clients ----

@contextlib.contextmanager
def asking(path, count):
    """Opens `count` connections. Sends the requests only when all are open."""
    with contextlib.ExitStack() as all_of_them:
        clients = [all_of_them.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(count)]
        for client in clients:
            client.connect(path)
            client.settimeout(LIMIT)
        for client in clients:
            with contextlib.suppress(OSError):
                client.sendall(b'{"verb": "status"}\n')
        yield clients


def line_of(client):
    """Returns the answer to a client, or {} if it is disconnected without one."""
    text = b""
    try:
        while not text.endswith(b"\n") and (more := client.recv(65536)):
            text += more
    except OSError:
        pass
    return json.loads(text or b"{}")


@case
def thousand_clients(_):
    """A thousand simultaneous clients of one user all get an answer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        raise NotHere("needs 4096 descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    with LocalCluster(times=STEADY_TIMES) as p:
        leader, term = p.begin()
        with asking(p.socket(leader), 1000) as clients:
            said = [line_of(client) for client in clients]
        unanswered = [s for s in said if s.get("member") != leader]
        holds("all are answered, but", not unanswered, len(unanswered), unanswered[:3])
        commands = [subprocess.Popen([ELECT, "status", "-S", p.socket(leader)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    for _ in range(40)]
        ended = [(*c.communicate(), c.returncode) for c in commands]
        holds("forty commands", all(out.startswith("group main: ") and code == 0 for out, _, code in ended),
              [e for e in ended if e[2] != 0][:1])
        holds("the member leads as before", p.leader() == (leader, term))


if __name__ == "__main__":
    sys.exit(main(__file__))
