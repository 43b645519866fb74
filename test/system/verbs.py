#!/usr/bin/env python3
"""Tests every verb of a running member on loopback, as a user sees it: verbs.py ELECT [CASE ... | --list] [--jobs N]

The cases check exit codes, texts and refusals, bad input, signals, notifications to a service manager, and hostile clients."""

import glob
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from lib.cases import case, main  # noqa: E402
from lib.checks import Failure, expect, holds, is_late  # noqa: E402
from lib.elect_command import ELECT, answered, run  # noqa: E402
from lib.local_cluster import LocalCluster, free_ports  # noqa: E402
from lib.processes import LIMIT, die_with_parent, member_of, signal_both, state, wait  # noqa: E402
from lib.status_socket import answer, ask  # noqa: E402
from lib.times import PATIENT_TIMES, STEADY_TIMES  # noqa: E402

LEASE = 30_000_000  # microseconds, in STEADY_TIMES


@case
def no_daemon(_):
    with LocalCluster() as p:
        for words in (["is-leader"], ["leader"], ["status"], ["members"], ["history"], ["watch"], ["resign"], ["transfer", "b"],
                      ["pause"], ["resume"], ["reload"], ["key", "list"]):
            expect(" ".join(words), p.elect("a", *words), 3, err="no daemon runs here: start it with elect daemon")
            expect(" ".join(words), run(*words, "-c", p.conf), 3, err="no daemon runs here")
        expect("socket", run("is-leader", "-S", p.folder / "nowhere.status"), 3, err=f"{p.folder}/nowhere.status: there is no such socket: correct the path")
        with socket.socket(socket.AF_UNIX) as abandoned:
            abandoned.bind(str(p.folder / "abandoned.status"))
        expect("socket", run("is-leader", "-S", p.folder / "abandoned.status"), 3, err="abandoned.status: no daemon listens there: start it")
        expect("socket", run("is-leader", "-S", p.folder / ("x" * 108 + ".status")), 64, err="the path is too long for a socket: use at most 107 bytes")
        expect("socket", run("is-leader", "-S", "x" * 500), 64, err="--socket: the path is too long for a socket: use at most 107 bytes")
        expect("no such member", run("status", "-c", p.conf, "--id", "aa"), 64, err="did you mean a?")
        expect("no file", run("status", "-c", p.folder / "nowhere"), 78, err=f"{p.folder}/nowhere: No such file or directory: correct the path after -c, "
               "copy it from another member, or create a cluster: elect init --new-cluster")


@case
def is_leader(_):
    with LocalCluster(times=STEADY_TIMES) as p:
        leader, term = p.begin()
        other = next(n for n in p.names if n != leader)
        text = f"{term >> 16}.{term & 0xffff}"
        expect("leader", p.elect(leader, "is-leader"), 0, out=f"yes, in term {text}", lines=1)
        expect("follower", p.elect(other, "is-leader"), 1, out=f"no, {leader} leads", lines=1)
        expect("quiet", p.elect(other, "is-leader", "-q"), 1, lines=0)
        expect("leader", p.elect(other, "leader"), 0, out=f"{leader}\n", lines=1)
        said = json.loads(expect("json", p.elect(leader, "is-leader", "-o", "json"), 0).stdout)
        holds("json", said["leads"] and said["term"] == term and 0 < said["left_us"] <= LEASE and said["leader"] == leader, said)
        expect("group", p.elect(leader, "is-leader", "-g", "mian"), 64, err="there is no group mian, did you mean main?")
        expect("group", p.elect(leader, "leader", "-g", "mian"), 64, err="did you mean main?")
        expect("which member", run("is-leader", "-c", p.conf), 64, err="name one with --id")
        expect("by socket", answered("is-leader", "-S", p.socket(leader)), 0, out="yes")
        expect("by environment", answered("is-leader", env={"ELECT_SOCKET": p.socket(other)}), 1, out="no")
        expect("by number", answered("is-leader", "-c", p.conf, "--id", p.number(leader)), 0, out="yes")
        expect("too much", p.elect(leader, "is-leader", "now"), 64, err="unexpected argument")
        expect("unknown option", p.elect(leader, "is-leader", "--gruop", "x"), 64, err="did you mean --group?")
        p.kill(*[n for n in p.names if n != other])
        wait("the member knows no leader", lambda: p.known(other)["leader"] is None)
        expect("alone", p.elect(other, "is-leader"), 2, out="no, and no leader is known")
        expect("alone", p.elect(other, "leader"), 2, err="no leader is known")


@case
def several_groups(_):
    with LocalCluster(groups=("one", "two"), times=STEADY_TIMES) as p:
        leader, _ = p.begin()
        p.transfer(leader, 1)
        wait("all members follow the leader", lambda: all(p.known(n, 1).get("leader") == leader for n in p.names))
        expect("which group", p.elect("a", "is-leader"), 64, err="there are several groups: choose one with -g GROUP")
        expect("resign", p.elect(leader, "resign"), 1, err="there are several groups")
        expect("one", p.elect("a", "leader", "-g", "two"), 0, lines=1)
        text = expect("status", p.elect(leader, "status"), 0, out=("group one: ", "group two: ")).stdout
        holds("quorum, lease and work of each", all(len(re.findall(f"^  {part}", text, re.M)) == 2 for part in (
            r"lease left: \d+ ms; quorum: 3 of 3 voters reachable, 2 needed", "work here: none$")), text)
        holds("status -g", "group one" not in expect("status", p.elect("a", "status", "-g", "two"), 0).stdout)
        expect("pause one", p.elect("a", "pause", "-g", "two"), 0, out="group two: elections are paused (pause counter 1)", lines=1)
        expect("pause the other", p.elect("a", "pause"), 0, out=("group one: elections are paused (pause counter 1)", "group two: elections are paused already"), lines=2)
        expect("resume all", p.elect("a", "resume"), 0, out=("group one: elections are resumed (pause counter 2)", "group two: elections are resumed"), lines=2)
        p.resign(leader)
        holds("one office only", p.known(leader, 1)["leads"] and not p.known(leader, 0)["leads"])


