#!/usr/bin/env python3
"""Tests a member's files, on loopback: files.py ELECT [CASE ... | --list] [--jobs N]

The cases run elect config, init and readmit with configurations, keys and states that are missing, damaged, unreadable or from
another cluster."""

import grp
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from lib.cases import case, main  # noqa: E402
from lib.checks import expect, holds, is_root, need_root  # noqa: E402
from lib.elect_command import ELECT, Pulse, answered, refused_init, run  # noqa: E402
from lib.local_cluster import LocalCluster, free_ports  # noqa: E402
from lib.processes import LIMIT, signal_both, wait  # noqa: E402
from lib.status_socket import answer  # noqa: E402
from lib.times import PATIENT_TIMES  # noqa: E402


@case
def config_verbs(_):
    with LocalCluster() as p:
        expect("check", run("config", "check", p.conf), 0, out=("is valid: 3 members", "There are never two leaders at once as long as",
                                                                "resigns is replaced within"))
        said = json.loads(expect("json", run("config", "check", p.conf, "-o", "json"), 0).stdout)
        holds("json", said["members"] == 3 and said["tolerated_failures"] == 1 and said["lease_ms"] == 3000, said)
        example = p.folder / "example.conf"
        example.write_text(expect("example", run("config", "example"), 0).stdout)
        expect("the example is right", run("config", "check", example), 0, out="is valid")
        expect("verb", run("config", "chekc"), 64, err="did you mean check?")
        expect("nothing", run("config"), 64, err="expected check or example")
        for verb in ("daemon", "is-leader", "leader", "status", "members", "watch", "history", "resign", "transfer", "pause", "resume",
                     "reload", "init", "readmit", "key", "config"):
            expect(f"{verb} --help", run(verb, "--help"), 0, out=f"usage: elect {verb}")
            holds("help begins with usage", run("help", verb).stdout == run(verb, "--help").stdout, verb)


@case
def init_and_readmit(_):
    with LocalCluster() as p:
        expect("twice", run("init", "-c", p.conf), 1, err="a has a state already")
        expect("a cluster, twice", run("init", "-c", p.conf, "--new-cluster", "x=127.0.0.1:1"), 1, err="a configuration exists already")
        expect("no members", run("init", "-c", p.folder / "no.conf", "--new-cluster"), 64, err="expected the members")
        expect("members only", run("init", "-c", p.conf, "x=127.0.0.1:1"), 64, err="only with --new-cluster")
        for word in ("x", "x=", "=127.0.0.1:1", "x=127.0.0.1", "x=127.0.0.1:99999", "x=127.0.0.1:0", "x=300.1.1.1:7", "x y=127.0.0.1:1",
                     "../x=127.0.0.1:1", "x]=127.0.0.1:1", "x\n[member y]=127.0.0.1:1", "x" * 64 + "=127.0.0.1:1"):
            place = p.folder / "fresh" / "elect.conf"
            expect(repr(word), run("init", "-c", place, "--new-cluster", word), 64, err="elect init: ")
            holds("init left files behind", not place.exists() and not (place.parent / "key").exists(), word)
        first = "a=127.0.0.1:7401"
        for words, cited, why in (
                ((first, "b=0.0.0.0:7402"), "b=0.0.0.0:7402", "is a wildcard"),
                ((first, "a=127.0.0.1:7402"), "a=127.0.0.1:7402", "another member has this name"),
                ((first, "b=127.0.0.1:7401"), "b=127.0.0.1:7401", "has an address of another member"),
                ((first, "b=127.0.0.1:7402,x"), "b=127.0.0.1:7402,x", 'not an address "x"'),
                ((first, "b=127.0.0.1:7402,127.0.0.2:1"), "b=127.0.0.1:7402,127.0.0.2:1", "more or fewer addresses"),
                (("../x=127.0.0.1:1", first), "../x=127.0.0.1:1", "not a name"),
                ((first, "-g", "x!"), "--group", 'not a name "x!"'),
                ((first, "--id", "b"), "b", "no such member among the arguments")):
            expect(" ".join(words), run("init", "-c", place, "--new-cluster", *words), 64, err=(f"elect init: {cited}: ", why))
            holds("init left files behind", not place.exists(), words)
        leader, _ = p.begin()
        follower = next(n for n in p.names if n != leader)
        p.kill(follower)
        expect("readmit whom", run("readmit", "-c", p.conf), 64, err="expected the member that lost its state")
        expect("readmit of one with a state", p.elect(follower, "readmit"), 78, err=(str(p.state(follower)), "if it is damaged, move it away"))
        p.state(follower).write_bytes(b"damaged")
        p.refused("a damaged state", str(p.state(follower)), "is damaged", "move it away, then run elect readmit", name=follower)
        p.state(follower).unlink()
        p.refused("no state", "elect init", name=follower)
        expect("init", refused_init(p, follower), 1, err="other members remember it (incarnation 1), so it has lost its state: run elect readmit")
        expect("readmit", p.elect(follower, "readmit"), 0, out=("asking the other members", "enough members have answered",
                                                                f"{follower} has a new state"))
        p.start(follower)
        holds("the member is back", p.leader()[0])
        incarnation = answer(p.socket(follower), {"verb": "status"})["incarnation"]
        holds("the incarnation is larger", incarnation > 1, incarnation)


