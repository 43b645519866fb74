"""Tests tools/deps with missing packages, tools/tier, tools/repeat, tools/uninstall and make help."""

import importlib.machinery
import importlib.util
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from lib.checks import check, report  # noqa: E402
from lib.containment import contain  # noqa: E402

contain()

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 120
FAKE = {  # a stand-in for dpkg-query that lacks only spin; $FAKE_UID is the user
    "dpkg-query": '[ "$4" = spin ] && exit 1\necho "install ok installed"',
    "id": 'echo "$FAKE_UID"',
    "sudo": 'echo "sudo $*" >>"$FAKE_LOG"\nexec "$@"',
    "apt-get": 'echo "apt-get $*" >>"$FAKE_LOG"',
    "apt-cache": "exit 0",
}


def tool(name):
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


# ---- tools/deps ----

def on_a_terminal(words, env, answer):
    """Runs a process on a terminal and answers its question. Returns its exit status and output."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(words[0], words, env)
    said = b""
    while select.select([terminal], [], [], LIMIT)[0]:
        try:
            more = os.read(terminal, 4096)
        except OSError:
            break
        if not more:
            break
        if b"[y/N]" in said + more and b"[y/N]" not in said:
            os.write(terminal, answer)
        said += more
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said.decode(errors="replace")


def deps(uid, answer=None, without=()):
    """Runs tools/deps with fake system commands. Returns its exit status, its output and the commands that it called."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FAKE.items():
            if name not in without:
                path = pathlib.Path(folder, name)
                path.write_text(f"#!/bin/sh\n{text}\n")
                path.chmod(0o755)
        for name in ("sh", "env", "grep", "cat", "rm", "meson", "ninja", "pkg-config"):
            if shutil.which(name):
                pathlib.Path(folder, name).symlink_to(shutil.which(name))
        log = pathlib.Path(folder, "log")
        env = {"PATH": folder, "FAKE_UID": str(uid), "FAKE_LOG": str(log)}
        words = ["/bin/sh", str(ROOT / "tools/deps"), "check"]
        if answer is None:
            done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
            code, said = done.returncode, done.stdout + done.stderr
        else:
            code, said = on_a_terminal(words, env, answer)
        return code, said, log.read_text() if log.exists() else ""


def missing_packages():
    code, said, called = deps(0)
    check("root installs", code == 0 and "apt-get install" in called and " spin" in called and "sudo" not in called, code, said, called)
    check("root sees what is installed", "installing: spin" in said, said)
    code, said, called = deps(1000)
    check("without a terminal nothing is installed", code == 1 and called == "", code, said, called)
    check("the packages are listed in one line", said == "tools/deps: packages are missing; as root: apt-get install spin\n", said)
    code, said, called = deps(1000, b"y\n")
    check("on a terminal the user is asked", "install them with sudo? [y/N]" in said, said)
    check("yes installs the packages", code == 0 and "sudo env" in called and "apt-get install" in called, code, said, called)
    for answer in (b"n\n", b"\n", b"\x04"):
        code, said, called = deps(1000, answer)
        check("any other answer installs nothing", code == 1 and called == "" and "apt-get install spin" in said, answer, code, said, called)
    code, said, called = deps(1000, b"y\n", without=("sudo",))
    check("without sudo the packages are listed", code == 1 and "as root: apt-get install spin" in said and "[y/N]" not in said, code, said)


# ---- tools/tier ----

def last_line():
    tier = tool("tier")
    results = tier.Results()
    check("nothing", results.line("test", 1) == "make test: 0 passed, 0 failed, 0 skipped, 1 s", results.line("test", 1))
    results.add("one", 0, "all is well\n")
    results.add("two", 0, "skipped: a: needs root\nskipped: b: needs root\n")
    results.add("three", 77, "skipped: everything: needs strace\n")
    results.add("four", 1, "skipped: c: needs root\n")
    results.add("five", 77, "")
    check("everything is counted and named", results.line("check", 61.4) ==
          "make check: 2 passed, 1 failed, 5 skipped (1 gave no reason: five; 3 need root: two/a, two/b, four/c; "
          "1 needs strace: three/everything), 61 s", results.line("check", 61.4))
    bare = [str(path) for path in (ROOT / "test").rglob("*.[ch]") if path.name != "skip.h" and re.search(r"\bskip\(", path.read_text())]
    check("every skipped case names its reason", not bare, bare)
    suites = set(tier.QUICK) | set(tier.THOROUGH)
    text = (ROOT / "test/meson.build").read_text()
    used = set(re.findall(r"suite: '([\w-]+)'", text)) | set(re.findall(r"\? '([a-z][\w-]*)' : '", text))
    check("every suite is in a tier", used <= suites and suites <= used | {"unit"}, suites ^ used)
    tests = len(re.findall(r"^ *test\(", text, re.M))
    check("every test has a suite", len(re.findall(r"suite:", text)) == tests, tests)