@case
def status_and_history(_):
    with LocalCluster(times=STEADY_TIMES) as p:
        leader, term = p.begin()
        other = next(n for n in p.names if n != leader)
        text = expect("status", p.elect(leader, "status"), 0, out=f"group main: {leader} leads in term {term >> 16}.{term & 0xffff} since 2").stdout
        holds("every member has a line", all(re.search(rf"^  {n}  ", text, re.M) for n in p.names), text)
        expect("status", p.elect(other, "status"), 0, out=f"{leader} leads in term {term >> 16}.{term & 0xffff}")
        s = json.loads(expect("status", p.elect(leader, "status", "-o", "json"), 0).stdout)
        g = s["groups"][0]
        holds("status", s["member"] == leader and s["incarnation"] == 1 and g["leads"] and 0 < g["lease_left_ms"] <= LEASE / 1000 and
              sorted(g["voters"]) == p.names and [(key["id"], key["used"]) for key in s["keys"]] == [(1, True)] and s["traffic"]["writes"] > 0, s)
        holds("no internal key", "ok" not in s, s)
        def all_are_alike():
            m = json.loads(expect("members", p.elect(leader, "members", "-o", "json"), 0).stdout)
            return len(m) == 2 and all(x["same_configuration"] and x["same_keys"] and x["incarnation"] == 1 for x in m)
        wait("members", all_are_alike)
        expect("members", p.elect(leader, "members"), 0, lines=6)
        h = json.loads(expect("history", p.elect(leader, "history", "-o", "json"), 0).stdout)
        holds("history", [e for e in h if e["event"] == "leads" and e["term"] == term] and h[0]["event"] == "started", h)
        expect("history", p.elect(other, "history"), 0, out=f"main: {other} follows {leader} in term")
        steps = json.loads(expect("messages", p.elect(leader, "history", "--messages", "--last", "600", "-o", "json"), 0).stdout)
        holds("messages", any(x["event"] == "GRANT" and "because" in x for x in steps), steps[:5])
        expect("messages", p.elect(leader, "history", "--messages"), 0, out="ms ago")
        expect("--last alone", p.elect(leader, "history", "--last", "5"), 64, err="use it only with --messages")
        expect("--last", p.elect(leader, "history", "--messages", "--last", "-5"), 64, err="expected a number of seconds")
        told = ask(p.socket(leader), {"verb": "messages", "member": "nobdy", "loud": True})
        holds("no such member", told["error"] == "there is no member nobdy: see elect members", told)
        expect("quiet", p.elect(leader, "status", "-q"), 0, lines=0)
        expect("output", p.elect(leader, "status", "-o", "yaml"), 64, err="yaml")


