"""Times for the clusters under test, from the shortest lease to the longest. Cases that do not test the loss of a lease use one
so long that a leader keeps it even on a busy machine."""

SHORT_TIMES = "lease = 500ms\nrenewal = 80ms\ndelay = 10ms\nmax-lease = 1s\n"
TIMES = "lease = 3s\nrenewal = 300ms\ndelay = 20ms\nmax-lease = 4s\n"
LONG_TIMES = "lease = 8s\nrenewal = 1s\ndelay = 10ms\nmax-lease = 10s\n"
# A member may stall for 9 s before another member misses it.
PATIENT_TIMES = "lease = 10s\nrenewal = 3s\ndelay = 20ms\nmax-lease = 12s\n"
# For cases that do not wait for the end of a lease: a member may stall for 9 s, and a leader for 30 s.
STEADY_TIMES = "lease = 30s\nrenewal = 3s\ndelay = 20ms\nmax-lease = 40s\n"
