"""The quick start of the README, as it stands there: its commands, and the shape of what it says they print."""

import contextlib
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from support import ELECT, ROOT, check, report  # noqa: E402

PATIENCE = 60  # seconds, for what takes one or two


def free_ports(count):
    """Of UDP on loopback; all are held until all are known, so that they differ."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(count)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


def shape(text):
    """Without what differs from run to run: dates, ids, terms, names, numbers, blanks at the end."""
    text = re.sub(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "DATE", text)
    text = re.sub(r"\b[0-9a-f]{32}\b", "ID", text)
    text = re.sub(r"\b[0-9]+\.[0-9]+\b(?=[ :\n])", "N.N", text)
    text = re.sub(r"[0-9]+", "N", text)
    return [re.sub(r"\b[abc]\b", "X", re.sub(r" +", " ", line)).strip() for line in text.splitlines()]


class Story:
    def __init__(self, folder):
        readme = (pathlib.Path(ROOT) / "README.md").read_text()
        section = readme[readme.index("### Three members on this machine"):readme.index("### Three machines")]
        self.folder, self.text = folder, section
        self.ports = dict(zip(("7401", "7402", "7403"), map(str, free_ports(3))))
        self.commands = re.findall(r"^build/elect (.*)$", section, re.M)
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.M | re.S)
        self.blocks = [text for language, text in blocks if language == ""]
        self.daemons = {}

    def command(self, *words):
        """The one that begins so, with ports that are free."""
        found = [c for c in self.commands if c.startswith(" ".join(words))]
        check(f"the README says elect {' '.join(words)}", found, self.commands)
        line = re.sub(r"\b740[123]\b", lambda m: self.ports[m[0]], found[0].split(";")[0])
        return [ELECT, *line.split()]

    def run(self, *words):
        return subprocess.run(self.command(*words), cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE)

    def ask(self, *args):
        return subprocess.run([ELECT, *args, "-c", "demo/elect.conf"], cwd=self.folder, capture_output=True, text=True,
                              timeout=PATIENCE)

    def start(self):
        for name in "abc":
            args = [a for c in self.commands if c.startswith("daemon") and c.endswith(f"--id {name}") for a in c.split()]
            check(f"the README starts {name}", args)
            self.daemons[name] = subprocess.Popen([ELECT, *args], cwd=self.folder, stderr=subprocess.PIPE, text=True)

    def await_line(self, stream, pattern):
        """What was said, up to the line that is waited for."""
        said = []
        for line in stream:
            said.append(line)
            if re.search(pattern, line):
                return said
        check(f"{pattern} is said", False, said)
        return said

    def stop(self):
        for daemon in self.daemons.values():
            daemon.terminate()
        for name, daemon in self.daemons.items():
            check(f"exit of {name}", daemon.wait(PATIENCE) in (0, 128 + signal.SIGKILL), daemon.returncode)
            daemon.stderr.close()


def run_all(story, known, leader):
    """The work of the README, by each that is there: one works, the others wait."""
    lines = [shlex.split(command) for command in story.commands if command.startswith("run ")]
    check("the README runs work on each", len(lines) == 3, lines)
    running = {}
    for words in lines:
        name = words[words.index("--id") + 1]
        if story.daemons[name].poll() is None:
            running[name] = subprocess.Popen([ELECT, *words], cwd=story.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for name, run in running.items():
            said = story.await_line(run.stdout, "works with token" if name == leader else "waits")
            for line in shape("".join(said)):
                check("a line of it is in the README", line in known, line)
    finally:
        for run in running.values():
            run.terminate()
        for run in running.values():
            check("its end", run.wait(PATIENCE) == 128 + signal.SIGTERM, run.returncode)
            run.stdout.close()


def play(story):
    made = story.run("init")
    check("init", made.returncode == 0 and made.stdout in story.blocks, made.stdout, made.stderr)
    story.start()
    logs = {name: story.await_line(d.stderr, "(leads|follows . ).*term [1-9]") for name, d in story.daemons.items()}
    known = [line for block in story.blocks for line in shape(block)]
    for line in shape("".join(line for log in logs.values() for line in log if "follows" not in line)):
        check("a line of the log is in the README", line in known, line)
    leader = story.ask("leader", "--id", "a").stdout.strip()
    check("somebody leads", leader in tuple("abc"), leader)

    status = story.run("status")
    lines = [line for line in shape(status.stdout) if not line.startswith("group")]
    check("status", status.returncode == 0 and len(lines) == 5, status.stdout)
    check("is-leader", story.ask("is-leader", "--id", leader).returncode == 0)
    check("is-leader", shape(story.ask("is-leader", "--id", leader).stdout)[0] in known)
    check("check", story.ask("config", "check").returncode == 0)

    other = next(name for name in "abc" if name != leader)
    watch = [re.sub(r"^a$", other, word) for word in story.command("watch")]
    with subprocess.Popen(watch, cwd=story.folder, stdout=subprocess.PIPE, text=True) as watching:
        story.await_line(watching.stdout, f"follows {leader}")
        status = json.loads(story.ask("status", "--id", leader, "-o", "json").stdout)
        check("the README says how to find it", "`elect status -o json` has as `pid`" in story.text)
        os.kill(status["pid"], signal.SIGKILL)
        said = story.await_line(watching.stdout, f"leads in term|follows [^{leader}] in term")
        check("its guardian says so", any(line in known for line in shape("".join(said)) if "is dead" in line), said)
        watching.kill()
    check("its guardian ends, too", story.daemons[leader].wait(PATIENCE) == 128 + signal.SIGKILL)
    successor = story.ask("leader", "--id", other).stdout.strip()
    check("another one leads", successor in tuple("abc") and successor != leader, successor)
    run_all(story, known, successor)
    handed = story.ask("resign", "--id", successor)
    check("resign", handed.returncode == 0 and shape(handed.stdout)[0] in known, handed.stdout, handed.stderr)


with tempfile.TemporaryDirectory() as folder:
    story = Story(folder)
    try:
        play(story)
    finally:
        story.stop()
report()
