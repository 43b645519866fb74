/*
 * The bully algorithm as `elect verify --algorithm bully` explores it without faults. Each process may begin
 * once, at any moment. There is a FIFO link for every pair, and each handler is one step. A timer expires
 * only when no message is in flight, and answer timers expire before deadlines. The variables are those of
 * src/core, so that the number of states must be equal.
 *
 *     spin -DN=3 -a bully.pml
 */
#define NO_LEADER    0
#define SELF(x)      (x + 1) /* `leader` of rank x */
#define NORMAL       0
#define ELECTING     1
#define WAITING      2
#define ELECTION     0
#define OK           1
#define COORDINATOR  2
#define TO(from, to) (from * N + to)

chan link[N * N] = [4 * N] of { byte };
byte under_way, answers; /* messages in flight and running answer timers: derived from the other variables, so they add no states */

inline tell(message, to)
{
    link[TO(i, to)]!message;
    under_way++
}

inline tell_lower(message)
{
    k = 0;
    do
    :: k < i -> tell(message, k); k++
    :: else -> break
    od;
    k = 0
}

inline stop_answer()
{
    if
    :: answer -> answer = false; answers--
    :: else
    fi
}

inline win()
{
    tell_lower(COORDINATOR);
    stop_answer();
    state = NORMAL;
    leader = SELF(i)
}

inline begin_election()
{
    if
    :: i == N - 1 -> win()
    :: else ->
        k = i + 1;
        do
        :: k < N -> tell(ELECTION, k); k++
        :: else -> break
        od;
        k = 0;
        if
        :: !answer -> answer = true; answers++
        :: else
        fi;
        deadline = true;
        state = ELECTING;
        leader = NO_LEADER
    fi
}

inline upon_election()
{
    tell(OK, from);
    if
    :: state == NORMAL && leader == SELF(i) -> tell(COORDINATOR, from)
    :: state == NORMAL && leader != SELF(i) && !deadline -> begin_election()
    :: else
    fi
}

inline upon_ok()
{
    if
    :: state == ELECTING -> stop_answer(); state = WAITING
    :: else
    fi
}

inline upon_coordinator()
{
    if
    :: from > i -> stop_answer(); state = NORMAL; leader = SELF(from)
    :: from < i && state == NORMAL && leader == SELF(i) -> tell(COORDINATOR, from)
    :: from < i && state == NORMAL && leader != SELF(i) -> begin_election()
    :: else
    fi
}

#define RECEIVE(j)                                \
    :: d_step {                                   \
           link[TO(j, i)]?type ->                 \
           under_way--;                           \
           from = j;                              \
           if                                     \
           :: type == ELECTION -> upon_election() \
           :: type == OK -> upon_ok()             \
           :: else -> upon_coordinator()          \
           fi;                                    \
           type = 0;                              \
           from = 0                               \
       }

active [N] proctype process()
{
    byte i = _pid;
    byte state, leader, type, from, k;
    bool answer, deadline, begun;
end:
    do
    :: d_step {
           !begun && state == NORMAL && leader != SELF(i) ->
           begun = true;
           begin_election()
       }
    RECEIVE(0)
    RECEIVE(1)
#if N > 2
    RECEIVE(2)
#endif
#if N > 3
    RECEIVE(3)
#endif
#if N > 4
    RECEIVE(4)
#endif
    :: d_step {
           answer && under_way == 0 ->
           answer = false;
           answers--;
           win()
       }
    :: d_step {
           deadline && under_way == 0 && answers == 0 ->
           deadline = false;
           if
           :: state != NORMAL -> begin_election()
           :: else
           fi
       }
    od
}