UNPRIVILEGED = 65534
# Verbs that need the configuration and the sockets of a running member.
ASKING = (["status"], ["is-leader"], ["leader"], ["members"], ["watch"], ["history"], ["explain"], ["doctor"], ["key", "list"])
TELLING = (["resign"], ["transfer", "b"], ["pause"], ["resume"], ["reload"])


@case
def permissions(_):
    """If a user may not access a file, folder or socket, the error message names it and the user or group that may."""
    need_root()
    group = next(g for g in grp.getgrall() if g.gr_gid not in (0, UNPRIVILEGED))
    with LocalCluster() as p:
        command = p.folder.parent / f"{p.folder.name}-elect"
        shutil.copy(ELECT, command)
        os.chmod(command, 0o755)

        def as_another_user(words):
            return subprocess.run([command, *map(str, words)], capture_output=True, text=True, user=UNPRIVILEGED, group=UNPRIVILEGED,
                                  extra_groups=[], stdin=subprocess.DEVNULL, cwd="/")

        def denied(words, obj, help_, code):
            where = () if words[0] in ("sim", "config") or "-c" in words else ("-c", p.conf)
            done = as_another_user([words[0], *where, *words[1:]])
            expect(" ".join(map(str, words)), done, code, err=(f"{obj}: Permission denied: run this as user root", help_))
            holds("no other advice", "init" not in done.stderr.replace("elect init: ", "", 1) and "chmod" not in done.stderr, done.stderr)
        try:
            p.begin()
            member = ["--id", "a"]
            for words in (*ASKING, *TELLING, ["daemon"], ["init"], ["readmit"], ["config", "check", p.conf]):
                denied([*words, *(() if words[0] == "config" else member)], p.conf, f", which may search {p.folder}\n",
                       3 if words == ["doctor"] else 78)
            denied(["run", *member, "--", "true"], p.conf, f", which may search {p.folder}\n", 125)
            denied(["sim", p.conf], p.conf, f", which may search {p.folder}\n", 74)
            os.chmod(p.folder, 0o755)
            os.chmod(p.conf, 0o640)
            os.chown(p.conf, 0, group.gr_gid)
            denied(["status"], p.conf, f", or in group {group.gr_name}, which may read {p.conf}\n", 78)
            os.chmod(p.conf, 0o644)
            (p.folder / "conf.d").mkdir(mode=0o700)
            denied(["status"], p.folder / "conf.d", f", which may read {p.folder / 'conf.d'}\n", 78)
            (p.folder / "conf.d").rmdir()
            os.chmod(p.folder / "state", 0o700)
            for words in (["status"], ["daemon"]):  # without --id, the state folder determines the member
                denied(words, p.folder / "state", f", which may search {p.folder / 'state'}\n", 3 if words == ["status"] else 78)
            os.chmod(p.folder / "state", 0o755)
            os.chown(p.socket("a"), 0, group.gr_gid)
            for words in ASKING:
                denied([*words, *member], p.socket("a"), f", or in group {group.gr_name}, which may connect to {p.socket('a')}\n", 3)
            for words in TELLING:
                denied([*words, *member], p.socket("a", "admin"), f"user root, which may connect to {p.socket('a', 'admin')}\n", 3)
            denied(["run", *member, "--", "true"], p.socket("a", "run"), f"which may connect to {p.socket('a', 'run')}\n", 125)
            denied(["daemon", *member], p.state("a"), f"which may write to {p.state('a')}\n", 78)
            for words in (["init"], ["readmit", *member], ["key", "use", "1", *member], ["key", "new", "/tmp/x"]):
                denied(words, p.folder / "key", f"which may read {p.folder / 'key'}\n", 78)
            denied(["init", "-c", p.folder / "of" / "elect.conf", "--new-cluster", "a=127.0.0.1:1"], p.folder / "of",
                   f"which may create files in {p.folder}\n", 74)
            with tempfile.TemporaryDirectory(dir="/") as hooks:  # not searchable for the daemon's user
                os.chmod(hooks, 0o710)
                p.edit("[cluster]\n", f"[cluster]\non-leader = {hooks}/hook\n")
                os.chown(p.folder / "state", UNPRIVILEGED, UNPRIVILEGED)
                denied(["config", "check", p.conf], f"on-leader: {hooks}/hook", f"which may search {hooks}\n", 78)
                os.chmod(hooks, 0o700)
                for done in (run("config", "check", p.conf), as_another_user(["config", "check", p.conf])):
                    expect("a closed folder", done, 78, err=f"on-leader: {hooks}: the user that runs elect may not search it: chmod go+x it")
            denied(["history", *member, "--export", p.folder / "x"], p.folder / "x", f"which may create files in {p.folder}\n", 74)
        finally:
            command.unlink()


