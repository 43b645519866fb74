"""Tests the elect command as a user sees it: results, exit codes, error messages and bad usage."""

import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from lib.checks import check, report  # noqa: E402
from lib.containment import contain  # noqa: E402
from lib.elect_command import ELECT, ROOT, complains, run  # noqa: E402

contain()

SCENARIOS = pathlib.Path(ROOT) / "test" / "scenario"


def sim_json(*args, code=0):
    done = run("sim", *args, "-o", "json")
    check(f"exit of {args}", done.returncode == code, done.returncode, done.stderr)
    return json.loads(done.stdout)


def results():
    b1 = sim_json("--algorithm", "bully", "--processes", "0..7", "--down", "7", "--begin", "4")
    check("B1", b1 == {
        "algorithm": "bully", "agreed": True, "leader": 6,
        "follows": {str(i): 6 for i in range(7)}, "time": 4,
        "sent": {"total": 15, "ELECTION": 6, "OK": 3, "COORDINATOR": 6},
        "delivered": 12, "failed_hops": 0, "acks": 0, "heartbeats": 0, "violations": []}, b1)
    ring = sim_json("--algorithm", "ring", "--processes", "0..7", "--down", "7", "--begin", "2,5")
    check("R1", ring["sent"] == {"total": 28, "ELECTION": 14, "COORDINATOR": 14}, ring)
    check("R1", ring["failed_hops"] == 1 and ring["acks"] == 28, ring)
    ring = sim_json("--algorithm", "ring", "--processes", "0..7", "--down", "7", "--begin", "2,5", "--form", "multicast")
    check("R1 B", ring["sent"] == {"total": 26, "ELECTION": 14, "LEADER": 12}, ring)
    chang = sim_json("--algorithm", "chang-roberts", "--processes", "3,32,5,80,6,12", "--begin", "3")
    check("C1", chang["sent"] == {"total": 15, "ELECTION": 9, "ELECTED": 6} and chang["leader"] == 80, chang)
    active = sim_json("--algorithm", "active-ring", "--processes", "1..4", "--down", "1,4", "--begin", "2")
    check("R3", active["sent"] == {"total": 4, "ELECT": 4} and active["failed_hops"] == 2, active)
    default = sim_json("--processes", "8")
    check("defaults", default["algorithm"] == "bully" and default["leader"] == 7, default)
    split = sim_json("--processes", "5", "--leader", "4", "--cut", "0,1,2/3,4@0", "--begin", "0", code=2)
    check("split", split["leader"] is None and not split["agreed"], split)
    check("split", split["follows"] == {"0": 2, "1": 2, "2": 2, "3": 4, "4": 4}, split)
    healed = sim_json("--processes", "5", "--leader", "4", "--cut", "0,1,2/3,4@0", "--begin", "0", "--heal", "9",
                      "--detector", "on")
    check("healed", healed["leader"] == 4 and healed["heartbeats"] > 0, healed)
    crashed = sim_json("--processes", "5", "--crash", "4@3", "--recover", "4@50", "--detector", "on")
    check("crash and recover", crashed["leader"] == 4 and crashed["time"] > 50, crashed)


def statistics():
    args = ["--processes", "8", "--begin", "all", "--runs", "500", "--seed", "1", "--loss", "0.1", "--crash-rate", "0.05"]
    s = sim_json("--algorithm", "bully", *args)
    check("runs", s["agreed"] == 500 and s["violations"] == 0 and s["runs"] == 500, s)
    for number in (s["time"], s["sent"]["total"], s["sent"]["OK"], s["delivered"], s["acks"], s["heartbeats"]):
        check("spread", set(number) == {"mean", "min", "max"} and number["min"] <= number["mean"] <= number["max"], number)
    check("runs differ", s["sent"]["total"]["min"] < s["sent"]["total"]["max"], s)
    again = run("sim", "--algorithm", "bully", *args, "-o", "json")
    check("same seed, same bytes", json.loads(again.stdout) == s)
    one = sim_json("--algorithm", "ring", "--processes", "8", "--runs", "1", "--seed", "7", "--loss", "0.2", "--delay", "1..4")
    alone = sim_json("--algorithm", "ring", "--processes", "8", "--seed", "7", "--loss", "0.2", "--delay", "1..4")
    check("one run of a storm can be repeated alone", one["sent"]["total"]["max"] == alone["sent"]["total"], one, alone)
    text = run("sim", "--processes", "5", "--runs", "50")
    check("text", "agreed 50" in text.stdout and text.stderr == "", text.stdout, text.stderr)
    lost = run("sim", "--processes", "3", "--begin", "0", "--runs", "20", "--loss", "0.9", "--detector", "off")
    check("replay is printed", lost.returncode == 2 and "replay: elect sim --processes 3" in lost.stdout, lost)
    command = lost.stdout.split("replay: elect ")[1].split()
    check("replay works", run(*command).returncode == 2, command)


