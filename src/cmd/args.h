/* Parses command lines. The options of a verb are a table; the help text comes from it, too. */
#ifndef ELECT_CMD_ARGS_H
#define ELECT_CMD_ARGS_H

#include "../base/choice.h"
#include "../base/exit.h"

struct option_spec {
    const char *name;  /* without the dashes */
    char letter;       /* of the short form; 0: none */
    const char *value; /* placeholder in the help; NULL: a switch */
    const char *help;
};

enum { ARGS_END = -1, ARGS_WORD = -2, ARGS_BAD = -3 };

struct args {
    const char *verb; /* for complaints */
    int argc, at;     /* at: the index of the next argument */
    char **argv;
    bool only_words; /* -- was found: all further arguments are words */
};

/* Returns the index of the next option in `specs` and sets its value; ARGS_WORD, with a word as the
 * value; ARGS_BAD after a complaint; or ARGS_END. */
int args_next(struct args *a, const struct option_spec *specs, size_t count, const char **value);

/* Prints one line "elect VERB: what: why" on standard error. Returns EXIT_USAGE. */
int args_complain(const char *verb, const char *what, const char *why);
/* Passes each later complaint, without "elect VERB: ", to `report` instead of standard error. */
void args_report_to(void (*report)(const char *complaint));
/* Complains in the same way about a long option, named without its dashes; "" if the complaint is
 * not about an option. */
int args_complain_option(const char *verb, const char *option, const char *why);

/* Parses the value of -o: text or json. */
bool args_output(const char *value, bool *json, struct text *complaint);

/* Prints the text and a newline. Lines are at most 80 columns wide; all but the first are indented
 * by `indent` columns, which the caller has already printed for the first one. */
void args_wrapped(const char *text, int indent);
/* Prints a paragraph of the help text; a newline in the text ends a line. */
void args_help_text(const char *text);
void args_help_options(const struct option_spec *specs, size_t count);

struct verb {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the verb */
    const char *summary;
};

#endif
