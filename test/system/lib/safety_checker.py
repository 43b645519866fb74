"""Checks whether a cluster was safe, only from its claims, writes and logs, without its code.

    safety_checker.py FOLDER

The folder has these files, with one JSON object per line:

    claims-MEMBER.jsonl  {"member", "token", "before", "after", "until"}: a client queried MEMBER's daemon at `before`, and the
                         daemon answered at `after` that it leads, so it claims the time [after, until]
                         {"member", "contradiction"}: the daemon answered that it leads, but that its lease had ended
    resource.jsonl       {"at", "member", "token", "accepted"}: the writes that a fenced resource received
    nemesis.jsonl        {"at", "what", "member"}: faults that matter to the checker: started, log-lost and hand-over. A
                         hand-over applies to the term with that "token" or, without a token, to every term of the process
                         until its next start. An answer of is-leader during a hand-over is true only at its instant
    MEMBER.log           the daemon's log, with -o json

Times are CLOCK_BOOTTIME of one machine, in microseconds. The checker does not use any daemon's clock."""

import json
import pathlib
import sys


def lines(path):
    """Returns the lines that are JSON. A killed process may leave an incomplete line."""
    found = []
    for line in path.read_text(errors="replace").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            found.append(entry)
    return found


class Evidence:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        said = [line for path in sorted(folder.glob("claims-*.jsonl")) for line in lines(path)]
        self.claims = [line for line in said if "token" in line]
        self.contradictions = [line for line in said if "contradiction" in line]
        self.writes = lines(folder / "resource.jsonl")
        self.nemesis = lines(folder / "nemesis.jsonl")
        self.logs = {path.stem: lines(path) for path in sorted(folder.glob("*.log"))}

    def done(self, what, member=None):
        return [n for n in self.nemesis if n["what"] == what and member in (None, n.get("member"))]


def hand_overs(evidence):
    """Returns (member, token or None, from, until) for each hand-over. During a hand-over the member may stop leading at any
    moment."""
    found = []
    for given in evidence.done("hand-over"):
        later = [start["at"] for start in evidence.done("started", given["member"]) if start["at"] > given["at"]]
        end = min(later, default=float("inf")) if "token" not in given else float("inf")
        found.append((given["member"], given.get("token"), given["at"], end))
    return found


def held(claim, given):
    """Returns the period that a claim counts for: the whole claim, but during a hand-over only the instant of the query."""
    start, until = claim["after"], claim["until"]
    for member, token, first, last in given:
        if member == claim["member"] and token in (None, claim["token"]) and first < until and start < last:
            until = min(until, max(first, claim["before"]))
    return start, until


def offices(evidence):
    """Returns (from, until, token, member) for each term of leadership, sorted by start."""
    found, given = {}, hand_overs(evidence)
    for claim in sorted(evidence.claims, key=lambda claim: claim["after"]):
        start, until = held(claim, given)
        key = claim["member"], claim["token"]
        if until < start and key not in found:
            continue  # true only at an instant before the answer arrived: no term of leadership starts here
        first, last = found.get(key, (start, until))
        found[key] = min(first, start), max(last, until)
    return sorted((first, last, token, member) for (member, token), (first, last) in found.items())


def name(token):
    return f"{token >> 16}.{token & 0xffff}"


def check_terms(evidence):
    """Checks P1: each token belongs to only one member, however wrong the clocks are."""
    owners, problems = {}, []
    for claim in evidence.claims:
        owners.setdefault(claim["token"], set()).add(claim["member"])
    for member, log in evidence.logs.items():
        for entry in log:
            if entry.get("event") == "leads":
                owners.setdefault(entry.get("term") or 0, set()).add(member)
    for token, members in sorted(owners.items()):
        if len(members) > 1:
            problems.append(f"P1: {' and '.join(sorted(members))} both led in term {name(token)}")
    return problems


def check_tokens(evidence):
    """Checks P2: no token is used twice, and a later term of leadership has a larger token."""
    problems = []
    for member, log in evidence.logs.items():
        led = [entry.get("term") or 0 for entry in log if entry.get("event") == "leads"]
        for token in sorted({token for token in led if led.count(token) > 1}):
            problems.append(f"P2: {member} began to lead in term {name(token)} twice")
    before = None
    for office in offices(evidence):
        if before is not None and office[2] <= before[2]:
            problems.append(f"P2: the office of {office[3]} in term {name(office[2])} began after the one of {before[3]} "
                            f"in term {name(before[2])}")
        before = office
    return problems


