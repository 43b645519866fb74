"""Runs every command line of the documents, in order, and compares the output with the documents.

Some text between the commands tells the reader to do something, such as to edit a file. Each such passage has a *direction*:
some words of it, and a function that does what it says. Commands that cannot run in a test are listed with the reason. Every
link, file, verb and option in the documents must exist."""

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
import threading
import time

sys.dont_write_bytecode = True
from lib import markdown  # noqa: E402
from lib.checks import Failure, check, report  # noqa: E402
from lib.containment import contain  # noqa: E402
from lib.elect_command import ELECT, ROOT, run  # noqa: E402
from lib.help_text import wrong  # noqa: E402
from lib.processes import die_with_parent, signal_both, wait  # noqa: E402

PATIENCE = 300  # seconds to wait for events that normally take one or two
LONG = 1200  # for long commands
# Longer than the defaults, so that a member that stalls for seconds keeps its lease and its turn to be elected.
TIMES = "lease = 10s\nrenewal = 2s\ndelay = 1s\n"
RUN = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/algorithms/*.md", "examples/README.md")

# ---- commands that cannot run here or need special treatment; each must still be in its document ----

BUILDS = "it builds, tests or measures for minutes: only looked up in the Makefile"
MACHINES = "it needs root, systemd and three machines: test/system/machines.py"
CLIENT_PY = "LD_LIBRARY_PATH=build examples/client.py demo/state/member-2.status"
SANITIZED = b"__asan_init" in pathlib.Path(ELECT).read_bytes()
CANNOT = {
    "README.md": {
        "make demo": BUILDS,
        "make test": BUILDS,
        "make install PREFIX=$HOME/.local": BUILDS,
        **{f"elect run {options}-- /usr/local/bin/scheduler": "the scheduler is the reader's own"
           for options in ("", "--respawn ", "--health 'test -e /run/fit' ")},
        "sudo make install PREFIX=/usr": MACHINES,
        "sudo systemd-sysusers && sudo systemd-tmpfiles --create && sudo systemctl daemon-reload": MACHINES,
        "sudo -u elect elect init --new-cluster a=10.0.0.1:7400 b=10.0.0.2:7400 c=10.0.0.3:7400": MACHINES,
        "sudo chown elect: /etc/elect/elect.conf /etc/elect/key && sudo chmod 600 /etc/elect/key": MACHINES,
        "sudo -u elect elect init": MACHINES,
        "sudo systemctl enable --now elect": MACHINES,
        "elect status": MACHINES,
    },
    "examples/README.md": {"meson configure build -Dexamples=true && ninja -C build": BUILDS} | (
        {CLIENT_PY: "Python cannot load a library with a sanitizer"} if SANITIZED else {}),
    "CONTRIBUTING.md": {f"make{target}": BUILDS for target in (
        "", " help", " test", " check", " soak", " verified", " mutants", " coverage", " storm", " fuzz", " chaos", " format", " bench", " failover")},
}
SHOWN = {  # the first lines of blocks without a command
    "docs/operations.md": {
        "c stops (the state file is older than the other members remember (restored from a backup or a snapshot?); move the state file away, then run elect readmit)":
            "it takes a state that went back: test/system/faults.py",
    },
}
LANGUAGES = {"sql": "no database here", "text": "a picture, or the words of a book"}
EXITS = {
    "docs/lab.md": {"build/elect verify --algorithm bully --processes 3 --timeouts any --property one-leader": 1},
    "examples/README.md": {"echo one again | ELECT_TOKEN=65537 fenced store": 1},
}
GOES_ON = re.compile(r"\belect (?:-\S+ )*(?:daemon|run|watch)\b")
# A command that matches ASKS, or whose error matches NOT_YET, is repeated until its output matches the document.
ASKS = re.compile(r"\belect (?:status|is-leader|leader|members|key list|explain)\b")
NOT_YET = re.compile(r"is not confirmed yet|does not accept key|still uses key|the daemon closed the connection")


# ---- output that differs from run to run ----

def term(found):
    """Replaces a term's counter by N, because it depends on the number of candidacies. Keeps the owner's id."""
    return f"N.{int(found[0]) & 0xffff}"


VARIES = [(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "DATE"), (r"\b[0-9a-f]{32}\b", "ID"), (r"up for \d+ s", "up for N s"),
          (r"fingerprint [0-9a-f]{8}", "fingerprint FINGERPRINT"),
          (r"[\d.]+ s ago", "N s ago"), (r"\(\d+ s\)", "(N s)"), (r"lease left: \d+ ms", "lease left: N ms"), (r"\bpid \d+", "pid N"),
          (r'"left_us": \d+', '"left_us": N'), (r"(?<=term )\d+(?=\.\d)", "N"), (r"(?<=token )\d+", term),
          (r'(?<="term": )\d+', term), (r"^ +[\d.]+ ms", "N ms"), (r"  [\d.]+ ms$", " N ms"),
          (r"(?<= led for )[\d.]+(?= m?s)|(?<= no leader for )[\d.]+(?= m?s)", "N"), (r" +", " ")]


def normal(text):
    for pattern, instead in VARIES:
        text = re.sub(pattern, instead, text, flags=re.M)
    return [line.strip() for line in text.splitlines()]


def fits(said, shown):
    """Returns True if a command's output matches the document, where a line "..." stands for any number of lines."""
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in normal(shown))
    return re.fullmatch(pattern, "".join(line + "\n" for line in normal(said))) is not None


# ---- running commands ----

def is_free(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_tens():
    """Yields the leading digits of ten free ports, so that each port in a document can keep its last digit. The kernel and
    lib/local_cluster.py choose ports from other ranges."""
    for i in range(76):
        ten = 3200 + (os.getpid() + i) % 76
        if all(is_free(10 * ten + k) for k in range(10)):
            yield ten


class Going:
    """A running command, and the output that it has printed so far."""

    def __init__(self, line, process):
        self.line, self.process, self.lines, self.news = line, process, [], threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.news:
                self.lines.append(line)
                self.news.notify_all()

    def said(self):
        with self.news:
            return list(self.lines)

    def says(self, pattern):
        with self.news:
            return self.news.wait_for(lambda: any(re.search(pattern, line) for line in self.lines), PATIENCE)

    def end(self):
        if self.process.stdout.closed:
            return
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            signal_both(self.process, signal.SIGKILL)
            self.process.wait()
        self.reader.join(PATIENCE)
        self.process.stdout.close()


class Player:
    """Runs the commands of a document in its own folder, with the source files that they use and the compiled elect command."""

    def __init__(self, name, folder):
        self.name, self.folder, self.text = name, pathlib.Path(folder), (pathlib.Path(ROOT) / name).read_text()
        self.going, self.here, self.machines, self.met = [], None, {}, set()
        self.free, self.tens, self.paths, self.exports = free_tens(), {}, {}, ""
        for tree in ("test/scenario", "test/mutant", "examples"):
            shutil.copytree(pathlib.Path(ROOT) / tree, self.folder / tree)
        (self.folder / "build").symlink_to(os.path.dirname(ELECT))
        (self.folder / "bin").mkdir()

    def env(self):
        here = self.machines.get(self.here, self.folder)
        path = f"{self.folder}/bin:{os.path.dirname(ELECT)}:{os.environ['PATH']}"
        env = os.environ | {"PATH": path, "HOME": str(self.folder), "HERE": str(here), "LC_ALL": "C.UTF-8"}
        env.pop("ELECT_SOCKET", None)
        return env

    def here_for(self, line):
        """Replaces the document's ports and folders with those of this test."""
        line = re.sub(r"\b7[4-6]\d(?=\d\b|\$)", lambda found: str(self.ten(found[0])), line)
        for written, place in self.paths.items():
            line = line.replace(written, place(self))
        return line

    def as_written(self, text):
        for written, place in self.paths.items():
            text = text.replace(place(self), written)
        for written, ten in self.tens.items():
            text = re.sub(rf"(?<=:){ten}(?=\d\b)", written, text)
        return text

    def ten(self, written):
        if written not in self.tens:
            self.tens[written] = next(self.free)
        return self.tens[written]

    def start(self, line):
        if line.endswith(("&", "& done")):
            words = f"trap 'trap - TERM; kill 0' TERM\n{line}\nwait"
        else:
            words = f"exec env {line}" if "=" in line.split()[0] else f"exec {line}"
        process = subprocess.Popen(["sh", "-c", self.exports + self.here_for(words)], cwd=self.folder, env=self.env(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, start_new_session=True,
                                   preexec_fn=lambda: die_with_parent(signal.SIGTERM))
        self.going.append(Going(line, process))
        return self.going[-1]

    def latest(self, pattern):
        return next(going for going in reversed(self.going) if re.search(pattern, going.line))

    def run(self, line):
        process = subprocess.Popen(["sh", "-c", self.exports + self.here_for(line)], cwd=self.folder, env=self.env(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        try:
            out, err = process.communicate(timeout=LONG)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            err += f"it has not ended within {LONG} s"
        if "--new-cluster" in line:
            self.lengthen_leases()
        return process.returncode, self.as_written(out), self.as_written(err)

    def lengthen_leases(self):
        for conf in self.folder.rglob("elect.conf"):
            text = conf.read_text()
            if not re.search(r"^(lease|profile) =", text, re.M):
                conf.write_text(re.sub(r"^\[cluster\]\n", f"[cluster]\n{TIMES}", text, flags=re.M))

    def end(self):
        for going in reversed(self.going):
            going.end()
            if "elect daemon" in going.line:
                fine = going.process.returncode in (0, 128 + signal.SIGKILL)
                check(f"{self.name}: exit of {going.line}", fine, *going.said()[-3:])
        self.going.clear()

    # -- one command --

    def ends(self, line, shown=None, comments=""):
        """Runs a command to its end, and checks its exit code and output. Repeats a query until the answer is right, and any
        other command while the daemon refuses it temporarily."""
        complaint = shown and re.search(r"^elect [a-z-]+: .*\n\Z|^\S+ +violated after", shown, re.M)
        wanted = EXITS.get(self.name, {}).get(line, 1 if complaint else 0)
        limit = time.monotonic() + PATIENCE
        while True:
            code, out, err = self.run(line)
            right = code == wanted and (fits(out + err, shown) if shown is not None else code != 0 or err == "")
            instead = AGAIN.get(self.name, {}).get(line)
            self.met.update([line] if instead else [])
            if right or time.monotonic() > limit or not (ASKS.search(line) or NOT_YET.search(err) or instead):
                break
            if instead:
                instead(self)
            time.sleep(0.02)
        said = f"exit {code}\n{out[-2000:]}{err[-2000:]}"
        check(f"{self.name}: {line}", right, said, f"shown is\n{shown}" if shown else "")
        for number in re.findall(r"([\d,]+) worlds", comments):
            found = re.search(rf"\b{number.replace(',', '')} states\b", out)
            check(f"{self.name}: {line}: {number} worlds", found, out)

    def command(self, line, comments="", shown=None):
        """Runs a command line. Returns the process if it continues to run, otherwise None."""
        bare = re.sub(r"\s+# .*$", "", line)
        if bare in CANNOT.get(self.name, {}):
            self.met.add(bare)
            if re.match(r"(sudo )?make\b", bare):
                words = bare.removeprefix("sudo ").split()[1:]
                done = subprocess.run(["make", "-n", *words], cwd=ROOT, capture_output=True, text=True)
                check(f"{self.name}: {bare}: this target exists", done.returncode == 0, done.stderr)
            return None
        if bare in EXITS.get(self.name, {}):
            self.met.add(bare)
        if bare.startswith("export "):
            self.exports += f"{bare}\n"
            return None
        if not GOES_ON.search(bare) and bare not in WHEN.get(self.name, {}):
            here = self.here
            for self.here in list(self.machines) if "# on every member" in line else [here]:
                self.ends(bare, shown, comments)
            self.here = here
            after = AFTER.get(self.name, {}).get(bare)
            if after:
                self.met.add(bare)
                after(self)
            return None
        going = self.start(bare)
        pattern, then = WHEN.get(self.name, {}).get(bare, (None, None))
        self.met.add(bare)
        if pattern:
            check(f"{self.name}: {bare} says {pattern}", going.says(pattern), *going.said())
        if then:
            then(self)
        return going

    # -- one block --

    def block(self, text, shown):
        """Runs a block of commands, one on each line. Commands that continue to run must print every line that the block shows,
        in any order. The other commands of such a block must only succeed."""
        comments, going, lines = "", [], text.replace("\\\n", "").splitlines()
        alone = [line for line in lines if line and not line.startswith("#")]
        goes_on = any(map(GOES_ON.search, alone))
        for line in lines:
            if line.startswith("#"):
                comments += line
            elif line:
                clear = shown is None or goes_on or len(alone) == 1
                check(f"{self.name}: a block with output has only one command", clear, text)
                going.append(self.command(line, comments, None if goes_on else shown))
                comments = ""
        if shown is None or not any(going):
            return
        limit, missing = time.monotonic() + PATIENCE, set(normal(shown)) - {"..."}
        while True:
            said = [line for one in going if one for line in one.said()]
            missing -= set(normal(self.as_written("".join(said))))
            if not missing or time.monotonic() > limit:
                break
            time.sleep(0.02)
        check(f"{self.name}: {next(filter(None, going)).line} prints what is shown", not missing, "not:", *missing, "but:", "".join(said[:40]))

    def session(self, text):
        """Runs each command after a $ and compares its output with the document."""
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
            self.command(command, shown=shown)

    def read(self, prose):
        for words, act in DIRECTIONS.get(self.name, {}).items():
            if words in " ".join(prose.split()):
                self.met.add(words)
                act(self)

    def ini(self, text):
        """Checks a configuration, or a part in conf.d."""
        if re.match(r"\[(Unit|Service|Install)\]", text):
            return
        place = self.folder / "ini"
        (place / "conf.d").mkdir(parents=True, exist_ok=True)
        whole = re.search(r"^\[cluster\]", text, re.M) and re.search(r"^\[group ", text, re.M)
        example = run("config", "example").stdout
        cluster, *members = re.split(r"^(?=\[member)|^(?=# Each group has)", example, flags=re.M)
        taken = re.findall(r"^id = (\d+)$", text, re.M)
        others = [member for member in members if not re.search(rf"^id = ({'|'.join(taken)})$", member, re.M)]
        (place / "elect.conf").write_text(text if whole else cluster + "".join(others))
        part = text if text.lstrip().startswith("[") else "[cluster]\n" + text
        (place / "conf.d/part.conf").write_text("" if whole else part)
        done = run("config", "check", place / "elect.conf")
        check(f"{self.name}: a configuration", done.returncode == 0, done.stderr, text)

    def c(self, text):
        """Checks that the C code is, line by line, in a source file that the page names."""
        named = [*markdown.LINK.findall(self.text), *markdown.backticks(self.text)]
        files = [place / name for name in named if re.fullmatch(r"[\w./-]+\.[ch]", name)
                 for place in (pathlib.Path(ROOT), (pathlib.Path(ROOT) / self.name).parent) if (place / name).is_file()]
        sources = ["\n".join(line.strip() for line in file.read_text().splitlines()) for file in files]
        for piece in re.split(r"^\s*(?:\.\.\.|/\* \.\.\. \*/)\s*$", text, flags=re.M):
            lines = "\n".join(line.strip() for line in piece.strip().splitlines())
            there = any(lines in source for source in sources)
            check(f"{self.name}: C code of {', '.join(file.name for file in files)}", there, piece)

    def shown(self, steps, i):
        """Returns the output below a command: a fence without a language, with only prose in between."""
        at = next((k for k in range(i + 1, len(steps)) if steps[k][0] != "prose"), None)
        if at is None or steps[at][0] != "" or steps[at][1].startswith("$ "):
            return None, None
        return at, steps[at][1]

    def play(self):
        steps, used = list(markdown.parts(self.text)), set()
        for i, (kind, text) in enumerate(steps):
            if kind == "prose":
                self.read(text)
            elif kind == "sh":
                at, shown = self.shown(steps, i)
                used.add(at)
                self.block(text, shown)
            elif kind == "" and text.startswith("$ "):
                self.session(text)
            elif kind == "" and i not in used:
                first = text.splitlines()[0]
                self.met.add(first)
                check(f"{self.name}: a block without a command is in the list", first in SHOWN.get(self.name, {}), text)
            elif kind == "ini":
                self.ini(text)
            elif kind == "c":
                self.c(text)
            elif kind not in ("heading", "", *LANGUAGES):
                check(f"{self.name}: the language of a fence is known", False, kind)
        for table in (CANNOT, SHOWN, EXITS, WHEN, AFTER, AGAIN, DIRECTIONS):
            for words in set(table.get(self.name, {})) - self.met:
                check(f"{self.name} still contains: {words}", False, "or else remove it from the list")


