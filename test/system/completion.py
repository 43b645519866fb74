"""Tests completion in bash, zsh and fish: each shell's candidates, and the effect of a TAB in a terminal."""

import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading

sys.dont_write_bytecode = True
from lib.checks import check, report, skip  # noqa: E402
from lib.containment import contain  # noqa: E402
from lib.elect_command import ELECT, ROOT, run  # noqa: E402
from lib.help_text import options, verbs  # noqa: E402
from lib.processes import LIMIT  # noqa: E402

contain()

SOURCE = pathlib.Path(ROOT) / "packaging/completion"
HELPER = "/usr/libexec/elect/candidates"
PATIENCE = LIMIT  # seconds to wait for events that are normally immediate
AWAKE, READY = "[awake]", "[ready]"  # prompts: the shell has set up its terminal and reads keys
ALGORITHMS = {"bully", "ring", "active-ring", "chang-roberts"}
MEMBERS, GROUPS = {"anna", "bert", "carl"}, {"scheduler", "mailer"}
INSTALLED = {"elect.bash": "bash-completion/completions/elect", "_elect": "zsh/site-functions/_elect",
             "elect.fish": "fish/vendor_completions.d/elect.fish"}
LOADER = "/usr/share/bash-completion/bash_completion"


class Stage:
    """A folder with a configuration, the elect command, and this tree's completion scripts where each shell looks for them."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/elect").symlink_to(ELECT)
        for name, place in INSTALLED.items():
            path = self.folder / "share" / place
            path.parent.mkdir(parents=True)
            script = (SOURCE / name).read_text()
            check(f"{name} calls candidates", HELPER in script)
            path.write_text(script.replace(HELPER, str(SOURCE / "candidates")))
        self.env = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "HOME": folder, "TERM": "dumb",
                    "PS1": AWAKE, "LC_ALL": "C.UTF-8", "XDG_DATA_HOME": f"{folder}/share", "XDG_CONFIG_HOME": f"{folder}/config",
                    "XDG_RUNTIME_DIR": folder}
        run("init", "--new-cluster", *[f"{name}=127.0.0.1:{7401 + i}" for i, name in enumerate(sorted(MEMBERS))],
            "-g", "scheduler", "-c", "demo/elect.conf", cwd=folder)
        (self.folder / "demo/conf.d").mkdir()
        (self.folder / "demo/conf.d/more.conf").write_text("[group mailer]\n")

    def script(self, name):
        return str(self.folder / "share" / INSTALLED[name])

    def run(self, *words):
        return subprocess.run(words, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=10 * LIMIT)


# ---- a shell in a terminal ----

class Terminal:
    def __init__(self, stage, *words):
        master, slave = pty.openpty()
        self.master, self.seen, self.drain = master, "", None
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, cwd=stage.folder, env=stage.env,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.drain:  # open until this thread ends, so that the number is not reused
            self.drain.join()
        os.close(self.master)

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self):
        """Appends output of the terminal to `seen`. Returns False when no process has the terminal open any more."""
        try:
            self.seen += os.read(self.master, 4096).decode(errors="replace")
        except OSError:
            return False
        return True

    def await_text(self, text):
        """Waits until the text has been read, possibly in pieces. Text read before the call also counts."""
        while text not in self.seen:
            if not select.select([self.master], [], [], PATIENCE)[0] or not self.read():
                return False
        return True

    def ignore_output(self):
        """Reads and discards output from now on, so that the shell never blocks."""
        def read_all():
            while self.read():
                pass
        self.drain = threading.Thread(target=read_all, daemon=True)
        self.drain.start()


def unechoed(text):
    """Returns the text as two quoted parts, which the shell joins again. The terminal echoes the quotes, too, so a test cannot
    mistake the echo for the shell's output."""
    return f"'{text[:3]}''{text[3:]}'"


def typed(stage, words, init, keys, result):
    """Types a line with a TAB at its end, and executes it with a stand-in for elect that prints its arguments."""
    with Terminal(stage, *words) as terminal:
        awake = terminal.await_text(AWAKE)
        terminal.type(init + "\n")
        ready = awake and terminal.await_text(READY)
        terminal.type(keys + "\t\n")
        wanted = "".join(f"<{word}>" for word in result)
        done = ready and terminal.await_text(wanted)
        check(f"{words[0]}: {keys} and TAB", done, wanted, repr(terminal.seen[-400:]))