@case
def watch(_):
    with LocalCluster(times=STEADY_TIMES) as p:
        leader, term = p.begin()
        watcher = subprocess.Popen([ELECT, "watch", "-c", str(p.conf), "--id", leader, "-o", "json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        first = json.loads(watcher.stdout.readline())
        holds("the present state", first["leads"] and first["term"] == term, first)
        p.resign(leader)
        told = []
        while not told or told[-1]["event"] != "follows":
            told.append(json.loads(watcher.stdout.readline()))
        holds("the change", any(e["event"] == "stopped-leading" and e["cause"] for e in told), told)
        p.kill(leader)
        holds("the end", watcher.wait(LIMIT) == 3 and " has ended: its log says why" in watcher.stderr.read())
        other = next(n for n in p.names if n != leader)
        watcher = subprocess.Popen([ELECT, "watch", "-c", str(p.conf), "--id", other], stdout=subprocess.PIPE, text=True)
        holds("text", watcher.stdout.readline().startswith("group main: "))
        watcher.send_signal(signal.SIGINT)
        holds("interrupted", watcher.wait(LIMIT) in (0, -signal.SIGINT), watcher.returncode)


# ---- orders ----

@case
def resign_and_transfer(_):
    with LocalCluster("abcw", roles={"w": "witness"}, times=STEADY_TIMES) as p:
        leader, term = p.begin()
        follower, third = [n for n in "abc" if n != leader]
        expect("whom", p.elect(leader, "transfer"), 64, err="expected the name of the member that should lead")
        expect("unknown", p.elect(leader, "transfer", "bb"), 1, err='unknown member "bb": did you mean b?')
        expect("nothing like it", p.elect(leader, "transfer", "x"), 1, err='unknown member "x": one of a, b, c, w')
        expect("hostile", p.elect(leader, "transfer", "b\x1b[31m" + "x" * 200), 1, err="unknown member ")
        expect("to itself", p.elect(leader, "transfer", leader), 1, err="elect transfer: ")
        expect("to a witness", p.elect(leader, "transfer", "w"), 1, err="elect transfer: ")
        expect("nothing runs there", run("run", "-c", p.conf, "--id", "w", "--", "true"), 125, err="w never leads: its role is witness")
        holds("nothing has changed", p.leader() == (leader, term))
        p.kill(third)
        wait("the leader notices", lambda: not next(m for m in answer(p.socket(leader), {"verb": "status"})["members"]
                                            if m["member"] == third)["up"])
        expect("to the dead", p.elect(leader, "transfer", third), 1, err="elect transfer: ")
        p.leader()
        p.start(third)

        def taken(verb, to=None):
            """Orders a hand-over. Returns (leader, process) if it was completed as ordered, or None if slow members did not
            take over in time and the order must be repeated."""
            now = p.leader()[0]
            if now == to:
                p.resign(now)
                return None
            done = p.elect(now, verb, *[to] if to else ["-o", "json"])
            holds(verb, done.returncode == 0 or is_late(done), done.stdout, done.stderr)
            return (now, done) if done.returncode == 0 else None
        _, done = wait("transfer", lambda: taken("transfer", third))
        expect("transfer", done, 0, out=f"{third} leads", lines=1)
        holds("the named member leads", p.leader()[0] == third)
        terms = re.fullmatch(r"group main: . leads in term (\d+)\.(\d+); . handed over in term (\d+)\.(\d+)\n", done.stdout)
        holds("terms", terms and int(terms[1]) > int(terms[3]) and int(terms[2]) == p.number(third), done.stdout)
        now, done = wait("resign", lambda: taken("resign"))
        said = json.loads(expect("resign", done, 0).stdout)
        holds("json", said["term"] > said["from_term"] and said["from"] == now and said["leader"] in "abc" and said["leader"] != now, said)
        holds("the reported member leads", p.leader()[0] == said["leader"])


@case
def pause_and_resume(_):
    with LocalCluster(times=PATIENT_TIMES) as p:
        leader, term = p.begin()
        other = next(n for n in p.names if n != leader)
        expect("pause", p.elect(other, "pause"), 0, out="group main: elections are paused (pause counter 1)", lines=1)
        expect("again", p.elect(other, "pause"), 0, out="group main: elections are paused already (pause counter 1)", lines=1)
        wait("all members are paused", lambda: all(p.group(n).get("paused") for n in p.names))
        expect("status", p.elect(leader, "status"), 0, out="elections are paused")
        expect("no such group", p.elect(leader, "pause", "-g", "x"), 1, err="there is no group x")
        holds("the leader stays", p.leader() == (leader, term))
        p.kill(leader)
        end = time.monotonic() + 20  # two leases long, no member may be elected
        while time.monotonic() < end:
            for n in p.names:
                g = p.known(n) if n != leader else {}  # each follows the former leader as long as the other does
                holds("a member was elected under pause", g.get("leader") in (None, leader) and (g.get("term") or 0) <= term, g)
            time.sleep(0.05)
        wait("the member waits", lambda: p.known(other).get("state") == "waits")
        wait("no leader is known", lambda: p.elect(other, "is-leader").returncode == 2)
        expect("is-leader", p.elect(other, "is-leader"), 2, out="no leader is known")
        p.start(leader)
        wait("the restarted member is paused, too", lambda: p.group(leader).get("paused"))
        expect("resume", p.elect(other, "resume"), 0, out="group main: elections are resumed (pause counter 2)")
        holds("a new term", p.leader()[1] > term)
        wait("no member is paused", lambda: not any(p.group(n).get("paused", True) for n in p.names))
        expect("again", p.elect(other, "resume"), 0, out="group main: elections were not paused (pause counter 2)")


@case
def reload(_):
    with LocalCluster(times=STEADY_TIMES) as p:
        before = p.begin()
        leader = before[0]
        expect("nothing", p.elect(leader, "reload"), 0, out="changed: nothing")
        good = p.conf.read_text()
        port = free_ports(1)[0]
        for old, new, what in (
                ("delay", "algorithm = ring\ndelay", "algorithm"), ("state-dir = state\n", "state-dir = elsewhere\n", "state-dir"),
                ("[cluster]\n", "[cluster]\nkey-file = other\n", "key-file"), ("[cluster]\n", "[cluster]\nrun-dir = /tmp\n", "run-dir"),
                ("[group main]", "[group other]", "the groups"), ("[group main]", "[group main]\n[group more]", "the groups"),
                ("id = 1\n", "id = 9\n", "the id of a member"), ("id = 1\n", "id = 1\npriority = 3\n", "the priority of a member"),
                (f"127.0.0.1:{p.ports[leader]}", f"127.0.0.1:{port}", "the address of this member"),
                ("[group main]", f"[member z]\nid = 44\naddress = 127.0.0.1:{port}\n[group main]", "the members")):
            p.edit(old, new)
            expect(what, p.elect(leader, "reload") if what not in ("state-dir", "run-dir") else
                   answered("reload", "-S", p.socket(leader)), 1, err=(f"{what} cannot change while a member runs", "nothing has changed"))
            p.conf.write_text(good)
        cluster = re.search(r"^id = ([0-9a-f]{32})$", good, re.M).group(1)
        for old, new, why in (("max-lease = 40s", "max-lease = 35s", "max-lease never becomes smaller: restore it; nothing has changed"),
                              (cluster, cluster[::-1], "the cluster's id never changes: restore it; nothing has changed")):
            p.edit(old, new)
            expect(why, p.elect(leader, "reload"), 1, err=why)
            p.conf.write_text(good)
        text = good.replace("[cluster]\nid = ", "[cluster]\nid = 00", 1)
        p.conf.write_text(text)
        done = answered("reload", "-S", p.socket(leader))
        expect("broken file", done, 1, err=("elect.conf:3: ", "not a cluster id"))
        p.conf.write_text(good.replace("renewal = 3s", "renewal = 4s"))
        for name in p.names:
            expect("times", p.elect(name, "reload"), 0, out="changed: renewal")
        holds("the leader has changed", p.leader() == before)
        p.conf.write_text(good)
        for name in p.names:
            p.daemons[name].send_signal(signal.SIGHUP)
            wait("SIGHUP", lambda: "reloaded: renewal" in p.log(name))
        p.edit("delay", "algorithm = ring\ndelay")
        p.daemons[leader].send_signal(signal.SIGHUP)
        wait("SIGHUP", lambda: "reload refused (algorithm cannot change" in p.log(leader))
        holds("the leader has changed", p.leader() == before)


@case
def keys(_):
    with LocalCluster("ab", times=STEADY_TIMES) as p:
        places = {}
        for name in p.names:  # a key file each, as on two machines
            places[name] = p.folder / name
            (places[name] / "state").mkdir(parents=True)
            shutil.copy2(p.conf, places[name])
            shutil.copy2(p.folder / "key", places[name])
            shutil.copy2(p.state(name), places[name] / "state")
            p.start(name, conf=places[name] / "elect.conf")

        def elect(name, *words):
            return answered(*words, "-c", places[name] / "elect.conf", "--id", name)

        def leader():
            for name in p.names:
                if elect(name, "is-leader", "-q").returncode == 0:
                    return name
            return None
        first = wait("a leader", leader)
        new, bad = p.folder / "new", p.folder / "bad"
        expect("what", elect("a", "key"), 64, err="expected new, install, use, remove or list")
        expect("what", elect("a", "key", "instal", "x"), 64, err="did you mean install?")
        expect("file", elect("a", "key", "install"), 64, err="expected a file")
        expect("number", elect("a", "key", "use", "x"), 64, err="expected the number of a key")
        expect("list", elect("a", "key", "list", "1"), 64, err="accepts none")
        expect("list", elect("a", "key", "list"), 0, out="key 1 used", lines=1)
        expect("list -q", elect("a", "key", "list", "-q"), 0, lines=0)
        expect("use", elect("a", "key", "use", "7"), 1, err="no key has this number")
        expect("remove", elect("a", "key", "remove", "1"), 1, err="key 1 is in use here: use another key first")
        expect("new", elect("a", "key", "new", new), 0, out="key 2 is in")
        holds("its mode", stat.S_IMODE(new.stat().st_mode) == 0o600)
        expect("new, again", elect("a", "key", "new", new), 78, err="a key file exists already")
        expect("not there", elect("a", "key", "install", p.folder / "nowhere"), 78, err="No such file")
        bad.write_text("2 123\n")
        bad.chmod(0o600)
        expect("no key", elect("a", "key", "install", bad), 78, err="not a key")
        shutil.copy2(new, bad)
        bad.chmod(0o640)
        expect("readable", elect("a", "key", "install", bad), 78, err="other users may read it: chmod 600 it")
        expect("the one that is there", elect("a", "key", "install", p.folder / "key"), 0, out="key 1 is accepted here")
        same = p.folder / "same-number"
        same.write_text(new.read_text().replace("2 ", "1 ", 1))
        same.chmod(0o600)
        expect("the same number", elect("a", "key", "install", same), 78, err="another key with this number")
        expect("install", elect("a", "key", "install", new), 0, out="key 2 is accepted here")
        expect("install, again", elect("a", "key", "install", new), 0, out="key 2 is accepted here")
        expect("a third one", elect("a", "key", "install", same), 78, err="the key file has two keys already")
        expect("use", elect("a", "key", "use", "2"), 1, err="elect key: b does not accept key 2 yet: install it there first")
        expect("install", elect("b", "key", "install", new), 0)
        wait("use", lambda: elect("a", "key", "use", "2").returncode == 0)
        listed = expect("list", elect("a", "key", "list"), 0, out=("key 2 used", "key 1 accepted")).stdout
        prints = re.findall(r"^key (\d) (?:used|accepted), fingerprint ([0-9a-f]{8})$", listed, re.M)
        holds("two fingerprints", [number for number, _ in prints] == ["2", "1"] and prints[0][1] != prints[1][1], listed)
        same = expect("list", elect("b", "key", "list"), 0).stdout
        holds("the members agree", set(re.findall(r"fingerprint (\w+)", same)) == {shown for _, shown in prints}, same)
        expect("remove", elect("b", "key", "remove", "1"), 1, err="key 1 is in use here")
        wait("use", lambda: elect("b", "key", "use", "2").returncode == 0)
        said = answer(str(places["b"] / "state" / "member-2.admin"), {"verb": "key-use", "id": 2})
        holds("every key of the answer is there", set(said) == {"ok", "keys", "warning"} and said["warning"] is None, said)
        for name in p.names:
            wait("remove", lambda: elect(name, "key", "remove", "1").returncode == 0)
            holds("the file", (places[name] / "key").read_bytes() == new.read_bytes())
        holds("the leader has changed", leader() == first)
        listed = json.loads(expect("list", elect("b", "key", "list", "-o", "json"), 0).stdout)
        holds("list", listed == [{"id": 2, "used": True, "fingerprint": prints[0][1]}], listed)
        secrets = [line.split()[1] for path in (new, p.folder / "key") for line in path.read_text().splitlines()]
        for name in p.names:
            text = p.log(name) + elect(name, "status", "-o", "json").stdout + elect(name, "history", "--messages").stdout
            holds("a key is shown", not any(secret in text for secret in secrets))
            holds("a part of a key is shown", not any(shown in secret for _, shown in prints for secret in secrets), prints)


@case
def stolen_key(_):
    """elect key remove --force removes a key at once. A member that still uses it is cut off until it uses another one."""
    with LocalCluster("ab", times=STEADY_TIMES) as p:
        places = {name: p.folder / name for name in p.names}
        for name, place in places.items():
            (place / "state").mkdir(parents=True)
            for path in (p.conf, p.folder / "key"):
                shutil.copy2(path, place)
            shutil.copy2(p.state(name), place / "state")
            p.start(name, conf=place / "elect.conf")

        def elect(name, *words):
            return answered(*words, "-c", places[name] / "elect.conf", "--id", name)

        def led():
            return [elect(name, "is-leader", "-q").returncode for name in p.names] in ([0, 1], [1, 0])
        wait("a leader", led)
        expect("new", elect("a", "key", "new", p.folder / "new"), 0)
        for name in p.names:
            expect("install", elect(name, "key", "install", p.folder / "new"), 0)
        wait("use", lambda: elect("a", "key", "use", "2").returncode == 0)

        def taken():
            return answer(str(places["a"] / "state" / "member-1.status"), {"verb": "status"})["traffic"]["taken"]
        before = taken()
        wait("b has sent packets", lambda: taken() > before + 5)
        expect("in use", elect("a", "key", "remove", "1"), 1, err=("elect key: b still uses key 1", "--force"))
        expect("by force", elect("a", "key", "remove", "1", "--force"), 0, out="key 1 is removed")
        wait("use", lambda: elect("b", "key", "use", "2").returncode == 0)
        wait("a leader", led)
        wait("remove", lambda: elect("b", "key", "remove", "1").returncode == 0)


@case
def eighty_columns(_):
    """elect's text for people is at most as wide as a terminal. A log entry is always a single line, however long."""
    with LocalCluster(times=STEADY_TIMES) as p:
        p.begin()

        def said(*words):
            """Runs a verb on the leader until it prints something. A resignation that slow members do not complete in time
            prints nothing and is repeated."""
            return wait(" ".join(words), lambda: p.elect(p.leader()[0], *words).stdout)
        for words in (["status"], ["members"], ["leader"], ["is-leader"], ["explain"], ["key", "list"], ["resign"]):
            text = said(*words)
            holds(" ".join(words), text and max(map(len, text.splitlines())) <= 80, max(text.splitlines(), key=len, default=""))
        for words in (["config", "check", p.conf], ["config", "example"], ["--help"]):
            text = run(*words).stdout.replace(str(p.conf), "elect.conf")
            holds(" ".join(map(str, words)), text and max(map(len, text.splitlines())) <= 80, max(text.splitlines(), key=len, default=""))


# ---- signals, supervisors ----

@case
def stopped_daemon(_):
    with LocalCluster(times=PATIENT_TIMES) as p:
        leader, _ = p.begin()
        signal_both(p.daemons[leader], signal.SIGSTOP)
        late = "the daemon did not answer within"
        for words in (["is-leader"], ["leader"], ["status"], ["members"], ["history"], ["watch"]):
            expect(words[0], p.elect_briefly(leader, *words), 3, err=f"{late} 1 s (--timeout")
        expect("status", p.elect_briefly(leader, "status", "--timeout", "2"), 3, err=f"{late} 2 s")
        expect("pause", p.elect_briefly(leader, "pause", "--timeout", "1"), 3, err=f"{late} 1 s, and may still carry out the request")
        for bad in ("0", "-1", "3601", "soon", "1s"):
            expect("--timeout", p.elect(leader, "status", "--timeout", bad), 64, err="--timeout: expected a number of seconds, 1 to 3600")
        expect("$ELECT_TIMEOUT", run("status", "-c", p.conf, "--id", leader, env={"ELECT_TIMEOUT": "soon"}), 64,
               err="ELECT_TIMEOUT: expected a number of seconds")
        queue, limits = [], resource.getrlimit(resource.RLIMIT_NOFILE)
        most = limits[1] if limits[1] != resource.RLIM_INFINITY else 4096
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), limits[1]))
        full = False
        try:
            while len(queue) < min(most, 4096) - 100:
                queue.append(socket.socket(socket.AF_UNIX))
                queue[-1].setblocking(False)
                queue[-1].connect(p.socket(leader))
        except BlockingIOError:
            full = True
        expect("is-leader, behind a queue", p.elect_briefly(leader, "is-leader"), 3, err="the daemon did not answer within 1 s" +
               (": its queue of connections is full, because it is stopped or overloaded" if full else ""))
        for s in queue:
            s.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        if most >= 4096:
            holds("the queue is limited", full)
        new = p.leader(among=[n for n in p.names if n != leader], other_than=leader)
        signal_both(p.daemons[leader], signal.SIGCONT)
        holds("the new leader stays", p.leader() == new)
        expect("is-leader", p.elect(leader, "is-leader"), 1, out=f"{new[0]} leads")


