"""Lists the mutants, which are deliberate bugs, each with the test that must detect it. Also lists the algorithms exactly as the
lecture notes define them.

A mutant is (file, text, replacement, killer), or several edits (file, text, replacement) and one killer. Kinds of killers:

    verify ARGUMENTS      elect verify finds a violation
    sim ARGUMENTS         elect sim reaches no agreement (for bugs that start one round after another, whose histories are endless)
    scenario NAME: WORDS  the scenario fails, or is aborted, with these words in its output
    storm ALGORITHM       test_storm fails, and prints a command that shows the same failure
    storms OPTIONS        elect sim --storm violates a promise of the mandate
    unit SENTENCE         the unit test of that name fails. If the test is in another program than test_mandate, the first word
                          is codec, control, journal, loop, member, runtime, session or session_counters.
    groups COUNT          the property test fails in one of COUNT histories. The first word may also be attacker or disk.
    SUITE CASE            a system test, which runs real daemons, fails. The suites are explain, guardian, hooks, local_users,
                          orders, run, run_faults and work.
"""

MUTANTS = {
    # bully
    "the 2T deadline never starts": (
        "bully.c", "        start(p, DEADLINE_TIMER);\n        stand(", "        stand(", "verify --processes 4 --down 3 --begin 0 --crashes 1"),
    "the deadline counts only while the process waits": (
        "bully.c", "    if (is(p, NORMAL))\n        because(p, NOTHING);", "    if (!is(p, WAITING))\n        because(p, NOTHING);",
        "scenario bully/host-is-late: violated no-stuck-participant"),
    "OK is not sent": (
        "bully.c", "    send(p, OK, only(j));\n", "",
        "scenario bully/lecture-crash: OK 0"),
    "a notified process begins an election anyway": (
        "bully.c", "tells_lower(p) && is(p, NORMAL) && runs(p, DEADLINE_TIMER)", "false", "scenario bully/tell-lower: +"),
    "a notified process waits forever": (
        "bully.c", "tells_lower(p) && is(p, NORMAL) && runs(p, DEADLINE_TIMER)", "tells_lower(p) && is(p, NORMAL)", "verify --tell-lower --processes 3"),
    "a challenged process notifies lower ones, too": (
        "bully.c", "tells_lower(p) && why != CHALLENGED", "tells_lower(p)", "scenario bully/tell-lower: +"),
    "a notice does not imply that a higher process is alive": (
        "bully.c", "        because(p, IS_NOTIFIED);\n    } else {\n        upon_ok(p);", "        because(p, IS_NOTIFIED);\n    } else {\n        because(p, WAITS_ALREADY);", "scenario bully/tell-lower-two-initiators: +"),
    "the winner does not announce itself": (
        "bully.c", "    send(p, COORDINATOR, tells_all(p) ? others(p) : lower(p));\n", "", "verify --processes 3"),
    "COORDINATOR is not followed": (
        "bully.c", "        follow(p, j);\n        because(p, FOLLOWS);", "        because(p, FOLLOWS);", "verify --processes 3"),
    "the answer timer continues after an OK": (
        "bully.c", "        stop(p, ANSWER_TIMER);\n", "",
        "verify --processes 3 --down 2 --property one-leader"),
    "a leader answers with OK alone": (
        "bully.c", "        send(p, COORDINATOR, only(j));\n        because(p, LEADER_ANSWERS);",
        "        because(p, LEADER_ANSWERS);", "verify --processes 3 --leader 2"),
    "a lower announcer is not challenged": (
        "bully.c", "begin(p, LOWER_LEADS);", "because(p, ELECTION_IS_ON);",
        "scenario bully/lower-announces: no agreement"),
    "a late election starts further elections": (
        "bully.c", "is(p, NORMAL) && !runs(p, DEADLINE_TIMER)", "is(p, NORMAL)",
        "scenario bully/late-elections: 2 answers OK and begins an election itself"),
    # ring with a list
    "an orphan is not adopted": (
        "ring.c", "announce(p, list, ORPHAN);", "because(p, PASSED_ON_BEFORE);",
        "scenario ring/orphan: no outcome within T_ring"),
    "no process adds itself to the list": (
        "ring.c", "with(list, me(p))", "list", "verify --algorithm ring --processes 3"),
    "an announcement is not passed on": (
        "ring.c", "        forward_list(p, COORDINATOR, announcer, list);\n", "",
        "sim --algorithm ring --processes 3"),
    "a process ignores its own list": (
        "ring.c", "announce(p, list, LIST_BACK);", "because(p, LIST_BACK);", "sim --algorithm ring --processes 3"),
    "the last announcement counts": (
        "ring.c", "if (outranked(p, highest(list)))", "if (false)", "scenario ring/joins-late: it only passes the message on"),
    "a lower announced process is followed": (
        "ring.c", "highest(list) < me(p)", "false",
        "scenario ring/left-out-hears-it: follow: Assertion"),
    # the ring algorithm with an active list
    "the received number goes first, as in the notes": (
        "active_ring.c", "    forward(p, ELECT, me(p));\n    forward(p, ELECT, j);\n",
        "    forward(p, ELECT, j);\n    forward(p, ELECT, me(p));\n",
        "scenario active-ring/notes-order: 1's number has come back, so its list is complete -> 1 leads"),
    "a number is passed on but not added": (
        "active_ring.c", "        become_active(p, j);\n        forward(p, ELECT, j);",
        "        forward(p, ELECT, j);", "verify --algorithm active-ring --processes 3"),
    "a process that joins does not send its number": (
        "active_ring.c", "    forward(p, ELECT, me(p));\n    forward(p, ELECT, j);\n", "    forward(p, ELECT, j);\n",
        "sim --algorithm active-ring --processes 3"),
    "the lowest number of the list wins": (
        "active_ring.c", "        follow(p, highest(active(p)));", "        lead(p);",
        "verify --algorithm active-ring --processes 3"),
    # Chang & Roberts
    "a lower number is passed on instead of replaced": (
        "chang_roberts.c", "        forward(p, ELECTION, me(p));\n        because(p, REPLACES_LOWER);", "        because(p, REPLACES_LOWER);",
        "sim --algorithm chang-roberts --processes 3"),
    "a higher number is not passed on": (
        "chang_roberts.c", "        forward(p, ELECTION, x);\n", "",
        "sim --algorithm chang-roberts --processes 3"),
    "ELECTED is not passed on": (
        "chang_roberts.c", "        forward(p, ELECTED, x);\n", "",
        "sim --algorithm chang-roberts --processes 3"),
    "ELECTED does not end the participation": (
        "chang_roberts.c", "        follow(p, x);\n", "",
        "sim --algorithm chang-roberts --processes 3"),
    "the number of a dead process circles forever": (
        "chang_roberts.c", "x > me(p) && passed_on(p, ELECTION, x)", "false",
        "verify --algorithm chang-roberts --processes 3 --crashes 1"),
    "the first of two outcomes counts": (
        "chang_roberts.c", "outranked(p, x) || passed_on(p, ELECTED, x)", "decided(p)",
        "scenario chang-roberts/joins-late: no agreement"),
    "a lower elected process is followed": (
        "chang_roberts.c", "    } else if (x > me(p)) {\n        follow", "    } else if (x != me(p)) {\n        follow",
        "scenario chang-roberts/left-out-hears-it: follow: Assertion"),
    "a process believes its own former ELECTED": (
        "chang_roberts.c", "x == me(p) && leads(p)", "x == me(p)",
        "scenario chang-roberts/lost-disk: [11] 4 < 3 ELECTED(4): every process has seen the announcement"),
    # ring links
    "an undecided ring round is reported as decided": (
        "ring_links.c", "tell = (over && is(p, NORMAL))", "tell = over", "storm chang-roberts"),
    "the ring round is forgotten in a crash": (
        "ring_links.c", "    p->out->persist = true;\n", "", "scenario active-ring/former-life: no agreement"),
    "a silent successor is not remembered": (
        "ring_links.c", "        node->silent |= only(node->next);\n", "        ;\n",
        "verify --algorithm chang-roberts --processes 3 --crashes 1"),
    "a hop is not acknowledged": (
        "ring_links.c", "        acknowledge(p, from, m, tell ? p->node->saved.round : 0);", "        ;",
        "verify --algorithm ring --processes 3 --crashes 1"),
    "the ring timer is never started": (
        "ring_links.c", "    start(p, ELECT_RING_TIMER);\n", "",
        "verify --algorithm chang-roberts --processes 3 --crashes 1"),
    "a new round does not reset the silent processes": (
        "ring_links.c", "node->active = node->silent = node->passed[0]", "node->active = node->passed[0]",
        "scenario ring/left-out: + [14] 0 < 2 ELECTION[3 0 1 2]"),
    # failure detector
    "a lower leader is not challenged": (
        "detector.c", "        p->algorithm->begin(p, LOWER_LEADS);", "        because(p, LOWER_LEADS);",
        "scenario ring/left-out: 3 has no leader"),
    "a higher leader is not followed": (
        "detector.c", "    follow(p, j);\n", "",
        "verify --processes 3 --cuts 1"),
    # the mandate: voters
    "RELEASE drops any grant": (
        "voter.c", "    if (voter(p)->holder == owner && voter(p)->granted <= e)\n", "    if (true)\n", "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --terms 2"),
    "RELEASE drops any term of its owner": (
        "voter.c", "    if (voter(p)->holder == owner && voter(p)->granted <= e)\n", "    if (voter(p)->holder == owner)\n", "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --terms 2"),
    "a RELEASE closes the terms of all owners": (
        "voter.c", "    raise_term(&saved(p)->closed[owner], e);",
        "    for (unsigned i = 0; i < ELECT_MAX; i++)\n        raise_term(&saved(p)->closed[i], e);",
        "unit a closed term closes no term of another owner"),
    "the guard lets through any term of the owner": (
        "voter.c", "m->term != saved(p)->promised)", "elect__owner(p, saved(p)->promised) != c)",
        "unit a restarted voter waits for the longest lease"),
    "any RELEASE ends the guard": (
        "voter.c", "    if (elect__owner(p, saved(p)->promised) == owner && saved(p)->promised <= e)\n", "    if (true)\n",
        "unit the guard ends with what it protects"),
    "the guard forgets the longest lease": (
        "voter.c", "        saved(p)->longest = voter(p)->longest;", "        saved(p)->longest = 0;",
        "unit the guard is as long as the longest lease granted since"),
    "no guard after a start": (
        "node.c", "    if (s->longest > 0)\n        m->time[ELECT_GUARD] = now + s->longest;\n", "", "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --crashes 1"),
    "the guard uses the configured lease": (
        "voter.c", "        saved(p)->longest = m->lease > saved(p)->longest ? m->lease : saved(p)->longest;\n", "        saved(p)->longest = p->config->lease;\n",
        "unit a restarted voter waits for the longest lease"),
    "a smaller lease shortens a grant": (
        "voter.c", "        expires = *at(p, ELECT_EXPIRES); /* a shorter lease must not end the grant earlier */\n", "        ;\n",
        "unit a shorter lease does not shorten a grant"),
    "the first grant starts no lease": (
        "voter.c", "    *at(p, ELECT_EXPIRES) = expires;\n", "    if (voter(p)->granted == m->term)\n        *at(p, ELECT_EXPIRES) = expires;\n",
        "storms --processes 3 --seed 2"),
    "a voter grants during the lease of another process": (
        "voter.c", "    return (grant_is_live(p) && !holds_grant(p, c, m)) || (in_office(p)", "    return (in_office(p)", "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --terms 2"),
    "a voter grants to another incarnation of the holder": (
        "voter.c", "    return voter(p)->holder == c && voter(p)->holder_incarnation == m->incarnation;", "    return voter(p)->holder == c;", "unit another incarnation of the holder is a clone"),
    "stale terms are granted": (
        "voter.c", "    if (m->term < saved(p)->promised)\n        return ELECT_REFUSED_STALE;\n", "", "verify --mandate majority --processes 3 --terms 1 --crashes 1"),
    "closed terms are granted": (
        "voter.c", "    if (m->term <= saved(p)->closed[c])\n        return ELECT_REFUSED_CLOSED;\n", "",
        "unit a release ends its own grant and no other"),
    "a promise is not persisted": (
        "voter.c", "        saved(p)->longest = m->lease > saved(p)->longest ? m->lease : saved(p)->longest;\n        p->out->persist = true;\n",
        "        saved(p)->longest = m->lease > saved(p)->longest ? m->lease : saved(p)->longest;\n", "verify --mandate majority --processes 3 --terms 1 --crashes 1"),
    "a refusal raises the promise": (
        "voter.c", "    because(p, rules[why]);\n",
        "    because(p, rules[why]);\n    if (m->term > p->node->saved.promised)\n        p->node->saved.promised = m->term;\n",
        "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --crashes 1"),
    "PREVOTE changes the voter": (
        "voter.c", "    *p->node = as_it_is;\n", "    (void)as_it_is;\n", "unit a prevote is answered and changes nothing"),
    "a certificate is ignored": (
        "voter.c", "        close_term(p, m->certificate);\n", "        ;\n", "unit a certificate frees the voter"),
    "a candidate with a wrong membership uses a certificate": (
        "voter.c", "    if (elect__counts_wrongly(p, c, m) || m->lease == 0", "    if (m->certificate != 0)\n        close_term(p, m->certificate);\n    if (elect__counts_wrongly(p, c, m) || m->lease == 0",
        "unit a certificate frees the voter"),
    "a candidate is followed as if it led": (
        "voter.c", "    if (m->leading) {\n        presence(p)->heir = m->heir;\n        elect__follow_office", "    if (true) {\n        presence(p)->heir = m->heir;\n        elect__follow_office",
        "unit only a process that reports that it leads is followed"),
    "an observer votes": (
        "voter.c", "    if (votes(p, c, m))\n        answer", "    if (true)\n        answer",
        "unit an observer follows and does not vote"),
    "an observer follows an earlier office": (
        "voter.c", "    if (m->term < voter(p)->granted && presence(p)->follows != ELECT_NOBODY) {", "    if (false) {",
        "unit an observer follows and does not vote"),
    # how candidates win a mandate, and how leaders keep it
    "an answer to an earlier PREVOTE counts": (
        "office.c", "m->term != candidate(p)->asked || m->round != candidate(p)->prevote_round)", "m->term != candidate(p)->asked)",
        "unit answers to an earlier question do not count"),
    "a candidate raises its term without a PREVOTE": (
        "office.c", "    stand_for(p, ELECT_PREVOTING);\n    if (!elect__own_vote", "    stand_for(p, ELECT_CONFIRMING);\n    if (!elect__own_vote",
        "unit a member that has just started uses no term"),
    "a failed self-succession releases its term": (
        "office.c", "    if (asked && !in_office(p))\n", "    if (asked)\n",
        "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --terms 2"),
    "a candidate's own vote counts without a GRANT": (
        "office.c", "    leader(p)->round[i].voters = 0;\n", "    leader(p)->round[i].voters = only(me(p));\n",
        "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --rounds 2"),
    "a leader leads again in a term that is over": (
        "office.c", "    bool current = m->term == leader(p)->term &&\n                   (leader(p)->token == leader(p)->term || candidate(p)->stage == ELECT_CONFIRMING);",
        "    bool current = m->term == leader(p)->term;", "verify --mandate majority --processes 3 --terms 1 --crashes 1"),
    "an office is counted from the receipt of a GRANT": (
        "office.c", "*at(p, ELECT_SENT + i) + elect_office", "p->now + elect_office",
        "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --terms 2"),
    "D_L equals D": (
        "config.c", "    return lease * (million - drift) / (million + drift) - grain;",
        "    return lease + 0 * million * drift * grain;", "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --terms 2"),
    "the drift margin has the wrong sign": (
        "config.c", "lease * (million - drift) / (million + drift)",
        "lease * (million + drift) / (million - drift)", "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --terms 2"),
    "GRANTs are counted, not voters": (
        "office.c", "    leader(p)->round[i].voters |= only(from);\n", "        leader(p)->round[i].voters = leader(p)->round[i].voters << 1 | 1;\n",
        "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --terms 2"),
    "any GRANT renews from the newest round": (
        "office.c", "*at(p, ELECT_SENT + i) + elect_office", "*at(p, ELECT_SENT + (leader(p)->rounds - 1) % ELECT_ROUNDS) + elect_office",
        "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --terms 2"),
    "a majority is n/2": (
        "office.c", "return count(electorate) / 2 + 1;", "return count(electorate) / 2;", "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --terms 2"),
    "the GRANT of an observer counts": (
        "office.c", "    return count(some & m->voters) >= elect__quorum(m->voters) &&\n           count(some & m->before)", "    return count(some) >= elect__quorum(m->voters) &&\n           count(some)", "unit a grant of an observer does not count"),
    "a failed candidate keeps its grants": (
        "office.c", "    if (asked && !in_office(p))\n        elect__say", "    if (false)\n        elect__say",
        "unit a lost candidacy is released and tried again later"),
    "a candidate does not wait for a lease that it knows": (
        "office.c", "p->now + (waits == 0 ? back_off(p) : rest > 1 ? rest : 1);", "p->now + back_off(p);",
        "unit a lost candidacy is released and tried again later"),
    "no PREVOTE is sent": (
        "office.c", "    if (candidate(p)->certificate != 0 && candidate(p)->certificate == voter(p)->granted)\n        confirm_certified(p);", "    if (true)\n        confirm_certified(p);",
        "unit a nominee asks before it raises a term"),
    "an office outlives its lease": (
        "office.c", "    bool over = in_office(p) && !before(p, ELECT_UNTIL);", "    bool over = false;",
        "unit an office ends in time whatever event comes"),
    "a term is released before the work has stopped": (
        "office.c", "    leader(p)->working = true;\n", "    leader(p)->working = true;\n    elect__stopped(p);\n",
        "unit an office ends in time whatever event comes"),
    "the highest term is forgotten": (
        "office.c", "        raise_term(&p->node->mandate.seen, m->in_the_way);\n", "        ;\n", "storms --processes 3"),
    "a term is used twice": (
        "office.c", "elect_term_counter(highest) + 1,", "elect_term_counter(highest),", "verify --mandate majority --processes 3"),
    "a candidate never tries again": (
        "office.c", "    *at(p, ELECT_RETRY) = p->now + (waits == 0 ? back_off(p) : rest > 1 ? rest : 1);\n", "", "storms --processes 3"),
    "the wait for a refusal counts from the failure": (
        "office.c", "rest = waits - stood(p);", "rest = waits;", "unit a refusal lasts from the time of the answer"),
    "the wait for a refusal counts from the request": (
        "office.c", "(m->remaining > 0 ? (uint32_t)stood(p) : 0)", "0", "unit a refusal lasts from the time of the answer"),
    "a PREVOTE waits for a silent voter as long as a REQUEST": (
        "office.c", "candidacy == ELECT_PREVOTING && some < longest ? some : longest", "longest + 0 * some * candidacy",
        "unit a refusal lasts from the time of the answer"),
    "the wait for slow voters never doubles": (
        "office.c", "        some *= 2;\n", "        break;\n", "unit a candidate waits longer at every attempt"),
    "a run hands over before its work has stopped": (
        "run/keeper.c", "    tree_kill(&k->tree, ended, k);\n    tell_why_not(k);\n    if (k->job->terminal)", "    atomic_store(&k->page->phase, PHASE_EMPTY);\n    say_empty(k);\n    tree_kill(&k->tree, ended, k);\n    tell_why_not(k);\n    if (k->job->terminal)",
        "run yields-when-nothing-is-left"),
    "a frozen run starts its command": (
        "run/keeper.c", "    if (now < k->again || !is(k, PHASE_WORKING))", "    if (now < k->again)", "run restarts-of-a-frozen-run"),
    "a killed run hands over before its lease ends": (
        "daemon/run_queue.c", "    if (now < g->last) { /* a process", "    if (false) { /* a process", "guardian yields-after-the-last-promise"),
    "a run that works resigns": (
        "daemon/run_requests.c", "    if (c->stage == RUN_HOLDS || c->stage == RUN_LATE) {\n        run_connection_tell", "    if (false) {\n        run_connection_tell",
        "guardian resigns"),
    "a member whose runs fail does not back off": (
        "daemon/pace.c", "    f->until = now + delay;\n", "    f->until = now;\n", "work fails-everywhere"),
    "a member stands ready as soon as a run is healthy": (
        "daemon/work.c", "    if (aside && now < g->ready) {", "    if (false) {", "local_users flood-of-health"),
    "an unhealthy run works": (
        "daemon/run_queue.c", "        if (!is_waiting(c, group) || !c->healthy)", "        if (!is_waiting(c, group))",
        "work unhealthy-before-it-starts"),
    "an office without a healthy run is kept": (
        "daemon/run_queue.c", "    yield_if_unhealthy(w, group);\n", "    (void)yield_if_unhealthy;\n", "work unhealthy-while-another-works"),
    "a signal that the command survived excuses its failure": (
        "run/outcome.c", "(number != 0 && status == EXIT_SIGNAL + number)", "number != 0", "run signals-that-a-command-survives"),
    "a signal that the command survived prevents its next start": (
        "run/keeper.c", "        atomic_compare_exchange_strong(&k->page->ending, &survived, 0);\n", "        ;\n", "run signals-that-a-command-survives"),
    "a run is started again in the term that is over": (
        "run/keeper.c", "    k->job->go.term = atomic_load(&k->page->term);\n", "", "run restarts-of-a-frozen-run"),
    "elect run does not get the terminal's keys between two starts": (
        "run/keeper.c", "        tcsetpgrp(STDIN_FILENO, k->job->runner_group);\n    health_end", "        ;\n    health_end", "run terminal"),
    "a waiting run still counts after it disconnects": (
        "daemon/run_connection.c", "    if (!idle) /*", "    if (held) /*", "work only-with-a-runner"),
    "a nomination during the work is forgotten": (
        "handover.c", "    if (candidate(p)->nominated) /* the process was nominated while its work was stopping */\n        *at(p, ELECT_RETRY) = p->now;\n", "",
        "unit a successor that works waits until its work has stopped"),
    "a withdrawn candidate sends further requests": (
        "office.c", "    if (asked)\n        *at(p, ELECT_RENEW) = ELECT_UNSET;\n", "", "storms --processes 3"),
    "a leader starts no further rounds": (
        "office.c", "    *at(p, ELECT_RENEW) = p->now + p->config->renewal;\n", "", "storms --processes 3"),
    "a testament of a living leader is ignored": (
        "office.c", "        elect__end_office(p, TESTAMENT_OF_THE_LIVING);", "        because(p, COUNTS);",
        "unit a leader whose term was closed steps down immediately"),
    "a majority of stale refusals is ignored": (
        "office.c", "    if (elect__majority(p, leader(p)->stale)) {", "    if (false) {",
        "unit a majority that promised a larger term shows that clocks are wrong"),
    "the leader with the larger term gives way": (
        "office.c", "token != 0 && its > token;", "token != 0 && its != 0;",
        "unit of two leaders the one with the smaller term gives way"),
    "no leader gives way": (
        "voter.c", "    bool gives_way = elect__gives_way(p, c, m);", "    bool gives_way = false;",
        "scenario mandate/frozen-clock: a clock is wrong"),
    "the end of an office does not end its succession": (
        "office.c", "    candidate(p)->stage = ELECT_NO_CANDIDATE;\n    leader(p)->stale = 0;\n    candidate(p)->nominated", "    leader(p)->stale = 0;\n    candidate(p)->nominated",
        "unit a succession ends with its office"),
    "the old term is renewed during a self-succession": (
        "office.c", "    bool current = m->term == leader(p)->term &&\n                   (leader(p)->token == leader(p)->term || candidate(p)->stage == ELECT_CONFIRMING);",
        "    bool current = m->term == leader(p)->token || (m->term == leader(p)->term && candidate(p)->stage == ELECT_CONFIRMING);",
        "unit a leader that succeeds itself does not renew its old term"),
    "a failed self-succession is tried again": (
        "office.c", "candidate(p)->stage == ELECT_NO_CANDIDATE && leader(p)->term == leader(p)->token &&", "candidate(p)->stage == ELECT_NO_CANDIDATE &&",
        "unit a failed succession is not tried again"),
    "a self-succession is requested continuously": (
        "office.c", "        *at(p, ELECT_RETRY) = p->now + p->config->renewal;\n", "", "unit a leader requests its succession once per renewal"),
    "a leader counts its own terms as terms of another process": (
        "office.c", "    if (elect__owner(p, x) != me(p))\n        leader(p)->stale", "    if (true)\n        leader(p)->stale", "unit a leader requests its succession once per renewal"),
    "an office uses the lease configured now": (
        "office.c", "elect_office_length(p->config, m->lease)", "elect_office_length(p->config, p->config->lease)", "unit an office lasts for the requested lease"),
    "a new leader does not announce itself": (
        "office.c", "    elect__round(p);\n    because(p, TAKES_OFFICE);", "    because(p, TAKES_OFFICE);", "unit an office lasts for the requested lease"),
    "a longer lease is not persisted": (
        "voter.c", " || m->lease > saved(p)->longest ||", " ||",
        "unit a longer lease of the same term is persisted"),
    "any term of the owner ends the guard": (
        "voter.c", "elect__owner(p, saved(p)->promised) == owner && saved(p)->promised <= e)", "elect__owner(p, saved(p)->promised) == owner)",
        "unit only the end of the promised term ends the guard"),
    "a member is a candidate while its work continues": (
        "office.c", "ELECT_NO_CANDIDATE || leader(p)->working ||", "ELECT_NO_CANDIDATE ||", "unit a member is not a candidate while its work continues"),
    "a used term is forgotten at a restart": (
        "office.c", "    raise_term(&highest, saved(p)->used);\n", "    highest = leader(p)->rounds == 0 ? saved(p)->promised : highest;\n",
        "unit a term that was used is never used again"),
    "a witness may own terms": (
        "membership.c", "    if (!has(its->members, c))\n        return true;\n", "",
        "unit witnesses own no terms and observers do not count"),
    "a candidate waits for the last voter": (
        "office.c", "        best = elect__majority(p, sooner) && one < best ? one : best;\n", "        best = elect__majority(p, sooner) && (best == UINT32_MAX || one > best) ? one : best;\n",
        "unit a candidate waits only until a majority may grant"),
    "a silent voter counts as free": (
        "office.c", "    return candidate(p)->refused | candidate(p)->ayes | only(me(p)) | elect__granted_lately(p);", "    return voters(p);", "unit a voter that does not answer is not free"),
    "a refusal is never forgotten": (
        "office.c", "    forget_refusal(p, from);\n", "", "unit a grant replaces an earlier refusal of the voter"),
    "a late GRANT of the old term confirms the new one": (
        "office.c", "    bool current = m->term == leader(p)->term &&\n                   (leader(p)->token == leader(p)->term || candidate(p)->stage == ELECT_CONFIRMING);",
        "    bool current = (m->term == leader(p)->term || (in_office(p) && m->term == leader(p)->token)) && (in_office(p) || candidate(p)->stage == ELECT_CONFIRMING);",
        "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --terms 2"),
    "a renewed lease does not extend the guard": (
        "voter.c", "    voter(p)->longest = m->lease > voter(p)->longest ? m->lease : voter(p)->longest;\n", "", "unit the guard is as long as the longest lease granted since"),
    "a majority is half of an even number": (
        "office.c", "return count(electorate) / 2 + 1;", "return (count(electorate) + 1) / 2;", "verify --mandate majority --processes 2 --clocks bounded"),
    "a term is released while its process leads again": (
        "office.c", "ELECT_NO_CANDIDATE || leader(p)->working ||", "ELECT_NO_CANDIDATE ||",
        "unit a successor that works waits until its work has stopped"),
    "a term is released when its office ends": (
        "office.c", "    p->node->leader = ELECT_NOBODY;\n    because(p, why);\n}",
        "    p->node->leader = ELECT_NOBODY;\n    elect__say(p, voters(p), (message){.type = ELECT_RELEASE, .term = p->node->saved.used, .incarnation = p->node->saved.incarnation});\n    because(p, why);\n}",
        "verify --mandate majority --processes 3 --clocks bounded --witnesses 0"),
    "a candidate releases its term but remains a candidate": (
        "office.c", "        *at(p, ELECT_GIVE_UP) = end;\n    because(p, COUNTS);", "        *at(p, ELECT_GIVE_UP) = end;\n    if (candidate(p)->stage == ELECT_CONFIRMING)\n        elect__say(p, voters(p), (message){.type = ELECT_RELEASE, .heir = ELECT_NOBODY, .term = leader(p)->term, .incarnation = p->node->saved.incarnation});\n    because(p, COUNTS);",
        "unit a larger promise of one voter does not end a candidacy"),
    "a released term takes office": (
        "office.c", "(leader(p)->token == leader(p)->term || candidate(p)->stage == ELECT_CONFIRMING);", "true;", "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --terms 2"),
    "one promise of a larger term ends a candidacy": (
        "office.c", "    if (hopeless || !elect__majority", "    if (hopeless || stale || !elect__majority", "scenario mandate/grants-under-way: +"),
    "a stale candidacy waits for half a lease": (
        "office.c", "        *at(p, ELECT_GIVE_UP) = end;\n    because(p, COUNTS);", "        ;\n    because(p, COUNTS);", "unit a larger promise of one voter does not end a candidacy"),
    "a closed term is still requested": (
        "office.c", "bool hopeless = m->reason == ELECT_REFUSED_CLOSED || (stale && !asks);", "bool hopeless = stale && !asks;", "unit a closed term ends its candidacy at once"),
    "any release ends a back-off": (
        "office.c", "(office ? 0 : back_off(p));\n    if ((office || majority_waits(p) > 0) &&", "0;\n    if (", "scenario mandate/duelling-candidates: +"),
    "a released candidacy shortens a back-off": (
        "office.c", "(office || majority_waits(p) > 0) &&", "true &&", "unit a released candidacy shortens no back off"),
    "a released office causes a back-off": (
        "office.c", "(office ? 0 : back_off(p));", "back_off(p);", "unit a released office ends the wait of those who followed it"),
    "a candidate's own release ends its wait": (
        "voter.c", "    if (from != me(p))\n        elect__may_be_free", "    if (true)\n        elect__may_be_free", "unit a released candidacy ends the wait for its lease with a back off"),
    "a process follows a late echo of its own office": (
        "office.c", "    if (c == me(p) && !in_office(p))\n", "    if (false)\n", "unit an office ends in time whatever event comes"),
    "a vote of an earlier incarnation counts": (
        "node.c", " && m->incarnation != saved(p)->incarnation)", " && false)",
        "unit answers to an earlier life do not count"),
    "any term is believed": (
        "node.c", "m->term > last ||\n        m->certificate > last || m->pause > last_pause)", "m->pause > last_pause)", "unit an impossible term is malformed"),
    "the incarnation is not raised": (
        "node.c", "    s->incarnation++;\n", "", "unit answers to an earlier life do not count"),
    # hand-over, preemption
    "a resigned leader still leads": (
        "node.c", "    return elect_in_office(node, now) && !node->mandate.leader.handing;", "    return elect_in_office(node, now);",
        "unit a leader that resigns renews until its work stops"),
    "an office is handed over before the work has stopped": (
        "handover.c", "    because(p, how == ELECT_RESIGNING ? RESIGNS : GIVES_PLACE);",
        "    elect__stopped(p);\n    because(p, how == ELECT_RESIGNING ? RESIGNS : GIVES_PLACE);",
        "scenario mandate/released-before-the-work-stopped: hands over to"),
    "an office continues after its hand-over": (
        "handover.c", "        elect__end_office(p, HANDS_OVER);\n", "        ;\n",
        "verify --mandate majority --processes 3 --clocks bounded --witnesses 0 --hand-over"),
    "a resigned leader succeeds itself": (
        "office.c", "               !leader(p)->handing && !before(p, ELECT_RETRY)) {", "               !before(p, ELECT_RETRY)) {", "unit a leader that resigns does not succeed itself"),
    "the successor is not told": (
        "handover.c", "    if (next != ELECT_NOBODY)\n        elect__say", "    if (false)\n        elect__say",
        "unit an office is handed to the named member"),
    "an office goes to the heir, not to the named member": (
        "handover.c", "takes ? named : elect__heir(p);", "elect__heir(p);", "unit an office is handed to the named member"),
    "the lowest is the heir": (
        "presence.c", "    return of_a != of_b ? of_a < of_b : a > b;", "    return of_a != of_b ? of_a < of_b : a < b;",
        "unit a leader that resigns renews until its work stops"),
    "the heir may be a member that is no longer heard": (
        "handover.c", "elect__lately(p, presence(p)->heard) & ~only(me(p));", "others(p);", "unit a leader without a successor can resign"),
    "a hand-over does not nominate": (
        "voter.c", "!in_office(p) &&\n             m->term >= voter(p)->granted)", "false)", "unit a successor asks for a mandate immediately"),
    "a late hand-over nominates": (
        "voter.c", "!in_office(p) &&\n             m->term >= voter(p)->granted)", "!in_office(p))", "unit a late hand over is ignored"),
    "the heir does nothing": (
        "voter.c", "    if (heir && has(members(p), me(p)))", "    if (false)", "unit after a testament the heir asks and the others wait"),
    "the heir acts although elections are paused": (
        "voter.c", "m->heir == ELECT_NOBODY && !elect__paused(p) &&", "m->heir == ELECT_NOBODY &&", "unit after a testament the heir asks and the others wait"),
    "the heir acts although another member is named": (
        "voter.c", "presence(p)->heir == me(p) && m->heir == ELECT_NOBODY &&", "presence(p)->heir == me(p) &&", "unit after a release only the named heir asks"),
    "a former life releases": (
        "node.c", " && elect__of_a_former_life(p, in->from, m->incarnation))", " && false)", "unit messages of a former life do not concern the present one"),
    "an order is carried out in any term": (
        "handover.c", "ordered != 0 && ordered != leader(p)->token", "false", "storms --processes 3"),
    "an order is carried out twice": (
        "handover.c", "else if (leader(p)->handing)\n        because(p, RESIGNS_ALREADY);\n    else if (successor", "else if (successor", "storms --processes 3"),
    "a resignation adds no penalty": (
        "handover.c", "        elect__penalize(p, RESIGNATION);", "        ;", "unit penalties are halved"),
    "preemption adds a penalty": (
        "handover.c", "    if (hands == ELECT_RESIGNING)\n", "    if (hands)\n", "unit a leader gives its place to the fittest claimant"),
    "preemption works although it is not configured": (
        "handover.c", "    if (p->config->preempt && !elect__paused(p)", "    if (!elect__paused(p)", "unit a leader gives its place to the fittest claimant"),
    "preemption works although elections are paused": (
        "handover.c", "    if (p->config->preempt && !elect__paused(p)", "    if (p->config->preempt", "unit a leader gives its place to the fittest claimant"),
    "any claimant preempts": (
        "handover.c", "rest |= elect__displaces(p, j, me(p)) ? only(j) : 0;", "rest |= only(j);", "unit a leader gives its place to the fittest claimant"),
    "the first claimant preempts, not the fittest": (
        "handover.c", "to == first_claimant(p))", "true)", "unit a leader gives its place to the fittest claimant"),
    "a member claims the office immediately": (
        "presence.c", "= p->now + p->config->preempt_after;", "= p->now;", "unit a fitter follower claims after it has seen a majority long enough"),
    "a member claims the office without being fitter": (
        "presence.c", " || !elect__displaces(p, me(p), presence(p)->follows)) {", ") {", "unit a fitter follower claims after it has seen a majority long enough"),
    "a member that could not take the office blocks another": (
        "handover.c", "rest |= elect__displaces(p, j, me(p)) ? only(j) : 0;", "rest |= only(j);", "unit only a claimant that may displace the leader comes before another"),
    "a cluster that was never paused believes any pause": (
        "node.c", "farthest(saved(p)->pause, is_new, MAX_ROUNDS)", "farthest(saved(p)->pause, saved(p)->pause == 0 || is_new, MAX_ROUNDS)", "unit a pause spreads is persisted and prevents elections"),
    "a small difference of penalties moves an office": (
        "presence.c", "of_a < of_b / 2", "of_a < of_b", "scenario mandate/preemption-does-not-bounce: 1 is fitter and asks to lead"),
    # term counters
    "a new member ignores large terms": (
        "node.c", "bool is_new = p->node->mandate.seen == 0 || lost_state(p);", "bool is_new = lost_state(p);", "unit a new member believes a large counter"),
    "a readmitted member ignores large terms": (
        "node.c", "bool is_new = p->node->mandate.seen == 0 || lost_state(p);", "bool is_new = p->node->mandate.seen == 0;", "unit a member that lost its state believes what is remembered"),
    "a readmitted member calls a late grant malformed": (
        "node.c", "(lost_state(p) || m->incarnation <=", "(m->incarnation <=", "unit a member that lost its state ignores a late grant"),
    # presence
    "the suspicion timeout ignores clock drift": (
        "config.c", "(uint32_t)((3 * renewal * fast + slow - 1) / slow)", "3 * renewal + 0 * (uint32_t)(slow + fast)", "unit four of six voters always see a majority"),
    "a leader's own report counts as hearsay": (
        "presence.c", "its_leader == from ? LEADER_TELLS : IS_TOLD", "IS_TOLD", "unit a leader that reports itself is not hearsay"),
    "an election begins without a wait": (
        "presence.c", "        *at(p, ELECT_BEGIN) = p->now + p->config->answer_bound;\n    }\n    because", "        *at(p, ELECT_BEGIN) = p->now;\n    }\n    because",
        "unit a member that misses its leader waits for t before it begins an election"),
    "a process sees a member over a one-way link": (
        "presence.c", " & elect__lately(p, presence(p)->heard_me);", ";",
        "unit a majority must hear the member and be heard"),
    "a process sees a silent member forever": (
        "presence.c", "times[j] != ELECT_UNSET && times[j] >= since ?", "times[j] != ELECT_UNSET ?", "unit members that were heard long ago do not count"),
    "a process that sees no majority takes part": (
        "presence.c", " &&\n           elect__sees_majority(p);\n}", ";\n}", "unit members that were heard long ago do not count"),
    "a process outside the membership keeps a leader that it misses": (
        "detector.c", "        p->node->leader = ELECT_NOBODY;\n", "",
        "scenario mandate/added-while-others-stand-aside: no agreement"),
    "a member that stands aside takes part": (
        "presence.c", " && !stands_aside(p) &&\n           elect__sees_majority(p);\n}", " &&\n           elect__sees_majority(p);\n}", "unit a member that stands aside votes and takes no part"),
    "a member that stands aside blocks those with more penalties": (
        "presence.c", "presence(p)->able & ~presence(p)->aside;", "presence(p)->able;", "unit a member that stands aside is not fitter than another"),
    "a member that stands aside claims an office": (
        "presence.c", "elect__paused(p) || stands_aside(p) ||", "elect__paused(p) ||", "unit a member that stands aside claims no office"),
    "a candidate that stands aside does not withdraw": (
        "presence.c", "    if (aside && !in_office(p)) {", "    if (false) {", "unit a candidate that is told to stand aside withdraws"),
    "a member does not report that it stands aside": (
        "office.c", "    m.aside = stands_aside(p);\n", "", "unit a member that stands aside votes and takes no part"),
    "the heir may stand aside": (
        "handover.c", "members(p) & ~presence(p)->aside,", "members(p),", "unit a leader names no successor that stands aside"),
    "an office is handed to a member that stands aside": (
        "handover.c", "named != ELECT_NOBODY && !has(presence(p)->aside, named);", "named != ELECT_NOBODY;", "unit a leader names no successor that stands aside"),
    "a member that stands aside accepts a hand-over": (
        "voter.c", "else if (!stands_aside(p) && has(members(p), me(p))", "else if (has(members(p), me(p))", "unit a member that stands aside declines an office"),
    "a member that stands aside inherits by testament": (
        "voter.c", "!elect__paused(p) &&\n                !stands_aside(p);", "!elect__paused(p);", "unit a member that stands aside declines an office"),
    "penalties do not count": (
        "presence.c", "could_win(p) && (stays(p, m) || !is_outclassed(p));", "could_win(p);", "unit the fewest penalties come first"),
    "fewer penalties make even an unable member fitter": (
        "presence.c", "others(p) & presence(p)->able & ~presence(p)->aside;", "others(p) & ~presence(p)->aside;", "unit the fewest penalties come first"),
    "penalties are never forgotten": (
        "presence.c", "    presence(p)->penalties /= 2;\n", "", "unit penalties are halved"),
    "penalties have no limit": (
        "presence.c", "penalties < MOST_PENALTIES ? penalties : MOST_PENALTIES", "penalties", "unit penalties are halved"),
    "a start adds no penalty": (
        "node.c", "        m->presence.penalties = 1;\n", "", "scenario mandate/flapping-preemption: asks to lead"),
    "a failed candidacy adds no penalty": (
        "office.c", "    if (failed)\n        elect__penalize(p, 1);\n", "", "unit a failed candidacy is a penalty unless a lease prevented it"),
    "a candidate that must wait is penalized": (
        "office.c", "candidate(p)->stage == ELECT_CONFIRMING && waits == 0;", "candidate(p)->stage == ELECT_CONFIRMING;",
        "unit a failed candidacy is a penalty unless a lease prevented it"),
    "a follower of a leader begins an election": (
        "presence.c", "    if (asked && knows_leader(p))", "    if (false && knows_leader(p))", "unit a follower names its leader instead of electing"),
    "hearsay is passed on": (
        "presence.c", "            !presence(p)->told && before(p, ELECT_EXPIRES));", "            before(p, ELECT_EXPIRES));", "unit a member that hears of a leader waits and asks again"),
    "a process that was told of a leader never asks again": (
        "presence.c", "    *at(p, ELECT_LOOK) = p->now + left + 1;", "    *at(p, ELECT_LOOK) = ELECT_UNSET;", "unit a member that hears of a leader waits and asks again"),
    "hearsay of a closed term is believed": (
        "presence.c", "m->term <= saved(p)->closed[its_leader] ||", "", "unit a member that hears of a leader waits and asks again"),
    "a member whose work continues takes part": (
        "presence.c", " && !leader(p)->working &&", " &&", "unit a member that works takes no part"),
    "any message counts as an acknowledgement": (
        "node.c", "    if (!of_mandate(m->type))\n        p->node->silent", "    if (true)\n        p->node->silent", "scenario mandate/ring-with-deaf-neighbours: no agreement: 0 1 2 3 4 have no leader"),
    "a process that joined a ring round withdraws": (
        "presence.c", "(stays(p, m) || !is_outclassed(p))", "!is_outclassed(p)",
        "unit a member that joined a round of a ring stays"),
    "a pause in a message is ignored": (
        "presence.c", "    hear_of_pause(p, m->pause);\n", "", "unit a pause spreads is persisted and prevents elections"),
    "a pause is forgotten in a crash": (
        "presence.c", "    saved(p)->pause = pause;\n    p->out->persist = true;\n", "    saved(p)->pause = pause;\n",
        "unit a pause spreads is persisted and prevents elections"),
    "any pause is believed": (
        "node.c", "m->pause > last_pause)", "false)", "unit a pause spreads is persisted and prevents elections"),
    # membership
    "the previous electorate does not count": (
        "office.c", " &&\n           count(some & m->before) >= elect__quorum(m->before)", "", "groups 20000"),
    "only the previous electorate counts": (
        "office.c", "count(some & m->voters) >= elect__quorum(m->voters) &&\n           ", "", "groups 20000"),
    "a candidate with an earlier membership is granted": (
        "membership.c", "    return earlier(its, mine) || its->stamp == 0;", "    return its->stamp == 0;", "groups 40000"),
    "a larger term brings an earlier membership back": (
        "membership.c", "    return earlier(its, mine) || its->stamp == 0;", "    return (earlier(its, mine) && m->term <= mine->stamp) || its->stamp == 0;",
        "scenario mandate/late-request-of-a-term-never-won: 0 > 2 GRANT(3.2)"),
    "a change of membership is not adopted": (
        "voter.c", "    elect_time expires = p->now + m->lease;\n    elect__adopt(p, &m->membership);\n", "    elect_time expires = p->now + m->lease;\n", "groups 40000"),
    "an adopted change is forgotten in a crash": (
        "membership.c", "    *mine = *m;\n    p->out->persist = true;\n", "    *mine = *m;\n", "groups 20000"),
    "membership changes before the last change is confirmed": (
        "membership.c", "    } else if (m->before != m->voters || before(", "    } else if (before(", "unit a leader changes one voter at a time"),
    "a change affects two voters": (
        "membership.c", "count(m->voters ^ m->before) <= 1;", "true;", "unit a leader changes one voter at a time"),
    "a member that does not lead changes the membership": (
        "membership.c", "    if (!in_office(p) || leader(p)->handing) {", "    if (leader(p)->handing) {", "unit a leader changes one voter at a time"),
    "membership changes before the longest lease is over": (
        "membership.c", "before(p, ELECT_NEXT_CHANGE) ||\n", "\n", "unit a leader changes one voter at a time"),
    "a membership of another configuration is adopted": (
        "membership.c", "earlier(its, mine) || its->stamp == 0;", "earlier(its, mine);", "unit another membership or too long a lease is refused"),
    "a member without state votes immediately": (
        "membership.c", "    if (readmission(p)->stage == ELECT_ASKING) {", "    if (false) {", "groups 20000"),
    "a member without state has no guard": (
        "membership.c", "        *at(p, ELECT_GUARD) = p->now + longest(p);", "        *at(p, ELECT_GUARD) = p->now;", "groups 60000"),
    "a member without state waits only for its own lease": (
        "membership.c", "    uint32_t most = p->config->max_lease,", "    uint32_t most = p->config->lease,", "unit a member without state learns only from others"),
    "a member without state ignores the leases of others": (
        "membership.c", "    return known > most ? known : most;", "    return most;", "unit a member without state learns only from others"),
    "a member without state keeps its era": (
        "membership.c", "(ELECT_ERA(saved(p)->met[me(p)]) + 1) * ELECT_STARTS;", "saved(p)->met[me(p)] + 1;", "unit a member without state learns only from others"),
    "the new era of a member is not persisted": (
        "membership.c", "    if (m->incarnation != 0) /* the sender's new incarnation", "    if (false) /* its next life", "unit a member persists the new incarnation of a readmitted one"),
    "an answer to an earlier announcement counts": (
        "membership.c", "    if (m->last_met >= saved(p)->incarnation) /*", "    if (true) /*", "unit a member without state learns only from others"),
    "every restart counts as a loss of state": (
        "presence.c", "    return ELECT_ERA(life) < ELECT_ERA(who == me(p) ? saved(p)->incarnation : saved(p)->met[who]);", "    return life < (who == me(p) ? saved(p)->incarnation : saved(p)->met[who]);",
        "unit messages of a former life do not concern the present one"),
    "a leader follows another leader": (
        "voter.c", "    if (m->leading && !in_office(p)) {", "    if (m->leading) {", "unit of two leaders the one with the smaller term gives way"),
    "a member without state accepts answers to a former life": (
        "membership.c", "        m->question == readmission(p)->question && ", "        ", "unit a member without state learns only from others"),
    "a certificate of a former life counts": (
        "voter.c", " && !elect__of_a_former_life(p, owner, m->certified_by))", ")", "unit a certificate frees the voter"),
    "a grant does not record the incarnation": (
        "voter.c", " ||\n        m->incarnation != voter(p)->holder_incarnation) {", ") {", "unit messages of a former life do not concern the present one"),
    "the voter of a leader grants to another process": (
        "voter.c", " || (in_office(p) && c != me(p));", ";", "unit a leader grants no other candidate anything"),
    "a leader that resigns succeeds itself": (
        "office.c", " && !leader(p)->handing;", ";", "unit a leader that resigns does not succeed itself"),
    "an office goes to a member that has just started": (
        "handover.c", "return ready != 0 ? ready : some;", "return some;", "unit an office is handed to a member that can take it"),
    "a membership without members is accepted": (
        "membership.c", "    return m->members != 0 && ", "    return ", "unit an impossible membership is malformed"),
    "a member without state queries only one voter": (
        "membership.c", "    return count(some & electorate) + elect__quorum(electorate) > count(electorate);", "    return count(some & electorate) > 0;", "groups 20000"),
    "a readmitted member promises nothing": (
        "membership.c", "        saved(p)->promised = saved(p)->used = p->node->mandate.seen;", "        ;", "groups 20000"),
    # message encoding
    "the ids of a set may wrap around": (
        "codec.c", "more <= ELECT_MAX_ID && id", "id", "codec ids in a set are ascending"),
    "a set may contain an id twice": (
        "codec.c", " && (more > 0 || i == 0) &&", " &&", "codec ids in a set are ascending"),
    "a number may have superfluous bytes": (
        "codec.c", " || (last && low == 0 && shift > 0))", ")", "codec a message has one encoding"),
    "a field may be 0": (
        "codec.c", "r->fine && !nothing && store", "r->fine && store", "codec a message has one encoding"),
    "a ring list may have a gap": (
        "codec.c", "f->kind == SET || ring);", "f->kind == SET);", "codec unknown members are dropped or refused"),
    # sessions
    "a packet is accepted twice": (
        "runtime/session.c", "    mark(n, counter);\n", "", "attacker 3000"),
    "a session survives a restart of its other end": (
        "runtime/handshake.c", "        sodium_memzero(life, sizeof *life);", "        sodium_memzero(&life->with[slot], 1);", "attacker 3000"),
    "any HELLO counts as fresh": (
        "runtime/handshake.c", "if (memcmp(h.echo, s->key[slot].nonce, SEAL_NONCE) == 0) {", "if (true) {", "attacker 3000"),
    "a session is opened twice": (
        "runtime/handshake.c", "    if (!known)\n        open_session", "    open_session", "attacker 3000"),
    "an earlier state replaces a later one": (
        "runtime/handshake.c", "          h->sequence <= p->known.sequence)))", "          false)))", "attacker 3000"),
    "a snapshot that has caught up replaces its original": (
        "runtime/handshake.c", ".sequence = s->began,", ".sequence = s->sequence,", "attacker 3000"),
    "a clone is accepted": (
        "runtime/handshake.c", "same && (!is_same_life(p, h) || (", "same && ((", "attacker 3000"),
    "HELLO always has a nonce": (
        "runtime/handshake.c", "p->plainly = !p->plainly;", "p->plainly = false;", "attacker 3000"),
    "a life without state ends the session of one with state": (
        "runtime/handshake.c", "    struct session_life *life = lost ? &p->lost : &p->now;", "    struct session_life *life = &p->now;", "attacker 3000"),
    "packets of a life without state count as packets with state": (
        "runtime/session.c", "    e->lost = n >= p->lost.with && n < p->lost.with + SESSION_KEYS;\n", "", "attacker 3000"),
    "an earlier life without state replaces a later one": (
        "runtime/handshake.c", "return (lost && h->sequence < p->lost_began) || ", "return ", "attacker 3000"),
    "one of two simultaneous lives without state replaces the other": (
        "runtime/handshake.c", " || (lost && h->rekey == n->rekey);", ";", "session the later of two lives without state counts"),
    "an earlier installation of a key replaces a later one": (
        "runtime/handshake.c", "bool earlier = h->rekey < n->rekey || ", "bool earlier = ", "attacker 3000"),
    "a key that is installed again has the same number": (
        "runtime/session_keys.c", ".rekey = ++s->rekeys", ".rekey = 1", "attacker 3000"),
    "a second nonce for one installation of a key is accepted": (
        "runtime/handshake.c", "(n->open && h->rekey == n->rekey)))", "false))", "session a key that is installed again is a later one"),
    "the sessions of a key outlive it": (
        "runtime/session_keys.c", "        sodium_memzero(&p->now.with[slot], sizeof p->now.with[slot]);\n", "", "attacker 3000"),
    "a key that is installed again keeps its nonce": (
        "runtime/session_keys.c", "    s->draw(s->context, k->nonce, SEAL_NONCE);\n", "    memcpy(k->nonce, s->boot, 16);\n    memcpy(k->nonce + 16, s->boot, 16);\n", "attacker 3000"),
    "a repeated HELLO counts each time": (
        "runtime/handshake.c", "    newer = newer && !too_far;\n", "    newer = true;\n", "session a hello that is repeated does nothing"),
    "a HELLO of a former life counts": (
        "runtime/handshake.c", ".counter = ++p->numbered};", ".counter = 1};", "attacker 3000"),
    "no peer hears of a new key": (
        "runtime/session_keys.c", "        s->peer[i].owed = s->peer[i].numbered + 1;\n", "", "attacker 3000"),
    "a peer counts as told of a key after one HELLO": (
        "runtime/handshake.c", "p->owed = h->taken >= p->owed ? 0 : p->owed;", "p->owed = 0;", "session a peer is told of new keys until it knows them"),
    "HELLOs accepted from a former life count": (
        "runtime/handshake.c", "    if (is_with(&p->now.with[slot], echo))\n        return p->now.hellos;", "    if (true)\n        return p->now.hellos;", "session nothing is sent in a session that the peer may lack"),
    "packets use a key that the peer dropped": (
        "runtime/session.c", "    return n->heard > than->heard + s->suspicion;", "    return false;", "session a key that the peer removed is not used"),
    "packets use a session before the peer has it": (
        "runtime/session.c", "return n->open && n->sure >= than->sure;", "return n->open && !than->open;", "session nothing is sent in a session that the peer may lack"),
    "a peer that uses another key counts as healthy": (
        "runtime/handshake.c", "return session_is_heard(s, n, now) && n->sure && !n->out_of_step && p->owed == 0;", "return sessions_lives(s, (unsigned)(p - s->peer), now) && p->owed == 0;", "attacker 3000"),
    "a peer without a common protocol is accepted": (
        "runtime/handshake.c", "    return common_protocol(s, h) == 0;", "    return false;", "session members speak the highest common protocol or none"),
    "a peer without a common protocol must stop": (
        "runtime/handshake.c", "refusals[e->why].stop ?", "true ?", "session members speak the highest common protocol or none"),
    "a key does not depend on the protocol": (
        "runtime/seal.c", "    put_number(&b, protocol, 1);\n", "    put_number(&b, 1, 1);\n", "session members speak the highest common protocol or none"),
    "a request under a key does not count as use": (
        "runtime/handshake.c", "n->spoke = (h->flags & HELLO_USED) != 0 ? now : n->spoke;", "", "session a key under which a peer asks is in use"),
    "an answer under a key counts as use": (
        "runtime/handshake.c", "n->spoke = (h->flags & HELLO_USED) != 0 ? now : n->spoke;", "n->spoke = (h->flags & HELLO_NEED) != 0 ? now : n->spoke;",
        "session a key under which a peer only answers is not in use"),
    "every old packet raises an alarm": (
        "runtime/handshake.c", "    if (p->rejected != 0 && now - p->rejected < SECOND)\n        return;", "    e->news = SESSION_REFUSED;\n    if (p->rejected != 0 && now - p->rejected < SECOND)\n        return;",
        "session a repeated former life is reported once a second"),
    "HELLOs have no budget": (
        "runtime/session.c", "    s->tried += may;\n", "", "session hellos get a bounded part of a turn"),
    "a session key does not depend on the nonces": (
        "runtime/seal.c", "    put_bytes(&b, from->nonce, SEAL_NONCE);\n    put_bytes(&b, to->nonce, SEAL_NONCE);\n", "", "attacker 3000"),
    "the head is not authenticated": (
        "runtime/seal.c", "    memcpy(a.bytes, head, SEAL_HEAD);", "    memset(a.bytes, 0, SEAL_HEAD);", "runtime every bit of a packet is authenticated"),
    "clusters with the same key hear each other": (
        "runtime/seal.c", "    memcpy(a.bytes + SEAL_HEAD, cluster, SEAL_CLUSTER);\n", "    memset(a.bytes + SEAL_HEAD, 0, SEAL_CLUSTER);\n",
        "runtime every bit of a packet is authenticated"),
    "the salt does not depend on the content": (
        "runtime/seal.c", "    crypto_generichash_update(&state, content, length);\n    crypto_generichash_final(&state, head + SALT_AT",
        "    crypto_generichash_final(&state, head + SALT_AT", "session no nonce is used for two contents"),
    "two lives have the same secret": (
        "runtime/session.c", "    s->draw(s->context, s->secret, SEAL_KEY);\n", "", "session no nonce is used for two contents"),
    "a timer that is not set again stays ready": (
        "runtime/alarm.c", "    if (c->set == ELECT_UNSET)\n        arm(c, &never);\n", "", "loop a clock rings once for each time that it is set"),
    "a timer fires for a time that was changed": (
        "runtime/alarm.c", "c->set == ELECT_UNSET || c->set > now", "false", "loop a clock that is set to a later time does not ring early"),
    "a filter that is too large is left out": (
        "runtime/net.c", "        filter_attach(fd, tags, count, FILTER_NONE, from, addresses);\n", "        ;\n",
        "runtime a large cluster has a filter"),
    "packets after a bad one are lost": (
        "runtime/net.c", "at += sent > 0 ? (unsigned)sent : 1;", "at += sent > 0 ? (unsigned)sent : count;",
        "loop packets wait for a flush and a bad one stops no other"),
    "every other HELLO lacks the nonce": (
        "runtime/handshake.c", "    p->plainly = true; /* echo the known", "    /* echo the known", "session two packets renew a session"),
    "a counter may leap to its maximum": (
        "runtime/session.c", ": counter - n->top > SESSION_LEAP;", ": false;", "session_counters no forged counter cuts off a pair"),
    "a receiver does not report that it misses DATA": (
        "runtime/session.c", "        n->out_of_step = true;\n", "", "session_counters no forged counter cuts off a pair"),
    "a sender does not continue above the accepted counter": (
        "runtime/handshake.c", "        keep_in_step(&n->sent, h->top);\n", "        ;\n", "session_counters no forged counter cuts off a pair"),
    "a sender continues after only one leap of its counter": (
        "runtime/handshake.c", "taken > *mine || *mine - taken > SESSION_LEAP", "taken - *mine <= SESSION_LEAP", "session_counters no forged counter cuts off a pair"),
    "a sender believes any reported counter": (
        "runtime/handshake.c", "taken > *mine || *mine - taken > SESSION_LEAP", "taken > *mine", "session_counters no forged hello cuts off a pair"),
    "HELLOs with any number count": (
        "runtime/handshake.c", "newer && h->number - life->hellos > SESSION_LEAP", "false", "session_counters no forged hello cuts off a pair"),
    "a sender ignores the accepted number of HELLOs": (
        "runtime/handshake.c", "    keep_in_step(&p->numbered, h->taken);\n", "", "session_counters no forged hello cuts off a pair"),
    "a sender waits for a HELLO that it never sends": (
        "runtime/handshake.c", "p->owed > p->numbered + 1 ? p->numbered + 1 : p->owed", "p->owed", "session_counters no forged hello cuts off a pair"),
    "the last counter clears the whole window": (
        "runtime/session.c", "i <= leap && i <= SESSION_WINDOW;", "n->top + i <= counter && i <= SESSION_WINDOW;",
        "session_counters at the end of the counters no packet is accepted twice"),
    "a receiver reports forever that it misses DATA": (
        "runtime/handshake.c", "    n->out_of_step = n->out_of_step && !says;\n", "", "session_counters no forged counter cuts off a pair"),
    "a repeated packet shows that a link works": (
        "runtime/session.c", "link < SESSION_LINKS && counter > highest[link];", "link < SESSION_LINKS;", "attacker 3000"),
    "a HELLO of any age shows that a link works": (
        "runtime/handshake.c", "        e->news = SESSION_ANSWERED;\n        e->answer_length = send_hello(s, p, slot, h.nonce, HELLO_NEED", "        e->news = SESSION_ANSWERED;\n        e->later = true;\n        e->answer_length = send_hello(s, p, slot, h.nonce, HELLO_NEED",
        "session a repeated packet does not show that a link works"),
    "an older state is called a clone": (
        "runtime/handshake.c", "is_same_life(p, h) || session_life_is_heard(s, &p->now, now) ?", "true ?",
        "session a copy of a running member is a clone and of a silent one a rollback"),
    "a clone is called an older state": (
        "runtime/handshake.c", "is_same_life(p, h) || session_life_is_heard(s, &p->now, now) ?", "is_same_life(p, h) ?",
        "session a copy of a running member is a clone and of a silent one a rollback"),
    "a packet from anywhere shows that a link works": (
        "runtime/receive.c", "known ? link : SESSION_LINKS,", "link,", "loop a relay cannot move a peer that is heard and a moved peer is found"),
    "a peer that is heard at its address may move": (
        "runtime/address.c", "    if (m->event.later)\n        c->packets = 0;\n", "", "loop a relay cannot move a peer that is heard and a moved peer is found"),
    "two packets move a dynamic peer": (
        "runtime/address.c", "c->packets >= MOVED_PACKETS && ", "", "loop a relay cannot move a peer that is heard and a moved peer is found"),
    "a dynamic peer never moves": (
        "runtime/address.c", "(c->packets >= MOVED_PACKETS && now - c->since", "(false && now - c->since", "loop a relay cannot move a peer that is heard and a moved peer is found"),
    "a moving peer gets no packets at its new address": (
        "runtime/outbox.c", "        if (member_is_candidate_heard(m, c))\n", "        if (false)\n", "loop a peer that may have moved gets each packet at both addresses"),
    "one packet makes its sender a candidate address forever": (
        "runtime/address.c", "return c->packets > 0 && elect_uv_now() - c->heard <", "return c->packets > 0 && 0 <", "loop a peer that may have moved gets each packet at both addresses"),
    "a candidate address is used although the known one works": (
        "runtime/address.c", "return c->packets > 0 && elect_uv_now()", "return elect_uv_now()", "loop a peer that may have moved gets each packet at both addresses"),
    "every HELLO is answered": (
        "runtime/handshake.c", "        return false;\n    p->answered[life] = now;", "        return true;\n    p->answered[life] = now;",
        "session answers have a budget"),
    # the state file
    "the latest record is not written again": (
        "runtime/store.c", "best == STORE_FINE ? write_again(s, state, whole) : best;", "best;", "disk 4000"),
    "data of a former process is overwritten before a sync": (
        "runtime/store.c", "    enum store_error error = sync_file(s);\n", "    enum store_error error = STORE_FINE;\n", "disk 4000"),
    "the intact copy is overwritten first": (
        "runtime/store.c", "place[] = {whole ^ 1, whole};", "place[] = {whole, whole ^ 1};", "disk 4000"),
    "both copies of the latest record are written before a sync": (
        "runtime/store.c", "        if (error == STORE_FINE)\n            error = sync_file(s);\n    }", "    }\n    if (error == STORE_FINE)\n        error = sync_file(s);", "disk 4000"),
    "all records use the same pair of slots": (
        "runtime/store.c", "s->pair == 0 ? 2 : 0;", "0;", "disk 4000"),
    "a write is not synced": (
        "runtime/store.c", "        error = write_slot(s, state, other + 1);\n    if (error == STORE_FINE)\n        error = sync_file(s);\n", "        error = write_slot(s, state, other + 1);\n", "disk 4000"),
    "the checksum is not checked": (
        "runtime/store.c", "    if (memcmp(sum, slot + CHECKSUM_AT, CHECKSUM) != 0)", "    if (false)", "disk 4000"),
    "an unreadable slot is ignored": (
        "runtime/store.c", "    if ((unread & ~twins(wholes)) != 0)", "    if (false)", "disk 4000"),
    "a torn slot excuses an unreadable one": (
        "runtime/store.c", "        if (what != STORE_EMPTY)\n            wholes", "        wholes", "disk 4000"),
    "configured members are forgotten": (
        "runtime/saved.c", "            gone = gone && id[k] != p->id;", "            gone = gone || id[k] != p->id;", "runtime removed members stay while there is room"),
    "voters are forgotten first": (
        "runtime/saved.c", "? !counted :", "? counted :", "runtime removed members stay while there is room"),
    "an incarnation exceeds the end of its era": (
        "runtime/saved.c", "    if (ELECT_LAST_START(state->incarnation))", "    if (false)", "runtime the starts of an era do not run into the next one"),
    "a slot in the wrong place is accepted": (
        "runtime/store.c", " || at != place)", ")", "runtime one intact copy suffices and none is reported"),
    # notes
    "a note of a life without state is accepted": (
        "runtime/receive.c", "    if (m->options.note == NULL || m->event.lost)", "    if (m->options.note == NULL)",
        "member notes of a member without its state are ignored"),
    "a note is not sent": (
        "runtime/outbox.c", "        if (m->note[i].length > 0)\n            send_note(m, i);\n", "        m->note[i].length = 0;\n",
        "member notes go from host to host"),
    "a note that is too long is sent": (
        "runtime/member.c", " || length == 0 || length > ELECT_UV_NOTE)", " || length == 0)", "member notes go from host to host"),
    # the flight recorder, and the explanations of elect explain
    "the last sign of life is not kept": (
        "daemon/recorder.c", "        if (sign->at != 0)\n            add(&r->loud, sign);\n", "", "explain leader-machine-is-lost"),
    "messages of members are not recorded": (
        "daemon/recorder.c", "    add(&r->loud, &heard);\n", "", "explain leader-process-dies"),
    "only one page of a recorder is queried": (
        "history/collect.c", "        *more = field_is_true(page, \"more\")", "        *more = false", "explain leader-process-dies"),
    "a leader that resigns and then crashes counts as stopped properly": (
        "history/faults.c", "resigned != 0 && silent > heard ? silent", "resigned != 0 ? silent",
        "explain leader-resigns-and-its-machine-is-lost"),
    "each message about a resignation counts as a resignation": (
        "history/faults.c", "            r->term > term) {", "            term + 1 != 0) {",
        "explain leader-resigns-and-its-machine-is-lost"),
    "the crash of a member that restarts is not found": (
        "history/faults.c", "(dead || starts)) {", "dead) {", "explain leader-resigns-and-its-machine-is-lost"),
    "the death of a leader counts as a resignation": (
        "history/faults.c", "testament ? until - soon : until", "until", "explain leader-process-dies"),
    "every member that misses its leader counts as cut off": (
        "history/faults.c", "    if (!led && !is_led(s, until))\n        return;\n", "    (void)is_led;\n", "explain leader-is-cut-off"),
    "a member that was cut off counts as stalled": (
        "history/faults.c", "    if (r->at - from > (f->lease + 3 * f->renewal) / 2)", "    if (true)", "explain leader-is-cut-off"),
    "a member that stalled counts as cut off": (
        "history/faults.c", "    if (r->at - from > (f->lease + 3 * f->renewal) / 2)", "    if (false)", "explain leader-stalls"),
    "a daemon does not answer questions of other members": (
        "daemon/inquiry.c", "        tell(d, from, note);", "        (void)tell;", "explain the-first-leader"),
    "the absence of a leader is not explained": (
        "history/change.c", "vacant ? NULL : office", "office", "explain no-majority-is-left"),
    # testaments, work and orders
    "a testament is not deposited": (
        "runtime/turn.c", "    g->deposits = g->deposits || out->deposit;\n", "", "member three members elect lose and replace a leader"),
    "a testament is not written again": (
        "runtime/receive.c", "    member_filter_sockets(m);\n    member_deposit_anew(m);\n", "    member_filter_sockets(m);\n",
        "member a testament is deposited again for a member that restarts"),
    "a testament is ignored": (
        "runtime/testament.c", "        if (g->mark == mark)\n            member_step(m, i, &in);\n    }\n    return true;", "    }\n    return true;",
        "member the testament of a dead leader saves a lease"),
    "a leader continues after its testament was stolen": (
        "office.c", "        elect__end_office(p, TESTAMENT_OF_THE_LIVING);", "        because(p, COUNTS);",
        "office.c", "token != 0 && its > token;", "token != 0 && its > token && false;",
        "member a stolen testament deposes its author"),
    "a run that disconnects silently counts as empty": (
        "daemon/guardian.c", "    if (got != 1 || word != TALK_IS_EMPTY) {", "    if (false) {", "guardian holder-without-a-word"),
    "the guardian does not wait for work": (
        "daemon/guardian.c", "    if (has_holder(g, group))\n        return now < end ? end : ELECT_UNSET;\n", "", "guardian killed-with-a-holder"),
    "the guardian ignores the leases of clients": (
        "daemon/guardian.c", "later(now, page->not_before[group])", "now", "guardian client"),
    "a testament is sent after the lease": (
        "daemon/guardian.c", "    return later(at, now) < end ? at :", "    return true ? at :", "guardian guardian-too-late"),
    "the end of the office is not recorded": (
        "daemon/work.c", "    g->until = in_office ? elect_until(node) : g->until;\n", "    g->until = 0;\n", "guardian guardian-too-late"),
    "the guardian ignores a silent disconnection": (
        "daemon/guardian.c", "page->not_before[group]), e->doubtful)", "page->not_before[group]), now)", "guardian holder-without-a-word"),
    "a testament is sent although a hook failed": (
        "daemon/guardian.c", "    if (!e->deposited || e->burnt ||", "    if (!e->deposited ||", "hooks member-killed-and-not-undone"),
    "a void testament is kept": (
        "daemon/guardian.c", "    case GUARD_VOID:\n        e->deposited = false;\n", "    case GUARD_VOID:\n", "guardian loose-holder"),
    "a member without a guardian releases before on-follower": (
        "daemon/hooks.c", "    return !h->led && (h->serial == 0", "    return (!h->led || !work_is_guarded(w)) && (h->serial == 0",
        "hooks guardian-killed-and-not-undone"),
    "a member without a guardian releases while a hook runs": (
        "daemon/hooks.c", "        if (g->hooks.serial != 0 && g->hooks.hook != HOOK_ON_LEADER_CHANGE)", "        if (false)",
        "hooks guardian-killed-and-not-undone"),
    "a member without a guardian starts on-follower too early": (
        "daemon/hooks.c", "    return !work_is_guarded(w) && elect_uv_now() < h->doubtful &&", "    return false &&",
        "hooks guardian-killed-during-on-leader"),
    "a killed on-follower is not run again before the hand-over": (
        "daemon/hooks.c", "(hook == HOOK_ON_FOLLOWER && killed)", "(hook == HOOK_COUNT && killed)", "hooks stopped-during-on-follower"),
    "a member without a guardian releases during its work": (
        "daemon/work.c", "group)) || g->holder != NULL ||", "group)) || (g->holder != NULL && work_is_guarded(w)) ||",
        "guardian guardian-killed-with-work-that-does-not-stop"),
    "a guardian does not repeat a killed on-follower": (
        "daemon/guardian.c", "tries < TRIES && try_to_undo(", "tries < 1 && try_to_undo(", "hooks stopped-during-on-follower-of-the-guardian"),
    "the guardian does not run on-follower": (
        "daemon/guardian.c", "        start_hook(g, &e->ended);\n", "        e->led = false;\n", "hooks member-killed"),
    "a failed on-follower counts as successful": (
        "daemon/guardian.c", "g->estate[i].burnt || g->estate[i].led;", "g->estate[i].burnt;", "hooks member-killed-and-not-undone"),
    "a run starts before the guardian knows it": (
        "daemon/run_queue.c", "    else if (c->channel >= 0)\n        register_run(c);\n", "", "guardian killed-with-a-holder"),
    "work that cannot be killed does not void the testament": (
        "daemon/run_queue.c", "    bool fine = !c->loose || work_tell_guardian(w, &note, -1);", "    bool fine = true;", "guardian loose-holder"),
    "work that cannot be killed voids the testament forever": (
        "daemon/run_queue.c", "    if (g->is_void && !has_loose(w, c->group)) {", "    if (false) {", "guardian loose-holder"),
    "a loose run works beside a testament": (
        "daemon/run_queue.c", "        if (chosen)\n            break;\n", "",
        "daemon/run_queue.c", "    if (g->is_void && !has_loose(w, c->group)) {", "    if (g->is_void) {",
        "guardian two-loose-runs"),
    "two runs work at the same time": (
        "daemon/run_queue.c", "    if (g->holder != NULL || !leads || w->leaves", "    if (!leads || w->leaves", "guardian holder"),
    "a member that stops starts a run": (
        "daemon/run_queue.c", " || !leads || w->leaves ||", " || !leads ||", "guardian guardian-dies-before-it-registers-a-run"),
    "a repeated order is carried out again": (
        "daemon/orders.c", "    if (o->number > last->number) {", "    if (true) {", "orders an-order-that-arrives-late-and-often"),
    "an order is passed on without its term": (
        "daemon/orders.c", "elect_ordered(to, o->term, now)", "elect_ordered(to, 0, now)", "orders an-order-for-a-former-term"),
    "a client never hears of a term that is learned later": (
        "daemon/daemon.c", "        show_learned_term(d, i);", "        ;", "orders a-term-that-is-learned-late"),
    "a leader without a successor resigns": (
        "daemon/orders.c", "        return ORDER_NO_SUCCESSOR;", "        ;", "orders no-member-could-take-over"),
    "the next run does not wait for the last lease": (
        "daemon/run_queue.c", "    if (now < g->last) /* earlier", "    if (false) /* earlier", "guardian holder-without-a-word"),
    "work is not told to stop": (
        "daemon/run_queue.c", "    if (g->holder != NULL && !leads)\n        stop_holder(w, group);\n", "", "guardian resigns"),
    "the lease of a client is not recorded": (
        "daemon/run_connection.c", "    w->guard.page->not_before[group] = latest;\n", "", "guardian client"),
    "a run that is late is not reported": (
        "daemon/run_queue.c", "    run_connection_log_kind(c, LEVEL_WARNING, \"late\",", "    (void)(c, LEVEL_WARNING, \"late\",", "guardian work-does-not-answer"),
    "a resignation without effect is a step": (
        "daemon/run_requests.c", "    if (office->leader.token == 0 || office->leader.handing", "    if (false || office->leader.handing", "local_users flood-of-resignations"),
    "a run that hands over does not pay for it": (
        "daemon/run_queue.c", "    run_queue_take_turns(c, c->group, pace_resign(", "    (void)(pace_resign(", "local_users flood-of-hand-overs"),
    "every resignation costs the same": (
        "daemon/pace.c", "    u->resigned = now;\n", "", "journal a resignation costs twice as much each time"),
    "a resignation is never forgotten": (
        "daemon/pace.c", "now - u->resigned < PACE_CALM", "true", "journal a resignation costs twice as much each time"),
    "all groups share one burst": (
        "daemon/run_queue.c", "c->who.uid, w->config->groups, now);", "c->who.uid, 1, now);", "local_users many-groups-of-one-user"),
    "the runs of one user hide those of another": (
        "daemon/journal.c", "a->user != b->user || ", "", "journal each user is shown"),
    "the words of a user make an entry unlike all others": (
        "daemon/journal.c", "    if (a->kind != NULL && b->kind != NULL)", "    if (false)", "journal words of users are not compared"),
    "the command of a run makes its start unlike all others": (
        "daemon/run_queue.c", "run_connection_log_kind(c, 0, \"starts\", text,", "run_connection_log_kind(c, 0, NULL, text,", "local_users flood-of-turns"),
    "each lost channel is logged": (
        "daemon/guardian.c", "g->dead || now >= *doubtful", "true", "local_users flood-of-lost-channels"),
    "the last notes of the keeper are not read": (
        "run/runner.c", "    hear_keeper(r); /* it may", "    /* it may", "run_faults end-is-seen-before-the-notes"),
    "a burst has no end": (
        "daemon/pace.c", "    return u->user == user && next > now ? next : now;", "    return next < now ? now : now;",
        "journal a burst is followed by single turns"),
    "all users share one pace": (
        "daemon/pace.c", "    return u->user == user && next > now ?", "    return next > now ?", "journal other users do not shorten a wait"),
    "entries about work replace other entries": (
        "daemon/journal.c", "&j->ring[work ? JOURNAL_RING_WORK : JOURNAL_RING_OTHERS];", "&j->ring[JOURNAL_RING_OTHERS];",
        "journal turns of work replace nothing else"),
    "repetitions are logged one by one": (
        "daemon/journal.c", "like->shown >= JOURNAL_SHOWN", "false", "journal repetitions are summed up"),
    "a sum is logged again and again": (
        "daemon/journal.c", "    e->summed = true;\n", "", "journal repetitions are summed up"),
    "a full ring forgets a sum": (
        "daemon/journal.c", "    sum_up(j, to);\n", "", "journal a full ring sums up"),
    "connections are accepted until none is left": (
        "daemon/control.c", "        welcome(c, which, fd, &who);\n", "        welcome(c, which, fd, &who);\n        connected(poll, 0, 0);\n",
        "control one connection is accepted in a turn"),
    "requests are answered until none is left": (
        "daemon/control.c", "        look_for_request(client, (e.events & EPOLLRDHUP) != 0);\n",
        "        look_for_request(client, (e.events & EPOLLRDHUP) != 0);\n    serve(poll, 0, 0);\n",
        "control one request is answered in a turn"),
    "one user may take all places": (
        "daemon/control.c", " && crowd.same < CONTROL_FEW", "", "control a surplus client is refused"),
    "a client that waits for its turn is disconnected": (
        "daemon/control.c", "!client->asked && peek(", "client->asked && peek(", "control a client that has asked waits for its turn"),
    "a disconnected client is read again": (
        "daemon/control.c", "    epoll_ctl(c->ready, EPOLL_CTL_DEL, client->fd, NULL);\n", "", "control a disconnected client is forgotten"),
    "watchers count as other clients": (
        "daemon/control.c", "x->which == which && x->watches == watches;", "x->which == which;", "control watchers are counted separately"),
    "a slow member delays the answers of the others": (
        "history/collect.c", "left / (h->members - member)", "left", "explain a-member-that-answers-without-end"),
    "an office is handed over while its work continues": (
        "daemon/work.c", "group)) || g->holder != NULL ||", "group)) ||", "guardian resigns"),
    "an office is handed over before on-follower has ended": (
        "daemon/hooks.c", "    return !h->led && (h->serial", "    return true || (h->serial", "hooks in-order"),
    "an office is reported before pre-leader agrees": (
        "daemon/work.c", "    if (news.leads && !g->agreed)\n", "    if (g == NULL)\n", "hooks while-pre-leader-runs"),
    "a member whose hook declines leads": (
        "daemon/hooks.c", "        log_outcome(w, group, hook, outcome, \": this member declines leadership\");\n        fail(&g->hooks);\n        work_resign(w, group, \"pre-leader failed\");\n",
        "        log_outcome(w, group, hook, outcome, \": this member declines leadership\");\n        g->agreed = true;\n", "hooks declines"),
    "members that decline do not back off": (
        "daemon/hooks.c", "h->failures > 1;", "false;", "hooks all-decline"),
    # elect verify
    "agreement counts only in the world where it begins": (
        "verify/ends.c", "        s->reaches = s->reaches || (mark & MARK_REACHES) != 0;\n", "",
        "verify --processes 3 --property eventually-leader"),
    "paths to a cycle never reach agreement": (
        "verify/components.c", "    f->reaches = f->reaches || (complete && (g->x->mark[to] & MARK_REACHES) != 0);\n", "",
        "verify --processes 3 --crashes 1 --recoveries 1 --property eventually-leader"),
    # elect run
    "orphans are left to the keeper": (
        "run/keeper.c", "    tree_let_reap(true);\n", "", "run_faults orphans-need-no-keeper"),
    "the tree is walked before all children are killed": (
        "run/tree.c", "        if (signal_children(t, SIGKILL, &newest)) {", "        if (walk(t, kill_one) && signal_children(t, SIGKILL, &newest)) {",
        "run_faults all-killed-before-anything-else"),
    "without a pidfd no child is killed": (
        "run/tree.c", "        kill(child, number);\n", "        kill(child, 0);\n", "run_faults without-pidfd"),
    "without a pidfd only children are stopped": (
        "run/tree.c", "kill(l.pid, number) == 0", "kill(l.pid, 0) == 0", "run_faults without-pidfd"),
    "a stopped waiter stays stopped": (
        "run/keeper.c", "        kill(k->waiter, SIGCONT);\n", "        kill(k->waiter, 0);\n", "run waiter-is-stopped"),
    "elect run can be traced": (
        "run/runner.c", "    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);\n", "", "run command-takes-nothing-from-elect"),
    "the number of a signal is stored as a truth value": (
        "run/keeper.c", "ending, k->status - EXIT_SIGNAL);", "ending, 1);", "run keys-of-the-terminal"),
    "a run does not say that it waits for a new daemon": (
        "run/runner.c", "    r->gone |= error != 0 && error != EAGAIN;\n", "", "run respawn"),
    "a signal is passed on to a command that has ended": (
        "run/runner.c", "signals_end(number) && atomic_load(&r->page->restarts) != 0", "false", "run restarts"),
    "a run warns only of commands that do not exist": (
        "run/command.c", "        error = EACCES;\n    }\n    return error;", "        return 0;\n    }\n    return error;",
        "run warns-of-a-command-that-cannot-be-executed"),
    "a closed folder of PATH makes any command forbidden": (
        "run/command.c", "        error = ENOENT;\n", "        error = EACCES;\n", "run path-that-cannot-be-searched"),
}

