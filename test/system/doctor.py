#!/usr/bin/env python3
"""Tests elect doctor with real daemons on loopback: doctor.py ELECT [CASE ... | --list] [--jobs N]

The cases check its findings, their log lines and the exit status, in healthy and broken clusters."""

import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from lib.cases import case, main  # noqa: E402
from lib.checks import NotHere, expect, holds  # noqa: E402
from lib.elect_command import ELECT, run  # noqa: E402
from lib.local_cluster import LocalCluster  # noqa: E402
from lib.processes import member_of, wait  # noqa: E402
from lib.run_socket import Talker  # noqa: E402
from lib.status_socket import answer  # noqa: E402

# Times so long that elect doctor does not report a slow disk or a stalled process on a busy machine.
CALM = "lease = 30s\nrenewal = 6s\ndelay = 1s\nmax-lease = 40s\n"
MACHINE = pathlib.Path(ELECT).parent / "test" / "libmachine.so"
QUICK = "lease = 3s\nrenewal = 300ms\ndelay = 20ms\nmax-lease = 4s\n"


def findings(p, name, *words):
    done = p.elect(name, "doctor", "-o", "json", *words)
    return json.loads(done.stdout)["findings"] if done.stdout else []


def found(p, name, area, obj, text=""):
    return [f for f in findings(p, name) if f["area"] == area and f["object"] == obj and text in f["what"]]


@case
def healthy(_):
    with LocalCluster(times=CALM) as p:
        p.begin()
        wait("healthy", lambda: all(p.elect(n, "doctor").returncode == 0 for n in p.names))
        expect("doctor", p.elect("a", "doctor"), 0, out="healthy: member a of 3, 1 group\n", lines=1)
        expect("quiet", p.elect("a", "doctor", "-q"), 0, lines=0)
        said = json.loads(expect("json", p.elect("a", "doctor", "-o", "json", "main"), 0).stdout)
        holds("json", said["findings"] == [] and said["disk"]["syncs"] > 0 and [c["member"] for c in said["clocks"]] == ["b", "c"] and "starting" not in said and said["stalls"]["count"] == 0, said)
        expect("group", p.elect("a", "doctor", "mian"), 64, err="did you mean main?")
        expect("twice", p.elect("a", "doctor", "main", "-g", "main"), 64, err="the group is given twice")


@case
def just_started(_):
    """elect doctor waits until a member's first seconds have passed, so a new member causes no finding."""
    with LocalCluster(times=QUICK) as p:
        p.start("a")
        said = answer(p.socket("a"), {"verb": "doctor"})
        early = [f for f in said["findings"] if f["area"] in ("quorum", "peers", "leader", "links")]
        uptime = answer(p.socket("a"), {"verb": "status"})["up_seconds"]
        holds("no findings at first", (said["starting"] and not early) or uptime > 3, said, uptime)
        expect("doctor waits", p.elect("a", "doctor"), 2, out=("broken   quorum main", "never heard since", "1 broken, 2 warnings"))


@case
def stalls(_):
    """elect doctor reports that the daemon's process stalled, even if packets arrived meanwhile."""
    with LocalCluster(times=QUICK) as p:
        p.begin()
        for name in p.names:
            member = member_of(p.daemons[name].pid)
            os.kill(member, signal.SIGSTOP)
            time.sleep(2.5)  # a stall counts if a timer is late by more than a renewal
            os.kill(member, signal.SIGCONT)
            wait(f"{name} reports the stall", lambda name=name: found(p, name, "stalls", name, "the daemon stalled"))


@case
def addresses_mixed_up(_):
    """Member a's configuration swaps the addresses of b and c. elect doctor reports this on each of the three."""
    with LocalCluster(times=QUICK) as p:
        other = p.folder / "other.conf"
        b, c = f"127.0.0.1:{p.ports['b']}", f"127.0.0.1:{p.ports['c']}"
        other.write_text(c.join(part.replace(c, b) for part in p.conf.read_text().split(b)))
        p.start("b", "c")
        p.start("a", conf=other)
        for whom in "bc":
            wait(f"a reports {whom}", lambda whom=whom: found(p, "a", "packets", whom, "unknown address"))
            wait(f"{whom} reports a", lambda whom=whom: found(p, whom, "packets", "a", "meant for another member"))


