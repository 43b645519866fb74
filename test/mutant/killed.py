"""A seeded fault must be seen, in the way that was foreseen, and what fails must be had again."""

import subprocess
import sys

sys.dont_write_bytecode = True
from mutants import MUTANTS  # noqa: E402

name, elect, storm, root = sys.argv[1:]
mutant = MUTANTS[name]


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


if "scenario" in mutant:
    code, text = run(elect, "sim", f"{root}/test/scenario/{mutant['scenario']}.elect")
    assert code == 1 and mutant["shows"] in text, (code, text[:5000])
else:
    code, text = run(storm, mutant["storm"], "20000")
    assert code == 1 and "no agreement" in text, (code, text)
    command = text.split("replay:\n  elect ")[1].split("\n")[0].split()
    code, text = run(elect, *command)
    assert code == 2 and "no agreement" in text, (code, command, text[-1000:])
print(f"{name}: killed")