# ---- directions ----

def soon(what, holds):
    """Waits until holds() returns a true value, and returns that value. Records a failure and returns None if that takes too
    long."""
    try:
        return wait(what, holds, PATIENCE)
    except Failure as failure:
        check(what, False, failure)
        return None


DEMO = "build/elect {} -c demo/elect.conf --id {} {}"


def status(p, name, line=DEMO):
    """Returns the status of a member, or {} if the member does not answer."""
    code, out, _ = p.run(line.format("status", name, "-o json"))
    return json.loads(out) if code == 0 else {}


def group(p, name, line=DEMO):
    return status(p, name, line).get("groups", [{}])[0]


def lead(p, name, line=DEMO):
    """Waits until the member `name` leads. If another one was elected because this one was slow, transfers leadership to it,
    several times if necessary."""
    def leads():
        leader = group(p, name, line).get("leader")
        if leader not in (None, name):
            p.run(line.format("transfer", leader, name))
        return group(p, name, line).get("leads")
    soon(f"{name} leads", leads)


def b_leads(p):
    """Waits until b leads. Only a and b are running, and b ranks higher."""
    lead(p, "b")
    check("b reports that it leads", p.latest("--id b").says("leader b|became leader"))


def c_is_next(p):
    """Waits until c is the heir of b."""
    soon("c is the heir", lambda: group(p, "b").get("heir") == "c")


