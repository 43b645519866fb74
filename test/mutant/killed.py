"""A seeded fault must be seen, and in the way that was foreseen."""

import subprocess
import sys

name, program, root = sys.argv[1:]


def run(*args):
    done = subprocess.run([program, *args], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


if name == "notes-order":
    code, text = run("sim", f"{root}/test/scenario/active-ring/notes-order.elect")
    assert code == 1, (code, text)
    early = "1 < 4 ELECT(1): its own number is back, the list is complete -> 1 leads"
    assert early in text and "no agreement" in text, text[:5000]
elif name == "round-chase":
    code, text = run("chang-roberts", "20000")
    assert code == 1 and "no agreement" in text, (code, text)
else:
    sys.exit(f"nobody knows how {name} is killed")
print(f"{name}: killed")