@case
def sockets_by_path(_):
    """-S takes the path of any of a member's sockets, and finds the others from it. If the path is wrong, the error message
    names it."""
    with LocalCluster() as p:
        p.begin()
        for path in (p.conf, p.folder):
            for words in (["status"], ["watch"], ["resign"], ["doctor"]):
                expect(words[0], run(*words, "-S", path), 3, err=f"{path}: not a socket of elect: expected a path such as")
            expect("run", run("run", "-S", path, "--", "true"), 125, err=f"{path}: not a socket of elect")
        expect("nothing", run("status", "-S", ""), 64, err="--socket: expected the path of a socket")
        for which in ("status", "admin", "run"):
            expect(which, answered("leader", "-S", p.socket("a", which)), 0, lines=1)


@case
def states_and_doctor(_):
    """Without a daemon, elect doctor reports what is wrong with a state file and what to do, but changes nothing."""
    with LocalCluster() as p:
        state = p.state("a")
        good = state.read_bytes()

        def found(what, *text):
            expect(what, p.elect("a", "doctor"), 2, out=(f"broken   state {state} ", *text, "no daemon runs here"))
        expect("a good one", p.elect("a", "doctor"), 2, out="1 broken, 0 warnings")
        holds("unchanged", state.read_bytes() == good)
        state.write_bytes(b"damaged")
        found("short", "it is damaged (its length is wrong): move it away, then run elect readmit")
        state.write_bytes(bytes(len(good)))
        found("zeros", "it is damaged (it has no intact record): move it away, then run elect readmit")
        state.write_bytes(p.state("b").read_bytes())
        found("of b", "it belongs to another member: compare the ids")
        state.write_bytes(good)
        os.chmod(state, 0o666)
        found("writable", "other users may write to it: chmod 600 it")
        state.unlink()
        found("missing", "there is none: run elect init; if it was lost, elect readmit")
        state.mkdir()
        found("a folder", "it is not a regular file: move it away, then run elect readmit")


@case
def bad_keys(_):
    with LocalCluster() as p:
        key = p.folder / "key"
        good = key.read_bytes()
        for mode in (0o644, 0o640, 0o604):
            key.chmod(mode)
            p.refused(oct(mode), "other users may read it: chmod 600 it")
        key.chmod(0o600)
        key.unlink()
        p.refused("missing", "No such file or directory: copy the key of the cluster there")
        (p.folder / "real").write_bytes(good)
        (p.folder / "real").chmod(0o600)
        key.symlink_to("real")
        p.refused("link", "a symbolic link")
        key.unlink()
        key.mkdir(0o700)
        p.refused("folder", "not a regular file")
        key.rmdir()
        os.mkfifo(key, 0o600)
        p.refused("fifo", "not a regular file")
        key.unlink()
        for bad in (b"", b"1\n", b"1 zz\n", good * 2, b"256 " + good[2:], b"1 " + b"0" * 64 + b"\n", good[:-3] + b"\n", b"x" * 100000):
            key.write_bytes(bad)
            key.chmod(0o600)
            p.refused(repr(bad[:20]), "key")
        key.write_bytes(b"# a comment\n")
        p.refused("no key", "the file has no key: copy the key of the cluster there")
        if is_root("bad-keys/of-another-owner"):
            key.write_bytes(good)
            os.chown(key, 12345, 12345)
            p.refused("owner", "another user owns it")