def check_overlaps(evidence):
    """Checks P3: no two members lead at the same time, and no member reports that it leads after its lease has ended."""
    problems, latest = [f"P3: {said['member']} reported that it leads after the end of its lease" for said in evidence.contradictions], None
    for office in offices(evidence):
        if latest is not None and latest[3] != office[3] and office[0] < latest[1]:
            problems.append(f"P3: {latest[3]} in term {name(latest[2])} and {office[3]} in term {name(office[2])} both led "
                            f"for {(min(latest[1], office[1]) - office[0]) / 1000:.1f} ms")
        if latest is None or office[1] > latest[1]:
            latest = office
    return problems


def check_writes(evidence):
    """Checks that the resource accepted no write of an earlier leader after one of a later leader, and that each leader wrote
    only with tokens that it had claimed."""
    problems, highest = [], 0
    for write in evidence.writes:
        if write["accepted"] and write["token"] < highest:
            problems.append(f"stale write: {write['member']} wrote with {name(write['token'])} after {name(highest)}")
        if write["accepted"]:
            highest = max(highest, write["token"])
    claimed = {(claim["member"], claim["token"]) for claim in evidence.claims}
    for pair in sorted({(write["member"], write["token"]) for write in evidence.writes} - claimed):
        problems.append(f"stale write: {pair[0]} wrote with {name(pair[1])}, which it never claimed")
    return problems


def check_causes(evidence):
    """Checks that a member logged each term that it claimed, and the cause whenever it lost leadership, unless its process
    ended. A leader that succeeds itself in a larger term, already promised by its voters, does not lose leadership."""
    problems = []
    for member, log in evidence.logs.items():
        if evidence.done("log-lost", member):
            continue
        term = None
        for entry in log:
            event, text = entry.get("event"), entry.get("text", "")
            if event == "stopped-leading" and not entry.get("cause"):
                problems.append(f"no cause: {member} stopped leading and does not say why")
            if term is not None and (event in ("follows", "no-leader") or (event == "leads" and (entry.get("term") or 0) <= term)):
                problems.append(f"no cause: {member} led in term {name(term)}, then: {text}")
            if event in ("leads", "stopped-leading", "started", "stopped", "follows", "no-leader"):
                term = entry.get("term") if event == "leads" else None
        said = {entry.get("term") for entry in log if entry.get("event") == "leads"}
        for token in sorted({claim["token"] for claim in evidence.claims if claim["member"] == member} - said):
            problems.append(f"no cause: {member} claimed term {name(token)}, which its log does not know")
    return problems


def check_words(evidence):
    """Checks that each follower logged a term of the leader that it follows."""
    problems = []
    owner = {(entry.get("term") or 0) & 0xffff: member for member, log in evidence.logs.items() for entry in log
             if entry.get("event") == "leads"}
    for member, log in evidence.logs.items():
        for entry in log:
            term = entry.get("term") or 0
            if entry.get("event") == "follows" and (" in term 0.0" in entry["text"] or (
                    term and owner.get(term & 0xffff, entry["leader"]) != entry["leader"])):
                problems.append(f"wrong words: {member} {entry['text']}")
    return problems


CHECKS = (check_terms, check_tokens, check_overlaps, check_writes, check_causes, check_words)


def judge(folder):
    """Returns the violations as text, and the amount of evidence of each kind."""
    evidence = Evidence(folder)
    problems = [problem for one in CHECKS for problem in one(evidence)]
    seen = {"offices": len(offices(evidence)), "claims": len(evidence.claims),
            "writes": sum(write["accepted"] for write in evidence.writes),
            "refused": sum(not write["accepted"] for write in evidence.writes)}
    return problems, seen


def main():
    problems, seen = judge(sys.argv[1])
    for problem in problems:
        print(problem)
    print(f"{seen['offices']} offices, {seen['claims']} claims, {seen['writes']} writes, {seen['refused']} refused: "
          f"{len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
