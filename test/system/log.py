#!/usr/bin/env python3
"""Tests a daemon's log for operators, log collectors and systemd's journal: log.py ELECT [CASE ... | --list] [--jobs N]

Every line can be parsed, including lines from the guardian, from a hook and from a failed start. The output of hooks is logged,
and a slow reader of the log never delays a hook."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
from lib.cases import case, main  # noqa: E402
from lib.checks import NotHere, expect, holds, need_root  # noqa: E402
from lib.elect_command import ELECT, run  # noqa: E402
from lib.local_cluster import LocalCluster  # noqa: E402
from lib.log_lines import parse, prose, written  # noqa: E402
from lib.processes import die_with_parent, libc, member_of, signal_both, wait  # noqa: E402
from lib.status_socket import ask  # noqa: E402
from lib.times import STEADY_TIMES, TIMES  # noqa: E402

KEYS = {"time", "level", "group", "text", "cause", "event", "peer", "leader", "term", "member", "at_us", "repeated"}
LEVELS = ["error", "warning", "notice", "info", "debug"]
STRANGE = 'größer "x" \\ a=b\t\x1b[1m '  # ends with a blank
HOOK = f"#!/bin/sh\ncat {{folder}}/strange\necho by $ELECT_HOOK >&2\n. {{folder}}/more\n"


class Logging(LocalCluster):
    """A cluster whose members have a hook that prints."""

    def __init__(self, names="a", options="", **more):
        super().__init__(names, options, **more)
        self.folder.chmod(0o755)
        self.hook = self.folder / "hook"
        (self.folder / "strange").write_text(STRANGE + "\n")
        self.hook.write_text(HOOK.format(folder=self.folder))
        self.hook.chmod(0o755)
        self.does("")
        self.edit("state-dir = state\n", f"state-dir = state\non-leader = {self.hook}\non-follower = {self.hook}\nhook-timeout = 600s\n")

    def does(self, lines):
        (self.folder / "more").write_text(lines + "\n")

    def lines(self, name="a"):
        return (self.folder / f"{name}.log").read_text().splitlines()

    def entries(self, name="a", event=None):
        found = [json.loads(line) if line.startswith("{") else parse(line) for line in self.lines(name)]
        holds("every line can be parsed", all(found), self.lines(name))
        return [entry for entry in found if event in (None, entry["event"])]

    def stop(self, *names):
        for name in names:
            self.daemons[name].send_signal(signal.SIGTERM)
        for name in names:
            holds("the daemon exits with 0", self.daemons[name].wait() == 0, name)


def make_events(p):
    """Causes a change of leader and a refused reload, then ends all daemons."""
    leader, _ = p.begin()
    wait("the hook of the leader has ended", lambda: len(p.entries(leader, "hook-output")) >= 2)
    p.resign(leader)
    p.edit("[member a]\n", "[member a]\npriority = 7\n")
    expect("reload", p.elect(leader, "reload"), 1, err="the priority of a member")
    p.stop(*p.names)
    return leader


@case
def key_values(_):
    """Every line of the log has the form key=value, and is the same after it is parsed and formatted again. An entry's cause
    and the other member involved have their own keys."""
    with Logging("abc", times=STEADY_TIMES) as p:
        leader = make_events(p)
        for name in p.names:
            for line in p.lines(name):
                holds("the same line", parse(line) and written(parse(line)) == line, line)
            holds("the member of each entry", all(entry["member"] == name for entry in p.entries(name)))
            for entry in p.entries(name, "follows"):
                holds("the leader that it follows", entry["peer"] == entry["leader"] and entry["text"] in
                      (f"{name} follows {entry['peer']} in term {entry['term']}", f"{name} learned that {entry['peer']} leads in term {entry['term']}")
                      and entry["cause"] and entry["level"] == "notice", entry)
        office = p.entries(leader, "leads")[0]
        holds("the beginning of the office", office["text"] == f"{leader} became leader in term {office['term']}" and office["cause"], office)
        over = p.entries(leader, "stopped-leading")[0]
        holds("the end of the office", (over["term"], over["text"]) == (office["term"], f"{leader} stopped leading in term {office['term']}") and "ordered it to" in over["cause"], over)
        outputs = p.entries(leader, "hook-output")
        holds("the output of the hook is unchanged", {"level": "info", "group": "main", "text": STRANGE, "hook": "on-leader", "term": office["term"]}.items()
              <= outputs[0].items(), outputs)
        holds("standard error of the hook is logged, too", outputs[1]["text"] == "by on-leader" and outputs[1]["pid"] == outputs[0]["pid"], outputs)
        refused = [entry for entry in p.entries(leader, "admin") if entry["text"] == "reload refused"]
        holds("the reason of the refusal", len(refused) == 1 and refused[0]["level"] == "error" and "the priority of a member" in refused[0]["cause"], refused)


@case
def silent_member(_):
    """If a member cannot be heard on any link, the log reports it, and later its return. A leader that is told to exit logs why
    it stopped leading."""
    with LocalCluster("abc", times=TIMES) as p:
        leader, _ = p.begin()
        silent, other = (name for name in p.names if name != leader)
        wait("all members hear each other", lambda: all(p.log(name).count(" is up") >= 4 for name in p.names))
        down = f"member {silent} is down or cut off ({other} heard nothing from it for "
        signal_both(p.daemons[silent], signal.SIGSTOP)
        try:
            wait("the silence is logged", lambda: down in p.log(other))
        finally:
            signal_both(p.daemons[silent], signal.SIGCONT)
        wait("the return is logged", lambda: f"member {silent} is heard again" in p.log(other).split(down)[-1])
        leader, _ = p.leader()
        p.daemons[leader].send_signal(signal.SIGTERM)
        wait("it stops leading", lambda: f"{leader} stopped leading in term" in p.log(leader).split("shuts down")[-1])
        holds("with the reason", "(it is shutting down: received SIGTERM)" in p.log(leader), p.log(leader))


@case
def history_and_watch(_):
    """elect history and elect watch show each entry's level and cause. Their JSON has the log's keys."""
    with Logging(times=STEADY_TIMES) as p:
        p.start("a")
        watch = subprocess.Popen(["sh", "-c", f"until {ELECT} watch -c {p.conf} --id a -o json 2>/dev/null; do :; done"], stdout=subprocess.PIPE,
                                 text=True, preexec_fn=die_with_parent, start_new_session=True)
        try:
            wait("the member leads", lambda: p.group("a").get("leads"))
            logged = [prose(line) for line in p.lines() if parse(line)["event"] != "hook-output"]
            shown = p.elect("a", "history").stdout.splitlines()
            holds("history equals the log", shown[:len(logged)] == logged, shown, logged)
            for entry in json.loads(p.elect("a", "history", "-o", "json").stdout):
                holds("the keys of the entry", set(entry) == KEYS and entry["level"] in LEVELS and entry["member"] == "a", entry)
            p.elect("a", "pause")
            entry = next(entry for entry in map(json.loads, watch.stdout) if "elections are paused" in entry.get("text", ""))
            holds("watch", set(entry) == KEYS and (entry["level"], entry["event"], entry["cause"]) == ("notice", "admin", None), entry)
        finally:
            os.killpg(watch.pid, signal.SIGKILL)
            watch.communicate()


@case
def json_lines(_):
    """With -o json every line is an object with the same keys, including lines of hooks, of the guardian and of a failed
    start."""
    with Logging() as p:
        p.start("a", words=("-o", "json"))
        wait("the hook has ended", lambda: len(p.entries(event="hook-output")) == 2)
        output = p.entries(event="hook-output")[0]
        holds("the hook", (output["text"], output["hook"], output["group"]) == (STRANGE, "on-leader", "main") and output["pid"] > 0, output)
        os.kill(member_of(p.daemons["a"].pid), signal.SIGKILL)
        holds("the guardian has ended", p.daemons["a"].wait() == 137)
        killed = p.entries(event="guardian")[0]
        holds("the entry of the guardian", (killed["level"], killed["cause"]) == ("error", "signal 9: Killed") and re.fullmatch(r"member . \(pid \d+\) was killed", killed["text"]), killed)
        holds("the output of on-follower", p.entries(event="hook-output")[-1]["text"] == "by on-follower", p.lines())
        for entry in p.entries():
            holds("the keys of the entry", KEYS <= set(entry) <= KEYS | {"hook", "pid"} and (entry["term"] is None or entry["term"] > 0), entry)
        p.hook.chmod(0o644)
        fails(p, 78, "on-leader: /", "a")
        fails(p, 64, "unknown", None, "--log-level", "loud")
        p.edit("[group main]", "[grope main]")
        fails(p, 78, "elect.conf:", None)


def fails(p, code, why, member, *words):
    done = run("daemon", "-c", p.conf, "--id", "a", "-o", "json", *words)
    said = [json.loads(line) for line in done.stderr.splitlines()]
    holds("one line", done.returncode == code and len(said) == 1 and set(said[0]) == KEYS, done)
    holds("an error", (said[0]["level"], said[0]["event"], said[0]["member"]) == ("error", "not-started", member) and why in said[0]["text"], said)


@case
def levels(_):
    """--log-level selects the entries to print. It overrides log-level in elect.conf, which a reload can change. The history
    contains all entries."""
    with Logging(options="log-level = warning\n") as p:
        p.start("a")
        wait("the member leads", lambda: p.group("a").get("leads"))
        expect("pause", p.elect("a", "pause"))
        expect("resume", p.elect("a", "resume"))
        holds("no entry is serious enough", not p.lines(), p.lines())
        history = json.loads(p.elect("a", "history", "-o", "json").stdout)
        holds("the history has it", {"started", "leads", "admin"} <= {entry["event"] for entry in history}, history)
        p.edit("log-level = warning", "log-level = debug")
        expect("reload", p.elect("a", "reload"), out="log-level")
        p.elect("a", "resign", "--force", "--timeout", "1")  # no other member can take over
        wait("every step is logged", lambda: any(entry["level"] == "debug" for entry in p.entries(event="step")))
        wait("the hook of the guardian is logged", lambda: p.entries(event="hook-output"))
        holds("the reload", p.entries()[0]["text"] == "reloaded: log-level", p.lines())
        p.stop("a")
        before = len(p.lines())
        p.start("a", words=("--log-level", "notice"))
        wait("the member leads", lambda: p.group("a").get("leads"))
        holds("the option overrides the configuration", all(entry["level"] in LEVELS[:3] for entry in p.entries()[before:]), p.lines()[before:])
        p.edit("log-level = debug", "log-level = info")
        expect("reload", p.elect("a", "reload"), out="log-level (without effect, because --log-level was given)")
        p.stop("a")
        before = len(p.lines())
        p.start("a", words=("-q", "--log-level", "debug"))
        wait("the member leads", lambda: p.group("a").get("leads"))
        p.stop("a")
        holds("quiet", len(p.lines()) == before, p.lines()[before:])
        expect("option", run("daemon", "-c", p.conf, "--id", "a", "--log-level", "notise"), 64, err="--log-level: unknown \"notise\": did you mean notice?")
        p.edit("log-level = info", "log-level = loud")
        expect("key", run("daemon", "-c", p.conf, "--id", "a"), 78, err='unknown log level "loud"')


@case
def chatty_hook(_):
    """A hook that prints many lines is not delayed and does not flood the log: lines beyond the limit are only counted."""
    with Logging() as p:
        p.does(f"[ -e {p.folder}/ended ] || yes chatter | head -n 200000; touch {p.folder}/ended")  # prints only once
        p.start("a")
        wait("the hook has ended", (p.folder / "ended").exists)
        p.stop("a")
        outputs = p.entries(event="hook-output")
        chatter = sum(entry["text"] == "chatter" for entry in outputs)
        counted = [int(entry["text"].split()[0]) for entry in outputs if "more lines are not logged" in entry["text"]]
        holds("all are counted", counted and chatter + sum(counted) == 200_000, chatter, counted)


def with_reader(p, reader):
    """Starts a daemon that logs to a pipe, and gives the other end to `reader`."""
    out, into = os.pipe()
    reader(out)
    daemon = subprocess.Popen([ELECT, "daemon", "-c", str(p.conf), "--id", "a"], stderr=into, preexec_fn=die_with_parent)
    os.close(into)
    p.daemons["a"] = daemon


@case
def log_is_not_read(_):
    """A hook that prints a megabyte ends normally even if the log is not read."""
    for reader in (lambda out: None, os.close):
        with Logging() as p:
            p.does(f"head -c 1000000 /dev/zero | tr '\\0' '\\n'; echo more && echo $? > {p.folder}/$ELECT_HOOK")
            with_reader(p, reader)
            wait("the hook has ended", lambda: (p.folder / "on-leader").exists() and (p.folder / "on-leader").read_text() == "0\n")
            wait("the member leads", lambda: p.group("a").get("leads"))
            os.kill(member_of(p.daemons["a"].pid), signal.SIGKILL)
            p.daemons["a"].wait()
            holds("the hook of the guardian has ended, too", (p.folder / "on-follower").read_text() == "0\n")


@case
def closed_descriptors(_):
    """A daemon without standard input, output or error works normally, and does not use their numbers for its own files."""
    need_root()  # only root may read the descriptors of a process that is not dumpable
    with Logging() as p:
        p.daemons["a"] = daemon = subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", ELECT, "daemon", "-c", str(p.conf),
                                                    "--id", "a"], preexec_fn=die_with_parent)
        wait("the member leads", lambda: p.group("a").get("leads"))
        for pid in daemon.pid, member_of(daemon.pid):
            standard = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in range(3)]
            holds("the standard descriptors are /dev/null", standard == ["/dev/null"] * 3, standard)
        p.stop("a")


# ---- systemd's journal ----

def own_run_folder():
    """Gives this process and its children their own /run, with only this case's journal."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(0x00020000 | (0 if user == 0 else 0x10000000)) != 0:  # CLONE_NEWNS, CLONE_NEWUSER
        raise NotHere("needs root, or user namespaces")
    if user != 0:
        pathlib.Path("/proc/self/setgroups").write_text("deny")
        pathlib.Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        pathlib.Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    if libc.mount(b"none", b"/", None, 0x44000, None) != 0 or libc.mount(b"tmpfs", b"/run", b"tmpfs", 0, None) != 0:  # MS_REC | MS_PRIVATE
        raise NotHere("needs a mount namespace")
    os.makedirs("/run/systemd/journal")


