"""Checks that the installed files are hardened as far as this compiler can: position-independent, with tables that are
read-only at run time, stack protection and checked copies. Also checks that the libraries export only the functions in their
headers."""

import re
import subprocess
import sys

sys.dont_write_bytecode = True
from lib.checks import check, report  # noqa: E402

ELECT, FLAGS = sys.argv[1], sys.argv[4].split()
SHOWS = {sys.argv[2]: "elect_(member|uv)_", sys.argv[3]: "elect_client_"}


def read(option, path):
    return subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=True).stdout


def look_at(path):
    segments, dynamic, symbols = read("-l", path), read("-d", path), read("--dyn-syms", path)
    check(f"{path}: no RELRO", "GNU_RELRO" in segments)
    check(f"{path}: not bound at the start (BIND_NOW)", re.search(r"BIND_NOW|FLAGS_1.*\bNOW\b", dynamic))
    stack = re.search(r"GNU_STACK.*", segments)
    check(f"{path}: an executable stack", stack and "RWE" not in stack.group(0))
    check(f"{path}: position-dependent", re.search(r"Type:\s+DYN", read("-h", path)))
    check(f"{path}: relocations in its code", "TEXTREL" not in dynamic)
    if "-fstack-protector-strong" in FLAGS:
        check(f"{path}: no stack protection", "__stack_chk_fail" in symbols)
    if "-D_FORTIFY_SOURCE=3" in FLAGS:
        check(f"{path}: no checked copies", re.search(r"__\w+_chk@", symbols.replace("__stack_chk_fail", "")))


look_at(ELECT)
check(f"{ELECT}: not a position-independent executable (PIE)", re.search(r"FLAGS_1.*\bPIE\b", read("-d", ELECT)))
shown = 0
for library, prefix in SHOWS.items():
    look_at(library)
    names = [line.split()[7] for line in read("--dyn-syms", library).splitlines()
             if len(line.split()) >= 8 and line.split()[4] == "GLOBAL" and line.split()[6] != "UND"]
    check(f"{library}: exports nothing", names)
    check(f"{library}: exports {[name for name in names if not re.match(prefix, name)]}",
          all(re.match(prefix, name) for name in names))
    shown += len(names)
print(f"{shown} functions in the libraries")
report()