@case
def unknown_here(_):
    """Member d has the cluster's key, but is not in the other members' configurations."""
    with LocalCluster("abcd", times=QUICK) as p:
        of_d = p.folder / "of-d.conf"
        shutil.copy(p.conf, of_d)
        p.conf.write_text(re.sub(r"\[member d\]\n(?:(?!\[).*\n)*", "", p.conf.read_text()))
        p.start("a", "b", "c")
        p.start("d", conf=of_d)
        address = f"127.0.0.1:{p.ports['d']}"
        wait("a reports d", lambda: found(p, "a", "packets", address, "unknown address; the sender has the key, and its id is 4"))
        wait("the log reports d", lambda: f"packets {address}: packets from {address} are rejected" in p.log("a"))
        p.kill("d")
        wait("the log reports that it is resolved", lambda: f"packets {address}: resolved" in p.log("a"))


@case
def wrong_clock(_):
    """elect doctor reports that member c's clock runs 5 % too fast. The configuration allows an error of 1 % (rho)."""
    if not MACHINE.exists():
        raise NotHere(f"needs {MACHINE.name}")
    with LocalCluster(times=QUICK) as p:
        p.start("a", "b")
        p.start("c", env={"LD_PRELOAD": str(MACHINE), "CLOCK_RATE": "1.05"})
        wait("a reports c", lambda: found(p, "a", "clocks", "c", "faster than the clock here; rho allows 1 %"))
        wait("c reports b", lambda: found(p, "c", "clocks", "b", "slower"))
        holds("doctor reports a broken cluster", p.elect("a", "doctor").returncode == 2)
        rates = {c["member"]: c for c in json.loads(p.elect("a", "doctor", "-o", "json").stdout)["clocks"]}
        holds("rates", rates["c"]["least_percent"] <= 5 <= rates["c"]["most_percent"], rates)
        holds("the clock of b is not a finding", rates["b"]["least_percent"] <= 0 <= rates["b"]["most_percent"] and not found(p, "a", "clocks", "b"), rates)


@case
def slow_disk(_):
    if not MACHINE.exists():
        raise NotHere(f"needs {MACHINE.name}")
    with LocalCluster(times=QUICK.replace("delay = 20ms", "delay = 30ms")) as p:
        p.start("a", "b")
        p.start("c", env={"LD_PRELOAD": str(MACHINE), "SYNC_MS": "70"})
        p.leader()

        def is_slow():
            slow = found(p, "c", "disk", str(p.folder / "state")[:63], "slow: 10 % of")
            if not slow:
                p.resign(p.leader()[0])
            return slow
        wait("c reports its disk", is_slow)
        disk = json.loads(p.elect("c", "doctor", "-o", "json").stdout)["disk"]
        holds("percentiles", disk["syncs"] >= 10 and 60 < disk["median_ms"] <= disk["p90_ms"] <= disk["p99_ms"], disk)


@case
def one_of_three(_):
    with LocalCluster(times=QUICK) as p:
        p.start("a")
        wait("quorum", lambda: found(p, "a", "quorum", "main", "1 of 3 voters reachable, 2 needed"))
        expect("doctor", p.elect("a", "doctor"), 2, out=("broken   quorum main", "start or reconnect b, c", "never heard since"))
        wait("the log reports the quorum", lambda: "main: quorum: 1 of 3 voters reachable, 2 needed (start or reconnect b, c)" in p.log("a"))
        holds("the log reports it once", p.log("a").count("voters reachable") == 1, p.log("a"))
        worst = json.loads(p.elect("a", "status", "-o", "json").stdout)["worst"]
        holds("worst", worst["severity"] == "broken" and worst["do"], worst)
        p.start("b", "c")
        wait("the log reports that it is resolved", lambda: "main: quorum: resolved" in p.log("a"))