@case
def stopped_client(_):
    """A waiting command that is stopped and continued, as by ^Z and fg, still waits."""
    with LocalCluster("a") as p:
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(p.socket("a", "admin"))
            door.listen()
            door.settimeout(LIMIT)
            client = subprocess.Popen([ELECT, "resign", "-c", str(p.conf), "--id", "a"], stdout=subprocess.PIPE, text=True)
            connection, _ = door.accept()
            with connection, connection.makefile() as question:
                holds("the command sends its request", json.loads(question.readline())["verb"] == "resign")
                for number, there in ((signal.SIGSTOP, "T"), (signal.SIGCONT, "S")) * 3:
                    wait("the command waits for the answer", lambda: state(client.pid) in ("S", "T", "Z"))
                    client.send_signal(number)
                    wait(f"the command is in state {there}", lambda: state(client.pid) in (there, "Z"))
                holds("the command still waits", client.poll() is None, client.returncode)
                connection.sendall(b'{"ok": true, "group": "main", "from": "a", "from_term": 65537, "leader": "b", "term": 131074, "confirmed": true}\n')
            holds("the command gets its answer", client.communicate(timeout=LIMIT)[0] == "group main: b leads in term 2.2; a handed over in term 1.1\n", client.returncode)


@case
def supervised(_):
    for abstract in (False, True):
        with LocalCluster("a") as p, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
            name = f"\0elect-test-{os.getpid()}" if abstract else str(p.folder / "notify")
            ear.bind(name)
            ear.settimeout(LIMIT)
            heard = []

            def hears(line):
                while line not in heard:
                    heard.extend(ear.recv(4096).decode().splitlines())
                del heard[:heard.index(line) + 1]
            p.start("a", env={"NOTIFY_SOCKET": name.replace("\0", "@"), "WATCHDOG_USEC": "200000"})
            hears("READY=1")
            hears("STATUS=main: a leads")
            for _ in range(3):
                hears("WATCHDOG=1")
            p.daemons["a"].send_signal(signal.SIGHUP)
            while not any(line == "RELOADING=1" for line in heard):
                heard.extend(ear.recv(4096).decode().splitlines())
            hears("READY=1")
            p.daemons["a"].send_signal(signal.SIGTERM)
            hears("STOPPING=1")
            holds("the daemon's exit status", p.daemons["a"].wait(LIMIT) == 0)