def large():
    chang = sim_json("--algorithm", "chang-roberts", "--processes", "200000", "--shuffle", "--seed", "7", "--begin", "all")
    check("large", chang["leader"] == 199999 and chang["sent"]["ELECTED"] == 200000 and "follows" not in chang, chang)
    bully = sim_json("--algorithm", "bully", "--processes", "1000", "--down", "999", "--begin", "all")
    check("large bully", bully["leader"] == 998 and bully["sent"]["total"] == 1000 * 1000 - 1000 - 1, bully)
    mean = sim_json("--algorithm", "chang-roberts", "--processes", "1000", "--shuffle", "--begin", "all", "--runs", "100")
    harmonic = 1000 * sum(1 / i for i in range(1, 1001))
    check("N H_N", abs(mean["sent"]["ELECTION"]["mean"] / harmonic - 1) < 0.03, mean["sent"])
    delayed = sim_json("--algorithm", "chang-roberts", "--processes", "1000", "--shuffle", "--begin", "all", "--delay", "1..9")
    check("delays", delayed["agreed"] and delayed["leader"] == 999, delayed)
    led = [sim_json("--algorithm", "bully", "--processes", str(n), "--leader", str(n - 1), "--begin", "0") for n in (64, 65)]
    check("the lab knows the leader", [x["sent"]["total"] for x in led] == [4095, 4224], [x["sent"] for x in led])
    gaps = sim_json("--algorithm", "bully", "--processes", "100..199,5000", "--down", "5000", "--begin", "150")
    check("ids with gaps", gaps["leader"] == 199, gaps)