def c_takes_over(p):
    """Waits until the guardian of b has ended and c leads."""
    check("the guardian of b ends, too", p.latest("daemon .*--id b").process.wait(PATIENCE) == 128 + signal.SIGKILL)
    soon("another member takes over", lambda: group(p, "c").get("leader") in ("a", "c"))
    lead(p, "c")


def b_is_next(p):
    """Waits until c leads with b as its heir."""
    lead(p, "c")
    soon("b is the heir", lambda: group(p, "c").get("heir") == "b")


def start_b_again(p):
    """Starts b, and waits until it is the heir again."""
    again = p.start("build/elect daemon -c demo/elect.conf --id b")
    check("b follows", again.says("follows c"), *again.said())
    b_is_next(p)


def require_a_run(p):
    with (p.folder / "demo/elect.conf").open("a") as file:
        file.write("lead-only-with-runner = yes\n")


def quick_start(p):
    """Starts three members, and waits until a leads."""
    build = "build/elect"
    p.ends(f"{build} init --new-cluster a=127.0.0.1:7401 b=127.0.0.1:7402 c=127.0.0.1:7403 -c demo/elect.conf -q")
    for name, pattern in (("a", "starts"), ("b", "became leader|follows"), ("c", "follows")):
        going = p.start(f"{build} daemon -c demo/elect.conf --id {name}")
        check(f"{name}: {pattern}", going.says(pattern), *going.said())
    lead(p, "a")


