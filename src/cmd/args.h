/* Command lines: one table per verb, from which both the parser and the help text are made. */
#ifndef ELECT_CMD_ARGS_H
#define ELECT_CMD_ARGS_H

#include "../base/choice.h"
#include "../base/exit.h"

struct option_spec {
    const char *name;  /* without the dashes */
    char letter;       /* 0: none */
    const char *value; /* NULL: a switch */
    const char *help;
};

enum { ARGS_END = -1, ARGS_WORD = -2, ARGS_BAD = -3 };

struct args {
    const char *verb; /* for complaints */
    int argc, at;
    char **argv;
    bool only_words; /* behind -- */
};

/* The index of the next option in `specs`, with its value; ARGS_WORD with a word; ARGS_BAD after
 * having complained; ARGS_END. */
int args_next(struct args *a, const struct option_spec *specs, size_t count, const char **value);

/* "elect VERB: what: why", on stderr, in one line; returns EXIT_USAGE. */
int args_complain(const char *verb, const char *what, const char *why);
/* Passes each later complaint, without "elect VERB: ", to `report` instead of standard error. */
void args_report_to(void (*report)(const char *complaint));
/* About a long option; "" if it is about none. */
int args_complain_option(const char *verb, const char *option, const char *why);

/* -o text|json */
bool args_output(const char *value, bool *json, struct text *complaint);

/* Word by word, from that column on, never beyond the last one, and a new line at the end. */
void args_wrapped(const char *text, int indent);
/* Wrapped; a new line where there is one. */
void args_help_text(const char *text);
void args_help_options(const struct option_spec *specs, size_t count);

/* A verb of the command. */
struct verb {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the verb */
    const char *summary;
};

#endif
