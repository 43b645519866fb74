"""What bench/failover makes of the claims that contenders wrote: how long two led at once, and who led first after a fault.
What bench/daemon makes of the pages of a flight recorder."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
from lib.checks import check, report  # noqa: E402
sys.path.insert(0, str(BENCH / "peers"))
from testbed import Claims, overlap  # noqa: E402


def program(name):
    loader = importlib.machinery.SourceFileLoader(name, str(BENCH / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


failover, daemon = program("failover"), program("daemon")


def same(what, found, wanted):
    check(what, found == wanted, found, "not", wanted)


def spans(*parts, dies_after=None):
    """Of a file that is read part by part, as it grows."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "claims"
        claims = Claims(path).read()
        for i, part in enumerate(parts):
            with open(path, "a") as file:
                file.write(part)
            claims.read()
            if i == dies_after:
                claims.died()
        return claims


# ---- claims ----

c = spans("b 1\nr 2\nc 10\nc 11\nc 900\ne 905\nc 950\nc 951\n")
same("a claim lasts as long as nothing else was said", c.spans, [[10, 905], [950, 951]])
same("it leads and contends", (c.leads, c.is_ready), (True, True))
c = spans("b 1\nr 2\nc 1", "0\nc 1", "1\nb 40\n")
same("half a line waits for its other half, and a new life ends an old claim", c.spans, [[10, 11]])
same("who has begun anew does not contend yet", (c.leads, c.is_ready), (False, False))
c = spans("b 1\nr 2\nc 10\nc 20\n", "b 50\nr 51\nc 60\n", dies_after=0)
same("who was killed has claimed until its last sample", c.spans, [[10, 20], [60, 60]])
c = spans("b 1\nr 2\nc 10\nc 20\n", dies_after=0)
same("who was killed leads no more", (c.leads, c.is_ready), (False, False))
c = spans("b 1\nc 10\nc 20\ne 20\nc 40\nc 60\ne 61\n")
same("the first claim after a fault", [c.first_since(t) for t in (5, 15, 30, 61, 62)], [10, 15, 40, 61, None])
same("nobody has written yet", spans().spans, [])

# ---- two at once ----

same("one after the other", overlap([[[0, 10]], [[10, 20]], [[20, 30]]], 0, 100), 0)
same("two", overlap([[[0, 10]], [[7, 20]]], 0, 100), 3)
same("three count once", overlap([[[0, 10]], [[5, 20]], [[8, 12]]], 0, 100), 5 + 2)
same("one within another, twice", overlap([[[0, 100]], [[10, 20], [30, 35]]], 0, 100), 15)
same("only between the two times", overlap([[[0, 100]], [[0, 100]]], 40, 60), 20)
same("a single sample within another's claim", overlap([[[0, 100]], [[50, 50]], [[60, 70]]], 0, 100), 10)
same("nobody", overlap([[], [], []], 0, 100), 0)

# ---- the table ----

row = {"trials": [{"overlap_ms": 0.0, "calmed_down": True}, {"overlap_ms": 2.5, "calmed_down": True},
                  {"overlap_ms": 7.0, "calmed_down": False}]}
row["two_at_once"] = failover.two_at_once(row["trials"], "overlap_ms")
same("two of three trials", failover.said_of_two(row), "in 2, up to 7.0 ms; in 1 to the end of the trial")
row["two_at_once"] = failover.two_at_once(row["trials"][:1], "overlap_ms")
same("none", failover.said_of_two(row), "never")
names = [peer.name for module in (failover.elect, failover.etcd, failover.zookeeper, failover.keepalived, failover.corosync)
         for peer in module.rows("nowhere")]
same("every row has a name of its own", len(set(names)), len(names))
same("what ratios are made with is a row, and the first", names[0], failover.AGAINST)

# ---- bench/daemon: a flight recorder, page by page ----


class Recorder:
    """Answers as src/daemon/inquiry.c does: `next` goes on counting, and `more` ends the reading."""

    def __init__(self, entries, most):
        self.entries, self.most, self.finished = entries, most, False

    def ask(self, name, **request):
        if self.finished:
            raise EOFError("it asks for a page after the last one")
        end = request["from"] + self.most
        self.finished = end >= len(self.entries)
        return {"messages": self.entries[request["from"]:end], "next": min(end, len(self.entries)),
                "more": not self.finished}


def counted(entries, most):
    try:
        return daemon.heartbeats(Recorder(entries, most), "a", 9, "REQUEST", "to")
    except EOFError as why:
        return str(why)


SENT, HEARD = {"event": "REQUEST", "to": "b"}, {"event": "REQUEST", "from": "b"}
same("heartbeats on three pages", counted([SENT, HEARD, SENT, SENT, {"event": "GRANT", "to": "b"}], 2), 3)
same("heartbeats on one page", counted([SENT, HEARD], 5), 1)
same("an empty recorder", counted([], 5), 0)

report()