def writes(p):
    """Waits until the leader's command has written its output, then ends it so that the document's next command can start."""
    soon("a leader writes", (p.folder / "times").exists)
    p.latest("fenced times").end()


WRAPPER = """#!/bin/sh
# runs elect with the configuration of the simulated machine whose folder is $HERE
exec {elect} -c "$HERE/elect.conf" "$@"
"""
SUDO = """#!/bin/sh
# stands in for sudo: ignores the option that names the user, and runs the command as the present user
shift 2
exec "$@"
"""


def three_machines(p):
    """Creates the machines. Each has a folder in place of /etc/elect, and the times from the document's elect.conf."""
    for name, text in (("elect", WRAPPER.format(elect=ELECT)), ("sudo", SUDO)):
        (p.folder / "bin" / name).write_text(text)
        (p.folder / "bin" / name).chmod(0o755)
    p.paths = {"/etc/elect/": lambda p: f"{p.machines[p.here]}/", "/var/lib/elect/": lambda p: f"{p.folder}/shared/"}
    new = p.folder / "new"
    members = [f"{name}=127.0.0.1:{p.ten('740')}{i}" for i, name in enumerate("abc", 1)]
    done = run("init", "--new-cluster", *members, "-c", new / "elect.conf")
    check("a cluster", done.returncode == 0, done.stderr)
    text = (new / "elect.conf").read_text()
    (p.folder / "shared").mkdir()
    for number, name in enumerate("abc", 1):
        p.machines[name] = p.folder / name
        (p.machines[name] / "state").mkdir(parents=True)
        (p.machines[name] / "elect.conf").write_text(text)
        shutil.copy2(new / "key", p.machines[name])
        shutil.copy2(new / f"state/member-{number}.state", p.machines[name] / "state")
    p.here = "c"


