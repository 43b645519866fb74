#!/bin/sh
# Runs periodic jobs, but only on the leader of a cluster.
#
#     elect run --respawn -c demo/elect.conf --id a -- examples/cron.sh TABLE        beside each member
#
# Each line of TABLE contains an interval in seconds and a command for sh, such as "3600 backup /srv". A job is due whenever the
# time since 1970 reaches a multiple of its interval. Jobs run one after another. A new leader starts with the next multiple. If
# the clocks of the machines agree, a job never runs twice. A job that is due while there is no leader is skipped.
#
# Without Elect, every machine with the table would run every job. If only one machine had the table, all jobs would stop when
# that machine fails.
#
# elect run starts this script on the leader, and kills it with all its jobs before another member leads. It sets:
#   ELECT_SOCKET     the socket that `elect is-leader` queries
#   ELECT_GROUP      the group of the election
#   ELECT_LEASE_MS   the length of a lease. If less than half of it is left, the lease is not being renewed, and a job that
#                    is started now would be killed before it is done
#   ELECT_NODE       the name of this member, for the log
#   ELECT_TOKEN      the fencing token. A job passes it to whatever it writes to (see fenced.c). It is larger for every later
#                    leader, and protects the data if a job is killed too late
set -u
table=$1
# The trap kills the latest background process. The shell sets $! as soon as run() starts it; an ordinary variable would be set
# too late if a signal arrived just after the fork.
trap '[ -z "${!:-}" ] || kill "$!"; exit 0' TERM INT

# Runs a command in the background and waits for it: the shell handles signals while it waits, but not while a command runs in the
# foreground.
run() {
    "$@" </dev/null 3<&- &
    wait "$!"
}

lease_is_renewed() {
    left_us=$(elect is-leader -g "$ELECT_GROUP" -o json | sed -n 's/.*"left_us": *\([0-9]*\).*/\1/p')
    [ "${left_us:-0}" -ge $((ELECT_LEASE_MS * 1000 / 2)) ]
}

run_job() {
    if lease_is_renewed; then
        run sh -c "$1" || echo "cron: $ELECT_NODE: failed with exit status $?: $1" >&2
    else
        echo "cron: $ELECT_NODE: not started because the lease is not being renewed: $1" >&2
    fi
}

before=$(date +%s)
while run sleep 1; do
    now=$(date +%s)
    while read -r interval job <&3; do
        case $interval in
        '' | 0* | *[!0-9]*) ;; # an empty line or a comment
        *) [ $((now / interval)) -le $((before / interval)) ] || run_job "$job" ;;
        esac
    done 3<"$table"
    before=$now
done