@case
def terminated(_):
    with LocalCluster(times=PATIENT_TIMES) as p:
        for number in (signal.SIGTERM, signal.SIGINT):
            leader, term = p.begin() if not p.daemons else p.leader()
            wait("the leader has an heir", lambda: p.known(leader).get("heir"))
            p.daemons[leader].send_signal(number)
            holds("the daemon's exit status", p.daemons[leader].wait(LIMIT) == 0)
            new = p.leader(other_than=leader)
            holds("a later term", new[1] > term)
            holds("the log reports the hand-over", re.search(r". hands over to . \(the work of . has stopped\)", p.log(leader)), p.log(leader))
            holds("the end of the lease was not awaited", "hears nothing from" not in p.log(new[0]), p.log(new[0]))
            holds("the sockets are removed", not glob.glob(p.socket(leader, "*")[:-1] + "[!t]*[!e]") or
                  not os.path.exists(p.socket(leader)), glob.glob(p.socket(leader)[:-6] + "*"))
            p.start(leader)
            p.leader()


# ---- clients ----

@case
def permissions(_):
    old = os.umask(0)
    try:
        with LocalCluster() as p:
            p.begin()
            for which, mode in (("status", 0o660), ("run", 0o660), ("admin", 0o600)):
                holds(which, stat.S_IMODE(os.stat(p.socket("a", which)).st_mode) == mode, oct(os.stat(p.socket("a", which)).st_mode))
            for verb in ("resign", "transfer", "pause", "resume", "reload", "key-install", "key-use", "key-remove"):
                said = ask(p.socket("a"), {"verb": verb})
                holds(verb, said == {"ok": False, "error": "this verb is not available on this socket"}, said)
            for request, why in (({"verb": "pause", "group": 7}, "group: expected a string"), ({"verb": "key-use", "id": "1"}, "id: expected an integer"),
                                 ({"verb": "resign", "force": "yes"}, "force: expected true or false")):
                said = ask(p.socket("a", "admin"), request)
                holds("a key of another type", said == {"ok": False, "error": why}, said)
            said = ask(p.socket("a", "admin"), {"verb": "no"})
            holds("no such verb", said == {"ok": False, "error": "unknown verb"}, said)
            for pid in (p.daemons["a"].pid, member_of(p.daemons["a"].pid)):
                limits = pathlib.Path(f"/proc/{pid}/limits").read_text().splitlines()
                holds("a core may be left", "0" in next(line for line in limits if "core" in line).split()[4:6])
                holds("not dumpable", os.stat(f"/proc/{pid}/environ").st_uid == 0)
    finally:
        os.umask(old)


