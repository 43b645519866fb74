"""Checks that the manual matches the command. Every verb has a page with exactly its options and exit codes, the pages list all
configuration keys and all words of a scenario, and man shows every page without a warning."""

import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from lib.checks import check, report, skip  # noqa: E402
from lib.containment import contain  # noqa: E402
from lib.elect_command import ELECT, ROOT, run  # noqa: E402
from lib.help_text import NAMED, help_of, options, verbs, wrong  # noqa: E402

contain()

PAGES = pathlib.Path(ROOT) / "docs/man"
COLUMNS = 80
# Options of other commands that a page mentions, with those commands.
STRANGERS = {
    "elect-config.8": {"--new-cluster": "of elect init, which makes a configuration"},
    "elect-daemon.8": {"--on-lose": "of elect run, which a guardian waits for"},
    "elect-init.8": {"-u": "of sudo"},
    "elect-key.8": {"-u": "of sudo"},
    "elect-run.1": {"-D": "of postgres, in an example"},
}


def plain(text):
    """Removes fonts and quotes, and unescapes dashes."""
    return re.sub(r"\\f.|\\&|\"", "", text).replace("\\-", "-")


def section(page, name):
    found = re.search(rf"^\.SH {re.escape(name)}\n(.*?)(?=^\.SH |\Z)", page, re.M | re.S)
    return found[1] if found else ""


def tags(text):
    """Returns (tag, explanation) pairs."""
    return re.findall(r"^\.T[PQ]\n\.\w+ (.*)\n((?:(?!\.T[PQ]\n|\.S[HS] |\.PP\n).*\n)*)", text, re.M)


# ---- examples ----

def without_effect(line):
    """Returns the command with --help added, which only prints its help if all its other words are correct."""
    command = re.split(r" \|\|? | *#", line)[0]
    before, dashes, after = command.partition(" -- ")
    return f"{before} --help{dashes}{after}"


def examples():
    """Every manual page has examples to paste into a shell. elect accepts each of their commands, and those that need no daemon
    succeed."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "new.conf").write_text("[cluster]\nid = 5da6f4bd96516037aa00fec2e166aeba\n\nleese = 1s\n")
        (pathlib.Path(folder) / "good.conf").write_text(run("config", "example").stdout)
        for path in sorted(PAGES.glob("*.[1-9]")):
            text = plain(section(path.read_text(), "EXAMPLES"))
            check(f"{path.name}: examples", text)
            if path.is_symlink():
                continue
            for line in re.findall(r"^(?:\$ )?(?:sudo -u elect )?(printf .*|elect (?!init$|[a-z-]+: ).*)$", text.replace("\\\\", "\\"), re.M):
                if line.startswith("printf") or line.split()[1] in ("sim", "verify", "config"):
                    allowed = {78} if line.endswith("new.conf") else {0, 1, 124}  # 1 for a counterexample, 124 for a timeout
                    line = f"timeout 3 {line} good.conf" if line.endswith("config check") else f"timeout 3 {line}"
                else:
                    line, allowed = without_effect(line), {0}
                done = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True,
                                      env=os.environ | {"PATH": f"{pathlib.Path(ELECT).resolve().parent}:{os.environ['PATH']}"})
                check(f"{path.name}: {line}", done.returncode in allowed, done.returncode, done.stderr)


# ---- verbs ----

def page_of(verb):
    """Returns the name of the verb's page, possibly the target of a symbolic link, or None if it has no page."""
    found = sorted(PAGES.glob(f"elect-{verb}.[1-9]"))
    check(f"{verb} has one page", len(found) == 1, [path.name for path in found], f"docs/man/elect-{verb}.1 is missing")
    if len(found) != 1:
        return None
    page = found[0].resolve()
    check(f"{found[0].name} leads to a page", page.is_file() and page.parent == PAGES.resolve(), page)
    check(f"{found[0].name} is in the section of its page", found[0].suffix == page.suffix, page.name)
    return page.name if page.is_file() else None