def start_three(p):
    """Starts the three members so that c leads and the next commands run on its machine. A change of the membership must wait
    for max-lease, so max-lease is short here."""
    edit(p, "[cluster]\n", "[cluster]\nlease = 8s\nrenewal = 1s\ndelay = 900ms\nmax-lease = 9s\n")
    for p.here in "cab":
        going = p.start(f"elect daemon # {p.here}")
        check(f"{p.here} starts", going.says("starts"), *going.said())
    lead(p, "c", f"HERE={p.folder}/{{1}} elect {{0}} {{2}}")
    for name in "ab":
        check(f"{name} follows", p.latest(f"# {name}").says("follows c"))
    p.here = "c"


def edit(p, old, new, names="abc"):
    for name in names:
        path = p.machines[name] / "elect.conf"
        check("the text to edit exists", old in path.read_text(), old)
        path.write_text(path.read_text().replace(old, new, 1))


def add_a_member(p):
    edit(p, "\n[group main]\n", "\n[member d]\nid = 4\naddress = 10.0.0.4:7400\n\n[group main]\n", "c")


def remove_it(p):
    edit(p, "\n[member d]\nid = 4\naddress = 10.0.0.4:7400\n", "", "c")


def reload_others(p):
    for p.here in "ab":
        soon("reload", lambda: p.run("elect reload")[0] == 0)
    p.here = "c"