# ---- tools/repeat ----

def is_a_loop(pid):
    try:
        return b"while :" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False



def repeated():
    """Runs tools/repeat in a temporary tree, with a target that passes and one that fails."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "tools").mkdir()
        shutil.copy(ROOT / "tools/repeat", root / "tools/repeat")
        (root / "Makefile").write_text(
            "good:\n\t@cat /proc/`cut -d' ' -f4 /proc/$$PPID/stat`/task/*/children >build/children\n\t@echo make good: 1 passed\n"
            "bad:\n\t@echo noise\n\t@echo failed: this one\n\t@exit 1\n")
        for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "x"]):
            subprocess.run(["git", *words], cwd=root, check=True)
        (root / ".git/info/exclude").write_text("build\n")

        def repeat(*words):
            return subprocess.run([root / "tools/repeat", *words], capture_output=True, text=True, timeout=LIMIT)
        log = root / "build/repeat-good-2.log"
        done = repeat("2", "good", "2")
        check("two runs", done.returncode == 0 and "2 of 2 runs passed" in done.stdout and len(log.read_text().splitlines()) == 2, done)
        check("beside two loops", len((root / "build/children").read_text().split()) == 3)  # the third child is make
        done = repeat("3", "good", "2")
        check("a further run adds to the count", done.returncode == 0 and "3 of 3 runs passed" in done.stdout and len(log.read_text().splitlines()) == 3, done)
        done = repeat("3", "good", "2")
        check("no run is left to do", done.returncode == 0 and "3 of 3 runs passed" in done.stdout and len(log.read_text().splitlines()) == 3, done)
        (root / "more").write_text("x")
        done = repeat("1", "good", "2")
        check("a changed tree has a count of its own", "1 of 1 runs passed" in done.stdout and len(log.read_text().splitlines()) == 4, done)
        done = repeat("--any", "4", "good", "2")
        check("--any counts the runs of all trees", "4 of 4 runs passed" in done.stdout and len(log.read_text().splitlines()) == 4, done)
        done = repeat("1", "bad")
        check("a failure", done.returncode == 1 and "0 of 1 runs passed" in done.stdout and "failed: this one" in done.stdout, done)
        kept = list((root / "build").glob("repeat-bad-0-*.out"))
        check("the output of a failed run is kept", len(kept) == 1 and "noise" in kept[0].read_text(), kept)
        check("usage", repeat("many", "good").returncode == 64)
        left = [pid for pid in (root / "build/children").read_text().split() if is_a_loop(pid)]
        check("no loop is left", not left, left)


# ---- tools/uninstall, make help ----

def uninstalled():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "made/by/install").mkdir(parents=True)
        (root / "kept").mkdir()
        for name in ("made/by/install/one", "kept/two", "kept/other"):
            (root / name).write_text("x")
        (root / "made/link").symlink_to("nowhere")
        listed = [root / name for name in ("made/by/install/one", "made/by/install", "made/by", "made/link", "made", "kept/two", "kept", "gone")]
        (root / "list").write_text("".join(f"{path}\n" for path in listed))
        done = subprocess.run([ROOT / "tools/uninstall", root / "list"], capture_output=True, text=True)
        left = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
        check("only installed files are removed", done.returncode == 0 and left == ["kept", "kept/other"], left, done)
        done = subprocess.run([ROOT / "tools/uninstall", root / "list"], capture_output=True, text=True)
        check("a second call fails", done.returncode == 1 and done.stderr.count("\n") == 1, done)


def mutants_fit():
    """Checks that each mutant's original text occurs exactly once in its file. Otherwise make mutants would stop."""
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "test/mutant/mutants.py")
    mutants = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mutants)
    edits = [(name, *mutant[:2]) for some in (mutants.MUTANTS, mutants.RACES) for name, mutant in some.items()]
    edits += [(name, *edit[:2]) for name, (several, _) in mutants.NOTES.items() for edit in several]
    for name, file, text in edits:
        path = ROOT / "src" / (file if "/" in file else f"core/{file}")
        check(f"mutant {name!r} fits", path.read_text().count(text) == 1, "not once in", path.relative_to(ROOT), repr(text))


def helped():
    done = subprocess.run(["make", "--no-print-directory", "-C", ROOT, "help"], capture_output=True, text=True)
    phony = set(re.search(r"\.PHONY: (.*?)\n\n", (ROOT / "Makefile").read_text(), re.S)[1].replace("\\\n", " ").split())
    named = set(re.findall(r"^  ([a-z-]+) +\S", done.stdout, re.M))
    missing = {name for name in phony - named if not name.startswith("deps")}
    check("make help names every target", done.returncode == 0 and not missing and named <= phony, missing, named - phony)


for part in (missing_packages, last_line, repeated, uninstalled, mutants_fit, helped):
    part()
report()