@case
def another_key(_):
    """Member c has a different key. elect doctor reports c on a and b, and reports a and b on c."""
    with LocalCluster(times=QUICK) as p:
        other = p.folder / "other"
        other.mkdir()
        expect("key", run("key", "new", other / "key", "-c", p.conf), 0)
        (other / "elect.conf").write_text(p.conf.read_text().replace("state-dir = state\n", f"state-dir = {p.folder}/state\n"))
        p.start("a", "b")
        p.start("c", conf=other / "elect.conf")
        for by, whom in (("a", "c"), ("b", "c"), ("c", "a"), ("c", "b")):
            wait(f"{by} reports {whom}", lambda by=by, whom=whom: found(p, by, "packets", whom, "wrong key or other cluster"))
            wait(f"{by} logs {whom}", lambda by=by, whom=whom: f"packets {whom}: packets from 127.0.0.1:{p.ports[whom]} are rejected"
                 in p.log(by))
        expect("remedy", p.elect("a", "doctor"), 1 if p.leader(among=["a", "b"]) else 2, out="compare the fingerprints in elect key list, and the cluster id, on both members")
        members = json.loads(p.elect("a", "status", "-o", "json").stdout)["members"]
        rejected = {m["member"]: m["rejected"] for m in members}
        holds("status", rejected["b"] is None and rejected["c"]["reason"] == "wrong key or other cluster"
              and rejected["c"]["count"] >= 4, rejected)


@case
def another_configuration(_):
    with LocalCluster(times=QUICK) as p:
        other = p.folder / "other.conf"
        other.write_text(p.conf.read_text().replace("renewal = 300ms", "renewal = 310ms"))
        p.start("a", "b")
        p.start("c", conf=other)
        wait("a reports the setting that differs", lambda: found(p, "a", "configuration", "c", "renewal (300 ms here, 310 ms there)"))
        wait("c reports the setting that differs", lambda: found(p, "c", "configuration", "a", "renewal (310 ms here, 300 ms there)"))


@case
def heir_without_a_run(_):
    """elect doctor prints a note if the leader has an elect run but its heir has none: the cluster is healthy, but the heir
    could not continue the work."""
    with LocalCluster(times=CALM) as p:
        leader, _ = p.begin()
        heirs = "".join(n for n in p.names if n != leader)  # the leader may name another heir once it knows both
        wait("the leader has an heir", lambda: p.known(leader)["heir"])
        wait("no run, no note", lambda: all(p.elect(n, "doctor").returncode == 0 and not findings(p, n) for n in p.names))
        runs = []
        try:
            runs.append(subprocess.Popen([ELECT, "run", "-c", p.conf, "--id", leader, "--", "sleep", "1000"]))
            text = f"the leader {leader} has a run, but the heir "
            for n in p.names:
                wait("a note", lambda n=n: [f for f in found(p, n, "runs", "main", text) if f["severity"] == "note"])
                done = expect("healthy", p.elect(n, "doctor"), 0, out=("note     runs main", "healthy: "))
                holds("the heir is named", re.search(rf"{text}([{heirs}]) has none: no work would run on it: start elect run on \1, or set lead-only", done.stdout), done.stdout)
                holds("the status reports no finding", text not in p.elect(n, "status").stdout, done)
            runs += [subprocess.Popen([ELECT, "run", "-c", p.conf, "--id", n, "--", "sleep", "1000"]) for n in heirs]
            wait("no note", lambda: not any(found(p, n, "runs", "main") for n in p.names))
            holds("it is not logged", not any(text in p.log(n) for n in p.names))
        finally:
            for run_ in runs:
                run_.terminate()
                run_.wait()


