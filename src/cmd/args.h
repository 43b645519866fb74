/* Parses command lines. A table describes the options of a verb; the help text is generated from
 * the same table. */
#ifndef ELECT_CMD_ARGS_H
#define ELECT_CMD_ARGS_H

#include "../base/choice.h"
#include "../base/exit.h"

struct option_spec {
    const char *name;  /* the long name, without the dashes */
    char letter;       /* the letter of the short option; 0: there is none */
    const char *value; /* the name of the value in the help; NULL: there is no value */
    const char *help;
};

enum { ARGS_END = -1, ARGS_WORD = -2, ARGS_BAD = -3 };

struct args {
    const char *verb; /* the verb that error messages name */
    int argc, at;     /* `at` is the index of the next argument */
    char **argv;
    bool only_words; /* "--" was found, so no further argument is an option */
};

/* Reads the next argument. If it is an option, sets `value` to the value of the option and returns
 * its index in `specs`. If it is not an option, sets `value` to the argument and returns ARGS_WORD.
 * If the option is wrong, prints an error message and returns ARGS_BAD. If there are no more
 * arguments, returns ARGS_END. */
int args_next(struct args *a, const struct option_spec *specs, size_t count, const char **value);

/* Prints the error message "elect VERB: what: why" on standard error. Returns EXIT_USAGE. */
int args_complain(const char *verb, const char *what, const char *why);
/* Sends later error messages, without the prefix "elect VERB: ", to `report` instead of standard
 * error. */
void args_report_to(void (*report)(const char *complaint));
/* Prints an error message about an option. `option` is its long name without the dashes, or "" if
 * the message is not about an option. */
int args_complain_option(const char *verb, const char *option, const char *why);

/* Parses the value of the option -o, which is "text" or "json". */
bool args_output(const char *value, bool *json, struct text *complaint);

/* Prints the text and a newline. Lines are at most 80 columns wide and indented by `indent`
 * columns. The caller must have printed the indentation of the first line. */
void args_wrapped(const char *text, int indent);
/* Prints a paragraph of the help text. A newline in the text starts a new line. */
void args_help_text(const char *text);
void args_help_options(const struct option_spec *specs, size_t count);

struct verb {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the verb */
    const char *summary;
};

#endif
