/*
 * Chang & Roberts as `elect verify --algorithm chang-roberts` explores it where nothing can fail: numbers
 * descend along the ring, each process may begin once at any moment, links are FIFO, one step for each
 * handler, no timers. The same variables as in src/core, so that the number of states must be the same.
 *
 *     spin -DN=5 -a chang_roberts.pml
 */
#define NOBODY   0
#define SELF(x)  (x + 1) /* as a leader: 0 is nobody */
#define NEXT(i)  ((i + N - 1) % N) /* rank i sits before rank i-1 */
#define ELECTION 0
#define ELECTED  1

bool part[N], begun[N];
byte leader[N], round[N];
short passed_election[N], passed_elected[N]; /* sets */

chan link[N] = [N + 2] of { byte, byte, byte }; /* to i: type, origin, round */

inline enter_round(r)
{
    round[i] = r;
    part[i] = false;
    passed_election[i] = 0;
    passed_elected[i] = 0
}

inline take_part()
{
    if
    :: !part[i] -> part[i] = true; leader[i] = NOBODY
    :: else
    fi
}

inline forward_election(x)
{
    passed_election[i] = passed_election[i] | (1 << x);
    link[NEXT(i)]!ELECTION, x, round[i]
}

inline forward_elected(x)
{
    passed_elected[i] = passed_elected[i] | (1 << x);
    link[NEXT(i)]!ELECTED, x, round[i]
}

inline begin_election()
{
    enter_round(round[i] + 1);
    take_part();
    forward_election(i)
}

inline upon_election()
{
    if
    :: !part[i] && !opened -> skip /* decided */
    :: else ->
        if
        :: x > i ->
            if
            :: (passed_election[i] & (1 << x)) != 0 -> skip
            :: else -> take_part(); forward_election(x)
            fi
        :: x < i ->
            if
            :: part[i] -> skip
            :: else -> take_part(); forward_election(i)
            fi
        :: x == i -> part[i] = false; leader[i] = SELF(i); forward_elected(i)
        fi
    fi
}

inline upon_elected()
{
    if
    :: x == i && !part[i] && leader[i] == SELF(i) -> skip
    :: else ->
        if
        :: (!part[i] && !opened && leader[i] != NOBODY && leader[i] > SELF(x)) ||
           (passed_elected[i] & (1 << x)) != 0 -> skip
        :: else ->
            if
            :: x > i -> part[i] = false; leader[i] = SELF(x); forward_elected(x)
            :: else -> begin_election()
            fi
        fi
    fi
}

active [N] proctype process()
{
    byte type, x, r;
    bool opened;
    byte i = _pid;
end:
    do
    :: d_step {
           !begun[i] && !part[i] && leader[i] != SELF(i) ->
           begun[i] = true;
           begin_election()
       }
    :: d_step {
           link[i]?type, x, r ->
           if
           :: r < round[i] -> skip /* that round is over */
           :: r == round[i] && !part[i] && x == (i + 1) % N && type == ELECTION -> skip /* comes late */
           :: else ->
               opened = r > round[i];
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
