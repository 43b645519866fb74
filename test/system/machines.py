#!/usr/bin/env python3
"""Tests Elect on three simulated machines, each with its own systemd: machines.py ELECT [CASE ... | --list] [--jobs N]

The cases follow README's section "Three machines" line by line, and install the unit of docs/operations.md. A simulated machine
is a set of namespaces with systemd as its first process. It sees the real machine's disk, but its own writes stay in memory.
Elect is installed from ELECT's build folder."""

import atexit
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from lib import markdown  # noqa: E402
from lib.cases import case, main  # noqa: E402
from lib.checks import Failure, NotHere, holds  # noqa: E402
from lib.elect_command import ELECT  # noqa: E402
from lib.namespace_cluster import home, need_namespaces, pid_of, run  # noqa: E402
from lib.processes import LIMIT, die_with_parent, is_alive, wait  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SYSTEMD = "/lib/systemd/systemd"
NOT_HERE = 77
LEASE = "10s"  # survives a stall of the machine; stalls are not under test
BOOT_LIMIT = 5 * LIMIT  # seconds until three systemds have started on a busy machine
BOOT = f"""set -e; trap 'exit {NOT_HERE}' EXIT
mount --make-rprivate /
mount -t tmpfs disk "$1"
cd "$1"; mkdir upper work root
mount -t overlay disk -o lowerdir=/,upperdir=upper,workdir=work root
tar -C "$2" -cf - . | tar -C root -xf - --keep-directory-symlink
cd root; mkdir -p old
mount -t proc proc proc; mount --bind proc/sys proc/sys; mount -o remount,bind,ro proc/sys
mount -t sysfs sys sys; mount -t cgroup2 cgroup sys/fs/cgroup
mount -t tmpfs -o mode=755 dev dev; mkdir dev/shm dev/pts dev/mqueue
mount -t devpts -o newinstance,ptmxmode=666 pts dev/pts; ln -s pts/ptmx dev/ptmx; mount -t tmpfs shm dev/shm; mount -t mqueue mqueue dev/mqueue
for node in null zero full random urandom tty; do touch dev/$node; mount --bind /dev/$node dev/$node; done
mount -t tmpfs -o mode=755 run run
rm -f etc/systemd/system/*.wants/* etc/machine-id; touch etc/machine-id
printf '[Unit]\\nWants=systemd-journald.service\\n' >etc/systemd/system/machine.target
pivot_root . old; umount -l old
trap - EXIT
exec env -i container=elect PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
    {SYSTEMD} --system --unit=machine.target --log-target=console --show-status=no
"""
SUDO = """#!/bin/sh
if [ "$1" = -u ]; then user=$2; shift 2; exec runuser -u "$user" -- "$@"; fi
exec "$@"
"""


def blocks(document, heading, language):
    """Returns the texts of the fences below a heading."""
    inside, found = False, []
    for kind, text in markdown.parts((ROOT / document).read_text()):
        if kind == "heading":
            inside = text.lstrip("#").strip() == heading
        elif inside and kind == language:
            found.append(text)
    return found


def control_groups():
    with open("/proc/mounts") as mounts:
        found = [line.split()[1] for line in mounts if line.split()[2] == "cgroup2"]
    if not found:
        raise NotHere("needs control groups of version 2")
    return pathlib.Path(found[0])


def remove_group(path):
    """Removes a control group when all its processes have ended."""
    def removed():
        try:
            for folder, *_ in os.walk(path, topdown=False):
                os.rmdir(folder)
        except OSError:
            pass
        return not path.exists()
    wait(f"{path} is empty", removed)