@case
def bad_states(_):
    with LocalCluster() as p, LocalCluster() as other:
        good = p.state("a").read_bytes()
        shutil.copy2(other.state("a"), p.state("a"))
        p.refused("of another cluster", "cluster")
        shutil.copy2(p.state("b"), p.state("a"))
        p.refused("of another member", "member")
        for bad in (b"", b"x", bytes(len(good)), good[:1000], b"y" * len(good)):
            p.state("a").write_bytes(bad)
            p.refused(f"{len(bad)} bytes", "member-1.state: ")
        p.state("a").unlink()
        p.refused("missing", "elect init")
        p.state("a").symlink_to(p.state("b"))
        p.refused("link", "member-1.state: ")
        p.state("a").unlink()
        p.state("a").mkdir()
        p.refused("folder", "member-1.state: ")
        p.state("a").rmdir()
        p.state("a").write_bytes(good)
        p.state("a").chmod(0o600)
        p.start("a")
        wait("the daemon runs", lambda: p.group("a"))
        moved = p.folder / "moved.conf"
        moved.write_text(p.conf.read_text().replace(f":{p.ports['a']}\n", f":{free_ports(len(p.names) + 1)[-1]}\n"))
        second = run("daemon", "-c", moved, "--id", "a")
        waits, *complaint = second.stderr.splitlines(keepends=True)
        holds("the daemon reports why it waits", re.search(r"a waits at most \d+ s for its previous daemon: if that daemon hangs, stop its process", waits) and "member-1.state is in use by process" in waits, second.stderr)
        second.stderr = "".join(complaint)
        expect("a second daemon", second, 75, err=("member-1.state is in use by process", "stop that process first"))
        holds("the first daemon continues", p.group("a") and p.daemons["a"].poll() is None)


@case
def bad_places(_):
    with LocalCluster() as p:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", p.ports["a"]))
            p.refused("port in use", "Address already in use", f"127.0.0.1:{p.ports['a']}", code=75)
        good = p.conf.read_text()
        p.conf.write_text(good.replace(f"127.0.0.1:{p.ports['a']}", "192.0.2.1:7400"))
        p.refused("not an address of this machine", "192.0.2.1:7400", code=75)
        p.conf.write_text(good.replace("[cluster]\n", f"[cluster]\nrun-dir = {p.folder}/{'r' * 80}\n"))
        (p.folder / ("r" * 80)).mkdir()
        p.refused("socket path", "too long for a socket: set run-dir to a shorter path")
        p.conf.write_text(good.replace("[cluster]\n", "[cluster]\nrun-dir = nowhere/at/all\n"))
        p.refused("no run-dir", "run-dir must exist")
        p.conf.write_text(good)
        pathlib.Path(p.socket("a")).write_text("precious")
        p.refused("a file in the place of a socket", "it exists and is not a socket: move it away")
        holds("the file was kept", pathlib.Path(p.socket("a")).read_text() == "precious")
        os.unlink(p.socket("a"))
        expect("not among the members", run("daemon", "-c", p.conf, "--id", "d"), 78, err="no such member in")
        expect("several members on this machine", run("daemon", "-c", p.conf), 78, err="name one with --id")
        part = good[:good.index("[member c]")] + good[good.index("[group main]"):]
        p.begin()
        p.kill("c")
        p.conf.write_text(part)
        p.refused("member list without me", "no such member", name="c")
        p.conf.write_text(good)
        p.start("c")
        p.leader()