@case
def hostile_clients(_):
    with LocalCluster(times=STEADY_TIMES) as p:
        before = p.begin()
        leader = before[0]
        for which in ("status", "admin"):
            for request in (b"", b"\n", b"x\n", b"{}\n", b"[]\n", b"null\n", b'{"verb":1}\n', b'{"verb":"status","group":1}\n',
                            b'{"verb":"is-leader","group":"' + b"g" * 3000 + b'"}\n', b"\xff\xfe\0\n", b'{"verb":"status"}' * 100 + b"\n",
                            b"[" * 4000 + b"\n", b'{"verb":"status","verb":"resign"}\n', b'{"verb":"messages","seconds":-9e99}\n',
                            b'{"verb":"messages","seconds":99999999999999999999}\n', b'{"verb":"key-use","id":-1}\n',
                            b'{"verb":"key-use","id":1e300}\n', b'{"verb":"transfer"}\n', b'{"verb":"transfer","to":{}}\n',
                            b'{"verb":"status"}\0\n', b"a" * (1 << 20)):
                with socket.socket(socket.AF_UNIX) as s:
                    s.settimeout(LIMIT)
                    s.connect(p.socket(leader, which))
                    try:
                        s.sendall(request)
                        s.shutdown(socket.SHUT_WR)
                        said = s.recv(1 << 20)
                    except (BrokenPipeError, ConnectionResetError):
                        said = b""
                    holds("not a line of JSON:", not said or isinstance(json.loads(said.splitlines()[0]), dict), request[:40], said)
        slow = [socket.socket(socket.AF_UNIX) for _ in range(50)]
        for s in slow:
            s.settimeout(LIMIT)
            try:
                s.connect(p.socket(leader))
                s.sendall(b'{"verb":')
            except OSError:
                pass
        for s in slow:  # the daemon disconnects slow and surplus clients
            try:
                holds("an incomplete request was answered", s.recv(100) == b"")
            except TimeoutError:
                raise Failure("a slow client is still connected") from None
            except OSError:
                pass
            s.close()
        wait("the daemon answers again", lambda: p.elect(leader, "is-leader").returncode == 0)
        with socket.socket(socket.AF_UNIX) as never:
            never.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            never.connect(p.socket(leader))
            never.sendall(b'{"verb":"watch"}\n')
            for _ in range(200):
                for verb in ("pause", "resume"):
                    holds(verb, answer(p.socket(leader, "admin"), {"verb": verb})["ok"])
            expect("is-leader", p.elect(leader, "is-leader"), 0, out="yes")
        holds("the leader has changed", p.leader() == before)
        holds("the daemon still runs", p.daemons[leader].poll() is None)