def helped():
    for verb in verbs():
        done = run("help", verb)
        fine = done.returncode == 0 and done.stderr == "" and done.stdout.startswith("usage: elect")
        check(f"help {verb}", fine, done)
        longest = max(done.stdout.splitlines(), key=len)
        check(f"help {verb} fits {COLUMNS} columns", len(longest) <= COLUMNS, longest)
        other = run("--help") if verb == "help" else run(verb, "--help")
        check(f"{verb} --help is the same", other.returncode == 0 and other.stdout == done.stdout, other)
        strange = set(NAMED.findall(done.stdout)) - options(verb)
        check(f"help {verb} names only its own options", not strange, strange)


def exit_codes(verb):
    said = re.search(r"^[Ee]xit: (.*?)(?:\n\n|\Z)", help_of(verb if verb != "help" else None), re.M | re.S)
    check(f"help {verb} names exit codes", said)
    return set(re.findall(r"\b\d+\b", said[1])) if said else set()


def one_page(name, its_verbs):
    page = (PAGES / name).read_text()
    text = plain(page)
    names = plain(section(page, "NAME")).split(" - ")[0].replace(",", " ").split()
    for verb in its_verbs:
        check(f"{name}: NAME has elect-{verb}", f"elect-{verb}" in names, names)
    known = set().union(*map(options, its_verbs))
    named = set(NAMED.findall(text)) - set(STRANGERS.get(name, {}))
    check(f"{name}: its options are those of elect {', '.join(its_verbs)}", named == known,
          "only on the page:", *sorted(named - known), "only in the help:", *sorted(known - named))
    explained = set(NAMED.findall("\n".join(tag for tag, _ in tags(text))))
    check(f"{name}: each option is explained", known - explained == set(), *sorted(known - explained))
    codes = set().union(*map(exit_codes, its_verbs))
    status = plain(section(page, "EXIT STATUS"))
    lacks = codes - set(re.findall(r"\b\d+\b", status))
    check(f"{name}: exit codes of the help are on the page", not lacks, *sorted(lacks))
    strange = {re.match(r"\d*", tag)[0] for tag, _ in tags(status)} - codes
    check(f"{name}: exit codes of the page are in the help", not strange, *sorted(strange))


def verbs_and_pages():
    pages = {}
    for verb in verbs():
        name = page_of(verb)
        if name is not None:
            pages.setdefault(name, []).append(verb)
    for name, its_verbs in pages.items():
        one_page(name, its_verbs)
    for name, strangers in STRANGERS.items():
        for option in strangers:
            check(f"{name} still contains {option}", option in NAMED.findall(plain((PAGES / name).read_text())))
    listed = {line.split()[0] for tag, _ in tags(plain(section((PAGES / "elect.1").read_text(), "DESCRIPTION")))
              for line in tag.split(",")}
    check("elect.1 lists the verbs", listed == set(verbs()), listed ^ set(verbs()))


# ---- every page ----

def pages():
    version = run("--version").stdout.strip()
    installs = (PAGES / "meson.build").read_text()
    installed = {name: name for name in re.findall(r"'([\w.-]+\.[1-9])'", installs)}
    for page, aliases in re.findall(r"^  '(\S+)': \[(.*)\],$", installs, re.M):
        installed |= {f"elect-{verb}{pathlib.Path(page).suffix}": page for verb in re.findall(r"'([\w-]+)'", aliases)}
    there = {path.name: path.resolve().name for path in PAGES.glob("*.[1-9]")}
    check("each page is installed, and each link", installed == there, set(installed.items()) ^ set(there.items()))
    for path in sorted(PAGES.glob("*.[1-9]")):
        page = path.read_text()
        if path.is_symlink():
            continue
        text = plain(page)
        title = f".TH {path.stem.upper()} {path.suffix[1:]}  {version} Elect"
        check(f"{path.name}: title", text.startswith(title), text.splitlines()[0])
        for name, number in re.findall(r"^\.BR (elect[\w.-]*) \(([1-9])\)", text, re.M):
            check(f"{path.name}: {name}({number})", f"{name}.{number}" in there)
        check(f"{path.name}: EXAMPLES", section(page, "EXAMPLES"))
        examples = "\n".join(re.findall(r"^\.nf\n(.*?)^\.fi", text, re.M | re.S))
        for line in re.findall(r"^(?:\$ (?:sudo -u \w+ )?)?(elect .*)$", examples, re.M):
            if not line.split()[1].endswith(":"):  # other lines are error messages
                check(f"{path.name}: {line}", not wrong(line), *wrong(line))