@case
def bad_files(_):
    with LocalCluster() as p:
        good = p.conf.read_text()
        count = good[:good.index("[group main]")].count("\n")
        for text, err in (
                (good.replace("lease = 3s", "leese = 3s", 1), ":5: unknown key \"leese\": did you mean lease?"),
                (good.replace("lease = 3s", "lease = 500", 1), ":5: not a duration \"500\": expected for example 200ms"),
                (good.replace("lease = 3s", "lease = 50ms", 1), "lease is too short"),
                (good.replace("renewal = 300ms", "renewal = 2s", 1), "renewal is too long: it must fit three times"),
                (good.replace("[member b]", "[membre b]", 1), "unknown section \"membre b\""),
                (good.replace("[member b]", "[member a/../b]", 1), "not a name \"a/../b\": expected 1 to 63 letters"),
                (good.replace("[member b]", "[member \x1b[31mred]", 1), "not a name \"?[31mred\""),
                (good.replace("[member b]", f"[member {'b' * 64}]", 1), "not a name"),
                (good.replace("id = 2\n", "id = 1\n", 1), "has the id of another member"),
                (good.replace("[member b]", "[member a]", 1), 'section "member a" is repeated in this file: put its keys into one section'),
                (good.replace("delay = 20ms", "lease = 4s", 1), ':7: key "lease" is set twice: remove one of them'),
                (good.replace(f"127.0.0.1:{p.ports['b']}", f"0.0.0.0:{p.ports['b']}", 1), "is a wildcard: write the address"),
                (good.replace(f":{p.ports['b']}", f":{p.ports['a']}"), 'member "b" has an address of another member'),
                (good.replace(f":{p.ports['b']}", f":{p.ports['b']}, 127.0.0.1:{p.ports['b']}", 1).replace(
                    f":{p.ports['a']}", f":{p.ports['a']}, 127.0.0.1:1", 1).replace(
                    f":{p.ports['c']}", f":{p.ports['c']}, 127.0.0.1:2", 1), 'member "b" has an address twice'),
                (good.replace("delay = ", "delay = 500ms\n# ", 1), "with a delay of 500 ms and rho 1% it must be at least 4080810us"),
                (good.replace("id = 2\n", "id = 65536\n", 1), "not a number \"65536\": expected 0 to 65535"),
                (good.replace("id = 2\n", "", 1), "member \"b\" has no id"),
                (good.replace("[group main]", "[group main]\nx = 1"), f":{count + 2}: unknown key \"x\": one of lead-only-with-runner"),
                (good.replace("[group main]", ""), "no section [group NAME]"),
                (good.replace("[group main]", "[group a b]"), "not a name \"a b\""),
                (good.replace("delay = 20ms", "algorithm = buly", 1), "did you mean bully?"),
                (good.replace("delay = 20ms", "preempt = maybe", 1), "expected no, yes or for example after 30s"),
                (good.replace("delay = 20ms", "rho = 1", 1), "not a percentage \"1\""),
                (good.replace("delay = 20ms", "just words", 1), ":7: not a key and a value"),
                ("\0" + good, "not a text file"), ("", "[cluster] has no id"), ("x" * 70000, "the file is too long")):
            p.conf.write_text(text)
            for words in (("config", "check"), ("daemon", "--id", "a"), ("status", "--id", "a"), ("init",)):
                done = expect(err, run(*words, "-c", p.conf), 78, err=(str(p.conf), err))
                holds("a control character is printed", "\x1b" not in done.stderr)
        p.conf.write_text(good)
        (p.folder / "conf.d").mkdir()
        (p.folder / "conf.d" / "10-more.conf").write_text("[cluster]\n\nfoo = 1\n")
        expect("conf.d", run("config", "check", p.conf), 78, err="conf.d/10-more.conf:3: unknown key \"foo\"")
        (p.folder / "conf.d" / "10-more.conf").write_text("[cluster]\nlease = 5s\n")
        expect("a key of conf.d that is set already", run("config", "check", p.conf), 78, err='10-more.conf:2: key "lease" is set twice')
        (p.folder / "conf.d" / "10-more.conf").unlink()
        os.mkfifo(p.folder / "conf.d" / "20-fifo.conf")
        expect("a FIFO", run("config", "check", p.conf), 78, err="20-fifo.conf: not a regular file")


@case
def configurations_differ(_):
    with LocalCluster() as p:
        odd = p.folder / "odd.conf"
        odd.write_text(p.conf.read_text().replace("renewal = 300ms", "renewal = 400ms"))
        p.start("b", "c")
        p.start("a", conf=odd)
        p.leader()
        wait("members names it", lambda: re.search(r"^  a  .*\n    its configuration differs$", p.elect("c", "members").stdout, re.M))
        holds("no other member is named", p.elect("c", "members").stdout.count("differs") == 1)
        wait("the difference is logged", lambda: "member a has another configuration" in p.log("c"))
        odd.write_text(p.conf.read_text())
        expect("reload", answered("reload", "-c", odd, "--id", "a"), 0, out="changed: renewal")
        wait("the difference is gone", lambda: "differs" not in p.elect("c", "members").stdout and "differs" not in
             p.elect("a", "members").stdout)


