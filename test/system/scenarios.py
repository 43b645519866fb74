"""A scenario file that no test plays, and a scenario that a comment names but that is not there."""

import pathlib
import re
import sys

test = pathlib.Path(sys.argv[1])
listed = (test / "meson.build").read_text()
problems = [str(f) for f in sorted(test.glob("scenario/*/*.elect")) if f"'{f.stem}'" not in listed]
for source in sorted((test.parent / "src/core").glob("*.c")):
    folder = re.search(r"in test/scenario/([\w-]+):", source.read_text())
    if folder:
        for name in re.findall(r"^ \*.*\.  +([\w-]+)$", source.read_text(), re.M):
            if not (test / "scenario" / folder[1] / f"{name}.elect").exists():
                problems.append(f"{source}: no scenario {name}")
sys.exit("\n".join(problems) if problems else 0)
