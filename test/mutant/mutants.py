"""Faults seeded on purpose, each with whoever must notice it, and the algorithms as the notes have them.

A mutant is (file, text, what it becomes, killer). Killers: "verify ARGUMENTS" finds a violation,
"sim ARGUMENTS" reaches no agreement (faults that open one round after another have endless histories),
"scenario NAME: WORDS" tells another story with these words in it, "storm ALGORITHM" fails and prints a
command that shows the same failure.
"""

MUTANTS = {
    # bully
    "no 2T deadline": (
        "bully.c", "        start(p, DEADLINE_TIMER);\n", "", "verify --processes 4 --down 3 --begin 0 --crashes 1"),
    "deadline heeded only while waiting": (
        "bully.c", "    if (is(p, NORMAL))\n        nothing(p, NOTHING);", "    if (!is(p, WAITING))\n        nothing(p, NOTHING);",
        "scenario bully/host-is-late: violated no-stuck-participant"),
    "OK not sent": (
        "bully.c", "    send(p, OK, only(j));\n", "",
        "scenario bully/lecture-crash: OK 0"),
    "winner tells nobody": (
        "bully.c", "    send(p, COORDINATOR, tells_all(p) ? others(p) : lower(p));\n", "", "verify --processes 3"),
    "COORDINATOR not followed": (
        "bully.c", "follow(p, j, FOLLOWS);", "nothing(p, FOLLOWS);", "verify --processes 3"),
    "answer timer runs on after an OK": (
        "bully.c", "        stop(p, ANSWER_TIMER);\n", "",
        "verify --processes 3 --down 2 --property one-leader"),
    "leader answers OK alone": (
        "bully.c", "        send(p, COORDINATOR, only(j));\n        nothing(p, LEADER_ANSWERS);",
        "        nothing(p, LEADER_ANSWERS);", "verify --processes 3 --leader 2"),
    "lower announcer not challenged": (
        "bully.c", "begin(p, LOWER_LEADS);", "nothing(p, ELECTION_IS_ON);",
        "scenario bully/lower-announces: no agreement"),
    "late elections set off others": (
        "bully.c", "is(p, NORMAL) && !runs(p, DEADLINE_TIMER)", "is(p, NORMAL)",
        "scenario bully/late-elections: 2 answers OK and begins an election itself"),
    # ring with a list
    "orphan not adopted": (
        "ring.c", "announce(p, list, ORPHAN);", "nothing(p, PASSED_ON_BEFORE);",
        "scenario ring/orphan: no outcome within T_ring"),
    "nobody adds itself to the list": (
        "ring.c", "with(list, me(p))", "list", "verify --algorithm ring --processes 3"),
    "announcement not passed on": (
        "ring.c", "        forward_list(p, COORDINATOR, announcer, list);\n", "",
        "sim --algorithm ring --processes 3"),
    "own list ignored": (
        "ring.c", "announce(p, list, LIST_BACK);", "nothing(p, LIST_BACK);", "sim --algorithm ring --processes 3"),
    "last announcement counts": (
        "ring.c", "if (outranked(p, highest(list))) {", "if (false) {", "scenario ring/joins-late: only passes it on"),
    # ring with an active list
    "foreign number first, as in the notes": (
        "active_ring.c", "    forward(p, ELECT, me(p), JOINS);\n    forward(p, ELECT, j, JOINS);\n",
        "    forward(p, ELECT, j, JOINS);\n    forward(p, ELECT, me(p), JOINS);\n",
        "scenario active-ring/notes-order: its own number is back, the list is complete -> 1 leads"),
    "number passed on but not added": (
        "active_ring.c", "        become_active(p, j);\n        forward(p, ELECT, j, ADDS);",
        "        forward(p, ELECT, j, ADDS);", "verify --algorithm active-ring --processes 3"),
    "own number not sent on joining": (
        "active_ring.c", "    forward(p, ELECT, me(p), JOINS);\n", "",
        "sim --algorithm active-ring --processes 3"),
    "list decided upon the lowest": (
        "active_ring.c", "        follow(p, highest(active(p)), DECIDES);", "        lead(p, DECIDES);",
        "verify --algorithm active-ring --processes 3"),
    # Chang & Roberts
    "lower number passed on instead of replaced": (
        "chang_roberts.c", "forward(p, ELECTION, me(p), REPLACES_LOWER);", "nothing(p, REPLACES_LOWER);",
        "sim --algorithm chang-roberts --processes 3"),
    "higher number swallowed": (
        "chang_roberts.c", "        forward(p, ELECTION, x, PASSES_HIGHER);", "        nothing(p, PASSES_HIGHER);",
        "sim --algorithm chang-roberts --processes 3"),
    "ELECTED not passed on": (
        "chang_roberts.c", "        forward(p, ELECTED, x, ELECTED_FOLLOWS);\n", "",
        "sim --algorithm chang-roberts --processes 3"),
    "participant not cleared by ELECTED": (
        "chang_roberts.c", "        follow(p, x, ELECTED_FOLLOWS);\n", "",
        "sim --algorithm chang-roberts --processes 3"),
    "dead number circles": (
        "chang_roberts.c", "if (passed_on(p, ELECTION, x)) {", "if (false) {",
        "verify --algorithm chang-roberts --processes 3 --crashes 1"),
    "first of two outcomes counts": (
        "chang_roberts.c", "outranked(p, x) || passed_on(p, ELECTED, x)", "decided(p)",
        "scenario chang-roberts/joins-late: no agreement"),
    # links of the ring
    "undecided rounds are told": (
        "hop.c", "tell = (over && is(p, NORMAL))", "tell = over", "storm chang-roberts"),
    "round forgotten in a crash": (
        "hop.c", "    p->out->persist = true;\n", "", "scenario active-ring/former-life: no agreement"),
    "silent successor not remembered": (
        "hop.c", "        node->silent |= only(node->next);\n", "        ;\n",
        "verify --algorithm chang-roberts --processes 3 --crashes 1"),
    "hop not acknowledged": (
        "hop.c", "        acknowledge(p, from, m, tell ? p->node->round : 0);", "        ;",
        "verify --algorithm ring --processes 3 --crashes 1"),
    "ring timer never started": (
        "hop.c", "    start(p, ELECT_RING_TIMER);\n", "",
        "verify --algorithm chang-roberts --processes 3 --crashes 1"),
    "silence ends with no round": (
        "hop.c", "node->active = node->silent = node->passed[0]", "node->active = node->passed[0]",
        "scenario ring/left-out: + [14] 0 < 2 ELECTION[3 0 1 2]"),
    # failure detector
    "lower leader not challenged": (
        "detector.c", "        p->algorithm->begin(p, LOWER_LEADS);", "        nothing(p, LOWER_LEADS);",
        "scenario ring/left-out: 3 notices that nobody leads"),
    "higher leader not followed": (
        "detector.c", "    follow(p, j, FOLLOWS_HEARTBEAT);", "    nothing(p, FOLLOWS_HEARTBEAT);",
        "verify --processes 3 --cuts 1"),
}

