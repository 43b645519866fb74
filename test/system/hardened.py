"""What is installed is hardened, as far as this compiler can: a position-independent executable, whose tables cannot be
written once it runs, with stack protection and checked copies; and the libraries show what their headers do, no more."""

import re
import subprocess
import sys

ELECT, FLAGS = sys.argv[1], sys.argv[4].split()
SHOWS = {sys.argv[2]: "elect_(member|uv)_", sys.argv[3]: "elect_client_"}
problems = []


def read(option, path):
    return subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=True).stdout


def check(path, what, holds):
    if not holds:
        problems.append(f"{path}: {what}")


def look_at(path):
    segments, dynamic, symbols = read("-l", path), read("-d", path), read("--dyn-syms", path)
    check(path, "no RELRO", "GNU_RELRO" in segments)
    check(path, "not bound at the start (BIND_NOW)", re.search(r"BIND_NOW|FLAGS_1.*\bNOW\b", dynamic))
    stack = re.search(r"GNU_STACK.*", segments)
    check(path, "an executable stack", stack and "RWE" not in stack.group(0))
    check(path, "position-dependent", re.search(r"Type:\s+DYN", read("-h", path)))
    check(path, "relocations in its code", "TEXTREL" not in dynamic)
    if "-fstack-protector-strong" in FLAGS:
        check(path, "no stack protection", "__stack_chk_fail" in symbols)
    if "-D_FORTIFY_SOURCE=3" in FLAGS:
        check(path, "no checked copies", re.search(r"__\w+_chk@", symbols.replace("__stack_chk_fail", "")))


look_at(ELECT)
check(ELECT, "no executable: PIE is missing", re.search(r"FLAGS_1.*\bPIE\b", read("-d", ELECT)))
shown = 0
for library, prefix in SHOWS.items():
    look_at(library)
    names = [line.split()[7] for line in read("--dyn-syms", library).splitlines()
             if len(line.split()) >= 8 and line.split()[4] == "GLOBAL" and line.split()[6] != "UND"]
    check(library, "shows nothing", names)
    check(library, f"shows {[name for name in names if not re.match(prefix, name)]}",
          all(re.match(prefix, name) for name in names))
    shown += len(names)
for problem in problems:
    print(problem, file=sys.stderr)
print(f"{shown} functions in the libraries, {len(problems)} problems")
sys.exit(1 if problems else 0)
