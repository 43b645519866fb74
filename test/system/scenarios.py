"""Finds scenario files that no test runs, and comments that name missing scenarios."""

import pathlib
import re
import sys

test = pathlib.Path(sys.argv[1])
listing = re.search(r"foreach folder, names : \{(.*?)\n\}", (test / "meson.build").read_text(), re.S)[1]
listed = {f"{folder}/{name}"
          for folder, names in re.findall(r"'([\w-]+)': \[(.*?)\]", listing, re.S)
          for name in re.findall(r"'([\w-]+)'", names)}
there = {f"{f.parent.name}/{f.stem}" for f in test.glob("scenario/*/*.elect")}
problems = [f"{name}: no test runs it" for name in sorted(there - listed)]
named = 0
for source in sorted((test.parent / "src/core").glob("*.c")):
    folder = re.search(r"in test/scenario/([\w-]+):", source.read_text())
    if folder:
        for name in re.findall(r"^ \*  (?:\d\.|   ).*\S  +([a-z][a-z-]{4,})$", source.read_text(), re.M):
            named += 1
            if f"{folder[1]}/{name}" not in there:
                problems.append(f"{source}: no scenario {name}")
if len(listed) < 40 or named < 15:
    problems.append(f"only {len(listed)} scenarios listed, {named} named: this test does not understand their format any more")
sys.exit("\n".join(problems) if problems else 0)
