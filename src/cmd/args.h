/* Command-line parser. One table per verb drives both the parsing and the help text. */
#ifndef ELECT_CMD_ARGS_H
#define ELECT_CMD_ARGS_H

#include "../base/choice.h"
#include "../base/exit.h"

struct option_spec {
    const char *name;  /* long name, without the dashes */
    char letter;       /* short name; 0 if none */
    const char *value; /* name of the value in the help; NULL if the option takes none */
    const char *help;
};

enum { ARGS_END = -1, ARGS_WORD = -2, ARGS_BAD = -3 };

struct args {
    const char *verb;
    int argc, at; /* `at` is the index of the next argument */
    char **argv;
    bool only_words; /* true after "--": no further argument is an option */
};

/* Reads the next argument. For an option, sets `value` to its value and returns its index in
 * `specs`. For any other argument, sets `value` to it and returns ARGS_WORD. Returns ARGS_END
 * after the last one. For a wrong option, prints an error message and returns ARGS_BAD. */
int args_next(struct args *a, const struct option_spec *specs, size_t count, const char **value);

/* Prints "elect VERB: what: why" on standard error. Returns EXIT_USAGE. */
int args_complain(const char *verb, const char *what, const char *why);
/* Redirects later error messages, without "elect VERB: ", from standard error to `report`. */
void args_report_to(void (*report)(const char *complaint));
/* Prints an error message. `option` is a long name without the dashes, or "" if no option is to
 * blame. */
int args_complain_option(const char *verb, const char *option, const char *why);

bool args_output(const char *value, bool *json, struct text *complaint);

/* Prints the text and a newline, wrapped at 80 columns and indented by `indent`. The caller
 * prints the first line's indentation. */
void args_wrapped(const char *text, int indent);
/* Prints a paragraph of the help. A newline in the text starts a new line. */
void args_help_text(const char *text);
void args_help_options(const struct option_spec *specs, size_t count);

struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

#endif