@case
def notes_give_way(_):
    """A leader has more findings than it keeps. The notes about its groups must not hide the problems of 61 observers."""
    groups = tuple(f"g{i}" for i in range(64))
    with LocalCluster(times=CALM, groups=groups) as p, contextlib.ExitStack() as runs:
        down = [f"o{i}" for i in range(61)]
        p.conf.write_text(p.conf.read_text() + "".join(
            f"[member {name}]\nid = {4 + i}\naddress = 127.0.0.1:{20000 + i}\nrole = observer\n" for i, name in enumerate(down)))
        p.start()

        def leaders():
            return {g["group"]: g["leader"] for g in answer(p.socket("a"), {"verb": "status"})["groups"]}
        wait("all groups have a leader", lambda: None not in leaders().values())
        leader = collections.Counter(leaders().values()).most_common(1)[0][0]
        for group, name in leaders().items():
            if name != leader:
                p.elect(name, "transfer", leader, "-g", group)
        wait("one member leads all groups", lambda: set(leaders().values()) == {leader})
        for group in groups:
            run_ = runs.enter_context(Talker(p.socket(leader, "run")))
            holds("the run works", run_.hold(group).word == "GO", group)
        wait("some findings are not shown", lambda: "more findings are not shown" in p.elect(leader, "doctor").stdout)
        problems = {f["object"] for f in findings(p, leader) if f["severity"] != "note"}
        holds("every problem is shown", problems >= set(down), set(down) - problems)


@case
def no_daemon(_):
    with LocalCluster() as p:
        expect("doctor", p.elect("a", "doctor"), 2, out=("broken   daemon a", f"no daemon runs here: elect daemon -c {p.conf} --id a"))
        os.chmod(p.folder / "key", 0o644)
        expect("key", p.elect("a", "doctor"), 2, out=("keys ", "permissions "))
        p.conf.write_text("[cluster]\nlaese = 1s\n")
        expect("configuration", run("doctor", "-c", p.conf), 2, out=("broken   configuration", "elect config check"))
        expect("nowhere", run("doctor", "-S", p.folder / "nowhere.status"), 3, err="there is no such socket: correct the path")


@case
def no_daemon_can_start(_):
    """When no daemon runs, elect doctor reports problems that would prevent its start or appear later. It never advises a
    change of a file's mode, except a key file's."""
    with LocalCluster("ab", options="on-leader = /nonexistent\n") as p:
        expect("hook and voters", p.elect("a", "doctor"), 2, out=("broken   hooks on-leader ", "/nonexistent: No such file or directory",
                                                                  "warning  voters cluster ", "add a witness", "2 broken, 1 warning"))
        p.edit("on-leader = /nonexistent\n", "")
        (p.folder / "other").write_text("no key\n")
        os.chmod(p.folder / "other", 0o644)
        for path in (p.folder / "other", "/dev/null", "/etc"):
            p.edit("[cluster]\n", f"[cluster]\nkey-file = {path}\n")
            done = p.elect("a", "doctor")
            expect("no key", done, 2, out=f"broken   keys {path} ")
            holds("no advice to chmod", "chmod" not in done.stdout, done.stdout)
            p.edit(f"key-file = {path}\n", "")
        os.chmod(p.folder / "state", 0o1777)
        done = p.elect("a", "doctor")
        expect("a folder like /tmp", done, 2, out="move the state to a folder of its own")
        holds("no advice to chmod the folder", "chmod" not in done.stdout, done.stdout)
        for mode in (0o700, 0o500):
            os.chmod(p.folder / "state", mode)
            if os.geteuid() == 0:  # root may write to every folder, so another user must own this one
                os.chown(p.folder / "state", 12345, 12345)
            done = p.elect("a", "doctor")
            holds("an unwritable folder of the state", ("may not write to this folder: chmod u+wx" in done.stdout) == (mode == 0o500), done)
        os.chmod(p.folder / "state", 0o700)
        os.chown(p.folder / "state", os.geteuid(), os.getegid())
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", p.ports["b"]))
            expect("port in use", p.elect("b", "doctor"), 2, out=("broken   address b ", "Address already in use: end the process"))
        p.edit(f"127.0.0.1:{p.ports['b']}\n", "192.0.2.1:7400\n")
        expect("another machine", p.elect("b", "doctor"), 2, out=("broken   address b ", ": correct the address, or give it to this"))