def man_takes_them():
    """man finds every installed page by name and shows every page of the tree."""
    quiet = os.environ | {"MANPAGER": "cat", "MANWIDTH": str(COLUMNS), "LC_ALL": "C.UTF-8", "MANROFFOPT": "-ww"}
    with tempfile.TemporaryDirectory() as folder:
        for path in PAGES.glob("*.[1-9]"):
            place = pathlib.Path(folder) / f"man{path.suffix[1:]}"
            place.mkdir(exist_ok=True)
            shutil.copy(path, place, follow_symlinks=False)
        for path in sorted(PAGES.glob("*.[1-9]")):
            for words in (["-M", folder, path.suffix[1:], path.stem], ["-l", path]):
                done = subprocess.run(["man", "--warnings", *map(str, words)], env=quiet, capture_output=True,
                                      text=True, timeout=60, cwd=ROOT)
                check(f"man {' '.join(map(str, words))}", done.returncode == 0 and done.stderr == "", done.stderr)
                check(f"man {' '.join(map(str, words))} shows the page", path.stem in done.stdout, done.stdout[:200])


# ---- the configuration, scenarios, the client ----

def keys_of(text, pattern):
    return {found for found in re.findall(pattern, text, re.M)}


def configuration():
    page = plain((PAGES / "elect.conf.5").read_text())
    example = run("config", "example").stdout
    parts = re.split(r"^\[(\w+).*\]$", example, flags=re.M)
    for name, heading in (("cluster", "[CLUSTER]"), ("member", "[MEMBER NAME]"), ("group", "[GROUP NAME]")):
        shown = keys_of(parts[parts.index(name) + 1], r"^#?([a-z][a-z-]*) = ")
        written = {tag.split()[0] for tag, _ in tags(section(page, heading))}
        check(f"elect.conf.5: keys of [{name}]", shown == written and shown, shown ^ written)


def filled(found):
    """Returns a key of the example with its default or its first possible value."""
    said, key, kind = found.groups()
    default = re.search(r"default: ([^\s,]+)", said)
    value = default[1] if default else "/usr/bin/true" if kind == "PATH" else re.match(r"[\w-]+", said)[0]
    return f"{key} = {value}"


def example():
    """The output of elect config example, with a new cluster id, is a valid configuration, even with every key in a comment
    enabled."""
    text = run("config", "example").stdout
    longest = max(text.splitlines(), key=len)
    check(f"the example fits {COLUMNS} columns", len(longest) <= COLUMNS, longest)
    own = re.sub(r"^id = [0-9a-f]{32}$", f"id = {secrets.token_hex(16)}", text, flags=re.M)
    every = re.sub(r"^# (.*)\n#([a-z-]+) = (.*)$", filled, own, flags=re.M)
    check("the example has an id", text != own, text)
    check("the example has other keys", own != every and not re.search("^#[a-z]", every, re.M), every)
    for what, config, code in (("example", own, 0), ("example with every key", every, 0),
                               ("example without an id", re.sub(r"^id = [0-9a-f]{32}$", "", text, flags=re.M), 78)):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write(config)
            file.flush()
            done = run("config", "check", file.name)
        check(f"config check of the {what}", done.returncode == code, done.stderr, config)
        check(f"config check of the {what}", code or "3 members, 3 of them vote, 1 group" in done.stdout, done.stdout)