def bad_usage():
    complains(["sim", "--processes", "1,2,2"], "--processes", "2 is listed twice")
    complains(["sim", "--algorithm", "buly", "--processes", "3"], "did you mean bully?")
    complains(["sim", "--algorithm", "paxos", "--processes", "3"], "one of bully")
    complains(["sim", "--processes", "1,70000"], "70000 is out of range", "65535")
    complains(["sim", "--processes", "99999999999"], "--processes")
    complains(["sim", "--processes", "3", "--down", "7"], "7 is down but not in the cluster")
    complains(["sim", "--processes", "3", "--begin", "7"], "7 cannot begin: it is not in the cluster")
    complains(["sim", "--processes", "3", "--down", "1", "--begin", "1"], "1 cannot begin: it is down")
    complains(["sim", "--processes", "3", "--begin", "1,1"], "begins twice")
    complains(["sim", "--processes", "3", "--begin", ""], "expected the processes that begin")
    complains(["sim", "--processes", "0"], "empty")
    complains(["sim", "--processes", ""], "empty")
    complains(["sim"], "--processes")
    complains(["sim", "--processes", "3", "--down", "0..2"], "every process is down")
    complains(["sim", "--algorithm", "ring", "--processes", "1000000"], "at most 64 with ring")
    complains(["sim", "--algorithm", "active-ring", "--processes", "65"], "at most 64")
    complains(["sim", "--algorithm", "chang-roberts", "--processes", "17000000"], "at most 16000000")
    complains(["sim", "--algorithm", "bully", "--processes", "10000"], "at most 8192")
    complains(["sim", "--algorithm", "chang-roberts", "--processes", "65", "--loss", "0.1"], "above 64")
    complains(["sim", "--algorithm", "chang-roberts", "--processes", "65", "--crash", "1@5"], "above 64")
    complains(["sim", "--algorithm", "chang-roberts", "--processes", "65", "--cut", "1/2@5"], "above 64")
    complains(["sim", "--algorithm", "chang-roberts", "--processes", "65", "--trace", "text"], "above 64")
    complains(["sim", "--processes", "3", "--form", "multicast"], "form needs the ring algorithm")
    complains(["sim", "--algorithm", "ring", "--processes", "3", "--announce", "all"], "announce needs the bully algorithm")
    complains(["sim", "--processes", "3", "--loss", "1.5"], "--loss", "probability")
    complains(["sim", "--processes", "3", "--crash-rate", "x"], "--crash-rate", "probability")
    complains(["sim", "--processes", "3", "--delay", "0"], "--delay")
    complains(["sim", "--processes", "3", "--delay", "3..1"], "--delay")
    complains(["sim", "--processes", "3", "--crash", "1"], "needs a time")
    complains(["sim", "--processes", "3", "--crash", "9@1"], "9 is not in the cluster")
    complains(["sim", "--processes", "3", "--recover", "1@5"], "1 is not down")
    complains(["sim", "--processes", "3", "--crash", "1@5", "--crash", "1@6"], "1 is down already")
    complains(["sim", "--processes", "3", "--cut", "0,1@5"], "two parts")
    complains(["sim", "--processes", "3", "--cut", "0,1/1@5"], "both sides")
    complains(["sim", "--processes", "3", "--heal", "x"], "time")
    complains(["sim", "--processes", "3", "--leader", "9"], "9 leads but is not in the cluster")
    complains(["sim", "--processes", "3", "--runs", "0"], "--runs")
    complains(["sim", "--processes", "3", "--runs", "10", "--trace", "text"], "--runs")
    complains(["sim", "--processes", "3", "--seed", "-1"], "--seed")
    complains(["sim", "--processes", "3", "--seed"], "expected a value")
    complains(["sim", "--processes", "3", "--reorder=yes"], "has no value")
    complains(["sim", "--proceses", "3"], "did you mean --processes?")
    complains(["sim", "--processes", "3", "-x"], "unknown option")
    complains(["sim", "--processes", "3", "-o", "xml"], "--output", "xml")
    complains(["sim", "--processes", "3", "--rewrite"], "expected the scenario")
    complains(["sim", "--processes", "3", "-o", "json", "--trace", "text"], "--trace-file")
    complains(["sim", "--processes", "3", "--trace-file", "/nonexistent/x"], "/nonexistent/x")
    complains(["sim", SCENARIOS], "is a directory")
    for name in ("/nonexistent.elect", ""):
        missing = run("sim", name)
        check(f"no scenario {name!r}", missing.returncode == 74 and "No such file" in missing.stderr, missing)
    complains(["sim", SCENARIOS / "bully/best-case.elect", "--processes", "3"], "leave one of them out")
    complains(["sim", SCENARIOS / "bully/best-case.elect", SCENARIOS / "bully/late-ok.elect"], "expected only one scenario")
    complains(["sim", ELECT], "not a text file" if os.path.getsize(ELECT) < 1 << 20 else "too large")
    complains(["sim", "--processes", "5", "--down", "4", "--down", "3"], "--down", "given twice")
    complains(["sim", "--processes", "5", "--begin", "1", "--begin", "2"], "--begin", "given twice")
    complains(["sim", "--processes", "5", "--form", "circulate"], "form needs the ring algorithm")
    complains(["sim", "--processes", "5", "--loss", "."], "probability")
    complains(["sim", "--processes", "5", "--crash", "0@0", "--begin", "0"], "it crashes at time 0")
    complains(["sim", "--processes", "5", "--crash", "0@x"], "0@x", "is not a time")
    complains(["sim", "--processes", "5", "--crash", "3@5", "--recover", "3@2"], "3 is not down at that time")
    complains(["sim", "--processes", "5", "--cut", "0/1/2/3/4/0@1"], "both sides")
    complains(["sim", "--processes", "10", "--cut", "0/1/2/3/4/5/6/7/8@1"], "at most 8 parts")
    complains(["sim", "--processes", "5", "--heal", "1000000000000"], "is not a time")
    complains(["sim", "--processes", "5", "-v", "-o", "json"], "--verbose")
    complains(["sim", "--processes", "4294967294", "--down", "0..4294967293"], "at most 16000000")
    complains(["sim", "--processes", "5", "--begin", "0..4294967293"], "the cluster has fewer")
    complains(["sim", "--processes", "5", "--algorithm", "bu\nly\x1b[31m"], "bu?ly?[31m")
    complains(["sim", "--processes", "5", "--algorithm", "x" * 20000], "one of bully")
    mandate = ["sim", "--processes", 3, "--mandate", "majority"]
    complains([*mandate, "--lease", 4], "lease 4 leaves 2", "take 4")
    complains([*mandate, "--lease", 100, "--renewal", 40], "renewal 40 is more than a third of 97")
    complains([*mandate, "--drift", "0.5"], "below 0.5")
    complains([*mandate, "--witnesses", "0..2"], "no process may lead")
    complains([*mandate, "--witnesses", 1, "--observers", 1], "cannot be both")
    complains([*mandate, "--witnesses", 7], "7 has a role but is not in the cluster")
    complains([*mandate, "--detector", "off"], "needs the detector")
    complains([*mandate, "--leader", 2], "no process leads at first")
    complains([*mandate, "--days", 1], "use it only with --storm")
    complains([*mandate, "--storm", "--days", 0], "1 to 10000")
    complains([*mandate, "--storm", "--replay", "x"], "expected a seed")
    complains([*mandate, "--storm", "--begin", 1], "generates its own faults")
    complains(["sim", "--processes", 3, "--storm"], "add --mandate majority")
    complains(["sim", "--processes", 3, "--lease", 100], "needs mandate majority")
    complains(["sim", "--processes", 65, "--mandate", "majority"], "64")
    even = run("sim", "--processes", 4, "--mandate", "majority", "--begin", 3)
    check("elect warns of an even number of voters", even.returncode == 0 and "4 voters survive the loss of 1, as 3 voters do" in even.stderr, even)
    stormy = json.loads(run("sim", "--processes", 3, "--mandate", "majority", "--storm", "-o", "json").stdout)
    check("a storm", stormy["violations"] == [] and stormy["simulated_seconds"] >= 86400 and stormy["speed"] > 0
          and all(stormy["faults"][kind] > 0 for kind in ("crash", "cut", "pause", "slow disk", "replay", "garbled messages"))
          and stormy["faults"]["lost disk"] == 0 and stormy["not_promised"] == {} and stormy["offices"] > 100, stormy)
    child = subprocess.Popen([ELECT, "sim", "--processes", "3", "--mandate", "majority", "--storm", "--days", "10000"],
                             stdout=subprocess.PIPE, text=True)
    while int(pathlib.Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()[11]) <= 20:
        pass  # until the storm is running
    child.send_signal(signal.SIGINT)
    told, _ = child.communicate(timeout=60)
    check("an interrupted storm reports it", child.returncode == 2 and told.endswith("the rest was not simulated\n"), told)
    for beyond, kinds in (("clocks", ("frozen clock", "clock beyond the bound", "clock that jumps")),
                          ("disks", ("rolled-back disk", "lost disk", "clone", "clone in its place"))):
        found = json.loads(run("sim", "--processes", 3, "--mandate", "majority", "--storm", "--days", 4, "--beyond", beyond, "-o", "json").stdout)
        check(f"beyond {beyond}", found["violations"] == [] and found["beyond"] == beyond and found["not_promised"]
              and all(found["faults"][kind] > 0 for kind in kinds), found)
    shuffled = ["sim", "--processes", 5, "--algorithm", "ring", "--shuffle", "--mandate", "majority", "--storm", "--replay", 3]
    told = [[line for line in run(*shuffled, "--seed", seed).stdout.splitlines() if line.startswith("[")] for seed in (1, 1, 3)]
    check("a replay uses the same ring for the same seed", told[0] == told[1] != told[2])
    complains([*mandate, "--beyond", "clocks"], "use it only with --storm")
    complains([*mandate, "--save", "x.elect"], "use it only with --storm")
    complains([*mandate, "--storm", "--beyond", "everything"], "--beyond")
    complains([*mandate, "--storm", "--save", "/nonexistent/x"], "--save", "No such file")
    again = run("sim", "--processes", 3, "--mandate", "majority", "--storm", "--replay", 3).stdout
    check("a replay prints its story", "stands still for" in again or "crashes" in again, again[-300:])
    complains(["sim", "/dev/null"], "no step")
    complains(["smi"], "did you mean sim?")
    complains(["frobnicate"], "see elect --help")
    complains([], "expected a verb")
    complains([""], "the verb is empty")
    complains(["--conf", "demo/elect.conf", "status"], "demo/elect.conf: unknown verb, put the options after the verb")
    for option in ("-c", "--id", "-g"):
        complains(["status", option, ""], ": the value is empty")
    done = run("x" * 100000)
    check("a long verb is shortened", done.returncode == 64 and len(done.stderr) < 700 and "unknown verb" in done.stderr, len(done.stderr))
    complains(["--nonsense"], "unknown option, or its verb is missing")
    complains(["help", "smi"], "did you mean sim?")
    complains(["versoin"], "did you mean version?")
    complains(["version", "x"], "accepts none")
    complains(["help", "--bogus"], "see elect --help")
    for near in ("resgin", "trasnfer", "puase", "readmti"):  # a typo must not select a verb that disturbs a leader
        complains([near], "unknown verb, see elect --help")


