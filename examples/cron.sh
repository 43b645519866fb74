#!/bin/sh
# Jobs that one member runs, whichever leads: a cron for a cluster.
#
#     elect run --respawn -c demo/elect.conf --id a -- examples/cron.sh TABLE        beside each member
#
# A line of TABLE is how often, in seconds, and what, for sh: "3600 backup /srv". A job is due whenever a multiple of its
# time since 1970 is reached, and runs when those before it have ended. Who has just begun to lead waits for the next
# multiple: nothing is run twice as long as the clocks of the machines agree, and what was due while nobody led is left out.
#
# Without Elect every machine that has the table runs every job; or one does, until it dies and nobody notices.
#
# elect run starts this where the member leads, and kills it, jobs and all, before anybody else does. It says
#   ELECT_SOCKET     where `elect is-leader` asks,
#   ELECT_GROUP      about what,
#   ELECT_LEASE_MS   how long a lease is: when less than half of it is left it is not being renewed, and a job that is begun
#                    now would be killed half way,
#   ELECT_NODE       who this is, for the log,
#   ELECT_TOKEN      and in whose name. Jobs have that, too, and hand it to what they write to (fenced.c): it is larger for
#                    every later leader, and helps where killing comes too late.
set -u
table=$1
# $! is what run() started last. A variable of our own would not know it yet if the signal came right after the fork.
trap '[ -z "${!:-}" ] || kill "$!"; exit 0' TERM INT

# In the background: else the signal that says to stop would wait for its end.
run() {
    "$@" </dev/null 3<&- &
    wait "$!"
}

may_begin() {
    left_us=$(elect is-leader -g "$ELECT_GROUP" -o json | sed -n 's/.*"left_us": *\([0-9]*\).*/\1/p')
    [ "${left_us:-0}" -ge $((ELECT_LEASE_MS * 1000 / 2)) ]
}

begin() {
    if may_begin; then
        run sh -c "$1" || echo "cron: $ELECT_NODE: exit $?: $1" >&2
    else
        echo "cron: $ELECT_NODE: not begun, the lease is not being renewed: $1" >&2
    fi
}

before=$(date +%s)
while run sleep 1; do
    now=$(date +%s)
    while read -r every job <&3; do
        case $every in
        '' | 0* | *[!0-9]*) ;; # no job: a remark, say
        *) [ $((now / every)) -le $((before / every)) ] || begin "$job" ;;
        esac
    done 3<"$table"
    before=$now
done