# As the notes have them, without our repairs: (file, text, what it becomes) ..., and what `elect verify` is
# asked. Its counterexample is kept in the file of that name beside this one. The notes know no ring timer; the list that circles, no timer can stop.
NO_RING_TIMER = ("hop.c", "    start(p, ELECT_RING_TIMER);\n", "")
NOTES = {
    "active-ring-notes-order": (
        [("active_ring.c", "    forward(p, ELECT, me(p), JOINS);\n    forward(p, ELECT, j, JOINS);\n",
          "    forward(p, ELECT, j, JOINS);\n    forward(p, ELECT, me(p), JOINS);\n"), NO_RING_TIMER],
        "--algorithm active-ring --processes 3 --begin 0"),
    "chang-roberts-without-rounds": (
        [("chang_roberts.c", "    new_round(p);\n", "    if (p->node->round == 0)\n        new_round(p);\n"), NO_RING_TIMER],
        "--algorithm chang-roberts --processes 3 --begin 0 --crashes 1 --crashing 2"),
    "ring-without-orphans": (
        [("ring.c", "announce(p, list, ORPHAN);",
          "p->node->passed[0] = 0;\n        forward_list(p, ELECTION, head, list);\n        nothing(p, APPENDS);")],
        "--algorithm ring --processes 3 --begin 0 --crashes 1 --property termination"),
}