def scenarios():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "b1.elect"
        source = (SCENARIOS / "bully/lecture-crash.elect").read_text()
        path.write_text(source)
        met = run("sim", path)
        check("the expectation is met", met.returncode == 0 and met.stderr == "", met)
        check("the story is shown", met.stdout == source.split("----\n")[1], met.stdout)
        as_json = sim_json(path)
        check("expectation", as_json["expectation"] == "met" and as_json["sent"]["total"] == 15, as_json)
        path.write_text(source.replace("-> 6 wins", "-> 5 wins"))
        differs = run("sim", path)
        check("the expectation is not met", differs.returncode == 1, differs.returncode)
        check("diff", "\n- [3] 7 did not answer within T -> 5 wins\n" in differs.stderr, differs.stderr)
        check("diff", "\n+ [3] 7 did not answer within T -> 6 wins\n" in differs.stderr, differs.stderr)
        check("diff shows nothing else", differs.stderr.count("\n") == 3, differs.stderr)
        path.chmod(0o640)
        check("rewrite", run("sim", "--rewrite", path).returncode == 0)
        check("rewritten", path.read_text() == source and path.stat().st_mode & 0o777 == 0o640, path.read_text())
        check("nothing left behind", os.listdir(folder) == ["b1.elect"], os.listdir(folder))
        path.write_text(source.split("----\n")[0].rstrip("\n"))
        check("rewrite adds", run("sim", "--rewrite", "-q", path).returncode == 0 and path.read_text() == source)
        path.write_text(source.rstrip("\n"))
        check("the last newline does not matter", run("sim", path).returncode == 0)
        path.write_bytes(b"\xef\xbb\xbf" + source.replace("\n", "\r\n").encode())
        check("carriage returns and a byte order mark do not matter", run("sim", path).returncode == 0)
        link = pathlib.Path(folder) / "link.elect"
        path.write_text(source.replace("-> 6 wins", "-> 5 wins"))
        link.symlink_to(path)
        check("rewrite through a link", run("sim", "--rewrite", "-q", link).returncode == 0)
        check("a link stays a link", link.is_symlink() and path.read_text() == source)
        link.unlink()
        complains(["sim", path, "--trace-file", path], "would be overwritten")
        check("the scenario is not overwritten", path.read_text() == source)
        complains(["sim", path, "--trace-file", f"{folder}/no/trace"], "No such file")
        complains(["sim", "--rewrite", "/dev/stdin"], "no step")
        path.write_text("processes 3\ncrash 2 at 0\ncrash 1\nsuspect 0\nrun\n")
        story = run("sim", path).stdout
        check("a crash without a time happens immediately", story.startswith("[0] 1 crashes\n[0] 0 has no leader"), story)
        path.write_text("processes 3\nsuspect 0\nrun\ndeliver 0 > 1 OK\n")
        complains(["sim", path], "b1.elect:4: no such message is in flight")
        before = path.read_text()
        complains(["sim", "--rewrite", path], "b1.elect:4")
        check("a bad scenario is not rewritten", path.read_text() == before)
        path.write_text("processes 3\nsuspect 0\nrun\nrunn\n")
        complains(["sim", path], "b1.elect:4", "did you mean run?")
        path.write_text("processes 3\nrun\n")
        check("no agreement", run("sim", path).returncode == 2)


