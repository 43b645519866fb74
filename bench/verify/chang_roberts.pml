/*
 * Chang & Roberts as `elect verify --algorithm chang-roberts` explores it without faults. Numbers descend
 * along the ring, and each process may begin once, at any moment. Links are FIFO, each handler is one step,
 * and there are no timers. The variables are those of src/core, so that the number of states must be equal.
 * All variables are local, and each link has one reader and one writer, as SPIN's reduction requires.
 *
 *     spin -DN=5 -a chang_roberts.pml
 */
#define NO_LEADER 0
#define SELF(x)   (x + 1) /* `leader` of rank x */
#define NEXT(i)   ((i + N - 1) % N) /* rank i - 1 follows rank i on the ring */
#define ELECTION  0
#define ELECTED   1

chan link[N] = [N + 2] of { byte, byte, byte }; /* link[i] leads to rank i: type, origin, round */

inline enter_round(r)
{
    round = r;
    part = false;
    passed_election = 0;
    passed_elected = 0
}

inline take_part()
{
    if
    :: !part -> part = true; leader = NO_LEADER
    :: else
    fi
}

inline forward_election(x)
{
    passed_election = passed_election | (1 << x);
    out!ELECTION, x, round
}

inline forward_elected(x)
{
    passed_elected = passed_elected | (1 << x);
    out!ELECTED, x, round
}

inline begin_election()
{
    enter_round(round + 1);
    take_part();
    forward_election(i)
}

inline upon_election()
{
    if
    :: !part && !opened -> skip /* this round is decided */
    :: else ->
        if
        :: x > i ->
            if
            :: (passed_election & (1 << x)) != 0 -> skip
            :: else -> take_part(); forward_election(x)
            fi
        :: x < i ->
            if
            :: part -> skip
            :: else -> take_part(); forward_election(i)
            fi
        :: x == i -> part = false; leader = SELF(i); forward_elected(i)
        fi
    fi
}

inline upon_elected()
{
    if
    :: x == i && !part && leader == SELF(i) -> skip
    :: else ->
        if
        :: (!part && !opened && leader != NO_LEADER && leader > SELF(x)) ||
           (passed_elected & (1 << x)) != 0 -> skip
        :: else ->
            if
            :: x > i -> part = false; leader = SELF(x); forward_elected(x)
            :: else -> begin_election()
            fi
        fi
    fi
}

active [N] proctype process()
{
    byte i = _pid;
    bool part, begun;
    byte leader, round;
    short passed_election, passed_elected; /* sets of ranks */
    byte type, x, r;
    bool opened;
    chan in = link[_pid];
    chan out = link[NEXT(_pid)];
    xr in;
    xs out;
end:
    do
    :: d_step {
           !begun && !part && leader != SELF(i) ->
           begun = true;
           begin_election()
       }
    :: d_step {
           in?type, x, r ->
           if
           :: r < round -> skip /* a message of an earlier round */
           :: r == round && !part && x == (i + 1) % N && type == ELECTION -> skip /* a late message */
           :: else ->
               opened = r > round;
               if
               :: opened -> enter_round(r)
               :: else
               fi;
               if
               :: type == ELECTION -> upon_election()
               :: else -> upon_elected()
               fi
           fi;
           type = 0; x = 0; r = 0; opened = false
       }
    od
}