class Machines:
    def __init__(self, names="abc"):
        need_namespaces()
        if not os.access(SYSTEMD, os.X_OK):
            raise NotHere("needs systemd")
        self.names, self.running, self.owner = list(names), {}, os.getpid()
        self.groups = control_groups()
        for left in self.groups.glob("elect-*-*"):
            if pid_of(left.name) is not None and not is_alive(pid_of(left.name)):
                remove_group(left)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"elect-{self.owner}-", dir=home()))
        atexit.register(self.close)
        run("meson", "install", "-C", pathlib.Path(ELECT).parent, "--no-rebuild", "--destdir", self.folder / "installed")
        if not (self.folder / "installed/usr").is_dir():
            raise NotHere("needs a build with the prefix /usr or /usr/local, where systemd looks")
        self.make_network()
        for name in self.names:
            self.boot(name)
        for name in self.names:
            wait(f"{name} runs", lambda: self.runs(name), BOOT_LIMIT)
            self.on(name, "cat >/usr/local/bin/sudo && chmod 755 /usr/local/bin/sudo", text=SUDO)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None and kind is not NotHere:
            for name in self.names:
                said = self.on(name, "journalctl --no-pager -n 12 -o short-monotonic; systemctl --no-pager --failed", check=False)
                print(f"the end of {name}'s journal:", *said.stdout.splitlines(), sep="\n  ", file=sys.stderr)
        self.close()

    def close(self):
        if os.getpid() != self.owner or not self.folder.exists():
            return
        for process in self.running.values():
            process.kill()  # kills the machine's first process, and so all others
            process.wait()
        for name in self.names:
            if (group := self.groups / self.space(name)).exists():
                remove_group(group)
        run("ip", "-batch", "-", "-force", text="".join(f"netns del {self.space(m)}\n" for m in ("hub", *self.names)), check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def space(self, name):
        return f"elect-{self.owner}-{name}"

    def make_network(self):
        hub = self.space("hub")
        run("ip", "-batch", "-", text="".join(
            [f"netns add {space}\n" for space in (hub, *map(self.space, self.names))] +
            [f"link add port-{m} netns {hub} type veth peer name net netns {self.space(m)}\n" for m in self.names]))
        run("ip", "-n", hub, "-batch", "-", text="link add switch type bridge\nlink set switch up\n" + "".join(
            f"link set dev port-{m} master switch up\n" for m in self.names))
        for n, m in enumerate(self.names):
            run("ip", "-n", self.space(m), "-batch", "-",
                text=f"link set lo up\naddr add 10.0.0.{n + 1}/24 dev net\nlink set net up\n")

    def boot(self, name):
        group, disk = self.groups / self.space(name), self.folder / name
        group.mkdir()
        disk.mkdir()

        def enter():
            die_with_parent()
            (group / "cgroup.procs").write_text(str(os.getpid()))
        with open(self.folder / f"{name}.log", "w") as log:
            self.running[name] = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{self.space(name)}", "unshare", "--kill-child", "-f", "-p", "-m", "-C", "-u", "-i",
                 "sh", "-c", BOOT, "boot", disk, self.folder / "installed"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=enter)

    def runs(self, name):
        process = self.running[name]
        if process.poll() is not None:
            said = (self.folder / f"{name}.log").read_text(errors="replace").strip()
            raise (NotHere if process.returncode == NOT_HERE else Failure)(f"a machine does not start: {said}")
        return self.first(name) and self.on(name, "systemctl is-system-running", check=False).stdout.strip() in ("running", "degraded")

    def first(self, name):
        """Returns the process id of the machine's first process, as seen from outside, or None if it is not systemd yet."""
        unshare = self.running[name].pid
        try:
            for child in pathlib.Path(f"/proc/{unshare}/task/{unshare}/children").read_text().split():
                if pathlib.Path(f"/proc/{child}/comm").read_text() == "systemd\n":
                    return int(child)
        except OSError:
            pass
        return None

    def on(self, name, line, text=None, check=True):
        done = subprocess.run(["nsenter", "-t", str(self.first(name)), "-m", "-p", "-n", "-C", "-u", "-i", "-r", "-w", "sh", "-c", line],
                              input=text, capture_output=True, text=True, timeout=300)
        if check and done.returncode != 0:
            raise Failure(f"{name}: {line}: exit {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def everywhere(self, line):
        for name in self.names:
            self.on(name, line)

    def unit(self, name, which, *properties):
        """Returns properties of a unit from systemctl show."""
        said = self.on(name, f"systemctl show {which} -p {','.join(properties)}").stdout
        return [dict(line.split("=", 1) for line in said.splitlines())[p] for p in properties]

    def status(self, name, group="main"):
        said = self.on(name, "elect status -o json", check=False)
        return next((g for g in json.loads(said.stdout)["groups"] if g["group"] == group), {}) if said.returncode == 0 else {}

    def leader(self, group="main", other_than=None):
        """Waits until all members with a running daemon report the same leader, and returns it."""
        def agreed():
            seen = [self.status(name, group) for name in self.names]
            found = {s.get("leader") for s in seen if s}
            return found.pop() if len(found) == 1 and found != {None} and found != {other_than} and sum(map(bool, seen)) >= 2 else None
        return wait(f"all agree on a leader of {group}", agreed)

    def install(self, *groups):
        """Installs Elect on all machines as README describes."""
        installs, makes, others, starts = blocks("README.md", "Three machines", "sh")
        make, _, system = installs.partition("\n")
        holds("the first line builds the installation", make == "sudo make install PREFIX=/usr", make)
        self.everywhere(system)
        first, *rest = self.names
        self.on(first, makes)
        self.on(first, f"sed -i 's/^\\[cluster\\]/&\\nlease = {LEASE}/' /etc/elect/elect.conf && cat >>/etc/elect/elect.conf",
                text="".join(f"[group {g}]\n" for g in groups))
        files = {path: self.on(first, f"cat {path}").stdout for path in ("/etc/elect/elect.conf", "/etc/elect/key")}
        for name in rest:
            for path, text in files.items():
                self.on(name, f"cat >{path}", text=text)
            self.on(name, others)
        for name in self.names:
            done = self.on(name, starts, check=False)
            # A daemon that has just started may answer too late.
            holds("elect status", done.returncode == 0 or "the daemon did not answer" in done.stderr, done)
            wait("elect status", lambda: "member" in self.on(name, "elect status", check=False).stdout)


def play(function):
    with Machines() as m:
        function(m)


@case
def as_readme_says(m):
    """README's commands work as README says. Afterwards the unit restarts each process that is killed or stopped."""
    m.install()

    def status_texts():
        """Returns True if all units' status texts name the same leader."""
        leader = m.leader()
        texts = [m.unit(name, "elect", "StatusText")[0] for name in m.names]
        return texts == [f"main: {name} leads" if name == leader else f"main: {name} follows {leader}" for name in m.names]
    wait("the status text of each unit", status_texts)
    for name in m.names:
        wait("the daemon runs as user elect",
             lambda: m.on(name, "stat -c %U /proc/$(pgrep -x elect-guardian)", check=False).stdout == "elect\n")
    leader = m.leader()
    for hit in ("pkill -KILL -x elect-member", "pkill -KILL -x elect-guardian", "pkill -STOP -x elect-member"):
        restarts = int(m.unit(leader, "elect", "NRestarts")[0])
        m.on(leader, hit)
        wait(f"{hit}: the unit restarts the daemon",
             lambda: int(m.unit(leader, "elect", "NRestarts")[0]) > restarts and m.unit(leader, "elect", "SubState") == ["running"])
        leader = m.leader()
    m.on(leader, f"sed -i 's/^lease = {LEASE}/lease = 9s/' /etc/elect/elect.conf && systemctl reload elect")
    wait("reloaded", lambda: "lease" in m.on(leader, "journalctl -u elect -o cat --no-pager | grep ^reloaded | tail -1").stdout)
    m.on(leader, "echo nonsense >>/etc/elect/elect.conf && systemctl restart elect", check=False)
    wait("the unit does not restart it", lambda: m.unit(leader, "elect", "ActiveState", "ExecMainStatus") == ["failed", "78"])
    office, refused = (wait(f"{event} is in the journal", lambda: journal_entries(m, leader, event))[-1] for event in ("leads", "not-started"))
    holds("an office", re.fullmatch(r"main: [a-z] became leader in term \d+\.\d+ \(.+\)", office["MESSAGE"]) and office["ELECT_MEMBER"] == leader and
          (office["PRIORITY"], office["ELECT_GROUP"], office["SYSLOG_IDENTIFIER"]) == ("5", "main", "elect"), office)
    holds("a failed start", refused["PRIORITY"] == "3" and "/etc/elect/elect.conf:" in refused["MESSAGE"], refused)


def journal_entries(m, name, event):
    """Returns the daemon's journal entries of this event, with their fields."""
    said = m.on(name, f"journalctl -o json --no-pager ELECT_EVENT={event}", check=False).stdout
    return [json.loads(line) for line in said.splitlines()]


@case
def work_in_a_unit(m):
    """The work of the unit in docs/operations.md runs on the leader's machine, and again after an upgrade."""
    m.install("scheduler")
    [unit] = blocks("docs/operations.md", "Work that only a leader does", "ini")
    program = re.search(r"-- (\S+)", unit)[1]
    for name in m.names:
        m.on(name, f"cat >{program} && chmod 755 {program}", text="#!/bin/sh\ntrap 'sleep 1; exit' TERM\n"
             "echo token $ELECT_TOKEN\nsleep 1000000 &\nwait\n")
        where = m.on(name, "command -v elect").stdout.strip()
        m.on(name, "cat >/etc/systemd/system/scheduler.service", text=unit.replace("/usr/bin/elect", where))
        m.on(name, "systemctl daemon-reload && systemctl enable --now scheduler")

    def works(name):
        """Returns True if the work runs in its own control group, below the unit's."""
        pids = m.on(name, "pgrep -f '^sleep 1000000'", check=False).stdout.split()
        return bool(pids) and "/scheduler.service/elect-run-" in m.on(name, f"cat /proc/{pids[0]}/cgroup", check=False).stdout

    def works_alone(name):
        return works(name) and not any(works(other) for other in m.names if other != name)

    def token(name):
        """Returns the token of that machine's latest work, or 0 if none has run there."""
        said = m.on(name, "journalctl -u scheduler -o cat --no-pager | grep '^token ' | tail -n 1", check=False).stdout.split()
        return int(said[1]) if said else 0

    def where_it_works(above=0):
        """Waits until only the leader works, with a token above `above`, and returns (member, token). Any member may lead on a
        slow machine."""
        def found():
            leader = m.leader("scheduler")
            return (leader, token(leader)) if works_alone(leader) and token(leader) > above else None
        return wait("only the leader works", found)

    first, one = where_it_works()
    m.on(first, "systemctl stop elect")
    second, two = where_it_works(one)
    holds("without a daemon no work runs", second != first, first)
    wait("the run was started more often than systemd's default limit", lambda: int(m.on(
        first, "journalctl -u scheduler -o cat --no-pager | grep -c 'no daemon runs here'", check=False).stdout or 0) > 6)
    m.on(first, "systemctl start elect")
    wait("the run waits here", lambda: re.search("waiting: . leads", m.on(first, "journalctl -u scheduler -n 1 -o cat --no-pager").stdout))
    m.on(second, "pkill -KILL -x elect-member")
    third, three = where_it_works(two)
    m.on(third, "pkill -KILL -x elect-guardian")
    fourth, _ = where_it_works(three)
    said = m.on(third, "journalctl -u elect -o cat --no-pager").stdout
    holds("the member hands over when the work has stopped",
          re.search(r"its guardian is dead.*scheduler: . hands over to . \(the work of . has stopped\)", said, re.S), said)
    m.on(fourth, "systemctl stop scheduler")
    holds("no work is left", not works(fourth))


if __name__ == "__main__":
    sys.exit(main(__file__, jobs=2, play=play))