# Mutants that have an effect only in a race, which a killer may miss. `make soak` tries each of these mutants until it is killed,
# and prints the number of tries. `make check` omits them.
RACES = {
    "the return of a leader's messages is not recorded": (
        "daemon/recorder.c", "    bool found = is_sign_of_life(rule) && out->announced;", "    bool found = false;",
        "explain two-followers-are-cut-off"),
    "work begins in an office that is not renewed": (
        "daemon/run_queue.c", "    else if (!is_fresh(w, group))", "    else if (false)", "guardian run-of-a-leader-that-is-cut-off"),
    "a run that is told late is disconnected": (
        "daemon/run_queue.c", "    run_queue_leave(c);\n    c->stage = RUN_LATE;\n    run_queue_report_late(c, false);\n", "    run_connection_drop(c);\n",
        "guardian told-after-its-lease"),
    "hooks run at the same time": (
        "daemon/hooks.c", "    if (h->serial != 0 || hook == HOOK_COUNT)", "    if (hook == HOOK_COUNT)", "hooks in-order"),
}

# The algorithms exactly as the lecture notes define them, without the repairs of this project. Each entry contains the edits, each
# of which is (file, text, replacement), and the arguments with which elect verify finds a counterexample. The counterexample is in
# this folder, in a file that has the name of the entry. The notes have no ring timer, so these edits remove it, too. Without the
# timer, a list can circle forever.
NO_RING_TIMER = ("ring_links.c", "    start(p, ELECT_RING_TIMER);\n", "")
NOTES = {
    "active-ring-notes-order": (
        [("active_ring.c", "    forward(p, ELECT, me(p));\n    forward(p, ELECT, j);\n",
          "    forward(p, ELECT, j);\n    forward(p, ELECT, me(p));\n"), NO_RING_TIMER],
        "--algorithm active-ring --processes 3 --begin 0"),
    "chang-roberts-without-rounds": (
        [("chang_roberts.c", "    new_round(p);\n", "    if (p->node->saved.round == 0)\n        new_round(p);\n"), NO_RING_TIMER],
        "--algorithm chang-roberts --processes 3 --begin 0 --crashes 1 --crashing 2"),
    "ring-without-orphans": (
        [("ring.c", "announce(p, list, ORPHAN);",
          "p->node->passed[0] = 0;\n        forward_list(p, ELECTION, head, list);\n        because(p, APPENDS);")],
        "--algorithm ring --processes 3 --begin 0 --crashes 1 --property termination"),
}
