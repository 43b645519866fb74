/* Shared by the files of `elect verify`. */
#ifndef ELECT_CMD_VERIFY_H
#define ELECT_CMD_VERIFY_H

#include "../verify/counterexample.h"
#include "sim.h"

#include <jansson.h>

struct asked {
    struct setup setup;
    struct exploration exploration;
    bool begin_all, begin_given, crashing_given, properties_given, json, quiet;
    /* the last option given that forbids a mandate, and the last one that requires it */
    const char *textbook, *mandate;
    struct numbers begin, crashing;
    uint64_t budget[6]; /* values of OPTION_CRASHES to OPTION_JOINS */
    const char *save;
};

/* ---- verify_mandate.c ---- */

void verify_mandate_settings(struct setup *s);
bool verify_mandate_question(struct asked *a, struct text *complaint);
void verify_mandate_report(const struct question *q);
json_t *verify_mandate_json(const struct question *q);

int cmd_verify(int argc, char **argv);

#endif