def traces():
    args = ["--processes", "0..3", "--down", "3", "--begin", "1"]
    done = run("sim", *args, "--trace", "json")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    check("json trace", lines[0]["rule"] == "SUSPECTS" and lines[0]["sends"] == [{"to": [2, 3], "message": "ELECTION"}], lines[0])
    check("a lost message is traced", any(l.get("reason") == "receiver down" for l in lines), lines)
    check("the outcome stays on stdout", done.stdout.startswith("leader 2"), done.stdout)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace"
        done = run("sim", *args, "--trace-file", path, "-o", "json")
        check("trace file", path.read_text().startswith("[0] 1 suspects 3") and json.loads(done.stdout)["leader"] == 2, done)
    quiet = run("sim", *args, "-q")
    check("quiet", quiet.stdout == quiet.stderr == "" and quiet.returncode == 0, quiet)
    loud = run("sim", "--algorithm", "ring", *args, "-v")
    check("verbose", "ACK" in loud.stdout, loud.stdout)
    before = run("-o", "json", "sim", *args)
    check("options before the verb", json.loads(before.stdout)["leader"] == 2, before)


def manners():
    for args in (["--help"], ["help"], ["-h"], ["sim", "--help"], ["sim", "-h"], ["help", "--help"], ["help", "version"]):
        done = run(*args)
        check(args, done.returncode == 0 and done.stdout.startswith("usage:"), done)
    check("version", run("--version").stdout.startswith("elect 0.") and run("version").stdout == run("--version").stdout)
    none = run("sim", "--processes", "2", "--crash", "0@1", "--crash", "1@1")
    check("no process is up", none.returncode == 2 and "no process is up" in none.stdout, none.stdout)
    both = run("sim", "--processes", "5", "--crash-rate", "0.9", "--crash", "1@3", "--recover", "1@5", "--seed", "2")
    check("a running process does not recover", "] 1 recovers\n[5] 1 <" not in both.stdout, both.stdout)
    quoted = run("sim", "--processes", "3 5 9", "--begin", "3 5", "--runs", "20", "--loss", "0.9", "--detector", "off")
    check("the replay is quoted", "--processes '3 5 9' --begin '3 5'" in quoted.stdout, quoted.stdout)
    lower = run("sim", "--processes", "6", "--leader", "4", "--begin", "all", "--delay", "1..5", "--runs", "200")
    check("a lower leader violates nothing", "violations 0" in lower.stdout, lower.stdout)
    with open("/dev/full", "w") as full:
        done = subprocess.run([ELECT, "sim", "--processes", "3", "--trace", "json"], stdout=subprocess.DEVNULL, stderr=full)
        check("a lost trace is noticed", done.returncode == 74, done)
    with open("/dev/full", "w") as full:
        done = subprocess.run([ELECT, "sim", "--processes", "3"], stdout=full, stderr=subprocess.PIPE, text=True)
        check("a full disk is noticed", done.returncode == 74 and "standard output" in done.stderr, done)
    piped = run("sim", "--processes", "8", "--runs", "20000", "--loss", "0.1")
    check("no progress in a pipe", piped.stderr == "", piped.stderr)
    master, slave = pty.openpty()
    child = subprocess.Popen([ELECT, "sim", "--processes", "8", "--runs", "60000", "--loss", "0.1"],
                             stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 4096):
            shown += chunk
    except OSError:
        pass
    os.close(master)
    check("progress on a terminal", child.wait() == 0 and b"[#" in shown and b"runs" in shown, shown[:200])


for part in (results, statistics, large, bad_usage, scenarios, traces, manners):
    part()
report()
