#!/usr/bin/env python3
"""Injects random faults into clusters of real daemons: chaos.py ELECT SECONDS [SEED]

The test runs clusters of all sizes and algorithms one after the other, and injects faults of all kinds, several at a time.
Afterwards each cluster must elect a leader again, and the safety checker examines the evidence. The seed determines the faults,
but their effects also depend on the machine."""

import os
import random
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True
from lib.cases import SKIPPED  # noqa: E402
from lib.checks import Failure, NotHere, skip  # noqa: E402
from lib.containment import contain  # noqa: E402
from lib.namespace_cluster import NamespaceCluster, need_namespaces  # noqa: E402
from lib.processes import wait  # noqa: E402

ROUND = 60  # seconds of faults for each cluster
CALM = 300  # seconds until a member must lead again after the faults


class Nemesis:
    def __init__(self, cluster, dice):
        self.c, self.dice = cluster, dice
        self.stopped, self.due = set(), []  # stopped members; (time, function that undoes a fault)

    def some(self, names):
        return self.dice.choice(sorted(names)) if names else None

    def running(self):
        return [name for name in self.c.names if self.c.runs(name) and name not in self.stopped]

    def later(self, seconds, undo):
        self.due.append((time.monotonic() + seconds, undo))

    def undo(self, everything=False):
        now = time.monotonic()
        for entry in sorted(self.due, key=lambda e: e[0]):
            if everything or entry[0] <= now:
                self.due.remove(entry)
                entry[1]()

    def length(self, least, most):
        """Draws a random length. Short lengths are more likely."""
        return least * (most / least) ** self.dice.random()

    # ---- the faults ----

    def kill(self):
        name = self.some(self.running())
        if name:
            self.c.kill(name)
            self.later(self.length(0.05, 5), lambda: self.start(name))

    def start(self, name):
        if not self.c.runs(name):
            offset = self.dice.choice((None, None, 1_000_000, 5_000_000))
            self.c.start(name, **({} if offset is None else {"offset": offset}))

    def stop(self):
        name = self.some(self.running())
        if name:
            self.c.pause(name)
            self.stopped.add(name)
            self.later(self.length(0.1, 30), lambda: self.go_on(name))

    def go_on(self, name):
        if name in self.stopped:
            self.stopped.discard(name)
            if self.c.runs(name):
                self.c.go_on(name)

    def kill_all(self):
        names = [name for name in self.c.names if self.c.runs(name)]
        self.c.kill(*names)
        self.stopped -= set(names)
        for name in names:
            self.later(self.length(0.05, 1), lambda name=name: self.start(name))

    def cut(self):
        names = self.c.names[:]
        self.dice.shuffle(names)
        how, at = self.dice.choice(("part", "one-way", "link", "bridge")), self.dice.randrange(1, len(names))
        if how == "part":
            self.c.part(names[:at], names[at:])
        elif how == "one-way":
            self.c.cut(*[(names[0], other) for other in names[1:at + 1]])
        elif how == "link":
            self.c.part(names[:1], names[1:2])
        else:
            half = len(names) // 2
            self.c.part(names[1:half + 1], names[half + 1:])
        self.later(self.length(0.1, 8), self.c.heal)

    def weather(self):
        if self.c.weather:
            most, lost = self.length(0.001, 0.8), self.dice.uniform(0, 0.5)
            self.c.weather.set(0, most, lost, self.dice.uniform(0, 0.3))
            self.c.say(f"weather: up to {most * 1000:.0f} ms late, {lost * 100:.0f} % lost")
            self.later(self.length(0.2, 5), self.c.weather.set)

    def hand_over(self):
        for name in self.running():
            g = self.c.group(name)
            if g.get("leads"):
                self.c.note("hand-over", name, token=g["term"])
                self.c.elect(name, "resign")
                return

    def terminate(self):
        name = self.some(self.running())
        if name:
            self.c.note("hand-over", name)
            self.c.signal(name, signal.SIGTERM)
            wait(f"{name} ends", lambda: not self.c.runs(name))
            self.later(self.length(0.05, 3), lambda: self.start(name))

    def lose_state(self):
        """Deletes a member's state file while all other members run and remember that member, then readmits it."""
        name = self.some(self.running())
        if name is None or len(self.running()) < len(self.c.names) or self.due:
            return
        self.c.kill(name)
        self.c.state(name).unlink()
        done = self.c.elect(name, "readmit")
        if done.returncode != 0:
            raise Failure(f"elect readmit: {done.stderr}")
        self.c.start(name)

    def roll_back(self):
        """Restores an earlier copy of a member's state file. The daemon must refuse to run with it, and the member is then
        readmitted."""
        name = self.some(self.running())
        if name is None or len(self.running()) < len(self.c.names) or self.due:
            return
        kept = self.c.folder / "kept"
        self.c.kill(name)
        shutil.copy2(self.c.state(name), kept)
        self.c.start(name)
        self.c.leader(limit=CALM)
        self.c.kill(name)
        shutil.copy2(kept, self.c.state(name))
        self.c.start(name)
        if self.c.ended(name, CALM) != 78:
            raise Failure(f"{name} started with an earlier state, and its exit status is {self.c.daemons[name].returncode}, not 78")
        self.c.state(name).unlink()
        if self.c.elect(name, "readmit").returncode != 0:
            raise Failure("elect readmit")
        self.c.start(name)

    MOVES = (kill, kill, kill, stop, stop, stop, cut, cut, cut, cut, weather, weather, hand_over, terminate, kill_all, lose_state,
             roll_back)

    def rage(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.undo()
            self.dice.choice(self.MOVES)(self)
            pause = time.monotonic() + self.length(0.02, 2)
            while time.monotonic() < min(pause, end):
                self.undo()
                time.sleep(0.005)

    def calm(self):
        self.undo(everything=True)
        self.c.heal()
        if self.c.weather:
            self.c.weather.set()
        for name in list(self.stopped):
            self.go_on(name)
        for name in self.c.names:
            if not self.c.runs(name):
                if self.c.daemons[name].returncode in (74, 78):
                    raise Failure(f"{name} ended by itself, with {self.c.daemons[name].returncode}")
                self.c.start(name)
        return self.c.settle(limit=CALM)


def one_round(elect, seconds, dice):
    size = dice.choice(({"members": 3}, {"members": 5}, {"witness": True}))
    how = {"algorithm": dice.choice(("bully", "ring", "active-ring", "chang-roberts")), "networks": dice.choice((1, 1, 2)),
           "relay": dice.random() < 0.5}
    with NamespaceCluster(elect, **size, **how) as c:
        wrong = []
        try:
            c.begin()
            nemesis = Nemesis(c, dice)
            nemesis.rage(seconds)
            nemesis.calm()
            c.stop()
        except Failure as failure:
            wrong.append(str(failure))
            c.stop_helpers()
        problems, seen = c.judge()
        wrong += problems
        done = len(c.said)
        print(f"{len(c.names)} members{' (one a witness)' if c.witness else ''}, {how['algorithm']}, networks {how['networks']}"
              f"{', relay' if how['relay'] else ''}: {done} moves, {seen['offices']} offices, {seen['claims']} claims, "
              f"{seen['writes']} writes, {seen['refused']} refused{'' if not wrong else ': ' + '; '.join(wrong)}", flush=True)
        if wrong or os.environ.get("CHAOS_TELL"):
            c.tell(tail=60)
    return wrong


def main():
    contain()
    elect, seconds = sys.argv[1], float(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int.from_bytes(os.urandom(4), "little")
    try:
        need_namespaces()
    except NotHere as why:
        skip("chaos", why)
        return SKIPPED
    end, rounds, bad = time.monotonic() + seconds, 0, 0
    print(f"chaos for {seconds:.0f} s, seed {seed}", flush=True)
    while rounds == 0 or time.monotonic() < end:
        length = max(5, min(ROUND, end - time.monotonic()))
        bad += bool(one_round(elect, length, random.Random(f"{seed}/{rounds}")))
        rounds += 1
    print(f"{rounds} clusters, {bad} of them went wrong; again: tools/chaos {seconds:.0f} {seed}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