def times():
    """The values that config check derives from the times follow the formulas of docs/guarantees.md."""
    lease, renewal, rho = 1000, 200, 0.2
    text = re.sub(r"^id = [0-9a-f]{32}$", f"id = {secrets.token_hex(16)}", run("config", "example").stdout, flags=re.M)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(text.replace("[cluster]", f"[cluster]\nlease = {lease}ms\nrenewal = {renewal}ms\nrho = {rho * 100:.0f}%", 1))
        file.flush()
        said = run("config", "check", "-o", "json", file.name)
    found = json.loads(said.stdout or "{}")
    suspicion = 3 * renewal * (1 + rho) / (1 - rho)
    for key, value in (("office_ms", lease * (1 - rho) / (1 + rho)), ("longest_gap_ms", (10 * lease + 8 * suspicion) / (1 - rho))):
        check(f"config check: {key}", abs(found.get(key, 0) - value) < 0.1, said.stdout, said.stderr, value)


def liked(*lines):
    """Returns the words that the parser expects, which it lists when it reads an unknown word."""
    with tempfile.NamedTemporaryFile("w", suffix=".elect") as file:
        file.write("\n".join((*lines, "")))
        file.flush()
        said = run("sim", file.name).stderr
    listed = re.search(r": one of (.*)", said)
    check(f"the words for {lines[-1]}", listed, said)
    return set(listed[1].split(", ")) if listed else set()


def scenario():
    page = plain((PAGES / "elect-scenario.5").read_text())
    steps = tags(section(page, "STEPS"))
    named = {part.split()[0]: text for tag, text in steps for part in tag.split(", ")}
    settings = {word.strip(",") for line in re.findall(r"^\.BR (.*)$", section(page, "SETTINGS"), re.M)
                for word in line.split()} - {"", "and", "(1):", "elect-sim"}
    known = liked("qqqqqqqqqqqqqq")
    check("elect-scenario.5: settings and steps", known == settings | set(named), known ^ (settings | set(named)))
    check("settings are options of elect sim", {f"--{word}" for word in settings} <= options("sim"), settings)
    begin = ("mandate majority", "processes 3", "wait 1")
    for step, words in (("deliver", "deliver 0 > 1 qqqqqqqqqqqqqq"), ("fire", "fire 0 qqqqqqqqqqqqqq"),
                        ("due", "due 0 qqqqqqqqqqqqqq"), ("check", "check qqqqqqqqqqqqqqqq")):
        said = named.get(step, "")
        missing = {word for word in liked(*begin, words) if not re.search(rf"(?<![\w-]){word}(?![\w-])", said)}
        check(f"elect-scenario.5: the words of {step}", not missing, missing)
    messages = set(re.findall(r"\b[A-Z]{2,}\b", named["deliver"]))
    check("elect-scenario.5: messages", messages <= liked(*begin, "deliver 0 > 1 qqqqqqqqqqqqqq"), messages)
    text = re.search(r"^\.nf\n(.*?)^----\n(.*?)^\.fi", page, re.M | re.S)
    with tempfile.NamedTemporaryFile("w", suffix=".elect") as file:
        file.write(text[1])
        file.flush()
        told = run("sim", file.name).stdout
    missing = [line for line in text[2].splitlines() if line != "..." and f"{line}\n" not in told]
    check("elect-scenario.5: its story", not missing, *missing, told)


def client():
    page = plain((PAGES / "elect-client.3").read_text())
    header = (pathlib.Path(ROOT) / "include/elect-client.h").read_text()
    functions = set(re.findall(r"\b(elect_client_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.S)))
    for part in ("NAME", "SYNOPSIS"):
        named = set(re.findall(r"\b(elect_client_\w+)" + (r"\(" if part == "SYNOPSIS" else r"\b"), section(page, part)))
        check(f"elect-client.3: {part}", named == functions, named ^ functions)
    errors = {f"ELECT_CLIENT_{word}" for word in re.findall(r"^    X\(([A-Z_]+), ", header, re.M)}
    named = {tag for tag, _ in tags(section(page, "ERRORS"))}
    check("elect-client.3: errors", named == errors and errors, named ^ errors)


for part in (helped, examples, verbs_and_pages, pages, configuration, example, times, scenario, client):
    part()
if shutil.which("man") is None:
    skip("pages as man shows them", "needs man")
else:
    man_takes_them()
report()