@case
def names_are_looked_up(_):
    with LocalCluster("abcde") as p:
        p.conf.write_text(p.conf.read_text().replace("= 127.0.0.1:", "= localhost:"))
        first = p.state("e").read_bytes()
        p.begin()
        for name in p.names:
            wait(f"{name} reaches all members", lambda: all(
                m["up"] for m in answer(p.socket(name), {"verb": "status"})["members"]))
        p.kill("e")
        os.unlink(p.state("e"))
        expect("init", refused_init(p, "e"), 1, err="other members remember it")  # elect init also queries members with a host name
        expect("readmit", p.elect("e", "readmit"), 0, out="has a new state")
        p.state("e").write_bytes(first)  # from before the member's first start
        p.start("e")
        wait("the daemon stops", lambda: p.daemons["e"].poll() == 78)
        for _ in range(8):
            p.refused("the daemon was told to stop", "have told it to stop", "elect readmit", name="e")
        p.conf.write_text(p.conf.read_text().replace("localhost", "no-such-host.invalid"))
        p.kill("a")
        p.refused("its own host name", "cannot be resolved to an address", code=75)
        p.conf.write_text(p.conf.read_text().replace("no-such-host.invalid", "0xe0.1"))
        p.refused("a host name that resolves to a multicast address", "0xe0.1 is a multicast address: write the member's own address", code=75)
        p.conf.write_text(p.conf.read_text().replace("0xe0.1", "127.255.255.255"))
        p.refused("a broadcast address", "is a broadcast address of this machine", code=75)


@case
def unwise_settings_are_logged(_):
    """The log warns about a cluster of two voters and about a member's address that cannot be resolved."""
    with LocalCluster("ab") as p:
        p.conf.write_text(re.sub(r"(\[member b\](?:\n(?!\[).*)*?\naddress = )127.0.0.1:", r"\1no-such-host.invalid:",
                                 p.conf.read_text()))
        p.start("a")
        wait("a warning", lambda: "with 2 voters, the failure of either leaves no majority: add a witness" in p.log("a"))
        wait("a later finding", lambda: "peers b: never heard" in p.log("a"))
        holds("the warning is logged once", p.log("a").count("leaves no majority") == 1, p.log("a"))
        wait("the host name is logged", lambda: "cannot resolve no-such-host.invalid, address 1 of member b (" in p.log("a"))
        p.conf.write_text(p.conf.read_text().replace("no-such-host.invalid", "localhost"))
        expect("reload", p.elect("a", "reload"), 0, out="changed")
        wait("the address is resolved", lambda: "resolved localhost, address 1 of member b" in p.log("a"))
        holds("each attempt is logged", p.log("a").count("cannot resolve") == 1, p.log("a"))


@case
def init_queries_for_longer_than_a_renewal(_):
    """elect init sends its first query before it has a session with the other members, so they hear only the second one, a
    renewal interval later."""
    with LocalCluster(times="lease = 30s\nrenewal = 5s\ndelay = 20ms\nmax-lease = 40s\n") as p:
        p.begin()
        p.kill("a")
        os.unlink(p.state("a"))
        expect("init", refused_init(p, "a"), 1, err="other members remember it")


@case
def init_waits_for_a_late_member(_):
    """Member a remembers c, but answers late: elect init for c must wait for it. Meanwhile member b, which has never met c,
    answers often."""
    with LocalCluster(times=PATIENT_TIMES) as p:
        p.start("a", "c")
        p.leader()
        p.kill("c")
        p.start("b")
        p.leader(among=["a", "b"])
        os.unlink(p.state("c"))

        def asked():
            """Runs elect init and returns its process, or None if it exited with 0 because the late member did not answer in
            time on this busy machine."""
            before = p.log("b").count("c has lost its state")
            signal_both(p.daemons["a"], signal.SIGSTOP)
            asking = subprocess.Popen([ELECT, "init", "-c", str(p.conf), "--id", "c"], stderr=subprocess.PIPE, text=True)
            wait("init has queried the members", lambda: p.log("b").count("c has lost its state") > before or asking.poll() is not None)
            signal_both(p.daemons["a"], signal.SIGCONT)
            with Pulse([p.socket("b")]) as pulse:
                status = asking.wait(LIMIT)
            holds("init created a state file, although the others could answer", status != 0 or pulse.longest > 0.1, pulse.longest)
            if status == 0:
                os.unlink(p.state("c"))
            return asking if status != 0 else None
        asking = wait("the late member answers in time", asked)
        holds("init refuses", asking.returncode == 1, asking.stderr.read())


if __name__ == "__main__":
    sys.exit(main(__file__))
