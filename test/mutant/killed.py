"""A seeded fault must be seen, in the way that was foreseen, and what fails must be had again."""

import subprocess
import sys

name, elect, storm, root = sys.argv[1:]


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


if name == "notes-order":
    code, text = run(elect, "sim", f"{root}/test/scenario/active-ring/notes-order.elect")
    early = "1 < 4 ELECT(1): its own number is back, the list is complete -> 1 leads"
    assert code == 1 and early in text and "no agreement" in text, (code, text[:5000])
elif name == "round-chase":
    code, text = run(storm, "chang-roberts", "20000")
    assert code == 1 and "no agreement" in text, (code, text)
    command = text.split("replay:\n  elect ")[1].split("\n")[0].split()
    code, text = run(elect, *command)
    assert code == 2 and "no agreement" in text, (code, command, text[-1000:])
else:
    sys.exit(f"nobody knows how {name} is killed")
print(f"{name}: killed")
