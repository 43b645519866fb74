"""Tests the safety checker: adds each kind of violation to correct evidence, and expects the checker to find it."""

import copy
import json
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
from lib.containment import contain  # noqa: E402
from lib.safety_checker import judge as judge_folder  # noqa: E402

T1, T2, T3 = 1 << 16 | 3, 2 << 16 | 2, 3 << 16 | 3


def claims(member, token, start, end, left=300, every=5):
    return [{"member": member, "token": token, "before": t * 1000 - 100, "after": t * 1000, "until": (t + left) * 1000 - 100}
            for t in range(start, end, every)]


def leads(term):
    return {"event": "leads", "text": "leads", "cause": "a majority of the voters granted the mandate", "term": term}


def stopped_leading(cause="its lease has run out"):
    return {"event": "stopped-leading", "text": "stopped leading", "cause": cause}


RIGHT = {
    "claims-c": claims("c", T1, 0, 1000) + claims("c", T3, 4000, 5000),
    "claims-b": claims("b", T2, 1400, 3000),
    "resource": [{"at": 1, "member": "c", "token": T1, "accepted": True}, {"at": 2, "member": "b", "token": T2, "accepted": True},
                 {"at": 3, "member": "c", "token": T1, "accepted": False}, {"at": 4, "member": "c", "token": T3, "accepted": True}],
    "nemesis": [],
    "c.log": [{"event": "started", "text": "starts"}, leads(T1), stopped_leading(), {"event": "follows", "text": "follows b"}, leads(T3)],
    "b.log": [{"event": "started", "text": "starts"}, leads(T2), {"event": "started", "text": "after kill -9"}],
}


def seen(evidence):
    return judge(evidence, 1)


def judge(evidence, part=0):
    with tempfile.TemporaryDirectory() as folder:
        for stem, entries in evidence.items():
            path = pathlib.Path(folder) / (stem if "." in stem else stem + ".jsonl")
            path.write_text("".join(json.dumps(entry) + "\n" for entry in entries) + '{"half a li')
        return judge_folder(folder)[part]


def overlap(e):
    e["claims-b"] = claims("b", T2, 1250, 3000)


def overlap_inside(e):
    e["claims-b"] += claims("b", T2, 4500, 4505, left=1)


def overlap_of_three(e):  # a short term within a long one must not hide the long one
    e["claims-b"] = claims("b", T2, 1400, 3900)
    e["claims-a"] = claims("a", T2 + 1, 1500, 1505)
    e["a.log"] = [leads(T2 + 1)]


def yes_too_late(e):
    e["claims-c"].append({"member": "c", "contradiction": {"leads": True, "left_us": -70000}})


def hand_over_too_early(e):  # the old leader still claims after the new leader does
    e["nemesis"] = [{"at": 900_000, "what": "hand-over", "member": "c", "token": T1}]
    e["claims-b"] = claims("b", T2, 950, 3000)


def hand_over_of_a_former_life(e):  # a hand-over before a restart excuses no overlap after it
    e["nemesis"] = [{"at": 100, "what": "hand-over", "member": "c"}, {"at": 200, "what": "started", "member": "c"}]
    e["claims-b"] = claims("b", T2, 1250, 3000)


def hand_over_of_another_member(e):
    e["nemesis"] = [{"at": 100, "what": "hand-over", "member": "a"}]
    e["claims-b"] = claims("b", T2, 1250, 3000)


def hand_over_of_another(e):
    e["nemesis"] = [{"at": 900_000, "what": "hand-over", "member": "c", "token": T3}]
    e["claims-b"] = claims("b", T2, 1100, 3000)


def one_term_two_members(e):
    e["claims-b"] = claims("b", T1, 1400, 3000)
    e["b.log"][1] = leads(T1)
    e["resource"][1]["token"] = T1


def one_term_two_logs(e):
    e["b.log"].append(leads(T1))


def reuse(e):
    e["c.log"] += [{"event": "started", "text": "starts"}, leads(T3)]


def smaller_token(e):
    e["claims-b"] = claims("b", T1 - 1, 1400, 3000)
    e["b.log"][1] = leads(T1 - 1)
    e["resource"][1].update(token=T1 - 1, accepted=False)


def stale_write(e):
    e["resource"][2]["accepted"] = True


def write_without_claim(e):
    e["resource"].append({"at": 5, "member": "a", "token": T3 + 1, "accepted": True})


def no_cause(e):
    e["c.log"][2] = stopped_leading(None)


def unlogged_loss(e):
    del e["c.log"][2]


def claim_unknown_to_the_log(e):
    del e["b.log"][1]


def succeeds_itself_with_less(e):
    e["b.log"].insert(2, leads(T2 - (1 << 16)))


def wrong_term_of_a_leader(e):
    e["c.log"][3] = {"event": "follows", "text": "follows b in term 2.3", "leader": "b", "term": T2 + 1}


def no_term_of_a_leader(e):
    e["c.log"][3] = {"event": "follows", "text": "follows b in term 0.0", "leader": "b"}


WRONG = [(overlap, "P3: c in term 1.3 and b in term 2.2 both led for 44.9 ms"), (overlap_inside, "P3"), (overlap_of_three, "P3"), (yes_too_late, "P3: c reported"),
         (hand_over_too_early, "P3"), (hand_over_of_another, "P3"),
         (hand_over_of_a_former_life, "P3"), (hand_over_of_another_member, "P3"), (one_term_two_members, "P1: b and c"),
         (one_term_two_logs, "P1: b and c"), (reuse, "P2: c began"), (smaller_token, "P2: the office of b"),
         (stale_write, "stale write: c wrote with 1.3 after 2.2"), (write_without_claim, "stale write: a wrote"),
         (no_cause, "no cause: c stopped leading"), (unlogged_loss, "no cause: c led in term 1.3"),
         (claim_unknown_to_the_log, "no cause: b claimed term 2.2"), (succeeds_itself_with_less, "no cause: b led in term 2.2"),
         (wrong_term_of_a_leader, "wrong words: c follows b"), (no_term_of_a_leader, "wrong words: c follows b")]


def handed_over(e):
    e["nemesis"] = [{"at": 900_000, "what": "hand-over", "member": "c", "token": T1}]
    e["claims-c"] = [c for c in e["claims-c"] if not 905_000 < c["after"] < 4_000_000]
    e["claims-b"] = claims("b", T2, 910, 3000)


def ended_by_a_signal(e):
    handed_over(e)
    e["nemesis"] = [{"at": 900_000, "what": "hand-over", "member": "c"}, {"at": 3_900_000, "what": "started", "member": "c"}]


def succeeds_itself(e):
    e["b.log"].insert(2, leads(T2 + (1 << 16)))


def log_lost(e):
    e["nemesis"] = [{"at": 0, "what": "log-lost", "member": "c"}]
    e["c.log"] = []


def main():
    failures = []
    for change in (None, handed_over, ended_by_a_signal, succeeds_itself, log_lost):
        evidence = copy.deepcopy(RIGHT)
        if change is not None:
            change(evidence)
        if judge(evidence) or seen(evidence)["offices"] != 3:  # no term is overlooked
            failures.append(f"{change and change.__name__}: the evidence is correct, but: {judge(evidence)}")
    for change, expected in WRONG:
        evidence = copy.deepcopy(RIGHT)
        change(evidence)
        if not any(problem.startswith(expected) for problem in judge(evidence)):
            failures.append(f"{change.__name__}: expected {expected!r}, not {judge(evidence)}")
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(WRONG)} kinds of wrong evidence, {len(failures)} kinds misjudged, right or wrong")
    return 1 if failures else 0


contain()
sys.exit(main())
