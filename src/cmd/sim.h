/* What `elect sim` was asked, and what came of it. */
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
    const char *not_with_file; /* an option that was given and makes no sense with a scenario */
    const char *trace_file;
    enum trace_mode trace;
    bool rewrite, json, quiet, verbose, runs_given, storm, troubles, replays;
    uint64_t runs, storm_days, replay;
    enum storm_beyond beyond;
    const char *save;
};

/* One election, wherever it was held. */
struct outcome {
    struct elect_config config; /* algorithm and form, for the names of its messages */
    const struct world *world;  /* NULL: it was held in the lab */
    bool agreed;
    uint32_t leader; /* an id, if agreed */
    uint64_t time, sent[ELECT_EVENT_COUNT], total, delivered, failed_hops, acks, heartbeats;
    unsigned violations;
    const struct violation *violation;
};

void outcome_of_play(struct outcome *o, const struct play *p);
int outcome_exit(const struct outcome *o);
void report_outcome(const struct outcome *o, const char *expectation, bool json);

/* Many elections. */
#define REPORT_MAX_SEEDS 10
struct statistics {
    struct elect_config config;
    uint64_t processes, runs, seed, agreed, violations;
    struct tally leader, time, sent[ELECT_EVENT_COUNT], total, delivered, failed_hops, acks,
        heartbeats;
    unsigned failed;
    uint64_t
        failed_seed[REPORT_MAX_SEEDS]; /* the first ones without agreement, or with a violation */
};
void statistics_add(struct statistics *s, const struct outcome *o, uint64_t seed);
void report_statistics(const struct statistics *s, const char *command, bool json);

/* ---- trace.c ---- */

/* Listens to a play: prints its story, or collects it, or both. */
struct trace {
    FILE *out; /* NULL: nothing is printed */
    enum trace_mode mode;
    bool verbose;
    char *text; /* the story so far, if it is collected */
    size_t length, room;
    bool collects;
};
void trace_happening(void *trace, const struct world *w, const struct happening *h);
void trace_collect(struct trace *t, const char *text, size_t length);
/* Adds the last lines of a trace: the leader, and the property that is violated. */
void trace_outcome(const struct play *p, struct text *t);
/* Returns the file for --trace-file, or the stream that is used without; NULL after having
 * complained. */
FILE *trace_open(const struct request *r);
int trace_close(const struct request *r, FILE *out, int status);

/* A bar on a terminal, nothing in a pipe. */
void progress_show(uint64_t done, uint64_t total, const char *what);
void progress_clear(void);

/* ---- save.c ---- */

/* Returns true if a file can be written there. It is called before the work starts. */
bool save_possible(const char *save);
/* Writes the script of a scenario and the story that it tells. Returns false after having
 * complained. */
bool save_scenario(const char *verb, const char *option, const char *save, const char *script,
                   const char *story);
/* Returns the story that a script tells, which the caller frees, or NULL with a complaint if it
 * does not show a violation of the property (PROPERTY_COUNT: it need not show any). `end`, unless
 * it is NULL, is how it ended. */
char *save_replay(const char *script, enum property property, struct text *complaint,
                  struct outcome *end);

int sim_scenario(const struct request *r);
int sim_storm(const struct request *r, struct play *p);
int sim_troubles(const struct request *r, struct play *p);
int cmd_sim(int argc, char **argv);

#endif