TYPED = [("elect st", ["status"]), ("elect sim --alg", ["sim", "--algorithm"]),
         ("elect sim --algorithm ch", ["sim", "--algorithm", "chang-roberts"]),
         ("elect sim demo/ele", ["sim", "demo/elect.conf"]), ("elect -c demo/ele", ["-c", "demo/elect.conf"]),
         ("elect sim --trace-file=demo/ele", ["sim", "--trace-file=demo/elect.conf"]),
         ("elect status -c demo/elect.conf --id b", ["status", "-c", "demo/elect.conf", "--id", "bert"])]
BEHIND = ("elect run -- elect st", ["run", "--", "elect", "status"])  # after --, another command is completed


# ---- each shell ----

class Bash:
    name = "bash"
    CALL = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _elect; printf "%s\\n" "${COMPREPLY[@]}"'

    def __init__(self, stage):
        self.stage = stage

    def offers(self, line):
        """Returns bash's completions for the line. Calls the completion function like readline, which passes each = as a
        separate word."""
        words = re.findall(r"[^\s=]+|=", line) + ([""] if line[-1:] in (" ", "=") else [])
        if line.endswith("="):
            words = words[:-1]
        done = self.stage.run("bash", "--norc", "-c", self.CALL, "bash", self.stage.script("elect.bash"), *words)
        check(f"bash: {line}", done.stderr == "" and done.returncode == 0, done.stderr)
        return set(filter(None, done.stdout.splitlines()))

    def type_all(self):
        elect = f'elect() {{ printf "<%s>" "$@"; echo; }}; PS1={unechoed(READY)}'
        script = self.stage.script("elect.bash")
        for keys, result in TYPED:
            typed(self.stage, ("bash", "--norc", "--noprofile", "-i"), f"source {script}; {elect}", keys, result)
        if os.path.exists(LOADER):  # bash-completion loads the installed script by itself
            for keys, result in (*TYPED, BEHIND):
                typed(self.stage, ("bash", "--norc", "--noprofile", "-i"), f"source {LOADER}; {elect}", keys, result)


class Zsh:
    name = "zsh"
    # A zsh widget that completes a line from a file and writes the candidates to a pipe.
    CAPTURE = """
        unsetopt prompt_sp prompt_cr
        fpath=(%(folder)s/share/zsh/site-functions $fpath)
        autoload -Uz compinit && compinit -u -D
        typeset -ga offered
        compadd() {
            if [[ " ${(j: :)@[1,(i)(-|--)]} " == *\\ -[a-zA-Z]#[OAD]\\ * ]]; then
                builtin compadd "$@"
                return
            fi
            local -a hits
            builtin compadd -O hits "$@"
            offered+=("${hits[@]}")
            (( $#hits ))
        }
        offer() {
            offered=()
            BUFFER="$(<%(folder)s/line)"
            CURSOR=$#BUFFER
            zle list-choices
            BUFFER=
            print -rl -- "${offered[@]}" >%(folder)s/offered
        }
        setopt extended_glob
        zle -N offer
        bindkey '^X^O' offer
        PROMPT=%(ready)s
    """

    def __init__(self, stage):
        self.stage = stage
        os.mkfifo(stage.folder / "offered")
        (stage.folder / "capture.zsh").write_text(self.CAPTURE % {"folder": stage.folder, "ready": unechoed(READY)})
        self.terminal = Terminal(stage, "zsh", "-f", "-i")
        check("zsh shows its prompt", self.terminal.await_text(AWAKE), self.terminal.seen)
        self.terminal.type("source capture.zsh\n")
        check("zsh begins", self.terminal.await_text(READY), self.terminal.seen)
        self.terminal.ignore_output()

    def offers(self, line):
        (self.stage.folder / "line").write_text(line)
        self.terminal.type("\x18\x0f")
        with open(os.open(self.stage.folder / "offered", os.O_RDONLY | os.O_NONBLOCK)) as pipe:
            return self.take(pipe)

    def take(self, pipe):
        """Returns the shell's output until it closes the pipe, which it may not have opened yet."""
        said = b""
        watch = select.poll()
        watch.register(pipe, select.POLLIN)
        while events := watch.poll(1000 * PATIENCE):
            if not events[0][1] & select.POLLIN:
                break
            said += os.read(pipe.fileno(), 65536)
        return set(filter(None, said.decode().splitlines()))

    def type_all(self):
        self.terminal.__exit__()
        init = f"""fpath=({self.stage.folder}/share/zsh/site-functions $fpath); autoload -Uz compinit && compinit -u -D;
            elect() {{ printf '<%s>' "$@"; echo }}; PROMPT={unechoed(READY)}"""
        for keys, result in (*TYPED, BEHIND):
            typed(self.stage, ("zsh", "-f", "-i"), init.replace("\n", " "), keys, result)