@case
def options_of_other_verbs(_):
    for verb, option in (("init", "-o json"), ("init", "-S x"), ("members", "-g x"), ("reload", "-g x"), ("daemon", "-g x"),
                         ("config", "--id a"), ("readmit", "-o json"), ("key", "-g x")):
        expect(f"{verb} {option}", run(verb, *option.split()), 64, err="this verb does not have this option")
    expect("init -g", run("init", "-g", "x"), 64, err="use it only with --new-cluster")


@case
def without_a_mandate(_):
    with LocalCluster(options="mandate = none\n", times=STEADY_TIMES) as p:
        expect("config check", run("config", "check", p.conf), 0, out="TWO MEMBERS MAY LEAD AT ONCE")
        said = json.loads(run("config", "check", p.conf, "-o", "json").stdout)
        holds("no time without a leader is promised", said["mandate"] == "none" and "fail_over_ms" not in said, said)
        os.unlink(p.state("a"))
        expect("init", p.elect("a", "init"), 0, out="created: ")
        os.unlink(p.state("a"))
        expect("readmit", p.elect("a", "readmit"), 78, err="with mandate = none there are no promises to recover")
        expect("init", p.elect("a", "init"), 0, out="created: ")
        p.start()
        wait("a leader", lambda: all(p.group(n).get("leader") == "c" for n in p.names))
        expect("is-leader", p.elect("c", "is-leader"), 0, out="yes, without a mandate")
        expect("status", p.elect("a", "status"), 0, out="c leads without a mandate, known since")
        expect("resign", p.elect("c", "resign"), 1, err="cannot hand over with mandate = none: stop the leader instead")
        expect("pause", p.elect("c", "pause"), 1, err="cannot pause elections with mandate = none")
        p.daemons["c"].terminate()
        wait("the daemon stops", lambda: p.daemons["c"].poll() == 0)
        wait("another member leads", lambda: p.group("a").get("leader") == "b")


@case
def no_other_member_can_lead(_):
    with LocalCluster(roles={"a": "witness", "b": "witness"}, times=PATIENT_TIMES) as p:
        p.begin()

        def told():
            """Returns the refusal that names the new term. On a slow machine the first refusal may only report that no member
            was elected in time."""
            done = p.elect("c", "resign", "--force")
            holds("the order is refused", done.returncode == 1 and is_late(done), done.stdout, done.stderr)
            return done if "c leads again, in term" in done.stderr else None
        expect("resign", wait("the leader leads again", told), 1, err="elect resign: ")


