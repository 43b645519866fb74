"""Checks that the systemd unit has the required settings, and that its exposure in systemd-analyze is low enough."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from lib.checks import skip  # noqa: E402

UNIT = pathlib.Path(sys.argv[1])
EXPOSURE = 1.5
WANTED = ["Type=notify", "KillMode=control-group", "User=elect", "RuntimeDirectory=elect", "StateDirectory=elect"]
problems = []

settings = [line for line in UNIT.read_text().splitlines() if line and not line.startswith(("#", "["))]
for line in WANTED:
    if line not in settings:
        problems.append(f"no {line}")
for name, pattern in (("RestartPreventExitStatus", r"(.* )?78( .*)?"), ("WatchdogSec", r"[0-9]+s"),
                      ("MemoryMax", r"[0-9]+M"), ("TasksMax", r"[0-9]+"), ("OOMPolicy", "continue")):
    values = [line.split("=", 1)[1] for line in settings if line.startswith(name + "=")]
    if len(values) != 1 or not re.fullmatch(pattern, values[0]):
        problems.append(f"{name}: {values}")

skipped = shutil.which("systemd-analyze") is None
if not skipped:
    # The copy keeps the file name, because systemd checks it, too.
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "elect.service"
        copy.write_text(UNIT.read_text().replace("/usr/bin/elect", "/bin/true"))
        security = subprocess.run(["systemd-analyze", "--no-pager", "security", "--offline=true", str(copy)],
                                  capture_output=True, text=True)
        verify = subprocess.run(["systemd-analyze", "--man=no", "verify", str(copy)], capture_output=True, text=True)
    said = re.search(r"Overall exposure level.*: ([0-9.]+)", security.stdout)
    print(said.group(0) if said else "systemd-analyze security prints no exposure level")
    if said is None or float(said.group(1)) > EXPOSURE:
        problems.append(f"exposed: {said and said.group(1)}, at most {EXPOSURE}; {security.stderr}")
    # systemd-analyze may also warn about other units of this machine.
    problems += [line for line in verify.stderr.splitlines() if "elect" in line]

for problem in problems:
    print(f"{UNIT.name}: {problem}", file=sys.stderr)
if skipped:
    skip("exposure of the unit", "needs systemd-analyze")
sys.exit(1 if problems else 0)