class Fish:
    name = "fish"

    def __init__(self, stage):
        self.stage = stage

    def offers(self, line):
        done = self.stage.run("fish", "--no-config", "-c", 'source $argv[1]; complete -C $argv[2]',
                              self.stage.script("elect.fish"), line)
        check(f"fish: {line}", done.stderr == "" and done.returncode == 0, done.stderr)
        return {text.split("\t")[0] for text in done.stdout.splitlines()}

    def type_all(self):
        init = f"""source {self.stage.script("elect.fish")};
            function elect; printf '<%s>' $argv; echo; end; function fish_prompt; echo {unechoed(READY)}; end"""
        prompt = f"function fish_prompt; echo '{AWAKE}'; end"
        for keys, result in (*TYPED, BEHIND):
            typed(self.stage, ("fish", "--no-config", "-i", "-C", prompt), init.replace("\n", " "), keys, result)


# ---- the candidates ----

def exactly(shell, line, wanted):
    offered = shell.offers(line)
    check(f"{shell.name}: {line!r} offers", offered == set(wanted), "missing:", *sorted(set(wanted) - offered),
          "too many:", *sorted(offered - set(wanted)))


def asked(shell):
    exactly(shell, "elect st", {"status"})
    exactly(shell, "elect ", verbs())
    exactly(shell, "elect help ver", {"verify", "version"})
    exactly(shell, "bin/elect hel", {"help"})
    exactly(shell, "elect --", {name for name in options("help") if name.startswith("--")})
    exactly(shell, "elect -o js", {"json"})
    exactly(shell, "elect sim --al", {"--algorithm"})
    exactly(shell, "elect sim --algorithm ", ALGORITHMS)
    exactly(shell, "elect verify --algorithm ", ALGORITHMS)
    attached = "" if shell.name == "bash" else "--algorithm="
    exactly(shell, "elect sim --algorithm=", {attached + name for name in ALGORITHMS})
    exactly(shell, "elect sim --algorithm=c", {attached + "chang-roberts"})
    exactly(shell, "elect sim --processes 3 --mandate ", {"none", "majority"})
    exactly(shell, "elect sim --begin ", {"all"})
    exactly(shell, "elect sim --processes ", ())
    exactly(shell, "elect status -o ", {"text", "json"})
    exactly(shell, "elect run --on-lose ", {"stop", "signal", "freeze"})
    exactly(shell, "elect run -s TER", {"TERM"})
    exactly(shell, "elect verify --property one", {"one-leader", "one-per-term"})
    exactly(shell, "elect key ", {"new", "install", "use", "remove", "list"})
    exactly(shell, "elect key use ", ())
    exactly(shell, "elect config ", {"check", "example"})
    exactly(shell, "elect status ", options("status"))
    exactly(shell, "elect history ", options("history"))
    exactly(shell, "elect -c demo/elect.conf daemon --id ", MEMBERS)
    exactly(shell, "elect daemon --config demo/elect.conf --id b", {"bert"})
    exactly(shell, "elect transfer -c demo/elect.conf ", MEMBERS)
    exactly(shell, "elect status -c demo/elect.conf -g ", GROUPS)
    exactly(shell, "elect run -c demo/elect.conf ", GROUPS)
    exactly(shell, "elect status -c nowhere.conf --id ", ())
    for verb in verbs():
        if verb not in ("help", "version"):
            exactly(shell, f"elect {verb} -", options(verb))


def installed():
    """The completion scripts are installed where each shell looks for them."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["meson", "install", "-C", os.path.dirname(ELECT), "--no-rebuild", "--quiet", "--destdir",
                               folder], capture_output=True, text=True, timeout=10 * LIMIT)
        check("meson install", done.returncode == 0, done.stderr, done.stdout)
        there = [str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file()]
        helper = [path for path in there if path.endswith("libexec/elect/candidates")]
        check("candidates is installed", len(helper) == 1 and os.access(f"{folder}/{helper[0]}", os.X_OK), there)
        for place in ("share/bash-completion/completions/elect", "share/zsh/(site-functions|vendor-completions)/_elect",
                      "share/fish/vendor_completions.d/elect.fish"):
            found = [path for path in there if re.search(f"(^|/){place}$", path)]
            check(f"{place} is installed", len(found) == 1, there)
            script = pathlib.Path(folder, found[0]).read_text() if found else ""
            check(f"{place} calls the installed candidates", helper and f"/{helper[0]} " in script, script)


installed()
for kind in (Bash, Zsh, Fish):
    if shutil.which(kind.name) is None:
        skip(f"completion for {kind.name}", f"needs {kind.name}")
        continue
    with tempfile.TemporaryDirectory() as folder:
        shell = kind(Stage(folder))
        asked(shell)
        shell.type_all()
report()