@case
def path_that_is_not_utf8(_):
    """A finding about a path that is not UTF-8 is reported."""
    with LocalCluster("ab") as p:
        conf = os.fsencode(p.folder) + b"/\xff.conf"
        shutil.copy(p.conf, conf)
        done = subprocess.run([ELECT, "doctor", "-c", conf, "--id", "a"], capture_output=True, text=True, errors="replace")
        expect("not healthy", done, 2, out=("broken   daemon a ", f"no daemon runs here: elect daemon -c {p.folder}/?.conf --id a"))


@case
def may_not_connect(_):
    if os.geteuid() != 0:
        raise NotHere("needs root")
    with LocalCluster(times=CALM) as p:
        p.begin()
        os.chmod(p.folder, 0o755)
        command = p.folder / "elect"
        shutil.copy(ELECT, command)
        os.chmod(command, 0o755)
        done = subprocess.run([command, "doctor", "-S", p.socket("a")], capture_output=True, text=True, user=65534, group=65534,
                              extra_groups=[], env={"PATH": os.environ["PATH"]})
        holds("one line", done.returncode == 3 and done.stderr.count("\n") == 1 and p.socket("a") in done.stderr, done)


@case
def which_member(_):
    """Without --id, elect doctor examines the member that runs on this machine, even if the user may not read its state. If
    none runs, it examines the member with a state file here."""
    with LocalCluster(names="a", times=CALM, options="run-dir = run\n") as p:
        status = p.folder / "run" / "member-1.status"
        status.parent.mkdir()
        p.start()
        wait("the daemon runs", lambda: p.elect("a", "doctor").returncode == 0)

        def doctor(*words):
            if os.geteuid() != 0:
                return run("doctor", "-c", p.conf, *words)
            return subprocess.run([p.folder / "elect", "doctor", "-c", p.conf, *words], capture_output=True, text=True, user=65534,
                                  group=65534, extra_groups=[], env={"PATH": os.environ["PATH"]})
        shutil.copy(ELECT, p.folder / "elect")
        for path in (p.folder / "elect", p.folder, p.folder / "run"):
            os.chmod(path, 0o755)
        if os.geteuid() == 0:
            os.chown(status, 0, 65534)
        expect("another user", doctor(), 0, out="healthy: member a of 1")
        p.kill("a")
        status.unlink()
        if os.geteuid() == 0:
            expect("no rights", doctor(), 3, err=f"{p.folder / 'state'}: Permission denied: run this as user root, which may search")
        os.chmod(p.folder / "state", 0o755)
        p.state("a").unlink()
        expect("no state", doctor(), 2, out=(f"broken   state {p.folder / 'state'} ", "no member of this cluster has a state here"))
        holds("json", json.loads(doctor("-o", "json").stdout)["member"] is None)


@case
def answers_without_findings(_):
    """A process that answers on the status socket without findings is not reported as a healthy daemon."""
    with LocalCluster(names="a") as p, socket.socket(socket.AF_UNIX) as door:
        (p.folder / "state").mkdir(exist_ok=True)
        door.bind(p.socket("a"))
        door.listen()

        def serve(line):
            client = door.accept()[0]
            client.recv(4096)
            client.sendall(line)
            client.close()
        for line in b'{"ok": true}\n', b'{"ok": true, "findings": {}}\n':
            server = threading.Thread(target=serve, args=(line,), daemon=True)
            server.start()
            expect(line, run("doctor", "-S", p.socket("a")), 3, err="answered without findings", lines=0)
            server.join()


