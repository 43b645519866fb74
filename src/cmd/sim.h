/* `elect sim`: the parsed command line and the outcome of an election. */
#ifndef ELECT_CMD_SIM_H
#define ELECT_CMD_SIM_H

#include "../model/narrate.h"
#include "../sim/lab_run.h"
#include "../sim/storm.h"
#include "args.h"

#include <stdio.h>

enum trace_mode { TRACE_UNSAID, TRACE_TEXT, TRACE_JSON, TRACE_NONE };

struct request {
    struct experiment experiment;
    const char *file;          /* scenario file; NULL if none */
    const char *not_with_file; /* an option that a scenario file forbids */
    const char *trace_file;
    enum trace_mode trace;
    bool rewrite, json, quiet, verbose, runs_given, storm, troubles, replays;
    uint64_t runs, storm_days, replay;
    enum storm_beyond beyond;
    const char *save;
};

struct outcome {
    struct elect_config config;
    const struct world *world; /* NULL: held in the lab */
    bool agreed;
    uint32_t leader;
    uint64_t time, sent[ELECT_EVENT_COUNT], total, delivered, failed_hops, acks, heartbeats;
    unsigned violations;
    const struct violation *violation;
};

void outcome_of_play(struct outcome *o, const struct play *p);
int outcome_exit(const struct outcome *o);
void report_outcome(const struct outcome *o, const char *expectation, bool json);

#define REPORT_MAX_SEEDS 10
struct statistics {
    struct elect_config config;
    uint64_t processes, runs, seed, agreed, violations;
    struct tally leader, time, sent[ELECT_EVENT_COUNT], total, delivered, failed_hops, acks,
        heartbeats;
    unsigned failed;
    /* the first seeds without agreement or with a violated property */
    uint64_t failed_seed[REPORT_MAX_SEEDS];
};
void statistics_add(struct statistics *s, const struct outcome *o, uint64_t seed);
void report_statistics(const struct statistics *s, const char *command, bool json);

/* ---- trace.c ---- */

/* Listener that prints or collects an election's trace, or both. */
struct trace {
    FILE *out; /* NULL: do not print */
    enum trace_mode mode;
    bool verbose;
    char *text; /* the trace so far, if `collects` */
    size_t length, room;
    bool collects;
};
void trace_happening(void *trace, const struct world *w, const struct happening *h);
void trace_collect(struct trace *t, const char *text, size_t length);
void trace_outcome(const struct play *p, struct text *t);
/* Opens the file given with --trace-file, or returns the default stream. On failure, prints the
 * reason and returns NULL. */
FILE *trace_open(const struct request *r);
/* Closes the trace file. Returns `status`, or EXIT_IO if writing failed. */
int trace_close(const struct request *r, FILE *out, int status);

/* Shows a progress bar if standard error is a terminal. `total` is 0 if unknown. */
void progress_show(uint64_t done, uint64_t total, const char *what);
void progress_clear(void);

/* ---- save.c ---- */

bool save_possible(const char *save);
/* Writes a scenario's script and trace. On failure, prints the reason and returns false. */
bool save_scenario(const char *verb, const char *option, const char *save, const char *script,
                   const char *story);
/* Replays a script and returns its trace, which the caller must free. If the replay does not
 * violate `property`, sets `complaint` and returns NULL; PROPERTY_COUNT requires no violation.
 * Stores the outcome in `end` unless NULL. */
char *save_replay(const char *script, enum property property, struct text *complaint,
                  struct outcome *end);

int sim_scenario(const struct request *r);
int sim_storm(const struct request *r, struct play *p);
int sim_troubles(const struct request *r, struct play *p);
int cmd_sim(int argc, char **argv);

#endif
