/* The request that `elect sim` parses from its command line, and the outcome that it reports. */
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
    const char *file;          /* a scenario, or NULL */
    const char *not_with_file; /* a given option that is not allowed with a scenario */
    const char *trace_file;
    enum trace_mode trace;
    bool rewrite, json, quiet, verbose, runs_given, storm, troubles, replays;
    uint64_t runs, storm_days, replay;
    enum storm_beyond beyond;
    const char *save;
};

/* The outcome of one election, in a world or in the lab. */
struct outcome {
    struct elect_config config; /* its algorithm determines the names of messages */
    const struct world *world;  /* NULL: the election was held in the lab */
    bool agreed;
    uint32_t leader; /* an id, if agreed */
    uint64_t time, sent[ELECT_EVENT_COUNT], total, delivered, failed_hops, acks, heartbeats;
    unsigned violations;
    const struct violation *violation;
};

void outcome_of_play(struct outcome *o, const struct play *p);
int outcome_exit(const struct outcome *o);
void report_outcome(const struct outcome *o, const char *expectation, bool json);

/* The outcomes of many elections. */
#define REPORT_MAX_SEEDS 10
struct statistics {
    struct elect_config config;
    uint64_t processes, runs, seed, agreed, violations;
    struct tally leader, time, sent[ELECT_EVENT_COUNT], total, delivered, failed_hops, acks,
        heartbeats;
    unsigned failed;
    /* the first seeds that ended without agreement or with a violation */
    uint64_t failed_seed[REPORT_MAX_SEEDS];
};
void statistics_add(struct statistics *s, const struct outcome *o, uint64_t seed);
void report_statistics(const struct statistics *s, const char *command, bool json);

/* ---- trace.c ---- */

/* A listener that prints the trace of an election, collects it, or both. */
struct trace {
    FILE *out; /* NULL: nothing is printed */
    enum trace_mode mode;
    bool verbose;
    char *text; /* the collected trace; unused unless `collects` */
    size_t length, room;
    bool collects;
};
void trace_happening(void *trace, const struct world *w, const struct happening *h);
void trace_collect(struct trace *t, const char *text, size_t length);
/* Adds the last lines of a trace: the leader and the violated property, if any. */
void trace_outcome(const struct play *p, struct text *t);
/* Returns the file of --trace-file or, without this option, the default stream. Returns NULL after
 * a complaint. */
FILE *trace_open(const struct request *r);
/* Closes the file of --trace-file. Returns `status`, or EXIT_IO if writing failed. */
int trace_close(const struct request *r, FILE *out, int status);

/* Shows a progress bar if standard error is a terminal. `total` is 0 if the total is unknown. */
void progress_show(uint64_t done, uint64_t total, const char *what);
void progress_clear(void);

/* ---- save.c ---- */

/* Returns true if the file can be written. Call this before a long computation. */
bool save_possible(const char *save);
/* Writes the script of a scenario and its trace. Returns false after a complaint. */
bool save_scenario(const char *verb, const char *option, const char *save, const char *script,
                   const char *story);
/* Plays a script and returns its trace, which the caller frees. Returns NULL with a complaint if
 * the property is not violated; with PROPERTY_COUNT, no violation is required. Stores the outcome
 * in `end`, unless `end` is NULL. */
char *save_replay(const char *script, enum property property, struct text *complaint,
                  struct outcome *end);

int sim_scenario(const struct request *r);
int sim_storm(const struct request *r, struct play *p);
int sim_troubles(const struct request *r, struct play *p);
int cmd_sim(int argc, char **argv);

#endif
