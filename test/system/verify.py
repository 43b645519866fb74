"""Tests elect verify as a user sees it: properties that hold, violated properties, and counterexamples."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from lib.checks import check, report  # noqa: E402
from lib.containment import contain  # noqa: E402
from lib.elect_command import ELECT, ROOT, complains, run  # noqa: E402

contain()


def verify(*args, code=0):
    done = run("verify", *args, "-o", "json")
    check(f"exit of {args}", done.returncode == code, done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


def what_holds():
    """The algorithms have their properties under the assumptions of the lecture notes, and also with faults if a failure
    detector watches the leader."""
    for args in (["bully", 3], ["bully", 4], ["ring", 5], ["active-ring", 4], ["chang-roberts", 6],
                 ["chang-roberts", 4, "--crashes", 1], ["bully", 3, "--crashes", 1, "--recoveries", 1],
                 ["ring", 3, "--crashes", 1, "--form", "multicast"], ["active-ring", 3, "--crashes", 1],
                 ["chang-roberts", 3, "--losses", 1], ["ring", 3, "--losses", 1], ["active-ring", 3, "--losses", 1],
                 ["bully", 3, "--losses", 1, "--duplicates", 1], ["bully", 3, "--cuts", 1], ["bully", 3, "--joins", 1],
                 ["chang-roberts", 5, "--begin", "all"], ["ring", 4, "--begin", "1,3"]):
        found = verify("--algorithm", *args[:1], "--processes", *args[1:])
        check(f"{args} holds", found["verdict"] == "holds" and found["exhausted"], found)
        check(f"{args} reports all properties", [p["verdict"] for p in found["properties"]] == ["holds"] * 5, found["properties"])
        check(f"{args} fields", found["bound"] is None and found["counterexample"] is None and found["states"] > 10
              and found["transitions"] >= found["states"] - 1 and found["depth"] > 3, found)


def what_does_not():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bad.elect"
        for args in (["--processes", 3, "--timeouts", "any"], ["--processes", 3, "--joins", 1], ["--processes", 3, "--cuts", 1],
                     ["--algorithm", "chang-roberts", "--processes", 3, "--cuts", 1],
                     ["--algorithm", "ring", "--processes", 3, "--losses", 1, "--reorder", "--timeouts", "any"],
                     ["--algorithm", "active-ring", "--processes", 3, "--crashes", 1, "--recoveries", 1, "--timeouts", "any"]):
            found = verify(*args, "--property", "one-leader", "--save", path, code=1)
            check(f"{args} is violated", found["verdict"] == "violated" and found["counterexample"] == str(path), found)
            depth = found["properties"][0]["depth"]
            text = path.read_text()
            check(f"{args} names the property", f"Violates one-leader in {depth} moves" in text and "violated one-leader" in text, text)
            replay = run("sim", path)
            check(f"{args} replays", replay.returncode == 0 and replay.stderr == "", replay)
            path.write_text(text.split("----\n")[0])
            check(f"{args} is violated in the simulator, too", run("sim", path, "-q").returncode == 1)
            check("nothing left behind", os.listdir(folder) == ["bad.elect"], os.listdir(folder))
        # A counterexample to termination, a liveness property, ends in a cycle or a state of rest.
        found = verify("--processes", 2, "--down", 1, "--begin", 0, "--timeouts", "any", "--property", "termination",
                       "--save", path, code=1)
        text = path.read_text()
        check("an endless election is marked", "\nmark\n" in text and "violated termination" in text, text)
        check("the marked counterexample replays", run("sim", path).returncode == 0)
        # A property must also hold for an election started by a process that --begin does not list, such as one that joins
        # later.
        found = verify("--processes", "0,6,9", "--down", "0,6", "--leader", 0, "--joins", 1, "--cuts", 1,
                       "--property", "highest-wins", "--save", path, code=1)
        check("a joiner's election", found["properties"][0]["depth"] == 5 and run("sim", path).returncode == 0, found)
        link = pathlib.Path(folder) / "link.elect"
        link.symlink_to(path)
        verify("--processes", 3, "--timeouts", "any", "--property", "one-leader", "--save", link, code=1)
        check("a link stays a link", link.is_symlink() and "one-leader" in path.read_text())
        link.unlink()
        os.mkfifo(link)
        complains(["verify", "--processes", 3, "--timeouts", "any", "--property", "one-leader", "--save", link], "link.elect")
        link.unlink()
        complains(["verify", "--processes", 3, "--save", folder], "directory")
        path.write_text("precious")
        verify("--processes", 3, "--save", path)
        check("an old file stays if nothing is found", path.read_text() == "precious" and os.listdir(folder) == ["bad.elect"])


def numbers():
    with tempfile.TemporaryDirectory() as folder:
        kept = [pathlib.Path(folder) / f"{t}.elect" for t in (1, 2, 3)]
        for args, code in ((["--processes", 3, "--crashes", 1], 0),
                           (["--algorithm", "chang-roberts", "--processes", "7,6,5,4,3,2,1"], 0),
                           (["--processes", 4, "--timeouts", "any", "--property", "one-leader,agreement"], 1),
                           (["--processes", 4, "--cuts", 1, "--losses", 1, "--property", "one-leader"], 1),
                           (["--processes", 3, "--crashes", 1, "--recoveries", 1], 0),  # some worlds are part of a cycle
                           (["--processes", 3, "--cuts", 1], 0),
                           (["--processes", 2, "--down", 1, "--begin", 0, "--timeouts", "any", "--property", "termination"], 1),
                           (["--mandate", "majority", "--processes", 3, "--clocks", "bounded", "--witnesses", 0], 0),
                           (["--mandate", "majority", "--processes", 3, "--clocks", "beyond"], 1)):
            found = [verify(*args, "--threads", t, "--save", kept[t - 1], code=code) for t in (1, 2, 3)]
            for k in ("states", "transitions", "depth", "steps", "verdict", "properties"):
                check(f"{args}: threads do not change {k}", found[0][k] == found[1][k] == found[2][k], found)
            if code == 1:
                texts = {path.read_text() for path in kept}
                check(f"{args}: threads do not change the counterexample", len(texts) == 1, texts)
    one, four = (verify("--mandate", "majority", "--processes", 3, "--threads", t)["bytes_per_state"] for t in (1, 4))
    check("threads share their results: four need no more memory than one", four < 1.15 * one, four, one)
    all_crash = verify("--processes", 3, "--crashes", 1)
    highest = verify("--processes", 3, "--crashes", 1, "--crashing", 2)
    check("--crashing", highest["states"] < all_crash["states"], highest["states"], all_crash["states"])
    complains(["verify", "--processes", 3, "--crashing", 2], "--crashing: add --crashes")
    complains(["verify", "--processes", 3, "--crashes", 1, "--crashing", ""], "expected the processes that may crash")
    complains(["verify", "--processes", 3, "--begin", "1,1"], "1 begins twice")
    complains(["verify", "--processes", 3, "--crashes", 1, "--crashing", 7], "7 cannot crash")
    for algorithm in ("ring", "active-ring", "chang-roberts"):
        full, reduced = (verify("--algorithm", algorithm, "--processes", 4, "--property", "agreement,highest-wins", *r)
                         for r in ([], ["--reduce"]))
        check(f"{algorithm}: the reduction keeps the verdict", full["verdict"] == reduced["verdict"] == "holds", reduced)
        check(f"{algorithm}: the reduction has fewer states", reduced["states"] < full["states"] and reduced["reduction"], full, reduced)
    cut = verify("--algorithm", "ring", "--processes", 4, "--timeouts", "any", "--max-states", 5000, code=2)
    check("max-states", cut["bound"] == "max-states" and cut["verdict"] == "unknown" and not cut["exhausted"], cut)
    check("a bound that is just enough", verify("--processes", 3, "--max-states", 844)["exhausted"])
    verify("--processes", 3, "--max-states", 843, code=2)
    cut = verify("--algorithm", "ring", "--processes", 5, "--timeouts", "any", "--max-memory", "20M", code=2)
    check("max-memory", cut["bound"] == "max-memory" and cut["bytes_per_state"] * cut["states"] < 60e6, cut)
    cut = verify("--processes", 2, "--timeouts", "any", code=2)
    check("mailboxes that grow without limit are a bound", cut["verdict"] == "unknown" and not cut["exhausted"], cut)
    joined = verify("--processes", 3, "--down", 2, "--joins", 1, "--crashes", 1, "--recoveries", 1)
    without = verify("--processes", 3, "--down", 2, "--joins", 1, "--crashes", 1)
    check("a process that joined and crashed can recover", joined["states"] > without["states"], joined["states"], without["states"])
    child = subprocess.Popen([ELECT, "verify", "--algorithm", "ring", "--processes", "6", "--timeouts", "any", "-o", "json"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    while True:  # until /proc shows that the search is running
        ticks = pathlib.Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()[11]
        if int(ticks) > 20:
            break
    child.send_signal(signal.SIGINT)
    text, _ = child.communicate(timeout=60)
    check("interrupted", child.returncode == 2 and json.loads(text)["bound"] == "interrupted", child.returncode, text)


def mandate():
    majority = ["--mandate", "majority", "--processes", 3]
    found = verify(*majority, "--witnesses", 0, "--crashes", 1, "--terms", 1)
    names = {p["name"] for p in found["properties"]}
    check("with any clocks", names == {"one-per-term", "rising-grants", "released-last"} and found["mandate"]["restarts"] == 1, found)
    found = verify(*majority, "--witnesses", 0, "--clocks", "bounded")
    names = {p["name"] for p in found["properties"]}
    check("with clocks in bounds", names == {"one-per-term", "rising-grants", "released-last", "rising-tokens", "one-leader"}, found)
    check("the constants", found["mandate"]["lease"] == 20 and found["mandate"]["office"] == 9, found)
    text = run("verify", *majority, "--witnesses", 0, "--clocks", "bounded")
    check("the constants in the text", "D = 20, D_L = 9" in text.stdout and "terms up to 1" in text.stdout, text.stdout)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bad.elect"
        found = verify(*majority, "--clocks", "beyond", "--threads", 2, "--save", path, code=1)
        check("clocks beyond the bound", "one-leader" in {p["name"] for p in found["properties"] if p["verdict"] == "violated"}, found)
        check("its counterexample replays", run("sim", path).returncode == 0, path.read_text())
        kept = pathlib.Path(ROOT) / "test/scenario/counterexample/mandate-clocks-beyond.elect"
        check("the counterexample in test/scenario is the same", kept.read_text() == path.read_text())
    complains(["verify", *majority, "--losses", 1], "--losses is only for elections without a mandate")
    complains(["verify", *majority, "--algorithm", "ring"], "--algorithm", "leave it out")
    complains(["verify", *majority, "--property", "agreement"], "--property", "one-per-term")
    complains(["verify", *majority, "--terms", 0], "--terms", "from 1")
    complains(["verify", *majority, "--rounds", 4], "--rounds", "to 3")
    complains(["verify", *majority, "--rounds", 2], "--rounds needs --clocks bounded")
    complains(["verify", *majority, "--clocks", "none"], "--clocks")
    complains(["verify", "--mandate", "majority", "--processes", 9], "at most 8")
    complains(["verify", "--mandate", "majority", "--processes", 2, "--witnesses", "0,1"], "no process may lead")
    complains(["verify", "--processes", 3, "--clocks", "any"], "--clocks needs --mandate majority")
    complains(["verify", "--processes", 3, "--property", "one-per-term"], "--mandate majority")


def bad_usage():
    complains(["verify"], "no processes")
    complains(["verify", "--processes", 3, "--property", "one-leadr"], "did you mean one-leader?")
    complains(["verify", "--processes", 3, "--property", ""], "--list-properties")
    complains(["verify", "--processes", 17], "at most 16")
    complains(["verify", "--processes", 1], "at least 2")
    complains(["verify", "--processes", 3, "--begin", ""], "expected the processes that begin")
    complains(["verify", "--processes", 3, "--save", ""], "--save")
    complains(["verify", "--processes", 2, "--max-memory", "200K"], "not enough memory")
    complains(["verify", "--processes", 2, "--max-memory", "100K", "--threads", 4], "not enough memory")
    complains(["verify", "--algorithm", "ring", "--form", "multicast", "--processes", 3, "--reduce"], "--reduce is only for rings")
    complains(["verify", "--processes", 3, "--save", "/nonexistent/x"], "/nonexistent/x", "No such file")
    complains(["verify", "--processes", 3, "--recoveries", 1], "add --crashes")
    complains(["verify", "--processes", 3, "--joins", 3], "--joins")
    complains(["verify", "--processes", 3, "--reduce"], "--reduce is only for rings")
    complains(["verify", "--algorithm", "ring", "--processes", 3, "--crashes", 1, "--reduce"], "--reduce is only for rings")
    complains(["verify", "--algorithm", "ring", "--processes", 3, "--reduce", "--property", "one-leader"], "can check only")
    complains(["verify", "--processes", 3, "--max-memory", "lots"], "500M")
    complains(["verify", "--processes", 3, "--threads", 0], "1 to 8")
    complains(["verify", "--processes", 3, "--begin", 7], "7 cannot begin")
    complains(["verify", "--processes", 3, "--down", "0..2"], "every process is down")
    complains(["verify", "--processes", 3, "--crashes", "x"], "--crashes", "number")
    complains(["verify", "--processes", 3, "--timeouts", "never"], "--timeouts")
    complains(["verify", "--processes", 3, "bad.elect"], "bad.elect")
    complains(["verify", "--processes", 3, "--processes", 4], "given twice")
    listed = run("verify", "--list-properties")
    check("list", listed.returncode == 0 and "eventually-leader" in listed.stdout, listed)
    helped = run("verify", "--help")
    check("help", helped.stdout.startswith("usage:") and max(map(len, helped.stdout.splitlines())) <= 80, helped.stdout)


for part in (what_holds, what_does_not, numbers, mandate, bad_usage):
    part()
report()