def start_in_journal(p, *words):
    """Starts a daemon that takes its standard error, a pipe, for the stream of systemd's journal. Returns the pipe's read
    end."""
    out, into = os.pipe()
    is_ = os.fstat(into)
    p.daemons["a"] = subprocess.Popen(
        [ELECT, "daemon", "-c", str(p.conf), "--id", "a", *words], stderr=into, preexec_fn=die_with_parent,
        env=os.environ | {"JOURNAL_STREAM": f"{is_.st_dev}:{is_.st_ino}"})
    os.close(into)
    return open(out, "rb", buffering=0)


def fields(journal):
    """Returns the fields of the entries that have arrived."""
    found = []
    while True:
        try:
            found.append(dict(line.split("=", 1) for line in journal.recv(65536).decode().splitlines()))
        except BlockingIOError:
            return found


@case
def systemd_journal(_):
    """Log entries arrive at the socket of systemd's journal with their priority and fields. Without that socket they arrive on
    standard error, with their priority as a prefix."""
    own_run_folder()
    with Logging() as p, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind("/run/systemd/journal/socket")
        journal.setblocking(False)
        stream, entries = start_in_journal(p), []
        wait("the entries of the hook", lambda: entries.extend(fields(journal)) or sum(e["ELECT_EVENT"] == "hook-output" for e in entries) == 2)
        p.stop("a")
        entries += fields(journal)
        found = {e["ELECT_EVENT"]: e for e in entries}
        leads = found["leads"]
        term = leads["ELECT_TERM"]
        holds("an office", leads == {
            "MESSAGE": f"main: a became leader in term {term} ({leads['ELECT_CAUSE']})", "PRIORITY": "5", "SYSLOG_IDENTIFIER": "elect", "ELECT_GROUP": "main",
            "ELECT_EVENT": "leads", "ELECT_CAUSE": leads["ELECT_CAUSE"], "ELECT_LEADER": "a", "ELECT_TERM": term, "ELECT_MEMBER": "a"}, leads)
        output = found["hook-output"]
        holds("a hook", output["PRIORITY"] == "6" and output["MESSAGE"].startswith("main: on-") and int(output["ELECT_PID"]) > 0, output)
        holds("nothing on the stream", stream.read() == b"")
        p.hook.chmod(0o644)
        start_in_journal(p)
        holds("the daemon does not start", p.daemons["a"].wait() == 78)
        refused = fields(journal)
        holds("the reason", len(refused) == 1 and refused[0]["PRIORITY"] == "3" and "on-leader: /" in refused[0]["MESSAGE"], refused)
        p.hook.chmod(0o755)
    os.unlink("/run/systemd/journal/socket")
    with Logging() as p:
        stream = start_in_journal(p, "-o", "json")
        wait("the member leads", lambda: p.group("a").get("leads"))
        p.stop("a")
        for line in stream.read().decode().splitlines():
            entry = json.loads(line[3:])
            holds("the line begins with its priority", line[:3] == f"<{3 + LEVELS.index(entry['level'])}>", line)


if __name__ == "__main__":
    sys.exit(main(__file__))
