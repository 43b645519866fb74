"""Faults seeded on purpose: what the text is, what it becomes, and who must notice.

A mutant is killed by a scenario whose story changes, or by the storms of an algorithm, which then
print a command that shows the same failure.
"""

MUTANTS = {
    "notes-order": {
        "why": "the active ring as the notes have it: the foreign number first, the own one then",
        "file": "active_ring.c",
        "find": "    forward(p, ELECT, me(p), JOINS);\n    forward(p, ELECT, j, JOINS);\n",
        "replace": "    forward(p, ELECT, j, JOINS);\n    forward(p, ELECT, me(p), JOINS);\n",
        "scenario": "active-ring/notes-order",
        "shows": "1 < 4 ELECT(1): its own number is back, the list is complete -> 1 leads",
    },
    "round-chase": {
        "why": "a process that is behind is told of rounds that are not decided yet",
        "file": "hop.c",
        "find": "tell = (over && is(p, NORMAL))",
        "replace": "tell = over",
        "storm": "chang-roberts",
    },
    "round-forgotten": {
        "why": "the round does not survive a crash",
        "file": "hop.c",
        "find": "    p->out->persist = true;\n",
        "replace": "",
        "scenario": "active-ring/former-life",
        "shows": "no agreement: 1 follows 1; 0 2 3 follow 3",
    },
    "late-elections": {
        "why": "a late ELECTION starts another one in a process that has just held one",
        "file": "bully.c",
        "find": "is(p, NORMAL) && !runs(p, DEADLINE_TIMER)",
        "replace": "is(p, NORMAL)",
        "scenario": "bully/late-elections",
        "shows": "2 answers OK and begins an election itself",
    },
    "no-deadline": {
        "why": "who got an OK waits for ever",
        "file": "bully.c",
        "find": "        start(p, DEADLINE_TIMER);\n",
        "replace": "",
        "scenario": "bully/took-over-dies",
        "shows": "violated no-stuck-participant",
    },
    "first-outcome-counts": {
        "why": "of two that are elected in a round the first one heard of counts",
        "file": "chang_roberts.c",
        "find": "outranked(p, x) || passed_on(p, ELECTED, x)",
        "replace": "decided(p)",
        "scenario": "chang-roberts/joins-late",
        "shows": "no agreement: 0 follows 0; 1 follows 1",
    },
    "no-orphans": {
        "why": "a list whose head has died is passed on for ever",
        "file": "ring.c",
        "find": "announce(p, list, ORPHAN);",
        "replace": "nothing(p, PASSED_ON_BEFORE);",
        "scenario": "ring/orphan",
        "shows": "no outcome within T_ring",
    },
}
