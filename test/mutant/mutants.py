"""Faults seeded on purpose: what the text is, what it becomes, and who must notice."""

MUTANTS = {
    "notes-order": {
        "why": "the active ring as the notes have it: the foreign number first, the own one then",
        "file": "active_ring.c",
        "find": "    forward(p, ELECT, me(p), JOINS);\n    forward(p, ELECT, j, JOINS);\n",
        "replace": "    forward(p, ELECT, j, JOINS);\n    forward(p, ELECT, me(p), JOINS);\n",
    },
    "round-chase": {
        "why": "a process that is behind is told of rounds that are not decided yet",
        "file": "hop.c",
        "find": "tell = over && is(p, NORMAL)",
        "replace": "tell = over",
    },
}
