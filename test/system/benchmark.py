"""Tests bench/failover, which computes from the times when each contender claimed to lead for how long two of them led at once,
and which one led first after a fault. Also tests how bench/daemon reads a flight recorder page by page."""

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
    """Appends each part to a file of claims and reads the file again after each part, as the benchmark does while a contender
    writes. Returns all claims."""
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
same("a claim lasts until its end is recorded", c.spans, [[10, 905], [950, 951]])
same("the contender leads and is ready", (c.leads, c.is_ready), (True, True))
c = spans("b 1\nr 2\nc 1", "0\nc 1", "1\nb 40\n")
same("an incomplete line is read when it is complete, and a restart ends the old claim", c.spans, [[10, 11]])
same("a restarted contender is not ready yet", (c.leads, c.is_ready), (False, False))
c = spans("b 1\nr 2\nc 10\nc 20\n", "b 50\nr 51\nc 60\n", dies_after=0)
same("the claim of a killed contender ends at its last sample", c.spans, [[10, 20], [60, 60]])
c = spans("b 1\nr 2\nc 10\nc 20\n", dies_after=0)
same("a killed contender does not lead", (c.leads, c.is_ready), (False, False))
c = spans("b 1\nc 10\nc 20\ne 20\nc 40\nc 60\ne 61\n")
same("the first claim after a fault", [c.first_since(t) for t in (5, 15, 30, 61, 62)], [10, 15, 40, 61, None])
same("an empty file has no spans", spans().spans, [])

# ---- two leaders at the same time ----

same("one leader after the other", overlap([[[0, 10]], [[10, 20]], [[20, 30]]], 0, 100), 0)
same("two leaders overlap", overlap([[[0, 10]], [[7, 20]]], 0, 100), 3)
same("an overlap of three counts once", overlap([[[0, 10]], [[5, 20]], [[8, 12]]], 0, 100), 5 + 2)
same("two short claims within a long one", overlap([[[0, 100]], [[10, 20], [30, 35]]], 0, 100), 15)
same("only the time between the two limits counts", overlap([[[0, 100]], [[0, 100]]], 40, 60), 20)
same("a single sample within a claim of another contender", overlap([[[0, 100]], [[50, 50]], [[60, 70]]], 0, 100), 10)
same("no claims", overlap([[], [], []], 0, 100), 0)

# ---- the table ----

row = {"trials": [{"overlap_ms": 0.0, "calmed_down": True}, {"overlap_ms": 2.5, "calmed_down": True},
                  {"overlap_ms": 7.0, "calmed_down": False}]}
row["two_at_once"] = failover.two_at_once(row["trials"], "overlap_ms")
same("two leaders in two of three trials", failover.said_of_two(row), "in 2, up to 7.0 ms; in 1 to the end of the trial")
row["two_at_once"] = failover.two_at_once(row["trials"][:1], "overlap_ms")
same("no trial with two leaders", failover.said_of_two(row), "never")
names = [peer.name for module in (failover.elect, failover.etcd, failover.zookeeper, failover.keepalived, failover.corosync)
         for peer in module.rows("nowhere")]
same("every row has a name of its own", len(set(names)), len(names))
same("the row to which others are compared exists and comes first", names[0], failover.AGAINST)

# ---- bench/daemon: a flight recorder, page by page ----


class Recorder:
    """A fake flight recorder that answers page by page, like src/daemon/inquiry.c: `next` is the number of the first entry
    after the page, and `more` is false on the last page."""

    def __init__(self, entries, most):
        self.entries, self.most, self.finished = entries, most, False

    def ask(self, name, **request):
        if self.finished:
            raise EOFError("the reader requested a page after the last one")
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