@case
def roles_of_all_groups_or_of_none(_):
    with LocalCluster("abcd", groups=("main", "second"), times=PATIENT_TIMES) as p:
        one, _ = p.begin()
        other, voter, third = [name for name in p.names if name != one]
        as_member = p.conf.read_text()
        as_observer = as_member.replace(f"[member {voter}]\n", f"[member {voter}]\nrole = observer\n")

        def vote_of_both(conf, votes):
            """Makes `one` lead both groups and reloads the configuration there, until `voter` has a vote in both groups or, if
            `votes` is false, in neither."""
            p.conf.write_text(conf)

            def changed():
                for i in (0, 1):
                    p.transfer(one, i)
                return p.elect(one, "reload").returncode == 0 and all((voter in p.known(one, i)["voters"]) == votes for i in (0, 1))
            wait("the change is complete in both groups", changed)

        def too_soon_for_one():
            """Returns True if a reload changed the group main, but not the other one.

            After a change of leader a group refuses changes of its membership for the longest lease. Here only the other group
            has just changed its leader. If main has, too, both groups refuse, and the case tries again. If this machine stalled
            for the longest lease, neither refuses, and the case undoes the change before it tries again."""
            p.transfer(one)
            p.transfer(other, 1)
            p.transfer(one, 1)
            p.conf.write_text(as_observer)
            done = p.elect(one, "reload")
            if done.returncode == 0:
                vote_of_both(as_member, True)
            return "second: the previous membership change is not confirmed yet" in done.stderr
        wait("the reload is refused because of one group", too_soon_for_one)
        holds("nothing has changed", all(voter in p.known(one, i)["voters"] for i in (0, 1)))
        expect("elsewhere", p.elect(third, "reload"), 0, out="no roles in groups that another member leads")
        vote_of_both(as_observer, False)


@case
def terminal_is_not_read(_):
    with LocalCluster("a", times=STEADY_TIMES) as p:
        reader, terminal = os.openpty()
        p.daemons["a"] = subprocess.Popen([ELECT, "daemon", "-c", str(p.conf), "--id", "a"], stderr=terminal,
                                          preexec_fn=die_with_parent)
        os.close(terminal)
        wait("the daemon leads", lambda: p.group("a").get("leads"))
        for _ in range(600):
            ask(p.socket("a", "admin"), {"verb": "pause"})
            ask(p.socket("a", "admin"), {"verb": "resume"})
        expect("the daemon continues", p.elect("a", "is-leader"), 0, out="yes")
        os.close(reader)


@case
def log_destinations(_):
    with LocalCluster("a") as p:
        for what in ("pipe", "socket"):
            ours, its = os.pipe() if what == "pipe" else map(lambda s: s.detach(), socket.socketpair())
            p.daemons["a"] = subprocess.Popen([ELECT, "daemon", "-c", str(p.conf), "--id", "a"], stderr=its,
                                              preexec_fn=die_with_parent)
            os.close(its)
            with os.fdopen(ours) as log:
                holds(f"a {what}", "member a (1) starts" in log.readline())
                holds(f"a {what}", "became leader in term" in log.readline())
                p.kill("a")


@case
def slow_watch(_):
    """The daemon disconnects a watcher that reads too slowly. The watcher reports this reason, and the daemon continues."""
    with LocalCluster("a") as p:
        p.begin()
        watcher = subprocess.Popen([ELECT, "watch", "-S", p.socket("a"), "-o", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        holds("the present state", json.loads(watcher.stdout.readline())["group"] == "main")

        def sockets():
            """Returns how many sockets the member has. A client that was just answered may still count."""
            folder, count = f"/proc/{member_of(p.daemons['a'].pid)}/fd", 0
            for n in os.listdir(folder):
                try:
                    count += os.readlink(f"{folder}/{n}").startswith("socket:")
                except FileNotFoundError:
                    pass
            return count
        before = min(sockets() for _ in range(50))
        for _ in range(4000):
            ask(p.socket("a", "admin"), {"verb": "pause"})
            ask(p.socket("a", "admin"), {"verb": "resume"})
            if sockets() < before:
                break
        holds("the daemon disconnects it", sockets() < before, before)
        _, said = watcher.communicate(timeout=LIMIT)
        holds("the reason", watcher.returncode == 3 and b"the daemon disconnected this command, which read too slowly" in said, watcher.returncode, said)
        expect("the daemon continues", p.elect("a", "is-leader"), 0, out="yes")


@case
def watch_a_killed_daemon(_):
    """The kernel may disconnect a killed daemon's readers before it closes the socket. They are not told that they are slow."""
    with LocalCluster("a") as p:
        for _round in range(4):
            p.begin()
            watchers = [subprocess.Popen([ELECT, "watch", "-c", p.conf, "--id", "a"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                        for _ in range(8)]
            for watcher in watchers:
                watcher.stdout.readline()
            p.kill("a")
            for watcher in watchers:
                said = watcher.communicate()[1]
                holds("the daemon has ended", watcher.returncode == 3 and said == (
                    "elect watch: the daemon of a has ended: its log says why; start it again, then repeat this command\n"), said)


@case
def many_watch(_):
    with LocalCluster("a") as p:
        p.begin()
        watchers = [subprocess.Popen([ELECT, "watch", "-S", p.socket("a")], stdout=subprocess.PIPE) for _ in range(16)]
        try:
            for w in watchers:
                w.stdout.readline()
            expect("one more", answered("watch", "-S", p.socket("a")), 75, err="too many clients: at most 16 watchers per user")
            expect("a query beside the watchers", p.elect("a", "is-leader"), 0, out="yes")
            expect("of a group", p.elect("a", "watch", "-g", "mian"), 1, err="did you mean main?")
            expect("of a group", p.elect("a", "history", "-g", "mian"), 1, err="did you mean main?")
        finally:
            for w in watchers:
                w.kill()
                w.communicate()
        pages = json.loads(p.elect("a", "history", "--messages", "-o", "json").stdout)
        holds("the flight recorder has steps", len(pages) > 0 and {"ago_us", "event"} <= set(pages[0]))


if __name__ == "__main__":
    sys.exit(main(__file__))