def let_it_vote(p):
    """Makes member a an observer, then a member again, so that it votes again."""
    edit(p, "[member a]\n", "[member a]\nrole = observer\n")
    reload_others(p)
    p.ends("elect reload", "changed: the roles in main\n")
    edit(p, "role = observer\n", "role = member\n")
    reload_others(p)


def lose_a_state(p):
    p.here = "a"
    p.latest("# a").end()
    for path in (p.machines["a"] / "state").glob("*.state"):
        path.unlink()
    code, _, err = p.run("elect daemon")
    check("the daemon does not start", code == 78, code, err)


def take_state_away(p):
    """Removes the state file that elect init created on member a because no other member answered in time. elect init should
    have refused."""
    for path in (p.machines["a"] / "state").glob("*.state"):
        path.unlink()


def start_it_again(p):
    going = p.start("elect daemon # a")
    check("a is back", going.says("follows c"), *going.said())
    p.here = "c"


WHEN = {  # commands that continue to run: the line that they must print, and the direction that follows it
    "docs/tutorial.md": {
        "build/elect daemon -c demo/elect.conf --id b": ("starts", b_leads),
        "build/elect daemon -c demo/elect.conf --id c": ("follows b", None),
        "build/elect watch -c demo/elect.conf --id a": ("b leads", c_is_next),
    },
    "examples/README.md": {
        "client demo/state/member-1.status": ("^works with token", None),
        CLIENT_PY: (r"^does not lead main \(leader: a\)", None),
        "for m in 1 2 3; do mutex serve demo/state/member-$m.status 761$m & done": (None, None),
        "berkeley demo/state/member-1.status 300 100 7621 7622 7623 &": ("master", None),
        "berkeley demo/state/member-2.status -200 -100 7622 7621 7623 &": ("slave", None),
        "berkeley demo/state/member-3.status 60000 50 7623 7621 7622 &": ("slave", None),
        "elect run -c demo/elect.conf --id a -- sh -c 'while date | fenced times; do sleep 1; done'":
            (r"started sh \(pid ", writes),
        "elect run --respawn -c demo/elect.conf --id a -- examples/cron.sh table": ("a, with token", None),
        "for m in 1 2 3; do embed $m KEY 7501 7502 7503 & done": ("^works with token", None),
    },
}
KILL = "kill -9 $(build/elect status -c demo/elect.conf --id b -o json | grep -m1 '\"pid\"' | tr -dc 0-9)"
AFTER = {  # commands that end, with the direction that follows them
    "docs/tutorial.md": {KILL: c_takes_over},
}
AGAIN = {  # commands that may fail on a slow machine, with the direction that is called before a repetition
    "docs/tutorial.md": {"build/elect resign -c demo/elect.conf --id a": b_is_next},
    "docs/operations.md": {"sudo -u elect elect init": take_state_away},
}
DIRECTIONS = {  # words of a document, with the direction that they select
    "docs/tutorial.md": {"Start b again": start_b_again, "add the line `lead-only-with-runner = yes`": require_a_run,
                         "Stop the daemons and the copies": Player.end},
    "examples/README.md": {"Then start the three members": quick_start},
    "docs/operations.md": {
        "Lines after `$` are commands": three_machines,
        "Two voters are a majority only together": start_three,
        "A change that needs a restart is refused by name": add_a_member,
        "A `lease` that is longer than `max-lease`": remove_it,
        "Let it vote": let_it_vote,
        "The daemon does not start (exit 78)": lose_a_state,
        "Start the daemon. The readmission takes": start_it_again,
    },
}


def named(path):
    name = path.relative_to(ROOT)
    for link in markdown.broken_links(path):
        check(f"{name}: a link", False, link)
    for file in markdown.lost_files(ROOT, path):
        check(f"{name}: a file", False, file)
    for words in markdown.backticks(path.read_text()):
        line = re.sub(r"^(sudo -u elect )?(build/)?(?=elect )", "", words)
        if line.startswith("elect ") and not re.match(r"elect [\w-]*[:(]", line):
            check(f"{name}: {words}", not wrong(line), *wrong(line))


def play(name):
    with tempfile.TemporaryDirectory() as folder:
        player = Player(name, folder)
        try:
            player.play()
        finally:
            player.end()


def main():
    contain()
    documents = list(markdown.documents(ROOT))
    check("there are documents", len(documents) > 5, documents)
    for path in documents:
        named(path)
    for path in sorted({path for pattern in RUN for path in pathlib.Path(ROOT).glob(pattern)}):
        play(str(path.relative_to(ROOT)))
    report()


main()