def with_own_keys(p):
    """Starts all members and returns their configurations. Each member has its own copy of the key file, so that its keys can
    be changed separately."""
    confs = {}
    for n in p.names:
        folder = p.folder / f"of-{n}"
        folder.mkdir()
        shutil.copy(p.folder / "key", folder / "key")
        confs[n] = folder / "elect.conf"
        confs[n].write_text(p.conf.read_text().replace("state-dir = state\n", f"state-dir = {p.folder}/state\n"))
        p.start(n, conf=confs[n])
    return confs


@case
def rotation(_):
    """The cluster's key is replaced. When only member a has removed the old key, elect doctor advises the others to remove it,
    too."""
    with LocalCluster(times=QUICK) as p:
        confs = with_own_keys(p)
        p.leader()
        new = p.folder / "new"
        expect("new", run("key", "new", new, "-c", confs["a"]), 0)
        expect("install", run("key", "install", new, "-c", confs["a"], "--id", "a"), 0)
        wait("the others lack it", lambda: found(p, "a", "keys", "b", "it does not accept key 2, which this member accepts but does not use"))
        for n in "bc":
            expect("install", run("key", "install", new, "-c", confs[n], "--id", n), 0)
        for n in "abc":
            wait("use", lambda n=n: run("key", "use", "2", "-c", confs[n], "--id", n).returncode == 0)
        wait("remove", lambda: run("key", "remove", "1", "-c", confs["a"], "--id", "a").returncode == 0)
        said = wait("b reports a", lambda: found(p, "b", "keys", "a", "it does not accept key 1, which this member accepts but does not use"))
        holds("the advice", said[0]["do"] == "if key 1 is new, elect key install there; if it is old, elect key remove 1 here", said)


@case
def open_to_others(_):
    """While a daemon runs, elect doctor names each file, folder and admin socket that other users may write to."""
    with LocalCluster(times=CALM) as p:
        parts = p.folder / "conf.d"
        parts.mkdir()
        (parts / "10.conf").write_text("")
        p.begin()
        wait("healthy", lambda: p.elect("a", "doctor").returncode == 0)
        for path, mode, what in ((parts, 0o777, "other users may add to the configuration"), (parts / "10.conf", 0o666, "other users may write to the configuration"),
                                 (p.conf, 0o646, "other users may write to the configuration"), (p.folder, 0o707, "other users may replace the configuration"),
                                 (pathlib.Path(p.socket("a", "admin")), 0o666, "other users may control the member"),
                                 (pathlib.Path(p.socket("a", "run")), 0o666, "every user may run work under the member"),
                                 (p.state("a"), 0o666, "other users may write to the state of the member")):
            before = path.stat().st_mode
            path.chmod(mode)
            expect(path.name, p.elect("a", "doctor"), 1, out=(what, "0 broken, 1 warning"))
            path.chmod(before)
        holds("healthy again", p.elect("a", "doctor").returncode == 0)


@case
def locked_out(_):
    """Member c is down while the cluster's key is replaced. Removing the only key that c has would lock c out, so elect warns
    about it."""
    with LocalCluster(names="abc", times=QUICK) as p:
        confs = with_own_keys(p)
        p.leader()
        p.kill("c")
        new = p.folder / "new"
        expect("new", run("key", "new", new, "-c", confs["a"]), 0)
        for n in "ab":
            expect("install", run("key", "install", new, "-c", confs[n], "--id", n), 0)
        wait("doctor reports that c may lack the key", lambda: found(p, "a", "keys", "c", "would lock it out"))
        wait("use", lambda: "warning: key 2 may be missing on c (down)" in run("key", "use", "2", "-c", confs["a"], "--id", "a").stderr)
        expect("remove", run("key", "remove", "1", "-c", confs["a"], "--id", "a"), 1, err=("key 2 may be missing on c", "--force"))
        done = run("key", "remove", "1", "-c", confs["a"], "--id", "a", "--force")
        holds("--force succeeds with a warning", done.returncode == 0 and "warning: " in done.stderr and "locked out" in done.stderr, done)


if __name__ == "__main__":
    sys.exit(main(__file__))
