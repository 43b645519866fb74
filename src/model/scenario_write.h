/*
 * Writes scenario files line by line, in the syntax of scenario.c. Used for the histories found by
 * storms, the checker and the recorders of a real cluster.
 */
#ifndef ELECT_MODEL_SCENARIO_WRITE_H
#define ELECT_MODEL_SCENARIO_WRITE_H

#include "scenario.h"

struct scenario_writer {
    const uint16_t *id;                       /* process numbers by rank */
    char separator;                           /* between the processes of a list: ' ' or ',' */
    void (*put)(void *out, const char *line); /* `line` ends in a newline */
    void *out;
};

void scenario_write_comment(const struct scenario_writer *w, const char *text);

/* ---- settings ---- */

void scenario_write_setting(const struct scenario_writer *w, enum setting setting,
                            const char *value);
void scenario_write_number(const struct scenario_writer *w, enum setting setting, uint64_t value);
void scenario_write_drift(const struct scenario_writer *w, uint32_t millionths);
void scenario_write_ring(const struct scenario_writer *w, const struct elect_config *c);
/* Writes nothing if the set is empty. */
void scenario_write_set(const struct scenario_writer *w, enum setting setting, elect_set set);
/* Writes the priorities other than 0, in rank order; nothing if there are none. */
void scenario_write_priorities(const struct scenario_writer *w, const uint8_t *priority,
                               unsigned count);

/* ---- steps ---- */

/* The second function adds the time, as "at TIME". */
void scenario_write_fault(const struct scenario_writer *w, const struct fault *f);
void scenario_write_fault_at(const struct scenario_writer *w, const struct fault *f);
/* `verb` is suspect, alarm, stopped or assent. */
void scenario_write_verb(const struct scenario_writer *w, enum scenario_verb verb, unsigned rank);
/* `verb` is deliver, lose or duplicate. */
void scenario_write_message(const struct scenario_writer *w, enum scenario_verb verb, unsigned from,
                            unsigned to, const char *message);
void scenario_write_fire(const struct scenario_writer *w, unsigned rank, enum elect_event timer);
void scenario_write_refuse(const struct scenario_writer *w, unsigned rank,
                           enum scenario_refusal refusal, uint64_t counter);
void scenario_write_run_until(const struct scenario_writer *w, uint64_t time);
void scenario_write_wait(const struct scenario_writer *w, uint64_t time);
void scenario_write_mark(const struct scenario_writer *w);
void scenario_write_check(const struct scenario_writer *w, enum property property);

#endif
