"""What is installed is hardened, as far as this compiler can: a position-independent executable, whose tables cannot be
written once it runs, with stack protection and checked copies; and libelect-uv shows what its header does, no more."""

import re
import subprocess
import sys

ELECT, LIBRARY, FLAGS = sys.argv[1], sys.argv[2], sys.argv[3].split()
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
look_at(LIBRARY)
check(ELECT, "no executable: PIE is missing", re.search(r"FLAGS_1.*\bPIE\b", read("-d", ELECT)))
shown = [line.split()[7] for line in read("--dyn-syms", LIBRARY).splitlines()
         if len(line.split()) >= 8 and line.split()[4] == "GLOBAL" and line.split()[6] != "UND"]
check(LIBRARY, "shows nothing", shown)
check(LIBRARY, f"shows {[name for name in shown if not re.match('elect_(member|uv)_', name)]}",
      all(re.match("elect_(member|uv)_", name) for name in shown))
for problem in problems:
    print(problem, file=sys.stderr)
print(f"{len(shown)} functions in the library, {len(problems)} problems")
sys.exit(1 if problems else 0)
